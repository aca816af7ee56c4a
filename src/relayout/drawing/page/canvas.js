// A grid on a canvas as large as what is in sight: only cells in sight are painted, and labels stay in sight.

/**
 * @typedef {import("./picture.js").Pane} Pane
 * @typedef {import("./picture.js").Grid} Grid
 * @typedef {{left: number, top: number, width: number, height: number}} Box
 * @typedef {{tints: string[], paper: string, text: string, out: string, label: string, line: string, rule: string,
 *   path: string, hatch: string, mark: string, font: string}} Colours
 * @typedef {{pen: CanvasRenderingContext2D, x: (column: number) => number, y: (row: number) => number, wide: number,
 *   high: number, seen: {left: number, right: number, top: number, bottom: number}, scale: number, ratio: number,
 *   font: number, legible: boolean}} Frame
 */

const SVG = "http://www.w3.org/2000/svg";
const LEAST_FONT = 6;
const HALF_CHARACTER = 3.65;
const HALF_LINE = 5.5;
const HEAD = 4;
const LABELS = 16;
const LEVEL = 20;
const strideRoom = (/** @type {string} */ text) => Math.round(text.length * 6.1) + 12;
const PADDING = -2;
const NEAR = 0.65;
const FAR = 0.35;

/**
 * The colours of this moment, light or dark, taken from the style sheet.
 * @param {Element} near
 * @param {Pane} pane
 * @returns {Colours}
 */
function coloursOf(near, pane) {
  const probe = document.createElementNS(SVG, "svg");
  probe.setAttribute("class", "rl");
  near.append(probe);
  const style = (/** @type {string} */ tag, /** @type {string} */ name) => {
    const element = document.createElementNS(SVG, tag);
    element.setAttribute("class", name);
    probe.append(element);
    return getComputedStyle(element);
  };
  const ramp = pane.scale === "ramp";
  const tints = Array.from({ length: ramp ? 12 : 8 }, (_, k) => style("rect", `${ramp ? "r" : "c"}${k}`).fill);
  const found = {
    tints,
    paper: style("rect", "bg").fill,
    text: style("text", "").fill,
    out: style("text", "out").fill,
    label: style("text", "label").fill,
    line: style("path", "line").stroke,
    rule: style("path", "rule1").stroke,
    path: style("path", "path").stroke,
    hatch: style("path", "hatch").stroke,
    mark: style("path", "mark").stroke,
    font: style("text", "").fontFamily,
  };
  probe.remove();
  return found;
}

export class Painter {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Pane} pane
   * @param {Grid} grid
   */
  constructor(canvas, pane, grid) {
    this.canvas = canvas;
    this.pane = pane;
    this.grid = grid;
    this.longest = grid.texts.reduce((a, b) => (b.length > a.length ? b : a), "");
    this.colours = this.#read();
  }

  /** Take the colours anew, after light became dark or dark light. */
  recolour() {
    this.colours = this.#read();
  }

  #read() {
    return coloursOf(/** @type {Element} */ (this.canvas.parentElement), this.pane);
  }

  /**
   * Paint the part of the picture that starts at (left, top), its cells at a scale; labels keep their size.
   * @param {number} scale
   * @param {Box} view
   */
  paint(scale, view) {
    const { geometry, rows, columns } = this.pane;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(view.width * ratio));
    this.canvas.height = Math.max(1, Math.round(view.height * ratio));
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    pen.scale(ratio, ratio);
    const snap = (/** @type {number} */ x) => Math.round(x * ratio) / ratio;
    const wide = geometry.width * scale;
    const high = geometry.height * scale;
    const x = (/** @type {number} */ column) => snap(geometry.left + column * wide - view.left);
    const y = (/** @type {number} */ row) => snap(geometry.top + row * high - view.top);
    const seen = {
      left: clamp(Math.floor((view.left - geometry.left) / wide), 0, columns.count),
      right: clamp(Math.ceil((view.left + view.width - geometry.left) / wide), 0, columns.count),
      top: clamp(Math.floor((view.top - geometry.top) / high), 0, rows.count),
      bottom: clamp(Math.ceil((view.top + view.height - geometry.top) / high), 0, rows.count),
    };
    const frame = { pen, x, y, wide, high, seen, scale, ratio, ...this.#font(pen, wide, high, scale) };
    this.#cells(frame);
    this.#rules(frame);
    this.#path(frame);
    this.#marks(frame);
    this.#labels(frame, view);
  }

  /**
   * Take up the font of the cells' texts: its size, and whether the texts can be read and have room.
   * @param {CanvasRenderingContext2D} pen
   * @param {number} wide
   * @param {number} high
   * @param {number} scale
   */
  #font(pen, wide, high, scale) {
    const lines = this.longest.split("\n");
    const font = Math.min(12 * scale, high / (lines.length + 0.5));
    pen.font = `${font}px ${this.colours.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const legible = font >= LEAST_FONT && Math.max(...lines.map((line) => pen.measureText(line).width)) < wide;
    return { font, legible };
  }

  /** @param {Frame} frame */
  #cells({ pen, x, y, wide, high, seen, scale, font, legible }) {
    const { grid, pane, colours } = this;
    const hatch = hatched(pen, colours, scale);
    for (let r = seen.top; r < seen.bottom; r++) {
      for (let c = seen.left; c < seen.right; c++) {
        const k = r * pane.columns.count + c;
        const tint = grid.tints[k];
        pen.fillStyle = tint === PADDING ? hatch : (colours.tints[tint] ?? colours.paper);
        pen.fillRect(x(c), y(r), x(c + 1) - x(c), y(r + 1) - y(r));
        if (!legible || !grid.texts[k]) continue;
        pen.fillStyle = tint === PADDING ? colours.out : colours.text;
        const words = grid.texts[k].split("\n");
        words.forEach((word, i) => {
          pen.fillText(word, x(c) + wide / 2, y(r) + high / 2 + (i - (words.length - 1) / 2) * font * 1.15 + 0.5);
        });
      }
    }
  }

  /**
   * Lines between cells, thin ones first: the rules of blocks go over them, and the last edge is inside the picture.
   * @param {Frame} frame
   */
  #rules({ pen, x, y, wide, high, seen, ratio }) {
    const { colours, pane } = this;
    const { rows, columns } = pane;
    const weightOf = (/** @type {import("./picture.js").Axis} */ axis, /** @type {number} */ k) =>
      Math.min(axis.rules[k] || (k === 0 || k === axis.count ? 1 : 0), 3);
    const middle = 0.5 / ratio;
    const inside = (/** @type {number} */ k, /** @type {number} */ count) => (k === count ? -middle : middle);
    const [left, right, top, bottom] = [x(seen.left), x(seen.right), y(seen.top), y(seen.bottom)];
    for (let weight = Math.min(wide, high) >= 5 ? 0 : 1; weight <= 3; weight++) {
      pen.strokeStyle = weight ? colours.rule : colours.line;
      const width = (/** @type {number} */ room) => Math.max(1 / ratio, Math.min([0, 1.25, 2.25, 3.5][weight], room / 5));
      pen.lineWidth = width(wide);
      for (let c = seen.left; c <= seen.right; c++) {
        const at = x(c) + inside(c, columns.count);
        if (weightOf(columns, c) === weight) stroke(pen, at, top, at, bottom);
      }
      pen.lineWidth = width(high);
      for (let r = seen.top; r <= seen.bottom; r++) {
        const at = y(r) + inside(r, rows.count);
        if (weightOf(rows, r) === weight) stroke(pen, left, at, right, at);
      }
    }
  }

  /**
   * Arrows from cell to cell beside their texts, fainter where they pass over others; plain lines where cells are small.
   * @param {Frame} frame
   */
  #path({ pen, x, y, wide, high, scale, legible }) {
    const { grid, pane, colours } = this;
    const across = pane.columns.count;
    const middle = (/** @type {number} */ k) => [x(k % across) + wide / 2, y(Math.floor(k / across)) + high / 2];
    const [near, far] = [new Path2D(), new Path2D()];
    for (let n = 1; n < grid.path.length; n++) {
      const [k, m] = [grid.path[n - 1], grid.path[n]];
      const [[a, b], [c, d]] = [middle(k), middle(m)];
      const [right, down] = [c - a, d - b];
      const [away, left] = [k, m].map((cell) => (legible ? reach(grid.texts[cell], right / scale, down / scale) : 0));
      const line = Math.abs(right) > 1.5 * wide || Math.abs(down) > 1.5 * high ? far : near;
      const [u, v] = [c - left * right, d - left * down];
      line.moveTo(a + away * right, b + away * down);
      line.lineTo(u, v);
      if (legible) head(line, u, v, right, down, HEAD * scale);
    }
    pen.strokeStyle = colours.path;
    pen.lineWidth = clamp(wide / 20, 0.5, 1.4);
    pen.globalAlpha = NEAR;
    pen.stroke(near);
    pen.globalAlpha = FAR;
    pen.stroke(far);
    pen.globalAlpha = 1;
  }

  /**
   * The outline of the marked cells, around each region of them.
   * @param {Frame} frame
   */
  #marks({ pen, x, y, wide, high }) {
    const across = this.pane.columns.count;
    const marked = new Set(this.grid.marked);
    pen.strokeStyle = this.colours.mark;
    pen.lineWidth = clamp(wide / 10, 1, 2.5);
    for (const k of marked) {
      const [left, top] = [x(k % across), y(Math.floor(k / across))];
      const [right, bottom] = [left + wide, top + high];
      if (k % across === 0 || !marked.has(k - 1)) stroke(pen, left, top, left, bottom);
      if (k % across === across - 1 || !marked.has(k + 1)) stroke(pen, right, top, right, bottom);
      if (!marked.has(k - across)) stroke(pen, left, top, right, top);
      if (!marked.has(k + across)) stroke(pen, left, bottom, right, bottom);
    }
  }

  /**
   * @param {Frame} frame
   * @param {Box} view
   */
  #labels({ pen, x, y, wide, high, seen }, view) {
    const { geometry, rows, columns } = this.pane;
    const { colours } = this;
    const band = { width: geometry.left, height: geometry.top };
    const font = 10;
    pen.font = `${font}px ${colours.font}`;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, view.width, band.height);
    pen.fillRect(0, 0, band.width, view.height);
    pen.fillStyle = colours.label;
    const skip = (/** @type {string[]} */ labels, /** @type {number} */ room, /** @type {boolean} */ flat) => {
      const needed = flat ? Math.max(...labels.map((s) => s.length)) * font * 0.65 + 6 : font * 1.1;
      return Math.max(1, 2 ** Math.ceil(Math.log2(needed / room)));
    };
    pen.textAlign = "center";
    const every = skip(columns.labels, wide, true);
    for (let c = seen.left; c < seen.right; c++) {
      const middle = x(c) + wide / 2;
      const whole = middle > band.width && middle + pen.measureText(columns.labels[c]).width / 2 <= view.width;
      if (c % every === 0 && whole) pen.fillText(columns.labels[c], middle, band.height - font * 0.75);
    }
    pen.textAlign = "right";
    const each = skip(rows.labels, high, false);
    for (let r = seen.top; r < seen.bottom; r++) {
      const middle = y(r) + high / 2;
      if (r % each === 0 && middle >= band.height) pen.fillText(rows.labels[r], band.width - 5, middle);
    }
    const corner = [rows.name && `${rows.name}\u2193`, columns.name && `${columns.name}\u2192`].join("");
    if (band.height > font) pen.fillText(corner, Math.max(band.width - 5, pen.measureText(corner).width), band.height - font * 0.75);
    this.#strides({ x: (k) => x(k) + wide / 2, y: (k) => y(k) + high / 2 }, pen);
  }

  /**
   * Arrows beside the labels, each with what its step adds to the offset; the innermost is nearest to the cells.
   * @param {{x: (column: number) => number, y: (row: number) => number}} middle of a line
   * @param {CanvasRenderingContext2D} pen
   */
  #strides({ x, y }, pen) {
    const { geometry, rows, columns } = this.pane;
    pen.strokeStyle = pen.fillStyle = this.colours.text;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    let edge = geometry.top - LABELS;
    for (const [start, end, text] of columns.strides) {
      const [a, b] = [x(start), x(end)];
      if (a > geometry.left) bracket(pen, [[a, edge], [a, edge - 5], [b, edge - 5], [b, edge]], [0, 1]);
      if (a > geometry.left) pen.fillText(text, (a + b) / 2, edge - 12);
      edge -= LEVEL;
    }
    pen.textAlign = "right";
    edge = rows.strides.reduce((sum, [, , text]) => sum + strideRoom(text), 0);
    for (const [start, end, text] of rows.strides) {
      const [a, b] = [y(start), y(end)];
      if (a > geometry.top) bracket(pen, [[edge, a], [edge - 5, a], [edge - 5, b], [edge, b]], [1, 0]);
      if (a > geometry.top) pen.fillText(text, edge - 8, (a + b) / 2);
      edge -= strideRoom(text);
    }
  }
}

/**
 * How much of a way from the middle of a text lies on it.
 * @param {string} text
 * @param {number} right
 * @param {number} down
 */
function reach(text, right, down) {
  const lines = text.split("\n");
  const wide = Math.max(...lines.map((line) => line.length)) * HALF_CHARACTER + 1;
  const high = text ? HALF_LINE * lines.length + 1 : 1;
  return Math.min(wide / Math.abs(right), high / Math.abs(down), 1);
}

/**
 * The head of an arrow that ends at (x, y).
 * @param {Path2D} line
 * @param {number} x
 * @param {number} y
 * @param {number} right
 * @param {number} down
 * @param {number} size
 */
function head(line, x, y, right, down, size) {
  const length = Math.hypot(right, down) || 1;
  const [ahead, below] = [(size * right) / length, (size * down) / length];
  line.moveTo(x - ahead - below / 2, y - below + ahead / 2);
  line.lineTo(x, y);
  line.lineTo(x - ahead + below / 2, y - below - ahead / 2);
}

/**
 * An arrow through some points, which ends in a direction.
 * @param {CanvasRenderingContext2D} pen
 * @param {[number, number][]} points
 * @param {[number, number]} direction
 */
function bracket(pen, points, [right, down]) {
  const line = new Path2D();
  points.forEach(([x, y], k) => (k ? line.lineTo(x, y) : line.moveTo(x, y)));
  head(line, ...points[points.length - 1], right, down, HEAD);
  pen.stroke(line);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Colours} colours
 * @param {number} scale
 */
function hatched(pen, colours, scale) {
  const size = Math.max(4, Math.round(7 * scale));
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const brush = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  brush.fillStyle = colours.paper;
  brush.fillRect(0, 0, size, size);
  brush.strokeStyle = colours.hatch;
  for (const shift of [-size, 0, size]) stroke(brush, shift, size, shift + size, 0);
  return /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
function stroke(pen, a, b, c, d) {
  pen.beginPath();
  pen.moveTo(a, b);
  pen.lineTo(c, d);
  pen.stroke();
}

/**
 * @param {number} n
 * @param {number} low
 * @param {number} high
 */
export function clamp(n, low, high) {
  return Math.min(Math.max(n, low), high);
}
