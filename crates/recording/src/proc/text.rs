//! Lines of a /proc text with their numbers, for error messages.

use crate::error::{Error, SourceName};

/// A text of a known file, or a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a> {
    path: &'a SourceName,
    text: &'a str,
    /// Number of the first line of `text`, from 1.
    first: u64,
}

impl<'a> Lines<'a> {
    /// All of a file, or the part of it that begins at line `first`.
    pub(crate) fn new(path: &'a SourceName, text: &'a str, first: u64) -> Self {
        Self { path, text, first }
    }

    /// Every line with its number.
    pub(crate) fn numbered(self) -> impl Iterator<Item = (u64, &'a str)> {
        (self.first..).zip(self.text.lines())
    }

    /// An error about a line.
    pub(crate) fn error(self, line: u64, problem: impl Into<Box<str>>) -> Error {
        Error::line(self.path, line, problem)
    }

    /// An error about the whole text.
    pub(crate) fn lacks(self, what: &str) -> Error {
        self.error(self.first, format!("the text has no {what}"))
    }
}

/// `Node 0, zone   Normal <rest>`: node, zone's name and the rest.
pub(crate) fn node_and_zone(line: &str) -> Option<(u32, &str, &str)> {
    let (node, rest) = line.strip_prefix("Node")?.split_once(',')?;
    let rest = rest.trim_start().strip_prefix("zone")?.trim_start();
    let end = rest.find([' ', ',']).unwrap_or(rest.len());
    let (zone, rest) = rest.split_at(end);
    (!zone.is_empty()).then_some((node.trim().parse().ok()?, zone, rest))
}

/// Numbers between blanks; an error holds the first word that is none.
pub(crate) fn numbers(text: &str) -> Result<Vec<u64>, &str> {
    text.split_ascii_whitespace()
        .map(|word| word.parse().map_err(|_| word))
        .collect()
}
