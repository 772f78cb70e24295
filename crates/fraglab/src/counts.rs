//! Whole numbers on the command line: how many, at least one, and which one, from 0 on.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// Reads a count whose type holds no 0.
pub fn count<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    whole(text, 1)
}

/// Reads a number whose type holds a 0.
pub fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    whole(text, 0)
}

fn whole<T: FromStr<Err = ParseIntError>>(text: &str, least: u8) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "that is too large".to_owned(),
        _ => format!("a whole number from {least} on is needed"),
    })
}

#[cfg(test)]
mod tests {
    use super::{count, number};
    use std::num::NonZero;

    #[test]
    fn numbers_begin_at_zero() {
        assert_eq!((number::<u64>("0"), number::<u32>("4294967296")), (Ok(0), Err("that is too large".to_owned())));
        assert_eq!(number::<u64>("-1"), Err("a whole number from 0 on is needed".to_owned()));
    }

    #[test]
    fn counts_are_whole_and_begin_at_one() {
        let of = |text: &str| count::<NonZero<u8>>(text).map(NonZero::get);
        assert_eq!((of("1"), of("255")), (Ok(1), Ok(255)));
        assert_eq!(of("256"), Err("that is too large".to_owned()));
        for text in ["0", "-1", "1.5", ""] {
            assert_eq!(of(text), Err("a whole number from 1 on is needed".to_owned()), "{text}");
        }
    }
}
