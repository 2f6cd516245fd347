// What a proposal makes of each broker: load before and after, sessions that come and go.

import { make } from "./dom.js";
import { bandwidth, count } from "./format.js";
import { drawBroker, Table } from "./table.js";

/** A table with `show(proposal)`; null: it is empty, and away. */
export function changesTable() {
  let load = bandwidth([]);
  let top = 1;
  const table = new Table("Brokers before and after", [
    { head: "broker", draw: (cell, { broker }) => drawBroker(cell, broker) },
    { head: "load", text: (change) => (change.isNew ? "new" : load.text(change.load)) },
    { head: "after", text: (change) => (change.ends ? "ends" : load.text(change.load_after)) },
    { head: "before and after", kind: "text bars", draw: (cell, change) => drawBars(cell, change, top) },
    { head: "sessions", text: movedWords },
  ], ({ broker }) => broker);

  return {
    node: table.node,
    show(proposal) {
      table.node.hidden = proposal === null;
      const changes = proposal ? sorted(proposal) : [];
      load = bandwidth(changes.flatMap((c) => [c.load, c.load_after]));
      top = Math.max(1, ...changes.flatMap((c) => [c.load, c.load_after]));
      table.show(changes);
    },
  };
}

/** Those that change most come first: of a hundred brokers, most do not. */
function sorted({ brokers, added, closing }) {
  return brokers
    .map((change) => ({ ...change, isNew: added.includes(change.broker), ends: closing.includes(change.broker) }))
    .sort((a, b) => Math.abs(b.load_after - b.load) - Math.abs(a.load_after - a.load));
}

function drawBars(cell, { load, load_after: after }, top) {
  if (!cell.firstElementChild) {
    cell.append(make("span", { class: "change", "aria-hidden": "true" }, make("span"), make("span")));
  }
  const [first, second] = cell.firstElementChild.children;
  first.style.width = `${((100 * load) / top).toFixed(1)}%`;
  second.style.width = `${((100 * after) / top).toFixed(1)}%`;
}

function movedWords({ arriving, leaving }) {
  const moved = arriving - leaving;
  const sign = moved > 0 ? "+" : moved < 0 ? "\u2212" : "";
  const both = arriving && leaving ? ` (+${count(arriving)} \u2212${count(leaving)})` : "";
  return `${sign}${count(Math.abs(moved))}${both}`;
}
