import { describe, expect, it } from "vitest";
import { contrast, DEFICIENCIES, distance, rgb, type Rgb } from "../src/core/colour";
import { HIGHATOMIC, MOVABLE, RECLAIMABLE, UNMOVABLE } from "../src/data/byte";
import { colourOf, colourOfPair, INKS, paletteOf } from "../src/map/palette";

const byte = (type: number, free: number, movable: number, pinned: number): number =>
  type | (free << 2) | (movable << 4) | (pinned << 6);

const SIGHTS = [["all cones", undefined], ...Object.entries(DEFICIENCIES)] as const;

/** In OKLab; a just noticeable difference is about 0.02. */
const APART = 0.1;

describe("contrast as WCAG 2 has it", () => {
  it("is 21 for black on white, and 4.54 for the grey everybody knows", () => {
    expect(contrast(rgb("#000000"), rgb("#ffffff"))).toBeCloseTo(21, 3);
    expect(contrast(rgb("#767676"), rgb("#ffffff"))).toBeCloseTo(4.54, 2);
  });
});

describe.each(["light", "dark"] as const)("the %s palette", (theme) => {
  const inks = INKS[theme];
  const colour = (...bits: [number, number, number, number]): Rgb => colourOf(byte(...bits), "mixing", inks);

  it.each(SIGHTS)("tells full blocks of every type, polluted ones and paper apart with %s", (_, sight) => {
    const kinds: [string, Rgb][] = [
      ["paper", inks.paper],
      ["unmovable", colour(UNMOVABLE, 0, 0, 3)],
      ["movable", colour(MOVABLE, 0, 3, 0)],
      ["reclaimable", colour(RECLAIMABLE, 0, 0, 3)],
      ["highatomic", colour(HIGHATOMIC, 0, 3, 0)],
      ["polluted by a few pages", colour(MOVABLE, 1, 3, 1)],
      ["polluted through and through", colour(MOVABLE, 0, 1, 3)],
    ];
    const close = kinds.flatMap(([a, one], i) =>
      kinds
        .slice(i + 1)
        .filter(([b, other]) => distance(one, other, sight) < APART && !(a.startsWith("polluted") && b.startsWith("polluted")))
        .map(([b, other]) => `${a} and ${b}: ${distance(one, other, sight).toFixed(3)}`),
    );
    expect(close).toEqual([]);
  });

  it.each(SIGHTS)("tells more in A, more in B and no difference apart with %s", (_, sight) => {
    const none = byte(MOVABLE, 1, 0, 0);
    const few = byte(MOVABLE, 1, 0, 1);
    const [a, b] = [colourOfPair(few, none, inks), colourOfPair(none, few, inks)];
    expect(distance(a, inks.paper, sight)).toBeGreaterThan(APART);
    expect(distance(b, inks.paper, sight)).toBeGreaterThan(APART);
    expect(distance(inks.a, inks.b, sight)).toBeGreaterThan(APART);
  });

  it("has lines of both runs, trouble and full blocks at 3:1 on paper (WCAG 1.4.11)", () => {
    for (const ink of [inks.a, inks.b]) expect(contrast(ink, inks.paper)).toBeGreaterThan(4.5);
    expect(contrast(colour(UNMOVABLE, 0, 0, 3), inks.paper)).toBeGreaterThan(3);
    expect(contrast(colour(RECLAIMABLE, 0, 0, 3), inks.paper)).toBeGreaterThan(3);
    expect(contrast(inks.pinned, inks.paper)).toBeGreaterThan(3);
    expect(contrast(inks.free, inks.paper)).toBeGreaterThan(3);
  });

  it("gets stronger with every level", () => {
    const rises = (colours: Rgb[]): void => {
      for (let i = 1; i < colours.length; i++) {
        expect(distance(colours[i], inks.paper)).toBeGreaterThan(distance(colours[i - 1], inks.paper));
      }
    };
    rises([1, 2, 3].map((level) => colour(MOVABLE, 0, 0, level)));
    rises([0, 1, 2, 3].map((level) => colourOf(byte(0, 1, 0, level), "pinned", inks)));
    rises([0, 1, 2, 3].map((level) => colourOf(byte(0, level, 1, 0), "free", inks)));
    rises([3, 2, 1, 0].map((level) => colour(UNMOVABLE, level, 0, 2)));
  });

  it("shows one pinned page among 64 blocks of one pixel", () => {
    const { single } = paletteOf("mixing", theme);
    const [clean, one] = [byte(MOVABLE, 0, 3, 0), byte(MOVABLE, 0, 3, 1)].map((b) => single.subarray(b * 4, b * 4 + 4));
    const mixed = [0, 1, 2].map((c) => Math.sqrt((63 * clean[c] ** 2 * clean[3] + one[c] ** 2 * one[3]) / (63 * clean[3] + one[3])));
    expect(distance(mixed as unknown as Rgb, [clean[0], clean[1], clean[2]])).toBeGreaterThan(0.02);
  });
});
