//! Finding `key=value` pairs in the text of an event.

/// What follows `key` in `payload`. The key must stand at the start, behind a blank or behind an
/// opening bracket, so that `order=` is not found in `alloc_order=`.
pub(crate) fn after_key<'a>(payload: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let key = key.as_bytes();
    let first = *key.first()?;
    let mut before = b' ';
    // Payloads are short: a plain loop beats searchers that must be set up.
    for (start, &byte) in payload.iter().enumerate() {
        if byte == first && matches!(before, b' ' | b'(') && payload[start..].starts_with(key) {
            return Some(&payload[start + key.len()..]);
        }
        before = byte;
    }
    None
}

/// The characters up to the next blank, comma or closing bracket. `(null)` and `(nil)` are one token.
pub(crate) fn token(text: &[u8]) -> &[u8] {
    let bracketed = text.first() == Some(&b'(');
    let ends = |&byte: &u8| matches!(byte, b' ' | b',' | b'\t') || (byte == b')' && !bracketed);
    &text[..text.iter().position(ends).unwrap_or(text.len())]
}

/// The characters up to the word of the next `key=`, for values that may hold blanks.
pub(crate) fn value_with_blanks(text: &[u8]) -> &[u8] {
    let Some(equals) = memchr::memchr(b'=', text) else {
        return text.trim_ascii_end();
    };
    let end = memchr::memrchr(b' ', &text[..equals]).unwrap_or(equals);
    text[..end].trim_ascii_end()
}

/// A number, decimal (possibly negative) or hexadecimal after `0x`, at the start of `text`; negative
/// ones as two's complement.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if let Some(digits) = text.strip_prefix(b"0x") {
        return hex(digits);
    }
    if let Some(digits) = text.strip_prefix(b"-") {
        return decimal(digits).map(|(value, _)| value.wrapping_neg());
    }
    decimal(text).map(|(value, _)| value)
}

/// A hexadecimal number without prefix at the start of `text`; `None` without digits or beyond 64 bits.
pub(crate) fn hex(text: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    let mut digits = 0;
    for &byte in text {
        let Some(digit) = (byte as char).to_digit(16) else {
            break;
        };
        digits += 1;
        value = value << 4 | u64::from(digit);
    }
    (1..=16).contains(&digits).then_some(value)
}

/// A decimal number at the start of `text`, and the number of its digits; `None` without digits or
/// beyond 64 bits.
pub(crate) fn decimal(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut digits = 0;
    for &byte in text {
        if !byte.is_ascii_digit() {
            break;
        }
        digits += 1;
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    (digits > 0).then_some((value, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_whole_words() {
        let payload = b"pfn=0x10 alloc_order=3 order=9, mode=async)";
        assert_eq!(after_key(payload, "order=").and_then(number), Some(9));
        assert_eq!(after_key(payload, "alloc_order=").and_then(number), Some(3));
        assert_eq!(after_key(payload, "mode=").map(token), Some(&b"async"[..]));
        assert_eq!(after_key(payload, "nid="), None);
    }

    #[test]
    fn numbers_have_limits() {
        assert_eq!(number(b"-1 "), Some(u64::MAX));
        assert_eq!(number(b"0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(number(b"0x10000000000000000"), None);
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"0x"), None);
        assert_eq!(number(b""), None);
    }
}
