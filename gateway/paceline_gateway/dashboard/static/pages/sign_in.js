// The first page: a token, once. It goes to the gateway in a header and comes back as a cookie that no script can read.

import { signIn } from "../api.js";
import { command, h, say } from "../dom.js";

export function show(main, done) {
  const plain = { autocomplete: "off", spellcheck: "false" };
  const input = h("input", { id: "token", type: "password", placeholder: "ak_…", required: true, ...plain });
  const wrong = h("p", { class: "wrong", role: "alert" });
  const button = h("button", { class: "main", type: "submit" }, "Sign in");
  const form = h("form", {}, h("label", { class: "field", for: "token" }, "Admin token", input), wrong, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    say(wrong, "");
    try {
      await signIn(input.value.trim());
      input.value = "";
      main.replaceChildren();
      await done();
    } catch (error) {
      say(wrong, error.status === 401 ? "This token is not good: unknown, expired or revoked." : error.message);
      button.disabled = false;
      input.select();
    }
  });
  main.append(h("section", { class: "card sign-in" },
    h("h1", {}, "Sign in to Paceline"),
    form,
    h("p", { class: "muted" }, "No token yet? Whoever has a login for the database can make one; with ", h("code", {}, "--read-only"),
      " it is for looking only:"),
    command("paceline token create --admin")));
  input.focus();
}
