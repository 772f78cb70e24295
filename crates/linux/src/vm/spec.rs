//! The machine: what a scenario says of it.

use super::error::VmError;
use super::job::ScratchFormat;
use serde::Serialize;
use std::time::Duration;

/// How QEMU executes the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Accel {
    /// KVM where `/dev/kvm` can be opened and the host is not a virtual machine itself (nested KVM often opens and then
    /// fails), else emulation.
    #[default]
    Auto,
    /// The host's processor.
    Kvm,
    /// Emulation: slow, and works everywhere.
    Tcg,
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Memory in MiB, over all nodes.
    pub memory_mib: u32,
    /// CPUs, spread evenly over the nodes; nodes beyond the number of CPUs have memory only.
    pub cpus: u32,
    /// NUMA nodes.
    pub nodes: u32,
    /// Swap disk in MiB; 0 for none.
    pub swap_mib: u32,
    /// Scratch disk in MiB, the job's working directory; 0 for none.
    pub scratch_mib: u32,
    /// What the scratch disk is formatted with.
    pub scratch_format: ScratchFormat,
    /// Size of XFS's directory blocks in KiB.
    pub directory_block_kib: u32,
    /// Room for results in MiB. The disk is sparse: what isn't written takes no space on the host.
    pub results_mib: u32,
    /// Added to the kernel's command line.
    pub cmdline: Vec<String>,
    /// How QEMU executes it.
    pub accel: Accel,
    /// When the machine is ended by force.
    #[serde(skip)]
    pub timeout: Duration,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            memory_mib: 512,
            cpus: 2,
            nodes: 1,
            swap_mib: 0,
            scratch_mib: 0,
            scratch_format: ScratchFormat::Ext4,
            directory_block_kib: 4,
            results_mib: 8192,
            cmdline: Vec::new(),
            accel: Accel::Auto,
            timeout: Duration::from_secs(600),
        }
    }
}

/// Below this, Debian's kernels don't boot.
const LEAST_MEMORY_MIB: u32 = 96;
/// Smallest disk that ext4 with a journal, or a swap area worth its name, fits on.
const LEAST_DISK_MIB: u32 = 16;
/// Most CPUs of QEMU's machine `pc`, and most nodes of any machine of QEMU's.
const MOST_CPUS: u32 = 255;
const MOST_NODES: u32 = 128;
/// Smallest disk that mkfs.xfs formats.
const LEAST_XFS_MIB: u32 = 300;

impl Machine {
    /// Whether the figures make a machine.
    pub fn check(&self) -> Result<(), VmError> {
        let refuse = |what: String| Err(VmError::Specification(what));
        if self.memory_mib < LEAST_MEMORY_MIB {
            return refuse(format!("{} MiB of memory are too few: at least {LEAST_MEMORY_MIB}", self.memory_mib));
        }
        if self.cpus == 0 || self.nodes == 0 {
            return refuse("a machine has at least one CPU and one node".to_owned());
        }
        if self.cpus > MOST_CPUS || self.nodes > MOST_NODES {
            return refuse(format!("QEMU's machine has at most {MOST_CPUS} CPUs and {MOST_NODES} nodes"));
        }
        if self.memory_mib / self.nodes < 32 {
            return refuse(format!("{} nodes leave each with less than 32 MiB", self.nodes));
        }
        for (name, mib) in [("swap", self.swap_mib), ("scratch disk", self.scratch_mib), ("results", self.results_mib)]
        {
            if mib != 0 && mib < LEAST_DISK_MIB {
                return refuse(format!("{mib} MiB of {name} are too few: at least {LEAST_DISK_MIB}"));
            }
        }
        if self.scratch_format == ScratchFormat::Xfs && (1..LEAST_XFS_MIB).contains(&self.scratch_mib) {
            return refuse(format!(
                "XFS takes at least {LEAST_XFS_MIB} MiB, the scratch disk has {}",
                self.scratch_mib
            ));
        }
        if self.results_mib == 0 {
            return refuse("a machine without room for results has none".to_owned());
        }
        Ok(())
    }

    /// Memory of each node in MiB: equal parts, of whole pageblocks; the last one has the rest.
    pub fn node_memory(&self) -> Vec<u32> {
        let part = (self.memory_mib / self.nodes) & !1;
        let mut parts = vec![part; self.nodes as usize];
        if let Some(last) = parts.last_mut() {
            *last = self.memory_mib - part * (self.nodes - 1);
        }
        parts
    }

    /// The node of each CPU.
    pub fn node_of_cpu(&self, cpu: u32) -> u32 {
        cpu * self.nodes.min(self.cpus) / self.cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_share_memory_and_cpus() {
        let machine = Machine { memory_mib: 515, nodes: 2, cpus: 3, ..Machine::default() };
        assert_eq!(machine.node_memory(), [256, 259]);
        assert_eq!((0..3).map(|cpu| machine.node_of_cpu(cpu)).collect::<Vec<_>>(), [0, 0, 1]);
        let wide = Machine { nodes: 4, cpus: 2, ..Machine::default() };
        assert_eq!((0..2).map(|cpu| wide.node_of_cpu(cpu)).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn impossible_machines_are_refused_with_a_reason() {
        let refused = |machine: Machine| machine.check().unwrap_err().to_string();
        assert!(refused(Machine { memory_mib: 8, ..Machine::default() }).contains("at least 96"));
        assert!(refused(Machine { nodes: 0, ..Machine::default() }).contains("one node"));
        assert!(refused(Machine { nodes: 64, ..Machine::default() }).contains("32 MiB"));
        assert!(refused(Machine { cpus: 256, ..Machine::default() }).contains("at most 255 CPUs"));
        assert!(refused(Machine { memory_mib: 8192, nodes: 129, ..Machine::default() }).contains("128 nodes"));
        assert!(refused(Machine { swap_mib: 1, ..Machine::default() }).contains("swap"));
        let xfs = Machine { scratch_format: ScratchFormat::Xfs, ..Machine::default() };
        assert!(refused(Machine { scratch_mib: 64, ..xfs.clone() }).contains("at least 300"));
        assert!(xfs.check().is_ok(), "no disk, nothing to format");
        assert!(Machine::default().check().is_ok());
    }
}
