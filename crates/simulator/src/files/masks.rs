//! Masks with which the page cache asks for pages, as recorded.

use pagealloc::Gfp;

/// Pages read ahead inside the filesystem.
pub(super) const READ: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 & !Gfp::FS.0 | Gfp::COMP.0);
/// What is added where a failure does no harm: to what is read ahead, and to higher orders.
pub(super) const LIGHTLY: Gfp = Gfp(Gfp::NORETRY.0 | Gfp::NOWARN.0);
/// Pages to be written to.
pub(super) const WRITE: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 | Gfp::COMP.0 | Gfp::WRITE.0);
/// Pages of the block device's own cache.
pub(super) const METADATA: Gfp =
    Gfp(Gfp::RECLAIM.0 | Gfp::IO.0 | Gfp::MOVABLE.0 | Gfp::HARDWALL.0 | Gfp::COMP.0 | Gfp::NOFAIL.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_recorded() {
        assert_eq!(READ | LIGHTLY, Gfp(0x152c4a));
        assert_eq!((WRITE, WRITE | LIGHTLY), (Gfp(0x141cca), Gfp(0x153cca)));
        assert_eq!(METADATA, Gfp(0x148c48));
    }
}
