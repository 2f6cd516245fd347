// Channels and datasets, if the fleet has a data cluster: what ran, what came, what failed.

import { byId, make, set, setText, whenChanged } from "./dom.js";
import { clock, count, duration, milliseconds } from "./format.js";
import { Table } from "./table.js";

const CHANNELS = [
  { head: "channel", kind: "long", text: (c) => c.name },
  { head: "every", text: (c) => duration(c.every_seconds) },
  { head: "subscriptions", text: (c) => count(c.subscriptions) },
  { head: "last run", text: (c) => clock(c.last_run) },
  { head: "took", text: (c) => milliseconds(c.took_ms) },
  { head: "results", text: (c) => count(c.results) },
  { head: "errors", kind: "text wrap", draw: (cell, c) => drawErrors(cell, c.failures, c.error) },
];
const DATASETS = [
  { head: "dataset", kind: "long", text: (d) => d.name },
  { head: "kind", kind: "text", text: (d) => d.kind },
  { head: "records", text: (d) => count(d.records) },
  { head: "fed", text: (d) => count(d.fed) },
  { head: "last fed", text: (d) => clock(d.last_fed) },
  { head: "errors", kind: "text wrap", draw: (cell, d) => drawErrors(cell, d.errors, d.error) },
];

export function dataView() {
  const said = make("p", { class: "said problem" });
  const empty = nothing();
  const bare = make("p", { class: "empty", hidden: true },
    "Nothing is asked and nothing is kept yet: ", make("code", {}, "brokerwise dataset"), " and ", make("code", {}, "brokerwise channel"), " make the first.");
  const channels = new Part("Channels", CHANNELS);
  const datasets = new Part("Datasets", DATASETS);
  byId("data").append(said, empty, bare, make("div", { class: "columns" }, channels.node, datasets.node));

  return whenChanged((state) => [state.data], (data) => {
    empty.hidden = data !== null;
    setText(said, data?.problem ? `The data cluster cannot be asked: ${data.problem}` : "");
    if (!data) return;
    bare.hidden = Boolean(data.problem || data.channels.length || data.datasets.length);
    channels.show(data.channels);
    datasets.show(data.datasets);
  });
}

function nothing() {
  return make("p", { class: "empty" },
    "Nothing is heard of a data cluster. ",
    make("code", {}, "brokerwise up --data-cluster"),
    " starts a fleet with one: datasets that are fed, and channels that ask about them, are shown here.");
}

/** A table with a title, hidden while it has no row. */
class Part {
  constructor(title, columns) {
    this._table = new Table(title, columns, (row) => row.name);
    this.node = make("div", { tabindex: "0", role: "group", "aria-label": title, hidden: true }, make("h3", {}, title), this._table.node);
  }

  show(rows) {
    this.node.hidden = !rows.length;
    this._table.show(rows);
  }
}

/** How many there were, and what the last one was; one that stopped a channel may be none of them. */
function drawErrors(cell, number, error) {
  if (!cell.firstElementChild) cell.append(make("span", { class: "bad" }), make("span"));
  const [counted, said] = cell.children;
  setText(counted, number ? count(number) : "");
  setText(said, error ? `${number ? ": " : ""}${error}` : number ? "" : "none");
  set(said, "class", number || error ? null : "muted");
}
