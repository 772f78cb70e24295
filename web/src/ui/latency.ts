// How long requests waited: a histogram an order and class, A upwards and B downwards on one axis.

import { chosen, type Context } from "../core/context";
import { h, numeric } from "../core/dom";
import { count, nanoseconds } from "../core/format";
import { atOnce, bars, extent } from "../data/buckets";
import type { Latency } from "../data/view";
import { badge, section, type Part } from "./picker";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 360;
const HALF = 52;
const LABELS = 16;
/** Figures that are shown at once; the others stand in the table. */
const FIGURES = 6;

interface Side {
  letter: "A" | "B";
  latency: Latency;
}

interface Group {
  order: number;
  class: string;
  sides: Side[];
}

const waits = (latency: Latency): number => latency.count - atOnce(latency);

function groupsOf(context: Context): Group[] {
  const groups = new Map<string, Group>();
  for (const { letter, machine } of chosen(context, context.store.state)) {
    for (const latency of machine.run.latency ?? []) {
      const key = `${latency.class}/${latency.order}`;
      const group = groups.get(key) ?? { order: latency.order, class: latency.class, sides: [] };
      group.sides.push({ letter, latency });
      groups.set(key, group);
    }
  }
  const most = (group: Group): number => Math.max(...group.sides.map(({ latency }) => waits(latency)));
  return [...groups.values()].sort((a, b) => most(b) - most(a));
}

const titleOf = (group: Group): string => `order ${group.order}, ${group.class === "all" ? "all requests" : group.class}`;

/** Height of a bar by the logarithm: of ten thousand requests the one that took a second must still be seen. */
const height = (value: number, most: number): number => (value === 0 ? 0 : 2 + (HALF - 4) * (Math.log1p(value) / Math.log1p(most)));

function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function histogram(group: Group, range: { low: number; high: number }): HTMLElement {
  const columns = Math.round(Math.log2(range.high / range.low)) + 1;
  const step = WIDTH / columns;
  const all = group.sides.map(({ letter, latency }) => ({ letter, bars: bars(latency, range.low, range.high) }));
  const most = Math.max(1, ...all.flatMap((side) => side.bars.map((bar) => bar.count)));
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${2 * HALF + LABELS}`, role: "img", "aria-label": spoken(group) });
  for (const { letter, bars: own } of all) {
    for (const [i, bar] of own.entries()) {
      const size = height(bar.count, most);
      const rect = svg("rect", {
        class: letter.toLowerCase(),
        x: (i * step + step * 0.08).toFixed(2),
        y: letter === "A" ? HALF - size : HALF,
        width: (step * 0.84).toFixed(2),
        height: size,
      });
      const title = svg("title", {});
      title.textContent = `${letter}: ${count(bar.count)} up to ${nanoseconds(bar.upto)}`;
      rect.append(title);
      drawing.append(rect);
    }
  }
  drawing.append(svg("line", { class: "zero", x1: 0, x2: WIDTH, y1: HALF, y2: HALF }));
  const every = Math.ceil(columns / 6);
  for (let i = 0; i < columns; i += every) {
    const first = i === 0;
    const label = svg("text", { x: first ? 0 : (i + 0.5) * step, y: 2 * HALF + LABELS - 3, "text-anchor": first ? "start" : "middle" });
    label.textContent = nanoseconds(range.low * 2 ** i);
    drawing.append(label);
  }
  const words = group.sides.map(({ letter, latency }) =>
    h("span", {}, badge(letter), `p50 ${nanoseconds(latency.p50_ns)}, p99 ${nanoseconds(latency.p99_ns)}, max ${nanoseconds(latency.max_ns)}`),
  );
  return h("figure", { class: "histogram" }, h("figcaption", {}, h("strong", {}, titleOf(group))), drawing, h("p", { class: "values" }, ...words));
}

function spoken(group: Group): string {
  const words = group.sides.map(
    ({ letter, latency }) => `${letter}: ${latency.count} requests, half within ${nanoseconds(latency.p50_ns)}, longest ${nanoseconds(latency.max_ns)}`,
  );
  return `Latency of ${titleOf(group)}. ${words.join(". ")}`;
}

function figures(groups: Group[]): HTMLElement {
  const heads = ["Requests", "Run", "Count", "Failed", "At once", "p50", "p99", "Longest"];
  const lines = groups.flatMap((group) =>
    group.sides.map(({ letter, latency }, i) =>
      h(
        "tr",
        { class: i === 0 ? "first" : "" },
        h("th", { scope: "row" }, titleOf(group)),
        h("td", {}, badge(letter), h("span", { class: "unseen" }, letter)),
        numeric(count(latency.count)),
        numeric(count(latency.failed)),
        numeric(latency.class === "all" ? count(atOnce(latency)) : "–"),
        numeric(nanoseconds(latency.p50_ns)),
        numeric(nanoseconds(latency.p99_ns)),
        numeric(nanoseconds(latency.max_ns)),
      ),
    ),
  );
  const table = h(
    "table",
    { class: "rows" },
    h("caption", {}, "Latency by order and class"),
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...lines),
  );
  const scrolled = h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Latency by order and class" }, table);
  return h("details", { class: "group" }, h("summary", {}, h("span", {}, "All orders and classes"), h("span", { class: "tally" }, String(groups.length))), scrolled);
}

export function latencySection(context: Context, part: Part): HTMLElement | null {
  if (!context.machines.some(({ run }) => (run.latency ?? []).length > 0)) return null;
  const holder = h("div");
  context.store.watch(["a", "b"], () => {
    const groups = groupsOf(context);
    // One axis for all, so that figures can be laid side by side too.
    const range = extent(groups.flatMap(({ sides }) => sides.map(({ latency }) => latency)));
    const slow = groups.filter(({ sides }) => sides.some(({ latency }) => waits(latency) > 0)).slice(0, FIGURES);
    const drawn = range ? slow.map((group) => histogram(group, range)) : [];
    holder.replaceChildren(h("div", { class: "histograms" }, ...drawn), figures(groups));
  });
  return section(
    part,
    "How long requests waited for memory, in virtual time; those served at once are not drawn. Both axes are logarithmic, " +
      "so that the one request that waited for a second is still seen.",
    holder,
  );
}
