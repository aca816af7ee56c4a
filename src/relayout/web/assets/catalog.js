// The named formats, to search and to pick from.

/**
 * @typedef {{name: string, axes: string, format: string, source: string, note: string, shape: string, dtype: string}} Entry
 */

/**
 * Fill the list, and call back when one is picked. Those that are called as searched come before those told of so.
 * @param {Entry[]} entries
 * @param {(entry: Entry) => void} picked
 */
export function offerCatalog(entries, picked) {
  const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
  const list = /** @type {HTMLElement} */ (document.getElementById("names"));
  const rows = entries.map((entry) => row(entry, picked));
  list.append(...rows.map(({ element }) => element));
  const none = Object.assign(document.createElement("li"), { className: "none", textContent: "nothing is called so" });
  none.hidden = true;
  list.append(none);
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const held = (/** @type {string} */ text) => words.every((word) => text.includes(word));
    for (const { element, text } of rows) element.hidden = !held(text);
    const [called, others] = [true, false].map((wanted) => rows.filter(({ name }) => held(name) === wanted));
    list.prepend(...[...called, ...others].map(({ element }) => element));
    none.hidden = rows.some(({ element }) => !element.hidden);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    /** @type {HTMLElement | null} */ (list.querySelector("li:not([hidden]) button"))?.click();
  });
}

/**
 * @param {Entry} entry
 * @param {(entry: Entry) => void} picked
 */
function row(entry, picked) {
  const element = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.title = [entry.source, entry.note].filter(Boolean).join("\n");
  const name = Object.assign(document.createElement("span"), { className: "name", textContent: entry.name });
  const form = Object.assign(document.createElement("span"), { className: "form", textContent: `${entry.axes}: ${entry.format}` });
  button.append(name, form);
  button.addEventListener("click", () => picked(entry));
  element.append(button);
  return { element, name: entry.name.toLowerCase(), text: Object.values(entry).join(" ").toLowerCase() };
}
