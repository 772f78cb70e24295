//! Which node is a CPU of, where the recording does not say? Zonelists begin with the CPU's own node, so most of its pages are of it.

use crate::proc::zoneinfo::ZoneInfo;
use pagealloc::NodeId;
use std::ops::Range;

/// Counts the pages that each CPU was given of each node.
#[derive(Default)]
pub(super) struct CpuNodes {
    /// Frames of each zone, with its node; nothing on a machine of one node.
    zones: Vec<(Range<u64>, u8)>,
    /// By CPU, by node.
    given: Vec<Vec<u64>>,
}

impl CpuNodes {
    pub fn new(info: &ZoneInfo) -> CpuNodes {
        let populated = info.zones.iter().filter(|zone| zone.managed > 0);
        let span = |start: u64, spanned: u64| start..start.saturating_add(spanned);
        let zones: Vec<_> =
            populated.filter_map(|zone| Some((span(zone.start_pfn?, zone.spanned), zone.node as u8))).collect();
        let several = zones.windows(2).any(|pair| pair[0].1 != pair[1].1);
        CpuNodes { zones: if several { zones } else { Vec::new() }, given: Vec::new() }
    }

    /// A CPU was given a page.
    #[inline]
    pub fn gave(&mut self, cpu: u16, pfn: u64) {
        if !self.zones.is_empty() {
            self.count(cpu.into(), pfn);
        }
    }

    fn count(&mut self, cpu: usize, pfn: u64) {
        let Some((_, node)) = self.zones.iter().find(|(frames, _)| frames.contains(&pfn)) else { return };
        let node = usize::from(*node);
        if self.given.len() <= cpu {
            self.given.resize(cpu + 1, Vec::new());
        }
        let given = &mut self.given[cpu];
        if given.len() <= node {
            given.resize(node + 1, 0);
        }
        given[node] += 1;
    }

    /// The nodes of so many CPUs; one without a page is of node 0.
    pub fn of(&self, cpus: u16) -> Vec<NodeId> {
        let most = |cpu: usize| {
            let nodes = self.given.get(cpu)?.iter().enumerate().rev();
            Some(NodeId(nodes.max_by_key(|(_, pages)| **pages)?.0 as u8))
        };
        (0..cpus.into()).map(|cpu| most(cpu).unwrap_or(NodeId(0))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::zoneinfo::Zone;

    fn machine(nodes: &[u32]) -> ZoneInfo {
        let zone = |(index, node): (usize, &u32)| Zone {
            node: *node,
            managed: 100,
            spanned: 100,
            start_pfn: Some(100 * index as u64),
            ..Zone::default()
        };
        ZoneInfo { zones: nodes.iter().enumerate().map(zone).collect(), ..ZoneInfo::default() }
    }

    #[test]
    fn a_cpu_is_of_the_node_that_most_of_its_pages_are_of() {
        let mut nodes = CpuNodes::new(&machine(&[0, 0, 1]));
        for (cpu, pfn) in [(0, 5), (0, 150), (0, 250), (1, 299), (1, 200), (1, 199), (3, 0), (3, 299), (3, 300)] {
            nodes.gave(cpu, pfn);
        }
        let of: Vec<u8> = nodes.of(5).iter().map(|node| node.0).collect();
        assert_eq!(of, [0, 1, 0, 0, 0], "CPU 2 and 4 have no pages, 3 has as many of each node");
    }

    #[test]
    fn a_machine_of_one_node_counts_nothing() {
        let mut nodes = CpuNodes::new(&machine(&[0, 0]));
        nodes.gave(1, 150);
        assert!(nodes.given.is_empty());
        assert_eq!(nodes.of(2), [NodeId(0); 2]);
    }
}
