//! What `/proc` says about memory: snapshots that lie beside a trace.

pub mod buddyinfo;
pub mod kpage;
pub mod pageblocks;
pub mod pagestate;
pub mod pagetypeinfo;
pub(crate) mod swaps;
mod text;
pub mod ticks;
pub mod vmstat;
pub mod zoneinfo;
