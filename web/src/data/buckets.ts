// Latency histograms on one axis: powers of two of nanoseconds.

import type { Latency } from "./view";

export interface Bar {
  upto: number;
  count: number;
}

/** Buckets but those of requests served at once, with the empty ones in between, from `low` to `high`. */
export function bars(latency: Latency, low: number, high: number): Bar[] {
  const counts = new Map((latency.buckets ?? []).map((bucket) => [bucket.upto_ns, bucket.count]));
  const found: Bar[] = [];
  for (let upto = low; upto <= high; upto *= 2) found.push({ upto, count: counts.get(upto) ?? 0 });
  return found;
}

/** Requests that did not wait at all. */
export const atOnce = (latency: Latency): number =>
  (latency.buckets ?? []).filter((bucket) => bucket.upto_ns === 0).reduce((sum, bucket) => sum + bucket.count, 0);

/** Ends of the axis that holds all of these, as powers of two; null if nothing ever waited. */
export function extent(latencies: Latency[]): { low: number; high: number } | null {
  const bounds = latencies.flatMap((latency) =>
    (latency.buckets ?? []).filter((bucket) => bucket.upto_ns > 0 && bucket.count > 0).map((bucket) => bucket.upto_ns),
  );
  if (bounds.length === 0) return null;
  const power = (bound: number): number => 2 ** Math.ceil(Math.log2(bound));
  return { low: power(Math.min(...bounds)), high: power(Math.max(...bounds)) };
}
