//! The numbers that name things: frames, pageblocks, zones, nodes, CPUs.
//!
//! Distinct types, so that a block number can't be used where a frame number is meant.

use core::fmt;

/// Order of a block of pages: it holds `1 << order` pages and is naturally aligned. 0 ..= [`MAX_ORDER_LIMIT`].
pub type Order = u8;

/// Largest order that any geometry may have (64 KiB pages have pageblocks of order 13).
pub const MAX_ORDER_LIMIT: Order = 14;
/// Number of free areas that a zone has room for.
pub const NR_ORDERS: usize = MAX_ORDER_LIMIT as usize + 1;
/// Orders above this one are "costly": the slow path gives up on them early (`PAGE_ALLOC_COSTLY_ORDER`).
pub const PAGE_ALLOC_COSTLY_ORDER: Order = 3;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number as an array index.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type! {
    /// Page frame number: physical address divided by the page size. Up to 2^32 - 2 frames (16 TiB of 4 KiB pages).
    Pfn(u32)
}
index_type! {
    /// Number of a pageblock: pfn >> pageblock_order.
    BlockId(u32)
}
index_type! {
    /// A zone of the machine, counted over all nodes in ascending (node, zone type) order.
    ZoneId(u8)
}
index_type! {
    /// A NUMA node.
    NodeId(u8)
}
index_type! {
    /// A logical CPU.
    CpuId(u16)
}

impl Pfn {
    /// The frame `pages` further up.
    #[inline(always)]
    pub const fn add(self, pages: u32) -> Pfn {
        Pfn(self.0 + pages)
    }

    /// Head frame of the buddy of the block of this order that starts here.
    #[inline(always)]
    pub const fn buddy(self, order: Order) -> Pfn {
        Pfn(self.0 ^ (1 << order))
    }

    /// Start of the aligned block of this order that holds the frame.
    #[inline(always)]
    pub const fn align_down(self, order: Order) -> Pfn {
        Pfn(self.0 & !((1 << order) - 1))
    }
}

/// Zone types, ascending as in the kernel; requests name the highest one that they can use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ZoneType {
    /// Below 16 MiB.
    Dma,
    /// Below 4 GiB.
    Dma32,
    /// The rest of directly mapped memory.
    Normal,
    /// Not permanently mapped memory of 32-bit machines.
    HighMem,
    /// Only for movable requests.
    Movable,
}

/// Number of [`ZoneType`]s.
pub const NR_ZONE_TYPES: usize = 5;

impl ZoneType {
    /// All types, ascending.
    pub const ALL: [ZoneType; NR_ZONE_TYPES] =
        [ZoneType::Dma, ZoneType::Dma32, ZoneType::Normal, ZoneType::HighMem, ZoneType::Movable];

    /// The name as /proc prints it.
    pub const fn name(self) -> &'static str {
        match self {
            ZoneType::Dma => "DMA",
            ZoneType::Dma32 => "DMA32",
            ZoneType::Normal => "Normal",
            ZoneType::HighMem => "HighMem",
            ZoneType::Movable => "Movable",
        }
    }

    /// The type of that name, as /proc prints it.
    pub fn from_name(name: &str) -> Option<ZoneType> {
        ZoneType::ALL.into_iter().find(|zone| zone.name() == name)
    }
}

impl fmt::Display for ZoneType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of nodes (up to 64).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeMask(pub u64);

impl NodeMask {
    /// Every node.
    pub const ALL: NodeMask = NodeMask(u64::MAX);

    /// This node only; its number must be below 64.
    pub const fn one(node: NodeId) -> NodeMask {
        NodeMask(1 << node.0)
    }

    /// Whether the node is in the set.
    #[inline]
    pub const fn contains(self, node: NodeId) -> bool {
        self.0 >> node.0 & 1 == 1
    }
}

/// Sizes that are fixed for a machine's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// log2 of the page size in bytes: 12, 14 or 16 in kernels; 10 to 20 are taken.
    pub page_shift: u8,
    /// `MAX_PAGE_ORDER`, inclusive, at most [`MAX_ORDER_LIMIT`].
    pub max_order: Order,
    /// `pageblock_order`, 1 to `max_order`.
    pub pageblock_order: Order,
    /// Order of a PMD-mapped huge page (9, 11 or 13), which per-CPU lists hold from 5.14 on; may exceed `max_order`, then there are none.
    pub pmd_order: Order,
}

impl Geometry {
    /// x86-64 with 4 KiB pages: orders 0 ..= 10, 2 MiB pageblocks.
    pub const PAGES_4K: Geometry = Geometry { page_shift: 12, max_order: 10, pageblock_order: 9, pmd_order: 9 };
    /// arm64 with 16 KiB pages: 32 MiB pageblocks.
    pub const PAGES_16K: Geometry = Geometry { page_shift: 14, max_order: 11, pageblock_order: 11, pmd_order: 11 };
    /// arm64 with 64 KiB pages: 512 MiB pageblocks.
    pub const PAGES_64K: Geometry = Geometry { page_shift: 16, max_order: 13, pageblock_order: 13, pmd_order: 13 };

    /// Pages in a pageblock (`pageblock_nr_pages`).
    #[inline(always)]
    pub const fn pageblock_pages(&self) -> u32 {
        1 << self.pageblock_order
    }

    /// Pages in a section (`PAGES_PER_SECTION`), the unit in which memory is described frame by frame or not at all: 128 MiB, with pages of
    /// 64 KiB 512 MiB (`SECTION_SIZE_BITS` of x86-64 and arm64), and at least a largest block.
    pub const fn section_pages(&self) -> u32 {
        let bits = if self.page_shift >= 16 { 29 } else { 27 };
        let order = bits - self.page_shift;
        1 << if order > self.max_order { order } else { self.max_order }
    }

    /// The pageblock that holds the frame.
    #[inline(always)]
    pub const fn block_of(&self, pfn: Pfn) -> BlockId {
        BlockId(pfn.0 >> self.pageblock_order)
    }

    /// First frame of the pageblock.
    #[inline(always)]
    pub const fn block_start(&self, block: BlockId) -> Pfn {
        Pfn(block.0 << self.pageblock_order)
    }

    /// Pages per KiB-denominated sysctl value: KiB / (page size in KiB).
    pub const fn kib_to_pages(&self, kib: u64) -> u64 {
        kib >> (self.page_shift - 10)
    }
}
