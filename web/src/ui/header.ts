// What was run, in one look, and how to do it again.

import type { Context } from "../core/context";
import { h } from "../core/dom";
import { bytes, clock, count } from "../core/format";
import { copyable } from "./copy";

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

const plural = (n: number, one: string): string => `${count(n)} ${one}${n === 1 ? "" : "s"}`;

/** `1, 2, 5` or, in a row, `1–15`. */
function seeds(values: readonly (number | string)[]): string {
  const known = unique(values.map(String)).sort((a, b) => Number(a) - Number(b));
  const row = known.map(Number).sort((a, b) => a - b);
  const together = row.length > 2 && row.every((seed, i) => Number.isInteger(seed) && seed === row[0] + i);
  return together ? `${row[0]}–${row[row.length - 1]}` : known.join(", ");
}

function facts({ machines }: Context): [string, string][] {
  const runs = machines.map((machine) => machine.run);
  const facts: [string, string][] = [];
  const list = (name: string, values: (string | null | undefined)[]): void => {
    const known = unique(values.filter((value): value is string => Boolean(value)));
    if (known.length > 0) facts.push([name, known.join(", ")]);
  };
  list("Scenario", runs.map((run) => run.scenario));
  list("Recording", runs.map((run) => run.recording));
  list("Policies", machines.map((machine) => machine.group));
  const known = runs.map((run) => run.seed).filter((seed): seed is number | string => seed !== null && seed !== undefined);
  facts.push(["Runs", plural(runs.length, "run") + (known.length > 0 ? `, seeds ${seeds(known)}` : "")]);
  const sizes = unique(
    machines
      .filter((machine) => machine.blocks > 0)
      .map(({ blocks, pageSize, pagesPerBlock }) => {
        const size = pageSize * pagesPerBlock;
        return `${bytes(blocks * size)} in ${plural(blocks, "block")} of ${bytes(size)}`;
      }),
  );
  if (sizes.length > 0) facts.push(["Memory", sizes.join("; ")]);
  const durations = runs.map((run) => run.duration_s ?? 0).filter((seconds) => seconds > 0);
  if (durations.length > 0) {
    const ends = unique([Math.min(...durations), Math.max(...durations)].map(clock));
    facts.push(["Length", ends.join(" to ")]);
  }
  return facts;
}

export function header(context: Context): HTMLElement {
  const { view } = context;
  const list = h("dl", { class: "facts" });
  for (const [name, value] of facts(context)) list.append(h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  return h(
    "header",
    { class: "top" },
    h("p", { class: "eyebrow" }, view.generated_by ?? "fraglab"),
    h("h1", {}, view.title ?? "fraglab report"),
    list,
    view.command && copyable(view.command, "Command that made this page"),
  );
}
