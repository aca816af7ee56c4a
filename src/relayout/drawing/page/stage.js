// One grid on the page: a picture in SVG or on a canvas, at some scale, with outlines over its cells.

import { Painter, clamp } from "./canvas.js";

/**
 * @typedef {import("./picture.js").Pane} Pane
 * @typedef {import("./picture.js").Grid} Grid
 */

const OUTLINES = 512;
const LEGIBLE = 0.5;
const LEAST_SCALE = 0.62;
const LEAST_CELL = 2;

export class Stage {
  /**
   * @param {HTMLElement} box the element of class "grid"
   * @param {Pane} pane
   * @param {Grid} grid
   */
  constructor(box, pane, grid) {
    this.box = box;
    this.pane = pane;
    this.grid = grid;
    this.scroller = /** @type {HTMLElement} */ (box.querySelector(".scroll"));
    this.floor = /** @type {HTMLElement} */ (box.querySelector(".stage"));
    this.scale = 1;
    this.over = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.over.setAttribute("class", "over");
    this.over.setAttribute("aria-hidden", "true");
    this.floor.append(this.over);
    const canvas = this.floor.querySelector("canvas");
    this.painter = canvas ? new Painter(canvas, pane, grid) : null;
    this.painting = 0;
    if (this.painter) this.scroller.addEventListener("scroll", () => this.paint());
  }

  /** Where the cells begin; on a canvas labels keep their size at every scale. */
  get #start() {
    const { left, top } = this.pane.geometry;
    const scale = this.painter ? 1 : this.scale;
    return { left: left * scale, top: top * scale };
  }

  /**
   * The scale at which a picture is that wide.
   * @param {number} width
   */
  fitting(width) {
    const fixed = this.painter ? this.pane.geometry.left : 0;
    return (width - fixed) / (this.pane.size[0] - fixed);
  }

  /**
   * The scale at which a picture is no wider than that, as long as its texts stay legible and its cells visible.
   * @param {number} width
   */
  within(width) {
    const least = this.painter ? LEAST_CELL / this.pane.geometry.width : LEAST_SCALE;
    return Math.max(least, Math.min(1, this.fitting(width)));
  }

  /**
   * Show the picture at a scale.
   * @param {number} scale
   */
  resize(scale) {
    this.scale = scale;
    this.floor.classList.toggle("small", scale < LEGIBLE);
    const { geometry, size } = this.pane;
    const { left, top } = this.#start;
    this.floor.style.width = `${left + (size[0] - geometry.left) * scale}px`;
    this.floor.style.height = `${top + (size[1] - geometry.top) * scale}px`;
    for (const rect of this.over.querySelectorAll("rect")) this.#place(rect);
    this.paint();
  }

  /** Paint a canvas before the next frame; a picture in SVG paints itself. */
  paint() {
    const { painter, scroller } = this;
    if (!painter || this.painting) return;
    this.painting = requestAnimationFrame(() => {
      this.painting = 0;
      const width = Math.min(scroller.clientWidth, this.floor.clientWidth);
      const height = Math.min(scroller.clientHeight, this.floor.clientHeight);
      painter.canvas.style.width = `${width}px`;
      painter.canvas.style.height = `${height}px`;
      painter.paint(this.scale, { left: scroller.scrollLeft, top: scroller.scrollTop, width, height });
    });
  }

  /** Take the colours of a canvas anew. */
  recolour() {
    this.painter?.recolour();
    this.paint();
  }

  /**
   * The cell under the pointer; -1 where there is none.
   * @param {{clientX: number, clientY: number}} event
   */
  cellAt(event) {
    const { geometry, rows, columns } = this.pane;
    const { left, top } = this.#start;
    const box = this.floor.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / (geometry.width * this.scale));
    const row = Math.floor((event.clientY - box.top - top) / (geometry.height * this.scale));
    const inside = column >= 0 && column < columns.count && row >= 0 && row < rows.count;
    return inside ? row * columns.count + column : -1;
  }

  /**
   * Where a cell is on the stage.
   * @param {number} cell
   */
  #boxOf(cell) {
    const { geometry, columns } = this.pane;
    const { left, top } = this.#start;
    const [width, height] = [geometry.width * this.scale, geometry.height * this.scale];
    return { x: left + (cell % columns.count) * width, y: top + Math.floor(cell / columns.count) * height, width, height };
  }

  /** @param {SVGRectElement} rect */
  #place(rect) {
    for (const [name, value] of Object.entries(this.#boxOf(Number(rect.dataset.cell)))) rect.setAttribute(name, `${value}`);
  }

  /**
   * Outline cells, in place of those outlined before.
   * @param {number[]} cells
   * @param {"hover" | "pin"} kind
   * @param {number} here the one of them that was pointed at, or -1
   */
  outline(cells, kind, here) {
    this.over.querySelectorAll(`.${kind}`).forEach((element) => element.remove());
    for (const cell of cells.slice(0, OUTLINES)) {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      rect.setAttribute("class", cell === here ? `${kind} here` : kind);
      rect.dataset.cell = `${cell}`;
      this.#place(rect);
      this.over.append(rect);
    }
  }

  /**
   * Scroll a cell into sight.
   * @param {number} cell
   */
  reveal(cell) {
    const { scroller } = this;
    const { left, top } = this.#start;
    const { x, y, width, height } = this.#boxOf(cell);
    scroller.scrollLeft = clamp(scroller.scrollLeft, x + width - scroller.clientWidth, x - left);
    scroller.scrollTop = clamp(scroller.scrollTop, y + height - scroller.clientHeight, y - top);
  }
}
