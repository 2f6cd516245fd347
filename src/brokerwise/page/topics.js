// Topics: latencies against their targets, the worst first.

import { byId, make, set, setText, whenChanged } from "./dom.js";
import { clock, count, counted, milliseconds, rate } from "./format.js";
import { drawBroker, Table } from "./table.js";

const FULL = 1.5; // targets that a whole bar is long; a mark shows where one is

export const LATENCY_COLUMNS = [
  { head: "messages", text: (topic) => rate(topic.received_per_second) },
  { head: "p50", kind: "middling", text: (topic) => milliseconds(topic.p50_ms) },
  { head: "p90", text: (topic) => milliseconds(topic.p90_ms) },
  { head: "target", kind: "middling", text: (topic) => milliseconds(topic.target_ms) },
  { head: "p90 against target", kind: "text", draw: drawMeter },
];

export function topicsView() {
  const place = byId("topics");
  const said = make("p", { class: "said" });
  const empty = nothing();
  const table = new Table("Topics, the latest for their target first", [
    { head: "topic", kind: "long", text: ({ topic }) => topic },
    { head: "broker", kind: "text", draw: (cell, { broker }) => drawBroker(cell, broker) },
    ...LATENCY_COLUMNS,
  ], ({ topic, broker }) => `${broker}\u0000${topic}`);
  place.append(said, empty, table.node);
  table.node.hidden = true;

  return whenChanged((state) => [state.topics], (topics) => {
    const some = topics !== null && topics.topics.length > 0;
    empty.hidden = topics === null || some;
    table.node.hidden = !some;
    setText(said, topics === null ? "The first numbers come within ten seconds." : summary(topics));
    table.show(topics?.topics ?? []);
  });
}

function nothing() {
  return make("p", { class: "empty" },
    "No messages yet. ",
    make("button", { type: "button", class: "link", "data-tab": "try" }, "Try it"),
    " here, or in a terminal: ",
    make("code", {}, "brokerwise subscribe news"));
}

function summary({ at, count: all, carried, late, topics }) {
  if (!all) return "";
  const parts = [`${counted(all, "topic")}, ${count(carried)} carried`];
  if (topics.some(({ target_ms: target }) => target !== null)) {
    parts.push(late ? `${count(late)} over target` : "all within target");
  }
  if (topics.length < all) parts.push(`the ${count(topics.length)} that matter most`);
  return `${parts.join("; ")}. As of ${clock(at)}.`;
}

function drawMeter(cell, { p90_ms: p90, target_ms: target, met }) {
  if (!cell.firstElementChild) cell.append(make("span", { class: "meter", "aria-hidden": "true" }, make("span")), make("span"));
  const [meter, word] = cell.children;
  meter.hidden = target === null || p90 === null;
  set(meter, "data-met", String(met));
  meter.firstElementChild.style.width = `${Math.min(100, (100 * p90) / (FULL * target)).toFixed(1)}%`;
  setText(word, met === null ? "" : met ? "met" : "late");
  set(word, "class", met === false ? "bad" : "muted");
}
