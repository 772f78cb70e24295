//! What did a real machine do?

pub mod outcome;
pub mod replay;
