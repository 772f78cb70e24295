// Where a block stands on the map.
//
// Rows in address order, like a text: the two compaction scanners, the free lists and the zones' borders all run along
// addresses, and rows let the eye follow them ("the low end filled up first", "the last rows stay free"). A Hilbert
// curve keeps neighbours closer together, but on it nobody can tell which way is up, and a clump has no address. Rows
// are 4, 5, 6 or 7 times a power of two blocks long: round in bytes, and some width of these fills any pane.

import type { Zone } from "../data/view";

/** A zone on the map; lengths are in cells, a cell is a block. */
export interface Band {
  label: string;
  first: number;
  blocks: number;
  top: number;
  rows: number;
}

export interface Layout {
  columns: number;
  /** Rows of all bands with the gaps between them. */
  height: number;
  bands: Band[];
}

/** Gap between zones, as a share of the map's height, and at least this many rows. */
const GAP_SHARE = 0.02;
const GAP_ROWS = 0.75;

/** A block that two zones share belongs to the later one (docs/view-format.md). */
function spans(zones: Zone[], blocks: number): { label: string; first: number; blocks: number }[] {
  const several = new Set(zones.map((zone) => zone.node)).size > 1;
  const sorted = zones.filter((zone) => zone.blocks > 0).sort((a, b) => a.first_block - b.first_block);
  const found = sorted.map((zone, i) => {
    const next = i + 1 < sorted.length ? sorted[i + 1].first_block : blocks;
    const end = Math.min(zone.first_block + zone.blocks, next, blocks);
    return {
      label: several ? `node ${zone.node} ${zone.name}` : zone.name,
      first: zone.first_block,
      blocks: end - zone.first_block,
    };
  });
  const known = found.filter((span) => span.blocks > 0);
  return known.length > 0 ? known : [{ label: "", first: 0, blocks }];
}

function arrange(zones: ReturnType<typeof spans>, columns: number): Layout {
  const rows = zones.map((zone) => Math.ceil(zone.blocks / columns));
  const total = rows.reduce((sum, count) => sum + count, 0);
  const gap = Math.max(GAP_ROWS, total * GAP_SHARE);
  let top = 0;
  const bands = zones.map((zone, i) => {
    const band = { ...zone, top, rows: rows[i] };
    top += rows[i] + gap;
    return band;
  });
  return { columns, height: top - gap, bands };
}

/** The layout whose cells are largest on a pane of that aspect (width by height). */
export function layoutOf(zones: Zone[], blocks: number, aspect: number): Layout {
  const known = spans(zones, blocks);
  let best: Layout | null = null;
  let bestCell = 0;
  for (let power = 2; power <= 1024; power *= 2) {
    for (const times of [4, 5, 6, 7]) {
      const layout = arrange(known, times * power);
      const cell = Math.min(aspect / layout.columns, 1 / layout.height);
      if (best !== null && cell <= bestCell) continue;
      best = layout;
      bestCell = cell;
    }
  }
  return best as Layout;
}

/** The cell of a block: column and row of its upper left corner, or null where the map has no such block. */
export function cellOf(layout: Layout, block: number): { x: number; y: number } | null {
  for (const band of layout.bands) {
    const index = block - band.first;
    if (index < 0 || index >= band.blocks) continue;
    return { x: index % layout.columns, y: band.top + Math.floor(index / layout.columns) };
  }
  return null;
}

/** The block at a point in cells, or null between zones and outside. */
export function blockAt(layout: Layout, x: number, y: number): number | null {
  if (x < 0 || x >= layout.columns) return null;
  for (const band of layout.bands) {
    if (y < band.top || y >= band.top + band.rows) continue;
    const index = Math.floor(y - band.top) * layout.columns + Math.floor(x);
    return index < band.blocks ? band.first + index : null;
  }
  return null;
}

/** The block one step away on the map, or the same one at the edges. Up and down cross into the next zone. */
export function neighbour(layout: Layout, block: number, dx: number, dy: number): number {
  const at = layout.bands.findIndex((band) => block >= band.first && block < band.first + band.blocks);
  if (at < 0) return layout.bands[0].first;
  const band = layout.bands[at];
  const index = block - band.first + dx + dy * layout.columns;
  if (index >= 0 && index < band.blocks) return band.first + index;
  if (dx !== 0) {
    const next = layout.bands[at + dx];
    if (!next) return block;
    return dx > 0 ? next.first : next.first + next.blocks - 1;
  }
  const column = (block - band.first) % layout.columns;
  const lastRow = Math.floor((band.blocks - 1) / layout.columns);
  // Down from the row above a short last row ends on its last block rather than nowhere.
  if (dy > 0 && Math.floor((block - band.first) / layout.columns) < lastRow) return band.first + band.blocks - 1;
  const next = layout.bands[at + dy];
  if (!next) return block;
  const row = dy > 0 ? 0 : Math.ceil(next.blocks / layout.columns) - 1;
  return next.first + Math.min(row * layout.columns + column, next.blocks - 1);
}
