//! The table of a made-up outcome, as a picture: `FRAGLAB_BLESS=1 cargo test -p report` draws it anew.

use lab::outcome::{ExtfragAt, Outcome, Sample, SlowRequest, ZoneEnd};
use pagealloc::{Extfrag, Gfp, Migratetype, Pfn};
use report::bars::MIRROR_3;
use report::grid::{Cell, CellId, Findings, Grid};
use report::validate::{Change, KernelSpread, Mirror, Pair, Prediction, Validation, mirror, predict};
use report::{Calibration, Column, Facts, Report, SeedsReport};
use std::path::Path;

/// An outcome whose figures are multiples of `scale`: made up, and easy to check by eye.
fn outcome(scale: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let counters = [
        ("thp_fault_alloc", 40),
        ("thp_fault_fallback", 70),
        ("allocstall_dma32", 12),
        ("allocstall_movable", 8),
        ("pgscan_kswapd", 9000),
        ("pgsteal_kswapd", 8000),
        ("pgscan_direct", 1000),
        ("pgsteal_direct", 900),
        ("compact_stall", 30),
        ("compact_migrate_scanned", 50000),
        ("compact_isolated", 4000),
        ("pgmigrate_success", 2000),
    ];
    outcome.counters = counters.map(|(name, count)| (name.to_owned(), count * scale)).into();
    for (order, change_ownership) in [(0, false), (3, true), (9, true)] {
        outcome.extfrag.extend((0..scale).map(|at| extfrag(at, order, change_ownership)));
    }
    let mut zone = ZoneEnd { node: 0, name: "DMA32".into(), ..ZoneEnd::default() };
    zone.blocks[..3].copy_from_slice(&[40, 190, 16]);
    zone.free[Migratetype::Movable.index()][..3].copy_from_slice(&[100 * scale, 50 * scale, 20]);
    zone.free[Migratetype::Unmovable.index()][0] = 7;
    outcome.zones = vec![zone];
    outcome.fast_requests[0] = 1_000_000;
    outcome.fast_requests[9] = 40;
    outcome.slow_requests = (1..=10 * scale)
        .map(|n| SlowRequest { ts: n, order: 9, gfp: Gfp::TRANSHUGE, duration: n * 1_000_000, served: n % 3 == 0 })
        .collect();
    outcome.failed_requests[9] = 7 * scale;
    outcome.series = [0, 10_000_000_000].map(|ts| Sample { ts, ..Sample::default() }).into();
    outcome
}

fn extfrag(ts: u64, fallback_order: u8, change_ownership: bool) -> ExtfragAt {
    let event = Extfrag {
        pfn: Pfn(512),
        alloc_order: 0,
        fallback_order,
        alloc_migratetype: Migratetype::Unmovable,
        fallback_migratetype: Migratetype::Movable,
        change_ownership,
        pageblock_order: 9,
    };
    ExtfragAt { ts, event }
}

fn assert_snapshot(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(&path, actual).expect("written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} changed; if that is meant: FRAGLAB_BLESS=1 cargo test -p report");
}

#[test]
fn replay_table() {
    let [kernel, recorded, changed] = [3, 4, 1].map(outcome);
    let facts = |digest| Facts {
        preset: "linux-6.18".into(),
        seed: 1,
        digest,
        page_events: 2_000_000,
        replay_seconds: 0.1,
        unattributed: vec![("frees of unknown origin".into(), 12)],
        ..Facts::default()
    };
    let column =
        |name: &str, outcome, digest| Column { name: name.into(), outcome, facts: Some(facts(digest)), timeline: None };
    let columns = vec![
        Column::kernel(&kernel),
        column("recorded", &recorded, 0xfeed),
        column("recorded,vm.defrag_mode=1", &changed, 0xbeef),
    ];
    let calibration = Some(Calibration::of(&kernel, &[&recorded], vec![1]));
    let report = Report { recording: "made-up".into(), calibration, columns };
    assert_snapshot("replay.txt", &report.to_table());
    assert_snapshot("replay.csv", &report.to_csv());
    assert_snapshot("replay.json", &format!("{:#}\n", report.to_json()));
}

/// Five seeds of three policies, more than fit side by side, with long names and figures.
#[test]
fn seeds_table() {
    let kernel = outcome(3);
    let names =
        ["recorded", "recorded,vm.watermark_boost_factor=15000,vm.swappiness=100", "linux-6.15+defrag-as-posted"];
    let scales: [[u64; 5]; 3] = [[4, 3, 90, 3, 2], [1, 1, 1, 1, 1], [400, 3, 5, 2, 1000]];
    let outcomes = scales.map(|scales| scales.map(outcome));
    let seed = |at: usize| {
        let facts = |of: usize| Facts {
            preset: "linux-6.18".into(),
            seed: at as u64 + 1,
            digest: (of * 16 + at) as u64,
            page_events: 2_000_000,
            unattributed: vec![("frees of unknown origin".into(), scales[of][at])],
            ..Facts::default()
        };
        let column = |of: usize| Column {
            name: names[of].into(),
            outcome: &outcomes[of][at],
            facts: Some(facts(of)),
            timeline: None,
        };
        let columns = std::iter::once(Column::kernel(&kernel)).chain((0..3).map(column)).collect();
        Report { recording: "made-up".into(), calibration: None, columns }
    };
    let calibration = Some(Calibration::of(&kernel, &outcomes[0].each_ref(), vec![1, 2, 3, 4, 5]));
    let report = SeedsReport { calibration, seeds: (0..5).map(seed).collect(), asked: 5 };
    let table = report.to_table();
    assert!(table.is_ascii() && table.lines().all(|line| line.len() <= 100), "{table}");
    assert_snapshot("replay-seeds.txt", &table);
    assert_snapshot("replay-seeds.csv", &report.to_csv());
}

#[test]
fn validation_tables() {
    let [kernel, model, truth, prediction] = [3, 4, 1, 2].map(outcome);
    let again = outcome(5);
    let spread = KernelSpread::of([("made-up", &kernel), ("again", &again)], None);
    let rows = mirror(&kernel, &[model.clone(), prediction.clone()], &MIRROR_3, &spread);
    let (recording, spread_of) = ("made-up".to_owned(), spread.names.clone());
    let mirror_of = |seeds, rows| {
        let (recording, spread_of) = (recording.clone(), spread_of.clone());
        Mirror { recording, bars: MIRROR_3.name, seeds, seeds_asked: seeds, spread_of, rows }
    };
    assert_snapshot("mirror.txt", &Validation::Mirror(mirror_of(2, rows)).to_table());
    let seeds = [4, 2, 3, 3, 90].map(outcome);
    let rows = mirror(&kernel, &seeds, &MIRROR_3, &spread);
    let table = Validation::Mirror(mirror_of(5, rows)).to_table();
    assert!(table.is_ascii() && table.lines().all(|line| line.len() <= 100), "{table}");
    assert_snapshot("mirror-luck.txt", &table);
    let pair = Pair {
        kernel_before: &kernel,
        model_before: std::slice::from_ref(&model),
        kernel_after: &truth,
        model_after: std::slice::from_ref(&prediction),
        same_work: false,
    };
    let validation = Prediction {
        recording,
        pair: "other".into(),
        changes: vec![Change { name: "vm.defrag_mode".into(), before: Some("0".into()), after: Some("1".into()) }],
        window_seconds: Some(10.0),
        seeds: 1,
        seeds_asked: 1,
        spread_of: Vec::new(),
        rows: predict(pair, &[]),
    };
    assert_snapshot("prediction.txt", &Validation::Prediction(validation).to_table());
}

/// Two settings, two seeds each; no simulated computer, and one recording that could not be replayed.
#[test]
fn grid_report() {
    let cell = |setting: &str, to: &str, seed: u64| {
        let [kernel, model, truth, predicted] = [3 + seed, 4, 1, 1].map(outcome);
        // The median is that of `model` alone.
        let seeds = [4, 3, 4, 9, 5].map(outcome);
        let mirror = mirror(&kernel, &seeds, &MIRROR_3, &KernelSpread::default());
        let pair = Pair {
            kernel_before: &kernel,
            model_before: std::slice::from_ref(&model),
            kernel_after: &truth,
            model_after: std::slice::from_ref(&predicted),
            same_work: false,
        };
        let predictions = vec![(to.to_owned(), predict(pair, &[]))];
        let findings = Findings { mirror, predictions, ..Findings::default() };
        Cell { id: CellId { kernel: "6.18".into(), setting: setting.into(), seed, run: 1 }, findings }
    };
    let (off, on) = ("vm.defrag_mode=0", "vm.defrag_mode=1");
    let mut cells = vec![cell(off, on, 1), cell(off, on, 2), cell(on, off, 1), cell(on, off, 2)];
    cells[3].findings = Findings { problems: vec!["the recording has no page trace".into()], ..Findings::default() };
    let grid = Grid { scenario: "made-up".into(), bars: MIRROR_3.name, replay_seeds: 5, cells };
    let table = grid.to_table();
    assert!(table.lines().all(|line| line.len() <= 100 && line.is_ascii()), "{table}");
    assert_snapshot("grid.txt", &table);
    assert_snapshot("grid.csv", &grid.to_csv());
    let json = grid.to_json();
    assert_eq!(json["mirror"].as_array().map(Vec::len), Some(2));
    assert!(json["mirror"][0]["luck"].is_f64() && json["prediction"][0].get("luck").is_none());
    assert!(json["mirror"][0]["rows"][0]["rank"].is_f64() && json["prediction"][0]["rows"][0].get("rank").is_none());
    assert_eq!(json["stream"], serde_json::json!([]));
    assert_eq!(json["prediction"][0]["to"], on);
    assert_eq!(json["cells"][3]["problems"][0], "the recording has no page trace");
}
