//! The operations, applied to the engine and, in lock-step, to the model.

use super::{Driver, Page};
use pagealloc::policy::{CompactCapture, FairZones, NoFragment, WatermarkReserve};
use pagealloc::*;

const MASKS: &[Gfp] = &[
    Gfp::KERNEL,
    Gfp::KERNEL,
    Gfp(Gfp::KERNEL.0 | Gfp::RECLAIMABLE.0),
    Gfp(Gfp::NOFS.0 | Gfp::RECLAIMABLE.0),
    Gfp::HIGHUSER_MOVABLE,
    Gfp::HIGHUSER_MOVABLE,
    Gfp::HIGHUSER_MOVABLE,
    Gfp::HIGHUSER,
    Gfp::ATOMIC,
    Gfp::NOWAIT,
    Gfp::TRANSHUGE_LIGHT,
    Gfp(Gfp::KERNEL.0 | Gfp::DMA32.0),
    Gfp(Gfp::KERNEL.0 | Gfp::THISNODE.0),
    Gfp(Gfp::HIGHUSER_MOVABLE.0 | Gfp::THISNODE.0),
];

impl Driver {
    /// One operation, chosen by weight.
    pub fn step(&mut self) {
        if self.rng.one_in(512) {
            self.target = self.rng.below(257);
        }
        if self.rng.one_in(128) {
            return self.set_type();
        }
        if self.model.is_none() && self.rng.one_in(32) {
            return self.go_beyond_the_model();
        }
        let wants_more = self.live_pages * 256 < self.managed * self.target;
        match self.rng.below(64) {
            0..44 if wants_more => self.allocate(),
            0..8 => self.allocate(),
            8..44 => self.free_one(),
            44..50 => self.free_one(),
            50..54 => self.change_lru(),
            54..57 => self.isolate(),
            57 => self.unreserve(),
            58 => self.lower_boost(),
            59 => self.set_switches(),
            60 => self.drain(),
            61 => self.decay(),
            62 => self.capture(),
            _ => self.split_or_reset(),
        }
    }

    fn cpu(&mut self) -> CpuId {
        if let Some(beside) = self.beside
            && self.rng.one_in(8)
        {
            return beside;
        }
        CpuId(self.rng.below(self.engine.nr_cpus() as u64) as u16)
    }

    /// A block that some zone has.
    pub fn block(&mut self) -> BlockId {
        let zone = self.zone();
        let ZoneInfo { start, end, .. } = self.engine.zone_info(zone);
        let pfn = start.0 + self.rng.below((end.0 - start.0).into()) as u32;
        self.engine.geometry.block_of(Pfn(pfn))
    }

    fn zone(&mut self) -> ZoneId {
        ZoneId(self.rng.below(self.engine.nr_zones() as u64) as u8)
    }

    fn request(&mut self) -> Request {
        let max_order = u64::from(self.engine.geometry.max_order);
        let order = if self.rng.one_in(3) { self.rng.below(max_order + 1) } else { self.rng.below(2) } as Order;
        let gfp = *self.rng.pick(MASKS);
        let mut request = Request::new(order, gfp, self.cpu());
        request.node = NodeId(self.rng.below(self.engine.nr_nodes() as u64) as u8);
        if self.rng.one_in(16) {
            request.nodemask = NodeMask(1 << self.rng.below(self.engine.nr_nodes() as u64));
        }
        request
    }

    fn allocate(&mut self) {
        if self.rng.one_in(16) {
            return self.allocate_in_bulk();
        }
        let mut request = self.request();
        if self.rng.one_in(4) {
            let flags = self.flags(&mut request);
            self.last = format!("{request:?} with {flags:?}");
            let page = self.engine.get_page_from_freelist(&request, flags);
            self.agree("page", page, |model| model.get_page_from_freelist(&request, flags));
            self.received(&request, page);
        } else {
            if self.rng.one_in(16) {
                request.gfp |= Gfp::WRITE;
            }
            self.last = format!("fast {request:?}");
            let page = self.engine.alloc_fast(&request);
            self.agree("page", page, |model| model.alloc_fast(&request));
            self.received(&request, page);
        }
        let wakeups = self.engine.take_boost_wakeups();
        self.tally.boosts += u64::from(wakeups != 0);
        self.agree("zones to wake", wakeups, |model| std::mem::take(&mut model.wakeups));
    }

    /// Single pages by one request; often more than a zone can spare, sometimes one or none.
    fn allocate_in_bulk(&mut self) {
        let request = Request { order: 0, ..self.request() };
        let count = if self.rng.one_in(8) { self.rng.below(512) } else { self.rng.below(24) };
        self.last = format!("{count} pages for {request:?}");
        let mut pages = Vec::new();
        let taken = self.engine.alloc_bulk(&request, count as u32, |pfn| pages.push(pfn));
        assert_eq!(pages.len(), taken as usize, "pages handed over by {}", self.last);
        let of_requests = |event: &Event| matches!(event, Event::MmPageAlloc { .. });
        assert!(!self.engine.observer.iter().any(of_requests), "an event for a page of {}", self.last);
        self.agree("pages", pages.clone(), |model| model.alloc_bulk(&request, count));
        let wakeups = self.engine.take_boost_wakeups();
        assert_eq!(wakeups, 0, "a kswapd would be woken by {}", self.last);
        self.tally.in_bulk += u64::from(taken);
        for pfn in pages {
            self.received(&request, Some(pfn));
        }
    }

    /// Flags that the era's slow path could pass, and more.
    fn flags(&mut self, request: &mut Request) -> AllocFlags {
        use AllocFlags as F;
        let policy = &self.engine.policy;
        let modern = policy.watermark_reserve == WatermarkReserve::MinReserve;
        let spreads = policy.nofragment != NoFragment::Never || policy.defrag.is_some();
        let (fair, stalls) = (policy.fair_zones == FairZones::LocalNode, policy.fragment_stall.is_some());
        let marks = [F::WMARK_MIN, F::WMARK_MIN, F::WMARK_LOW, F::WMARK_HIGH, F::NO_WATERMARKS];
        let mut flags = *self.rng.pick(&marks);
        for (flag, chance) in [(F::KSWAPD, 2), (F::MIN_RESERVE, 3), (F::NON_BLOCK, 6), (F::OOM, 16)] {
            if self.rng.one_in(chance) {
                flags |= flag;
            }
        }
        if flags.contains(F::NON_BLOCK) && !modern {
            request.order = request.order.min(self.engine.geometry.pageblock_order - 1);
        }
        if request.migratetype == Migratetype::Movable {
            flags |= F::CMA;
        }
        if modern && flags.contains(F::NON_BLOCK | F::MIN_RESERVE) && request.order > 0 {
            flags |= F::HIGHATOMIC;
        }
        if spreads && self.rng.one_in(2) {
            flags |= F::NOFRAGMENT;
        }
        if fair && self.rng.one_in(2) {
            flags |= F::FAIR;
        }
        if stalls && self.model.is_none() && self.rng.one_in(2) {
            flags |= F::FRAGMENT_STALL;
        }
        flags
    }

    fn free_one(&mut self) {
        if self.live.is_empty() {
            return self.allocate();
        }
        let index = self.rng.below(self.live.len() as u64) as usize;
        let page = self.live.swap_remove(index);
        let cpu = self.cpu();
        self.release(page, cpu);
    }

    /// Frees a page that is in no list of ours any more.
    pub fn release(&mut self, page: Page, cpu: CpuId) {
        self.last = format!("free {page:?} on {cpu:?}");
        self.disown(page);
        self.engine.set_on_lru(page.pfn, false);
        self.engine.free(page.pfn, cpu);
        self.agree("free", (), |model| {
            model.set_on_lru(page.pfn, false);
            model.free(page.pfn, cpu);
        });
    }

    fn change_lru(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let (page, on) = (*self.rng.pick(&self.live), !self.rng.one_in(3));
        self.last = format!("LRU {on} for {page:?}");
        self.engine.set_on_lru(page.pfn, on);
        self.agree("LRU", (), |model| model.set_on_lru(page.pfn, on));
    }

    /// Takes a free block as a migration target, then uses a part of it and puts back the rest.
    fn isolate(&mut self) {
        let frames = u64::from(self.engine.frames.len());
        let start = self.rng.below(frames) as u32;
        let free = (start..frames as u32).map(Pfn).find(|&pfn| self.engine.frames.state(pfn).free_order().is_some());
        let Some(pfn) = free else { return };
        let order = self.engine.frames.order(pfn);
        self.last = format!("isolate {pfn:?} of order {order}");
        let pages = self.engine.isolate_free(pfn);
        self.agree("pages isolated", pages, |model| model.isolate_free(pfn));
        if pages == 0 {
            return;
        }
        assert_eq!(pages, 1 << order);
        self.tally.isolated += 1;
        let used = self.rng.below(u64::from(order) + 1) as Order;
        let mut rest = Vec::new();
        self.engine.split_target(pfn, order, used, &mut |pfn, order| rest.push((pfn, order)));
        let halves: Vec<_> = (used..order).rev().map(|half| (pfn.add(1 << half), half)).collect();
        assert_eq!(rest, halves, "pieces of a target");
        if self.rng.one_in(2) {
            self.engine.use_target(pfn, used);
            self.agree("use", (), |model| model.prepare(pfn, used));
            self.own(Page { pfn, order: used });
        } else {
            rest.push((pfn, used));
        }
        for (pfn, order) in rest {
            self.last = format!("put {pfn:?} of order {order} back");
            self.engine.putback_target(pfn, order);
            self.agree("putback", (), |model| model.putback_target(pfn, order));
        }
    }

    fn unreserve(&mut self) {
        let (request, force) = (self.request(), self.rng.one_in(2));
        self.last = format!("unreserve({force}) for {request:?}");
        let moved = self.engine.unreserve_highatomic(&request, force);
        self.tally.unreserved += u64::from(moved);
        self.agree("unreserve", moved, |model| model.unreserve_highatomic(&request, force));
    }

    fn lower_boost(&mut self) {
        let zone = self.zone();
        let by = self.rng.below(self.engine.boost(zone) + 1);
        self.last = format!("lower the boost of {zone:?} by {by}");
        self.engine.reduce_boost(zone, by);
        self.agree("boost", (), |model| model.zones[zone.index()].boost -= by);
    }

    fn set_switches(&mut self) {
        let (zone, node) = (self.zone(), NodeId(self.rng.below(self.engine.nr_nodes() as u64) as u8));
        let (active, awake, limited) = (self.rng.one_in(3), self.rng.one_in(3), self.rng.one_in(4));
        self.last = format!("{zone:?} reclaimed {active}, {node:?} kswapd {awake}, dirty {limited}");
        self.engine.set_reclaim_active(zone, active);
        self.engine.set_kswapd_awake(node, awake);
        self.engine.set_dirty_limited(node, limited);
        self.agree("switches", (), |model| {
            model.zones[zone.index()].reclaim_active = active;
            model.kswapd_awake[node.index()] = awake;
            model.dirty_limited[node.index()] = limited;
        });
    }

    /// A block is given a type from outside, CMA among them. Those of the HighAtomic reserve are the allocator's to give and to take.
    fn set_type(&mut self) {
        const TYPES: [Migratetype; 4] =
            [Migratetype::Unmovable, Migratetype::Movable, Migratetype::Reclaimable, Migratetype::Cma];
        let (block, migratetype) = (self.block(), *self.rng.pick(&TYPES));
        if self.engine.block_type(block) == Migratetype::HighAtomic {
            return;
        }
        self.last = format!("{block:?} becomes {migratetype:?}");
        self.engine.set_block_type(block, migratetype);
        self.agree("type", (), |model| model.set_block_type(block, migratetype));
    }

    fn drain(&mut self) {
        let zone = if self.rng.one_in(2) { Some(self.zone()) } else { None };
        if self.rng.one_in(2) {
            return self.drain_all(zone);
        }
        let cpu = self.cpu();
        self.last = format!("drain {cpu:?} of {zone:?}");
        self.engine.drain_cpu(cpu, zone);
        self.agree("drain", (), |model| model.drain_cpu(cpu.index(), zone));
    }

    pub fn drain_all(&mut self, zone: Option<ZoneId>) {
        self.last = format!("drain all of {zone:?}");
        self.engine.drain_all_pages(zone);
        let cpus = self.engine.nr_cpus();
        self.agree("drain", (), |model| (0..cpus).for_each(|cpu| model.drain_cpu(cpu, zone)));
    }

    /// The model knows no expiry of remote lists (5.11), so lock-step leaves decay out on several nodes.
    fn decay(&mut self) {
        if self.model.is_some() && self.engine.nr_nodes() > 1 {
            return;
        }
        let cpu = self.cpu();
        self.last = format!("decay of {cpu:?}");
        self.engine.pcp_decay(cpu);
        self.agree("decay", (), |model| model.pcp_decay(cpu.index()));
    }

    /// Direct compaction's capture around some frees and a drain.
    fn capture(&mut self) {
        if self.engine.policy.compaction.capture == CompactCapture::Never {
            return;
        }
        let migratetype = *self.rng.pick(&Migratetype::MERGEABLE);
        let order = 1 + self.rng.below(self.engine.geometry.max_order.into()) as Order;
        let capture = Capture { zone: self.zone(), order, migratetype, page: None };
        self.last = format!("{capture:?}");
        self.engine.begin_capture(capture);
        self.agree("capture begins", (), |model| model.capture = Some(capture));
        let cpu = self.cpu();
        for _ in 0..self.rng.below(24).min(self.live.len() as u64) {
            let index = self.rng.below(self.live.len() as u64) as usize;
            let page = self.live.swap_remove(index);
            self.release(page, cpu);
        }
        self.last = format!("drain {cpu:?} while capturing");
        self.engine.drain_cpu(cpu, None);
        self.agree("drain", (), |model| model.drain_cpu(cpu.index(), None));
        self.last = String::from("capture ends");
        let page = self.engine.end_capture();
        self.agree("captured page", page, |model| model.capture.take().and_then(|capture| capture.page));
        if let Some(pfn) = page {
            self.tally.captured += 1;
            self.own(Page { pfn, order });
        }
    }

    fn split_or_reset(&mut self) {
        if self.rng.one_in(4) {
            let request = self.request();
            self.last = format!("reset of fair batches for {request:?}");
            self.engine.reset_fair_batches(&request);
            return self.agree("reset", (), |model| model.reset_fair_batches(&request));
        }
        let Some(index) = self.live.iter().position(|page| page.order > 0) else { return };
        let page = self.live.swap_remove(index);
        self.last = format!("split {page:?}");
        self.disown(page);
        self.engine.set_on_lru(page.pfn, false);
        self.engine.split_allocated(page.pfn);
        self.agree("split", (), |model| {
            model.set_on_lru(page.pfn, false);
            model.split_allocated(page.pfn);
        });
        for index in 0..1 << page.order {
            self.own(Page { pfn: page.pfn.add(index), order: 0 });
        }
    }
}
