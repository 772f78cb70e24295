//! Counts on the command line: how many, at least one.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// Reads a count whose type holds no 0.
pub fn count<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "that is too large".to_owned(),
        _ => "a whole number from 1 on is needed".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::count;
    use std::num::NonZero;

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
