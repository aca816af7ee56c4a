// Sliders over slices that the server draws one by one, because all of them would be too many.

import { slider } from "../picture/slices.js";

/**
 * @typedef {{dim: number, name: string, extent: string}} Slider
 */

/**
 * Show a slider for each dimension, and tell what they say, as in "0:3,2:1".
 * @param {HTMLElement} root
 * @param {Slider[]} sliders
 * @param {string} at
 * @param {(at: string) => void} chosen
 */
export function showSliders(root, sliders, at, chosen) {
  root.hidden = sliders.length === 0;
  const shown = [...root.querySelectorAll("input")].map((input) => `${input.dataset.dim}/${Number(input.max) + 1}`);
  if (shown.join() === sliders.map(({ dim, extent }) => `${dim}/${extent}`).join()) return;
  const bar = document.createElement("div");
  bar.className = "sliders";
  const places = new Map(at.split(",").map((pair) => /** @type {[string, string]} */ (pair.split(":"))));
  for (const { dim, name, extent } of sliders) {
    const { label, input, output } = slider(name, Number(extent), () => {
      output.textContent = input.value;
      chosen([...bar.querySelectorAll("input")].map((each) => `${each.dataset.dim}:${each.value}`).join(","));
    });
    input.value = places.get(`${dim}`) ?? "0";
    input.dataset.dim = `${dim}`;
    output.textContent = input.value;
    bar.append(label);
  }
  root.replaceChildren(bar);
}
