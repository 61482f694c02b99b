// Light or dark: as the system says, or as the person chose. The choice is all that is ever kept in the browser's storage.

const NAME = "paceline-theme";
const WORDS = { light: "Dark mode", dark: "Light mode" };

function current() {
  return localStorage.getItem(NAME) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

export function setUpTheme(button) {
  const draw = () => {
    document.documentElement.dataset.theme = current();
    button.textContent = WORDS[current()];
  };
  button.addEventListener("click", () => {
    localStorage.setItem(NAME, current() === "dark" ? "light" : "dark");
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}
