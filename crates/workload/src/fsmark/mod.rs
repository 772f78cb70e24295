//! `fsmark`: workers that create empty files, each in a directory of its own, loop after loop.
//!
//! fs_mark 3.3 as the discussion of compaction for `GFP_NOFS` requests used it in October 2016. Each loop forks its workers anew; a
//! worker stays in a directory for as many files as it made in 180 seconds there, then goes on to the next.

use crate::drive::Program;
use crate::kind::Kind;
use crate::rounds::{Script, program, quota};
use crate::{
    Access, Better, FileId, Machine, Measure, Op, Random, RegionId, Root, RunReport, Scale, Spawn, TaskReport, Workload,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZero;

/// Parameters: the section `[fsmark]` of a scenario of this kind.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Workers.
    pub workers: NonZero<u16>,
    /// Loops.
    pub loops: NonZero<u16>,
    /// Files that a worker creates in a loop.
    pub files: NonZero<u32>,
    /// Files after which a worker goes on to its next directory.
    pub directory_files: NonZero<u32>,
    /// What a worker computes for each file by itself, microseconds, in the mean.
    pub overhead_us: u32,
    /// What a file costs the machine besides what is asked of the system here, microseconds of a CPU in the mean: an input, where
    /// the machine's speed is known from its rate only.
    pub create_us: u32,
    /// What runs besides: services, MiB of anonymous memory that is written once; and their programs and files, MiB of page cache.
    pub services_mib: u32,
    /// See `services_mib`.
    pub cache_mib: u32,
    /// Bytes that a worker keeps of each file until its loop ends: anonymous memory that it writes once. The table is as large at any
    /// scale, as the memory of the machine is that it takes.
    pub name_bytes: u32,
    /// Bytes of a trace of the allocations that somebody writes to a file, for each file that is made.
    pub trace_bytes: u32,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
struct Fsmark {
    parameters: Parameters,
    seed: u64,
}

const ROLES: [&str; 3] = ["fs_mark", "worker", "services"];
const WORKER: u16 = 1;
const SERVICES: u16 = 2;

const LABELS: [&str; 3] = ["start", "end", "files"];
/// A loop begins, and ends.
const START: u16 = 0;
const END: u16 = 1;
/// A worker's loop.
const FILES: u16 = 2;

/// Files that are made by one operation.
const BATCH: u32 = 50;
/// Where the loops wait for the services to have started.
const BOOTED: u16 = 0;
/// Directories that a worker has room for.
const DIRECTORIES: u32 = 1 << 16;
/// Operations of a batch: what the worker computes and keeps, the creation, and what is traced of it.
const OPS_A_BATCH: u64 = 4;
/// A worker's table of names.
const NAMES: RegionId = RegionId(0);
/// The services' files, and the first worker's trace.
const SERVICE_FILES: FileId = FileId(0);
const TRACES: u32 = 1;
const MIB: u64 = 1 << 20;

impl Kind for Parameters {
    fn workload(&self, _: &Machine, seed: u64) -> Box<dyn Workload> {
        Box::new(Fsmark { parameters: *self, seed })
    }

    /// Names and directories have numbers of 32 bits.
    fn check(&self) -> Result<(), String> {
        let files = u64::from(self.loops.get()) * u64::from(self.files.get());
        let directories = files.div_ceil(self.directory_files.get().into());
        if files > u32::MAX.into() {
            return Err(format!("{files} files of a worker in all loops are more than {}", u32::MAX));
        }
        match directories <= DIRECTORIES.into() {
            true => Ok(()),
            false => Err(format!("{directories} directories of a worker are more than {DIRECTORIES}")),
        }
    }

    fn scale(&mut self, scale: Scale) {
        self.files = scale.of_nonzero(self.files);
        self.name_bytes = scale.undo_u32(self.name_bytes);
    }
}

/// The process that runs the loops.
#[derive(Clone)]
struct Loops {
    parameters: Parameters,
    spawn: Spawn,
    done: u16,
}

impl Script for Loops {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::Meet { number: BOOTED, tasks: 2 });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.done == self.parameters.loops.get() {
            return false;
        }
        let workers = self.parameters.workers.get();
        ops.push(Op::Mark { label: START });
        for worker in 0..workers {
            let nth = u64::from(self.done) * u64::from(workers) + u64::from(worker);
            let argument = u64::from(self.done) << 16 | u64::from(worker);
            ops.push(Op::Fork(self.spawn.child(nth, WORKER, argument)));
        }
        ops.extend([Op::Wait, Op::Mark { label: END }]);
        self.done += 1;
        true
    }
}

/// A worker in a loop.
#[derive(Clone)]
struct Worker {
    parameters: Parameters,
    number: u32,
    /// Files that it has made before this loop, and until now.
    made: u32,
    end: u32,
    random: Random,
}

impl Worker {
    fn new(parameters: Parameters, spawn: &Spawn) -> Worker {
        let (turn, number) = ((spawn.argument >> 16) as u32, spawn.argument as u32 & 0xffff);
        // Names are of 32 bits: beyond them it makes none.
        let made = turn.saturating_mul(parameters.files.get());
        let end = made.saturating_add(parameters.files.get());
        Worker { parameters, number, made, end, random: Random::of(spawn) }
    }
}

impl Script for Worker {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::For { label: FILES, nanos: i64::MAX as u64 });
        let bytes = u64::from(self.end - self.made) * u64::from(self.parameters.name_bytes);
        ops.push(Op::Map { region: NAMES, bytes });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.made == self.end {
            return false;
        }
        let of = self.parameters.directory_files.get();
        let (turn, first) = (self.made / of, self.made % of);
        let count = BATCH.min(self.end - self.made).min(of - first);
        let a_file = u64::from(self.parameters.overhead_us) + u64::from(self.parameters.create_us);
        let mean = a_file * 1_000 * u64::from(count);
        // Nobody tells how it varies: from nothing to twice the mean.
        ops.push(Op::Compute { nanos: self.random.range(0, 2 * mean) });
        let kept = u64::from(self.parameters.name_bytes);
        let offset = u64::from(self.parameters.files.get() - (self.end - self.made)) * kept;
        ops.push(Op::Touch { region: NAMES, offset, bytes: u64::from(count) * kept, access: Access::Write });
        ops.push(Op::CreateMany { directory: self.number * DIRECTORIES + turn, first, count });
        let traced = u64::from(self.parameters.trace_bytes);
        let file = FileId(TRACES + self.number);
        ops.push(Op::Write { file, offset: u64::from(self.made) * traced, bytes: u64::from(count) * traced });
        self.made += count;
        if self.made == self.end {
            ops.push(Op::Done);
        }
        debug_assert!(ops.len() as u64 >= OPS_A_BATCH);
        true
    }
}

/// What a machine runs after boot.
#[derive(Clone, Copy)]
struct Services {
    parameters: Parameters,
}

impl Script for Services {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        for number in 0..self.parameters.services_mib {
            let region = RegionId(number);
            let touch = Op::Touch { region, offset: 0, bytes: MIB, access: Access::Write };
            ops.extend([Op::Map { region, bytes: MIB }, touch]);
        }
        ops.push(Op::Create { file: SERVICE_FILES });
        for number in 0..u64::from(self.parameters.cache_mib) {
            ops.push(Op::Write { file: SERVICE_FILES, offset: number * MIB, bytes: MIB });
        }
        ops.extend([Op::Sync { file: SERVICE_FILES }, Op::Meet { number: BOOTED, tasks: 2 }]);
    }

    /// A timer wakes one of them, and it looks at a piece of what it has.
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        const MINUTE: u64 = 60_000_000_000;
        ops.push(Op::Sleep { nanos: MINUTE });
        ops.push(Op::Touch { region: RegionId(0), offset: 0, bytes: MIB, access: Access::Read });
        true
    }
}

impl Fsmark {
    fn loops(&self, spawn: &Spawn) -> Loops {
        Loops { parameters: self.parameters, spawn: *spawn, done: 0 }
    }

    /// Files a second of each loop that came to its end: the sum of its workers' rates.
    fn rates(&self, run: &RunReport) -> Vec<f64> {
        let reports: BTreeMap<_, &TaskReport> = run.tasks.iter().map(|report| (report.task, report)).collect();
        let Some(root) = run.roots.first().and_then(|root| reports.get(root)) else { return Vec::new() };
        let rate = |task| {
            let report = reports.get(task)?;
            let span = report.spans.iter().find(|span| span.label == FILES)?;
            Some(f64::from(self.parameters.files.get()) / (span.nanos.max(1) as f64 / 1e9))
        };
        let workers = usize::from(self.parameters.workers.get());
        root.owed.chunks_exact(workers).map_while(|tasks| tasks.iter().map(rate).sum::<Option<f64>>()).collect()
    }
}

/// Seconds from the first mark to the last, and counters at the last less those at the first.
fn changes(run: &RunReport) -> (f64, BTreeMap<&str, u64>) {
    let marks = || run.tasks.iter().flat_map(|report| &report.marks);
    let (Some(first), Some(last)) = (marks().min_by_key(|mark| mark.at), marks().max_by_key(|mark| mark.at)) else {
        return (0.0, BTreeMap::new());
    };
    let before = |name: &String| first.counters.get(name).copied().unwrap_or(0);
    let counters = last.counters.iter().map(|(name, &value)| (name.as_str(), value.saturating_sub(before(name))));
    ((last.at - first.at) as f64 / 1e9, counters.collect())
}

/// Orders that the document counts.
const ORDERS: u8 = 6;

impl Workload for Fsmark {
    fn roots(&self) -> Vec<Root> {
        let spawn = Spawn::root(0, 0, 0, self.seed);
        let services = Root { spawn: Spawn::root(1, SERVICES, 0, self.seed), quota: 0 };
        vec![Root { spawn, quota: quota(self.loops(&spawn), self.parameters.loops.get().into()) }, services]
    }

    fn program(&self, spawn: &Spawn) -> Program {
        match spawn.role {
            WORKER => program(Worker::new(self.parameters, spawn)),
            SERVICES => program(Services { parameters: self.parameters }),
            _ => program(self.loops(spawn)),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    /// Files a second of each loop, and what the system says of the filesystem's own requests: how many by order, their shares,
    /// and how many a second.
    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        let (rates, (seconds, changes)) = (self.rates(run), changes(run));
        let mut measures =
            vec![Measure { name: "files-per-second".to_owned(), unit: "1/s", better: Better::Higher, samples: rates }];
        let of = |order: u8| changes.get(format!("nofs_alloc.{order}").as_str()).copied().unwrap_or(0) as f64;
        let all: f64 = (0..ORDERS).map(of).sum();
        if all == 0.0 {
            return measures;
        }
        for order in 0..ORDERS {
            measures.push(Measure::single(format!("nofs-o{order}"), "", Better::Higher, of(order)));
            measures.push(Measure::single(
                format!("nofs-share-o{order}"),
                "%",
                Better::Higher,
                100.0 * of(order) / all,
            ));
        }
        measures.push(Measure::single("nofs-per-second", "1/s", Better::Higher, all / seconds));
        measures.push(Measure::single("nofs-high-order-per-second", "1/s", Better::Higher, (all - of(0)) / seconds));
        let messages = changes.get("xfs_deadlock_messages").copied().unwrap_or(0) as f64;
        measures.push(Measure::single("deadlock-messages", "", Better::Lower, messages));
        measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Scenario, Span};

    fn fsmark() -> Fsmark {
        let shipped = Scenario::shipped_text("fsmark-xfs64k").expect("it is shipped");
        let mut scenario: toml::Table = shipped.parse().expect("it can be read");
        let parameters =
            scenario.remove("fsmark").expect("its workload").try_into::<Parameters>().expect("they are right");
        let [workers, loops] = [2, 3].map(|number| NonZero::new(number).expect("some"));
        let files = NonZero::new(100).expect("some");
        Fsmark { parameters: Parameters { workers, loops, files, ..parameters }, seed: 1 }
    }

    /// A run whose workers, loop by loop, took so many seconds; `None` for one that did not come to its end.
    fn run(seconds: &[Option<u64>], marks: Vec<Mark>) -> RunReport {
        let root = Spawn::root(0, 0, 0, 1);
        let child = |nth: usize| root.child(nth as u64, WORKER, 0);
        let mut loops = TaskReport::new(&root);
        (loops.owed, loops.marks) = ((0..seconds.len()).map(|nth| child(nth).task).collect(), marks);
        let worker = |(nth, seconds): (usize, &Option<u64>)| {
            let mut report = TaskReport::new(&child(nth));
            report.spans =
                seconds.iter().map(|s| Span { label: FILES, at: 0, nanos: s * 1_000_000_000, ops: 0 }).collect();
            report
        };
        let workers = seconds.iter().enumerate().map(worker);
        RunReport { roots: vec![root.task], tasks: workers.chain([loops]).collect(), ..RunReport::default() }
    }

    #[test]
    fn the_rate_of_a_loop_is_the_sum_of_its_workers() {
        let rates = |seconds: &[Option<u64>]| fsmark().rates(&run(seconds, Vec::new()));
        assert_eq!(rates(&[Some(1), Some(2), Some(4), Some(5)]), [100.0 + 50.0, 25.0 + 20.0]);
        assert_eq!(rates(&[Some(1), Some(2), Some(4), None]), [150.0], "a loop that was cut short has none");
        assert_eq!(rates(&[Some(1), Some(2), Some(4)]), [150.0], "nor has one whose workers were not all forked");
    }

    #[test]
    fn requests_are_counted_by_order_from_the_first_mark_to_the_last() {
        let counters = |orders: [u64; 2]| {
            [("nofs_alloc.0".to_owned(), orders[0]), ("nofs_alloc.2".to_owned(), orders[1])].into_iter().collect()
        };
        let mark =
            |seconds: u64, orders| Mark { label: START, at: seconds * 1_000_000_000, counters: counters(orders) };
        let measures = fsmark().measures(&run(&[], vec![mark(1, [10, 5]), mark(3, [40, 15])]), 2 << 20);
        let of = |name: &str| measures.iter().find(|measure| measure.name == name).and_then(Measure::mean);
        assert_eq!([of("nofs-o0"), of("nofs-o1"), of("nofs-o2")], [Some(30.0), Some(0.0), Some(10.0)]);
        assert_eq!([of("nofs-share-o0"), of("nofs-share-o2")], [Some(75.0), Some(25.0)]);
        assert_eq!([of("nofs-per-second"), of("nofs-high-order-per-second")], [Some(20.0), Some(5.0)]);
        assert_eq!(fsmark().measures(&run(&[], Vec::new()), 2 << 20).len(), 1, "who tells of no requests has none");
    }
}
