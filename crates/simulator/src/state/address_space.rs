//! Processes and their address spaces: regions, and the windows in which their pages lie.

use crate::errno::NOMEM;
use crate::state::folio::FolioId;
use crate::state::numa_scan::NumaScan;
use crate::state::page_size::PageSize;
use crate::state::slab::{Object, Objects};
use crate::state::swap_readahead::ByAddress;
use crate::state::windows::{AREA, FILES, SMALL, Windows};
use std::collections::BTreeMap;
use workload::{Advice, Errno, FileMapping, HandleId, RegionId};

/// Process number.
pub(crate) type Pid = u32;

/// A page of an address space, by its number there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub pid: Pid,
    pub page: u32,
}

impl At {
    pub fn window(self, size: PageSize) -> u32 {
        size.window(self.page)
    }

    pub fn index(self, size: PageSize) -> usize {
        size.index(self.page) as usize
    }

    /// The first page behind its window.
    pub fn end_of_window(self, size: PageSize) -> u32 {
        size.first(self.window(size) + 1)
    }
}

/// What a region maps, from the file's first page on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backing {
    pub file: u32,
    pub mapping: FileMapping,
}

/// A mapping, by page number in the address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    pub base: u32,
    pub pages: u32,
    pub advice: Option<Advice>,
    /// The file that it maps.
    pub backing: Option<Backing>,
}

/// A pipe, pair of sockets, ring, open file, or pages of the kernel.
#[derive(Default, Debug)]
pub(crate) struct Handle {
    /// The file that it holds open.
    pub file: Option<u32>,
    pub pages: Vec<FolioId>,
    pub objects: Vec<Object>,
    /// Processes that hold it: a forked child inherits it.
    pub holders: u32,
}

/// A process.
pub(crate) struct Process {
    pub regions: BTreeMap<RegionId, Region>,
    /// By number.
    pub windows: Windows,
    pub stack: Vec<FolioId>,
    /// Upper page tables.
    pub own_pages: Vec<FolioId>,
    /// Task and the objects around it.
    pub own_objects: Vec<Object>,
    /// Mappings of files, with the kernel's objects for each.
    pub file_maps: BTreeMap<RegionId, Objects>,
    /// Numbers of open handles in [`crate::state::computer::Computer::handles`].
    pub handles: BTreeMap<HandleId, u32>,
    pub parent: Option<Pid>,
    pub children: u32,
    /// The executor's task that waits for the children.
    pub waiter: Option<lab::TaskId>,
    /// Shot by the OOM killer: it does nothing more.
    pub killed: bool,
    /// khugepaged looks through it.
    pub seen_by_khugepaged: bool,
    /// Where NUMA balancing is.
    pub numa: NumaScan,
    /// Large mappings, small ones, files.
    areas: [Area; 3],
    /// How far swap is read ahead in each of these: the kernel merges neighbours to one mapping.
    swap_readahead: [ByAddress; 3],
}

/// Addresses of one kind of mapping, far from those of the others.
#[derive(Clone)]
struct Area {
    /// Where the next mapping goes.
    next: u32,
    /// Where it ends.
    end: u32,
    /// What mappings are aligned to, in pages.
    align: u32,
    /// Addresses that mappings of a size have left.
    holes: BTreeMap<u32, Vec<u32>>,
}

impl Area {
    fn new(first: u32, align: u32) -> Area {
        Area { next: first, end: first + AREA, align, holes: BTreeMap::new() }
    }

    /// Where a mapping of the size was, or else the end; `None` if the area has no room.
    fn take(&mut self, pages: u32) -> Option<u32> {
        if let Some(hole) = self.holes.get_mut(&pages).and_then(Vec::pop) {
            return Some(hole);
        }
        let base = self.next;
        let next = base.checked_add(pages.checked_next_multiple_of(self.align)?)?;
        self.next = Some(next).filter(|&next| next <= self.end)?;
        Some(base)
    }
}

impl Process {
    pub fn new(parent: Option<Pid>, size: PageSize) -> Process {
        Process {
            regions: BTreeMap::new(),
            windows: Windows::new(size),
            stack: Vec::new(),
            own_pages: Vec::new(),
            own_objects: Vec::new(),
            file_maps: BTreeMap::new(),
            handles: BTreeMap::new(),
            parent,
            children: 0,
            waiter: None,
            killed: false,
            seen_by_khugepaged: false,
            numa: NumaScan::default(),
            areas: [Area::new(0, size.ptes()), Area::new(SMALL, 1), Area::new(FILES, 1)],
            swap_readahead: Default::default(),
        }
    }

    /// How far swap is read ahead around a page.
    pub fn swap_readahead(&mut self, page: u32) -> &mut ByAddress {
        &mut self.swap_readahead[(page / AREA) as usize]
    }

    /// A forked child with the same mappings, still without pages.
    pub fn fork_layout(&self, parent: Pid) -> Process {
        let mut child = Process::new(Some(parent), self.windows.size);
        child.areas = self.areas.clone();
        child.regions = self.regions.clone();
        child.windows = self.windows.layout();
        child.handles = self.handles.clone();
        child
    }

    /// Maps a region, of a file if one backs it, where one of its size was, or else at the end; large ones aligned to windows, small ones and
    /// files right behind each other: its first page.
    pub fn map(&mut self, id: RegionId, pages: u32, backing: Option<Backing>) -> Result<u32, Errno> {
        let base = self.area(pages, backing).take(pages).ok_or(NOMEM)?;
        self.windows.map(base..base + pages);
        self.regions.insert(id, Region { base, pages, advice: None, backing });
        Ok(base)
    }

    /// The mapping of memory of its own that a page lies in.
    pub fn region_of(&self, page: u32) -> Option<Region> {
        let holds =
            |region: &&Region| region.backing.is_none() && (region.base..region.base + region.pages).contains(&page);
        self.regions.values().find(holds).copied()
    }

    fn area(&mut self, pages: u32, backing: Option<Backing>) -> &mut Area {
        let whole = self.windows.size.ptes();
        let [large, small, files] = &mut self.areas;
        match backing {
            Some(_) => files,
            None if pages >= whole => large,
            None => small,
        }
    }

    /// Forgets a region that has been unmapped; its addresses can be used again.
    pub fn forget_region(&mut self, id: RegionId) {
        if let Some(Region { base, pages, backing, .. }) = self.regions.remove(&id) {
            self.area(pages, backing).holes.entry(pages).or_default().push(base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_mappings_are_neighbours_and_large_ones_are_aligned() {
        let mut process = Process::new(None, PageSize::new(12));
        for (id, pages) in [(1, 64), (2, 600), (3, 448), (4, 100), (5, 512)] {
            process.map(RegionId(id), pages, None).unwrap();
        }
        let bases: Vec<u32> = (1..=5).map(|id| process.regions[&RegionId(id)].base).collect();
        let small = bases[0];
        assert_eq!(bases, [small, 0, small + 64, small + 512, 1024]);
        let window = PageSize::new(12).window(small);
        assert!(process.windows.get(window).unwrap().is_whole(), "two mappings fill it");
        assert!(!process.windows.get(window + 1).unwrap().is_whole());
        process.forget_region(RegionId(1));
        process.map(RegionId(6), 64, None).unwrap();
        assert_eq!(process.regions[&RegionId(6)].base, small, "a mapping of the same size takes the place");
    }
}
