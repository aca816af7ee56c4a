// The fields of the page: what they offer, and the state that they hold.

import { FIELDS } from "./link.js";

/**
 * @typedef {import("./link.js").State} State
 * @typedef {{shape: string[], names: string[], example: boolean}} Subject
 */

/** What can be done with a layout, beside the algebra; whether it takes a second one. */
export const LOOKS = /** @type {const} */ ([
  ["look", "Look", false],
  ["compare", "Compare", true],
  ["beside", "Beside", true],
  ["threads", "Threads", false],
  ["banks", "Banks", true],
  ["code", "Code", true],
]);

const OPTIONS = {
  color: ["block", "unit", "memory", "coordinate", "row", "column", "none"],
  cells: ["offset", "coordinate", "block", "none"],
  view: ["logical", "memory", "both"],
};

/** What the second layout is for. */
const ROLES = /** @type {Record<string, string>} */ ({ banks: "of threads and values", code: "to move to, or empty" });

/** What draws a picture of its own, without the look of layouts. */
const OWN_LOOK = new Set(["threads", "banks"]);

/** What buttons and sliders beside the picture say. */
const OUTSIDE = new Set(["at", "whole"]);

const SIGNS = /** @type {Record<string, string>} */ ({
  composition: "A ∘ B",
  logical_divide: "logical ÷",
  zipped_divide: "zipped ÷",
  logical_product: "logical ×",
  blocked_product: "blocked ×",
  raked_product: "raked ×",
  right_inverse: "right inverse",
  left_inverse: "left inverse",
});

export class Fields {
  /**
   * @param {{types: string[], binary: string[], unary: string[], archs: string[], accesses: string[], targets: string[]}} offers
   * @param {(name: keyof State, value: string) => void} changed
   */
  constructor(offers, changed) {
    this.binary = new Set([...offers.binary, "compare", "beside", "banks", "code"]);
    this.#options("dtype", offers.types);
    this.#options("arch", offers.archs);
    this.#options("access", offers.accesses);
    for (const [name, values] of Object.entries(OPTIONS)) {
      control(name).append(new Option(name === "view" ? "logical" : "auto", ""));
      for (const value of values) if (value !== "logical") control(name).append(new Option(value, value));
    }
    control("target").append(...offers.targets.map((name) => new Option(name, name === "c" ? "" : name)));
    const looks = LOOKS.map(([value, text]) => choice(value, text));
    const operations = [...offers.binary, ...offers.unary].map((value) => choice(value, SIGNS[value] ?? value));
    element("looks").append(...looks);
    element("operations").append(...operations);
    for (const name of FIELDS) {
      if (name === "do" || OUTSIDE.has(name)) continue;
      control(name).addEventListener("input", () => changed(name, this.#value(name)));
    }
    element("do").addEventListener("change", (event) => changed("do", /** @type {HTMLInputElement} */ (event.target).value));
    for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  }

  /**
   * @param {string} name
   * @param {string[]} values
   */
  #options(name, values) {
    const list = /** @type {HTMLInputElement} */ (control(name)).list;
    list?.append(...values.map((value) => new Option(value, value)));
  }

  /** @param {string} name */
  #value(name) {
    const found = control(name);
    if (found instanceof HTMLInputElement && found.type === "checkbox") return found.checked ? "1" : "";
    return found.value;
  }

  /**
   * Fill in a state, without touching a field that has it already (the cursor stays where it is).
   * @param {State} state
   */
  fill(state) {
    for (const name of FIELDS) {
      if (OUTSIDE.has(name)) continue;
      const wanted = state[name] ?? "";
      if (name === "do") {
        const radio = document.querySelector(`input[name="do"][value="${CSS.escape(wanted || "look")}"]`);
        if (radio instanceof HTMLInputElement) radio.checked = true;
        continue;
      }
      const found = control(name);
      if (found instanceof HTMLInputElement && found.type === "checkbox") found.checked = wanted === "1";
      else if (found.value !== wanted) found.value = wanted;
      if (found instanceof HTMLSelectElement && wanted && found.value !== wanted) {
        found.append(new Option(wanted, wanted, false, true));
      }
    }
    const doing = state.do || "look";
    element("second").hidden = !this.binary.has(doing);
    element("tiles").hidden = doing !== "threads";
    element("machine").hidden = doing !== "banks";
    element("b-role").textContent = ROLES[doing] ?? "";
    element("code").hidden = doing !== "code";
    const drawn = LOOKS.some(([value]) => value === doing) && !OWN_LOOK.has(doing);
    element("look").toggleAttribute("hidden", !drawn);
  }

  /**
   * Offer the dimensions of what is drawn, and show the shape that it has.
   * @param {Subject} subject
   * @param {State} state
   */
  offerDimensions(subject, state) {
    const field = /** @type {HTMLInputElement} */ (control("shape"));
    field.placeholder = subject.example ? `e.g. ${subject.shape.join(",")}` : subject.shape.join(",");
    for (const name of /** @type {const} */ (["rows", "columns"])) {
      const select = control(name);
      const options = subject.shape.map((size, d) => new Option(`${subject.names[d] ?? `dim ${d}`} (${size})`, `${d}`));
      select.replaceChildren(new Option("auto", ""), ...options);
      select.value = state[name] ?? "";
    }
  }

  /**
   * Show which notations a text is in.
   * @param {Record<string, string[]>} found
   */
  nameNotations(found) {
    for (const name of ["a", "b"]) {
      const badge = element(`${name}-notation`);
      badge.textContent = (found[name] ?? []).join(", ");
    }
  }
}

/** @param {string} name */
export function element(name) {
  return /** @type {HTMLElement} */ (document.getElementById(name));
}

/** @param {string} name */
function control(name) {
  return /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */ (document.getElementById(name));
}

/**
 * @param {string} value
 * @param {string} text
 */
function choice(value, text) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "radio", name: "do", value });
  const words = Object.assign(document.createElement("span"), { textContent: text, title: value });
  label.append(input, words);
  return label;
}
