//! *What did a real machine do?* Readers of recordings of real kernels.
//!
//! A recording is a trace of the kernel's memory events, and snapshots of `/proc` beside it.
//! [`Recording::open`] takes a directory of them, an archive, or a bare trace:
//!
//! - trace.dat, versions 6 and 7, as trace-cmd writes it ([`tracedat`]);
//! - the text of ftrace and of `trace-cmd report` ([`TextTrace`]);
//! - buddyinfo, pagetypeinfo, zoneinfo, vmstat, kpageflags and more ([`proc`]).
//!
//! Both forms of traces give the same typed [`Record`]s in the order of time. Layouts come from the
//! recording itself, never from this crate. Damage is an [`Error`] with the place, and events that
//! the kernel lost are [`Event::Lost`] in their place, so no loss goes unseen.
//!
//! ```
//! use recording::{Event, Recording};
//!
//! # fn main() -> Result<(), recording::Error> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tiny");
//! let recording = Recording::open(path)?;
//! println!("kernel {:?}", recording.kernel_version);
//! let mut failed = 0;
//! for record in recording.page_trace()?.records()? {
//!     if let Event::PageAlloc(alloc) = record?.event {
//!         failed += u64::from(alloc.pfn.is_none());
//!     }
//! }
//! println!("{failed} allocations failed");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod bursts;
mod c_constant;
mod codec;
pub mod container;
mod cursor;
mod cut_recording;
mod error;
pub mod event;
mod files;
pub mod format;
mod ftrace_text;
pub mod gfp;
mod gfp_bits;
mod inspect;
mod marker;
mod meta;
pub mod occupancy;
pub mod pagelog;
mod plausible;
pub mod proc;
mod quote;
mod record;
pub mod replay;
mod snapshot;
mod source;
mod special_codec;
mod symbols;
mod text_scan;
mod topology;
mod trace;
pub mod tracedat;
mod unpacked;

pub use cut_recording::CutPoint;
pub use error::{Error, SourceName};
pub use event::{Event, EventKind, Record};
pub use ftrace_text::{TextRecords, TextTrace};
pub use inspect::{Coverage, Inspection};
pub use marker::{Edge, Mark, Marker};
pub use meta::kernel_base;
pub use quote::printable;
pub use snapshot::Snapshot;
pub use source::Recording;
pub use symbols::{CompactResult, ZoneType};
pub use trace::{Trace, TraceRecords};
pub use tracedat::{LostEvents, TraceDat};
