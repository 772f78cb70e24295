// A terabyte's page says what is in the file and draws every frame that is asked of it. How fast: `bench/page.mjs`.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { counts, launch, settled, skip } from "./harness.mjs";
import { dragged, jumped, openTerabyte, scrub, zoomToOneBlock } from "./terabyte.mjs";

const FRAMES = 24;

describe("a machine of one TiB", { skip }, () => {
  let browser;
  let page;
  let pinned;
  before(async () => {
    browser = await launch();
    ({ page, pinned } = await openTerabyte(browser));
  });
  after(() => browser?.close());

  it("shows what is in the file, at any sample", async () => {
    const slider = page.getByRole("slider", { name: "Time" });
    for (const sample of [0, 999, 500, 49, 51, 730]) {
      await slider.fill(String(sample));
      await settled(page);
      const [a, b] = pinned.map((one) => one[sample]);
      assert.deepEqual(await counts(page), [a, b, b - a]);
    }
  });

  async function drawsEvery(samples) {
    const { drawn } = await scrub(page, samples);
    // The picture of the last move may still be on its way.
    assert.ok(drawn >= samples.length - 2, `${drawn} of ${samples.length} pictures were drawn`);
  }

  for (const mode of ["Difference", "Side by side"]) {
    it(`draws every frame, dragged and anywhere: ${mode.toLowerCase()}`, async () => {
      await page.getByRole("button", { name: mode }).click();
      await settled(page);
      await drawsEvery(dragged(FRAMES));
      await drawsEvery(jumped(FRAMES));
    });
  }

  it("draws every frame zoomed to one block", async () => {
    await zoomToOneBlock(page);
    await settled(page);
    assert.ok((await page.locator(".mark.selected").first().boundingBox()).width > 100);
    await drawsEvery(dragged(FRAMES));
    assert.deepEqual(page.problems, []);
  });
});
