// The same picture without a GPU: pixel by pixel what the shader in gl.ts does, but only where something has changed.

import { MOVABLE, freeOf, isHole, movableOf, pinnedOf, typeOf } from "../data/byte";
import { Grid, type Span } from "./grid";
import type { Palette } from "./palette";
import { gapOf, insetOf, LEVEL_SHARE, rimOf, STACK_FROM, type Painter, type Scene } from "./scene";

const opaque = (r: number, g: number, b: number): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Square roots of weighted means of squares of channels. */
const ROOTS = Uint8Array.from({ length: 255 * 255 + 1 }, (_, square) => Math.round(Math.sqrt(square)));

/** From this share of changed blocks on, painting all pixels is quicker than finding out which. */
const MANY_CHANGES = 0.3;

/** Colours as the loops below want them: ready to be stored, and as weighted squares, to be added up. */
interface Table {
  pixels: Uint32Array;
  squares: Float32Array;
}

const tables = new WeakMap<Uint8Array, Table>();

function tableOf(colours: Uint8Array): Table {
  const known = tables.get(colours);
  if (known) return known;
  const entries = colours.length / 4;
  const table = { pixels: new Uint32Array(entries), squares: new Float32Array(colours.length) };
  for (let i = 0; i < entries; i++) {
    const [r, g, b, weight] = colours.subarray(i * 4, i * 4 + 4);
    table.pixels[i] = opaque(r, g, b);
    table.squares.set([r * r * weight, g * g * weight, b * b * weight, weight], i * 4);
  }
  tables.set(colours, table);
  return table;
}

const entryOf = ({ frame, other }: Scene, block: number): number =>
  other ? (frame[block] << 8) | other[block] : frame[block];

/** Whether cells show what is in the block. */
const isOpen = (scene: Scene): boolean => scene.cell >= STACK_FROM && scene.palette.stacked && !scene.other;

export class CanvasPainter implements Painter {
  readonly kind = "Canvas2D";
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private grid: Grid | null = null;
  private palette: Palette | null = null;
  private shown = new Uint8Array(0);
  private shownOther: Uint8Array | null = null;
  private changed = new Uint32Array(0);
  /** Of every block, the entry of the table that it is painted with. */
  private entries = new Uint16Array(0);

  constructor(context: CanvasRenderingContext2D) {
    this.context = context;
  }

  paint(scene: Scene): void {
    if (scene.width === 0 || scene.height === 0) return;
    if (this.stays(scene)) this.repaint(scene, this.grid as Grid);
    else this.begin(scene);
    this.shown.set(scene.frame);
    if (scene.other) this.shownOther?.set(scene.other);
    this.context.putImageData(this.image as ImageData, 0, 0);
  }

  /** Whether only bytes can differ from what was painted last. */
  private stays(scene: Scene): boolean {
    return (
      this.grid?.fits(scene) === true &&
      this.palette === scene.palette &&
      this.shown.length === scene.frame.length &&
      (this.shownOther === null) === (scene.other === null)
    );
  }

  private begin(scene: Scene): void {
    this.image = this.context.createImageData(scene.width, scene.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.grid = new Grid(scene);
    this.palette = scene.palette;
    this.shown = new Uint8Array(scene.frame.length);
    this.shownOther = scene.other ? new Uint8Array(scene.frame.length) : null;
    this.changed = new Uint32Array(scene.frame.length);
    this.entries = new Uint16Array(scene.frame.length);
    for (let block = 0; block < scene.frame.length; block++) this.entries[block] = entryOf(scene, block);
    this.all(scene, this.grid);
  }

  private repaint(scene: Scene, grid: Grid): void {
    const count = this.keepVisible(scene, this.collect(scene));
    if (count > scene.frame.length * MANY_CHANGES) return this.all(scene, grid);
    grid.forEachSpan(this.changed, count, this.painterOf(scene, grid));
  }

  private all(scene: Scene, grid: Grid): void {
    const paint = this.painterOf(scene, grid);
    for (let y = 0; y < scene.height; y++) paint(y, 0, scene.width);
  }

  /** Lists the blocks whose bytes differ from what is on the canvas, four at a time. */
  private collect(scene: Scene): number {
    let count = 0;
    const { changed, shown, shownOther } = this;
    const { frame, other } = scene;
    const words = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
    const [a, b] = [words(frame), words(shown)];
    const [c, d] = other && shownOther ? [words(other), words(shownOther)] : [a, a];
    for (let word = 0; word < a.length; word++) {
      if (a[word] === b[word] && c[word] === d[word]) continue;
      for (let block = word * 4; block < word * 4 + 4; block++) {
        if (frame[block] !== shown[block] || (other && shownOther && other[block] !== shownOther[block])) changed[count++] = block;
      }
    }
    for (let block = a.length * 4; block < frame.length; block++) changed[count++] = block;
    return count;
  }

  /** Keeps those of the changed blocks that look different now: most colours stand for many bytes. */
  private keepVisible(scene: Scene, count: number): number {
    const { pixels, squares } = tableOf(scene.other ? scene.palette.pair : scene.palette.single);
    const { changed, entries } = this;
    const open = isOpen(scene);
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const block = changed[i];
      const [before, now] = [entries[block], entryOf(scene, block)];
      entries[block] = now;
      if (open || pixels[before] !== pixels[now] || squares[before * 4 + 3] !== squares[now * 4 + 3]) changed[kept++] = block;
    }
    return kept;
  }

  private painterOf(scene: Scene, grid: Grid): Span {
    if (scene.cell < 1) return this.small(scene, grid);
    return isOpen(scene) ? this.open(scene, grid) : this.large(scene, grid);
  }

  /** Pixels that stand for several blocks: the weighted mean of some of them. */
  private small({ other, palette, width }: Scene, { samples, columns, rows, ends }: Grid): Span {
    const { squares } = tableOf(other ? palette.pair : palette.single);
    const paper = opaque(...palette.inks.paper);
    const { pixels, entries } = this;
    return (y, from, to) => {
      for (let x = from; x < to; x++) {
        let red = 0;
        let green = 0;
        let blue = 0;
        let weights = 0;
        for (let j = y * samples; j < (y + 1) * samples; j++) {
          const row = rows[j];
          if (row < 0) continue;
          const end = ends[j];
          for (let i = x * samples; i < (x + 1) * samples; i++) {
            const column = columns[i];
            const block = row + column;
            if (column < 0 || block >= end) continue;
            const at = entries[block] << 2;
            red += squares[at];
            green += squares[at + 1];
            blue += squares[at + 2];
            weights += squares[at + 3];
          }
        }
        const share = 1 / weights;
        pixels[y * width + x] =
          weights === 0 ? paper : opaque(ROOTS[(red * share) | 0], ROOTS[(green * share) | 0], ROOTS[(blue * share) | 0]);
      }
    };
  }

  /** Cells of a pixel or more, each in one colour. */
  private large(scene: Scene, { columns, rows, ends, withinX, withinY }: Grid): Span {
    const { other, palette, width, cell } = scene;
    const colours = tableOf(other ? palette.pair : palette.single).pixels;
    const paper = opaque(...palette.inks.paper);
    const side = cell - gapOf(cell);
    const { pixels, entries } = this;
    return (y, from, to) => {
      const gap = rows[y] < 0 || withinY[y] >= side;
      for (let x = from; x < to; x++) {
        const block = rows[y] + columns[x];
        const outside = gap || columns[x] < 0 || block >= ends[y] || withinX[x] >= side;
        pixels[y * width + x] = outside ? paper : colours[entries[block]];
      }
    };
  }

  /** Cells that are large enough to show what is in the block. */
  private open(scene: Scene, { columns, rows, ends, withinX, withinY }: Grid): Span {
    const { frame, palette, width, cell } = scene;
    const { pixels: colours } = tableOf(palette.single);
    const types = palette.inks.types.map((ink) => opaque(...ink));
    const polluted = opaque(...palette.inks.polluted);
    const paper = opaque(...palette.inks.paper);
    const [rim, inset] = [rimOf(cell), insetOf(cell)];
    const side = cell - gapOf(cell);
    const inside = (byte: number, withinOfX: number, withinOfY: number): number => {
      const edge = Math.min(withinOfX, withinOfY, side - Math.max(withinOfX, withinOfY));
      if (isHole(byte)) return colours[byte];
      if (edge < rim) return types[typeOf(byte)];
      if (edge < rim + inset) return paper;
      const pinned = LEVEL_SHARE[pinnedOf(byte)];
      const movable = LEVEL_SHARE[movableOf(byte)];
      const sum = pinned + movable + LEVEL_SHARE[freeOf(byte)];
      const height = ((side - rim - inset - withinOfY) / (side - 2 * (rim + inset))) * sum;
      if (height <= pinned) return typeOf(byte) === MOVABLE ? polluted : types[typeOf(byte)];
      return height <= pinned + movable ? types[MOVABLE] : paper;
    };
    const { pixels } = this;
    return (y, from, to) => {
      const gap = rows[y] < 0 || withinY[y] >= side;
      for (let x = from; x < to; x++) {
        const block = rows[y] + columns[x];
        const outside = gap || columns[x] < 0 || block >= ends[y] || withinX[x] >= side;
        pixels[y * width + x] = outside ? paper : inside(frame[block], withinX[x], withinY[y]);
      }
    };
  }
}
