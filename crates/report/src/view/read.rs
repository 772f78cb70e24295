//! Reading a view that a run left.

use super::{Chunk, ChunkError, Events, FrameReader, MapError, Run, SCHEMA, VERSION, VIEW_FILE, View};
use crate::runs_in;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a view can't be read; says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Read {
        /// What was being read.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// It is a recording, or an older fraglab made the run.
    #[error(
        "{} has no {VIEW_FILE}: give a run directory, as -o of `run` and `replay` leaves it (one of an older fraglab has to be made again)",
        .0.display()
    )]
    NoView(PathBuf),
    /// The file does not hold a view.
    #[error("{}: {what}; make the run again", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It holds run directories, and is none.
    #[error(
        "{} holds a run directory for each of {count} seeds: name one of them, such as {}",
        dir.display(), first.display()
    )]
    SeveralSeeds {
        /// What was named.
        dir: PathBuf,
        /// How many it holds.
        count: usize,
        /// The first of them.
        first: PathBuf,
    },
    /// The view is of a later fraglab.
    #[error("{}: version {version} of views is not known here; use the fraglab that wrote it", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
}

impl ViewError {
    fn no_view(dir: &Path) -> ViewError {
        match runs_in(dir).as_deref() {
            Some([first, rest @ ..]) => {
                ViewError::SeveralSeeds { dir: dir.into(), count: rest.len() + 1, first: first.clone() }
            }
            _ => ViewError::NoView(dir.into()),
        }
    }
}

impl View {
    /// The view of a run directory. All its numbers are known to unpack.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn of_run_dir(dir: &Path) -> Result<View, ViewError> {
        let path = dir.join(VIEW_FILE);
        match fs::read_to_string(&path) {
            Ok(text) => View::parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ViewError::no_view(dir)),
            Err(source) => Err(ViewError::Read { path, source }),
        }
    }

    /// The view that a text holds; `path` is for messages.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn parse(path: &Path, text: &str) -> Result<View, ViewError> {
        let damaged = |what: String| ViewError::Damaged { path: path.into(), what };
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        if value["schema"] != SCHEMA {
            return Err(damaged(format!("its schema is not \"{SCHEMA}\"")));
        }
        match value["version"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => return Err(ViewError::Version { path: path.into(), version }),
            None => return Err(damaged("it has no version".to_owned())),
        }
        let view: View = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        for run in &view.runs {
            run.check().map_err(|error| damaged(format!("run `{}`: {error}", run.name)))?;
        }
        Ok(view)
    }
}

/// What does not fit together in a run.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    #[error(transparent)]
    Map(#[from] MapError),
    #[error("series `{0}` has another length than its clock")]
    Clock(String),
    #[error("its events have columns of different lengths")]
    Events,
}

impl Run {
    /// Whether everything unpacks and fits together.
    fn check(&self) -> Result<(), RunError> {
        let clocks: Vec<usize> =
            self.clocks.iter().map(|clock| Ok(clock.to_f32()?.len())).collect::<Result<_, ChunkError>>()?;
        for series in &self.series {
            for chunk in std::iter::once(&series.value).chain(&series.low).chain(&series.high) {
                if clocks.get(series.times) != Some(&chunk.to_f32()?.len()) {
                    return Err(RunError::Clock(series.name.clone()));
                }
            }
        }
        if let Some(map) = &self.map {
            FrameReader::new(map)?;
        }
        let Events { time, block, kind, alloc_type, block_type, alloc_order, fallback_order } = &self.events;
        let bytes = [kind, alloc_type, block_type, alloc_order, fallback_order];
        let lengths: Vec<usize> =
            bytes.into_iter().map(|chunk: &Chunk| Ok(chunk.to_u8()?.len())).collect::<Result<_, ChunkError>>()?;
        let first = time.to_f32()?.len();
        let same = block.to_u32()?.len() == first && lengths.iter().all(|length| *length == first);
        if same { Ok(()) } else { Err(RunError::Events) }
    }
}
