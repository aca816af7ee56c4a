// Questions go to Python in this page: a worker answers them, one after another. What the examples show, here and on the
// other pages of the site, was answered when it was built, so that it is there before Python is.

import { failure } from "./errors.js";

/** After so many milliseconds a question is ended, and Python with it; the next question starts it again. */
const LIMIT = 10_000;

/** @typedef {{worker: Worker, ready: Promise<void>}} Python */

/** @type {Python | null} */ let python = null;
/** @type {Promise<unknown>} */ let last = Promise.resolve();
let started = false;

/**
 * Answers by their questions, and the files that have more of them.
 * @type {Promise<{answers: Record<string, any>, files: Record<string, string>}>}
 */
const written = fetch("answers.json").then((response) => response.json(), () => ({ answers: {}, files: {} }));

/**
 * The answer to a question, or a failure; what comes after the signal is of no use to anybody.
 * @param {object} question
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function send(question, signal) {
  const { answers, files } = await written;
  const words = JSON.stringify(question);
  if (answers[words]) return answers[words];
  if (files[words] && !started && navigator.onLine) {
    const response = await fetch(files[words]).catch(() => null);
    if (response?.ok) return response.json();
  }
  return askPython(question, signal);
}

/**
 * What Python says, when it has answered all that was asked before.
 * @param {object} question
 * @param {AbortSignal} [signal] a question that nobody wants any more is not asked
 * @param {number} [limit]
 * @returns {Promise<any>}
 */
export function askPython(question, signal, limit = LIMIT) {
  const mine = last.then(() => (signal?.aborted ? null : answer(question, limit)));
  last = mine;
  return mine;
}

/**
 * @param {object} question
 * @param {number} limit
 */
async function answer(question, limit) {
  python ??= start();
  const { worker, ready } = python;
  try {
    await ready;
  } catch (error) {
    return failure(`Python does not start in this browser: ${error}`, "`relayout explore` shows the same page without it");
  }
  return new Promise((done) => {
    /** @param {string} why */
    const end = (why) => {
      clearTimeout(timer);
      worker.terminate();
      python = start();
      done(failure(why, "ask about a part of it"));
    };
    const timer = setTimeout(() => end(`no answer within ${limit / 1000} seconds, so the question was ended.`), limit);
    worker.onerror = (event) => {
      event.preventDefault();
      end("Python gave up on the question, and starts again.");
    };
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      done(JSON.parse(data.answer));
    };
    worker.postMessage(JSON.stringify(question));
  });
}

/**
 * Start Python, and tell how far it is.
 * @returns {Python}
 */
function start() {
  const worker = new Worker("worker.js", { type: "module" });
  /** @type {Promise<void>} */
  const ready = new Promise((done, refuse) => {
    worker.onmessage = ({ data }) => {
      if (data.failed) refuse(data.failed);
      else if (data.ready) done();
      else tell(data.progress);
    };
    worker.onerror = (event) => refuse(event.message || "its script cannot be loaded");
  });
  ready.then(() => tell(""), () => tell(""));
  return { worker, ready };
}

/** @param {string} words */
function tell(words) {
  const line = document.getElementById("progress");
  if (!line) return;
  line.textContent = words;
  line.hidden = !words;
}

python = start();
python.ready.then(() => (started = true), () => {});
python.ready.then(() => navigator.serviceWorker?.register("cache.js"), () => {});
