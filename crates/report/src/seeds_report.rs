//! Replays of one recording with several seeds: medians, how far the seeds lie apart, and which policies differ beyond that.

use crate::compare::Rule;
use crate::json::{self, SCHEMA_VERSION};
use crate::over_runs::{ENOUGH, Summary};
use crate::table::{Body, Shown, first_policy, unlike};
use crate::{Calibration, Report, Rows, csv, manifest};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Replays of one recording: a report a seed, at least one, all with the same columns.
#[derive(Clone, Debug)]
pub struct SeedsReport<'a> {
    /// How far the median of the seeds is from the recorded kernel; nothing where there is no recorded kernel.
    pub calibration: Option<Calibration>,
    /// One a seed.
    pub seeds: Vec<Report<'a>>,
    /// Seeds that were asked for: more than there are reports if the replays were interrupted.
    pub asked: usize,
}

impl<'a> SeedsReport<'a> {
    /// The report, if one seed is all that was asked for.
    pub fn only(&self) -> Option<&Report<'a>> {
        if self.asked == 1 { self.seeds.first() } else { None }
    }

    /// The seeds.
    pub fn numbers(&self) -> Vec<u64> {
        self.seeds
            .iter()
            .filter_map(|report| report.columns.iter().find_map(|c| c.facts.as_ref()))
            .map(|f| f.seed)
            .collect()
    }

    /// The table. Of a single seed it is that seed's; of several, figures are medians with the lowest and the highest beside them.
    pub fn to_table(&self) -> String {
        let Some(first) = self.seeds.first() else { return String::new() };
        if let Some(only) = self.only() {
            return only.to_table();
        }
        let mut text = first.legend();
        self.legend(&mut text);
        text.push_str(&self.calibration.as_ref().map(Calibration::to_text).unwrap_or_default());
        Body::of(&self.seeds, self.calibration.as_ref()).print(&mut text);
        text
    }

    /// What brackets and stars say.
    fn legend(&self, text: &mut String) {
        let seeds = span(&self.numbers());
        let _ = writeln!(text, "Seeds      {seeds}: median [lowest..highest]; no brackets: all the same");
        if self.seeds.len() < self.asked {
            let (done, asked) = (self.seeds.len(), self.asked);
            let _ = writeln!(text, "           INTERRUPTED: {done} of the {asked} seeds that were asked for");
        }
        let columns = self.seeds.first().into_iter().flat_map(|report| &report.columns);
        let policies: Vec<&str> = columns.filter(|c| c.facts.is_some()).map(|column| column.name.as_str()).collect();
        match policies.as_slice() {
            [] | [_] => {}
            _ if self.seeds.len() < ENOUGH => {
                let _ = writeln!(
                    text,
                    "           from {ENOUGH} seeds on, policies that differ beyond their luck are marked"
                );
            }
            [first, ..] => {
                let _ =
                    writeln!(text, "           *: unlike {first} beyond the luck of seeds (Mann-Whitney, p < 0.05;");
                text.push_str("           where nothing differs, one figure in twenty gets a star all the same)\n");
            }
        }
    }

    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        let columns = Shown::all(&self.seeds);
        let first = first_policy(&columns).map(|at| &columns[at]);
        let column = |column: &Shown| match column.is_replay() {
            true => over_seeds_json(column, first.filter(|first| first.name != column.name)),
            false => json::column(column.runs[0]),
        };
        json!({
            "schema": "fraglab.replay-seeds",
            "version": SCHEMA_VERSION,
            "recording": self.recording(),
            "seeds": self.numbers(),
            "seeds_asked": self.asked,
            "base": first.map(|first| first.name),
            "calibration": self.calibration.as_ref().map(Calibration::to_json),
            "columns": columns.iter().map(column).collect::<Vec<_>>(),
        })
    }

    /// `row,kernel`, then for each policy `POLICY` (the median), `POLICY low`, `POLICY high`, of all but the first `POLICY p`, and
    /// `POLICY seed N` for each seed; a figure that a column does not know is empty. Behind them `calibration`, as for one seed.
    pub fn to_csv(&self) -> String {
        let (columns, seeds) = (Shown::all(&self.seeds), self.numbers());
        let first = first_policy(&columns);
        let mut head = vec!["row".to_owned()];
        for (at, column) in columns.iter().enumerate() {
            head.push(column.name.to_owned());
            if column.is_replay() {
                let beside = ["low", "high", "p"].into_iter().filter(|what| *what != "p" || first != Some(at));
                head.extend(beside.map(|what| format!("{} {what}", column.name)));
                head.extend(seeds.iter().map(|seed| format!("{} seed {seed}", column.name)));
            }
        }
        head.extend(self.calibration.as_ref().map(|_| "calibration".to_owned()));
        let mut text = String::new();
        csv_line(&mut text, &head);
        for row in Rows::names(columns.iter().flat_map(|column| &column.rows)) {
            let mut fields = vec![row.clone()];
            let base = first.and_then(|at| columns[at].row(&row));
            for (at, column) in columns.iter().enumerate() {
                let base = base.as_deref().filter(|_| first != Some(at));
                fields.extend(csv_fields(column, &row, base, first == Some(at), seeds.len()));
            }
            let verdict = |calibration: &Calibration| calibration.of_row(&row).map(|verdict| verdict.name().to_owned());
            fields.extend(self.calibration.as_ref().map(|calibration| verdict(calibration).unwrap_or_default()));
            csv_line(&mut text, &fields);
        }
        text
    }

    /// Name of the recording.
    pub fn recording(&self) -> &str {
        self.seeds.first().map_or("", |report| &report.recording)
    }
}

/// Rising seeds in words.
fn span(seeds: &[u64]) -> String {
    match seeds {
        [] => String::new(),
        [only] => only.to_string(),
        [first, .., last] if last - first + 1 == seeds.len() as u64 => format!("{first} to {last}"),
        [first, .., last] => format!("{} from {first} to {last}", seeds.len()),
    }
}

/// A policy's medians, every seed's figures, and what came with each.
fn over_seeds_json(column: &Shown, base: Option<&Shown>) -> Value {
    let (mut medians, mut all) = (Map::new(), Map::new());
    for name in Rows::names(&column.rows) {
        let Some((values, summary)) = summed_up(column, &name) else { continue };
        medians.insert(name.clone(), summary.median.into());
        let mut row = json!(summary);
        row["values"] = json!(values);
        if let Some(base) = base {
            let (p, unlike) = test(base.row(&name).as_deref(), &values);
            row["p"] = json!(p);
            row["unlike_base"] = json!(unlike);
        }
        all.insert(name, row);
    }
    json!({
        "name": column.name,
        "rows": medians,
        "over_seeds": all,
        "replay": manifest::totals(column.facts()),
        "runs": column.runs.iter().map(|run| json::column(run)).collect::<Vec<_>>(),
    })
}

fn summed_up(column: &Shown, row: &str) -> Option<(Vec<u64>, Summary)> {
    let values = column.row(row)?;
    let summary = Summary::of(&values)?;
    Some((values, summary))
}

/// p of the difference from the first policy, and whether it is beyond luck; nothing where too little is known.
fn test(base: Option<&[u64]>, values: &[u64]) -> (Option<f64>, Option<bool>) {
    let floats = |values: &[u64]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
    let Some(base) = base.map(floats) else { return (None, None) };
    let values = floats(values);
    let p = Rule::Benchstat.judge(&base, &values).and_then(|verdict| verdict.p);
    (p, p.map(|_| unlike(&base, &values)))
}

/// Fields of a column in a row; as many empty ones where the column does not know it.
fn csv_fields(column: &Shown, row: &str, base: Option<&[u64]>, is_first: bool, seeds: usize) -> Vec<String> {
    let known = summed_up(column, row);
    let text = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut fields = vec![text(known.as_ref().map(|(_, summary)| summary.median))];
    if !column.is_replay() {
        return fields;
    }
    fields.push(text(known.as_ref().map(|(_, summary)| summary.low)));
    fields.push(text(known.as_ref().map(|(_, summary)| summary.high)));
    if !is_first {
        let p = known.as_ref().and_then(|(values, _)| test(base, values).0);
        fields.push(p.map(|p| p.to_string()).unwrap_or_default());
    }
    let values = known.map(|(values, _)| values.into_iter().map(Some).collect());
    fields.extend(values.unwrap_or_else(|| vec![None; seeds]).into_iter().map(text));
    fields
}

fn csv_line(text: &mut String, fields: &[String]) {
    let fields: Vec<_> = fields.iter().map(|field| csv::field(field)).collect();
    let _ = writeln!(text, "{}", fields.join(","));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Facts};
    use lab::outcome::Outcome;

    fn outcome(faults: u64) -> Outcome {
        Outcome { counters: [("thp_fault_alloc".to_owned(), faults)].into(), ..Outcome::default() }
    }

    /// The kernel beside two policies, with a figure for each seed.
    struct Made {
        kernel: Outcome,
        policies: [Vec<Outcome>; 2],
    }

    impl Made {
        fn of(policies: [&[u64]; 2]) -> Made {
            Made { kernel: outcome(44), policies: policies.map(|faults| faults.iter().copied().map(outcome).collect()) }
        }

        fn report(&self) -> SeedsReport<'_> {
            let seed = |at: usize| {
                let column = |name: &str, policy: usize| Column {
                    name: name.into(),
                    outcome: &self.policies[policy][at],
                    facts: Some(Facts { seed: at as u64 + 1, digest: at as u64, ..Facts::default() }),
                    timeline: None,
                };
                let columns = vec![Column::kernel(&self.kernel), column("recorded", 0), column("b", 1)];
                Report { recording: "demo".into(), calibration: None, columns }
            };
            let seeds: Vec<Report> = (0..self.policies[0].len()).map(seed).collect();
            SeedsReport { calibration: None, asked: seeds.len(), seeds }
        }
    }

    #[test]
    fn medians_with_their_range_and_a_star_beyond_luck() {
        let made = Made::of([&[48, 42, 51, 47, 44], &[59, 75, 52, 61, 60]]);
        let table = made.report().to_table();
        let line = table.lines().find(|line| line.starts_with("thp_fault_alloc")).expect("the row is printed");
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["thp_fault_alloc", "44", "47", "[42..51]", "60", "[52..75]", "*"]
        );
        assert!(table.contains("\nSeeds      1 to 5: median [lowest..highest]"), "{table}");
        assert!(table.contains("*: unlike recorded beyond the luck of seeds"), "{table}");
        assert_eq!(table.matches("  seed 3, digest 0000000000000002\n").count(), 2, "{table}");
        let alike = Made::of([&[48, 42, 51, 47, 44], &[48, 43, 50, 47, 44]]);
        assert!(
            alike.report().to_table().lines().filter(|line| line.starts_with("thp")).all(|line| !line.contains('*'))
        );
    }

    #[test]
    fn too_few_seeds_are_never_marked() {
        let made = Made::of([&[1, 2, 3], &[100, 200, 300]]);
        let table = made.report().to_table();
        assert!(!table.contains('*') && table.contains("from 4 seeds on"), "{table}");
        let one = Made::of([&[1], &[100]]);
        let report = one.report();
        assert_eq!(report.to_table(), report.seeds[0].to_table());
    }

    /// A third seed would look as if it had been the only one, and a second and a fourth as if the third had been among them.
    #[test]
    fn what_was_interrupted_does_not_look_whole() {
        let made = Made::of([&[48, 42, 51, 47], &[59, 75, 56, 61]]);
        let interrupted = |kept: &[usize]| {
            let mut report = made.report();
            report.seeds = kept.iter().map(|&at| report.seeds[at].clone()).collect();
            report
        };
        let three = interrupted(&[0, 1, 3]);
        let head = "\nSeeds      3 from 1 to 4: median [lowest..highest]; no brackets: all the same\n\
            \x20          INTERRUPTED: 3 of the 4 seeds that were asked for\n";
        assert!(three.to_table().contains(head), "{}", three.to_table());
        let json = three.to_json();
        assert_eq!((&json["seeds"], &json["seeds_asked"]), (&json!([1, 2, 4]), &json!(4)));
        let one = interrupted(&[2]);
        assert!(one.only().is_none() && one.to_table().contains("\nSeeds      3: median"), "{}", one.to_table());
        assert!(one.to_table().contains("\n           INTERRUPTED: 1 of the 4 seeds"), "{}", one.to_table());
        let whole = made.report();
        assert!(!whole.to_table().contains("INTERRUPTED") && whole.to_json()["seeds_asked"] == 4);
    }

    #[test]
    fn programs_get_every_seed() {
        let made = Made::of([&[48, 42, 51, 47], &[59, 75, 56, 61]]);
        let json = made.report().to_json();
        assert_eq!(
            (&json["schema"], &json["seeds"], &json["base"]),
            (&json!("fraglab.replay-seeds"), &json!([1, 2, 3, 4]), &json!("recorded"))
        );
        let [kernel, recorded, b] = [0, 1, 2].map(|at| &json["columns"][at]);
        assert_eq!((&kernel["rows"]["thp_fault_alloc"], kernel.get("over_seeds")), (&json!(44), None));
        let row = &recorded["over_seeds"]["thp_fault_alloc"];
        assert_eq!((&row["values"], &row["median"], row.get("p")), (&json!([48, 42, 51, 47]), &json!(47), None));
        let row = &b["over_seeds"]["thp_fault_alloc"];
        assert_eq!((&row["low"], &row["high"], &row["unlike_base"]), (&json!(56), &json!(75), &json!(true)));
        assert!((row["p"].as_f64().expect("a number") - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(b["runs"][3]["replay"]["seed"], 4);
        let csv = made.report().to_csv();
        let head = "row,kernel,recorded,recorded low,recorded high,recorded seed 1,recorded seed 2,recorded seed 3,\
            recorded seed 4,b,b low,b high,b p,b seed 1,b seed 2,b seed 3,b seed 4\n";
        assert!(csv.starts_with(head), "{csv}");
        assert!(
            csv.contains("\nthp_fault_alloc,44,47,42,51,48,42,51,47,59,56,75,0.02857142857142857,59,75,56,61\n"),
            "{csv}"
        );
    }
}
