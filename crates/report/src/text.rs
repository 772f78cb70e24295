//! Plain-text layout: a label column, right-aligned numbers, nothing that a mail client could break.

use std::fmt::Write;

/// Widest line that a table may have.
pub const LINE_WIDTH: usize = 100;
/// Width of the label column.
pub const LABEL_WIDTH: usize = 38;
/// Width of the label column where many columns must fit beside it.
pub const LABEL_WIDTH_NARROW: usize = 35;
/// Width of a number column, its gap included.
pub const NUMBER_WIDTH: usize = 14;

/// Columns that fit beside the label.
pub const fn columns_per_bank() -> usize {
    (LINE_WIDTH - LABEL_WIDTH) / NUMBER_WIDTH
}

/// Heading of a section, underlined.
pub fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}\n{}", "-".repeat(title.len()));
}

/// One line: label, then cells right-aligned to `width`.
pub fn line(text: &mut String, label: &str, width: usize, cells: impl IntoIterator<Item = String>) {
    line_at(text, label, LABEL_WIDTH, cells.into_iter().map(|cell| (cell, width)));
}

/// One line: a label of `label_width`, then every cell right-aligned to its own width.
pub fn line_at(text: &mut String, label: &str, label_width: usize, cells: impl IntoIterator<Item = (String, usize)>) {
    let mut line = format!("{label:<label_width$}");
    for (cell, width) in cells {
        // A gap always remains, even beside a label or a number that is too long for its column.
        let _ = if line.ends_with(' ') && cell.len() < width {
            write!(line, "{cell:>width$}")
        } else {
            write!(line, " {:>rest$}", cell.trim_start(), rest = width.saturating_sub(1))
        };
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Header of columns: names are broken at their separators into lines that fit a column.
pub fn header(text: &mut String, names: &[&str]) {
    let names: Vec<(&str, usize)> = names.iter().map(|name| (*name, NUMBER_WIDTH)).collect();
    header_at(text, &names, &|_| false);
}

/// The same for columns of their own widths. Names of columns that `left` says begin at the column's left edge behind a gap of
/// two, all others end at its right edge.
pub fn header_at(text: &mut String, names: &[(&str, usize)], left: &dyn Fn(usize) -> bool) {
    let gap = |at: usize| if left(at) { 2 } else { 1 };
    let broken: Vec<Vec<String>> =
        names.iter().enumerate().map(|(at, (name, width))| break_name(name, width - gap(at))).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..height {
        let cells = broken.iter().zip(names).enumerate().map(|(at, (lines, (_, width)))| {
            let first = height - lines.len();
            let piece = row.checked_sub(first).map(|at| lines[at].clone()).unwrap_or_default();
            let rest = width - gap(at);
            (if left(at) { format!("  {piece:<rest$}") } else { piece }, *width)
        });
        line_at(text, "", LABEL_WIDTH, cells.collect::<Vec<_>>());
    }
}

/// Breaks a name into pieces of at most `width`, after one of the separators that policy names are made of.
pub(crate) fn break_name(name: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in name.split_inclusive([',', '+', '-', '_', '=', '.']) {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && last.len() + piece.len() > width || last.ends_with(',') {
            lines.push(piece.to_owned());
        } else {
            last.push_str(piece);
        }
    }
    lines
}

/// A duration in the largest unit that keeps it at 1 or more, two decimals.
pub fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0 => "0".to_owned(),
        1..1_000 => format!("{nanoseconds}ns"),
        1_000..1_000_000 => format!("{:.2}us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2}ms", value / 1e6),
        _ => format!("{:.2}s", value / 1e9),
    }
}

/// A figure with as many digits as tell something: whole where it is large, two decimals at most.
pub fn number(value: f64) -> String {
    match value {
        // What is nearly nothing is rounded to 0 from either side.
        0.0 => "0".to_owned(),
        _ if value == value.trunc() && value.abs() < 1e15 => format!("{value:.0}"),
        _ if value.abs() >= 10_000.0 => format!("{value:.0}"),
        _ if value.abs() >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A count in a column of `width`: whole if it fits beside its gap, else in few characters.
pub fn count(value: u64, width: usize) -> String {
    let whole = value.to_string();
    if whole.len() < width { whole } else { short(value as f64) }
}

/// A figure in few characters: three digits of what has five or more, one decimal of what has less than three.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size < 1e4 => (value, ""),
        size if size < 999_500.0 => (value / 1e3, "k"),
        size if size < 999_500_000.0 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    let decimals = match (unit, scaled.abs()) {
        ("", size) => usize::from(size < 100.0 && size != size.trunc()),
        (_, size) if size < 9.995 => 2,
        (_, size) if size < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_at_separators() {
        assert_eq!(break_name("kernel", 13), ["kernel"]);
        assert_eq!(break_name("recorded,vm.defrag_mode=1", 13), ["recorded,", "vm.defrag_", "mode=1"]);
        assert_eq!(break_name("linux-6.15+defrag-as-posted", 13), ["linux-6.15+", "defrag-as-", "posted"]);
    }

    #[test]
    fn headers_stand_on_the_last_line() {
        let mut text = String::new();
        header(&mut text, &["kernel", "recorded,vm.defrag_mode=1"]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with("kernel        mode=1"), "{text}");
    }

    #[test]
    fn numbers() {
        assert_eq!([12_345.678, 1.0, 0.5, 0.012].map(number), ["12346", "1", "0.50", "0.0120"]);
        assert_eq!(number(-0.0), "0", "not -0");
    }

    #[test]
    fn durations() {
        assert_eq!(
            [0, 999, 1500, 59_500_000, 2_470_000_000].map(duration),
            ["0", "999ns", "1.50us", "59.50ms", "2.47s"]
        );
    }

    #[test]
    fn short_figures() {
        let figures = [0.0, 7.0, 71.25, 612.7, 9_999.0, 10_000.0, 99_960.0, 999_499.0, 999_501.0, 12_345_678.0, 3e9];
        let texts = ["0", "7", "71.2", "613", "9999", "10.0k", "100k", "999k", "1.00M", "12.3M", "3.00G"];
        assert_eq!(figures.map(short), texts);
        assert_eq!(short(-71.0), "-71");
        assert_eq!([99_999_999, 100_000_000].map(|value| count(value, 9)), ["99999999", "100M"]);
    }

    #[test]
    fn long_numbers_keep_their_gap() {
        let mut text = String::new();
        line(&mut text, "x", 4, ["12345".to_owned(), "67890".to_owned()]);
        assert!(text.ends_with(" 12345 67890\n"), "{text}");
    }
}
