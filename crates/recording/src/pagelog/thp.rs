//! THP faults: attempts at PMD order, and the base pages that follow a refusal.

use super::ObjectId;
use pagealloc::Gfp;

/// A THP fault of a task whose base pages may still come.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenUnit {
    /// Its number.
    pub unit: u32,
    /// First base page object.
    pub members: ObjectId,
    /// Base pages seen so far.
    pub used: u32,
    /// The kernel refused it: base pages follow.
    pub refused: bool,
    /// The first of two attempts (own node only, no retry) was refused; the ordinary one follows at once (8.12).
    pub retry_expected: bool,
}

/// Whether this is the attempt of a THP fault on the own node (8.12).
pub(super) fn is_first_attempt(gfp: Gfp) -> bool {
    gfp.contains(Gfp::THISNODE)
}

/// Whether a base page of a THP fault may be asked for with this mask.
pub(super) fn is_base_page(gfp: Gfp) -> bool {
    gfp.contains(Gfp::HIGHUSER_MOVABLE | Gfp::ZERO) && !gfp.contains(Gfp::WRITE)
}
