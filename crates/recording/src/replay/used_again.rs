//! Whose turn is it, of the page cache that is used again? (see [`super::readers`])

use crate::pagelog::ObjectId;
use std::collections::VecDeque;

/// Page cache in memory that is used again; what has gone meanwhile is found out when its turn comes.
#[derive(Default)]
pub(super) struct UsedAgain {
    turns: VecDeque<ObjectId>,
    /// Whether an object has a turn, by number.
    waits: Vec<bool>,
}

impl UsedAgain {
    /// A page came that is used again.
    pub fn came(&mut self, object: ObjectId) {
        let index = object as usize;
        if self.waits.len() <= index {
            self.waits.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.waits[index], true) {
            self.turns.push_back(object);
        }
    }

    /// The next one to be used of those that are in use still.
    pub fn next(&mut self, in_use: impl Fn(ObjectId) -> bool) -> Option<ObjectId> {
        for _ in 0..self.turns.len() {
            let object = self.turns.pop_front()?;
            if in_use(object) {
                self.turns.push_back(object);
                return Some(object);
            }
            self.waits[object as usize] = false;
        }
        None
    }

    /// How many have a turn.
    pub fn len(&self) -> u64 {
        self.turns.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_used_in_turn_and_forgotten_when_they_are_gone() {
        let mut used = UsedAgain::default();
        (1..=3).chain([1]).for_each(|object| used.came(object));
        let gone = |object| object != 2;
        assert_eq!([(); 4].map(|()| used.next(gone)), [Some(1), Some(3), Some(1), Some(3)]);
        assert_eq!(used.len(), 2);
        assert_eq!(used.next(|_| false), None);
        assert_eq!(used.len(), 0);
        used.came(2);
        assert_eq!(used.next(|_| true), Some(2), "it is back");
    }
}
