// The same picture without a GPU: pixel by pixel what the shader in gl.ts does.

import { MOVABLE, freeOf, isHole, movableOf, pinnedOf, typeOf } from "../data/byte";
import type { Rgb } from "../core/colour";
import { gapOf, insetOf, LEVEL_SHARE, MOST_SAMPLES, rimOf, STACK_FROM, type Painter, type Scene } from "./scene";
import type { Band } from "./layout";

const opaque = (r: number, g: number, b: number): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

function blockAt(scene: Scene, band: Band, x: number, y: number): number {
  const column = Math.floor(x);
  if (column < 0 || column >= scene.layout.columns || y < 0) return -1;
  const index = Math.floor(y) * scene.layout.columns + column;
  return index < band.blocks ? band.first + index : -1;
}

/** Offset of a block's colour in the table, which is chosen by `other`. */
function entryOf(scene: Scene, block: number): number {
  const byte = scene.frame[block];
  return 4 * (scene.other ? byte * 256 + scene.other[block] : byte);
}

function inside(scene: Scene, byte: number, x: number, y: number): Rgb {
  const { types, polluted, paper } = scene.palette.inks;
  const type = typeOf(byte);
  const [rim, inset] = [rimOf(scene.cell), insetOf(scene.cell)];
  const side = scene.cell - gapOf(scene.cell);
  const edge = Math.min(x, y, side - Math.max(x, y));
  if (edge < rim) return types[type];
  if (edge < rim + inset) return paper;
  const pinned = LEVEL_SHARE[pinnedOf(byte)];
  const movable = LEVEL_SHARE[movableOf(byte)];
  const free = LEVEL_SHARE[freeOf(byte)];
  const height = ((side - rim - inset - y) / (side - 2 * (rim + inset))) * (pinned + movable + free);
  if (height <= pinned) return type === MOVABLE ? polluted : types[type];
  return height <= pinned + movable ? types[MOVABLE] : paper;
}

/** Colour of a pixel of a band whose cells are at least a pixel large, or -1 for paper. */
function large(scene: Scene, band: Band, table: Uint8Array, pixelX: number, pixelY: number): number {
  const { cell } = scene;
  const block = blockAt(scene, band, pixelX / cell, pixelY / cell);
  if (block < 0) return -1;
  const x = pixelX - Math.floor(pixelX / cell) * cell;
  const y = pixelY - Math.floor(pixelY / cell) * cell;
  if (Math.max(x, y) >= cell - gapOf(cell)) return -1;
  const byte = scene.frame[block];
  if (scene.palette.stacked && !scene.other && cell >= STACK_FROM && !isHole(byte)) {
    return opaque(...(inside(scene, byte, x, y) as [number, number, number]));
  }
  const at = entryOf(scene, block);
  return opaque(table[at], table[at + 1], table[at + 2]);
}

/** Colour of a pixel that stands for several blocks: their weighted mean, or -1 for paper. */
function small(scene: Scene, band: Band, table: Uint8Array, pixelX: number, pixelY: number): number {
  const samples = Math.min(MOST_SAMPLES, Math.ceil(1 / scene.cell));
  let [red, green, blue, weights] = [0, 0, 0, 0];
  for (let j = 0; j < samples; j++) {
    const y = (pixelY - 0.5 + (j + 0.5) / samples) / scene.cell;
    for (let i = 0; i < samples; i++) {
      const block = blockAt(scene, band, (pixelX - 0.5 + (i + 0.5) / samples) / scene.cell, y);
      if (block < 0) continue;
      const at = entryOf(scene, block);
      const weight = table[at + 3];
      red += table[at] * table[at] * weight;
      green += table[at + 1] * table[at + 1] * weight;
      blue += table[at + 2] * table[at + 2] * weight;
      weights += weight;
    }
  }
  if (weights === 0) return -1;
  return opaque(Math.sqrt(red / weights), Math.sqrt(green / weights), Math.sqrt(blue / weights));
}

export class CanvasPainter implements Painter {
  readonly kind = "Canvas2D";
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;

  constructor(context: CanvasRenderingContext2D) {
    this.context = context;
  }

  paint(scene: Scene): void {
    const { width, height, cell } = scene;
    if (width === 0 || height === 0) return;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    const [r, g, b] = scene.palette.inks.paper;
    pixels.fill(opaque(r, g, b));
    const table = scene.other ? scene.palette.pair : scene.palette.single;
    const colour = cell >= 1 ? large : small;
    const left = Math.max(0, Math.floor(scene.left));
    const right = Math.min(width, Math.ceil(scene.left + scene.layout.columns * cell));
    for (const band of scene.layout.bands) {
      const top = scene.top + band.top * cell;
      const to = Math.min(height, Math.ceil(top + band.rows * cell));
      for (let y = Math.max(0, Math.floor(top)); y < to; y++) {
        for (let x = left; x < right; x++) {
          const value = colour(scene, band, table, x + 0.5 - scene.left, y + 0.5 - top);
          if (value >= 0) pixels[y * width + x] = value;
        }
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
}
