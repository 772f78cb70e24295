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
//! Numbers in brackets in the docs, such as (4.6), are sections of a reference: [`rules`] says what each is about, and which
//! function of the kernel it describes. Sizes are in pages, those of blocks as orders; sysctls are in the kernel's units.
//!
//! # What the caller does
//!
//! - For a request, [`PageAllocator::alloc_fast`], which stays above the low mark. If that has nothing, whoever frees
//!   memory is to be woken, and [`PageAllocator::get_page_from_freelist`] goes down to [`AllocFlags::WMARK_MIN`];
//!   further down for who can't wait (`MIN_RESERVE` and `NON_BLOCK`, 2.8), and to the last page for who frees memory
//!   himself (`NO_WATERMARKS`, 2.9).
//! - If that has nothing either, pages may lie on other CPUs' lists or in the reserve for atomic requests:
//!   [`PageAllocator::drain_all_pages`], [`PageAllocator::unreserve_highatomic`], and once more (8.5).
//! - After any request, [`PageAllocator::take_boost_wakeups`]: zones whose marks were raised because types mix in their
//!   blocks (7.8). They stay raised until [`PageAllocator::reduce_boost`], once as much was freed (9.7).
//! - Once a second, [`PageAllocator::pcp_decay`] for each CPU (5.11), or its lists keep what they have.
//! - For a page that can be moved, [`PageAllocator::set_on_lru`], or its block counts as full of pages that can't (4.6).
//! - While memory is freed in the background, [`PageAllocator::set_reclaim_active`] keeps per-CPU lists short (5.8), and
//!   [`PageAllocator::set_kswapd_awake`] has requests spare the node (7.1d).
//! - After a sysctl was set (`policy.set_sysctl`), [`PageAllocator::recompute_watermarks`], or marks and limits of lists stay as they are.
//! - At any time, [`PageAllocator::check`]: whether all invariants hold, in time linear in memory.
//!
//! `examples/bring_up.rs` does all that is needed without reclaim; the crate `mm` is the rest of memory management.
//!
//! # Panics
//!
//! Numbers must be the machine's own: a zone, node, CPU, frame or order that it does not have panics, except that
//! requests of too high an order are refused. A page that is freed and is not allocated, and a request of a type that
//! no request has, are found with debug assertions. Without, they damage the lists, as does a page that is freed while
//! it is on a list of its holder's. [`PageAllocator::check`] finds damaged lists: in the last case not before its holder
//! has worked on his, as until then only that one leads astray.
//!
//! # Cost
//!
//! Ten bytes a frame, zeroed, two a pageblock, some 1.2 KiB a zone and 200 bytes a CPU and zone, from the global
//! allocator as it is constructed. Later only [`PageAllocator::add_cpu_beside`], `check` and printing allocate. A
//! machine's frames are not touched until used: 1 TiB is built in two to five seconds. An [`Observer`] is chosen
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

#[doc = include_str!("../RULES.md")]
pub mod rules {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

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
