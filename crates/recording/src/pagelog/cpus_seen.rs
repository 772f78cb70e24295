//! Which CPUs does a trace show, and from when until when? A file that lacks the pages of a CPU, or a part of them, reads like a whole one.
//! Nothing in it tells a CPU whose pages are gone from one that was idle or offline: so it is said, and nothing is refused.

use crate::{Error, Event, Record, Recording, Trace};

/// Silence at either end of a trace that is worth a word: so long, and so many times the longest between two of the CPU's events.
const LONG_NS: u64 = 500_000_000;
const TIMES_LONGEST: u64 = 4;
/// A CPU with fewer events tells nothing of its habits.
const ENOUGH_EVENTS: u64 = 100;

/// One CPU's part of the trace.
#[derive(Clone, Copy, Default)]
struct Part {
    first: u64,
    last: u64,
    /// The longest time between two events.
    longest: u64,
    events: u64,
}

impl Part {
    fn is_long(&self, silence: u64) -> bool {
        silence > LONG_NS && silence / TIMES_LONGEST > self.longest && self.events >= ENOUGH_EVENTS
    }
}

/// Follows a trace.
#[derive(Default)]
pub(super) struct CpusSeen {
    parts: Vec<Part>,
    /// Losses that the trace shows in their places.
    gaps: u64,
}

impl CpusSeen {
    #[inline]
    pub fn saw(&mut self, record: &Record) {
        let (cpu, ts) = (usize::from(record.cpu), record.ts_ns);
        if cpu >= self.parts.len() {
            self.parts.resize(cpu + 1, Part::default());
        }
        let part = &mut self.parts[cpu];
        if part.events == 0 {
            (part.first, part.last) = (ts, ts);
        }
        part.longest = part.longest.max(ts.saturating_sub(part.last));
        (part.last, part.events) = (ts, part.events + 1);
        self.gaps += u64::from(matches!(record.event, Event::Lost(_)));
    }

    /// What is to be said of a trace that was followed to its end.
    ///
    /// # Errors
    /// When the recording has no trace.
    pub fn doubts(&self, recording: &Recording) -> Result<Vec<String>, Error> {
        let trace = recording.page_trace()?;
        let mut doubts = self.absent(&recording.cpu_numbers);
        doubts.extend(self.silent());
        if let Trace::Dat(dat) = trace {
            doubts.extend(dat.options().lost_without_place(self.gaps > 0).map(lost));
        }
        Ok(doubts.into_iter().map(|doubt| format!("{}: {doubt}", trace.path().display())).collect())
    }

    /// `cpus`: the machine's.
    fn absent(&self, cpus: &[u16]) -> Vec<String> {
        let seen = |cpu: &&u16| self.parts.get(usize::from(**cpu)).is_some_and(|part| part.events > 0);
        let absent: Vec<String> = cpus.iter().filter(|cpu| !seen(cpu)).map(|cpu| cpu.to_string()).collect();
        if absent.is_empty() {
            return Vec::new();
        }
        let (which, absent) = (if absent.len() == 1 { "CPU" } else { "CPUs" }, absent.join(", "));
        vec![format!(
            "no event of {which} {absent}, of a machine of {}: unless idle or offline, what was done there is missing",
            cpus.len()
        )]
    }

    fn silent(&self) -> Vec<String> {
        let present = || self.parts.iter().enumerate().filter(|(_, part)| part.events > 0);
        let begin = present().map(|(_, part)| part.first).min().unwrap_or(0);
        let end = present().map(|(_, part)| part.last).max().unwrap_or(0);
        let mut doubts = Vec::new();
        for (cpu, part) in present() {
            let mut say = |silence: u64, what: &str| {
                if part.is_long(silence) {
                    let (silence, longest) = (silence as f64 / 1e9, part.longest as f64 / 1e9);
                    doubts.push(format!(
                        "CPU {cpu} {what}, {silence:.1} s of silence, after none of more than {longest:.3} s between its events: \
                         a part of its pages may be missing, or a time of another CPU be wrong"
                    ));
                }
            };
            say(part.first.saturating_sub(begin), "begins long after others");
            say(end.saturating_sub(part.last), "ends long before others");
        }
        doubts
    }
}

/// Statistics are sums over all of the recording: the events may have been lost before the start snapshot, where that does no harm.
fn lost(count: u64) -> String {
    format!(
        "the kernel's statistics count {count} lost events of which no page says where: from there on, pages may be taken for in use or \
         free that are not; record with larger buffers"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Other;

    const MS: u64 = 1_000_000;

    /// What is said of CPUs that have an event every 10 ms from so many milliseconds to so many.
    fn said(spans: &[(u16, u64, u64)], cpus: &[u16]) -> Vec<String> {
        let mut seen = CpusSeen::default();
        for &(cpu, from, to) in spans {
            for ms in (from..=to).step_by(10) {
                let event = Event::Other(Other { name: "made up".into() });
                seen.saw(&Record { ts_ns: ms * MS, cpu, pid: 0, in_interrupt: false, event });
            }
        }
        seen.absent(cpus).into_iter().chain(seen.silent()).collect()
    }

    #[test]
    fn cpus_without_events_are_named() {
        assert_eq!(said(&[(0, 0, 5000), (1, 3, 4990)], &[0, 1]), [""; 0]);
        let doubts = said(&[(1, 0, 5000)], &[0, 1, 2]);
        assert!(doubts[0].starts_with("no event of CPUs 0, 2, of a machine of 3:") && doubts.len() == 1, "{doubts:?}");
        assert_eq!(said(&[(0, 0, 5000), (2, 3, 4990)], &[0, 2]), [""; 0], "CPU 1 is offline");
    }

    #[test]
    fn cpus_that_begin_late_or_end_early_are_named() {
        let doubts = said(&[(0, 0, 5000), (1, 2500, 5000)], &[0, 1]);
        assert!(doubts[0].starts_with("CPU 1 begins long after others, 2.5 s of silence"), "{doubts:?}");
        let doubts = said(&[(0, 0, 2500), (1, 0, 5000)], &[0, 1]);
        assert!(doubts[0].starts_with("CPU 0 ends long before others, 2.5 s of silence"), "{doubts:?}");
        assert_eq!(
            said(&[(0, 0, 5000), (1, 0, 2000), (1, 4000, 4200)], &[0, 1]),
            [""; 0],
            "it was silent for longer before"
        );
    }
}
