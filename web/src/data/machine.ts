// A run as the page works with it: columns are unpacked when somebody looks at them, and kept.

import { inflate, numbers, type Chunk } from "./chunk";
import { Film } from "./film";
import type { Events, Run, Series, Zone } from "./view";
import type { Reel } from "../map/strip";

const PAGE_SIZE = 4096;
const PAGEBLOCK_ORDER = 9;

/** Columns of the fragmentation events; row i of all is one event. */
export interface EventColumns {
  time: Float32Array;
  block: Uint32Array;
  kind: Uint8Array;
  allocType: Uint8Array;
  blockType: Uint8Array;
  allocOrder: Uint8Array;
  fallbackOrder: Uint8Array;
}

export interface Curve {
  times: Float32Array;
  value: Float32Array;
  low: Float32Array | null;
  high: Float32Array | null;
}

export class Machine {
  readonly run: Run;
  readonly index: number;
  readonly group: string;
  readonly pageSize: number;
  readonly pagesPerBlock: number;
  readonly zones: Zone[];
  readonly blocks: number;
  private reelOf: Promise<Reel> | null = null;
  private eventsOf: Promise<EventColumns | null> | null = null;
  private readonly curves = new Map<Series, Promise<Curve>>();

  constructor(run: Run, index: number) {
    this.run = run;
    this.index = index;
    this.group = run.group ?? run.policy ?? run.name;
    this.pageSize = run.page_size ?? PAGE_SIZE;
    this.pagesPerBlock = 2 ** (run.pageblock_order ?? PAGEBLOCK_ORDER);
    this.zones = run.zones ?? [];
    this.blocks = run.map?.blocks ?? 0;
  }

  /** Seconds, never 0, because times are shown as shares of it. */
  get duration(): number {
    return Math.max(1e-3, this.run.duration_s ?? 0);
  }

  get name(): string {
    return this.run.name;
  }

  get hasMap(): boolean {
    return this.blocks > 0 && (this.run.map?.times.len ?? 0) > 0;
  }

  /**
   * The block map. The promise is kept as soon as the first sample is there; `progress` is called while the rest
   * arrives, and at the end.
   */
  reel(progress: () => void): Promise<Reel> {
    this.reelOf ??= this.load(progress);
    return this.reelOf;
  }

  private async load(progress: () => void): Promise<Reel> {
    const { map } = this.run;
    if (!map || !this.hasMap) throw new Error(`${this.name} has no block map`);
    const times = (await numbers(map.times)) as Float32Array;
    const film = new Film(map.blocks, times.length, map.keyframe_every);
    const pieces = inflate(map.frames);
    while (film.ready === 0) {
      const piece = await pieces.next();
      if (piece.done) throw new Error(`the block map of ${this.name} ends before its first sample`);
      film.push(piece.value);
    }
    void this.rest(film, pieces, progress);
    return { film, times };
  }

  /** What has arrived is shown, even if the rest is damaged; the page says how much it is. */
  private async rest(film: Film, pieces: AsyncGenerator<Uint8Array>, progress: () => void): Promise<void> {
    let told = performance.now();
    try {
      for await (const piece of pieces) {
        film.push(piece);
        if (performance.now() - told < 100) continue;
        told = performance.now();
        progress();
        // Inflating comes in microtasks, which would keep the page from answering until the film is there.
        await new Promise((resolve) => setTimeout(resolve));
      }
    } catch (error) {
      film.failure = (error as Error).message;
    }
    if (film.ready < film.samples) film.failure ??= `ends after ${film.ready} of ${film.samples} samples`;
    progress();
  }

  events(): Promise<EventColumns | null> {
    this.eventsOf ??= this.run.events ? columnsOf(this.run.events) : Promise.resolve(null);
    return this.eventsOf;
  }

  curve(series: Series): Promise<Curve> {
    let curve = this.curves.get(series);
    if (!curve) {
      curve = curveOf(series, this.run.clocks?.[series.times]);
      this.curves.set(series, curve);
    }
    return curve;
  }

  /** Zone of a block; a block that two zones share belongs to the later. */
  zoneOf(block: number): Zone | null {
    return this.zones.findLast((zone) => block >= zone.first_block && block < zone.first_block + zone.blocks) ?? null;
  }
}

async function columnsOf(events: Events): Promise<EventColumns> {
  const [time, block, kind, allocType, blockType, allocOrder, fallbackOrder] = await Promise.all(
    [
      events.time, events.block, events.kind, events.alloc_type, events.block_type, events.alloc_order,
      events.fallback_order,
    ].map(numbers), // prettier-ignore
  );
  return { time, block, kind, allocType, blockType, allocOrder, fallbackOrder } as EventColumns;
}

async function curveOf(series: Series, clock: Chunk | undefined): Promise<Curve> {
  if (!clock) throw new Error(`the series ${series.name} goes by clock ${series.times}, which the run does not have`);
  const column = async (chunk: Chunk | null | undefined): Promise<Float32Array | null> =>
    chunk ? ((await numbers(chunk)) as Float32Array) : null;
  const [times, value, low, high] = await Promise.all([
    column(clock),
    column(series.value),
    column(series.low),
    column(series.high),
  ]);
  return { times: times as Float32Array, value: value as Float32Array, low, high };
}
