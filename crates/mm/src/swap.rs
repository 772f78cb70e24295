//! Swap slots by cluster, and the table page that a cluster needs since 6.18.
//!
//! A swap area is cut into clusters of a huge page's length. Since 6.18 a cluster's table is allocated when the first of
//! its slots is taken and freed with the last one ([`SwapTableRule::PerCluster`]): so swapping out, which is to free
//! memory, needs an unmovable page every now and then. Which slot of a cluster a page gets is of no consequence and not
//! kept; which cluster, is.

pub(crate) mod clusters;

pub use clusters::Swap;

use crate::env::TaskContext;
use crate::owner::Owner;
use crate::reclaim::shadow::{Shadow, SwapEntry};
use crate::state::{State, World};
use pagealloc::policy::SwapTableRule;
use pagealloc::{CpuId, Gfp, Observer, Order, PageAllocator, Pfn, Request};

/// A table under the cluster's lock: no waiting, no warning, no reserve but the one that `__GFP_HIGH` opens.
const TABLE_LOCKED: Gfp = Gfp(Gfp::HIGH.0 | Gfp::NOMEMALLOC.0 | Gfp::NOWARN.0 | Gfp::ZERO.0 | Gfp::COMP.0);
/// The second try, without locks. Its task is inside reclaim, so it can't reclaim for it either.
const TABLE_SLEEPING: Gfp = Gfp(Gfp::HIGH.0 | Gfp::NOMEMALLOC.0 | Gfp::KERNEL.0 | Gfp::ZERO.0 | Gfp::COMP.0);

impl<W: World> State<W> {
    /// Gives a page that enters the swap cache its slots. `false`: there are none, or no memory for the cluster's table.
    /// `failed` counts requests for tables that failed.
    pub(crate) fn take_swap_slots(&mut self, pfn: Pfn, task: &TaskContext, failed: &mut u32) -> bool {
        let (tag, order) = (self.pages.tag(pfn), self.alloc.frames.order(pfn));
        if self.alloc.policy.reclaim.swap_tables == SwapTableRule::AtSwapon {
            return self.owner.add_to_swap(tag, pfn, 1 << order);
        }
        if self.owner.free_swap_pages() < 1 << order {
            return false;
        }
        let Some(entry) = self.find_slots(order, task, failed) else { return false };
        if !self.owner.add_to_swap(tag, pfn, 1 << order) {
            self.swap_put(entry, task.cpu);
            return false;
        }
        self.swap.cache.insert(pfn, entry);
        true
    }

    /// Whether a single page gets a slot, which is given back at once.
    pub(crate) fn has_swap_slot(&mut self, task: &TaskContext, failed: &mut u32) -> bool {
        if self.owner.free_swap_pages() == 0 {
            return false;
        }
        if self.alloc.policy.reclaim.swap_tables == SwapTableRule::AtSwapon {
            return true;
        }
        let entry = self.find_slots(0, task, failed);
        entry.map(|entry| self.swap_put(entry, task.cpu)).is_some()
    }

    fn find_slots(&mut self, order: Order, task: &TaskContext, failed: &mut u32) -> Option<SwapEntry> {
        let size = 1 << self.alloc.geometry.pmd_order;
        let limit = self.owner.total_swap_pages() / u64::from(size);
        if let Some(entry) = self.swap.take_nonfull(order, size) {
            return Some(entry);
        }
        if self.swap.any_empty(limit)
            && let Some(table) = self.alloc_swap_table(task, failed)
        {
            return self.swap.open(order, limit, table);
        }
        if order == 0 { self.swap.steal(size) } else { None }
    }

    fn alloc_swap_table(&mut self, task: &TaskContext, failed: &mut u32) -> Option<Pfn> {
        let locked = self.alloc.local_request(0, TABLE_LOCKED, task.cpu);
        if let Some(table) = self.alloc_inside_reclaim(&locked, task) {
            return Some(table);
        }
        let request = sleeping_table_request(&self.alloc, task.cpu);
        let table = self.alloc_inside_reclaim(&request, task);
        *failed += 1 + u32::from(table.is_none());
        table
    }

    /// Gives slots back, and with the last ones of a cluster its table.
    pub(crate) fn swap_put(&mut self, entry: SwapEntry, cpu: CpuId) {
        if let Some(table) = self.swap.put(entry) {
            self.free_page(table, cpu);
        }
    }

    /// The owner forgets a page that was swapped out: its slots are free. To be called with the shadow of a page that is
    /// given up instead of read back.
    pub fn forget_swapped(&mut self, shadow: Shadow, cpu: CpuId) {
        if let Some(entry) = shadow.swap {
            self.swap_put(entry, cpu);
        }
    }

    /// The page leaves memory, and its slots stay: what its shadow is to say of them.
    pub(crate) fn leave_to_swap(&mut self, pfn: Pfn) -> Option<SwapEntry> {
        self.swap.cache.remove(&pfn)
    }

    /// A page of the swap cache is freed, or written to by its owner: its slots are free.
    #[cold]
    pub fn leave_swap_cache(&mut self, pfn: Pfn, cpu: CpuId) {
        if let Some(entry) = self.swap.cache.remove(&pfn) {
            self.swap_put(entry, cpu);
        }
    }

    /// A page that is read back into the swap cache ([`State::refault`]): it keeps its slots until its owner writes to it.
    pub fn refault_into_swap_cache(&mut self, pfn: Pfn, shadow: Shadow, cpu: CpuId) {
        self.swap.cache.extend(shadow.swap.map(|entry| (pfn, entry)));
        self.refault_in_fault(pfn, Shadow { swap: None, ..shadow }, cpu);
    }

    /// A page of the swap cache was moved.
    pub(crate) fn move_in_swap_cache(&mut self, from: Pfn, to: Pfn) {
        if let Some(entry) = self.swap.cache.remove(&from) {
            self.swap.cache.insert(to, entry);
        }
    }

    /// A huge page of the swap cache was split.
    pub(crate) fn split_in_swap_cache(&mut self, head: Pfn, pages: u32) {
        if let Some(entry) = self.swap.cache.remove(&head) {
            let base = entry.of_base_page();
            self.swap.cache.extend((0..pages).map(|index| (head.add(index), base)));
        }
    }
}

/// Whether a request with this mask is for a cluster's table: nobody else asks for a page like this.
pub fn is_table_request(gfp: Gfp) -> bool {
    gfp == TABLE_LOCKED || gfp == TABLE_SLEEPING
}

/// The request for a table that wakes kswapd.
pub(crate) fn sleeping_table_request<O: Observer>(alloc: &PageAllocator<O>, cpu: CpuId) -> Request {
    alloc.local_request(0, TABLE_SLEEPING, cpu)
}
