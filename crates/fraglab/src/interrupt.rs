//! Signals that end replays early. The first one keeps the seeds that are complete; another one ends the process at once.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// `SIGINT` and `SIGTERM` in the time in which there is something to keep: while this lives, the first is noted. `SIGHUP` is left
/// alone: `nohup` has it ignored, and a handler would undo that.
#[derive(Default)]
pub struct Interrupt {
    /// The signal that came; 0 if none did.
    came: Arc<AtomicUsize>,
    /// Whether a signal does what it does by default: once one came, and when nobody asks any more.
    ends: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on. Once in a process: when it is dropped, signals end the process for good.
    pub fn watch() -> Interrupt {
        let watched = Interrupt::default();
        let Interrupt { came, ends } = &watched;
        for signal in [SIGINT, SIGTERM] {
            // They act in this order: no signal ends the process by what it has set itself. One that can't be noted ends it as ever.
            let _ = flag::register_conditional_default(signal, Arc::clone(ends))
                .and_then(|_| flag::register_usize(signal, Arc::clone(came), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(ends)));
        }
        watched
    }

    /// Of work that keeps nothing: signals end the process.
    pub fn none() -> Interrupt {
        Interrupt::default()
    }

    /// Whether what is under way is to end.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Nothing unless a signal kept some of the seeds from being complete.
    ///
    /// # Errors
    /// [`Failure::Interrupted`].
    pub fn whole(&self, done: usize, asked: usize) -> Result<(), Failure> {
        match self.signal() {
            Some(signal) if done < asked => Err(Failure::Interrupted { signal, done, asked }),
            _ => Ok(()),
        }
    }

    fn signal(&self) -> Option<i32> {
        Some(self.came.load(Ordering::Acquire) as i32).filter(|signal| *signal != 0)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
    }
}
