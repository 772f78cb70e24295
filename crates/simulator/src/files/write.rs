//! Writing to files through the page cache.

use crate::errno::NOMEM;
use crate::files::masks::{LIGHTLY, WRITE};
use crate::files::page_cache::{NewPage, Stretch, order_at};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::folio::{FolioId, Use};
use crate::state::slab::Cache;
use crate::state::xfs::Logged;
use mm::{Env, PageFlags};
use pagealloc::Gfp;
use std::ops::Range;
use workload::{Errno, Filesystem, rest_of_piece};

/// Bytes of a block of the filesystem.
const BLOCK: u64 = 4096;

impl Sim {
    /// `pwrite`; past the end it makes the file longer.
    pub async fn write(&self, pid: Pid, file: u32, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.open_file(pid, file).await?;
        let size = self.page_size();
        let mut at = Stretch { file, index: size.at(offset), end: size.fill(offset + bytes) };
        if let Some(of) = self.mm.state.borrow_mut().owner.files.get_mut(file) {
            of.grown |= offset + bytes > of.bytes;
            of.bytes = of.bytes.max(offset + bytes);
            of.written_since_read = true;
        }
        // Its time of change.
        self.log_inode(pid, file, Logged::Core).await;
        while at.index < at.end {
            let id = match self.cached(at) {
                Some((_, ready)) if ready > self.mm.env.now() => {
                    self.env().sleep_until(ready).await;
                    continue;
                }
                Some((id, _)) => id,
                // Another task has removed the file: what is written to it goes with it.
                None if !self.mm.state.borrow().owner.files.contains(file) => return Ok(()),
                // Looked up again: nobody holds a new page that waits for its buffers, so reclaim may have had it.
                None => {
                    self.add_to_write(pid, at, &(offset..offset + bytes)).await?;
                    continue;
                }
            };
            let written = self.dirty(at, id);
            self.spend((self.spec.costs.file_lookup + self.spec.costs.copy_page) * u64::from(written)).await;
            at.index += written;
            self.balance_dirty(written).await;
        }
        Ok(())
    }

    /// A new page to be written to, as large as what the system call writes allows, unless somebody else adds one first. A page that
    /// is written in part does not make it larger (`fgf_set_order`).
    async fn add_to_write(&self, pid: Pid, at: Stretch, written: &Range<u64>) -> Result<(), Errno> {
        let start = written.start.max(u64::from(at.index) * self.spec.page());
        let whole_pages = self.page_size().at(rest_of_piece(written, start));
        self.mm.state.borrow_mut().refresh_dirty_limits();
        let largest = order_at(at.index, whole_pages.max(1), self.largest_folio());
        for order in (0..=largest).rev() {
            let gfp = self.write_mask() | if order > 0 { LIGHTLY } else { Gfp::NONE };
            let Some(pfn) = self.pages(order, gfp, pid).await else { continue };
            // Where a part of it is cached already, only a smaller one fits; at order 0 somebody else was faster.
            match self.insert(pid, at, NewPage { pfn, order, gfp, flags: PageFlags::NONE }).await {
                Some(id) => {
                    self.note_whole_write(id);
                    self.add_buffers(pid, at, 1 << order).await;
                }
                None if order > 0 => continue,
                None => {}
            }
            return Ok(());
        }
        Err(NOMEM)
    }

    /// All of a new folio is about to be written.
    fn note_whole_write(&self, id: FolioId) {
        let state = &mut *self.mm.state.borrow_mut();
        let stateless = state.owner.xfs.is_some() && state.alloc.policy.computer.xfs.whole_writes_stateless;
        state.owner.folios.get_mut(id).stateless = stateless;
    }

    /// XFS takes `__GFP_FS` off the masks of its files, writes' too.
    fn write_mask(&self) -> Gfp {
        match self.spec.disks.filesystem {
            Filesystem::Xfs => Gfp(WRITE.0 & !Gfp::FS.0),
            Filesystem::Ext4 => WRITE,
        }
    }

    /// Buffer heads of a page that is written to: one for each block of 4 KiB. XFS has done without since 4.19, where blocks are as
    /// large as pages.
    pub async fn add_buffers(&self, pid: Pid, at: Stretch, pages: usize) {
        if self.spec.disks.filesystem == Filesystem::Xfs {
            return;
        }
        let blocks = pages * (self.spec.page() / BLOCK) as usize;
        let Ok(buffers) = self.objects(std::iter::repeat_n(Cache::BufferHead, blocks), pid).await else { return };
        let mut state = self.mm.state.borrow_mut();
        match state.owner.files.get_mut(at.file).filter(|of| of.page(at.index).is_some()) {
            Some(of) if !of.buffers.contains_key(&at.index) => drop(of.buffers.insert(at.index, buffers)),
            _ => {
                drop(state);
                self.free_objects(buffers);
            }
        }
    }

    /// Marks a page dirty from `at` on: base pages written to.
    pub fn dirty(&self, at: Stretch, id: FolioId) -> u32 {
        let state = &mut *self.mm.state.borrow_mut();
        let folio = *state.owner.folios.get(id);
        let (Use::File { index, .. }, Some(pfn)) = (folio.what, state.owner.folios.frame(id)) else { return 1 };
        if state.alloc.policy.reclaim.writes_refault {
            // Up to 4.6 to write to a page is to use it ("mm: filemap: only do access activations on reads").
            state.mark_accessed(pfn);
        }
        if !state.pages.flags(pfn).contains(PageFlags::DIRTY) {
            state.set_dirty(pfn);
            self.dirtied.borrow_mut().push_back((self.mm.env.now(), id));
        }
        (index + folio.pages()).min(at.end) - at.index
    }
}

#[cfg(test)]
mod tests {
    use crate::files::page_cache::tests::cached_after;
    use workload::{FileId, Op};

    fn write(bytes: u64) -> Op {
        Op::Write { file: FileId(1), offset: 0, bytes }
    }

    #[test]
    fn a_folio_is_as_large_as_the_whole_pages_of_one_system_call() {
        let written = |bytes| cached_after("linux-6.18", true, &[write(bytes)]);
        assert_eq!(written(3 * 4096), [1, 0]);
        assert_eq!(written(3 * 4096 + 4095), [1, 0, 0], "the fourth page is written in part");
        assert_eq!(written(6_000), [0, 0]);
        assert_eq!(written(200 << 10), [4, 4, 4, 1], "64 KiB at a time");
        assert_eq!(cached_after("linux-6.12", true, &[write(3 * 4096)]), [0; 3], "ext4 has no larger ones yet");
    }
}
