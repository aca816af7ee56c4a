// A picture that answers: hover tells of a cell and shows the same element in every pane, a click pins it.

import { clamp } from "./canvas.js";
import { coordinateOf, numberOf, told } from "./readout.js";
import { Slices } from "./slices.js";
import { Stage } from "./stage.js";

/**
 * Numbers that may be larger than a double holds are texts.
 * @typedef {{dim: number | null, name: string, count: number, labels: string[], rules: number[], first: string, step: string,
 *   strides: [number, number, string][]}} Axis
 * @typedef {{fixed: (string | null)[], texts: string[], tints: number[], keys: number[], marked: number[], path: number[],
 *   words: string[]}} Grid
 * @typedef {{left: number, top: number, width: number, height: number}} Geometry
 * @typedef {{title: string, kind: "logical" | "memory" | "threads" | "record", rows: Axis, columns: Axis, grids: Grid[],
 *   scale: "categories" | "ramp", names: string[], extents: string[], outside: string, geometry: Geometry,
 *   size: [number, number], layout: import("./digits.js").Layout | null}} Pane
 * @typedef {{panes: Pane[]}} Data
 * @typedef {{pane: number, grid: number, cell: number}} Spot
 * @typedef {{pinned?: (spot: Spot | null) => void, sliced?: (grid: number) => void}} Hooks
 */

const ZOOM = 1.25;
const LEAST_ZOOM = 0.02;
const MOST_ZOOM = 4;

export class Picture {
  /**
   * @param {HTMLElement} root has the figures, in the order of the panes
   * @param {Data} data
   * @param {Hooks} [hooks]
   */
  constructor(root, data, hooks = {}) {
    this.root = root;
    this.panes = data.panes;
    this.hooks = hooks;
    this.leaving = new AbortController();
    /** @type {Spot | null} */ this.pin = null;
    /** @type {Spot | null} */ this.hover = null;
    this.figures = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("figure.pane")]);
    this.readout = this.#readout();
    this.stages = this.figures.map((figure, p) => {
      const boxes = /** @type {HTMLElement[]} */ ([...figure.querySelectorAll(".grid")]);
      return boxes.map((box, g) => new Stage(box, this.panes[p], this.panes[p].grids[g]));
    });
    /** @type {(number | null)[]} */ this.scales = this.panes.map(() => null);
    this.places = this.#places();
    /** @type {Slices[]} */ this.slices = [];
    this.slices = this.figures.map((figure, p) => new Slices(figure, this.panes[p], (g) => this.#slid(p, g)));
    this.figures.forEach((figure, p) => this.#zoomButtons(figure, p));
    this.stages.forEach((stages, p) => stages.forEach((stage, g) => this.#listen(stage, p, g)));
    const { signal } = this.leaving;
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.unpin(), { signal });
    const watcher = new ResizeObserver(() => this.panes.forEach((_, p) => this.#resize(p)));
    watcher.observe(root);
    signal.addEventListener("abort", () => watcher.disconnect());
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.recolour(), { signal });
    this.panes.forEach((_, p) => this.#resize(p));
    this.#tell();
  }

  /** Let go of the page, before another picture takes its place. */
  leave() {
    this.leaving.abort();
  }

  /** Paint anew after light became dark or dark light. */
  recolour() {
    for (const stage of this.stages.flat()) stage.recolour();
  }

  // ---- what is the same thing -----------------------------------------------------------------------------

  /** Every spot of each key. */
  #places() {
    /** @type {Map<number, Spot[]>} */ const places = new Map();
    this.panes.forEach(({ grids }, pane) =>
      grids.forEach(({ keys }, grid) =>
        keys.forEach((key, cell) => {
          if (key < 0) return;
          const known = places.get(key);
          if (known) known.push({ pane, grid, cell });
          else places.set(key, [{ pane, grid, cell }]);
        }),
      ),
    );
    return places;
  }

  /**
   * The spot and all others of the same element.
   * @param {Spot} spot
   */
  #same(spot) {
    const key = this.panes[spot.pane].grids[spot.grid].keys[spot.cell];
    return (key >= 0 && this.places.get(key)) || [spot];
  }

  // ---- looking --------------------------------------------------------------------------------------------

  /** @param {Spot | null} spot */
  look(spot) {
    if (same(spot, this.hover)) return;
    this.hover = spot;
    this.#outline("hover", spot);
    this.#tell();
  }

  /**
   * Pin a spot, and bring its element into sight in every pane.
   * @param {Spot} spot
   */
  pinAt(spot) {
    this.pin = spot;
    const seen = new Set();
    for (const { pane, grid, cell } of [spot, ...this.#same(spot)]) {
      if (seen.has(pane)) continue;
      seen.add(pane);
      this.slices[pane].show(grid);
      this.stages[pane][grid].reveal(cell);
    }
    this.#outline("pin", spot);
    this.#tell();
    this.hooks.pinned?.(spot);
  }

  unpin() {
    this.pin = null;
    this.#outline("pin", null);
    this.look(null);
    this.#tell();
    this.hooks.pinned?.(null);
  }

  /**
   * The spot of a coordinate in a pane; null where it is not drawn.
   * @param {number} pane
   * @param {string[]} coordinate
   * @returns {Spot | null}
   */
  spotOf(pane, coordinate) {
    const { kind, extents, grids, rows, columns } = this.panes[pane];
    if (coordinate.length !== extents.length) return null;
    if (kind === "memory") return this.#holder(pane, numberOf(extents, coordinate));
    if (kind !== "logical") return null;
    const along = (/** @type {Axis} */ axis) => {
      if (axis.dim === null) return 0;
      const from = Number(BigInt(coordinate[axis.dim]) - BigInt(axis.first));
      return Math.floor(from / Number(axis.step));
    };
    const grid = grids.findIndex(({ fixed }) => fixed.every((x, d) => x === null || x === coordinate[d]));
    const [row, column] = [along(rows), along(columns)];
    const inside = row >= 0 && row < rows.count && column >= 0 && column < columns.count;
    return grid < 0 || !inside ? null : { pane, grid, cell: row * columns.count + column };
  }

  /**
   * The spot of an element in a memory.
   * @param {number} pane
   * @param {bigint} key
   * @returns {Spot | null}
   */
  #holder(pane, key) {
    const cells = this.panes[pane].grids.map(({ keys }) => keys.indexOf(Number(key)));
    const grid = cells.findIndex((cell) => cell >= 0);
    return grid < 0 ? null : { pane, grid, cell: cells[grid] };
  }

  /** The coordinate that is pinned, as the page's address has it; null where there is none. */
  get pinned() {
    if (!this.pin) return null;
    const { pane, grid, cell } = this.pin;
    return coordinateOf(this.panes[pane], this.panes[pane].grids[grid], cell)?.map(String) ?? null;
  }

  /**
   * @param {"hover" | "pin"} kind
   * @param {Spot | null} spot
   */
  #outline(kind, spot) {
    const spots = spot ? this.#same(spot) : [];
    this.stages.forEach((stages, p) =>
      stages.forEach((stage, g) => {
        const cells = spots.filter(({ pane, grid }) => pane === p && grid === g).map(({ cell }) => cell);
        stage.outline(cells, kind, spot?.pane === p && spot.grid === g ? spot.cell : -1);
      }),
    );
  }

  /**
   * After another slice came into sight in a pane: the same slice in the others.
   * @param {number} p
   * @param {number} g
   */
  #slid(p, g) {
    this.#resize(p);
    const { names, grids } = this.panes[p];
    this.slices.forEach((slices, other) => {
      if (other !== p && `${this.panes[other].names}` === `${names}`) slices.follow(grids[g].fixed);
    });
    if (p === 0 && this.slices.length) this.hooks.sliced?.(g);
  }

  // ---- telling --------------------------------------------------------------------------------------------

  #readout() {
    const found = this.root.querySelector(".readout");
    if (found) return /** @type {HTMLElement} */ (found);
    const made = document.createElement("div");
    made.className = "readout";
    made.setAttribute("role", "status");
    made.setAttribute("aria-live", "polite");
    this.root.append(made);
    return made;
  }

  #tell() {
    const spot = this.hover ?? this.pin;
    this.readout.replaceChildren();
    this.readout.classList.toggle("pinned", Boolean(this.pin && !this.hover));
    if (!spot) {
      this.readout.append(line("hint", "Point at a cell to see how its offset comes about. Click pins it; arrow keys move."));
      return;
    }
    const panes = new Set([spot.pane]);
    const heads = [this.#head(spot)];
    for (const other of this.#same(spot)) {
      if (panes.has(other.pane)) continue;
      panes.add(other.pane);
      heads.push(this.#head(other));
    }
    const twice = heads.map(({ lines, memory }, k) =>
      heads.slice(0, k).some((head) => (memory || head.memory) && `${head.lines}` === `${lines}`),
    );
    this.readout.append(...heads.filter((_, k) => !twice[k]).map(({ element }) => element));
  }

  /** @param {Spot} spot */
  #head({ pane, grid, cell }) {
    const about = this.panes[pane];
    const { what, where, more, lines } = told(about, about.grids[grid], cell);
    const element = document.createElement("div");
    element.className = "told";
    const head = document.createElement("div");
    head.className = "head";
    if (this.panes.length > 1) head.append(line("which", about.title));
    head.append(line("what", what), line("where", where));
    for (const words of more) head.append(line("more", words));
    element.append(head);
    if (lines.length) element.append(line("digits", lines.join("\n")));
    return { element, lines, memory: about.kind === "memory" };
  }

  // ---- pointer and keys -----------------------------------------------------------------------------------

  /**
   * @param {Stage} stage
   * @param {number} pane
   * @param {number} grid
   */
  #listen(stage, pane, grid) {
    const spot = (/** @type {number} */ cell) => (cell < 0 ? null : { pane, grid, cell });
    stage.floor.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") this.look(spot(stage.cellAt(event)));
    });
    stage.floor.addEventListener("pointerleave", () => this.look(null));
    stage.floor.addEventListener("click", (event) => {
      const at = spot(stage.cellAt(event));
      if (!at || same(at, this.pin)) this.unpin();
      else this.pinAt(at);
    });
    stage.box.addEventListener("keydown", (event) => this.#key(event, stage, pane, grid));
  }

  /**
   * Arrow keys move the pin from cell to cell.
   * @param {KeyboardEvent} event
   * @param {Stage} stage
   * @param {number} pane
   * @param {number} grid
   */
  #key(event, stage, pane, grid) {
    const { rows, columns } = this.panes[pane];
    const across = columns.count;
    const at = this.pin && this.pin.pane === pane && this.pin.grid === grid ? this.pin.cell : -1;
    const [row, column] = [Math.floor(at / across), at % across];
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, across - 1],
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [r, c] = at < 0 ? [0, 0] : move;
    if (r < 0 || r >= rows.count || c < 0 || c >= across) return;
    this.look(null); // a pointer that rests on another cell has no say
    this.pinAt({ pane, grid, cell: r * across + c });
  }

  // ---- size -----------------------------------------------------------------------------------------------

  /**
   * Show a pane's grids at the scale that was asked for, or so that they fit as long as they stay legible.
   * @param {number} p
   */
  #resize(p) {
    this.stages[p].forEach((stage, g) => {
      if (!this.slices[p]?.sees(g)) return;
      stage.resize(this.scales[p] ?? stage.within(this.#room(p)));
    });
  }

  /**
   * How wide a grid can be before the page gets too wide.
   * @param {number} p
   */
  #room(p) {
    const figure = this.figures[p];
    const { paddingLeft, paddingRight } = getComputedStyle(figure);
    const panes = /** @type {Element} */ (figure.closest(".panes"));
    const joint = figure.previousElementSibling;
    const taken = joint instanceof HTMLElement && joint.className === "joint" ? joint.offsetWidth : 0;
    return panes.clientWidth - taken - parseFloat(paddingLeft) - parseFloat(paddingRight) - 2;
  }

  /**
   * Buttons that change the scale, where a picture is larger than the page.
   * @param {HTMLElement} figure
   * @param {number} p
   */
  #zoomButtons(figure, p) {
    const [first] = this.stages[p];
    if (!first || first.fitting(this.#room(p)) >= 1) return;
    const bar = document.createElement("span");
    bar.className = "zoom";
    const now = () => this.stages[p][this.slices[p].shown].scale;
    /** @type {[string, string, () => number][]} */
    const buttons = [
      ["−", "smaller", () => now() / ZOOM],
      ["+", "larger", () => now() * ZOOM],
      ["fit", "fit the width", () => first.fitting(this.#room(p))],
      ["1:1", "the size at which texts are legible", () => 1],
    ];
    for (const [text, words, scale] of buttons) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.title = words;
      button.setAttribute("aria-label", words);
      button.addEventListener("click", () => {
        this.scales[p] = clamp(scale(), LEAST_ZOOM, MOST_ZOOM);
        this.#resize(p);
        const { pin } = this;
        if (pin?.pane === p) this.stages[p][pin.grid].reveal(pin.cell);
      });
      bar.append(button);
    }
    figure.querySelector("figcaption")?.append(bar);
  }
}

/**
 * @param {string} name
 * @param {string} text
 */
function line(name, text) {
  const element = document.createElement(name === "digits" ? "pre" : "span");
  element.className = name;
  element.textContent = text;
  return element;
}

/**
 * @param {Spot | null} a
 * @param {Spot | null} b
 */
function same(a, b) {
  return a?.pane === b?.pane && a?.grid === b?.grid && a?.cell === b?.cell;
}
