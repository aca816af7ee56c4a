// The verdict over two layouts, with ways to what differs, or why an operation has no layout as its result.

/**
 * @param {HTMLElement} root
 * @param {{verdict: {same: boolean, words: string, coordinate: string[] | null} | null, refusal: string}} answer
 * @param {{jump: (coordinate: string[]) => void, other: string, turn: () => void}} ways to the first difference, and to
 *   the whole or the part of the picture: which is the other one, or neither
 */
export function showVerdict(root, { verdict, refusal }, { jump, other, turn }) {
  root.hidden = !verdict && !refusal;
  root.className = verdict?.same ? "same" : "different";
  root.replaceChildren(Object.assign(document.createElement("span"), { textContent: verdict?.words ?? refusal }));
  const coordinate = verdict?.coordinate;
  if (!coordinate) return;
  root.append(button("show where", () => jump(coordinate)));
  if (other) root.append(button(`show ${other}`, turn));
}

/**
 * @param {string} textContent
 * @param {() => void} clicked
 */
function button(textContent, clicked) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent });
  made.addEventListener("click", clicked);
  return made;
}
