//! When were the pages of a file last used through page tables?

use mm::Nanos;
use std::ops::Range;

/// Pages that share a time: those of a folio of 64 KiB, as the mapped ones of a traced guest were. A smaller one counts as used with its
/// neighbours.
const STRETCH: u32 = 16;

/// Times of use, by stretches of pages. A file that is not mapped needs no memory for them.
#[derive(Default)]
pub(crate) struct LastUsed(Vec<Option<Nanos>>);

impl LastUsed {
    /// These pages are used now.
    pub fn note(&mut self, pages: Range<u32>, now: Nanos) {
        let stretches = stretches(pages);
        if self.0.len() < stretches.end {
            self.0.resize(stretches.end, None);
        }
        self.0[stretches].fill(Some(now));
    }

    /// The last time that any of these pages was used.
    pub fn latest(&self, pages: Range<u32>) -> Option<Nanos> {
        let Range { start, end } = stretches(pages);
        self.0.get(start..end.min(self.0.len()))?.iter().copied().max().flatten()
    }
}

fn stretches(pages: Range<u32>) -> Range<usize> {
    (pages.start / STRETCH) as usize..pages.end.div_ceil(STRETCH) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_use_of_any_page_counts() {
        let mut used = LastUsed::default();
        assert_eq!(used.latest(0..16), None);
        used.note(0..20, 5);
        used.note(40..41, 7);
        assert_eq!(
            [0..16, 16..32, 32..48, 48..64, 16..48].map(|pages| used.latest(pages)),
            [5, 5, 7, 0, 7].map(|at| (at > 0).then_some(at))
        );
        used.note(0..1, 9);
        assert_eq!(used.latest(0..32), Some(9));
        assert_eq!(used.latest(900..916), None);
    }
}
