// The part of the page around the block map.

import { chosen, type Context } from "../core/context";
import { h } from "../core/dom";
import { onTheme } from "../core/theme";
import type { Reels } from "../core/reels";
import { COLOURINGS, type Colouring } from "../map/palette";
import { MODES, type Mode } from "../core/store";
import { hoverLine, Inspector } from "./block";
import { countsTable } from "./counts";
import { legend } from "./legend";
import { Pane } from "./pane";
import { badge, section, type Part } from "./picker";
import { Strips } from "./strips";

const COLOURING_NAMES: Record<Colouring, string> = {
  mixing: "Type and mixing",
  pinned: "Pinned pages",
  free: "Free pages",
};
const MODE_NAMES: Record<Mode, string> = { pair: "Side by side", difference: "Difference" };

const ABOUT =
  "Every pageblock in address order, from low (top left) to high. Orange is what the kernel tries to prevent: pages " +
  "that cannot be moved in blocks of movable ones, where no huge page can be made any more. Violet and green blocks hold " +
  "such pages too, kept together. Press or drag on the bands to move through time.";

/** Buttons of which one is pressed. */
function choice<T extends string>(label: string, values: readonly T[], names: Record<T, string>, choose: (value: T) => void): { element: HTMLElement; press: (value: T | null) => void } {
  const buttons = values.map((value) =>
    h("button", { type: "button", "data-value": value, onclick: () => choose(value) }, names[value]),
  );
  return {
    element: h("div", { class: "choice", role: "group", "aria-label": label }, ...buttons),
    press: (value) => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    },
  };
}

function controls(context: Context, zoom: (factor: number) => void): HTMLElement {
  const { store } = context;
  const colouring = choice("Colour by", COLOURINGS, COLOURING_NAMES, (value) => store.set({ colouring: value, mode: "pair" }));
  const mode = choice("View", MODES, MODE_NAMES, (value) => store.set({ mode: value }));
  // The difference has colours of its own.
  store.watch(["colouring", "mode", "b"], (state) =>
    colouring.press(state.mode === "difference" && state.b !== null ? null : state.colouring),
  );
  store.watch(["mode"], (state) => mode.press(state.mode));
  store.watch(["b"], (state) => (mode.element.hidden = state.b === null));
  const button = (sign: string, label: string, act: () => void): HTMLElement =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: act }, sign);
  return h(
    "div",
    { class: "controls" },
    mode.element,
    colouring.element,
    h(
      "div",
      { class: "choice", role: "group", "aria-label": "Zoom" },
      button("+", "Zoom in", () => zoom(2)),
      button("−", "Zoom out", () => zoom(1 / 2)),
      button("Whole", "Show the whole machine", () => store.set({ zoom: 1, x: 0.5, y: 0.5 })),
    ),
  );
}

export function mapSection(context: Context, reels: Reels, part: Part): HTMLElement {
  const { store } = context;
  const hover = h("p", { class: "hover", "aria-hidden": "true" });
  const panes = (["A", "B"] as const).map((letter) => {
    const pane = new Pane(context, reels, { hover: (block) => over(block) }, `Block map of run ${letter}`);
    const name = h("span", { class: "names" });
    const note = h("span", { class: "note" });
    const element = h("figure", { class: "pane" }, h("figcaption", {}, name, note), pane.element);
    return { letter, pane, name, note, element };
  });
  const over = (block: number | null): void => {
    for (const { pane } of panes) pane.hover(block);
    hover.textContent = block === null ? "" : hoverLine(context, reels, block);
  };
  const arrange = (): void => {
    const runs = chosen(context, store.state);
    const difference = store.state.mode === "difference" && runs.length === 2;
    for (const [i, { pane, name, note, element }] of panes.entries()) {
      const run = runs[i];
      element.hidden = !run || (difference && i === 1);
      element.classList.toggle("both", difference);
      if (!run) continue;
      const named = difference ? runs : [run];
      name.replaceChildren(...named.flatMap((one) => [badge(one.letter), h("span", {}, one.machine.name)]));
      note.textContent = noteOn(run.machine.hasMap, reels.failureOf(run.machine), run.machine.run.kind);
      pane.show(difference ? runs.map(({ machine }) => machine) : [run.machine]);
    }
  };
  const repaint = (): void => {
    for (const { pane } of panes) pane.repaint();
  };
  store.watch(["a", "b", "mode"], arrange);
  store.watch(["time", "colouring", "zoom", "x", "y", "block"], repaint);
  reels.onProgress(() => {
    for (const [i, { machine }] of chosen(context, store.state).entries()) {
      panes[i].note.textContent = noteOn(machine.hasMap, reels.failureOf(machine), machine.run.kind);
    }
    repaint();
  });
  onTheme(repaint);
  return section(
    part,
    ABOUT,
    new Strips(context, reels).element,
    controls(context, (factor) => panes[0].pane.zoomToSelected(factor)),
    legend(context),
    h("div", { class: "panes" }, ...panes.map(({ element }) => element)),
    hover,
    h("div", { class: "below" }, countsTable(context, reels), new Inspector(context, reels).element),
  );
}

function noteOn(hasMap: boolean, failure: string | null, kind: string | undefined): string {
  if (!hasMap) return "this run has no block map";
  if (failure) return `damaged: ${failure}`;
  return kind === "kernel" ? "real kernel" : (kind ?? "");
}
