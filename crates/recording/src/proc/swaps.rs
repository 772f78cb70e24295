//! `/proc/swaps`: how much swap a machine has.

/// Pages of all swap areas, each with the one that describes it, as the kernel counts clusters (`si->max`). `None` of what is no
/// `/proc/swaps`.
pub(crate) fn pages(swaps: &str, page_kib: u64) -> Option<u64> {
    let mut lines = swaps.lines();
    lines.next().filter(|heading| heading.starts_with("Filename"))?;
    let areas = lines.filter(|line| !line.trim().is_empty());
    // Columns from the end: names of files may have blanks.
    let size = |area: &str| area.split_ascii_whitespace().rev().nth(2)?.parse::<u64>().ok();
    areas
        .map(|area| Some(size(area)?.checked_div(page_kib)? + 1))
        .try_fold(0, |sum: u64, pages| sum.checked_add(pages?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    #[test]
    fn areas_are_summed_and_none_is_known() {
        let of = |areas: &str| pages(&format!("{HEADING}{areas}"), 4);
        assert_eq!(of(""), Some(0));
        assert_eq!(of("/dev/vdb                                partition\t1048572\t\t2348\t\t-2\n"), Some(262_144));
        assert_eq!(of("/dev/a partition 1020 0 -2\n/a file file 8188\t0 -3\n\n"), Some(256 + 2048));
        assert_eq!(of("/dev/a partition many 0 -2\n"), None);
        assert_eq!(pages("cat: /proc/swaps: No such file or directory\n", 4), None);
    }
}
