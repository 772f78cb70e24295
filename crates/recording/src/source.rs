//! Opening a recording: what there is, what machine it is of, and whether its parts fit together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::bursts::{self, Burst};
use crate::error::{Error, SourceName};
use crate::files::Files;
use crate::meta::Meta;
use crate::proc::ticks::{self, Tick};
use crate::quote::cited;
use crate::snapshot::Snapshot;
use crate::topology::Topology;
use crate::trace::Trace;

/// A recording: a directory or archive of traces and snapshots, or a bare trace.
///
/// Traces are read when they are first asked for; everything else is read, and checked, by
/// [`Recording::open`].
#[derive(Debug)]
pub struct Recording {
    /// The directory, archive or trace it was opened with.
    pub path: PathBuf,
    /// Release of the recorded kernel, for instance `6.18.15+deb13-cloud-amd64`.
    pub kernel_version: Option<String>,
    /// Version that the distribution built it from, for instance `6.1.192-2` of release `6.1.0-56-cloud-amd64`; `None` where
    /// `/proc/version` names none (it does on Debian).
    pub kernel_base: Option<String>,
    /// Settings of the recorded machine; see [`Recording::setting`].
    pub sysctls: BTreeMap<String, String>,
    /// What fraglab's recorder noted of what it recorded: `events`, `probes`, `pagestate` and so on (docs/recording.md).
    pub recorder: BTreeMap<String, String>,
    /// The recorded kernel's command line.
    pub cmdline: Option<String>,
    /// Number of CPUs of the recorded machine that were online.
    pub cpus: Option<u32>,
    /// Their numbers, in ascending order; empty where they are not known.
    pub(crate) cpu_numbers: Vec<u16>,
    /// Their nodes, and these nodes' distances.
    pub(crate) topology: Topology,
    /// What /proc said every second.
    pub ticks: Vec<Tick>,
    /// Line of `ticks.txt` at which a last tick begins that is not among them, since the file ends in it.
    pub tick_cut_short: Option<u64>,
    /// Snapshots by tag, for instance `start`.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Bursts of huge-page faults.
    pub bursts: Vec<Burst>,
    /// Tag of the snapshot or tick at which the page trace was cut; `None` if it was not.
    pub cut_tag: Option<String>,
    pub(crate) files: Files,
    page_trace_name: Option<String>,
    /// Other files that are named like page traces.
    pub(crate) other_page_traces: Vec<String>,
    rare_trace_name: Option<String>,
    page_trace: OnceLock<Trace>,
    rare_trace: OnceLock<Trace>,
}

impl Recording {
    /// Opens a directory, an archive (`.tar`, `.tar.xz`) or a bare trace (trace.dat or text,
    /// possibly `.xz`).
    ///
    /// # Errors
    ///
    /// When there is nothing of that name or no trace in it, when a snapshot is damaged, or when
    /// parts cannot be of one machine.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path).map_err(Error::io(path, "opening"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if metadata.is_dir() {
            Self::from_files(path, Files::in_directory(path)?)
        } else if name.ends_with(".tar") || name.ends_with(".tar.xz") {
            Self::from_files(path, Files::in_archive(path)?)
        } else if is_device(metadata.file_type()) {
            Err(Error::NotAFile { path: path.to_path_buf() })
        } else {
            let mut recording = Self::empty(path, Files::default());
            recording.page_trace = Trace::open(path)?.into();
            Ok(recording)
        }
    }

    fn empty(path: &Path, files: Files) -> Self {
        Self {
            path: path.to_path_buf(),
            kernel_version: None,
            kernel_base: None,
            sysctls: BTreeMap::new(),
            recorder: BTreeMap::new(),
            cmdline: None,
            cpus: None,
            cpu_numbers: Vec::new(),
            topology: Topology::default(),
            ticks: Vec::new(),
            tick_cut_short: None,
            snapshots: BTreeMap::new(),
            bursts: Vec::new(),
            cut_tag: None,
            files,
            page_trace_name: None,
            other_page_traces: Vec::new(),
            rare_trace_name: None,
            page_trace: OnceLock::new(),
            rare_trace: OnceLock::new(),
        }
    }

    fn from_files(path: &Path, files: Files) -> Result<Self, Error> {
        let mut recording = Self::empty(path, files);
        let files = &recording.files;
        let mut page_traces = page_traces(files).into_iter();
        recording.page_trace_name = page_traces.next();
        recording.other_page_traces = page_traces.collect();
        recording.rare_trace_name = first_of(files, &["rare.dat", "rare.trace", "rare.txt"]);
        if recording.page_trace_name.is_none() && recording.rare_trace_name.is_none() {
            says_its_packer(files, &["all", "trace.", "rare."])?;
            return Err(Error::Missing {
                path: path.to_path_buf(),
                what: "a trace (all*.dat, trace.dat, trace.txt or rare.dat)".into(),
                advice: "give a directory with one, or the trace itself",
            });
        }
        let meta = Meta::read(files)?;
        let ticks = files.read_text("ticks.txt")?;
        (recording.ticks, recording.tick_cut_short) =
            ticks.map_or(Ok((Vec::new(), None)), |(path, text)| ticks::parse(&path, &text))?;
        let bursts = files.read_text("bursts.tsv")?;
        recording.bursts = bursts.map_or(Ok(Vec::new()), |(path, text)| bursts::parse(&path, &text))?;
        recording.snapshots = Snapshot::read_all(files)?;
        let cut = files.read_text("cut.txt")?;
        let word = cut.as_ref().and_then(|(_, text)| text.split_ascii_whitespace().next());
        recording.cut_tag = word.map(str::to_owned).or_else(|| tag_in_name(recording.page_trace_name.as_deref()?));
        recording.kernel_version = meta.kernel_version;
        recording.kernel_base = meta.kernel_base;
        recording.cmdline = meta.cmdline;
        recording.recorder = meta.recorder;
        recording.cpus = u32::try_from(meta.cpus.len()).ok().filter(|cpus| *cpus > 0);
        recording.cpu_numbers = meta.cpus;
        recording.topology = meta.topology;
        recording.sysctls = meta.settings;
        recording.check_frames()?;
        Ok(recording)
    }

    /// The trace of all page allocations and frees; of a bare trace, that trace.
    ///
    /// # Errors
    ///
    /// When the recording has none, or it cannot be read, or is of another machine.
    pub fn page_trace(&self) -> Result<&Trace, Error> {
        if !self.has_page_trace() {
            says_its_packer(&self.files, &["all", "trace."])?;
        }
        self.load(
            &self.page_trace,
            self.page_trace_name.as_deref(),
            "the page trace (all*.dat, trace.dat or trace.txt)",
        )
    }

    /// The trace of the rare events over the whole recording.
    ///
    /// # Errors
    ///
    /// As for [`Recording::page_trace`].
    pub fn rare_trace(&self) -> Result<&Trace, Error> {
        self.load(&self.rare_trace, self.rare_trace_name.as_deref(), "the rare trace (rare.dat or rare.txt)")
    }

    /// Whether there is a page trace.
    pub fn has_page_trace(&self) -> bool {
        self.page_trace.get().is_some() || self.page_trace_name.is_some()
    }

    /// The page trace's name among the files; none of a bare trace.
    pub(crate) fn page_trace_name(&self) -> Option<&str> {
        self.page_trace_name.as_deref()
    }

    /// Whether there is a trace of the rare events.
    pub fn has_rare_trace(&self) -> bool {
        self.rare_trace_name.is_some()
    }

    /// A setting of the recorded machine: `vm.<name>` and so on for sysctls,
    /// `transparent_hugepage/<name>` and `lru_gen/<name>` for files under `/sys/kernel/mm`. Of a
    /// choice like `always [madvise] never`, the one that was in force.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let value = self.sysctls.get(name)?;
        let chosen = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Some(chosen.map_or(value.as_str(), |(choice, _)| choice))
    }

    /// What the recording says of a node: its CPUs as the kernel lists them, such as `0-3,8`, and its distances to all nodes that were
    /// online (10: itself). `None` where it says of no node which CPUs are its own.
    pub fn node(&self, node: u8) -> Option<(String, &[u8])> {
        self.topology.node(node)
    }

    /// Number of page frames of the recorded machine, from 0; `None` without snapshots.
    pub fn frames(&self) -> Option<u64> {
        self.snapshots.values().find_map(Snapshot::frames)
    }

    /// The error of a trace that speaks of a page frame which the snapshots do not have.
    pub(crate) fn beyond_memory(&self, pfn: u64, frames: u64) -> Error {
        self.mismatch(format!("the trace has page frame {pfn:#x}, but the snapshots end at {frames:#x}"))
    }

    /// An error that says which parts do not fit together.
    pub(crate) fn mismatch(&self, problem: String) -> Error {
        Error::Mismatch { path: self.path.clone(), problem: problem.into() }
    }

    /// An error that says why one file does not fit the rest of the recording.
    pub(crate) fn mismatch_of(&self, file: &str, problem: String) -> Error {
        Error::Mismatch { path: self.name_of(file).to_path_buf(), problem: problem.into() }
    }

    /// What to call a file of the recording in messages, whether it is there or should be.
    pub fn name_of(&self, file: &str) -> SourceName {
        self.files.name_of(file).unwrap_or_else(|| self.path.join(file).into())
    }

    fn load<'a>(&'a self, cell: &'a OnceLock<Trace>, name: Option<&str>, what: &str) -> Result<&'a Trace, Error> {
        if let Some(trace) = cell.get() {
            return Ok(trace);
        }
        let file = name.map(|name| self.files.read(name)).transpose()?.flatten();
        let (path, bytes) = file.ok_or_else(|| Error::Missing {
            path: self.path.clone(),
            what: what.into(),
            advice: "record it, or use a recording that has it",
        })?;
        let trace = Trace::from_bytes(&path, bytes)?;
        self.check_trace(&trace)?;
        Ok(cell.get_or_init(|| trace))
    }

    /// Whether a trace can be of the machine that the rest describes.
    fn check_trace(&self, trace: &Trace) -> Result<(), Error> {
        let Trace::Dat(dat) = trace else {
            return Ok(());
        };
        let last = dat.main_buffer().cpus().last();
        if let (Some(highest), Some(last)) = (self.cpu_numbers.last(), last)
            && last > *highest
        {
            return Err(
                self.mismatch(format!("the trace has events of CPU {last}, but the machine's last one is {highest}"))
            );
        }
        if let (Some(kernel), Some(uname)) = (&self.kernel_version, &dat.options().uname)
            && !uname.contains(kernel.as_str())
        {
            return Err(self.mismatch(format!(
                "the trace is of `{}`, but the snapshots are of kernel {}",
                cited(uname),
                cited(kernel)
            )));
        }
        Ok(())
    }

    /// Whether all snapshots and ticks have the same number of page frames and pageblocks.
    fn check_frames(&self) -> Result<(), Error> {
        let mut frames = self.snapshots.values().filter_map(|one| Some((&one.tag, one.frames()?)));
        let mut blocks = self.snapshots.values().map(|one| (&*one.tag, one.pageblocks.len()));
        if let Some((first, count)) = frames.next()
            && let Some((other, differs)) = frames.find(|(_, frames)| *frames != count)
        {
            return Err(self.mismatch(format!("snapshot {first} has {count} page frames, but {other} has {differs}")));
        }
        let of_ticks = self.ticks.iter().map(|tick| ("a tick", tick.pageblocks.len()));
        let first = blocks.find(|(_, count)| *count > 0);
        let mut others = blocks.chain(of_ticks).filter(|(_, count)| *count > 0);
        if let Some((first, count)) = first
            && let Some((other, differs)) = others.find(|(_, blocks)| *blocks != count)
        {
            return Err(self.mismatch(format!("snapshot {first} has {count} pageblocks, but {other} has {differs}")));
        }
        Ok(())
    }
}

fn first_of(files: &Files, names: &[&str]) -> Option<String> {
    let found = names.iter().find(|wanted| files.names().any(|name| name == **wanted));
    found.map(|name| (*name).to_owned())
}

/// `all*.dat` as the recorder names it, then what people call their traces. The first is read.
fn page_traces(files: &Files) -> Vec<String> {
    let own = files.names().filter(|name| name.starts_with("all") && name.ends_with(".dat"));
    let usual = ["trace.dat", "trace.txt", "trace", "all.trace", "all.txt"];
    let usual = usual.into_iter().filter(|wanted| files.names().any(|name| name == *wanted));
    own.chain(usual).map(str::to_owned).collect()
}

/// Whether a trace, by how its name begins, is packed as it is not read: an error that says so. Better than that there is no trace.
fn says_its_packer(files: &Files, traces: &[&str]) -> Result<(), Error> {
    let packed = [".gz", ".zst", ".bz2", ".lz4", ".zip"];
    let is_packed = |name: &&str| {
        traces.iter().any(|trace| name.starts_with(trace)) && packed.iter().any(|ending| name.ends_with(ending))
    };
    match files.names().find(is_packed).map(|name| files.read(name)).transpose()?.flatten() {
        // It is no trace as it is, and reading it says why.
        Some((name, bytes)) => Trace::from_bytes(&name, bytes).map(drop),
        None => Ok(()),
    }
}

/// What has no end, or can't be read. A pipe has an end: `fraglab inspect <(ssh host cat trace.dat)` works.
#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device() || kind.is_socket()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// `all-start-to-<tag>.dat`.
fn tag_in_name(name: &str) -> Option<String> {
    let tag = name.strip_prefix("all-start-to-")?.strip_suffix(".dat")?;
    Some(tag.to_owned())
}
