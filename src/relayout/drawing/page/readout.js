// What is told of a cell: its coordinate, its offset, its block, and the digits of the computation.

import { placed } from "./digits.js";

/**
 * @typedef {import("./picture.js").Pane} Pane
 * @typedef {import("./picture.js").Grid} Grid
 * @typedef {{what: string, where: string, more: string[], lines: string[]}} Told
 */

/**
 * The coordinate of a cell, one entry for each dimension; null where the cell is none of a layout's.
 * @param {Pane} pane
 * @param {Grid} grid
 * @param {number} cell
 * @returns {bigint[] | null}
 */
export function coordinateOf(pane, grid, cell) {
  if (pane.kind === "memory") return grid.keys[cell] < 0 || !pane.layout ? null : unravelled(pane, grid.keys[cell]);
  if (pane.kind !== "logical") return null;
  const { rows, columns } = pane;
  const row = Math.floor(cell / columns.count);
  const column = cell % columns.count;
  return grid.fixed.map((fixed, d) => {
    if (rows.dim === d) return BigInt(rows.first) + BigInt(row) * BigInt(rows.step);
    if (columns.dim === d) return BigInt(columns.first) + BigInt(column) * BigInt(columns.step);
    return BigInt(fixed ?? 0);
  });
}

/**
 * The coordinate of an element by its number in row-major order.
 * @param {Pane} pane
 * @param {number} key
 */
function unravelled(pane, key) {
  let rest = BigInt(key);
  const found = [];
  for (const text of [...pane.extents].reverse()) {
    const extent = BigInt(text);
    found.unshift(rest % extent);
    rest /= extent;
  }
  return found;
}

/**
 * The number of an element in row-major order.
 * @param {string[]} extents
 * @param {string[]} coordinate
 */
export function numberOf(extents, coordinate) {
  return extents.reduce((number, extent, d) => number * BigInt(extent) + BigInt(coordinate[d]), 0n);
}

/**
 * All there is to tell of a cell.
 * @param {Pane} pane
 * @param {Grid} grid
 * @param {number} cell
 * @returns {Told}
 */
export function told(pane, grid, cell) {
  if (grid.words.length) {
    const [what, where = ""] = grid.words[cell].split("\n");
    return { what, where, more: [], lines: [] };
  }
  const coordinate = coordinateOf(pane, grid, cell);
  const address = pane.kind === "memory" ? addressOf(pane, cell) : null;
  const text = grid.texts[cell]?.replace("\n", " ") ?? "";
  if (!coordinate) {
    if (address !== null) return { what: `address ${address}`, where: "holds no element", more: [], lines: [] };
    return { what: labelled(pane, cell), where: text, more: [], lines: [] };
  }
  const what = inWords(pane, coordinate);
  if (!pane.layout) return { what, where: text, more: [], lines: [] };
  const { offset, lines, block } = placed(pane.layout, coordinate, pane.names.map(nameOf));
  const outside = coordinate.some((c, d) => c < 0n || c >= BigInt(pane.extents[d]));
  const more = block ? [`block ${block}`] : [];
  if (outside) more.push(pane.outside);
  if (!outside && !["", `${offset}`].includes(text) && pane.kind === "logical") more.push(`shows ${text}`);
  return { what, where: `offset ${offset}`, more, lines };
}

/**
 * @param {Pane} pane
 * @param {number} cell
 */
function addressOf(pane, cell) {
  const { rows, columns } = pane;
  return BigInt(rows.first) + BigInt(rows.step) * BigInt(Math.floor(cell / columns.count)) + BigInt(cell % columns.count);
}

/**
 * A coordinate with the names of its dimensions.
 * @param {Pane} pane
 * @param {bigint[]} coordinate
 */
function inWords(pane, coordinate) {
  const named = pane.names.some((name) => !name.match(/^\d+$/));
  return `(${coordinate.map((c, d) => (named ? `${pane.names[d]} ${c}` : `${c}`)).join(", ")})`;
}

/**
 * A cell by the labels of its row and its column.
 * @param {Pane} pane
 * @param {number} cell
 */
function labelled(pane, cell) {
  const { rows, columns } = pane;
  const parts = [
    [rows.name || "row", rows.labels[Math.floor(cell / columns.count)]],
    [columns.name || "column", columns.labels[cell % columns.count]],
  ];
  return parts.filter(([, label]) => label).map(([name, label]) => `${name} ${label}`).join(", ");
}

/**
 * What a dimension is called: its name, or its number as in d0.
 * @param {string} name
 */
export function nameOf(name) {
  return name.match(/^\d+$/) ? `d${name}` : name;
}
