//! What `compare` is asked to compare: `DIR`, or `NAME=DIR[,DIR]...`.

use report::compare::Selection;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// An argument of `compare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// What it stands for.
    pub selection: Selection,
}

/// All that is asked for. A directory that `replay` left of several seeds stands for its run directories.
pub fn selections(specs: &[RunSpec]) -> Vec<Selection> {
    let runs = |dir: &PathBuf| report::runs_in(dir).unwrap_or_else(|| vec![dir.clone()]);
    let selections = |spec: &RunSpec| match &spec.selection {
        Selection::Run(dir) => runs(dir).into_iter().map(Selection::Run).collect(),
        Selection::Named { name, dirs } => {
            vec![Selection::Named { name: name.clone(), dirs: dirs.iter().flat_map(runs).collect() }]
        }
    };
    specs.iter().flat_map(selections).collect()
}

/// Why an argument names no runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunSpecError {
    /// Nothing before the `=`.
    #[error("`{0}` has no name before the `=`")]
    NoName(String),
    /// Nothing, or an empty piece, after the `=`.
    #[error("`{0}` names no run directory after a `=` or `,`; the form is NAME=DIR,DIR")]
    NoDir(String),
}

impl FromStr for RunSpec {
    type Err = RunSpecError;

    /// A directory of that very name comes first: policies with changes hold `=` and commas, and so may directories
    /// named after them.
    fn from_str(text: &str) -> Result<RunSpec, RunSpecError> {
        let Some((name, dirs)) = text.split_once('=').filter(|_| !Path::new(text).exists()) else {
            return Ok(RunSpec { selection: Selection::Run(PathBuf::from(text)) });
        };
        if name.is_empty() {
            return Err(RunSpecError::NoName(text.to_owned()));
        }
        let dirs: Vec<PathBuf> = dirs.split(',').map(PathBuf::from).collect();
        if dirs.iter().any(|dir| dir.as_os_str().is_empty()) {
            return Err(RunSpecError::NoDir(text.to_owned()));
        }
        Ok(RunSpec { selection: Selection::Named { name: name.to_owned(), dirs } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Selection, RunSpecError> {
        text.parse::<RunSpec>().map(|spec| spec.selection)
    }

    #[test]
    fn forms() {
        assert_eq!(parse("runs/1"), Ok(Selection::Run("runs/1".into())));
        let dirs = vec![PathBuf::from("a"), PathBuf::from("b")];
        assert_eq!(parse("old=a,b"), Ok(Selection::Named { name: "old".into(), dirs }));
        assert_eq!(parse("=a"), Err(RunSpecError::NoName("=a".into())));
        assert_eq!(parse("old=a,,b"), Err(RunSpecError::NoDir("old=a,,b".into())));
        assert_eq!(parse("old="), Err(RunSpecError::NoDir("old=".into())));
    }

    #[test]
    fn a_directory_with_an_equals_sign() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let run = dir.path().join("recorded,vm.defrag_mode=1");
        std::fs::create_dir(&run).expect("created");
        assert_eq!(parse(run.to_str().expect("UTF-8")), Ok(Selection::Run(run)));
    }
}
