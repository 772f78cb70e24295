// What colour a block has.
//
// Quiet is good, loud is bad: free memory is paper, movable memory a calm blue that pales with the share of free pages,
// blocks set aside for pinned memory are dark (unmovable) or green (reclaimable), and orange is kept for the one thing
// that the whole machinery exists to prevent: pages that cannot be moved inside a block of movable ones.

import { freeOf, isEmpty, isHole, isPolluted, pinnedOf, typeOf } from "../data/byte";
import { rgb, tint, type Rgb } from "../core/colour";

export type Theme = "light" | "dark";

export const COLOURINGS = ["mixing", "pinned", "free"] as const;
export type Colouring = (typeof COLOURINGS)[number];

/** The colours that everything else is mixed from. `a` and `b` are those of the two runs, in plots and differences. */
export interface Inks {
  paper: Rgb;
  types: readonly [Rgb, Rgb, Rgb, Rgb];
  polluted: Rgb;
  pinned: Rgb;
  free: Rgb;
  hole: Rgb;
  a: Rgb;
  b: Rgb;
  typeOnly: Rgb;
}

export const INKS: Record<Theme, Inks> = {
  light: {
    paper: rgb("#f6f5f1"),
    types: [rgb("#3a2f63"), rgb("#7ba4d4"), rgb("#1b8f77"), rgb("#8833bb")],
    polluted: rgb("#f26a00"),
    pinned: rgb("#a33b00"),
    free: rgb("#0b6e8a"),
    hole: rgb("#e4e2dc"),
    a: rgb("#22262e"),
    b: rgb("#b01f7d"),
    typeOnly: rgb("#cfdcec"),
  },
  dark: {
    paper: rgb("#191b20"),
    types: [rgb("#d3c8ff"), rgb("#41709f"), rgb("#2fb598"), rgb("#bb77ff")],
    polluted: rgb("#ff8a1f"),
    pinned: rgb("#ffab66"),
    free: rgb("#63c7e0"),
    hole: rgb("#26282e"),
    a: rgb("#eef0f4"),
    b: rgb("#ff7cc4"),
    typeOnly: rgb("#2c3a4d"),
  },
};

/**
 * Weights where one pixel stands for many blocks. An average alone would wash a few pinned pages out of a terabyte, so
 * blocks that stand in the way count more, the rest of the colour stays honest about how many there are.
 */
const WEIGHT_PLAIN = 1;
const WEIGHT_PINNED = 2;
const WEIGHT_POLLUTED = 8;

/** How much of a block's colour is left, by its share of free pages. */
const FULLNESS = [1, 0.8, 0.6, 0.42];
const EMPTY_TINT = 0.13;
/** Of the orange of a polluted block, by its share of pinned pages: one page already shows. */
const POLLUTION = [0, 0.6, 0.82, 1];
const RAMP = [0, 0.34, 0.66, 1];

function mixing(byte: number, inks: Inks): Rgb {
  if (isPolluted(byte)) return tint(inks.paper, inks.polluted, POLLUTION[pinnedOf(byte)]);
  const colour = inks.types[typeOf(byte)];
  return tint(inks.paper, colour, isEmpty(byte) ? EMPTY_TINT : FULLNESS[freeOf(byte)]);
}

/** Colour of a block by itself. */
export function colourOf(byte: number, colouring: Colouring, inks: Inks): Rgb {
  if (isHole(byte)) return inks.hole;
  switch (colouring) {
    case "mixing":
      return mixing(byte, inks);
    case "pinned":
      return tint(inks.paper, inks.pinned, RAMP[pinnedOf(byte)]);
    case "free":
      return tint(inks.paper, inks.free, RAMP[freeOf(byte)]);
  }
}

/** Colour of what differs: the ink of the run that has more pinned pages in the block. */
export function colourOfPair(a: number, b: number, inks: Inks): Rgb {
  if (isHole(a) && isHole(b)) return inks.hole;
  const more = pinnedOf(b) - pinnedOf(a);
  if (more > 0) return tint(inks.paper, inks.b, RAMP[more]);
  if (more < 0) return tint(inks.paper, inks.a, RAMP[-more]);
  return typeOf(a) === typeOf(b) ? inks.paper : inks.typeOnly;
}

function weightOf(byte: number, colouring: Colouring): number {
  if (colouring === "free" || pinnedOf(byte) === 0) return WEIGHT_PLAIN;
  return isPolluted(byte) ? WEIGHT_POLLUTED : WEIGHT_PINNED;
}

/** Colours as tables: four bytes an entry, red, green, blue and the weight. */
export interface Palette {
  inks: Inks;
  /** Whether a large cell shows what is in the block, not one colour. */
  stacked: boolean;
  single: Uint8Array;
  /** Entry `a * 256 + b`. */
  pair: Uint8Array;
}

const made = new Map<string, Palette>();

export function paletteOf(colouring: Colouring, theme: Theme): Palette {
  const key = `${colouring} ${theme}`;
  const known = made.get(key);
  if (known) return known;
  const palette = make(colouring, INKS[theme]);
  made.set(key, palette);
  return palette;
}

function make(colouring: Colouring, inks: Inks): Palette {
  const single = new Uint8Array(256 * 4);
  const pair = new Uint8Array(65536 * 4);
  for (let a = 0; a < 256; a++) {
    single.set([...colourOf(a, colouring, inks), weightOf(a, colouring)], a * 4);
    for (let b = 0; b < 256; b++) {
      const weight = pinnedOf(a) === pinnedOf(b) ? WEIGHT_PLAIN : WEIGHT_POLLUTED;
      pair.set([...colourOfPair(a, b, inks), weight], (a * 256 + b) * 4);
    }
  }
  return { inks, stacked: colouring === "mixing", single, pair };
}
