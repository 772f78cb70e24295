//! *How long does ext4's journal hold a page of metadata?* From its change on. When the transaction commits, the page becomes dirty for the
//! flusher to write to its place; the first commit after that write lets go of it (jbd2), if not memory that is short has done so before.

use crate::sim::{Sim, SimWorld};
use crate::state::computer::Computer;
use crate::state::folio::FolioId;
use crate::state::journal::Journal;
use mm::{Env, Nanos, PageFlags, State};

/// A transaction is open for so long (`JBD2_DEFAULT_MAX_COMMIT_AGE`), and up to the next whole second.
const COMMIT_INTERVAL: Nanos = 5_000_000_000;
const SECOND: Nanos = 1_000_000_000;

impl Sim {
    /// A page of metadata is changed: it stays where it is from now on.
    pub fn change_metadata(&self, id: FolioId) {
        let state = &mut *self.mm.state.borrow_mut();
        let Some(pfn) = state.owner.folios.frame(id) else { return };
        state.pages.add_flags(pfn, PageFlags::PINNED);
        let journal = &mut state.owner.journal;
        journal.running.insert(id);
        journal.due.get_or_insert(
            (self.mm.env.now() + self.writeback_timer(COMMIT_INTERVAL)).next_multiple_of(self.writeback_timer(SECOND)),
        );
        if let Some(task) = journal.idle.take() {
            self.env().unpark(task);
        }
    }

    /// The journal's thread (`kjournald2`).
    pub async fn commit_forever(&self) {
        loop {
            let due = self.mm.state.borrow().owner.journal.due;
            match due {
                None => {
                    self.mm.state.borrow_mut().owner.journal.idle = Some(self.env().current.get());
                    self.env().park(None).await;
                }
                Some(due) if due > self.mm.env.now() => self.env().sleep_until(due).await,
                Some(_) => self.commit_metadata(),
            }
        }
    }

    /// Lets go of all that is in its place.
    pub fn release_metadata(&self) {
        let_go(&mut self.mm.state.borrow_mut(), |journal, is_written| journal.shrink(u64::MAX, is_written));
    }

    /// Ends the running transaction, if there is one: what earlier ones have had written is let go of, and what this one has changed is dirty.
    pub fn commit_metadata(&self) {
        let state = &mut *self.mm.state.borrow_mut();
        if state.owner.journal.running.is_empty() {
            return;
        }
        let_go(state, |journal, is_written| journal.take_written(is_written));
        for id in state.owner.journal.commit() {
            if let Some(pfn) =
                state.owner.folios.frame(id).filter(|&pfn| !state.pages.flags(pfn).contains(PageFlags::DIRTY))
            {
                state.set_dirty(pfn);
                self.dirtied.borrow_mut().push_back((self.mm.env.now(), id));
            }
        }
    }
}

/// Lets go of those of the journal's pages that are in their places, as far as `which` goes.
fn let_go(state: &mut State<SimWorld>, which: impl FnOnce(&mut Journal, &dyn Fn(FolioId) -> bool) -> Vec<FolioId>) {
    let State { owner, pages, .. } = state;
    let Computer { journal, folios, .. } = owner;
    let written = which(journal, &|id| folios.frame(id).is_none_or(|pfn| pages.is_written(pfn)));
    for pfn in written.into_iter().filter_map(|id| folios.frame(id)) {
        pages.clear_flags(pfn, PageFlags::PINNED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::state::file::BLOCK_DEVICE;
    use crate::tests::{all, run_alone, small_machine, started};
    use mm::Owner;
    use mm::thp::ThpEnabled;
    use pagealloc::NodeId;
    use pagealloc::policy::preset;
    use std::cell::RefCell;
    use workload::{FileId, Op};

    /// Whether the page that describes file 1 is dirty and held after a file was made and these operations were done.
    fn metadata_after(ops: &[Op]) -> (bool, bool) {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        // Sleep ends with the run.
        sim.roots_left.set(1);
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
    fn the_shrinker_sees_the_journals_pages_where_the_kernel_has_one() {
        let held = |name: &str| {
            let sim = boot(&small_machine(ThpEnabled::Never), &preset(name).unwrap(), 1, &[]).unwrap();
            run_alone(&sim, async {
                let pid = started(&sim).await?;
                all(&sim, pid, &[Op::Create { file: FileId(1) }, Op::SyncAll]).await
            });
            let owner = &mut sim.mm.state.borrow_mut().owner;
            let count = (0..owner.shrinkers()).map(|shrinker| owner.shrinker_count(shrinker, NodeId(0)).0).next_back();
            let page = owner.files.get(BLOCK_DEVICE).and_then(|of| of.page(0)).unwrap();
            (count, owner.release_folio(page.into()))
        };
        assert_eq!(held("linux-6.18"), (Some(1), true));
        assert_eq!(held("linux-5.10"), (Some(0), true));
    }

    #[test]
    fn dropping_caches_takes_metadata_along_where_each_page_is_asked_for() {
        let left = |name: &str, times: usize| {
            let sim = boot(&small_machine(ThpEnabled::Never), &preset(name).unwrap(), 1, &[]).unwrap();
            run_alone(&sim, async {
                let pid = started(&sim).await?;
                all(&sim, pid, &[Op::Create { file: FileId(1) }, Op::SyncAll]).await?;
                all(&sim, pid, &vec![Op::DropCaches; times]).await
            });
            let state = sim.mm.state.borrow();
            state.owner.files.get(BLOCK_DEVICE).map(|of| of.cached)
        };
        assert_eq!(left("linux-5.10", 1), Some(0));
        assert_eq!((left("linux-6.18", 1), left("linux-6.18", 2)), (Some(1), Some(0)), "pages come before slab");
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
