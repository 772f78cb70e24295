//! The block map at one moment, as cells for a grid of characters.

use super::{FrameReader, MapError, Run, Zone};
use std::collections::BTreeMap;

/// What a cell shows. In the order in which several blocks of a cell are told apart where as many are of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// A movable block with pages in it that can't be moved: what keeps it from becoming a huge page.
    Polluted,
    /// A block of unmovable pages.
    Unmovable(Fill),
    /// A block of reclaimable pages.
    Reclaimable(Fill),
    /// A block of another type.
    Other(Fill),
    /// A movable block.
    Movable(Fill),
    /// Nothing in use.
    Free,
    /// No memory.
    Absent,
}

/// How full a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Some of it is free.
    Partly,
    /// None of it is free.
    Full,
}

/// A zone's cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneGrid {
    /// The zone.
    pub zone: Zone,
    /// Blocks in a cell.
    pub per_cell: u32,
    /// Cells by address.
    pub cells: Vec<Cell>,
    /// Blocks by kind, whatever the cells show.
    pub blocks: BTreeMap<Cell, u32>,
}

impl Cell {
    /// What a block's byte tells.
    pub fn of(byte: u8) -> Cell {
        let share = |shift: u8| byte >> shift & 3;
        let (free, movable, pinned) = (share(2), share(4), share(6));
        let fill = if free == 0 { Fill::Full } else { Fill::Partly };
        match (byte & 3, movable + pinned) {
            (_, 0) if free == 0 => Cell::Absent,
            (_, 0) => Cell::Free,
            (0, _) => Cell::Unmovable(fill),
            (1, _) if pinned > 0 => Cell::Polluted,
            (1, _) => Cell::Movable(fill),
            (2, _) => Cell::Reclaimable(fill),
            _ => Cell::Other(fill),
        }
    }
}

/// A run's zones at a moment, each in at most so many cells, and the moment that the map knows.
///
/// # Errors
/// When the map is damaged.
pub fn grid(run: &Run, at: Option<f32>, most_cells: usize) -> Result<Option<(f32, Vec<ZoneGrid>)>, MapError> {
    let Some(map) = &run.map else { return Ok(None) };
    let reader = FrameReader::new(map)?;
    let Some(sample) = reader.at(at.unwrap_or(f32::INFINITY)) else { return Ok(None) };
    let bytes = reader.frame(sample);
    let zone = |zone: &Zone| {
        let first = (zone.first_block as usize).min(bytes.len());
        let end = (zone.first_block as usize + zone.blocks as usize).min(bytes.len());
        zone_grid(zone, &bytes[first..end], most_cells)
    };
    Ok(Some((reader.times()[sample], run.zones.iter().map(zone).collect())))
}

fn zone_grid(zone: &Zone, bytes: &[u8], most_cells: usize) -> ZoneGrid {
    let per_cell = bytes.len().div_ceil(most_cells.max(1)).max(1);
    let blocks: Vec<Cell> = bytes.iter().map(|byte| Cell::of(*byte)).collect();
    ZoneGrid {
        zone: zone.clone(),
        per_cell: per_cell as u32,
        cells: blocks.chunks(per_cell).map(most_frequent).collect(),
        blocks: count(&blocks),
    }
}

fn count(cells: &[Cell]) -> BTreeMap<Cell, u32> {
    let mut counts = BTreeMap::new();
    cells.iter().for_each(|cell| *counts.entry(*cell).or_default() += 1);
    counts
}

fn most_frequent(cells: &[Cell]) -> Cell {
    let counts = count(cells);
    let most = counts.values().max().copied().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).map_or(Cell::Absent, |(cell, _)| cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_cells() {
        let byte = |of: u8, free: u8, movable: u8, pinned: u8| Cell::of(of | free << 2 | movable << 4 | pinned << 6);
        assert_eq!(byte(1, 3, 0, 0), Cell::Free);
        assert_eq!(byte(1, 0, 0, 0), Cell::Absent);
        assert_eq!(byte(1, 1, 3, 0), Cell::Movable(Fill::Partly));
        assert_eq!(byte(1, 0, 3, 1), Cell::Polluted);
        assert_eq!(byte(0, 0, 1, 3), Cell::Unmovable(Fill::Full));
        assert_eq!(byte(2, 1, 0, 3), Cell::Reclaimable(Fill::Partly));
        assert_eq!(byte(3, 1, 0, 3), Cell::Other(Fill::Partly));
    }

    #[test]
    fn large_zones_share_cells() {
        let zone = Zone { node: 0, name: "Normal".into(), first_block: 0, blocks: 10 };
        let bytes = [1 | 3 << 2, 1 | 3 << 2, 1 | 3 << 6, 1 | 3 << 4, 1 | 3 << 4, 1 | 3 << 6, 0, 0, 0, 3 << 6];
        let grid = zone_grid(&zone, &bytes, 4);
        let cells = [Cell::Free, Cell::Movable(Fill::Full), Cell::Absent, Cell::Unmovable(Fill::Full)];
        assert_eq!((grid.per_cell, grid.cells.as_slice()), (3, &cells[..]));
        assert_eq!(grid.blocks[&Cell::Polluted], 2);
        assert_eq!(zone_grid(&zone, &[1 | 3 << 6, 1 | 3 << 2], 1).cells, [Cell::Polluted], "what is worse wins a tie");
    }
}
