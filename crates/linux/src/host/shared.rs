//! What all processes of a run share: one page of memory.

use super::error::HostError;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::thread::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use workload::MEETINGS;

/// Most root tasks that a run can have.
pub const MAX_ROOTS: usize = 250;

/// The page. Every process of the run has it mapped at the same place, because all are forked from one.
#[repr(C)]
pub struct Shared {
    /// 1 once the run has ended. A futex: who sleeps waits for it.
    over: AtomicU32,
    /// Roots that still owe operations.
    owing: AtomicU32,
    /// Tasks that a signal killed.
    killed: AtomicU64,
    /// The user ended the run.
    interrupted: AtomicBool,
    /// Which roots have done their quota.
    done: [AtomicBool; MAX_ROOTS],
    /// Tasks that have come to each meeting.
    meetings: [AtomicU32; MEETINGS as usize],
}

impl Shared {
    /// Maps the page, for as long as the process lives: there is one a run, and no moment at which nobody could look at it.
    ///
    /// # Errors
    /// [`HostError::Call`] without memory.
    pub fn map(roots: usize) -> Result<&'static Shared, HostError> {
        if roots > MAX_ROOTS {
            return Err(HostError::Roots { roots, most: MAX_ROOTS });
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let page = unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<Shared>(), protection, flags) };
        let page = page.map_err(HostError::call("mapping a shared page"))?;
        // SAFETY: the mapping is page-aligned, large enough, never unmapped, and full of zeros, which is a value of every
        // field; all fields are atomics, so that other processes may write while this one reads.
        let shared = unsafe { &*page.cast::<Shared>() };
        shared.owing.store(roots as u32, SeqCst);
        Ok(shared)
    }

    /// Whether the run has ended.
    pub fn over(&self) -> bool {
        self.over.load(SeqCst) != 0
    }

    /// Ends the run, and wakes everybody who sleeps. Safe in a signal handler: a store and a system call.
    pub fn end(&self) {
        self.over.store(1, SeqCst);
        let _ = futex::wake(&self.over, futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Ends the run because the user said so.
    pub fn interrupt(&self) {
        self.interrupted.store(true, SeqCst);
        self.end();
    }

    /// Whether the user ended the run.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(SeqCst)
    }

    /// A root has done its quota, or never will. The last of them ends the run.
    pub fn quota_done(&self, root: usize) {
        if !self.done[root].swap(true, SeqCst) && self.owing.fetch_sub(1, SeqCst) == 1 {
            self.end();
        }
    }

    /// Counts a task that was killed.
    pub fn count_killed(&self) {
        self.killed.fetch_add(1, SeqCst);
    }

    /// Tasks that were killed.
    pub fn killed(&self) -> u64 {
        self.killed.load(SeqCst)
    }

    /// Comes to a meeting, and waits until so many tasks have; not beyond the end of the run.
    pub fn meet(&self, number: u16, tasks: u32) {
        const LOOK_NANOS: u64 = 1_000_000;
        let come = &self.meetings[usize::from(number.min(MEETINGS - 1))];
        come.fetch_add(1, SeqCst);
        while come.load(SeqCst) < tasks && !self.over() {
            self.sleep(LOOK_NANOS);
        }
    }

    /// Sleeps, but not beyond the end of the run.
    pub fn sleep(&self, nanos: u64) {
        let until = super::clock::now().saturating_add(nanos);
        while !self.over() {
            let left = until.saturating_sub(super::clock::now());
            if left == 0 {
                return;
            }
            let timeout = futex::Timespec::try_from(Duration::from_nanos(left)).ok();
            // A signal or a timeout ends the wait early or in time: the loop asks the clock.
            let _ = futex::wait(&self.over, futex::Flags::empty(), 0, timeout.as_ref());
        }
    }
}
