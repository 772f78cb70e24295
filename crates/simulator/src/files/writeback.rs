//! Writeback of files: the flusher, those that wait for it, and writers that are held back.

use crate::errno::NOENT;
use crate::files::dirty_pace::{MAX_PAUSE, Room};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::file::{BLOCK_DEVICE, File};
use crate::state::folio::{FolioId, Use};
use crate::state::xfs::Logged;
use foldhash::HashMap;
use lab::Stream;
use mm::{Env, Nanos, PageFlags};
use std::collections::VecDeque;
use workload::{Errno, Filesystem};

/// `dirty_writeback_centisecs` and `dirty_expire_centisecs`.
const INTERVAL: Nanos = 5_000_000_000;
const EXPIRE: Nanos = 30_000_000_000;
/// Newly dirtied pages between two looks at the thresholds (`ratelimit_pages` of a small machine).
const LOOK_INTERVAL: u32 = 32;
/// How much a device may have queued before the flusher waits for it.
const BACKLOG: Nanos = 100_000_000;
/// Process number of kernel threads.
pub(super) const KERNEL: Pid = 0;

/// Brings what files hold that have been dirty since then, or for longer, before all else, file by file: how many pages. The age is the inode's
/// (`move_expired_inodes`): it is due with all its pages, new ones too.
fn bring_expired(
    dirtied: &mut VecDeque<(Nanos, FolioId)>,
    since: Nanos,
    file: impl Fn(FolioId) -> Option<u32>,
) -> usize {
    let mut ranks = HashMap::default();
    for &(_, id) in dirtied.iter().take_while(|(at, _)| *at <= since) {
        let next = ranks.len();
        ranks.entry(file(id)).or_insert(next);
    }
    let mut by_file = vec![Vec::new(); ranks.len()];
    dirtied.retain(|&page| match ranks.get(&file(page.1)) {
        Some(&rank) => {
            by_file[rank].push(page);
            false
        }
        None => true,
    });
    let expired = by_file.iter().map(Vec::len).sum();
    for page in by_file.into_iter().flatten().rev() {
        dirtied.push_front(page);
    }
    expired
}

impl Sim {
    /// A writer has dirtied pages: wakes the flusher above the first threshold, holds the writer back half way to the
    /// second.
    pub async fn balance_dirty(&self, pages: u32) {
        self.wrote.set(self.wrote.get() + pages);
        if self.wrote.get() < LOOK_INTERVAL {
            return;
        }
        let since = self.wrote.replace(0);
        loop {
            let (used, background, limit) = {
                let state = self.mm.state.borrow();
                let (dirty, writeback) = state.nr_dirty_and_writeback();
                let (background, limit) = state.dirty_thresholds();
                (dirty + writeback, background, limit)
            };
            if used > background {
                self.wake_flusher();
            }
            if used <= (background + limit) / 2 {
                return;
            }
            let pace = self.mm.env.disk().files_written().map(|written| {
                let room = Room { used, free_run: (background + limit) / 2, limit };
                self.pace.pause(self.mm.env.now(), written, u64::from(since), room)
            });
            let (pause, enough) = match pace {
                Some(Some(pause)) => (pause, true),
                Some(None) => (MAX_PAUSE, false),
                None => (u64::from(since) * self.spec.costs.disk.0, used <= limit),
            };
            self.env().wait(mm::Queue::Timer, Some(pause.clamp(1_000_000, MAX_PAUSE))).await;
            if enough || self.is_over() {
                return;
            }
        }
    }

    pub fn wake_flusher(&self) {
        self.wake_at(&self.flusher);
    }

    /// The flusher thread.
    pub async fn flush_forever(&self) {
        loop {
            self.sleep_at(&self.flusher, Some(self.writeback_timer(INTERVAL))).await;
            let asked = self.env().flushers_woken.replace(0);
            self.write_back(asked).await;
        }
    }

    /// Writes the oldest dirty pages: as many as are asked for, or are too old or too many.
    pub(super) async fn write_back(&self, mut asked: u64) {
        let mut left = Vec::new();
        while let Some(id) = self.next_to_write(asked > 0) {
            if let Some(pages) = self.start_writing(id, Stream::Files) {
                asked = asked.saturating_sub(pages.into());
                self.spend(self.cost_of_writing(pages)).await;
                self.give_blocks(id).await;
            } else if self.is_dirty_again(id) {
                left.push(id);
            }
            let device = self.mm.env.disk();
            if device.has_requests() {
                self.env().wait_for_request(Stream::Files).await;
            } else {
                self.env().sleep_until(device.idle_at().saturating_sub(BACKLOG)).await;
            }
        }
        self.dirtied.borrow_mut().extend(left.into_iter().map(|id| (self.mm.env.now(), id)));
        self.mm.state.borrow_mut().refresh_dirty_limits();
    }

    /// Whether a page was dirtied while it is being written: it has to wait for another round.
    fn is_dirty_again(&self, id: FolioId) -> bool {
        let state = self.mm.state.borrow();
        let again = PageFlags::DIRTY.with(PageFlags::WRITEBACK);
        state.owner.folios.frame(id).is_some_and(|pfn| state.pages.flags(pfn).contains(again))
    }

    /// XFS gives all that a file has grown by its blocks in one transaction, when the first page of it is sent to the disk.
    async fn give_blocks(&self, id: FolioId) {
        let file = match self.mm.state.borrow().owner.folios.get(id).what {
            Use::File { file, .. } if self.spec.disks.filesystem == Filesystem::Xfs => file,
            _ => return,
        };
        let gives = self.mm.state.borrow_mut().owner.files.get_mut(file).is_some_and(File::take_blocks);
        if gives {
            self.metadata(KERNEL, file, true).await;
            self.log_inode(KERNEL, file, Logged::Extents).await;
            self.file_will_be_written(file);
        }
    }

    fn next_to_write(&self, asked: bool) -> Option<FolioId> {
        let mut dirtied = self.dirtied.borrow_mut();
        let &(since, _) = dirtied.front()?;
        let state = self.mm.state.borrow();
        let (dirty, _) = state.nr_dirty_and_writeback();
        let mut expired = self.expired.get();
        if expired == 0 && self.mm.env.now() - since >= self.writeback_timer(EXPIRE) {
            let file = |id| match state.owner.folios.get(id).what {
                Use::File { file, .. } => Some(file),
                _ => None,
            };
            let before = self.mm.env.now() - self.writeback_timer(EXPIRE);
            expired = bring_expired(&mut dirtied, before, file);
        }
        let wanted = asked || expired > 0 || dirty > state.dirty_thresholds().0;
        if !wanted {
            return None;
        }
        self.expired.set(expired.saturating_sub(1));
        dirtied.pop_front().map(|(_, id)| id)
    }

    /// CPU time for a folio of so many pages.
    fn cost_of_writing(&self, pages: u32) -> Nanos {
        self.spec.costs.io_page + self.spec.costs.write_back * u64::from(pages)
    }

    /// Hands a dirty folio of a file to the disk: its pages. `None`: it is none any more, or is being written.
    fn start_writing(&self, id: FolioId, stream: Stream) -> Option<u32> {
        let mut state = self.mm.state.borrow_mut();
        let folio = *state.owner.folios.get(id);
        let (Use::File { file, .. }, Some(pfn)) = (folio.what, state.owner.folios.frame(id)) else { return None };
        let flags = state.pages.flags(pfn);
        if !flags.contains(PageFlags::DIRTY) || flags.contains(PageFlags::WRITEBACK) {
            return None;
        }
        if file == BLOCK_DEVICE && state.owner.journal.is_changing(id) {
            // Its buffer is the running transaction's, and clean until that commits: nothing is written.
            state.clear_dirty(pfn);
            return None;
        }
        state.set_writeback(pfn);
        state.owner.folios.get_mut(id).stateless = false;
        self.mm.env.write(pfn, stream, folio.pages());
        Some(folio.pages())
    }

    /// `sync`: files, what the journal has of them, and the block device with that.
    pub async fn sync_all(&self) {
        self.write_back(u64::MAX).await;
        self.commit_metadata();
        self.write_back(u64::MAX).await;
        self.force_logs().await;
    }

    /// `fdatasync`.
    pub async fn sync(&self, file: u32) -> Result<(), Errno> {
        let folios: Vec<FolioId> = {
            let state = self.mm.state.borrow();
            let of = state.owner.files.get(file).ok_or(NOENT)?;
            of.tree.heads().map(|(_, id)| id).collect()
        };
        let mut cost = 0;
        for id in folios {
            if let Some(pages) = self.start_writing(id, Stream::Synced) {
                cost += self.cost_of_writing(pages);
                self.give_blocks(id).await;
            }
            self.env().wait_for_request(Stream::Synced).await;
        }
        self.spend(cost).await;
        self.force_logs().await;
        Ok(())
    }

    /// What has been sent to the disk is there, and what the filesystem has logged of it, too.
    async fn force_logs(&self) {
        self.env().sleep_until(self.mm.env.disk().idle_at()).await;
        self.commit_metadata();
        self.end_writes().await;
        self.force_inode_log().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::spec::MachineSpec;
    use crate::tests::{run_alone, started};
    use std::cell::Cell;

    /// How long a page stays dirty that is left alone, on a machine at a quarter of its size.
    fn dirty_for(scaled_writeback: bool) -> Nanos {
        let scale = "1/4".parse().expect("a scale");
        let spec = MachineSpec { scaled_writeback, scale, ..MachineSpec::guest(512 << 20) };
        let sim = boot(&spec, &pagealloc::policy::preset("linux-4.20").expect("a preset"), 1, &[]).expect("a machine");
        let time = Cell::new(0);
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            sim.create(pid, 1).await?;
            sim.write(pid, 1, 0, 4096).await?;
            let from = sim.env().now();
            let is_dirty = || {
                let state = sim.mm.state.borrow();
                let file = state.owner.files.get(1).expect("the file");
                let pages = file.tree.heads().filter_map(|(_, id)| state.owner.folios.frame(id));
                pages.into_iter().any(|pfn| state.pages.flags(pfn).contains(PageFlags::DIRTY))
            };
            while is_dirty() {
                sim.env().wait(mm::Queue::Timer, Some(10_000_000)).await;
            }
            time.set(sim.env().now() - from);
            sim.exit(pid).await;
            Ok(())
        });
        time.get()
    }

    #[test]
    fn timers_follow_the_scale_where_the_scenario_says_so() {
        assert!((EXPIRE..=EXPIRE + INTERVAL).contains(&dirty_for(false)));
        assert!((EXPIRE / 4..=(EXPIRE + INTERVAL) / 4).contains(&dirty_for(true)));
    }

    #[test]
    fn a_file_that_has_expired_is_written_with_its_new_pages() {
        // Folios 10 to 19 are file 1's, and so on.
        let file = |id: FolioId| Some(id.0 / 10);
        let mut dirtied: VecDeque<_> =
            [(1, 20), (2, 10), (4, 30), (5, 11), (6, 31), (7, 21)].map(|(at, id)| (at, FolioId(id))).into();
        assert_eq!(bring_expired(&mut dirtied, 3, file), 4);
        assert_eq!(dirtied, [(1, 20), (7, 21), (2, 10), (5, 11), (4, 30), (6, 31)].map(|(at, id)| (at, FolioId(id))));
    }
}
