// Which curves belong into one plot.

import type { Machine } from "./machine";
import type { Series } from "./view";

/** One plot: a series of one zone, in every run that has it. */
export interface Plot {
  key: string;
  group: string;
  label: string;
  zone: string | null;
  unit: string;
  curves: { machine: Machine; series: Series }[];
}

/** Groups in the order of docs/view-format.md; others follow as they come. */
const GROUPS = ["fragmentation", "events", "pageblocks", "free", "thp", "stalls", "compaction", "reclaim", "watermarks", "io", "free_blocks"];

const GROUP_TITLES: Record<string, string> = {
  fragmentation: "Fragmentation",
  events: "Fragmentation events",
  pageblocks: "Pageblocks by type",
  free: "Free memory",
  free_blocks: "Free blocks by order and type",
  thp: "Huge pages",
  stalls: "Stalls",
  compaction: "Compaction",
  reclaim: "Reclaim",
  watermarks: "Watermarks",
  io: "Input and output",
};

export const groupTitle = (group: string): string => GROUP_TITLES[group] ?? group;

/** All plots of the runs, in groups. */
export function plotsOf(machines: Machine[]): Map<string, Plot[]> {
  const plots = new Map<string, Plot>();
  for (const machine of machines) {
    for (const series of machine.run.series ?? []) {
      const zone = series.zone === null || series.zone === undefined ? null : String(series.zone);
      const key = `${series.name}@${zone ?? ""}`;
      let plot = plots.get(key);
      if (!plot) {
        plot = {
          key,
          group: series.group ?? "other",
          label: series.label ?? series.name,
          zone,
          unit: series.unit ?? "",
          curves: [],
        };
        plots.set(key, plot);
      }
      plot.curves.push({ machine, series });
    }
  }
  const rank = (group: string): number => {
    const at = GROUPS.indexOf(group);
    return at < 0 ? GROUPS.length : at;
  };
  const groups = new Map<string, Plot[]>();
  for (const plot of [...plots.values()].sort((a, b) => rank(a.group) - rank(b.group))) {
    groups.set(plot.group, [...(groups.get(plot.group) ?? []), plot]);
  }
  return groups;
}

export const matches = (plot: Plot, wanted: string): boolean =>
  `${plot.label} ${plot.zone ?? ""} ${plot.key} ${groupTitle(plot.group)}`.toLowerCase().includes(wanted.toLowerCase());

/** A column of a curve at other moments: the last value at or before each; null before the first and after the end. */
export function resample(times: ArrayLike<number>, values: ArrayLike<number>, at: ArrayLike<number>): (number | null)[] {
  const out: (number | null)[] = [];
  let i = -1;
  const last = times.length > 0 ? times[times.length - 1] : Number.NEGATIVE_INFINITY;
  for (let k = 0; k < at.length; k++) {
    while (i + 1 < times.length && times[i + 1] <= at[k]) i++;
    const value = i < 0 || at[k] > last ? Number.NaN : values[i];
    out.push(Number.isNaN(value) ? null : value);
  }
  return out;
}
