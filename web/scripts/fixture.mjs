// Made-up runs for tests of the page, from a seed: nothing here is a measurement, and the page that it makes says so.
// `node scripts/fixture.mjs [FILE]` writes a report as `fraglab report` would.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";

const PAGES = 512;
const DTYPES = { Uint8Array: "u8", Uint16Array: "u16", Uint32Array: "u32", Float32Array: "f32" };

/** A column as docs/view-format.md has it. */
export function chunk(values) {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const data = deflateRawSync(bytes, { level: 6 }).toString("base64");
  return { dtype: DTYPES[values.constructor.name], len: values.length, data };
}

/** Mulberry32: small, and the same everywhere. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const level = (pages) => Math.min(3, Math.ceil((3 * pages) / PAGES));

/** Frames as the format wants them: every K-th whole, the others XOR. */
export function film(frames, every) {
  const blocks = frames[0].length;
  const bytes = new Uint8Array(frames.length * blocks);
  for (const [sample, frame] of frames.entries()) {
    const at = sample * blocks;
    for (let block = 0; block < blocks; block++) {
      bytes[at + block] = sample % every === 0 ? frame[block] : frame[block] ^ frames[sample - 1][block];
    }
  }
  return bytes;
}

/** A toy of a machine that builds something over and over: pinned pages spread, or are kept together. */
class Toy {
  constructor(blocks, seed, spread) {
    this.blocks = blocks;
    this.next = random(seed);
    this.spread = 0.35;
    this.own = spread;
    this.type = new Uint8Array(blocks).fill(1);
    this.movable = new Uint16Array(blocks);
    this.pinned = new Uint16Array(blocks);
    this.kept = Math.floor(blocks * 0.06);
    this.type.fill(0, 0, Math.floor(this.kept * 0.7));
    this.type.fill(2, Math.floor(this.kept * 0.7), this.kept);
    for (let block = 0; block < this.kept; block++) this.pinned[block] = 200 + Math.floor(this.next() * 300);
    this.events = [];
    this.matrix = new Map();
  }

  pick(from = 0, to = this.blocks) {
    return from + Math.floor(this.next() * (to - from));
  }

  count(alloc, fallback, severity, ownership) {
    const key = `${alloc}|${fallback}|${severity}|${ownership}`;
    this.matrix.set(key, (this.matrix.get(key) ?? 0) + 1);
  }

  event(time, block, kind, alloc, from, order, fallbackOrder) {
    this.events.push([time, block, kind, alloc, from, order, fallbackOrder]);
    const names = ["unmovable", "movable", "reclaimable"];
    const ownership = kind === 0 ? null : kind === 1 ? "changed" : "kept";
    this.count(names[alloc], names[from], kind === 0 ? "whole" : "fragmenting", ownership);
  }

  step(time, pressure, share) {
    const { blocks, next } = this;
    // The policies do the same until memory is short for the first time.
    if (share > 0.22) this.spread = this.own;
    // Demand comes and goes in stretches of memory, not page by page.
    for (let i = 0; i < blocks * 0.012; i++) {
      const start = this.pick(this.kept);
      const length = 1 + Math.floor(next() * 14);
      const wanted = Math.max(0, Math.min(PAGES, Math.floor(PAGES * (pressure + (next() - 0.5) * 0.9))));
      for (let block = start; block < Math.min(blocks, start + length); block++) {
        this.movable[block] = Math.min(PAGES - this.pinned[block], wanted);
      }
    }
    const bursts = Math.floor(blocks * 0.0022 * (0.4 + pressure));
    for (let i = 0; i < bursts; i++) this.burst(time);
    for (let i = 0; i < blocks * 0.0006; i++) {
      const block = this.pick(this.kept);
      if (this.type[block] === 1) this.pinned[block] = Math.floor(this.pinned[block] * next());
    }
  }

  burst(time) {
    const { next } = this;
    const alloc = next() < 0.7 ? 0 : 2;
    if (next() < this.spread) {
      const block = this.pick(this.kept);
      if (this.pinned[block] === 0 && next() < 0.15) {
        this.type[block] = alloc;
        this.event(time, block, 1, alloc, 1, Math.floor(next() * 3), 3 + Math.floor(next() * 5));
      } else this.event(time, block, 2, alloc, 1, Math.floor(next() * 2), Math.floor(next() * 5));
      this.pinned[block] = Math.min(PAGES, this.pinned[block] + 1 + Math.floor(next() ** 3 * 260));
      this.movable[block] = Math.min(this.movable[block], PAGES - this.pinned[block]);
    } else if (next() < 0.12 && this.kept < this.blocks * 0.14) {
      const block = this.kept++;
      this.event(time, block, 0, alloc, this.type[block] === 1 ? 1 : 0, 0, 9 + Math.floor(next() * 2));
      this.type[block] = alloc;
      this.pinned[block] = Math.floor(next() * 200);
      this.movable[block] = 0;
    } else {
      const block = this.pick(0, this.kept);
      this.pinned[block] = Math.min(PAGES, this.pinned[block] + Math.floor(next() * 60));
    }
  }

  frame() {
    const bytes = new Uint8Array(this.blocks);
    for (let block = 0; block < this.blocks; block++) {
      const free = PAGES - this.movable[block] - this.pinned[block];
      bytes[block] =
        this.type[block] | (level(free) << 2) | (level(this.movable[block]) << 4) | (level(this.pinned[block]) << 6);
    }
    return bytes;
  }

  free() {
    let free = 0;
    for (let block = 0; block < this.blocks; block++) free += PAGES - this.movable[block] - this.pinned[block];
    return free;
  }
}

/** Builds follow one another; memory fills and empties with each. */
const pressureAt = (share) => 0.28 + 0.55 * Math.abs(Math.sin(share * Math.PI * 7.5)) * (0.75 + 0.25 * share);

/** All by clock 0. */
function seriesOf(columns) {
  return columns.map(({ name, label, unit, group, zone, value, low, high }) => ({
    name, label, unit, group, zone: zone ?? null,
    times: 0, value: chunk(value), low: low ? chunk(low) : null, high: high ? chunk(high) : null,
  })); // prettier-ignore
}

function latency(next, slow) {
  const of = (order, name, count) => {
    const buckets = [{ upto_ns: 0, count: name === "all" ? count * 40 : 0 }];
    for (let power = 10; power <= 27; power++) {
      const here = Math.round(count * Math.exp(-(((power - 15 - slow) / 2.6) ** 2)) * (0.7 + 0.6 * next()));
      buckets.push({ upto_ns: 2 ** power, count: here });
    }
    const known = buckets.filter((bucket) => bucket.count > 0);
    const total = known.reduce((sum, bucket) => sum + bucket.count, 0);
    return {
      order, class: name, count: total, failed: Math.round(count * 0.002 * slow),
      p50_ns: name === "all" ? 0 : 2 ** (15 + slow), p99_ns: 2 ** (19 + slow), max_ns: known.at(-1).upto_ns - 1, buckets: known,
    }; // prettier-ignore
  };
  return [of(0, "all", 90000), of(0, "movable", 4000), of(0, "unmovable", 900), of(3, "unmovable", 300), of(9, "thp", 700)];
}

/** Made-up work after every tenth event; not all of it is in the view. */
function slicesOf(events, seconds) {
  const slices = events.filter((_, i) => i % 10 === 0).map(([time, , kind], i) => {
    const track = ["kswapd node 0", "compaction Normal", "stall"][i % 3];
    const end_s = Math.min(seconds, time + (seconds / 900) * (0.2 + (i % 7) * (kind + 1)));
    return { track, name: ["balance", "order 9", "order 9 thp, failed"][i % 3], start_s: time, end_s };
  });
  return { slices, slices_total: slices.length + 100 };
}

function runOf({ name, group, policy, seed, spread, blocks, samples, seconds, every }) {
  const toy = new Toy(blocks, seed, spread);
  const times = Float32Array.from({ length: samples }, (_, i) => (i / (samples - 1)) * seconds);
  const free = new Float32Array(samples);
  const low = new Float32Array(samples);
  const high = new Float32Array(samples);
  const pollute = new Float32Array(samples);
  const types = [0, 1, 2].map(() => new Float32Array(samples));
  const unusable = new Float32Array(samples);
  const frames = [];
  const next = random(seed * 7919 + 1);
  for (let sample = 0; sample < samples; sample++) {
    const before = toy.events.length;
    toy.step(times[sample], pressureAt(sample / samples), sample / samples);
    frames.push(toy.frame());
    free[sample] = toy.free();
    low[sample] = free[sample] * (0.9 + 0.06 * next());
    high[sample] = free[sample] * (1.02 + 0.07 * next());
    pollute[sample] = ((toy.events.length - before) * samples) / seconds;
    for (const type of toy.type) if (type < 3) types[type][sample]++;
    const broken = frames[sample].filter((byte) => (byte & 3) === 1 && byte >> 6 > 0).length;
    unusable[sample] = Math.min(1, (broken / blocks) * 1.6 + 0.05);
  }
  const column = (index, Type) => chunk(Type.from(toy.events, (event) => event[index]));
  const extfrag = toy.events.filter((event) => event[2] !== 0).length;
  const dma = Math.floor(blocks / 4);
  return {
    name, group, kind: "simulated", scenario: "made-up", recording: null, policy, preset: "linux-6.18",
    sysctls: { "vm.defrag_mode": spread < 0.2 ? 1 : 0, "vm.min_free_kbytes": null, "vm.watermark_boost_factor": 15000 },
    seed, digest: (seed * 2654435761).toString(16).padStart(16, "0").slice(-16),
    command: `fraglab run made-up --policy ${policy} --seed ${seed} -o runs/${name}`,
    notes: ["Made up for tests of the page: not a run of fraglab."],
    duration_s: seconds, page_size: 4096, pageblock_order: 9,
    zones: [
      { node: 0, name: "DMA32", first_block: 0, blocks: dma },
      { node: 0, name: "Normal", first_block: dma, blocks: blocks - dma },
    ],
    clocks: [chunk(times)],
    series: seriesOf([
      { name: "free_pages", label: "Free pages", unit: "pages", group: "free", zone: "0/Normal", value: free, low, high },
      { name: "unusable.order9", label: "Free memory unusable for order 9", unit: "share", group: "fragmentation", zone: "0/Normal", value: unusable },
      { name: "extfrag.pollute", label: "Events that pollute", unit: "per second", group: "events", value: pollute },
      ...["unmovable", "movable", "reclaimable"].map((type, i) => ({
        name: `pageblocks.${type}`, label: `Blocks, ${type}`, unit: "pageblocks", group: "pageblocks", zone: "0/Normal", value: types[i],
      })),
    ]),
    map: { times: chunk(times), blocks, keyframe_every: every, frames: chunk(film(frames, every)) },
    events: {
      time: column(0, Float32Array), block: column(1, Uint32Array), kind: column(2, Uint8Array),
      alloc_type: column(3, Uint8Array), block_type: column(4, Uint8Array), alloc_order: column(5, Uint8Array),
      fallback_order: column(6, Uint8Array),
    },
    events_total: toy.events.length,
    matrix: [...toy.matrix].map(([key, count]) => {
      const [alloc, fallback, severity, ownership] = key.split("|");
      return { alloc, fallback, severity, ownership: ownership === "null" ? null : ownership, count };
    }),
    latency: latency(next, spread < 0.2 ? 1 : 0),
    ...slicesOf(toy.events, seconds),
    counters: {
      extfrag_total: extfrag, extfrag_claims: toy.events.length - extfrag,
      thp_fault_alloc: Math.round(4000 + 5000 * (1 - spread) + 300 * next()),
      thp_fault_fallback: Math.round(5200 * spread + 200 * next()),
      allocstall: Math.round(300 + 900 * (1 - spread) + 120 * next()),
      compact_stall: Math.round(800 + 250 * next()), pgscan_direct: Math.round(90000 * (1.2 - spread) + 20000 * next()),
    },
  }; // prettier-ignore
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values) =>
  Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / Math.max(1, values.length - 1));

/** What `fraglab compare --format json` says, by mmtests' rule; p only where all of one side are above the other. */
function comparison(runs) {
  const groups = [...new Set(runs.map((run) => run.group))];
  const rows = Object.keys(runs[0].counters).map((row) => {
    const sides = groups.map((group) => runs.filter((run) => run.group === group).map((run) => run.counters[row]));
    const [base, other] = sides;
    const apart = Math.max(...base) < Math.min(...other) || Math.min(...base) > Math.max(...other);
    const variants = sides.map((values, i) => ({
      name: groups[i], values, mean: mean(values), stddev: deviation(values),
      ...(i === 0 ? {} : {
        change: mean(other) / mean(base) - 1, change_low: null, change_high: null,
        p_mann_whitney: apart ? 0.0286 : 0.3429, p_welch: null,
        significant: Math.abs(mean(other) - mean(base)) > 1.96 * (deviation(base) + deviation(other)),
      }),
    })); // prettier-ignore
    return { row, better: row === "thp_fault_alloc" ? "higher" : row === "extfrag_claims" ? null : "lower", calibrated: row === "compact_stall" ? false : null, variants };
  });
  return {
    schema: "fraglab.compare", version: 1, base: groups[0], rule: "mmtests",
    variants: groups.map((name) => ({ name, runs: runs.filter((run) => run.group === name).map(() => ({})) })),
    rows, vmstat: [{ row: "Allocation stalls", values: rows[4].variants.map((variant) => variant.mean) }],
    trends: [], caveats: [],
  }; // prettier-ignore
}

/** A view of two policies with some seeds each. */
export function makeView({ blocks = 4096, samples = 300, seconds = 900, seeds = 4, every = 32 } = {}) {
  const policies = [
    { group: "vanilla", policy: "linux-6.18", spread: 0.55 },
    { group: "defrag_mode", policy: "linux-6.18,vm.defrag_mode=1", spread: 0.06 },
  ];
  const runs = policies.flatMap((policy, i) =>
    Array.from({ length: seeds }, (_, s) =>
      runOf({ ...policy, name: `${policy.group}/${s + 1}`, seed: 11 + s, blocks, samples, seconds, every }),
    ),
  );
  // The first run of either side first: these two are shown.
  runs.sort((a, b) => Number(a.name.split("/")[1]) - Number(b.name.split("/")[1]));
  return {
    schema: "fraglab.view", version: 1, title: "A made-up comparison: vanilla against defrag_mode",
    command: "node web/scripts/fixture.mjs", generated_by: "web/scripts/fixture.mjs (made-up data)",
    compare: seeds > 1 ? comparison(runs) : null, runs,
  }; // prettier-ignore
}

/** The built page with a view in it, as the Rust side makes it. */
export function pageWith(view, page = readFileSync(new URL("../../crates/fraglab/assets/page.html", import.meta.url), "utf8")) {
  const json = (typeof view === "string" ? view : JSON.stringify(view)).replaceAll("<", "\\u003c");
  const placeholder = '<script type="application/json" id="fraglab-view">null</script>';
  if (!page.includes(placeholder)) throw new Error("the page has no place for its data");
  return page.replace(placeholder, () => `<script type="application/json" id="fraglab-view">${json}</script>`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = process.argv[2] ?? "out/fixture.html";
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageWith(makeView()));
  console.log(`${file} written`);
}
