//! Patterns of row names.

/// Whether the name matches the pattern, in which `*` stands for any characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => {
            let ends = |tail: &str| (0..=tail.len()).any(|at| tail.is_char_boundary(at) && fits(rest, &tail[at..]));
            name.strip_prefix(start).is_some_and(ends)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        assert!(fits("extfrag.*", "extfrag.movable_from_unmovable"));
        assert!(fits("*_from_unmovable", "extfrag.movable_from_unmovable"));
        assert!(fits("*", "") && fits("a*b*c", "a-b-b-c"));
        assert!(!fits("extfrag.*", "extfrag_total") && !fits("a", "ab") && !fits("a*b", "a"));
    }
}
