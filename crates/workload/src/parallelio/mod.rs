//! `parallelio-memcachetest`: how much does a stream of writes disturb a server whose memory is in use all the time?
//!
//! memcached holds items of 80 % of memory; one client reads and writes them at random. Once most of them are there, dd writes
//! a file to the disk meanwhile: nothing, or one of three sizes. After mmtests' benchmark of this name as it was in July 2013.

mod client;
mod dd;

use crate::bounds::Percent;
use crate::drive::Program;
use crate::kind::Kind;
use crate::rounds::{Script, program, quota};
use crate::{Better, FileId, MEETINGS, Machine, Measure, Op, Root, RunReport, Scale, Spawn, TaskReport, Workload};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZero;

pub use client::Client;

/// Parameters: the section `[parallelio]` of a scenario of this kind.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Memory as `free` shows it, MiB: sizes follow it.
    pub memtotal_mib: NonZero<u32>,
    /// The same at full size, once this has been scaled: rows are named after it.
    #[serde(skip)]
    full_mib: Option<NonZero<u32>>,
    /// Runs of the client whose results are thrown away.
    pub warm_ups: u16,
    /// Runs for each size of the file.
    pub iterations: NonZero<u16>,
    /// Sizes of the file beside nothing.
    pub steps: u16,
    /// What dd writes at once, KiB.
    pub block_kib: NonZero<u32>,
    /// From the moment when most items are there until dd starts, milliseconds.
    pub settle_ms: u32,
    /// The server and its client.
    pub client: Client,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
struct Parallelio {
    parameters: Parameters,
    seed: u64,
}

const ROLES: [&str; 3] = ["test", "memcached", "dd"];
const TEST: u16 = 0;
const MEMCACHED: u16 = 1;
const DD: u16 = 2;

const LABELS: [&str; 5] = ["start", "end", "populate", "requests", "io"];
/// An iteration begins, and ends.
const START: u16 = 0;
const END: u16 = 1;
/// All items are written once; requests are answered; the file is written.
const POPULATE: u16 = 2;
const REQUESTS: u16 = 3;
const IO: u16 = 4;

const FILE: FileId = FileId(0);
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Operations of a request: what both sides compute, and the access to the item.
const OPS_A_REQUEST: u64 = 2;

impl Kind for Parameters {
    fn workload(&self, _: &Machine, seed: u64) -> Box<dyn Workload> {
        Box::new(Parallelio { parameters: *self, seed })
    }

    fn check(&self) -> Result<(), String> {
        let steps = u64::from(self.steps) + 1;
        let iterations = u64::from(self.warm_ups) + steps * u64::from(self.iterations.get());
        if iterations > MEETINGS.into() {
            return Err(format!("{iterations} iterations, warm-ups among them, are more than {MEETINGS}"));
        }
        self.client.check()
    }

    fn scale(&mut self, scale: Scale) {
        self.full_mib = self.full_mib.or(Some(self.memtotal_mib));
        self.memtotal_mib = scale.of_nonzero(self.memtotal_mib);
        self.settle_ms = scale.of_u32(self.settle_ms);
        self.client.scale(scale);
    }
}

/// A run of the client: which one of its size, and how much dd writes meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Iteration {
    number: u16,
    /// None in a warm-up.
    step: Option<u16>,
}

impl Parameters {
    fn full_size(&self) -> Parameters {
        Parameters { memtotal_mib: self.full_mib.unwrap_or(self.memtotal_mib), ..*self }
    }

    fn memory(&self) -> u64 {
        u64::from(self.memtotal_mib.get()) * MIB
    }

    /// Bytes that dd writes at a step: from half of what the items leave in equal steps towards four times as much.
    fn io_bytes(&self, step: u16) -> u64 {
        let left = self.memory() - self.client.pool(self.memory());
        let (least, most) = (left / 2, left * 4);
        match step {
            0 => 0,
            _ => least + u64::from(step - 1) * ((most - least) / u64::from(self.steps)),
        }
    }

    fn sequence(&self) -> Vec<Iteration> {
        let warm_ups = (0..self.warm_ups).map(|_| None);
        let steps = (0..=self.steps).flat_map(|step| (0..self.iterations.get()).map(move |_| Some(step)));
        warm_ups.chain(steps).zip(0..).map(|(step, number)| Iteration { number, step }).collect()
    }
}

/// The script that runs the iterations.
#[derive(Clone)]
struct Test {
    parameters: Parameters,
    spawn: Spawn,
    done: usize,
}

impl Script for Test {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let Some(iteration) = self.parameters.sequence().get(self.done).copied() else { return false };
        self.done += 1;
        let step = iteration.step.unwrap_or(0);
        let (number, argument) = (u64::from(iteration.number), u64::from(iteration.number) << 16 | u64::from(step));
        ops.extend([
            Op::Mark { label: START },
            Op::Fork(self.spawn.child(2 * number, MEMCACHED, argument)),
            Op::Fork(self.spawn.child(2 * number + 1, DD, argument)),
            Op::Wait,
            Op::Mark { label: END },
        ]);
        if step > 0 {
            ops.push(Op::Unlink { file: FILE });
        }
        true
    }
}

/// What came out of an iteration.
#[derive(Clone, Copy, Debug)]
struct Found {
    rate: f64,
    io_seconds: f64,
    swapped: f64,
    swapped_in: f64,
    minor: f64,
    major: f64,
}

impl Parallelio {
    fn test(&self, spawn: &Spawn) -> Test {
        Test { parameters: self.parameters, spawn: *spawn, done: 0 }
    }

    /// The iterations of a step; those that were cut short are left out.
    fn found(&self, run: &RunReport, step: u16) -> Vec<Found> {
        let reports: BTreeMap<_, &TaskReport> = run.tasks.iter().map(|report| (report.task, report)).collect();
        let Some(test) = run.roots.first().and_then(|root| reports.get(root)) else { return Vec::new() };
        let of_step = self.parameters.sequence().into_iter().filter(|iteration| iteration.step == Some(step));
        let found = |iteration: Iteration| {
            let at = usize::from(iteration.number);
            let span = |child: usize, label: u16| {
                let report = reports.get(test.owed.get(2 * at + child)?)?;
                report.spans.iter().find(|span| span.label == label)
            };
            let (requests, io) = (span(0, REQUESTS)?, span(1, IO));
            let mark = |label| test.marks.iter().filter(move |mark| mark.label == label).nth(at);
            let (start, end) = (mark(START)?, mark(END)?);
            let delta = |name: &str| {
                let of = |mark: &crate::Mark| mark.counters.get(name).copied().unwrap_or(0);
                of(end).saturating_sub(of(start)) as f64
            };
            let seconds = |nanos: u64| nanos as f64 / 1e9;
            Some(Found {
                rate: (requests.ops / OPS_A_REQUEST) as f64 / seconds(requests.nanos.max(1)),
                io_seconds: io.map_or(0.0, |io| if step == 0 { 0.0 } else { seconds(io.nanos) }),
                swapped: delta("pswpin") + delta("pswpout"),
                swapped_in: delta("pswpin"),
                minor: delta("pgfault") - delta("pgmajfault"),
                major: delta("pgmajfault"),
            })
        };
        of_step.filter_map(found).collect()
    }
}

impl Workload for Parallelio {
    fn roots(&self) -> Vec<Root> {
        let spawn = Spawn::root(0, TEST, 0, self.seed);
        let rounds = self.parameters.sequence().len() as u32;
        vec![Root { spawn, quota: quota(self.test(&spawn), rounds) }]
    }

    fn program(&self, spawn: &Spawn) -> Program {
        match spawn.role {
            MEMCACHED => program(client::Server::new(&self.parameters, spawn)),
            DD => program(dd::Writer::new(&self.parameters, spawn)),
            _ => program(self.test(spawn)),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    /// As posted: of each size, the iteration with the lowest rate. Sizes are those of the full-size machine.
    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        type Row = (&'static str, &'static str, Better, fn(&Found) -> f64);
        let rows: [Row; 6] = [
            ("memcachetest", "1/s", Better::Higher, |found| found.rate),
            ("io-duration", "s", Better::Lower, |found| found.io_seconds),
            ("swaptotal", "", Better::Lower, |found| found.swapped),
            ("swapin", "", Better::Lower, |found| found.swapped_in),
            ("minorfaults", "", Better::Lower, |found| found.minor),
            ("majorfaults", "", Better::Lower, |found| found.major),
        ];
        let worst: Vec<(u64, Option<Found>)> = (0..=self.parameters.steps)
            .map(|step| {
                let size = self.parameters.full_size().io_bytes(step) / MIB;
                let found = self.found(run, step);
                (size, found.into_iter().min_by(|a, b| a.rate.total_cmp(&b.rate)))
            })
            .collect();
        let measure = |row: &Row, (size, found): &(u64, Option<Found>)| {
            let &(name, unit, better, value) = row;
            Measure { name: format!("{name}-{size}M"), unit, better, samples: found.iter().map(value).collect() }
        };
        let rows = rows.iter().flat_map(|row| worst.iter().map(|of_size| measure(row, of_size)));
        rows.chain(zone_ages(run)).collect()
    }
}

/// How often each zone's pages were scanned over, and the difference between oldest and youngest zone as a share of the mean,
/// where the system tells scans by zone. Zones of a hundredth of memory, DMA for one, are left out.
fn zone_ages(run: &RunReport) -> Vec<Measure> {
    let marks = || run.tasks.iter().flat_map(|report| &report.marks);
    let (Some(first), Some(last)) = (marks().min_by_key(|mark| mark.at), marks().max_by_key(|mark| mark.at)) else {
        return Vec::new();
    };
    let zones = || last.counters.iter().filter_map(|(name, &pages)| Some((name.strip_prefix("zone_pages.")?, pages)));
    let memory: u64 = zones().map(|(_, pages)| pages).sum();
    let age = |(zone, pages): (&str, u64)| {
        let scanned = |mark: &crate::Mark| mark.counters.get(&format!("zone_scanned.{zone}")).copied().unwrap_or(0);
        (format!("zone-age-{zone}"), (scanned(last) - scanned(first)) as f64 / pages as f64)
    };
    let ages: Vec<(String, f64)> = zones().filter(|&(_, pages)| pages > memory / 100).map(age).collect();
    let by = |better: fn(f64, f64) -> f64| ages.iter().map(|(_, age)| *age).reduce(better);
    let (Some(least), Some(most)) = (by(f64::min), by(f64::max)) else { return Vec::new() };
    let mean = ages.iter().map(|(_, age)| age).sum::<f64>() / ages.len() as f64;
    let spread = Measure::single("zone-age-spread", "%", Better::Lower, 100.0 * (most - least) / mean.max(1e-9));
    let ages = ages.into_iter().map(|(name, age)| Measure::single(name, "", Better::Lower, age));
    ages.chain([spread]).collect()
}

/// The share of a whole that a percentage is.
type Share = Percent;

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn rows_bear_the_published_sizes_at_any_scale() {
        for scale in ["1", "1/8", "1/16"] {
            let mut scenario = Scenario::shipped("parallelio-memcachetest").expect("it is shipped");
            scenario.scale(scale.parse().expect("a scale"));
            let measures = scenario.workload().measures(&crate::RunReport::default(), 2 << 20);
            let names: Vec<&str> = measures.iter().take(4).map(|measure| measure.name.as_str()).collect();
            let wanted = ["memcachetest-0M", "memcachetest-791M", "memcachetest-2639M", "memcachetest-4487M"];
            assert_eq!(names, wanted, "{scale}");
        }
    }
}
