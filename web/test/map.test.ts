import { describe, expect, it } from "vitest";
import { clamp, fit, largestZoom, pan, project, reveal, zoomAt } from "../src/map/camera";
import { blockAt, cellOf, layoutOf, neighbour } from "../src/map/layout";
import { paintStrip } from "../src/map/strip";
import { paletteOf } from "../src/map/palette";
import { Film } from "../src/data/film";

const zone = (name: string, first_block: number, blocks: number, node = 0) => ({ node, name, first_block, blocks });
const ZONES = [zone("DMA32", 0, 700), zone("Normal", 700, 3396)];
const pane = { width: 600, height: 400 };

describe("the layout", () => {
  const layout = layoutOf(ZONES, 4096, 1.5);

  it("gives every block a cell of its own, and finds it again", () => {
    const seen = new Set<string>();
    for (let block = 0; block < 4096; block++) {
      const cell = cellOf(layout, block);
      if (!cell) throw new Error(`block ${block} has no cell`);
      seen.add(`${cell.x},${cell.y}`);
      expect(blockAt(layout, cell.x + 0.5, cell.y + 0.5)).toBe(block);
    }
    expect(seen.size).toBe(4096);
  });

  it("begins each zone on a row of its own", () => {
    expect(cellOf(layout, 700)?.x).toBe(0);
    const [dma, normal] = layout.bands;
    expect(normal.top).toBeGreaterThan(dma.top + dma.rows);
    expect(blockAt(layout, 0.5, dma.top + dma.rows + 0.1)).toBeNull();
  });

  it("has rows of 4 to 7 times a power of two blocks, and fills most of the pane", () => {
    let odd = layout.columns;
    while (odd % 2 === 0) odd /= 2;
    expect([1, 3, 5, 7]).toContain(odd);
    const cell = fit(layout, pane);
    expect(cell * layout.columns * cell * layout.height).toBeGreaterThan(0.75 * pane.width * pane.height);
  });

  it("leaves a block that two zones share to the later one", () => {
    const shared = layoutOf([zone("DMA32", 0, 11), zone("Normal", 10, 20)], 30, 1);
    expect(shared.bands.map(({ first, blocks }) => [first, blocks])).toEqual([[0, 10], [10, 20]]);
  });

  it("takes a machine without zones as one", () => {
    expect(layoutOf([], 100, 1).bands).toMatchObject([{ first: 0, blocks: 100 }]);
  });

  it("names the node where there are several", () => {
    expect(layoutOf([zone("Normal", 0, 8), zone("Normal", 8, 8, 1)], 16, 1).bands[1].label).toBe("node 1 Normal");
  });

  it("is walked without falling off", () => {
    const last = layout.bands[0].first + layout.bands[0].blocks - 1;
    expect(neighbour(layout, 0, -1, 0)).toBe(0);
    expect(neighbour(layout, 0, 0, -1)).toBe(0);
    expect(neighbour(layout, 4095, 1, 0)).toBe(4095);
    expect(neighbour(layout, last, 1, 0)).toBe(700);
    expect(neighbour(layout, 700, -1, 0)).toBe(last);
    expect(neighbour(layout, 0, 0, 1)).toBe(layout.columns);
    for (let block = 0; block < 4096; block++) {
      const down = neighbour(layout, block, 0, 1);
      expect(down).toBeGreaterThanOrEqual(block);
      expect(cellOf(layout, down)).not.toBeNull();
    }
  });
});

describe("the camera", () => {
  const layout = layoutOf(ZONES, 4096, 1.5);

  it("keeps what is under the pointer there", () => {
    const pointer = { x: 450, y: 90 };
    const start = clamp({ zoom: 4, x: 0.6, y: 0.4 }, layout, pane);
    const cells = (camera: typeof start) => {
      const { cell, left, top } = project(camera, layout, pane);
      return [(pointer.x - left) / cell, (pointer.y - top) / cell];
    };
    const [x, y] = cells(start);
    const [x2, y2] = cells(zoomAt(start, layout, pane, 1.7, pointer));
    expect(x2).toBeCloseTo(x, 6);
    expect(y2).toBeCloseTo(y, 6);
  });

  it("stops at the whole machine and at one block", () => {
    expect(zoomAt({ zoom: 1, x: 0.5, y: 0.5 }, layout, pane, 0.1, { x: 0, y: 0 })).toEqual({ zoom: 1, x: 0.5, y: 0.5 });
    const zoom = largestZoom(layout, pane);
    expect(zoomAt({ zoom: 1, x: 0.5, y: 0.5 }, layout, pane, 1e9, { x: 0, y: 0 }).zoom).toBe(zoom);
    expect(fit(layout, pane) * zoom).toBeCloseTo(200, 6);
  });

  it("does not leave the map", () => {
    const camera = pan({ zoom: 6, x: 0.5, y: 0.5 }, layout, pane, 1e6, 1e6);
    const { left, top } = project(camera, layout, pane);
    expect(left).toBeCloseTo(0, 6);
    expect(top).toBeCloseTo(0, 6);
  });

  it("shows the chosen block", () => {
    for (const block of [0, 699, 700, 4095]) {
      const at = cellOf(layout, block);
      if (!at) throw new Error("no cell");
      const { cell, left, top } = project(reveal({ zoom: 9, x: 0.5, y: 0.5 }, layout, pane, at), layout, pane);
      expect(left + at.x * cell).toBeGreaterThan(-0.001);
      expect(left + (at.x + 1) * cell).toBeLessThan(pane.width + 0.001);
      expect(top + at.y * cell).toBeGreaterThan(-0.001);
      expect(top + (at.y + 1) * cell).toBeLessThan(pane.height + 0.001);
    }
  });
});

describe("blocks x time", () => {
  const film = new Film(4, 3, 3);
  const [empty, polluted] = [0b00001101, 0b01011001];
  film.push(Uint8Array.of(empty, empty, empty, empty, 0, 0, empty ^ polluted, 0, 0, 0, 0, 0));
  const reel = { film, times: Float32Array.of(0, 10, 20) };
  const palette = paletteOf("mixing", "light");
  const pixel = (strip: { pixels: Uint8ClampedArray; columns: number }, x: number, y: number) =>
    [...strip.pixels.subarray((y * strip.columns + x) * 4, (y * strip.columns + x) * 4 + 3)];
  const colour = (byte: number) => [...palette.single.subarray(byte * 4, byte * 4 + 3)];

  it("has the colour of the block where a row is a block", async () => {
    const strip = await paintStrip([reel], 30, { columns: 3, rows: 100 }, palette, () => false);
    expect(strip?.rows).toBe(4);
    if (!strip) return;
    expect(pixel(strip, 0, 2)).toEqual(colour(empty));
    expect(pixel(strip, 1, 2)).toEqual(colour(polluted));
    expect(pixel(strip, 2, 2)).toEqual(colour(polluted));
    expect(pixel(strip, 2, 1)).toEqual(colour(empty));
  });

  it("mixes by weight where a row is several blocks", async () => {
    const strip = await paintStrip([reel], 30, { columns: 3, rows: 2 }, palette, () => false);
    if (!strip) throw new Error("not painted");
    const [a, b] = [empty, polluted].map((byte) => palette.single.subarray(byte * 4, byte * 4 + 4));
    const mixed = [0, 1, 2].map((c) => Math.round(Math.sqrt((a[c] ** 2 * a[3] + b[c] ** 2 * b[3]) / (a[3] + b[3]))));
    expect(pixel(strip, 1, 1)).toEqual(mixed);
    expect(pixel(strip, 1, 0)).toEqual(colour(empty));
  });

  it("shows the difference of two runs", async () => {
    const other = new Film(4, 1, 1);
    other.push(Uint8Array.of(empty, empty, empty, empty));
    const strip = await paintStrip([reel, { film: other, times: Float32Array.of(0) }], 30, { columns: 3, rows: 4 }, palette, () => false);
    if (!strip) throw new Error("not painted");
    const pair = (a: number, b: number) => [...palette.pair.subarray((a * 256 + b) * 4, (a * 256 + b) * 4 + 3)];
    expect(pixel(strip, 2, 2)).toEqual(pair(polluted, empty));
    expect(pixel(strip, 0, 2)).toEqual([...palette.inks.paper]);
  });

  it("stops when nobody waits for it any more", async () => {
    expect(await paintStrip([reel], 30, { columns: 3, rows: 4 }, palette, () => true)).toBeNull();
  });
});
