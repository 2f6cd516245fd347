// Tables that never change: rows of text, the first of which names the row.

import { make } from "./dom.js";

export function tablesOf(tables) {
  return tables.filter(({ rows }) => rows.length).map(tableOf);
}

function tableOf({ caption, columns, rows }) {
  const heads = columns.map((text) => make("th", { scope: "col" }, text));
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows.map(rowOf))));
}

function rowOf([first, ...rest]) {
  return make("tr", {},
    make("th", { scope: "row", class: "long" }, first),
    ...rest.map((text) => make("td", { class: "long" }, text)));
}

/** Facts: a label, a value and perhaps a note; values that are paths or commands as code. */
export function factsOf(facts, { isCode = false } = {}) {
  return facts.map(([label, value, note]) => make("div", {},
    make("dt", {}, label),
    make("dd", {}, isCode ? make("code", {}, value) : value),
    ...(note ? [make("dd", { class: "note" }, note)] : [])));
}
