// Python, with relayout in it: it starts, tells how far it is, and then answers every message.

import { loadPyodide } from "./pyodide/pyodide.mjs";

/** The bytes of all that is loaded. */
const WHOLE = Number("{{bytes}}");

let loaded = 0;
const plain = fetch;

/** A fetch that counts what comes in. */
self.fetch = async (...words) => {
  const response = await plain(...words);
  const counted = new TransformStream({
    transform(chunk, stream) {
      loaded += chunk.byteLength;
      const part = Math.min(1, loaded / WHOLE);
      tell(part < 1 ? `Python is on its way to this page: ${megabytes(loaded)} of ${megabytes(WHOLE)} MB` : "Python starts");
      stream.enqueue(chunk);
    },
  });
  if (!response.ok || !response.body) return response;
  return new Response(response.body.pipeThrough(counted), { status: response.status, headers: response.headers });
};

const megabytes = (/** @type {number} */ count) => (count / 1e6).toFixed(1);
const tell = (/** @type {string} */ words) => self.postMessage({ progress: `${words}… The examples are there already.` });

try {
  const wheel = fetch("relayout.whl").then((response) => response.arrayBuffer());
  const python = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  python.unpackArchive(await wheel, "whl");
  tell("relayout starts");
  const answer = python.runPython(`
import json
from relayout.web.handle import handle

lambda question: json.dumps(handle(json.loads(question)))
`);
  self.onmessage = ({ data }) => self.postMessage({ answer: answer(data) });
  self.postMessage({ ready: true });
} catch (error) {
  self.postMessage({ failed: String(error) });
}
