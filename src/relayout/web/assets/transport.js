// Questions go to the server that the page is from.

import { failure } from "./errors.js";

/**
 * The answer to a question, or a failure; what comes after the signal is of no use to anybody.
 * @param {object} question
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function send(question, signal) {
  try {
    const response = await fetch("handle", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
      signal,
    });
    if (!response.ok) return failure(`the server refused: ${response.status} ${response.statusText}.`);
    return await response.json();
  } catch {
    return failure("the server does not answer.", "is `relayout explore` still running?");
  }
}
