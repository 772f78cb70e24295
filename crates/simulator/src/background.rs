//! *What else runs on the CPUs of a recorded guest?* The readers of its trace, one a CPU, which hold no memory of their own.

use crate::sim::Sim;
use mm::Nanos;

/// How long a reader sleeps: doubled from 2 ms until a round finds 16 pages, and a guest's CPUs trace some 240 pages a second each.
const SLEEP: Nanos = 64_000_000;
/// Weight of nice -15.
const WEIGHT: u32 = 29_154;

impl Sim {
    /// The readers that the machine has.
    pub fn trace_readers(&self) -> u16 {
        if self.spec.costs.readers_percent > 0 { self.spec.cpus } else { 0 }
    }

    /// Reads one CPU's trace, round by round; the readers don't all begin at once.
    pub async fn read_trace_forever(&self, reader: u16) {
        let (percent, of_host) = (u64::from(self.spec.costs.readers_percent), u64::from(self.spec.costs.cpu_percent));
        let round = SLEEP * percent / (100 - percent) * of_host / 100;
        self.env().weigh(WEIGHT);
        self.env().sleep(SLEEP * u64::from(reader) / u64::from(self.spec.cpus)).await;
        loop {
            self.env().sleep(SLEEP).await;
            self.env().run(round).await;
        }
    }
}
