// Pages by the part of the address after "#": #/pools/builds?span=3600. Every view can be linked to, and Back works.

/** Where we are: {parts: ["pools", "builds"], given: {span: "3600"}}. */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts, given: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a page. */
export function link(parts, given = {}) {
  const kept = Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#/${parts.map(encodeURIComponent).join("/")}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

/** Go there; `quietly` changes the address of the page that is shown, and leaves no step for Back. */
export function go(address, quietly = false) {
  if (quietly) history.replaceState(null, "", address);
  else location.hash = address;
}
