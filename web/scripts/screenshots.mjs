// Pictures of a report for the documents: the map and the comparison. `node scripts/screenshots.mjs [REPORT]`.

import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch, painted, report, skip } from "../browser/harness.mjs";
import { makeView } from "./fixture.mjs";

if (skip) {
  console.log(`SKIPPED: ${skip}`);
  process.exit(0);
}
const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(images, { recursive: true });
// Paths are given as seen from where `make` was called.
const given = process.argv[2];
const url = given ? pathToFileURL(resolve(process.env.INIT_CWD ?? "..", given)).href : report("screenshots", makeView());
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });

/** A picture of a part of the page without the bars that stick to the window. */
async function picture(name, selector, height) {
  const box = await page.locator(selector).boundingBox();
  const clip = { x: 0, y: box.y, width: 1280, height: Math.min(height, box.height) };
  await page.screenshot({ path: `${images}${name}.png`, clip, fullPage: true });
  console.log(`docs/images/${name}.png`);
}

await page.goto(url);
await painted(page);
await page.evaluate(() => {
  for (const bar of document.querySelectorAll(".transport, .picker")) bar.style.position = "static";
});
await page.waitForTimeout(500);
await picture("report-map", "#map", 1190);
await picture("report-comparison", "#comparison", 760);
await browser.close();
