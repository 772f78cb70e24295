//! Runs inside a guest, as root: what `fraglab record` promises of tracefs, of lost events and of its cost.
//!
//! `record_check FRAGLAB DIRECTORY [PAIRS]` records into the directory, and prints a line for every check. `scripts/record-check`
//! starts it. Memory is churned by this program itself: `record_check load ROUNDS`.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TRACEFS: &str = "/sys/kernel/tracing";

/// Files of tracefs' top instance that tell its state.
const STATE: [&str; 16] = [
    "buffer_size_kb",
    "buffer_total_size_kb",
    "current_tracer",
    "dynamic_events",
    "events/enable",
    "kprobe_events",
    "saved_cmdlines_size",
    "set_event",
    "set_event_pid",
    "set_ftrace_filter",
    "synthetic_events",
    "trace_clock",
    "trace_options",
    "tracing_cpumask",
    "tracing_on",
    "uprobe_events",
];

/// Rounds of load in one run of the overhead's measure.
const ROUNDS: &str = "300";
/// How long a recording may take to start.
const START: Duration = Duration::from_secs(60);
/// More than any run has time for.
const ENDLESS: &str = "1000000000";
/// Tasks that load memory.
const TASKS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["load", rounds] => load(rounds.parse().unwrap_or(u64::MAX)),
        [fraglab, directory, ref pairs @ ..] => {
            let pairs = pairs.first().and_then(|pairs| pairs.parse().ok()).unwrap_or(0);
            return check(&Check { fraglab: fraglab.into(), directory: directory.into() }, pairs);
        }
        _ => eprintln!("usage: record_check FRAGLAB DIRECTORY [PAIRS]"),
    }
    ExitCode::SUCCESS
}

/// Maps, touches and unmaps a megabyte, so many times.
fn load(rounds: u64) {
    for _ in 0..rounds {
        std::hint::black_box(vec![1_u8; 1 << 20]);
    }
}

fn check(check: &Check, pairs: usize) -> ExitCode {
    let mut failed = false;
    let mut say = |name: &str, result: Result<String, String>| {
        failed |= result.is_err();
        match result {
            Ok(what) => println!("ok      {name}: {what}"),
            Err(what) => println!("FAILED  {name}: {what}"),
        }
    };
    let untouched = state();
    let first = check.record("first", &["--duration", "1"]).and_then(|(events, _, lost)| match lost {
        0 => Ok(format!("{events} events")),
        _ => Err(format!("{lost} events lost")),
    });
    say("a short recording", first);
    let before = state();
    // The first event since boot makes older kernels expand the top buffer, for good.
    match difference(&untouched, &before) {
        None => say("it leaves tracefs as it was", Ok("also the first since boot".into())),
        Some(what) if what.starts_with("`buffer_") => println!("note    the first since boot: {what}"),
        Some(what) => say("it leaves tracefs as it was", Err(what)),
    }
    for (name, signal) in [("int", Signal::INT), ("term", Signal::TERM), ("kill", Signal::KILL)] {
        say(&format!("SIG{} restores tracefs", name.to_uppercase()), check.killed(name, signal, &before));
    }
    say("no event is lost", check.rate());
    if pairs > 0 {
        say("overhead", check.overhead(pairs));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

struct Check {
    fraglab: PathBuf,
    directory: PathBuf,
}

impl Check {
    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.fraglab);
        command.arg("record").arg("-o").arg(self.directory.join(name)).args(arguments).stdin(Stdio::null());
        command
    }

    /// Records to the end: events, seconds, lost events.
    fn record(&self, name: &str, arguments: &[&str]) -> Result<(u64, f64, u64), String> {
        let output = self.command(name, arguments).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.split_ascii_whitespace().next());
            line.and_then(|value| value.parse::<f64>().ok())
        };
        match (value("events"), value("seconds"), value("lost")) {
            (Some(events), Some(seconds), Some(lost)) => Ok((events as u64, seconds, lost as u64)),
            _ => Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Records under load, sends the signal, and compares tracefs with what it was.
    fn killed(&self, name: &str, signal: Signal, before: &str) -> Result<String, String> {
        let loads = start_loads(ENDLESS);
        let result = self.signalled(name, signal);
        end_loads(loads);
        result?;
        if signal == Signal::KILL {
            if state() == before {
                return Err("a killed recorder left nothing to clean up, so nothing was shown".into());
            }
            self.record("after-kill", &["--duration", "1"])?;
            self.salvaged(name)?;
        }
        match difference(before, &state()) {
            Some(what) => Err(what),
            None => Ok(if signal == Signal::KILL { "by the next start; the trace was completed" } else { "by itself" }
                .to_owned()),
        }
    }

    fn signalled(&self, name: &str, signal: Signal) -> Result<(), String> {
        let mut command = self.command(name, &[]);
        let mut recorder = command.stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        self.await_start(name);
        std::thread::sleep(Duration::from_secs(5));
        kill_process(Pid::from_child(&recorder), signal).map_err(|error| error.to_string())?;
        let status = recorder.wait().map_err(|error| error.to_string())?;
        if status.success() || signal == Signal::KILL { Ok(()) } else { Err(format!("it ended with {status}")) }
    }

    /// Waits until a recording has its start snapshot: an emulated guest may take its time.
    fn await_start(&self, name: &str) {
        let begin = Instant::now();
        let last_file = self.directory.join(name).join("start.mono_ns");
        while !last_file.exists() && begin.elapsed() < START {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Completes what a killed recorder left.
    fn salvaged(&self, name: &str) -> Result<(), String> {
        let mut command = Command::new(&self.fraglab);
        let output = command.args(["record", "--salvage"]).arg(self.directory.join(name)).output();
        let output = output.map_err(|error| error.to_string())?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said()) }
    }

    fn rate(&self) -> Result<String, String> {
        let loads = start_loads(ENDLESS);
        let recorded = self.record("rate", &["--duration", "15"]);
        end_loads(loads);
        let (events, seconds, lost) = recorded?;
        let text = format!("{events} events in {seconds:.1} s, {:.0} a second, {lost} lost", events as f64 / seconds);
        if lost == 0 { Ok(text) } else { Err(text) }
    }

    /// The same load with and without a recording, in turns.
    fn overhead(&self, pairs: usize) -> Result<String, String> {
        let mut shares = Vec::new();
        for pair in 0..pairs {
            let alone = timed_loads();
            let name = format!("pair{pair}");
            let mut command = self.command(&name, &[]);
            let mut recorder = command.stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
            // The start snapshot is no part of the measure.
            std::thread::sleep(Duration::from_secs(3));
            let recorded = timed_loads();
            kill_process(Pid::from_child(&recorder), Signal::INT).map_err(|error| error.to_string())?;
            recorder.wait().map_err(|error| error.to_string())?;
            let _ = fs::remove_dir_all(self.directory.join(&name));
            println!(
                "        pair {pair}: {:.3} s alone, {:.3} s recorded",
                alone.as_secs_f64(),
                recorded.as_secs_f64()
            );
            shares.push(recorded.as_secs_f64() / alone.as_secs_f64() - 1.0);
        }
        shares.sort_by(f64::total_cmp);
        let (least, most) = (shares[0], shares[pairs - 1]);
        let median = (shares[pairs / 2] + shares[(pairs - 1) / 2]) / 2.0;
        Ok(format!("median {:.1} % ({:.1} to {:.1} %, {pairs} pairs)", 100.0 * median, 100.0 * least, 100.0 * most))
    }
}

fn start_loads(rounds: &str) -> Vec<Child> {
    let start = |_| Command::new("/proc/self/exe").args(["load", rounds]).spawn();
    (0..TASKS).filter_map(|task| start(task).ok()).collect()
}

fn end_loads(loads: Vec<Child>) {
    for mut load in loads {
        let _ = load.kill();
        let _ = load.wait();
    }
}

fn timed_loads() -> Duration {
    let begin = Instant::now();
    for mut load in start_loads(ROUNDS) {
        let _ = load.wait();
    }
    begin.elapsed()
}

/// All that tells the state of tracing, as lines.
fn state() -> String {
    let root = Path::new(TRACEFS);
    let read = |path: &Path| {
        // In one large read: some of these files give nothing more after a first short one.
        let mut bytes = vec![0; 1 << 16];
        let read = fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut bytes)).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    };
    let mut text: String = STATE.map(|name| format!("{name}: {:?}\n", read(&root.join(name)))).concat();
    for directory in ["instances", "options", "events"] {
        let mut entries: Vec<_> = fs::read_dir(root.join(directory)).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let switch = if directory == "events" { entry.path().join("enable") } else { entry.path() };
            text.push_str(&format!("{directory}/{:?}: {:?}\n", entry.file_name(), read(&switch)));
        }
    }
    text
}

/// The first line that differs.
fn difference(before: &str, after: &str) -> Option<String> {
    let lines = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    match lines {
        Some((before, after)) => Some(format!("`{before}` became `{after}`")),
        None => (before.len() != after.len()).then(|| "there are more or fewer files or instances".to_owned()),
    }
}
