//! `bursts.tsv`: how long bursts of huge-page faults took.

use crate::error::{Error, SourceName};

/// One burst: memory mapped, asked to be huge, and written to, 2 MB unit by unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of the burst.
    pub number: u64,
    /// `CLOCK_MONOTONIC` at its start, in nanoseconds.
    pub begin_ns: u64,
    /// Duration, in nanoseconds.
    pub total_ns: u64,
    /// Units that became huge pages.
    pub huge: u64,
    /// Units that did not.
    pub small: u64,
    /// Nanoseconds that each unit took, in order.
    pub unit_ns: Vec<u64>,
}

/// Parses the file's text: after a header that begins with `#`, a line a burst with tabs between
/// number, start, duration, huge, small, minimum, maximum, and every unit's time.
///
/// # Errors
///
/// When a line is not that.
pub fn parse(path: &SourceName, text: &str) -> Result<Vec<Burst>, Error> {
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let bursts = lines.map(|(number, line)| {
        let bad = || Error::line(path, number, "the line is not a burst's numbers");
        let fields = line.split('\t').map(|field| field.trim().parse());
        let fields: Vec<u64> = fields.collect::<Result<_, _>>().map_err(|_| bad())?;
        // Minimum and maximum follow from the units.
        let [
            number,
            begin_ns,
            total_ns,
            huge,
            small,
            _,
            _,
            ref units @ ..,
        ] = fields[..]
        else {
            return Err(bad());
        };
        Ok(Burst {
            number,
            begin_ns,
            total_ns,
            huge,
            small,
            unit_ns: units.to_vec(),
        })
    });
    bursts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_line_is_a_burst() {
        let path: SourceName = Path::new("bursts.tsv").into();
        let bursts = parse(&path, "#burst\tt\n3\t10\t20\t1\t1\t5\t15\t5\t15\n").unwrap();
        assert_eq!(
            (bursts[0].number, bursts[0].huge, &*bursts[0].unit_ns),
            (3, 1, &[5, 15][..])
        );
        assert_eq!(
            parse(&path, "#\n1\t2").unwrap_err().to_string(),
            "bursts.tsv:2: the line is not a burst's numbers"
        );
    }
}
