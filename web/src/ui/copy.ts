// A command with a button that copies it.

import { h } from "../core/dom";

/** The clipboard is closed to pages from disk in some browsers; a selection always works. */
async function copy(text: string, code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const selection = getSelection();
    selection?.selectAllChildren(code);
    return document.execCommand("copy");
  }
}

export function copyable(text: string, label: string): HTMLElement {
  const code = h("code", { tabindex: 0, role: "group", "aria-label": label }, text);
  const said = h("span", { class: "said", role: "status" });
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Copy: ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    said.textContent = (await copy(text, code)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (said.textContent = ""), 2000);
  });
  return h("div", { class: "command" }, code, said, button);
}
