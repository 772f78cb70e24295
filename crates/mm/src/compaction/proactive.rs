//! Proactive compaction: how fragmented is too much? (11.16)

use crate::state::{State, World};
use pagealloc::{NodeId, ZoneId};

/// Scores, in %, below which a proactive run ends and above which one starts, by `vm.compaction_proactiveness`.
pub(crate) fn score_marks(proactiveness: u32) -> (u32, u32) {
    let low = 100 - proactiveness.min(100);
    (low, (low + (low / 2).min(10)).min(100))
}

impl<W: World> State<W> {
    /// Fragmentation score of a node: zones weighted by size. (Managed pages stand for present ones.)
    pub fn fragmentation_score_node(&self, node: NodeId) -> u64 {
        let zones = || self.alloc.zones_of(node).map(ZoneId);
        let managed = |zone: ZoneId| self.alloc.zone_info(zone).managed;
        let total: u64 = zones().map(managed).sum();
        let order = self.alloc.geometry.pmd_order;
        zones().map(|zone| managed(zone) * u64::from(self.alloc.fragmentation_score(zone, order)) / (total + 1)).sum()
    }

    /// Whether a node is fragmented enough for a proactive run; kswapd must not be running.
    pub(crate) fn wants_proactive_compaction(&self, node: NodeId, kswapd_running: bool) -> bool {
        let policy = &self.alloc.policy;
        let proactiveness = policy.sysctl.compaction_proactiveness;
        policy.kswapd.proactive_compaction
            && proactiveness != 0
            && !kswapd_running
            && self.fragmentation_score_node(node) > score_marks(proactiveness).1.into()
    }
}

#[cfg(test)]
mod tests {
    use super::score_marks;

    /// Appendix B.
    #[test]
    fn marks() {
        assert_eq!(score_marks(20), (80, 90));
        assert_eq!(score_marks(50), (50, 60));
        assert_eq!(score_marks(90), (10, 15));
        assert_eq!(score_marks(100), (0, 0));
    }
}
