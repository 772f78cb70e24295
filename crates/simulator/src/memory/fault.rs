//! Page faults: what a touch of memory meets, and how missing pages come in.

use crate::errno::{FAULT, NOMEM};
use crate::memory::masks::{ANON, ANON_COPY, PAGE_TABLE};
use crate::memory::swap::leave_swap_cache;
use crate::sim::{Sim, SimWorld};
use crate::state::address_space::{At, Pid, Region};
use crate::state::computer::Computer;
use crate::state::folio::{Folio, FolioId, Folios, KernelUse, Place, Use};
use crate::state::page_table::{Entry, Pte};
use crate::state::windows::Window;
use mm::thp::{ThpPlace, thp_allowed, thp_fault_gfp};
use mm::{Env, Nanos, PageFlags, Pages, State, Tag};
use pagealloc::{Counter, NodeMask, Pfn};
use std::ops::Range;
use workload::{Access, Advice, Errno, FileMapping, RegionId, Touched};

/// CPU time that a task gathers before it passes, so that touches of mapped pages need no detour each.
const DEBT: Nanos = 20_000;

/// What a page needs before it can be touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    /// Nothing: the whole range has been touched.
    Nothing,
    /// Time for those touched so far.
    Time,
    /// A page table.
    Table,
    /// A huge page, or base pages if there is none.
    Huge,
    /// A page of zeroes.
    Fresh,
    /// The zero page.
    ZeroPage,
    /// A copy of a page that others have, too.
    Copy(FolioId),
    /// Its content, from the swap device.
    SwapIn(FolioId),
    /// Nothing but to be mapped: it was read ahead.
    Map(FolioId),
    /// Its content is on the way.
    Wait(Nanos),
    /// To tell NUMA balancing who uses it.
    Hint(FolioId),
    /// Its page of the file that is mapped there.
    File,
    /// To be told of the first write to a page of a shared mapping.
    Writable(FolioId),
}

/// What an address maps to.
enum Found {
    Mapped(FolioId),
    Zero,
    /// A page of a file, ready to be used.
    File,
    Needs(Need),
}

impl Sim {
    /// Touches a range of a region, page by page.
    pub async fn touch(
        &self,
        pid: Pid,
        region: RegionId,
        first: u32,
        pages: u32,
        access: Access,
    ) -> Result<Touched, Errno> {
        let region = self.region(pid, region)?;
        let start = region.base + first;
        if access == Access::Write && region.backing.is_some_and(|backing| !backing.mapping.is_writable()) {
            return Err(FAULT);
        }
        let (mut left, mut counted) = (start..start + pages, None);
        while left.start < left.end {
            let mut debt = 0;
            let need = self.touch_mapped(pid, &mut left, (access, region), &mut debt)?;
            let at = At { pid, page: left.start };
            self.spend_as_user(debt).await;
            self.count_fault(need, at.page, &mut counted);
            match need {
                Need::Nothing => {}
                Need::Time => self.numa_tick(pid).await,
                Need::Table => self.add_table(at).await?,
                Need::Huge => self.huge_fault(at, region.advice == Some(Advice::HugePage)).await?,
                Need::Fresh => self.anon_fault(at).await?,
                Need::ZeroPage => {
                    self.spend(self.spec.costs.fault).await;
                    self.set_pte(at, Pte::None, Pte::Zero);
                }
                Need::Copy(of) => self.copy_on_write(at, of).await?,
                Need::SwapIn(of) => self.swap_in(at, of).await?,
                Need::Map(of) => self.map_read_ahead(at, of).await,
                Need::Wait(until) => self.env().sleep_until(until).await,
                Need::Hint(of) => self.hint_fault(pid, of).await,
                Need::File | Need::Writable(_) => self.fault_on_file(at, region, need, access).await?,
            }
        }
        Ok(Touched { huge: Some(self.huge_pages(pid, start, left.end)) })
    }

    async fn fault_on_file(&self, at: At, region: Region, need: Need, access: Access) -> Result<(), Errno> {
        let backing = region.backing.ok_or(FAULT)?;
        match need {
            Need::Writable(id) => self.make_writable(at, region, backing, id).await,
            _ => self.file_fault(at, region, backing, access).await?,
        }
        Ok(())
    }

    /// A fault counts once, however often it is tried again (`mm_account_fault`): at its first need. A NUMA hint is a fault of its own.
    fn count_fault(&self, need: Need, page: u32, counted: &mut Option<u32>) {
        let vmstat = &mut self.mm.state.borrow_mut().alloc.vmstat;
        match need {
            Need::Nothing | Need::Time | Need::Table => return,
            Need::Hint(_) => return vmstat.bump(Counter::Pgfault),
            Need::SwapIn(_) => vmstat.bump(Counter::Pgmajfault),
            _ => {}
        }
        if counted.replace(page) != Some(page) {
            vmstat.bump(Counter::Pgfault);
        }
    }

    /// A region of a process.
    pub fn region(&self, pid: Pid, region: RegionId) -> Result<Region, Errno> {
        let state = self.mm.state.borrow();
        state.owner.processes.get(pid).and_then(|process| process.regions.get(&region)).copied().ok_or(FAULT)
    }

    fn huge_pages(&self, pid: Pid, start: u32, end: u32) -> u32 {
        let state = self.mm.state.borrow();
        let Some(process) = state.owner.processes.get(pid) else { return 0 };
        let is_huge = |entry: &Entry| match entry {
            Entry::Huge(id) => state.owner.folios.frame(*id).is_some(),
            Entry::Empty | Entry::Table(_) => false,
        };
        let size = process.windows.size;
        let windows = size.window(start)..=size.window(end.saturating_sub(1));
        let windows = windows.filter_map(|number| process.windows.get(number));
        windows.filter(|window| is_huge(&window.entry)).count() as u32
    }

    /// Touches pages as long as they are mapped.
    fn touch_mapped(
        &self,
        pid: Pid,
        left: &mut Range<u32>,
        (access, region): (Access, Region),
        debt: &mut Nanos,
    ) -> Result<Need, Errno> {
        let costs = &self.spec.costs;
        let cost = match access {
            Access::Read => costs.read_word,
            Access::Write => costs.write_page,
        };
        let state = &mut *self.mm.state.borrow_mut();
        while left.start < left.end {
            if *debt >= DEBT {
                return Ok(Need::Time);
            }
            let at = At { pid, page: left.start };
            let affordable = (DEBT - *debt).div_ceil(cost.max(1)) as u32;
            let end = left.end.min(at.end_of_window(self.page_size())).min(at.page + affordable);
            let mut pages = self.touch_run(state, at, end, access);
            if pages == 0 {
                pages = 1;
                match self.look_up(state, at, access, region)? {
                    Found::Mapped(id) => match self.use_mapped(state, id, access) {
                        // One look at a huge page is enough for all of it that is touched before the next look at the clock.
                        Need::Nothing if is_whole(state.owner.folios.get(id)) => pages = end - at.page,
                        Need::Nothing => {}
                        need => return Ok(need),
                    },
                    Found::Zero | Found::File => {}
                    Found::Needs(need) => return Ok(need),
                }
            }
            *debt += cost * u64::from(pages);
            left.start += pages;
            if let Some(of) = region.backing.and_then(|backing| state.owner.files.get_mut(backing.file)) {
                let first = at.page - region.base;
                of.used.note(first..first + pages, self.mm.env.now());
            }
        }
        Ok(Need::Nothing)
    }

    /// Touches base pages of one window up to the first that needs anything, which most don't: how many.
    fn touch_run(&self, state: &mut State<SimWorld>, at: At, end: u32, access: Access) -> u32 {
        let write = access == Access::Write;
        let (now, size) = (self.mm.env.now(), state.owner.page_size);
        let Computer { processes, folios, .. } = &mut state.owner;
        let process = processes.get_mut(at.pid).filter(|process| !process.killed);
        let window = process.and_then(|of| of.windows.get_mut(at.window(size)));
        let Some(Window { entry: Entry::Table(table), .. }) = window else { return 0 };
        let mut run = 0;
        for pte in &mut table[at.index(size)..][..(end - at.page) as usize] {
            match pte {
                Pte::File { young, .. } if !write => *young = true,
                Pte::Page(id) => {
                    let folio = folios.get_mut(*id);
                    let Place::Frame(pfn) = folio.place else { break };
                    // What has no slots is not in the swap cache: most pages' flags, far from the folio, need no look.
                    let in_swap_cache = || state.pages.flags(pfn).contains(PageFlags::SWAPCACHE);
                    let written = !write || folio.maps == 1 && (folio.slot.is_none() || !in_swap_cache());
                    if folio.ready > now || folio.ahead || folio.hint || folio.order > 0 || !written {
                        break;
                    }
                    // What is young is left alone: a write would dirty the folio's line for nothing.
                    if !folio.young {
                        folio.young = true;
                    }
                }
                _ => break,
            }
            run += 1;
        }
        run
    }

    fn look_up(&self, state: &mut State<SimWorld>, at: At, access: Access, region: Region) -> Result<Found, Errno> {
        let write = access == Access::Write;
        let Computer { processes, folios, page_size: size, .. } = &mut state.owner;
        let size = *size;
        let process = processes.get_mut(at.pid).filter(|process| !process.killed).ok_or(FAULT)?;
        let window = process.windows.get_mut(at.window(size)).ok_or(FAULT)?;
        if !window.is_mapped(size.index(at.page)) {
            return Err(FAULT);
        }
        window.entry.resolve(folios);
        if window.table.is_none() {
            return Ok(Found::Needs(Need::Table));
        }
        let missing = match region.backing {
            Some(_) => Need::File,
            None if write => Need::Fresh,
            None => Need::ZeroPage,
        };
        let huge = region.backing.is_none() && window.is_whole() && self.wants_huge(region.advice);
        let shared = region.backing.is_some_and(|backing| backing.mapping == FileMapping::Shared);
        Ok(match &mut window.entry {
            Entry::Empty if write && huge => Found::Needs(Need::Huge),
            Entry::Empty => Found::Needs(missing),
            Entry::Huge(id) => Found::Mapped(*id),
            Entry::Table(table) => match &mut table[at.index(size)] {
                Pte::Page(id) => Found::Mapped(*id),
                Pte::File { id, .. } if write && shared && is_clean(folios, &state.pages, *id) => {
                    Found::Needs(Need::Writable(*id))
                }
                Pte::File { young, .. } if !write || shared => {
                    *young = true;
                    Found::File
                }
                Pte::Zero if !write => Found::Zero,
                Pte::None | Pte::Zero | Pte::File { .. } => Found::Needs(missing),
            },
        })
    }

    /// Whether a huge page may be had where one fits.
    pub fn wants_huge(&self, advice: Option<Advice>) -> bool {
        let madvised = advice == Some(Advice::HugePage);
        advice != Some(Advice::NoHugePage) && thp_allowed(self.spec.thp.enabled, madvised)
    }

    fn use_mapped(&self, state: &mut State<SimWorld>, id: FolioId, access: Access) -> Need {
        let write = access == Access::Write;
        let folio = state.owner.folios.get_mut(id);
        match folio.place {
            Place::Swapped(_) | Place::Split(_) => Need::SwapIn(id),
            Place::Frame(_) if folio.ready > self.mm.env.now() => Need::Wait(folio.ready),
            Place::Frame(_) if folio.ahead => Need::Map(id),
            Place::Frame(_) if folio.hint => Need::Hint(id),
            Place::Frame(_) if write && folio.maps > 1 && !folio.parts => Need::Copy(id),
            Place::Frame(pfn) => {
                folio.young = true;
                if write {
                    leave_swap_cache(state, id, pfn, self.mm.env.cpu());
                }
                Need::Nothing
            }
        }
    }

    /// Replaces an entry, making the range's table if there is none. `false`: the entry is no longer what it was.
    fn set_pte(&self, at: At, from: Pte, to: Pte) -> bool {
        self.mm.state.borrow_mut().owner.set_pte(at, from, to)
    }
}

impl Computer {
    /// See [`Sim::set_pte`].
    fn set_pte(&mut self, at: At, from: Pte, to: Pte) -> bool {
        let size = self.page_size;
        let process = self.processes.get_mut(at.pid).filter(|process| !process.killed);
        let Some(window) = process.and_then(|process| process.windows.get_mut(at.window(size))) else { return false };
        let Some(table) = window.table_or_new(size) else { return false };
        let pte = &mut table[at.index(size)];
        let expected = *pte == from || from == Pte::None && *pte == Pte::Zero;
        if expected {
            *pte = to;
        }
        expected
    }
}

impl Sim {
    /// Gives the window its page-table page.
    async fn add_table(&self, at: At) -> Result<(), Errno> {
        let id = self.kernel_page(0, PAGE_TABLE, at.pid, KernelUse::PageTable).await.ok_or(NOMEM)?;
        self.spend(self.spec.costs.clear_page).await;
        let mut state = self.mm.state.borrow_mut();
        let size = state.owner.page_size;
        let process = state.owner.processes.get_mut(at.pid);
        match process.and_then(|process| process.windows.get_mut(at.window(size))) {
            Some(window) if window.table.is_none() => window.table = Some(id),
            _ => {
                drop(state);
                self.free_folio(id);
            }
        }
        Ok(())
    }

    /// A fault in a range that a huge page may serve (12.1).
    async fn huge_fault(&self, at: At, madvised: bool) -> Result<(), Errno> {
        self.enter_khugepaged(at.pid);
        let size = self.page_size();
        let order = size.huge_order();
        let (task, ts) = (self.context(at.pid), self.mm.env.now());
        let node = self.mm.state.borrow().alloc.node_of_cpu(task.cpu);
        let place = ThpPlace { node, nodemask: NodeMask::ALL };
        let page = Box::pin(self.mm.thp_fault(self.spec.thp.defrag, madvised, place, &task)).await;
        if page.is_some() && self.mm.env.now() == ts {
            self.requests.borrow_mut().fast[usize::from(order)] += 1;
        } else {
            let gfp = thp_fault_gfp(&self.mm.state.borrow().alloc.policy.thp, self.spec.thp.defrag, madvised);
            self.note_slow(ts, order, gfp, page.is_some());
        }
        let Some(pfn) = page else {
            return self.anon_fault(at).await;
        };
        self.spend(self.spec.costs.fault + self.spec.costs.clear_page * u64::from(size.ptes())).await;
        let mut state = self.mm.state.borrow_mut();
        let id = state.owner.folios.add(Folio { young: true, ..Folio::new(Use::Anon, pfn, order) });
        let process = state.owner.processes.get_mut(at.pid).filter(|process| !process.killed);
        match process.and_then(|process| process.windows.get_mut(at.window(size))) {
            Some(window) if window.entry == Entry::Empty => window.entry = Entry::Huge(id),
            // The fault begins anew.
            _ => {
                state.owner.forget(id);
                state.free_page(pfn, task.cpu);
                return Ok(());
            }
        }
        add_anon(&mut state, pfn, id);
        Ok(())
    }

    async fn anon_fault(&self, at: At) -> Result<(), Errno> {
        let pfn = self.pages(0, ANON, at.pid).await.ok_or(NOMEM)?;
        self.spend(self.spec.costs.fault + self.spec.costs.clear_page).await;
        self.install_anon(at, Pte::None, pfn);
        Ok(())
    }

    /// Maps a new page in place of what the entry held, if it still does: otherwise the fault begins anew, as when khugepaged was faster.
    fn install_anon(&self, at: At, from: Pte, pfn: Pfn) -> bool {
        let folio = Folio { young: true, ..Folio::new(Use::Anon, pfn, 0) };
        let mut state = self.mm.state.borrow_mut();
        let id = state.owner.folios.add(folio);
        if state.owner.set_pte(at, from, Pte::Page(id)) {
            add_anon(&mut state, pfn, id);
            return true;
        }
        drop(state);
        self.free_folio(id);
        false
    }

    /// A write to a page that others have, too. A huge page is not copied: its range falls apart into base pages first.
    async fn copy_on_write(&self, at: At, of: FolioId) -> Result<(), Errno> {
        if self.mm.state.borrow().owner.folios.get(of).order > 0 {
            return self.split(of).await;
        }
        let pfn = self.pages(0, ANON_COPY, at.pid).await.ok_or(NOMEM)?;
        self.spend(self.spec.costs.fault + self.spec.costs.copy_page).await;
        // The others may have gone meanwhile; the copy does no harm.
        if self.install_anon(at, Pte::Page(of), pfn) {
            let frame = self.mm.state.borrow_mut().owner.unmap(of);
            self.free_frames(frame);
        }
        Ok(())
    }

    /// Splits a huge page, as soon as nobody is writing it.
    pub async fn split(&self, id: FolioId) -> Result<(), Errno> {
        const RETRY: Nanos = 1_000_000;
        loop {
            {
                let mut state = self.mm.state.borrow_mut();
                let Some(pfn) = state.owner.folios.frame(id) else { return Ok(()) };
                if state.split_huge_page(pfn, self.env().cpu()) {
                    return Ok(());
                }
            }
            self.env().wait(mm::Queue::Timer, Some(RETRY)).await;
        }
    }
}

/// Whether it is a huge page that is mapped as such.
fn is_whole(folio: &Folio) -> bool {
    folio.order > 0 && !folio.parts
}

fn is_clean(folios: &Folios, pages: &Pages, id: FolioId) -> bool {
    folios.frame(id).is_some_and(|pfn| !pages.flags(pfn).contains(PageFlags::DIRTY))
}

/// Puts a new anonymous page on its list.
pub(crate) fn add_anon(state: &mut State<SimWorld>, pfn: Pfn, id: FolioId) {
    let flags = state.fresh_anon_flags().with(PageFlags::DIRTY).with(PageFlags::MAPPED);
    state.lru_add(pfn, flags, Tag::from(id));
}
