// What differs, and whether it is more than chance: `fraglab compare`, or the bare counters of the two runs.

import { chosen, type Context } from "../core/context";
import { h, numeric } from "../core/dom";
import { change, count, probability } from "../core/format";
import { changed, isNamed, verdict, type Verdict } from "../data/verdict";
import type { Comparison, ComparisonRow, Measured } from "../data/view";
import { badge, section, type Part } from "./picker";

/** Rows that answer "did it help, and what did it cost", shown first if they are there. */
const HEADLINES = ["extfrag_total", "thp_fault_alloc", "thp_fault_fallback", "allocstall", "compact_stall", "pgscan_direct"];

/** Signs as well as colours: neither alone tells everybody. */
const SIGNS: Record<Verdict, string> = { better: "✓ better", worse: "✗ worse", plain: "" };

function changeCell(row: ComparisonRow, variant: Measured): HTMLTableCellElement {
  const kind = verdict(row, variant);
  const interval =
    variant.change_low != null && variant.change_high != null
      ? `95 % interval ${change(variant.change_low)} to ${change(variant.change_high)}`
      : null;
  const text = variant.change == null && variant.mean != null ? "from 0" : change(variant.change);
  const cell = numeric(text, { class: `${kind} ${variant.significant ? "significant" : ""}`, title: interval });
  cell.append(h("span", { class: "sign" }, SIGNS[kind]));
  return cell;
}

function meanCell(variant: Measured): HTMLTableCellElement {
  const cell = numeric(count(variant.mean));
  const runs = variant.values?.length ?? 0;
  if (runs > 1 && variant.stddev) cell.append(h("span", { class: "spread" }, ` ± ${count(variant.stddev)}`));
  return cell;
}

function tableOf(compare: Comparison, caption: string, rows: ComparisonRow[]): { table: HTMLTableElement; lines: { line: HTMLElement; row: ComparisonRow }[] } {
  const several = compare.variants.some((variant) => (variant.runs?.length ?? 0) > 1);
  const heads = compare.variants.flatMap((variant, i) =>
    i === 0
      ? [h("th", { scope: "col" }, variant.name)]
      : [h("th", { scope: "col" }, variant.name), h("th", { scope: "col" }, "Change"), ...(several ? [h("th", { scope: "col", title: "Mann-Whitney" }, "p")] : [])],
  );
  const lines = rows.map((row) => {
    const cells = row.variants.flatMap((variant, i) =>
      i === 0
        ? [meanCell(variant)]
        : [meanCell(variant), changeCell(row, variant), ...(several ? [numeric(probability(variant.p_mann_whitney))] : [])],
    );
    const name = h("th", { scope: "row" }, h("code", {}, row.row));
    if (row.calibrated === false) name.append(h("abbr", { title: "Not calibrated: the model misses the recorded kernel on this row" }, " !"));
    return { row, line: h("tr", {}, name, ...cells) };
  });
  const table = h(
    "table",
    { class: "rows" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Row"), ...heads)),
    h("tbody", {}, ...lines.map(({ line }) => line)),
  );
  return { table, lines };
}

/** A wide table scrolls by itself, and can be scrolled with keys. */
const scrolled = (label: string, table: HTMLElement): HTMLElement =>
  h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": label }, table);

function headlines(compare: Comparison): HTMLElement | null {
  const rows = HEADLINES.map((name) => compare.rows.find((row) => row.row === name)).filter(
    (row): row is ComparisonRow => row !== undefined && row.variants.some((variant) => Boolean(variant.mean)),
  );
  if (rows.length === 0 || compare.variants.length !== 2) return null;
  return h(
    "ul",
    { class: "headlines" },
    ...rows.map((row) => {
      const [base, other] = row.variants;
      const kind = verdict(row, other);
      const said = other.significant === true ? SIGNS[kind] || "differs" : other.significant === false ? "not told apart from chance" : "";
      return h(
        "li",
        { class: kind },
        h("code", {}, row.row),
        h("p", { class: "figure" }, other.change == null ? `${count(base.mean)} → ${count(other.mean)}` : change(other.change)),
        h("p", { class: "detail" }, `${count(base.mean)} → ${count(other.mean)}`),
        h("p", { class: "said" }, said),
      );
    }),
  );
}

function vmstatOf(compare: Comparison): HTMLElement | null {
  if (!compare.vmstat || compare.vmstat.length === 0) return null;
  const value = (one: number | string | null): string => (typeof one === "string" ? one : count(one));
  const table = h(
    "table",
    { class: "rows" },
    h("caption", {}, "Means over the runs, with mmtests' labels and formulas"),
    h("thead", {}, h("tr", {}, h("td"), ...compare.variants.map(({ name }) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...compare.vmstat.map((line) => h("tr", {}, h("th", { scope: "row" }, line.row), ...line.values.map((one) => numeric(value(one)))))),
  );
  return h("details", { class: "group" }, h("summary", {}, "mmtests' vmstat block"), scrolled("mmtests' vmstat block", table));
}

const RULES: Record<string, string> = {
  mmtests: "A difference counts if the means are further apart than 1.96 times both deviations together (mmtests since 2024).",
  "mmtests-2018": "A difference counts at p < 0.10 of a t-test (mmtests from 2018 to 2024).",
  benchstat: "A difference counts at p < 0.05 of a Mann-Whitney test (benchstat).",
};

function measured(compare: Comparison, part: Part): HTMLElement {
  const { table, lines } = tableOf(compare, `Means, with the deviation of single runs. Baseline: ${compare.base ?? compare.variants[0]?.name}`, compare.rows);
  const search = h("input", { type: "search", placeholder: "Find a row", "aria-label": "Find a row" });
  const only = h("input", { type: "checkbox" });
  const shown = h("span", { class: "tally", role: "status" });
  const filter = (): void => {
    let visible = 0;
    for (const { line, row } of lines) {
      const fits = isNamed(row.row, search.value);
      line.hidden = !fits || (only.checked && !row.variants.some((variant) => variant.significant));
      if (!line.hidden) visible++;
    }
    shown.textContent = `${visible} of ${lines.length} rows`;
  };
  search.addEventListener("input", filter);
  only.addEventListener("change", filter);
  filter();
  const caveats = compare.caveats ?? [];
  return section(
    part,
    `${RULES[compare.rule ?? ""] ?? ""} A seed decides what the input leaves open; a difference that counts is larger than that, not proof for another machine.`,
    headlines(compare),
    caveats.length > 0 && h("ul", { class: "caveats" }, ...caveats.map((caveat) => h("li", {}, caveat))),
    h("div", { class: "controls" }, search, h("label", { class: "check" }, only, "Only what counts"), shown),
    scrolled("Comparison of all rows", table),
    vmstatOf(compare),
  );
}

/** Without a comparison, the counters of A and B as they are: single runs, so nothing is said of chance. */
function counters(context: Context, part: Part): HTMLElement | null {
  if (!context.machines.some(({ run }) => Object.keys(run.counters ?? {}).length > 0)) return null;
  const head = h("tr");
  const body = h("tbody");
  context.store.watch(["a", "b"], (state) => {
    const runs = chosen(context, state);
    const names = [...new Set(runs.flatMap(({ machine }) => Object.keys(machine.run.counters ?? {})))];
    head.replaceChildren(
      h("th", { scope: "col" }, "Row"),
      ...runs.map(({ letter, machine }) => h("th", { scope: "col" }, badge(letter), machine.name)),
      ...(runs.length === 2 ? [h("th", { scope: "col" }, "Change")] : []),
    );
    body.replaceChildren(
      ...names.map((name) => {
        const values = runs.map(({ machine }) => machine.run.counters?.[name]);
        const cells = values.map((value) => numeric(count(value)));
        const [a, b] = values;
        if (values.length === 2) cells.push(numeric(a === 0 && b ? "from 0" : change(changed(a, b))));
        return h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)), ...cells);
      }),
    );
  });
  const table = h("table", { class: "rows" }, h("caption", {}, "Counters of the chosen runs"), h("thead", {}, head), body);
  return section(
    part,
    "Counters of the two chosen runs. One run a side says nothing about chance: make several seeds for that.",
    scrolled("Counters of the chosen runs", table),
  );
}

export function compareSection(context: Context, part: Part): HTMLElement | null {
  const { compare } = context.view;
  return compare && compare.rows.length > 0 ? measured(compare, part) : counters(context, part);
}
