//! What happens when there is no free page?
//!
//! LRU lists and reclaim, swap, slab shrinking, compaction, the allocation slow path, kswapd, kcompactd, THP policy and
//! OOM, on top of [`pagealloc`]. Whatever may sleep in the kernel is an `async fn` that awaits an [`Env`]; the state is
//! never borrowed across an await.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::await_holding_refcell_ref)]

extern crate alloc;

mod bits;
pub mod compaction;
mod defrag;
mod env;
mod event;
pub mod kcompactd;
pub mod kswapd;
pub mod lru;
mod numa;
pub mod oom;
mod owner;
mod pages;
pub mod reclaim;
pub mod slowpath;
mod state;
pub mod swap;
pub mod thp;
pub mod timer;
mod turn;

pub use env::{Env, Nanos, Queue, TaskContext, TaskFlags, Woken, Work};
pub use event::{MmEvent, MmObserver};
pub use owner::{ENTRIES_A_TABLE, Owner, References, SHRINK_BATCH, ShrinkControl, Tag};
pub use pages::{GenBits, PageFlags, Pages};
pub use state::{Mm, NodeState, State, World, ZoneState};
