// What took time: who was at it when, and the longest of all.

import { chosen, type Context } from "../core/context";
import { css } from "../core/colour";
import { h, numeric } from "../core/dom";
import { clock, count } from "../core/format";
import { onTheme, palette } from "../core/theme";
import type { Machine } from "../data/machine";
import { length, tracksOf, type Track } from "../data/slices";
import { badge, section, type Part } from "./picker";

/** Moments that a strip tells apart. */
const BINS = 480;
/** Slices that are listed one by one. */
const LONGEST = 8;

type Letter = "A" | "B";

/** A line of the run from left to right: the darker, the longer somebody was at it. */
function strip(letter: Letter, track: Track): HTMLCanvasElement {
  const canvas = h("canvas", { class: "busy", width: BINS, height: 1, role: "img", "aria-label": `When: ${track.name}` });
  const paint = canvas.getContext("2d");
  const { inks } = palette();
  if (!paint) return canvas;
  paint.fillStyle = css(letter === "A" ? inks.a : inks.b);
  for (const [bin, busy] of track.busy.entries()) {
    if (busy === 0) continue;
    // What was short must still be seen.
    paint.globalAlpha = 0.25 + 0.75 * busy;
    paint.fillRect(bin, 0, 1, 1);
  }
  return canvas;
}

function tracksTable(context: Context, letter: Letter, machine: Machine): HTMLElement {
  const slices = machine.run.slices ?? [];
  const all = machine.run.slices_total ?? slices.length;
  const left = all > slices.length ? `: the ${count(slices.length)} longest of ${count(all)}` : "";
  const go = (event: MouseEvent): void => {
    const { left: from, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    context.store.set({ time: Math.max(0, Math.min(1, (event.clientX - from) / width)) * machine.duration });
  };
  const row = (track: Track): HTMLElement => {
    const line = strip(letter, track);
    line.addEventListener("click", go);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, track.name),
      numeric(count(track.count)),
      numeric(clock(track.total)),
      numeric(clock(length(track.longest))),
      h("td", { class: "when" }, line),
    );
  };
  const names = ["track", "number", "together", "longest", `0 to ${clock(machine.duration)}`];
  const table = h(
    "table",
    { class: "rows tracks" },
    h("caption", {}, badge(letter), `${machine.name}${left}`),
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...tracksOf(slices, machine.duration, BINS).map(row)),
  );
  return h("div", { class: "scrolled", tabindex: 0, role: "group", "aria-label": `What took time in ${machine.name}` }, table);
}

/** The longest slices, each a press away from its moment. */
function longest(context: Context, machine: Machine): HTMLElement {
  const slices = [...(machine.run.slices ?? [])].sort((a, b) => length(b) - length(a)).slice(0, LONGEST);
  const items = slices.map((slice) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => context.store.set({ time: Math.min(slice.start_s, machine.duration) }) },
        `${clock(slice.start_s)}: ${slice.track}, ${slice.name}, ${clock(length(slice))}`,
      ),
    ),
  );
  return h("details", { class: "group" }, h("summary", {}, `The longest of ${machine.name}`), h("ol", { class: "longest" }, ...items));
}

export function slicesSection(context: Context, part: Part): HTMLElement | null {
  if (!context.machines.some(({ run }) => (run.slices ?? []).length > 0)) return null;
  const holder = h("div", {});
  const fill = (): void => {
    const runs = chosen(context, context.store.state).filter(({ machine }) => (machine.run.slices ?? []).length > 0);
    const parts = runs.flatMap(({ letter, machine }) => [tracksTable(context, letter, machine), longest(context, machine)]);
    holder.replaceChildren(...(parts.length > 0 ? parts : [h("p", {}, "Nothing of these runs took time.")]));
  };
  context.store.watch(["a", "b"], fill);
  onTheme(fill);
  return section(
    part,
    "Runs of kswapd and kcompactd, compaction, direct reclaim, and requests that waited, by who was at it. A press on a line goes to its moment.",
    holder,
  );
}
