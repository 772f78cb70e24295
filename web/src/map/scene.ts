// What both painters go by.

import type { Layout } from "./layout";
import type { Palette } from "./palette";

/** What to paint; lengths in device pixels. */
export interface Scene {
  width: number;
  height: number;
  layout: Layout;
  /** Pixels a cell takes, and where the map begins. */
  cell: number;
  left: number;
  top: number;
  frame: Uint8Array;
  /** With it, the difference of the two is painted. */
  other: Uint8Array | null;
  palette: Palette;
}

export interface Painter {
  readonly kind: "WebGL2" | "Canvas2D";
  paint(scene: Scene): void;
}

/** From this size on, cells have a gap, and from the next one on they show what is in the block. */
export const GAP_FROM = 5;
export const STACK_FROM = 15;
/** Gap between cells, the rim in the colour of the block's type, and the paper between rim and content; pixels. */
export const gapOf = (cell: number): number => (cell < GAP_FROM ? 0 : Math.max(1, Math.floor(cell / 18)));
export const rimOf = (cell: number): number => Math.max(1, Math.floor(cell / 20));
export const insetOf = (cell: number): number => (cell < 28 ? 0 : Math.max(1, Math.floor(cell / 28)));

/** Samples an axis that one pixel takes at most, where it stands for many blocks. */
export const MOST_SAMPLES = 6;
/** Middle of what a share level stands for. */
export const LEVEL_SHARE = [0, 1 / 6, 1 / 2, 5 / 6];
