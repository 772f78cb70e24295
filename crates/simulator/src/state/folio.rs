//! Folios: everything that is or was in memory, by number. The number is the page's [`Tag`], and it stays the same while
//! the content moves, leaves memory and comes back. Page tables and files hold numbers, so no reverse map is needed.

use mm::reclaim::Shadow;
use mm::{Nanos, Tag};
use pagealloc::{Order, Pfn};

/// Number of a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub(crate) struct FolioId(pub u32);

impl From<FolioId> for Tag {
    fn from(id: FolioId) -> Tag {
        Tag(id.0)
    }
}

/// What a folio is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// The number is free.
    None,
    /// Anonymous memory of one process or several.
    Anon,
    /// Page cache of a file from this page on.
    File { file: u32, index: u32 },
    /// A slab by number.
    Slab(u32),
    /// Other memory of the kernel.
    Kernel(KernelUse),
}

/// Memory of the kernel that comes in whole pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelUse {
    /// From before the run.
    Boot,
    PageTable,
    Stack,
    Pipe,
    Socket,
    Ring,
    /// A metadata buffer, and a log vector (XFS).
    Buffer,
    LogVector,
    /// A batch of pages that are being unmapped.
    Gather,
    /// A huge page that khugepaged fills.
    Collapse,
    /// What a scenario makes the kernel hold.
    Held,
}

/// Where a folio's content is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In memory.
    Frame(Pfn),
    /// On the swap device.
    Swapped(Shadow),
    /// It was a huge page, and its base pages are folios of their own: these numbers from the first one on.
    Split(FolioId),
}

/// A folio. Each is looked at by itself and out of order: one cache line, not parts of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub(crate) struct Folio {
    pub what: Use,
    pub place: Place,
    pub order: Order,
    /// Entries of page tables that map it; a file's cache counts as one more, as does whatever holds other pages.
    pub maps: u32,
    /// Used through page tables since reclaim last looked. Of a file's pages, the entries tell.
    pub young: bool,
    /// The first of its swap slots, if it has some.
    pub slot: Option<u32>,
    /// Read from the swap device for another one's sake, and not mapped yet.
    pub ahead: bool,
    /// A huge page of which a part was given back: one process maps the others one by one.
    pub parts: bool,
    /// Marked by NUMA balancing: its next use is a fault.
    pub hint: bool,
    /// Node that it was last used on when it was marked, and 1; 0 if never.
    pub used_on: u8,
    /// The filesystem keeps no state of its parts (XFS: `iomap_folio_state`).
    pub stateless: bool,
    /// When its content will have been read.
    pub ready: Nanos,
}

impl Folio {
    /// A folio in this frame.
    pub fn new(what: Use, pfn: Pfn, order: Order) -> Folio {
        Folio {
            what,
            place: Place::Frame(pfn),
            order,
            maps: 1,
            young: false,
            slot: None,
            ahead: false,
            parts: false,
            hint: false,
            used_on: 0,
            stateless: false,
            ready: 0,
        }
    }

    /// Base pages.
    pub fn pages(&self) -> u32 {
        1 << self.order
    }
}

/// All folios.
#[derive(Default)]
pub(crate) struct Folios {
    all: Vec<Folio>,
    vacant: Vec<FolioId>,
}

impl Folios {
    pub fn add(&mut self, folio: Folio) -> FolioId {
        match self.vacant.pop() {
            Some(id) => {
                self.all[id.0 as usize] = folio;
                id
            }
            None => {
                self.all.push(folio);
                FolioId(self.all.len() as u32 - 1)
            }
        }
    }

    /// Room for folios with successive numbers: the first one's.
    pub fn add_run(&mut self, folios: impl Iterator<Item = Folio>) -> FolioId {
        let first = FolioId(self.all.len() as u32);
        self.all.extend(folios);
        first
    }

    pub fn remove(&mut self, id: FolioId) -> Folio {
        self.vacant.push(id);
        let folio = &mut self.all[id.0 as usize];
        std::mem::replace(folio, Folio { what: Use::None, ..*folio })
    }

    pub fn get(&self, id: FolioId) -> &Folio {
        &self.all[id.0 as usize]
    }

    pub fn get_mut(&mut self, id: FolioId) -> &mut Folio {
        &mut self.all[id.0 as usize]
    }

    /// The frame, if the folio is in memory and whole.
    pub fn frame(&self, id: FolioId) -> Option<Pfn> {
        match *self.get(id) {
            Folio { what: Use::None, .. } => None,
            Folio { place: Place::Frame(pfn), .. } => Some(pfn),
            _ => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (FolioId, &Folio)> {
        let numbered = self.all.iter().enumerate().map(|(id, folio)| (FolioId(id as u32), folio));
        numbered.filter(|(_, folio)| folio.what != Use::None)
    }
}
