// The byte of a block: bits 0-1 type, 2-3 free, 4-5 movable, 6-7 pinned share.

export const TYPES = ["unmovable", "movable", "reclaimable", "highatomic"] as const;
export type BlockType = (typeof TYPES)[number];

export const UNMOVABLE = 0;
export const MOVABLE = 1;
export const RECLAIMABLE = 2;
export const HIGHATOMIC = 3;

export const typeOf = (byte: number): number => byte & 3;
export const freeOf = (byte: number): number => (byte >> 2) & 3;
export const movableOf = (byte: number): number => (byte >> 4) & 3;
export const pinnedOf = (byte: number): number => (byte >> 6) & 3;

/** Pages that cannot be moved inside a block meant for movable ones: what keeps a huge page from being made there. */
export const isPolluted = (byte: number): boolean => typeOf(byte) === MOVABLE && pinnedOf(byte) > 0;

/** No memory there, or none that was ever in the allocator's hands: no free pages and none in use. */
export const isHole = (byte: number): boolean => byte >> 2 === 0;

/** Only free pages. */
export const isEmpty = (byte: number): boolean => freeOf(byte) > 0 && byte >> 4 === 0;

/** What a share level says in pages: a level is the third of the block that the count falls into, 0 only for none. */
export function pagesOfLevel(level: number, pagesPerBlock: number): { low: number; high: number } {
  if (level === 0) return { low: 0, high: 0 };
  return {
    low: Math.floor(((level - 1) * pagesPerBlock) / 3) + 1,
    high: Math.floor((level * pagesPerBlock) / 3),
  };
}

/** Counts that a table shows, from how many blocks have each byte. Holes are no blocks. */
export interface Counts {
  blocks: number;
  polluted: number;
  pinned: number;
  empty: number;
  byType: { blocks: number; empty: number; movableOnly: number; pinnedOnly: number; mixed: number }[];
}

export function countsOf(histogram: Uint32Array): Counts {
  const counts: Counts = {
    blocks: 0,
    polluted: 0,
    pinned: 0,
    empty: 0,
    byType: TYPES.map(() => ({ blocks: 0, empty: 0, movableOnly: 0, pinnedOnly: 0, mixed: 0 })),
  };
  for (let byte = 0; byte < 256; byte++) {
    const blocks = histogram[byte];
    if (blocks === 0 || isHole(byte)) continue;
    const row = counts.byType[typeOf(byte)];
    counts.blocks += blocks;
    row.blocks += blocks;
    const movable = movableOf(byte) > 0;
    const pinned = pinnedOf(byte) > 0;
    if (pinned) counts.pinned += blocks;
    if (isPolluted(byte)) counts.polluted += blocks;
    if (isEmpty(byte)) {
      counts.empty += blocks;
      row.empty += blocks;
    } else if (movable && pinned) row.mixed += blocks;
    else if (movable) row.movableOnly += blocks;
    else row.pinnedOnly += blocks;
  }
  return counts;
}
