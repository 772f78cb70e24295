//! The windows of an address space by number: what one page table maps each.

use crate::state::folio::FolioId;
use crate::state::page_size::PageSize;
use crate::state::page_table::{Entry, Pte};
use std::ops::Range;

/// What one page table maps. Neighbouring mappings share it, as theirs merge in the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub entry: Entry,
    /// The page-table page; also set aside under a huge page.
    pub table: Option<FolioId>,
    /// Base pages that are mapped, one bit each; of more than 512, the others.
    mapped: [u64; WORDS],
    more: Vec<u64>,
}

/// Words of a window's map that lie in the window itself: all, with pages of 4 KiB.
const WORDS: usize = 8;

/// The bits of a word that stand for pages of a range, which may begin before the word and end behind it.
fn bits(word: usize, pages: &Range<u32>) -> u64 {
    let first = word as u32 * 64;
    let from = pages.start.clamp(first, first + 64) - first;
    let to = pages.end.clamp(first, first + 64) - first;
    let below = |bit: u32| 1u64.checked_shl(bit).map_or(u64::MAX, |bit| bit - 1);
    below(to) & !below(from)
}

impl Window {
    fn new(size: PageSize) -> Window {
        let more = size.ptes() as usize / 64 - WORDS;
        Window { entry: Entry::Empty, table: None, mapped: [0; WORDS], more: vec![0; more] }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.mapped.iter().chain(&self.more).copied()
    }

    fn words_mut(&mut self) -> impl Iterator<Item = (usize, &mut u64)> {
        self.mapped.iter_mut().chain(&mut self.more).enumerate()
    }

    /// The same mappings without any pages.
    fn layout(&self) -> Window {
        Window { entry: Entry::Empty, table: None, mapped: self.mapped, more: self.more.clone() }
    }

    fn map(&mut self, pages: Range<u32>) {
        self.words_mut().for_each(|(word, mapped)| *mapped |= bits(word, &pages));
    }

    pub fn is_mapped(&self, page: u32) -> bool {
        let word = page as usize / 64;
        let mapped = if word < WORDS { self.mapped[word] } else { self.more[word - WORDS] };
        mapped & 1 << (page % 64) != 0
    }

    /// Its table of base pages, an empty one if there was nothing; `None` where a huge page is mapped.
    pub fn table_or_new(&mut self, size: PageSize) -> Option<&mut [Pte]> {
        if self.entry == Entry::Empty {
            self.entry = Entry::Table(Entry::empty_table(size));
        }
        match &mut self.entry {
            Entry::Table(table) => Some(table),
            Entry::Empty | Entry::Huge(_) => None,
        }
    }

    /// Unmaps pages by their numbers in the window.
    pub fn unmap(&mut self, pages: Range<u32>) {
        self.words_mut().for_each(|(word, mapped)| *mapped &= !bits(word, &pages));
    }

    /// Whether all of it is mapped, so that a huge page fits.
    pub fn is_whole(&self) -> bool {
        self.words().all(|word| word == u64::MAX)
    }

    pub fn is_gone(&self) -> bool {
        self.words().all(|word| word == 0)
    }
}

/// First page of anonymous mappings smaller than a window, which lie far from the others.
pub(crate) const SMALL: u32 = AREA;
/// First page of mapped files.
pub(crate) const FILES: u32 = 2 * AREA;
/// Pages of each area.
pub(crate) const AREA: u32 = 1 << AREA_SHIFT;
/// Logarithm of the pages of each area.
const AREA_SHIFT: u8 = 30;

/// Windows that have mappings, by number: large mappings grow from page 0 on, small ones from [`SMALL`] on, files from [`FILES`] on, all
/// without large gaps, so each area is an array.
#[derive(Clone)]
pub(crate) struct Windows {
    areas: [Vec<Option<Window>>; 3],
    count: usize,
    pub size: PageSize,
}

impl Windows {
    pub fn new(size: PageSize) -> Windows {
        Windows { areas: [const { Vec::new() }; 3], count: 0, size }
    }

    /// Windows of each area.
    fn area(&self) -> u32 {
        1 << (AREA_SHIFT - self.size.huge_order())
    }

    /// Area and place of a window.
    #[inline]
    fn place(&self, number: u32) -> (usize, usize) {
        let shift = AREA_SHIFT - self.size.huge_order();
        ((number >> shift) as usize, (number & ((1 << shift) - 1)) as usize)
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<&Window> {
        let (area, place) = self.place(number);
        self.areas[area].get(place)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Window> {
        let (area, place) = self.place(number);
        self.areas[area].get_mut(place)?.as_mut()
    }

    /// Maps pages, by their numbers in the address space.
    pub fn map(&mut self, pages: Range<u32>) {
        let size = self.size;
        for number in size.window(pages.start)..=size.window(pages.end - 1) {
            let first = size.first(number);
            let inside = pages.start.max(first) - first..pages.end.min(first + size.ptes()) - first;
            self.entry(number).map(inside);
        }
    }

    fn entry(&mut self, number: u32) -> &mut Window {
        let (area, place) = self.place(number);
        let size = self.size;
        let area = &mut self.areas[area];
        let places = area.len().max(place + 1);
        area.resize_with(places, || None);
        self.count += usize::from(area[place].is_none());
        area[place].get_or_insert_with(|| Window::new(size))
    }

    pub fn remove(&mut self, number: u32) {
        let (area, place) = self.place(number);
        let window = self.areas[area].get_mut(place).and_then(Option::take);
        self.count -= usize::from(window.is_some());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The same mappings without any pages.
    pub fn layout(&self) -> Windows {
        let layout =
            |area: &Vec<Option<Window>>| area.iter().map(|window| window.as_ref().map(Window::layout)).collect();
        Windows { areas: self.areas.each_ref().map(layout), count: self.count, size: self.size }
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Window)> {
        let area = |(first, area)| {
            (first..).zip(area).filter_map(|(number, window): (u32, &Option<Window>)| Some((number, window.as_ref()?)))
        };
        (0..).step_by(self.area() as usize).zip(&self.areas).flat_map(area)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Window> {
        self.areas.iter_mut().flatten().flatten()
    }

    /// The first window with this number or a higher one.
    pub fn next_from(&self, number: u32) -> Option<u32> {
        let (from, place) = self.place(number);
        let first_of = |area: usize| {
            let skipped = if area == from { place } else { 0 };
            let found = self.areas[area].iter().skip(skipped).position(Option::is_some);
            found.map(|found| area as u32 * self.area() + (skipped + found) as u32)
        };
        (from..self.areas.len()).find_map(first_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: PageSize = PageSize::new(12);
    const PTES: u32 = SIZE.ptes();

    #[test]
    fn a_window_is_whole_until_a_page_is_unmapped() {
        let mut windows = Windows::new(SIZE);
        windows.map(0..PTES);
        let window = windows.get_mut(0).unwrap();
        window.unmap(511..512);
        assert!(!window.is_whole() && !window.is_mapped(511) && window.is_mapped(510));
        window.unmap(0..511);
        assert!(window.is_gone());
    }

    #[test]
    fn mappings_are_marked_to_the_page() {
        for range in [0..1, 63..64, 64..65, 60..70, 100..612, 511..513, 512..1024, 1000..1600] {
            let mut windows = Windows::new(SIZE);
            windows.map(range.clone());
            for page in 0..2048 {
                let mapped = windows.get(page / PTES).is_some_and(|window| window.is_mapped(page % PTES));
                assert_eq!(mapped, range.contains(&page), "{page} of {range:?}");
            }
        }
    }

    #[test]
    fn windows_of_larger_pages_are_larger() {
        let mut windows = Windows::new(PageSize::new(14));
        windows.map(0..2_048);
        windows.map(FILES..FILES + 3);
        assert!(windows.get(0).is_some_and(Window::is_whole));
        windows.get_mut(0).unwrap().unmap(700..701);
        let mapped = [699, 700, 2_047].map(|page| windows.get(0).unwrap().is_mapped(page));
        assert_eq!(mapped, [true, false, true]);
        assert_eq!(windows.next_from(1), Some(FILES / 2_048));
    }

    #[test]
    fn windows_are_found_in_order_and_counted() {
        const SMALL_WINDOW: u32 = SIZE.window(SMALL);
        let mut windows = Windows::new(SIZE);
        for number in [SMALL_WINDOW + 1, 3, 0] {
            windows.map(number * PTES..number * PTES + 5);
        }
        let numbers = |windows: &Windows| windows.iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!((numbers(&windows), windows.len()), (vec![0, 3, SMALL_WINDOW + 1], 3));
        let next = [0, 1, 4, SMALL_WINDOW, SMALL_WINDOW + 2].map(|number| windows.next_from(number));
        assert_eq!(next, [Some(0), Some(3), Some(SMALL_WINDOW + 1), Some(SMALL_WINDOW + 1), None]);
        assert!(windows.layout().get(3).is_some_and(|window| window.is_mapped(4)));
        windows.remove(3);
        windows.remove(3);
        assert_eq!((numbers(&windows), windows.len()), (vec![0, SMALL_WINDOW + 1], 2));
    }
}
