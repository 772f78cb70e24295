//! What was something at a time between two of the recording's ticks?

use mm::Nanos;

/// A figure at each tick, by time; ticks that have passed are dropped.
pub(super) struct AtTicks<'a>(pub &'a [(Nanos, u64)]);

impl AtTicks<'_> {
    /// The figure at a time, no earlier than the last one asked about: between two ticks as if it had changed evenly.
    pub fn at(&mut self, now: Nanos) -> Option<u64> {
        while self.0.get(1).is_some_and(|next| next.0 <= now) {
            self.0 = &self.0[1..];
        }
        let &(from, before) = self.0.first()?;
        let Some(&(to, after)) = self.0.get(1).filter(|_| now > from) else { return Some(before) };
        let change = (i128::from(after) - i128::from(before)) * i128::from(now - from) / i128::from(to - from);
        Some((i128::from(before) + change) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_changes_evenly_between_ticks() {
        let mut figure = AtTicks(&[(100, 40), (200, 20), (300, 80)]);
        let levels = [0, 100, 150, 200, 275, 300, 1000].map(|now| figure.at(now).expect("there are ticks"));
        assert_eq!(levels, [40, 40, 30, 20, 65, 80, 80]);
    }

    #[test]
    fn without_ticks_nothing_is_known() {
        assert_eq!(AtTicks(&[]).at(7), None);
    }
}
