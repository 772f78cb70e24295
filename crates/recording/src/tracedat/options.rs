//! The options of a trace.dat: facts about the recording beside the events.

use crate::cursor::Cursor;
use crate::error::Error;
use crate::quote::cited;

/// Numbers of the options that are read here; the rest is skipped, as the format demands.
pub(crate) mod id {
    pub(crate) const DONE: u16 = 0;
    pub(crate) const CPUSTAT: u16 = 2;
    pub(crate) const BUFFER: u16 = 3;
    pub(crate) const TRACECLOCK: u16 = 4;
    pub(crate) const UNAME: u16 = 5;
    pub(crate) const OFFSET: u16 = 7;
    pub(crate) const CPUCOUNT: u16 = 8;
    pub(crate) const VERSION: u16 = 9;
    pub(crate) const TSC2NSEC: u16 = 14;
    pub(crate) const HEADER_INFO: u16 = 16;
    pub(crate) const FTRACE_EVENTS: u16 = 17;
    pub(crate) const EVENT_FORMATS: u16 = 18;
    pub(crate) const KALLSYMS: u16 = 19;
    pub(crate) const PRINTK: u16 = 20;
    pub(crate) const CMDLINES: u16 = 21;
    pub(crate) const BUFFER_TEXT: u16 = 22;
}

/// How a TSC value becomes nanoseconds: `(tsc - offset) * mult >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TscToNs {
    /// Multiplier.
    pub mult: u32,
    /// Bits to shift right after multiplying, below 64.
    pub shift: u32,
    /// TSC value of time 0.
    pub offset: u64,
}

/// What the options of a trace.dat say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Contents of `trace_clock`, the clock in use in brackets; for a version 7 file usually only
    /// the buffer knows.
    pub trace_clock: Option<String>,
    /// Contents of every CPU's `stats` file at the end of recording.
    pub cpu_stats: Vec<String>,
    /// `uname` of the recorded machine.
    pub uname: Option<String>,
    /// Version of the trace-cmd that recorded.
    pub version: Option<String>,
    /// Number of CPUs of the recorded machine.
    pub cpu_count: Option<u32>,
    /// Nanoseconds that are added to every timestamp.
    pub ts_offset_ns: i64,
    /// Conversion of TSC timestamps.
    pub tsc_to_ns: Option<TscToNs>,
}

impl Options {
    /// Takes in one option; those that are not known are none of ours.
    pub(crate) fn take(&mut self, option: u16, data: &mut Cursor<'_>, size: u64) -> Result<(), Error> {
        match option {
            id::CPUSTAT => self.cpu_stats.push(text(data, size)?),
            id::TRACECLOCK => self.trace_clock = Some(text(data, size)?),
            id::UNAME => self.uname = Some(text(data, size)?),
            id::VERSION => self.version = Some(text(data, size)?),
            id::CPUCOUNT => self.cpu_count = Some(data.u32("the CPU count")?),
            id::OFFSET => {
                let offset = data.offset();
                let value = text(data, size)?;
                let number = value.trim().parse();
                self.ts_offset_ns = number
                    .map_err(|_| data.malformed(offset, format!("time offset `{}` is no number", cited(&value))))?;
            }
            id::TSC2NSEC => {
                let offset = data.offset();
                let conversion = TscToNs {
                    mult: data.u32("the TSC conversion")?,
                    shift: data.u32("the TSC conversion")?,
                    offset: data.u64("the TSC conversion")?,
                };
                if conversion.shift >= 64 {
                    return Err(data.malformed(offset, "the TSC conversion shifts by 64 bits or more"));
                }
                self.tsc_to_ns = Some(conversion);
            }
            _ => {}
        }
        Ok(())
    }

    /// Events that the kernel says it lost, summed over the `overrun`, `commit overrun` and
    /// `dropped events` of all CPUs; `None` if the file holds no statistics.
    pub fn lost_in_stats(&self) -> Option<u64> {
        let sum = self.counted(&["overrun", "commit overrun", "dropped events"]);
        (!self.cpu_stats.is_empty()).then_some(sum)
    }

    /// Lost events that the statistics count and no page can have marked; `None` if there are none.
    ///
    /// Events that were overwritten (`overrun`) are marked on the page that was read next, so pages with marks (`marked`) account for
    /// them. Those that found no room (`dropped events`), or met an interrupt that wrote once round the buffer (`commit overrun`),
    /// are marked nowhere.
    pub fn lost_without_place(&self, marked: bool) -> Option<u64> {
        let counters = ["commit overrun", "dropped events", "overrun"];
        Some(self.counted(if marked { &counters[..2] } else { &counters })).filter(|lost| *lost > 0)
    }

    /// Sum of some counters over all CPUs.
    fn counted(&self, counters: &[&str]) -> u64 {
        let lines = self.cpu_stats.iter().flat_map(|stats| stats.lines());
        let counts = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            counters.contains(&name.trim()).then(|| value.trim().parse::<u64>().ok())?
        });
        counts.fold(0, u64::saturating_add)
    }

    /// The clock that `trace_clock` shows in brackets, or the whole text if it has none.
    pub(crate) fn selected_clock(&self) -> Option<&str> {
        let all = self.trace_clock.as_deref()?;
        let bracketed = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Some(bracketed.map_or(all.trim(), |(clock, _)| clock))
    }
}

/// A text option, up to its NUL if it has one.
fn text(data: &mut Cursor<'_>, size: u64) -> Result<String, Error> {
    let bytes = data.bytes(size, "an option's text")?;
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
