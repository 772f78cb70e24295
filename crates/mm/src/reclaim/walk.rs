//! A walk through page tables while it goes on: who is at it, and how much is left? (docs/mglru.md, 4)

use super::page_tables::WorthWalking;
use crate::env::Nanos;

/// A walk through the page tables of a node's tasks, which several may share. What they see is noted when it begins; the rest is
/// time.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Who is at it.
    walkers: u32,
    /// Entries that nobody has begun to look at.
    left: u32,
    /// What the next one is worth.
    pub(super) worth: WorthWalking,
    /// When the last one began.
    pub(super) began: Nanos,
}

/// Entries that a walker takes at a time. The kernel's unit is a task's address space; a smaller one has nobody who comes late
/// spin through fruitless passes until the OOM killer is called, because here those cost next to nothing.
const STEP: u32 = 64;

impl Walk {
    /// Takes part in the walk that goes on, if anything is left of it: `None` if there is none.
    pub(super) fn join(&mut self) -> Option<bool> {
        if self.walkers == 0 {
            return None;
        }
        self.walkers += u32::from(self.left > 0);
        Some(self.left > 0)
    }

    /// Begins one that looks at so many entries.
    pub(super) fn begin(&mut self, entries: u32) {
        (self.walkers, self.left) = (1, entries);
    }

    /// Whether the next one looks into a page table.
    #[cfg(test)]
    pub(super) fn takes_in(&self, table: u32) -> bool {
        self.worth.has(table)
    }

    /// Whether nobody is at it.
    #[cfg(test)]
    pub(super) fn is_over(&self) -> bool {
        (self.walkers, self.left) == (0, 0)
    }

    pub(super) fn next_step(&mut self) -> Option<u32> {
        let entries = self.left.min(STEP);
        self.left -= entries;
        (entries > 0).then_some(entries)
    }

    /// Whether this was the last.
    pub(super) fn leave(&mut self) -> bool {
        self.walkers -= 1;
        self.walkers == 0
    }
}
