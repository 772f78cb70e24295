//! Automatic NUMA balancing (14.2 to 14.7): address spaces are scanned piece by piece, and the next use of each scanned page
//! is a fault that tells which node uses it.

use crate::sim::Sim;
use crate::state::address_space::{Pid, Process};
use crate::state::folio::{FolioId, Folios, Place};
use crate::state::page_table::{Entry, Pte};
use mm::{Env, Nanos, State};
use pagealloc::policy::NumaBalancing;
use pagealloc::{Counter, NodeId};

const MS: Nanos = 1_000_000;
/// `scan_size`: memory that a scan marks; it passes at most eight times as much.
const SCAN_BYTES: u64 = 256 << 20;
const SCAN_VIRTUAL: u64 = 8;
/// 14.7: bytes that may move to a node within a time.
const RATE: (u64, Nanos) = (128 << 20, 100 * MS);
/// 14.5: in the first sequences a page moves on its first fault.
const FIRST_SEQUENCES: u32 = 4;

impl Sim {
    /// The tick of a process: time for the next scan?
    pub async fn numa_tick(&self, pid: Pid) {
        if self.spec.nodes < 2 {
            return;
        }
        let marked = self.numa_scan(pid);
        self.spend(marked * self.spec.costs.speeds.scan_migrate).await;
    }

    /// Entries that were marked.
    fn numa_scan(&self, pid: Pid) -> u64 {
        let now = self.env().now();
        let State { alloc, owner, .. } = &mut *self.mm.state.borrow_mut();
        let here = alloc.node_of_cpu(self.env().cpu());
        let rules = alloc.policy.computer.numa_balancing;
        let Some(process) = owner.processes.get_mut(pid) else { return 0 };
        if !process.numa.is_due(rules, here, now) || rules == NumaBalancing::RateLimited && self.is_limited(here, now) {
            return 0;
        }
        let pages = SCAN_BYTES >> self.spec.geometry.page_shift;
        let window = u64::from(self.page_size().ptes());
        // Pages of one task that are where it runs are not marked (own knowledge; the older rule marks all).
        let spared = (rules == NumaBalancing::TwoStage).then_some(here);
        let (mut marked, mut huge, mut passed) = (0, 0, 0);
        while marked < pages && passed < SCAN_VIRTUAL * pages {
            let Some(number) = process.next_window() else { break };
            passed += window;
            let Some(of) = process.windows.get_mut(number) else { break };
            of.entry.resolve(&mut owner.folios);
            let is_spared = |pfn| spared == Some(alloc.zone_info(alloc.zone_of(pfn)).node);
            let (pages, whole) = mark(&of.entry, &mut owner.folios, is_spared);
            (marked, huge) = (marked + pages, huge + whole);
        }
        process.numa.plan(rules, now, process.windows.len() as u64 * window / pages + 1);
        alloc.vmstat.add(Counter::NumaPteUpdates, marked);
        alloc.vmstat.add(Counter::NumaHugePteUpdates, huge);
        marked
    }

    /// The first use of a page since it was marked (14.4).
    pub async fn hint_fault(&self, pid: Pid, id: FolioId) {
        self.spend(self.spec.costs.fault).await;
        let moved = self.place_by_use(pid, id);
        self.spend(self.spec.costs.speeds.migrate * moved).await;
    }

    /// Counts the fault and moves the page to where it is used, if that is elsewhere: base pages moved.
    fn place_by_use(&self, pid: Pid, id: FolioId) -> u64 {
        let (now, cpu) = (self.env().now(), self.env().cpu());
        let state = &mut *self.mm.state.borrow_mut();
        let folio = *state.owner.folios.get(id);
        let Some(pfn) = state.owner.folios.frame(id) else { return 0 };
        let here = state.alloc.node_of_cpu(cpu);
        let local = state.alloc.zone_info(state.alloc.zone_of(pfn)).node == here;
        {
            let folio = state.owner.folios.get_mut(id);
            (folio.hint, folio.used_on) = (false, here.0 + 1);
        }
        state.alloc.vmstat.bump(Counter::NumaHintFaults);
        state.alloc.vmstat.add(Counter::NumaHintFaultsLocal, local.into());
        let rules = state.alloc.policy.computer.numa_balancing;
        let sequence = state.owner.processes.get(pid).map_or(0, |process| process.numa.sequence);
        let again = folio.used_on == 0 || folio.used_on == here.0 + 1;
        let wanted = !local
            && match rules {
                NumaBalancing::RateLimited => folio.maps == 1 && !self.is_limited(here, now),
                NumaBalancing::TwoStage => sequence <= FIRST_SEQUENCES || again,
            };
        let moved = wanted && state.migrate_misplaced(pfn, here, cpu);
        if moved {
            self.note_moved(here, now, folio.pages());
        }
        if let Some(process) = state.owner.processes.get_mut(pid) {
            process.numa.note_fault(rules, local, moved, wanted);
        }
        if moved { folio.pages().into() } else { 0 }
    }

    /// Whether as much has moved to the node as may.
    fn is_limited(&self, node: NodeId, now: Nanos) -> bool {
        let (since, bytes) = self.migrations.borrow().get(node.index()).copied().unwrap_or_default();
        now < since + RATE.1 && bytes > RATE.0
    }

    fn note_moved(&self, node: NodeId, now: Nanos, pages: u32) {
        let mut migrations = self.migrations.borrow_mut();
        if migrations.len() <= node.index() {
            migrations.resize(node.index() + 1, (0, 0));
        }
        let (since, bytes) = &mut migrations[node.index()];
        if now >= *since + RATE.1 {
            (*since, *bytes) = (now, 0);
        }
        *bytes += u64::from(pages) << self.spec.geometry.page_shift;
    }
}

/// Marks what an entry maps: base pages marked, and huge pages among them.
fn mark(entry: &Entry, folios: &mut Folios, is_spared: impl Fn(pagealloc::Pfn) -> bool) -> (u64, u64) {
    let mut one = |id: FolioId| {
        let folio = folios.get_mut(id);
        let Place::Frame(pfn) = folio.place else { return 0 };
        if is_spared(pfn) || std::mem::replace(&mut folio.hint, true) {
            return 0;
        }
        u64::from(folio.pages())
    };
    match entry {
        Entry::Empty => (0, 0),
        Entry::Huge(id) => {
            let pages = one(*id);
            (pages, u64::from(pages > 0))
        }
        Entry::Table(table) => {
            let pages = table.iter().map(|pte| if let Pte::Page(id) = pte { one(*id) } else { 0 });
            (pages.sum(), 0)
        }
    }
}

impl Process {
    /// The window that the scan has reached; at the end it begins anew, and the look ends.
    fn next_window(&mut self) -> Option<u32> {
        let next = self.windows.next_from(self.numa.window);
        match next {
            Some(number) => self.numa.window = number + 1,
            None => self.numa.end_of_sequence(),
        }
        next
    }
}
