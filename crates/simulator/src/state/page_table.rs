//! What do page tables hold?

use crate::state::folio::{FolioId, Folios, Place};
use crate::state::page_size::PageSize;

/// One entry of a page table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pte {
    /// Never touched, or given up.
    None,
    /// Read but never written: the zero page.
    Zero,
    /// A page, in memory or on the swap device.
    Page(FolioId),
    /// A page of a mapped file; used through this entry since reclaim last looked.
    File { id: FolioId, young: bool },
}

/// What the page table of a window holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Empty,
    Huge(FolioId),
    Table(Box<[Pte]>),
}

impl Entry {
    pub fn empty_table(size: PageSize) -> Box<[Pte]> {
        vec![Pte::None; size.ptes() as usize].into_boxed_slice()
    }

    /// Whether anything of the process's own is mapped: pages of files are not.
    pub fn has_own_pages(&self) -> bool {
        match self {
            Entry::Empty => false,
            Entry::Huge(_) => true,
            Entry::Table(table) => table.iter().any(|pte| matches!(pte, Pte::Zero | Pte::Page(_))),
        }
    }

    /// What a forked child gets of it.
    pub fn to_inherit(&self) -> Entry {
        let mut entry = self.clone();
        if let Entry::Table(table) = &mut entry {
            table.iter_mut().filter(|pte| matches!(pte, Pte::File { .. })).for_each(|pte| *pte = Pte::None);
        }
        entry
    }

    /// Replaces the number of a huge page that was split by the numbers of its base pages.
    pub fn resolve(&mut self, folios: &mut Folios) {
        let Entry::Huge(head) = *self else { return };
        let Place::Split(first) = folios.get(head).place else { return };
        let table = (0..folios.get(head).pages()).map(|index| Pte::Page(FolioId(first.0 + index)));
        *self = Entry::Table(table.collect());
        let whole = folios.get_mut(head);
        whole.maps -= 1;
        if whole.maps == 0 {
            folios.remove(head);
        }
    }
}
