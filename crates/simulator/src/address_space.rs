//! Processes and their address spaces: regions, and what their page tables hold.

use crate::folio::FolioId;
use crate::mapped::Backing;
use crate::numa::NumaScan;
use crate::slab::Object;
use crate::windows::{FILES, SMALL, Windows};
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
    /// A page of a mapped file; used through this entry since reclaim last looked.
    File { id: FolioId, young: bool },
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

    /// Whether anything of the process's own is mapped: pages of files are not.
    pub fn has_own_pages(&self) -> bool {
        match self {
            Entry::Empty => false,
            Entry::Huge(_) => true,
            Entry::Table(table) => table.iter().any(|pte| matches!(pte, Pte::Zero | Pte::Page(_))),
        }
    }

    /// What a forked child gets of it.
    pub fn to_inherit(&self) -> Entry {
        let mut entry = self.clone();
        if let Entry::Table(table) = &mut entry {
            table.iter_mut().filter(|pte| matches!(pte, Pte::File { .. })).for_each(|pte| *pte = Pte::None);
        }
        entry
    }
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
    /// By page number / [`PTES`].
    pub windows: Windows,
    /// Upper page tables, stack, task and the objects around it.
    pub own_pages: Vec<FolioId>,
    pub own_objects: Vec<Object>,
    /// Mappings of files, with the kernel's objects for each.
    pub file_maps: BTreeMap<RegionId, Vec<Object>>,
    /// Numbers of open handles in [`crate::computer::Computer::handles`].
    pub handles: BTreeMap<HandleId, u32>,
    pub parent: Option<Pid>,
    pub children: u32,
    /// The executor's task that waits for the children.
    pub waiter: Option<lab::TaskId>,
    /// Shot by the OOM killer: it does nothing more.
    pub killed: bool,
    /// Where NUMA balancing is.
    pub numa: NumaScan,
    /// Where the next mapping goes: large ones, small ones, files.
    next_large: u32,
    next_small: u32,
    next_file: u32,
    /// Addresses that mappings of a size have left.
    holes: BTreeMap<u32, Vec<u32>>,
    file_holes: BTreeMap<u32, Vec<u32>>,
}

/// Where mappings smaller than 2 MiB are put, far from the others.
const SMALL_BASE: u32 = SMALL * PTES;

impl Process {
    pub fn new(parent: Option<Pid>) -> Process {
        Process {
            regions: BTreeMap::new(),
            windows: Windows::default(),
            own_pages: Vec::new(),
            own_objects: Vec::new(),
            file_maps: BTreeMap::new(),
            handles: BTreeMap::new(),
            parent,
            children: 0,
            waiter: None,
            killed: false,
            numa: NumaScan::default(),
            next_large: 0,
            next_small: SMALL_BASE,
            next_file: FILES * PTES,
            holes: BTreeMap::new(),
            file_holes: BTreeMap::new(),
        }
    }

    /// A forked child with the same mappings, still without pages.
    pub fn fork_layout(&self, parent: Pid) -> Process {
        let mut child = Process::new(Some(parent));
        (child.next_large, child.next_small, child.next_file) = (self.next_large, self.next_small, self.next_file);
        (child.holes, child.file_holes) = (self.holes.clone(), self.file_holes.clone());
        child.regions = self.regions.clone();
        child.windows = self.windows.layout();
        child.handles = self.handles.clone();
        child
    }

    /// Maps a region: where one of its size was, or else at the end; large ones aligned to 2 MiB, small ones right behind
    /// each other.
    pub fn map(&mut self, id: RegionId, pages: u32) {
        let base = self.holes.get_mut(&pages).and_then(Vec::pop).unwrap_or_else(|| self.new_place(pages));
        self.windows.map(base..base + pages);
        self.regions.insert(id, Region { base, pages, advice: None, backing: None });
    }

    /// Maps a file, right behind the one before: its first page.
    pub fn map_file(&mut self, id: RegionId, pages: u32, backing: Backing) -> u32 {
        let base = self.file_holes.get_mut(&pages).and_then(Vec::pop).unwrap_or_else(|| {
            let base = self.next_file;
            self.next_file += pages;
            base
        });
        self.windows.map(base..base + pages);
        self.regions.insert(id, Region { base, pages, advice: None, backing: Some(backing) });
        base
    }

    fn new_place(&mut self, pages: u32) -> u32 {
        let large = pages >= PTES;
        let next = if large { &mut self.next_large } else { &mut self.next_small };
        let base = *next;
        *next += if large { pages.next_multiple_of(PTES) } else { pages };
        base
    }

    /// Forgets a region that has been unmapped; its addresses can be used again.
    pub fn forget_region(&mut self, id: RegionId) {
        if let Some(region) = self.regions.remove(&id) {
            let holes = if region.backing.is_some() { &mut self.file_holes } else { &mut self.holes };
            holes.entry(region.pages).or_default().push(region.base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_mappings_are_neighbours_and_large_ones_are_aligned() {
        let mut process = Process::new(None);
        for (id, pages) in [(1, 64), (2, 600), (3, 448), (4, 100), (5, 512)] {
            process.map(RegionId(id), pages);
        }
        let bases: Vec<u32> = (1..=5).map(|id| process.regions[&RegionId(id)].base).collect();
        let small = bases[0];
        assert_eq!(bases, [small, 0, small + 64, small + 512, 1024]);
        assert!(process.windows.get(small / PTES).unwrap().is_whole(), "two mappings fill it");
        assert!(!process.windows.get(small / PTES + 1).unwrap().is_whole());
        process.forget_region(RegionId(1));
        process.map(RegionId(6), 64);
        assert_eq!(process.regions[&RegionId(6)].base, small, "a mapping of the same size takes the place");
    }
}
