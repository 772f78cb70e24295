//! Random operations on an allocator in a small world, each answer held against what must be true.
//!
//! Two oracles: the structural one (no frame handed out twice, aligned, in the request's zones, nothing lost, `check()`
//! passes) holds for every policy; the exact one runs the reference model in lock-step and compares every answer, every
//! event and every free list. Everything follows from a seed, which each failure prints.

mod beyond;
mod ops;
mod oracle;
mod rng;
mod worlds;

use crate::reference::Model;
use pagealloc::policy::Policy;
use pagealloc::*;

pub use rng::Rng;
pub use worlds::{World, worlds};

/// An allocated page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub pfn: Pfn,
    pub order: Order,
}

/// What a run did, as a proof that rare paths were on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub ops: u64,
    pub allocated: u64,
    pub in_bulk: u64,
    pub refused: u64,
    pub fallbacks: u64,
    pub ownership_changes: u64,
    pub boosts: u64,
    pub captured: u64,
    pub isolated: u64,
    pub unreserved: u64,
    /// Pages of CMA's blocks.
    pub of_cma: u64,
}

/// An allocator, what is known about it, and a source of chance.
pub struct Driver {
    pub engine: PageAllocator<Vec<Event>>,
    pub model: Option<Model>,
    pub rng: Rng,
    pub tally: Tally,
    /// Allocated pages, in no order.
    pub live: Vec<Page>,
    /// Whether a frame belongs to a page of `live` or to a migration target.
    pub owned: Vec<bool>,
    pub live_pages: u64,
    pub managed: u64,
    /// Share of memory that allocations aim at now, in 1/256.
    pub target: u64,
    /// Lists beside a CPU's, where there is no model.
    pub beside: Option<CpuId>,
    /// `check()` runs every so many operations.
    pub check_every: u64,
    /// Scratch for what happened last, in words, for failures.
    pub last: String,
}

impl Driver {
    /// An engine under a policy, in lock-step with a model under the same policy if one is given. Another policy for the
    /// model shows whether the difference would be noticed.
    pub fn new(world: &World, policy: Policy, model: Option<Policy>, seed: u64, check_every: u64) -> Driver {
        let engine = PageAllocator::new(&world.machine, world.tuned(policy), Vec::new()).expect("a sound machine");
        let managed = world.machine.zones.iter().flat_map(|zone| &zone.managed).map(|range| u64::from(range.1)).sum();
        let mut driver = Driver {
            model: model.map(|policy| Model::new(&world.machine, world.tuned(policy))),
            owned: vec![false; engine.frames.len() as usize],
            engine,
            rng: Rng::new(seed),
            tally: Tally::default(),
            live: Vec::new(),
            live_pages: 0,
            managed,
            target: 128,
            beside: None,
            check_every: check_every.max(world.check_every),
            last: String::from("boot"),
        };
        if driver.model.is_none() {
            driver.beside = Some(driver.engine.add_cpu_beside(NodeId(0), CpuId(0)));
        }
        driver.engine.observer.clear();
        driver.verify();
        driver.fill(world.filled);
        driver
    }

    /// Allocates the largest pages until this share of memory, in 1/256, is in use.
    fn fill(&mut self, share: u64) {
        let request = Request::new(self.engine.geometry.max_order, Gfp::HIGHUSER_MOVABLE, CpuId(0));
        while self.live_pages * 256 < self.managed * share {
            self.last = format!("filling with {request:?}");
            let page = self.engine.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS);
            self.agree("page", page, |model| model.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS));
            assert!(page.is_some(), "memory ran out while filling");
            self.received(&request, page);
        }
    }

    /// Runs this many operations, then frees everything and looks for what is missing. `done` counts along.
    pub fn run(&mut self, ops: u64, done: &mut u64) -> Tally {
        for _ in 0..ops {
            *done = self.tally.ops;
            self.step();
            self.tally.ops += 1;
            if self.tally.ops.is_multiple_of(self.check_every) {
                self.verify();
            }
        }
        self.wind_down();
        self.tally
    }

    fn wind_down(&mut self) {
        while let Some(page) = self.live.pop() {
            self.release(page, CpuId(0));
        }
        self.drain_all(None);
        self.end_isolation();
        self.verify();
        let free: u64 = (0..self.engine.nr_zones()).map(|zone| self.engine.free_pages(ZoneId(zone as u8))).sum();
        assert_eq!(free, self.managed, "pages were lost");
    }
}
