// Keys that work everywhere on the page, and the list of all of them.

import type { Context } from "../core/context";
import { MODES } from "../core/store";
import { h } from "../core/dom";
import { COLOURINGS } from "../map/palette";
import type { Transport } from "./transport";

const KEYS: readonly (readonly [string, string])[] = [
  ["Space", "play and pause"],
  [", and .", "one sample back, one on"],
  ["Home and End", "first and last sample"],
  ["d", "side by side or difference"],
  ["c", "next way to colour the map"],
  ["x", "swap A and B"],
  ["?", "this list"],
  ["Arrow keys on the map", "choose a block; with Shift eight at once"],
  ["+ and − on the map", "zoom around the chosen block; 0 shows the whole machine"],
  ["Escape on the map", "no block chosen"],
  ["Wheel on the map", "zoom, once the map has the focus or with Ctrl"],
];

export function help(): HTMLDialogElement {
  const rows = KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)));
  const dialog: HTMLDialogElement = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", { class: "keys" }, ...rows),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
  );
  return dialog;
}

/** Whether a key belongs to what has the focus. */
function taken(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.altKey || event.metaKey) return true;
  if (target.closest("dialog, select, textarea, input[type=search]")) return true;
  if (event.key === " ") return target.closest("button, summary, input, a, code") !== null;
  if (event.key === "Home" || event.key === "End") return target.closest("input, .scrolled, .happenings") !== null;
  return false;
}

export function listenForKeys(context: Context, transport: Transport, dialog: HTMLDialogElement): void {
  const { store } = context;
  const next = <T>(values: readonly T[], value: T): T => values[(values.indexOf(value) + 1) % values.length];
  const acts: Record<string, () => void> = {
    " ": () => transport.toggle(),
    ",": () => transport.step(-1),
    ".": () => transport.step(1),
    Home: () => transport.end(false),
    End: () => transport.end(true),
    d: () => store.state.b !== null && store.set({ mode: next(MODES, store.state.mode) }),
    c: () => store.set({ colouring: next(COLOURINGS, store.state.colouring), mode: "pair" }),
    x: () => {
      const { a, b } = store.state;
      if (b !== null) store.set({ a: b, b: a });
    },
    "?": () => dialog.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || taken(event) || event.defaultPrevented) return;
    event.preventDefault();
    act();
  });
}
