//! Are the lines of a text in the order of their times?

/// How far the times of two CPUs may be out of order. Clocks such as `local` are each CPU's own, and whoever reads `trace_pipe` meets what
/// a CPU finished writing late behind later events of others: both within the time of a few interrupts.
const SKEW_NS: u64 = 10_000_000;

/// Refuses texts that go back in time: two in one, a part of one moved or repeated.
#[derive(Default)]
pub(super) struct Order {
    /// Time of the last record of each CPU.
    of_cpus: Vec<u64>,
    /// The latest time of all.
    latest: u64,
    /// Time of the last record.
    pub last: u64,
}

impl Order {
    #[inline]
    pub fn check(&mut self, cpu: u16, ts_ns: u64) -> Result<(), Box<str>> {
        let index = usize::from(cpu);
        if index >= self.of_cpus.len() {
            self.of_cpus.resize(index + 1, 0);
        }
        let before = self.of_cpus[index].max(self.latest.saturating_sub(SKEW_NS));
        if ts_ns < before {
            return Err(backwards(cpu, ts_ns, before));
        }
        self.of_cpus[index] = ts_ns;
        (self.latest, self.last) = (self.latest.max(ts_ns), ts_ns);
        Ok(())
    }
}

#[cold]
fn backwards(cpu: u16, ts_ns: u64, before: u64) -> Box<str> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (now, before) = (seconds(ts_ns), seconds(before));
    format!(
        "the time {now:.6} of CPU {cpu} lies before {before:.6}, which was reached above: lines are repeated or out of order; give the lines \
         of one trace as ftrace printed them"
    )
    .into()
}
