// Begins: who is signed in, which page is asked for, and what all pages share.

import { get, onSignedOut, signOut } from "./api.js";
import { h, say } from "./dom.js";
import { clock } from "./format.js";
import { end, live, start, watch } from "./live.js";
import { go, here, link } from "./router.js";
import { remember } from "./spark.js";
import { listenForKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";
import * as cron from "./pages/cron.js";
import * as dead from "./pages/dead.js";
import * as job from "./pages/job.js";
import * as jobs from "./pages/jobs.js";
import * as overview from "./pages/overview.js";
import * as pool from "./pages/pool.js";
import * as runners from "./pages/runners.js";
import * as signIn from "./pages/sign_in.js";

const PAGES = [
  ["Overview", [], overview], ["Runners", ["runners"], runners], ["Jobs", ["jobs"], jobs], ["Dead letters", ["dead"], dead],
  ["Cron", ["cron"], cron],
];
const DEAD = 3;
const main = document.getElementById("main");
const top = document.getElementById("top");
let shown = null;
let who = null;

function pageFor(parts) {
  if (parts[0] === "pools" && parts.length === 2) return pool;
  if (parts[0] === "jobs" && parts.length === 2) return job;
  return PAGES.find(([, path]) => path.join("/") === parts.join("/"))?.[2] ?? overview;
}

/** Show the page of the address. */
function show() {
  if (!who) return;
  const place = here();
  shown?.leave?.();
  main.replaceChildren();
  shown = pageFor(place.parts).show(main, place, who);
  document.title = `${shown.title} · Paceline`;
  const section = place.parts[0] === "pools" ? [] : place.parts.slice(0, 1);
  for (const each of document.querySelectorAll("#nav a")) {
    const current = each.hash === link(section);
    if (current) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function drawNav() {
  const links = PAGES.map(([name, path]) => h("a", { href: link(path) }, name));
  links[DEAD].append(h("span", { class: "number", id: "dead-count", hidden: true }));
  document.getElementById("nav").replaceChildren(...links);
}

/** The line is alive, or everybody sees since when it is not. */
function tellOfTheLine() {
  const pulse = document.getElementById("pulse");
  const stale = document.getElementById("stale");
  pulse.classList.toggle("off", Boolean(live.trouble));
  say(pulse, live.trouble ? "Stale" : "Live");
  stale.hidden = !live.trouble;
  const since = `Stale since ${clock(live.toldAt)}: ${live.trouble}. `;
  if (live.trouble) say(stale, `${since}What you see is from then; it is tried again by itself.`);
  const dead = live.pools.reduce((sum, each) => sum + each.dead, 0);
  const number = document.getElementById("dead-count");
  number.hidden = dead === 0;
  say(number, dead > 999 ? "999+" : String(dead));
}

function askForToken() {
  end();
  who = null;
  shown?.leave?.();
  shown = null;
  top.hidden = true;
  document.getElementById("stale").hidden = true;
  document.title = "Sign in · Paceline";
  main.replaceChildren();
  signIn.show(main, begin);
}

function notNow(error) {
  const again = h("button", { onclick: begin }, "Try again");
  return h("div", { class: "card empty", role: "alert" }, h("h1", {}, "Not now"), error.message, again);
}

async function begin() {
  try {
    who = await get("session");
  } catch (error) {
    if (error.status !== 401) main.replaceChildren(notNow(error));
    return;
  }
  top.hidden = false;
  document.getElementById("out").hidden = !who.token;
  drawNav();
  start(askForToken);
  show();
}

watch((state) => {
  if (!state.trouble) remember(state.pools);
  tellOfTheLine();
});
onSignedOut(askForToken);
setUpTheme(document.getElementById("theme"));
listenForKeys({ pages: PAGES.map(([name, path]) => [name, link(path)]) });
addEventListener("hashchange", show);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // what follows "#" is the page that is shown
  main.focus();
});
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = document.getElementById("find").value.trim();
  if (text) go(/^\d+$/.test(text) ? link(["jobs", text]) : link(["jobs"], { kind: text }));
});
document.getElementById("out").addEventListener("click", async () => {
  await signOut().catch(() => {});
  askForToken();
});
begin();
