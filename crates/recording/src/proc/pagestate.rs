//! `pagestate`: what every page frame is, read by the recorder from `struct page` through
//! `/proc/kcore`. Two bytes a frame: state and order.

use crate::error::{Error, SourceName};
use pagealloc::MAX_ORDER_LIMIT;

/// Largest order of a page in use: a hugetlb page of 1 GiB, which the kernel puts together from many blocks.
pub(crate) const GIGANTIC_ORDER: u8 = 18;

/// What a page frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageState {
    /// Could not be read.
    Unreadable,
    /// First page of a free block of the buddy allocator.
    FreeHead,
    /// Other page of a compound page.
    Tail,
    /// Reference count 0 and no type: inside a free block, or on a per-CPU list.
    Unreferenced,
    /// Slab.
    Slab,
    /// Page table.
    PageTable,
    /// Anonymous memory.
    Anonymous,
    /// A page of another type.
    OtherTyped,
    /// Page cache.
    PageCache,
    /// Any other page in use: kernel, reserved.
    OtherInUse,
}

impl PageState {
    fn from_number(number: u8) -> Option<Self> {
        // Number 2 was never given out.
        Some(match number {
            0 => Self::Unreadable,
            1 => Self::FreeHead,
            3 => Self::Tail,
            4 => Self::Unreferenced,
            5 => Self::Slab,
            6 => Self::PageTable,
            7 => Self::Anonymous,
            8 => Self::OtherTyped,
            9 => Self::PageCache,
            10 => Self::OtherInUse,
            _ => return None,
        })
    }
}

/// One page frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub state: PageState,
    /// Order of the free block or compound page that begins here; 0 for others.
    pub order: u8,
}

/// Reads the file: every page frame from 0.
///
/// # Errors
///
/// When the file does not consist of whole pairs, or a state is unknown.
pub fn parse(path: &SourceName, bytes: &[u8]) -> Result<Vec<Frame>, Error> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::Truncated {
            path: path.clone(),
            offset: bytes.len() as u64 - 1,
            what: "a page frame's two bytes",
            missing: 1,
        });
    }
    let frames = pairs.iter().enumerate().map(|(pfn, &[state, order])| {
        let state = PageState::from_number(state).ok_or_else(|| {
            let problem = format!("{state} is no state of a page frame");
            Error::malformed(path, 2 * pfn as u64, problem, "take the snapshot with this version's recorder")
        })?;
        let is_free = state == PageState::FreeHead;
        let largest = if is_free { MAX_ORDER_LIMIT } else { GIGANTIC_ORDER };
        if order > largest || is_free && pfn % (1 << order) != 0 {
            let problem = format!("no page of order {order} begins at frame {pfn:#x}");
            return Err(Error::malformed(
                path,
                2 * pfn as u64 + 1,
                problem,
                "take the snapshot with this version's recorder",
            ));
        }
        Ok(Frame { state, order })
    });
    frames.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn states_are_checked() {
        let path: SourceName = Path::new("pagestate").into();
        let frames = parse(&path, &[1, 10, 4, 0]).unwrap();
        assert_eq!(frames[0], Frame { state: PageState::FreeHead, order: 10 });
        assert_eq!(frames[1].state, PageState::Unreferenced);
        assert!(parse(&path, &[1, 0, 2, 0]).unwrap_err().to_string().starts_with("pagestate: at byte 2: 2 is no"));
        assert!(parse(&path, &[1]).is_err());
        let refused = |bytes: &[u8]| parse(&path, bytes).unwrap_err().to_string();
        assert!(refused(&[1, 0, 1, 3]).starts_with("pagestate: at byte 3: no page of order 3 begins at frame 0x1;"));
        assert!(refused(&[6, 67]).starts_with("pagestate: at byte 1: no page of order 67"));
        assert!(refused(&[1, 15]).starts_with("pagestate: at byte 1: no page of order 15"));
        assert_eq!(parse(&path, &[8, 18]).unwrap()[0], Frame { state: PageState::OtherTyped, order: 18 });
    }
}
