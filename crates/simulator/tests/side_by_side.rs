//! What tasks do to each other's files and memory at the same time: everything ends, and all invariants hold.

use mm::thp::ThpEnabled;
use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulated, Simulation};
use std::fmt::Write;
use workload::{Filesystem, Saved};

const SECOND: u64 = 1_000_000_000;

fn run(text: String, machine: &MachineSpec, policy: &str) -> Simulated {
    let saved = Saved::parse(text).unwrap();
    Simulation::run_checked(&saved, machine, &preset(policy).unwrap(), 1).unwrap()
}

fn guest(memory: u64, seconds: u64) -> MachineSpec {
    MachineSpec { time_limit: Some(seconds * SECOND), ..MachineSpec::guest(memory) }
}

/// Operations of a task, and what another one does after so many milliseconds.
fn beside(ops: &str, after: u64, other: &str) -> String {
    let quota = ops.lines().count();
    format!(
        "fraglab-ops 1\nrole one\nrole other\nroot a 0 0 0 quota {quota}\nroot b 1 0 0 quota 2\n\
         task a\n{ops}\ntask b\nsleep {}\n{other}\nend-of-file 2\n",
        after * 1_000_000
    )
}

#[test]
fn who_reads_or_writes_a_file_that_is_removed_comes_to_an_end() {
    let ops = "create 1\nwrite 1 0 33554432\nsync 1\ndrop_caches\nread 1 0 33554432";
    for other in ["unlink 1", "create 1"] {
        let mut ends = Vec::new();
        for after in [50, 200, 400, 600, 800, 1_200] {
            let ended = run(beside(ops, after, other), &guest(256 << 20, 60), "linux-6.18").report;
            assert!(ended.digest().is_some() && ended.elapsed < 20 * SECOND, "{other} after {after} ms: {ended:?}");
            ends.push(ended.elapsed);
        }
        ends.dedup();
        assert!(ends.len() > 3, "{other}: it comes amid the writing and the reading: {ends:?}");
    }
}

#[test]
fn khugepaged_without_a_sleep_lets_time_pass() {
    let mut machine = guest(256 << 20, 60);
    (machine.thp.enabled, machine.thp.khugepaged.scan_sleep) = (ThpEnabled::Always, 0);
    // Nothing is left to look at.
    let ops = "map 1 8388608\ntouch 1 0 8388608 write\nunmap 1 0 8388608\nsleep 1000000000";
    let ended = run(beside(ops, 10, "wait"), &machine, "linux-6.18").report;
    assert!(ended.digest().is_some() && ended.elapsed < 2 * SECOND, "{ended:?}");
}

/// Xorshift: the test's own random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    /// An operation on few files, regions and handles.
    fn op(&mut self) -> String {
        let [file, region, handle] = [6, 5, 4].map(|count| self.below(count));
        let (offset, bytes) = (self.below(400) * 4096, (self.below(800) + 1) * 4096 - self.below(2) * 100);
        match self.below(22) {
            0 | 1 => format!("create {file}"),
            2 => format!("unlink {file}"),
            3..=5 => format!("write {file} {offset} {bytes}"),
            6..=8 => format!("read {file} {offset} {bytes}"),
            9 => self.of(&["sync_all", "drop_caches", "sync 1", "sync 2"]).to_owned(),
            10 => format!("open {handle} {file}"),
            11 => format!("close {handle}"),
            12 => format!("map_file {region} {file} {bytes} {}", self.of(&["exec", "read", "private", "shared"])),
            13 | 14 => format!("map {region} {}", bytes * 4),
            15 | 16 => format!("touch {region} 0 {bytes} {}", self.of(&["read", "write", "write"])),
            17 => format!("unmap {region} {} {}", offset / 4096 * 4096, bytes.next_multiple_of(4096)),
            18 => format!("advise {region} {}", self.of(&["hugepage", "nohugepage", "dontneed"])),
            19 => format!("{} {handle} {}", self.of(&["pipe", "socket"]), bytes / 8),
            20 => format!("sleep {}", self.below(30) * 1_000_000),
            _ => format!("lookup {} 8", self.below(1_000)),
        }
    }
}

/// Some roots that fork now and then, all with the same files.
fn random_stream(seed: u64) -> String {
    const ROOTS: u64 = 5;
    let mut random = Random(seed);
    let (mut text, mut tasks, mut children) = ("fraglab-ops 1\nrole any\n".to_owned(), String::new(), String::new());
    let mut forked = 0;
    for root in 1..=ROOTS {
        writeln!(text, "root {root:x} 0 0 0 quota 80").unwrap();
        writeln!(tasks, "task {root:x}").unwrap();
        for _ in 0..100 {
            if random.below(12) > 0 {
                writeln!(tasks, "{}", random.op()).unwrap();
                continue;
            }
            forked += 1;
            writeln!(tasks, "fork {:x} 0 0 0", 0x1000 + forked).unwrap();
            writeln!(children, "task {:x}", 0x1000 + forked).unwrap();
            (0..random.below(25)).for_each(|_| writeln!(children, "{}", random.op()).unwrap());
        }
    }
    text + &tasks + &children + &format!("end-of-file {}\n", ROOTS + forked)
}

#[test]
fn random_operations_of_many_tasks_come_to_an_end() {
    let mut swapped = 0;
    for (number, policy) in (1..).zip(["linux-6.18", "linux-6.12", "linux-4.20", "linux-3.12", "linux-7.3"]) {
        for (filesystem, nodes) in [(Filesystem::Ext4, 1), (Filesystem::Xfs, 2)] {
            let mut machine = MachineSpec { cpus: 3, nodes, ..guest(128 << 20, 120) };
            machine.disks.filesystem = filesystem;
            machine.thp.khugepaged.scan_sleep = 20_000_000;
            let ended = run(random_stream(0x5eed + number), &machine, policy);
            assert_eq!(ended.hang, None, "{policy} {filesystem:?}");
            assert!(ended.report.elapsed < 60 * SECOND, "{policy} {filesystem:?}: {}", ended.report.elapsed);
            swapped += ended.outcome.counters["pswpout"];
        }
    }
    assert!(swapped > 100, "memory is short: {swapped} pages swapped out");
}
