// Blocks x time: each column is a moment, each row a stretch of addresses. The whole run at a glance.

import type { Film } from "../data/film";
import type { Palette } from "./palette";
import { sampleAt } from "../data/times";

/** A film and the seconds of its samples. */
export interface Reel {
  film: Film;
  times: Float32Array;
}

export interface Strip {
  columns: number;
  rows: number;
  /** Red, green, blue, alpha of each cell. */
  pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** Block that a share of the strip's height stands for. */
export const blockOfRow = (share: number, blocks: number): number =>
  Math.min(blocks - 1, Math.max(0, Math.floor(share * blocks)));

/** Running sums of weighted colours, one of four numbers a row, in squares of channels as the painters do. */
class Rows {
  readonly sums: Float64Array;
  private readonly table: Uint8Array;
  private readonly rows: number;
  private readonly blocks: number;

  constructor(table: Uint8Array, rows: number, blocks: number) {
    this.sums = new Float64Array(rows * 4);
    this.table = table;
    this.rows = rows;
    this.blocks = blocks;
  }

  add(block: number, entry: number, sign: 1 | -1): void {
    const { table, sums } = this;
    const at = Math.floor((block * this.rows) / this.blocks) * 4;
    const from = entry * 4;
    const weight = table[from + 3] * sign;
    sums[at] += table[from] * table[from] * weight;
    sums[at + 1] += table[from + 1] * table[from + 1] * weight;
    sums[at + 2] += table[from + 2] * table[from + 2] * weight;
    sums[at + 3] += weight;
  }

  write(strip: Strip, column: number): void {
    for (let row = 0; row < this.rows; row++) {
      const from = row * 4;
      const at = (row * strip.columns + column) * 4;
      const weight = this.sums[from + 3];
      for (let channel = 0; channel < 3; channel++) {
        strip.pixels[at + channel] = Math.sqrt(this.sums[from + channel] / weight);
      }
      strip.pixels[at + 3] = 255;
    }
  }
}

/** Gives the page its turn when a stretch of work took this long. */
const SLICE_MS = 12;

async function breathe(since: number): Promise<number> {
  if (performance.now() - since < SLICE_MS) return since;
  await new Promise((resolve) => setTimeout(resolve));
  return performance.now();
}

/**
 * Paints a run, or the difference of two, over their common time. Every change is added to the sums of its row, so the
 * work is what changed, not blocks times samples. Columns before the end of a shorter run repeat its last sample.
 */
export async function paintStrip(
  reels: [Reel] | [Reel, Reel],
  duration: number,
  size: { columns: number; rows: number },
  palette: Palette,
  cancelled: () => boolean,
): Promise<Strip | null> {
  const blocks = Math.min(...reels.map((reel) => reel.film.blocks));
  const { columns } = size;
  const strip: Strip = {
    columns,
    rows: Math.min(blocks, size.rows),
    pixels: new Uint8ClampedArray(columns * Math.min(blocks, size.rows) * 4),
  };
  const rows = new Rows(reels.length === 2 ? palette.pair : palette.single, strip.rows, blocks);
  const entries = new Uint16Array(blocks);
  for (let block = 0; block < blocks; block++) rows.add(block, 0, 1);
  const at = reels.map(() => -1);
  let since = performance.now();
  for (let column = 0; column < columns; column++) {
    const time = ((column + 0.5) / columns) * duration;
    for (const [which, { film, times }] of reels.entries()) {
      const target = Math.min(sampleAt(times, time), film.ready - 1);
      const shift = reels.length === 2 && which === 0 ? 8 : 0;
      while (at[which] < target) {
        film.forEachChange(++at[which], (block, xor) => {
          if (block >= blocks) return;
          rows.add(block, entries[block], -1);
          rows.add(block, (entries[block] ^= xor << shift), 1);
        });
        since = await breathe(since);
        if (cancelled()) return null;
      }
    }
    rows.write(strip, column);
  }
  return strip;
}
