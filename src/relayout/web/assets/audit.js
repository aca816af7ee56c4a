// Audits: a text is pasted or opened, its moves come back as rows, and a row that is picked is drawn.

import { ask } from "./ask.js";
import { blame, forgive } from "./errors.js";

/** @typedef {import("./link.js").State} State */
/**
 * @typedef {{summary: string, titles: string[], rows: string[][], states: (State | null)[], paired: boolean[],
 *   left_out: number, totals: string, savings: string[], errors: string[]}} Audit
 */

const LARGEST = 6e6;

/**
 * Offer audits, and call back with the state that draws a move when one is picked.
 * @param {HTMLElement} root
 * @param {(state: State) => void} picked
 */
export function offerAudits(root, picked) {
  const text = /** @type {HTMLTextAreaElement} */ (root.querySelector("textarea"));
  const file = /** @type {HTMLInputElement} */ (root.querySelector("input"));
  const found = /** @type {HTMLElement} */ (root.querySelector("div.found"));
  let timer = 0;
  const read = async (/** @type {string} */ content, /** @type {string} */ name) => {
    if (!content.trim()) return found.replaceChildren();
    if (content.length > LARGEST) {
      found.replaceChildren(line("trouble", "this is too long for the page: relayout audit FILE --html OUT reads it"));
      return;
    }
    const answer = await ask("audit", { text: content, name });
    if (!answer) return;
    if (answer.error) return blame(answer.error);
    forgive();
    show(found, answer, picked);
  };
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => read(text.value, "pasted text"), 250);
  });
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (chosen) await read(chosen.size > LARGEST ? " ".repeat(LARGEST) + "x" : await chosen.text(), chosen.name);
  });
}

/**
 * @param {HTMLElement} root
 * @param {Audit} audit
 * @param {(state: State) => void} picked
 */
function show(root, audit, picked) {
  const table = document.createElement("table");
  table.append(cells("th", audit.titles));
  audit.rows.forEach((row, k) => {
    const made = cells("td", row);
    made.classList.toggle("pair", audit.paired[k]);
    const state = audit.states[k];
    if (state) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: row[0] || `${k}`, title: "draw it" });
      button.addEventListener("click", () => picked(state));
      made.firstElementChild?.replaceChildren(button);
    }
    table.append(made);
  });
  const more = audit.left_out ? [line("more", `and ${audit.left_out} more`)] : [];
  const lines = [...audit.savings.map((x) => line("saving", x)), ...audit.errors.map((x) => line("trouble", x))];
  root.replaceChildren(line("summary", audit.summary), ...(audit.rows.length ? [table] : []), ...more, line("totals", audit.totals), ...lines);
}

/**
 * @param {"th" | "td"} tag
 * @param {string[]} texts
 */
function cells(tag, texts) {
  const row = document.createElement("tr");
  row.append(...texts.map((textContent) => Object.assign(document.createElement(tag), { textContent })));
  return row;
}

/**
 * @param {string} className
 * @param {string} textContent
 */
function line(className, textContent) {
  return Object.assign(document.createElement("p"), { className, textContent });
}
