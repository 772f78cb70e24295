//! Pages whose move to another frame was recorded, by a probe of fraglab's recorder. Where it was, nothing about identity
//! over migration has to be inferred.

use super::ObjectId;
use super::start::NOBODY;
use crate::Recording;
use crate::event::PageMoved;
use foldhash::HashSet;

/// Where the kernel's array of `struct page` begins, and the size of one: turns the kernel's pointers into page frame
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageArray {
    base: Option<u64>,
    size: u64,
}

/// The array begins at a multiple of this, whatever KASLR decides (x86-64).
const ALIGNMENT: u64 = 1 << 30;
/// Size of a `struct page` where the recorder could not tell.
const USUAL_SIZE: u64 = 64;

impl PageArray {
    /// As the recorder noted it; `None` if the recording has no such probe.
    pub(crate) fn of(recording: &Recording) -> Option<Self> {
        let noted = |name: &str| recording.recorder.get(name);
        noted("probes")?.contains("fraglab_migrate").then(|| Self {
            base: noted("vmemmap_base").and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()),
            size: noted("struct_page_bytes").and_then(|text| text.parse().ok()).unwrap_or(USUAL_SIZE).max(1),
        })
    }

    /// The page frame number behind a pointer. Without a base, that of a machine whose array is no larger than its
    /// alignment: up to 64 GiB of memory.
    pub(crate) fn pfn(self, pointer: u64) -> u64 {
        let base = self.base.unwrap_or(pointer & !(ALIGNMENT - 1));
        pointer.wrapping_sub(base) / self.size
    }
}

/// A page that has moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Arrived {
    /// Its new frames.
    pub frames: std::ops::Range<usize>,
    /// The object that these were asked for as, so that it could move there: by NUMA balancing, `move_pages` and the like. Compaction
    /// takes its frames without asking: [`NOBODY`].
    pub asked_for: ObjectId,
}

/// The moves of a recording.
#[derive(Default)]
pub(super) struct Moves {
    array: Option<PageArray>,
    /// Frames whose contents moved away, and which are not freed yet.
    left: HashSet<u64>,
}

impl Moves {
    /// For a recording with this page array; `None` if it does not show moves.
    pub fn new(array: Option<PageArray>) -> Self {
        Self { array, left: HashSet::default() }
    }

    /// Whether moves are recorded.
    pub fn known(&self) -> bool {
        self.array.is_some()
    }

    /// A page moves: its object is in the new frames from now on. Where that is, if the object is known.
    pub fn moved(
        &mut self,
        event: &PageMoved,
        owner: &mut [ObjectId],
        pages: impl Fn(ObjectId) -> usize,
    ) -> Option<Arrived> {
        let array = self.array?;
        let (old, new) = (array.pfn(event.old), array.pfn(event.new));
        let object = *owner.get(usize::try_from(old).ok()?)?;
        // Frames of unknown owners move, too: those of pages that were bulk-allocated.
        self.left.insert(old);
        if object == NOBODY {
            return None;
        }
        // Of an object that was split, a page at a time moves.
        let held = |start: usize, pages: usize| owner.get(start..start + pages);
        let whole = held(old as usize, pages(object)).is_some_and(|frames| frames.iter().all(|other| *other == object));
        let pages = if whole { pages(object) } else { 1 };
        let target = new as usize..(new as usize).checked_add(pages)?;
        let asked_for = *held(target.start, pages)?.first()?;
        owner[old as usize..old as usize + pages].fill(NOBODY);
        owner[target.clone()].fill(object);
        Some(Arrived { frames: target, asked_for })
    }

    /// Whether a free is that of a frame whose contents had moved away.
    pub fn freed(&mut self, pfn: u64) -> bool {
        self.left.remove(&pfn)
    }

    /// A frame is handed out: whatever was in it is gone.
    pub fn allocated(&mut self, pfn: u64) {
        self.left.remove(&pfn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_moves_with_all_of_its_pages() {
        let base = 0xffff_ea00_4000_0000;
        for known in [Some(base), None] {
            let mut moves = Moves::new(Some(PageArray { base: known, size: 64 }));
            let mut owner = vec![NOBODY; 32];
            owner[4..8].fill(3);
            owner[16..20].fill(if known.is_some() { 5 } else { NOBODY });
            let arrived = Arrived { frames: 16..20, asked_for: owner[16] };
            let event = PageMoved { old: base + 4 * 64, new: base + 16 * 64 };
            assert_eq!(moves.moved(&event, &mut owner, |_| 4), Some(arrived));
            assert!(
                owner[4..8].iter().all(|object| *object == NOBODY) && owner[16..20].iter().all(|object| *object == 3)
            );
            assert!(moves.freed(4) && !moves.freed(4) && !moves.freed(16));
            // Nobody's page, and one beyond the end.
            assert_eq!(moves.moved(&PageMoved { old: base + 64, new: base + 128 }, &mut owner, |_| 1), None);
            assert!(moves.freed(1));
            assert_eq!(moves.moved(&PageMoved { old: base + 16 * 64, new: base + 30 * 64 }, &mut owner, |_| 4), None);
        }
    }
}
