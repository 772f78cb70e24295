//! Recording a live host through a tracefs instance of its own.
//!
//! [`Recorder::start`] makes an instance, turns events on in it, copies what /proc and /sys say, takes a snapshot of all
//! memory, and leaves a thread per CPU that moves ring-buffer pages to files, and one that samples /proc once a second.
//! [`Recorder::stop`] takes the last snapshot, puts the pages together as a trace.dat, and removes the instance. What a
//! killed recorder left in tracefs is found by its name and removed by the next start. The directory is what
//! `recording` reads; docs/recording.md describes it.

mod assemble;
mod clock;
mod conduct;
mod error;
mod event_set;
mod facts;
mod kernel_file;
mod memmap;
mod options;
mod owner;
#[cfg(test)]
mod owner_tests;
mod plan;
mod probes;
mod recorder;
mod salvage;
mod session;
mod snapshot;
mod stop_reason;
mod store;
mod stream;
mod ticker;
mod ticks;
mod tracedat;
#[cfg(test)]
mod tracedat_tests;
mod tracefs;

pub use conduct::{Conducted, Until, conduct};
pub use error::RecordError;
pub use event_set::EventSet;
pub use options::{RecordOptions, parse_duration, parse_size};
pub use owner::Leftovers;
pub use plan::Plan;
pub use recorder::{Recorder, Status, Summary};
pub use salvage::{Salvaged, salvage};
pub use stop_reason::StopReason;

use std::path::Path;

/// Bytes of memory that the kernel manages, from `MemTotal` of /proc/meminfo.
fn memory(proc: &Path) -> u64 {
    let text = kernel_file::read_text(&proc.join("meminfo")).unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
