//! Fragmentation events, counted two ways: as the full matrix of types (Gorman's measure is one sum of it), and as
//! Weiner's claimer, steal and pollute.

use lab::outcome::ExtfragAt;
use pagealloc::{Extfrag, Migratetype, NR_MIGRATETYPES};
use std::fmt::Write;

/// Events of one pair of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Less than a pageblock was taken and the block kept its type.
    pub fragmenting_kept: u64,
    /// Less than a pageblock was taken and the block went over to the request's type.
    pub fragmenting_changed: u64,
    /// A whole pageblock or more was taken.
    pub whole_block: u64,
}

impl Cell {
    /// Events that took less than a pageblock.
    pub const fn fragmenting(&self) -> u64 {
        self.fragmenting_kept + self.fragmenting_changed
    }
}

/// Events by type of the request and type that it fell back to, split by severity and change of ownership.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    cells: [[Cell; NR_MIGRATETYPES]; NR_MIGRATETYPES],
}

impl Matrix {
    /// Counts events.
    pub fn of(events: &[ExtfragAt]) -> Matrix {
        let mut matrix = Matrix::default();
        for at in events {
            matrix.count(&at.event);
        }
        matrix
    }

    /// Counts one event.
    pub fn count(&mut self, event: &Extfrag) {
        let cell = &mut self.cells[event.alloc_migratetype.index()][event.fallback_migratetype.index()];
        match (event.fragmenting(), event.change_ownership) {
            (true, false) => cell.fragmenting_kept += 1,
            (true, true) => cell.fragmenting_changed += 1,
            (false, _) => cell.whole_block += 1,
        }
    }

    /// Requests of type `wanted` served from blocks of type `from`.
    pub fn cell(&self, wanted: Migratetype, from: Migratetype) -> Cell {
        self.cells[wanted.index()][from.index()]
    }

    /// All pairs of types with their cells, by number of the type.
    pub fn cells(&self) -> impl Iterator<Item = (Migratetype, Migratetype, Cell)> + '_ {
        Migratetype::ALL.into_iter().flat_map(move |wanted| {
            Migratetype::ALL.into_iter().map(move |from| (wanted, from, self.cell(wanted, from)))
        })
    }

    /// Events that took less than a pageblock: the count that Gorman's posts give.
    pub fn fragmenting(&self) -> u64 {
        self.cells().map(|(_, _, cell)| cell.fragmenting()).sum()
    }

    /// Events that took a whole pageblock or more.
    pub fn whole_block(&self) -> u64 {
        self.cells().map(|(_, _, cell)| cell.whole_block).sum()
    }
}

/// The six pairs of different mergeable types, in the order in which tables list them.
pub fn fallback_pairs() -> impl Iterator<Item = (Migratetype, Migratetype)> {
    let types = Migratetype::MERGEABLE;
    types
        .into_iter()
        .flat_map(move |wanted| types.into_iter().map(move |from| (wanted, from)))
        .filter(|(wanted, from)| wanted != from)
}

/// The type's name as row names and bpftrace maps print it.
pub fn type_name(migratetype: Migratetype) -> String {
    migratetype.name().to_ascii_lowercase()
}

/// A count of a pair of types.
type CountOf = fn(&Weiner, Migratetype, Migratetype) -> u64;

/// Weiner's classification: every event is exactly one of claimer, steal and pollute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weiner {
    matrix: Matrix,
}

impl Weiner {
    /// Classifies events.
    pub fn of(events: &[ExtfragAt]) -> Weiner {
        Weiner { matrix: Matrix::of(events) }
    }

    /// Completely free pageblocks that the type converted.
    pub fn claimer(&self, wanted: Migratetype) -> u64 {
        Migratetype::ALL.into_iter().map(|from| self.matrix.cell(wanted, from).whole_block).sum()
    }

    /// Partly used blocks that went over from `from` to `wanted`.
    pub fn steal(&self, wanted: Migratetype, from: Migratetype) -> u64 {
        self.matrix.cell(wanted, from).fragmenting_changed
    }

    /// Pages of `wanted` put into a block that stayed `from`.
    pub fn pollute(&self, wanted: Migratetype, from: Migratetype) -> u64 {
        self.matrix.cell(wanted, from).fragmenting_kept
    }

    /// The counts as bpftrace prints the maps of the same names, keys without events left out as bpftrace does.
    pub fn to_bpftrace_maps(&self) -> String {
        let mut text = String::new();
        for wanted in Migratetype::MERGEABLE {
            let count = self.claimer(wanted);
            if count > 0 {
                let _ = writeln!(text, "@claimer[{}]: {count}", type_name(wanted));
            }
        }
        let kinds: [(&str, CountOf); 2] = [("pollute", Weiner::pollute), ("steal", Weiner::steal)];
        for (map, count_of) in kinds {
            for (wanted, from) in fallback_pairs() {
                let count = count_of(self, wanted, from);
                if count > 0 {
                    let _ = writeln!(text, "@{map}[{} from {}]: {count}", type_name(wanted), type_name(from));
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::Pfn;

    pub(crate) fn event(wanted: u8, from: u8, fallback_order: u8, change_ownership: bool) -> ExtfragAt {
        let event = Extfrag {
            pfn: Pfn(0),
            alloc_order: 0,
            fallback_order,
            alloc_migratetype: Migratetype::from_index(wanted),
            fallback_migratetype: Migratetype::from_index(from),
            change_ownership,
            pageblock_order: 9,
        };
        ExtfragAt { ts: 0, event }
    }

    #[test]
    fn every_event_is_in_exactly_one_class() {
        let events = [event(0, 1, 9, true), event(0, 1, 10, false), event(0, 2, 3, true), event(1, 2, 0, false)];
        let matrix = Matrix::of(&events);
        assert_eq!((matrix.fragmenting(), matrix.whole_block()), (2, 2));
        assert_eq!(
            Weiner::of(&events).to_bpftrace_maps(),
            "@claimer[unmovable]: 2\n\
             @pollute[movable from reclaimable]: 1\n\
             @steal[unmovable from reclaimable]: 1\n"
        );
    }

    #[test]
    fn six_pairs() {
        assert_eq!(fallback_pairs().count(), 6);
        assert!(fallback_pairs().all(|(wanted, from)| wanted != from));
    }
}
