// Pages of a list that is asked for by a cursor: one is shown at a time, and the way back is remembered.

import { h } from "./dom.js";

export class Pager {
  /** `turn(cursor)` shows the page that begins there; null is the first. */
  constructor(turn) {
    this.turn = turn;
    this.before = [];
    this.cursor = null;
    this.next = null;
    this.newer = h("button", { type: "button", onclick: () => this.back() }, "Newer");
    this.older = h("button", { type: "button", onclick: () => this.forth() }, "Older");
    this.place = h("span", { class: "muted" });
    this.node = h("div", { class: "pager", role: "group", "aria-label": "Pages of the list" }, this.newer, this.place, this.older);
    this.told(null);
  }

  /** What the shown page said of the next one. */
  told(next) {
    this.next = next;
    this.newer.disabled = this.before.length === 0;
    this.older.disabled = !next;
    this.place.textContent = `Page ${this.before.length + 1}`;
    this.node.hidden = this.before.length === 0 && !next;
  }

  first() {
    this.before = [];
    this.cursor = null;
  }

  forth() {
    this.before.push(this.cursor);
    this.cursor = this.next;
    return this.turn(this.cursor);
  }

  back() {
    this.cursor = this.before.pop() ?? null;
    return this.turn(this.cursor);
  }
}
