//! Memory at the start of the log, put together from the snapshot.

use super::cached::{FirstUse, StartCached, on_lists, tails_in_use};
use super::{Class, NEVER, Object, ObjectId};
use crate::proc::kpage::{PageFlag, PageFlags};
use crate::proc::pageblocks::PageBlock;
use crate::proc::pagestate::{Frame, PageState};
use crate::proc::zoneinfo::ZoneInfo;
use pagealloc::{Geometry, Machine, Migratetype, NodeId, Order, Pfn, ZoneSpan, ZoneType};
use std::collections::BTreeMap;

/// Frame that no object is in.
pub(super) const NOBODY: ObjectId = ObjectId::MAX;
/// `KPF_RESERVED`: boot kept the frame.
pub(super) const RESERVED_BIT: u64 = 1 << 32;

/// A page in use at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartFrame {
    /// Head frame.
    pub pfn: Pfn,
    /// Order.
    pub order: Order,
    /// Its object in the log.
    pub object: ObjectId,
    /// Where it lies.
    pub place: StartUse,
}

/// What the snapshot says of a page in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUse {
    /// Not on an LRU list.
    Kernel,
    /// On a list, by its flags.
    Lru {
        /// Anonymous.
        anon: bool,
        /// On the active list.
        active: bool,
        /// Not evictable.
        unevictable: bool,
    },
}

/// Watermarks and per-CPU list limits of a zone as the kernel had them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartZone {
    /// min, low, high, promo without boost, pages.
    pub marks: [u64; 4],
    /// Managed pages.
    pub managed: u64,
    /// Per CPU: pages cached and `high`.
    pub pcp: Vec<(u64, u64)>,
}

/// Memory at the start.
#[derive(Clone, Debug)]
pub struct StartState {
    /// The machine.
    pub machine: Machine,
    /// Its zones' limits, in the machine's order.
    pub zones: Vec<StartZone>,
    /// Free blocks in list order: those that were handed out first come first.
    pub free: Vec<(Pfn, Order)>,
    /// Free pages on per-CPU lists, each CPU's in list order.
    pub pcp: Vec<StartCached>,
    /// Pages in use; those of each LRU list in order from the tail.
    pub used: Vec<StartFrame>,
    /// Types of the pageblocks.
    pub blocks: Vec<Migratetype>,
}

/// How much memory was in use at the start, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// Frames up to the end of the last zone, present or not. `/proc/kpageflags` goes on to the end of a section of 128 MiB.
    pub frames: u64,
    /// What the page allocator has.
    pub managed: u64,
    /// Kernel memory that stays where it is.
    pub unmovable: u64,
    /// Reclaimable slab.
    pub reclaimable: u64,
    /// User memory that reclaim may not take (`KPF_UNEVICTABLE`).
    pub unevictable: u64,
    /// All other user memory.
    pub evictable: u64,
}

/// The raw snapshot, as the readers give it.
pub struct Snapshot<'a> {
    /// What every frame is.
    pub frames: &'a [Frame],
    /// `/proc/kpageflags`.
    pub flags: &'a [PageFlags],
    /// Pageblocks.
    pub blocks: &'a [PageBlock],
    /// `/proc/zoneinfo`.
    pub zones: &'a ZoneInfo,
    /// Whether `frames` are inferred from the flags, so that some in use may be on per-CPU lists.
    pub inferred: bool,
}

impl Snapshot<'_> {
    fn absent(&self, pfn: usize) -> bool {
        let flags = self.flags[pfn];
        flags.0 & RESERVED_BIT != 0
            || flags.has(PageFlag::Nopage)
            || (self.frames[pfn].state == PageState::Unreadable && !flags.has(PageFlag::Buddy))
    }

    fn is_used(&self, pfn: usize) -> bool {
        use PageState::*;
        let used = matches!(self.frames[pfn].state, Slab | PageTable | Anonymous | OtherTyped | PageCache | OtherInUse);
        used && !self.absent(pfn)
    }

    /// What is in use.
    pub(super) fn in_use(&self) -> InUse {
        let present = (0..self.frames.len()).filter(|&pfn| !self.absent(pfn));
        let mut sum = InUse { frames: self.zones.end_pfn(), managed: present.count() as u64, ..InUse::default() };
        let mut objects = Vec::new();
        let owner = self.objects(&mut objects);
        for (pfn, &object) in owner.iter().enumerate().filter(|(_, object)| **object != NOBODY) {
            let class = objects[object as usize].class;
            *match self.place(pfn, class) {
                StartUse::Kernel if class == Class::Slab => &mut sum.reclaimable,
                StartUse::Kernel => &mut sum.unmovable,
                StartUse::Lru { unevictable: true, .. } => &mut sum.unevictable,
                StartUse::Lru { .. } => &mut sum.evictable,
            } += 1;
        }
        sum
    }

    /// Objects for all pages in use, and which object each frame belongs to.
    pub(super) fn objects(&self, objects: &mut Vec<Object>) -> Vec<ObjectId> {
        let mut owner = vec![NOBODY; self.frames.len()];
        let mut pfn = 0;
        while pfn < self.frames.len() {
            if !self.is_used(pfn) {
                pfn += 1;
                continue;
            }
            let whole = self.order_of_used(pfn);
            // A page that is larger than any the allocator hands out was put together from such, and goes back to it as such.
            let order = whole.min(Geometry::PAGES_4K.max_order);
            let class = self.class(pfn);
            for pages in owner[pfn..pfn + (1 << whole)].chunks_mut(1 << order) {
                pages.fill(objects.len() as ObjectId);
                objects.push(Object { leave: NEVER, link: 0, gfp: 0, order, class, flags: 0 });
            }
            pfn += 1 << whole;
        }
        owner
    }

    /// Order of the compound page that begins here, as far as its tails bear it out.
    fn order_of_used(&self, pfn: usize) -> Order {
        let order = self.frames[pfn].order;
        let tails = self.frames.get(pfn + 1..pfn + (1 << order)).unwrap_or(&[]);
        let whole = order > 0 && tails.len() + 1 == 1 << order && tails.iter().all(|t| t.state == PageState::Tail);
        if whole { order } else { 0 }
    }

    fn class(&self, pfn: usize) -> Class {
        let block = self.blocks.get(pfn >> 9).map(|block| block.migratetype());
        let on_list = self.flags[pfn].has(PageFlag::Lru);
        match self.frames[pfn].state {
            PageState::Anonymous => Class::Anon,
            // Shared memory and what lies on a tmpfs: on the lists of anonymous memory, and swapped out like it.
            PageState::PageCache if on_list && self.flags[pfn].has(PageFlag::Swapbacked) => Class::Anon,
            PageState::PageCache if on_list => Class::File,
            PageState::Slab if block == Some(Migratetype::Reclaimable as u8) => Class::Slab,
            _ => Class::Kernel,
        }
    }

    fn place(&self, pfn: usize, class: Class) -> StartUse {
        let flags = self.flags[pfn];
        match class {
            Class::Anon | Class::File => StartUse::Lru {
                anon: class == Class::Anon,
                active: flags.has(PageFlag::Active),
                unevictable: flags.has(PageFlag::Unevictable),
            },
            Class::Metadata | Class::Kernel | Class::Slab => StartUse::Kernel,
        }
    }

    /// Frames of a zone without an owner that are in no free block: those on per-CPU lists.
    fn unlisted(&self, span: &ZoneSpan, owner: &[ObjectId], covered: &[bool]) -> Vec<Pfn> {
        let frames = span.start.index()..span.start.index() + span.spanned as usize;
        let unlisted = frames.filter(|&pfn| owner[pfn] == NOBODY && !self.absent(pfn) && !covered[pfn]);
        unlisted.map(|pfn| Pfn(pfn as u32)).collect()
    }

    /// Frames that look as if they were on per-CPU lists and were not; `seen` is 0 where the trace shows nothing.
    pub(super) fn tails_without_type(&self, owner: &[ObjectId], seen: &[u64]) -> Vec<Pfn> {
        let (_, spans) = self.zone_spans(owner);
        let covered = cover(&self.free_blocks(owner, Geometry::PAGES_4K.max_order), self.frames.len());
        let never = |span| {
            let unlisted = self.unlisted(span, owner, &covered).into_iter();
            tails_in_use(unlisted.filter(|pfn| seen[pfn.index()] == 0), |pfn| owner[pfn.index()] != NOBODY)
        };
        spans.iter().flat_map(never).collect()
    }

    /// The state at the start, once `owner` says which frames are in use, and `first_use` when and how each frame that
    /// was free was handed out for the first time.
    pub(super) fn state(
        &self,
        owner: &[ObjectId],
        objects: &[Object],
        first_use: &BTreeMap<u32, FirstUse>,
        thp: bool,
        cpu_node: Vec<NodeId>,
    ) -> StartState {
        let geometry = Geometry::PAGES_4K;
        let (zones, spans) = self.zone_spans(owner);
        // Snapshots end where a section of memory does, which may be behind the last zone.
        let end = spans.iter().map(|span| span.start.0 + span.spanned).max().unwrap_or(0);
        let in_zones = end.div_ceil(1 << geometry.pageblock_order) as usize;
        let blocks =
            self.blocks.iter().take(in_zones).map(|block| Migratetype::from_index(block.migratetype())).collect();
        let mut free = self.free_blocks(owner, geometry.max_order);
        // The list order is not in the snapshot, but the trace tells it: the head is handed out first.
        free.sort_by_cached_key(|&(pfn, order)| {
            let used = first_use.range(pfn.0..pfn.0 + (1 << order)).map(|(_, used)| used.ts).min();
            (used.unwrap_or(u64::MAX), pfn)
        });
        let covered = cover(&free, self.frames.len());
        let pcp = spans.iter().zip(&zones).flat_map(|(span, zone)| {
            let mut counts: Vec<u64> = zone.pcp.iter().map(|(count, _)| *count).collect();
            counts.resize(cpu_node.len(), 0);
            on_lists(&self.unlisted(span, owner, &covered), first_use, geometry, &counts)
        });
        let pcp = pcp.collect();
        let machine = Machine { geometry, cpu_node, distance: Vec::new(), zones: spans, thp };
        StartState { machine, zones, free, pcp, used: self.used(owner, objects), blocks }
    }

    fn used(&self, owner: &[ObjectId], objects: &[Object]) -> Vec<StartFrame> {
        let mut used = Vec::new();
        let mut pfn = 0;
        while pfn < owner.len() {
            let object = owner[pfn];
            if object == NOBODY {
                pfn += 1;
                continue;
            }
            let Object { order, class, .. } = objects[object as usize];
            let place = self.place(pfn, class);
            used.push(StartFrame { pfn: Pfn(pfn as u32), order, object, place });
            pfn += 1 << order;
        }
        // Reclaim takes pages from the tail: what it took first lay nearest to the tail.
        used.sort_by_key(|frame| (objects[frame.object as usize].leave, frame.pfn));
        used
    }

    /// Free buddy blocks, without the frames that were handed out while the snapshot was taken.
    fn free_blocks(&self, owner: &[ObjectId], max_order: Order) -> Vec<(Pfn, Order)> {
        let mut free = Vec::new();
        let mut pfn = 0;
        while pfn < self.frames.len() {
            let frame = self.frames[pfn];
            let (order, whole) = match frame.state {
                PageState::FreeHead => (frame.order.min(max_order), true),
                PageState::Unreadable if self.flags[pfn].has(PageFlag::Buddy) => (self.run_order(pfn, max_order), true),
                _ => (0, false),
            };
            if whole {
                carve(pfn as u32, order, owner, &mut free);
            }
            pfn += 1 << order;
        }
        free
    }

    /// Largest aligned free block that can begin at an unreadable frame of a run that `/proc/kpageflags` calls free.
    fn run_order(&self, pfn: usize, max_order: Order) -> Order {
        let free = |pfn: usize| {
            let frame = self.frames.get(pfn).map(|frame| frame.state);
            frame == Some(PageState::Unreadable) && self.flags[pfn].has(PageFlag::Buddy)
        };
        let fits = |order: &Order| pfn.trailing_zeros() >= u32::from(*order) && (pfn..pfn + (1 << order)).all(free);
        (0..=max_order).rev().find(fits).unwrap_or(0)
    }

    fn zone_spans(&self, owner: &[ObjectId]) -> (Vec<StartZone>, Vec<ZoneSpan>) {
        let populated = self.zones.zones.iter().filter(|zone| zone.managed > 0);
        let described = populated.filter_map(|zone| {
            let kind = ZoneType::from_name(&zone.name)?;
            let start = zone.start_pfn? as usize;
            let end = (start + zone.spanned as usize).min(owner.len());
            let boost = zone.boost.unwrap_or(0);
            let promo = zone.promo.unwrap_or(zone.high.saturating_mul(2).saturating_sub(zone.low));
            let marks = [zone.min, zone.low, zone.high, promo].map(|mark| mark.saturating_sub(boost));
            let pcp = zone.pagesets.iter().map(|pageset| (pageset.count, pageset.high)).collect();
            let span = ZoneSpan {
                node: NodeId(zone.node as u8),
                kind,
                start: Pfn(start as u32),
                spanned: (end - start) as u32,
                managed: self.managed_ranges(start, end),
            };
            Some((StartZone { marks, managed: zone.managed, pcp }, span))
        });
        described.unzip()
    }

    fn managed_ranges(&self, start: usize, end: usize) -> Vec<(Pfn, u32)> {
        let mut ranges: Vec<(Pfn, u32)> = Vec::new();
        for pfn in (start..end).filter(|&pfn| !self.absent(pfn)) {
            match ranges.last_mut() {
                Some((first, pages)) if first.0 + *pages == pfn as u32 => *pages += 1,
                _ => ranges.push((Pfn(pfn as u32), 1)),
            }
        }
        ranges
    }
}

/// Splits a free block around frames in use.
fn carve(pfn: u32, order: Order, owner: &[ObjectId], free: &mut Vec<(Pfn, Order)>) {
    let frames = &owner[pfn as usize..(pfn as usize + (1 << order)).min(owner.len())];
    if frames.iter().all(|object| *object == NOBODY) {
        free.push((Pfn(pfn), order));
    } else if order > 0 {
        carve(pfn, order - 1, owner, free);
        carve(pfn + (1 << (order - 1)), order - 1, owner, free);
    }
}

fn cover(blocks: &[(Pfn, Order)], frames: usize) -> Vec<bool> {
    let mut covered = vec![false; frames];
    for &(pfn, order) in blocks {
        covered[pfn.index()..(pfn.index() + (1 << order)).min(frames)].fill(true);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::zoneinfo::Zone;

    #[test]
    fn a_gigantic_page_is_in_pieces_that_the_allocator_has() {
        let mut frames = vec![Frame { state: PageState::Tail, order: 0 }; 1 << 12];
        frames[0] = Frame { state: PageState::OtherTyped, order: 12 };
        let (flags, zones) = (vec![PageFlags(1 << PageFlag::Huge as u8); 1 << 12], ZoneInfo::default());
        let mut objects = Vec::new();
        let owner = Snapshot { frames: &frames, flags: &flags, blocks: &[], zones: &zones, inferred: false }
            .objects(&mut objects);
        let orders: Vec<Order> = objects.iter().map(|object| object.order).collect();
        assert_eq!((orders, owner[1023], owner[1024], owner[4095]), (vec![10; 4], 0, 1, 3));
    }

    #[test]
    fn shared_memory_is_swapped_and_page_cache_is_not() {
        let class = |state: PageState, flags: &[PageFlag]| {
            let flags = [PageFlags(flags.iter().map(|flag| 1 << *flag as u8).sum())];
            let zones = ZoneInfo::default();
            let frames = [Frame { state, order: 0 }];
            Snapshot { frames: &frames, flags: &flags, blocks: &[], zones: &zones, inferred: false }.class(0)
        };
        assert_eq!(class(PageState::PageCache, &[PageFlag::Lru]), Class::File);
        assert_eq!(class(PageState::PageCache, &[PageFlag::Lru, PageFlag::Swapbacked]), Class::Anon);
        assert_eq!(class(PageState::PageCache, &[PageFlag::Swapbacked]), Class::Kernel, "on no list");
        assert_eq!(class(PageState::Anonymous, &[PageFlag::Lru, PageFlag::Swapbacked]), Class::Anon);
    }

    #[test]
    fn a_machine_ends_with_its_last_zone() {
        let free = Frame { state: PageState::Unreferenced, order: 0 };
        let zone = Zone { start_pfn: Some(1), spanned: 5, ..Zone::default() };
        let zones = ZoneInfo { zones: vec![zone], ..ZoneInfo::default() };
        let (frames, flags) = ([free; 8], [PageFlags(0); 8]);
        let snapshot = Snapshot { frames: &frames, flags: &flags, blocks: &[], zones: &zones, inferred: false };
        assert_eq!(snapshot.in_use().frames, 6);
    }
}
