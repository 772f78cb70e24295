import { describe, expect, it } from "vitest";
import { fromBase64, inflate, numbers, type Chunk } from "../src/data/chunk";
// @ts-expect-error plain JavaScript, shared with the fixture
import { chunk } from "../scripts/fixture.mjs";

const pack = chunk as (values: Uint8Array | Uint16Array | Uint32Array | Float32Array) => Chunk;

describe("columns", () => {
  it.each([
    Uint8Array.of(0, 1, 255),
    Uint16Array.of(0, 256, 65535),
    Uint32Array.of(0, 65536, 4294967295),
    Float32Array.of(0, -1.5, Number.NaN, 3e38),
  ])("come back as they were packed: %s", async (values) => {
    expect(await numbers(pack(values))).toEqual(values);
  });

  it("have the bytes that the format names: 1.0 as f32 is 00 00 80 3f, low end first", async () => {
    // Stored block of deflate: 01, length 4, its complement, the bytes.
    const raw = Uint8Array.of(1, 4, 0, 0xfb, 0xff, 0, 0, 0x80, 0x3f);
    const data = Buffer.from(raw).toString("base64");
    expect(await numbers({ dtype: "f32", len: 1, data })).toEqual(Float32Array.of(1));
  });

  it("say what is wrong with them", async () => {
    const good = pack(Uint8Array.of(1, 2, 3));
    await expect(numbers({ ...good, len: 4 })).rejects.toThrow("ends after 3 of 4 values");
    await expect(numbers({ ...good, len: 2 })).rejects.toThrow("longer than the 2 values");
    await expect(numbers({ ...good, dtype: "f64" as never })).rejects.toThrow("unknown type of column: f64");
    await expect(numbers({ ...good, data: "AAAA" })).rejects.toThrow();
  });

  it("may be empty, with or without a stream", async () => {
    expect(await numbers(pack(new Uint32Array(0)))).toEqual(new Uint32Array(0));
    expect(await numbers({ dtype: "u32", len: 0, data: "" })).toEqual(new Uint32Array(0));
  });

  it("come in pieces that make up the whole", async () => {
    const values = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7919) >> 3);
    let at = 0;
    for await (const piece of inflate(pack(values))) {
      expect(Buffer.compare(piece, values.subarray(at, at + piece.length))).toBe(0);
      at += piece.length;
    }
    expect(at).toBe(values.length);
  });

  it("read base64 without the browser's own reader", () => {
    expect(fromBase64("AP8QgA==")).toEqual(Uint8Array.of(0, 255, 16, 128));
  });
});
