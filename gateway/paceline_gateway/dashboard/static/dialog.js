// Questions and short news. A question is the browser's own dialog: it keeps the focus, and Escape leaves it.

import { h } from "./dom.js";

/** Ask before something is done. Resolves to the text of the field (or "" without one), or null if it was left. */
export function ask({ title, text, act, danger = false, field = null }) {
  return new Promise((done) => {
    const plain = { autocomplete: "off", spellcheck: "false" };
    const input = field && h("input", { id: "answer", value: field.value ?? "", placeholder: field.placeholder, ...plain });
    const dialog = h("dialog", { "aria-labelledby": "asked" },
      h("form", { method: "dialog" },
        h("h2", { id: "asked" }, title),
        h("div", { class: "said" }, text),
        input && h("label", { class: "field", for: "answer" }, field.label, input),
        h("div", { class: "buttons" },
          h("button", { value: "no", type: "submit", autofocus: danger }, "Leave it"),
          h("button", { value: "yes", type: "submit", class: danger ? "danger" : "main", autofocus: !field && !danger }, act))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "yes" ? (input ? input.value : "") : null);
    });
    document.body.append(dialog);
    dialog.returnValue = "no";
    dialog.showModal();
    if (input) input.focus();
    // Enter in the field means the deed, not the first button
    dialog.querySelector("form").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === input) {
        event.preventDefault();
        dialog.close("yes");
      }
    });
  });
}

/** Say what happened, for a while. */
export function toast(text, bad = false) {
  const note = h("div", { class: bad ? "toast bad" : "toast" }, text);
  const place = document.getElementById("toasts");
  while (place.children.length > 3) place.firstChild.remove();
  place.append(note);
  setTimeout(() => note.remove(), 6000);
}

/** Do something for a person, and say how it went. */
export async function attempt(deed, done) {
  try {
    const answer = await deed();
    const text = typeof done === "function" ? done(answer) : done;
    if (text) toast(text);
    return true;
  } catch (error) {
    toast(error.message, true);
    return false;
  }
}
