//! Writing a shorter trace.dat: whole ring-buffer pages up to a time.

/// What a cut kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutSummary {
    /// Pages kept of pages there were, per CPU.
    pub pages: Vec<(u16, usize, usize)>,
}
