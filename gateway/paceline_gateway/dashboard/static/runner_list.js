// A page of runners with what can be done to them. Fifty at most are shown, however many there are.

import { get, send } from "./api.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { ago, count } from "./format.js";
import { chip, poolLink, tabs, teach, textField } from "./parts.js";
import { Table } from "./table.js";

const STATES = [["", "All"], ["active", "Active"], ["draining", "Draining"], ["stale", "Lost"]];
const EVERY = 4000;

const fullGroup = (runner) => (runner.namespace ? `${runner.namespace}/${runner.group}` : runner.group);

function nameOf(runner) {
  return h("span", {}, `${runner.id} `, runner.leader && h("span", { class: "chip leader" }, "Leader"));
}

export class RunnerList {
  /** `given` may bind it to a pool, and say which state and text are asked for. */
  constructor(who, given = {}, changed = () => {}) {
    Object.assign(this, { who, changed, given: { page: 1, ...given }, loadedAt: 0, loading: false });
    this.table = new Table("Runners", this.columns(Boolean(given.pool)), (each) => each.incarnation,
      teach("No runner here", "A RunnerGroup brings its own; or start one by hand:", `paceline run --pool ${given.pool ?? "builds"} --app MODULE:JOBS`));
    this.table.node.classList.add("fold");
    this.total = h("span", { class: "muted" });
    this.before = h("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.after = h("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.place = h("span", { class: "muted" });
    this.pages = h("div", { class: "pager", role: "group", "aria-label": "Pages of runners" }, this.before, this.place, this.after);
    this.pages.hidden = true;
    this.node = h("section", { class: "card" },
      h("div", { class: "title" }, h("h2", {}, "Runners"), this.total,
        h("span", { class: "push" }, tabs("State of runners", STATES, this.given.state ?? "", (state) => this.filter({ state }))),
        textField("Name, group or host", this.given.text, (text) => this.filter({ text }))),
      this.table.node, this.pages);
  }

  columns(ofOnePool) {
    const all = [
      { name: "Runner", text: (each) => each.id + each.leader, node: nameOf },
      !ofOnePool && { name: "Pool", text: (each) => each.pool, node: (each) => poolLink(each.pool) },
      { name: "Group", text: (each) => `${fullGroup(each)}${each.external ? " (outside)" : ""}` },
      { name: "State", text: (each) => each.state, node: (each) => chip(each.state) },
      { name: "Jobs", right: true, text: (each) => `${each.instances_claimed} / ${each.slots}` },
      { name: "Tags", text: (each) => each.tags.join(", ") || "–" },
      { name: "Taints", wide: true, text: (each) => each.taints.join(", ") || "–" },
      { name: "Host", text: (each) => each.hostname || "–" },
      { name: "Heard of", right: true, text: (each) => ago(each.last_heartbeat) },
      !this.who.read_only && { name: "Actions", text: (each) => `${each.runner} ${each.state}`, node: (each) => this.actions(each) },
    ];
    return all.filter(Boolean);
  }

  actions(runner) {
    const drain = { disabled: runner.state !== "active", "aria-label": `Drain ${runner.id}`, onclick: () => this.drain(runner) };
    const taint = { "aria-label": `Taints of ${runner.id}`, onclick: () => this.taint(runner) };
    return h("span", { class: "actions" },
      h("button", { class: "small", ...drain }, "Drain"), h("button", { class: "small", ...taint }, "Taints…"));
  }

  async drain(runner) {
    const held = runner.instances_claimed ? ` (${runner.instances_claimed} now)` : "";
    const after = runner.external ? "Whoever keeps it starts it again." : "Its group gives it a new pod.";
    const text = `It claims nothing any more, finishes what it has${held}, and leaves. ${after}`;
    if ((await ask({ title: `Drain ${runner.id}?`, text, act: "Drain" })) === null) return;
    if (await attempt(() => send("POST", `runners/${runner.runner}/drain`), `${runner.id} drains.`)) this.load();
  }

  async taint(runner) {
    let all = [];
    if (!(await attempt(async () => { all = await get(`runners/${runner.runner}/taints`); }))) return;
    const others = all.filter((each) => each.source !== "api").map((each) => `${each.taint} (${each.source})`);
    const text = [
      h("span", {}, "Taints keep jobs away, as in maint=disk:NoClaim (only jobs that tolerate it are claimed), PreferNoClaim (others first), NoLead (never the leader), Drain (finish and leave)."),
      others.length > 0 && h("span", {}, `Set elsewhere, and left alone: ${others.join(", ")}`),
    ];
    const value = all.filter((each) => each.source === "api").map((each) => each.taint).join(",");
    const field = { label: "Taints from here; empty for none", value, placeholder: "key=value:Effect" };
    const taints = await ask({ title: `Taints of ${runner.id}`, text, act: "Set", field });
    if (taints === null) return;
    const told = taints ? `${runner.id} has its taints.` : `${runner.id} has no taints from here.`;
    if (await attempt(() => send("PUT", `runners/${runner.runner}/taints`, { taints }), told)) this.load();
  }

  filter(change) {
    Object.assign(this.given, change, { page: 1 });
    this.changed(this.given);
    return this.load();
  }

  turn(by) {
    this.given.page += by;
    return this.load();
  }

  /** Ask again, if the last answer is old. */
  refresh() {
    if (Date.now() - this.loadedAt > EVERY && !this.loading) this.load();
  }

  async load() {
    this.loading = true;
    const asked = JSON.stringify(this.given);
    const found = await get("runners", this.given).catch(() => null);
    this.loading = false;
    this.loadedAt = Date.now();
    if (!found || asked !== JSON.stringify(this.given)) return;
    this.given.page = found.page;
    this.table.show(found.runners);
    this.total.textContent = `${count(found.total)} ${found.total === 1 ? "runner" : "runners"}`;
    this.place.textContent = `Page ${found.page} of ${found.pages}`;
    this.before.disabled = found.page <= 1;
    this.after.disabled = found.page >= found.pages;
    this.pages.hidden = found.pages <= 1;
  }
}
