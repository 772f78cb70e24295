//! What a user can choose about a recording.

use super::error::RecordError;
use super::event_set::EventSet;
use std::path::PathBuf;
use std::time::Duration;

/// How to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// Directory of the recording; it must be empty or not exist.
    pub output: PathBuf,
    /// Which events.
    pub events: EventSet,
    /// Bound on the recording's size in bytes, snapshots included.
    pub max_size: Option<u64>,
    /// Ring buffer of each CPU in bytes; `None`: a 64th of memory shared by all CPUs, 1 to 16 MiB each.
    pub buffer_size: Option<u64>,
    /// Whether to add what plain events cannot show, by probes in the kernel: where migrated pages went, and huge-page
    /// faults that fell back.
    pub probes: bool,
    /// Where tracefs is; `None`: where it usually is.
    pub tracefs: Option<PathBuf>,
}

impl RecordOptions {
    /// The defaults, into this directory.
    pub fn new(output: impl Into<PathBuf>) -> Self {
        Self {
            output: output.into(),
            events: EventSet::Standard,
            max_size: None,
            buffer_size: None,
            probes: true,
            tracefs: None,
        }
    }

    /// Ring buffer of each CPU in bytes, for a machine of this size.
    pub(crate) fn buffer_of(&self, memory: u64, cpus: usize) -> u64 {
        const MIB: u64 = 1 << 20;
        self.buffer_size.unwrap_or_else(|| (memory / 64 / cpus.max(1) as u64).clamp(MIB, 16 * MIB))
    }
}

/// Reads a size such as `500M`: bytes, or with K, M, G, T powers of 1024.
///
/// # Errors
/// When the text is no size, is 0, or does not fit into 64 bits.
pub fn parse_size(text: &str) -> Result<u64, RecordError> {
    let wrong = || RecordError::Option {
        text: text.to_owned(),
        what: "size",
        advice: "write bytes, or a number with K, M, G or T, as in 500M",
    };
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|size| *size > 0).ok_or_else(wrong)
}

/// Reads a time such as `90`, `90s`, `5m` or `1h`.
///
/// # Errors
/// When the text is no time, or is 0.
pub fn parse_duration(text: &str) -> Result<Duration, RecordError> {
    let wrong = || RecordError::Option {
        text: text.to_owned(),
        what: "time",
        advice: "write seconds, or a number with s, m or h, as in 5m",
    };
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (
            number,
            match &text[number.len()..] {
                "m" => 60.0,
                "h" => 3600.0,
                _ => 1.0,
            },
        ),
        None => (text, 1.0),
    };
    let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds: f64 = number.parse().ok().filter(|_| digits).ok_or_else(wrong)?;
    Duration::try_from_secs_f64(seconds * unit).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, size) in
            [("1", 1), ("4096B", 4096), ("3k", 3 << 10), ("500M", 500 << 20), ("2GiB", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(parse_size(text).unwrap(), size, "{text}");
        }
        for text in ["", "M", "0", "0G", "1.5G", "-1", "1X", "M1", "99999999999999999999", "20000000T"] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains("is no size; write bytes"), "{error}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("1", 1.0), ("0.5", 0.5), ("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0)] {
            assert_eq!(parse_duration(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        for text in ["", "s", "0", "0m", "-1", "1d", "inf", "nan", "1e3"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn buffers_follow_the_size_of_memory() {
        let options = RecordOptions::new("x");
        let mib = |memory: u64, cpus| options.buffer_of(memory << 20, cpus) >> 20;
        assert_eq!([mib(512, 2), mib(64, 2), mib(65536, 4), mib(1024, 1)], [4, 1, 16, 16]);
        let asked = RecordOptions { buffer_size: Some(3), ..options };
        assert_eq!(asked.buffer_of(1 << 40, 1), 3);
    }
}
