// Copying to the clipboard, with a word in the button that it worked.

/**
 * @param {HTMLButtonElement} button
 * @param {string} text
 */
export async function copied(button, text) {
  button.dataset.words ??= button.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    button.textContent = "not allowed";
  }
  setTimeout(() => (button.textContent = button.dataset.words ?? ""), 900);
}

/**
 * A button that copies what a function gives.
 * @param {string} words what is copied, for those who cannot see where the button is
 * @param {() => string} text
 */
export function copyButton(words, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", words);
  button.addEventListener("click", () => copied(button, text()));
  return button;
}
