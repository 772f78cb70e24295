// The block maps of the chosen runs, as far as they have arrived.

import type { Context } from "./context";
import { chosen } from "./context";
import type { Machine } from "../data/machine";
import { sampleAt } from "../data/times";
import type { Reel } from "../map/strip";

export class Reels {
  private readonly reels = new Map<Machine, Reel>();
  private readonly failures = new Map<Machine, string>();
  private readonly listeners: (() => void)[] = [];

  constructor(context: Context) {
    context.store.watch(["a", "b"], (state) => {
      for (const { machine } of chosen(context, state)) void this.load(machine);
    });
  }

  private async load(machine: Machine): Promise<void> {
    if (this.reels.has(machine) || !machine.hasMap) return;
    const told = (): void => {
      for (const listener of this.listeners) listener();
    };
    try {
      this.reels.set(machine, await machine.reel(told));
    } catch (error) {
      this.failures.set(machine, (error as Error).message);
    }
    told();
  }

  /** The map of a run, or null while nothing of it is there. */
  of(machine: Machine): Reel | null {
    return this.reels.get(machine) ?? null;
  }

  /** What went wrong with a run's map, in words. */
  failureOf(machine: Machine): string | null {
    return this.failures.get(machine) ?? this.reels.get(machine)?.film.failure ?? null;
  }

  /** Calls whenever more of a map has arrived. */
  onProgress(listener: () => void): void {
    this.listeners.push(listener);
  }
}

/** The sample of a reel at a time, as far as it has arrived. */
export function shownSample(reel: Reel, time: number): number {
  return Math.max(0, Math.min(sampleAt(reel.times, time), reel.film.ready - 1));
}
