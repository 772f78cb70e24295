//! A recording that runs: its threads, and its end.

use super::assemble;
use super::clock;
use super::error::RecordError;
use super::facts::{self, Roots};
use super::kernel_file;
use super::memmap::Memmap;
use super::options::RecordOptions;
use super::owner::Owner;
use super::session::{Session, counts};
use super::snapshot;
use super::stop_reason::StopReason;
use super::stream::{Reader, Shared};
use super::ticker::{Limits, Names, Ticker, Work, as_text};
use super::ticks::{Blocks, Ticks};
use super::tracedat::{Ending, TraceDat};
use super::tracefs::Tracefs;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A reader's stack: it calls nothing deep.
const STACK: usize = 256 << 10;
/// What formats, settings and process names take at most.
const TEXTS: u64 = 2 << 20;

/// How a recording goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Time since the start.
    pub elapsed: Duration,
    /// Events so far.
    pub events: u64,
    /// Events that the kernel lost.
    pub lost: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// CPU time of this process, in seconds, since the start.
    pub cpu_seconds: f64,
}

/// What a recording came to.
#[derive(Debug)]
pub struct Summary {
    /// Its directory.
    pub output: PathBuf,
    /// Why it ended.
    pub reason: StopReason,
    /// Time from start to end.
    pub elapsed: Duration,
    /// Events in it.
    pub events: u64,
    /// Events that the kernel lost.
    pub lost: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// CPU time of this process, in seconds, until tracing went off.
    pub cpu_seconds: f64,
    /// What went wrong; what was recorded until then is there.
    pub failure: Option<RecordError>,
}

/// A recording that runs. Dropping it without [`Recorder::stop`] restores tracefs, and leaves the directory unfinished.
#[derive(Debug)]
pub struct Recorder {
    output: PathBuf,
    trace_path: PathBuf,
    trace: Option<TraceDat>,
    proc: PathBuf,
    cpus: Vec<u16>,
    started: Instant,
    cpu_before: f64,
    fixed_bytes: u64,
    blocks: Option<Arc<Blocks>>,
    shared: Arc<Shared>,
    readers: Vec<JoinHandle<()>>,
    ticker: Option<Ticker>,
    // What is dropped last: nobody may have a file of the instance open when it is removed.
    marker: File,
    session: Session,
}

impl Recorder {
    /// Starts to record; returns when the start snapshot is taken.
    ///
    /// # Errors
    /// When there is no tracefs, or the user may not use it, or the directory cannot be written. Nothing stays behind in
    /// tracefs.
    pub fn start(options: &RecordOptions) -> Result<Self, RecordError> {
        let roots = Roots::default();
        let tracefs = Tracefs::open(options.tracefs.as_deref())?;
        check_output(&options.output)?;
        // A reader that waits for its own pages to be read from swap loses events.
        let _ = rustix::mm::mlockall(locked());
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ring = options.buffer_of(super::memory(&roots.proc), cpus);
        let frames = snapshot::frames(&roots.proc.join("kpageflags"));
        let memmap = Memmap::open(&roots.proc, &roots.sys, frames);
        let session = Session::open(&tracefs, options.events, options.probes, ring)?;
        // It was empty, or was not there.
        Self::begin(options, roots, session, memmap, ring).inspect_err(|_| drop(fs::remove_dir_all(&options.output)))
    }

    /// Makes the directory, and lets the recording run.
    fn begin(
        options: &RecordOptions,
        roots: Roots,
        session: Session,
        memmap: Result<Memmap, String>,
        ring: u64,
    ) -> Result<Self, RecordError> {
        let frames = snapshot::frames(&roots.proc.join("kpageflags"));
        let meta = options.output.join("meta");
        fs::create_dir_all(&meta).map_err(RecordError::io(&meta, "making the directory"))?;
        let mut fixed_bytes = facts::save(&meta, &roots)?;
        fixed_bytes += save_choices(&meta, options, &session, &memmap)?;
        let order = pageblock_order(&roots.proc);
        let blocks = memmap.ok().map(|memmap| Blocks { memmap: Arc::new(memmap), frames, order });
        let name = if options.events.has_pages() { "trace.dat" } else { "rare.dat" };
        let trace_path = options.output.join(name);
        let trace = TraceDat::create(&trace_path, session.page_size()? as u32, &session.formats()?)?;
        let cpus = session.instance.cpus()?;
        let snapshots = frames * (8 + 8 + 2);
        let reserve = snapshots + ring * cpus.len() as u64;
        let limits = Limits::new(&options.output, options.max_size, reserve, 2 * snapshots + TEXTS)?;
        let mut recorder = Self {
            output: options.output.clone(),
            trace_path,
            trace: Some(trace),
            proc: roots.proc,
            cpus,
            started: Instant::now(),
            cpu_before: clock::process_cpu_seconds(),
            fixed_bytes,
            blocks: blocks.map(Arc::new),
            shared: Arc::default(),
            readers: Vec::new(),
            ticker: None,
            marker: session.instance.marker()?,
            session,
        };
        recorder.run(ring, limits)?;
        Ok(recorder)
    }

    fn run(&mut self, ring: u64, limits: Limits) -> Result<(), RecordError> {
        let page_size = self.session.page_size()?;
        for &cpu in &self.cpus {
            let file = assemble::pages_path(&self.trace_path, cpu);
            let reader = Reader::new(self.session.instance.raw_pipe(cpu)?, &file, page_size, ring)?;
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name(format!("reader{cpu}")).stack_size(STACK);
            let handle = builder.spawn(move || reader.run(&shared));
            self.readers.push(handle.map_err(RecordError::io(&file, "starting a thread for"))?);
        }
        self.session.trace(true)?;
        let mut ticks = Ticks::create(&self.output.join("ticks.txt"), &self.proc)?;
        let blocks = self.blocks.as_deref();
        ticks.take(&mut self.marker, blocks)?;
        self.fixed_bytes += snapshot::take("start", &self.output, &self.proc, &mut self.marker, blocks)?;
        let path = &self.trace_path;
        let marker = self.marker.try_clone().map_err(RecordError::io(path, "opening the marker for"))?;
        let names = self.session.cmdlines_path();
        let (blocks, shared) = (self.blocks.clone(), Arc::clone(&self.shared));
        let ticker = Ticker::start(Work { ticks, marker, blocks, shared, limits, names, seen: Names::new() });
        self.ticker = Some(ticker.map_err(RecordError::io(path, "starting a thread for"))?);
        Ok(())
    }

    /// Puts a mark into the trace. If the kernel does not take it, the recording must be stopped: it would say nothing of what
    /// the mark is for.
    pub fn mark(&self, text: &str) {
        let result = (&self.marker).write_all(format!("{text}\n").as_bytes());
        if let Err(error) = result {
            self.shared.fail(RecordError::tracefs(&self.session.instance.path("trace_marker"), "writing")(error));
        }
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        let stats = self.session.stats(&self.cpus);
        let (events, lost) = stats.iter().map(|stats| counts(stats)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let ticks = self.ticker.as_ref().map_or(0, Ticker::bytes);
        Status {
            elapsed: self.started.elapsed(),
            events,
            lost,
            bytes: self.fixed_bytes + ticks + self.shared.bytes.load(Ordering::Relaxed),
            cpu_seconds: clock::process_cpu_seconds() - self.cpu_before,
        }
    }

    /// Why it must be stopped now, if it must: a bound is reached, or something failed.
    pub fn must_stop(&self) -> Option<StopReason> {
        let ended = self.ticker.as_ref().and_then(Ticker::ended);
        ended.or_else(|| self.shared.failed.load(Ordering::Acquire).then_some(StopReason::Failed))
    }

    /// Ends the recording: a last sample and snapshot, then the trace is put together and tracefs is as it was.
    ///
    /// # Errors
    /// When the trace cannot be completed. Tracefs is restored all the same. What failed earlier is in the summary.
    pub fn stop(mut self) -> Result<Summary, RecordError> {
        let reason = self.must_stop().unwrap_or(StopReason::Asked);
        let mut names = Default::default();
        if let Some((mut ticks, seen)) = self.ticker.take().and_then(Ticker::finish) {
            names = seen;
            let blocks = self.blocks.as_deref();
            let last = ticks.take(&mut self.marker, blocks);
            let end = last.and_then(|()| snapshot::take("end", &self.output, &self.proc, &mut self.marker, blocks));
            self.fixed_bytes += ticks.bytes();
            match end {
                Ok(size) => self.fixed_bytes += size,
                Err(error) => self.shared.fail(error),
            }
        }
        self.session.trace(false)?;
        self.halt();
        let status = self.status();
        let ending = Ending {
            clock: self.session.clock.to_owned(),
            uname: uname(),
            cpus: self.cpus.len() as u32,
            cmdlines: as_text(names, &kernel_file::read(&self.session.cmdlines_path()).unwrap_or_default()),
            stats: self.session.stats(&self.cpus),
        };
        let mut summary = Summary {
            output: self.output.clone(),
            reason,
            elapsed: status.elapsed,
            events: status.events,
            lost: status.lost,
            bytes: status.bytes,
            cpu_seconds: status.cpu_seconds,
            failure: self.shared.take_failure(),
        };
        if summary.failure.as_ref().is_some_and(RecordError::is_disk_full) {
            summary.reason = StopReason::DiskFull;
        }
        self.finish(&ending)?;
        summary.bytes = size_of(&self.output);
        Ok(summary)
    }

    /// Writes the trace.
    fn finish(&mut self, ending: &Ending) -> Result<(), RecordError> {
        let Some(mut trace) = self.trace.take() else { return Ok(()) };
        assemble::move_pages(&mut trace, &self.trace_path, &self.cpus)?;
        trace.finish(ending)?;
        Ok(())
    }

    /// Ends all threads.
    fn halt(&mut self) {
        drop(self.ticker.take().and_then(Ticker::finish));
        self.shared.drain.store(true, Ordering::Release);
        for reader in self.readers.drain(..) {
            if reader.join().is_err() {
                self.shared.failed.store(true, Ordering::Release);
            }
        }
        let _ = rustix::mm::munlockall();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // After `stop`, there is nothing left to end.
        let _ = self.session.trace(false);
        self.halt();
    }
}

fn locked() -> rustix::mm::MlockAllFlags {
    use rustix::mm::MlockAllFlags;
    // Only what is used: stacks are larger than they need to be.
    MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT
}

/// The directory must have nothing in it, if it is there.
fn check_output(output: &Path) -> Result<(), RecordError> {
    let taken = match fs::read_dir(output) {
        Ok(entries) => entries.count() > 0,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(RecordError::io(output, "listing")(error)),
    };
    if taken { Err(RecordError::OutputTaken { path: output.to_path_buf() }) } else { Ok(()) }
}

/// What was chosen and what the kernel allowed, as `meta/fraglab`: lines of `name=value`.
fn save_choices(
    meta: &Path,
    options: &RecordOptions,
    session: &Session,
    memmap: &Result<Memmap, String>,
) -> Result<u64, RecordError> {
    let mut text = format!("recorder=fraglab {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name}={}\n", value.replace('\n', " ")));
    line("owner", &Owner::this_process().instance());
    line("clock", session.clock);
    line("uname", &uname());
    line("events", options.events.name());
    line("missing_events", &session.missing.join(" "));
    line("probes", &session.probing.join(" "));
    match memmap {
        Ok(memmap) => {
            let (base, size) = memmap.base();
            line("pagestate", "kcore");
            line("pageblocks", if memmap.has_pageblocks() { "kcore" } else { "not recorded: no BTF" });
            line("vmemmap_base", &format!("{base:#x}"));
            line("struct_page_bytes", &size.to_string());
        }
        Err(reason) => line("pagestate", &format!("not recorded: {reason}")),
    }
    let path = meta.join("fraglab");
    fs::write(&path, &text).map_err(RecordError::io(&path, "writing"))?;
    Ok(text.len() as u64)
}

/// `Page block order: 9` of /proc/pagetypeinfo.
fn pageblock_order(proc: &Path) -> u32 {
    let text = kernel_file::read_text(&proc.join("pagetypeinfo")).unwrap_or_default();
    let order = text.lines().find_map(|line| line.strip_prefix("Page block order:"));
    order.and_then(|order| order.trim().parse().ok()).unwrap_or(9)
}

fn uname() -> String {
    let name = rustix::system::uname();
    let parts = [name.sysname(), name.nodename(), name.release(), name.machine()];
    parts.map(|part| part.to_string_lossy().into_owned()).join(" ")
}

/// Bytes of all files in a directory and those in it.
fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
