//! What a machine tells of itself at one moment, be it a model or a kernel's /proc.

use crate::outcome::{ExtfragAt, ZoneEnd};
use crate::watch::Watch;
use crate::zones::zones;
use pagealloc::{AllocFlags, Order, PageAllocator, ZoneId};

/// One moment.
pub struct Moment<'a> {
    /// Zones, in the shape's order.
    pub zones: Vec<ZoneMoment>,
    /// A counter so far, by /proc/vmstat name; `None`: not known.
    pub counter: &'a dyn Fn(&str) -> Option<u64>,
    /// All fragmentation events so far.
    pub extfrag: &'a [ExtfragAt],
}

/// A zone at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneMoment {
    /// Pageblocks and free blocks.
    pub counted: ZoneEnd,
    /// Free pages.
    pub free_pages: u64,
    /// min, low, high with boost.
    pub marks: Option<[u64; 3]>,
    /// Boost.
    pub boost: Option<u64>,
}

impl ZoneMoment {
    /// Share of free pages in blocks below an order, 0 to 1; 0 if nothing is free (11.15).
    pub fn unusable(&self, order: Order) -> f64 {
        let (mut all, mut below) = (0, 0);
        for of_type in &self.counted.free {
            for (k, blocks) in of_type.iter().enumerate() {
                all += blocks << k;
                below += if k < usize::from(order) { blocks << k } else { 0 };
            }
        }
        if all == 0 { 0.0 } else { below as f64 / all as f64 }
    }
}

/// A model's zones at this moment.
pub(super) fn zones_now(alloc: &PageAllocator<Watch>) -> Vec<ZoneMoment> {
    let marks = [AllocFlags::WMARK_MIN, AllocFlags::WMARK_LOW, AllocFlags::WMARK_HIGH];
    let counted = zones(alloc).into_iter().zip((0..).map(ZoneId));
    counted
        .map(|(counted, zone)| ZoneMoment {
            counted,
            free_pages: alloc.free_pages(zone),
            marks: Some(marks.map(|mark| alloc.wmark(zone, mark))),
            boost: Some(alloc.boost(zone)),
        })
        .collect()
}
