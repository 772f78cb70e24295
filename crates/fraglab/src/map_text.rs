//! Blocks as characters: a colour for the type, a letter where there is none. Colours are told apart by people who see red and
//! green alike (Okabe and Ito's set).

use anstyle::{Ansi256Color, Color, Style};
use report::view::{Fill, MapCell, ZoneGrid};
use std::fmt::Write;
use std::io::IsTerminal;

/// Whether there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Letters alone.
    Plain,
    /// Colours.
    Colour,
}

impl Paint {
    /// As stdout and the environment want it (NO_COLOR, CLICOLOR_FORCE).
    pub fn for_stdout() -> Paint {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let colour = !set("NO_COLOR") && (set("CLICOLOR_FORCE") || std::io::stdout().is_terminal());
        if colour { Paint::Colour } else { Paint::Plain }
    }
}

/// A cell's letter, and its colour.
pub fn look(cell: MapCell) -> (char, u8) {
    let of = |letter: char, fill: Fill| match fill {
        Fill::Full => letter.to_ascii_uppercase(),
        Fill::Partly => letter,
    };
    match cell {
        MapCell::Unmovable(fill) => (of('u', fill), 214),
        MapCell::Reclaimable(fill) => (of('r', fill), 36),
        MapCell::Other(fill) => (of('h', fill), 175),
        MapCell::Movable(fill) => (of('m', fill), 32),
        MapCell::Polluted => ('*', 202),
        MapCell::Free => ('.', 244),
        MapCell::Absent => (' ', 0),
    }
}

/// What the characters mean.
const LEGEND: [(MapCell, &str); 7] = [
    (MapCell::Free, "free"),
    (MapCell::Movable(Fill::Partly), "movable"),
    (MapCell::Polluted, "movable, holds pages that can't move"),
    (MapCell::Unmovable(Fill::Partly), "unmovable"),
    (MapCell::Reclaimable(Fill::Partly), "reclaimable"),
    (MapCell::Other(Fill::Partly), "other"),
    (MapCell::Absent, "no memory"),
];

/// The legend in a line; capital letters are full blocks.
pub fn legend(paint: Paint) -> String {
    let mut text = String::new();
    for (cell, meaning) in LEGEND {
        let (letter, _) = look(cell);
        if cell == MapCell::Absent {
            continue;
        }
        character(&mut text, letter, cell, paint);
        let _ = write!(text, " {meaning}   ");
    }
    text.push_str("(capital: full)\n");
    text
}

/// A zone: heading, counts, cells.
pub fn zone(grid: &ZoneGrid, block_kib: u64, width: usize, paint: Paint) -> String {
    let mut text = heading(grid, block_kib);
    for line in grid.cells.chunks(width) {
        for cell in line {
            character(&mut text, look(*cell).0, *cell, paint);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.push('\n');
    text
}

fn heading(grid: &ZoneGrid, block_kib: u64) -> String {
    let zone = &grid.zone;
    let mut text = format!("Node {}, zone {}: {} blocks of {block_kib} KiB", zone.node, zone.name, zone.blocks);
    if grid.per_cell > 1 {
        let _ = write!(text, ", {} in a character", grid.per_cell);
    }
    let count = |is: fn(MapCell) -> bool| -> u32 {
        grid.blocks.iter().filter(|(cell, _)| is(**cell)).map(|(_, count)| count).sum()
    };
    let _ = writeln!(
        text,
        "; free {}, movable {}, of these with unmovable pages {}, unmovable {}, reclaimable {}",
        count(|cell| cell == MapCell::Free),
        count(|cell| matches!(cell, MapCell::Movable(_) | MapCell::Polluted)),
        count(|cell| cell == MapCell::Polluted),
        count(|cell| matches!(cell, MapCell::Unmovable(_))),
        count(|cell| matches!(cell, MapCell::Reclaimable(_))),
    );
    text
}

fn character(text: &mut String, letter: char, cell: MapCell, paint: Paint) {
    let (_, colour) = look(cell);
    if paint == Paint::Plain || cell == MapCell::Absent {
        text.push(letter);
        return;
    }
    let style = Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(colour))));
    let _ = write!(text, "{style}{letter}{style:#}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::view::Zone;
    use std::collections::BTreeMap;

    #[test]
    fn plain_text_has_a_letter_a_block_and_no_escape() {
        let cells = vec![MapCell::Free, MapCell::Polluted, MapCell::Unmovable(Fill::Full), MapCell::Absent];
        let grid = ZoneGrid {
            zone: Zone { node: 0, name: "DMA32".into(), first_block: 0, blocks: 4 },
            per_cell: 1,
            blocks: BTreeMap::from([(MapCell::Free, 1), (MapCell::Polluted, 1), (MapCell::Unmovable(Fill::Full), 1)]),
            cells,
        };
        let plain = zone(&grid, 2048, 3, Paint::Plain);
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines[1..4], [".*U", "", ""]);
        assert!(
            lines[0].contains("4 blocks of 2048 KiB; free 1, movable 1, of these with unmovable pages 1"),
            "{plain}"
        );
        assert!(!legend(Paint::Plain).contains('\u{1b}'));
        assert!(zone(&grid, 2048, 3, Paint::Colour).contains("\u{1b}[38;5;202m*"));
    }
}
