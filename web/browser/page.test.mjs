// The page as somebody uses it, in headless Chromium with software rendering.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { createRequire } from "node:module";
import zlib from "node:zlib";
import { counts, difference, framesOf, launch, open, OUT, painted, pinned, report, settled, skip, view } from "./harness.mjs";
import { makeView } from "../scripts/fixture.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SNAPSHOT = new URL("map.png", import.meta.url);
/** Share of the picture's pixels that may differ: rounding at the edges of cells. */
const PICTURE_TOLERANCE = 0.01;

describe("the report page", { skip }, () => {
  let browser;
  let url;
  before(async () => {
    browser = await launch();
    url = report("small", view);
  });
  after(() => browser?.close());

  /** A page of the view, closed and checked for problems at the end. */
  async function on(address, act, options) {
    const page = await open(browser, address, options);
    try {
      await act(page);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.close();
    }
  }

  const slider = (page) => page.getByRole("slider", { name: "Time" });
  /** The address once it has come to rest: it follows the view after a while. */
  const hash = async (page) => {
    for (let before = null, now = page.url(); ; before = now, now = page.url()) {
      if (before === now) return new URL(now).hash;
      await settled(page);
      await page.waitForTimeout(700);
    }
  };

  it("shows what was run, and copies the command", async () => {
    await on(url, async (page) => {
      assert.equal(await page.title(), view.title);
      assert.match(await page.locator(".top").innerText(), /made-up[\s\S]*vanilla, defrag_mode[\s\S]*4 runs, seeds 11, 12[\s\S]*2\sGiB/);
      await page.getByRole("button", { name: "Copy: Command that made this page" }).click();
      await page.getByText(/Copied|Press Ctrl\+C/).waitFor();
      const run = page.locator(".run").first();
      await run.locator("summary").click();
      assert.match(await run.innerText(), new RegExp(`${view.runs[0].digest}[\\s\\S]*${view.runs[0].command.slice(0, 20)}`));
    });
  });

  it("scrubs through time: the counts are those of the frames", async () => {
    const [a, b] = view.runs.slice(0, 2).map(framesOf);
    await on(url, async (page) => {
      await painted(page);
      assert.deepEqual(await counts(page), [pinned(a[59]), pinned(b[59]), pinned(b[59]) - pinned(a[59])]);
      for (const sample of [0, 31, 58, 7]) {
        await slider(page).fill(String(sample));
        await settled(page);
        assert.deepEqual(await counts(page), [pinned(a[sample]), pinned(b[sample]), pinned(b[sample]) - pinned(a[sample])]);
      }
      await slider(page).press("ArrowRight");
      await settled(page);
      assert.equal((await counts(page))[0], pinned(a[8]));
      assert.match(await slider(page).getAttribute("aria-valuetext"), /sample 9 of 60/);
    });
  });

  it("says in words where the runs part ways", async () => {
    await on(url, async (page) => {
      await painted(page);
      const finding = page.locator(".finding");
      assert.match(await finding.innerText(), /part ways at .* B always has fewer blocks with pinned pages than A/);
      await finding.getByRole("button").click();
      await settled(page);
      const [a, b] = await counts(page);
      assert.ok(a > b);
      await page.getByRole("button", { name: "One sample back" }).click();
      await settled(page);
      const before = await counts(page);
      assert.ok(before[0] <= before[1], `${before}`);
    });
  });

  it("compares any two runs, side by side and as a difference", async () => {
    await on(url, async (page) => {
      await painted(page);
      await page.getByLabel("Run A", { exact: true }).selectOption("vanilla/2");
      await page.getByLabel("Run B", { exact: true }).selectOption("defrag_mode/2");
      await settled(page);
      const frames = view.runs.filter((run) => run.name.endsWith("/2")).map((run) => framesOf(run)[59]);
      assert.deepEqual((await counts(page)).slice(0, 2), frames.map(pinned));
      assert.equal(await page.locator(".stage:visible").count(), 2);
      await page.getByRole("button", { name: "Difference" }).click();
      await settled(page);
      assert.equal(await page.locator(".stage:visible").count(), 1);
      assert.match(await page.locator(".legend").innerText(), /More pinned pages in A/);
      await page.getByRole("button", { name: "Swap A and B" }).click();
      await settled(page);
      assert.deepEqual((await counts(page)).slice(0, 2), frames.reverse().map(pinned));
      await page.getByLabel("Run B", { exact: true }).selectOption("no second run");
      await settled(page);
      assert.equal(await page.locator(".stage:visible").count(), 1);
      assert.equal((await counts(page)).length, 1);
    });
  });

  it("restores a view from its address", async () => {
    await on(url, async (page) => {
      await painted(page);
      await page.getByLabel("Run A", { exact: true }).selectOption("vanilla/2");
      await slider(page).fill("20");
      await page.locator(".stage").first().click({ position: { x: 200, y: 200 } });
      await page.locator(".stage").first().press("+");
      await page.getByRole("button", { name: "Free pages" }).click();
      const link = await hash(page);
      const shown = await page.locator(".inspector h3").innerText();
      assert.match(shown, /^Block \d/);
      await on(url + link, async (other) => {
        await painted(other);
        assert.equal(await other.getByLabel("Run A", { exact: true }).inputValue(), "2");
        assert.equal(await slider(other).inputValue(), "20");
        assert.equal(await other.locator(".inspector h3").innerText(), shown);
        assert.equal(await other.getByRole("button", { name: "Free pages" }).getAttribute("aria-pressed"), "true");
        const [one, two] = [await page.locator(".stage").first().screenshot(), await other.locator(".stage").first().screenshot()];
        assert.ok((await difference(other, one, two)) < PICTURE_TOLERANCE);
        assert.equal(await hash(other), link);
      });
    });
  });

  it("tells a block's history: state, shares, events", async () => {
    const run = view.runs[0];
    const column = (name, Type) => {
      const bytes = inflate(run.events[name].data);
      return new Type(bytes.buffer, bytes.byteOffset, run.events[name].len);
    };
    const kinds = column("kind", Uint8Array);
    const blocks = column("block", Uint32Array);
    const at = kinds.indexOf(2);
    await on(`${url}#block=${blocks[at]}&t=120`, async (page) => {
      await painted(page);
      const side = page.locator(".side").first();
      await side.getByText(/pollute: (unmovable|reclaimable) request of order \d took order \d of a block that stays movable/).first().waitFor();
      const states = await side.locator(".happenings li:not(.event)").count();
      const frames = framesOf(run);
      const changes = frames.filter((frame, i) => i === 0 || frame[blocks[at]] !== frames[i - 1][blocks[at]]).length;
      assert.equal(states, changes);
      await side.locator(".happenings li").nth(1).getByRole("button").click();
      await settled(page);
      assert.notEqual(await slider(page).inputValue(), "59");
    });
  });

  it("is used with the keyboard alone", async () => {
    await on(url, async (page) => {
      await painted(page);
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the block map");
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.className), "stage");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowDown");
      await settled(page);
      const spoken = await page.locator("#block-spoken").innerText();
      assert.match(spoken, /^Block \d+\. vanilla\/1: (un)?movable, .* free, .* movable, .* pinned pages/);
      const zoomOf = async () => Number(new URLSearchParams((await hash(page)).slice(1)).get("zoom") ?? 1);
      await page.keyboard.press("+");
      await page.keyboard.press("+");
      assert.ok((await zoomOf()) > 2);
      await page.keyboard.press("0");
      assert.equal(await zoomOf(), 1);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Home");
      await settled(page);
      assert.equal(await slider(page).inputValue(), "0");
      await page.keyboard.press(".");
      await settled(page);
      assert.equal(await slider(page).inputValue(), "1");
      await page.keyboard.press(" ");
      await page.waitForFunction(() => Number(document.querySelector(".transport input").value) > 3);
      await page.keyboard.press(" ");
      const stopped = await slider(page).inputValue();
      await page.waitForTimeout(700);
      assert.equal(await slider(page).inputValue(), stopped);
      await page.keyboard.press("d");
      await settled(page);
      assert.equal(await page.locator(".stage:visible").count(), 1);
      await page.keyboard.press("?");
      assert.ok(await page.getByRole("dialog").isVisible());
      await page.keyboard.press("Escape");
      assert.equal(await page.getByRole("dialog").count(), 0);
    });
  });

  it("shows the focus wherever Tab leads", async () => {
    await on(url, async (page) => {
      await painted(page);
      const without = new Set();
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        const bare = await page.evaluate(() => {
          const element = document.activeElement;
          if (!element || element === document.body) return null;
          const { outlineStyle, outlineWidth } = getComputedStyle(element);
          return outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 ? null : element.outerHTML.slice(0, 80);
        });
        if (bare) without.add(bare);
      }
      assert.deepEqual([...without], []);
    });
  });

  it("zooms all plots together, and moves the time with a press", async () => {
    await on(url, async (page) => {
      await painted(page);
      await page.locator(".plot").first().scrollIntoViewIfNeeded();
      const plot = page.locator(".plot .u-over").first();
      await plot.scrollIntoViewIfNeeded();
      await plot.click({ position: { x: 60, y: 60 } });
      await settled(page);
      assert.notEqual(await slider(page).inputValue(), "59");
      const box = await plot.boundingBox();
      await page.mouse.move(box.x + 60, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 160, box.y + 60, { steps: 4 });
      await page.mouse.up();
      assert.match(await hash(page), /range=\d/);
      await page.getByRole("button", { name: "Whole time" }).click();
      assert.doesNotMatch(await hash(page), /range/);
    });
  });

  it("shows what took time, and goes to its moment", async () => {
    await on(url, async (page) => {
      const part = page.getByRole("region", { name: "What took time" });
      const [run] = view.runs;
      const of = run.slices.filter((slice) => slice.track === "stall");
      const row = part.getByRole("row", { name: /^stall/ }).first();
      assert.equal(await row.getByRole("cell").first().innerText(), String(of.length));
      assert.match(await part.locator("caption").first().innerText(), /longest of/);
      const longest = Math.max(...run.slices.map((slice) => slice.end_s - slice.start_s));
      const first = run.slices.find((slice) => slice.end_s - slice.start_s === longest);
      await part.getByText(`The longest of ${run.name}`).click();
      await part.getByRole("button").first().click();
      await settled(page);
      const reached = Number(await slider(page).inputValue());
      const sample = run.duration_s / (framesOf(run).length - 1);
      assert.ok(Math.abs(reached * sample - first.start_s) <= sample, `sample ${reached}, not ${first.start_s} s`);
    });
  });

  it("finds series and rows", async () => {
    await on(url, async (page) => {
      await painted(page);
      await page.getByLabel("Find a series").fill("unusable");
      assert.equal(await page.locator(".plot:visible").count(), 1);
      await page.getByLabel("Find a row").fill("thp");
      assert.deepEqual(await page.locator("#comparison .controls ~ .scrolled tbody tr:visible th").allInnerTexts(), ["thp_fault_alloc", "thp_fault_fallback"]);
      const shown = await page.locator("#comparison .headlines li.better").first().innerText();
      assert.match(shown, /extfrag_total\s+−\d/);
    });
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no finding of axe-core, ${colorScheme}`, async () => {
      for (const [what, address] of [["pair", `${url}#block=100`], ["difference", `${url}#view=difference`]]) {
        await on(address, async (page) => {
          await painted(page);
          await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
          await settled(page);
          // Outside the page's own policy, as a debugger would: the page itself runs no text.
          await page.evaluate(AXE);
          const { violations } = await page.evaluate(() => globalThis.axe.run(document));
          const found = violations.map(({ id, help, nodes }) => `${what}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
          assert.deepEqual(found, []);
        }, { colorScheme });
      }
    });
  }

  it("paints the same with WebGL2 and with Canvas2D, at every zoom, alone and as a difference", async () => {
    // So many blocks that a pixel stands for several.
    const many = report("many", makeView({ blocks: 400_000, samples: 3, seeds: 1, seconds: 120 }));
    for (const [address, state] of [
      [url, "colour=free"],
      [url, "zoom=14&x=0.4&y=0.1"],
      [url, "view=difference&zoom=5&x=0.2&y=0.2"],
      [many, ""],
      [many, "view=difference"],
    ]) {
      const shots = [];
      for (const painter of ["WebGL2", "Canvas2D"]) {
        await on(`${address}?painter=${painter}#t=90&${state}`, async (page) => {
          await painted(page);
          await settled(page);
          const kind = await page.locator(".stage canvas").first().evaluate((canvas) => (canvas.getContext("webgl2") ? "WebGL2" : "Canvas2D"));
          assert.equal(kind, painter);
          shots.push(await page.locator(".stage").first().screenshot());
          if (shots.length === 2) {
            const share = await difference(page, shots[0], shots[1]);
            assert.ok(share < PICTURE_TOLERANCE, `${state}: ${share}`);
          }
        }, { viewport: { width: 640, height: 560 } });
      }
    }
  });

  it("goes on without WebGL2 when the context is lost", async () => {
    await on(`${url}?painter=WebGL2`, async (page) => {
      await painted(page);
      const before = await page.locator(".stage").first().screenshot();
      await page.evaluate(() => document.querySelector(".stage canvas").getContext("webgl2").getExtension("WEBGL_lose_context").loseContext());
      await page.waitForFunction(() => document.querySelector(".stage canvas").getContext("2d") !== null);
      await settled(page);
      const share = await difference(page, before, await page.locator(".stage").first().screenshot());
      assert.ok(share < PICTURE_TOLERANCE, `${share}`);
    });
  });

  it("looks as it did (browser/map.png; FRAGLAB_BLESS=1 takes a new picture)", async () => {
    await on(`${url}#t=120`, async (page) => {
      await painted(page);
      await settled(page);
      // The canvas alone: text looks different with every font, and moves what stands below it by parts of a pixel.
      const data = await page.locator(".stage canvas").first().evaluate((canvas) => canvas.toDataURL("image/png"));
      const shot = Buffer.from(data.split(",")[1], "base64");
      writeFileSync(`${OUT}map.png`, shot);
      if (process.env.FRAGLAB_BLESS) writeFileSync(SNAPSHOT, shot);
      const share = await difference(page, readFileSync(SNAPSHOT), shot);
      assert.ok(share < PICTURE_TOLERANCE, `${(share * 100).toFixed(2)} % of the pixels differ from browser/map.png; see out/map.png`);
    });
  });

  it("fits a phone", async () => {
    await on(url, async (page) => {
      await painted(page);
      const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= window, `${wide} px in a window of ${window}`);
    }, { viewport: { width: 390, height: 800 } });
  });

  it("shows one run without a map, and a comparison without statistics", async () => {
    const kernel = { name: "kernel", kind: "kernel", counters: { extfrag_total: 3 }, duration_s: 5 };
    const bare = report("bare", { schema: "fraglab.view", version: 1, runs: [kernel] });
    await on(bare, async (page) => {
      assert.equal(await page.locator(".stage").count(), 0);
      assert.match(await page.locator("#comparison").innerText(), /extfrag_total\s+3/);
    });
    const two = report("two", { schema: "fraglab.view", version: 1, runs: [kernel, { ...kernel, name: "model", counters: { extfrag_total: 6 } }] });
    await on(two, async (page) => assert.match(await page.locator("#comparison").innerText(), /\+100/));
  });

  it("says what is wrong with its data", async () => {
    const said = async (name, data) => {
      let text;
      await on(report(name, data), async (page) => (text = await page.getByRole("alert").innerText()));
      return text;
    };
    assert.match(await said("schema", { schema: "other" }), /"other"/);
    assert.match(await said("version", { ...view, version: 9 }), /version 9/);
    assert.match(await said("none", "null"), /fraglab report RUN/);
    const [first, ...others] = view.runs;
    const frames = { ...first.map.frames, data: first.map.frames.data.slice(0, 4000) };
    const cut = report("cut", { ...view, runs: [{ ...first, map: { ...first.map, frames } }, ...others] });
    await on(cut, async (page) => {
      await page.getByText(/damaged: /).first().waitFor();
      await painted(page);
    });
  });

  it("reads names as text, never as markup", async () => {
    const evil = "<img src=x onerror=document.title='evil'></script><script>document.title='evil'</script>";
    const runs = view.runs.slice(0, 2).map((run, i) => ({ ...run, name: `${evil}${i}`, policy: evil, notes: [evil], command: evil }));
    await on(report("evil", { ...view, title: "safe", runs, compare: null }), async (page) => {
      await painted(page);
      await page.waitForTimeout(200);
      assert.equal(await page.title(), "safe");
      assert.equal(await page.locator("img").count(), 0);
    });
  });
});

function inflate(data) {
  const bytes = zlib.inflateRawSync(Buffer.from(data, "base64"));
  return new Uint8Array(bytes);
}
