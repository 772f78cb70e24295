//! What is wrong with a TOML file that a person wrote: one sentence with the line, and the name that was probably meant.

use pagealloc::policy::closest;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}{}", did_you_mean(suggestion.as_deref()))]
pub struct TomlError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Reads a file's text.
///
/// # Errors
/// [`TomlError`]; where a name is unknown, with the closest of those that could stand there.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| explain(text, &error))
}

/// The line of a place in the text, from 1.
pub(crate) fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|&&byte| byte == b'\n').count() + 1
}

fn explain(text: &str, error: &toml::de::Error) -> TomlError {
    let line = error.span().map_or(1, |span| line_of(text, &span));
    let message = error.message();
    // What serde says of a name; other sentences are whole.
    let of_a_name = ["unknown field `", "unknown variant `"].iter().any(|begins| message.starts_with(begins));
    // "unknown field `a`, expected one of `b`, `c`": every second piece between the ticks is a name.
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((unknown, known)) if of_a_name => {
            // serde calls a value that can't stand there a variant.
            let what = message.split(", expected").next().unwrap_or(message).replacen("variant", "value", 1);
            match closest(unknown, known.iter().copied()) {
                Some(name) => TomlError { line, what, suggestion: Some(name.to_owned()) },
                None if known.is_empty() => TomlError { line, what, suggestion: None },
                None => TomlError { line, what: format!("{what}; there are: {}", known.join(", ")), suggestion: None },
            }
        }
        _ => TomlError { line, what: message.to_owned(), suggestion: None },
    }
}
