import { describe, expect, it } from "vitest";
import { tracksOf, type Slice } from "../src/data/slices";

const slice = (track: string, start_s: number, end_s: number): Slice => ({ track, name: "x", start_s, end_s });

describe("what took time", () => {
  it("is summed up by track, the longest first", () => {
    const tracks = tracksOf([slice("stall", 1, 2), slice("kswapd", 0, 4), slice("stall", 5, 5.5)], 10, 10);
    expect(tracks.map(({ name, count, total }) => [name, count, total])).toEqual([["kswapd", 1, 4], ["stall", 2, 1.5]]);
    expect(tracks[1].longest).toEqual(slice("stall", 1, 2));
  });

  it("is spread over the bins that it covers", () => {
    const [track] = tracksOf([slice("stall", 0.5, 2.25), slice("stall", 2, 2.5), slice("stall", 9.5, 10)], 10, 10);
    expect([...track.busy]).toEqual([0.5, 1, 0.75, 0, 0, 0, 0, 0, 0, 0.5]);
  });

  it("is never more than all of a bin, and takes no bin for what lies on its edge", () => {
    const [track] = tracksOf([slice("stall", 0, 1), slice("stall", 0, 1)], 2, 2);
    expect([...track.busy]).toEqual([1, 0]);
  });
});
