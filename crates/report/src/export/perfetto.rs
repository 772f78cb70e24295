//! A run as a native Perfetto trace: a process a run, a counter track a series, slices on a track each for what took time, and
//! fragmentation events as instants. Field numbers are those of Perfetto's published `trace_packet.proto`,
//! `track_event.proto` and `track_descriptor.proto`.

use super::wire::Message;
use super::{Exported, Slice};
use crate::view::ViewError;
use std::collections::BTreeMap;

mod field {
    pub const TRACE_PACKET: u64 = 1;

    pub const PACKET_TIMESTAMP: u64 = 8;
    pub const PACKET_SEQUENCE: u64 = 10;
    pub const PACKET_TRACK_EVENT: u64 = 11;
    pub const PACKET_SEQUENCE_FLAGS: u64 = 13;
    pub const PACKET_TRACK_DESCRIPTOR: u64 = 60;

    pub const TRACK_UUID: u64 = 1;
    pub const TRACK_NAME: u64 = 2;
    pub const TRACK_PROCESS: u64 = 3;
    pub const TRACK_PARENT: u64 = 5;
    pub const TRACK_COUNTER: u64 = 8;

    pub const PROCESS_PID: u64 = 1;
    pub const PROCESS_NAME: u64 = 6;

    pub const COUNTER_UNIT_NAME: u64 = 6;

    pub const EVENT_DEBUG_ANNOTATION: u64 = 4;
    pub const EVENT_TYPE: u64 = 9;
    pub const EVENT_TRACK: u64 = 11;
    pub const EVENT_CATEGORY: u64 = 22;
    pub const EVENT_NAME: u64 = 23;
    pub const EVENT_DOUBLE_VALUE: u64 = 44;

    pub const ANNOTATION_NUMBER: u64 = 3;
    pub const ANNOTATION_NAME: u64 = 10;
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy)]
enum Type {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

const SEQUENCE: u64 = 1;
const INCREMENTAL_STATE_CLEARED: u64 = 1;

/// The trace.
///
/// # Errors
/// When a chunk of the run is damaged.
pub fn perfetto(runs: &[Exported]) -> Result<Vec<u8>, ViewError> {
    let mut trace = Writer::default();
    for (at, run) in runs.iter().enumerate() {
        let process = trace.process(at as u64 + 1, &run.view.name);
        counters(&mut trace, process, run)?;
        slices(&mut trace, process, &run.slices);
        events(&mut trace, process, run);
    }
    Ok(trace.finish())
}

fn counters(trace: &mut Writer, process: u64, run: &Exported) -> Result<(), ViewError> {
    for series in run.unpacked()? {
        let name = match &series.zone {
            Some(zone) => format!("{} {zone}", series.name),
            None => series.name.clone(),
        };
        let unit = Message::default().text(field::COUNTER_UNIT_NAME, &series.unit);
        let track = trace.track(process, &name, Some(&unit));
        for (seconds, value) in series.times.iter().zip(&series.value).filter(|(_, value)| !value.is_nan()) {
            let event = event(Type::Counter, track).double(field::EVENT_DOUBLE_VALUE, f64::from(*value));
            trace.event((f64::from(*seconds) * 1e9) as u64, event);
        }
    }
    Ok(())
}

/// Slices of one track must nest; those that overlap go to further tracks of the same name.
fn slices(trace: &mut Writer, process: u64, slices: &[Slice]) {
    let mut lanes: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    let mut by_start: Vec<&Slice> = slices.iter().collect();
    by_start.sort_by_key(|slice| (slice.start_ns, slice.end_ns));
    for slice in by_start {
        let of_track = lanes.entry(&slice.track).or_default();
        let free = of_track.iter().position(|(until, _)| *until <= slice.start_ns);
        let lane = free.unwrap_or_else(|| {
            of_track.push((0, trace.track(process, &slice.track, None)));
            of_track.len() - 1
        });
        let (until, track) = &mut of_track[lane];
        *until = slice.end_ns.max(slice.start_ns + 1);
        let begin = event(Type::SliceBegin, *track);
        let begin = begin.text(field::EVENT_CATEGORY, &slice.track).text(field::EVENT_NAME, &slice.name);
        trace.event(slice.start_ns, begin);
        trace.event(slice.end_ns, event(Type::SliceEnd, *track));
    }
}

fn events(trace: &mut Writer, process: u64, run: &Exported) {
    if run.events.is_empty() {
        return;
    }
    let track = trace.track(process, "mm_page_alloc_extfrag", None);
    for at in &run.events {
        let name = format!("{} {} from {}", at.class, at.alloc_migratetype, at.fallback_migratetype);
        let number = |name: &str, value: u64| {
            Message::default().text(field::ANNOTATION_NAME, name).number(field::ANNOTATION_NUMBER, value)
        };
        let mut instant = event(Type::Instant, track);
        instant = instant.text(field::EVENT_CATEGORY, "extfrag").text(field::EVENT_NAME, &name);
        let orders = [("alloc_order", at.alloc_order), ("fallback_order", at.fallback_order)];
        for (name, value) in [("pfn", at.pfn)].into_iter().chain(orders.map(|(name, value)| (name, value.into()))) {
            instant = instant.message(field::EVENT_DEBUG_ANNOTATION, &number(name, value));
        }
        trace.event(at.ts_ns, instant);
    }
}

fn event(of: Type, track: u64) -> Message {
    Message::default().number(field::EVENT_TYPE, of as u64).number(field::EVENT_TRACK, track)
}

/// Packets, sorted by time at the end: the trace processor sorts within limits only.
#[derive(Default)]
struct Writer {
    descriptors: Vec<Message>,
    events: Vec<(u64, Message)>,
    tracks: u64,
}

impl Writer {
    fn process(&mut self, pid: u64, name: &str) -> u64 {
        let process = Message::default().number(field::PROCESS_PID, pid).text(field::PROCESS_NAME, name);
        let uuid = self.next_track();
        let descriptor = Message::default().number(field::TRACK_UUID, uuid).message(field::TRACK_PROCESS, &process);
        self.descriptors.push(descriptor);
        uuid
    }

    fn track(&mut self, parent: u64, name: &str, counter: Option<&Message>) -> u64 {
        let uuid = self.next_track();
        let mut descriptor = Message::default()
            .number(field::TRACK_UUID, uuid)
            .text(field::TRACK_NAME, name)
            .number(field::TRACK_PARENT, parent);
        if let Some(counter) = counter {
            descriptor = descriptor.message(field::TRACK_COUNTER, counter);
        }
        self.descriptors.push(descriptor);
        uuid
    }

    fn next_track(&mut self) -> u64 {
        self.tracks += 1;
        self.tracks
    }

    fn event(&mut self, ts: u64, event: Message) {
        self.events.push((ts, event));
    }

    fn finish(mut self) -> Vec<u8> {
        self.events.sort_by_key(|(ts, _)| *ts);
        let mut trace = Message::default();
        let packet = || Message::default().number(field::PACKET_SEQUENCE, SEQUENCE);
        for (at, descriptor) in self.descriptors.iter().enumerate() {
            let flags = if at == 0 { INCREMENTAL_STATE_CLEARED } else { 0 };
            let packet = packet().number(field::PACKET_SEQUENCE_FLAGS, flags);
            trace = trace.message(field::TRACE_PACKET, &packet.message(field::PACKET_TRACK_DESCRIPTOR, descriptor));
        }
        for (ts, event) in &self.events {
            let packet = packet().number(field::PACKET_TIMESTAMP, *ts);
            trace = trace.message(field::TRACE_PACKET, &packet.message(field::PACKET_TRACK_EVENT, event));
        }
        trace.as_bytes().to_vec()
    }
}
