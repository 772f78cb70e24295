// From a moment to the sample that shows it.

/** The last sample at or before a time; the first one for times before it. `times` rises. */
export function sampleAt(times: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** All moments at which one of the runs has a sample, in order, each once. */
export function mergeTimes(...runs: ArrayLike<number>[]): Float64Array {
  const all = new Set<number>();
  for (const times of runs) for (let i = 0; i < times.length; i++) all.add(times[i]);
  return Float64Array.from(all).sort();
}
