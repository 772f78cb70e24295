// One block: where it lies, what is in it now in both runs, how it came to be so.

import { chosen, type Context } from "../core/context";
import { css } from "../core/colour";
import { h } from "../core/dom";
import { bytes, clock, count } from "../core/format";
import { shownSample, type Reels } from "../core/reels";
import { onTheme, palette } from "../core/theme";
import { freeOf, isHole, isPolluted, movableOf, pagesOfLevel, pinnedOf, typeOf, MOVABLE } from "../data/byte";
import { describeEvent, eventsOf, stays, type Stay } from "../data/history";
import type { Machine } from "../data/machine";
import { colourOf } from "../map/palette";
import type { Reel } from "../map/strip";
import { badge } from "./picker";

const MOST_EVENTS = 200;
const TYPE_NAMES = ["unmovable", "movable", "reclaimable", "highatomic or CMA"];

function pages(level: number, machine: Machine): string {
  const { low, high } = pagesOfLevel(level, machine.pagesPerBlock);
  return low === high ? String(low) : `${low}–${high}`;
}

/** A block's byte in words. */
export function describeByte(byte: number, machine: Machine): string {
  if (isHole(byte)) return "no memory";
  const shares = [
    `${pages(freeOf(byte), machine)} free`,
    `${pages(movableOf(byte), machine)} movable`,
    `${pages(pinnedOf(byte), machine)} pinned pages`,
  ];
  return `${TYPE_NAMES[typeOf(byte)]}, ${shares.join(", ")}`;
}

function place(block: number, machine: Machine): string {
  const zone = machine.zoneOf(block);
  const size = machine.pagesPerBlock * machine.pageSize;
  const frame = block * machine.pagesPerBlock;
  const where = zone ? `node ${zone.node}, zone ${zone.name}, ` : "";
  return `${where}at ${bytes(block * size)}, frames ${count(frame)} to ${count(frame + machine.pagesPerBlock - 1)}`;
}

function bar(byte: number): HTMLElement {
  const { inks } = palette();
  const shares = [
    { name: "pinned", level: pinnedOf(byte), colour: isPolluted(byte) ? inks.polluted : inks.types[typeOf(byte) === MOVABLE ? 0 : typeOf(byte)] },
    { name: "movable", level: movableOf(byte), colour: inks.types[MOVABLE] },
    { name: "free", level: freeOf(byte), colour: inks.paper },
  ];
  const element = h("div", { class: "bar", "aria-hidden": "true" });
  for (const { level, colour } of shares) {
    if (level === 0) continue;
    const part = h("i");
    part.style.flexGrow = String(level - 0.5);
    part.style.background = css(colour);
    element.append(part);
  }
  return element;
}

/** The block's states from left to right; a press goes there in time. */
function ribbon(context: Context, own: Stay[], duration: number): HTMLElement {
  const { inks } = palette();
  const element = h("div", { class: "ribbon", "aria-hidden": "true" });
  for (const stay of own) {
    const part = h("i");
    part.style.left = `${(stay.from / duration) * 100}%`;
    part.style.width = `${((stay.to - stay.from) / duration) * 100}%`;
    part.style.background = css(colourOf(stay.byte, context.store.state.colouring, inks));
    element.append(part);
  }
  element.addEventListener("click", (event) => {
    const box = element.getBoundingClientRect();
    context.store.set({ time: ((event.clientX - box.left) / box.width) * duration });
  });
  return element;
}

/** States and events of a block in one list, in time. */
async function happenings(machine: Machine, reel: Reel, block: number): Promise<{ time: number; text: string; event: boolean }[]> {
  const states = stays(reel.film, reel.times, block, machine.duration);
  const list = states.map((stay) => ({ time: stay.from, text: describeByte(stay.byte, machine), event: false }));
  const columns = await machine.events();
  const events = columns ? eventsOf(columns, block) : [];
  for (const event of events) list.push({ time: event.time, text: describeEvent(event), event: true });
  return list.sort((a, b) => a.time - b.time);
}

export class Inspector {
  readonly element: HTMLElement;
  private readonly context: Context;
  private readonly reels: Reels;
  private readonly title = h("h3", {}, "Block");
  private readonly where = h("p", { class: "where" });
  private readonly sides = h("div", { class: "sides" });
  private readonly spoken = h("p", { id: "block-spoken", class: "unseen", role: "status" });
  private sideOf: { machine: Machine; reel: Reel; now: HTMLElement; bar: HTMLElement; list: HTMLElement; needle: HTMLElement; sample: number }[] = [];
  private generation = 0;

  constructor(context: Context, reels: Reels) {
    this.context = context;
    this.reels = reels;
    this.element = h("div", { class: "inspector" }, this.title, this.where, this.sides, this.spoken);
    context.store.watch(["block", "a", "b", "colouring"], () => this.build());
    context.store.watch(["time"], () => this.follow(false));
    reels.onProgress(() => this.build());
    onTheme(() => this.build());
  }

  private build(): void {
    const { block } = this.context.store.state;
    const generation = ++this.generation;
    this.sideOf = [];
    if (block === null) {
      this.title.textContent = "A block";
      this.where.textContent = "Press a block on the map, or go there with Tab and the arrow keys, to see what happened to it.";
      this.sides.replaceChildren();
      this.spoken.textContent = "";
      return;
    }
    const runs = chosen(this.context, this.context.store.state).filter(({ machine }) => block < machine.blocks);
    this.title.textContent = `Block ${count(block)}`;
    this.where.textContent = runs.length > 0 ? place(block, runs[0].machine) : "There is no such block.";
    this.sides.replaceChildren(
      ...runs.flatMap(({ letter, machine }) => {
        const reel = this.reels.of(machine);
        return reel ? [this.side(letter, machine, reel, block, generation)] : [];
      }),
    );
    this.follow(true);
  }

  private side(letter: "A" | "B", machine: Machine, reel: Reel, block: number, generation: number): HTMLElement {
    const duration = machine.duration;
    const now = h("p", { class: "state" });
    const holder = h("div");
    const list = h("ol", { class: "happenings", tabindex: 0, "aria-label": `What happened to block ${block} in ${letter}` });
    const needle = h("div", { class: "needle" });
    const history = h("div", { class: "ribbon-holder" }, ribbon(this.context, stays(reel.film, reel.times, block, duration), duration), needle);
    this.sideOf.push({ machine, reel, now, bar: holder, list, needle, sample: -1 });
    void happenings(machine, reel, block).then((all) => {
      if (generation !== this.generation) return;
      const shown = all.slice(0, MOST_EVENTS);
      list.replaceChildren(
        ...shown.map(({ time, text, event }) =>
          h(
            "li",
            { class: event ? "event" : "", "data-time": time },
            h("button", { type: "button", class: "time", onclick: () => this.context.store.set({ time }) }, clock(time)),
            h("span", {}, text),
          ),
        ),
      );
      if (all.length > shown.length) list.append(h("li", {}, `and ${count(all.length - shown.length)} more`));
      this.follow(true);
    });
    return h("div", { class: "side" }, h("p", { class: "side-name" }, badge(letter), machine.name), now, holder, history, list);
  }

  /** What depends on the time cursor. */
  private follow(always: boolean): void {
    const { time, block } = this.context.store.state;
    if (block === null) return;
    const words: string[] = [];
    for (const side of this.sideOf) {
      const sample = shownSample(side.reel, time);
      const share = Math.min(1, time / side.machine.duration);
      side.needle.style.left = `${share * 100}%`;
      for (const item of side.list.children) {
        item.classList.toggle("ahead", Number((item as HTMLElement).dataset.time) > time);
      }
      if (sample === side.sample && !always) continue;
      side.sample = sample;
      const history = side.reel.film.history(block).findLast((change) => change.sample <= sample);
      const byte = history?.byte ?? 0;
      side.now.textContent = describeByte(byte, side.machine);
      side.bar.replaceChildren(bar(byte));
      words.push(`${side.machine.name}: ${describeByte(byte, side.machine)}`);
    }
    if (words.length > 0) this.spoken.textContent = `Block ${block}. ${words.join(". ")}`;
  }
}

/** A short line for the pointer's block. */
export function hoverLine(context: Context, reels: Reels, block: number): string {
  const { time } = context.store.state;
  const parts = chosen(context, context.store.state).flatMap(({ letter, machine }) => {
    const reel = reels.of(machine);
    if (!reel || block >= machine.blocks) return [];
    const sample = shownSample(reel, time);
    const byte = reel.film.history(block).findLast((change) => change.sample <= sample)?.byte ?? 0;
    return [`${letter}: ${describeByte(byte, machine)}`];
  });
  return `Block ${count(block)} — ${parts.join(" · ")}`;
}

