//! Reading and writing files through the page cache.

use crate::errno::{NOENT, NOMEM};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::file::BLOCK_DEVICE;
use crate::state::folio::{Folio, FolioId, Use};
use crate::state::page_tree::NODE_PAGES;
use crate::state::slab::{Cache, Object};
use crate::state::xfs::Logged;
use mm::reclaim::cache_refaults;
use mm::{Env, PageFlags, Tag};
use pagealloc::policy::LargeFolios;
use pagealloc::{Gfp, Order, Pfn};
use std::ops::Range;
use workload::{Errno, Filesystem, rest_of_piece};

/// Masks as recorded: pages read ahead inside the filesystem; pages to be written; the same of higher orders.
const READ: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 & !Gfp::FS.0 | Gfp::COMP.0);
const LIGHTLY: Gfp = Gfp(Gfp::NORETRY.0 | Gfp::NOWARN.0);
const WRITE: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 | Gfp::COMP.0 | Gfp::WRITE.0);
/// Pages of the block device's own cache.
const METADATA: Gfp = Gfp(Gfp::RECLAIM.0 | Gfp::IO.0 | Gfp::MOVABLE.0 | Gfp::HARDWALL.0 | Gfp::COMP.0 | Gfp::NOFAIL.0);

/// Bytes of a block of the filesystem.
const BLOCK: u64 = 4096;
/// Bytes of an inode of ext4 on the disk.
const INODE_BYTES: u64 = 256;

/// A stretch of a file in pages.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub file: u32,
    pub index: u32,
    pub end: u32,
}

/// A page that was handed out for the page cache.
struct NewPage {
    pfn: Pfn,
    order: Order,
    /// What it was asked for with.
    gfp: Gfp,
    /// Those that it enters with.
    flags: PageFlags,
}

impl Sim {
    /// `pread`.
    pub async fn read(&self, pid: Pid, file: u32, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.open_file(pid, file).await?;
        self.note_access(pid, file).await;
        let pages = self.file_pages(file);
        let end = self.page_size().fill(offset + bytes).min(pages);
        let mut at = Stretch { file, index: self.page_size().at(offset), end };
        let mut last = None;
        let mut before = self.last_read(file);
        let mut call = self.system_call(at, offset..offset + bytes);
        while at.index < at.end {
            if at.index >= call.end {
                before = Some(at.index - 1);
                call = self.system_call(at, offset..offset + bytes);
            }
            let Some((id, ready)) = self.cached(at) else {
                // Another task may have cut the file off, or removed it, since this call began.
                if at.index >= self.file_pages(file) {
                    break;
                }
                self.read_ahead(pid, Stretch { index: at.index, ..call }, before).await?;
                continue;
            };
            if ready > self.mm.env.now() {
                self.env().sleep_until(ready).await;
                continue;
            }
            if last.replace(id) != Some(id) {
                self.use_cached(id);
            }
            if self.reaches_mark(at) {
                self.read_next_window(pid, at, PageFlags::NONE).await;
            }
            self.spend(self.spec.costs.file_lookup + self.spec.costs.copy_page).await;
            at.index += 1;
        }
        if let Some(of) = self.mm.state.borrow_mut().owner.files.get_mut(file) {
            of.last_read = at.index.checked_sub(1);
        }
        Ok(())
    }

    /// Where reading a file has come to (`prev_pos`): known while it is held open.
    fn last_read(&self, file: u32) -> Option<u32> {
        let owner = &self.mm.state.borrow().owner;
        owner.files.get(file).filter(|of| of.opened > 0).and_then(|of| of.last_read)
    }

    /// What the system call reads that an operation on these bytes has come to.
    fn system_call(&self, at: Stretch, bytes: Range<u64>) -> Stretch {
        let start = bytes.start.max(u64::from(at.index) * self.spec.page());
        let end = self.page_size().fill(start + rest_of_piece(&bytes, start));
        Stretch { end: end.min(at.end), ..at }
    }

    /// The first read since the file was written changes its access time (`relatime`).
    async fn note_access(&self, pid: Pid, file: u32) {
        let changes = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            owner.xfs.is_some()
                && owner.files.get_mut(file).is_some_and(|of| std::mem::take(&mut of.written_since_read))
        };
        if changes {
            self.metadata(pid, file, true).await;
            self.log_inode(pid, file, Logged::Core).await;
        }
    }

    fn file_pages(&self, file: u32) -> u32 {
        self.mm.state.borrow().owner.files.get(file).map_or(0, |of| of.pages(self.page_size()))
    }

    pub fn cached(&self, at: Stretch) -> Option<(FolioId, u64)> {
        let owner = &self.mm.state.borrow().owner;
        let id = owner.files.get(at.file)?.page(at.index)?;
        Some((id, owner.folios.get(id).ready))
    }

    fn use_cached(&self, id: FolioId) {
        let mut state = self.mm.state.borrow_mut();
        if let Some(pfn) = state.owner.folios.frame(id) {
            state.mark_accessed(pfn);
        }
    }

    /// Not even one page was to be had lightly: this one has to be.
    pub async fn read_alone(&self, pid: Pid, at: Stretch, flags: PageFlags) -> Result<(), Errno> {
        if self.cached(at).is_some() {
            return Ok(());
        }
        let pfn = self.pages(0, READ, pid).await.ok_or(NOMEM)?;
        let read = self.insert(pid, at, NewPage { pfn, order: 0, gfp: READ, flags }).await;
        self.start_read(read.into_iter().collect());
        Ok(())
    }

    /// Order of the largest folio that the filesystem has.
    pub fn largest_folio(&self) -> Order {
        let has_some = match self.mm.state.borrow().alloc.policy.computer.large_folios {
            LargeFolios::None => false,
            LargeFolios::Xfs => self.spec.disks.filesystem == Filesystem::Xfs,
            LargeFolios::XfsAndExt4 => true,
        };
        if has_some { self.spec.folio_order } else { 0 }
    }

    /// Reads those pages of a window that are missing, which enter with these flags: how many. The first large folio that is not to be had,
    /// or meets a page that is cached, is the last one: single pages fill the rest (`page_cache_ra_order`).
    pub async fn read_window(&self, pid: Pid, window: Stretch, largest: Order, flags: PageFlags) -> u32 {
        let end = window.end.min(self.file_pages(window.file));
        let (mut at, mut largest) = (window, largest);
        let mut read = Vec::new();
        while at.index < end {
            if largest == 0 && self.cached(at).is_some() {
                at.index += 1;
                continue;
            }
            let order = order_at(at.index, end - at.index, largest);
            let gfp = READ | LIGHTLY;
            let pfn = self.pages(order, gfp, pid).await;
            let inserted = match pfn {
                Some(pfn) => self.insert(pid, at, NewPage { pfn, order, gfp, flags }).await,
                None => None,
            };
            match inserted {
                Some(_) => at.index += 1 << order,
                None if largest > 0 => largest = 0,
                None if pfn.is_some() => at.index += 1,
                None => break,
            }
            read.extend(inserted);
        }
        self.spend(self.spec.costs.io_page * read.len() as u64).await;
        self.start_read(read)
    }

    /// Hands pages to the disk: how many base pages.
    fn start_read(&self, read: Vec<FolioId>) -> u32 {
        let pages = self.send_read(read);
        self.note_read(pages);
        pages
    }

    fn send_read(&self, read: Vec<FolioId>) -> u32 {
        let owner = &mut self.mm.state.borrow_mut().owner;
        let pages: u32 = read.iter().map(|&id| owner.folios.get(id).pages()).sum();
        // Files lie on the disk in one piece each.
        let place = read.first().map_or(0, |&id| match owner.folios.get(id).what {
            Use::File { file, index } => (1 + u64::from(file)) << 32 | u64::from(index),
            _ => 0,
        });
        let ready = self.mm.env.disk().read(self.mm.env.now(), place, u64::from(pages));
        read.into_iter().for_each(|id| owner.folios.get_mut(id).ready = ready);
        pages
    }

    /// Puts a page into the cache; `None` if somebody else was faster.
    async fn insert(&self, pid: Pid, at: Stretch, page: NewPage) -> Option<FolioId> {
        let NewPage { pfn, order, gfp, flags } = page;
        let pages = 1u32 << order;
        let last = at.index + pages - 1;
        for node in at.index / NODE_PAGES..=last / NODE_PAGES {
            self.add_node(pid, at.file, node, last).await;
        }
        self.spend(self.spec.costs.file_add).await;
        let cpu = self.mm.env.cpu();
        let state = &mut *self.mm.state.borrow_mut();
        let of = state.owner.files.get_mut(at.file);
        let Some(of) = of.filter(|of| (at.index..=last).all(|page| of.page(page).is_none())) else {
            state.free_page(pfn, cpu);
            return None;
        };
        let id = state.owner.folios.add(Folio::new(Use::File { file: at.file, index: at.index }, pfn, order));
        for node in (at.index / NODE_PAGES..=last / NODE_PAGES).filter(|&node| !of.tree.has_pages(node)) {
            state.owner.shadow_nodes.remove((at.file, node));
        }
        let shadow = of.insert(at.index, pages, id);
        if !state.owner.inodes_with_cache {
            state.owner.inode_is_used(at.file);
        }
        state.lru_add(pfn, flags, Tag::from(id));
        if let Some(shadow) = shadow.filter(|_| cache_refaults(&state.alloc.policy.reclaim, gfp)) {
            match flags.contains(PageFlags::ACTIVE) {
                true => state.refault_in_fault(pfn, shadow, cpu),
                false => state.refault(pfn, shadow, cpu),
            }
        }
        Some(id)
    }

    /// The tree's node for a stretch of pages. A file of one page needs none.
    async fn add_node(&self, pid: Pid, file: u32, node: u32, last: u32) {
        let has =
            |sim: &Sim| sim.mm.state.borrow().owner.files.get(file).is_none_or(|of| of.tree.object(node).is_some());
        if last == 0 || has(self) {
            return;
        }
        let Ok(object) = self.object(Cache::XarrayNode, pid).await else { return };
        if has(self) {
            return self.free_objects([object]);
        }
        if let Some(of) = self.mm.state.borrow_mut().owner.files.get_mut(file) {
            of.tree.add_object(node, object);
        }
    }

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

    /// The page of the disk's own cache that describes a file, among others.
    pub async fn metadata(&self, pid: Pid, file: u32, dirty: bool) {
        if self.spec.disks.filesystem == Filesystem::Xfs {
            let found = self.use_inode_cluster(pid, file).await;
            debug_assert!(found.is_ok(), "no XFS");
            return;
        }
        let index = self.page_size().at(u64::from(file) * INODE_BYTES);
        let at = Stretch { file: BLOCK_DEVICE, index, end: index + 1 };
        if self.cached(at).is_none() {
            let Some(pfn) = self.pages(0, METADATA, pid).await else { return };
            let read = self.insert(pid, at, NewPage { pfn, order: 0, gfp: METADATA, flags: PageFlags::NONE }).await;
            self.add_buffers(pid, at, 1).await;
            self.start_read(read.into_iter().collect());
        }
        let Some((id, ready)) = self.cached(at) else { return };
        self.env().sleep_until(ready).await;
        if self.cached(at).is_some_and(|(now, _)| now == id) {
            self.use_cached(id);
            if dirty {
                self.change_metadata(id);
            }
        }
    }

    /// Makes sure that the file's name and inode are in memory.
    pub async fn open_file(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        match self.mm.state.borrow().owner.files.get(file) {
            None => return Err(NOENT),
            // Through an open file: its dentry and inode are held.
            Some(of) if of.opened > 0 => return Ok(()),
            Some(_) => {}
        }
        self.look_up_name(pid, crate::state::dentry::Name::File(file), true).await?;
        let known = self.mm.state.borrow().owner.files.get(file).is_some_and(|of| of.inode.is_some());
        if !known {
            self.metadata(pid, file, false).await;
            self.load_inode(pid, file).await?;
        }
        Ok(())
    }

    /// An inode in memory.
    pub async fn load_inode(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        // XFS's has its log item: it was written, or its access time was.
        let caches = match self.spec.disks.filesystem {
            Filesystem::Xfs => [Cache::XfsInode, Cache::InodeSecurity, Cache::XfsInodeItem],
            Filesystem::Ext4 => [Cache::Inode, Cache::InodeSecurity, Cache::ExtentStatus],
        };
        let objects = self.objects(caches, pid).await?;
        let objects: [Object; 3] = (*objects).try_into().map_err(|_| NOMEM)?;
        let mut state = self.mm.state.borrow_mut();
        match state.owner.files.get_mut(file).filter(|of| of.inode.is_none()) {
            Some(of) => {
                of.inode = Some(objects);
                state.owner.inode_may_be_unused(file);
            }
            None => {
                drop(state);
                self.free_objects(objects);
            }
        }
        Ok(())
    }
}

/// Order of a folio at `index` that neither exceeds its alignment, nor what is wanted, nor `largest`.
fn order_at(index: u32, pages: u32, largest: Order) -> Order {
    let aligned = if index == 0 { u32::BITS } else { index.trailing_zeros() };
    aligned.min(pages.ilog2()).min(largest.into()) as Order
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::costs::Costs;
    use crate::spec::MachineSpec;
    use crate::tests::{all, run_alone, small_machine, started};
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;
    use std::cell::RefCell;
    use workload::{FileId, Op};

    /// Orders of the folios of file 1 that these operations leave in the cache, in the order of their places.
    pub(crate) fn cached_after(policy: &str, virtio: bool, ops: &[Op]) -> Vec<Order> {
        let guest = small_machine(ThpEnabled::Never);
        let spec = MachineSpec { costs: Costs { virtio, ..guest.costs }, ..guest };
        let sim = boot(&spec, &preset(policy).unwrap(), 1, &[]).unwrap();
        let orders = RefCell::new(Vec::new());
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            all(&sim, pid, &[Op::Create { file: FileId(1) }]).await?;
            all(&sim, pid, ops).await?;
            let owner = &sim.mm.state.borrow().owner;
            let heads = owner.files.get(1).into_iter().flat_map(|file| file.tree.heads());
            orders.borrow_mut().extend(heads.map(|(_, id)| owner.folios.get(id).order));
            Ok(())
        });
        orders.take()
    }

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

    #[test]
    fn folios_are_aligned_and_no_larger_than_what_is_written() {
        assert_eq!([order_at(0, 33, 9), order_at(32, 1, 9), order_at(4, 64, 9), order_at(0, 64, 0)], [5, 0, 2, 0]);
    }

    #[test]
    fn masks_are_those_recorded() {
        assert_eq!(READ | LIGHTLY, Gfp(0x152c4a));
        assert_eq!((WRITE, WRITE | LIGHTLY), (Gfp(0x141cca), Gfp(0x153cca)));
        assert_eq!(METADATA, Gfp(0x148c48));
    }
}
