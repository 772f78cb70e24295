//! *Who makes huge pages where faults got none?* khugepaged looks through address spaces, a few ranges as large as a huge page every ten seconds, and moves those
//! that are worth it into a huge page (12.3).

use crate::memory::fault::add_anon;
use crate::sim::{Sim, SimWorld};
use crate::state::address_space::{At, Pid, Process, Region};
use crate::state::computer::Computer;
use crate::state::folio::{FolioId, KernelUse, Place, Use};
use crate::state::page_table::{Entry, Pte};
use crate::state::windows::{FILES, Window};
use mm::thp::{Khugepaged, RangeScan};
use mm::{Env, Nanos, PageFlags, State, TaskContext, TaskFlags};
use pagealloc::policy::{CollapseSwapIn, ThpRules};
use pagealloc::{FrameState, NodeId};
use workload::{Errno, RegionId};

/// Its process number, below those of kcompactds.
const PID: Pid = u32::MAX - 512;
/// Weight of nice 19.
const WEIGHT: u32 = 15;
/// Shortest time from one round to the next: a round has all CPUs empty their batches of pages first, and waits for that. Own estimate.
const BETWEEN_ROUNDS: Nanos = 50_000;
/// Times that a round may begin at the first address space (`pass_through_head`).
const BEGINNINGS: u32 = 2;

impl Sim {
    /// The process has room for a huge page (`khugepaged_enter_vma`).
    pub fn enter_khugepaged(&self, pid: Pid) {
        let new = self.with_process(pid, |process| !std::mem::replace(&mut process.seen_by_khugepaged, true));
        if new != Ok(true) {
            return;
        }
        let mut scan = self.khugepaged.borrow_mut();
        scan.processes.push(pid);
        if let Some(task) = scan.idle.take() {
            self.env().unpark(task);
        }
    }

    /// A region is new, or has got another advice: khugepaged looks through it if huge pages may be had there.
    pub fn has_room_for_huge_pages(&self, pid: Pid, region: RegionId) -> Result<(), Errno> {
        let Region { base, pages, advice, backing } = self.region(pid, region)?;
        if backing.is_some() || !self.wants_huge(advice) {
            return Ok(());
        }
        let size = self.page_size();
        // Small mappings grow together.
        let mut numbers = size.window(base)..=size.window(base + pages - 1);
        let fits =
            |process: &mut Process| numbers.any(|number| process.windows.get(number).is_some_and(Window::is_whole));
        if self.with_process(pid, fits)? {
            self.enter_khugepaged(pid);
        }
        Ok(())
    }

    /// A child has what its parent has.
    pub fn inherit_khugepaged(&self, parent: Pid, child: Pid) {
        if self.with_process(parent, |process| process.seen_by_khugepaged) == Ok(true) {
            self.enter_khugepaged(child);
        }
    }

    pub fn leave_khugepaged(&self, pid: Pid) {
        self.khugepaged.borrow_mut().remove(pid);
    }

    pub async fn collapse_forever(&self) {
        self.env().weigh(WEIGHT);
        let rules = self.khugepaged_rules();
        loop {
            let idle = self.khugepaged.borrow().processes.is_empty();
            if idle {
                self.khugepaged.borrow_mut().idle = Some(self.env().current.get());
                self.env().park(None).await;
            }
            self.scan_for_collapses(&rules).await;
            self.env().sleep(rules.scan_sleep.max(BETWEEN_ROUNDS)).await;
        }
    }

    /// The settings, within what the era can do.
    fn khugepaged_rules(&self) -> Khugepaged {
        let ThpRules { collapse_swap_in, collapses_shared, .. } = self.mm.state.borrow().alloc.policy.thp;
        let mut rules = self.spec.thp.khugepaged;
        if collapse_swap_in == CollapseSwapIn::Never {
            rules.max_ptes_swap = 0;
        }
        if !collapses_shared {
            rules.max_ptes_shared = 0;
        }
        rules
    }

    /// A round (`khugepaged_do_scan`).
    async fn scan_for_collapses(&self, rules: &Khugepaged) {
        let (mut scanned, mut failures, mut beginnings) = (0, 0, 0);
        while scanned < rules.pages_to_scan {
            beginnings += u32::from(self.khugepaged.borrow().at.is_none());
            if beginnings >= BEGINNINGS {
                return;
            }
            let Some((pid, number)) = self.next_range() else { continue };
            let Some(range) = self.look_at_range(pid, number, rules) else {
                scanned += 1;
                continue;
            };
            let progress = rules.progress(self.mm.state.borrow().alloc.policy.thp.scan_progress, &range);
            scanned += progress;
            self.spend(self.spec.costs.speeds.scan_migrate * u64::from(progress)).await;
            let Ok(node) = rules.judge(&range) else { continue };
            if !self.collapse(pid, number, node, rules).await {
                failures += 1;
                let (sleep, goes_on) = rules.after_failed_alloc(failures);
                if !goes_on {
                    return;
                }
                self.env().sleep(sleep).await;
            }
        }
    }

    /// The window that comes next, if the scan has not reached the end of the last address space.
    fn next_range(&self) -> Option<(Pid, u32)> {
        let state = self.mm.state.borrow();
        let scan = &mut *self.khugepaged.borrow_mut();
        let (pid, from) = scan.at.or_else(|| scan.processes.first().map(|&pid| (pid, 0)))?;
        let process = state.owner.processes.get(pid);
        let number = process.and_then(|process| process.windows.next_from(from));
        let number = number.filter(|&number| number < self.page_size().window(FILES));
        scan.at = match number {
            Some(number) => Some((pid, number + 1)),
            None => scan.next_process(pid).map(|next| (next, 0)),
        };
        number.map(|number| (pid, number))
    }

    /// What a window holds, up to what spoils it; `None` where no huge page fits, or none is wanted.
    fn look_at_range(&self, pid: Pid, number: u32, rules: &Khugepaged) -> Option<RangeScan> {
        let state = &mut *self.mm.state.borrow_mut();
        let Computer { processes, folios, .. } = &mut state.owner;
        let process = processes.get_mut(pid).filter(|process| !process.killed)?;
        let region = process.region_of(process.windows.size.first(number))?;
        let window = process.windows.get_mut(number).filter(|window| window.is_whole())?;
        if !self.wants_huge(region.advice) {
            return None;
        }
        window.entry.resolve(folios);
        let entry = window.entry.clone();
        let mut range = RangeScan { by_node: vec![0; usize::from(self.spec.nodes.max(1))], ..RangeScan::default() };
        match &entry {
            // Nothing to gain.
            Entry::Empty | Entry::Huge(_) => range.none = self.page_size().ptes(),
            Entry::Table(table) => {
                for pte in table {
                    match *pte {
                        Pte::None | Pte::Zero => range.none += 1,
                        Pte::Page(id) => note_page(state, self.mm.env.now(), id, &mut range),
                        Pte::File { .. } => range.unsuitable += 1,
                    }
                    range.entries += 1;
                    if rules.is_spoilt(&range) {
                        break;
                    }
                }
            }
        }
        Some(range)
    }

    /// Moves a range into a huge page (`collapse_huge_page`), unless it changes meanwhile or has to wait for the swap device. `false`: there was
    /// no huge page for it.
    async fn collapse(&self, pid: Pid, number: u32, node: NodeId, rules: &Khugepaged) -> bool {
        let flags = TaskFlags::KTHREAD.with(TaskFlags::KHUGEPAGED);
        let task = TaskContext { flags, ..TaskContext::user(PID, self.env().cpu()) };
        let page = Box::pin(self.mm.khugepaged_alloc(node, rules.defrag, &task)).await;
        let Some(pfn) = page else { return false };
        let filled = self.adopt(pfn, self.page_size().huge_order(), Use::Kernel(KernelUse::Collapse));
        if self.read_range(pid, number).await {
            self.spend(self.spec.costs.copy_page * u64::from(rules.pages)).await;
            let as_before = |range: RangeScan| range.swapped == 0 && rules.judge(&range).is_ok();
            if self.look_at_range(pid, number, rules).is_some_and(as_before) {
                self.move_range(pid, number, filled);
                return true;
            }
        }
        self.free_folio(filled);
        true
    }

    /// Has what is on the swap device read: whether all of it is in memory afterwards.
    async fn read_range(&self, pid: Pid, number: u32) -> bool {
        let rule = self.mm.state.borrow().alloc.policy.thp.collapse_swap_in;
        let size = self.page_size();
        for page in size.first(number)..size.first(number + 1) {
            let at = At { pid, page };
            let Some(id) = self.mm.state.borrow().owner.out_of_page_table(at) else { continue };
            if self.mm.state.borrow().owner.folios.frame(id).is_some() {
                self.map_read_ahead(at, id).await;
            } else if self.swap_in(at, id).await.is_err() {
                return false;
            }
            let ready = self.mm.state.borrow().owner.folios.get(id).ready;
            if ready > self.env().now() {
                if rule != CollapseSwapIn::Waits {
                    return false;
                }
                self.env().sleep_until(ready).await;
            }
        }
        true
    }

    /// The range, which has just been looked at, is in the huge page from now on; what it was in is free, unless others share it.
    fn move_range(&self, pid: Pid, number: u32, filled: FolioId) {
        let frames = {
            let state = &mut *self.mm.state.borrow_mut();
            let Computer { processes, folios, .. } = &mut state.owner;
            let window = processes.get_mut(pid).and_then(|process| process.windows.get_mut(number));
            let (Some(window), Some(pfn)) = (window, folios.frame(filled)) else { return };
            let before = std::mem::replace(&mut window.entry, Entry::Huge(filled));
            let folio = folios.get_mut(filled);
            (folio.what, folio.young) = (Use::Anon, true);
            add_anon(state, pfn, filled);
            state.owner.unmap_entry(before)
        };
        self.free_frames(frames);
    }
}

impl Computer {
    /// The folio of an entry that is not in memory, or is there and not mapped.
    pub(super) fn out_of_page_table(&self, at: At) -> Option<FolioId> {
        let window = self.processes.get(at.pid)?.windows.get(self.page_size.window(at.page))?;
        let Entry::Table(table) = &window.entry else { return None };
        let Pte::Page(id) = table[self.page_size.index(at.page) as usize] else { return None };
        let folio = self.folios.get(id);
        (folio.ahead || matches!(folio.place, Place::Swapped(_))).then_some(id)
    }
}

/// Adds a page to what is known of a range.
fn note_page(state: &State<SimWorld>, now: Nanos, id: FolioId, range: &mut RangeScan) {
    let folio = state.owner.folios.get(id);
    let Place::Frame(pfn) = folio.place else {
        range.swapped += 1;
        return;
    };
    if folio.ahead {
        range.swapped += 1;
        return;
    }
    let head = state.alloc.frames.state(pfn);
    // What the swap cache has a reference to is in use elsewhere; since 4.8 it may be collapsed.
    let cached = state.alloc.policy.thp.collapse_swap_in == CollapseSwapIn::Never
        && state.pages.flags(pfn).contains(PageFlags::SWAPCACHE);
    let pinned = state.pages.flags(pfn).contains(PageFlags::PINNED);
    let held = head != FrameState::LRU || cached || pinned || folio.ready > now;
    let shared = folio.maps > 1 && !folio.parts;
    range.unsuitable += u32::from(held || folio.parts && !state.alloc.policy.thp.collapses_shared);
    range.shared += u32::from(shared);
    range.young += u32::from(folio.young);
    range.by_node[state.alloc.zone_info(state.alloc.zone_of(pfn)).node.index()] += 1;
}
