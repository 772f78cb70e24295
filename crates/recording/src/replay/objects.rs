//! The owner of all pages in a replay: where each object of the log is, and how hot.
//!
//! A trace has no memory accesses. What it has is the time at which the recorded kernel's reclaim took a page: from
//! then on (and shortly before) the page was cold. Until then it was in use, but for page cache that nothing shows to have been
//! used after it came ([`ONCE`]): how often, [`super::uses`] says; and the first look at an anonymous page finds the access of
//! its own fault. If the model takes a page in use all the same, it is read back when it is used next.

use super::page_tables::PageTables;
use super::shadows::{ShadowLink, Shadows};
use super::shrinkers::{self, Shrinkers};
use super::used_again::UsedAgain;
use super::uses::Reuse;
use super::waiting::Waiting;
use crate::pagelog::{Class, LEAVE_SHIFT, NEVER, ONCE, Object, ObjectId, PageLog, UNIT};
use lab::Chance;
use mm::reclaim::Shadow;
use mm::{Nanos, Owner, References, ShrinkControl, Tag};
use pagealloc::policy::{Policy, SwapsHugePages};
use pagealloc::{NodeId, Pfn};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The object is in no frame: not allocated yet, or reclaimed.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Its owner has given it back.
pub(super) const GONE: u32 = u32::MAX - 1;
/// It was asked for and its task waits.
pub(super) const PENDING: u32 = u32::MAX - 2;
/// The same, but given back meanwhile: to be freed as soon as it is served.
pub(super) const DOOMED: u32 = u32::MAX - 3;
/// It is in several smaller pages, because no page of its order could be had.
pub(super) const PIECES: u32 = u32::MAX - 4;

/// A page that the kernel's reclaim took within this time from now counts as cold already: about the time that a page
/// spends on the inactive list of the recorded machines before it reaches the tail. Page cache was cold for longer where what left with it had
/// come earlier.
const COLD_AHEAD_NS: Nanos = 3_000_000_000;
/// A page that generations look at for the first time is taken to have come so long ago: about as long as page cache has to the tail.
const TO_THE_TAIL: Nanos = 5_000_000_000;
/// As many uses as generations count. A page that has had them all is spared, whatever its tier (6.14 and later). A page that a journal holds has:
/// each transaction that changes it is one.
const ALL_USES: u8 = 5;

const COLD_AHEAD: u32 = (COLD_AHEAD_NS >> LEAVE_SHIFT) as u32;

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

    /// Whether the lock that leads from pages to page tables is taken. Who holds it does so for longer than a batch takes:
    /// all pages that are looked at at one time share the answer.
    fn rmap_contended(&mut self, now: Nanos) -> bool {
        if self.log.speeds.rmap_contention > 0 && self.rmap.0 != now {
            self.rmap = (now, self.chance.one_in_65536(self.log.speeds.rmap_contention));
        }
        self.rmap.1
    }

    fn is_cold(&self, object: ObjectId, now: u32) -> bool {
        let of = self.of(object);
        of.flags & ONCE != 0 || of.leave != NEVER && self.is_soon_gone(of, now)
    }

    /// Whether the last use is over of an object that the kernel's reclaim takes: page cache was not used after what left with it had come.
    fn is_soon_gone(&self, of: Object, now: u32) -> bool {
        now + COLD_AHEAD >= of.leave || of.class == Class::File && now >= self.log.reach.at(of.leave)
    }

    /// Whether the kernel's reclaim has taken the object by now, so that nobody uses it until the log asks for it again.
    pub fn is_gone(&self, object: ObjectId, now: Nanos) -> bool {
        self.of(object).leave <= coarse(now)
    }

    /// A task waits for memory.
    pub fn waits(&mut self, task: u16, now: Nanos) {
        self.waiting.begins(task, now);
    }

    /// It has what it waited for, and comes to what was read back for it meanwhile.
    pub fn goes_on(&mut self, task: u16, now: Nanos) {
        let missed = self.waiting.ends(task);
        self.readback.extend(missed.map(|object| (now, object)));
    }

    /// Whether the use of an object, which would be read back now, has to wait with its user.
    pub fn use_waits(&mut self, object: ObjectId) -> bool {
        let Some(user) = self.user(object).filter(|user| self.waiting.since(*user).is_some()) else { return false };
        self.waiting.misses(user, object);
        true
    }

    /// The task that uses an anonymous object. Whose the objects from before the recording are is not known.
    fn user(&self, object: ObjectId) -> Option<u16> {
        let known = object as usize >= self.log.start.used.len() && self.of(object).class == Class::Anon;
        known.then(|| self.log.askers[object as usize])
    }

    /// Looks at the use of an anonymous page since the last look.
    fn look(&mut self, tag: Tag, now: Nanos) -> References {
        let waiting = self.user(tag.0).and_then(|user| self.waiting.since(user));
        let (until, now) = (coarse(waiting.unwrap_or(now)), coarse(now));
        let cold = self.is_cold(tag.0, now);
        let slot = &mut self.slots[tag.0 as usize];
        let looked = std::mem::replace(&mut slot.looked, now);
        // The fault that brought it has set the accessed bit of its only mapping.
        let used = looked == 0 || !cold && self.reuse.used_between(tag.0, Class::Anon, looked, until);
        if used { References::Ptes(1) } else { References::None }
    }

    /// A page of the page cache that is used now: what a journal holds, each transaction; all else until it is cold.
    pub fn next_used(&mut self, now: Nanos) -> Option<Pfn> {
        let mut used_again = std::mem::take(&mut self.used_again);
        let in_use = |object| {
            let held = self.of(object).class == Class::Metadata;
            self.frame(object).is_some() && (held || !self.is_cold(object, coarse(now)))
        };
        let object = used_again.next(in_use);
        self.used_again = used_again;
        self.frame(object?)
    }

    /// How often a page of the page cache was used since generations looked last.
    fn uses_through_files(&mut self, object: ObjectId, now: Nanos) -> u8 {
        let now = coarse(now);
        if self.of(object).class == Class::Metadata {
            return ALL_USES;
        }
        if self.of(object).class != Class::File || self.is_cold(object, now) {
            return 0;
        }
        let slot = &mut self.slots[object as usize];
        let looked = match std::mem::replace(&mut slot.looked, now) {
            0 => now.saturating_sub(coarse(TO_THE_TAIL)),
            looked => looked,
        };
        self.reuse.uses_between(object, Class::File, looked, now).min(ALL_USES.into()) as u8
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

fn coarse(now: Nanos) -> u32 {
    (now >> LEAVE_SHIFT) as u32
}

impl Owner for Objects {
    #[inline(always)]
    fn load_ahead(&self, tag: Tag) -> u32 {
        let slot = &self.slots[tag.0 as usize];
        slot.place ^ u32::from(slot.of.flags)
    }

    fn referenced(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> References {
        // Page cache that is read and written has no page tables to be led to.
        if self.of(tag.0).class != Class::Anon {
            return References::None;
        }
        if self.rmap_contended(now) { References::Contended } else { self.look(tag, now) }
    }

    fn uses_meanwhile(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> u8 {
        self.uses_through_files(tag.0, now)
    }

    fn walked(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> bool {
        self.of(tag.0).class == Class::Anon && self.look(tag, now) != References::None
    }

    fn page_table(&mut self, tag: Tag) -> u32 {
        self.page_tables.table_of(tag.0)
    }

    fn address_space_since(&self, tag: Tag) -> Nanos {
        self.page_tables.since(tag.0, self.log.began[usize::from(self.log.askers[tag.0 as usize])])
    }

    fn swapped_entries(&self, table: u32) -> u32 {
        self.page_tables.swapped(table)
    }

    fn neighbours(&mut self, tag: Tag, near: &mut Vec<Pfn>) -> u32 {
        let mut swapped = 0;
        for object in self.page_tables.beside(tag.0, self.log.askers[tag.0 as usize]) {
            match self.frame(object) {
                Some(pfn) => near.push(pfn),
                None => swapped += u32::from(self.slots[object as usize].shadow.is_some()),
            }
        }
        swapped
    }

    fn reclaimed(&mut self, tag: Tag, pfn: Pfn, now: Nanos, shadow: Shadow) {
        let object = tag.0;
        let of = self.of(object);
        if of.class == Class::Anon {
            self.swapped += 1;
            self.page_tables.swapped_out(object);
        }
        if self.place(object) == PIECES && self.forget_piece(object, pfn) {
            self.piece_shadows.entry(object).or_default().push(shadow);
            return;
        }
        self.set_place(object, NOWHERE);
        self.shadows.put(&mut self.slots[object as usize].shadow, shadow);
        if !self.is_cold(object, coarse(now)) {
            self.taken_while_hot += 1;
            self.readback.push((self.reuse.next_use(object, of.class, now), object));
        }
    }

    fn migrated(&mut self, tag: Tag, from: Pfn, to: Pfn) {
        let object = tag.0;
        if self.place(object) == PIECES {
            if let Some(piece) = self.pieces_mut(object).iter_mut().find(|piece| **piece == from) {
                *piece = to;
            }
        } else if self.place(object) == from.0 {
            self.set_place(object, to.0);
        }
    }

    fn busy(&mut self, _: Tag, _: Pfn) -> bool {
        self.chance.one_in_65536(self.log.speeds.busy_pages)
    }

    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag> {
        let of = self.of(head_tag.0);
        if of.flags & UNIT == 0 {
            return Some(self.split_into_pieces(head_tag, index));
        }
        let member = self.log.units[of.link as usize].members + index;
        let head = self.place(head_tag.0);
        if index == 0 {
            self.splits += 1;
        }
        if self.place(member) == GONE {
            self.left_over.push(member);
        }
        // Each new entry has the accessed bit that the one of the whole had.
        let looked = self.slots[head_tag.0 as usize].looked;
        let slot = &mut self.slots[member as usize];
        (slot.place, slot.looked) = (head + index, looked);
        if index == 511 {
            self.set_place(head_tag.0, NOWHERE);
        }
        Some(Tag(member))
    }

    fn shrinkers(&self) -> usize {
        shrinkers::NUMBER
    }

    fn shrinker_needs_fs(&self, shrinker: usize) -> bool {
        shrinkers::needs_fs(shrinker)
    }

    fn shrinker_count(&mut self, shrinker: usize, _: NodeId) -> (u64, u32) {
        (self.shrinkers.count(shrinker), shrinkers::SEEKS)
    }

    fn shrinker_batch(&self, shrinker: usize) -> u64 {
        shrinkers::batch(shrinker)
    }

    fn shrinker_scan(&mut self, shrinker: usize, control: ShrinkControl<'_>) -> u64 {
        let cold = coarse(control.now) + COLD_AHEAD;
        let mut pages = self.shrinkers.scan(shrinker, control.nr);
        while pages > 0
            && let Some(object) = self.shrinkers.empty_page(cold)
        {
            pages = pages.saturating_sub(1 << self.of(object).order);
            control.freed.push(Pfn(self.place(object)));
            self.set_place(object, NOWHERE);
        }
        control.nr
    }

    fn free_swap_pages(&self) -> u64 {
        self.swap_total.saturating_sub(self.swapped)
    }

    fn total_swap_pages(&self) -> u64 {
        self.swap_total
    }

    fn add_to_swap(&mut self, _: Tag, _: Pfn, pages: u32) -> bool {
        (pages == 1 || self.swaps_huge_pages) && self.free_swap_pages() >= u64::from(pages)
    }

    fn oom_kill(&mut self, _: Nanos, _: &mut Vec<Pfn>) -> Option<u32> {
        // Which task the kernel would kill is not in the log: nothing is killed, and the request fails.
        None
    }
}
