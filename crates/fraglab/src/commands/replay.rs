//! `fraglab replay`: what would this machine have done under another policy?

use super::{load, replay_column};
use crate::backend::{self, Loaded, Run};
use crate::cli::ReplayArgs;
use crate::column_spec::{ColumnSpec, columns};
use crate::failure::Failure;
use crate::flight::{Told, waiting};
use crate::output::{self, Format};
use lab::timeline::Sampling;
use recording::replay::Replayed;
use report::flight::LegState;
use report::manifest::Provenance;
use report::{Calibration, Column, Facts, Report, write_run};

/// Replays, prints, and leaves a run directory if asked to.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let specs = columns(&args.policies, &args.sets);
    for spec in &specs {
        spec.check()?;
    }
    args.output.as_deref().map_or(Ok(()), report::check_place)?;
    let loaded = load(&args.recording)?;
    // Followed only if what is seen is kept.
    let sampling = args.output.as_ref().map(|_| Sampling::default());
    let run = Run { seed: args.engine.seed, check: args.engine.check, sampling };
    // What is wrong with the last column is told before the first is replayed.
    specs.iter().try_for_each(|spec| spec.resolve(|| loaded.recorded().cloned()).map(drop))?;
    let mut replays = Vec::new();
    let legs = specs.iter().map(|spec| waiting(spec.to_string(), Some(100.0), "percent")).collect();
    let told = Told::beside(args.output.as_deref(), &loaded.name, legs);
    for (at, spec) in specs.iter().enumerate() {
        told.is(at, LegState::Running);
        replays.push(replay_column(&loaded, spec, run, &|share| told.tell(at, |leg| leg.done = 100.0 * share))?);
        told.is(at, LegState::Done);
    }
    let calibration = Some(calibrate(&loaded, &specs, &replays, args)?);
    let replayed = specs.iter().zip(&replays).map(|(spec, (replayed, facts))| Column {
        name: spec.to_string(),
        outcome: &replayed.outcome,
        facts: Some(facts.clone()),
        timeline: replayed.timeline.as_ref(),
    });
    let seen = sampling.map(|_| backend::kernel_timeline(&args.recording, &loaded)).transpose()?;
    let kernel = Column { timeline: seen.as_ref(), ..Column::kernel(&loaded.kernel) };
    let columns = std::iter::once(kernel).chain(replayed).collect();
    let report = Report { recording: loaded.name.clone(), calibration, columns };
    if let Some(dir) = &args.output {
        write_run(dir, &report, &Provenance::of_this_process(env!("CARGO_PKG_VERSION")))?;
    }
    match args.format.format {
        Format::Table => output::print(&report.to_table()),
        Format::Json => output::print_json(&report.to_json()),
        Format::Csv => output::print(&report.to_csv()),
    }
}

/// Compares the recorded kernel with a replay under its own settings. Such a replay is made for this if no column is one.
fn calibrate(
    loaded: &Loaded,
    specs: &[ColumnSpec],
    replays: &[(Replayed, Facts)],
    args: &ReplayArgs,
) -> Result<Calibration, Failure> {
    if args.no_mirror {
        return Ok(Calibration::unknown("It was not asked for (--no-mirror)."));
    }
    if let Err(unknown) = loaded.recorded() {
        return Ok(Calibration::unknown(unknown.to_string()));
    }
    let recorded = ColumnSpec::recorded();
    let seed = args.engine.seed;
    match specs.iter().position(|spec| *spec == recorded) {
        Some(at) => Ok(Calibration::of(&loaded.kernel, &replays[at].0.outcome, seed)),
        None => {
            let run = Run { seed, check: args.engine.check, sampling: None };
            let (mirror, _) = replay_column(loaded, &recorded, run, &|_| {})?;
            Ok(Calibration::of(&loaded.kernel, &mirror.outcome, seed))
        }
    }
}
