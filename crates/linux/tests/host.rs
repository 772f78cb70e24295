//! Scenarios on the kernel that the tests run on, with tiny sizes and without touching its settings. No harness: a run forks, and
//! must find one thread.

use linux::host::{self, HostError, HostRun, Options};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use workload::{
    Access, Advice, FileId, FileMapping, HandleId, Op, Program, RegionId, Root, Scenario, Spawn, Workload, on_paper,
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, scratch] = &arguments[..]
        && role == "endless"
    {
        endless(Path::new(scratch));
        return;
    }
    let tests: [(&str, fn()); 8] = [
        ("a_scenario_runs_to_its_golden_end", a_scenario_runs_to_its_golden_end),
        ("every_operation_works", every_operation_works),
        ("failed_operations_are_counted", failed_operations_are_counted),
        ("the_time_limit_ends_a_run", the_time_limit_ends_a_run),
        ("signals_end_a_run", signals_end_a_run),
        ("killed_tasks_are_counted", killed_tasks_are_counted),
        ("a_killed_run_leaves_no_process", a_killed_run_leaves_no_process),
        ("threads_are_refused", threads_are_refused),
    ];
    let filter = arguments.get(1).filter(|argument| !argument.starts_with('-'));
    for (name, test) in tests.iter().filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter.as_str()))) {
        test();
        println!("test {name} ... ok");
    }
}

fn run_in(scratch: &Path, workload: &dyn Workload, limit: u64) -> HostRun {
    let options = Options { scratch: scratch.to_owned(), time_limit: Duration::from_secs(limit) };
    host::run(workload, &options).expect("the run comes about")
}

fn run(workload: &dyn Workload) -> HostRun {
    run_in(tempfile::tempdir().expect("a directory").path(), workload, 60)
}

fn tiny() -> Box<dyn Workload> {
    Scenario::parse(include_str!("tiny.toml")).expect("a scenario").workload()
}

/// Two tasks that run these operations, the second as a child of the first.
struct Given {
    root: Vec<Op>,
    child: Vec<Op>,
}

impl Given {
    fn spawn() -> Spawn {
        Spawn::root(0, 0, 0, 1)
    }

    fn child() -> Spawn {
        Given::spawn().child(0, 1, 0)
    }
}

impl Workload for Given {
    fn roots(&self) -> Vec<Root> {
        vec![Root { spawn: Given::spawn(), quota: self.root.len() as u64 }]
    }

    fn program(&self, spawn: &Spawn) -> Program {
        let ops = if spawn.role == 0 { &self.root } else { &self.child };
        Box::new(ops.clone().into_iter())
    }

    fn roles(&self) -> Vec<&str> {
        vec!["root", "child"]
    }

    fn labels(&self) -> Vec<&str> {
        vec!["timed"]
    }
}

fn a_scenario_runs_to_its_golden_end() {
    let workload = tiny();
    let run = run(&*workload);
    let planned = on_paper(&*workload);
    assert!(!run.interrupted);
    assert_eq!(run.report.killed, 0);
    assert_eq!(run.report.digest(), planned.digest());
    for (done, planned) in run.report.by_role().iter().zip(planned.by_role()) {
        assert!(done.ops >= planned.ops, "{done:?} against {planned:?}");
        assert_eq!(done.failed, 0, "{done:?}");
    }
    let burst = &run.report.by_label(host::huge_page_size() as u64)[0];
    assert!(burst.touches >= 16 && burst.median > 0 && burst.huge_percent.is_some(), "{burst:?}");
}

const REGION: RegionId = RegionId(0);
const MAPPED: RegionId = RegionId(1);
const FILE: FileId = FileId(5 << 24 | 3);

fn every_operation_works() {
    let write = |offset, bytes| Op::Touch { region: REGION, offset, bytes, access: Access::Write };
    let mut root = vec![
        Op::Map { region: REGION, bytes: 4 << 20 },
        Op::Advise { region: REGION, advice: Advice::HugePage },
        Op::Begin { label: 0 },
        write(0, 2 << 20),
        write(2 << 20, 5000),
        Op::End,
        Op::Touch { region: REGION, offset: 0, bytes: 1 << 20, access: Access::Read },
        Op::Advise { region: REGION, advice: Advice::NoHugePage },
        Op::Advise { region: REGION, advice: Advice::DontNeed },
        Op::Fork(Given::child()),
        Op::Wait,
        Op::Unmap { region: REGION, offset: 0, bytes: 4 << 20 },
        Op::Create { file: FILE },
        Op::Write { file: FILE, offset: 4096, bytes: 100_000 },
        Op::Read { file: FILE, offset: 0, bytes: 1 << 20 },
        Op::Sync { file: FILE },
        Op::MapFile { region: MAPPED, file: FILE, bytes: 65_536, mapping: FileMapping::Exec },
        Op::Touch { region: MAPPED, offset: 0, bytes: 65_536, access: Access::Read },
        Op::MapFile { region: MAPPED, file: FILE, bytes: 200_000, mapping: FileMapping::Private },
        Op::Touch { region: MAPPED, offset: 0, bytes: 104_096, access: Access::Write },
        Op::MapFile { region: MAPPED, file: FILE, bytes: 200_000, mapping: FileMapping::Shared },
        Op::Touch { region: MAPPED, offset: 4096, bytes: 4096, access: Access::Write },
        Op::Unmap { region: MAPPED, offset: 0, bytes: 200_000 },
        Op::Create { file: FileId(1) },
        Op::Unlink { file: FileId(1) },
        Op::Lookup { name: 77, count: 3 },
        Op::Pipe { handle: HandleId(1), bytes: 100_000 },
        Op::Socket { handle: HandleId(2), bytes: 30_000 },
        Op::Close { handle: HandleId(1) },
        Op::Close { handle: HandleId(2) },
        Op::Open { handle: HandleId(4), file: FileId(2) },
        Op::Write { file: FileId(2), offset: 8192, bytes: 4096 },
        Op::Close { handle: HandleId(4) },
        Op::Read { file: FileId(2), offset: 0, bytes: 4096 },
        Op::Meet { number: 1, tasks: 1 },
        Op::SyncAll,
        Op::Sleep { nanos: 1_000_000 },
        Op::Pace { nanos: 50_000_000 },
        Op::Compute { nanos: 2_000_000 },
    ];
    // Child: the parent's mappings are there.
    let child = vec![write(0, 4096), Op::Unmap { region: REGION, offset: 0, bytes: 4 << 20 }];
    if may_use_packet_sockets() {
        root.push(Op::Ring { handle: HandleId(3), order: 3, blocks: 4 });
        root.push(Op::Close { handle: HandleId(3) });
    } else {
        println!("SKIPPED: rings: this user may not open packet sockets");
    }
    let workload = Given { root, child };
    let scratch = tempfile::tempdir().expect("a directory");
    let started = Instant::now();
    let run = run_in(scratch.path(), &workload, 60);
    assert_eq!(run.report.digest(), on_paper(&workload).digest());
    let failed: Vec<u64> = run.report.tasks.iter().map(|task| task.failed).collect();
    assert_eq!(failed, [0, 0], "{:?}", run.report);
    assert!(started.elapsed() >= Duration::from_millis(50), "the beat was kept");
    assert_eq!(fs::metadata(scratch.path().join("05/000003")).expect("written").len(), 104_096);
    let written = fs::read(scratch.path().join("05/000003")).expect("written");
    // `write` began at the second page.
    assert_eq!(
        [0, 4096, 8192].map(|at| written[at]),
        [0, 0xa5, 0x5a],
        "a shared mapping's page is the file's, a private one's not"
    );
    assert!(!scratch.path().join("00/000001").exists());
    let root = run.report.tasks.iter().find(|task| task.task == Given::spawn().task).expect("its report");
    assert_eq!(root.timings.len(), 2, "what stands between begin and end is timed");
    assert!(root.timings[0].huge.is_some() && root.timings[1].huge.is_none());
}

fn may_use_packet_sockets() -> bool {
    rustix::net::socket(rustix::net::AddressFamily::PACKET, rustix::net::SocketType::RAW, None).is_ok()
}

fn failed_operations_are_counted() {
    let wrong = vec![
        Op::Touch { region: REGION, offset: 0, bytes: 1, access: Access::Write },
        Op::Read { file: FILE, offset: 0, bytes: 1 },
        Op::Close { handle: HandleId(0) },
        Op::Ring { handle: HandleId(0), order: 255, blocks: u32::MAX },
        Op::Map { region: REGION, bytes: i64::MAX as u64 },
        Op::MapFile { region: REGION, file: FILE, bytes: 4096, mapping: FileMapping::Read },
    ];
    let count = wrong.len() as u64;
    let workload = Given { root: wrong, child: Vec::new() };
    let run = run(&workload);
    assert_eq!(run.report.by_role()[0].failed, count);
    assert_eq!(run.report.digest(), on_paper(&workload).digest(), "what was asked for is the same");
}

/// Asks for an hour of sleep in root and child.
fn sleepers() -> Given {
    let hour = 3_600_000_000_000;
    Given {
        root: vec![Op::Fork(Given::child()), Op::Wait, Op::Sleep { nanos: hour }],
        child: vec![Op::Pace { nanos: hour }],
    }
}

fn the_time_limit_ends_a_run() {
    let started = Instant::now();
    let run = run_in(tempfile::tempdir().expect("a directory").path(), &sleepers(), 1);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(run.report.digest(), None, "not complete");
    assert_eq!(run.report.tasks.len(), 2, "all have reported");
    assert!(!run.interrupted);
}

/// What the subprocess does.
fn endless(scratch: &Path) {
    let run = run_in(scratch, &sleepers(), 3600);
    println!("interrupted {} tasks {} killed {}", run.interrupted, run.report.tasks.len(), run.report.killed);
}

fn start_endless(scratch: &Path) -> Child {
    let this = std::env::current_exe().expect("this program");
    let child = Command::new(this).arg("endless").arg(scratch).stdout(Stdio::piped()).spawn().expect("started");
    // Root and its child.
    wait_for("two tasks", || descendants(child.id()).len() == 2);
    child
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} within 20 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn descendants(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    children.iter().flat_map(|&child| std::iter::once(child).chain(descendants(child))).collect()
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs").success());
}

fn signals_end_a_run() {
    for signal in ["-INT", "-TERM"] {
        let scratch = tempfile::tempdir().expect("a directory");
        let child = start_endless(scratch.path());
        send(signal, child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "interrupted true tasks 2 killed 0\n", "{signal}");
    }
}

fn killed_tasks_are_counted() {
    let scratch = tempfile::tempdir().expect("a directory");
    let child = start_endless(scratch.path());
    let tasks = descendants(child.id());
    // The child first: its parent counts it and goes on. Then the root, which ends the run.
    send("-KILL", tasks[1]);
    wait_for("the child's end", || descendants(child.id()).len() == 1);
    send("-KILL", tasks[0]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "interrupted false tasks 0 killed 2\n");
}

fn a_killed_run_leaves_no_process() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut child = start_endless(scratch.path());
    let tasks = descendants(child.id());
    send("-KILL", child.id());
    child.wait().expect("it ends");
    let lives = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    wait_for("the end of its tasks", || !tasks.iter().any(lives));
}

fn threads_are_refused() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || stopped.recv());
    let options = Options { scratch: std::env::temp_dir(), time_limit: Duration::from_secs(1) };
    assert!(matches!(host::run(&sleepers(), &options), Err(HostError::Threads(2))));
    drop(stop);
    let _ = thread.join();
}
