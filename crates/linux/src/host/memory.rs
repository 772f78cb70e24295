//! Mappings of a process: what scenarios map, touch and unmap.

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::mm::{Advice as Madvise, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use workload::{Access, Advice, FileMapping, RegionId};

/// What written pages are full of. Not zero: kernels may swap such pages out without writing them.
const FILLING: u8 = 0xa5;

/// One mapping.
struct Region {
    address: usize,
    /// What of it is still mapped, as offsets, in order.
    mapped: Vec<Range<usize>>,
    /// Pages from here on have not been touched since they were mapped.
    fresh_from: usize,
    /// The file that it maps. Kept open: how long it is decides what may be touched.
    backing: Option<(Rc<OwnedFd>, FileMapping)>,
}

impl Region {
    /// Whether such an access ends well: a write where none is allowed would kill the process, and so would any access beyond the
    /// last page of a file.
    fn allows(&self, access: Access, end: usize, page: usize) -> Result<bool, Errno> {
        let Some((fd, mapping)) = &self.backing else { return Ok(true) };
        if access == Access::Write && !mapping.is_writable() {
            return Ok(false);
        }
        let length = usize::try_from(fstat(fd)?.st_size).map_err(|_| Errno::OVERFLOW)?;
        Ok(end <= length.next_multiple_of(page))
    }
}

/// The mappings of a process. A forked child has the same at the same places.
pub struct Memory {
    regions: HashMap<RegionId, Region>,
    page: usize,
    /// Size of a huge page.
    huge: usize,
}

impl Memory {
    /// No mappings yet.
    pub fn new() -> Memory {
        Memory { regions: HashMap::new(), page: rustix::param::page_size(), huge: huge_page_size() }
    }

    /// Maps private anonymous memory, aligned to the huge page size where it is as large as one. What the number stood for
    /// before is unmapped.
    pub fn map(&mut self, number: RegionId, bytes: u64) -> Result<(), Errno> {
        self.unmap_before(number)?;
        let bytes = self.whole_pages(bytes)?;
        let slack = if bytes >= self.huge { self.huge } else { 0 };
        let length = bytes.checked_add(slack).ok_or(Errno::NOMEM)?;
        // A scenario may map more than there is: no guess of the kernel's is to refuse that (vm.overcommit_memory=0).
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, flags) }? as usize;
        let address = if slack > 0 { start.next_multiple_of(self.huge) } else { start };
        // SAFETY: both ranges are parts of the mapping just made, which nobody else knows.
        unsafe {
            unmap(start, address - start)?;
            unmap(address + bytes, start + length - (address + bytes))?;
        }
        self.insert(number, address, bytes, None);
        Ok(())
    }

    /// Maps a file from its beginning. What the number stood for before is unmapped.
    pub fn map_file(
        &mut self,
        number: RegionId,
        file: Rc<OwnedFd>,
        bytes: u64,
        mapping: FileMapping,
    ) -> Result<(), Errno> {
        self.unmap_before(number)?;
        let bytes = self.whole_pages(bytes)?;
        let (protection, flags) = match mapping {
            FileMapping::Exec => (ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE),
            FileMapping::Read => (ProtFlags::READ, MapFlags::PRIVATE),
            FileMapping::Private => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE),
            FileMapping::Shared => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED),
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, &*file, 0) }? as usize;
        self.insert(number, start, bytes, Some((file, mapping)));
        Ok(())
    }

    fn insert(&mut self, number: RegionId, address: usize, bytes: usize, backing: Option<(Rc<OwnedFd>, FileMapping)>) {
        let mapped = std::iter::once(0..bytes).collect();
        self.regions.insert(number, Region { address, mapped, fresh_from: 0, backing });
    }

    fn unmap_before(&mut self, number: RegionId) -> Result<(), Errno> {
        match self.regions.get(&number).and_then(|region| region.mapped.last()) {
            Some(before) => self.unmap(number, 0, before.end as u64),
            None => Ok(()),
        }
    }

    /// `madvise` on all that is left of a mapping.
    pub fn advise(&mut self, number: RegionId, advice: Advice) -> Result<(), Errno> {
        let region = self.regions.get_mut(&number).ok_or(Errno::INVAL)?;
        let (advice, forgets) = match advice {
            Advice::HugePage => (Madvise::LinuxHugepage, false),
            Advice::NoHugePage => (Madvise::LinuxNoHugepage, false),
            Advice::DontNeed => (Madvise::LinuxDontNeed, true),
        };
        for range in &region.mapped {
            let address = (region.address + range.start) as *mut c_void;
            // SAFETY: the range is mapped, and holds nothing but what operations have written there.
            unsafe { madvise(address, range.len(), advice) }?;
        }
        if forgets {
            region.fresh_from = 0;
        }
        Ok(())
    }

    /// Accesses a range in ascending order. Tells how many huge pages it got, if it is made of whole ones and all of it was
    /// untouched before.
    pub fn touch(&mut self, number: RegionId, offset: u64, bytes: u64, access: Access) -> Result<Option<u32>, Errno> {
        let (page, huge) = (self.page, self.huge);
        let region = self.regions.get_mut(&number).ok_or(Errno::FAULT)?;
        let range = range_of(offset, bytes)?;
        if !region.mapped.iter().any(|mapped| mapped.start <= range.start && range.end <= mapped.end) {
            return Err(Errno::FAULT);
        }
        if !region.allows(access, range.end, page)? {
            return Err(Errno::FAULT);
        }
        let anonymous = region.backing.is_none();
        let fresh = anonymous && range.start >= region.fresh_from;
        region.fresh_from = region.fresh_from.max(range.end.next_multiple_of(page));
        let (from, to) = (region.address + range.start, region.address + range.end);
        let whole = from.is_multiple_of(huge) && to.is_multiple_of(huge) && from < to;
        let mut got = 0;
        // SAFETY: the range is mapped, for writing where it is written to (`allows`), and holds nothing but what operations have
        // written there, or a file of theirs.
        unsafe {
            match access {
                Access::Read => read_words(from, to, page),
                Access::Write if fresh && whole => {
                    for unit in (from..to).step_by(huge) {
                        got += u32::from(first_write_got_huge(unit, page, huge));
                        std::ptr::write_bytes(unit as *mut u8, FILLING, huge);
                    }
                }
                Access::Write => std::ptr::write_bytes(from as *mut u8, FILLING, to - from),
            }
        }
        Ok((access == Access::Write && fresh && whole).then_some(got))
    }

    /// Unmaps a range.
    pub fn unmap(&mut self, number: RegionId, offset: u64, bytes: u64) -> Result<(), Errno> {
        let bytes = self.whole_pages(bytes)?;
        let region = self.regions.get_mut(&number).ok_or(Errno::INVAL)?;
        let range = range_of(offset, bytes as u64)?;
        if !range.start.is_multiple_of(self.page) {
            return Err(Errno::INVAL);
        }
        let (mut left, mut refused) = (Vec::new(), None);
        for mapped in std::mem::take(&mut region.mapped) {
            let (start, end) = (mapped.start.max(range.start), mapped.end.min(range.end));
            if start >= end || refused.is_some() {
                left.push(mapped);
                continue;
            }
            // SAFETY: the range is mapped, and after this nothing of `mapped` names it.
            match unsafe { unmap(region.address + start, end - start) } {
                Ok(()) => {
                    let around = [mapped.start..start, end..mapped.end];
                    left.extend(around.into_iter().filter(|range| !range.is_empty()));
                }
                // A hole makes two mappings of one, of which a process may have so many (`vm.max_map_count`).
                Err(error) => {
                    left.push(mapped);
                    refused = Some(error);
                }
            }
        }
        region.mapped = left;
        if region.mapped.is_empty() {
            self.regions.remove(&number);
        }
        refused.map_or(Ok(()), Err)
    }

    fn whole_pages(&self, bytes: u64) -> Result<usize, Errno> {
        let bytes = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(self.page));
        bytes.filter(|&bytes| bytes > 0).ok_or(Errno::INVAL)
    }
}

fn range_of(offset: u64, bytes: u64) -> Result<Range<usize>, Errno> {
    let end = offset.checked_add(bytes).and_then(|end| usize::try_from(end).ok()).ok_or(Errno::FAULT)?;
    Ok(offset as usize..end)
}

/// Unmaps a range that may be empty.
///
/// # Safety
/// Nothing may use the range any more.
unsafe fn unmap(address: usize, length: usize) -> Result<(), Errno> {
    match length {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        _ => unsafe { munmap(address as *mut c_void, length) },
    }
}

/// Reads one word of each page.
///
/// # Safety
/// The range must be mapped.
unsafe fn read_words(from: usize, to: usize, page: usize) {
    let mut at = from;
    while at < to {
        // SAFETY: within the range; volatile, because the reading is the point and not the word.
        unsafe { (at as *const u8).read_volatile() };
        at = (at / page + 1) * page;
    }
}

/// Writes the first byte of an untouched huge-page-sized unit, and tells whether that brought its last page in as well: then it
/// got a huge page.
///
/// # Safety
/// The unit must be mapped and untouched.
unsafe fn first_write_got_huge(unit: usize, page: usize, huge: usize) -> bool {
    let mut resident = 0u8;
    // SAFETY: the unit is mapped; `mincore` writes one byte for the one page that it is asked about.
    unsafe {
        (unit as *mut u8).write_volatile(FILLING);
        let last = (unit + huge - page) as *mut c_void;
        libc::mincore(last, page, &raw mut resident) == 0 && resident & 1 == 1
    }
}

/// Size of a transparent huge page; 2 MiB where the kernel has none.
pub fn huge_page_size() -> usize {
    let told = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    told.ok().and_then(|size| size.trim().parse().ok()).unwrap_or(2 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: RegionId = RegionId(3);

    #[test]
    fn a_range_that_is_not_mapped_is_an_error_and_no_crash() {
        let mut memory = Memory::new();
        assert_eq!(memory.touch(REGION, 0, 1, Access::Read), Err(Errno::FAULT));
        memory.map(REGION, 10 * 4096).expect("mapped");
        memory.map(REGION, 20 * 4096).expect("mapped instead");
        memory.map(REGION, 10 * 4096).expect("mapped instead");
        assert_eq!(memory.touch(REGION, 9 * 4096, 4097, Access::Write), Err(Errno::FAULT));
        assert_eq!(memory.touch(REGION, u64::MAX, 2, Access::Write), Err(Errno::FAULT));
        memory.unmap(REGION, 4 * 4096, 4096).expect("a hole");
        assert_eq!(memory.touch(REGION, 0, 10 * 4096, Access::Read), Err(Errno::FAULT));
        memory.touch(REGION, 5 * 4096, 5 * 4096, Access::Write).expect("behind the hole");
        memory.advise(REGION, Advice::DontNeed).expect("around the hole");
        memory.unmap(REGION, 0, 10 * 4096).expect("all");
        assert_eq!(memory.touch(REGION, 0, 1, Access::Read), Err(Errno::FAULT));
        assert_eq!(memory.unmap(REGION, 0, 4096), Err(Errno::INVAL));
    }

    #[test]
    fn memory_keeps_what_is_written() {
        let mut memory = Memory::new();
        memory.map(REGION, 4 << 20).expect("mapped");
        assert!(memory.regions[&REGION].address.is_multiple_of(memory.huge));
        memory.touch(REGION, 0, 4 << 20, Access::Write).expect("written");
        // SAFETY: the region is mapped and nobody else writes it.
        let bytes = unsafe { std::slice::from_raw_parts(memory.regions[&REGION].address as *const u8, 4 << 20) };
        assert!(bytes.iter().all(|&byte| byte == FILLING));
        memory.touch(REGION, 0, 4 << 20, Access::Read).expect("read");
        memory.unmap(REGION, 0, 4 << 20).expect("unmapped");
    }

    #[test]
    fn huge_pages_are_told_of_fresh_whole_units_only() {
        let mut memory = Memory::new();
        let huge = memory.huge as u64;
        memory.map(REGION, 2 * huge).expect("mapped");
        memory.advise(REGION, Advice::NoHugePage).expect("advised");
        assert_eq!(memory.touch(REGION, 0, huge, Access::Write), Ok(Some(0)));
        assert_eq!(memory.touch(REGION, 0, huge, Access::Write), Ok(None), "touched before");
        assert_eq!(memory.touch(REGION, huge, 4096, Access::Write), Ok(None), "no whole unit");
        memory.advise(REGION, Advice::DontNeed).expect("advised");
        memory.advise(REGION, Advice::HugePage).expect("advised");
        let got = memory.touch(REGION, 0, 2 * huge, Access::Write).expect("written").expect("fresh");
        let mode = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if mode.is_empty() || mode.contains("[never]") {
            assert_eq!(got, 0);
        } else {
            let smaps = fs::read_to_string("/proc/self/smaps").expect("smaps");
            let start = format!("{:x}-", memory.regions[&REGION].address);
            let mine = smaps.lines().skip_while(|line| !line.starts_with(&start));
            let anon = mine.skip(1).find(|line| line.starts_with("AnonHugePages:")).expect("a line of the mapping");
            let kib: u64 = anon.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
            assert_eq!(u64::from(got) * huge, kib << 10, "mincore's answer is that of smaps");
        }
    }

    #[test]
    fn what_a_mapped_file_does_not_allow_is_an_error_and_no_crash() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(3 * 4096 + 1).expect("longer");
        let fd: Rc<OwnedFd> = Rc::new(file.try_clone().expect("its number again").into());
        let mut memory = Memory::new();
        memory.map_file(REGION, Rc::clone(&fd), 8 * 4096, FileMapping::Read).expect("mapped");
        assert_eq!(memory.touch(REGION, 0, 4 * 4096, Access::Read), Ok(None));
        assert_eq!(memory.touch(REGION, 4 * 4096, 1, Access::Read), Err(Errno::FAULT), "beyond the last page");
        assert_eq!(memory.touch(REGION, 0, 1, Access::Write), Err(Errno::FAULT));
        memory.map_file(REGION, fd, 8 * 4096, FileMapping::Private).expect("mapped instead");
        assert_eq!(memory.touch(REGION, 0, 4 * 4096, Access::Write), Ok(None));
        file.set_len(0).expect("shorter");
        assert_eq!(memory.touch(REGION, 0, 1, Access::Read), Err(Errno::FAULT), "cut off meanwhile");
        memory.unmap(REGION, 0, 8 * 4096).expect("unmapped");
    }
}
