//! Processes: fork, unmap, exit.

use crate::errno::{FAULT, NOMEM};
use crate::memory::mapped::forget_file_pte;
use crate::memory::masks::PAGE_TABLE;
use crate::sim::{Birth, Sim};
use crate::state::address_space::{Pid, Process};
use crate::state::folio::{FolioId, KernelUse};
use crate::state::page_size::PageSize;
use crate::state::page_table::{Entry, Pte};
use crate::state::slab::{Cache, Object};
use crate::state::windows::Window;
use mm::{PageFlags, State};
use pagealloc::Gfp;
use smallvec::SmallVec;
use workload::{Access, Errno, RegionId, Spawn};

/// What a process has in slab caches: itself, its address space with a handful of mappings, its files.
const OBJECTS: [Cache; 17] = {
    use Cache::*;
    [
        Task,
        Signal,
        Sighand,
        Mm,
        Files,
        Pid,
        Cred,
        Vma,
        Vma,
        Vma,
        Vma,
        Vma,
        AnonVma,
        AnonVma,
        AnonVma,
        AnonVmaChain,
        AnonVmaChain,
    ]
};
/// Page tables beside those of its mappings. With pages of 4 KiB, the top one, two of the next level and three of the one below it, as program and heap
/// lie far from libraries, and those from the stack; and of the last level those of the program's text, of the stack, and of the kernel's pages for
/// the clock. Larger pages have a level less, and two of the next one (arm64; own estimate).
const fn other_tables(size: PageSize) -> usize {
    if size.bytes() > 4096 { 6 } else { 9 }
}
/// The region that stands for a program's data and stack, and its private pages.
pub(crate) const IMAGE: RegionId = RegionId(u32::MAX);
const IMAGE_BYTES: u64 = 128 << 10;
/// Of these, what a forked child writes to.
const CHILD_WRITES: u64 = 32 << 10;
/// A list of pages to be freed after an unmap: `GFP_NOWAIT`, as recorded.
const GATHER: Gfp = Gfp(Gfp::KSWAPD_RECLAIM.0 | Gfp::NOWARN.0);
/// Pages that need no list (`MMU_GATHER_BUNDLE`).
const BUNDLE: usize = 8;
/// Pages after whose lists they are freed in between (`MAX_GATHER_BATCH_COUNT`).
const GATHERED: usize = 10_000;

/// What of a range is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zap {
    /// Its pages (`MADV_DONTNEED`).
    Pages,
    /// Its addresses, too (`munmap`).
    Addresses,
}

/// Pages that no page table maps any more, held until a batch is full (`mmu_gather`): nobody else may free or move them.
#[derive(Default)]
struct Gather {
    folios: Vec<FolioId>,
    /// Pages of files, which stay in memory: they are on the lists, too.
    kept: usize,
    batches: Vec<FolioId>,
    /// Page tables, and the list that they have of their own.
    tables: Vec<FolioId>,
    of_tables: Option<FolioId>,
}

impl Gather {
    /// Lists that its pages need: the next one as soon as the last is full.
    fn lists(&self, room: usize) -> usize {
        (self.folios.len() + self.kept).checked_sub(BUNDLE).map_or(0, |listed| listed / room + 1)
    }
}

impl Sim {
    /// A process that nobody forked.
    pub fn new_root(&self) -> Pid {
        self.enter(Process::new(None, self.page_size()))
    }

    fn enter(&self, process: Process) -> Pid {
        let pid = self.next_pid.get();
        self.next_pid.set(pid + 1);
        self.alive.set(self.alive.get() + 1);
        self.mm.state.borrow_mut().owner.processes.insert(pid, process);
        pid
    }

    /// What a root's process needs before its first operation.
    pub async fn start_root(&self, pid: Pid) -> Result<(), Errno> {
        self.build(pid).await?;
        let pages = self.page_size().fill(IMAGE_BYTES);
        self.with_process(pid, |process| process.map(IMAGE, pages, None))??;
        self.touch(pid, IMAGE, 0, pages, Access::Write).await?;
        Ok(())
    }

    pub fn with_process<R>(&self, pid: Pid, then: impl FnOnce(&mut Process) -> R) -> Result<R, Errno> {
        self.mm.state.borrow_mut().owner.processes.get_mut(pid).map(then).ok_or(FAULT)
    }

    async fn build(&self, pid: Pid) -> Result<(), Errno> {
        let objects = self.objects(OBJECTS, pid).await?;
        self.with_process(pid, |process| process.own_objects.extend(objects))?;
        self.make_stack(pid).await?;
        for _ in 0..other_tables(self.page_size()) {
            let id = self.kernel_page(0, PAGE_TABLE, pid, KernelUse::PageTable).await.ok_or(NOMEM)?;
            self.with_process(pid, |process| process.own_pages.push(id))?;
        }
        Ok(())
    }

    /// `fork`: the child has copies of the page tables and shares what they map.
    pub async fn fork(&self, parent: Pid, spawn: &Spawn) -> Result<(), Errno> {
        self.spend(self.spec.costs.fork).await;
        let layout = self.with_process(parent, |process| process.fork_layout(parent))?;
        for number in layout.handles.values() {
            if let Some(handle) = self.mm.state.borrow_mut().owner.handles.get_mut(*number) {
                handle.holders += 1;
            }
        }
        let child = self.enter(layout);
        self.inherit_khugepaged(parent, child);
        let mut forked = self.build(child).await;
        if forked.is_ok() {
            forked = self.inherit_file_maps(parent, child).await;
        }
        if forked.is_ok() {
            forked = self.copy_tables(parent, child).await;
        }
        if let Err(error) = forked {
            self.tear_down(child).await;
            self.alive.set(self.alive.get() - 1);
            return Err(error);
        }
        self.with_process(parent, |process| process.children += 1)?;
        self.births.borrow_mut().push_back(Birth { pid: child, spawn: *spawn, quota: None });
        // The child is started before the parent goes on.
        self.env().yield_now().await;
        Ok(())
    }

    async fn copy_tables(&self, parent: Pid, child: Pid) -> Result<(), Errno> {
        // Pages of files are not copied: who needs them finds them in the cache.
        let of_window = |window: &Window| window.table.is_some() && window.entry.has_own_pages();
        let windows: Vec<u32> = self.with_process(parent, |process| {
            process.windows.iter().filter(|(_, window)| of_window(window)).map(|(number, _)| number).collect()
        })?;
        for number in windows {
            self.split_parts(parent, number).await?;
            let table = self.kernel_page(0, PAGE_TABLE, child, KernelUse::PageTable).await.ok_or(NOMEM)?;
            self.spend(self.spec.costs.copy_table).await;
            if !self.share_window(parent, child, number, table) {
                self.free_folio(table);
            }
        }
        Ok(())
    }

    fn share_window(&self, parent: Pid, child: Pid, number: u32, table: FolioId) -> bool {
        let owner = &mut self.mm.state.borrow_mut().owner;
        let of = owner.processes.get_mut(parent).and_then(|process| process.windows.get_mut(number));
        let Some(from) = of else { return false };
        from.entry.resolve(&mut owner.folios);
        let entry = from.entry.to_inherit();
        let Some(to) = owner.processes.get_mut(child).and_then(|process| process.windows.get_mut(number)) else {
            return false;
        };
        match &entry {
            Entry::Empty => {}
            Entry::Huge(id) => owner.folios.get_mut(*id).maps += 1,
            Entry::Table(table) => {
                let pages = table.iter().filter_map(|pte| if let Pte::Page(id) = pte { Some(*id) } else { None });
                pages.for_each(|id| owner.folios.get_mut(id).maps += 1);
            }
        }
        (to.entry, to.table) = (entry, Some(table));
        true
    }

    /// What a forked child does first: it writes to its stack and data.
    pub async fn start_child(&self, pid: Pid) -> Result<(), Errno> {
        self.touch(pid, IMAGE, 0, self.page_size().fill(CHILD_WRITES), Access::Write).await.map(|_| ())
    }

    /// Gives back a range of a region.
    pub async fn zap(&self, pid: Pid, region: RegionId, first: u32, pages: u32, what: Zap) -> Result<(), Errno> {
        let start = self.region(pid, region)?.base + first;
        let end = start + pages;
        let mut gather = Gather::default();
        let size = self.page_size();
        for number in size.window(start)..=size.window(end - 1) {
            let (from, to) = (start.max(size.first(number)), end.min(size.first(number + 1)));
            self.prepare_to_cut(pid, number, to - from).await?;
            let table = self.take_window(pid, number, from..to, what, &mut gather);
            self.gather_table(pid, &mut gather, table).await;
            self.make_room(pid, &mut gather).await;
        }
        self.release(gather).await;
        Ok(())
    }

    /// Takes pages out of a window; the page-table page if nothing is mapped any more.
    fn take_window(
        &self,
        pid: Pid,
        number: u32,
        pages: std::ops::Range<u32>,
        what: Zap,
        gather: &mut Gather,
    ) -> Option<FolioId> {
        let state = &mut *self.mm.state.borrow_mut();
        let State { owner, pages: flags, .. } = state;
        let size = owner.page_size;
        let window = owner.processes.get_mut(pid)?.windows.get_mut(number)?;
        window.entry.resolve(&mut owner.folios);
        // As many as a window of 4 KiB pages has.
        let (mut gone, mut of_files) = (SmallVec::<[FolioId; 512]>::new(), SmallVec::<[_; 16]>::new());
        match &mut window.entry {
            Entry::Empty => {}
            Entry::Huge(id) => {
                gone.push(*id);
                window.entry = Entry::Empty;
            }
            Entry::Table(table) => {
                for page in pages.clone() {
                    let pte = std::mem::replace(&mut table[size.index(page) as usize], Pte::None);
                    match pte {
                        Pte::Page(id) => gone.push(id),
                        Pte::File { id, young } => of_files.push((id, young)),
                        Pte::None | Pte::Zero => {}
                    }
                }
            }
        }
        let mut table = None;
        if what == Zap::Addresses {
            window.unmap(pages.start - size.first(number)..pages.end - size.first(number));
            if window.is_gone() {
                table = window.table.take();
                owner.processes.get_mut(pid)?.windows.remove(number);
            }
        }
        for id in gone {
            if let Some(pfn) = owner.unmap_to_gather(id) {
                flags.add_flags(pfn, PageFlags::PINNED);
                gather.folios.push(id);
            }
        }
        gather.kept += of_files.len();
        of_files.into_iter().for_each(|(id, young)| forget_file_pte(state, id, young));
        table
    }

    /// Pages that are being unmapped are freed in batches, whose lists take pages themselves.
    async fn make_room(&self, pid: Pid, gather: &mut Gather) {
        // A list is a page of pointers behind two words.
        let room = (self.spec.page() as usize - 16) / 8;
        while gather.lists(room) > gather.batches.len() {
            let full = gather.batches.len() >= GATHERED / room;
            match if full { None } else { self.kernel_page(0, GATHER, pid, KernelUse::Gather).await } {
                Some(id) => gather.batches.push(id),
                None => return self.release(std::mem::take(gather)).await,
            }
        }
    }

    /// A page table that is not needed any more goes with the pages.
    async fn gather_table(&self, pid: Pid, gather: &mut Gather, table: Option<FolioId>) {
        let Some(table) = table else { return };
        gather.tables.push(table);
        let apart = self.mm.state.borrow().alloc.policy.computer.page_tables_apart;
        if !apart {
            // On the lists of pages.
            gather.kept += 1;
        } else if gather.of_tables.is_none() {
            gather.of_tables = self.kernel_page(0, GATHER, pid, KernelUse::Gather).await;
        }
    }

    async fn release(&self, gather: Gather) {
        let nanos = self.spec.costs.page * gather.folios.len() as u64;
        let lists = gather.batches.into_iter().chain(gather.of_tables);
        gather.folios.into_iter().chain(gather.tables).chain(lists).for_each(|id| self.free_folio(id));
        self.spend(nanos).await;
    }

    /// `exit`: everything goes, and the parent is told.
    pub async fn exit(&self, pid: Pid) {
        let parent = self.with_process(pid, |process| process.parent).ok().flatten();
        self.tear_down(pid).await;
        self.alive.set(self.alive.get() - 1);
        let waiter = parent.and_then(|parent| {
            let told = |process: &mut Process| {
                process.children -= 1;
                if process.children == 0 { process.waiter.take() } else { None }
            };
            self.with_process(parent, told).ok().flatten()
        });
        waiter.into_iter().for_each(|task| self.env().unpark(task));
    }

    async fn tear_down(&self, pid: Pid) {
        self.leave_khugepaged(pid);
        let handles: Vec<u32> =
            self.with_process(pid, |process| process.handles.values().copied().collect()).unwrap_or_default();
        for handle in handles {
            self.drop_handle(handle);
        }
        let numbers =
            self.with_process(pid, |process| process.windows.iter().map(|(number, _)| number).collect::<Vec<u32>>());
        let (mut gather, size) = (Gather::default(), self.page_size());
        for number in numbers.unwrap_or_default() {
            let pages = size.first(number)..size.first(number + 1);
            let table = self.take_window(pid, number, pages, Zap::Addresses, &mut gather);
            self.gather_table(pid, &mut gather, table).await;
            self.make_room(pid, &mut gather).await;
        }
        self.release(gather).await;
        let mapped = self.with_process(pid, |process| process.file_maps.keys().copied().collect::<Vec<_>>());
        mapped.unwrap_or_default().into_iter().for_each(|region| self.release_file_map(pid, region));
        let process = self.mm.state.borrow_mut().owner.processes.remove(pid);
        if let Some(Process { stack, own_pages, own_objects, .. }) = process {
            self.leave_stack(stack);
            own_pages.into_iter().for_each(|id| self.free_folio(id));
            self.free_objects(own_objects);
        }
        self.spend(self.spec.costs.fork / 2).await;
    }

    /// Waits until all children have exited.
    pub async fn wait_for_children(&self, pid: Pid) -> Result<(), Errno> {
        while self.with_process(pid, |process| process.children)? > 0 {
            let task = self.env().current.get();
            self.with_process(pid, |process| process.waiter = Some(task))?;
            self.env().park(None).await;
        }
        Ok(())
    }

    /// Gives up what a handle holds, unless somebody else holds it, too.
    pub fn drop_handle(&self, number: u32) {
        let mut state = self.mm.state.borrow_mut();
        let Some(handle) = state.owner.handles.get_mut(number) else { return };
        handle.holders -= 1;
        if handle.holders > 0 {
            return;
        }
        let handle = state.owner.handles.remove(number).unwrap_or_default();
        handle.file.into_iter().for_each(|file| state.owner.close_file(file));
        drop(state);
        handle.pages.into_iter().for_each(|id| self.free_folio(id));
        self.free_objects(handle.objects.into_iter().collect::<Vec<Object>>());
    }
}
