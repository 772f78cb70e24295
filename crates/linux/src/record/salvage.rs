//! Completing the recording of a recorder that was killed: its pages are on disk, only their order in one file is missing.

use super::assemble;
use super::error::RecordError;
use super::owner;
use super::tracedat::{Ending, TraceDat};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names of the trace, by set of events.
const TRACES: [&str; 2] = ["trace.dat", "rare.dat"];

/// What was put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// The trace.
    pub trace: PathBuf,
    /// Bytes of ring-buffer pages in it.
    pub bytes: u64,
    /// CPUs with pages.
    pub cpus: usize,
}

/// Puts the trace of a killed recorder together. What the kernel's buffers held when it was killed is lost, and how much
/// that was is not known; names of processes, statistics and the end snapshot are missing.
///
/// # Errors
/// When the directory is no such recording, or its recorder still runs. The directory is then as it was.
pub fn salvage(recording: &Path) -> Result<Salvaged, RecordError> {
    let choices_path = recording.join("meta").join("fraglab");
    let choices = fs::read_to_string(&choices_path).map_err(RecordError::io(&choices_path, "reading"))?;
    let choice = |name: &str| choices.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let owner = choice("owner").unwrap_or_default();
    match owner::recorder_lives(owner, Path::new("/proc")) {
        Some(false) => {}
        Some(true) => return Err(RecordError::StillRecording { path: recording.to_path_buf() }),
        None => {
            let problem =
                "it does not say who recorded: the recording is of an older fraglab, or of another program".to_owned();
            return Err(RecordError::Unexpected { path: choices_path, problem });
        }
    }
    let path = TRACES.map(|name| recording.join(name)).into_iter().find(|path| path.exists());
    let path = path.ok_or_else(|| RecordError::Unexpected {
        path: recording.to_path_buf(),
        problem: "there is no trace: the recorder was killed before it recorded".to_owned(),
    })?;
    let mut trace = TraceDat::reopen(&path)?;
    let cpus = cpus_with_pages(&path)?;
    let bytes = drop_half_pages(&path, &cpus, u64::from(trace.page_size()))?;
    assemble::move_pages(&mut trace, &path, &cpus)?;
    trace.finish(&Ending {
        clock: choice("clock").unwrap_or("local").to_owned(),
        uname: choice("uname").unwrap_or_default().to_owned(),
        cpus: cpus.last().map_or(0, |last| u32::from(*last) + 1),
        cmdlines: Vec::new(),
        stats: Vec::new(),
    })?;
    let noted = OpenOptions::new().append(true).open(&choices_path);
    let noted = noted.and_then(|mut file| file.write_all(b"salvaged=the recorder was killed\n"));
    noted.map_err(RecordError::io(&choices_path, "writing"))?;
    Ok(Salvaged { trace: path, bytes, cpus: cpus.len() })
}

/// The CPUs whose pages lie beside the trace.
fn cpus_with_pages(trace: &Path) -> Result<Vec<u16>, RecordError> {
    let directory = trace.parent().unwrap_or(Path::new("."));
    let entries = fs::read_dir(directory).map_err(RecordError::io(directory, "listing"))?;
    let prefix = format!("{}.cpu", trace.file_name().unwrap_or_default().to_string_lossy());
    let cpu = |name: &str| name.strip_prefix(&prefix)?.parse::<u16>().ok();
    let mut cpus: Vec<u16> = entries.flatten().filter_map(|entry| cpu(&entry.file_name().to_string_lossy())).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

/// Cuts off what the kill left of a page that was being written; returns the bytes of the rest.
fn drop_half_pages(trace: &Path, cpus: &[u16], page_size: u64) -> Result<u64, RecordError> {
    let mut bytes = 0;
    for &cpu in cpus {
        let path = assemble::pages_path(trace, cpu);
        let file = OpenOptions::new().write(true).open(&path).map_err(RecordError::io(&path, "opening"))?;
        let size = file.metadata().map_err(RecordError::io(&path, "reading"))?.len();
        let whole = size - size % page_size.max(1);
        file.set_len(whole).map_err(RecordError::io(&path, "cutting"))?;
        bytes += whole;
    }
    Ok(bytes)
}
