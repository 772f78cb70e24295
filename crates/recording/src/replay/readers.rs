//! Who uses page cache, and when? Classic lists hear of each use as it happens (`mark_page_accessed`): a page that is used twice while it is
//! inactive is activated there and then. A trace has no uses; how many pages they activated the recording tells
//! ([`PageLog::activated_by_use`]), and which pages were used again follows from how long they stayed ([`ONCE`](crate::pagelog::ONCE)). Those
//! are used in the order in which they came, and round again. Generations hear of uses when they look, from [`super::uses`].

use super::place::ReplayWorld;
use super::ticks::AtTicks;
use super::uses;
use crate::pagelog::PageLog;
use mm::{Env, Mm, Nanos, PageFlags};

/// Time between two looks at what was used.
const LOOK_NS: Nanos = 10_000_000;
/// Pages that are looked at for each that is to be activated: others are active already.
const TRIES: u64 = 4;

/// Uses of page cache on classic lists.
pub(super) struct Readers<'a> {
    next_look: Nanos,
    pace: Pace<'a>,
}

/// How many uses are due.
enum Pace<'a> {
    /// As many as activate what was activated by then, less what had been at the first look; and how many that is so far.
    Recorded { level: AtTicks<'a>, first: Option<u64>, done: u64 },
    /// Each page once in this time; and how much of a use was left over, as time.
    Each { interval: Nanos, rest: u128 },
    /// None: generations.
    Unheard,
}

impl<'a> Readers<'a> {
    /// `classic`: the replay's lists are.
    pub fn new(log: &'a PageLog, classic: bool) -> Readers<'a> {
        let pace = match (classic, log.activated_by_use.as_slice()) {
            (false, _) => Pace::Unheard,
            (true, []) => Pace::Each { interval: uses::return_time(log), rest: 0 },
            (true, ticks) => Pace::Recorded { level: AtTicks(ticks), first: None, done: 0 },
        };
        Readers { next_look: 0, pace }
    }

    /// Uses what is due by now.
    #[inline(always)]
    pub fn keep_up(&mut self, mm: &Mm<ReplayWorld>) {
        if self.next_look <= mm.env.now() {
            self.use_pages(mm);
        }
    }

    #[inline(never)]
    fn use_pages(&mut self, mm: &Mm<ReplayWorld>) {
        let now = mm.env.now();
        self.next_look = now + LOOK_NS;
        match &mut self.pace {
            Pace::Unheard => self.next_look = Nanos::MAX,
            Pace::Each { interval, rest } => {
                let time = u128::from(mm.state.borrow().owner.used_again.len()) * u128::from(LOOK_NS) + *rest;
                *rest = time % u128::from(*interval);
                let uses = (time / u128::from(*interval)) as u64;
                activate(mm, uses, uses);
            }
            Pace::Recorded { level, first, done } => {
                let Some(level) = level.at(now) else { return };
                let due = level.saturating_sub(*first.get_or_insert(level)).saturating_sub(*done);
                // Once each page has had its turn more tries find nothing, however many the recording asks for.
                let turns = mm.state.borrow().owner.used_again.len();
                *done += activate(mm, due, due.min(turns).saturating_mul(TRIES));
            }
        }
    }
}

/// Has pages used until so many base pages are activated, `tries` at most; how many were.
fn activate(mm: &Mm<ReplayWorld>, due: u64, tries: u64) -> u64 {
    let now = mm.env.now();
    let mut state = mm.state.borrow_mut();
    let mut activated = 0;
    for _ in 0..tries {
        if activated >= due {
            break;
        }
        let Some(pfn) = state.owner.next_used(now) else { break };
        if !state.pages.flags(pfn).contains(PageFlags::ACTIVE) {
            // Its first use, when it came or since, set the flag.
            state.pages.add_flags(pfn, PageFlags::REFERENCED);
            state.mark_accessed(pfn);
            activated += 1 << state.alloc.frames.order(pfn);
        }
    }
    activated
}
