//! Chapter 3: splitting, merging, moving; compaction's targets; the HighAtomic reserve (1.14, 1.15).

use super::*;

impl Model {
    fn max_order(&self) -> Order {
        self.geometry.max_order
    }

    /// Type of the list that a free block is on.
    fn list_of(&self, zone: usize, pfn: Pfn, order: Order) -> Migratetype {
        let lists = &self.zones[zone].free[order as usize];
        let on = lists.iter().position(|list| list.contains(&pfn)).expect("a free block is on a list");
        Migratetype::from_index(on as u8)
    }

    fn add(&mut self, zone: usize, pfn: Pfn, order: Order, migratetype: Migratetype, tail: bool) {
        self.fill(pfn, order, Frame::FreeHead(order), Frame::FreeTail);
        let list = &mut self.zones[zone].free[order as usize][migratetype.index()];
        if tail { list.push_back(pfn) } else { list.push_front(pfn) }
    }

    /// Takes a free block off its list; its frames are nobody's until the caller decides.
    pub fn take(&mut self, zone: usize, pfn: Pfn, order: Order) {
        let on = self.list_of(zone, pfn, order);
        self.zones[zone].free[order as usize][on.index()].retain(|&other| other != pfn);
    }

    /// 3.4: the upper halves go to heads, the lowest piece stays in hand.
    pub fn split(&mut self, zone: usize, pfn: Pfn, from: Order, to: Order, migratetype: Migratetype) {
        for order in (to..from).rev() {
            self.add(zone, pfn.add(1 << order), order, migratetype, false);
        }
    }

    /// 3.3: smallest fit from one type.
    pub fn smallest(&mut self, zone: usize, order: Order, migratetype: Migratetype) -> Option<Pfn> {
        for from in order..=self.max_order() {
            let Some(&pfn) = self.zones[zone].free[from as usize][migratetype.index()].front() else { continue };
            self.take(zone, pfn, from);
            self.split(zone, pfn, from, order, migratetype);
            return Some(pfn);
        }
        None
    }

    fn is_free(&self, zone: usize, pfn: Pfn, order: Order) -> bool {
        let bounds = self.zones[zone].start..self.zones[zone].end;
        bounds.contains(&pfn.0) && self.frames[pfn.index()] == Frame::FreeHead(order)
    }

    /// 3.5, 3.6.
    pub fn free_block(&mut self, zone: usize, mut pfn: Pfn, mut order: Order, ours: Migratetype, to_tail: bool) {
        while order < self.max_order() {
            if self.captured(zone, pfn, order, ours) {
                return;
            }
            let buddy = pfn.buddy(order);
            if !self.is_free(zone, buddy, order) || !self.may_merge(buddy, order, ours) {
                break;
            }
            self.take(zone, buddy, order);
            self.retype_buddy(buddy, order, ours);
            pfn = Pfn(pfn.0 & buddy.0);
            order += 1;
        }
        let tail = to_tail || self.merge_is_likely(zone, pfn, order);
        self.add(zone, pfn, order, ours, tail);
    }

    fn may_merge(&self, buddy: Pfn, order: Order, ours: Migratetype) -> bool {
        let theirs = self.block_type(buddy);
        order < self.geometry.pageblock_order
            || theirs == ours
            || match self.policy.merge_types {
                MergeTypes::Mergeable => theirs.is_mergeable() && ours.is_mergeable(),
                MergeTypes::AllButIsolate => theirs != Migratetype::Isolate && ours != Migratetype::Isolate,
            }
    }

    fn retype_buddy(&mut self, buddy: Pfn, order: Order, ours: Migratetype) {
        if order < self.geometry.pageblock_order || self.block_type(buddy) == ours {
            return;
        }
        match self.policy.merge_retype {
            MergeRetype::Never => {}
            MergeRetype::FirstBlock => {
                let block = self.block_of(buddy);
                self.block_types[block] = ours;
            }
            MergeRetype::WholeRange => self.retype(buddy, order, ours),
        }
    }

    fn merge_is_likely(&self, zone: usize, pfn: Pfn, order: Order) -> bool {
        order + 1 < self.max_order() && self.is_free(zone, pfn.align_down(order + 1).buddy(order + 1), order + 1)
    }

    /// Sets the type of all blocks that a page of at least the block order covers.
    pub fn retype(&mut self, pfn: Pfn, order: Order, migratetype: Migratetype) {
        let first = self.block_of(pfn);
        let blocks = 1 << order.saturating_sub(self.geometry.pageblock_order);
        self.block_types[first..first + blocks].fill(migratetype);
    }

    /// Frames of a block.
    pub fn frames_of(&self, block: BlockId) -> std::ops::Range<u32> {
        let start = self.geometry.block_start(block).0;
        start..start + self.geometry.pageblock_pages()
    }

    /// Whether all of a block lies in the zone.
    pub fn lies_in(&self, zone: usize, block: BlockId) -> bool {
        let (frames, Zone { start, end, .. }) = (self.frames_of(block), &self.zones[zone]);
        *start <= frames.start && frames.end <= *end
    }

    /// 3.9: pages moved. None, if part of the block is outside the zone.
    pub fn move_block(&mut self, zone: usize, block: BlockId, to: Migratetype) -> u64 {
        if self.lies_in(zone, block) { self.move_frames(zone, block, to) } else { 0 }
    }

    fn move_frames(&mut self, zone: usize, block: BlockId, to: Migratetype) -> u64 {
        let mut moved = 0;
        for pfn in self.frames_of(block).map(Pfn) {
            if let Frame::FreeHead(order) = self.frames[pfn.index()] {
                self.take(zone, pfn, order);
                self.add(zone, pfn, order, to, self.policy.tail_placement);
                moved += 1 << order;
            }
        }
        moved
    }

    /// A type from outside: a free page that is larger is cut at its blocks first, and all of the block's pages follow.
    pub fn set_block_type(&mut self, block: BlockId, to: Migratetype) {
        let (start, pageblock_order) = (self.geometry.block_start(block), self.geometry.pageblock_order);
        let first = self.frames_of(block).find(|&pfn| self.frames[pfn as usize] != Frame::Absent);
        let zone = first.map(|pfn| self.zone_of(Pfn(pfn)));
        for order in pageblock_order + 1..=self.max_order() {
            let head = start.align_down(order);
            if let Some(zone) = zone.filter(|&zone| self.is_free(zone, head, order)) {
                self.take(zone, head, order);
                for index in 0..1 << (order - pageblock_order) {
                    let piece = head.add(index << pageblock_order);
                    self.add(zone, piece, pageblock_order, self.block_type(piece), true);
                }
                break;
            }
        }
        self.block_types[block.index()] = to;
        if let Some(zone) = zone {
            self.move_frames(zone, block, to);
        }
    }

    /// 11.13, asked at each step of a merge.
    fn captured(&mut self, zone: usize, pfn: Pfn, order: Order, ours: Migratetype) -> bool {
        let (rule, Some(capture)) = (self.policy.compaction.capture, &mut self.capture) else { return false };
        let wanted = capture.page.is_none() && capture.zone.index() == zone && capture.order == order;
        let allowed = !matches!(ours, Migratetype::Cma | Migratetype::Isolate)
            && (order >= self.geometry.pageblock_order
                || ours != Migratetype::Movable
                || capture.migratetype == Migratetype::Movable && rule != CompactCapture::SparesMovable);
        if !wanted || !allowed {
            return false;
        }
        capture.page = Some(pfn);
        let alloc_migratetype = capture.migratetype;
        self.prepare(pfn, order);
        if alloc_migratetype != ours && rule == CompactCapture::Traced {
            self.extfrag(pfn, order, order, alloc_migratetype, ours);
        }
        true
    }

    /// 3.7: frees to the buddy lists, since 6.12 cut into blocks.
    pub fn free_large(&mut self, pfn: Pfn, order: Order) {
        let zone = self.zone_of(pfn);
        let whole = if self.policy.splits_large_frees { self.geometry.pageblock_order } else { order };
        let piece = order.min(whole);
        for index in 0..1 << (order - piece) {
            let at = pfn.add(index << piece);
            self.free_block(zone, at, piece, self.block_type(at), false);
        }
    }

    /// 3.10.
    pub fn isolate_free(&mut self, pfn: Pfn) -> u32 {
        let Frame::FreeHead(order) = self.frames[pfn.index()] else { panic!("{pfn:?} is not free") };
        let zone = self.zone_of(pfn);
        if self.block_type(pfn) != Migratetype::Isolate {
            let Zone { marks, boost, .. } = &self.zones[zone];
            let (mark, flags) = match self.policy.compaction.target_mark {
                TargetMark::Low => (marks[1] + boost, AllocFlags::NONE),
                TargetMark::MinBoosted => (marks[0] + boost, AllocFlags::CMA),
                TargetMark::Min => (marks[0], AllocFlags::CMA),
            };
            let mark = mark + (1 << order);
            if !self.watermark_ok(zone, 0, mark, ZoneType::Dma, flags, self.free_pages(zone)) {
                return 0;
            }
        }
        self.take(zone, pfn, order);
        self.fill(pfn, order, Frame::Target(order), Frame::Tail);
        if order + 1 >= self.geometry.pageblock_order {
            let first = self.block_of(pfn);
            for block in first..first + (1 << order.saturating_sub(self.geometry.pageblock_order)) {
                let strict = self.policy.list_types == ListTypes::Strict;
                let id = BlockId(block as u32);
                if self.block_types[block].is_mergeable() && (!strict || self.lies_in(zone, id)) {
                    if strict {
                        self.move_block(zone, id, Migratetype::Movable);
                    }
                    self.block_types[block] = Migratetype::Movable;
                }
            }
        }
        1 << order
    }

    /// 3.11.
    pub fn putback_target(&mut self, pfn: Pfn, order: Order) {
        let zone = self.zone_of(pfn);
        self.free_block(zone, pfn, order, self.block_type(pfn), self.policy.tail_placement);
    }

    /// 1.14.
    pub fn reserve_highatomic(&mut self, zone: usize, pfn: Pfn, order: Order) {
        let block_pages = u64::from(self.geometry.pageblock_pages());
        let percent = self.zones[zone].managed / 100;
        let cap = match self.policy.reserve {
            Reserve::MigrateReserve => return,
            Reserve::HighAtomic => percent + block_pages,
            Reserve::HighAtomicOnePercent if percent < block_pages => return,
            Reserve::HighAtomicOnePercent => percent.next_multiple_of(block_pages),
        };
        if self.zones[zone].reserved_highatomic >= cap || !self.block_type(pfn).is_mergeable() {
            return;
        }
        if order < self.geometry.pageblock_order {
            let block = self.geometry.block_of(pfn);
            if !self.lies_in(zone, block) {
                return;
            }
            self.move_block(zone, block, Migratetype::HighAtomic);
        }
        self.retype(pfn, order, Migratetype::HighAtomic);
        self.zones[zone].reserved_highatomic += block_pages.max(1 << order);
    }

    /// 1.15.
    pub fn unreserve_highatomic(&mut self, request: &Request, force: bool) -> bool {
        if self.policy.reserve == Reserve::MigrateReserve {
            return false;
        }
        let block_pages = u64::from(self.geometry.pageblock_pages());
        for zone in self.zonelist(request) {
            if !force && self.zones[zone].reserved_highatomic <= block_pages {
                continue;
            }
            for order in 0..=self.max_order() {
                let head = self.zones[zone].free[order as usize][Migratetype::HighAtomic.index()].front();
                let Some(&pfn) = head else { continue };
                // Mixed lists: such a page may lie in a block that left the reserve before (3.8).
                if self.block_type(pfn) == Migratetype::HighAtomic {
                    let reserved = &mut self.zones[zone].reserved_highatomic;
                    *reserved -= block_pages.max(1 << order).min(*reserved);
                }
                if order < self.geometry.pageblock_order {
                    self.move_block(zone, self.geometry.block_of(pfn), request.migratetype);
                } else {
                    self.take(zone, pfn, order);
                    self.add(zone, pfn, order, request.migratetype, self.policy.tail_placement);
                }
                self.retype(pfn, order, request.migratetype);
                return true;
            }
        }
        false
    }
}
