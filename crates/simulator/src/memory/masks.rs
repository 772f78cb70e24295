//! With which masks do processes ask for memory?

use pagealloc::Gfp;

/// Mask of a fresh anonymous page, and of one that is overwritten at once.
pub(crate) const ANON: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 | Gfp::COMP.0 | Gfp::ZERO.0);
pub(crate) const ANON_COPY: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 | Gfp::COMP.0);
/// Mask of a page table.
pub(crate) const PAGE_TABLE: Gfp = Gfp(Gfp::KERNEL_ACCOUNT.0 | Gfp::COMP.0 | Gfp::ZERO.0);
