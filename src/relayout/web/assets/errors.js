// Errors, each beside the field that is to blame, with a caret under the place.

/** @typedef {import("./ask.js").Failure} Failure */

const BEFORE = 40;
const AFTER = 24;

/**
 * The answer where there is none.
 * @param {string} message
 * @param {string} hint
 */
export function failure(message, hint = "") {
  return { error: { code: "", name: "Error", message, hint, field: "" } };
}

/** Take all errors off the page. */
export function forgive() {
  for (const box of document.querySelectorAll(".error")) box.replaceChildren();
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/**
 * Show an error beside its field, or over the picture where no field is to blame.
 * @param {Failure} failure
 */
export function blame(failure) {
  forgive();
  const box = document.getElementById(`${failure.field || "general"}-error`) ?? document.getElementById("general-error");
  document.getElementById(failure.field)?.setAttribute("aria-invalid", "true");
  document.getElementById(`${failure.field}-notation`)?.replaceChildren();
  if (!box) return;
  box.append(paragraph("message", failure.message));
  if (failure.text !== undefined && failure.position !== undefined) box.append(caret(failure.text, failure.position));
  if (failure.hint) box.append(paragraph("hint", failure.hint));
}

/**
 * The text around a place, with a caret under it.
 * @param {string} text
 * @param {number} position
 */
function caret(text, position) {
  const characters = [...text].map((c) => (c < " " ? " " : c));
  const start = Math.max(0, position - BEFORE);
  const line = characters.slice(start, position + AFTER).join("");
  const pre = document.createElement("pre");
  pre.className = "caret";
  pre.textContent = `${line}\n${" ".repeat(position - start)}^`;
  return pre;
}

/**
 * @param {string} name
 * @param {string} text
 */
function paragraph(name, text) {
  return Object.assign(document.createElement("p"), { className: name, textContent: text });
}
