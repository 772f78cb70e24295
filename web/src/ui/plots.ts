// All series of the runs, in groups that open when somebody wants them.

import type { Context } from "../core/context";
import { h, whenSeen } from "../core/dom";
import { onTheme } from "../core/theme";
import { groupTitle, matches, plotsOf, type Plot } from "../data/plots";
import { Chart } from "./chart";
import { section, type Part } from "./picker";

/** Groups with more plots than this start closed. */
const MANY = 12;

export function plotsSection(context: Context, part: Part): HTMLElement | null {
  const groups = plotsOf(context.machines);
  if (groups.size === 0) return null;
  const charts: Chart[] = [];
  const boxes: { details: HTMLDetailsElement; own: Chart[]; open: boolean; tally: HTMLElement }[] = [];
  for (const [group, plots] of groups) {
    const own = plots.map((plot: Plot) => new Chart(context, plot));
    charts.push(...own);
    const tally = h("span", { class: "tally" }, String(plots.length));
    const details = h(
      "details",
      { class: "group" },
      h("summary", {}, h("span", {}, groupTitle(group)), tally),
      h("div", { class: "plots" }, ...own.map((chart) => chart.element)),
    );
    details.open = plots.length <= MANY;
    for (const chart of own) whenSeen(chart.element, () => chart.start());
    boxes.push({ details, own, open: details.open, tally });
  }
  const started = (act: (chart: Chart) => void): void => {
    for (const chart of charts) if (chart.started) act(chart);
  };
  context.store.watch(["a", "b"], () => started((chart) => void chart.draw()));
  context.store.watch(["time"], () => started((chart) => chart.follow()));
  context.store.watch(["range"], () => started((chart) => chart.zoom()));
  onTheme(() => started((chart) => void chart.draw()));
  return section(
    part,
    "Curves of both runs; the band behind a curve is its least and greatest value where a point stands for several " +
      "samples. Drag to zoom all plots, press to move the time cursor, press twice to see all again.",
    tools(context, charts, boxes),
    ...boxes.map(({ details }) => details),
  );
}

function tools(
  context: Context,
  charts: Chart[],
  boxes: { details: HTMLDetailsElement; own: Chart[]; open: boolean; tally: HTMLElement }[],
): HTMLElement {
  const search = h("input", { type: "search", placeholder: "Find a series", "aria-label": "Find a series" });
  search.addEventListener("input", () => {
    const wanted = search.value.trim();
    for (const { details, own, open, tally } of boxes) {
      const found = own.filter((chart) => {
        chart.element.hidden = !matches(chart.plot, wanted);
        return !chart.element.hidden;
      });
      details.hidden = found.length === 0;
      details.open = wanted === "" ? open : found.length > 0;
      tally.textContent = String(found.length);
    }
  });
  const whole = h("button", { type: "button", onclick: () => context.store.set({ range: null }) }, "Whole time");
  context.store.watch(["range"], (state) => (whole.disabled = state.range === null));
  const many = context.machines.length > 2;
  const all = h("input", { type: "checkbox" });
  all.addEventListener("change", () => {
    for (const chart of charts) chart.setAll(all.checked);
  });
  return h(
    "div",
    { class: "controls" },
    search,
    h("div", { class: "choice" }, whole),
    many && h("label", { class: "check" }, all, "Other runs of the same policies"),
  );
}
