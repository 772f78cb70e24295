// A browser, a report on disk, and nothing else.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";
import { makeView, pageWith } from "../scripts/fixture.mjs";

export const OUT = fileURLToPath(new URL("../out/", import.meta.url));

const KNOWN = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = KNOWN.find((path) => path && existsSync(path));

/** Why there is no browser, or false: the form in which node:test wants it. */
export const skip = executablePath ? false : "Chromium is not installed (CHROMIUM names another place)";

/** Software rendering, so that figures and pictures do not hang on a GPU. */
const ARGS = ["--disable-gpu", "--enable-unsafe-swiftshader", "--force-device-scale-factor=1"];

export function launch() {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: root ? [...ARGS, "--no-sandbox"] : ARGS });
}

/** Writes a report and gives its address. */
export function report(name, view) {
  const file = `${OUT}${name}.html`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageWith(view));
  return pathToFileURL(file).href;
}

/** The view that most tests look at. */
export const view = makeView({ blocks: 1024, samples: 60, seconds: 120, seeds: 2, every: 8 });

/** Opens a page that must not complain or ask for anything but itself; `problems` has what it did. */
export async function open(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.problems = [];
  page.on("console", (message) => {
    if (message.type() === "error" || /Content Security Policy/.test(message.text())) page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => {
    if (request.url().split(/[?#]/)[0] !== url.split(/[?#]/)[0]) page.problems.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

/** Waits until maps and strips are painted. */
export async function painted(page) {
  await page.waitForSelector(".strip canvas[data-painted]");
  await page.waitForSelector(".stage canvas[data-painted]");
}

/** Two frames later, everything that a change leads to is on the screen. */
export const settled = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

/** Frames of a run, decoded without the page's code. */
export function framesOf(run) {
  const bytes = inflateRawSync(Buffer.from(run.map.frames.data, "base64"));
  const { blocks, keyframe_every: every } = run.map;
  const frames = [];
  for (let sample = 0; sample * blocks < bytes.length; sample++) {
    const frame = Uint8Array.from(bytes.subarray(sample * blocks, (sample + 1) * blocks));
    if (sample % every !== 0) for (let i = 0; i < blocks; i++) frame[i] ^= frames[sample - 1][i];
    frames.push(frame);
  }
  return frames;
}

/** Blocks with pinned pages. */
export const pinned = (frame) => frame.filter((byte) => byte >> 6 > 0).length;

/** Numbers of a row of the counts table. */
export const counts = (page, row = "Blocks with pinned pages") =>
  page.evaluate((label) => {
    const line = [...document.querySelectorAll(".counts tbody tr")].find((one) => one.querySelector("th").textContent === label);
    return [...line.querySelectorAll("td")].map((cell) => Number(cell.textContent.replace(/\s/g, "").replace("−", "-")));
  }, row);

/** Share of pixels of two PNGs in which one channel differs by more than `tolerance`; 1 if the sizes differ. */
export async function difference(page, a, b, tolerance = 24) {
  const blank = await page.context().browser().newPage();
  const compare = async ([one, other, most]) => {
    const pixels = async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [x, y] = [await pixels(one), await pixels(other)];
    if (x.width !== y.width || x.height !== y.height) return 1;
    let differing = 0;
    for (let i = 0; i < x.data.length; i += 4) {
      if ([0, 1, 2].some((channel) => Math.abs(x.data[i + channel] - y.data[i + channel]) > most)) differing++;
    }
    return differing / (x.width * x.height);
  };
  try {
    return await blank.evaluate(compare, [a.toString("base64"), b.toString("base64"), tolerance]);
  } finally {
    await blank.close();
  }
}
