//! Signals that end what can be ended early and keep what there is.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_default, register_usize};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

/// What users and systems end programs with.
const ENDING: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];

/// How many watch.
static WATCHING: Mutex<usize> = Mutex::new(0);
/// Nobody does any more, and a signal ends the process: handlers of `signal_hook` stay for good, and would swallow it.
static UNWATCHED: AtomicBool = AtomicBool::new(false);

/// `SIGINT`, `SIGTERM`, and `SIGHUP` where it is not ignored: while this lives, they are noted and do nothing else.
pub struct Signals {
    /// The last one that came; 0 for none.
    came: Arc<AtomicUsize>,
    watched: Vec<SigId>,
}

impl Signals {
    /// From now on.
    pub fn watch() -> Self {
        static DEFAULTS: Once = Once::new();
        let came = Arc::new(AtomicUsize::new(0));
        let signals = ending();
        let mut watching = watching();
        let note = |&signal: &c_int| register_usize(signal, Arc::clone(&came), signal as usize);
        let watched = signals.iter().map(note).filter_map(Result::ok).collect();
        UNWATCHED.store(false, SeqCst);
        *watching += 1;
        DEFAULTS.call_once(|| {
            // Whoever can't be given back its default action is not watched either: registering fails for both alike.
            let _ = signals.iter().try_for_each(|&signal| register_conditional_default(signal, &UNWATCHED).map(drop));
        });
        Self { came, watched }
    }

    /// The same, but a second one ends the process: what is to be ended by the first may be long in hearing of it.
    pub fn watch_once() -> Self {
        let mut signals = Self::watch();
        let ends = Arc::new(AtomicBool::new(false));
        for signal in ending() {
            // They act in this order: no signal ends the process by what it has set itself.
            let ending = register_conditional_default(signal, Arc::clone(&ends));
            signals.watched.extend(
                ending.and_then(|first| Ok([first, register(signal, Arc::clone(&ends))?])).into_iter().flatten(),
            );
        }
        signals
    }

    /// Whether one of them came.
    pub fn came(&self) -> bool {
        self.signal().is_some()
    }

    /// The number of the last one that came.
    pub fn signal(&self) -> Option<c_int> {
        Some(self.came.load(SeqCst) as c_int).filter(|signal| *signal != 0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut watching = watching();
        *watching -= 1;
        UNWATCHED.store(*watching == 0, SeqCst);
        for id in self.watched.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

fn watching() -> MutexGuard<'static, usize> {
    WATCHING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that end a program. Under `nohup`, `SIGHUP` is none of them.
pub(crate) fn ending() -> Vec<c_int> {
    ENDING.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)).collect()
}

fn is_ignored(signal: c_int) -> bool {
    // SAFETY: zeros are a value of every field, and without a new action the call only writes the present one.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}
