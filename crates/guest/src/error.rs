//! How a boot fails.

use std::io;

/// What could not be done, and why.
#[derive(Debug)]
pub struct GuestError(String);

impl GuestError {
    /// An error in words.
    pub fn new(what: impl Into<String>) -> GuestError {
        GuestError(what.into())
    }
}

impl std::fmt::Display for GuestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GuestError {}

/// Adds what was being done to an error of the system.
pub trait Doing<T> {
    /// Names what failed.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, GuestError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, GuestError> {
        self.map_err(|error| GuestError(format!("{}: {}", what(), error.into())))
    }
}
