// Fragmentation events: who asked, and from whose blocks it was served.

import { chosen, type Context } from "../core/context";
import { contrast, css, tint, type Rgb } from "../core/colour";
import { h } from "../core/dom";
import { count } from "../core/format";
import { onTheme, palette } from "../core/theme";
import type { Machine } from "../data/machine";
import { table, type Cell } from "../data/matrix";
import { badge, section, type Part } from "./picker";

const ORDER = ["unmovable", "movable", "reclaimable", "highatomic", "cma", "isolate"];

const total = ({ claim, steal, pollute }: Cell): number => claim + steal + pollute;

function typesIn(machines: Machine[]): string[] {
  const found = new Set(machines.flatMap(({ run }) => (run.matrix ?? []).flatMap((cell) => [cell.alloc, cell.fallback])));
  return [...new Set([...ORDER.slice(0, 3), ...ORDER.filter((type) => found.has(type)), ...found])];
}

/** Heat by the logarithm: events of different pairs differ by powers of ten. */
function heat(value: number, most: number): { background: Rgb; text: Rgb } {
  const { inks } = palette();
  const share = value === 0 ? 0 : 0.08 + 0.72 * (Math.log1p(value) / Math.log1p(most));
  const background = tint(inks.paper, inks.polluted, share);
  const [dark, light]: [Rgb, Rgb] = [[20, 22, 26], [250, 250, 248]];
  return { background, text: contrast(background, dark) >= contrast(background, light) ? dark : light };
}

function heatTable(letter: "A" | "B", machine: Machine, types: string[], most: number): HTMLElement {
  const counts = table(machine.run.matrix ?? []);
  const body = types.map((alloc) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, alloc),
      ...types.map((fallback) => {
        const cell = counts.get(alloc)?.get(fallback) ?? { claim: 0, steal: 0, pollute: 0 };
        const colours = heat(cell.pollute + cell.steal, most);
        if (alloc === fallback && total(cell) === 0) return h("td", { class: "same" }, h("span", { class: "unseen" }, "none"));
        const kinds = (["pollute", "steal", "claim"] as const)
          .filter((kind) => cell[kind] > 0)
          .map((kind) => `${kind} ${count(cell[kind])}`);
        const element = h("td", {}, h("b", {}, count(total(cell))), h("small", {}, kinds.join(", ")));
        element.style.background = css(colours.background);
        element.style.color = css(colours.text);
        return element;
      }),
    ),
  );
  return h(
    "table",
    { class: "heat" },
    h("caption", {}, badge(letter), machine.name),
    h("thead", {}, h("tr", {}, h("td", {}, "asked for ↓ served from →"), ...types.map((type) => h("th", { scope: "col" }, type)))),
    h("tbody", {}, ...body),
  );
}

export function matrixSection(context: Context, part: Part): HTMLElement | null {
  if (!context.machines.some(({ run }) => (run.matrix ?? []).length > 0)) return null;
  const holder = h("div", { class: "pairwise" });
  const fill = (): void => {
    const runs = chosen(context, context.store.state);
    const machines = runs.map(({ machine }) => machine);
    const types = typesIn(machines);
    const fragmenting = machines.flatMap(({ run }) =>
      [...table(run.matrix ?? []).values()].flatMap((row) => [...row.values()].map((cell) => cell.pollute + cell.steal)),
    );
    const most = Math.max(1, ...fragmenting);
    holder.replaceChildren(...runs.map(({ letter, machine }) => heatTable(letter, machine, types, most)));
  };
  context.store.watch(["a", "b"], fill);
  onTheme(fill);
  return section(
    part,
    "Requests that were served from another type's blocks. Claim: a whole block or more was taken. Steal: less, and the block " +
      "changed its type. Pollute: less, and it stayed as it was. The shade is of steal and pollute, by the logarithm.",
    holder,
  );
}
