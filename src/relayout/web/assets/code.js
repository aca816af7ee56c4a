// The text of generated code, with comments and keywords in colours, and a button that copies it.

import { copyButton } from "../picture/copy.js";

const COMMENT = String.raw`//.*|^[ \t]*#(?!\s*(?:include|define|pragma|map)).*`;
const KEYWORD = String.raw`\b(?:as|comptime|const|constexpr|def|else|fn|for|if|import|in|inline|int|let|mod|mut|pub|return|static|typedef|use|var|void|while)\b`;
const PIECES = new RegExp(`(?<comment>${COMMENT})|(?<keyword>${KEYWORD})`, "gm");

/**
 * Show a text, or why there is none.
 * @param {HTMLElement} root
 * @param {{text: string | null, reason: string}} code
 */
export function showCode(root, { text, reason }) {
  if (text === null || text === undefined) {
    root.replaceChildren(Object.assign(document.createElement("p"), { className: "refused", textContent: reason ?? "" }));
    return;
  }
  const pre = document.createElement("pre");
  pre.tabIndex = 0;
  let start = 0;
  for (const found of text.matchAll(PIECES)) {
    const kind = found.groups?.comment === undefined ? "keyword" : "comment";
    const piece = Object.assign(document.createElement("span"), { className: kind, textContent: found[0] });
    pre.append(text.slice(start, found.index), piece);
    start = found.index + found[0].length;
  }
  pre.append(text.slice(start));
  root.replaceChildren(pre, copyButton("copy the code", () => text));
}
