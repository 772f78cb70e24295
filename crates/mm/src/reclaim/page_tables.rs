//! Which page tables is a walk worth? Those that the one before it, or eviction since, found densely used (docs/mglru.md, 4).

use crate::env::Nanos;
use alloc::vec::Vec;

/// A table is worth the next walk if as many of its entries are in use as it has cache lines, which hold eight entries each.
const PER_CACHE_LINE: u32 = 8;

/// Entries that were looked at, and those of them in use.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Entries {
    pub looked_at: u32,
    pub used: u32,
}

impl Entries {
    /// The entries of a folio of so many pages.
    pub fn note(&mut self, pages: u32, used: bool) {
        self.looked_at += pages;
        self.used += if used { pages } else { 0 };
    }

    /// Whether entries are used as densely as a walk is worth (`suitable_to_scan`).
    pub fn are_dense(self) -> bool {
        self.used * PER_CACHE_LINE >= self.looked_at
    }
}

/// Tables by their numbers. The kernel's `lru_gen_mm_state` has a Bloom filter, which may take a table for another; this takes none.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct WorthWalking {
    /// Whether each of the first tables is; nothing is known before the first walk, which takes in all.
    tables: Option<Vec<bool>>,
}

impl WorthWalking {
    /// Whether a walk takes in a table.
    pub fn has(&self, table: u32) -> bool {
        self.tables.as_ref().is_none_or(|tables| tables.get(table as usize) == Some(&true))
    }

    /// From now on a table is.
    pub fn add(&mut self, table: u32) {
        let Some(tables) = &mut self.tables else { return };
        let index = table as usize;
        if tables.len() <= index {
            tables.resize(index + 1, false);
        }
        tables[index] = true;
    }
}

/// The tables of a walk.
pub(super) struct Tables {
    worth: WorthWalking,
    /// When the walk before it began.
    before: Nanos,
    seen: Vec<Entries>,
    /// Entries of the tables above, of which no walk passes any.
    huge: u32,
}

impl Tables {
    /// A walk through those that are worth it begins; the one before it began at `before`.
    pub fn to_walk(worth: WorthWalking, before: Nanos) -> Tables {
        Tables { worth, before, seen: Vec::new(), huge: 0 }
    }

    /// Whether the walk takes in a table of an address space that began `since` then; `None`: one above. Of those that are new, it
    /// takes in all (`force_scan`).
    pub fn take_in(&self, table: Option<u32>, since: Nanos) -> bool {
        table.is_none_or(|table| since > self.before || self.worth.has(table))
    }

    /// It looked at the entries of a folio of so many pages there.
    pub fn looked_at(&mut self, table: Option<u32>, pages: u32, used: bool) {
        let Some(table) = table else {
            self.huge += 1;
            return;
        };
        let index = table as usize;
        if self.seen.len() <= index {
            self.seen.resize(index + 1, Entries::default());
        }
        self.seen[index].note(pages, used);
    }

    /// And at those of the same tables whose pages are on swap.
    pub fn looked_at_swapped(&mut self, of: impl Fn(u32) -> u32) {
        let tables = self.seen.iter_mut().enumerate().filter(|(_, entries)| entries.looked_at > 0);
        tables.for_each(|(table, entries)| entries.note(of(table as u32), false));
    }

    /// How many entries it looked at.
    pub fn entries(&self) -> u32 {
        self.seen.iter().fold(self.huge, |sum, entries| sum + entries.looked_at)
    }

    /// What the next walk is worth.
    pub fn worth_another(&self) -> WorthWalking {
        let dense = |entries: &Entries| entries.looked_at > 0 && entries.are_dense();
        WorthWalking { tables: Some(self.seen.iter().map(dense).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_walk_every_table_is_worth_one() {
        let mut worth = WorthWalking::default();
        assert!(worth.has(0) && worth.has(1_000_000));
        worth.add(3);
        assert!(worth.has(4), "what eviction finds then is not kept");
    }

    #[test]
    fn tables_of_which_an_eighth_is_in_use_are_walked_again() {
        let mut tables = Tables::to_walk(WorthWalking::default(), 0);
        for entry in 0..512 {
            tables.looked_at(Some(0), 1, entry < 64);
            tables.looked_at(Some(1), 1, entry < 63);
        }
        tables.looked_at(Some(2), 16, true);
        tables.looked_at(None, 512, false);
        assert_eq!(tables.entries(), 512 + 512 + 16 + 1);
        let mut worth = tables.worth_another();
        assert_eq!([0, 1, 2, 3].map(|table| worth.has(table)), [true, false, true, false]);
        worth.add(9);
        worth.add(1);
        assert_eq!([1, 8, 9, 10].map(|table| worth.has(table)), [true, false, true, false]);
        let tables = Tables::to_walk(worth, 1_000);
        assert_eq!([Some(9), Some(8), None].map(|table| tables.take_in(table, 1_000)), [true, false, true]);
        assert!(tables.take_in(Some(8), 1_001), "an address space that began after the last walk");
    }

    #[test]
    fn entries_on_swap_make_a_table_sparse() {
        let mut tables = Tables::to_walk(WorthWalking::default(), 0);
        tables.looked_at(Some(0), 1, true);
        tables.looked_at(Some(2), 1, true);
        tables.looked_at_swapped(|table| [8, 100, 7][table as usize]);
        assert_eq!(tables.entries(), 1 + 8 + 1 + 7, "table 1 was not walked");
        let worth = tables.worth_another();
        assert_eq!([0, 1, 2].map(|table| worth.has(table)), [false, false, true]);
    }
}
