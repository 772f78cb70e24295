//! `/proc/kcore`: the kernel's memory as an ELF core file, with the VMCOREINFO note that says where things are.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
/// A note is some kilobytes; a larger one is none of ours.
const MAX_NOTE: u64 = 1 << 20;

/// A range of kernel addresses and its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: u64,
    size: u64,
    offset: u64,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Kcore {
    file: File,
    segments: Vec<Segment>,
    info: Vmcoreinfo,
}

impl Kcore {
    /// Opens it; the reason if that is not possible.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut kcore = Self { file, segments: Vec::new(), info: Vmcoreinfo::default() };
        kcore.read_headers().ok_or_else(|| format!("{} is no ELF core of a 64-bit kernel", path.display()))?;
        if kcore.info.0.is_empty() {
            return Err(format!("{} has no VMCOREINFO (kernels before 4.19)", path.display()));
        }
        Ok(kcore)
    }

    /// What the kernel says of its own layout.
    pub(super) fn info(&self) -> &Vmcoreinfo {
        &self.info
    }

    fn read_headers(&mut self) -> Option<()> {
        let mut head = [0; 64];
        self.file.read_exact_at(&mut head, 0).ok()?;
        // 64 bits, little endian.
        if &head[..6] != b"\x7fELF\x02\x01" {
            return None;
        }
        let table = word(&head, 32)?;
        let size = usize::from(u16::from_le_bytes([head[54], head[55]]));
        let count = u64::from(u16::from_le_bytes([head[56], head[57]]));
        let mut entry = vec![0; size.max(56)];
        for number in 0..count {
            self.file.read_exact_at(&mut entry, table + number * size as u64).ok()?;
            let kind = u32::from_le_bytes(*entry.first_chunk()?);
            let (offset, start, size) = (word(&entry, 8)?, word(&entry, 16)?, word(&entry, 32)?);
            match kind {
                PT_LOAD => self.segments.push(Segment { start, size, offset }),
                PT_NOTE if size <= MAX_NOTE => {
                    let mut notes = vec![0; size as usize];
                    self.file.read_exact_at(&mut notes, offset).ok()?;
                    if let Some(text) = note(&notes, b"VMCOREINFO\0") {
                        self.info = Vmcoreinfo::parse(&String::from_utf8_lossy(text));
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Reads kernel memory at an address; `None` if it is not all there.
    pub(super) fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let end = address.checked_add(into.len() as u64)?;
        let holds = |segment: &&Segment| segment.start <= address && end - segment.start <= segment.size;
        let segment = self.segments.iter().find(holds)?;
        self.file.read_exact_at(into, segment.offset + (address - segment.start)).ok()
    }

    /// Reads a 64-bit word of kernel memory.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The contents of the note of this name.
fn note<'a>(mut notes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    loop {
        let size = |at: usize| Some(u32::from_le_bytes(*notes.get(at..)?.first_chunk()?) as usize);
        let (name_size, size) = (size(0)?, size(4)?);
        let name = notes.get(12..12 + name_size)?;
        let start = 12 + name_size.next_multiple_of(4);
        let contents = notes.get(start..start.checked_add(size)?)?;
        if name == wanted {
            return Some(contents);
        }
        notes = notes.get(start + size.next_multiple_of(4)..)?;
    }
}

/// VMCOREINFO: addresses, sizes and offsets that the kernel publishes for tools that read its memory
/// (Documentation/admin-guide/kdump/vmcoreinfo).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Vmcoreinfo(BTreeMap<String, String>);

impl Vmcoreinfo {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.trim_end_matches('\0').split_once('='));
        Self(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Address of a symbol.
    pub(super) fn symbol(&self, name: &str) -> Option<u64> {
        u64::from_str_radix(self.0.get(&format!("SYMBOL({name})"))?, 16).ok()
    }

    /// Size of a structure, in bytes.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        self.0.get(&format!("SIZE({name})"))?.parse().ok()
    }

    /// Offset of a member, as `structure.member`, in bytes.
    pub(super) fn offset(&self, name: &str) -> Option<usize> {
        self.0.get(&format!("OFFSET({name})"))?.parse().ok()
    }

    /// A constant.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.0.get(&format!("NUMBER({name})"))?.parse().ok()
    }

    /// Number of entries of an array.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.0.get(&format!("LENGTH({name})"))?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_by_name() {
        let mut notes = Vec::new();
        for (name, contents) in [(&b"CORE\0"[..], &b"xyz"[..]), (b"VMCOREINFO\0", b"SIZE(page)=64\n")] {
            notes.extend_from_slice(&(name.len() as u32).to_le_bytes());
            notes.extend_from_slice(&(contents.len() as u32).to_le_bytes());
            notes.extend_from_slice(&[0; 4]);
            for part in [name, contents] {
                notes.extend_from_slice(part);
                notes.resize(notes.len().next_multiple_of(4), 0);
            }
        }
        assert_eq!(note(&notes, b"VMCOREINFO\0"), Some(&b"SIZE(page)=64\n"[..]));
        assert_eq!(note(&notes, b"NONE\0"), None);
        assert_eq!(note(&notes[..30], b"VMCOREINFO\0"), None);
    }

    #[test]
    fn vmcoreinfo_is_read_by_kind() {
        let info = Vmcoreinfo::parse(
            "OSRELEASE=6.1\nSYMBOL(mem_section)=ffff88801fffa000\nSIZE(page)=64\nOFFSET(page._refcount)=52\n\
             NUMBER(PAGE_BUDDY_MAPCOUNT_VALUE)=-129\nLENGTH(mem_section)=2048\n\0",
        );
        assert_eq!(info.symbol("mem_section"), Some(0xffff_8880_1fff_a000));
        assert_eq!((info.size("page"), info.offset("page._refcount")), (Some(64), Some(52)));
        assert_eq!((info.number("PAGE_BUDDY_MAPCOUNT_VALUE"), info.length("mem_section")), (Some(-129), Some(2048)));
        assert_eq!(info.size("folio"), None);
    }
}
