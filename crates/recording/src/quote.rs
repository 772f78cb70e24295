//! What files say, fit for a terminal: a recording may be a stranger's.

use std::borrow::Cow;

/// The most characters of a file's text that an error quotes.
const LONGEST_QUOTE: usize = 60;

/// A text without the characters that a terminal obeys instead of showing them; they are written as in a string of Rust.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let escaped = |c: char| if is_obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect::<String>().into()
}

/// The beginning of a text, printable, with `...` for what is left out.
pub(crate) fn cited(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_QUOTE).map(|(end, _)| end);
    let beginning = printable(&text[..end.unwrap_or(text.len())]);
    if end.is_some() { format!("{beginning}...") } else { beginning.into_owned() }
}

/// Control characters, save the tab that parts the numbers of a setting, and those that turn the direction of writing.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::path::Path;

    #[test]
    fn a_terminal_obeys_nothing_that_a_file_says() {
        assert_eq!(printable("mm_page_alloc 256\t32 ä"), "mm_page_alloc 256\t32 ä");
        assert_eq!(printable("\x1b]0;x\x07 a\nb\u{9b}2J\u{202e}"), "\\u{1b}]0;x\\u{7} a\\nb\\u{9b}2J\\u{202e}");
        let error = Error::line(&Path::new("a\x1b[2J").into(), 2, "`\x1b[31m` is no count");
        assert_eq!(error.to_string(), "a\\u{1b}[2J:2: `\\u{1b}[31m` is no count");
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(cited(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(cited(&"ä".repeat(61)), "ä".repeat(60) + "...");
        let zoneinfo = format!("Node 0, zone Normal\n  pages free {}\n", "9".repeat(1_000_000));
        let error =
            crate::proc::zoneinfo::parse(&Path::new("start.zoneinfo").into(), &zoneinfo).unwrap_err().to_string();
        assert!(error.starts_with("start.zoneinfo:2: `pages free 999") && error.len() < 120, "{error}");
    }
}
