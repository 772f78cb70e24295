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
    /// The same after the last part; 0 if the recording ends inside the tick.
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

/// Parses the file's text.
///
/// # Errors
///
/// When the frame of a tick or one of its parts is not understood. Parts with an unknown heading
/// are ignored.
pub fn parse(path: &SourceName, text: &str) -> Result<Vec<Tick>, Error> {
    let lines = Lines::new(path, text, 1);
    let mut ticks: Vec<Tick> = Vec::new();
    let mut part: Option<Part<'_>> = None;
    let mut offset = 0;
    for (number, raw) in (1..).zip(text.split_inclusive('\n')) {
        let (start, line) = (offset, raw.trim_end());
        offset += raw.len();
        let is_frame = line.starts_with("=== ");
        if !is_frame && !line.starts_with("--- ") {
            continue;
        }
        if let (Some(part), Some(tick)) = (part.take(), ticks.last_mut()) {
            part.parse(path, &text[part.start..start], tick)?;
        }
        if is_frame {
            let (is_end, count, ns) = frame(line)
                .ok_or_else(|| lines.error(number, "the line begins or ends no tick"))?;
            match ticks.last_mut() {
                Some(tick) if is_end && tick.number == count => tick.end_ns = ns,
                _ if is_end => {
                    return Err(lines.error(number, format!("tick {count} ends but did not begin")));
                }
                _ => ticks.push(Tick {
                    number: count,
                    begin_ns: ns,
                    ..Tick::default()
                }),
            }
        } else if ticks.is_empty() {
            return Err(lines.error(number, "the part stands outside of a tick"));
        } else {
            part = Some(Part {
                heading: &line[4..],
                line: number + 1,
                start: offset,
            });
        }
    }
    if let (Some(part), Some(tick)) = (part, ticks.last_mut()) {
        part.parse(path, &text[part.start..], tick)?;
    }
    Ok(ticks)
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

    #[test]
    fn a_tick_has_its_parts() {
        let path: SourceName = Path::new("ticks.txt").into();
        let text = "=== tick 0 mono_ns 5\n--- /proc/buddyinfo\nNode 0, zone DMA 1 2\n--- /proc/vmstat\npgfree 3\n\
            --- news\nwhat\n--- pageblocks\n0109\n=== end 0 mono_ns 9\n=== tick 1 mono_ns 15\n--- /proc/vmstat\npgfree 4\n";
        let ticks = parse(&path, text).unwrap();
        assert_eq!(
            (
                ticks.len(),
                ticks[0].begin_ns,
                ticks[0].end_ns,
                ticks[1].end_ns
            ),
            (2, 5, 9, 0)
        );
        assert_eq!(ticks[0].buddyinfo[0].by_order, [1, 2]);
        assert_eq!(ticks[0].pageblocks.len(), 2);
        assert_eq!(ticks[1].vmstat.get("pgfree"), Some(4));
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let path: SourceName = Path::new("ticks.txt").into();
        for (text, problem) in [
            (
                "=== tick 0 mono_ns 5\n--- /proc/vmstat\npgfree 3\nwhat\n",
                "ticks.txt:4: the line is not `<name> <value>`",
            ),
            (
                "=== end 0 mono_ns 5\n",
                "ticks.txt:1: tick 0 ends but did not begin",
            ),
            ("=== tick\n", "ticks.txt:1: the line begins or ends no tick"),
            (
                "--- pageblocks\n00\n",
                "ticks.txt:1: the part stands outside of a tick",
            ),
        ] {
            assert_eq!(parse(&path, text).unwrap_err().to_string(), problem);
        }
    }
}
