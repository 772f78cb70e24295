import { describe, expect, it } from "vitest";
import { change, bytes, clock, count, nanoseconds, probability } from "../src/core/format";
import { countsOf, isHole, pagesOfLevel } from "../src/data/byte";
import { atOnce, bars, extent } from "../src/data/buckets";
import { parting } from "../src/data/divergence";
import { Film } from "../src/data/film";
import { describeEvent, eventsOf, stays } from "../src/data/history";
import { resample } from "../src/data/plots";
import { mergeTimes, sampleAt } from "../src/data/times";
import { changed, isNamed, verdict } from "../src/data/verdict";
import { readView } from "../src/data/view";
import { kindOf, table } from "../src/data/matrix";
import { tickLabel, ticks } from "../src/ui/axis";

describe("a view", () => {
  it("is refused in words that say what to do", () => {
    expect(() => readView("null")).toThrow("fraglab report RUN...");
    expect(() => readView("{")).toThrow("damaged");
    expect(() => readView('{"schema":"other","version":1,"runs":[{}]}')).toThrow('"other"');
    expect(() => readView('{"schema":"fraglab.view","version":2,"runs":[{}]}')).toThrow("version 2");
    expect(() => readView('{"schema":"fraglab.view","version":1,"runs":[]}')).toThrow("no run");
    expect(() => readView("[]")).toThrow("fraglab.view");
  });

  it("may have keys that nobody knows", () => {
    expect(readView('{"schema":"fraglab.view","version":1,"new":1,"runs":[{"name":"x","new":[]}]}').runs[0].name).toBe("x");
  });
});

describe("the byte of a block", () => {
  const byte = (type: number, free: number, movable: number, pinned: number): number =>
    type | (free << 2) | (movable << 4) | (pinned << 6);

  it("is counted by type and content; holes are no blocks", () => {
    const histogram = new Uint32Array(256);
    histogram[byte(1, 0, 3, 0)] = 10;
    histogram[byte(1, 1, 2, 1)] = 3;
    histogram[byte(1, 3, 0, 0)] = 5;
    histogram[byte(0, 1, 1, 2)] = 2;
    histogram[byte(2, 1, 0, 2)] = 1;
    histogram[byte(3, 0, 0, 0)] = 100;
    const counts = countsOf(histogram);
    expect(counts).toMatchObject({ blocks: 21, polluted: 3, pinned: 6, empty: 5 });
    expect(counts.byType[1]).toEqual({ blocks: 18, empty: 5, movableOnly: 10, pinnedOnly: 0, mixed: 3 });
    expect(counts.byType[0]).toEqual({ blocks: 2, empty: 0, movableOnly: 0, pinnedOnly: 0, mixed: 2 });
    expect(counts.byType[2].pinnedOnly).toBe(1);
    expect(isHole(byte(1, 0, 0, 0))).toBe(true);
  });

  it.each([512, 1024, 4, 8192])("stands for pages whose level it is, blocks of %i pages", (pages) => {
    const level = (n: number): number => Math.ceil((3 * n) / pages);
    for (let n = 0; n <= pages; n++) {
      const { low, high } = pagesOfLevel(level(n), pages);
      expect(low).toBeLessThanOrEqual(n);
      expect(high).toBeGreaterThanOrEqual(n);
      expect(level(low)).toBe(level(n));
      expect(level(high)).toBe(level(n));
    }
  });
});

describe("times", () => {
  it("lead to the last sample that is not later", () => {
    const times = [0, 1, 1.5, 4];
    expect([-1, 0, 0.9, 1, 1.6, 4, 99].map((time) => sampleAt(times, time))).toEqual([0, 0, 0, 1, 2, 3, 3]);
  });

  it("of several runs are one row of moments", () => {
    expect([...mergeTimes([0, 2, 4], [1, 2, 10])]).toEqual([0, 1, 2, 4, 10]);
  });

  it("of a curve are read where another one has points; before and after there is nothing", () => {
    expect(resample([1, 3], [10, 30], [0, 1, 2, 3, 4])).toEqual([null, 10, 10, 30, null]);
    expect(resample([1, 2], [Number.NaN, 5], [1, 2])).toEqual([null, 5]);
  });
});

describe("where two runs part ways", () => {
  it("is the last moment at which they met", () => {
    const a = { times: [0, 1, 2, 3, 4], counts: [0, 2, 1, 3, 5] };
    const b = { times: [0, 1, 2, 3, 4], counts: [0, 1, 1, 1, 2] };
    expect(parting(a, b)).toEqual({ time: 3, more: "A", a: 5, b: 2 });
    expect(parting(b, a)).toEqual({ time: 3, more: "B", a: 2, b: 5 });
  });

  it("is nowhere if they end equal, and at the start if they were never equal", () => {
    expect(parting({ times: [0, 1], counts: [1, 5] }, { times: [0, 1], counts: [0, 5] })).toBeNull();
    expect(parting({ times: [0, 1], counts: [1, 5] }, { times: [0, 1], counts: [0, 4] })?.time).toBe(0);
    expect(parting({ times: [], counts: [] }, { times: [0], counts: [0] })).toBeNull();
  });

  it("looks no further than the shorter run", () => {
    const long = { times: [0, 1, 2, 9], counts: [0, 4, 4, 0] };
    const short = { times: [0, 2], counts: [0, 1] };
    expect(parting(long, short)).toEqual({ time: 1, more: "A", a: 4, b: 1 });
  });
});

describe("the history of a block", () => {
  it("has its states from sample to sample, and its events in words", () => {
    const film = new Film(2, 3, 3);
    film.push(Uint8Array.of(5, 9, 0, 0, 3, 0));
    expect(stays(film, [0, 10, 20], 0, 30)).toEqual([{ from: 0, to: 20, byte: 5 }, { from: 20, to: 30, byte: 6 }]);
    expect(stays(film, [0, 10, 20], 1, 30)).toEqual([{ from: 0, to: 30, byte: 9 }]);
    const columns = {
      time: Float32Array.of(9, 4, 5), block: Uint32Array.of(0, 0, 1), kind: Uint8Array.of(2, 0, 1),
      allocType: Uint8Array.of(0, 2, 0), blockType: Uint8Array.of(1, 1, 1), allocOrder: Uint8Array.of(3, 0, 0),
      fallbackOrder: Uint8Array.of(4, 9, 5),
    }; // prettier-ignore
    expect(eventsOf(columns, 0).map(describeEvent)).toEqual([
      "claim: reclaimable request of order 0 took the whole movable block",
      "pollute: unmovable request of order 3 took order 4 of a block that stays movable",
    ]);
  });
});

describe("events", () => {
  it("are one of claim, steal and pollute", () => {
    const cell = { alloc: "unmovable", fallback: "movable", count: 1 };
    expect(kindOf({ ...cell, severity: "whole", ownership: null })).toBe("claim");
    expect(kindOf({ ...cell, severity: "fragmenting", ownership: "changed" })).toBe("steal");
    expect(kindOf({ ...cell, severity: "fragmenting", ownership: "kept" })).toBe("pollute");
    const counts = table([
      { ...cell, severity: "whole", ownership: null, count: 4 },
      { ...cell, severity: "fragmenting", ownership: "kept", count: 7 },
    ]);
    expect(counts.get("unmovable")?.get("movable")).toEqual({ claim: 4, steal: 0, pollute: 7 });
  });
});

describe("latency", () => {
  const latency = { order: 0, class: "all", count: 9, failed: 0, p50_ns: 0, p99_ns: 0, max_ns: 0 };
  it("has buckets in between that are empty, and those of nothing waited apart", () => {
    const one = { ...latency, buckets: [{ upto_ns: 0, count: 5 }, { upto_ns: 1024, count: 3 }, { upto_ns: 4096, count: 1 }] };
    expect(extent([one])).toEqual({ low: 1024, high: 4096 });
    expect(bars(one, 1024, 4096).map((bar) => bar.count)).toEqual([3, 0, 1]);
    expect(atOnce(one)).toBe(5);
    expect(extent([{ ...latency, buckets: [{ upto_ns: 0, count: 5 }] }])).toBeNull();
  });
});

describe("numbers in words", () => {
  it("are short, and exact where they are counts", () => {
    expect(count(1234567)).toBe("1\u202f234\u202f567");
    expect(count(-3)).toBe("−3");
    expect(count(0.05083)).toBe("0.0508");
    expect(count(null)).toBe("–");
    expect(change(-0.4871)).toBe("−48.7\u202f%");
    expect(change(12.5)).toBe("+1\u202f250\u202f%");
    expect(change(0.0001)).toBe("±0\u202f%");
    expect(clock(7.25)).toBe("7.25\u202fs");
    expect(clock(125)).toBe("2:05\u202fmin");
    expect(clock(3725)).toBe("1:02:05\u202fh");
    expect(nanoseconds(1048)).toBe("1.05\u202fµs");
    expect(bytes(8589934592)).toBe("8\u202fGiB");
    expect(probability(0.00001)).toBe("<0.001");
  });

  it("stand along an axis in round steps", () => {
    expect(ticks(900, 8)).toEqual([0, 120, 240, 360, 480, 600, 720, 840]);
    expect(tickLabel(120, 900)).toBe("2\u202fmin");
    expect(tickLabel(90, 900)).toBe("1:30\u202fmin");
    expect(tickLabel(0.5, 2)).toBe("0.5\u202fs");
    for (const duration of [0.3, 11, 3600, 86400, 1e7]) expect(ticks(duration, 8).length).toBeLessThanOrEqual(9);
  });
});

describe("a comparison", () => {
  const row = (better: "lower" | "higher" | null, base: number, mean: number, significant = true) => {
    const variant = { name: "b", mean, change: base === 0 ? null : mean / base - 1, significant };
    return verdict({ row: "r", better, variants: [{ name: "a", mean: base }, variant] }, variant);
  };

  it("says what is better, from a baseline of 0 as well", () => {
    expect([row("lower", 4, 2), row("lower", 2, 4), row("higher", 2, 4)]).toEqual(["better", "worse", "better"]);
    expect([row("lower", 0, 70), row("higher", 0, 70)]).toEqual(["worse", "better"]);
    expect([row(null, 2, 4), row("lower", 2, 4, false), row("lower", 2, 2)]).toEqual(["plain", "plain", "plain"]);
  });

  it("of single runs tells changes where there is a ratio", () => {
    expect([changed(4, 5), changed(0, 0), changed(0, 5), changed(4, 0), changed(undefined, 1)]).toEqual([0.25, 0, null, -1, null]);
  });

  it("finds rows in whatever case", () => {
    expect([isNamed("measure.swapin-791M", " 791m"), isNamed("oom_kill", "OOM"), isNamed("oom_kill", "thp")]).toEqual([true, true, false]);
  });
});
