//! The thread that samples /proc once a second, collects the names of processes, and watches the bounds.

use super::error::RecordError;
use super::kernel_file;
use super::stop_reason::StopReason;
use super::stream::Shared;
use super::ticks::{Blocks, Ticks};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between samples.
const PERIOD: Duration = Duration::from_secs(1);

/// Disk that is left when a recording ends for want of it: for the pieces in which pages are moved, and some more.
const SPARE: u64 = 32 << 20;

/// Names of processes by number.
pub(crate) type Names = BTreeMap<u32, String>;

/// When a recording must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    output: PathBuf,
    /// Bytes of the pages and samples after which the rest would pass the bound.
    pages: Option<u64>,
    /// Free disk that the end of the recording needs.
    free: u64,
}

impl Limits {
    /// `reserve`: what is still to come when the recording is told to end. `fixed`: what is there whatever happens.
    pub(crate) fn new(output: &Path, max: Option<u64>, reserve: u64, fixed: u64) -> Result<Self, RecordError> {
        let needed = reserve + fixed;
        let pages = match max {
            None => None,
            Some(max) if max <= needed => return Err(RecordError::MaxSize { max, needed }),
            Some(max) => Some(max - needed),
        };
        Ok(Self { output: output.to_path_buf(), pages, free: needed + SPARE })
    }

    /// Whether a bound is reached with this many bytes of pages and samples.
    fn reached(&self, bytes: u64) -> Option<StopReason> {
        if self.pages.is_some_and(|limit| bytes >= limit) {
            return Some(StopReason::MaxSize);
        }
        let disk = rustix::fs::statvfs(&self.output).ok()?;
        (disk.f_bavail.saturating_mul(disk.f_frsize) < self.free).then_some(StopReason::DiskFull)
    }
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Control {
    stop: Mutex<bool>,
    wake: Condvar,
    ended: Mutex<Option<StopReason>>,
    bytes: AtomicU64,
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    control: Arc<Control>,
    thread: JoinHandle<(Ticks, Names)>,
}

impl Ticker {
    /// Starts it.
    pub(crate) fn start(mut work: Work) -> std::io::Result<Self> {
        let control = Arc::new(Control::default());
        control.bytes.store(work.ticks.bytes(), Ordering::Relaxed);
        let ours = Arc::clone(&control);
        let builder = std::thread::Builder::new().name("ticker".into());
        let thread = builder.spawn(move || {
            work.run(&ours);
            (work.ticks, work.seen)
        })?;
        Ok(Self { control, thread })
    }

    /// Bytes of its samples.
    pub(crate) fn bytes(&self) -> u64 {
        self.control.bytes.load(Ordering::Relaxed)
    }

    /// Why the recording must end, if it must.
    pub(crate) fn ended(&self) -> Option<StopReason> {
        *self.control.ended.lock().ok()?
    }

    /// Ends it; `None` if it had died.
    pub(crate) fn finish(self) -> Option<(Ticks, Names)> {
        if let Ok(mut stop) = self.control.stop.lock() {
            *stop = true;
        }
        self.control.wake.notify_all();
        self.thread.join().ok()
    }
}

/// What the thread works with.
pub(crate) struct Work {
    pub(crate) ticks: Ticks,
    pub(crate) marker: File,
    pub(crate) blocks: Option<Arc<Blocks>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) limits: Limits,
    /// The kernel's file of process names, which holds only the latest.
    pub(crate) names: PathBuf,
    /// Those seen so far.
    pub(crate) seen: Names,
}

impl Work {
    fn run(&mut self, control: &Control) {
        let mut next = Instant::now() + PERIOD;
        while wait_until(control, next) {
            // A sample that took too long is not made up for.
            next = (next + PERIOD).max(Instant::now());
            if let Err(error) = self.ticks.take(&mut self.marker, self.blocks.as_deref()) {
                self.shared.fail(error);
                return;
            }
            let ticks = self.ticks.bytes();
            control.bytes.store(ticks, Ordering::Relaxed);
            add_names(&mut self.seen, &kernel_file::read(&self.names).unwrap_or_default());
            let reached = self.limits.reached(ticks + self.shared.bytes.load(Ordering::Relaxed));
            if let (Some(reason), Ok(mut ended)) = (reached, control.ended.lock()) {
                ended.get_or_insert(reason);
            }
        }
    }
}

/// Sleeps until then; false if the recording ended meanwhile.
fn wait_until(control: &Control, time: Instant) -> bool {
    let Ok(mut stop) = control.stop.lock() else { return false };
    loop {
        let left = time.saturating_duration_since(Instant::now());
        if *stop || left.is_zero() {
            return !*stop;
        }
        match control.wake.wait_timeout(stop, left) {
            Ok((guard, _)) => stop = guard,
            Err(_) => return false,
        }
    }
}

/// Adds the lines of `saved_cmdlines`: number, blank, name.
fn add_names(names: &mut Names, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    names.extend(lines.filter_map(|(pid, name)| Some((pid.trim().parse().ok()?, name.to_owned()))));
}

/// All names seen, with the latest, in the kernel's form.
pub(crate) fn as_text(mut names: Names, latest: &[u8]) -> Vec<u8> {
    add_names(&mut names, latest);
    names.into_iter().map(|(pid, name)| format!("{pid} {name}\n")).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_what_is_still_to_come() {
        let here = Path::new(".");
        let limits = Limits::new(here, Some(100), 30, 20).unwrap();
        assert_eq!((limits.pages, limits.free), (Some(50), 50 + SPARE));
        assert_eq!(limits.reached(50), Some(StopReason::MaxSize));
        assert_eq!(limits.reached(49), None);
        let error = Limits::new(here, Some(50), 30, 20).unwrap_err().to_string();
        assert!(error.contains("--max-size 50 is too small"), "{error}");
        let nearly_full = Limits::new(here, None, u64::MAX / 2, 0).unwrap();
        assert_eq!(nearly_full.reached(0), Some(StopReason::DiskFull));
    }

    #[test]
    fn names_add_up() {
        let mut names = Names::new();
        add_names(&mut names, b"7 cc1\n12 sh -c\n");
        assert_eq!(as_text(names, b"7 ld\n1 init\nx y\n"), b"1 init\n7 ld\n12 sh -c\n");
    }
}
