// What the colours of the map mean.

import type { Context } from "../core/context";
import { css, type Rgb } from "../core/colour";
import { h } from "../core/dom";
import { onTheme, palette } from "../core/theme";
import { MOVABLE, RECLAIMABLE, UNMOVABLE, HIGHATOMIC } from "../data/byte";
import { colourOf, colourOfPair, type Colouring } from "../map/palette";

interface Entry {
  label: string;
  colours: Rgb[];
}

const byte = (type: number, free: number, movable: number, pinned: number): number =>
  type | (free << 2) | (movable << 4) | (pinned << 6);

function single(colouring: Colouring): Entry[] {
  const { inks } = palette();
  const of = (...bytes: number[]): Rgb[] => bytes.map((value) => colourOf(value, colouring, inks));
  const hole: Entry = { label: "no memory", colours: of(0) };
  switch (colouring) {
    case "mixing":
      return [
        { label: "Pinned pages in a movable block", colours: of(byte(MOVABLE, 0, 3, 1), byte(MOVABLE, 0, 2, 2), byte(MOVABLE, 0, 0, 3)) },
        ...([["Movable", MOVABLE], ["Unmovable", UNMOVABLE], ["Reclaimable", RECLAIMABLE], ["Other (highatomic, CMA)", HIGHATOMIC]] as const).map(
          ([label, type]) => ({
            label: `${label} block: empty to full`,
            colours: of(byte(type, 3, 0, 0), byte(type, 3, 1, 0), byte(type, 2, 1, 0), byte(type, 1, 2, 0), byte(type, 0, 3, 0)),
          }),
        ),
        hole,
      ];
    case "pinned":
      return [{ label: "Pinned pages: none, up to a third, two thirds, more", colours: of(...[0, 1, 2, 3].map((level) => byte(0, 1, 0, level))) }, hole];
    case "free":
      return [{ label: "Free pages: none, up to a third, two thirds, more", colours: of(...[0, 1, 2, 3].map((level) => byte(0, level, 1, 0))) }, hole];
  }
}

function difference(): Entry[] {
  const { inks } = palette();
  const levels = [1, 2, 3].map((level) => byte(1, 1, 0, level));
  const none = byte(1, 1, 0, 0);
  return [
    { label: "More pinned pages in A", colours: levels.map((more) => colourOfPair(more, none, inks)) },
    { label: "More pinned pages in B", colours: levels.map((more) => colourOfPair(none, more, inks)) },
    { label: "As many, but blocks of different types", colours: [colourOfPair(none, byte(0, 1, 0, 0), inks)] },
    { label: "As many, same type", colours: [inks.paper] },
  ];
}

export function legend(context: Context): HTMLElement {
  const list = h("ul", { class: "legend", "aria-label": "Colours" });
  const fill = (): void => {
    const { mode, b, colouring } = context.store.state;
    const entries = mode === "difference" && b !== null ? difference() : single(colouring);
    list.replaceChildren(
      ...entries.map(({ label, colours }) => {
        const swatches = colours.map((colour) => {
          const swatch = h("i", {});
          swatch.style.background = css(colour);
          return swatch;
        });
        return h("li", {}, h("span", { class: "swatches", "aria-hidden": "true" }, ...swatches), label);
      }),
    );
  };
  context.store.watch(["mode", "colouring", "b"], fill);
  onTheme(fill);
  return list;
}
