// A table whose rows are changed in place: focus, selection and scrolling survive an update, and what is the same is not
// touched. It never has more rows than a page.

import { h } from "./dom.js";

/**
 * columns: [{name, text(row), node(row), right, wide}]; `node` is drawn anew only when `text` says something else.
 * `empty` is shown instead of no rows.
 */
export class Table {
  constructor(label, columns, key, empty) {
    Object.assign(this, { columns, key, rows: new Map() });
    const heads = columns.map((each) => h("th", { scope: "col", class: classOf(each) }, each.name));
    this.body = h("tbody");
    this.table = h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, heads)), this.body);
    this.empty = h("div", { class: "empty" }, empty);
    this.empty.hidden = true;
    this.node = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, this.table, this.empty);
  }

  show(rows) {
    const kept = new Set();
    let before = null;
    for (const row of rows) {
      const id = String(this.key(row));
      kept.add(id);
      const line = this.rows.get(id) ?? this.add(id);
      this.columns.forEach((column, n) => draw(line.cells[n], column, row));
      const next = before ? before.nextSibling : this.body.firstChild;
      if (next !== line.tr) this.body.insertBefore(line.tr, next);
      before = line.tr;
    }
    for (const [id, line] of this.rows) {
      if (!kept.has(id)) {
        line.tr.remove();
        this.rows.delete(id);
      }
    }
    this.empty.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
  }

  add(id) {
    const cells = this.columns.map((column, n) =>
      n === 0 ? h("th", { scope: "row", class: classOf(column) }) : h("td", { class: classOf(column), "data-name": column.name }));
    const line = { tr: h("tr", { "data-id": id }, cells), cells };
    this.rows.set(id, line);
    return line;
  }
}

const classOf = (column) => [column.right && "right", column.wide && "wide"].filter(Boolean).join(" ") || null;

function draw(cell, column, row) {
  const text = column.text(row);
  if (cell.drawn === text) return;
  cell.drawn = text;
  cell.replaceChildren(column.node ? column.node(row) : text);
}
