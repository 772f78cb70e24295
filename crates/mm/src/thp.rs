//! Transparent huge pages: what a fault asks for, what khugepaged collapses, what is left to split later (8.11, 8.12,
//! chapter 12).

use crate::env::{Nanos, TaskContext};
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::{FaultNodes, ScanProgress, ThpRules};
use pagealloc::{Counter, Gfp, NodeId, NodeMask, Order, Pfn, Request};

/// `/sys/kernel/mm/transparent_hugepage/enabled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThpEnabled {
    /// Every suitable region.
    Always,
    /// Regions under `MADV_HUGEPAGE`.
    Madvise,
    /// None.
    Never,
}

/// `/sys/kernel/mm/transparent_hugepage/defrag`: how much a fault does for a huge page (8.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThpDefrag {
    /// Reclaims and compacts; once only where nobody asked for huge pages.
    Always,
    /// Wakes kswapd and kcompactd, and takes base pages meanwhile.
    Defer,
    /// Reclaims and compacts under `MADV_HUGEPAGE`, defers elsewhere.
    DeferMadvise,
    /// Reclaims and compacts under `MADV_HUGEPAGE`, takes what is there elsewhere. The default.
    Madvise,
    /// Takes what is there.
    Never,
}

/// Whether a fault in a suitable region tries for a huge page (12.2).
pub fn thp_allowed(enabled: ThpEnabled, madvised: bool) -> bool {
    match enabled {
        ThpEnabled::Always => true,
        ThpEnabled::Madvise => madvised,
        ThpEnabled::Never => false,
    }
}

/// The mask of a huge page fault (8.11).
pub fn thp_fault_gfp(rules: &ThpRules, setting: ThpDefrag, madvised: bool) -> Gfp {
    let light = Gfp::TRANSHUGE_LIGHT;
    let gfp = match (setting, madvised) {
        (ThpDefrag::Always, true) => Gfp::TRANSHUGE,
        (ThpDefrag::Always, false) => Gfp::TRANSHUGE | Gfp::NORETRY,
        (ThpDefrag::Defer, _) | (ThpDefrag::DeferMadvise, false) => light | Gfp::KSWAPD_RECLAIM,
        (ThpDefrag::DeferMadvise | ThpDefrag::Madvise, true) => light | Gfp::DIRECT_RECLAIM,
        (ThpDefrag::Madvise, false) | (ThpDefrag::Never, _) => light,
    };
    once(rules, gfp)
}

/// The mask of a collapse: `khugepaged/defrag` decides about direct reclaim (8.11).
pub fn khugepaged_gfp(rules: &ThpRules, defrag: bool) -> Gfp {
    once(rules, if defrag { Gfp::TRANSHUGE } else { Gfp::TRANSHUGE_LIGHT })
}

/// Nodes that may serve a collapse of a range that is mostly on this one (12.3).
fn khugepaged_nodes(rules: &ThpRules, node: NodeId) -> NodeMask {
    if rules.collapses_anywhere { NodeMask::ALL } else { NodeMask::one(node) }
}

/// The mask in kernels that never try twice for a huge page.
fn once(rules: &ThpRules, gfp: Gfp) -> Gfp {
    let noretry = rules.always_noretry && gfp.contains(Gfp::DIRECT_RECLAIM);
    if noretry { gfp | Gfp::NORETRY } else { gfp }
}

/// Where a huge page is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThpPlace {
    /// Preferred node: the faulting CPU's, unless a memory policy says otherwise.
    pub node: NodeId,
    /// Nodes that the memory policy allows.
    pub nodemask: NodeMask,
}

impl<W: World> Mm<W> {
    /// A fault's huge page (12.1). Counts success or fallback; the caller maps base pages on `None`.
    pub async fn thp_fault(
        &self,
        setting: ThpDefrag,
        madvised: bool,
        place: ThpPlace,
        task: &TaskContext,
    ) -> Option<Pfn> {
        let gfp = thp_fault_gfp(&self.state.borrow().alloc.policy.thp, setting, madvised);
        let page = self.thp_alloc(gfp, place, task).await;
        let counter = if page.is_some() { Counter::ThpFaultAlloc } else { Counter::ThpFaultFallback };
        self.state.borrow_mut().alloc.vmstat.bump(counter);
        page
    }

    /// khugepaged's huge page for a collapse (12.3), for the node that holds most of the range.
    pub async fn khugepaged_alloc(&self, node: NodeId, defrag: bool, task: &TaskContext) -> Option<Pfn> {
        let rules = self.state.borrow().alloc.policy.thp;
        let (gfp, nodemask) = (khugepaged_gfp(&rules, defrag), khugepaged_nodes(&rules, node));
        let request = Request { node, nodemask, ..Request::new(self.pmd_order(), gfp, task.cpu) };
        let page = self.alloc_pages(&request, task).await;
        let counter = if page.is_some() { Counter::ThpCollapseAlloc } else { Counter::ThpCollapseAllocFailed };
        self.state.borrow_mut().alloc.vmstat.bump(counter);
        page
    }

    /// A huge page with the NUMA wrapper of 8.12.
    async fn thp_alloc(&self, gfp: Gfp, place: ThpPlace, task: &TaskContext) -> Option<Pfn> {
        let ThpPlace { node, nodemask } = place;
        let anywhere = Request { node, nodemask, ..Request::new(self.pmd_order(), gfp, task.cpu) };
        let reclaims = gfp.contains(Gfp::DIRECT_RECLAIM);
        let advised = reclaims && !gfp.contains(Gfp::NORETRY);
        let rule = self.state.borrow().alloc.policy.thp.fault_nodes;
        let (own, others) = match rule {
            FaultNodes::Anywhere => (None, true),
            FaultNodes::LocalUnlessAdvised if advised => (None, true),
            FaultNodes::Local | FaultNodes::LocalUnlessAdvised => (Some(gfp), false),
            FaultNodes::LocalThenAnywhere => (Some(gfp | Gfp::NORETRY), reclaims),
        };
        if let Some(gfp) = own.filter(|_| nodemask.contains(node)) {
            let local = Request { gfp: gfp | Gfp::THISNODE, nodemask: NodeMask::ALL, ..anywhere };
            let page = self.alloc_pages(&local, task).await;
            if page.is_some() || !others {
                return page;
            }
        }
        self.alloc_pages(&anywhere, task).await
    }

    fn pmd_order(&self) -> Order {
        self.state.borrow().alloc.geometry.pmd_order
    }
}

impl<W: World> State<W> {
    /// A part of a huge page was unmapped: it waits to be split when memory gets short (12.4). Counted once a page.
    pub fn defer_split(&mut self, head: Pfn) {
        if !self.pages.flags(head).contains(PageFlags::PARTIALLY_MAPPED) {
            self.pages.add_flags(head, PageFlags::PARTIALLY_MAPPED);
            self.alloc.vmstat.bump(Counter::ThpDeferredSplitPage);
        }
    }
}

/// What khugepaged goes by (12.3). Counts are of base pages in a range of PMD size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Khugepaged {
    /// Base pages of a huge page.
    pub pages: u32,
    /// Base pages looked at between two sleeps.
    pub pages_to_scan: u32,
    /// Sleep between scans.
    pub scan_sleep: Nanos,
    /// Sleep after an allocation failed.
    pub alloc_sleep: Nanos,
    /// Empty or zero entries that may be filled up.
    pub max_ptes_none: u32,
    /// Swapped entries that may be read back.
    pub max_ptes_swap: u32,
    /// Entries that may map a page shared with others.
    pub max_ptes_shared: u32,
    /// `khugepaged/defrag`: may reclaim and compact.
    pub defrag: bool,
}

impl Khugepaged {
    /// The defaults for huge pages of this order.
    pub const fn new(pmd_order: Order) -> Khugepaged {
        let pages = 1 << pmd_order;
        Khugepaged {
            pages,
            pages_to_scan: 8 * pages,
            scan_sleep: 10_000_000_000,
            alloc_sleep: 60_000_000_000,
            max_ptes_none: pages - 1,
            max_ptes_swap: pages / 8,
            max_ptes_shared: pages / 2,
            defrag: true,
        }
    }

    /// Whether a range is worth collapsing, and onto which node: that with most of its pages, the lowest of equals.
    ///
    /// # Errors
    /// The first obstacle in the order in which the kernel meets the kinds.
    pub fn judge(&self, range: &RangeScan) -> Result<NodeId, Refusal> {
        match range {
            _ if range.swapped > self.max_ptes_swap => Err(Refusal::SwapPtes),
            _ if range.none > self.max_ptes_none || range.none > 0 && range.userfault => Err(Refusal::NonePtes),
            _ if range.shared > self.max_ptes_shared => Err(Refusal::SharedPtes),
            _ if range.unsuitable > 0 => Err(Refusal::UnsuitablePages),
            _ if range.young == 0 || range.swapped > 0 && range.young < self.pages / 2 => {
                Err(Refusal::LackOfReferences)
            }
            _ => range.target().ok_or(Refusal::UnsuitablePages),
        }
    }

    /// Whether a look at a page table ends here: nothing behind could make the range worth it.
    pub const fn is_spoilt(&self, range: &RangeScan) -> bool {
        range.swapped > self.max_ptes_swap
            || range.none > self.max_ptes_none
            || range.shared > self.max_ptes_shared
            || range.unsuitable > 0
    }

    /// What the look at a range takes of `pages_to_scan`.
    pub fn progress(&self, rule: ScanProgress, range: &RangeScan) -> u32 {
        match rule {
            ScanProgress::WholeRanges => self.pages,
            ScanProgress::EntriesLookedAt => range.entries.max(1),
        }
    }

    /// How long khugepaged sleeps after its `failures`-th failed allocation of a round, and whether the round goes on:
    /// the second failure ends it.
    pub const fn after_failed_alloc(&self, failures: u32) -> (Nanos, bool) {
        (if failures <= 1 { self.alloc_sleep } else { self.scan_sleep }, failures <= 1)
    }
}

/// What a look at the page table of a range found, in base pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeScan {
    /// Entries of a page table that were looked at; the rest does not matter once one has spoilt the range.
    pub entries: u32,
    /// Empty or zero-page entries.
    pub none: u32,
    /// A userfaultfd wants to see faults of the range.
    pub userfault: bool,
    /// Entries swapped out.
    pub swapped: u32,
    /// Entries of pages that others map too.
    pub shared: u32,
    /// Entries referenced since the last look.
    pub young: u32,
    /// Pages not anonymous, not on an LRU list, locked or pinned.
    pub unsuitable: u32,
    /// Present pages by node.
    pub by_node: Vec<u32>,
}

impl RangeScan {
    fn target(&self) -> Option<NodeId> {
        let most = self.by_node.iter().copied().max().filter(|&pages| pages > 0)?;
        self.by_node.iter().position(|&pages| pages == most).map(|node| NodeId(node as u8))
    }
}

/// Why a range is not collapsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// More than `max_ptes_swap` entries are swapped out.
    SwapPtes,
    /// More than `max_ptes_none` are empty.
    NonePtes,
    /// More than `max_ptes_shared` are shared.
    SharedPtes,
    /// A page can't be moved.
    UnsuitablePages,
    /// Too few were used.
    LackOfReferences,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::policy::preset;

    #[test]
    fn masks_and_nodes_of_huge_page_requests() {
        let rules_of = |name| preset(name).expect("a preset").thp;
        let (rules, light) = (rules_of("linux-6.18"), Gfp::TRANSHUGE_LIGHT);
        let table = [
            (ThpDefrag::Always, Gfp::TRANSHUGE, Gfp::TRANSHUGE | Gfp::NORETRY),
            (ThpDefrag::Defer, light | Gfp::KSWAPD_RECLAIM, light | Gfp::KSWAPD_RECLAIM),
            (ThpDefrag::DeferMadvise, light | Gfp::DIRECT_RECLAIM, light | Gfp::KSWAPD_RECLAIM),
            (ThpDefrag::Madvise, light | Gfp::DIRECT_RECLAIM, light),
            (ThpDefrag::Never, light, light),
        ];
        for (setting, madvised, other) in table {
            assert_eq!(thp_fault_gfp(&rules, setting, true), madvised, "{setting:?}");
            assert_eq!(thp_fault_gfp(&rules, setting, false), other, "{setting:?}");
        }
        assert_eq!(khugepaged_gfp(&rules, true), Gfp::TRANSHUGE);
        let before = rules_of("linux-4.6");
        assert_eq!(thp_fault_gfp(&before, ThpDefrag::Always, true), Gfp::TRANSHUGE | Gfp::NORETRY);
        assert_eq!(khugepaged_gfp(&before, true), Gfp::TRANSHUGE | Gfp::NORETRY);
        assert_eq!(khugepaged_gfp(&before, false), light);
        assert!(!Gfp::TRANSHUGE.contains(Gfp::KSWAPD_RECLAIM));
        let nodes = |name| khugepaged_nodes(&rules_of(name), NodeId(1));
        assert_eq!((nodes("linux-3.12"), nodes("linux-4.6")), (NodeMask::ALL, NodeMask::one(NodeId(1))));
    }

    #[test]
    fn khugepaged_defaults_and_limits() {
        let rules = Khugepaged::new(9);
        let limits = (rules.pages_to_scan, rules.max_ptes_none, rules.max_ptes_swap, rules.max_ptes_shared);
        assert_eq!(limits, (4096, 511, 64, 256));
        let good = RangeScan { none: 511, young: 1, by_node: alloc::vec![0, 1], ..RangeScan::default() };
        assert_eq!(rules.judge(&good), Ok(NodeId(1)));
        let refused = |change: fn(&mut RangeScan)| {
            let mut range = good.clone();
            change(&mut range);
            rules.judge(&range).unwrap_err()
        };
        assert_eq!(refused(|range| range.none = 512), Refusal::NonePtes);
        assert_eq!(refused(|range| range.userfault = true), Refusal::NonePtes);
        assert_eq!(refused(|range| range.swapped = 65), Refusal::SwapPtes);
        assert_eq!(refused(|range| range.shared = 257), Refusal::SharedPtes);
        assert_eq!(refused(|range| range.young = 0), Refusal::LackOfReferences);
        assert_eq!(refused(|range| (range.swapped, range.young) = (1, 255)), Refusal::LackOfReferences);
        assert_eq!(refused(|range| range.unsuitable = 1), Refusal::UnsuitablePages);
    }

    #[test]
    fn a_range_costs_what_was_looked_at_since_7_x() {
        let rules = Khugepaged::new(9);
        let costs = |entries| {
            let range = RangeScan { entries, ..RangeScan::default() };
            [ScanProgress::WholeRanges, ScanProgress::EntriesLookedAt].map(|rule| rules.progress(rule, &range))
        };
        assert_eq!([0, 65, 512].map(costs), [[512, 1], [512, 65], [512, 512]]);
        let spoilt = |swapped, none| rules.is_spoilt(&RangeScan { swapped, none, ..RangeScan::default() });
        assert_eq!([spoilt(64, 448), spoilt(65, 0), spoilt(0, 512)], [false, true, true]);
    }

    #[test]
    fn the_second_failure_ends_a_round() {
        let rules = Khugepaged::new(9);
        assert_eq!(rules.after_failed_alloc(1), (60_000_000_000, true));
        assert!(!rules.after_failed_alloc(2).1);
    }

    #[test]
    fn enabled_settings() {
        assert!(thp_allowed(ThpEnabled::Always, false));
        assert!(!thp_allowed(ThpEnabled::Madvise, false));
        assert!(thp_allowed(ThpEnabled::Madvise, true));
        assert!(!thp_allowed(ThpEnabled::Never, true));
    }
}
