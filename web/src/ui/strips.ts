// The whole of both runs at once: how many blocks have pinned pages, and blocks x time. A press or a drag sets the time.

import { chosen, durationOf, type Context } from "../core/context";
import { h, whenResized } from "../core/dom";
import { clock, count } from "../core/format";
import type { Reels } from "../core/reels";
import { onTheme, palette } from "../core/theme";
import { parting, pinnedBlocks, type Counted } from "../data/divergence";
import type { Machine } from "../data/machine";
import { blockOfRow, paintStrip, type Reel } from "../map/strip";
import { tickLabel, ticks } from "./axis";
import { badge } from "./picker";

const SVG = "http://www.w3.org/2000/svg";
const CURVE_HEIGHT = 68;
const MOST_COLUMNS = 1000;

export class Strips {
  readonly element: HTMLElement;
  private readonly context: Context;
  private readonly reels: Reels;
  private readonly rows = h("div", { class: "strip-rows" });
  private readonly cursor = h("div", { class: "cursor", "aria-hidden": "true" });
  private readonly part = h("div", { class: "parting", hidden: true });
  private readonly field: HTMLElement;
  private readonly axis = h("div", { class: "axis", "aria-hidden": "true" });
  private readonly finding = h("p", { class: "finding" });
  private generation = 0;
  private width = 0;

  constructor(context: Context, reels: Reels) {
    this.context = context;
    this.reels = reels;
    this.field = h("div", { class: "strip-field" }, this.rows, this.part, this.cursor);
    this.element = h("div", { class: "strips" }, this.finding, this.field, this.axis);
    this.field.addEventListener("pointerdown", (event) => this.scrub(event));
    whenResized(this.field, (width) => {
      this.width = width;
      this.build();
    });
    context.store.watch(["a", "b", "mode", "colouring"], () => this.build());
    context.store.watch(["time"], () => this.moveCursor());
    reels.onProgress(() => this.build());
    onTheme(() => this.build());
  }

  private get duration(): number {
    return durationOf(this.context, this.context.store.state);
  }

  private moveCursor(): void {
    const share = Math.min(1, this.context.store.state.time / this.duration);
    this.cursor.style.transform = `translateX(${share * this.width}px)`;
  }

  /** Only what is complete is painted: a strip that grows would be painted ten times over. */
  private build(): void {
    const generation = ++this.generation;
    if (this.width === 0) return;
    const known = chosen(this.context, this.context.store.state).map(({ letter, machine }) => ({
      letter,
      machine,
      reel: this.reels.of(machine),
    }));
    const there = known.filter((one): one is typeof one & { reel: Reel } => one.reel !== null && complete(one.reel));
    this.drawAxis();
    this.moveCursor();
    if (there.length < known.filter(({ machine }) => machine.hasMap).length) return;
    const counted = there.map(({ letter, reel }) => ({
      letter,
      counted: { times: reel.times, counts: pinnedBlocks(reel.film) } satisfies Counted,
    }));
    const rows: HTMLElement[] = [];
    if (counted.length > 0) rows.push(this.curves(counted));
    const difference = this.context.store.state.mode === "difference" && there.length === 2;
    const groups = difference ? [there] : there.map((one) => [one]);
    const images = groups.map((group) => this.strip(group));
    rows.push(...images.map((image) => image.element));
    this.rows.replaceChildren(...rows);
    this.tell(counted);
    void this.paint(groups, images, generation);
  }

  private strip(group: { letter: "A" | "B"; machine: Machine; reel: Reel }[]): { element: HTMLElement; canvas: HTMLCanvasElement } {
    const names = group.map(({ machine }) => machine.name);
    const name = names.length === 2 ? `Difference of ${names.join(" and ")}` : names[0];
    const canvas = h("canvas", { role: "img", "aria-label": `${name}: blocks from low (top) to high addresses, over time` });
    const caption = h("figcaption", {}, ...group.map(({ letter }) => badge(letter)), h("span", {}, name));
    return { element: h("figure", { class: group.length === 2 ? "strip tall" : "strip" }, caption, canvas), canvas };
  }

  private async paint(
    groups: { machine: Machine; reel: Reel }[][],
    images: { canvas: HTMLCanvasElement }[],
    generation: number,
  ): Promise<void> {
    const colours = palette(this.context.store.state.colouring);
    for (const [i, group] of groups.entries()) {
      const reels = group.map(({ reel }) => reel) as [Reel] | [Reel, Reel];
      const most = Math.max(...reels.map(({ film }) => film.samples));
      // A row a pixel: scaling a taller picture down would drop blocks.
      const rows = Math.round(images[i].canvas.getBoundingClientRect().height * devicePixelRatio);
      const size = { columns: Math.min(MOST_COLUMNS, most, Math.round(this.width)), rows };
      const strip = await paintStrip(reels, this.duration, size, colours, () => generation !== this.generation);
      if (!strip) return;
      const { canvas } = images[i];
      canvas.width = strip.columns;
      canvas.height = strip.rows;
      canvas.getContext("2d")?.putImageData(new ImageData(strip.pixels, strip.columns, strip.rows), 0, 0);
      canvas.dataset.painted = "1";
    }
  }

  /** The blocks with pinned pages of the runs, as steps: between samples nothing is known. */
  private curves(runs: { letter: "A" | "B"; counted: Counted }[]): HTMLElement {
    const most = Math.max(1, ...runs.flatMap(({ counted }) => Array.from(counted.counts)));
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${this.width} ${CURVE_HEIGHT}`);
    // The rule below takes a pixel of the height, which must not narrow the curve.
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "Blocks with pinned pages over time; the counts stand in the table below the map");
    for (const { letter, counted } of runs) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `curve ${letter.toLowerCase()}`);
      path.setAttribute("d", this.steps(counted, most));
      svg.append(path);
    }
    return h(
      "figure",
      { class: "strip curves" },
      h("figcaption", {}, h("span", {}, `Blocks with pinned pages, where no huge page can be made (up to ${count(most)})`)),
      svg,
    );
  }

  private steps({ times, counts }: Counted, most: number): string {
    const x = (time: number): string => ((time / this.duration) * this.width).toFixed(1);
    const y = (value: number): string => (CURVE_HEIGHT - 2 - (value / most) * (CURVE_HEIGHT - 6)).toFixed(1);
    let path = `M${x(times[0])} ${y(counts[0])}`;
    for (let i = 1; i < counts.length; i++) path += `H${x(times[i])}V${y(counts[i])}`;
    return path;
  }

  /** Says in words where the runs part ways, and marks the place. */
  private tell(runs: { letter: "A" | "B"; counted: Counted }[]): void {
    this.part.hidden = true;
    this.finding.replaceChildren();
    if (runs.length < 2) return;
    const found = parting(runs[0].counted, runs[1].counted);
    if (!found) {
      this.finding.append("Both runs end with as many blocks that hold pinned pages.");
      return;
    }
    this.part.hidden = found.time <= 0;
    this.part.style.transform = `translateX(${(found.time / this.duration) * this.width}px)`;
    const less = found.more === "A" ? "B" : "A";
    const ends = `at the end ${count(found.a)} in A and ${count(found.b)} in B.`;
    if (this.part.hidden) {
      this.finding.append(`From the start to the end, ${less} has fewer blocks with pinned pages than ${found.more}: ${ends}`);
      return;
    }
    this.finding.append(
      "The runs part ways at ",
      h("button", { type: "button", class: "time", onclick: () => this.context.store.set({ time: found.time }) }, clock(found.time)),
      `: from there to the end, ${less} always has fewer blocks with pinned pages than ${found.more}: ${ends}`,
    );
  }

  private drawAxis(): void {
    const duration = this.duration;
    this.axis.replaceChildren(
      ...ticks(duration, Math.max(2, this.width / 90)).map((seconds) => {
        const tick = h("span", {}, tickLabel(seconds, duration));
        tick.style.left = `${(seconds / duration) * 100}%`;
        return tick;
      }),
    );
  }

  private scrub(down: PointerEvent): void {
    if (down.button !== 0) return;
    const { store } = this.context;
    const set = (event: PointerEvent): void => {
      const box = this.field.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      store.set({ time: share * this.duration });
    };
    const stop = (event: PointerEvent): void => {
      this.field.removeEventListener("pointermove", set);
      this.field.removeEventListener("pointerup", stop);
      this.field.removeEventListener("pointercancel", stop);
      if (Math.abs(event.clientX - down.clientX) < 4) this.choose(event);
    };
    this.field.setPointerCapture(down.pointerId);
    this.field.addEventListener("pointermove", set);
    this.field.addEventListener("pointerup", stop);
    this.field.addEventListener("pointercancel", stop);
    set(down);
  }

  /** A press on a row of a strip also chooses the first block of the row. */
  private choose(event: PointerEvent): void {
    const canvases = this.rows.querySelectorAll("canvas");
    const machine = chosen(this.context, this.context.store.state).find((one) => one.machine.hasMap)?.machine;
    for (const canvas of canvases) {
      const box = canvas.getBoundingClientRect();
      if (!machine || event.clientY < box.top || event.clientY >= box.bottom) continue;
      this.context.store.set({ block: blockOfRow((event.clientY - box.top) / box.height, machine.blocks) });
    }
  }
}

const complete = ({ film }: Reel): boolean => film.ready === film.samples || film.failure !== null;
