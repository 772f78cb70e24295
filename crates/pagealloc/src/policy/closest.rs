//! "Did you mean": the nearest known name to a misspelt one.

/// The candidate nearest to `name` by edit distance, if it is near enough to be a slip (a third of its letters).
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = |candidate: &'a str| {
        // The beginning of a name is that name, however much follows.
        let begins = name.len() >= SHORTEST && candidate.starts_with(name);
        let distance = if begins { 0 } else { edit_distance(name.as_bytes(), candidate.as_bytes()) };
        let length = candidate.len().min(name.len()).max(SHORTEST);
        (distance * SHORTEST <= length).then_some((distance, candidate))
    };
    candidates.filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// One of so many characters may be wrong; and a beginning has as many.
const SHORTEST: usize = 3;

fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: alloc::vec::Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
