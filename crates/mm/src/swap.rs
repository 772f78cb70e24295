//! Swap slots by cluster, and the table page that a cluster needs since 6.18.
//!
//! A swap area is cut into clusters of a huge page's length. Since 6.18 a cluster's table is allocated when the first of
//! its slots is taken and freed with the last one ([`SwapTableRule::PerCluster`]): so swapping out, which is to free
//! memory, needs an unmovable page every now and then. Which slot of a cluster a page gets is of no consequence and not
//! kept; which cluster, is.

use crate::env::TaskContext;
use crate::owner::Owner;
use crate::reclaim::shadow::{Shadow, SwapEntry};
use crate::state::{State, World};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use pagealloc::policy::SwapTableRule;
use pagealloc::{CpuId, Gfp, NR_ORDERS, Order, Pfn, Request};

/// A table under the cluster's lock: no waiting, no warning, no reserve but the one that `__GFP_HIGH` opens.
const TABLE_LOCKED: Gfp = Gfp(Gfp::HIGH.0 | Gfp::NOMEMALLOC.0 | Gfp::NOWARN.0 | Gfp::ZERO.0 | Gfp::COMP.0);
/// The second try, without locks. Its task is inside reclaim, so it can't reclaim for it either.
const TABLE_SLEEPING: Gfp = Gfp(Gfp::HIGH.0 | Gfp::NOMEMALLOC.0 | Gfp::KERNEL.0 | Gfp::ZERO.0 | Gfp::COMP.0);

#[derive(Clone, Default)]
struct Cluster {
    /// Slots taken.
    used: u32,
    /// Order of the pages that it takes.
    order: Order,
    /// On the list of clusters with room.
    listed: bool,
    table: Option<Pfn>,
}

/// The clusters of all swap, and the pages in memory that have slots (the swap cache).
#[derive(Default)]
pub struct Swap {
    clusters: Vec<Cluster>,
    /// Emptied clusters, oldest first; those never used come before them.
    emptied: VecDeque<u32>,
    /// Clusters with room by order, oldest first.
    nonfull: [VecDeque<u32>; NR_ORDERS],
    /// The cluster that an order is filling.
    current: [Option<u32>; NR_ORDERS],
    cache: BTreeMap<Pfn, SwapEntry>,
}

impl Swap {
    /// Table pages held now.
    pub fn nr_tables(&self) -> usize {
        self.clusters.iter().filter(|cluster| cluster.table.is_some()).count()
    }

    fn has_room(&self, cluster: u32, pages: u32, size: u32) -> bool {
        self.clusters[cluster as usize].used + pages <= size
    }

    /// Slots in a cluster that has a table: the one being filled, then the others of the order.
    fn take_nonfull(&mut self, order: Order, size: u32) -> Option<SwapEntry> {
        let at = usize::from(order);
        if self.current[at].is_none_or(|cluster| !self.has_room(cluster, 1 << order, size)) {
            let next = self.nonfull[at].pop_front()?;
            self.clusters[next as usize].listed = false;
            self.current[at] = Some(next);
        }
        self.current[at].filter(|&cluster| self.has_room(cluster, 1 << order, size)).map(|c| self.take(c, order))
    }

    /// A single slot in a cluster of larger pages: the last resort.
    fn steal(&mut self, size: u32) -> Option<SwapEntry> {
        let with_room = |&cluster: &u32| self.has_room(cluster, 1, size);
        let listed = self.nonfull[1..].iter().filter(|clusters| !clusters.is_empty()).flatten();
        let larger = listed.chain(self.current[1..].iter().flatten());
        let cluster = larger.copied().find(|cluster| with_room(cluster))?;
        Some(self.take(cluster, 0))
    }

    fn take(&mut self, cluster: u32, order: Order) -> SwapEntry {
        self.clusters[cluster as usize].used += 1 << order;
        SwapEntry { cluster, order }
    }

    fn any_empty(&self, limit: u64) -> bool {
        !self.emptied.is_empty() || (self.clusters.len() as u64) < limit
    }

    /// Slots in an empty cluster, which gets this table.
    fn open(&mut self, order: Order, limit: u64, table: Pfn) -> Option<SwapEntry> {
        let cluster = if (self.clusters.len() as u64) < limit {
            self.clusters.push(Cluster::default());
            self.clusters.len() as u32 - 1
        } else {
            self.emptied.pop_front()?
        };
        self.clusters[cluster as usize] = Cluster { used: 0, order, listed: false, table: Some(table) };
        self.current[usize::from(order)] = Some(cluster);
        Some(self.take(cluster, order))
    }

    /// Gives slots back; the table's page if the cluster is empty now.
    fn put(&mut self, entry: SwapEntry) -> Option<Pfn> {
        let cluster = &mut self.clusters[entry.cluster as usize];
        cluster.used = cluster.used.saturating_sub(1 << entry.order);
        let at = usize::from(cluster.order);
        let filling = self.current[at] == Some(entry.cluster);
        if cluster.used > 0 {
            if !filling && !cluster.listed {
                cluster.listed = true;
                self.nonfull[at].push_back(entry.cluster);
            }
            return None;
        }
        if filling {
            self.current[at] = None;
        } else if core::mem::take(&mut cluster.listed) {
            self.nonfull[at].retain(|&other| other != entry.cluster);
        }
        self.emptied.push_back(entry.cluster);
        cluster.table.take()
    }
}

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
        let request = sleeping_table_request(task.cpu);
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
pub(crate) fn sleeping_table_request(cpu: CpuId) -> Request {
    Request::new(0, TABLE_SLEEPING, cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 4;

    fn fill(swap: &mut Swap, order: Order, table: u32) -> SwapEntry {
        swap.take_nonfull(order, SIZE).unwrap_or_else(|| swap.open(order, 8, Pfn(table)).expect("room"))
    }

    #[test]
    fn a_cluster_has_a_table_from_its_first_slot_to_its_last() {
        let mut swap = Swap::default();
        let entries: Vec<_> = (0..5).map(|page| fill(&mut swap, 0, 100 + page)).collect();
        assert_eq!(entries.iter().map(|entry| entry.cluster).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
        assert_eq!(swap.nr_tables(), 2);
        assert_eq!(swap.put(entries[4]), Some(Pfn(104)));
        assert_eq!(entries[..3].iter().map(|&entry| swap.put(entry)).collect::<Vec<_>>(), [None; 3]);
        assert_eq!(fill(&mut swap, 0, 200).cluster, 0, "clusters with room come before empty ones");
        assert_eq!(swap.nr_tables(), 1);
    }

    #[test]
    fn orders_have_clusters_of_their_own_until_nothing_else_is_left() {
        let mut swap = Swap::default();
        let large = fill(&mut swap, 1, 100);
        assert_eq!(fill(&mut swap, 0, 101).cluster, 1);
        assert_eq!(fill(&mut swap, 1, 102), large);
        assert_eq!(swap.steal(SIZE), None, "full");
        swap.put(large);
        assert_eq!(swap.steal(SIZE), Some(SwapEntry { cluster: 0, order: 0 }));
    }

    #[test]
    fn never_used_clusters_come_before_emptied_ones() {
        let mut swap = Swap::default();
        let first = swap.open(0, 2, Pfn(1)).unwrap();
        assert_eq!(swap.put(first), Some(Pfn(1)));
        assert_eq!(swap.open(0, 2, Pfn(2)).unwrap().cluster, 1);
        assert_eq!(swap.open(0, 2, Pfn(3)).unwrap().cluster, 0);
        assert!(swap.open(0, 2, Pfn(4)).is_none());
    }
}
