// Sliders over slices that the server draws one by one, because all of them would be too many.

import { slider } from "../picture/slices.js";

/**
 * Where the server's slice is along a dimension.
 * @typedef {{dim: number, name: string, extent: string, value: string}} Slider
 */

/**
 * Show a slider for each dimension, and tell what they say, as in "0:3,2:1". Those in sight stay, for whoever holds one.
 * @param {HTMLElement} root
 * @param {Slider[]} sliders
 * @param {(at: string) => void} chosen
 */
export function showSliders(root, sliders, chosen) {
  const which = sliders.map(({ dim, name, extent }) => `${dim} ${name} ${extent}`).join();
  root.hidden = sliders.length === 0;
  if (root.dataset.which !== which) root.replaceChildren(bar(sliders, chosen));
  root.dataset.which = which;
  const [inputs, outputs] = [root.querySelectorAll("input"), root.querySelectorAll("output")];
  sliders.forEach(({ value }, k) => {
    inputs[k].value = value;
    outputs[k].textContent = value;
  });
}

/**
 * @param {Slider[]} sliders
 * @param {(at: string) => void} chosen
 */
function bar(sliders, chosen) {
  const made = document.createElement("div");
  made.className = "sliders";
  for (const { dim, name, extent } of sliders) {
    // A range is a double: past its integers there are coordinates that only a link can name.
    const { label, input, output } = slider(name, Math.min(Number(extent), Number.MAX_SAFE_INTEGER), () => {
      output.textContent = input.value;
      chosen([...made.querySelectorAll("input")].map((each) => `${each.dataset.dim}:${each.value}`).join(","));
    });
    input.dataset.dim = `${dim}`;
    made.append(label);
  }
  return made;
}
