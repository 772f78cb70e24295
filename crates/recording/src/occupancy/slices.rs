//! What took time in the recorded kernel, by its own events.

use crate::Record;
use crate::event::Event;
use crate::pagelog::PageLog;
use lab::activity::{Pairing, Slice};

/// Pairs begins with ends.
pub(super) struct Slicer<'a> {
    log: &'a PageLog,
    pairing: Pairing,
}

impl<'a> Slicer<'a> {
    pub fn new(log: &'a PageLog) -> Slicer<'a> {
        Slicer { log, pairing: Pairing::default() }
    }

    pub fn record(&mut self, record: &Record) {
        let (ts, pid) = (record.ts_ns, record.pid);
        match &record.event {
            Event::CompactionBegin(begin) => {
                let mode = if begin.sync { "sync" } else { "async" };
                self.pairing.begin(ts, self.compaction(begin.zone_start), pid, mode.to_owned());
            }
            Event::CompactionEnd(end) => {
                self.pairing.end(ts, self.compaction(end.zone_start), pid, Some(end.status.name()));
            }
            Event::CompactionKcompactdWake(wake) => {
                self.pairing.awake(ts, format!("kcompactd node {}", wake.nid), format!("order {}", wake.order));
            }
            Event::CompactionKcompactdSleep(sleep) => {
                self.pairing.end(ts, format!("kcompactd node {}", sleep.nid), 0, None);
            }
            Event::VmscanKswapdWake(wake) => {
                self.pairing.awake(ts, format!("kswapd node {}", wake.nid), format!("order {}", wake.order));
            }
            Event::VmscanKswapdSleep(sleep) => self.pairing.end(ts, format!("kswapd node {}", sleep.nid), 0, None),
            Event::VmscanDirectReclaimBegin(begin) => {
                self.pairing.begin(ts, "direct reclaim".to_owned(), pid, format!("order {}", begin.order));
            }
            Event::VmscanDirectReclaimEnd(_) => self.pairing.end(ts, "direct reclaim".to_owned(), pid, None),
            Event::VmscanThrottled(throttled) => {
                let waited = u64::try_from(throttled.usec_delayed).unwrap_or(0) * 1_000;
                self.pairing.took(ts, "throttled".to_owned(), format!("reason {:#x}", throttled.reason), waited);
            }
            _ => {}
        }
    }

    /// Name of the track of the zone that begins at this frame.
    fn compaction(&self, zone_start: u64) -> String {
        let zones = &self.log.start.machine.zones;
        match zones.iter().find(|zone| u64::from(zone.start.0) == zone_start) {
            Some(zone) => format!("compaction {}/{}", zone.node.0, zone.kind.name()),
            None => format!("compaction at {zone_start:#x}"),
        }
    }

    pub fn finish(self, end: u64) -> Vec<Slice> {
        self.pairing.finish(end)
    }
}
