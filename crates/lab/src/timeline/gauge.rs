//! What of a zone is followed over time, and under which names.

use super::moment::ZoneMoment;
use pagealloc::{Migratetype, Order};

/// Plot that a series belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // docs/view-format.md says what is in each.
pub enum Group {
    Free,
    FreeBlocks,
    Pageblocks,
    Watermarks,
    Fragmentation,
    Events,
    Thp,
    Stalls,
    Reclaim,
    Compaction,
    Io,
}

impl Group {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Free => "free",
            Group::FreeBlocks => "free_blocks",
            Group::Pageblocks => "pageblocks",
            Group::Watermarks => "watermarks",
            Group::Fragmentation => "fragmentation",
            Group::Events => "events",
            Group::Thp => "thp",
            Group::Stalls => "stalls",
            Group::Reclaim => "reclaim",
            Group::Compaction => "compaction",
            Group::Io => "io",
        }
    }
}

/// What a series counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Pages.
    Pages,
    /// Free blocks of some order.
    Blocks,
    /// Pageblocks.
    Pageblocks,
    /// Counted a second.
    PerSecond,
    /// 0 to 1.
    Share,
}

impl Unit {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::Blocks => "blocks",
            Unit::Pageblocks => "pageblocks",
            Unit::PerSecond => "per second",
            Unit::Share => "share",
        }
    }
}

/// What a series is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Stable name; unique together with the zone.
    pub name: String,
    /// For people.
    pub label: String,
    /// Unit.
    pub unit: Unit,
    /// Plot.
    pub group: Group,
    /// `NODE/NAME`; `None`: the whole machine.
    pub zone: Option<String>,
}

/// A state of a zone that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gauge {
    FreePages,
    Free(Order, Migratetype),
    Pageblocks(Migratetype),
    /// min, low, high by number.
    Mark(usize),
    Boost,
    /// Share of free pages in blocks below this order (11.15).
    Unusable(Order),
}

const MARKS: [&str; 3] = ["min", "low", "high"];

impl Gauge {
    /// All that is followed of a machine's zones.
    pub fn all(pageblock_order: Order, max_order: Order) -> Vec<Gauge> {
        let free = (0..=max_order).flat_map(|order| Migratetype::ALL.map(|of| Gauge::Free(order, of)));
        let mut all = vec![Gauge::FreePages];
        all.extend(free);
        all.extend(Migratetype::ALL.map(Gauge::Pageblocks));
        all.extend((0..MARKS.len()).map(Gauge::Mark));
        all.extend([Gauge::Boost, Gauge::Unusable(pageblock_order)]);
        all
    }

    /// Its value; `None`: not known.
    pub fn of(self, zone: &ZoneMoment) -> Option<f64> {
        let counted = &zone.counted;
        let whole = |value: u64| Some(value as f64);
        match self {
            Gauge::FreePages => whole(zone.free_pages),
            Gauge::Free(order, of) => whole(counted.free[of.index()][usize::from(order)]),
            Gauge::Pageblocks(of) => whole(counted.blocks[of.index()]),
            Gauge::Mark(mark) => zone.marks.map(|marks| marks[mark] as f64),
            Gauge::Boost => zone.boost.map(|boost| boost as f64),
            Gauge::Unusable(order) => Some(zone.unusable(order)),
        }
    }

    /// Its key for the zone of that name.
    pub fn key(self, zone: &str) -> Key {
        let lower = |of: Migratetype| of.name().to_ascii_lowercase();
        let (group, unit, name, label) = match self {
            Gauge::FreePages => (Group::Free, Unit::Pages, "free_pages".to_owned(), "free pages".to_owned()),
            Gauge::Free(order, of) => {
                let label = format!("free order {order}, {}", lower(of));
                (Group::FreeBlocks, Unit::Blocks, format!("free.order{order}.{}", lower(of)), label)
            }
            Gauge::Pageblocks(of) => {
                let label = format!("{} pageblocks", lower(of));
                (Group::Pageblocks, Unit::Pageblocks, format!("pageblocks.{}", lower(of)), label)
            }
            Gauge::Mark(mark) => {
                let label = format!("{} watermark", MARKS[mark]);
                (Group::Watermarks, Unit::Pages, format!("wmark_{}", MARKS[mark]), label)
            }
            Gauge::Boost => {
                (Group::Watermarks, Unit::Pages, "watermark_boost".to_owned(), "watermark boost".to_owned())
            }
            Gauge::Unusable(order) => {
                let label = format!("free memory unusable for order {order}");
                (Group::Fragmentation, Unit::Share, format!("unusable.order{order}"), label)
            }
        };
        Key { name, label, unit, group, zone: Some(zone.to_owned()) }
    }
}
