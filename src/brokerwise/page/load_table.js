// What the charts of load show, as a table by the minute, for those who listen.

import { count, cov, minute, rate } from "./format.js";
import { Table } from "./table.js";

const EVERY_SECONDS = 10; // it need not change each second

/** A function that shows a history, if it is time to. */
export function loadTable(place) {
  const table = new Table("Load by the minute", [
    { head: "time", text: ({ at }) => minute(at) },
    { head: "max load", text: ({ most }) => rate(most) },
    { head: "mean load", text: ({ mean }) => rate(mean) },
    { head: "cov", text: (row) => cov(row.cov) },
    { head: "sessions moved", text: ({ moved }) => count(moved) },
  ], ({ at }) => Math.floor(at / 60));
  place.append(table.node);
  let told = 0;
  return (history) => {
    const last = history.at.at(-1) ?? 0;
    if (last - told < EVERY_SECONDS) return;
    told = last;
    table.show(minutesOf(history));
  };
}

/** The last point of each minute. */
function minutesOf(history) {
  const rows = new Map();
  history.at.forEach((at, i) => {
    rows.set(Math.floor(at / 60), {
      at, most: history.max_load[i], mean: history.mean_load[i], cov: history.cov[i], moved: 0,
    });
  });
  for (const [at, many] of history.moves) {
    const row = rows.get(Math.floor(at / 60));
    if (row) row.moved += many;
  }
  return [...rows.values()];
}
