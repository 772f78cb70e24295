//! How does an allocator look in a debugging print? A line a zone, as in /proc/buddyinfo, rather than every frame.

use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::frames::Frames;
use crate::zone::{FreeArea, Zone};
use alloc::vec::Vec;
use core::fmt;

/// A zone as it is printed.
struct Summary<'a>(&'a Zone, usize);

impl fmt::Debug for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary(zone, orders) = *self;
        let nr_free: Vec<u64> = zone.areas[..orders].iter().map(FreeArea::nr_free).collect();
        f.debug_struct("Zone")
            .field("node", &zone.node.0)
            .field("kind", &format_args!("{}", zone.kind))
            .field("managed", &zone.managed)
            .field("free_pages", &zone.free_pages)
            .field("nr_free", &nr_free)
            .finish_non_exhaustive()
    }
}

impl<O: Observer> fmt::Debug for PageAllocator<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let orders = usize::from(self.geometry.max_order) + 1;
        let zones: Vec<Summary<'_>> = self.zones.iter().map(|zone| Summary(zone, orders)).collect();
        f.debug_struct("PageAllocator")
            .field("policy", &self.policy.name)
            .field("geometry", &self.geometry)
            .field("nr_cpus", &self.nr_cpus())
            .field("zones", &zones)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::{Machine, MachineError, PageAllocator};
    use alloc::format;

    #[test]
    fn a_print_has_a_line_a_zone() {
        let printed = format!("{:?}", world(96, linux_6_18()));
        let zone = "Zone { node: 0, kind: Normal, managed: 96, free_pages: 96, nr_free: [0, 0, 0, 0, 0, 3], .. }";
        assert!(printed.contains("\"linux-6.18\"") && printed.contains(zone), "{printed}");
    }

    #[test]
    fn results_can_be_unwrapped_either_way() {
        let empty = Machine::uniform(SMALL, 1, 0, false);
        assert_eq!(PageAllocator::new(&empty, linux_6_18(), ()).unwrap_err(), MachineError::Empty);
    }
}
