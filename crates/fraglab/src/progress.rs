//! Progress on stderr: a bar on a terminal, nothing anywhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar.
const STEPS: f64 = 1000.0;

/// A step of the work, with its progress. Dropping it clears the bar.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins a step of unknown length.
    pub fn new(what: &str) -> Progress {
        // Hidden unless stderr is a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3}% {elapsed}")
            .expect("the template is well formed")
            .progress_chars("=> ");
        bar.set_style(style);
        bar.set_prefix(what.to_owned());
        Progress { bar }
    }

    /// Says how far the step is, 0 to 1.
    pub fn set(&self, share: f64) {
        self.bar.set_length(STEPS as u64);
        self.bar.set_position((share * STEPS) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_without_a_terminal() {
        let progress = Progress::new("replaying");
        progress.set(0.5);
        assert!(progress.bar.is_hidden() || std::io::IsTerminal::is_terminal(&std::io::stderr()));
    }
}
