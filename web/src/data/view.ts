// What `fraglab report` puts into the page (docs/view-format.md). Keys that are not named here are ignored.

import type { Chunk } from "./chunk";
import type { Slice } from "./slices";

export const SCHEMA = "fraglab.view";
export const VERSION = 1;

export interface View {
  schema: string;
  version: number;
  title?: string;
  command?: string;
  generated_by?: string;
  compare?: Comparison | null;
  runs: Run[];
}

export type RunKind = "simulated" | "replay" | "kernel";

export interface Run {
  name: string;
  group?: string;
  kind?: RunKind;
  scenario?: string | null;
  recording?: string | null;
  policy?: string;
  preset?: string;
  sysctls?: Record<string, number | string | boolean | null>;
  seed?: number | string | null;
  digest?: string | null;
  command?: string;
  notes?: string[];
  duration_s?: number;
  page_size?: number;
  pageblock_order?: number;
  zones?: Zone[];
  clocks?: Chunk[];
  series?: Series[];
  map?: BlockMap | null;
  events?: Events | null;
  events_total?: number;
  slices?: Slice[];
  slices_total?: number;
  matrix?: MatrixCell[];
  latency?: Latency[];
  counters?: Record<string, number>;
}

export interface Zone {
  node: number;
  name: string;
  first_block: number;
  blocks: number;
}

export interface Series {
  name: string;
  label?: string;
  unit?: string;
  group?: string;
  zone?: string | number | null;
  /** Index into the run's clocks. */
  times: number;
  value: Chunk;
  low?: Chunk | null;
  high?: Chunk | null;
}

export interface BlockMap {
  times: Chunk;
  blocks: number;
  keyframe_every: number;
  frames: Chunk;
}

export interface Events {
  time: Chunk;
  block: Chunk;
  kind: Chunk;
  alloc_type: Chunk;
  block_type: Chunk;
  alloc_order: Chunk;
  fallback_order: Chunk;
}

export interface MatrixCell {
  alloc: string;
  fallback: string;
  severity: string;
  ownership: string | null;
  count: number;
}

export interface Latency {
  order: number;
  class: string;
  count: number;
  failed: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  buckets?: { upto_ns: number; count: number }[];
}

/** `fraglab compare --format json`. */
export interface Comparison {
  base?: string;
  rule?: string;
  variants: { name: string; preset?: string | null; sysctls?: Record<string, unknown> | null; runs?: unknown[] }[];
  rows: ComparisonRow[];
  vmstat?: { row: string; values: (number | string | null)[] }[];
  caveats?: string[];
}

export interface ComparisonRow {
  row: string;
  better?: "lower" | "higher" | null;
  calibrated?: boolean | null;
  variants: Measured[];
}

export interface Measured {
  name: string;
  values?: number[];
  mean?: number | null;
  stddev?: number | null;
  median?: number | null;
  change?: number | null;
  change_low?: number | null;
  change_high?: number | null;
  p_mann_whitney?: number | null;
  p_welch?: number | null;
  significant?: boolean | null;
}

/** Why a page cannot be shown, in words for whoever opened it. */
export class ViewError extends Error {}

/** Reads the JSON of the page; what is wrong is said, never shown half. */
export function readView(text: string): View {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ViewError(`The data in this page is damaged: ${(error as Error).message}. Make the report again.`);
  }
  if (value === null) {
    throw new ViewError("This page holds no runs yet. Make a report with: fraglab report RUN... -o report.html");
  }
  const view = value as Partial<View>;
  if (typeof value !== "object" || view.schema !== SCHEMA) {
    throw new ViewError(`The data in this page is "${String(view.schema)}", not "${SCHEMA}".`);
  }
  if (view.version !== VERSION) {
    throw new ViewError(
      `The data in this page has version ${String(view.version)}; this page reads version ${VERSION}. ` +
        "Make the report again with one fraglab.",
    );
  }
  if (!Array.isArray(view.runs) || view.runs.length === 0) {
    throw new ViewError("The data in this page names no run.");
  }
  return view as View;
}
