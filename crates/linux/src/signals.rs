//! Signals that end what can be ended early and keep what there is.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `SIGINT`, `SIGTERM` and `SIGHUP`: while this lives, they are noted and do nothing else.
pub struct Signals {
    came: Arc<AtomicBool>,
    watched: Vec<SigId>,
}

impl Signals {
    /// From now on.
    pub fn watch() -> Self {
        let came = Arc::new(AtomicBool::new(false));
        let watched = [SIGINT, SIGTERM, SIGHUP].map(|signal| signal_hook::flag::register(signal, Arc::clone(&came)));
        Self { came, watched: watched.into_iter().flatten().collect() }
    }

    /// Whether one of them came.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Acquire)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.watched.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
