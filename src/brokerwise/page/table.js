// A table that keeps its rows, by their keys, while its numbers change.

import { keyed, make, setText } from "./dom.js";

/**
 * Columns are `{ head, text }`, or `{ head, draw }` where a cell is more than text: it is
 * given the cell and the item. The first one names the row. `kind` is a class of its cells.
 */
export class Table {
  constructor(caption, columns, keyOf) {
    this._columns = columns;
    this._keyOf = keyOf;
    this._body = make("tbody");
    const heads = columns.map(({ head, kind }) => make("th", { scope: "col", class: kind ?? null }, head));
    this.node = make("table", {},
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      this._body);
  }

  show(items) {
    keyed(this._body, items, this._keyOf, () => this._row(), (row, item) => this._update(row, item));
  }

  _row() {
    const [first, ...rest] = this._columns;
    return make("tr", {},
      make("th", { scope: "row", class: first.kind ?? null }),
      ...rest.map(({ kind }) => make("td", { class: kind ?? null })));
  }

  _update(row, item) {
    this._columns.forEach(({ text, draw }, place) => {
      const cell = row.children[place];
      if (draw) draw(cell, item);
      else setText(cell, text(item));
    });
  }
}

/** The name of a broker; whoever chooses it sees that broker. */
export function brokerLink(name) {
  return make("button", { type: "button", class: "link", "data-open": name }, name);
}

/** Puts a link to a broker into a cell, unless it is there. */
export function drawBroker(cell, name) {
  if (cell.textContent !== (name || "\u2013")) cell.replaceChildren(name ? brokerLink(name) : "\u2013");
}
