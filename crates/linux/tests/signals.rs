//! What signals do to a program that watches for them, and to one that has stopped to. Each program is this one, started again.

use linux::signals::Signals;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Names the part that a program started again plays.
const PART: &str = "FRAGLAB_TEST_PART";

/// Tells it which signal it will get.
const SENT: &str = "FRAGLAB_TEST_SIGNAL";

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
            let sent = std::env::var(SENT).expect("the signal's number");
            assert_eq!(signals.signal().map(|signal| signal.to_string()), Some(sent));
        }
        "watches once" => {
            let _signals = Signals::watch_once();
            ready();
            while !signals.came() {
                std::thread::sleep(Duration::from_millis(5));
            }
            ready();
            std::thread::sleep(Duration::from_secs(20));
        }
        "watched" => {
            drop(signals);
            ready();
            std::thread::sleep(Duration::from_secs(20));
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

/// A program that plays this part, and will get this signal.
fn started(command: &mut Command, part: &str, signal: Signal) -> Child {
    command.args(["part", "--exact", "--nocapture"]).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env(PART, part).env(SENT, signal.as_raw().to_string()).spawn().expect("started")
}

/// How a program ends that gets this signal.
fn ended(command: &mut Command, part: &str, signal: Signal) -> ExitStatus {
    let mut child = started(command, part, signal);
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
    for signal in ending() {
        assert_eq!(ended(&mut this(), "watched", signal).signal(), Some(signal.as_raw()), "{signal:?}");
    }
}

#[test]
fn of_two_signals_the_second_ends_the_program_at_once() {
    let mut this = this();
    let mut child = started(&mut this, "watches once", Signal::INT);
    let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    for signal in [Signal::INT, Signal::TERM] {
        assert!(said.any(|line| line == "ready"));
        assert!(child.try_wait().expect("a child of ours").is_none(), "it goes on");
        kill_process(Pid::from_child(&child), signal).expect("sent");
    }
    assert_eq!(wait(&mut child).signal(), Some(Signal::TERM.as_raw()));
}

#[test]
fn under_nohup_a_hangup_is_no_signal() {
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(std::env::current_exe().expect("this program"));
    assert!(ended(&mut nohup, "waits", Signal::HUP).success());
}
