//! The machine of a scenario, as its `[machine]` section describes it.

use crate::Scale;
use crate::bounds::within;
use serde::Deserialize;
use std::num::NonZero;

/// The machine that a scenario runs on. A host that it is run on by `--on host` is what it is; a virtual machine takes
/// memory, CPUs, nodes, swap and disk sizes, the simulated computer all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Memory, MiB. Sizes of the workload follow it.
    pub memory_mib: NonZero<u32>,
    /// CPUs.
    pub cpus: NonZero<u16>,
    /// NUMA nodes, which share memory and CPUs evenly.
    pub nodes: NonZero<u8>,
    /// Distance between two nodes; 10 is the distance of a node to itself, and 255 says that there is no way.
    #[serde(default = "default_distance", deserialize_with = "within::<_, 11, 254>")]
    pub distance: u8,
    /// Swap, MiB; 0 for none.
    pub swap_mib: u32,
    /// Disk of the scratch directory, MiB.
    pub disk_mib: NonZero<u32>,
    /// Size of a base page, KiB.
    #[serde(default = "default_page")]
    pub page_kib: PageKib,
    /// Order of a pageblock; that of a huge page if it is left out.
    pub pageblock_order: Option<u8>,
    /// Filesystem of the scratch directory.
    #[serde(default)]
    pub filesystem: Filesystem,
    /// Size of a block of a directory, KiB (`mkfs.xfs -n size=`).
    #[serde(default = "default_directory_block")]
    pub directory_block_kib: DirectoryBlockKib,
    /// Allocator of kernel objects (`CONFIG_SLUB` or, up to 6.7, `CONFIG_SLAB`).
    #[serde(default)]
    pub slab_allocator: SlabAllocator,
    /// Largest order of page cache folios, as far as filesystem and kernel have large ones (XFS 5.18+, ext4 6.16+); 0 for single pages on
    /// any kernel. Up to the largest huge page's, that of pages of 64 KiB.
    #[serde(default = "default_folio_order", deserialize_with = "within::<_, 0, 13>")]
    pub folio_order: u8,
    /// What things cost.
    #[serde(default)]
    pub costs: CostModel,
    /// Speed of the disk; the cost model's own if it is left out.
    pub disk: Option<DeviceSpeed>,
    /// Speed of the swap device; the cost model's own if it is left out.
    pub swap: Option<DeviceSpeed>,
    /// Swap is a part of the disk: both wait for the same device.
    #[serde(default)]
    pub swap_on_disk: bool,
    /// Per-CPU lists of pages are those of the full size, brought to scale. Of themselves they are as large from zones of 1 GiB on.
    #[serde(default)]
    pub scaled_pcp: bool,
    /// At a smaller scale, lists have the ratio of active to inactive pages that they would have at full size.
    #[serde(default)]
    pub scaled_lists: bool,
    /// Timers of what is written follow the scale, as does the time in which the disk writes all of memory: the flusher's, the journal's,
    /// and those of XFS's log.
    #[serde(default)]
    pub scaled_writeback: bool,
    /// These sizes stay at every scale: what is scaled is the work alone.
    #[serde(default)]
    pub fixed_size: bool,
    /// The share of the full size that these sizes are: [`Scenario::scale`](crate::Scenario::scale) notes it.
    #[serde(skip, default = "full")]
    pub scale: Scale,
}

/// What a variant changes of the machine: shape and page sizes, but no size that the workload follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineChange {
    /// NUMA nodes.
    pub nodes: Option<NonZero<u8>>,
    /// Size of a base page, KiB.
    pub page_kib: Option<PageKib>,
    /// Order of a pageblock.
    pub pageblock_order: Option<u8>,
}

impl Machine {
    /// This machine with a variant's changes.
    #[must_use]
    pub fn with(self, change: MachineChange) -> Machine {
        Machine {
            nodes: change.nodes.unwrap_or(self.nodes),
            page_kib: change.page_kib.unwrap_or(self.page_kib),
            pageblock_order: change.pageblock_order.or(self.pageblock_order),
            ..self
        }
    }
}

fn default_distance() -> u8 {
    20
}

fn default_page() -> PageKib {
    PageKib::K4
}

fn default_directory_block() -> DirectoryBlockKib {
    DirectoryBlockKib::K4
}

fn default_folio_order() -> u8 {
    9
}

fn full() -> Scale {
    Scale::FULL
}

macro_rules! sizes {
    ($(#[$doc:meta])* $name:ident, $what:literal, $($variant:ident = $kib:literal),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "u32")]
        pub enum $name {
            $(#[doc = concat!(stringify!($kib), " KiB")] $variant),+
        }

        impl $name {
            /// The size, KiB.
            pub const fn kib(self) -> u32 {
                match self {
                    $($name::$variant => $kib),+
                }
            }
        }

        impl TryFrom<u32> for $name {
            type Error = String;

            fn try_from(kib: u32) -> Result<$name, String> {
                match kib {
                    $($kib => Ok($name::$variant),)+
                    _ => Err(format!(concat!("{} KiB is no ", $what, "; there are: {:?}"), kib, [$($kib),+])),
                }
            }
        }
    };
}

sizes!(
    /// Sizes of base pages that kernels are built for.
    PageKib, "page size", K4 = 4, K16 = 16, K64 = 64
);

sizes!(
    /// Sizes of directory blocks (`mkfs.xfs -n size=`).
    DirectoryBlockKib, "directory block size", K4 = 4, K8 = 8, K16 = 16, K32 = 32, K64 = 64
);

/// Filesystems that the simulated computer knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// Inode tables and directories in the block device's page cache.
    #[default]
    Ext4,
    /// Metadata buffers of its own, directory blocks of several pages, a log that formats its items in memory.
    Xfs,
}

/// Who manages kernel objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlabAllocator {
    /// Slabs of several pages where memory allows.
    #[default]
    Slub,
    /// Single pages for objects that reclaim can free, and for others as long as an eighth of a page is wasted at most.
    Slab,
}

/// Cost models of the simulated computer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostModel {
    /// The recorded guests: QEMU's TCG on two shared cores.
    #[default]
    Tcg,
    /// A 3 GHz server core.
    BareMetal,
}

/// Speed of a device. What is known of the machine: an NVMe disk moves some 2000 MB/s after 80 us, a SATA SSD of its first
/// years 250 MB/s after 150 us, a disk that rotates 100 MB/s with 8000 us for each seek, all from their makers' data sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpeed {
    /// Millions of bytes a second while it transfers.
    pub mb_s: NonZero<u32>,
    /// Microseconds after which a request is answered, whatever else is queued.
    pub latency_us: u32,
    /// Microseconds that a request takes from the device where it does not begin at the end of the one before: 0 for devices
    /// without moving parts.
    #[serde(default)]
    pub seek_us: u32,
}

impl Machine {
    /// Memory, bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.memory_mib.get()) << 20
    }

    /// Brings memory, swap and disk to scale.
    pub(crate) fn scale(&mut self, scale: Scale) {
        if self.fixed_size {
            return;
        }
        self.memory_mib = scale.of_nonzero(self.memory_mib);
        self.disk_mib = scale.of_nonzero(self.disk_mib);
        self.swap_mib = scale.of_u32(self.swap_mib);
        self.scale = scale;
    }
}

#[cfg(test)]
mod tests {
    use crate::{CostModel, Filesystem, PageKib, Scenario};

    fn with(more: &str) -> Result<Scenario, String> {
        let text = Scenario::shipped_text("kbuild-mix").expect("it is shipped");
        Scenario::parse(&text.replace("nodes = 1\n", more)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_as_it_always_was() {
        let machine = with("nodes = 1\n").expect("it is right").machine;
        assert_eq!((machine.page_kib, machine.pageblock_order, machine.disk), (PageKib::K4, None, None));
        assert_eq!((machine.filesystem, machine.costs), (Filesystem::Ext4, CostModel::Tcg));
    }

    #[test]
    fn a_machine_is_described_and_nonsense_refused() {
        let more = "nodes = 2\npage_kib = 16\ncosts = \"bare-metal\"\nfilesystem = \"xfs\"\ndirectory_block_kib = 64\n\
                    disk = { mb_s = 250, latency_us = 150 }\n";
        let machine = with(more).expect("it is right").machine;
        assert_eq!((machine.page_kib.kib(), machine.directory_block_kib.kib()), (16, 64));
        assert_eq!(machine.disk.map(|disk| (disk.mb_s.get(), disk.latency_us, disk.seek_us)), Some((250, 150, 0)));
        for (nonsense, why) in [
            ("page_kib = 5", "5 KiB is no page size; there are: [4, 16, 64]"),
            ("distance = 10", "10 is not within 11 to 254"),
            ("folio_order = 14", "14 is not within 0 to 13"),
        ] {
            let said = with(&format!("nodes = 1\n{nonsense}\n")).expect_err("refused");
            assert!(said.starts_with("line ") && said.contains(why), "{said}");
        }
    }
}
