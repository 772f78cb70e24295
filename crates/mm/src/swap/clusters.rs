//! Which cluster do a page's slots come from, and where do they go?

use crate::reclaim::shadow::SwapEntry;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use pagealloc::{NR_ORDERS, Order, Pfn};

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
    pub(super) cache: BTreeMap<Pfn, SwapEntry>,
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
    pub(super) fn take_nonfull(&mut self, order: Order, size: u32) -> Option<SwapEntry> {
        let at = usize::from(order);
        // Single slots may have been stolen from a listed one meanwhile.
        while self.current[at].is_none_or(|cluster| !self.has_room(cluster, 1 << order, size)) {
            let next = self.nonfull[at].pop_front()?;
            self.clusters[next as usize].listed = false;
            self.current[at] = Some(next);
        }
        self.current[at].map(|cluster| self.take(cluster, order))
    }

    /// A single slot in a cluster of larger pages: the last resort.
    pub(super) fn steal(&mut self, size: u32) -> Option<SwapEntry> {
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

    pub(super) fn any_empty(&self, limit: u64) -> bool {
        !self.emptied.is_empty() || (self.clusters.len() as u64) < limit
    }

    /// Slots in an empty cluster, which gets this table.
    pub(super) fn open(&mut self, order: Order, limit: u64, table: Pfn) -> Option<SwapEntry> {
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
    pub(super) fn put(&mut self, entry: SwapEntry) -> Option<Pfn> {
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
    fn a_listed_cluster_that_was_stolen_full_hides_no_other() {
        let mut swap = Swap::default();
        let entries: Vec<_> = (0..6).map(|table| fill(&mut swap, 1, 100 + table)).collect();
        swap.put(entries[0]);
        swap.put(entries[2]);
        assert_eq!([swap.steal(SIZE), swap.steal(SIZE)].map(|stolen| stolen.unwrap().cluster), [0, 0]);
        assert_eq!(swap.take_nonfull(1, SIZE).map(|entry| entry.cluster), Some(1));
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
