//! What all layouts share: the legend above, and column heads over right-aligned cells.

use super::{Comparison, Variant};
use crate::text::{LINE_WIDTH, break_name};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What is compared with what.
pub(super) fn legend(comparison: &Comparison) -> String {
    let mut text = format!("Recording  {}\n", comparison.recordings().join(", "));
    for (at, variant) in comparison.variants.iter().enumerate() {
        let role = if at == 0 { "Baseline" } else { "Variant" };
        let _ = writeln!(text, "{role:<9}  {}: {}", variant.name, runs(variant));
    }
    let measured = comparison.rows.iter().any(|row| comparison.calibrated(row).is_some());
    text.push_str(match measured {
        true => "Mirror     !: not calibrated, most runs miss the recorded kernel there by more than 25%\n",
        false => "Mirror     not measured: no row is known to be calibrated (docs/cli.md)\n",
    });
    text
}

/// Large numbers, with what is written behind what is left of them.
const UNITS: [(f64, &str); 3] = [(1e6, "M"), (1e9, "G"), (1e12, "T")];

/// A value in so much room: in millions or more of them where it is too long, as nanoseconds of a long run are.
pub(super) fn in_room(value: f64, digits: usize, room: usize) -> String {
    let whole = format!("{value:.digits$}");
    if whole.len() <= room {
        return whole;
    }
    let shorter = UNITS.iter().map(|(unit, name)| format!("{:.2}{name}", value / unit));
    shorter.into_iter().find(|text| text.len() <= room).unwrap_or(whole)
}

/// How many runs, and of which seeds.
fn runs(variant: &Variant) -> String {
    let runs = match variant.runs.len() {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    };
    let seeds: BTreeSet<u64> = variant.runs.iter().filter_map(|run| Some(run.replay.as_ref()?.seed)).collect();
    let seeds: Vec<u64> = seeds.into_iter().collect();
    match (seeds.first(), seeds.last()) {
        (Some(first), Some(last)) if first == last => format!("{runs}, seed {first}"),
        (Some(first), Some(last)) if last - first + 1 == seeds.len() as u64 => {
            format!("{runs}, seeds {first} to {last}")
        }
        (Some(_), _) => {
            format!("{runs}, seeds {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
        }
        (None, _) => runs,
    }
}

/// The baseline with as many others as fit beside it in a line, again and again.
pub(super) fn banks(comparison: &Comparison, label: usize, base: usize, other: usize) -> Vec<Vec<usize>> {
    let fit = (LINE_WIDTH.saturating_sub(label + base) / other).max(1);
    let others: Vec<usize> = (1..comparison.variants.len()).collect();
    if others.is_empty() {
        return vec![vec![0]];
    }
    others.chunks(fit).map(|chunk| std::iter::once(0).chain(chunk.iter().copied()).collect()).collect()
}

/// Heads of columns: each name on as many lines as it needs, the last line of all on the same height.
pub(super) fn header<'a>(text: &mut String, label: usize, columns: impl Iterator<Item = (&'a str, usize)>) {
    let columns: Vec<(Vec<String>, usize)> = columns.map(|(name, width)| (head(name, width - 1), width)).collect();
    let height = columns.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0);
    for row in 0..height {
        let mut line = " ".repeat(label);
        for (lines, width) in &columns {
            let piece = (row + lines.len()).checked_sub(height).map_or("", |at| &lines[at]);
            let _ = write!(line, "{piece:>width$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// As mmtests does: split at the first `-`, but not before `rcN`. What is still too long is broken where names are put
/// together.
fn head(name: &str, width: usize) -> Vec<String> {
    let split = name.split_once('-').map(|(first, rest)| {
        let release = rest.len() > 2 && rest.starts_with("rc") && rest.as_bytes()[2].is_ascii_digit();
        match rest.split_once('-') {
            Some((candidate, rest)) if release => vec![format!("{first}-{candidate}"), rest.to_owned()],
            _ if release => vec![name.to_owned()],
            _ => vec![first.to_owned(), rest.to_owned()],
        }
    });
    let pieces = split.unwrap_or_else(|| vec![name.to_owned()]);
    pieces.iter().flat_map(|piece| fit(piece, width)).collect()
}

/// At blanks first, then where names are put together, and in the end anywhere: heads never run into each other.
fn fit(piece: &str, width: usize) -> Vec<String> {
    if piece.len() <= width {
        return vec![piece.to_owned()];
    }
    if let Some((first, rest)) = piece.rsplit_once(' ') {
        return [fit(first, width), fit(rest, width)].concat();
    }
    let letters: Vec<Vec<char>> = break_name(piece, width).iter().map(|line| line.chars().collect()).collect();
    letters.iter().flat_map(|line| line.chunks(width).map(String::from_iter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_shortened() {
        let shown = [12.0, 123_456_789.0, 1_089_218_360.0, 6e11, 7.25e13].map(|value| in_room(value, 2, 12));
        assert_eq!(shown, ["12.00", "123456789.00", "1089.22M", "600000.00M", "72500000.00M"]);
        assert_eq!((in_room(7.25e13, 2, 11).as_str(), in_room(6e11, 0, 9).as_str()), ("72500.00G", "600.00G"));
    }

    /// Heads of the postings of 2018 and 2016, and of ours.
    #[test]
    fn heads() {
        assert_eq!(head("4.20.0-rc1-boost-v3r1", 22), ["4.20.0-rc1", "boost-v3r1"]);
        assert_eq!(head("4.6-rc1", 22), ["4.6-rc1"]);
        assert_eq!(head("linux-6.18", 22), ["linux", "6.18"]);
        assert_eq!(head("recorded", 22), ["recorded"]);
        assert_eq!(head("recorded,vm.defrag_mode=1", 22), ["recorded,", "vm.defrag_mode=1"]);
        assert_eq!(head("kernel of d1", 11), ["kernel of", "d1"]);
        assert_eq!(head("withoutanyseparator", 11), ["withoutanys", "eparator"]);
    }
}
