//! What does ext4's journal hold?

use crate::state::folio::FolioId;
use lab::TaskId;
use mm::Nanos;
use std::collections::{BTreeSet, VecDeque};

/// What the journal holds.
#[derive(Default)]
pub(crate) struct Journal {
    /// Pages that the running transaction has changed.
    pub running: BTreeSet<FolioId>,
    /// When it commits.
    pub due: Option<Nanos>,
    /// Pages of committed transactions that may not be in their places yet, oldest transaction first, its last change last.
    pub checkpoints: VecDeque<Vec<FolioId>>,
    /// The journal's thread, while there is no transaction.
    pub idle: Option<TaskId>,
}

impl Journal {
    /// Whether the running transaction has changed the page: it is not to be written before the commit.
    pub fn is_changing(&self, id: FolioId) -> bool {
        self.running.contains(&id)
    }

    /// Pages of committed transactions: what the shrinker can let go of.
    pub fn held(&self) -> u64 {
        self.checkpoints.iter().map(|older| older.len() as u64).sum()
    }

    /// A page of a committed transaction that is in its place: lets go of it. One that the running transaction has changed stays.
    pub fn release(&mut self, id: FolioId) -> bool {
        if self.is_changing(id) {
            return false;
        }
        self.checkpoints.iter_mut().for_each(|older| older.retain(|held| *held != id));
        self.checkpoints.retain(|older| !older.is_empty());
        true
    }

    /// Lets go of pages that are in their places, transaction by transaction, each as a whole, until there are that many
    /// (`jbd2_journal_shrink_checkpoint_list`).
    pub fn shrink(&mut self, nr: u64, is_written: impl Fn(FolioId) -> bool) -> Vec<FolioId> {
        let mut released = Vec::new();
        for older in &mut self.checkpoints {
            if released.len() as u64 >= nr {
                break;
            }
            released.extend(older.extract_if(.., |id| is_written(*id) && !self.running.contains(id)));
        }
        self.checkpoints.retain(|older| !older.is_empty());
        released
    }

    /// Pages that are in their places, up to the first one of a transaction that isn't (`JBD2_SHRINK_BUSY_STOP`).
    pub fn take_written(&mut self, is_written: impl Fn(FolioId) -> bool) -> Vec<FolioId> {
        let mut written = Vec::new();
        while let Some(oldest) = self.checkpoints.front_mut() {
            while let Some(id) = oldest.pop_if(|id| is_written(*id) && !self.running.contains(id)) {
                written.push(id);
            }
            if !oldest.is_empty() {
                break;
            }
            self.checkpoints.pop_front();
        }
        written
    }

    /// The running transaction ends: its pages. What an older one held of them is this one's now.
    pub fn commit(&mut self) -> Vec<FolioId> {
        self.due = None;
        let changed: Vec<FolioId> = std::mem::take(&mut self.running).into_iter().collect();
        for older in &mut self.checkpoints {
            older.retain(|id| changed.binary_search(id).is_err());
        }
        self.checkpoints.retain(|older| !older.is_empty());
        if !changed.is_empty() {
            self.checkpoints.push_back(changed.clone());
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_transaction_keeps_what_is_not_written_and_a_later_one_takes_its_pages_over() {
        let mut journal = Journal::default();
        let change = |journal: &mut Journal, ids: &[u32]| journal.running.extend(ids.iter().map(|&id| FolioId(id)));
        change(&mut journal, &[1, 2, 3]);
        assert_eq!(journal.commit().len(), 3);
        change(&mut journal, &[2, 4]);
        assert_eq!(journal.take_written(|id| id.0 == 3), [FolioId(3)]);
        assert_eq!(journal.take_written(|_| true), [], "2 is changed again");
        assert_eq!(journal.commit(), [2, 4].map(FolioId));
        assert_eq!(journal.take_written(|id| id.0 != 1), [], "1 is the older one's");
        assert_eq!(journal.take_written(|_| true), [1, 4, 2].map(FolioId));
        assert!(journal.checkpoints.is_empty());
    }

    #[test]
    fn what_is_short_of_memory_lets_go_of_a_page_or_of_whole_transactions() {
        let mut journal = Journal::default();
        for first in [1, 11, 21] {
            journal.running.extend((first..first + 3).map(FolioId));
            assert_eq!(journal.commit().len(), 3);
        }
        journal.running.insert(FolioId(12));
        assert!(!journal.release(FolioId(12)), "changed again");
        assert!(journal.release(FolioId(22)));
        assert_eq!(journal.held(), 8);
        assert_eq!(journal.shrink(4, |id| id.0 != 2), [1, 3, 11, 13].map(FolioId), "the second one as far as it can");
        assert_eq!(journal.shrink(1, |_| true), [FolioId(2)]);
        assert_eq!(journal.shrink(9, |_| true), [21, 23].map(FolioId));
        assert_eq!(journal.held(), 1, "12 is the running transaction's");
    }
}
