// Which of a pane's grids are in sight: all of them if they are few, one at a time behind sliders if they are many.

import { nameOf } from "./readout.js";

/**
 * @typedef {import("./picture.js").Pane} Pane
 */

const FEW = 6;

/**
 * A slider over the slices along a dimension.
 * @param {string} name
 * @param {number} count
 * @param {() => void} moved
 */
export function slider(name, count, moved) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "range", min: "0", step: "1" });
  input.max = `${count - 1}`;
  input.value = "0";
  input.setAttribute("aria-label", `slice along ${name}`);
  input.addEventListener("input", moved);
  const title = Object.assign(document.createElement("span"), { textContent: nameOf(name) });
  const output = document.createElement("output");
  label.append(title, input, output);
  return { label, input, output };
}

export class Slices {
  /**
   * @param {HTMLElement} figure
   * @param {Pane} pane
   * @param {(k: number) => void} changed called after another grid came into sight
   */
  constructor(figure, pane, changed) {
    this.boxes = /** @type {HTMLElement[]} */ ([...figure.querySelectorAll(".grid")]);
    this.pane = pane;
    this.changed = changed;
    this.many = pane.grids.length > FEW;
    this.shown = 0;
    /** @type {{dim: number, values: string[], input: HTMLInputElement, output: HTMLOutputElement}[]} */
    this.sliders = [];
    if (!this.many) return;
    const bar = document.createElement("div");
    bar.className = "sliders";
    for (const [dim, name] of pane.names.entries()) {
      const values = [...new Set(pane.grids.map((grid) => grid.fixed[dim]))];
      if (values.length > 1) bar.append(this.#slider(dim, name, /** @type {string[]} */ (values)));
    }
    /** @type {HTMLElement} */ (figure.querySelector(".grids")).before(bar);
    this.show(0);
  }

  /**
   * @param {number} dim
   * @param {string} name
   * @param {string[]} values
   */
  #slider(dim, name, values) {
    const made = slider(name, values.length, () => this.#slid(dim));
    this.sliders.push({ dim, values, ...made });
    return made.label;
  }

  /**
   * Show the grid that the sliders say; where there is none, the nearest along the slider that moved.
   * @param {number} dim
   */
  #slid(dim) {
    const wanted = this.sliders.map((slider) => slider.values[Number(slider.input.value)]);
    const moved = this.sliders.findIndex((slider) => slider.dim === dim);
    const distance = (/** @type {(string | null)[]} */ fixed) =>
      this.sliders.reduce((sum, slider, k) => {
        return sum + Math.abs(Number(fixed[slider.dim]) - Number(wanted[k])) * (k === moved ? 1e6 : 1);
      }, 0);
    let best = 0;
    this.pane.grids.forEach((grid, k) => {
      if (distance(grid.fixed) < distance(this.pane.grids[best].fixed)) best = k;
    });
    this.show(best);
  }

  /**
   * Bring the grid of a coordinate into sight, where there is one.
   * @param {(string | null)[]} fixed
   */
  follow(fixed) {
    const found = this.pane.grids.findIndex((grid) => grid.fixed.every((x, d) => x === fixed[d]));
    if (found >= 0 && found !== this.shown) this.show(found);
  }

  /**
   * Whether a grid is in sight.
   * @param {number} k
   */
  sees(k) {
    return !this.many || k === this.shown;
  }

  /**
   * Bring a grid into sight.
   * @param {number} k
   */
  show(k) {
    if (!this.many) return;
    this.shown = k;
    this.boxes.forEach((box, i) => box.toggleAttribute("hidden", i !== k));
    for (const { dim, values, input, output } of this.sliders) {
      const value = this.pane.grids[k].fixed[dim] ?? "";
      input.value = `${values.indexOf(value)}`;
      output.textContent = value;
    }
    this.changed(k);
  }
}
