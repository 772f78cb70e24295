//! The run: starts everything, lets virtual time pass until the last task has ended, and says what came out.

use crate::boot::boot;
use crate::check::{CheckAll, Flight};
use crate::follow::Follow;
use crate::sim::{Birth, Sim};
use crate::spec::MachineSpec;
use crate::state::slab::Cache;
use crate::system::Task;
use crate::zone_scans::scans_by_type;
use lab::outcome::{Outcome, Sample};
use lab::timeline::{Sampling, Timeline};
use lab::{Executor, Livelock, sample, start_daemons, zones};
use mm::{Env, Nanos};
use pagealloc::{Counter, MachineError, Policy, VmStat};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;
use workload::{RunReport, Workload, drive};

/// What a simulation leaves.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The result, with a sample for each virtual second.
    pub outcome: Outcome,
    /// What became of the tasks.
    pub report: RunReport,
    /// Digest of the event stream.
    pub digest: u64,
    /// Length of the run in virtual time.
    pub virtual_seconds: f64,
    /// How long it took to simulate.
    pub wall_seconds: f64,
    /// Share of the run that each CPU was in use, 0 to 1.
    pub cpu_use: Vec<f64>,
    /// Objects in use at the end by slab cache, as /proc/slabinfo names them.
    pub slabinfo: Vec<(&'static str, u64)>,
    /// What the run hung in: it was broken off there, and everything else is as it was then.
    pub hang: Option<Hang>,
    /// The run over time, if that was asked for.
    pub timeline: Option<Timeline>,
}

/// A task that goes round for ever, and with it the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hang {
    /// What the task runs: a role of the workload.
    pub role: String,
    /// The loop.
    pub livelock: Livelock,
    /// When it was certain.
    pub at: Nanos,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hang { role, livelock, at } = self;
        write!(
            f,
            "livelock: {role} (process {}) is stuck {:.3} s into the run: {livelock}",
            livelock.pid,
            *at as f64 / 1e9
        )
    }
}

/// Why a simulation can't run, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// There is no such machine.
    #[error("there is no such machine: {0}")]
    Machine(#[from] MachineError),
    /// Less memory than a kernel needs, MiB.
    #[error("a machine of {0} MiB is too small: give it at least {min} MiB", min = SMALLEST >> 20)]
    TooSmall(u64),
    /// An invariant of the model does not hold: a bug of fraglab's.
    #[error("an invariant of the model broke {at_ms} ms into the run: {what}; please report it with the scenario")]
    Broken {
        /// Virtual milliseconds since the start.
        at_ms: u64,
        /// The first broken invariant.
        what: String,
    },
    /// Tasks are left, and nobody has woken them for so long that nobody ever will: a bug of fraglab's.
    #[error("{tasks} tasks wait for each other {at_ms} ms into the run; please report it with the scenario")]
    Stuck {
        /// Virtual milliseconds since the start.
        at_ms: u64,
        /// Tasks that are left.
        tasks: u32,
    },
}

/// Runs workloads on simulated machines.
pub struct Simulation;

/// Smallest machine: fewer blocks than this hold no kernel.
const SMALLEST: u64 = 64 << 20;
/// Interval of samples.
const SECOND: Nanos = 1_000_000_000;
/// Tasks that have all waited for others for so long will not be woken: no daemon sleeps longer.
const HOPELESS: Nanos = 600 * SECOND;

impl Simulation {
    /// Whether there can be such a machine, as far as its size tells: what takes no run to find out.
    ///
    /// # Errors
    /// [`SimulationError::TooSmall`], [`MachineError::TooLarge`].
    pub fn can_be(machine: &MachineSpec) -> Result<(), SimulationError> {
        if machine.memory < SMALLEST {
            return Err(SimulationError::TooSmall(machine.memory >> 20));
        }
        // A frame's number has 32 bits; the allocator would be asked for what is left of a larger one.
        if machine.memory >> machine.geometry.page_shift >= u64::from(u32::MAX) {
            return Err(MachineError::TooLarge.into());
        }
        Ok(())
    }

    /// Runs a workload to its end. `seed` decides what the workload leaves open.
    ///
    /// # Errors
    /// When the machine can't be built, or when the run gets stuck.
    pub fn run(
        workload: &dyn Workload,
        machine: &MachineSpec,
        policy: &Policy,
        seed: u64,
    ) -> Result<Simulated, SimulationError> {
        Run { workload, check: false, sampling: None, told: &|_| ControlFlow::Continue(()) }.run(machine, policy, seed)
    }

    /// Runs a workload, and follows it over time if `sampling` says how. `told` hears each sample as it is taken, and may end the run:
    /// tasks end at their next operation then, as at the time limit. What happens does not change by being looked at.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn followed(
        workload: &dyn Workload,
        machine: &MachineSpec,
        policy: &Policy,
        seed: u64,
        sampling: Option<Sampling>,
        told: &dyn Fn(&Sample) -> ControlFlow<()>,
    ) -> Result<Simulated, SimulationError> {
        Run { workload, check: false, sampling, told }.run(machine, policy, seed)
    }

    /// Runs a workload to its end, with all invariants checked at each sample and at the end.
    ///
    /// # Errors
    /// When the machine can't be built, or when an invariant breaks.
    pub fn run_checked(
        workload: &dyn Workload,
        machine: &MachineSpec,
        policy: &Policy,
        seed: u64,
    ) -> Result<Simulated, SimulationError> {
        Run { workload, check: true, sampling: None, told: &|_| ControlFlow::Continue(()) }.run(machine, policy, seed)
    }
}

struct Run<'w> {
    workload: &'w dyn Workload,
    check: bool,
    sampling: Option<Sampling>,
    told: &'w dyn Fn(&Sample) -> ControlFlow<()>,
}

impl Run<'_> {
    fn run(&self, machine: &MachineSpec, policy: &Policy, seed: u64) -> Result<Simulated, SimulationError> {
        Simulation::can_be(machine)?;
        let started = Instant::now();
        let roots = self.workload.roots();
        let sim = boot(machine, policy, seed, &roots)?;
        for root in &roots {
            let pid = sim.new_root();
            sim.births.borrow_mut().push_back(Birth { pid, spawn: root.spawn, quota: Some(root.quota) });
        }
        let at_boot = sim.mm.state.borrow().alloc.vmstat.clone();
        let series = RefCell::new(Vec::new());
        let follow = Follow::new(&sim, self.sampling);
        let hang = self.run_to_the_end(&sim, &at_boot, &series, &follow)?;
        if series.borrow().last().is_none_or(|last| last.ts < sim.env().now()) {
            // The window ends with the run, not with its last whole second: rates are over all of it.
            self.sample_now(&sim, &at_boot, &series);
        }
        let mut report = RunReport::new(self.workload, &roots);
        report.tasks = sim.reports.take();
        report.killed = sim.mm.state.borrow().alloc.vmstat.get(Counter::OomKill);
        report.elapsed = sim.mm.env.now();
        report.hang = hang.as_ref().map(Hang::to_string);
        let timeline = follow.finish(&sim);
        Ok(Simulated { hang, timeline, ..finish(&sim, &at_boot, series.take(), report, started) })
    }

    fn run_to_the_end(
        &self,
        sim: &Sim,
        at_boot: &VmStat,
        series: &RefCell<Vec<Sample>>,
        follow: &Follow,
    ) -> Result<Option<Hang>, SimulationError> {
        let env = sim.env();
        let broken = RefCell::new(None);
        let mut executor = Executor::default();
        start_kernel_threads(&mut executor, sim);
        executor.spawn_daemon(env, self.sample_forever(sim, at_boot, series, &broken));
        let mut hope = Hope::default();
        while sim.alive.get() > 0 {
            let birth = sim.births.borrow_mut().pop_front();
            if let Some(birth) = birth {
                executor.spawn(env, self.live(sim, birth));
                continue;
            }
            if executor.run_next(env) {
                continue;
            }
            if let Some(livelock) = executor.livelock(env) {
                return Ok(Some(self.hang(sim, livelock)));
            }
            if hope.is_over(sim, &executor) {
                return Err(SimulationError::Stuck { at_ms: env.now() / 1_000_000, tasks: sim.alive.get() });
            }
            self.between(sim, &broken, follow)?;
        }
        let state = &*sim.mm.state.borrow();
        let what = if self.check { state.check_all(Flight::None) } else { Ok(()) };
        what.map_err(|what| SimulationError::Broken { at_ms: env.now() / 1_000_000, what }).map(|()| None)
    }

    fn hang(&self, sim: &Sim, livelock: Livelock) -> Hang {
        let role = sim.roles.borrow().get(&livelock.pid).copied();
        let named = role.and_then(|role| self.workload.roles().get(usize::from(role)).map(|name| (*name).to_owned()));
        Hang { role: named.unwrap_or_else(|| "a task".to_owned()), livelock, at: sim.env().now() }
    }

    /// Nothing is ready at this moment: on to the next.
    fn between(&self, sim: &Sim, broken: &RefCell<Option<String>>, follow: &Follow) -> Result<(), SimulationError> {
        let env = sim.env();
        let at_ms = env.now() / 1_000_000;
        if let Some(what) = broken.take() {
            return Err(SimulationError::Broken { at_ms, what });
        }
        if env.flushers_woken.get() > 0 {
            sim.wake_flusher();
        }
        sim.settle();
        follow.until(sim, env.next_due());
        env.advance().into_iter().for_each(|pfn| sim.end_write(pfn));
        Ok(())
    }

    /// A process from its birth to its end.
    async fn live(&self, sim: &Sim, Birth { pid, spawn, quota }: Birth) {
        sim.roles.borrow_mut().insert(pid, spawn.role);
        let ready = if quota.is_some() { sim.start_root(pid).await } else { sim.start_child(pid).await };
        sim.env().becomes_process();
        let mut task = Task::new(sim, pid);
        let report = match ready {
            Ok(()) => drive(&mut task, &spawn, self.workload.program(&spawn), quota).await,
            // No memory even for a process.
            Err(_) => workload::TaskReport::new(&spawn),
        };
        if quota.is_some() && report.digest.is_none() {
            // It will not do its share any more: it was killed, or never began.
            sim.root_is_done();
        }
        // Who is killed tells nobody anything, as on a real kernel.
        if !task.is_killed() {
            sim.reports.borrow_mut().push(report);
        }
        sim.exit(pid).await;
        sim.roles.borrow_mut().remove(&pid);
    }

    async fn sample_forever(
        &self,
        sim: &Sim,
        at_boot: &VmStat,
        series: &RefCell<Vec<Sample>>,
        broken: &RefCell<Option<String>>,
    ) {
        loop {
            self.sample_now(sim, at_boot, series);
            if self.check
                && let Err(what) = sim.mm.state.borrow().check_all(Flight::Allowed)
            {
                broken.replace(Some(what));
            }
            sim.env().sleep(SECOND).await;
        }
    }

    fn sample_now(&self, sim: &Sim, at_boot: &VmStat, series: &RefCell<Vec<Sample>>) {
        let alloc = &sim.mm.state.borrow().alloc;
        let sample = sample(alloc, sim.env().now(), counters(&alloc.vmstat, at_boot));
        if (self.told)(&sample).is_break() {
            sim.stop();
        }
        series.borrow_mut().push(sample);
    }
}

/// Starts what runs on the machine beside its processes.
fn start_kernel_threads<'s>(executor: &mut Executor<'s>, sim: &'s Sim) {
    let env = sim.env();
    start_daemons(executor, &sim.mm, 0);
    executor.spawn_daemon(env, sim.flush_forever());
    executor.spawn_daemon(env, sim.commit_forever());
    executor.spawn_daemon(env, sim.log_forever());
    executor.spawn_daemon(env, sim.collapse_forever());
    for reader in 0..sim.trace_readers() {
        executor.spawn_daemon(env, sim.read_trace_forever(reader));
    }
    if sim.mm.state.borrow().owner.xfs.is_some() {
        executor.spawn_daemon(env, sim.write_metadata_forever());
        executor.spawn_daemon(env, sim.reclaim_inodes_forever());
        executor.spawn_daemon(env, sim.log_inodes_forever());
        executor.spawn_daemon(env, sim.end_writes_forever());
    }
}

/// Whether something may still happen in a run, looked at now and then.
#[derive(Default)]
struct Hope {
    next_look: Nanos,
    /// What tasks had done by the last look, if all of them waited for others then.
    done: Option<u64>,
    /// When one of them was last seen to do something, or to be about to.
    alive_at: Nanos,
}

impl Hope {
    fn is_over(&mut self, sim: &Sim, executor: &Executor) -> bool {
        let now = sim.env().now();
        if now < self.next_look {
            return false;
        }
        self.next_look = now + HOPELESS / 10;
        let done = executor.all_wait(sim.env());
        if std::mem::replace(&mut self.done, done) != done || done.is_none() {
            self.alive_at = now;
        }
        now - self.alive_at >= HOPELESS
    }
}

/// Counters since boot, by name.
fn counters(vmstat: &VmStat, at_boot: &VmStat) -> BTreeMap<String, u64> {
    vmstat.iter().map(|(counter, value)| (counter.name().to_owned(), value - at_boot.get(counter))).collect()
}

fn finish(sim: &Sim, at_boot: &VmStat, series: Vec<Sample>, report: RunReport, started: Instant) -> Simulated {
    let state = sim.mm.state.borrow();
    let requests = sim.requests.take();
    let elapsed = sim.mm.env.now();
    let busy: u64 = sim.mm.env.cpu_busy().iter().sum();
    let share = |busy: Nanos| busy as f64 / elapsed.max(1) as f64;
    let mut counters = counters(&state.alloc.vmstat, at_boot);
    counters.extend(scans_by_type(&state));
    let outcome = Outcome {
        counters,
        extfrag: state.alloc.observer.extfrag.clone(),
        failures: Some(state.alloc.observer.failures.clone()),
        cpu_ns: Some((sim.user.get(), busy.saturating_sub(sim.user.get()))),
        extfrag_by_node: lab::extfrag_by_node(&state.alloc),
        fragment_stalls: state.alloc.observer.fragment_stalls.clone(),
        untraced: false,
        zones: zones(&state.alloc),
        slow_requests: requests.slow,
        fast_requests: requests.fast,
        failed_requests: requests.failed,
        series,
    };
    Simulated {
        outcome,
        report,
        digest: state.alloc.observer.digest(),
        virtual_seconds: elapsed as f64 / SECOND as f64,
        wall_seconds: started.elapsed().as_secs_f64(),
        cpu_use: sim.mm.env.cpu_busy().into_iter().map(share).collect(),
        slabinfo: Cache::ALL.map(|cache| (cache.name(), state.owner.slabs.objects(cache))).to_vec(),
        hang: None,
        timeline: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small_machine;
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;

    /// Nobody to run: what is left waits for ever.
    struct Nothing;

    impl Workload for Nothing {
        fn roots(&self) -> Vec<workload::Root> {
            Vec::new()
        }

        fn program(&self, _: &workload::Spawn) -> workload::Program {
            Box::new(std::iter::empty())
        }

        fn roles(&self) -> Vec<&str> {
            Vec::new()
        }

        fn labels(&self) -> Vec<&str> {
            Vec::new()
        }
    }

    #[test]
    fn a_task_that_nobody_wakes_ends_the_run() {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        sim.alive.set(1);
        let run = Run { workload: &Nothing, check: false, sampling: None, told: &|_| ControlFlow::Continue(()) };
        let at_boot = sim.mm.state.borrow().alloc.vmstat.clone();
        let ended = run.run_to_the_end(&sim, &at_boot, &RefCell::default(), &Follow::new(&sim, None));
        assert!(matches!(ended, Err(SimulationError::Stuck { tasks: 1, .. })), "{ended:?}");
        assert!((HOPELESS..2 * HOPELESS).contains(&sim.env().now()), "{}", sim.env().now());
    }
}
