//! What does reclaim of a page cost? A folio of the page cache is looked up, locked and taken out of the cache once, however many pages it
//! has: in `m512-d1-s1` kswapd spends 10 us a page on batches of single pages, and 1.3 us on those of folios of 20 pages and more.

/// A step of reclaim: a batch of pages of an LRU list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shrunk {
    /// What was worked in it.
    pub ns: u64,
    /// Pages that it looked at.
    pub pages: u64,
    /// Folios that it took out of the page cache.
    pub folios: u64,
}

/// Sums over such steps, from which a page and a folio get their prices by least squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ShrinkCost {
    ns: f64,
    pages: f64,
    folios: f64,
    pages_pages: f64,
    pages_folios: f64,
    folios_folios: f64,
    ns_pages: f64,
    ns_folios: f64,
}

impl ShrinkCost {
    /// Counts a step.
    pub fn add(&mut self, step: Shrunk) {
        // No machine has more pages than 32 bits count.
        if !(1..=u64::from(u32::MAX)).contains(&step.pages) {
            return;
        }
        let (ns, pages, folios) = (step.ns as f64, step.pages as f64, step.folios as f64);
        self.ns += ns;
        self.pages += pages;
        self.folios += folios;
        self.pages_pages += pages * pages;
        self.pages_folios += pages * folios;
        self.folios_folios += folios * folios;
        self.ns_pages += ns * pages;
        self.ns_folios += ns * folios;
    }

    /// Nanoseconds a page, its share of the folio included; nothing without a step.
    pub fn page(&self) -> Option<u64> {
        (self.pages > 0.0).then(|| (self.ns / self.pages) as u64)
    }

    /// Nanoseconds a page and a folio, such that all steps together take as long as they did. Steps that are all alike, or that show no
    /// price of a folio, have one of a page only; steps that show none of a page have one of a folio only.
    pub fn page_and_folio(&self) -> Option<(u64, u64)> {
        let all_a_page = self.page()?;
        let determinant = self.pages_pages * self.folios_folios - self.pages_folios * self.pages_folios;
        if determinant <= ALIKE * self.pages_pages * self.folios_folios {
            return Some((all_a_page, 0));
        }
        let page = (self.ns_pages * self.folios_folios - self.ns_folios * self.pages_folios) / determinant;
        let folio = (self.ns_folios * self.pages_pages - self.ns_pages * self.pages_folios) / determinant;
        let (page, folio) = (page.max(0.0), folio.max(0.0));
        let fitted = page * self.pages + folio * self.folios;
        if fitted <= 0.0 {
            return Some((all_a_page, 0));
        }
        let scale = self.ns / fitted;
        Some(((page * scale) as u64, (folio * scale) as u64))
    }
}

/// Steps whose folios and pages go together more closely than this tell nothing about what either costs.
const ALIKE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steps: &[(u64, u64, u64)]) -> ShrinkCost {
        let mut cost = ShrinkCost::default();
        steps.iter().for_each(|&(ns, pages, folios)| cost.add(Shrunk { ns, pages, folios }));
        cost
    }

    #[test]
    fn prices_of_pages_and_folios_are_told_apart() {
        let cost =
            of(&[(64 * 2_000 + 64 * 9_000, 64, 64), (64 * 2_000 + 4 * 9_000, 64, 4), (64 * 2_000 + 9_000, 64, 1)]);
        let (page, folio) = cost.page_and_folio().unwrap();
        assert!(page.abs_diff(2_000) <= 1 && folio.abs_diff(9_000) <= 1, "{page} {folio}");
    }

    #[test]
    fn without_folios_or_with_steps_alike_all_is_the_pages() {
        assert_eq!(of(&[]).page_and_folio(), None);
        assert_eq!(of(&[(0, 0, 3)]).page(), None);
        assert_eq!(of(&[(64_000, 64, 0), (32_000, 32, 0)]).page_and_folio(), Some((1_000, 0)));
        assert_eq!(of(&[(64_000, 64, 64), (32_000, 32, 32)]).page_and_folio(), Some((1_000, 0)));
    }

    #[test]
    fn all_steps_together_take_as_long_as_they_did() {
        // Slower the larger the folios: no price of a folio.
        let cost = of(&[(64_000, 64, 64), (640_000, 64, 1)]);
        assert_eq!(cost.page_and_folio(), Some((5_500, 0)));
        // A batch that took no page at all costs nothing a page.
        let cost = of(&[(90_000, 10, 10), (0, 64, 0), (9_000, 64, 1)]);
        let (page, folio) = cost.page_and_folio().unwrap();
        assert!((page * 138 + folio * 11).abs_diff(99_000) < 200, "{page} {folio}");
    }
}
