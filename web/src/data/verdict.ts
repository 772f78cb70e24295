// What a comparison says of a difference: whether it counts, and whether it is for the better.

import type { ComparisonRow, Measured } from "./view";

export type Verdict = "better" | "worse" | "plain";

/** By the means and not by the change, which a baseline of 0 does not have. */
export function verdict(row: ComparisonRow, variant: Measured): Verdict {
  const base = row.variants[0]?.mean;
  if (!variant.significant || !row.better || base == null || variant.mean == null || variant.mean === base) return "plain";
  return variant.mean < base === (row.better === "lower") ? "better" : "worse";
}

/** The change from A to B of a counter; null where there is no ratio. */
export function changed(a: number | undefined, b: number | undefined): number | null {
  if (a === undefined || b === undefined) return null;
  if (a === b) return 0;
  return a === 0 ? null : b / a - 1;
}

/** Whether a row's name has the text in it, in whatever case: rows of experiments are called `measure.swapin-791M`. */
export const isNamed = (row: string, wanted: string): boolean => row.toLowerCase().includes(wanted.trim().toLowerCase());
