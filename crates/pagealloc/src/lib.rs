//! Which frame does this request get, now?
//!
//! Frames, zones, nodes, buddy lists by migratetype, pageblocks, fallback between types, per-CPU lists, watermarks and
//! their boost, zonelists, and the allocation fast path of Linux, for every era from 3.11 to 2026 ([`Policy`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod alloc_flags;
mod allocator;
mod blocks;
mod boost;
mod boot;
mod buddy;
mod capture;
mod check;
mod claim;
pub mod event;
mod fair;
mod fallback;
mod fastpath;
pub mod frames;
mod gfp;
mod highatomic;
mod ids;
mod machine;
mod metrics;
mod migratetype;
mod pcp;
mod pcp_drain;
mod pcp_limits;
mod placement;
pub mod policy;
#[cfg(test)]
mod random_tests;
mod request;
mod steal_old;
mod target;
mod vmstat;
mod watermark;
#[cfg(test)]
mod world;
mod zone;
mod zonelist;

pub use alloc_flags::AllocFlags;
pub use allocator::{Capture, PageAllocator, ZoneInfo};
pub use event::{Event, Extfrag, Observer};
pub use frames::{FrameList, FrameState, Frames};
pub use gfp::{Gfp, UnknownGfpName};
pub use ids::*;
pub use machine::{Machine, MachineError, ZoneSpan};
pub use migratetype::{Migratetype, NR_MIGRATETYPES, NR_PCP_TYPES};
pub use policy::Policy;
pub use request::Request;
pub use vmstat::{Counter, NR_COUNTERS, VmStat};
