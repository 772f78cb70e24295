// What every part of the page works with.

import type { Machine } from "../data/machine";
import type { View } from "../data/view";
import type { State, Store } from "./store";

export interface Context {
  view: View;
  machines: Machine[];
  store: Store;
}

/** The runs that are looked at, with the letters they go by. */
export function chosen({ machines }: Context, state: Readonly<State>): { letter: "A" | "B"; machine: Machine }[] {
  const found: { letter: "A" | "B"; machine: Machine }[] = [{ letter: "A", machine: machines[state.a] }];
  if (state.b !== null) found.push({ letter: "B", machine: machines[state.b] });
  return found;
}

/** Seconds that the chosen runs took. */
export function durationOf(context: Context, state: Readonly<State>): number {
  return Math.max(...chosen(context, state).map(({ machine }) => machine.duration));
}
