import { describe, expect, it } from "vitest";
import { Film, Projector } from "../src/data/film";
// @ts-expect-error plain JavaScript, shared with the fixture
import * as fixture from "../scripts/fixture.mjs";

const random = fixture.random as (seed: number) => () => number;
const packed = fixture.film as (frames: Uint8Array[], every: number) => Uint8Array;

/** Frames in which some blocks change each time; every tenth sample changes most of them. */
function frames(blocks: number, samples: number, seed: number): Uint8Array[] {
  const next = random(seed);
  const all = [Uint8Array.from({ length: blocks }, () => Math.floor(next() * 256))];
  while (all.length < samples) {
    const share = all.length % 10 === 0 ? 0.8 : 0.03;
    all.push(all[all.length - 1].map((byte) => (next() < share ? Math.floor(next() * 256) : byte)));
  }
  return all;
}

function filmOf(all: Uint8Array[], every: number, piece: number): Film {
  const film = new Film(all[0].length, all.length, every);
  const bytes = packed(all, every);
  for (let at = 0; at < bytes.length; at += piece) film.push(bytes.subarray(at, at + piece));
  return film;
}

describe.each([
  { blocks: 1, samples: 3, every: 1, piece: 1 },
  { blocks: 101, samples: 45, every: 8, piece: 17 },
  { blocks: 256, samples: 33, every: 32, piece: 100_000 },
  { blocks: 130, samples: 20, every: 1000, piece: 131 },
])("a film of $blocks blocks, $samples samples, a keyframe every $every, in pieces of $piece", ({ blocks, samples, every, piece }) => {
  const all = frames(blocks, samples, blocks);
  const film = filmOf(all, every, piece);

  it("is complete", () => {
    expect(film.ready).toBe(samples);
  });

  it("shows every sample, wherever one comes from", () => {
    const next = random(7);
    const projector = new Projector(film);
    for (let i = 0; i < 200; i++) {
      const sample = Math.floor(next() * samples);
      expect(projector.seek(sample)).toEqual(all[sample]);
      expect(projector.sample).toBe(sample);
    }
  });

  it("counts the blocks of every byte", () => {
    for (const [sample, frame] of all.entries()) {
      const counts = new Uint32Array(256);
      for (const byte of frame) counts[byte]++;
      expect(film.histogram(sample)).toEqual(counts);
    }
  });

  it("knows the history of every block", () => {
    for (let block = 0; block < blocks; block++) {
      const expected = all.flatMap((frame, sample) =>
        sample === 0 || frame[block] !== all[sample - 1][block] ? [{ sample, byte: frame[block] }] : [],
      );
      expect(film.history(block)).toEqual(expected);
    }
  });

  it("names every change once, in address order", () => {
    const frame = new Uint8Array(blocks);
    for (const [sample, expected] of all.entries()) {
      let before = -1;
      film.forEachChange(sample, (block, xor) => {
        expect(block).toBeGreaterThan(before);
        expect(xor).not.toBe(0);
        before = block;
        frame[block] ^= xor;
      });
      expect(frame).toEqual(expected);
    }
  });
});

describe("a film that is still arriving", () => {
  it("shows what is there, and nothing beyond", () => {
    const all = frames(40, 10, 3);
    const film = new Film(40, 10, 4);
    film.push(packed(all, 4).subarray(0, 40 * 6 + 39));
    expect(film.ready).toBe(6);
    expect(new Projector(film).seek(9)).toEqual(all[5]);
  });

  it("ignores what comes after its last sample", () => {
    const all = frames(8, 3, 4);
    const film = new Film(8, 3, 2);
    film.push(new Uint8Array([...packed(all, 2), 1, 2, 3, 4, 5, 6, 7, 8]));
    expect(film.ready).toBe(3);
    expect(new Projector(film).seek(2)).toEqual(all[2]);
  });
});
