// The digits of a coordinate and the sum that makes its offset, in integers of any size.

/**
 * One dimension: its digits from the fastest, where the window starts, and the size of its blocks ("0" if none).
 * @typedef {{sizes: string[], strides: string[], origin: string, block: string}} Mode
 * @typedef {{modes: Mode[], offset: string, swizzle: [number, number, number] | null}} Layout
 * @typedef {{digit: bigint, stride: bigint}} Term
 * @typedef {{offset: bigint, lines: string[], block: string}} Place
 */

/**
 * Where an element lies, and how that is computed.
 * @param {Layout} layout
 * @param {bigint[]} coordinate one entry for each mode
 * @param {string[]} names
 * @returns {Place}
 */
export function placed(layout, coordinate, names) {
  /** @type {string[]} */ const lines = [];
  /** @type {Term[]} */ const terms = [];
  /** @type {string[]} */ const blocks = [];
  layout.modes.forEach((mode, d) => {
    const origin = BigInt(mode.origin);
    const position = coordinate[d] + origin;
    const words = digitsOf(mode, position, terms);
    const start = origin ? `${coordinate[d]} + ${origin} = ${position}` : `${position}`;
    if (words.length > 1) lines.push(`${names[d]} = ${start} = ${words.join(" + ")}`);
    else if (origin) lines.push(`${names[d]} = ${start}`);
    const block = BigInt(mode.block);
    if (block) blocks.push(`${names[d]} ${position / block}`);
  });
  const base = BigInt(layout.offset);
  terms.sort((a, b) => (magnitude(a.stride) > magnitude(b.stride) ? -1 : 1));
  let offset = terms.reduce((sum, term) => sum + term.digit * term.stride, base);
  const summands = terms.filter((term) => term.digit && term.stride).map(written);
  if (base) summands.unshift(`${base}`);
  const sum = summands.join(" + ").replaceAll("+ -", "− ") || "0";
  lines.push(sum === `${offset}` ? `offset = ${sum}` : `offset = ${sum} = ${offset}`);
  if (layout.swizzle) {
    const { line, value } = swizzled(offset, layout.swizzle);
    lines.push(line);
    offset = value;
  }
  return { offset, lines, block: blocks.join(", ") };
}

/**
 * The digits of a position, slowest first, as they are written; each with its stride goes into the terms.
 * @param {Mode} mode
 * @param {bigint} position
 * @param {Term[]} terms
 */
function digitsOf(mode, position, terms) {
  /** @type {string[]} */ const words = [];
  let rest = position;
  let weight = 1n;
  const last = mode.sizes.length - 1;
  mode.sizes.forEach((text, k) => {
    const size = BigInt(text);
    const digit = k === last || size === 0n ? rest : rest % size;
    terms.push({ digit, stride: BigInt(mode.strides[k]) });
    if (size > 1n) words.unshift(weight === 1n ? `${digit}` : `${digit}·${weight}`);
    if (size) rest /= size;
    weight *= size;
  });
  return words;
}

/** @param {Term} term */
function written({ digit, stride }) {
  return stride === 1n ? `${digit}` : `${digit}·${stride}`;
}

/** @param {bigint} n */
function magnitude(n) {
  return n < 0n ? -n : n;
}

/**
 * An offset under a swizzle, and the line that tells how.
 * @param {bigint} offset
 * @param {[number, number, number]} swizzle
 */
function swizzled(offset, [bits, base, shift]) {
  const source = BigInt(base + Math.max(shift, 0));
  const target = BigInt(base + Math.max(-shift, 0));
  const read = (offset >> source) & ((1n << BigInt(bits)) - 1n);
  const value = offset ^ (read << target);
  const range = (/** @type {bigint} */ low) => (bits === 1 ? `bit ${low}` : `bits ${low}–${low + BigInt(bits) - 1n}`);
  const digits = read.toString(2).padStart(bits, "0");
  const words = `${range(source)} (${digits}) into ${range(target)}`;
  return { value, line: `swizzle<${bits},${base},${shift}>: ${words}: ${offset} XOR ${read << target} = ${value}` };
}
