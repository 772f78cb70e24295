//! Reading files through the page cache.

use crate::errno::NOMEM;
use crate::files::masks::{LIGHTLY, READ};
use crate::files::page_cache::{NewPage, Stretch, order_at};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::folio::{FolioId, Use};
use crate::state::xfs::Logged;
use mm::{Env, PageFlags};
use pagealloc::Order;
use std::ops::Range;
use workload::{Errno, rest_of_piece};

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
    pub(super) fn start_read(&self, read: Vec<FolioId>) -> u32 {
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
}
