//! Runs of scenarios in processes of their own, several at a time. A run's result depends on nothing but its order: not on how
//! many work, nor on who came first.

use crate::workers;
use lab::Digest;
use linux::child::dying_with_us;
use report::study::{CellId, RunFigures};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use workload::Scale;

/// A run that is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Scenario and variant.
    pub cell: CellId,
    /// Seed.
    pub seed: u64,
    /// Scale; the scenario's default if `None`.
    pub scale: Option<Scale>,
    /// Digest of the scenario's file, so that results of another version of it are not taken for its own.
    pub file: u64,
}

/// Why a run left nothing.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The process could not be started.
    #[error("{} seed {}: its process did not start: {source}", order.cell, order.seed)]
    Start {
        /// The run.
        order: Box<Order>,
        /// What the system says.
        source: io::Error,
    },
    /// The process ended without a result.
    #[error("{} seed {}: {status}{}", order.cell, order.seed, last_words(said))]
    Died {
        /// The run.
        order: Box<Order>,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to stderr.
        said: String,
    },
    /// What the process printed is no result.
    #[error("{} seed {}: its result cannot be read: {source}", order.cell, order.seed)]
    Garbled {
        /// The run.
        order: Box<Order>,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// The last line, which says why.
fn last_words(said: &str) -> String {
    said.lines().rfind(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim())).unwrap_or_default()
}

/// Who works, and where finished runs are kept.
pub struct Pool {
    /// Processes at a time.
    pub workers: NonZero<usize>,
    /// Finished runs, so that an interrupted study goes on where it was.
    pub cache: Option<Cache>,
}

/// A directory of finished runs.
pub struct Cache {
    directory: PathBuf,
    /// Digest of this program: another build may do otherwise.
    program: u64,
}

/// A finished run in the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    program: String,
    file: String,
    run: RunFigures,
}

impl Cache {
    /// The cache in a directory, which is made if it is needed.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(directory: &Path) -> io::Result<Cache> {
        fs::create_dir_all(directory)?;
        let program = digest_of(&fs::read(std::env::current_exe()?)?);
        Ok(Cache { directory: directory.to_owned(), program })
    }

    fn path(&self, order: &Order) -> PathBuf {
        let scale = order.scale.map(|scale| format!("-{scale}")).unwrap_or_default();
        let name = format!("{}{scale}-s{}", order.cell, order.seed);
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._=+-".contains(c) { c } else { '_' };
        self.directory.join(name.chars().map(plain).collect::<String>()).with_added_extension("json")
    }

    fn find(&self, order: &Order) -> Option<RunFigures> {
        let kept: Kept = serde_json::from_slice(&fs::read(self.path(order)).ok()?).ok()?;
        let same = kept.program == hex(self.program) && kept.file == hex(order.file);
        same.then_some(kept.run)
    }

    /// A run that can't be kept is done again next time: no reason to stop.
    fn keep(&self, order: &Order, run: &RunFigures) {
        let kept = Kept { program: hex(self.program), file: hex(order.file), run: run.clone() };
        let (path, fresh) = (self.path(order), self.path(order).with_added_extension("new"));
        if let Ok(text) = serde_json::to_vec(&kept)
            && fs::write(&fresh, text).is_ok()
        {
            let _ = fs::rename(&fresh, &path);
        }
    }
}

/// Digest of a file.
pub fn digest_of(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.fold(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        digest.fold(u64::from_le_bytes(word));
    }
    digest.value()
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

impl Pool {
    /// Does all runs. `done` hears of each as it ends, in the order in which they end; the results are in the order of the orders.
    pub fn run(
        &self,
        orders: &[Order],
        done: &(dyn Fn(usize, &Result<RunFigures, PoolError>) + Sync),
    ) -> Vec<Result<RunFigures, PoolError>> {
        workers::each(self.workers, orders, |at, order| {
            let result = self.one(order);
            done(at, &result);
            result
        })
    }

    fn one(&self, order: &Order) -> Result<RunFigures, PoolError> {
        if let Some(run) = self.cache.as_ref().and_then(|cache| cache.find(order)) {
            return Ok(run);
        }
        let run = in_process(order)?;
        if let Some(cache) = &self.cache {
            cache.keep(order, &run);
        }
        Ok(run)
    }
}

/// glibc's heap asks for huge pages (2.35 and later; others don't know the variable): a run of `kbuild-thp` takes a tenth less time.
const HUGE_HEAP: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// This program again, as the worker of one run.
fn in_process(order: &Order) -> Result<RunFigures, PoolError> {
    let boxed = || Box::new(order.clone());
    let started = || -> io::Result<Output> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", &order.cell.scenario, "--seed", &order.seed.to_string()]);
        for (option, value) in
            [("--variant", order.cell.variant.clone()), ("--scale", order.scale.map(|scale| scale.to_string()))]
        {
            command.args(value.iter().flat_map(|value| [option, value]));
        }
        if std::env::var_os(HUGE_HEAP.0).is_none() {
            command.env(HUGE_HEAP.0, HUGE_HEAP.1);
        }
        dying_with_us(command.stdin(Stdio::null())).output()
    };
    let output = started().map_err(|source| PoolError::Start { order: boxed(), source })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(PoolError::Died { order: boxed(), status: output.status, said });
    }
    serde_json::from_slice(&output.stdout).map_err(|source| PoolError::Garbled { order: boxed(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64, file: u64) -> Order {
        Order { cell: "s:v/w".parse().expect("a cell"), seed, scale: "1/8".parse().ok(), file }
    }

    #[test]
    fn the_cache_knows_its_own_runs_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::open(directory.path()).expect("opened");
        let run = RunFigures { event_digest: "1".into(), ..RunFigures::default() };
        cache.keep(&order(1, 5), &run);
        assert_eq!(cache.find(&order(1, 5)), Some(run));
        assert_eq!(cache.find(&order(2, 5)), None, "another seed");
        assert_eq!(cache.find(&order(1, 6)), None, "another version of the scenario");
        let rebuilt = Cache { program: cache.program ^ 1, directory: directory.path().to_owned() };
        assert_eq!(rebuilt.find(&order(1, 5)), None, "another build");
    }

    #[test]
    fn a_lost_run_is_named() {
        let error = PoolError::Garbled {
            order: Box::new(order(3, 0)),
            source: serde_json::from_str::<RunFigures>("").expect_err("empty"),
        };
        assert!(error.to_string().starts_with("s:v/w seed 3: its result cannot be read"), "{error}");
        assert_eq!(last_words("sim: 3 s\nerror: broken invariant: x\n\n"), ": error: broken invariant: x");
    }
}
