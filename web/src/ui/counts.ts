// The map in numbers, at the time cursor: what eyes see in colours, for screen readers and for those who count.

import { chosen, type Context } from "../core/context";
import { h, numeric } from "../core/dom";
import { count } from "../core/format";
import { shownSample, type Reels } from "../core/reels";
import { countsOf, TYPES, type Counts } from "../data/byte";
import { badge } from "./picker";

const NAMES = ["Unmovable blocks", "Movable blocks", "Reclaimable blocks", "Other blocks"];

const ROWS: { label: string; of: (counts: Counts) => number; class?: string }[] = [
  { label: "Blocks with pinned pages", of: (counts) => counts.pinned, class: "strong" },
  { label: "Movable blocks among them", of: (counts) => counts.polluted },
  { label: "Blocks entirely free", of: (counts) => counts.empty },
  ...TYPES.map((_, type) => ({ label: NAMES[type], of: (counts: Counts) => counts.byType[type].blocks })),
];

export function countsTable(context: Context, reels: Reels): HTMLElement {
  const body = h("tbody");
  const head = h("tr");
  const caption = h("caption", {}, "Blocks at the time cursor");
  const fill = (): void => {
    const state = context.store.state;
    const columns = chosen(context, state).flatMap(({ letter, machine }) => {
      const reel = reels.of(machine);
      return reel ? [{ letter, counts: countsOf(reel.film.histogram(shownSample(reel, state.time))) }] : [];
    });
    head.replaceChildren(
      h("td"),
      ...columns.map(({ letter }) => h("th", { scope: "col" }, badge(letter), h("span", { class: "unseen" }, `Run ${letter}`))),
      ...(columns.length === 2 ? [h("th", { scope: "col" }, "B − A")] : []),
    );
    body.replaceChildren(
      ...ROWS.map((row) => {
        const values = columns.map(({ counts }) => row.of(counts));
        const cells = values.map((value) => numeric(count(value)));
        if (values.length === 2) {
          const more = values[1] - values[0];
          cells.push(numeric(more > 0 ? `+${count(more)}` : count(more)));
        }
        return h("tr", { class: row.class }, h("th", { scope: "row" }, row.label), ...cells);
      }),
    );
  };
  context.store.watch(["a", "b", "time"], fill);
  reels.onProgress(fill);
  return h("table", { class: "counts" }, caption, h("thead", {}, head), body);
}
