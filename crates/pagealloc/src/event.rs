//! Events of the allocator: the kernel's kmem tracepoints, typed, and the interface of those who watch.

use crate::gfp::Gfp;
use crate::ids::{NodeId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;

/// A kmem event, with the kernel's field names (15.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request was served, or failed for good (`pfn` is `None`).
    MmPageAlloc {
        /// First frame, or nothing on failure.
        pfn: Option<Pfn>,
        /// Order of the request.
        order: Order,
        /// Type of the request.
        migratetype: Migratetype,
        /// Mask of the request.
        gfp_flags: Gfp,
    },
    /// A page was taken from the buddy lists with the zone lock held.
    MmPageAllocZoneLocked {
        /// First frame.
        pfn: Pfn,
        /// Order of the block handed out.
        order: Order,
        /// Type of the request.
        migratetype: Migratetype,
        /// Whether it may have been a refill of a per-CPU list.
        percpu_refill: bool,
    },
    /// A page was freed by its user.
    MmPageFree {
        /// First frame.
        pfn: Pfn,
        /// Its order.
        order: Order,
    },
    /// A page went from a per-CPU list back to the buddy lists.
    MmPagePcpuDrain {
        /// First frame.
        pfn: Pfn,
        /// Its order.
        order: Order,
        /// Type of its pageblock.
        migratetype: Migratetype,
    },
    /// A request was served from pages of another type.
    MmPageAllocExtfrag(Extfrag),
    /// Watermarks were computed anew.
    MmSetupPerZoneWmarks {
        /// Node of the zone.
        node: NodeId,
        /// The zone.
        zone: ZoneId,
        /// min, low, high and promo without boost, pages.
        marks: [u64; 4],
    },
}

/// An external fragmentation event (4.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extfrag {
    /// First frame.
    pub pfn: Pfn,
    /// Order of the request.
    pub alloc_order: Order,
    /// Order of the free page that was found.
    pub fallback_order: Order,
    /// Type of the request.
    pub alloc_migratetype: Migratetype,
    /// Type of the list that it was found on; up to 3.11 also the request's own (`policy::ExtfragOwnership`).
    pub fallback_migratetype: Migratetype,
    /// Whether the pageblock is of the request's type afterwards.
    pub change_ownership: bool,
    /// `pageblock_order` of the machine.
    pub pageblock_order: Order,
}

impl Extfrag {
    /// Whether less than a whole pageblock was taken: what Gorman counts.
    pub const fn fragmenting(&self) -> bool {
        self.fallback_order < self.pageblock_order
    }
}

/// Watches the allocator. Chosen statically: the unit type watches nothing and costs nothing.
pub trait Observer {
    /// Something happened.
    #[inline(always)]
    fn kmem(&mut self, event: &Event) {
        let _ = event;
    }
}

impl Observer for () {}

impl Observer for alloc::vec::Vec<Event> {
    fn kmem(&mut self, event: &Event) {
        self.push(*event);
    }
}
