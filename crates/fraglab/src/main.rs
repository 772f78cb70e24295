//! The `fraglab` command line.
fn main() {}
