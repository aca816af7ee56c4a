// The state of the page in its address, so that a link shows the same.

/**
 * The fields that the server knows.
 */
export const FIELDS = /** @type {const} */ ([
  "a", "b", "do", "shape", "axes", "dtype", "rows", "columns", "at", "cells", "color", "view", "path", "strides",
  "whole", "width", "tile", "access", "arch", "target", "inverse", "test",
]);

/**
 * What only the page knows: the pinned coordinate ("pane:c,c,..."), the slice in sight, the theme.
 */
const OWN = /** @type {const} */ (["pin", "slice", "theme"]);

/** @typedef {Partial<Record<typeof FIELDS[number] | typeof OWN[number], string>>} State */

/**
 * The state that an address has behind its hash.
 * @param {string} hash
 * @returns {State}
 */
export function stateOf(hash) {
  /** @type {State} */ const state = {};
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of [...FIELDS, ...OWN]) {
    const value = words.get(name);
    if (value) state[name] = value;
  }
  return state;
}

/**
 * The address's end for a state.
 * @param {State} state
 */
export function hashOf(state) {
  const words = new URLSearchParams();
  for (const name of [...FIELDS, ...OWN]) if (state[name]) words.set(name, state[name]);
  return `#${words}`;
}

/**
 * The part of a state that is sent.
 * @param {State} state
 */
export function asked(state) {
  return Object.fromEntries(FIELDS.filter((name) => state[name]).map((name) => [name, state[name]]));
}
