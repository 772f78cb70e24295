//! *How long does ext4's journal hold a page of metadata?* From its change on. When the transaction commits, the page becomes dirty for the
//! flusher to write to its place; the first commit after that write lets go of it (jbd2).

use crate::folio::FolioId;
use crate::sim::Sim;
use lab::TaskId;
use mm::{Env, Nanos, PageFlags};
use std::collections::{BTreeSet, VecDeque};

/// A transaction is open for so long (`JBD2_DEFAULT_MAX_COMMIT_AGE`), and up to the next whole second.
const COMMIT_INTERVAL: Nanos = 5_000_000_000;
const SECOND: Nanos = 1_000_000_000;

/// What the journal holds.
#[derive(Default)]
pub(crate) struct Journal {
    /// Pages that the running transaction has changed.
    running: BTreeSet<FolioId>,
    /// When it commits.
    due: Option<Nanos>,
    /// Pages of committed transactions that may not be in their places yet, oldest transaction first, its last change last.
    checkpoints: VecDeque<Vec<FolioId>>,
    /// The journal's thread, while there is no transaction.
    idle: Option<TaskId>,
}

impl Journal {
    /// Whether the running transaction has changed the page: it is not to be written before the commit.
    pub fn is_changing(&self, id: FolioId) -> bool {
        self.running.contains(&id)
    }

    /// Pages that are in their places, up to the first one of a transaction that isn't (`JBD2_SHRINK_BUSY_STOP`).
    fn take_written(&mut self, is_written: impl Fn(FolioId) -> bool) -> Vec<FolioId> {
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
    fn commit(&mut self) -> Vec<FolioId> {
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

impl Sim {
    /// A page of metadata is changed: it stays where it is from now on.
    pub fn change_metadata(&self, id: FolioId) {
        let state = &mut *self.mm.state.borrow_mut();
        let Some(pfn) = state.owner.folios.frame(id) else { return };
        state.pages.add_flags(pfn, PageFlags::PINNED);
        let mut journal = self.journal.borrow_mut();
        journal.running.insert(id);
        journal.due.get_or_insert((self.mm.env.now() + COMMIT_INTERVAL).next_multiple_of(SECOND));
        if let Some(task) = journal.idle.take() {
            self.env().unpark(task);
        }
    }

    /// The journal's thread (`kjournald2`).
    pub async fn commit_forever(&self) {
        loop {
            let due = self.journal.borrow().due;
            match due {
                None => {
                    self.journal.borrow_mut().idle = Some(self.env().current.get());
                    self.env().park(None).await;
                }
                Some(due) if due > self.mm.env.now() => self.env().sleep_until(due).await,
                Some(_) => self.commit_metadata(),
            }
        }
    }

    /// Ends the running transaction, if there is one: what earlier ones have had written is let go of, and what this one has changed is dirty.
    pub fn commit_metadata(&self) {
        let mut journal = self.journal.borrow_mut();
        if journal.running.is_empty() {
            return;
        }
        let state = &mut *self.mm.state.borrow_mut();
        let written = journal.take_written(|id| {
            let busy = PageFlags::DIRTY.with(PageFlags::WRITEBACK);
            state.owner.folios.frame(id).is_none_or(|pfn| !state.pages.flags(pfn).intersects(busy))
        });
        for pfn in written.into_iter().filter_map(|id| state.owner.folios.frame(id)) {
            state.pages.clear_flags(pfn, PageFlags::PINNED);
        }
        for id in journal.commit() {
            if let Some(pfn) =
                state.owner.folios.frame(id).filter(|&pfn| !state.pages.flags(pfn).contains(PageFlags::DIRTY))
            {
                state.set_dirty(pfn);
                self.dirtied.borrow_mut().push_back((self.mm.env.now(), id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::file::BLOCK_DEVICE;
    use crate::tests::{all, run_alone, small_machine, started};
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;
    use std::cell::RefCell;
    use workload::{FileId, Op};

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

    /// Whether the page that describes file 1 is dirty and held after a file was made and these operations were done.
    fn metadata_after(ops: &[Op]) -> (bool, bool) {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        let found = RefCell::new((false, false));
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            all(&sim, pid, &[Op::Create { file: FileId(1) }]).await?;
            all(&sim, pid, ops).await?;
            let state = sim.mm.state.borrow();
            let page = state.owner.files.get(BLOCK_DEVICE).and_then(|of| of.page(0));
            let pfn = page.and_then(|id| state.owner.folios.frame(id)).unwrap();
            let is = |flag| state.pages.flags(pfn).contains(flag);
            *found.borrow_mut() = (is(PageFlags::DIRTY), is(PageFlags::PINNED));
            Ok(())
        });
        found.take()
    }

    #[test]
    fn metadata_is_dirty_from_the_commit_on_and_held_until_one_after_its_write() {
        let wait = |seconds: u64| Op::Sleep { nanos: seconds * SECOND };
        assert_eq!(metadata_after(&[wait(4)]), (false, true));
        assert_eq!(metadata_after(&[wait(7)]), (true, true), "5 s, and up to the next second");
        assert_eq!(metadata_after(&[wait(45)]), (false, true), "no commit without a change");
        // Far enough away to be another page's.
        let another = Op::Create { file: FileId(1_000) };
        assert_eq!(metadata_after(&[wait(45), another, wait(7)]), (false, false));
        assert_eq!(metadata_after(&[Op::SyncAll]), (false, true), "committed and written");
        assert_eq!(metadata_after(&[Op::SyncAll, another, Op::SyncAll]), (false, false));
    }
}
