// Fragmentation events by type asked for and type served from.

import type { MatrixCell } from "./view";

export interface Cell {
  claim: number;
  steal: number;
  pollute: number;
}

/** Weiner's three kinds: a whole block taken, less and the block changes its type, less and it stays as it was. */
export function kindOf(cell: MatrixCell): keyof Cell {
  if (cell.severity === "whole") return "claim";
  return cell.ownership === "changed" ? "steal" : "pollute";
}

/** Counts by type asked for, then by type served from. */
export function table(cells: MatrixCell[]): Map<string, Map<string, Cell>> {
  const rows = new Map<string, Map<string, Cell>>();
  for (const cell of cells) {
    const row = rows.get(cell.alloc) ?? new Map<string, Cell>();
    const counts = row.get(cell.fallback) ?? { claim: 0, steal: 0, pollute: 0 };
    counts[kindOf(cell)] += cell.count;
    row.set(cell.fallback, counts);
    rows.set(cell.alloc, row);
  }
  return rows;
}
