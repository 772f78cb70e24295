//! The kernel's own record of every page frame and pageblock, read through `/proc/kcore`.
//!
//! `/proc/kpageflags` does not show reference counts, so it cannot tell a page on a per-CPU list from a kernel page;
//! and no file of `/proc` shows the type of a single pageblock. Both decide how a replay goes on, so they are read from
//! `struct page` and from the sections' pageblock bits where the kernel allows it. Where things lie comes from the
//! kernel itself: VMCOREINFO (addresses as they are after KASLR, offsets in `struct page`) and BTF. Nothing is read
//! but these two arrays.

mod btf;
mod kcore;
mod layout;
mod page;

use btf::Btf;
use kcore::Kcore;
use layout::Layout;
use page::PageLayout;
use std::path::Path;

/// Bytes read from kcore at once.
const CHUNK: usize = 256 << 10;

/// Access to the arrays.
#[derive(Debug)]
pub(crate) struct Memmap {
    kcore: Kcore,
    layout: Layout,
    page: PageLayout,
}

impl Memmap {
    /// Opens kcore; the reason if the kernel does not allow it, or is not understood.
    pub(crate) fn open(proc: &Path, sys: &Path, frames: u64) -> Result<Self, String> {
        let kcore = Kcore::open(&proc.join("kcore"))?;
        let btf = Btf::open(&sys.join("kernel/btf/vmlinux"));
        let page = PageLayout::of(kcore.info(), btf.as_ref()).ok_or("VMCOREINFO lacks a member of struct page")?;
        let layout =
            Layout::of(&kcore, btf.as_ref(), frames).ok_or("the kernel's memory sections are not understood")?;
        Ok(Self { kcore, layout, page })
    }

    /// Address of the `struct page` of page frame 0, and the size of one: what turns a pointer into a page frame
    /// number.
    pub(crate) fn base(&self) -> (u64, u64) {
        (self.layout.base, self.page.size)
    }

    /// Whether the type of each pageblock can be read, too.
    pub(crate) fn has_pageblocks(&self) -> bool {
        self.layout.blocks.is_some()
    }

    /// Two bytes a page frame, from 0: what it is, and its order (docs/recording.md). A frame that cannot be read is 0, 0.
    pub(crate) fn pagestate(&self, frames: u64) -> Vec<u8> {
        let mut words = Vec::with_capacity(2 * frames as usize);
        let size = self.page.size as usize;
        let at_once = (CHUNK / size) as u64;
        let mut buffer = vec![0; CHUNK];
        let mut pfn = 0;
        while pfn < frames {
            let pages = at_once.min(frames - pfn);
            let bytes = &mut buffer[..pages as usize * size];
            self.read_pages(pfn, bytes, &mut words);
            pfn += pages;
        }
        page::set_compound_orders(&mut words);
        words
    }

    /// Decodes the pages from `pfn` on that fit into the buffer; in halves where not all of them are there.
    fn read_pages(&self, pfn: u64, buffer: &mut [u8], out: &mut Vec<u8>) {
        let size = self.page.size as usize;
        let pages = buffer.len() / size;
        let there = self.layout.page_address(pfn, pages as u64).and_then(|address| self.kcore.read(address, buffer));
        if there.is_some() {
            out.extend(buffer.chunks_exact(size).flat_map(|page| self.page.decode(page)));
        } else if pages <= 64 {
            // A kernel page of struct pages at most: it is there or not as a whole.
            out.resize(out.len() + 2 * pages, 0);
        } else {
            let (first, second) = buffer.split_at_mut(pages / 2 * size);
            self.read_pages(pfn, first, out);
            self.read_pages(pfn + (pages / 2) as u64, second, out);
        }
    }

    /// One byte a pageblock, from page frame 0: migratetype in bits 0-2, compaction skip in bit 3, isolated in bit 4.
    /// `None` if it cannot be read.
    pub(crate) fn pageblocks(&self, frames: u64, pageblock_order: u32) -> Option<Vec<u8>> {
        self.layout.blocks(&self.kcore, frames, pageblock_order)
    }
}
