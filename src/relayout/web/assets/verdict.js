// The verdict over two layouts, or why an operation has no layout as its result.

/**
 * @param {HTMLElement} root
 * @param {{verdict: {same: boolean, words: string, coordinate: string[] | null} | null, refusal: string}} answer
 * @param {(coordinate: string[]) => void} jump
 */
export function showVerdict(root, { verdict, refusal }, jump) {
  root.hidden = !verdict && !refusal;
  root.className = verdict?.same ? "same" : "different";
  root.replaceChildren(Object.assign(document.createElement("span"), { textContent: verdict?.words ?? refusal }));
  const coordinate = verdict?.coordinate;
  if (!coordinate) return;
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "show where" });
  button.addEventListener("click", () => jump(coordinate));
  root.append(button);
}
