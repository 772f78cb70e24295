//! `pageblocks`: one byte for every pageblock, from page frame 0.

use crate::error::{Error, SourceName};

/// A pageblock's bits, as the kernel keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageBlock(pub u8);

impl PageBlock {
    /// Migratetype number: 0 unmovable, 1 movable, 2 reclaimable, 3 highatomic in kernel 6.18.
    pub fn migratetype(self) -> u8 {
        self.0 & 7
    }

    /// Whether compaction skips the block.
    pub fn skip(self) -> bool {
        self.0 & 8 != 0
    }

    /// Whether the block is isolated.
    pub fn isolated(self) -> bool {
        self.0 & 16 != 0
    }
}

/// Reads the file; any byte is a valid block.
pub fn parse(bytes: &[u8]) -> Vec<PageBlock> {
    bytes.iter().copied().map(PageBlock).collect()
}

/// Reads the same as two hexadecimal digits a block, as `ticks.txt` has it.
///
/// # Errors
///
/// When the line, which has number `line`, is not that.
pub fn parse_hex(path: &SourceName, line: u64, text: &str) -> Result<Vec<PageBlock>, Error> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let (pairs, rest) = text.trim().as_bytes().as_chunks::<2>();
    let blocks = pairs
        .iter()
        .map(|&[high, low]| Some(PageBlock((digit(high)? << 4 | digit(low)?) as u8)));
    let blocks = blocks
        .collect::<Option<Vec<_>>>()
        .filter(|_| rest.is_empty());
    blocks.ok_or_else(|| {
        Error::line(
            path,
            line,
            "the line is not two hexadecimal digits a pageblock",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn bits_have_meanings() {
        let path: SourceName = Path::new("ticks.txt").into();
        let blocks = parse_hex(&path, 1, "0a11").unwrap();
        assert_eq!(
            (
                blocks[0].migratetype(),
                blocks[0].skip(),
                blocks[0].isolated()
            ),
            (2, true, false)
        );
        assert_eq!(
            (
                blocks[1].migratetype(),
                blocks[1].skip(),
                blocks[1].isolated()
            ),
            (1, false, true)
        );
        assert_eq!(parse(&[0x0a, 0x11]), blocks);
        assert!(parse_hex(&path, 1, "0a1").is_err() && parse_hex(&path, 1, "zz").is_err());
    }
}
