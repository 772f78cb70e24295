//! What a kernel module says about itself: the `.modinfo` section of its ELF file, strings `key=value` that end in zeros.

/// The names of the modules that must be loaded before this one, as the module's `depends` lists them. An error says what
/// is wrong with the file.
pub fn dependencies(module: &[u8]) -> Result<Vec<String>, &'static str> {
    let section = section(module, b".modinfo").ok_or("not a 64-bit ELF file with a .modinfo section")?;
    let depends = section.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"depends="));
    let names = std::str::from_utf8(depends.unwrap_or_default()).map_err(|_| "its depends= is not text")?;
    Ok(names.split(',').filter(|name| !name.is_empty()).map(canonical).collect())
}

/// A module's name as the kernel has it: file names and `depends` mix `-` and `_`.
pub fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// Offsets in the ELF header and in a section header, 64-bit (`elf(5)`).
mod elf {
    pub const SECTIONS_AT: usize = 0x28;
    pub const SECTION_SIZE: usize = 0x3a;
    pub const SECTION_COUNT: usize = 0x3c;
    pub const NAMES_INDEX: usize = 0x3e;
    pub const NAME: usize = 0;
    pub const OFFSET: usize = 0x18;
    pub const SIZE: usize = 0x20;
}

fn section<'a>(file: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    // Magic, 64-bit, little endian.
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let headers = usize::try_from(u64_at(file, elf::SECTIONS_AT)?).ok()?;
    let size = usize::from(u16_at(file, elf::SECTION_SIZE)?);
    let header = |index: u16| file.get(headers.checked_add(size.checked_mul(usize::from(index))?)?..);
    let contents = |header: &[u8]| {
        let start = usize::try_from(u64_at(header, elf::OFFSET)?).ok()?;
        let length = usize::try_from(u64_at(header, elf::SIZE)?).ok()?;
        file.get(start..start.checked_add(length)?)
    };
    let names = contents(header(u16_at(file, elf::NAMES_INDEX)?)?)?;
    (0..u16_at(file, elf::SECTION_COUNT)?).find_map(|index| {
        let header = header(index)?;
        let name = names.get(u32_at(header, elf::NAME)? as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        if name == wanted { contents(header) } else { None }
    })
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

/// A module file with nothing but a `.modinfo` section, for tests.
#[cfg(test)]
pub(super) fn synthetic_module(modinfo: &[u8]) -> Vec<u8> {
    let names = b"\0.modinfo\0.shstrtab\0";
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let names_at = file.len();
    file.extend(names);
    let modinfo_at = file.len();
    file.extend(modinfo);
    let headers_at = file.len();
    for (name, at, length) in [(0_u32, 0, 0), (1, modinfo_at, modinfo.len()), (10, names_at, names.len())] {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[elf::OFFSET..elf::OFFSET + 8].copy_from_slice(&(at as u64).to_le_bytes());
        header[elf::SIZE..elf::SIZE + 8].copy_from_slice(&(length as u64).to_le_bytes());
        file.extend(header);
    }
    file[elf::SECTIONS_AT..elf::SECTIONS_AT + 8].copy_from_slice(&(headers_at as u64).to_le_bytes());
    for (at, value) in [(elf::SECTION_SIZE, 64_u16), (elf::SECTION_COUNT, 3), (elf::NAMES_INDEX, 2)] {
        file[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depends_is_split_and_canonical() {
        let module = synthetic_module(b"license=X\0depends=virtio,virtio-ring\0name=virtio_blk\0");
        assert_eq!(dependencies(&module).unwrap(), ["virtio", "virtio_ring"]);
        assert!(dependencies(&synthetic_module(b"depends=\0")).unwrap().is_empty());
        assert!(dependencies(&synthetic_module(b"license=X\0")).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_module_is_an_error_wherever_it_is_cut() {
        let module = synthetic_module(b"depends=virtio\0");
        for length in 0..module.len() - 1 {
            let _no_panic = dependencies(&module[..length]);
        }
        assert!(dependencies(b"#!/bin/sh").is_err());
        assert!(dependencies(&module[..100]).is_err());
    }
}
