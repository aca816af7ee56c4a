// Questions to the server; a newer question of a kind puts an end to the older one.

/**
 * @typedef {{code: string, name: string, message: string, hint: string, field: string, text?: string, position?: number}} Failure
 */

/** @type {Map<string, AbortController>} */ const open = new Map();

/**
 * The answer to a question; null where a newer one of its kind came in between.
 * @param {string} question
 * @param {object} words
 * @returns {Promise<any>}
 */
export async function ask(question, words = {}) {
  open.get(question)?.abort();
  const mine = new AbortController();
  open.set(question, mine);
  try {
    const response = await fetch("handle", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ask: question, ...words }),
      signal: mine.signal,
    });
    if (!response.ok) return failure(`the server refused: ${response.status} ${response.statusText}.`);
    return await response.json();
  } catch {
    return mine.signal.aborted ? null : failure("the server does not answer.", "is `relayout explore` still running?");
  }
}

/**
 * @param {string} message
 * @param {string} hint
 */
function failure(message, hint = "") {
  return { error: { code: "", name: "Error", message, hint, field: "" } };
}
