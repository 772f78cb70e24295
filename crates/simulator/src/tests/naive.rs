//! *What should memory hold?* The naive model of what operations leave.

use crate::state::page_size::PageSize;
use std::collections::BTreeMap;
use workload::{Access, Advice, FileMapping, Op};

/// What a page of a region holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    Unmapped,
    Untouched,
    Zeroes,
    Data,
}

/// What a process should see: each region's pages, what file it maps if any, and which handles are open.
#[derive(Clone)]
pub struct Naive {
    size: PageSize,
    pub regions: BTreeMap<u32, Vec<Content>>,
    mapped: BTreeMap<u32, (u32, u64, FileMapping)>,
    handles: BTreeMap<u32, ()>,
}

/// Files that there are: when each was made, and its pages.
#[derive(Default)]
pub struct NaiveFiles {
    files: BTreeMap<u32, (u64, u64)>,
    made: u64,
}

impl NaiveFiles {
    fn create(&mut self, file: u32) {
        self.made += 1;
        self.files.entry(file).or_insert((self.made, 0)).1 = 0;
    }

    fn open(&mut self, file: u32) {
        self.made += 1;
        self.files.entry(file).or_insert((self.made, 0));
    }

    fn write(&mut self, file: u32, pages: u64) -> bool {
        self.files.get_mut(&file).map(|(_, had)| *had = pages.max(*had)).is_some()
    }

    /// Pages that a mapping of a file has.
    fn pages(&self, file: u32, made: u64) -> u64 {
        self.files.get(&file).filter(|of| of.0 == made).map_or(0, |of| of.1)
    }
}

impl Naive {
    pub fn new(size: PageSize) -> Naive {
        Naive { size, regions: BTreeMap::new(), mapped: BTreeMap::new(), handles: BTreeMap::new() }
    }

    fn range(&mut self, region: u32, offset: u64, bytes: u64) -> Option<&mut [Content]> {
        let pages = self.regions.get_mut(&region)?;
        pages.get_mut(self.size.at(offset) as usize..self.size.fill(offset + bytes) as usize)
    }

    /// Performs an operation: whether it should succeed.
    pub fn perform(&mut self, op: &Op, files: &mut NaiveFiles) -> bool {
        match *op {
            Op::MapFile { region, file, bytes, mapping } => {
                // The number is free even if there is no such file.
                self.mapped.remove(&region.0);
                self.regions.remove(&region.0);
                let Some(&(made, _)) = files.files.get(&file.0) else { return false };
                self.regions.insert(region.0, vec![Content::Untouched; self.size.fill(bytes) as usize]);
                self.mapped.insert(region.0, (file.0, made, mapping));
                true
            }
            Op::Map { region, bytes } => {
                self.mapped.remove(&region.0);
                self.regions.insert(region.0, vec![Content::Untouched; self.size.fill(bytes) as usize]);
                true
            }
            Op::Advise { region, advice } => self.regions.get_mut(&region.0).is_some_and(|pages| {
                let mapped = pages.iter_mut().filter(|page| **page != Content::Unmapped);
                if advice == Advice::DontNeed {
                    mapped.for_each(|page| *page = Content::Untouched);
                }
                true
            }),
            Op::Unmap { region, offset, bytes } => self.range(region.0, offset, bytes).is_some_and(|pages| {
                pages.fill(Content::Unmapped);
                true
            }),
            Op::Touch { region, offset, bytes, access } => match self.mapped.get(&region.0).copied() {
                None => self.range(region.0, offset, bytes).is_some_and(|pages| touch(pages, access)),
                Some((file, made, mapping)) => {
                    let there = files.pages(file, made).saturating_sub(self.size.at(offset).into()) as usize;
                    self.range(region.0, offset, bytes).is_some_and(|pages| touch_file(pages, there, access, mapping))
                }
            },
            Op::Create { file } => {
                files.create(file.0);
                true
            }
            Op::Write { file, offset, bytes } => files.write(file.0, self.size.fill(offset + bytes).into()),
            Op::Read { file, .. } | Op::Sync { file } => files.files.contains_key(&file.0),
            Op::Unlink { file } => files.files.remove(&file.0).is_some(),
            Op::Pipe { handle, .. } | Op::Socket { handle, .. } | Op::Ring { handle, .. } => {
                self.handles.insert(handle.0, ()).is_none()
            }
            Op::Open { handle, file } => {
                let new = self.handles.insert(handle.0, ()).is_none();
                new.then(|| files.open(file.0)).is_some()
            }
            Op::KernelPages { handle, .. } => self.handles.insert(handle.0, ()).is_none_or(|()| true),
            Op::Close { handle } => self.handles.remove(&handle.0).is_some(),
            _ => true,
        }
    }
}

/// Up to the first page that is not mapped.
fn touch(pages: &mut [Content], access: Access) -> bool {
    for page in pages {
        *page = match (*page, access) {
            (Content::Unmapped, _) => return false,
            (Content::Untouched, Access::Read) => Content::Zeroes,
            (content, Access::Read) => content,
            (_, Access::Write) => Content::Data,
        };
    }
    true
}

/// The same of a mapped file, of which so many pages are there from the first one on. Its own pages may be in memory or not.
fn touch_file(pages: &mut [Content], there: usize, access: Access, mapping: FileMapping) -> bool {
    if access == Access::Write && !mapping.is_writable() {
        return false;
    }
    for (number, page) in pages.iter_mut().enumerate() {
        *page = match (*page, access, mapping) {
            (Content::Unmapped, _, _) => return false,
            (Content::Data, _, _) => Content::Data,
            _ if number >= there => return false,
            (_, Access::Write, FileMapping::Private) => Content::Data,
            (content, _, _) => content,
        };
    }
    true
}
