// What is told under the picture: the ledger, the plain words, and the layout in every notation.

import { copyButton } from "../picture/copy.js";

/**
 * @typedef {{notation: string, text: string | null, reason: string}} Row
 * @typedef {{label: string, title: string, ledger: [string, string][], words: string[], rosetta: Row[]}} Facts
 */

/**
 * Show the facts of each subject of the picture.
 * @param {HTMLElement} root
 * @param {Facts[]} all
 */
export function showFacts(root, all) {
  const several = all.length > 1;
  root.replaceChildren(
    ...all.map((facts) => {
      const section = element("section", "subject");
      if (several) section.append(element("h2", "", facts.label === "result" ? facts.title : `Layout ${facts.label}`));
      const top = element("div", "cards");
      top.append(card("Ledger", ledger(facts)), card("In plain words", words(facts)));
      section.append(top, card("In every notation", rosetta(facts)));
      return section;
    }),
  );
}

/** @param {Facts} facts */
function ledger({ ledger }) {
  const list = element("dl", "ledger");
  for (const [label, value] of ledger) {
    const row = element("div", label === "waste" || (label === "padding" && value !== "0") ? "waste" : "");
    row.append(element("dt", "", label), element("dd", "", value));
    list.append(row);
  }
  return list;
}

/** @param {Facts} facts */
function words({ words }) {
  const box = element("div", "words");
  box.append(...words.map((line) => element("p", "", line)));
  return box;
}

/** @param {Facts} facts */
function rosetta({ rosetta }) {
  const table = element("table", "rosetta");
  const body = element("tbody", "");
  for (const { notation, text, reason } of rosetta) {
    const row = element("tr", text === null ? "refused" : "");
    const head = element("th", "", notation);
    head.setAttribute("scope", "row");
    const cell = element("td", "", text ?? reason);
    const tool = element("td", "tool");
    if (text !== null) tool.append(copyButton(`copy as ${notation}`, () => text));
    row.append(head, cell, tool);
    body.append(row);
  }
  table.append(body);
  return table;
}

/**
 * @param {string} title
 * @param {HTMLElement} inside
 */
function card(title, inside) {
  const section = element("section", "card");
  section.append(element("h3", "", title), inside);
  return section;
}

/**
 * @param {string} tag
 * @param {string} name
 * @param {string} [text]
 */
function element(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}
