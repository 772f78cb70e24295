//! Events of a run that tell what took time, with the kernel's names and the fields that its tracepoints print.

use crate::view::everything_that_took_time;
use crate::{Report, csv};
use lab::activity::Activity;
use lab::timeline::{Shape, Timeline};
use mm::MmEvent;
use mm::compaction::CompactMode;
use mm::reclaim::ThrottleReason;
use pagealloc::ZoneId;
use std::fmt::Write;

/// `activity.csv`: every event of every model's run.
pub(crate) fn csv(report: &Report) -> String {
    let mut text = String::from("column,ts_ns,event,fields\n");
    for column in &report.columns {
        let name = csv::field(&column.name);
        for at in column.timeline.iter().flat_map(|timeline| &timeline.activities.events) {
            let (event, fields) = describe(at, column.timeline);
            let _ = writeln!(text, "{name},{},{event},{}", at.ts, csv::field(&fields));
        }
    }
    text
}

/// `slices.csv`: everything that took time, in every run that was followed.
pub(crate) fn slices_csv(report: &Report) -> String {
    let mut text = String::from("column,track,name,start_ns,end_ns\n");
    for column in &report.columns {
        let name = csv::field(&column.name);
        let of_column = column.timeline.into_iter().flat_map(|t| everything_that_took_time(t, column.outcome));
        for slice in of_column {
            let (track, what) = (csv::field(&slice.track), csv::field(&slice.name));
            let _ = writeln!(text, "{name},{track},{what},{},{}", slice.start, slice.end);
        }
    }
    text
}

/// The tracepoint's name and its fields, as the kernel prints them.
fn describe(at: &Activity, timeline: Option<&Timeline>) -> (&'static str, String) {
    let shape = timeline.map(|timeline| &timeline.machine);
    match at.event {
        MmEvent::CompactionBegin { zone, migrate_pfn, free_pfn, mode } => {
            let (start, end) = span(shape, zone);
            let fields = format!(
                "zone_start={start:#x} migrate_pfn={:#x} free_pfn={:#x} zone_end={end:#x}, mode={}",
                migrate_pfn.0,
                free_pfn.0,
                mode_name(mode)
            );
            ("mm_compaction_begin", fields)
        }
        MmEvent::CompactionEnd { zone, migrate_pfn, free_pfn, mode, status } => {
            let (start, end) = span(shape, zone);
            let fields = format!(
                "zone_start={start:#x} migrate_pfn={:#x} free_pfn={:#x} zone_end={end:#x}, mode={} status={}",
                migrate_pfn.0,
                free_pfn.0,
                mode_name(mode),
                status.name()
            );
            ("mm_compaction_end", fields)
        }
        MmEvent::CompactionKcompactdSleep { nid } => ("mm_compaction_kcompactd_sleep", format!("nid={}", nid.0)),
        MmEvent::CompactionKcompactdWake { nid, order } => {
            let of_node = shape.into_iter().flat_map(|shape| &shape.zones).rfind(|zone| zone.node == nid.0);
            let highest = of_node.map_or("Normal", |zone| &zone.name);
            ("mm_compaction_kcompactd_wake", format!("nid={} order={order} classzone_idx={highest}", nid.0))
        }
        MmEvent::VmscanKswapdSleep { nid } => ("mm_vmscan_kswapd_sleep", format!("nid={}", nid.0)),
        MmEvent::VmscanKswapdWake { nid, order } => ("mm_vmscan_kswapd_wake", format!("nid={} order={order}", nid.0)),
        MmEvent::VmscanDirectReclaimBegin { order, gfp_flags } => {
            ("mm_vmscan_direct_reclaim_begin", format!("order={order} gfp_flags={gfp_flags}"))
        }
        MmEvent::VmscanDirectReclaimEnd { nr_reclaimed } => {
            ("mm_vmscan_direct_reclaim_end", format!("nr_reclaimed={nr_reclaimed}"))
        }
        MmEvent::VmscanThrottled { nid, usec_timeout, usect_delayed, reason } => {
            let reason = reason_name(reason);
            let fields =
                format!("nid={} usec_timeout={usec_timeout} usect_delayed={usect_delayed} reason={reason}", nid.0);
            ("mm_vmscan_throttled", fields)
        }
        MmEvent::FragmentationStall { nid, duration } => {
            ("mm_fragmentation_stall", format!("nid={} duration={duration}", nid.0))
        }
        MmEvent::OomKill { pid } => ("mark_victim", format!("pid={pid}")),
        _ => ("other", String::new()),
    }
}

/// First frame of a zone, and the one after its last, as far as pageblocks tell.
fn span(shape: Option<&Shape>, zone: ZoneId) -> (u64, u64) {
    let spans = shape.and_then(|shape| Some((shape.zones.get(zone.index())?, shape.pageblock_order)));
    spans.map_or((0, 0), |(span, order)| {
        let pfn = |block: u32| u64::from(block) << order;
        (pfn(span.first_block), pfn(span.first_block + span.blocks))
    })
}

const fn mode_name(mode: CompactMode) -> &'static str {
    match mode {
        CompactMode::Async => "async",
        CompactMode::SyncLight | CompactMode::Sync => "sync",
    }
}

const fn reason_name(reason: ThrottleReason) -> &'static str {
    match reason {
        ThrottleReason::Writeback => "VMSCAN_THROTTLE_WRITEBACK",
        ThrottleReason::Isolated => "VMSCAN_THROTTLE_ISOLATED",
        ThrottleReason::NoProgress => "VMSCAN_THROTTLE_NOPROGRESS",
        ThrottleReason::Congested => "VMSCAN_THROTTLE_CONGESTED",
    }
}
