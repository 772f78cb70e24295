//! Runs of several directories in one view: each under a name of its own, and with its variant.

use super::{Kind, Run};
use crate::compare::Comparison;
use std::path::{Path, PathBuf};

/// A run and where it comes from.
#[derive(Clone, Debug)]
pub struct Found {
    /// Run directory, or recording.
    pub place: PathBuf,
    /// The run.
    pub run: Run,
}

/// Puts runs together. Variants are those of the comparison, if there is one. A recorded kernel stands in every replay of its
/// recording and is shown once.
pub fn join(found: Vec<Found>, comparison: Option<&Comparison>) -> Vec<Run> {
    let mut runs: Vec<(PathBuf, Run)> = Vec::new();
    for Found { place, mut run } in found {
        let seen = |(_, other): &(PathBuf, Run)| {
            other.kind == Kind::Kernel && other.recording == run.recording && other.counters == run.counters
        };
        if run.kind == Kind::Kernel && run.recording.is_some() && runs.iter().any(seen) {
            continue;
        }
        let variant = comparison.and_then(|comparison| variant_of(comparison, &place, &run));
        run.group = variant.unwrap_or_else(|| run.policy.clone());
        runs.push((place, run));
    }
    name(&mut runs);
    runs.into_iter().map(|(_, run)| run).collect()
}

fn variant_of(comparison: &Comparison, place: &Path, run: &Run) -> Option<String> {
    let made = |variant: &&crate::compare::Variant| {
        variant.runs.iter().any(|other| other.dir == place && other.column == run.policy)
    };
    comparison.variants.iter().find(made).map(|variant| variant.name.clone())
}

/// The shortest of: variant; variant and seed; variant, seed and directory, that tells all runs apart.
fn name(runs: &mut [(PathBuf, Run)]) {
    let forms: [fn(&Path, &Run) -> String; 3] = [
        |_, run| run.group.clone(),
        |_, run| match run.seed {
            Some(seed) => format!("{} seed {seed}", run.group),
            None => run.group.clone(),
        },
        |place, run| {
            let dir = place.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            match run.seed {
                Some(seed) => format!("{} seed {seed} ({dir})", run.group),
                None => format!("{} ({dir})", run.group),
            }
        },
    ];
    for form in forms {
        let names: Vec<String> = runs.iter().map(|(place, run)| form(place, run)).collect();
        let unique = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
        runs.iter_mut().zip(names).for_each(|((_, run), name)| run.name = name);
        if unique {
            return;
        }
    }
    for (at, (_, run)) in runs.iter_mut().enumerate() {
        run.name = format!("{} #{}", run.name, at + 1);
    }
}
