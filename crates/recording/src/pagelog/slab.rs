//! How much do shrinkers find? Objects that nobody uses come with the work that is done, at a rate that is the load's own: 0.07 to 0.30 with each
//! page that is asked for in 27 recordings. All but those that are left at the end were scanned, so the recorded kernel's counters tell it.

use pagealloc::Counter;
use std::collections::BTreeMap;

/// Pages by which objects are counted.
pub(super) const PAGES: u64 = 1 << 16;
/// No recording tells of more, whatever its counters say: a page holds 21 names.
const MOST: u64 = 21 * PAGES;
/// Objects scanned for so many pages where a recording doesn't tell: those of the shared recordings with generations.
pub(super) const USUAL: u64 = 11_000;

/// Objects that shrinkers scanned (`slabs_scanned`) for each [`PAGES`] that were handed out (`pgalloc_*`); none if there was no reclaim.
pub(super) fn scanned(counters: &BTreeMap<String, u64>) -> Option<u64> {
    let scanned = *counters.get(Counter::SlabsScanned.name())?;
    let handed_out = counters.iter().filter(|(name, _)| name.starts_with("pgalloc_"));
    let pages = handed_out.fold(0, |sum: u64, (_, pages)| sum.saturating_add(*pages));
    (scanned > 0 && pages >= PAGES).then(|| (scanned.saturating_mul(PAGES) / pages).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_go_with_pages_where_there_was_reclaim() {
        let told = |counters: &[(&str, u64)]| {
            scanned(&counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
        };
        let pages = [("pgalloc_dma", PAGES), ("pgalloc_dma32", 3 * PAGES), ("pgfree", 7)];
        assert_eq!(told(&[&pages[..], &[("slabs_scanned", 4_000)]].concat()), Some(1_000));
        assert_eq!(told(&[&pages[..], &[("slabs_scanned", 0)]].concat()), None);
        assert_eq!(told(&pages), None);
        assert_eq!(told(&[("pgalloc_dma", PAGES - 1), ("slabs_scanned", 4_000)]), None, "too short to tell");
        let damaged = [("pgalloc_dma", PAGES), ("slabs_scanned", u64::MAX)];
        assert_eq!(told(&damaged), Some(MOST), "counters of a damaged file");
        let damaged = [("pgalloc_dma", u64::MAX), ("pgalloc_dma32", u64::MAX), ("slabs_scanned", 4_000)];
        assert_eq!(told(&damaged), Some(0));
    }
}
