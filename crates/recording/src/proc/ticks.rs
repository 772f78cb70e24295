//! `ticks.txt`: what /proc said every second of a recording.
//!
//! A tick lies between `=== tick <n> mono_ns <t>` and `=== end <n> mono_ns <t>` and has a part for
//! every file, headed `--- <path>`.

use crate::error::{Error, SourceName};
use crate::proc::buddyinfo::{self, FreeBlocks};
use crate::proc::pageblocks::{self, PageBlock};
use crate::proc::pagetypeinfo::{self, PageTypeInfo};
use crate::proc::text::Lines;
use crate::proc::vmstat::{self, Vmstat};

/// One tick. Parts that the recorder did not write are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Number, as in the trace's `TICK <n>` marks; recorders give the last one 999999.
    pub number: u64,
    /// `CLOCK_MONOTONIC` before the first part was read, in nanoseconds.
    pub begin_ns: u64,
    /// `CLOCK_MONOTONIC` after the last part was read, in nanoseconds.
    pub end_ns: u64,
    /// `/proc/buddyinfo`.
    pub buddyinfo: Vec<FreeBlocks>,
    /// `/proc/pagetypeinfo`.
    pub pagetypeinfo: Option<PageTypeInfo>,
    /// `/proc/vmstat`.
    pub vmstat: Vmstat,
    /// Every pageblock from page frame 0.
    pub pageblocks: Vec<PageBlock>,
}

/// Parses the file's text. The last tick may be cut short, as a recorder that is killed leaves it: then it is left out, and the line at
/// which it begins is beside the others.
///
/// # Errors
///
/// When the frame of a tick or one of its parts is not understood, a tick does not end, numbers or times do not rise, or a text has no
/// tick. Parts with an unknown heading are ignored.
pub fn parse(path: &SourceName, text: &str) -> Result<(Vec<Tick>, Option<u64>), Error> {
    let (whole, cut_short) = whole_ticks(text);
    let ticks = parse_whole(path, whole)?;
    if ticks.is_empty() && cut_short.is_none() && !text.trim().is_empty() {
        return Err(Lines::new(path, text, 1).lacks("tick (`=== tick <n> mono_ns <t>`)"));
    }
    Ok((ticks, cut_short))
}

/// The text without a last tick that does not end, and the line at which that begins.
fn whole_ticks(text: &str) -> (&str, Option<u64>) {
    let mut offset = 0;
    let mut last = None;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if line.starts_with("=== t") {
            last = Some((offset, number));
        }
        offset += line.len();
    }
    let Some((start, number)) = last else { return (text, None) };
    let cut_inside = !text.ends_with('\n');
    let mut frames = text[start..].lines().filter(|line| line.starts_with("=== ")).map(frame);
    let is_whole = match (frames.next().flatten(), frames.next()) {
        // A line that is not understood is not one that ends too early.
        (None, _) | (_, Some(None)) => !cut_inside,
        // A last line that was cut inside its time has too small a one.
        (Some((_, _, begin_ns)), Some(Some((_, _, ns)))) => ns >= begin_ns || !cut_inside,
        (Some(_), None) => false,
    };
    if is_whole { (text, None) } else { (&text[..start], Some(number)) }
}

fn parse_whole(path: &SourceName, text: &str) -> Result<Vec<Tick>, Error> {
    let lines = Lines::new(path, text, 1);
    let mut ticks: Vec<Tick> = Vec::new();
    let mut part: Option<Part<'_>> = None;
    let mut is_open = false;
    let (mut offset, mut last_line) = (0, 1);
    for (number, raw) in (1..).zip(text.split_inclusive('\n')) {
        let (start, line) = (offset, raw.trim_end());
        (offset, last_line) = (offset + raw.len(), number);
        let is_frame = line.starts_with("=== ");
        if !is_frame && !line.starts_with("--- ") {
            continue;
        }
        if let (Some(part), Some(tick)) = (part.take(), ticks.last_mut()) {
            part.parse(path, &text[part.start..start], tick)?;
        }
        if is_frame {
            let frame = frame(line).ok_or_else(|| lines.error(number, "the line begins or ends no tick"))?;
            begin_or_end(frame, is_open, &mut ticks).map_err(|problem| lines.error(number, problem))?;
            is_open = !frame.0;
        } else if is_open {
            part = Some(Part { heading: &line[4..], line: number + 1, start: offset });
        } else {
            return Err(lines.error(number, "the part stands outside of a tick"));
        }
    }
    match ticks.last().filter(|_| is_open) {
        Some(tick) => Err(lines.error(last_line, format!("tick {} does not end", tick.number))),
        None => Ok(ticks),
    }
}

/// Takes in the line that begins a tick, or ends the last one; an error says why it can't.
fn begin_or_end((is_end, number, ns): (bool, u64, u64), is_open: bool, ticks: &mut Vec<Tick>) -> Result<(), String> {
    let last = ticks.last_mut();
    match last {
        Some(tick) if is_end && is_open && tick.number == number => {
            if ns < tick.begin_ns {
                return Err(format!("tick {number} ends before it begins"));
            }
            tick.end_ns = ns;
        }
        _ if is_end => return Err(format!("tick {number} ends but did not begin")),
        Some(tick) if is_open => return Err(format!("tick {} has not ended when tick {number} begins", tick.number)),
        Some(tick) if tick.number >= number => {
            return Err(format!("tick {number} comes after tick {}", tick.number));
        }
        Some(tick) if tick.end_ns > ns || tick.begin_ns == ns => {
            return Err(format!("tick {number} begins before tick {} ends", tick.number));
        }
        _ => ticks.push(Tick { number, begin_ns: ns, ..Tick::default() }),
    }
    Ok(())
}

/// A part of a tick whose end is not found yet.
struct Part<'a> {
    heading: &'a str,
    /// Number of its first line.
    line: u64,
    /// Its start in the text.
    start: usize,
}

impl Part<'_> {
    fn parse(&self, path: &SourceName, text: &str, tick: &mut Tick) -> Result<(), Error> {
        let lines = Lines::new(path, text, self.line);
        match self.heading {
            "/proc/buddyinfo" => tick.buddyinfo = buddyinfo::parse_lines(lines)?,
            "/proc/pagetypeinfo" => tick.pagetypeinfo = Some(pagetypeinfo::parse_lines(lines)?),
            "/proc/vmstat" => tick.vmstat = vmstat::parse_lines(lines)?,
            "pageblocks" => tick.pageblocks = pageblocks::parse_hex(path, self.line, text)?,
            _ => {}
        }
        Ok(())
    }
}

/// `=== tick <n> mono_ns <t>` or `=== end <n> mono_ns <t>`: whether it is the end, n and t.
pub(crate) fn frame(line: &str) -> Option<(bool, u64, u64)> {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    let [_, kind, number, "mono_ns", ns] = words[..] else {
        return None;
    };
    let is_end = match kind {
        "tick" => false,
        "end" => true,
        _ => return None,
    };
    Some((is_end, number.parse().ok()?, ns.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parsed(text: &str) -> Result<(Vec<Tick>, Option<u64>), String> {
        parse(&Path::new("ticks.txt").into(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tick_has_its_parts() {
        let text = "=== tick 0 mono_ns 5\n--- /proc/buddyinfo\nNode 0, zone DMA 1 2\n--- /proc/vmstat\npgfree 3\n\
            --- news\nwhat\n--- pageblocks\n0109\n=== end 0 mono_ns 9\n=== tick 1 mono_ns 15\n--- /proc/vmstat\npgfree 4\n\
            === end 1 mono_ns 16\n";
        let (ticks, cut_short) = parsed(text).unwrap();
        assert_eq!((ticks.len(), ticks[0].begin_ns, ticks[0].end_ns, ticks[1].end_ns), (2, 5, 9, 16));
        assert_eq!(ticks[0].buddyinfo[0].by_order, [1, 2]);
        assert_eq!(ticks[0].pageblocks.len(), 2);
        assert_eq!((ticks[1].vmstat.get("pgfree"), cut_short), (Some(4), None));
        assert_eq!(parsed("\n"), Ok((vec![], None)));
    }

    /// Wherever a recorder that was killed left off: what is whole is there, and nothing else.
    #[test]
    fn a_last_tick_that_is_cut_short_is_left_out() {
        let tick = |number: u64| {
            let begin = 1000 * number;
            format!(
                "=== tick {number} mono_ns {begin}\n--- /proc/vmstat\npgscan_kswapd 102378\n=== end {number} mono_ns {}\n",
                begin + 9
            )
        };
        let (first, both) = (tick(1), tick(1) + &tick(2));
        for end in first.len() + "=== t".len()..both.len() - 1 {
            let (ticks, cut_short) = parsed(&both[..end]).unwrap();
            assert_eq!((ticks.len(), cut_short), (1, Some(5)), "{:?}", &both[first.len()..end]);
        }
        // Without the newline all is there.
        assert_eq!(parsed(&both[..both.len() - 1]).unwrap(), parsed(&both).unwrap());
        assert_eq!(parsed(&both).unwrap().0.len(), 2);
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let (end, tick) = ("=== end 0 mono_ns 9\n", "=== tick 0 mono_ns 5\n");
        for (text, problem) in [
            (format!("{tick}--- /proc/vmstat\npgfree 3\nwhat\n{end}"), "ticks.txt:4: the line is not `<name> <value>`"),
            ("=== end 0 mono_ns 5\n".to_owned(), "ticks.txt:1: tick 0 ends but did not begin"),
            ("=== tick\n".to_owned(), "ticks.txt:1: the line begins or ends no tick"),
            ("--- pageblocks\n00\n".to_owned(), "ticks.txt:1: the part stands outside of a tick"),
            (format!("{tick}{end}--- pageblocks\n00\n"), "ticks.txt:3: the part stands outside of a tick"),
            (format!("{tick}=== tick 1 mono_ns 7\n{end}"), "ticks.txt:2: tick 0 has not ended when tick 1 begins"),
            (format!("{tick}{end}{end}"), "ticks.txt:3: tick 0 ends but did not begin"),
            (format!("{tick}{end}=== tick 0 mono_ns 10\n{end}"), "ticks.txt:3: tick 0 comes after tick 0"),
            (
                format!("{tick}{end}=== tick 1 mono_ns 8\n=== end 1 mono_ns 9\n"),
                "ticks.txt:3: tick 1 begins before tick 0 ends",
            ),
            (format!("{tick}=== end 0 mono_ns 4\n"), "ticks.txt:2: tick 0 ends before it begins"),
            ("pgfree 3\n".to_owned(), "ticks.txt:1: the text has no tick (`=== tick <n> mono_ns <t>`)"),
        ] {
            assert_eq!(parsed(&text), Err(problem.to_owned()), "{text}");
        }
    }
}
