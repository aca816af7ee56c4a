// A page that is one picture.

import { copyButton } from "./copy.js";
import { Picture } from "./picture.js";
import { themeButton } from "./theme.js";

const root = /** @type {HTMLElement} */ (document.querySelector("main"));
/** @type {import("./picture.js").Data} */
const data = JSON.parse(document.querySelector("#data")?.textContent ?? "");
const picture = new Picture(root, data);
themeButton(/** @type {HTMLElement} */ (document.querySelector("#theme")), () => picture.recolour());
document.querySelectorAll("figure.pane figcaption .title").forEach((title) => {
  title.after(copyButton("copy the title", () => title.textContent ?? ""));
});
