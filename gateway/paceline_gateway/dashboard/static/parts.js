// Small parts that several pages have.

import { command, h, say } from "./dom.js";
import { capped, count, rate, span } from "./format.js";
import { live } from "./live.js";
import { link } from "./router.js";

const WORDS = { ok: "Keeping up", "catching-up": "Catching up", handed_back: "Handed back" };
const TILES = ["Ready jobs", "Oldest wait", "Slots in use", "Runners", "Finished", "Failed", "Dead letters"];

/** A state in a word, with its colour. */
export function chip(state) {
  const text = WORDS[state] ?? state.charAt(0).toUpperCase() + state.slice(1);
  return h("span", { class: `chip ${state}` }, text);
}

/** What to do about jobs that nobody can take, and where they are. */
function remedy({ kind, remedy: text }, pool) {
  return h("span", {}, `${text} `, h("a", { href: link(["jobs"], { pool, kind, state: "ready" }) }, "Show these jobs"));
}

/** Whether it keeps up, and if not why and what to do. */
export class VerdictCard {
  constructor() {
    this.word = h("span");
    this.says = h("div", { class: "says" });
    this.todo = h("div", { class: "todo" });
    this.node = h("section", { class: "card verdict idle", "aria-label": "Is it keeping up?" },
      this.word, h("div", {}, this.says, this.todo));
  }

  show({ state, text, todo, stuck = [], pool }) {
    this.node.className = `card verdict ${state}`;
    if (this.state !== state) this.word.replaceChildren(chip(state));
    this.state = state;
    say(this.says, text);
    const told = JSON.stringify([todo, stuck, pool]);
    if (this.told !== told) this.todo.replaceChildren(...(stuck.length ? [remedy(stuck[0], pool)] : todo ? ["Look with ", command(todo)] : []));
    this.told = told;
    this.todo.hidden = !todo && !stuck.length;
  }
}

/** A number with its name, and something small below. */
export class Tile {
  constructor(name, href) {
    this.value = h("div", { class: "value" }, "–");
    this.more = h("div", { class: "more" });
    const inside = [h("div", { class: "name" }, name), this.value, this.more];
    this.node = href ? h("a", { class: "card tile", href }, ...inside) : h("div", { class: "card tile" }, ...inside);
  }

  show(value, more = "", bad = false) {
    say(this.value, value);
    say(this.more, more);
    this.node.classList.toggle("bad", bad);
  }
}

/** The tiles of one pool. */
export class PoolTiles {
  constructor(pool) {
    const places = {
      "Ready jobs": link(["jobs"], { pool, state: "ready" }), "Slots in use": link(["jobs"], { pool, state: "running" }),
      "Finished": link(["jobs"], { pool, state: "finished" }), "Dead letters": link(["dead"], { pool }),
    };
    this.tiles = Object.fromEntries(TILES.map((name) => [name, new Tile(name, places[name])]));
    this.node = h("div", { class: "tiles" }, Object.values(this.tiles).map((each) => each.node));
  }

  show(pool) {
    const late = pool.verdict.state === "behind" || pool.verdict.state === "stuck";
    const show = (name, ...rest) => this.tiles[name].show(...rest);
    show("Ready jobs", capped(pool.ready), `${capped(pool.scheduled)} scheduled, ${capped(pool.blocked)} blocked`);
    const before = pool.oldest_before === null ? "" : `${span(pool.oldest_before)} a minute ago`;
    const used = pool.slots ? `${Math.round((100 * pool.running) / pool.slots)} %` : "no runner";
    show("Oldest wait", span(pool.oldest_seconds), before, late);
    show("Slots in use", `${count(pool.running)} / ${count(pool.slots)}`, used);
    show("Runners", count(pool.busy + pool.idle), `${pool.busy} busy, ${pool.idle} idle, ${pool.pending} pending`);
    show("Finished", rate(pool.done_rate), "last minute");
    show("Failed", rate(pool.failed_rate), "attempts, last minute", pool.failed_rate > 0);
    show("Dead letters", capped(pool.dead), "", pool.dead > 0);
  }
}

/** A choice of one of several, as buttons; `chosen(value)` is called with the new one. */
export function tabs(label, choices, value, chosen) {
  const node = h("div", { class: "tabs", role: "group", "aria-label": label });
  const press = (pressed) => buttons.forEach((each) => each.setAttribute("aria-pressed", String(each === pressed)));
  const buttons = choices.map(([key, text]) => {
    const click = (event) => {
      press(event.currentTarget);
      chosen(key);
    };
    return h("button", { type: "button", "aria-pressed": String(key === value), onclick: click }, text);
  });
  node.append(...buttons);
  return node;
}

let fields = 0;

/** A field with its name above it. */
function labelled(text, control) {
  control.id = `field-${(fields += 1)}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, text), control);
}

/** A select with the pools that there are; it keeps its choice when the list changes. */
export function poolSelect(value, chosen) {
  const select = h("select", { onchange: () => chosen(select.value) });
  const names = () => [...new Set([...live.pools.map((each) => each.name), ...(value ? [value] : [])])].sort();
  const fill = () => {
    const wanted = ["", ...names()];
    if (wanted.join() === [...select.options].map((each) => each.value).join()) return;
    const before = select.options.length ? select.value : value;
    select.replaceChildren(...wanted.map((each) => h("option", { value: each }, each || "All pools")));
    select.value = before ?? "";
  };
  fill();
  return { node: labelled("Pool", select), fill };
}

/** A text to filter by; told when the person stops typing. */
export function textField(label, value, chosen, placeholder = "") {
  let soon = 0;
  const typed = () => {
    clearTimeout(soon);
    soon = setTimeout(() => chosen(input.value.trim()), 250);
  };
  const plain = { autocomplete: "off", spellcheck: "false" };
  const input = h("input", { type: "search", value: value ?? "", placeholder, oninput: typed, ...plain });
  return labelled(label, input);
}

export const jobLink = (id) => h("a", { href: link(["jobs", String(id)]) }, String(id));
export const poolLink = (name) => h("a", { href: link(["pools", name]) }, name);

/** An empty list that teaches: what it would show, and what to type to see something. */
export const teach = (title, text, ...commands) => [h("strong", {}, title), h("span", {}, text), ...commands.map(command)];
