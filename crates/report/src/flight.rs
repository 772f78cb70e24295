//! A run in flight: what it says of itself while it goes on. It lies in a hidden directory beside the results to come, which goes
//! when the run ends; of a run that was killed, the lock that it held tells.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How names of directories of runs in flight begin.
pub const PREFIX: &str = ".fraglab-run-";
/// Value of the `schema` key.
const SCHEMA: &str = "fraglab.flight";
const FILE: &str = "flight.json";
/// Locked for as long as the run goes on.
const ALIVE: &str = "alive";
/// News come no oftener: who looks is a person.
const INTERVAL: Duration = Duration::from_millis(300);

/// What a run says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flight {
    /// `fraglab.flight`.
    schema: String,
    /// Scenario, recording or study.
    pub subject: String,
    /// Where its results will be, as the command line named it.
    pub target: String,
    /// Command line.
    pub command_line: Vec<String>,
    /// When it began, seconds since 1970.
    pub started: u64,
    /// Its columns, or the cells of a study.
    pub columns: Vec<Leg>,
}

/// One column of a run in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Name of the column.
    pub name: String,
    /// How far it is.
    pub state: LegState,
    /// How much of `whole` is done, in `unit`.
    pub done: f64,
    /// At most so much there is to do; `None` if nobody knows.
    pub whole: Option<f64>,
    /// What is counted: `virtual seconds`, `runs`, `percent`.
    pub unit: String,
    /// Figures so far, under the names of the report's rows.
    pub figures: BTreeMap<String, u64>,
}

/// How far a column is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LegState {
    /// Not begun.
    #[default]
    Waiting,
    /// Going on.
    Running,
    /// At its end.
    Done,
}

impl Flight {
    /// A run of this process that begins now.
    pub fn of_this_process(subject: &str, target: &Path, columns: Vec<Leg>) -> Flight {
        Flight {
            schema: SCHEMA.to_owned(),
            subject: subject.to_owned(),
            target: target.display().to_string(),
            command_line: crate::manifest::command_line(crate::manifest::words_of_this_process()),
            started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            columns,
        }
    }

    /// The run whose hidden directory this is, if it still goes on.
    pub fn read(directory: &Path) -> Option<Flight> {
        let goes_on =
            matches!(File::open(directory.join(ALIVE)).ok()?.try_lock_shared(), Err(TryLockError::WouldBlock));
        let flight: Flight = serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()?;
        (goes_on && flight.schema == SCHEMA).then_some(flight)
    }
}

/// The news of a run in flight. That they can't be written is no reason to end a run.
pub struct News {
    directory: PathBuf,
    /// Held, not read: its lock ends with the process, however that ends.
    _alive: File,
    told: Mutex<(Flight, Instant)>,
}

impl News {
    /// Begins to tell in the run's hidden directory, which is there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn begin(directory: &Path, flight: Flight) -> io::Result<News> {
        let alive = File::create(directory.join(ALIVE))?;
        alive.lock()?;
        write(directory, &flight)?;
        Ok(News { directory: directory.to_owned(), _alive: alive, told: Mutex::new((flight, Instant::now())) })
    }

    /// Changes what is said of a column. What changes its state is told at once, all else with the next news.
    pub fn tell(&self, column: usize, change: impl FnOnce(&mut Leg)) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (flight, last) = &mut *told;
        let Some(leg) = flight.columns.get_mut(column) else { return };
        let before = leg.state;
        change(leg);
        if leg.state != before || last.elapsed() >= INTERVAL {
            *last = Instant::now();
            let _untold = write(&self.directory, flight);
        }
    }
}

/// Whoever reads finds the old news or the new.
fn write(directory: &Path, flight: &Flight) -> io::Result<()> {
    let fresh = directory.join(".flight.new");
    fs::write(&fresh, serde_json::to_vec(flight)?)?;
    fs::rename(&fresh, directory.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read_for_as_long_as_the_run_goes_on() {
        let directory = tempfile::tempdir().expect("a directory");
        let leg = Leg { name: "sim".into(), unit: "virtual seconds".into(), whole: Some(9.0), ..Leg::default() };
        let flight = Flight::of_this_process("kbuild-mix", Path::new("runs/a"), vec![leg]);
        assert_eq!(Flight::read(directory.path()), None, "not begun");
        let news = News::begin(directory.path(), flight.clone()).expect("begun");
        assert_eq!(Flight::read(directory.path()), Some(flight));
        news.tell(0, |leg| (leg.state, leg.done) = (LegState::Running, 3.0));
        news.tell(7, |_| panic!("there is no such column"));
        let read = Flight::read(directory.path()).expect("goes on");
        assert_eq!((read.columns[0].state, read.columns[0].done), (LegState::Running, 3.0));
        drop(news);
        assert_eq!(Flight::read(directory.path()), None, "its files are left, and nobody holds the lock");
    }
}
