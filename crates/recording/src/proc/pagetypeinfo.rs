//! `/proc/pagetypeinfo`: free blocks by migratetype and order, and pageblocks by migratetype
//! (reference section 15.2).

use crate::error::{Error, SourceName};
use crate::proc::text::{Lines, node_and_zone, numbers};

/// A number of free blocks, which the kernel stops counting at 100000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCount {
    /// The number that was printed.
    pub blocks: u64,
    /// Whether there are more (printed with `>`).
    pub at_least: bool,
}

/// Free blocks of one migratetype in one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRow {
    /// Node number.
    pub node: u32,
    /// The zone's name.
    pub zone: Box<str>,
    /// The migratetype's name, for instance `Unmovable`.
    pub migratetype: Box<str>,
    /// Free blocks by order, from order 0.
    pub by_order: Vec<BlockCount>,
}

/// Pageblocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Node number.
    pub node: u32,
    /// The zone's name.
    pub zone: Box<str>,
    /// Pageblocks by migratetype, in the order of [`PageTypeInfo::migratetypes`].
    pub by_type: Vec<u64>,
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTypeInfo {
    /// Order of a pageblock.
    pub pageblock_order: u32,
    /// Pages of a pageblock.
    pub pages_per_block: u64,
    /// Free blocks, a row for every zone and migratetype.
    pub free: Vec<TypeRow>,
    /// Names of the migratetypes in the table of pageblocks.
    pub migratetypes: Vec<Box<str>>,
    /// Pageblocks, a row for every zone.
    pub blocks: Vec<BlockRow>,
}

/// Parses the file's text.
///
/// # Errors
///
/// When a line of a table is not understood, or the table of free blocks is missing. A table of mixed blocks, as kernels with
/// page_owner have it, is ignored.
pub fn parse(path: &SourceName, text: &str) -> Result<PageTypeInfo, Error> {
    parse_lines(Lines::new(path, text, 1))
}

pub(crate) fn parse_lines(lines: Lines<'_>) -> Result<PageTypeInfo, Error> {
    let mut info = PageTypeInfo::default();
    // All tables come anew for each node.
    let mut in_mixed_blocks = false;
    for (number, line) in lines.numbered() {
        let bad = |what: &str| lines.error(number, format!("the line has no {what}"));
        if let Some(rest) = line.strip_prefix("Page block order:") {
            info.pageblock_order = rest.trim().parse().map_err(|_| bad("pageblock order"))?;
        } else if let Some(rest) = line.strip_prefix("Pages per block:") {
            info.pages_per_block = rest.trim().parse().map_err(|_| bad("number of pages"))?;
        } else if line.starts_with("Free pages count") {
            in_mixed_blocks = false;
        } else if let Some(rest) = line.strip_prefix("Number of blocks type") {
            info.migratetypes = rest.split_ascii_whitespace().map(Into::into).collect();
        } else if line.starts_with("Number of mixed blocks") {
            in_mixed_blocks = true;
        } else if line.starts_with("Node") && !in_mixed_blocks {
            let (node, zone, rest) = node_and_zone(line).ok_or_else(|| bad("node and zone"))?;
            if let Some(row) = rest.trim_start_matches([',', ' ']).strip_prefix("type") {
                let row = type_row(node, zone, row).map_err(bad)?;
                info.free.push(row);
            } else {
                let by_type = numbers(rest).map_err(|_| bad("counts of pageblocks"))?;
                if by_type.len() != info.migratetypes.len() {
                    return Err(bad("count for every migratetype"));
                }
                info.blocks.push(BlockRow { node, zone: zone.into(), by_type });
            }
        }
    }
    if info.free.is_empty() {
        return Err(lines.lacks("table of free blocks by migratetype"));
    }
    Ok(info)
}

/// `Unmovable      1      0 >100000 ...`
fn type_row(node: u32, zone: &str, row: &str) -> Result<TypeRow, &'static str> {
    let mut words = row.split_ascii_whitespace();
    let migratetype = words.next().ok_or("migratetype")?.into();
    let mut by_order = Vec::new();
    while let Some(word) = words.next() {
        let at_least = word.starts_with('>');
        // `>` is followed by a padded number, so blanks may part them.
        let digits = match word.trim_start_matches('>') {
            "" => words.next().unwrap_or(""),
            digits => digits,
        };
        let blocks = digits.parse().map_err(|_| "count of free blocks")?;
        by_order.push(BlockCount { blocks, at_least });
    }
    let zone = zone.into();
    Ok(TypeRow { node, zone, migratetype, by_order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "Page block order: 9\nPages per block:  512\n\n\
        Free pages count per migrate type at order       0      1 \n\
        Node    0, zone    DMA32, type    Unmovable     21 >100000 \n\
        Node    0, zone    DMA32, type      Movable      1 > 99999 \n\n\
        Number of blocks type     Unmovable      Movable \n\
        Node 0, zone    DMA32           16          230 \n\n\
        Number of mixed blocks    Unmovable      Movable \nNode 0, zone    DMA32           0          0 \n";

    #[test]
    fn both_tables_are_read() {
        let path: SourceName = Path::new("pagetypeinfo").into();
        let info = parse(&path, TEXT).unwrap();
        assert_eq!((info.pageblock_order, info.pages_per_block), (9, 512));
        assert_eq!(info.free[0].by_order[1], BlockCount { blocks: 100_000, at_least: true });
        assert_eq!(info.free[1].by_order[1], BlockCount { blocks: 99_999, at_least: true });
        assert_eq!(info.blocks.len(), 1);
        assert_eq!(info.blocks[0].by_type, [16, 230]);
    }

    #[test]
    fn each_node_has_tables_of_its_own_and_mixed_blocks_are_none_of_them() {
        let path: SourceName = Path::new("pagetypeinfo").into();
        let second = TEXT.replace("Node    0", "Node    1").replace("Node 0", "Node 1");
        let info = parse(&path, &format!("{TEXT}{second}")).unwrap();
        assert_eq!(info.free.iter().map(|row| row.node).collect::<Vec<_>>(), [0, 0, 1, 1]);
        let blocks: Vec<_> = info.blocks.iter().map(|row| (row.node, &*row.by_type)).collect();
        assert_eq!(blocks, [(0, &[16, 230][..]), (1, &[16, 230])]);
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let path: SourceName = Path::new("pagetypeinfo").into();
        let error = parse(&path, &TEXT.replace("21 >", "x >")).unwrap_err();
        assert_eq!(error.to_string(), "pagetypeinfo:5: the line has no count of free blocks");
        let error = parse(&path, &TEXT.replace("          230", "")).unwrap_err();
        assert_eq!(error.to_string(), "pagetypeinfo:9: the line has no count for every migratetype");
        assert!(parse(&path, "").is_err());
    }
}
