//! What signals do to a program that watches for them, and to one that has stopped to. Each program is this one, started again.

use linux::signals::Signals;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Names the part that a program started again plays.
const PART: &str = "FRAGLAB_TEST_PART";

/// Plays the part that it was started for, if it was.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let signals = Signals::watch();
    match part.as_str() {
        "watches" => {
            ready();
            while !signals.came() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        "watched" => {
            drop(signals);
            ready();
            std::thread::sleep(Duration::from_secs(20));
        }
        "passes on" => {
            ready();
            while !signals.came() {
                std::thread::sleep(Duration::from_millis(5));
            }
            signals.pass_on();
        }
        "waits" => {
            ready();
            std::thread::sleep(Duration::from_millis(200));
        }
        _ => unreachable!("nobody plays {part}"),
    }
}

fn ready() {
    println!("\nready");
}

/// How a program ends that gets this signal.
fn ended(command: &mut Command, part: &str, signal: Signal) -> ExitStatus {
    command.args(["part", "--exact", "--nocapture"]).env(PART, part).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    // Kept until the end: the program may say more.
    let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(said.by_ref().map_while(Result::ok).any(|line| line == "ready"));
    kill_process(Pid::from_child(&child), signal).expect("sent");
    wait(&mut child)
}

fn wait(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a child of ours");
    panic!("the signal was lost");
}

/// Those that end programs started from here: under `nohup`, `SIGHUP` is none of them.
fn ending() -> impl Iterator<Item = Signal> {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it has ignored signals");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
    let hangup = 1 << (Signal::HUP.as_raw() - 1);
    [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(move |&of| of != Signal::HUP || ignored & hangup == 0)
}

fn this() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

#[test]
fn a_signal_that_is_watched_for_does_nothing_else() {
    for signal in ending() {
        assert!(ended(&mut this(), "watches", signal).success(), "{signal:?}");
    }
}

#[test]
fn a_signal_ends_the_program_once_nobody_watches_any_more() {
    for part in ["watched", "passes on"] {
        for signal in ending() {
            assert_eq!(ended(&mut this(), part, signal).signal(), Some(signal.as_raw()), "{part}, {signal:?}");
        }
    }
}

#[test]
fn under_nohup_a_hangup_is_no_signal() {
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(std::env::current_exe().expect("this program"));
    assert!(ended(&mut nohup, "waits", Signal::HUP).success());
}
