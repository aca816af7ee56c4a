// Questions; a newer question of a kind puts an end to the older one.

import { send } from "./transport.js";

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
  const answer = await send({ ask: question, ...words }, mine.signal);
  return mine.signal.aborted ? null : answer;
}
