//! Which CPUs each node of a recorded machine has, and how far its nodes are apart: `/sys/devices/system/node/node*/cpulist` and
//! `distance`.

use crate::error::{Error, SourceName};
use pagealloc::{Machine, NodeId};
use std::collections::BTreeMap;

/// What the files say. Empty where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    node_of: BTreeMap<u16, u8>,
    /// By node: the distances to all nodes that were online, in ascending order.
    distances: BTreeMap<u8, Vec<u8>>,
}

/// Distance of a node to itself and, where nothing else is known, to others (ACPI 6.2, 5.2.17).
const LOCAL: u8 = 10;
const REMOTE: u8 = 20;

impl Topology {
    /// Takes a file in. `name`: that of the file below `meta/sys`; others than those of nodes are left alone.
    ///
    /// # Errors
    /// When it is of a node, and is no list of CPUs or distances.
    pub fn take(&mut self, name: &str, path: &SourceName, text: &str) -> Result<(), Error> {
        let parts = name.strip_prefix("sys_devices_system_node_node").and_then(|rest| rest.split_once('_'));
        let Some((Ok(node), file)) = parts.map(|(node, file)| (node.parse(), file)) else { return Ok(()) };
        let line = text.trim();
        let malformed = |what: &str| Error::line(path, 1, format!("expected {what}"));
        match file {
            "cpulist" => {
                let cpus = cpus(line).ok_or_else(|| malformed("a list of CPUs such as `0-3,8`"))?;
                self.node_of.extend(cpus.into_iter().map(|cpu| (cpu, node)));
            }
            "distance" => {
                let row: Result<Vec<u8>, _> = line.split_ascii_whitespace().map(str::parse).collect();
                let row = row.map_err(|_| malformed("distances of 0 to 255 such as `10 21`"))?;
                self.distances.insert(node, row);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the recording tells whose the CPUs are.
    pub fn is_known(&self) -> bool {
        !self.node_of.is_empty()
    }

    /// Gives a machine's CPUs to their nodes, and its nodes their distances, as far as they are known.
    pub fn describe(&self, machine: &mut Machine) {
        for (cpu, node) in machine.cpu_node.iter_mut().enumerate() {
            if let Some(known) = u16::try_from(cpu).ok().and_then(|cpu| self.node_of.get(&cpu)) {
                *node = NodeId(*known);
            }
        }
        machine.distance = self.matrix();
    }

    /// What a node's two files say: its CPUs, and its distances to all nodes.
    pub fn node(&self, node: u8) -> Option<(String, &[u8])> {
        let cpus = self.node_of.iter().filter(|(_, of)| **of == node).map(|(cpu, _)| *cpu);
        let distances = self.distances.get(&node).map_or(&[][..], Vec::as_slice);
        self.is_known().then(|| (list(cpus), distances))
    }

    /// Distances by node numbers, which may have gaps.
    fn matrix(&self) -> Vec<Vec<u8>> {
        let nodes: Vec<u8> = self.distances.keys().copied().collect();
        let size = nodes.last().map_or(0, |last| usize::from(*last) + 1);
        let mut matrix: Vec<Vec<u8>> =
            (0..size).map(|from| (0..size).map(|to| if from == to { LOCAL } else { REMOTE }).collect()).collect();
        for (from, row) in &self.distances {
            for (to, distance) in nodes.iter().zip(row) {
                matrix[usize::from(*from)][usize::from(*to)] = *distance;
            }
        }
        matrix
    }
}

/// Ascending ranges, `0-3,8`; empty of a node without CPUs.
fn cpus(list: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for range in list.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || cpus.last().is_some_and(|before| first <= *before) {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// CPUs in ascending order as such a list.
fn list(cpus: impl Iterator<Item = u16>) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::Geometry;
    use std::path::Path;

    fn of(files: &[(&str, &str)]) -> Result<Topology, Error> {
        let mut topology = Topology::default();
        for (name, text) in files {
            let name = format!("sys_devices_system_node_{name}");
            topology.take(&name, &Path::new(&name).into(), text)?;
        }
        Ok(topology)
    }

    #[test]
    fn cpus_are_of_the_node_whose_list_has_them() {
        let topology =
            of(&[("node0_cpulist", "0,2-3\n"), ("node1_cpulist", "1\n"), ("node2_cpulist", "\n"), ("online", "0-2\n")]);
        let topology = topology.unwrap();
        assert!(topology.is_known());
        let mut machine = Machine::uniform(Geometry::PAGES_4K, 5, 4096, false);
        topology.describe(&mut machine);
        let nodes: Vec<u8> = machine.cpu_node.iter().map(|node| node.0).collect();
        assert_eq!(nodes, [0, 1, 0, 0, 0], "nothing says whose CPU 4 is");
        assert!(machine.distance.is_empty());
        assert!(!of(&[("online", "0")]).unwrap().is_known());
    }

    #[test]
    fn a_node_has_its_cpus_as_the_kernel_lists_them() {
        let topology =
            of(&[("node0_cpulist", "0-1,3,8-9\n"), ("node1_cpulist", "2,4-7\n"), ("node1_distance", "20 10\n")]);
        let topology = topology.unwrap();
        assert_eq!(topology.node(0), Some(("0-1,3,8-9".to_owned(), &[][..])));
        assert_eq!(topology.node(1), Some(("2,4-7".to_owned(), &[20, 10][..])));
        assert_eq!(topology.node(2), Some((String::new(), &[][..])), "it has memory only");
        assert_eq!(Topology::default().node(0), None);
    }

    #[test]
    fn distances_stand_by_the_numbers_of_nodes_that_are_online() {
        let topology = of(&[("node0_distance", "10 21\n"), ("node2_distance", "31 10\n")]).unwrap();
        assert_eq!(topology.matrix(), [[10, 20, 21], [20, 10, 20], [31, 20, 10]]);
    }

    #[test]
    fn what_is_no_list_is_an_error_with_file_and_line() {
        let error = of(&[("node0_cpulist", "0-x")]).unwrap_err().to_string();
        assert_eq!(error, "sys_devices_system_node_node0_cpulist:1: expected a list of CPUs such as `0-3,8`");
        assert!(of(&[("node0_cpulist", "4-8,8")]).is_err() && of(&[("node0_cpulist", "3-2")]).is_err());
        let error = of(&[("node1_distance", "10 300")]).unwrap_err().to_string();
        assert!(error.contains("node1_distance:1: expected distances of 0 to 255"), "{error}");
    }
}
