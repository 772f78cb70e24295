//! Saying something on stderr.

/// A line on stderr, coloured where that is wanted. Where stderr can't be written to (a full disk, a terminal that is gone) it
/// is lost: the result matters more, and a command that ends because nobody hears its progress helps nobody.
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stderr(), $($line)*);
    }};
}
