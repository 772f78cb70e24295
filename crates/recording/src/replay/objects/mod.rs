//! Where is each object of the log?
//!
//! In a frame or several, on its way to one, or gone: then what its eviction left may be found. How hot it is says [`heat`], and what the
//! machinery learns of it [`owner`].

mod heat;
mod owner;

use super::page_tables::PageTables;
use super::shadows::{ShadowLink, Shadows};
use super::shrinkers::Shrinkers;
use super::used_again::UsedAgain;
use super::uses::Reuse;
use super::waiting::Waiting;
use crate::pagelog::{Class, ONCE, Object, ObjectId, PageLog, UNIT};
use lab::Chance;
use mm::reclaim::Shadow;
use mm::{Nanos, Tag};
use pagealloc::Pfn;
use pagealloc::policy::{Policy, SwapsHugePages};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The object is in no frame: not allocated yet, or reclaimed.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Its owner has given it back.
pub(super) const GONE: u32 = u32::MAX - 1;
/// It was asked for and its task waits.
pub(super) const PENDING: u32 = u32::MAX - 2;
/// It was asked for, and its owner has given it back before it was there: to be freed as soon as the request is served.
pub(super) const DOOMED: u32 = u32::MAX - 3;
/// It is in several smaller pages, because no page of its order could be had.
pub(super) const PIECES: u32 = u32::MAX - 4;

/// What is known of an object while the replay goes on, beside what the log says of it, so that a look at both costs one
/// cache miss: 24 bytes.
#[derive(Clone, Copy)]
struct Slot {
    /// A frame number or one of the words above.
    place: u32,
    /// When reclaim last looked at it since it came into its frame, in units of 2^16 ns; 0 if it did not.
    looked: u32,
    /// What its eviction left.
    shadow: ShadowLink,
    /// As in the log, but for `leave` of a whole THP unit: when the kernel's reclaim took the last of its base pages.
    of: Object,
}

/// Objects by number.
pub(super) struct Objects {
    log: Arc<PageLog>,
    page_tables: PageTables,
    reuse: Reuse,
    slots: Vec<Slot>,
    pieces: BTreeMap<ObjectId, Vec<Pfn>>,
    /// What the eviction of pieces left; they are not read back.
    piece_shadows: BTreeMap<ObjectId, Vec<Shadow>>,
    shadows: Shadows,
    shrinkers: Shrinkers,
    swapped: u64,
    swap_total: u64,
    /// Huge pages are swapped whole. The swap device is taken for one that rotates, as those of virtual machines say they do.
    swaps_huge_pages: bool,
    chance: Chance,
    waiting: Waiting,
    /// When reclaim last looked at page tables, and whether the lock that leads there was taken then.
    rmap: (Nanos, bool),
    /// Objects that were taken while in use, with the time at which they are read back.
    pub readback: Vec<(Nanos, ObjectId)>,
    /// Parts of huge pages that were split which their owner had given back before.
    pub left_over: Vec<ObjectId>,
    /// Pages that the model's reclaim took though the kernel kept them longer.
    pub taken_while_hot: u64,
    /// Splits of huge pages by reclaim.
    pub splits: u64,
    /// Page cache that is used again.
    pub used_again: UsedAgain,
}

impl Objects {
    pub fn new(log: Arc<PageLog>, swap_total: u64, policy: &Policy, seed: u64) -> Objects {
        let slot = |of: &Object| {
            let last = if of.flags & UNIT == 0 {
                of.leave
            } else {
                log.objects[log.units[of.link as usize].members as usize].leave
            };
            Slot {
                place: NOWHERE,
                looked: 0,
                shadow: ShadowLink::default(),
                of: Object { leave: last.max(of.leave), ..*of },
            }
        };
        let slots = log.objects.iter().map(slot).collect();
        // Only generations ask for them.
        let page_tables = policy.lru_gen().map(|_| PageTables::of(&log)).unwrap_or_default();
        Objects {
            page_tables,
            reuse: Reuse::of(&log, policy, seed),
            waiting: Waiting::of(log.tasks.len()),
            shrinkers: Shrinkers::new(log.slabs_scanned),
            shadows: Shadows::new(log.shadows_kept, policy.reclaim),
            log,
            slots,
            pieces: BTreeMap::new(),
            piece_shadows: BTreeMap::new(),
            swapped: 0,
            swap_total,
            swaps_huge_pages: policy.reclaim.swaps_huge_pages == SwapsHugePages::Always,
            chance: Chance::new(seed),
            rmap: (Nanos::MAX, false),
            readback: Vec::new(),
            left_over: Vec::new(),
            taken_while_hot: 0,
            splits: 0,
            used_again: UsedAgain::default(),
        }
    }

    /// What the log says of the object.
    #[inline(always)]
    pub fn of(&self, object: ObjectId) -> Object {
        self.slots[object as usize].of
    }

    /// Where the object is: a frame number or one of the words above.
    #[inline(always)]
    pub fn place(&self, object: ObjectId) -> u32 {
        self.slots[object as usize].place
    }

    /// The object's frame, if it is in one and whole.
    pub fn frame(&self, object: ObjectId) -> Option<Pfn> {
        Some(Pfn(self.place(object))).filter(|pfn| pfn.0 < PIECES)
    }

    /// Whether the object is in memory, asked for, or on swap.
    pub fn is_anywhere(&self, object: ObjectId) -> bool {
        let Slot { place, shadow, .. } = self.slots[object as usize];
        !matches!(place, NOWHERE | GONE | DOOMED) || shadow.is_some()
    }

    /// Notes a word of those above.
    #[inline(always)]
    pub fn set_place(&mut self, object: ObjectId, place: u32) {
        self.slots[object as usize].place = place;
    }

    /// The object came into a frame.
    #[inline(always)]
    pub fn put(&mut self, object: ObjectId, pfn: Pfn) {
        let slot = &mut self.slots[object as usize];
        (slot.place, slot.looked) = (pfn.0, 0);
        self.shrinkers.pages_came(1 << slot.of.order);
        match slot.of.class {
            Class::Slab => self.shrinkers.page_came(object, slot.of.leave),
            Class::File | Class::Metadata if slot.of.flags & ONCE == 0 => self.used_again.came(object),
            _ => {}
        }
    }

    /// The object leaves its frame by its owner's will.
    #[inline(always)]
    pub fn take(&mut self, object: ObjectId) {
        let slot = &mut self.slots[object as usize];
        slot.place = GONE;
        if slot.of.class == Class::Slab {
            self.shrinkers.page_went(object, slot.of.leave);
        }
    }

    /// Pages of an object in pieces.
    pub fn pieces_mut(&mut self, object: ObjectId) -> &mut Vec<Pfn> {
        self.pieces.entry(object).or_default()
    }

    /// Forgets the pieces.
    pub fn take_pieces(&mut self, object: ObjectId) -> Vec<Pfn> {
        self.pieces.remove(&object).unwrap_or_default()
    }

    /// What the eviction of pieces left, once.
    pub fn take_piece_shadows(&mut self, object: ObjectId) -> Vec<Shadow> {
        let shadows = self.piece_shadows.remove(&object).unwrap_or_default();
        if self.of(object).class == Class::Anon {
            self.swapped = self.swapped.saturating_sub(shadows.len() as u64);
            shadows.iter().for_each(|_| self.page_tables.left_swap(object));
        }
        shadows
    }

    /// What eviction left, once.
    #[inline(always)]
    pub fn take_shadow(&mut self, object: ObjectId) -> Option<Shadow> {
        if self.slots[object as usize].shadow.is_some() { self.take_shadow_there(object) } else { None }
    }

    #[cold]
    fn take_shadow_there(&mut self, object: ObjectId) -> Option<Shadow> {
        let shadow = self.shadows.take(&mut self.slots[object as usize].shadow)?;
        if self.of(object).class == Class::Anon {
            self.swapped = self.swapped.saturating_sub(1);
            self.page_tables.left_swap(object);
        }
        Some(shadow)
    }

    /// The object is `before` read back: what its eviction left is found again.
    pub fn inherit_shadow(&mut self, before: ObjectId, object: ObjectId) {
        let shadow = self.shadows.take(&mut self.slots[before as usize].shadow);
        self.find_shadow(object, shadow);
    }

    /// The object is where `before`, a folio of another size, had been: an entry that its eviction left is found. Others may
    /// be left for the rest of its pages.
    pub fn share_shadow(&mut self, before: ObjectId, object: ObjectId) {
        let shadow = self.shadows.get(self.slots[before as usize].shadow);
        self.find_shadow(object, shadow);
    }

    fn find_shadow(&mut self, object: ObjectId, shadow: Option<Shadow>) {
        let Slot { of, shadow: link, .. } = &mut self.slots[object as usize];
        let gfp = self.log.gfps[usize::from(of.gfp)];
        if let Some(shadow) = shadow.filter(|_| self.shadows.found_by(of.class, gfp, &self.chance)) {
            self.shadows.put(link, shadow);
        }
    }

    /// A large folio whose base pages have no objects of their own: they keep its name.
    fn split_into_pieces(&mut self, tag: Tag, index: u32) -> Tag {
        if index == 0 {
            let head = self.place(tag.0);
            let pages = 1 << self.of(tag.0).order;
            self.pieces.insert(tag.0, (head..head + pages).map(Pfn).collect());
            self.set_place(tag.0, PIECES);
        }
        tag
    }

    fn forget_piece(&mut self, object: ObjectId, pfn: Pfn) -> bool {
        if let Some(pieces) = self.pieces.get_mut(&object)
            && let Some(index) = pieces.iter().position(|piece| *piece == pfn)
        {
            pieces.swap_remove(index);
            return true;
        }
        false
    }
}
