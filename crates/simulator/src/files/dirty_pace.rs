//! How fast may writers dirty pages? As fast as the disk is seen to write them, less the nearer they come to the limit
//! (`balance_dirty_pages` since 3.2; own knowledge).

use mm::Nanos;
use std::cell::Cell;

const SECOND: u64 = 1_000_000_000;
/// What a disk is thought to do before it has done anything: 100 MB/s.
const INITIAL_BYTES: u64 = 100 << 20;
/// The longest that a writer is held back at once.
pub(crate) const MAX_PAUSE: Nanos = SECOND / 5;
/// Shortest time between two looks at what the disk has written.
const LOOK: Nanos = SECOND / 5;
/// What was seen counts for as much as a look that took so long: three seconds, rounded up to a power of two of ticks (HZ of 250).
const MEMORY: Nanos = 1024 * SECOND / 250;
/// One, in the arithmetic of positions.
const ONE: i64 = 1 << 10;

/// Dirty pages and pages under writeback, and how many there may be.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub used: u64,
    /// So many are left alone.
    pub free_run: u64,
    pub limit: u64,
}

impl Room {
    /// The share of the disk's speed that writers get: all of it half way between the marks, twice as much at the first and nothing at the
    /// second; a curve of the third degree, flat in the middle.
    fn share(self) -> i64 {
        let middle = (self.free_run + self.limit) / 2;
        let half = (self.limit - middle).max(1) as i64;
        let off = ((middle as i64 - self.used as i64) * ONE / half).clamp(-ONE, ONE);
        ONE + off * off / ONE * off / ONE
    }
}

/// The disk's speed as it was seen, and the time until which writers together have had their share of it.
pub(crate) struct DirtyPace {
    /// Pages a second.
    speed: Cell<u64>,
    /// The last look: when, and how much had been written by then.
    seen: Cell<(Nanos, u64)>,
    paid_until: Cell<Nanos>,
}

impl DirtyPace {
    pub fn new(page: u64) -> DirtyPace {
        DirtyPace { speed: Cell::new(INITIAL_BYTES / page), seen: Cell::default(), paid_until: Cell::default() }
    }

    /// How long a writer that has dirtied so many pages is held back; `None`: there is no room for more. `written`: pages of files so far.
    pub fn pause(&self, now: Nanos, written: u64, pages: u64, room: Room) -> Option<Nanos> {
        self.look(now, written);
        let rate = self.speed.get() * room.share() as u64 / ONE as u64;
        if rate == 0 {
            return None;
        }
        // What would take longer than the longest pause is forgiven.
        let until = (self.paid_until.get().max(now) + pages * SECOND / rate).min(now + MAX_PAUSE);
        self.paid_until.set(until);
        Some(until - now)
    }

    fn look(&self, now: Nanos, written: u64) {
        let (since, before) = self.seen.get();
        let elapsed = now - since;
        if elapsed < LOOK {
            return;
        }
        self.seen.set((now, written));
        // A disk that had nothing to write says nothing about its speed.
        if elapsed < SECOND {
            let seen = (written - before) * SECOND / elapsed;
            let speed = (seen * elapsed + self.speed.get() * (MEMORY - elapsed)) / MEMORY;
            self.speed.set(speed.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { used: 0, free_run: 1_000, limit: 3_000 };

    fn share(used: u64) -> i64 {
        Room { used, ..ROOM }.share()
    }

    #[test]
    fn writers_get_less_the_nearer_the_limit_is() {
        assert_eq!([1_000, 2_000, 3_000, 4_000].map(share), [2 * ONE, ONE, 0, 0]);
        assert_eq!(share(2_500), ONE - ONE / 8, "flat in the middle");
    }

    #[test]
    fn the_speed_is_what_the_disk_was_seen_to_write() {
        let pace = DirtyPace::new(4_096);
        let middle = Room { used: 2_000, ..ROOM };
        let at_first = pace.pause(0, 0, 256, middle);
        assert_eq!(at_first, Some(SECOND / 100), "256 pages of 25,600 a second");
        for look in 1..200 {
            pace.pause(look * LOOK, look * 200, 0, middle);
        }
        assert_eq!(pace.speed.get(), 1_000);
        assert_eq!(pace.pause(200 * LOOK, 40_000, 0, Room { used: 3_000, ..ROOM }), None);
    }

    #[test]
    fn writers_share_the_speed() {
        let pace = DirtyPace::new(4_096);
        let middle = Room { used: 2_000, ..ROOM };
        let pauses = [0, 1].map(|_| pace.pause(0, 0, 256, middle));
        assert_eq!(pauses, [Some(SECOND / 100), Some(SECOND / 50)]);
    }

    /// A fifth of a second counts for as much as it is of 4.096: 5,120 pages a second where 25,600 were expected.
    #[test]
    fn a_look_counts_for_its_time() {
        let pace = DirtyPace::new(4_096);
        pace.pause(LOOK, 1_024, 0, Room { used: 2_000, ..ROOM });
        assert_eq!(pace.speed.get(), 24_600);
    }
}
