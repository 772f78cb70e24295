//! Processes and their address spaces: regions, and what their page tables hold.

use crate::folio::FolioId;
use crate::slab::Object;
use std::collections::BTreeMap;
use workload::{Advice, HandleId, RegionId};

/// Entries of a page table, and base pages of a huge page.
pub(crate) const PTES: u32 = 512;

/// Process number.
pub(crate) type Pid = u32;

/// One entry of a page table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pte {
    /// Never touched, or given up.
    None,
    /// Read but never written: the zero page.
    Zero,
    /// A page, in memory or on the swap device.
    Page(FolioId),
}

/// What the page table of 2 MiB holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Empty,
    Huge(FolioId),
    Table(Box<[Pte; PTES as usize]>),
}

impl Entry {
    pub fn empty_table() -> Box<[Pte; PTES as usize]> {
        Box::new([Pte::None; PTES as usize])
    }
}

/// 2 MiB of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub entry: Entry,
    /// Whether it counts as a user of its window's page-table page.
    pub table: bool,
    /// Base pages that are still mapped, one bit each.
    mapped: [u64; 8],
}

impl Range {
    fn new(pages: u32) -> Range {
        let mut mapped = [0; 8];
        for page in 0..pages {
            mapped[page as usize / 64] |= 1 << (page % 64);
        }
        Range { entry: Entry::Empty, table: false, mapped }
    }

    pub fn is_mapped(&self, page: u32) -> bool {
        self.mapped[page as usize / 64] & 1 << (page % 64) != 0
    }

    pub fn unmap(&mut self, page: u32) {
        self.mapped[page as usize / 64] &= !(1 << (page % 64));
    }

    /// Whether all of it is mapped, so that a huge page fits.
    pub fn is_whole(&self) -> bool {
        self.mapped == [u64::MAX; 8]
    }

    pub fn is_gone(&self) -> bool {
        self.mapped == [0; 8]
    }
}

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    /// Page number of its start in the address space.
    pub base: u32,
    pub pages: u32,
    pub advice: Option<Advice>,
    pub ranges: Vec<Range>,
}

impl Region {
    pub fn new(base: u32, pages: u32) -> Region {
        let ranges = (0..pages.div_ceil(PTES)).map(|range| Range::new((pages - range * PTES).min(PTES))).collect();
        Region { base, pages, advice: None, ranges }
    }

    /// Window of the address space (2 MiB) whose page-table page a range is mapped by.
    pub fn window(&self, range: u32) -> u32 {
        self.base / PTES + range
    }
}

/// A page-table page: who maps 2 MiB of address space, and how many ranges share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePage {
    pub folio: FolioId,
    pub users: u32,
}

/// A pipe, pair of sockets, or ring.
#[derive(Default, Debug)]
pub(crate) struct Handle {
    pub pages: Vec<FolioId>,
    pub objects: Vec<Object>,
    /// Processes that hold it: a forked child inherits it.
    pub holders: u32,
}

/// A process.
pub(crate) struct Process {
    pub regions: BTreeMap<RegionId, Region>,
    /// Page-table pages by window.
    pub tables: BTreeMap<u32, TablePage>,
    /// Upper page tables, stack, task and the objects around it.
    pub own_pages: Vec<FolioId>,
    pub own_objects: Vec<Object>,
    /// Numbers of open handles in [`crate::computer::Computer::handles`].
    pub handles: BTreeMap<HandleId, u32>,
    pub parent: Option<Pid>,
    pub children: u32,
    /// The executor's task that waits for the children.
    pub waiter: Option<lab::TaskId>,
    /// Shot by the OOM killer: it does nothing more.
    pub killed: bool,
    /// Where the next mapping goes: large ones, small ones.
    next_large: u32,
    next_small: u32,
}

/// Where mappings smaller than 2 MiB are put, far from the others.
const SMALL_BASE: u32 = 1 << 30;

impl Process {
    pub fn new(parent: Option<Pid>) -> Process {
        Process {
            regions: BTreeMap::new(),
            tables: BTreeMap::new(),
            own_pages: Vec::new(),
            own_objects: Vec::new(),
            handles: BTreeMap::new(),
            parent,
            children: 0,
            waiter: None,
            killed: false,
            next_large: 0,
            next_small: SMALL_BASE,
        }
    }

    /// The address space of a forked child, still without its pages.
    pub fn fork_layout(&self, parent: Pid) -> Process {
        let mut child = Process::new(Some(parent));
        (child.next_large, child.next_small) = (self.next_large, self.next_small);
        child
    }

    /// Maps a region: aligned to 2 MiB if it is as large, else packed with other small ones. Addresses are not used
    /// again.
    pub fn map(&mut self, id: RegionId, pages: u32) {
        let base = if pages >= PTES {
            let base = self.next_large;
            self.next_large += pages.next_multiple_of(PTES);
            base
        } else {
            if self.next_small % PTES + pages > PTES {
                self.next_small = self.next_small.next_multiple_of(PTES);
            }
            let base = self.next_small;
            self.next_small += pages;
            base
        };
        self.regions.insert(id, Region::new(base, pages));
    }

    pub fn range_mut(&mut self, region: RegionId, range: u32) -> Option<&mut Range> {
        self.regions.get_mut(&region)?.ranges.get_mut(range as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_mappings_share_windows_and_large_ones_are_aligned() {
        let mut process = Process::new(None);
        for (id, pages) in [(1, 64), (2, 600), (3, 400), (4, 100), (5, 512)] {
            process.map(RegionId(id), pages);
        }
        let window = |id| process.regions[&RegionId(id)].window(0);
        assert_eq!(window(1), window(3));
        assert_eq!(window(4), window(1) + 1, "it would have straddled two windows");
        assert_eq!((window(2), window(5)), (0, 2));
    }

    #[test]
    fn a_range_is_whole_until_a_page_is_unmapped() {
        let mut region = Region::new(0, PTES + 10);
        assert!(region.ranges[0].is_whole() && !region.ranges[1].is_whole());
        region.ranges[0].unmap(511);
        assert!(!region.ranges[0].is_whole() && !region.ranges[0].is_mapped(511));
        (0..10).for_each(|page| region.ranges[1].unmap(page));
        assert!(region.ranges[1].is_gone());
    }
}
