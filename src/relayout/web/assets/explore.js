// The explorer: fields make a state, the state is in the address and goes to the server, and a picture comes back.

import { copied } from "../picture/copy.js";
import { Picture } from "../picture/picture.js";
import { themeButton } from "../picture/theme.js";
import { ask } from "./ask.js";
import { offerAudits } from "./audit.js";
import { offerCatalog } from "./catalog.js";
import { showCode } from "./code.js";
import { blame, forgive } from "./errors.js";
import { showFacts } from "./facts.js";
import { Fields, element } from "./fields.js";
import { asked, hashOf, stateOf } from "./link.js";
import { showSliders } from "./sliders.js";
import { showVerdict } from "./verdict.js";

/** @typedef {import("./link.js").State} State */

const PAUSE = 130;
const FORMS = /** @type {const} */ (["text", "svg", "html", "tikz", "python"]);
const NAMES = { text: "text", svg: "SVG", html: "HTML", tikz: "TikZ", python: "Python" };

/** @type {State} */ let state = {};
/** @type {Picture | null} */ let picture = null;
/** @type {import("./fields.js").Subject | undefined} */ let shown;
let timer = 0;

const OTHER = { at: "", pin: "", slice: "", whole: "" };
/** What a field's change makes meaningless; whatever it does not, stays. */
const FORGOTTEN = /** @type {Partial<Record<keyof State, State>>} */ ({
  a: OTHER,
  shape: OTHER,
  axes: OTHER,
  do: OTHER,
  rows: { slice: "" },
  columns: { slice: "" },
});

const offers = JSON.parse(element("start").textContent ?? "");
const fields = new Fields(offers, (name, value) => {
  change({ ...FORGOTTEN[name], [name]: value }, PAUSE, name === "do");
  const missing = { b: "second", tile: "tiles" };
  for (const [text, where] of name === "do" ? Object.entries(missing) : []) {
    if (!state[/** @type {"b" | "tile"} */ (text)]) element(where).scrollIntoView({ block: "nearest" });
  }
});

/**
 * Change the state and draw it, after a pause in typing.
 * @param {State} part
 * @param {number} pause
 * @param {boolean} step whether the way back leads to the state before
 */
function change(part, pause = PAUSE, step = false) {
  state = { ...state, ...part };
  remember(step);
  fields.fill(state);
  clearTimeout(timer);
  timer = setTimeout(draw, pause);
}

/** Put the state into the address, as a step of its own or in place of the last. */
function remember(step = false) {
  if (step && hashOf(state) !== location.hash) history.pushState(null, "", hashOf(state));
  else history.replaceState(null, "", hashOf(state));
}

async function draw() {
  const answer = await ask("view", { state: asked(state) });
  if (!answer) return;
  const stale = Boolean(answer.error);
  element("picture").classList.toggle("stale", stale && picture !== null);
  if (stale) {
    blame(answer.error);
    return;
  }
  forgive();
  show(answer);
  if (state.do === "code") {
    const code = await ask("code", { state: asked(state) });
    if (!code) return;
    if (code.error) blame(code.error);
    showCode(element("text"), code);
  }
  const found = await ask("facts", { state: asked(state) });
  if (!found) return;
  if (found.error) blame(found.error);
  showFacts(element("facts"), found.facts ?? []);
}

/** @param {any} answer */
function show(answer) {
  picture?.leave();
  const root = element("picture");
  root.innerHTML = answer.figures;
  picture = new Picture(root, answer.data, {
    pinned: (spot) => {
      const coordinate = picture?.pinned;
      state.pin = spot && coordinate ? `${spot.pane}:${coordinate}` : "";
      remember();
    },
    sliced: (grid) => {
      state.slice = grid ? `${grid}` : "";
      remember();
    },
  });
  [shown] = answer.subjects.filter((/** @type {any} */ subject) => subject.label === "A");
  if (shown) fields.offerDimensions(shown, state);
  fields.nameNotations(answer.notations);
  showSliders(element("at"), answer.sliders, (at) => change({ at }, 0));
  const other = state.whole ? "less" : answer.part ? "all" : "";
  showVerdict(element("verdict"), answer, { jump, other, turn: () => change({ whole: state.whole ? "" : "1" }, 0, true) });
  const slice = Number(state.slice ?? 0);
  if (picture.panes[0]?.grids[slice]) picture.slices[0].show(slice);
  if (state.pin) pin(state.pin);
}

/**
 * Pin what the address says.
 * @param {string} words
 */
function pin(words) {
  const [, pane, coordinate] = words.match(/^(\d+):(-?\d+(?:,-?\d+)*)$/) ?? [];
  if (!picture || !coordinate) return;
  const spot = picture.spotOf(picture.panes[Number(pane)] ? Number(pane) : 0, coordinate.split(","));
  if (spot) picture.pinAt(spot);
}

/**
 * Go to a coordinate: pin it, and draw its slice first where it is not drawn.
 * @param {string[]} coordinate
 */
function jump(coordinate) {
  if (picture?.spotOf(0, coordinate)) {
    pin(`0:${coordinate}`);
    return;
  }
  const running = picture ? [picture.panes[0].rows.dim, picture.panes[0].columns.dim] : [];
  const still = coordinate.map((c, d) => `${d}:${c}`).filter((_, d) => !running.includes(d));
  change({ at: still.join(","), pin: `0:${coordinate}`, slice: "" }, 0, true);
}

// ---- what is around the picture ------------------------------------------------------------------------------

function offerPresets() {
  for (const preset of offers.presets) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: preset.name });
    button.addEventListener("click", () => restart(preset.state, true));
    element("presets").append(button);
  }
}

function offerCopies() {
  const bar = /** @type {HTMLElement} */ (document.querySelector(".copies"));
  for (const form of FORMS) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: NAMES[form] });
    button.addEventListener("click", async () => {
      const answer = await ask("copy", { state: asked(state), form });
      if (answer?.error) blame(answer.error);
      else if (answer) await copied(button, answer.text);
    });
    bar.append(button);
  }
  const link = /** @type {HTMLButtonElement} */ (element("link"));
  link.addEventListener("click", () => copied(link, location.href));
}

/**
 * The shape that is filled in, in the order of a format's axes; the format's own example where it has other axes.
 * @param {import("./catalog.js").Entry} entry
 */
function shapeFor({ axes, shape }) {
  const names = shown?.names ?? [];
  const same = names.length > 0 && [...names].sort().join() === [...axes].sort().join();
  return state.shape && shape && same ? [...axes].map((name) => shown?.shape[names.indexOf(name)]).join(",") : shape;
}

/**
 * Show another state; light stays light and dark dark unless it says something else.
 * @param {State} next
 */
function restart(next, step = false) {
  state = { theme: state.theme, ...next };
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  change({}, 0, step);
}

let field = "a";
for (const name of ["a", "b"]) element(name).addEventListener("focus", () => (field = name));
offerCatalog(offers.catalog, (entry) => {
  const into = field === "b" && !element("second").hidden ? "b" : "a";
  const words = { ...OTHER, rows: "", columns: "", axes: "", dtype: entry.dtype, shape: shapeFor(entry) };
  change(into === "b" ? { b: entry.name } : { ...words, a: entry.name }, 0, true);
});
offerPresets();
offerCopies();
offerAudits(element("audit"), (next) => restart(next, true));
themeButton(element("theme"), (theme) => {
  state.theme = theme;
  remember();
  picture?.recolour();
});
addEventListener("hashchange", () => restart(stateOf(location.hash)));
restart(location.hash.length > 1 ? stateOf(location.hash) : offers.presets[0].state);
