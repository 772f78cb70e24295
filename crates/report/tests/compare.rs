//! Comparisons of run directories that are made up here: posted figures must come out as they were posted.
//! `FRAGLAB_BLESS=1 cargo test -p report` draws the pictures anew.

mod support;

use report::compare::{CompareError, Comparison, Directions, Options, Rule, Selection};
use serde_json::json;
use std::fs;
use std::path::Path;
use support::{DEMO, Made, Runs, compare, refused};

impl Runs {
    /// The same policy with as many seeds as there are values of the row.
    fn seeds(&self, policy: &'static str, row: &str, values: &[u64]) -> Vec<Selection> {
        let run = |(at, &value): (usize, &u64)| {
            let made = Made { policy, seed: at as u64 + 1, ..DEMO };
            self.add(&format!("{policy}-{at}"), &made, &[(row, value), ("pgscan_kswapd", 2 * value)])
        };
        values.iter().enumerate().map(run).collect()
    }
}

fn assert_snapshot(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        fs::write(&path, actual).expect("written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} changed; if that is meant: FRAGLAB_BLESS=1 cargo test -p report");
}

/// The line of a label, its blanks squeezed.
fn line(table: &str, label: &str) -> String {
    let line = table.lines().find(|line| line.starts_with(&format!("{label} ")));
    line.unwrap_or_else(|| panic!("no line {label} in\n{table}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Weiner's posting of 2013, both columns: counters, and the lines that mmtests printed of them. Counters that were not
/// posted are the ones that the posted figures were made from: scans by zone from velocities, all faults from both kinds.
#[test]
fn vmstat_block_as_posted_in_2013() {
    let runs = Runs::new();
    let counters: [(&str, u64, u64); 32] = [
        ("pgfault", 53721925 + 392195, 57188551 + 15157),
        ("pgmajfault", 392195, 15157),
        ("pswpin", 2994854, 112770),
        ("pswpout", 4907092, 134982),
        ("pgscan_direct_normal", 0, 41824),
        ("pgscan_kswapd_normal", 19584398, 4847681),
        ("pgscan_kswapd_dma32", 13297071, 3278439),
        ("pgscan_kswapd_dma", 93594, 2149),
        ("pgsteal_kswapd_normal", 6323069, 7093495),
        ("pgsteal_direct_normal", 0, 41824),
        ("nr_vmscan_write", 18732404, 614807),
        ("nr_vmscan_immediate_reclaim", 85490, 5647),
        ("pgpgin", 12080532, 483244),
        ("pgpgout", 88740508, 65438876),
        ("slabs_scanned", 82560, 12160),
        ("pginodesteal", 0, 0),
        ("kswapd_inodesteal", 24401, 40013),
        ("thp_fault_alloc", 6, 8),
        ("thp_collapse_alloc", 5481, 5812),
        ("thp_split", 75, 22),
        ("compact_stall", 0, 54),
        ("compact_success", 0, 45),
        ("compact_fail", 0, 9),
        ("pgmigrate_success", 881492, 82278),
        ("pgmigrate_fail", 0, 0),
        ("compact_isolated", 0, 60334),
        ("compact_migrate_scanned", 0, 53505),
        ("compact_free_scanned", 0, 1537605),
        ("numa_pte_updates", 46738231, 41988419),
        ("numa_hint_faults", 31175564, 24213387),
        ("numa_hint_faults_local", 10427393, 6411593),
        ("numa_pages_migrated", 881492, 55344),
    ];
    let of = |pick: fn(&(&'static str, u64, u64)) -> u64| counters.map(|row| (row.0, pick(&row)));
    let base = runs.add("base", &Made { policy: "BASE", seconds: 9737.00, ..DEMO }, &of(|row| row.1));
    let fair = runs.add("fair", &Made { policy: "FAIRALLOC", seconds: 8879.34, ..DEMO }, &of(|row| row.2));
    let table = compare(&[base, fair], Options::default()).to_table();
    let posted = "Elapsed 9737.00 8879.34
        Minor Faults 53721925 57188551
        Major Faults 392195 15157
        Swap Ins 2994854 112770
        Swap Outs 4907092 134982
        Direct pages scanned 0 41824
        Kswapd pages scanned 32975063 8128269
        Kswapd pages reclaimed 6323069 7093495
        Direct pages reclaimed 0 41824
        Kswapd efficiency 19% 87%
        Kswapd velocity 3386.573 915.414
        Direct efficiency 100% 100%
        Direct velocity 0.000 4.710
        Percentage direct scans 0% 0%
        Zone normal velocity 2011.338 550.661
        Zone dma32 velocity 1365.623 369.221
        Zone dma velocity 9.612 0.242
        Page writes by reclaim 18732404 614807
        Page writes file 13825312 479825
        Page writes anon 4907092 134982
        Page reclaim immediate 85490 5647
        Sector Reads 12080532 483244
        Sector Writes 88740508 65438876
        Slabs scanned 82560 12160
        Direct inode steals 0 0
        Kswapd inode steals 24401 40013
        THP fault alloc 6 8
        THP collapse alloc 5481 5812
        THP splits 75 22
        Compaction stalls 0 54
        Compaction success 0 45
        Compaction failures 0 9
        Page migrate success 881492 82278
        Page migrate failure 0 0
        Compaction pages isolated 0 60334
        Compaction migrate scanned 0 53505
        Compaction free scanned 0 1537605
        Compaction cost 914 86
        NUMA PTE updates 46738231 41988419
        NUMA hint faults 31175564 24213387
        NUMA hint local faults 10427393 6411593
        NUMA pages migrated 881492 55344
        AutoNUMA cost 156221 121361";
    for posted in posted.lines().map(str::trim) {
        let label = posted.trim_end_matches(|c: char| c.is_ascii_digit() || " .%".contains(c));
        assert_eq!(line(&table, label), posted);
    }
}

/// The rows of the same posting: the figures and percentages, with more memcachetest operations being better.
#[test]
fn mmtests_rows_as_posted_in_2013() {
    let runs = Runs::new();
    let rows = [
        ("memcachetest-0M", 5170, 5283, "5170.00 ( 0.00%) 5283.00 ( 2.19%)"),
        ("memcachetest-791M", 4740, 5293, "4740.00 ( 0.00%) 5293.00 ( 11.67%)"),
        ("memcachetest-2639M", 2551, 4950, "2551.00 ( 0.00%) 4950.00 ( 94.04%)"),
        ("io-duration-0M", 0, 0, "0.00 ( 0.00%) 0.00 ( 0.00%)"),
        ("io-duration-791M", 55, 18, "55.00 ( 0.00%) 18.00 ( 67.27%)"),
        ("swaptotal-2639M", 468069, 108778, "468069.00 ( 0.00%) 108778.00 ( 76.76%)"),
        ("minorfaults-2639M", 1606035, 1799717, "1606035.00 ( 0.00%) 1799717.00 ( -12.06%)"),
        ("majorfaults-791M", 13836, 10, "13836.00 ( 0.00%) 10.00 ( 99.93%)"),
    ];
    let base = runs.add("base", &Made { policy: "BASE", ..DEMO }, &rows.map(|row| (row.0, row.1)));
    let fair = runs.add("fair", &Made { policy: "FAIRALLOC", ..DEMO }, &rows.map(|row| (row.0, row.2)));
    let directions = Directions {
        higher: vec!["memcachetest*".into()],
        lower: ["io-*", "swap*", "m*faults*"].map(str::to_owned).into(),
    };
    let options = Options { directions, rows: vec!["*M".into()], ..Options::default() };
    let table = compare(&[base, fair], options).to_table();
    for (row, _, _, posted) in rows.iter().filter(|row| row.1 > 0) {
        assert_eq!(line(&table, &format!("Amean  {row}")), format!("Amean {row} {posted}"));
    }
    let starred = table.lines().filter(|line| line.starts_with("Amean") && line.contains('*'));
    assert_eq!(starred.count(), 0, "single runs get no star:\n{table}");
}

const VANILLA: [u64; 15] =
    [61988, 56474, 57258, 50187, 52388, 55409, 52925, 47648, 43669, 40621, 36077, 41721, 36685, 34641, 33215];
const DEFRAG: [u64; 15] =
    [32478, 20725, 45045, 32130, 14018, 21711, 40791, 29134, 34458, 45381, 28305, 17265, 22584, 28454, 30850];

/// Weiner's 15 builds of 2025 in all layouts.
#[test]
fn layouts() {
    let runs = Runs::new();
    let mut all = runs.seeds("vanilla", "thp_fault_alloc", &VANILLA);
    all.extend(runs.seeds("linux-6.15,vm.defrag_mode=1", "thp_fault_alloc", &DEFRAG));
    let trend = vec!["thp_fault_alloc".to_owned()];
    let with = |rule, full| compare(&all, Options { rule, full, trend: trend.clone(), ..Options::default() });
    assert_snapshot("compare-mmtests.txt", &with(Rule::Mmtests, false).to_table());
    assert_snapshot("compare-mmtests-2018.txt", &with(Rule::Mmtests2018, true).to_table());
    let benchstat = with(Rule::Benchstat, false);
    assert_snapshot("compare-benchstat.txt", &benchstat.to_table());
    assert_snapshot("compare.csv", &benchstat.to_csv());
    assert_snapshot("compare-go.txt", &benchstat.to_go_benchmarks());
}

/// Many variants with long names: the baseline stands in every bank, and no line is longer than a mail takes.
#[test]
fn many_variants_continue_below() {
    let runs = Runs::new();
    let policies = ["linux-4.20", "linux-4.20+boost", "linux-4.20+stall", "linux-6.15+defrag-as-posted", "linux-6.18"];
    let row = "extfrag.reclaimable_from_unmovable";
    let all: Vec<_> = policies.iter().flat_map(|policy| runs.seeds(policy, row, &[1000, 1100, 1200])).collect();
    for rule in [Rule::Mmtests, Rule::Benchstat] {
        let table = compare(&all, Options { rule, ..Options::default() }).to_table();
        let longest = table.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= 100, "{longest}:\n{table}");
        assert_eq!(table.matches(row).count(), if rule == Rule::Mmtests { 2 * 4 } else { 4 }, "{table}");
        assert!(table.lines().all(|line| line.trim_end() == line), "{table}");
    }
}

#[test]
fn json_has_the_documented_shape() {
    let runs = Runs::new();
    let mut all = runs.seeds("old", "extfrag_total", &[10, 12, 11, 13, 9]);
    all.extend(runs.seeds("new", "extfrag_total", &[0, 0, 0, 0, 1]));
    let json = compare(&all, Options { trend: vec!["extfrag_total".into()], ..Options::default() }).to_json();
    assert_eq!(
        json.as_object().expect("an object").keys().collect::<Vec<_>>(),
        ["schema", "version", "recordings", "base", "rule", "variants", "rows", "vmstat", "trends", "caveats"]
    );
    let row = &json["rows"][0];
    assert_eq!((&row["row"], &row["better"]), (&json!("extfrag_total"), &json!("lower")));
    let new = &row["variants"][1];
    assert_eq!(
        (&new["mean"], &new["median"], &new["values"]),
        (&json!(0.2), &json!(0.0), &json!([0.0, 0.0, 0.0, 0.0, 1.0]))
    );
    assert_eq!(new["significant"], true);
    assert!((new["change"].as_f64().expect("a number") + 0.981_818).abs() < 1e-5, "{new}");
    let (low, high) = (new["change_low"].as_f64().expect("a number"), new["change_high"].as_f64().expect("a number"));
    assert!((-1.0..-0.981).contains(&low) && (-0.981..-0.9).contains(&high), "{low} to {high}");
    assert_eq!(json["variants"][0]["runs"].as_array().expect("an array").len(), 5);
}

#[test]
fn runs_are_grouped_by_policy_or_by_name() {
    let runs = Runs::new();
    let mut all = runs.seeds("old", "extfrag_total", &[3, 4]);
    all.extend(runs.seeds("new", "extfrag_total", &[1, 2]));
    let names = |comparison: &Comparison| {
        comparison.variants.iter().map(|v| (v.name.clone(), v.samples("extfrag_total"))).collect::<Vec<_>>()
    };
    let grouped = compare(&all, Options { base: Some("new".into()), ..Options::default() });
    assert_eq!(names(&grouped), [("new".into(), vec![1.0, 2.0]), ("old".into(), vec![3.0, 4.0])]);
    let dirs = ["old-0", "new-0"].map(|name| runs.path(name)).into();
    let named = [Selection::Named { name: "mixed".into(), dirs }];
    assert_eq!(names(&compare(&named, Options::default())), [("mixed".into(), vec![3.0, 1.0])]);
    let kernel = compare(&all, Options { kernel: true, ..Options::default() });
    assert_eq!(names(&kernel)[0], ("kernel".into(), vec![7.0]), "the kernel is one run, however often it is seen");
    assert!(kernel.caveats.is_empty(), "{:?}", kernel.caveats);
    let of_scenario = runs.add("scenario", &DEMO, &[]);
    runs.write("scenario", "counters.json", &json!({"recorded": {}}).to_string());
    let without = compare(&[of_scenario], Options { kernel: true, ..Options::default() });
    assert!(without.caveats[0].starts_with("no run is beside a recorded kernel"), "{:?}", without.caveats);
}

/// What most runs measured decides; runs that did not measure do not count.
#[test]
fn rows_that_are_not_calibrated_are_marked() {
    let runs = Runs::new();
    let all = runs.seeds("old", "extfrag_total", &[3, 4, 5]);
    assert!(compare(&all, Options::default()).to_table().contains("no row is known to be calibrated"));
    for (at, verdict) in [(0, "calibrated"), (1, "not_calibrated")] {
        let rows = json!([
            {"row": "extfrag_total", "verdict": "not_calibrated"}, {"row": "pgscan_kswapd", "verdict": verdict},
        ]);
        runs.edit(&format!("old-{at}"), |manifest| manifest["calibration"] = json!({"measured": true, "rows": rows}));
    }
    let comparison = compare(&all, Options::default());
    let calibrated = ["extfrag_total", "pgscan_kswapd", "oom_kill"].map(|row| comparison.calibrated(row));
    assert_eq!(calibrated, [Some(false), Some(false), None]);
    assert_eq!(line(&comparison.to_table(), "Amean  extfrag_total"), "Amean extfrag_total 4.00 ( 0.00%) !");
    assert_eq!(comparison.to_json()["rows"][0]["calibrated"], false);
}

/// Named variants of several recordings have their recorded kernels beside them, a sample each.
#[test]
fn recorded_kernels_of_named_variants() {
    let runs = Runs::new();
    let recordings = ["a", "b", "c", "d"];
    for (at, recording) in recordings.into_iter().enumerate() {
        runs.add(recording, &Made { recording, ..DEMO }, &[("extfrag_total", 10)]);
        runs.write(recording, "counters.json", &json!({"kernel": {"extfrag_total": at}, "recorded": {}}).to_string());
    }
    let named = |name: &str, dirs: &[&str]| Selection::Named {
        name: name.into(),
        dirs: dirs.iter().map(|dir| runs.path(dir)).collect(),
    };
    let options = Options { kernel: true, across: true, base: Some("kernel of old".into()), ..Options::default() };
    let comparison = compare(&[named("old", &["a", "b"]), named("new", &["c", "d"])], options);
    let kernels: Vec<_> = comparison.variants.iter().map(|v| (v.name.as_str(), v.samples("extfrag_total"))).collect();
    assert_eq!(kernels[0], ("kernel of old", vec![0.0, 1.0]));
    assert_eq!(kernels[2], ("kernel of new", vec![2.0, 3.0]));
}

/// A deterministic replay that is listed twice would make every difference look surer than it is.
#[test]
fn repeated_runs_count_once() {
    let runs = Runs::new();
    let run = runs.add("run", &DEMO, &[("extfrag_total", 3)]);
    let comparison = compare(&[run.clone(), run], Options::default());
    assert_eq!(comparison.variants[0].runs.len(), 1);
    assert!(comparison.caveats[0].contains("counted once"), "{:?}", comparison.caveats);
}

#[test]
fn rows_that_only_some_know() {
    let runs = Runs::new();
    let new = Made { policy: "new", ..DEMO };
    let all = [
        runs.add("a", &DEMO, &[("extfrag_total", 3), ("allocstall", 2)]),
        runs.add("b", &Made { seed: 2, ..DEMO }, &[("extfrag_total", 4)]),
        runs.add("c", &new, &[("extfrag_total", 0), ("oom_kill", 1)]),
    ];
    let comparison = compare(&all, Options::default());
    assert!(comparison.caveats[0].contains("not all runs of recorded know allocstall"), "{:?}", comparison.caveats);
    let table = comparison.to_table();
    assert_eq!(line(&table, "Amean  oom_kill"), "Amean oom_kill - 1.00 ( - )");
    assert_eq!(line(&table, "Amean  allocstall"), "Amean allocstall 2.00 ( 0.00%) -");
}

#[test]
fn a_baseline_of_zero_is_no_ratio() {
    let runs = Runs::new();
    let mut all = runs.seeds("old", "oom_kill", &[0, 0, 0]);
    all.extend(runs.seeds("new", "oom_kill", &[2, 3, 4]));
    let comparison = compare(&all, Options::default());
    assert!(comparison.to_table().contains("From a baseline of 0"));
    assert_eq!(comparison.to_json()["rows"][0]["variants"][1]["change"], serde_json::Value::Null);
    // Of a row without a direction only the deviation has such a percentage.
    let mut neutral = runs.seeds("same", "compact_stall", &[5, 5, 5]);
    neutral.extend(runs.seeds("other", "compact_stall", &[4, 5, 6]));
    let options = Options { rows: vec!["compact_stall".into()], ..Options::default() };
    let table = compare(&neutral, options).to_table();
    assert_eq!(line(&table, "Stddev compact_stall"), "Stddev compact_stall 0.00 ( 0.00%) 1.00 ( -99.00%)");
    assert!(table.contains("From a baseline of 0"), "{table}");
}

/// A row of a high order is only there where something is in it: the mean was one over the runs that have it.
#[test]
fn a_high_order_that_a_run_lacks_is_0_there() {
    let runs = Runs::new();
    let mut all = Vec::new();
    for (at, failed) in [Some(6), None, None].into_iter().enumerate() {
        let rows = [Some(("failed.order0", 1)), failed.map(|count| ("failed.order13", count))];
        let rows: Vec<_> = rows.into_iter().flatten().collect();
        all.push(runs.add(&format!("old{at}"), &Made { seed: at as u64, ..DEMO }, &rows));
        all.push(runs.add(
            &format!("new{at}"),
            &Made { seed: at as u64, policy: "new", ..DEMO },
            &[("failed.order0", 1)],
        ));
    }
    let comparison = compare(&all, Options::default());
    assert_eq!(
        line(&comparison.to_table(), "Amean  failed.order13"),
        "Amean failed.order13 2.00 ( 0.00%) 0.00 ( 100.00%)"
    );
    assert!(comparison.caveats.is_empty(), "{:?}", comparison.caveats);
}

#[test]
fn different_recordings_are_refused() {
    let runs = Runs::new();
    let all = [runs.add("a", &DEMO, &[]), runs.add("b", &Made { recording: "other", ..DEMO }, &[])];
    let words = refused(&all, Options::default());
    assert!(words.contains("`demo`") && words.contains("`other`") && words.contains("--across"), "{words}");
    let across = compare(&all, Options { across: true, ..Options::default() });
    assert!(across.caveats[0].contains("different recordings"), "{:?}", across.caveats);
    assert_eq!(across.caveats.len(), 1, "windows are of one length");
    let longer = [all[0].clone(), runs.add("c", &Made { recording: "other", seconds: 12.5, ..DEMO }, &[])];
    let across = compare(&longer, Options { across: true, ..Options::default() });
    assert!(across.caveats[1].contains("10.0 to 12.5 s"), "{:?}", across.caveats);
}

/// Nanoseconds of a run of minutes ran into their label.
#[test]
fn long_numbers_keep_their_column() {
    let runs = Runs::new();
    let mut all = runs.seeds("old", "workload.elapsed", &[600_000_000_000, 601_000_000_000]);
    all.extend(runs.seeds("new", "workload.elapsed", &[500_000_000_000, 501_000_000_000]));
    let table = compare(&all, Options::default()).to_table();
    assert_eq!(
        line(&table, "Amean  workload.elapsed"),
        "Amean workload.elapsed 600500.00M ( 0.00%) 500500.00M * 16.65%*"
    );
    let mut all = runs.seeds("few", "oom_kill", &[1, 1, 1]);
    all.extend(runs.seeds("many", "oom_kill", &[1_000_000, 1_000_001, 1_000_002]));
    let wide = compare(&all, Options::default());
    assert!(wide.to_table().contains(") 1000001.00 *-100000000.00%*"), "{}", wide.to_table());
    let medians = compare(&all, Options { rule: Rule::Benchstat, ..Options::default() }).to_table();
    assert!(medians.contains("With so few runs no difference can reach p < 0.05"), "{medians}");
    all.extend(runs.seeds("more", "oom_kill", &[1, 2, 3, 4, 5]));
    let medians = compare(&all, Options { rule: Rule::Benchstat, ..Options::default() }).to_table();
    assert!(medians.contains("1 of the 2 variants beside the baseline can't reach"), "3 and 5 runs can: {medians}");
}

#[test]
fn what_is_not_a_run() {
    let runs = Runs::new();
    let add = |name: &str| runs.add(name, &DEMO, &[("extfrag_total", 1)]);
    let nowhere = [Selection::Run(runs.path("nowhere"))];
    assert!(refused(&nowhere, Options::default()).contains("nowhere: "));
    let here = [Selection::Run(runs.0.path().into())];
    assert!(refused(&here, Options::default()).contains("is not a fraglab run directory"));
    let damaged = |name: &str, file: &str, text: &str, words: &str| {
        let run = add(name);
        runs.write(name, file, text);
        let message = refused(&[run], Options::default());
        assert!(message.contains(words), "{message}");
    };
    damaged("a", "manifest.json", "{\"schema\": \"thesis\"}", "is not a fraglab run directory");
    damaged("b", "manifest.json", "{\"schema\": \"fragl", "manifest.json: EOF");
    damaged("c", "manifest.json", "{\"schema\": \"fraglab.run\", \"schema_version\": 9}", "schema_version 9");
    damaged("d", "manifest.json", "{\"schema\": \"fraglab.run\", \"schema_version\": 1}", "missing field");
    damaged("e", "counters.json", "{}", "no column `recorded`");
    damaged(
        "f",
        "counters.json",
        "{\"recorded\": {\"extfrag_total\": \"many\"}}",
        "row `extfrag_total` is not a whole number",
    );
    damaged("g", "counters.json", "\0\u{1}garbage", "counters.json: ");
    damaged(
        "h",
        "vmstat.csv",
        "column,ts_ns,name,value\nrecorded,1,pgfree\n",
        "vmstat.csv:2: not `column,ts_ns,name,value`",
    );
}

#[test]
fn mistakes_are_pointed_out() {
    let runs = Runs::new();
    let all = runs.seeds("old", "extfrag_total", &[3, 4]);
    let words = refused(&all, Options { rows: vec!["extfrag_totl".into()], ..Options::default() });
    assert!(words.contains("did you mean `extfrag_total`?"), "{words}");
    let words = refused(&all, Options { base: Some("new".into()), ..Options::default() });
    assert!(words.contains("there are: old"), "{words}");
    let named = |name: &str| Selection::Named { name: name.into(), dirs: vec![runs.path("old-0")] };
    assert!(matches!(
        Comparison::read(&[named("a"), named("a")], Options::default()),
        Err(CompareError::SameName(name)) if name == "a"
    ));
    let directed = |lower: &str, higher: &str| {
        let directions = Directions { lower: vec![lower.into()], higher: vec![higher.into()] };
        refused(&all, Options { directions, ..Options::default() })
    };
    assert!(directed("pgscan_kswpd", "*").contains("no run has a row `pgscan_kswpd`; did you mean `pgscan_kswapd`?"));
    assert!(directed("extfrag_total", "extfrag*").contains("`extfrag_total` is both under --lower and under --higher"));
    let over_time = Options { trend: vec!["extfrag_total".into()], every: Some(2.0), ..Options::default() };
    let verdict = compare(&all, over_time).to_json()["trends"][0]["verdict"].clone();
    assert_eq!(verdict, "not sampled over time", "not that there are too few points");
    let independent = compare(&all, Options { trend: vec!["extfrag_total".into()], ..Options::default() });
    assert!(independent.caveats[0].contains("do not follow one another"), "{:?}", independent.caveats);
}

/// Samples of a run lie far apart, means of runs close together: the rule would mark the means, and does not mark the samples.
#[test]
fn what_ranks_tell_beyond_the_stars_goes_by_the_stars_that_are_printed() {
    let runs = Runs::new();
    let mut all = Vec::new();
    for (policy, level) in [("base", 10.0), ("fast", 20.0)] {
        for seed in 1..=4 {
            let name = format!("{policy}{seed}");
            all.push(runs.add(&name, &Made { policy, seed, ..DEMO }, &[("extfrag_total", 5)]));
            let samples = [level - 9.0, level + 0.1 * seed as f64, level + 9.0];
            let measured = json!({policy: {"measure.ops": {"unit": "1/s", "better": "higher", "samples": samples}}});
            runs.write(&name, "measures.json", &measured.to_string());
        }
    }
    let comparison = compare(&all, Options::default());
    let means = [0, 1].map(|at: usize| comparison.variants[at].samples("measure.ops"));
    assert!(Rule::Mmtests.judge(&means[0], &means[1]).expect("judged").significant);
    let table = comparison.to_table();
    let line = table.lines().find(|line| line.starts_with("Amean") && line.contains("measure.ops")).expect("a row");
    assert!(line.ends_with("%)"), "no star: {line}");
    assert!(table.contains("Mann-Whitney (p < 0.05) tells 1 more apart"), "{table}");
}

/// Samples within the runs are pooled as mmtests does, the experiment says which way is better, and a single run gets no star.
#[test]
fn measures_are_compared_by_their_samples() {
    let runs = Runs::new();
    let add = |name: &str, policy: &'static str, seed: u64, samples: [f64; 3]| {
        let selection = runs.add(name, &Made { policy, seed, ..DEMO }, &[("extfrag_total", 5)]);
        let measured = json!({policy: {"measure.ops": {"unit": "1/s", "better": "higher", "samples": samples}}});
        runs.write(name, "measures.json", &measured.to_string());
        selection
    };
    let single = [add("a1", "base", 1, [10.0, 11.0, 12.0]), add("b1", "fast", 1, [100.0, 101.0, 102.0])];
    let table = compare(&single, Options { rule: Rule::Mmtests2018, ..Options::default() }).to_table();
    assert!(table.contains("( 818.18%)"), "more is better, and nothing is starred: {table}");
    let more = [add("a2", "base", 2, [10.5, 11.5, 12.5]), add("b2", "fast", 2, [100.0, 101.0, 105.0])];
    let all = [single, more].concat();
    let comparison = compare(&all, Options { rule: Rule::Mmtests2018, ..Options::default() });
    assert_eq!(comparison.variants[0].pooled("measure.ops"), [10.0, 11.0, 12.0, 10.5, 11.5, 12.5]);
    assert_eq!(comparison.variants[0].samples("measure.ops"), [11.0, 11.5], "one value a run");
    let table = comparison.to_table();
    let line = table.lines().find(|line| line.starts_with("Amean") && line.contains("measure.ops")).expect("a row");
    assert!(line.ends_with("101.50 * 802.22%*"), "{table}");
    let json = comparison.to_json();
    let row = json["rows"].as_array().expect("rows").iter().find(|row| row["row"] == "measure.ops").expect("a row");
    assert_eq!(row["better"], "higher", "for programs and for the page, too");
    assert!(comparison.to_csv().contains("\nmeasure.ops,higher,,base,2,11.25,"), "{}", comparison.to_csv());
    assert!(comparison.to_go_benchmarks().contains("\nBenchmarkReplay/row=measure.ops 1 11.5 1/s\n"));
}

/// Rounding made a difference of figures that are the same in all runs, and a star.
#[test]
fn measures_that_never_vary_do_not_differ() {
    let runs = Runs::new();
    let run = |policy: &'static str, seed: u64| {
        let selection = runs.add(&format!("{policy}{seed}"), &Made { policy, seed, ..DEMO }, &[]);
        let measured = json!({policy: {"measure.ops": {"unit": "1/s", "better": "higher", "samples": [0.1]}}});
        runs.write(&format!("{policy}{seed}"), "measures.json", &measured.to_string());
        selection
    };
    let all: Vec<_> = (1..=3).map(|seed| run("base", seed)).chain((1..=6).map(|seed| run("fast", seed))).collect();
    let comparison = compare(&all, Options { rule: Rule::Mmtests2018, ..Options::default() });
    assert_eq!(line(&comparison.to_table(), "Amean  measure.ops"), "Amean measure.ops 0.10 ( 0.00%) 0.10 ( 0.00%)");
    assert_eq!(comparison.to_json()["rows"][0]["variants"][1]["p_welch"], 1.0);
}
