// Sliders over slices that the server draws one by one, because all of them would be too many.

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
    const label = document.createElement("label");
    const title = Object.assign(document.createElement("span"), { textContent: name.match(/^\d+$/) ? `d${name}` : name });
    const input = Object.assign(document.createElement("input"), { type: "range", min: "0", step: "1" });
    input.max = `${Number(extent) - 1}`;
    input.value = places.get(`${dim}`) ?? "0";
    input.dataset.dim = `${dim}`;
    const output = Object.assign(document.createElement("output"), { textContent: input.value });
    input.addEventListener("input", () => {
      output.textContent = input.value;
      chosen([...bar.querySelectorAll("input")].map((each) => `${each.dataset.dim}:${each.value}`).join(","));
    });
    label.append(title, input, output);
    bar.append(label);
  }
  root.replaceChildren(bar);
}
