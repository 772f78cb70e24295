import { describe, expect, it } from "vitest";
import { readLink, writeLink } from "../src/core/link";
import { initialState, Store, type State } from "../src/core/store";

const NAMES = ["vanilla/1", "defrag mode & co/1", "vanilla/2"];
const initial = initialState([
  { group: "vanilla", duration: 60 },
  { group: "defrag", duration: 90 },
  { group: "vanilla", duration: 100 },
]);
const back = (state: State): State => readLink(`#${writeLink(state, initial, NAMES)}`, initial, NAMES);

describe("deep links", () => {
  it("are empty for the page as it opens: the first two runs at the end of the longer one", () => {
    expect(writeLink(initial, initial, NAMES)).toBe("");
    expect(initial).toMatchObject({ a: 0, b: 1, time: 90 });
    expect(readLink("", initial, NAMES)).toEqual(initial);
  });

  it("restore everything that they say", () => {
    const state: State = {
      a: 2, b: 1, time: 12.5, block: 77, mode: "difference", colouring: "free", zoom: 8.25, x: 0.125, y: 0.75, range: [3, 20.5],
    }; // prettier-ignore
    expect(back(state)).toEqual(state);
    expect(back({ ...initial, time: 0 })).toEqual({ ...initial, time: 0 });
    expect(back({ ...initial, block: 0 })).toEqual({ ...initial, block: 0 });
    expect(back({ ...initial, b: null })).toEqual({ ...initial, b: null });
  });

  it("name runs, so that more runs in front do not change what they show", () => {
    const text = writeLink({ ...initial, a: 2 }, initial, NAMES);
    expect(readLink(text, initial, ["new", ...NAMES]).a).toBe(3);
  });

  it("leave as it was what they say wrongly", () => {
    const wrong = "a=nobody&b=nobody&t=x&block=-3&view=cube&colour=pink&zoom=0.1&x=&range=5~2";
    expect(readLink(wrong, initial, NAMES)).toEqual(initial);
    expect(readLink("block=1.5", initial, NAMES).block).toBeNull();
    expect(readLink("t=-4", initial, NAMES).time).toBe(0);
  });
});

describe("the page as it opens", () => {
  const run = (group: string, duration = 1) => ({ group, duration });
  it("compares policies, not seeds, where there are several", () => {
    expect(initialState([run("a"), run("a"), run("b")]).b).toBe(2);
    expect(initialState([run("a"), run("a")]).b).toBe(1);
    expect(initialState([run("a", 7)])).toMatchObject({ b: null, time: 7 });
  });
});

describe("the store", () => {
  it("tells once of several changes, and only those who asked", () => {
    let flush = (): void => undefined;
    const store = new Store(initial, (later) => (flush = later));
    const times: number[] = [];
    const blocks: (number | null)[] = [];
    store.watch(["time"], ({ time }) => times.push(time));
    store.watch(["block"], ({ block }) => blocks.push(block));
    store.set({ time: 1 });
    store.set({ time: 2 });
    store.set({ time: 2 });
    flush();
    expect(times).toEqual([90, 2]);
    expect(blocks).toEqual([null]);
  });

  it("hears of changes that are made while it tells", () => {
    const queue: (() => void)[] = [];
    const store = new Store(initial, (later) => queue.push(later));
    const blocks: (number | null)[] = [];
    store.watch(["time"], ({ time }) => store.set({ block: time }));
    store.watch(["block"], ({ block }) => blocks.push(block));
    store.set({ time: 5 });
    while (queue.length > 0) queue.shift()?.();
    expect(blocks.at(-1)).toBe(5);
  });
});
