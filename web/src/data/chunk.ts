// Columns of numbers: little-endian bytes, deflated, in base64.

export type Dtype = "u8" | "u16" | "u32" | "f32";

export interface Chunk {
  dtype: Dtype;
  len: number;
  data: string;
}

const BYTES: Record<Dtype, number> = { u8: 1, u16: 2, u32: 4, f32: 4 };

/** Bytes of base64 text. `Uint8Array.fromBase64` is some ten times faster, but only in browsers of 2025 and later. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The inflated bytes of a chunk, piece by piece, so that a long film never lies in memory whole. */
export async function* inflate(chunk: Chunk): AsyncGenerator<Uint8Array> {
  const source = new Blob([fromBase64(chunk.data)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = source.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function bytesOf(chunk: Chunk): Promise<Uint8Array<ArrayBuffer>> {
  const size = BYTES[chunk.dtype];
  if (size === undefined) throw new Error(`unknown type of column: ${String(chunk.dtype)}`);
  const bytes = new Uint8Array(chunk.len * size);
  // An empty column may have no stream at all (docs/view-format.md).
  if (chunk.len === 0) return bytes;
  let at = 0;
  for await (const piece of inflate(chunk)) {
    if (at + piece.length > bytes.length) throw new Error(`a column is longer than the ${chunk.len} values it promises`);
    bytes.set(piece, at);
    at += piece.length;
  }
  if (at !== bytes.length) throw new Error(`a column ends after ${at / size} of ${chunk.len} values`);
  return bytes;
}

/** The values of a chunk. Every browser there is runs on little-endian machines, so bytes are taken as they are. */
export async function numbers(chunk: Chunk): Promise<Uint8Array | Uint16Array | Uint32Array | Float32Array> {
  const { buffer } = await bytesOf(chunk);
  switch (chunk.dtype) {
    case "u8":
      return new Uint8Array(buffer);
    case "u16":
      return new Uint16Array(buffer);
    case "u32":
      return new Uint32Array(buffer);
    case "f32":
      return new Float32Array(buffer);
  }
}
