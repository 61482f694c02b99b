// Elements from data. Texts become text nodes, never markup: a job's payload cannot become part of the page.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("a", {href: "#/", class: "x", onclick: f}, "text", other). A prop that is null or false is left out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for a part of a drawing. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** Change a text only if it is another one: a selection in it stays. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A command to be typed, as an empty list shows it. */
export const command = (text) => h("code", { class: "command" }, text);
