// What took time, summed up by who took it.

export interface Slice {
  track: string;
  name: string;
  start_s: number;
  end_s: number;
}

export interface Track {
  name: string;
  count: number;
  /** Seconds; where several tasks wait at once, the sum of all. */
  total: number;
  longest: Slice;
  /** Share of each bin of the run in which somebody was at it, 0 to 1. */
  busy: Float32Array;
}

/** The tracks of a run, the longest at it first. */
export function tracksOf(slices: readonly Slice[], duration: number, bins: number): Track[] {
  const tracks = new Map<string, Track>();
  for (const slice of slices) {
    let track = tracks.get(slice.track);
    if (!track) {
      track = { name: slice.track, count: 0, total: 0, longest: slice, busy: new Float32Array(bins) };
      tracks.set(slice.track, track);
    }
    track.count++;
    track.total += slice.end_s - slice.start_s;
    if (length(slice) > length(track.longest)) track.longest = slice;
    spread(track.busy, slice, duration);
  }
  return [...tracks.values()].sort((a, b) => b.total - a.total);
}

export const length = ({ start_s, end_s }: Slice): number => end_s - start_s;

/** Adds what a slice covers of each bin. */
function spread(busy: Float32Array, { start_s, end_s }: Slice, duration: number): void {
  const width = duration / busy.length;
  const last = Math.min(busy.length - 1, Math.floor(end_s / width));
  for (let bin = Math.max(0, Math.floor(start_s / width)); bin <= last; bin++) {
    const covered = Math.min(end_s, (bin + 1) * width) - Math.max(start_s, bin * width);
    busy[bin] = Math.min(1, busy[bin] + Math.max(0, covered) / width);
  }
}
