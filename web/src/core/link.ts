// Deep links: the state as the part of the address behind `#`. Runs go by name, so that a link survives a report
// that is made again with more runs. What is as it was at first is left out.

import { COLOURINGS } from "../map/palette";
import { MODES, type State } from "./store";

const number = (text: string | null): number | null => {
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
};

const short = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

/** The state as text, without the `#`. */
export function writeLink(state: State, initial: State, names: readonly string[]): string {
  const link = new URLSearchParams();
  if (state.a !== initial.a) link.set("a", names[state.a]);
  if (state.b !== initial.b) link.set("b", state.b === null ? "" : names[state.b]);
  if (state.time !== initial.time) link.set("t", short(state.time, 3));
  if (state.block !== null) link.set("block", String(state.block));
  if (state.mode !== initial.mode) link.set("view", state.mode);
  if (state.colouring !== initial.colouring) link.set("colour", state.colouring);
  if (state.zoom !== 1) {
    link.set("zoom", short(state.zoom, 3));
    link.set("x", short(state.x, 5));
    link.set("y", short(state.y, 5));
  }
  if (state.range) link.set("range", `${short(state.range[0], 3)}~${short(state.range[1], 3)}`);
  return link.toString();
}

/** What a link says; what it does not say, or says wrongly, stays as it was at first. */
export function readLink(text: string, initial: State, names: readonly string[]): State {
  const link = new URLSearchParams(text.replace(/^#/, ""));
  const run = (key: string, otherwise: number | null): number | null => {
    const name = link.get(key);
    if (name === "") return null;
    const index = name === null ? -1 : names.indexOf(name);
    return index < 0 ? otherwise : index;
  };
  const one = <T extends string>(key: string, known: readonly T[], otherwise: T): T =>
    known.find((value) => value === link.get(key)) ?? otherwise;
  const block = number(link.get("block"));
  const ends = (link.get("range") ?? "").split("~").map(number);
  const [from, to] = ends;
  return {
    a: run("a", initial.a) ?? initial.a,
    b: run("b", initial.b),
    time: Math.max(0, number(link.get("t")) ?? initial.time),
    block: block !== null && block >= 0 && Number.isInteger(block) ? block : null,
    mode: one("view", MODES, initial.mode),
    colouring: one("colour", COLOURINGS, initial.colouring),
    zoom: Math.max(1, number(link.get("zoom")) ?? 1),
    x: number(link.get("x")) ?? 0.5,
    y: number(link.get("y")) ?? 0.5,
    range: from != null && to != null && to > from ? [from, to] : null,
  };
}
