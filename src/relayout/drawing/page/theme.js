// Light or dark: as the system is, until somebody chooses.

/**
 * Let a button choose the other of light and dark; what is told afterwards is the choice.
 * @param {HTMLElement} button
 * @param {(theme: "light" | "dark") => void} chosen
 */
export function themeButton(button, chosen) {
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? (isDark() ? "dark" : "light");
    const other = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = other;
    chosen(other);
  });
}

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
