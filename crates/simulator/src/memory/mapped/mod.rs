//! Files that processes have mapped: which page tables hold their pages, and how those come in.
//!
//! As in the kernel, a fault maps what is in memory around it, a page that is missing is read with its neighbours, and a
//! page that reclaim takes disappears from all page tables, which are found through the file.

use crate::errno::{FAULT, NOMEM};
use crate::files::page_cache::Stretch;
use crate::memory::fault::add_anon;
use crate::memory::masks::ANON_COPY;
use crate::sim::{Sim, SimWorld};
use crate::state::address_space::{At, Backing, Pid, Process, Region};
use crate::state::computer::Computer;
use crate::state::file::MappedAt;
use crate::state::folio::{Folio, FolioId, Use};
use crate::state::page_table::{Entry, Pte};
use crate::state::slab::Cache;
use mm::{Env, PageFlags, State};
use pagealloc::{Counter, Pfn};
use smallvec::SmallVec;
use workload::{Access, Errno, FileMapping, RegionId};

/// What a fault maps where it is in memory (`fault_around_bytes`).
const FAULT_AROUND: u64 = 64 << 10;

impl Process {
    /// The entry of a page.
    fn pte_mut(&mut self, page: u32) -> Option<&mut Pte> {
        let size = self.windows.size;
        match &mut self.windows.get_mut(size.window(page))?.entry {
            Entry::Table(table) => Some(&mut table[size.index(page) as usize]),
            Entry::Empty | Entry::Huge(_) => None,
        }
    }
}

impl Computer {
    /// Calls `then` for each entry that maps a page of this folio, mapping by mapping: what it says of each mapping's entries.
    fn for_each_entry(&mut self, id: FolioId, mut then: impl FnMut(&mut Pte) -> bool) -> usize {
        let folio = *self.folios.get(id);
        let (Use::File { file, index }, 2..) = (folio.what, folio.maps) else { return 0 };
        let Some(of) = self.files.get(file) else { return 0 };
        let mappings = of.mapped.iter().filter(|at| {
            let Some(process) = self.processes.get_mut(at.pid) else { return false };
            let mut said = false;
            for page in index..(index + folio.pages()).min(at.pages) {
                match process.pte_mut(at.base + page) {
                    Some(pte) if matches!(*pte, Pte::File { id: mapped, .. } if mapped == id) => said |= then(pte),
                    _ => {}
                }
            }
            said
        });
        mappings.count()
    }

    /// Mappings through which a file's page was used since the last look (`folio_referenced` counts each once).
    pub fn uses_of_file_page(&mut self, id: FolioId) -> u8 {
        let uses = self.for_each_entry(id, |pte| match pte {
            Pte::File { young, .. } => std::mem::take(young),
            _ => false,
        });
        uses.min(u8::MAX.into()) as u8
    }

    /// Takes a file's page out of all page tables (`try_to_unmap`).
    pub fn unmap_file_page(&mut self, id: FolioId) {
        self.for_each_entry(id, |pte| {
            *pte = Pte::None;
            true
        });
        let folio = self.folios.get_mut(id);
        if matches!(folio.what, Use::File { .. }) {
            folio.maps = 1;
        }
    }

    /// Takes all pages of a file out of all page tables: it is being cut off.
    pub fn unmap_file(&mut self, file: u32) {
        let Some(of) = self.files.get(file).filter(|of| !of.mapped.is_empty()) else { return };
        let pages: Vec<FolioId> = of.tree.pages().map(|(_, id)| id).collect();
        pages.into_iter().for_each(|id| self.unmap_file_page(id));
    }

    /// The file is mapped at one place more: its name and inode are held.
    fn map_file_at(&mut self, file: u32, at: MappedAt) {
        if let Some(of) = self.files.get_mut(file) {
            of.mapped.push(at);
            self.hold_file(file);
        }
    }

    fn unmap_file_at(&mut self, file: u32, at: MappedAt) {
        let place = self.files.get(file).and_then(|of| of.mapped.iter().position(|other| *other == at));
        // A file that was removed meanwhile knows nothing of it.
        if let (Some(place), Some(of)) = (place, self.files.get_mut(file)) {
            of.mapped.swap_remove(place);
            self.close_file(file);
        }
    }

    fn is_mapped_at(&self, file: u32, pid: Pid, base: u32) -> bool {
        self.files.get(file).is_some_and(|of| of.mapped.iter().any(|at| (at.pid, at.base) == (pid, base)))
    }
}

/// An entry that held a file's page is gone. One that was used counts as a use of the page (`zap_present_folio_ptes`).
pub(crate) fn forget_file_pte(state: &mut State<SimWorld>, id: FolioId, young: bool) {
    let folio = state.owner.folios.get_mut(id);
    folio.maps -= 1;
    let last = folio.maps == 1;
    let Some(pfn) = state.owner.folios.frame(id) else { return };
    if last {
        state.pages.clear_flags(pfn, PageFlags::MAPPED.with(PageFlags::EXEC));
    }
    if young {
        state.mark_accessed(pfn);
    }
}

impl Sim {
    /// `mmap` of a file.
    pub async fn map_file(&self, pid: Pid, region: RegionId, pages: u32, backing: Backing) -> Result<(), Errno> {
        self.open_file(pid, backing.file).await?;
        let objects = self.objects([Cache::Filp, Cache::Vma], pid).await?;
        let mapped = self.with_process(pid, |process| process.map(region, pages, Some(backing)));
        let base = match mapped.flatten() {
            Ok(base) => base,
            Err(refused) => {
                self.free_objects(objects);
                return Err(refused);
            }
        };
        self.with_process(pid, |process| process.file_maps.insert(region, objects))?;
        self.mm.state.borrow_mut().owner.map_file_at(backing.file, MappedAt { pid, base, pages });
        Ok(())
    }

    /// A child has its parent's mappings, each with an object of its own; pages come in when they are used.
    pub async fn inherit_file_maps(&self, parent: Pid, child: Pid) -> Result<(), Errno> {
        let regions: Vec<(RegionId, Region)> = self.with_process(parent, |process| {
            let mapped = process.file_maps.keys().filter_map(|id| Some((*id, *process.regions.get(id)?)));
            mapped.collect()
        })?;
        for (id, Region { base, pages, backing, .. }) in regions {
            let Some(Backing { file, .. }) = backing else { continue };
            let objects = self.objects([Cache::Vma], child).await?;
            self.with_process(child, |process| process.file_maps.insert(id, objects))?;
            let owner = &mut self.mm.state.borrow_mut().owner;
            if owner.is_mapped_at(file, parent, base) {
                owner.map_file_at(file, MappedAt { pid: child, base, pages });
            }
        }
        Ok(())
    }

    /// A mapping of a file is gone as a whole, its pages already are.
    pub fn release_file_map(&self, pid: Pid, region: RegionId) {
        let objects = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            let Some(process) = owner.processes.get_mut(pid) else { return };
            let objects = process.file_maps.remove(&region).unwrap_or_default();
            if let Some(Region { base, pages, backing: Some(Backing { file, .. }), .. }) =
                process.regions.get(&region).copied()
            {
                owner.unmap_file_at(file, MappedAt { pid, base, pages });
            }
            objects
        };
        self.free_objects(objects);
    }

    /// Brings a page of a mapped file in: maps it with what lies around it, or makes the process's own copy to be written.
    pub async fn file_fault(&self, at: At, region: Region, backing: Backing, access: Access) -> Result<(), Errno> {
        let write = access == Access::Write;
        let index = at.page - region.base;
        let page = Stretch { file: backing.file, index, end: index + 1 };
        let copy = write && backing.mapping == FileMapping::Private;
        let mut missed = false;
        loop {
            {
                let owner = &self.mm.state.borrow().owner;
                let known = owner.is_mapped_at(backing.file, at.pid, region.base);
                if !known || index >= owner.files.get(backing.file).map_or(0, |of| of.pages(owner.page_size)) {
                    return Err(FAULT);
                }
            }
            let around = if write { 1 } else { self.page_size().fill(FAULT_AROUND) };
            match self.cached(page) {
                Some((_, ready)) if ready > self.mm.env.now() => self.env().sleep_until(ready).await,
                Some((id, _)) if copy => return self.copy_file_page(at, id).await,
                Some(_) => {
                    if self.reaches_mark(page) {
                        self.read_next_window(at.pid, page, self.faulted()).await;
                    }
                    let mapped = self.map_around(at, region, backing, around);
                    let an_entry = self.spec.costs.copy_table / u64::from(self.page_size().ptes());
                    self.spend(self.spec.costs.fault + an_entry * mapped).await;
                    return Ok(());
                }
                None => {
                    if !std::mem::replace(&mut missed, true) {
                        self.mm.state.borrow_mut().alloc.vmstat.bump(Counter::Pgmajfault);
                        self.map_around(at, region, backing, around);
                    }
                    self.read_around(at.pid, page, self.ends(region, backing), self.faulted()).await?;
                }
            }
        }
    }

    /// Where reading for a fault on a program ends: with the mapping. `None` of other mappings.
    fn ends(&self, region: Region, backing: Backing) -> Option<u32> {
        let forward = self.mm.state.borrow().alloc.policy.computer.programs_read_forward;
        (forward && backing.mapping == FileMapping::Exec).then_some(region.pages)
    }

    /// Flags of pages that are read within a fault: with generations they start young.
    fn faulted(&self) -> PageFlags {
        let generations = self.mm.state.borrow().lru_gen.is_some();
        if generations { PageFlags::ACTIVE } else { PageFlags::NONE }
    }

    /// Maps those pages of the aligned stretch around a fault that are in memory and not mapped yet: how many.
    fn map_around(&self, at: At, region: Region, backing: Backing, around: u32) -> u64 {
        let (now, mark) = (self.mm.env.now(), self.readahead_mark(backing.file));
        let state = &mut *self.mm.state.borrow_mut();
        let first = (at.page / around * around).max(region.base);
        let size = state.owner.page_size;
        let end = (first + around).min(region.base + region.pages).min(size.first(size.window(at.page) + 1));
        let mut mapped = 0;
        let Some(of) = state.owner.files.get(backing.file) else { return 0 };
        // The page that starts the next window waits for a fault of its own, which does so.
        let waits = |page: u32| page != at.page && mark == Some(page - region.base);
        let cached = (first..end).filter(|&page| !waits(page));
        let cached = cached.filter_map(|page| Some((page, of.page(page - region.base)?)));
        let found: SmallVec<[_; 16]> = cached.filter(|&(_, id)| state.owner.folios.get(id).ready <= now).collect();
        for (page, id) in found {
            mapped += u64::from(map_file_page(state, At { page, ..at }, id, backing.mapping));
        }
        mapped
    }

    /// A write to a private mapping: the process gets a page of its own in place of the file's.
    async fn copy_file_page(&self, at: At, of: FolioId) -> Result<(), Errno> {
        let pfn = self.pages(0, ANON_COPY, at.pid).await.ok_or(NOMEM)?;
        self.spend(self.spec.costs.fault + self.spec.costs.copy_page).await;
        self.install_copy(at, of, pfn)
    }

    fn install_copy(&self, at: At, of: FolioId, pfn: Pfn) -> Result<(), Errno> {
        let state = &mut *self.mm.state.borrow_mut();
        let size = state.owner.page_size;
        let id = state.owner.folios.add(Folio { young: true, ..Folio::new(Use::Anon, pfn, 0) });
        let process = state.owner.processes.get_mut(at.pid).filter(|process| !process.killed);
        let before = process.and_then(|process| {
            let table = process.windows.get_mut(size.window(at.page))?.table_or_new(size)?;
            Some(&mut table[size.index(at.page) as usize])
        });
        let before = match before {
            Some(pte @ (Pte::None | Pte::File { .. })) => std::mem::replace(pte, Pte::Page(id)),
            _ => {
                state.owner.forget(id);
                state.free_page(pfn, self.mm.env.cpu());
                return Err(FAULT);
            }
        };
        if let Pte::File { id, young } = before {
            debug_assert!(id == of || state.owner.folios.get(id).maps > 1, "mapped");
            forget_file_pte(state, id, young);
        }
        add_anon(state, pfn, id);
        Ok(())
    }

    /// The first write to a clean page of a shared mapping (`page_mkwrite`).
    pub async fn make_writable(&self, at: At, region: Region, backing: Backing, id: FolioId) {
        self.spend(self.spec.costs.fault).await;
        let index = at.page - region.base;
        let page = Stretch { file: backing.file, index, end: index + 1 };
        self.add_buffers(at.pid, page, 1).await;
        if self.cached(page).is_some_and(|(now, _)| now == id) {
            self.dirty(page, id);
            self.balance_dirty(1).await;
        }
    }
}

/// Maps a file's page, as used: x86 enters pages that nobody has asked for yet as young, too. `false`: something is mapped there.
fn map_file_page(state: &mut State<SimWorld>, at: At, id: FolioId, mapping: FileMapping) -> bool {
    let Some(pfn) = state.owner.folios.frame(id) else { return false };
    let size = state.owner.page_size;
    let process = state.owner.processes.get_mut(at.pid).filter(|process| !process.killed);
    let Some(window) = process.and_then(|process| process.windows.get_mut(size.window(at.page))) else { return false };
    if window.table.is_none() || !window.is_mapped(size.index(at.page)) {
        return false;
    }
    let Some(table) = window.table_or_new(size) else { return false };
    let pte = &mut table[size.index(at.page) as usize];
    if *pte != Pte::None {
        return false;
    }
    *pte = Pte::File { id, young: true };
    state.owner.folios.get_mut(id).maps += 1;
    let exec = if mapping == FileMapping::Exec { PageFlags::EXEC } else { PageFlags::NONE };
    state.pages.add_flags(pfn, PageFlags::MAPPED.with(exec));
    true
}

#[cfg(test)]
mod tests;
