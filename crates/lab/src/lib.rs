//! *What does every run share?* Virtual time, observers, and the shape of what came out.
//!
//! A replay of a recording and a simulated computer both run [`mm`] in virtual time. This crate holds what is the same
//! in both: the [`Executor`], the [`VirtualEnv`] that the machinery sleeps and works in at given [`Speeds`], the
//! [`Watch`] that sums events up to a digest, and the [`outcome`] that a run leaves, in one shape for models and for
//! real kernels.
//!
//! ```
//! use lab::{Executor, Speeds, VirtualEnv};
//! use mm::Env;
//! use std::{cell::Cell, rc::Rc};
//!
//! let env = VirtualEnv::new(Rc::new(Cell::new(0)), Speeds::default(), 1);
//! let woke_at = Cell::new(0);
//! let mut executor = Executor::default();
//! executor.spawn(&env, async {
//!     env.sleep(5_000).await;
//!     woke_at.set(env.now());
//! });
//! while env.next_due() != u64::MAX {
//!     env.advance();
//!     executor.run_ready(&env);
//! }
//! assert_eq!(woke_at.get(), 5_000);
//! ```
#![forbid(unsafe_code)]

pub mod activity;
mod agenda;
mod chance;
mod cpus;
mod cpus_beside;
mod daemons;
mod demand;
mod device;
mod digest;
mod env;
mod executor;
mod livelock;
mod loops;
pub mod outcome;
mod request_queue;
mod speeds;
mod spread;
mod stream;
mod task;
pub mod timeline;
mod turns;
mod watch;
mod work;
mod zones;

pub use chance::Chance;
pub use cpus_beside::{CpusBeside, KthreadLists};
pub use daemons::start_daemons;
pub use demand::KthreadCpus;
pub use device::Device;
pub use digest::Digest;
pub use env::{Clock, VirtualEnv, WaitFuture};
pub use executor::Executor;
pub use livelock::Livelock;
pub use speeds::Speeds;
pub use spread::{Lasted, Spread};
pub use stream::Stream;
pub use task::TaskId;
pub use turns::{Turns, TurnsByJob};
pub use watch::Watch;
pub use zones::{extfrag_by_node, sample, zones};
