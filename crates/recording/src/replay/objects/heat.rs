//! How hot is an object?
//!
//! A trace has no memory accesses. What it has is the time at which the recorded kernel's reclaim took a page: from
//! then on (and shortly before) the page was cold. Until then it was in use, but for page cache that nothing shows to have been
//! used after it came ([`ONCE`]): how often, [`uses`](super::super::uses) says; and the first look at an anonymous page finds the access of
//! its own fault. If the model takes a page in use all the same, it is read back when it is used next.

use super::Objects;
use crate::pagelog::{Class, LEAVE_SHIFT, NEVER, ONCE, Object, ObjectId};
use mm::{Nanos, References, Tag};
use pagealloc::Pfn;

/// A page that the kernel's reclaim took within this time from now counts as cold already: about the time that a page
/// spends on the inactive list of the recorded machines before it reaches the tail. Page cache was cold for longer where what left with it had
/// come earlier.
const COLD_AHEAD_NS: Nanos = 3_000_000_000;
/// [`COLD_AHEAD_NS`] in units of the log.
pub(super) const COLD_AHEAD: u32 = (COLD_AHEAD_NS >> LEAVE_SHIFT) as u32;
/// A page that generations look at for the first time is taken to have come so long ago: about as long as page cache has to the tail.
const TO_THE_TAIL: Nanos = 5_000_000_000;
/// As many uses as generations count. A page that has had them all is spared, whatever its tier (6.14 and later). A page that a journal holds has:
/// each transaction that changes it is one.
const ALL_USES: u8 = 5;

impl Objects {
    /// Whether nobody uses the object from now on, until the kernel's reclaim takes it.
    pub(super) fn is_cold(&self, object: ObjectId, now: u32) -> bool {
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
    pub(super) fn look(&mut self, tag: Tag, now: Nanos) -> References {
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
    pub(super) fn uses_through_files(&mut self, object: ObjectId, now: Nanos) -> u8 {
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
}

/// A time in units of [`Object::leave`].
pub(super) fn coarse(now: Nanos) -> u32 {
    (now >> LEAVE_SHIFT) as u32
}
