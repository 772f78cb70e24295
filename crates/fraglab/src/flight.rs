//! What runs tell of themselves while they go on: to `fraglab serve`, through a hidden directory beside their results.

use report::flight::{Flight, Leg, LegState, News, PREFIX};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A run that tells of itself, or one that has nowhere to: without `-o` nobody could look for it.
pub struct Told(Option<Place>);

/// Fields are dropped in this order: the lock first, then what it stands for.
struct Place {
    news: News,
    _directory: TempDir,
}

impl Told {
    /// A run whose results will be `target`.
    pub fn beside(target: Option<&Path>, subject: &str, columns: Vec<Leg>) -> Told {
        let parent = target.and_then(Path::parent).map(|parent| match parent.as_os_str().is_empty() {
            true => Path::new("."),
            false => parent,
        });
        Told::begin(parent.zip(target), subject, columns)
    }

    /// A study whose results go into `directory`.
    #[cfg(feature = "machines")]
    pub fn within(directory: Option<&Path>, subject: &str, columns: Vec<Leg>) -> Told {
        Told::begin(directory.zip(directory), subject, columns)
    }

    /// That nobody can be told is no reason to end a run: where its results can't be written, writing them says so.
    fn begin(place: Option<(&Path, &Path)>, subject: &str, columns: Vec<Leg>) -> Told {
        let begin = |(parent, target): (&Path, &Path)| {
            fs::create_dir_all(parent).ok()?;
            let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).ok()?;
            let flight = Flight::of_this_process(subject, target, columns);
            Some(Place { news: News::begin(directory.path(), flight).ok()?, _directory: directory })
        };
        Told(place.and_then(begin))
    }

    /// Changes what is said of a column.
    pub fn tell(&self, column: usize, change: impl FnOnce(&mut Leg)) {
        if let Some(place) = &self.0 {
            place.news.tell(column, change);
        }
    }

    /// Says that a column goes on now, or has ended.
    pub fn is(&self, column: usize, state: LegState) {
        self.tell(column, |leg| leg.state = state);
    }
}

/// A column that is not begun.
pub fn waiting(name: String, whole: Option<f64>, unit: &str) -> Leg {
    Leg { name, whole, unit: unit.to_owned(), ..Leg::default() }
}
