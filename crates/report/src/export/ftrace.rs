//! A run as ftrace text, which scripts for `trace-cmd report` and `perf script` read, and fraglab's own reader too.

use super::{Exported, TraceLine};
use std::fmt::Write;

/// The text of one run: fragmentation events, and events of what took time. A model's events have no CPU and no task: all are
/// of task `fraglab-0` on CPU 0.
pub fn ftrace(run: &Exported) -> String {
    let mut lines: Vec<(u64, &str, String)> = run.events.iter().map(|at| (at.ts_ns, EXTFRAG, at.fields())).collect();
    lines.extend(run.trace.iter().map(|TraceLine { ts_ns, event, fields }| (*ts_ns, event.as_str(), fields.clone())));
    lines.sort_by_key(|(ts, ..)| *ts);
    let mut text = header(lines.len());
    for (ts, event, fields) in lines {
        let (seconds, nanos) = (ts / 1_000_000_000, ts % 1_000_000_000);
        let _ = writeln!(text, "         fraglab-0       [000] .....  {seconds}.{nanos:09}: {event}: {fields}");
    }
    text
}

const EXTFRAG: &str = "mm_page_alloc_extfrag";

fn header(events: usize) -> String {
    format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: {events}/{events}   #P:1\n#\n\
         #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n#              | |         |   |||||     |         |\n"
    )
}
