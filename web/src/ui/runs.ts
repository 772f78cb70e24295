// Where every run comes from, and how to make it again.

import type { Context } from "../core/context";
import { h } from "../core/dom";
import { clock, count } from "../core/format";
import type { Machine } from "../data/machine";
import { copyable } from "./copy";
import { section, type Part } from "./picker";

const KINDS: Record<string, string> = {
  simulated: "simulated machine",
  replay: "replay of a recording",
  kernel: "real kernel",
};

function card({ run, group }: Machine, open: boolean): HTMLElement {
  const facts: [string, string | null | undefined][] = [
    ["Kind", run.kind && (KINDS[run.kind] ?? run.kind)],
    ["Scenario", run.scenario],
    ["Recording", run.recording],
    ["Policy", run.policy ?? group],
    ["Preset", run.preset],
    ["Seed", run.seed === null || run.seed === undefined ? null : String(run.seed)],
    ["Event digest", run.digest],
    ["Length", run.duration_s === undefined ? null : clock(run.duration_s)],
    ["Fragmentation events", run.events_total === undefined ? null : count(run.events_total)],
  ];
  const list = h("dl", { class: "facts" });
  for (const [name, value] of facts) if (value) list.append(h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const sysctls = Object.entries(run.sysctls ?? {});
  const settings = h("table", { class: "rows narrow" }, h("caption", {}, "Settings"));
  for (const [name, value] of sysctls) {
    settings.append(h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)), h("td", { class: "number" }, value === null ? "computed" : String(value))));
  }
  const notes = run.notes ?? [];
  const element = h(
    "details",
    { class: "group run" },
    h("summary", {}, h("span", {}, run.name), h("span", { class: "tally" }, run.digest ?? "")),
    list,
    run.command && copyable(run.command, `Command that repeats ${run.name}`),
    notes.length > 0 && h("ul", { class: "caveats" }, ...notes.map((note) => h("li", {}, note))),
    sysctls.length > 0 && settings,
  );
  element.open = open;
  return element;
}

export function runsSection({ machines }: Context, part: Part): HTMLElement {
  return section(
    part,
    "A run is a function of its input, policy and seed: the same three give the same digest on every machine.",
    ...machines.map((machine) => card(machine, machines.length <= 2)),
  );
}
