//! `struct page`, as far as it tells what a page frame is.

use super::btf::Btf;
use super::kcore::Vmcoreinfo;

/// States of a page frame, as the recording's `pagestate` numbers them.
mod state {
    pub(super) const FREE_HEAD: u8 = 1;
    pub(super) const TAIL: u8 = 3;
    pub(super) const UNREFERENCED: u8 = 4;
    pub(super) const SLAB: u8 = 5;
    pub(super) const PAGE_TABLE: u8 = 6;
    pub(super) const ANONYMOUS: u8 = 7;
    pub(super) const OTHER_TYPED: u8 = 8;
    pub(super) const PAGE_CACHE: u8 = 9;
    pub(super) const OTHER: u8 = 10;
}

/// Page types count down from -1; what is above this is a number of mappings.
const LOWEST_MAPCOUNT: i32 = -128;
/// Largest order that a free block can have.
const MAX_ORDER: u64 = 20;

/// How the kernel marks a type of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypeMark {
    /// The whole word has this value (before 6.12: one bit cleared).
    Word(i32),
    /// The word's upper byte has this value (since 6.12).
    Byte(u8),
}

impl TypeMark {
    /// A mark, from the value that a page of this type has when nothing else is in the word.
    fn of(value: i64) -> Self {
        let word = value as i32;
        if word & 0xff_ffff == 0 { Self::Byte((word as u32 >> 24) as u8) } else { Self::Word(word) }
    }

    fn matches(self, word: i32) -> bool {
        match self {
            Self::Word(value) => word == value,
            Self::Byte(value) => (word as u32 >> 24) as u8 == value,
        }
    }
}

/// Where the members of `struct page` are, and what their values mean.
#[derive(Clone, Debug)]
pub(super) struct PageLayout {
    /// Bytes of a `struct page`.
    pub(super) size: u64,
    flags: usize,
    refcount: usize,
    page_type: usize,
    private: usize,
    mapping: usize,
    compound_head: usize,
    buddy: TypeMark,
    table: TypeMark,
    slab: Option<TypeMark>,
    /// Before 6.12 slab is a flag.
    slab_flag: Option<u32>,
}

impl PageLayout {
    /// From what the kernel says of itself; `None` if something is missing.
    pub(super) fn of(info: &Vmcoreinfo, btf: Option<&Btf>) -> Option<Self> {
        let offset = |name: &str| info.offset(&format!("page.{name}")).or_else(|| btf?.offset("page", name));
        let size = info.size("page")?;
        let buddy = TypeMark::of(info.number("PAGE_BUDDY_MAPCOUNT_VALUE")?);
        // Page tables are in no VMCOREINFO. Where types are bits, theirs has been the same since 4.18.
        let table = match buddy {
            TypeMark::Word(_) => TypeMark::Word(!0x200),
            TypeMark::Byte(byte) => {
                let value = btf.and_then(|btf| btf.enumerator("PGTY_table"));
                TypeMark::Byte(value.map_or(byte + 2, |value| value as u8))
            }
        };
        let layout = Self {
            size,
            flags: offset("flags")?,
            refcount: offset("_refcount")?,
            page_type: offset("_mapcount")?,
            private: offset("private")?,
            mapping: offset("mapping")?,
            compound_head: offset("compound_head").or_else(|| offset("compound_info"))?,
            buddy,
            table,
            slab: info.number("PAGE_SLAB_MAPCOUNT_VALUE").map(TypeMark::of),
            slab_flag: info.number("PG_slab").and_then(|bit| u32::try_from(bit).ok()),
        };
        let words = [layout.flags, layout.private, layout.mapping, layout.compound_head];
        let fits = words.iter().all(|at| at + 8 <= size as usize);
        (fits && layout.refcount.max(layout.page_type) + 4 <= size as usize).then_some(layout)
    }

    /// State and order of a page; the order of compound pages is left to [`set_compound_orders`].
    pub(super) fn decode(&self, page: &[u8]) -> [u8; 2] {
        let word = |at: usize| page[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let half = |at: usize| page[at..].first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        if word(self.compound_head) & 1 == 1 {
            return [state::TAIL, 0];
        }
        let page_type = half(self.page_type);
        let is = |mark: TypeMark| mark.matches(page_type);
        if page_type < LOWEST_MAPCOUNT {
            return match page_type {
                _ if is(self.buddy) => [state::FREE_HEAD, word(self.private).min(MAX_ORDER) as u8],
                _ if is(self.table) => [state::PAGE_TABLE, 0],
                _ if self.slab.is_some_and(is) => [state::SLAB, 0],
                _ => [state::OTHER_TYPED, 0],
            };
        }
        if self.slab.is_none() && self.slab_flag.is_some_and(|bit| word(self.flags) >> bit & 1 == 1) {
            return [state::SLAB, 0];
        }
        if half(self.refcount) == 0 {
            return [state::UNREFERENCED, 0];
        }
        match word(self.mapping) {
            0 => [state::OTHER, 0],
            // The low bits of the pointer: 1 anonymous (3 with KSM), 2 of a driver that moves its own pages.
            mapping => match mapping & 3 {
                0 => [state::PAGE_CACHE, 0],
                2 => [state::OTHER, 0],
                _ => [state::ANONYMOUS, 0],
            },
        }
    }
}

/// A compound page's order is in no place that stays, but its tails can be counted.
pub(super) fn set_compound_orders(pages: &mut [u8]) {
    let (pages, _) = pages.as_chunks_mut::<2>();
    let mut head = 0;
    while head < pages.len() {
        let tails = pages[head + 1..].iter().take_while(|page| page[0] == state::TAIL).count();
        if tails > 0 && pages[head][0] != state::FREE_HEAD {
            pages[head][1] = (tails + 1).ilog2() as u8;
        }
        head += tails + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "SIZE(page)=64\nOFFSET(page.flags)=0\nOFFSET(page._refcount)=52\nOFFSET(page._mapcount)=48\n\
        OFFSET(page.private)=40\nOFFSET(page.mapping)=24\nOFFSET(page.compound_head)=8\nNUMBER(PG_slab)=9\n\
        NUMBER(PAGE_BUDDY_MAPCOUNT_VALUE)=-129\n";
    const NEW: &str = "SIZE(page)=64\nOFFSET(page.flags)=0\nOFFSET(page._refcount)=52\nOFFSET(page._mapcount)=48\n\
        OFFSET(page.private)=40\nOFFSET(page.mapping)=24\nOFFSET(page.compound_head)=8\n\
        NUMBER(PAGE_BUDDY_MAPCOUNT_VALUE)=-268435456\nNUMBER(PAGE_SLAB_MAPCOUNT_VALUE)=-184549376\n";

    fn page(layout: &PageLayout, set: impl Fn(&mut [u8])) -> [u8; 2] {
        let mut bytes = [0; 64];
        bytes[48..52].copy_from_slice(&(-1_i32).to_le_bytes());
        bytes[52] = 1;
        set(&mut bytes);
        layout.decode(&bytes)
    }

    fn put(bytes: &mut [u8], at: usize, value: i64, size: usize) {
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    #[test]
    fn pages_are_what_either_layout_says() {
        for (info, buddy, table, slab) in [(OLD, -129, -513, None), (NEW, -(16 << 24), -(14 << 24), Some(-(11 << 24)))]
        {
            let layout = PageLayout::of(&Vmcoreinfo::parse(info), None).unwrap();
            let seen = |set: &dyn Fn(&mut [u8])| page(&layout, set);
            assert_eq!(seen(&|_| {}), [state::OTHER, 0]);
            assert_eq!(seen(&|page| page[52] = 0), [state::UNREFERENCED, 0]);
            assert_eq!(seen(&|page| page[8] = 1), [state::TAIL, 0]);
            assert_eq!(seen(&|page| put(page, 24, 0x8000, 8)), [state::PAGE_CACHE, 0]);
            assert_eq!(seen(&|page| put(page, 24, 0x8001, 8)), [state::ANONYMOUS, 0]);
            assert_eq!(seen(&|page| put(page, 24, 0x8003, 8)), [state::ANONYMOUS, 0]);
            assert_eq!(seen(&|page| put(page, 24, 0x8002, 8)), [state::OTHER, 0]);
            assert_eq!(seen(&|page| put(page, 48, table, 4)), [state::PAGE_TABLE, 0]);
            assert_eq!(seen(&|page| put(page, 48, -(15 << 24), 4)), [state::OTHER_TYPED, 0]);
            let free = |page: &mut [u8]| {
                put(page, 48, buddy, 4);
                put(page, 40, 9, 8);
                page[52] = 0;
            };
            assert_eq!(seen(&free), [state::FREE_HEAD, 9]);
            let is_slab = |page: &mut [u8]| match slab {
                Some(mark) => put(page, 48, mark, 4),
                None => put(page, 0, 1 << 9, 8),
            };
            assert_eq!(seen(&is_slab), [state::SLAB, 0]);
        }
        assert!(PageLayout::of(&Vmcoreinfo::parse("SIZE(page)=64\n"), None).is_none());
        assert!(PageLayout::of(&Vmcoreinfo::parse(&OLD.replace("=52", "=62")), None).is_none());
    }

    #[test]
    fn tails_give_the_order() {
        let (head, tail) = ([state::OTHER, 0], [state::TAIL, 0]);
        let mut pages = [[state::FREE_HEAD, 3], head, tail, head, tail, tail, tail, tail].concat();
        set_compound_orders(&mut pages);
        assert_eq!([pages[1], pages[3], pages[7], pages[9]], [3, 1, 2, 0]);
    }
}
