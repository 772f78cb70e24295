//! `fraglab replay`: what would this machine have done under another policy?

use super::load;
use crate::backend::{self, Loaded};
use crate::column_spec::{ColumnSpec, columns};
use crate::failure::{Failure, warn};
use crate::flight::{Told, waiting};
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::place;
use crate::replay_args::ReplayArgs;
use crate::replays::{Done, Replays, Wanted, replay_all};
use crate::seeds;
use lab::timeline::{Sampling, Timeline};
use report::flight::LegState;
use report::manifest::Provenance;
use report::{Calibration, Column, Report, SeedsReport, write_run, write_seeds};
use std::collections::BTreeSet;

/// Replays, prints, and leaves run directories if asked to.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let specs = columns(&args.policies, &args.sets);
    for spec in &specs {
        spec.check()?;
    }
    BTreeSet::from_iter(specs.iter().flat_map(ColumnSpec::left_out_of_replays)).iter().for_each(|said| warn(said));
    let asked = seeds_of(args);
    args.output.as_deref().map_or(Ok(()), |target| place::check(target, [args.recording.as_path()]))?;
    let loaded = load(&args.recording)?;
    let (wanted, mirror) = wanted(&loaded, &specs, args)?;
    let Replays { seeds, by_policy, whole } = replays(&loaded, &specs, &wanted, &asked, args)?;
    let followed = args.output.is_some();
    let seen = followed.then(|| backend::kernel_timeline(&args.recording, &loaded)).transpose()?;
    let columns = &by_policy[..specs.len()];
    let with = |of: &[usize]| mirror.calibration(&loaded, &by_policy, of, &seeds);
    let of_seed = |at| of_seed(&loaded, &specs, columns, at, seen.as_ref(), with(&[at]));
    let all: Vec<usize> = (0..seeds.len()).collect();
    let report = SeedsReport {
        calibration: Some(with(&all)),
        seeds: all.iter().map(|&at| of_seed(at)).collect(),
        asked: asked.len(),
    };
    let provenance = Provenance::of_this_process(env!("CARGO_PKG_VERSION"));
    let written = match (&args.output, report.only()) {
        (Some(dir), Some(only)) => write_run(dir, only, &provenance),
        (Some(dir), None) => write_seeds(dir, &report, &provenance),
        (None, _) => Ok(()),
    };
    let printed = match (args.format.format, report.only()) {
        (Format::Table, _) => output::print(&report.to_table()),
        (Format::Json, Some(only)) => output::print_json(&only.to_json()),
        (Format::Json, None) => output::print_json(&report.to_json()),
        (Format::Csv, Some(only)) => output::print(&only.to_csv()),
        (Format::Csv, None) => output::print(&report.to_csv()),
    };
    output::then(written.map_err(Failure::from).and(printed), whole)
}

fn seeds_of(args: &ReplayArgs) -> Vec<u64> {
    match args.seed {
        Some(only) => vec![only],
        None => args.seeds.unwrap_or(seeds::OF_REPLAYS).from(1).collect(),
    }
}

/// Where the replays are that the recorded kernel is compared with, or why there are none.
enum Mirror {
    /// Among those of this policy.
    Of(usize),
    /// Nowhere.
    Missing(String),
}

/// What is to be replayed: the columns, and behind them the mirror if no column is one. What is wrong with the last of them is
/// told before the first is replayed.
fn wanted(loaded: &Loaded, specs: &[ColumnSpec], args: &ReplayArgs) -> Result<(Vec<Wanted>, Mirror), Failure> {
    let resolve = |spec: &ColumnSpec, sampling| {
        let policy = spec.resolve(|| loaded.recorded().cloned())?;
        Ok::<_, Failure>(Wanted { name: spec.to_string(), policy, sampling })
    };
    // Followed only if what is seen is kept.
    let sampling = args.output.as_ref().map(|_| Sampling::default());
    let mut wanted = specs.iter().map(|spec| resolve(spec, sampling)).collect::<Result<Vec<_>, _>>()?;
    if args.no_mirror {
        return Ok((wanted, Mirror::Missing("It was not asked for (--no-mirror).".to_owned())));
    }
    if let Err(unknown) = loaded.recorded() {
        return Ok((wanted, Mirror::Missing(unknown.to_string())));
    }
    let recorded = ColumnSpec::recorded();
    let at = specs.iter().position(|spec| *spec == recorded).unwrap_or(specs.len());
    if at == specs.len() {
        wanted.push(resolve(&recorded, None)?);
    }
    Ok((wanted, Mirror::Of(at)))
}

/// Replays, and tells those who look at `fraglab serve` how far each column is.
fn replays(
    loaded: &Loaded,
    specs: &[ColumnSpec],
    wanted: &[Wanted],
    seeds: &[u64],
    args: &ReplayArgs,
) -> Result<Replays, Failure> {
    let legs = specs.iter().map(|spec| waiting(spec.to_string(), Some(100.0), "percent")).collect();
    let told = Told::beside(args.output.as_deref(), &loaded.name, legs);
    replay_all(loaded, wanted, seeds, &args.engine, &Interrupt::watch(), &|column, share| {
        if column < specs.len() {
            told.tell(column, |leg| {
                leg.state = if share < 1.0 { LegState::Running } else { LegState::Done };
                leg.done = 100.0 * share;
            });
        }
    })
}

impl Mirror {
    /// Compares the recorded kernel with the replays under its own settings, of some of the seeds.
    fn calibration(&self, loaded: &Loaded, replays: &[Vec<Done>], of: &[usize], seeds: &[u64]) -> Calibration {
        match self {
            Mirror::Missing(reason) => Calibration::unknown(reason.as_str()),
            Mirror::Of(at) => {
                let models: Vec<_> = of.iter().map(|&seed| &replays[*at][seed].0.outcome).collect();
                Calibration::of(&loaded.kernel, &models, of.iter().map(|&seed| seeds[seed]).collect())
            }
        }
    }
}

/// The report of one seed.
fn of_seed<'a>(
    loaded: &'a Loaded,
    specs: &[ColumnSpec],
    columns: &'a [Vec<Done>],
    at: usize,
    seen: Option<&'a Timeline>,
    calibration: Calibration,
) -> Report<'a> {
    let replayed = specs.iter().zip(columns).map(|(spec, replays)| {
        let (replayed, facts) = &replays[at];
        let (name, facts) = (spec.to_string(), Some(facts.clone()));
        Column { name, outcome: &replayed.outcome, facts, timeline: replayed.timeline.as_ref() }
    });
    let kernel = Column { timeline: seen, ..Column::kernel(&loaded.kernel) };
    let columns = std::iter::once(kernel).chain(replayed).collect();
    Report { recording: loaded.name.clone(), calibration: Some(calibration), columns }
}
