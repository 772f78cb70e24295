//! What did the eviction of a page leave, and who finds it?

use crate::pagelog::Class;
use lab::Chance;
use mm::reclaim::{Shadow, cache_refaults};
use pagealloc::Gfp;
use pagealloc::policy::ReclaimRules;

/// Leads from an object to its shadow entry, if there is one: one more than its index, or 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ShadowLink(u32);

impl ShadowLink {
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// Shadow entries of all objects.
pub(super) struct Shadows {
    /// See [`PageLog::shadows_kept`](crate::pagelog::PageLog::shadows_kept).
    kept: u64,
    rules: ReclaimRules,
    entries: Vec<Shadow>,
    vacant: Vec<u32>,
}

impl Shadows {
    pub fn new(kept: u64, rules: ReclaimRules) -> Shadows {
        Shadows { kept, rules, entries: Vec::new(), vacant: Vec::new() }
    }

    /// The entry, which stays.
    pub fn get(&self, link: ShadowLink) -> Option<Shadow> {
        Some(self.entries[link.0.checked_sub(1)? as usize])
    }

    /// The entry, which goes.
    pub fn take(&mut self, link: &mut ShadowLink) -> Option<Shadow> {
        let at = std::mem::take(link).0.checked_sub(1)?;
        self.vacant.push(at);
        Some(self.entries[at as usize])
    }

    /// A new entry in place of the one that was there.
    pub fn put(&mut self, link: &mut ShadowLink, shadow: Shadow) {
        self.take(link);
        let at = self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(shadow);
            self.entries.len() as u32 - 1
        });
        self.entries[at as usize] = shadow;
        *link = ShadowLink(at + 1);
    }

    /// Whether a page that comes back, asked for with `gfp`, finds its entry: page cache does if it comes to be read and the
    /// entry was not lost meanwhile.
    pub fn found_by(&self, class: Class, gfp: Gfp, chance: &Chance) -> bool {
        class != Class::File || cache_refaults(&self.rules, gfp) && chance.one_in_65536(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadows(kept: u64) -> Shadows {
        Shadows::new(kept, pagealloc::policy::preset("linux-6.18").unwrap().reclaim)
    }

    #[test]
    fn entries_are_taken_once_and_their_places_used_again() {
        let shadow = |age| Shadow { age, ..Shadow::default() };
        let mut shadows = shadows(0);
        let [mut first, mut second] = [ShadowLink::default(); 2];
        assert_eq!((shadows.get(first), shadows.take(&mut first)), (None, None));
        shadows.put(&mut first, shadow(1));
        shadows.put(&mut second, shadow(2));
        shadows.put(&mut first, shadow(3));
        assert_eq!((shadows.get(first), shadows.take(&mut first)), (Some(shadow(3)), Some(shadow(3))));
        assert_eq!((first.is_some(), shadows.take(&mut first)), (false, None));
        shadows.put(&mut first, shadow(4));
        assert_eq!((shadows.get(first), shadows.get(second)), (Some(shadow(4)), Some(shadow(2))));
        assert_eq!(shadows.entries.len(), 2);
    }

    #[test]
    fn reads_find_as_many_entries_as_were_kept_and_writes_none() {
        let (chance, read, write) = (Chance::new(1), Gfp::HIGHUSER_MOVABLE, Gfp::HIGHUSER_MOVABLE | Gfp::WRITE);
        let found = |kept, class, gfp| (0..1_000).filter(|_| shadows(kept).found_by(class, gfp, &chance)).count();
        assert_eq!([0, 1 << 16].map(|kept| found(kept, Class::File, read)), [0, 1_000]);
        assert!((400..600).contains(&found(1 << 15, Class::File, read)));
        assert_eq!(found(1 << 16, Class::File, write), 0);
        assert_eq!(found(0, Class::Anon, read), 1_000, "swap keeps them all");
    }
}
