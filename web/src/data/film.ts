// The block map over time. Samples differ in few blocks, so they are kept as lists of changes, which are their own
// reverse (XOR): a step forward or back costs what changed, and 1,000 samples of a TiB take megabytes, not 512 MiB.

/** What differs between a sample and the one before it. Without `at`, `xor` has a byte for every block. */
interface Changes {
  at: Uint32Array | null;
  xor: Uint8Array;
}

/** A list entry takes 5 bytes where a whole frame takes 1 a block. */
const DENSE_FROM = 1 / 5;

export class Film {
  readonly blocks: number;
  readonly samples: number;
  /** Samples that have arrived; the rest is still being inflated. */
  ready = 0;
  /** Why the rest will not come, if it will not. */
  failure: string | null = null;
  /** Whole frames, to enter the film from. */
  private readonly keyframes = new Map<number, Uint8Array>();
  private readonly changes: Changes[] = [];
  /** Of every sample, how many blocks have each byte. */
  private readonly histograms: Uint32Array;
  private readonly keyframeEvery: number;
  private readonly current: Uint8Array;
  private readonly incoming: Uint8Array;
  private readonly incomingWords: Uint32Array;
  private filled = 0;
  private readonly foundAt: Uint32Array;
  private readonly foundXor: Uint8Array;

  constructor(blocks: number, samples: number, keyframeEvery: number) {
    this.blocks = blocks;
    this.samples = samples;
    this.keyframeEvery = Math.max(1, keyframeEvery);
    this.histograms = new Uint32Array(samples * 256);
    this.current = new Uint8Array(blocks);
    const padded = new ArrayBuffer(Math.ceil(blocks / 4) * 4);
    this.incoming = new Uint8Array(padded, 0, blocks);
    this.incomingWords = new Uint32Array(padded);
    this.foundAt = new Uint32Array(blocks);
    this.foundXor = new Uint8Array(blocks);
  }

  /** Takes the next piece of the concatenated frames. */
  push(piece: Uint8Array): void {
    let from = 0;
    while (from < piece.length && this.ready < this.samples) {
      const take = Math.min(this.blocks - this.filled, piece.length - from);
      this.incoming.set(piece.subarray(from, from + take), this.filled);
      this.filled += take;
      from += take;
      if (this.filled === this.blocks) {
        this.take();
        this.filled = 0;
      }
    }
  }

  private take(): void {
    const isKeyframe = this.ready % this.keyframeEvery === 0;
    if (isKeyframe) {
      this.keyframes.set(this.ready, this.incoming.slice());
      // The step onto a keyframe is a list of changes too, so that playing never jumps.
      for (let i = 0; i < this.blocks; i++) this.incoming[i] ^= this.current[i];
    }
    const histogram = this.histograms.subarray(this.ready * 256, this.ready * 256 + 256);
    if (this.ready === 0) histogram[0] = this.blocks;
    else histogram.set(this.histograms.subarray((this.ready - 1) * 256, this.ready * 256));
    this.changes.push(this.collect(histogram));
    this.ready++;
  }

  /** Lists the incoming changes, and applies them to the current frame and the histogram. */
  private collect(histogram: Uint32Array): Changes {
    const { incoming, incomingWords, current, foundAt, foundXor, blocks } = this;
    let found = 0;
    for (let word = 0; word < incomingWords.length; word++) {
      if (incomingWords[word] === 0) continue;
      const end = Math.min(word * 4 + 4, blocks);
      for (let block = word * 4; block < end; block++) {
        const xor = incoming[block];
        if (xor === 0) continue;
        histogram[current[block]]--;
        histogram[(current[block] ^= xor)]++;
        foundAt[found] = block;
        foundXor[found++] = xor;
      }
    }
    if (found > blocks * DENSE_FROM) return { at: null, xor: incoming.slice() };
    return { at: foundAt.slice(0, found), xor: foundXor.slice(0, found) };
  }

  /** How many blocks have each byte in a sample. */
  histogram(sample: number): Uint32Array {
    return this.histograms.subarray(sample * 256, sample * 256 + 256);
  }

  /** The keyframe nearest to a sample, as far as they have arrived. */
  keyframeNear(sample: number): number {
    const before = sample - (sample % this.keyframeEvery);
    const after = before + this.keyframeEvery;
    return after < this.ready && after - sample < sample - before ? after : before;
  }

  keyframe(sample: number): Uint8Array {
    const frame = this.keyframes.get(sample);
    if (!frame) throw new Error(`sample ${sample} is no keyframe`);
    return frame;
  }

  /** Applies the step between `sample - 1` and `sample`, in whichever direction the frame goes. */
  apply(sample: number, frame: Uint8Array): void {
    const { at, xor } = this.changes[sample];
    if (at) for (let i = 0; i < at.length; i++) frame[at[i]] ^= xor[i];
    else for (let block = 0; block < frame.length; block++) frame[block] ^= xor[block];
  }

  /** Calls back for every block that differs from the sample before, in address order. */
  forEachChange(sample: number, change: (block: number, xor: number) => void): void {
    const { at, xor } = this.changes[sample];
    if (at) for (let i = 0; i < at.length; i++) change(at[i], xor[i]);
    else for (let block = 0; block < xor.length; block++) if (xor[block] !== 0) change(block, xor[block]);
  }

  /** Every sample at which a block's byte changed, with the byte from then on. The first is sample 0. */
  history(block: number): { sample: number; byte: number }[] {
    const found: { sample: number; byte: number }[] = [];
    let byte = 0;
    for (let sample = 0; sample < this.ready; sample++) {
      const { at, xor } = this.changes[sample];
      const index = at ? indexOf(at, block) : block;
      const change = index < 0 ? 0 : xor[index];
      byte ^= change;
      if (sample === 0 || change !== 0) found.push({ sample, byte });
    }
    return found;
  }
}

/** Position of a value in a sorted column, or -1. */
function indexOf(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] === value) return middle;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** A frame that can be moved to any sample of a film. */
export class Projector {
  readonly frame: Uint8Array;
  sample = -1;
  private readonly film: Film;

  constructor(film: Film) {
    this.film = film;
    this.frame = new Uint8Array(film.blocks);
  }

  /** Moves to a sample, on foot or from a keyframe, whichever is nearer. */
  seek(sample: number): Uint8Array {
    const { film, frame } = this;
    const target = Math.max(0, Math.min(sample, film.ready - 1));
    if (film.ready === 0) return frame;
    const keyframe = film.keyframeNear(target);
    if (this.sample < 0 || Math.abs(target - keyframe) < Math.abs(target - this.sample)) {
      frame.set(film.keyframe(keyframe));
      this.sample = keyframe;
    }
    while (this.sample < target) film.apply(++this.sample, frame);
    while (this.sample > target) film.apply(this.sample--, frame);
    return frame;
  }
}
