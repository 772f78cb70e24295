//! *How far is a file read ahead of who reads it?*

use crate::files::page_cache::Stretch;
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::readahead::Readahead;
use mm::PageFlags;
use workload::Errno;

/// Largest readahead (`read_ahead_kb`), unless the disk says that it rotates.
const READAHEAD_KIB: u32 = 128;

impl Sim {
    /// A page of a mapped file is missing: reads it with what lies around it, or of a program with what lies behind it up to `ends`.
    pub async fn read_around(&self, pid: Pid, at: Stretch, ends: Option<u32>, flags: PageFlags) -> Result<(), Errno> {
        let most = self.readahead_pages();
        let (start, size, async_size) = match ends {
            Some(end) => (at.index, most.min(end.saturating_sub(at.index)), 0),
            None => (at.index.saturating_sub(most / 2), most, most / 4),
        };
        self.set_readahead(at.file, Readahead { start, size, async_size, order: 0 });
        self.read_window(pid, Stretch { index: start, end: start + size, ..at }, 0, flags).await;
        self.read_alone(pid, at, flags).await
    }

    /// A page that a system call wants is missing: reads it with what comes after it, if the file seems to be read in order. `before`: the page
    /// that the last call ended with (`page_cache_sync_ra`).
    pub async fn read_ahead(&self, pid: Pid, at: Stretch, before: Option<u32>) -> Result<(), Errno> {
        let most = self.readahead_pages();
        let wanted = at.end - at.index;
        let goes_on = before.is_some_and(|before| before <= at.index && at.index - before <= 1);
        let window = match () {
            () if at.index == 0 || wanted > most || goes_on => {
                let size = first_window(wanted, most);
                Some((size, if size > wanted { size - wanted } else { size / 2 }))
            }
            () => after_history(at.index, wanted, self.cached_before(at, most), most).map(|size| (size, 1)),
        };
        if let Some((size, async_size)) = window {
            self.set_readahead(at.file, Readahead { start: at.index, size, async_size, order: 0 });
        }
        let end = window.map_or(at.end, |(size, _)| at.index + size);
        let read = self.read_window(pid, Stretch { end, ..at }, 0, PageFlags::NONE).await;
        if read > 0 {
            return Ok(());
        }
        self.read_alone(pid, at, PageFlags::NONE).await
    }

    /// Pages in the cache right before this one, no more than `most`.
    fn cached_before(&self, at: Stretch, most: u32) -> u32 {
        let owner = &self.mm.state.borrow().owner;
        let Some(of) = owner.files.get(at.file) else { return 0 };
        (0..at.index).rev().take(most as usize).take_while(|&index| of.page(index).is_some()).count() as u32
    }

    /// Pages of the largest window.
    fn readahead_pages(&self) -> u32 {
        let rotating = self.mm.state.borrow().alloc.policy.computer.rotating_readahead_kib;
        let kib = if self.spec.rotates(self.spec.disk()) { rotating } else { READAHEAD_KIB };
        self.page_size().fill(u64::from(kib) << 10)
    }

    fn set_readahead(&self, file: u32, readahead: Readahead) {
        if let Some(of) = self.mm.state.borrow_mut().owner.files.get_mut(file) {
            of.readahead = readahead;
        }
    }

    /// Whether this page is the one whose use starts the next window.
    pub fn reaches_mark(&self, at: Stretch) -> bool {
        self.readahead_mark(at.file) == Some(at.index)
    }

    /// The page of a file whose use starts the next window.
    pub fn readahead_mark(&self, file: u32) -> Option<u32> {
        self.mm.state.borrow().owner.files.get(file).and_then(|of| of.readahead.mark())
    }

    /// Sequential reading goes on: a larger window, in larger folios where the filesystem has them.
    pub async fn read_next_window(&self, pid: Pid, at: Stretch, flags: PageFlags) {
        let before = self.mm.state.borrow().owner.files.get(at.file).map(|of| of.readahead).unwrap_or_default();
        let start = before.start + before.size;
        let size = next_window(before.size, self.readahead_pages());
        let order = (before.order + 2).min(self.largest_folio());
        self.set_readahead(at.file, Readahead { start, size, async_size: size, order });
        self.read_window(pid, Stretch { index: start, end: start + size, ..at }, order, flags).await;
    }
}

/// Window of a first read of `wanted` pages (`get_init_ra_size`).
fn first_window(wanted: u32, max: u32) -> u32 {
    let size = wanted.next_power_of_two();
    match () {
        () if size <= max / 32 => size * 4,
        () if size <= max / 4 => size * 2,
        () => max,
    }
}

/// Window of a read amid a file before which `history` pages are in the cache, as a reader in order leaves them; `None` where it is read alone.
fn after_history(index: u32, wanted: u32, history: u32, max: u32) -> Option<u32> {
    let from_the_start = if history >= index { 2 } else { 1 };
    (history > wanted).then(|| (history * from_the_start + wanted).min(max))
}

/// The window after one of `size` (`get_next_ra_size`).
fn next_window(size: u32, max: u32) -> u32 {
    match () {
        () if size < max / 16 => size * 4,
        () if size <= max / 2 => size * 2,
        () => max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::page_cache::tests::cached_after;
    use workload::{FileId, Op};

    #[test]
    fn windows_grow_to_the_limit() {
        assert_eq!([1, 2, 4, 8, 9].map(|wanted| first_window(wanted, 32)), [4, 4, 8, 16, 32]);
        assert_eq!([1, 2, 4, 16, 32].map(|size| next_window(size, 32)), [4, 4, 8, 32, 32]);
    }

    #[test]
    fn a_read_amid_a_file_is_alone_unless_the_cache_tells_of_a_reader_in_order() {
        assert_eq!([0, 4, 5, 20].map(|history| after_history(40, 4, history, 32)), [None, None, Some(9), Some(24)]);
        assert_eq!(after_history(5, 4, 5, 32), Some(14), "all from the start");
        let write = Op::Write { file: FileId(1), offset: 0, bytes: 1 << 20 };
        let read = |offset: u64, bytes| Op::Read { file: FileId(1), offset: offset << 12, bytes };
        let cached = |reads: &[Op]| {
            let ops = [&[write, Op::SyncAll, Op::DropCaches], reads].concat();
            cached_after("linux-6.12", true, &ops).len()
        };
        assert_eq!([cached(&[read(100, 16 << 10)]), cached(&[read(0, 4 << 10)])], [4, 4]);
        assert_eq!(cached(&[read(100, 128 << 10)]), 16 + 32, "its second system call goes on");
    }

    #[test]
    fn a_page_that_is_cached_already_ends_the_large_folios_of_its_window() {
        let write = Op::Write { file: FileId(1), offset: 0, bytes: 1 << 20 };
        let read = |page: u64, pages: u64| Op::Read { file: FileId(1), offset: page << 12, bytes: pages << 12 };
        let cached = |reads: &[Op]| {
            let ops = [&[write, Op::SyncAll, Op::DropCaches], reads].concat();
            cached_after("linux-6.18", false, &ops)
        };
        let whole = cached(&[read(0, 1), read(1, 7)]);
        assert_eq!(whole, [0, 0, 0, 0, 2, 2, 2, 3, 2], "page 4 starts the window of 16 pages");
        assert_eq!(cached(&[read(13, 1), read(0, 1), read(1, 7)]), [&[0, 0, 0, 0, 2, 2], &[0; 16][..]].concat());
    }

    #[test]
    fn much_is_read_ahead_where_the_disk_says_that_it_rotates() {
        let read = Op::Read { file: FileId(1), offset: 0, bytes: 64 << 10 };
        let write = Op::Write { file: FileId(1), offset: 0, bytes: 1 << 20 };
        let ops = [write, Op::SyncAll, Op::DropCaches, read];
        let read = |policy, virtio| cached_after(policy, virtio, &ops).len();
        assert_eq!([read("linux-6.12", true), read("linux-6.18", false)], [32, 32]);
        assert_eq!(read("linux-6.18", true), 64, "four times what was asked for");
    }
}
