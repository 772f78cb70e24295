//! The two kinds of pages that LRU lists and generations tell apart.

use core::ops::{Index, IndexMut};

/// What a page holds, and so where it goes when it leaves memory. MGLRU calls it the type. Indexes arrays of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LruKind {
    /// Anonymous memory, which is swapped out.
    Anon = 0,
    /// Page cache, which is written to its file where it is dirty.
    File = 1,
}

impl LruKind {
    /// Both, in the order of their indices.
    pub const ALL: [LruKind; 2] = [LruKind::Anon, LruKind::File];

    /// The other kind.
    pub const fn other(self) -> LruKind {
        match self {
            LruKind::Anon => LruKind::File,
            LruKind::File => LruKind::Anon,
        }
    }
}

impl<T> Index<LruKind> for [T; 2] {
    type Output = T;

    #[inline(always)]
    fn index(&self, kind: LruKind) -> &T {
        &self[kind as usize]
    }
}

impl<T> IndexMut<LruKind> for [T; 2] {
    #[inline(always)]
    fn index_mut(&mut self, kind: LruKind) -> &mut T {
        &mut self[kind as usize]
    }
}
