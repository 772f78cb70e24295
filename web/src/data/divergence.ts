// Where two runs part ways, by the one count that the block map exists to show: blocks with pinned pages, in which no
// huge page can be made. Of any type: a kernel that turns a block over to the type that pollutes it has none the less.

import { countsOf } from "./byte";
import type { Film } from "./film";
import { mergeTimes, sampleAt } from "./times";

/** Blocks with pinned pages, in every sample that has arrived. */
export function pinnedBlocks(film: Film): Uint32Array {
  const counts = new Uint32Array(film.ready);
  for (let sample = 0; sample < film.ready; sample++) counts[sample] = countsOf(film.histogram(sample)).pinned;
  return counts;
}

export interface Counted {
  times: ArrayLike<number>;
  counts: ArrayLike<number>;
}

export interface Parting {
  /** Seconds: from here to the end, the same run has more at every sample. */
  time: number;
  more: "A" | "B";
  a: number;
  b: number;
}

/**
 * The moment after which one run has more, without exception, to the end of the shorter one; null if they end equal.
 * No threshold to choose: it is the last time that the two curves met.
 */
export function parting(a: Counted, b: Counted): Parting | null {
  if (a.counts.length === 0 || b.counts.length === 0) return null;
  const lastOf = ({ times, counts }: Counted): number => times[counts.length - 1];
  const end = Math.min(lastOf(a), lastOf(b));
  const times = mergeTimes(a.times, b.times).filter((time) => time <= end);
  const at = ({ times: own, counts }: Counted, time: number): number =>
    counts[Math.min(sampleAt(own, time), counts.length - 1)];
  const sign = (time: number): number => Math.sign(at(a, time) - at(b, time));
  const final = times.length === 0 ? 0 : sign(times[times.length - 1]);
  if (final === 0) return null;
  let first = times.length - 1;
  while (first > 0 && sign(times[first - 1]) === final) first--;
  return { time: times[first], more: final > 0 ? "A" : "B", a: at(a, end), b: at(b, end) };
}
