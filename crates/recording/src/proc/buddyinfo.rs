//! `/proc/buddyinfo`: free blocks of every order, by zone (reference section 15.1).

use crate::error::{Error, SourceName};
use crate::proc::text::{Lines, node_and_zone, numbers};
use crate::quote::cited;

/// The free blocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeBlocks {
    /// Node number.
    pub node: u32,
    /// The zone's name, for instance `DMA32`.
    pub zone: Box<str>,
    /// Free blocks by order, from order 0; a block of order n has 2^n pages.
    pub by_order: Vec<u64>,
}

impl FreeBlocks {
    /// Pages in all free blocks; saturating.
    pub fn free_pages(&self) -> u64 {
        let pages = self
            .by_order
            .iter()
            .zip(0..)
            .map(|(blocks, order)| blocks.saturating_mul(1_u64.checked_shl(order).unwrap_or(u64::MAX)));
        pages.fold(0, u64::saturating_add)
    }
}

/// Parses the file's text.
///
/// # Errors
///
/// When a line is not `Node <n>, zone <name> <counts>`.
pub fn parse(path: &SourceName, text: &str) -> Result<Vec<FreeBlocks>, Error> {
    parse_lines(Lines::new(path, text, 1))
}

pub(crate) fn parse_lines(lines: Lines<'_>) -> Result<Vec<FreeBlocks>, Error> {
    let filled = lines.numbered().filter(|(_, line)| !line.trim().is_empty());
    let rows = filled.map(|(number, line)| {
        let (node, zone, rest) = node_and_zone(line)
            .ok_or_else(|| lines.error(number, "the line is not `Node <n>, zone <name> <counts>`"))?;
        let by_order = numbers(rest).map_err(|word| lines.error(number, format!("`{}` is no count", cited(word))))?;
        if by_order.is_empty() || by_order.len() > 64 {
            return Err(lines.error(number, format!("{} orders are none or too many", by_order.len())));
        }
        Ok(FreeBlocks { node, zone: zone.into(), by_order })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn rows_are_counts_by_order() {
        let path: SourceName = Path::new("buddyinfo").into();
        let text = "Node 0, zone      DMA      0      1\nNode 1, zone   Normal     23     17     13 \n";
        let rows = parse(&path, text).unwrap();
        assert_eq!(rows[1], FreeBlocks { node: 1, zone: "Normal".into(), by_order: vec![23, 17, 13] });
        assert_eq!(rows[1].free_pages(), 23 + 34 + 52);
        let error = parse(&path, "Node 0, zone DMA 1 x").unwrap_err();
        assert_eq!(error.to_string(), "buddyinfo:1: `x` is no count");
        assert!(parse(&path, "hello").is_err());
    }
}
