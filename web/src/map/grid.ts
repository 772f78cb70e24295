// Which blocks a pixel stands for, and which pixels a block. Columns and rows do not depend on one another, so two
// short lists say it for all pixels.

import type { Layout } from "./layout";
import { MOST_SAMPLES, type Scene } from "./scene";

type Geometry = Pick<Scene, "width" | "height" | "layout" | "cell" | "left" | "top">;

/** Does something with the pixels of a row from `from` to before `to`. */
export type Span = (y: number, from: number, to: number) => void;

export class Grid {
  /** Samples an axis that a pixel takes; 1 where a cell is a pixel or more. */
  readonly samples: number;
  /** Column of each sample from left to right; -1 outside. */
  readonly columns: Int32Array;
  /** First block of the row of each sample from top to bottom, and the end of its band; -1 between bands. */
  readonly rows: Int32Array;
  readonly ends: Int32Array;
  /** How far into its cell a pixel lies, in pixels. */
  readonly withinX: Float32Array;
  readonly withinY: Float32Array;
  private readonly of: Geometry;
  /** When a pixel was last visited, so that none is painted twice. */
  private readonly visited: Uint32Array;
  private visit = 0;

  constructor({ width, height, layout, cell, left, top }: Geometry) {
    this.of = { width, height, layout, cell, left, top };
    const samples = cell >= 1 ? 1 : Math.min(MOST_SAMPLES, Math.ceil(1 / cell));
    this.samples = samples;
    this.columns = new Int32Array(width * samples).fill(-1);
    this.rows = new Int32Array(height * samples).fill(-1);
    this.ends = new Int32Array(height * samples);
    this.withinX = new Float32Array(width);
    this.withinY = new Float32Array(height);
    this.visited = new Uint32Array(width * height);
    this.placeColumns();
    for (const band of layout.bands) this.placeRows(band);
  }

  private placeColumns(): void {
    const { cell, left, width, layout } = this.of;
    for (let i = 0; i < width * this.samples; i++) {
      const at = ((i + 0.5) / this.samples - left) / cell;
      const column = Math.floor(at);
      if (column >= 0 && column < layout.columns) this.columns[i] = column;
      if (this.samples === 1) this.withinX[i] = (at - column) * cell;
    }
  }

  private placeRows(band: Layout["bands"][number]): void {
    const { cell, top, height, layout } = this.of;
    for (let j = 0; j < height * this.samples; j++) {
      const at = ((j + 0.5) / this.samples - top) / cell - band.top;
      const row = Math.floor(at);
      if (row < 0 || row >= band.rows) continue;
      this.rows[j] = band.first + row * layout.columns;
      this.ends[j] = band.first + band.blocks;
      if (this.samples === 1) this.withinY[j] = (at - row) * cell;
    }
  }

  fits({ width, height, layout, cell, left, top }: Geometry): boolean {
    const { of } = this;
    return (
      of.layout === layout && of.cell === cell && of.left === left && of.top === top &&
      of.width === width && of.height === height
    ); // prettier-ignore
  }

  /** Calls for spans of pixels, each pixel once, that stand for the first `count` blocks of an ascending list. */
  forEachSpan(blocks: Uint32Array, count: number, call: Span): void {
    const { cell, left, top, width, height, layout } = this.of;
    this.visit++;
    const { visited, visit } = this;
    let band = 0;
    for (let i = 0, run = 1; i < count; i += run) {
      const block = blocks[i];
      run = 1;
      while (band < layout.bands.length && block >= layout.bands[band].first + layout.bands[band].blocks) band++;
      if (band === layout.bands.length) return;
      const { first, top: bandTop } = layout.bands[band];
      const index = block - first;
      if (index < 0) continue;
      const row = Math.floor(index / layout.columns);
      const column = index - row * layout.columns;
      // Neighbours mostly change together, and their pixels overlap.
      while (i + run < count && blocks[i + run] === block + run && column + run < layout.columns) run++;
      const x = left + column * cell;
      const y = top + (bandTop + row) * cell;
      const right = Math.min(width - 1, Math.floor(x + run * cell));
      const bottom = Math.min(height - 1, Math.floor(y + cell));
      for (let py = Math.max(0, Math.floor(y)); py <= bottom; py++) {
        let from = Math.max(0, Math.floor(x));
        for (let px = from; px <= right; px++) {
          const pixel = py * width + px;
          if (visited[pixel] === visit) {
            if (from < px) call(py, from, px);
            from = px + 1;
          }
          visited[pixel] = visit;
        }
        if (from <= right) call(py, from, right + 1);
      }
    }
  }
}
