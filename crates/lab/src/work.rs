//! Work: the time that it takes, and on which CPU.

use crate::env::VirtualEnv;
use crate::turns::Job;
use mm::{Env, LruKind, Nanos, TaskContext, TaskFlags, Work};
use pagealloc::CpuId;
use std::cell::Cell;
use std::future::Future;

impl VirtualEnv {
    /// Works for a time: on a CPU, if tasks have to share them.
    pub async fn run(&self, nanos: Nanos) {
        let mut left = self.elapsed(nanos);
        while left > 0 {
            left = self.run_alone(left);
            if left == 0 {
                return;
            }
            self.occupy().await;
            left += self.elapsed(self.switch_work());
            let chunk = self.until_tick().min(left);
            if !self.is_alone_until(self.now() + chunk) {
                self.works(chunk).await;
                self.spend();
                left -= chunk;
            }
        }
    }

    /// Works as long as nothing can happen meanwhile: the clock goes on without the detour through the queue. What is left.
    fn run_alone(&self, mut left: Nanos) -> Nanos {
        let Some(cpus) = &self.cpus else { return left };
        if self.starting.get() || !self.nobody_is_ready() {
            return left;
        }
        let (mut cpus, task) = (cpus.borrow_mut(), self.current.get());
        while left > 0 {
            let Some(until_tick) = cpus.seated(task, self.now()) else { break };
            let chunk = until_tick.min(left);
            let at = self.now() + chunk;
            if at >= self.next_due() {
                break;
            }
            self.clock.set(at);
            left -= chunk;
            if let Some(next) = cpus.spend(task, at) {
                self.ready(next);
                break;
            }
        }
        left
    }

    /// Whether nothing can happen before or at this time but what the current task does.
    #[inline]
    fn is_alone_until(&self, at: Nanos) -> bool {
        at < self.next_due() && self.cpus.is_some() && !self.starting.get() && self.nobody_is_ready()
    }

    /// The machinery's work for a task.
    pub(crate) fn spend_time(&self, task: &TaskContext, work: Work) -> impl Future<Output = ()> {
        let cost = self.cost(task, work);
        let (job, cpu) = (Job::of(task, work), task.cpu);
        async move {
            if cost == 0 {
                return;
            }
            match self.free_lane() {
                Some(lane) => drop(self.sleep(self.work_in(lane, cost, job, cpu)).await),
                None => self.run(cost).await,
            }
        }
    }

    fn cost(&self, task: &TaskContext, work: Work) -> Nanos {
        let kswapd = task.flags.contains(TaskFlags::KSWAPD);
        let shrink = |kind| match (kswapd, kind) {
            (false, LruKind::File) => self.speeds.shrink,
            (false, LruKind::Anon) => self.speeds.shrink_anon,
            (true, LruKind::File) => self.speeds.shrink_kswapd,
            (true, LruKind::Anon) => self.speeds.shrink_kswapd_anon,
        };
        let shrink_folio = if kswapd { self.speeds.shrink_kswapd_folio } else { self.speeds.shrink_folio };
        let per_page = |pages: u32, ns: u64| u64::from(pages) * ns;
        match work {
            Work::Shrink { scanned, kind: LruKind::Anon, .. } => per_page(scanned, shrink(LruKind::Anon)),
            Work::Shrink { scanned, kind: LruKind::File, folios, .. } => {
                per_page(scanned, shrink(LruKind::File)) + u64::from(folios) * shrink_folio
            }
            Work::Deactivate(pages) => per_page(pages, shrink(LruKind::File) / 4),
            Work::WalkPageTables(entries) => per_page(entries, self.speeds.scan_migrate) / CHEAPER_IN_A_WALK,
            Work::ShrinkSlab(objects) => per_page(objects, self.speeds.slab),
            Work::ScanMigrate(pages) => per_page(pages, self.speeds.scan_migrate),
            Work::ScanFree(pages) => per_page(pages, self.speeds.scan_free),
            // Half each: 303 undisturbed batches in `m512-d0-s1`, `-d0-s2` and `-d1-s1` took 12 to 14 us a page before their first free,
            // and 13 behind it.
            Work::Unmap(pages) => per_page(pages, self.speeds.migrate / 2),
            Work::Migrate(pages) => per_page(pages, self.speeds.migrate.div_ceil(2)),
            Work::FailedRequests(requests) => per_page(requests, self.speeds.failed_request),
            Work::Resched => self.futile_time().max(RESCHED_NS),
        }
    }

    /// The CPU that is free first (the first of several), where work alone is known.
    fn free_lane(&self) -> Option<&Cell<Nanos>> {
        self.lanes.iter().min_by_key(|lane| lane.get())
    }

    /// Time until a task's work that costs this much is done there, and the task has a CPU for more.
    fn work_in(&self, lane: &Cell<Nanos>, cost: Nanos, job: Job, cpu: CpuId) -> Nanos {
        let waited = lane.get().saturating_sub(self.now());
        let begins = self.now() + waited;
        let done = begins + self.demand.work(begins, cost, job);
        lane.set(done);
        let took = done - self.now();
        let Some(turns) = self.speeds.turns.of(job) else { return took };
        let away = self.turns.borrow_mut().away((self.current.get(), job), turns, cost, waited, &self.chance);
        if away > 0 {
            self.leavings.loses(cpu, job);
        }
        took + self.demand.wait(done, away)
    }
}

/// An entry of a page table costs a walk so much less than a page costs compaction that looks at it: in `m512-d0-s1` and `m512-d1-s1` the steps
/// that a walk of all mapped memory is in took 7.3 ms (41,000 entries) and 7.1 ms (50,000) at most, 0.45 and 0.32 of it an entry.
const CHEAPER_IN_A_WALK: Nanos = 3;

/// A turn of the scheduler: what keeps a retry loop from standing still in virtual time.
const RESCHED_NS: Nanos = 1_000;
