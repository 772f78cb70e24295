// A terabyte: 524,288 blocks x 1,000 samples, twice, in a real file through the real reader.

import { once } from "node:events";
import { createDeflateRaw } from "node:zlib";
import { chunk, random } from "../scripts/fixture.mjs";
import { open, painted, report } from "./harness.mjs";

const BLOCKS = 524_288;
export const SAMPLES = 1000;
const KEYFRAME_EVERY = 50;
/** Of all blocks, the share that changes from sample to sample, in stretches: 5,000 blocks, 10 GiB of 1 TiB. */
const CHANGING = 0.01;
const STRETCH = 16;

/** A film, packed as it is made, and how many blocks with pinned pages each sample has. */
async function film(seed) {
  const next = random(seed);
  const frame = Uint8Array.from({ length: BLOCKS }, () => 1 | (Math.floor(next() * 4) << 2) | (1 << 4));
  const deflate = createDeflateRaw({ level: 1 });
  const packed = [];
  deflate.on("data", (piece) => packed.push(piece));
  const pinned = [];
  let now = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const step = new Uint8Array(BLOCKS);
    for (let i = 0; sample > 0 && i < (BLOCKS * CHANGING) / STRETCH; i++) {
      const start = Math.floor(next() * (BLOCKS - STRETCH));
      const byte = 1 | (Math.floor(next() * 4) << 2) | (Math.floor(next() * 4) << 4) | (next() < 0.3 ? 1 << 6 : 0);
      for (let block = start; block < start + STRETCH; block++) {
        now += Number(byte >> 6 > 0) - Number(frame[block] >> 6 > 0);
        step[block] ^= frame[block] ^ byte;
        frame[block] = byte;
      }
    }
    pinned.push(now);
    if (!deflate.write(Buffer.from(sample % KEYFRAME_EVERY === 0 ? frame : step))) await once(deflate, "drain");
  }
  deflate.end();
  await once(deflate, "end");
  const data = Buffer.concat(packed).toString("base64");
  return { pinned, frames: { dtype: "u8", len: BLOCKS * SAMPLES, data } };
}

function run(name, frames) {
  const times = chunk(Float32Array.from({ length: SAMPLES }, (_, i) => i));
  return {
    name, kind: "simulated", duration_s: SAMPLES - 1, page_size: 4096, pageblock_order: 9,
    zones: [
      { node: 0, name: "DMA32", first_block: 0, blocks: 2048 },
      { node: 0, name: "Normal", first_block: 2048, blocks: BLOCKS / 2 - 2048 },
      { node: 1, name: "Normal", first_block: BLOCKS / 2, blocks: BLOCKS / 2 },
    ],
    map: { times, blocks: BLOCKS, keyframe_every: KEYFRAME_EVERY, frames },
  }; // prettier-ignore
}

/** Opens a report of two such runs; `pinned` has how many blocks with pinned pages each sample of each run has. */
export async function openTerabyte(browser) {
  const films = [await film(1), await film(2)];
  const runs = films.map((one, i) => run(["one", "two"][i], one.frames));
  const url = report("scale", { schema: "fraglab.view", version: 1, title: "One TiB", runs });
  const start = performance.now();
  const page = await open(browser, url);
  await page.waitForSelector(".stage canvas[data-painted]", { timeout: 60_000 });
  const first = performance.now() - start;
  await painted(page);
  const bytes = runs.reduce((sum, one) => sum + one.map.frames.data.length, 0);
  console.log(
    `1 TiB x 1000 samples x 2 runs (${(bytes / 1e6).toFixed(1)} MB): first picture after ${first.toFixed(0)} ms, ` +
      `all samples and strips after ${(performance.now() - start).toFixed(0)} ms`,
  );
  return { page, pinned: films.map((one) => one.pinned) };
}

/** Moves the slider once a frame: how many frames a second there were, and how many of them were drawn on every canvas. */
export const scrub = (page, samples) =>
  page.evaluate(async (values) => {
    const slider = document.querySelector(".transport input");
    const canvases = [...document.querySelectorAll(".stage canvas")].filter((canvas) => canvas.offsetParent);
    const paintedBefore = canvases.map((canvas) => Number(canvas.dataset.painted));
    const start = performance.now();
    for (const value of values) {
      slider.value = String(value);
      slider.dispatchEvent(new Event("input"));
      await new Promise(requestAnimationFrame);
    }
    // What the GPU process has not done yet counts too.
    for (const canvas of canvases) canvas.getContext("webgl2")?.finish();
    const seconds = (performance.now() - start) / 1000;
    const drawn = canvases.map((canvas, i) => Number(canvas.dataset.painted) - paintedBefore[i]);
    return { rate: values.length / seconds, drawn: Math.min(...drawn) };
  }, samples);

/** Eight samples a frame. */
export const dragged = (frames) => Array.from({ length: frames }, (_, i) => 100 + i * 8);
/** Anywhere: nearly every pixel changes. */
export const jumped = (frames) => Array.from({ length: frames }, (_, i) => (i * 617) % SAMPLES);

/** Zooms in until one block fills the picture. */
export async function zoomToOneBlock(page) {
  const stage = page.locator(".stage").first();
  await stage.click({ position: { x: 150, y: 150 } });
  for (let i = 0; i < 20; i++) await stage.press("+");
}
