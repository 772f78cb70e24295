#![forbid(unsafe_code)]
//! Readers of recordings of real machines.
mod codec;
mod cursor;
mod error;
#[macro_use]
mod event_table;
pub mod event;
pub mod format;
mod ftrace_text;
pub mod gfp;
mod marker;
pub mod proc;
mod special_codec;
mod symbols;
mod text_scan;
pub mod tracedat;

pub use error::{Error, SourceName};
pub use event::{Event, EventKind, Record};
pub use ftrace_text::{TextRecords, TextTrace};
pub use marker::{Edge, Mark, Marker};
pub use symbols::{CompactResult, ZoneType};
pub use tracedat::TraceDat;
pub mod outcome;
pub mod pagelog;
pub mod replay;
