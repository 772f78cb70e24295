//! How far is read ahead from a swap device?

use pagealloc::policy::SwapReadahead;
use std::ops::Range;

/// Most pages that are read at once: `vm.page-cluster` of 3.
const MOST_PAGES: u32 = 8;

/// Pages to read at a miss: two more than hits since the last one, rounded up; without hits one, or two beside the last miss; never less
/// than half of the last time (`__swapin_nr_pages`).
fn pages(hits: u32, beside: bool, before: u32) -> u32 {
    let wanted = match hits {
        0 if !beside => 1,
        0 => 2,
        _ => (hits + 2).next_power_of_two().max(4),
    };
    wanted.min(MOST_PAGES).max(before / 2)
}

/// By slot, for the whole machine.
#[derive(Debug, Default)]
pub(crate) struct BySlot {
    /// Pages read ahead that were used since the last miss.
    hits: u32,
    /// Slot of the last miss that no hit came before.
    last: u32,
    /// Slots that were read at the last miss.
    window: u32,
}

impl BySlot {
    /// A page that was read ahead was wanted.
    pub fn note_hit(&mut self) {
        self.hits += 1;
    }

    /// The aligned stretch of slots around a missed one.
    pub fn around(&mut self, slot: u32, rule: SwapReadahead) -> Range<u32> {
        let pages = if rule == SwapReadahead::Always { MOST_PAGES } else { self.by_hits(slot) };
        let first = slot / pages * pages;
        first..first + pages
    }

    fn by_hits(&mut self, slot: u32) -> u32 {
        let hits = std::mem::take(&mut self.hits);
        self.window = pages(hits, slot.abs_diff(self.last) == 1, self.window);
        if hits == 0 {
            self.last = slot;
        }
        self.window
    }
}

/// By address, for a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByAddress {
    hits: u32,
    /// Page of the last miss, or hit.
    last: u32,
    window: u32,
}

/// As after four hits.
impl Default for ByAddress {
    fn default() -> ByAddress {
        ByAddress { hits: 4, last: 0, window: 0 }
    }
}

impl ByAddress {
    /// Most hits that count.
    const MOST_HITS: u32 = 63;

    /// A page that was read ahead was wanted.
    pub fn note_hit(&mut self, page: u32) {
        (self.hits, self.last) = ((self.hits + 1).min(ByAddress::MOST_HITS), page);
    }

    /// Pages around a missed one: ahead of it or behind it where misses follow each other, else on both sides.
    pub fn around(&mut self, page: u32) -> Range<u32> {
        let ByAddress { hits, last, window } = *self;
        let pages = pages(hits, page.abs_diff(last) == 1, window);
        *self = ByAddress { hits: 0, last: page, window: pages };
        if page == last + 1 {
            page..page.saturating_add(pages)
        } else if page + 1 == last {
            (page + 1).saturating_sub(pages)..page + 1
        } else {
            let left = (pages - 1) / 2;
            page.saturating_sub(left)..page.saturating_add(pages - left)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_with_hits_and_shrinks_by_half() {
        let mut readahead = BySlot::default();
        let mut miss = |slot, hits| {
            readahead.hits = hits;
            readahead.around(slot, SwapReadahead::ByHits).len()
        };
        assert_eq!([miss(100, 0), miss(101, 0)], [1, 2], "the second is its neighbour");
        assert_eq!([miss(300, 3), miss(400, 7)], [8, 8]);
        assert_eq!([miss(900, 0), miss(700, 0), miss(500, 0), miss(300, 0)], [4, 2, 1, 1]);
        assert_eq!(readahead.around(302, SwapReadahead::ByHits), 302..303);
    }

    #[test]
    fn a_mapping_is_read_to_the_side_to_which_misses_go_on() {
        let mut readahead = ByAddress::default();
        assert_eq!(readahead.around(100), 97..105, "a new mapping starts as after four hits");
        readahead.note_hit(104);
        assert_eq!(readahead.around(105), 105..109);
        for page in [106, 107, 108] {
            readahead.note_hit(page);
        }
        assert_eq!(readahead.around(107), 100..108, "downwards");
        assert_eq!(readahead.around(5_000), 4_999..5_003, "no hit: half");
        assert_eq!([readahead.around(9_000), readahead.around(1_000)], [9_000..9_002, 1_000..1_001]);
    }
}
