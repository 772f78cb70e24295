//! What happens when there is no free page?
//!
//! LRU lists and reclaim, swap, slab shrinking, compaction, the allocation slow path, kswapd, kcompactd, THP policy and
//! OOM, on top of [`pagealloc`]. Whatever may sleep in the kernel is an `async fn` that awaits an [`Env`]; the state is
//! never borrowed across an await.
//!
//! Numbers in brackets in the docs, such as (10.12), are explained in [`pagealloc::rules`]; rules of the multi-generational LRU
//! are those of docs/mglru.md.
//!
//! # Example
//!
//! A machine on which one task is alone: nothing waits, and nobody wakes it. Whoever has more tasks gives them an
//! executor, runs [`Mm::kswapd`] and [`Mm::kcompactd`] of each node as tasks as well, and has [`Env::wait`] wait.
//!
//! ```
//! use mm::reclaim::Shadow;
//! use mm::{Env, LruKind, Mm, Nanos, Owner, PageFlags, Queue, References, State, Tag, TaskContext, Woken, Work, World};
//! use pagealloc::{Counter, CpuId, Geometry, Gfp, Machine, PageAllocator, Pfn, Request, policy};
//! use std::cell::Cell;
//! use std::future::{Future, ready};
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//!
//! /// Time passes by waiting only, and work costs nothing.
//! #[derive(Default)]
//! struct Alone {
//!     now: Cell<Nanos>,
//! }
//!
//! impl Env for Alone {
//!     fn now(&self) -> Nanos {
//!         self.now.get()
//!     }
//!     fn work(&self, _: &TaskContext, _: Work) -> impl Future<Output = ()> {
//!         ready(())
//!     }
//!     fn wait(&self, _: Queue, timeout: Option<Nanos>) -> impl Future<Output = Woken> {
//!         self.now.set(self.now.get() + timeout.expect("nobody would wake this task"));
//!         ready(Woken::TimedOut)
//!     }
//!     fn wake(&self, _: Queue) {}
//!     fn has_waiters(&self, _: Queue) -> bool {
//!         false
//!     }
//!     fn start_write(&self, _: Pfn, _: LruKind, _: u64) {}
//! }
//!
//! /// The pages of one file, by number, nobody's but the cache's.
//! #[derive(Default)]
//! struct File {
//!     evicted: Vec<Tag>,
//! }
//!
//! impl Owner for File {
//!     fn referenced(&mut self, _: Tag, _: Pfn, _: Nanos) -> References {
//!         References::None
//!     }
//!     fn reclaimed(&mut self, tag: Tag, _: Pfn, _: Nanos, _: Shadow) {
//!         self.evicted.push(tag);
//!     }
//!     fn migrated(&mut self, _: Tag, _: Pfn, _: Pfn) {}
//!     fn split(&mut self, head: Tag, index: u32) -> Option<Tag> {
//!         Some(Tag(head.0 + index))
//!     }
//!     fn free_swap_pages(&self) -> u64 {
//!         0
//!     }
//!     fn oom_kill(&mut self, _: Nanos, _: &mut Vec<Pfn>) -> Option<u32> {
//!         None
//!     }
//! }
//!
//! struct Small;
//!
//! impl World for Small {
//!     type Env = Alone;
//!     type Owner = File;
//!     type Observer = ();
//! }
//!
//! fn run<T>(task: impl Future<Output = T>) -> T {
//!     match pin!(task).poll(&mut Context::from_waker(Waker::noop())) {
//!         Poll::Ready(result) => result,
//!         Poll::Pending => unreachable!("nothing waits"),
//!     }
//! }
//!
//! const PAGES: u32 = 64 << 8; // 64 MiB
//! let policy = policy::preset("linux-6.18")?;
//! let alloc = PageAllocator::new(&Machine::uniform(Geometry::PAGES_4K, 1, PAGES, false), policy, ())?;
//! let mm = Mm::<Small>::new(State::new(alloc, File::default()), Alone::default());
//!
//! // Reads a file of twice the memory. From some page on each needs the frame of another one.
//! let reader = TaskContext::user(1, CpuId(0));
//! let request = Request::new(0, Gfp::HIGHUSER_MOVABLE, reader.cpu);
//! for number in 0..2 * PAGES {
//!     let page = run(mm.alloc_pages(&request, &reader)).expect("clean page cache can be reclaimed");
//!     mm.state.borrow_mut().lru_add(page, PageFlags::NONE, Tag(number));
//! }
//! let state = mm.state.borrow();
//! assert!(state.owner.evicted.len() >= PAGES as usize);
//! assert_eq!(state.owner.evicted[..3], [Tag(0), Tag(1), Tag(2)], "the oldest first");
//! assert_eq!(state.alloc.vmstat.get(Counter::PgstealDirect), state.owner.evicted.len() as u64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
mod lru_kind;
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
pub use lru_kind::LruKind;
pub use owner::{ENTRIES_A_TABLE, Owner, References, SHRINK_BATCH, ShrinkControl, Tag};
pub use pages::{GenBits, PageFlags, Pages};
pub use state::{Mm, NodeState, State, World, ZoneState};
