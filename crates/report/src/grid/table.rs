//! The report as text, and as CSV.

use super::{Errors, Gathered, Grid};
use crate::csv;
use crate::text::{LABEL_WIDTH_NARROW, count, heading, line_at};
use std::fmt::Write;

/// Widths of the summary's cells.
const SUMMARY: [usize; 5] = [13, 13, 13, 13, 13];
/// Widths of a comparison's cells,
const ROOMY: [usize; 6] = [11, 11, 11, 11, 11, 10];
/// and where luck and rank stand beside them.
const NARROW: [usize; 6] = [9, 9, 9, 9, 10, 9];
/// Width of luck and of rank.
const NARROWEST: usize = 5;

impl Grid {
    /// Plain text of at most 100 columns: a summary, then every comparison.
    pub fn to_table(&self) -> String {
        let mut text = self.head();
        let (mirrors, predictions, streams) = (self.mirrors(), self.predictions(), self.streams());
        summary(&mut text, "Mirror: replay of the recording under its own settings", &mirrors);
        prediction_summary(&mut text, &predictions);
        summary(&mut text, "Operation stream: the scenario in the simulated computer", &streams);
        self.problems(&mut text);
        for (kind, all) in [("Mirror", mirrors), ("Prediction", predictions), ("Operation stream", streams)] {
            for gathered in all {
                comparison(&mut text, kind, &gathered);
            }
        }
        text.push_str(FOOT);
        text
    }

    fn head(&self) -> String {
        let mut text = format!("Scenario   {}\n", self.scenario);
        let list = |mut names: Vec<String>| {
            let mut seen = Vec::new();
            names.retain(|name| {
                !seen.contains(name) && {
                    seen.push(name.clone());
                    true
                }
            });
            names.join(", ")
        };
        let ids = || self.cells.iter().map(|cell| &cell.id);
        let _ = writeln!(text, "Kernels    {}", list(ids().map(|id| id.kernel.clone()).collect()));
        let _ = writeln!(text, "Settings   {}", list(ids().map(|id| named(&id.setting).to_owned()).collect()));
        let _ = writeln!(text, "Seeds      {}", list(ids().map(|id| id.seed.to_string()).collect()));
        let _ = writeln!(text, "Cells      {}", self.cells.len());
        let _ = writeln!(text, "Replays    {} a recording and setting; bars: {}", self.replay_seeds, self.bars);
        text
    }

    fn problems(&self, text: &mut String) {
        let problems = || self.cells.iter().filter(|cell| !cell.findings.problems.is_empty());
        if problems().next().is_none() {
            return;
        }
        heading(text, "What could not be compared");
        for cell in problems() {
            for problem in &cell.findings.problems {
                let id = &cell.id;
                let _ =
                    writeln!(text, "{} {} seed {} run {}: {problem}", id.kernel, named(&id.setting), id.seed, id.run);
            }
        }
    }

    /// `comparison,kernel,setting,to,row,...`: one line a row of every comparison.
    pub fn to_csv(&self) -> String {
        let mut text =
            "comparison,kernel,setting,to,cells,row,kernel_median,kernel_low,kernel_high,model_median,model_low,\
                        model_high,error,half_width,judged,right,luck,rank\n"
                .to_owned();
        let all = [("mirror", self.mirrors()), ("prediction", self.predictions()), ("stream", self.streams())];
        for (kind, gathered) in all.iter().flat_map(|(kind, all)| all.iter().map(move |gathered| (kind, gathered))) {
            let group = &gathered.group;
            let to = group.to.as_deref().unwrap_or_default();
            let names = [&group.kernel, &group.setting, to].map(csv::field).join(",");
            for row in &gathered.rows {
                let of = |summary: &crate::over_runs::Summary| {
                    format!("{},{},{}", summary.median, summary.low, summary.high)
                };
                let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                let (kernel, model, name) = (of(&row.kernel), of(&row.model), csv::field(&row.row));
                let (error, half) = (number(row.error), number(row.half_width));
                let counts = format!("{},{},{},{}", row.judged, row.right, number(row.luck), number(row.rank));
                let _ =
                    writeln!(text, "{kind},{names},{},{name},{kernel},{model},{error},{half},{counts}", gathered.cells);
            }
        }
        text
    }
}

fn label(gathered: &Gathered) -> String {
    format!("{} {}", gathered.group.kernel, named(&gathered.group.setting))
}

/// A setting's name; that of none is that the kernel's own and the scenario's settings hold.
fn named(setting: &str) -> &str {
    if setting.is_empty() { "as it comes" } else { setting }
}

fn of((right, judged): (usize, usize)) -> String {
    if judged == 0 { "-".to_owned() } else { format!("{right} of {judged}") }
}

fn summary(text: &mut String, title: &str, all: &[Gathered]) {
    heading(text, title);
    if all.is_empty() {
        text.push_str("not compared\n");
        return;
    }
    let cells = |cells: [String; 3]| cells.into_iter().zip(SUMMARY);
    let title = if all.iter().any(|gathered| gathered.luck().is_some()) { "luck" } else { "" };
    line_at(text, "", LABEL_WIDTH_NARROW, cells(["cells", "rows in bar", title].map(str::to_owned)));
    for gathered in all {
        let counts = [
            gathered.cells.to_string(),
            of(gathered.score()),
            gathered.luck().map(|luck| format!("{luck:.1}")).unwrap_or_default(),
        ];
        line_at(text, &label(gathered), LABEL_WIDTH_NARROW, cells(counts));
    }
}

fn prediction_summary(text: &mut String, all: &[Gathered]) {
    heading(text, "Prediction: replay of the recording under other settings");
    if all.is_empty() {
        text.push_str("not compared\n");
        return;
    }
    let titles = ["cells", "signs right", "THP rate", "extfrag"].map(str::to_owned);
    line_at(text, "", LABEL_WIDTH_NARROW, titles.into_iter().zip(SUMMARY));
    for gathered in all {
        let _ = writeln!(text, "{}", label(gathered));
        let to = format!("  -> {}", gathered.group.to.as_deref().unwrap_or_default());
        let checks = ["thp_fault_success_rate", "extfrag_total"].map(|check| of(gathered.score_of(check)));
        let [thp, extfrag] = checks;
        let counts = [gathered.cells.to_string(), of(gathered.score()), thp, extfrag];
        line_at(text, &to, LABEL_WIDTH_NARROW, counts.into_iter().zip(SUMMARY));
    }
}

fn comparison(text: &mut String, kind: &str, gathered: &Gathered) {
    let to = gathered.group.to.as_ref().map(|to| format!(" -> {to}")).unwrap_or_default();
    heading(text, &format!("{kind}: {}{to}", label(gathered)));
    let right = if gathered.group.to.is_some() { "signs" } else { "in bar" };
    let titles = ["kernel", "spread", "model", "error", "+-95%", right].map(str::to_owned);
    let last = [gathered.luck().map(|_| "luck"), gathered.group.to.is_none().then_some("rank")];
    let widths = widths(gathered);
    row_line(text, "", titles.into_iter().zip(widths), last.map(|title| title.map(str::to_owned)));
    // What is held to nothing is in JSON and CSV.
    for row in gathered.rows.iter().filter(|row| row.judged > 0) {
        let last = [row.luck.map(|luck| format!("{luck:.1}")), row.rank.map(|rank| format!("{rank:.2}"))];
        row_line(text, &row.row, cells_of(row, gathered.cells, widths).into_iter().zip(widths), last);
    }
}

/// A prediction has neither luck nor rank.
const fn widths(gathered: &Gathered) -> [usize; 6] {
    if gathered.group.to.is_some() { ROOMY } else { NARROW }
}

fn cells_of(row: &Errors, cells: usize, widths: [usize; 6]) -> [String; 6] {
    // From a hundredfold on the decimal tells nothing.
    let decimals = |value: f64| usize::from(value.abs() < 100.0);
    let percent = |value: f64| format!("{:+.*}%", decimals(value), 100.0 * value);
    let half = row.half_width.map(|half| format!("+-{:.*}%", decimals(half), 100.0 * half)).unwrap_or_default();
    let [kernel, model] =
        [(&row.kernel, widths[0]), (&row.model, widths[2])].map(|(of, width)| count(of.median, width));
    // One run has no spread.
    let spread = if cells > 1 { count(row.kernel.range(), widths[1]) } else { "-".to_owned() };
    [kernel, spread, model, row.error.map_or_else(|| "-".to_owned(), percent), half, of((row.right, row.judged))]
}

/// One line; of the last two cells those that there are.
fn row_line(text: &mut String, label: &str, cells: impl Iterator<Item = (String, usize)>, last: [Option<String>; 2]) {
    let last = last.into_iter().flatten().map(|cell| (cell, NARROWEST));
    line_at(text, label, LABEL_WIDTH_NARROW, cells.chain(last));
}

const FOOT: &str = "
kernel, model: medians over the cells; spread: largest difference between two runs of the kernel,
which no model can foretell.
error: mean of (model - kernel) / kernel over the cells; +-95%: confidence of that mean.
in bar: cells in which the row is within its bar, of those in which it has one.
luck: in how many it would be, were the kernel one more of the replays (known from 4 replays on).
rank: share of the replays below the kernel, mean over the cells: 0.50 without a systematic error,
0 if the model is always higher, 1 if it is always lower.
signs: cells in which the model moved the row the kernel's way, of those in which that moved it.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::MIRROR_3;
    use crate::grid::{Cell, CellId, Findings};
    use crate::text::LINE_WIDTH;
    use crate::validate::{KernelSpread, MirrorRow, mirror};
    use lab::outcome::Outcome;

    /// A mirror and a stream of two cells.
    fn grid(rows: impl Fn(u64) -> [Vec<MirrorRow>; 2]) -> Grid {
        let cell = |seed: u64| {
            let [mirror, stream] = rows(seed);
            let id = CellId { kernel: "6.18".into(), setting: String::new(), seed, run: 1 };
            Cell { id, findings: Findings { mirror, stream, ..Findings::default() } }
        };
        Grid { scenario: "made-up".into(), bars: MIRROR_3.name, replay_seeds: 4, cells: vec![cell(1), cell(2)] }
    }

    fn rows(kernel: u64, seeds: &[u64]) -> Vec<MirrorRow> {
        let outcome =
            |count: u64| Outcome { counters: [("pgscan_direct".to_owned(), count)].into(), ..Outcome::default() };
        let models: Vec<Outcome> = seeds.iter().copied().map(outcome).collect();
        mirror(&outcome(kernel), &models, &MIRROR_3, &KernelSpread::default())
    }

    /// Words of the lines that begin so.
    fn lines<'a>(table: &'a str, start: &str) -> Vec<Vec<&'a str>> {
        table.lines().filter(|line| line.starts_with(start)).map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn luck_and_rank_stand_beside_what_is_in_bar() {
        // Luck 0.75 a cell: all but 9000 are within 320 of the median of the others, 700, 700 and 600.
        let table = grid(|seed| [rows(900 * seed, &[9000, 500, 700, 600]), rows(900 * seed, &[1000])]).to_table();
        let [mirror, stream] = &lines(&table, "pgscan_direct")[..] else { panic!("two comparisons: {table}") };
        assert_eq!(mirror[6..], ["1", "of", "2", "1.5", "0.75"], "{table}");
        // One run of the simulated computer is below the kernel of one of two cells, and has no luck.
        assert_eq!(stream[6..], ["1", "of", "2", "0.50"], "{table}");
        let titles = lines(&table, "   ");
        assert_eq!(titles[0], ["cells", "rows", "in", "bar", "luck"]);
        assert_eq!(titles[1], ["cells", "rows", "in", "bar"]);
        let [mirror, stream] = &lines(&table, "6.18 as it comes")[..] else { panic!("two summaries: {table}") };
        assert_eq!((&mirror[4..], &stream[4..]), (&["2", "1", "of", "2", "1.5"][..], &["2", "1", "of", "2"][..]));
    }

    #[test]
    fn few_replays_have_a_rank_only() {
        let table = grid(|_| [rows(900, &[500, 600, 900]), Vec::new()]).to_table();
        let titles = lines(&table, "   ");
        assert_eq!((titles[0].last(), titles[1].last()), (Some(&"bar"), Some(&"rank")), "{table}");
        assert_eq!(lines(&table, "pgscan_direct")[0].last(), Some(&"0.83"));
    }

    #[test]
    fn large_figures_keep_to_the_width() {
        let table = grid(|seed| [rows(200_000 * seed, &[400_000_000; 4]), rows(123_456_789 * seed, &[0])]).to_table();
        assert!(table.lines().all(|line| line.len() <= LINE_WIDTH), "{table}");
        let [mirror, stream] = &lines(&table, "pgscan_direct")[..] else { panic!("two comparisons: {table}") };
        // Errors of 1999 and 999 times: the half width is their standard deviation of 707, over sqrt 2, times 12.706.
        assert_eq!(mirror[1..6], ["200000", "200000", "400M", "+149900%", "+-635310%"]);
        assert_eq!(stream[1..4], ["123M", "123M", "0"]);
    }
}
