//! Which frame does this request get, now?
//!
//! The page frame allocator of Linux as a library: zones and nodes, buddy lists by migratetype, pageblocks, fallback
//! between types, per-CPU lists, watermarks and their boost, zonelists, and one pass of the allocation fast path, for
//! every era from 3.10 to 2026. What a kernel did differently is a field of [`Policy`]; a kernel is a named
//! [preset](policy::preset).
//!
//! Waiting, reclaim and compaction are the floor above: here nothing sleeps and nothing is ever moved. A request that
//! can't be served now returns `None`.
//!
//! ```
//! use pagealloc::{AllocFlags, CpuId, Geometry, Gfp, Machine, Migratetype, PageAllocator, Request, ZoneId, policy};
//!
//! // 1 GiB in one zone, four CPUs, as Linux 6.18 would run it, observed by nobody.
//! let machine = Machine::uniform(Geometry::PAGES_4K, 4, 1 << 18, false);
//! let policy = policy::preset("linux-6.18").expect("a known kernel");
//! let mut allocator = PageAllocator::new(&machine, policy, ()).expect("a sound machine");
//!
//! // A user page: movable, from CPU 0's list.
//! let user = allocator.alloc_fast(&Request::new(0, Gfp::HIGHUSER_MOVABLE, CpuId(0))).expect("free memory");
//! // A kernel page finds no unmovable block yet: a whole one changes hands, and the two never share a pageblock.
//! let kernel = allocator.alloc_fast(&Request::new(0, Gfp::KERNEL, CpuId(0))).expect("free memory");
//! let block_type = |pfn| allocator.block_type(allocator.geometry.block_of(pfn));
//! assert_eq!((block_type(user), block_type(kernel)), (Migratetype::Movable, Migratetype::Unmovable));
//!
//! allocator.free(user, CpuId(0));
//! allocator.free(kernel, CpuId(0));
//! allocator.drain_all_pages(None);
//! assert_eq!(allocator.free_pages(ZoneId(0)), 1 << 18);
//! allocator.check().expect("all invariants hold");
//! ```
//!
//! # Where a frame is
//!
//! Each frame is in exactly one place, told by its [`FrameState`]: a byte a frame, apart from all else, so that scans
//! read nothing more.
//!
//! ```text
//!        new                 refill                 alloc
//!  ABSENT    free block  ------------->  PCP  ------------->  USED <-> LRU, MOVABLE_OPS, ISOLATED
//!             ^   |   ^      drain        ^      free          |  ^    (by the floor above)
//!             |   |   +--------------------                    |  |
//!   putback   |   | isolate_free     orders that per-CPU lists |  |
//!             |   v                  don't hold: directly      |  |
//!            TARGET -------------------------------------------+--+ use_target
//! ```
//!
//! Free blocks and per-CPU pages are the allocator's, allocated pages and targets their holder's. While a page is
//! allocated, its two [list links](FrameList) are the holder's too: the floor above keeps its LRU lists in them, and must
//! have taken the page off before it calls [`PageAllocator::free`].
//!
//! # Where things are
//!
//! | file | question |
//! | --- | --- |
//! | `frames`, `blocks`, `zone` | what is kept of a frame, a pageblock, a zone |
//! | `boot`, `placement` | how memory gets in: released at boot, or put in place from a snapshot |
//! | `zonelist`, `pass`, `fastpath` | which zones a request tries, in which order, by which marks |
//! | `bulk` | many single pages by one request |
//! | `pcp/`, `free` | the lists that each CPU has |
//! | `buddy` | splitting and merging |
//! | `fallback`, `claim`, `steal_old`, `boost` | taking from other types, and what that sets off |
//! | `watermark`, `highatomic`, `fair` | reserves: marks, atomic requests, turns between zones |
//! | `target`, `capture` | what compaction takes and hands over |
//! | `metrics`, `vmstat`, `event` | what can be seen |
//! | `check` | what must hold |
//!
//! Numbers in brackets in the docs, such as (4.6), are sections of the project's behaviour reference.
//!
//! # Cost
//!
//! Ten bytes a frame, one byte a pageblock for its type and one for its zone. Nothing is allocated after construction,
//! and a machine's frames are not touched until used: 1 TiB is built in two to five seconds. An [`Observer`] is chosen
//! statically; the unit type costs nothing. There is no lock: who shares an allocator puts one around it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod alloc_flags;
mod allocator;
mod blocks;
mod boost;
mod boot;
mod buddy;
mod bulk;
mod capture;
mod check;
mod claim;
mod debug;
pub mod event;
mod fair;
mod fallback;
mod fastpath;
pub mod frames;
mod free;
mod gfp;
mod highatomic;
mod ids;
mod machine;
mod metrics;
mod migratetype;
mod pass;
mod pcp;
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
