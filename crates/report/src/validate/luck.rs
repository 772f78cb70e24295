//! Whether a miss can be luck. A trace leaves open what the seeds draw, and the recorded kernel drew once: were it one more
//! seed of a model without error, some of its figures would be outside their bars all the same.

use crate::bars::BarSet;
use crate::over_runs::{ENOUGH, middle};
use crate::rows::{Row, Rows};

/// A row in the seeds of the model.
pub(super) struct OverSeeds<'a> {
    /// Its name.
    pub name: &'a str,
    /// All rows of each seed.
    pub seeds: &'a [Rows],
    /// Its figure in each seed.
    pub values: &'a [u64],
}

impl OverSeeds<'_> {
    /// Whether the seeds are enough to speak of luck.
    pub fn are_enough(&self) -> bool {
        self.values.len() >= ENOUGH
    }

    /// Share of the seeds that would be within the bar in the kernel's place: their own figure and the bar that it has are
    /// the kernel's, the median of all others is the model's. Seeds whose figure has no bar (too small a cell) don't count;
    /// nothing if none counts, or if they are too few.
    pub fn luck(&self, bars: &BarSet) -> Option<f64> {
        if !self.are_enough() {
            return None;
        }
        let mut sorted = self.values.to_vec();
        sorted.sort_unstable();
        let as_kernel = |(rows, &value): (&Rows, &u64)| {
            let bar = bars.allowed(&Row { name: self.name.to_owned(), value }, rows)?;
            Some(value.abs_diff(median_without(&sorted, value)?) as f64 <= bar)
        };
        let judged: Vec<bool> = self.seeds.iter().zip(self.values).filter_map(as_kernel).collect();
        let within = judged.iter().filter(|within| **within).count();
        (!judged.is_empty()).then(|| within as f64 / judged.len() as f64)
    }

    /// Share of the seeds whose figure is below the kernel's; those equal count half. 0: the model is higher with every seed.
    pub fn rank(&self, kernel: u64) -> f64 {
        let below = self.values.iter().filter(|value| **value < kernel).count();
        let equal = self.values.iter().filter(|value| **value == kernel).count();
        (below as f64 + equal as f64 / 2.0) / self.values.len() as f64
    }
}

/// Median of sorted values without one of them.
fn median_without(sorted: &[u64], value: u64) -> Option<u64> {
    let mut others = sorted.to_vec();
    others.remove(sorted.binary_search(&value).ok()?);
    middle(&others).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::MIRROR_3;

    /// Seeds that know a few rows.
    fn seeds(figures: &[&[(&str, u64)]]) -> Vec<Rows> {
        let rows = |figures: &&[(&str, u64)]| {
            Rows::read(figures.iter().map(|&(name, value)| Row { name: name.into(), value }).collect())
        };
        figures.iter().map(rows).collect()
    }

    fn luck(name: &str, seeds: &[Rows]) -> Option<f64> {
        let values = Rows::values(seeds, name).expect("a row of theirs");
        OverSeeds { name, seeds, values: &values }.luck(&MIRROR_3)
    }

    fn luck_of_faults(values: &[u64]) -> Option<f64> {
        let seeds: Vec<Rows> = values.iter().flat_map(|&value| seeds(&[&[("thp_fault_alloc", value)]])).collect();
        luck("thp_fault_alloc", &seeds)
    }

    fn rank(values: &[u64], kernel: u64) -> f64 {
        OverSeeds { name: "any", seeds: &[], values }.rank(kernel)
    }

    #[test]
    fn each_seed_stands_in_for_the_kernel() {
        // Medians of the other four, the lower of the middle two: 30, 30, 20, 20, 20. Bars 10, the last one 20.
        assert_eq!(luck_of_faults(&[10, 20, 30, 40, 200]), Some(0.4));
        assert_eq!(luck_of_faults(&[200, 40, 10, 30, 20]), Some(0.4), "in whatever order");
        assert_eq!(luck_of_faults(&[5, 5, 5, 5]), Some(1.0));
        // Each is 200 from the median of the others.
        assert_eq!(luck_of_faults(&[100, 100, 300, 300]), Some(0.0));
    }

    #[test]
    fn the_bar_is_that_of_the_seed_in_the_kernels_place() {
        // Medians of the others 320, 320, 300, 300. 331 is 31 off, more than a tenth of that median, less than its own.
        assert_eq!(luck_of_faults(&[100, 300, 320, 331]), Some(0.75));
        // 334 is 34 off, and may be 33.4.
        assert_eq!(luck_of_faults(&[100, 300, 320, 334]), Some(0.5));
    }

    #[test]
    fn a_seed_whose_cell_is_too_small_does_not_count() {
        let cell = "extfrag.movable_from_unmovable";
        let of = |figures: [(u64, u64); 4]| {
            let figures = figures.map(|(total, count)| [("extfrag_total", total), (cell, count)]);
            luck(cell, &seeds(&figures.each_ref().map(|figures| &figures[..])))
        };
        // A twentieth of 1000 is no bar yet: the last two count, 51 beside 50 and 100 beside 50 with a floor of 30.
        assert_eq!(of([(1000, 40), (1000, 50), (1000, 51), (1000, 100)]), Some(0.5));
        // 10 is more than a twentieth of its own total, and 40 from the others' median. 60 is 20 from that of the others.
        assert_eq!(of([(1000, 40), (1000, 50), (1000, 60), (100, 10)]), Some(0.5));
        assert_eq!(of([(1000, 40), (1000, 50), (1000, 50), (1000, 1)]), None);
    }

    #[test]
    fn too_few_seeds_have_no_luck() {
        assert_eq!(luck_of_faults(&[5, 5, 5]), None);
        assert_eq!(luck_of_faults(&[5]), None);
    }

    #[test]
    fn a_rank_counts_ties_half() {
        assert_eq!(rank(&[4, 2, 1, 2, 3], 2), 0.4);
        assert_eq!([0, 1, 4, 5].map(|kernel| rank(&[4, 2, 1, 2], kernel)), [0.0, 0.125, 0.875, 1.0]);
        assert_eq!([6, 7, 8].map(|kernel| rank(&[7], kernel)), [0.0, 0.5, 1.0]);
        assert_eq!(rank(&[0, 0, 0], 0), 0.5);
    }
}
