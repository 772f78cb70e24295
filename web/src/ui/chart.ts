// One plot: uPlot, and what it lacks for this page (the time cursor, the band of least and greatest, a legend in text).

import uPlot from "uplot";
import { chosen, durationOf, type Context } from "../core/context";
import { css, type Rgb } from "../core/colour";
import { h, whenResized } from "../core/dom";
import { clock, count } from "../core/format";
import { palette } from "../core/theme";
import type { Curve } from "../data/machine";
import { resample, type Plot } from "../data/plots";
import { mergeTimes, sampleAt } from "../data/times";
import { STEPS, tickLabel } from "./axis";
import { badge } from "./picker";

const HEIGHT = 168;
const SYNC = "fraglab";

interface Line {
  letter: "A" | "B" | null;
  name: string;
  ink: Rgb;
  curve: Curve;
}

const faded = ([r, g, b]: Rgb, alpha: number): string => `rgba(${r}, ${g}, ${b}, ${alpha})`;

/** The curves of a plot: A and B, and with `all` the other runs of their groups, thin. */
async function linesOf(context: Context, plot: Plot, all: boolean): Promise<Line[]> {
  const { inks } = palette();
  const runs = chosen(context, context.store.state);
  const inkOf = (letter: "A" | "B"): Rgb => (letter === "A" ? inks.a : inks.b);
  const lines: Promise<Line>[] = [];
  for (const { machine, series } of plot.curves) {
    const run = runs.find((one) => one.machine === machine);
    const kin = run ?? (all ? runs.find((one) => one.machine.group === machine.group) : undefined);
    if (!kin) continue;
    lines.push(
      machine.curve(series).then((curve) => ({
        letter: run ? run.letter : null,
        name: machine.name,
        ink: inkOf(kin.letter),
        curve,
      })),
    );
  }
  // A and B last, over the others.
  return (await Promise.all(lines)).sort((a, b) => (b.letter ?? "z").localeCompare(a.letter ?? "z"));
}

/** uPlot's columns, with the bands between them. */
function assemble(lines: Line[]): { data: uPlot.AlignedData; series: uPlot.Series[]; bands: uPlot.Band[] } {
  const times = mergeTimes(...lines.map(({ curve }) => curve.times));
  const data: (Float64Array | (number | null)[])[] = [times];
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { letter, name, ink, curve } of lines) {
    if (letter && curve.low && curve.high) {
      const edge = { stroke: "transparent", width: 0, points: { show: false } };
      data.push(resample(curve.times, curve.high, times), resample(curve.times, curve.low, times));
      series.push({ ...edge, label: `${name}, greatest` }, { ...edge, label: `${name}, least` });
      bands.push({ series: [series.length - 2, series.length - 1], fill: faded(ink, 0.16) });
    }
    data.push(resample(curve.times, curve.value, times));
    series.push({
      label: name,
      stroke: letter ? css(ink) : faded(ink, 0.35),
      width: letter ? 1.5 : 1,
      points: { show: false },
      spanGaps: false,
    });
  }
  return { data: data as uPlot.AlignedData, series, bands };
}

/** What a plot says, for those who do not see it. */
function spoken(plot: Plot, lines: Line[]): string {
  const parts = lines
    .filter(({ letter }) => letter)
    .map(({ letter, curve }) => {
      const known = curve.value.filter((value) => !Number.isNaN(value));
      if (known.length === 0) return `${letter}: no values`;
      const [low, high] = known.reduce(([l, u], value) => [Math.min(l, value), Math.max(u, value)], [known[0], known[0]]);
      return `${letter}: from ${count(low)} to ${count(high)}, ${count(known[known.length - 1])} at the end`;
    });
  return `${plot.label}${plot.zone ? `, zone ${plot.zone}` : ""}. ${parts.join(". ")}`;
}

export class Chart {
  readonly element: HTMLElement;
  readonly plot: Plot;
  private readonly context: Context;
  private readonly holder = h("div", { class: "chart" });
  private readonly legend = h("p", { class: "values" });
  private lines: Line[] = [];
  private uplot: uPlot | null = null;
  private all = false;
  private width = 0;
  private generation = 0;

  constructor(context: Context, plot: Plot) {
    this.context = context;
    this.plot = plot;
    this.element = h(
      "figure",
      { class: "plot" },
      h("figcaption", {}, h("strong", {}, plot.label), plot.zone && h("span", {}, plot.zone), h("span", { class: "unit" }, plot.unit)),
      this.holder,
      this.legend,
    );
  }

  /** Draws; from here on the plot follows its width. */
  start(): void {
    whenResized(this.holder, (width) => {
      if (Math.round(width) === this.width) return;
      this.width = Math.round(width);
      if (this.uplot) this.uplot.setSize({ width: this.width, height: HEIGHT });
      else void this.draw();
    });
  }

  get started(): boolean {
    return this.width > 0;
  }

  setAll(all: boolean): void {
    this.all = all;
    void this.draw();
  }

  /** Draws anew: other runs, another theme. */
  async draw(): Promise<void> {
    if (!this.started) return;
    const generation = ++this.generation;
    try {
      const lines = await linesOf(this.context, this.plot, this.all);
      if (generation !== this.generation) return;
      this.lines = lines;
    } catch (error) {
      this.holder.replaceChildren(h("p", { class: "problem" }, (error as Error).message));
      return;
    }
    this.uplot?.destroy();
    this.uplot = null;
    this.holder.replaceChildren();
    if (this.lines.length === 0) {
      this.holder.append(h("p", { class: "about" }, "Neither of the chosen runs has this series."));
      this.legend.replaceChildren();
      return;
    }
    this.holder.setAttribute("role", "img");
    this.holder.setAttribute("aria-label", spoken(this.plot, this.lines));
    const { data, series, bands } = assemble(this.lines);
    this.uplot = new uPlot({ ...this.options(), series, bands }, data, this.holder);
    this.follow();
  }

  private options(): Omit<uPlot.Options, "series"> {
    const style = getComputedStyle(this.element);
    const grid = { stroke: style.getPropertyValue("--rule"), width: 1 };
    const font = `11px ${style.fontFamily}`;
    const { store } = this.context;
    const duration = durationOf(this.context, store.state);
    const axis = { stroke: style.getPropertyValue("--soft"), font, grid, ticks: { show: false } };
    const range = store.state.range;
    return {
      width: this.width,
      height: HEIGHT,
      legend: { show: false },
      scales: {
        x: { time: false, min: range ? range[0] : 0, max: range ? range[1] : duration },
        y: { range: (_, min, max) => [Math.min(0, min ?? 0), (max ?? 0) <= 0 ? 1 : max * 1.05] },
      },
      axes: [
        { ...axis, space: 80, size: 24, gap: 4, incrs: STEPS, values: (_, ticks) => ticks.map((tick) => tickLabel(tick, duration)) },
        { ...axis, size: 62, gap: 6, values: (_, ticks) => ticks.map((tick) => count(tick)) },
      ],
      cursor: {
        sync: { key: SYNC, scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        y: false,
      },
      hooks: {
        draw: [(plot) => this.drawTime(plot)],
        setCursor: [(plot) => this.tell(plot.cursor.idx ?? null)],
        setSelect: [(plot) => this.selected(plot)],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  /** A drag zooms every plot; it goes over the store, so that a link keeps it. */
  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    this.context.store.set({ range: [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")] });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** A press sets the time; twice shows all again. */
  private listen(plot: uPlot): void {
    let pressed = 0;
    plot.over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) > 3) return;
      this.context.store.set({ time: Math.max(0, plot.posToVal(event.offsetX, "x")) });
    });
    plot.over.addEventListener("dblclick", () => this.context.store.set({ range: null }));
  }

  private drawTime(plot: uPlot): void {
    const x = plot.valToPos(this.context.store.state.time, "x", true);
    const { left, top, width, height } = plot.bbox;
    if (x < left || x > left + width) return;
    plot.ctx.save();
    plot.ctx.strokeStyle = getComputedStyle(this.element).getPropertyValue("--accent");
    plot.ctx.lineWidth = devicePixelRatio;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
    plot.ctx.restore();
  }

  /** The time cursor has moved. */
  follow(): void {
    this.uplot?.redraw(false, false);
    this.tell(null);
  }

  zoom(): void {
    const { state } = this.context.store;
    const [min, max] = state.range ?? [0, durationOf(this.context, state)];
    this.uplot?.setScale("x", { min, max });
  }

  /** Values under the pointer, or at the time cursor. */
  private tell(index: number | null): void {
    const time = index === null || !this.uplot ? this.context.store.state.time : this.uplot.data[0][index];
    this.legend.replaceChildren(
      h("span", { class: "at" }, clock(time)),
      ...[...this.lines].reverse().flatMap(({ letter, curve }) => {
        if (!letter) return [];
        const at = sampleAt(curve.times, time);
        const known = curve.times.length > 0 && time >= curve.times[0];
        const span = known && curve.low && curve.high && curve.high[at] > curve.low[at];
        const text = count(known ? curve.value[at] : null) + (span ? ` (${count(curve.low?.[at])}–${count(curve.high?.[at])})` : "");
        return [h("span", {}, badge(letter), text)];
      }),
    );
  }
}
