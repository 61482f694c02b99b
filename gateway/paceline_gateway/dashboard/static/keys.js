// Keys: "/" finds a job, "g" and a letter go to a page, "?" shows them all. Never while somebody types.

import { h } from "./dom.js";

const SOON = 1200;

const typing = (target) => target.closest?.("input, select, textarea, dialog") !== null;

export function listenForKeys({ pages }) {
  const letters = new Map(pages.map(([name, address]) => [name[0].toLowerCase(), [name, address]]));
  let began = 0;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const chosen = letters.get(event.key);
    if (Date.now() - began < SOON && chosen) location.hash = chosen[1];
    else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("find").focus();
    } else if (event.key === "?") help(letters);
    began = event.key === "g" ? Date.now() : 0;
  });
}

function help(letters) {
  const pages = [...letters].map(([key, [name]]) => [`g ${key}`, name]);
  const lines = [["/", "Find a job"], ...pages, ["← →", "Read a chart that has the focus"], ["?", "This list"]];
  const dialog = h("dialog", { "aria-labelledby": "keys" },
    h("form", { method: "dialog" }, h("h2", { id: "keys" }, "Keys"),
      h("dl", {}, lines.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]).flat()),
      h("div", { class: "buttons" }, h("button", { type: "submit", autofocus: true }, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
