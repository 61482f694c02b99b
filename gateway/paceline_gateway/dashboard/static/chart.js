// A chart over time: lines or surfaces, marks for what was decided, and the numbers of a moment under the pointer or, with the
// arrow keys, under a cursor. The number of its elements does not depend on the number of points.

import { h, s, say } from "./dom.js";
import { clock, hours } from "./format.js";
import { area, ceiling, line, linear, moments, nearest, runs } from "./scale.js";

const HEIGHT = 168;
const PAD = { left: 52, right: 10, top: 12, bottom: 22 };
const LINES = 4;
const MOST_MARKS = 60;
const NEAR = 7; // pixels
const TABLE_ROWS = 24;
const NONE = "No samples yet: one is taken every ten seconds while the pool has jobs or runners.";

export class Chart {
  /**
   * series: [{name, label, kind: "area" | "line" | "step", tone}]; `write` and `axis` write a value, `least` is the lowest top of the
   * axis, `base` gives it its unit.
   */
  constructor({ title, hint, series, write, axis = write, least = 4, base = () => 1, stacked = false }) {
    Object.assign(this, { title, series, write, axis, least, base, stacked });
    Object.assign(this, { rows: [], marks: [], from: 0, to: 1, width: 640, at: -1 });
    this.grid = Array.from({ length: LINES + 1 }, () =>
      [s("line", { class: "grid" }), s("text", { class: "axis", "text-anchor": "end" })]);
    this.ticks = Array.from({ length: 8 }, () => s("text", { class: "axis", "text-anchor": "middle" }));
    this.paths = series.map(({ tone, kind }) =>
      [s("path", { class: `fill ${tone}` }), s("path", { class: `line ${tone} ${kind}` })]);
    this.decided = s("path", { class: "decided" });
    this.flags = s("path", { class: "flags" });
    this.cursor = s("line", { class: "cursor" });
    this.svg = s("svg", { class: "plot", role: "img", tabindex: "0", height: HEIGHT, "aria-label": title },
      this.grid.flat(), this.ticks, this.paths.flat(), this.decided, this.flags, this.cursor);
    this.tip = h("div", { class: "tip", role: "status" });
    this.tip.hidden = true;
    this.none = h("p", { class: "none" }, NONE);
    this.numbers = h("details", { class: "numbers", ontoggle: () => this.tabulate() }, h("summary", {}, "As a table"));
    this.node = h("figure", { class: "chart" },
      h("figcaption", {}, h("h3", {}, title), hint && h("span", { class: "muted" }, hint), legend(series)),
      h("div", { class: "frame" }, this.svg, this.tip, this.none), this.numbers);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
    this.svg.addEventListener("blur", () => this.leave());
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.svg.parentNode);
  }

  /** rows: [{at, ...}] by time; marks: [{at, text}]; moments are milliseconds. */
  show({ from, to, rows, marks = [] }) {
    Object.assign(this, { from, to, rows, marks: marks.slice(-MOST_MARKS) });
    this.draw();
    if (this.numbers.open) this.tabulate();
  }

  draw() {
    if (this.to <= 1) return; // nothing was asked for yet
    this.width = Math.max(240, Math.round(this.svg.parentNode.clientWidth) || 640);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.svg.setAttribute("width", this.width);
    this.none.hidden = this.rows.length > 0;
    const most = this.highest();
    const top = ceiling(most, this.base(most));
    this.x = linear(this.from, this.to, PAD.left, this.width - PAD.right);
    this.y = linear(0, top, HEIGHT - PAD.bottom, PAD.top);
    this.drawAxes(top);
    this.drawSeries();
    this.drawMarks();
    this.svg.setAttribute("aria-label", this.summary());
  }

  highest() {
    const totals = this.rows.map((row) => {
      const values = this.series.map((each) => row[each.name] ?? 0);
      const surfaces = values.filter((_, n) => this.series[n].kind === "area");
      return Math.max(...values, this.stacked ? surfaces.reduce((a, b) => a + b, 0) : 0);
    });
    return Math.max(this.least, ...totals);
  }

  drawAxes(top) {
    this.grid.forEach(([rule, text], n) => {
      const value = (top * n) / LINES;
      const y = this.y(value);
      set(rule, { x1: PAD.left, x2: this.width - PAD.right, y1: y, y2: y });
      set(text, { x: PAD.left - 8, y: y + 4 });
      say(text, this.axis(value));
    });
    const found = moments(this.from, this.to, Math.min(7, Math.floor(this.width / 80)));
    this.ticks.forEach((text, n) => {
      const shown = n < found.length;
      set(text, { x: shown ? this.x(found[n]) : 0, y: HEIGHT - 6 });
      say(text, shown ? hours(found[n]) : "");
    });
  }

  drawSeries() {
    const gap = Math.max(35000, (3 * (this.to - this.from)) / 360);
    const floor = this.rows.map(() => 0);
    this.series.forEach((each, n) => {
      const points = this.rows.map((row, i) => {
        const value = row[each.name];
        const below = this.stacked && each.kind === "area" ? floor[i] : 0;
        const known = value !== null && value !== undefined;
        if (this.stacked && each.kind === "area") floor[i] += value ?? 0;
        return { at: row.at, x: this.x(row.at), y: known ? this.y(below + value) : null, floor: this.y(below) };
      });
      const parts = runs(points, gap);
      const [surface, edge] = this.paths[n];
      // what is not there has no edge: it would be drawn over that of the one below
      const drawn = this.stacked && each.kind === "area" ? runs(points.map(withoutNothing), gap) : parts;
      edge.setAttribute("d", drawn.map((part) => line(part, each.kind === "step")).join(""));
      const floors = (part) => part.map((point) => ({ x: point.x, y: point.floor }));
      const filled = each.kind === "area" ? parts.filter((part) => part.length > 1) : [];
      surface.setAttribute("d", filled.map((part) => area(part, floors(part))).join(""));
    });
  }

  drawMarks() {
    const inside = this.marks.filter((mark) => mark.at >= this.from && mark.at <= this.to);
    const shown = inside.map((mark) => this.x(mark.at).toFixed(1));
    this.decided.setAttribute("d", shown.map((x) => `M${x} ${PAD.top}V${HEIGHT - PAD.bottom}`).join(""));
    this.flags.setAttribute("d", shown.map((x) => `M${x} ${PAD.top}l-4 -7h8z`).join(""));
  }

  summary() {
    if (!this.rows.length) return `${this.title}: no samples yet`;
    const last = this.rows.at(-1);
    const parts = this.series.map((each) => `${each.label} ${this.write(last[each.name])}`);
    return `${this.title}, now: ${parts.join(", ")}. Use the arrow keys to read other moments.`;
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) * this.width) / box.width;
    const back = linear(PAD.left, this.width - PAD.right, this.from, this.to);
    this.read(nearest(this.rows, back(x)), x);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (event.key === "Escape") this.leave();
    if (!step || !this.rows.length) return;
    event.preventDefault();
    const from = this.at < 0 ? this.rows.length : this.at;
    this.read(Math.max(0, Math.min(this.rows.length - 1, from + step)));
  }

  /** Show the numbers of a row, and what was decided near it. */
  read(index, pointer = null) {
    this.at = index;
    if (index < 0) return;
    const row = this.rows[index];
    const x = this.x(row.at);
    const mark = this.marks.find((each) => Math.abs(this.x(each.at) - (pointer ?? x)) <= NEAR);
    set(this.cursor, { x1: x, x2: x, y1: PAD.top, y2: HEIGHT - PAD.bottom, class: "cursor on" });
    this.tip.replaceChildren(
      h("strong", {}, clock(row.at)),
      ...this.series.map((each) => h("div", {}, key(each), `${each.label} `, h("b", {}, this.write(row[each.name])))),
      ...(mark ? [h("div", { class: "why" }, h("strong", {}, clock(mark.at)), ` ${mark.text}`)] : []));
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.width - wide - 4))}px`;
    if (x + 12 + wide > this.width) this.tip.style.left = `${Math.max(0, x - wide - 12)}px`;
  }

  leave() {
    this.at = -1;
    this.tip.hidden = true;
    this.cursor.setAttribute("class", "cursor");
  }

  tabulate() {
    if (!this.numbers.open) return;
    const step = Math.max(1, Math.ceil(this.rows.length / TABLE_ROWS));
    const chosen = this.rows.filter((_, n) => (this.rows.length - 1 - n) % step === 0).reverse();
    const heads = ["Time", ...this.series.map((each) => each.label)].map((each) => h("th", { scope: "col" }, each));
    const cells = (row) => this.series.map((each) => h("td", { class: "right" }, this.write(row[each.name])));
    const lines = chosen.map((row) => h("tr", {}, h("th", { scope: "row" }, clock(row.at)), cells(row)));
    const table = h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines));
    this.numbers.replaceChildren(this.numbers.firstChild, table);
  }
}

const key = (each) => h("i", { class: `key ${each.tone}` });
const legend = (series) => h("span", { class: "legend" }, series.map((each) => h("span", {}, key(each), each.label)));
const withoutNothing = (point) => (point.y === point.floor ? { ...point, y: null } : point);

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}
