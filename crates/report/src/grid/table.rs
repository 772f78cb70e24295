//! The report as text, and as CSV.

use super::{Errors, Gathered, Grid};
use crate::csv;
use crate::text::{LABEL_WIDTH_NARROW, heading, line_at};
use std::fmt::Write;

/// Widths of the summary's cells.
const SUMMARY: [usize; 5] = [13, 13, 13, 13, 13];

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
                        model_high,error,half_width,judged,right\n"
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
                let counts = format!("{},{}", row.judged, row.right);
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
    line_at(text, "", LABEL_WIDTH_NARROW, cells(["cells", "rows in bar", ""].map(str::to_owned)));
    for gathered in all {
        let counts = [gathered.cells.to_string(), of(gathered.score()), String::new()];
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
    let titles = ["kernel", "spread", "model", "error", "+-95%", right];
    row_line(text, "", titles.map(str::to_owned));
    // What is held to nothing is in JSON and CSV.
    for row in gathered.rows.iter().filter(|row| row.judged > 0) {
        row_line(text, &row.row, cells_of(row, gathered.cells));
    }
}

fn cells_of(row: &Errors, cells: usize) -> [String; 6] {
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{:+.1}%", 100.0 * value));
    let half = row.half_width.map(|half| format!("+-{:.1}%", 100.0 * half)).unwrap_or_default();
    let [kernel, model] = [row.kernel.median, row.model.median].map(|figure| figure.to_string());
    // One run has no spread.
    let spread = if cells > 1 { row.kernel.range().to_string() } else { "-".to_owned() };
    [kernel, spread, model, percent(row.error), half, of((row.right, row.judged))]
}

fn row_line(text: &mut String, label: &str, cells: [String; 6]) {
    line_at(text, label, LABEL_WIDTH_NARROW, cells.into_iter().zip([11, 11, 11, 11, 11, 10]));
}

const FOOT: &str = "
kernel, model: medians over the cells; spread: largest difference between two runs of the kernel:
no model can be closer than that.
error: mean of (model - kernel) / kernel over the cells; +-95%: confidence of that mean.
in bar: cells in which the row is within its bar, of those in which it has one.
signs: cells in which the model moved the row the kernel's way, of those in which that moved it.
";
