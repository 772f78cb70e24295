// What the page shows now. One object, changed in one place, told to whoever asked.

import { COLOURINGS, type Colouring } from "../map/palette";

export const MODES = ["pair", "difference"] as const;
export type Mode = (typeof MODES)[number];

export interface State {
  /** Indices of the two runs that are looked at; `b` is null when there is only one. */
  a: number;
  b: number | null;
  /** Seconds since the start of the runs. */
  time: number;
  block: number | null;
  mode: Mode;
  colouring: Colouring;
  zoom: number;
  /** Centre of the map's pane, as a share of the map. */
  x: number;
  y: number;
  /** Seconds that the plots show, null for all. */
  range: readonly [number, number] | null;
}

export type Key = keyof State;
type Listener = (state: Readonly<State>, changed: ReadonlySet<Key>) => void;

export class Store {
  private current: State;
  private readonly listeners: { keys: readonly Key[]; listener: Listener }[] = [];
  private pending = new Set<Key>();
  private readonly schedule: (flush: () => void) => void;

  /** `schedule` says when listeners hear of changes: once a frame in the page, at once in tests. */
  constructor(initial: State, schedule: (flush: () => void) => void) {
    this.current = initial;
    this.schedule = schedule;
  }

  get state(): Readonly<State> {
    return this.current;
  }

  set(change: Partial<State>): void {
    const first = this.pending.size === 0;
    for (const key of Object.keys(change) as Key[]) {
      if (Object.is(this.current[key], change[key])) continue;
      this.pending.add(key);
    }
    this.current = { ...this.current, ...change };
    if (first && this.pending.size > 0) this.schedule(() => this.flush());
  }

  private flush(): void {
    const changed = this.pending;
    this.pending = new Set();
    for (const { keys, listener } of this.listeners) {
      if (keys.some((key) => changed.has(key))) listener(this.current, changed);
    }
  }

  /** Calls now, and whenever one of the keys has changed. */
  watch(keys: readonly Key[], listener: Listener): void {
    this.listeners.push({ keys, listener });
    listener(this.current, new Set(keys));
  }
}

/**
 * At first: the first run against the first of another policy, or else the second, at their end, where what they differ
 * in has added up.
 */
export function initialState(runs: readonly { group: string; duration: number }[]): State {
  const other = runs.findIndex((run) => run.group !== runs[0].group);
  const b = other > 0 ? other : runs.length > 1 ? 1 : null;
  return {
    a: 0,
    b,
    time: Math.max(runs[0].duration, b === null ? 0 : runs[b].duration),
    block: null,
    mode: "pair",
    colouring: COLOURINGS[0],
    zoom: 1,
    x: 0.5,
    y: 0.5,
    range: null,
  };
}
