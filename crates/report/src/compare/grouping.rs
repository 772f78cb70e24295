//! Which runs are repetitions of the same thing: runs that differ in nothing but their seed are one variant.

use super::error::{CompareError, other_name};
use super::run::{self, KERNEL, Run};
use super::setup;
use super::variant::Variant;
use pagealloc::policy::full_name;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A run directory, whose manifest says what its columns are.
    Run(PathBuf),
    /// Run directories that are together one variant.
    Named {
        /// The variant's name.
        name: String,
        /// Its runs.
        dirs: Vec<PathBuf>,
    },
}

/// Variants in the order in which they first appear, and what to beware of.
pub(super) struct Grouped {
    pub(super) variants: Vec<Variant>,
    pub(super) caveats: Vec<String>,
}

/// How runs are read and grouped.
pub(super) struct Grouping<'a> {
    /// Which rows are wanted over time.
    pub(super) wanted: &'a dyn Fn(&str) -> bool,
    /// Whether the recorded kernel is a variant too.
    pub(super) kernel: bool,
    /// Whether runs of different recordings may be compared.
    pub(super) across: bool,
}

impl Grouping<'_> {
    pub(super) fn group(&self, selections: &[Selection]) -> Result<Grouped, CompareError> {
        let mut variants: Vec<Variant> = Vec::new();
        for selection in selections {
            match selection {
                Selection::Run(dir) => {
                    let runs = run::read(dir, self.wanted)?;
                    runs.into_iter().for_each(|run| self.add_by_policy(&mut variants, run));
                }
                Selection::Named { name, dirs } => self.add_named(&mut variants, name, dirs)?,
            }
        }
        let mut caveats = Vec::new();
        self.check_recordings(&variants, &mut caveats)?;
        variants.iter_mut().for_each(|variant| count_once(variant, &mut caveats));
        tell_apart(&mut variants);
        caveats.extend(setup::caveats(&variants));
        Ok(Grouped { variants, caveats })
    }

    fn add_by_policy(&self, variants: &mut Vec<Variant>, run: Run) {
        if run.column == KERNEL && !self.kernel {
            return;
        }
        // Every run of the variant is asked: one of an earlier fraglab does not tell its setup.
        let same = |variant: &&mut Variant| {
            same_policy(&variant.runs[0], &run) && variant.runs.iter().all(|other| setup::same(other, &run))
        };
        match variants.iter_mut().find(same) {
            Some(variant) => variant.runs.push(run),
            None => variants.push(Variant { name: run.column.clone(), runs: vec![run] }),
        }
    }

    fn add_named(&self, variants: &mut Vec<Variant>, name: &str, dirs: &[PathBuf]) -> Result<(), CompareError> {
        let mut named = Variant { name: name.to_owned(), runs: Vec::new() };
        // Of several recordings the kernels are as many samples: recorded machines can be compared like replays.
        let mut kernels = Variant { name: format!("{KERNEL} of {name}"), runs: Vec::new() };
        for dir in dirs {
            let (kernel, mut replays): (Vec<_>, Vec<_>) =
                run::read(dir, self.wanted)?.into_iter().partition(|run| run.column == KERNEL);
            match (replays.pop(), replays.is_empty()) {
                (Some(run), true) => named.runs.push(run),
                (None, _) => return Err(CompareError::NoReplay(dir.clone())),
                (Some(_), false) => return Err(CompareError::SeveralPolicies(dir.clone())),
            }
            kernels.runs.extend(kernel);
        }
        if variants.iter().any(|variant| variant.name == name) {
            return Err(CompareError::SameName(name.to_owned()));
        }
        if self.kernel && !kernels.runs.is_empty() {
            variants.push(kernels);
        }
        variants.push(named);
        Ok(())
    }

    fn check_recordings(&self, variants: &[Variant], caveats: &mut Vec<String>) -> Result<(), CompareError> {
        let mut runs = variants.iter().flat_map(|variant| &variant.runs);
        let Some(first) = runs.next() else { return Err(CompareError::Nothing) };
        if let Some(other) = runs.clone().find(|run| setup::other_recording(first, run)) {
            let different = CompareError::DifferentRecordings {
                first: (first.recording.clone(), first.dir.clone()),
                other: (other.recording.clone(), other.dir.clone()),
            };
            if !self.across {
                return Err(different);
            }
            caveats.push(format!(
                "runs of different recordings are compared (`{}`, {}): what differs may be the work, not the policy",
                first.recording,
                other_name(&first.recording, &other.recording)
            ));
        }
        caveats.extend(windows(variants));
        let versions: BTreeSet<&str> = variants.iter().flat_map(|v| &v.runs).map(|run| run.version.as_str()).collect();
        if versions.len() > 1 {
            let versions: Vec<&str> = versions.into_iter().collect();
            caveats.push(format!("the runs are of different versions of fraglab ({})", versions.join(", ")));
        }
        Ok(())
    }
}

/// Counts over a longer window are larger without anything being different: more than a hundredth is said.
fn windows(variants: &[Variant]) -> Option<String> {
    let seconds = || variants.iter().flat_map(|variant| &variant.runs).filter_map(|run| run.seconds);
    let (shortest, longest) = (seconds().reduce(f64::min)?, seconds().reduce(f64::max)?);
    (longest > 1.01 * shortest).then(|| {
        format!(
            "windows are {shortest:.1} to {longest:.1} s long: counts are over each run's own, and larger in longer ones"
        )
    })
}

/// Whether two runs differ in nothing but their seed and, maybe, their setup. The recorded kernel is the same whichever replay it
/// stands beside.
fn same_policy(a: &Run, b: &Run) -> bool {
    match (&a.replay, &b.replay) {
        (Some(a), Some(b)) => a.preset == b.preset && a.sysctls == b.sysctls && a.variant == b.variant,
        (None, None) => true,
        _ => false,
    }
}

/// A replay is deterministic: the same seed again is not another sample, and would make differences look surer.
fn count_once(variant: &mut Variant, caveats: &mut Vec<String>) {
    let mut seen: Vec<Run> = Vec::new();
    for run in std::mem::take(&mut variant.runs) {
        let same = |other: &&Run| match (&other.replay, &run.replay) {
            (Some(a), Some(b)) => a.seed == b.seed && a.event_digest == b.event_digest && other.rows == run.rows,
            _ => other.rows == run.rows && other.recording == run.recording,
        };
        match seen.iter().find(same) {
            None => seen.push(run),
            // The kernel stands in every run of its recording.
            Some(_) if run.replay.is_none() => {}
            Some(first) => caveats.push(format!(
                "{} repeats {} (same policy, seed and events) and is counted once; repeat with another --seed",
                run.dir.display(),
                first.dir.display()
            )),
        }
    }
    variant.runs = seen;
}

/// Most settings that a name is told apart by; beyond that a number is clearer.
const MOST_SETTINGS: usize = 3;

/// Tells variants apart that would have the same name, by the settings in which they differ from the first of them, or else
/// by numbers: `recorded` of two recordings can be two policies.
fn tell_apart(variants: &mut [Variant]) {
    let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    for at in 0..variants.len() {
        let Some(first) = names[..at].iter().position(|name| *name == names[at]) else { continue };
        let by_settings = differences(&variants[first], &variants[at]).map(|what| format!("{},{what}", names[at]));
        let taken = |name: &String| variants[..at].iter().any(|other| other.name == *name);
        let before = names[..at].iter().filter(|name| **name == names[at]).count();
        let numbered = || format!("{} ({})", names[at], before + 1);
        variants[at].name = by_settings.filter(|name| !taken(name)).unwrap_or_else(numbered);
    }
}

/// Preset, sysctls and setup of `other` that are not those of `first`; nothing if they are many, or not known.
fn differences(first: &Variant, other: &Variant) -> Option<String> {
    let (first, other) = (setup::told(first)?, setup::told(other)?);
    let mut differ: Vec<String> = Vec::new();
    if first.preset != other.preset {
        differ.push(other.preset.clone());
    }
    for (name, value) in &other.sysctls {
        if first.sysctls.get(name) != Some(value) {
            let value = value.map_or_else(|| "computed".to_owned(), |value| value.to_string());
            differ.push(format!("{}={value}", full_name(name)));
        }
    }
    differ.extend(setup::differences(first, other).into_iter().map(|it| format!("{}={}", it.name, it.other)));
    (1..=MOST_SETTINGS).contains(&differ.len()).then(|| differ.join(","))
}
