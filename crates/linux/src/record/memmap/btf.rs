//! BTF, the kernel's description of its own types: as much of it as finds a member's offset and an enumerator's value.

use std::path::Path;

const MAGIC: u16 = 0xeb9f;
/// Anonymous members may nest, but not in circles.
const MAX_DEPTH: u32 = 8;

mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const ENUM64: u32 = 19;
}

/// One type: where it stands in the section of types.
#[derive(Clone, Copy, Debug)]
struct Type {
    name: u32,
    info: u32,
    /// Of what follows its header.
    at: usize,
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn members(self) -> usize {
        (self.info & 0xffff) as usize
    }
}

/// All types of a kernel.
#[derive(Debug)]
pub(super) struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    /// By number, from 1; number 0 is `void`.
    types: Vec<Type>,
}

impl Btf {
    /// Reads `/sys/kernel/btf/vmlinux`.
    pub(super) fn open(path: &Path) -> Option<Self> {
        Self::parse(std::fs::read(path).ok()?)
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let magic = u16::from_le_bytes(*bytes.first_chunk()?);
        let field = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
        if magic != MAGIC {
            return None;
        }
        let header = field(4)?;
        let (types_at, types_size, strings) = (header + field(8)?, field(12)?, header + field(16)?);
        let mut types = Vec::new();
        let mut at = types_at;
        while at < types_at + types_size {
            let one = Type { name: field(at)? as u32, info: field(at + 4)? as u32, at: at + 12 };
            at = one.at + size_behind(one);
            types.push(one);
        }
        Some(Self { strings, types, bytes })
    }

    fn field(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    fn name_is(&self, name: u32, wanted: &str) -> bool {
        let start = self.strings + name as usize;
        let found = self.bytes.get(start..start + wanted.len() + 1);
        found.is_some_and(|found| found[wanted.len()] == 0 && &found[..wanted.len()] == wanted.as_bytes())
    }

    /// Offset of a member in a structure, in bytes; members of anonymous members count as its own.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<usize> {
        let found = self.types.iter().filter(|one| one.kind() == kind::STRUCT && self.name_is(one.name, structure));
        // A name may also belong to a declaration that has no members.
        found.filter(|one| one.members() > 0).find_map(|one| self.member(*one, member, 0)).map(|bits| bits / 8)
    }

    /// Offset in bits.
    fn member(&self, structure: Type, wanted: &str, depth: u32) -> Option<usize> {
        for number in 0..structure.members() {
            let at = structure.at + 12 * number;
            let (name, inner, offset) = (self.field(at)?, self.field(at + 4)?, self.field(at + 8)?);
            // With bit fields around, the upper byte is a width.
            let offset = (if structure.info >> 31 == 1 { offset & 0xff_ffff } else { offset }) as usize;
            if self.name_is(name, wanted) {
                return Some(offset);
            }
            let inner = self.types.get((inner as usize).wrapping_sub(1)).copied();
            let nested = inner.filter(|inner| [kind::STRUCT, kind::UNION].contains(&inner.kind()));
            if let Some(nested) = nested.filter(|_| self.name_is(name, "") && depth < MAX_DEPTH)
                && let Some(within) = self.member(nested, wanted, depth + 1)
            {
                return Some(offset + within);
            }
        }
        None
    }

    /// Value of an enumerator, whatever its enumeration is called.
    pub(super) fn enumerator(&self, wanted: &str) -> Option<u64> {
        for one in &self.types {
            let size = match one.kind() {
                kind::ENUM => 8,
                kind::ENUM64 => 12,
                _ => continue,
            };
            for number in 0..one.members() {
                let at = one.at + size * number;
                if self.name_is(self.field(at)?, wanted) {
                    return self.field(at + 4).map(u64::from);
                }
            }
        }
        None
    }
}

/// Bytes that follow a type's header.
fn size_behind(one: Type) -> usize {
    let members = one.members();
    match one.kind() {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * members,
        kind::ENUM | kind::FUNC_PROTO => 8 * members,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `enum { A, WANTED = 7 }`, `union { long x; int deep; }`, `struct s { long first; <union>; }`.
    fn sample() -> Vec<u8> {
        let strings = b"\0WANTED\0x\0deep\0s\0first\0A\0";
        let at = |name: &[u8]| {
            let with_end = [name, b"\0"].concat();
            strings.windows(with_end.len()).position(|window| window == with_end).unwrap() as u32
        };
        let mut words: Vec<u32> = Vec::new();
        words.extend([at(b"first"), kind::INT << 24, 8, 64]);
        words.extend([0, kind::ENUM << 24 | 2, 4, at(b"A"), 0, at(b"WANTED"), 7]);
        words.extend([0, kind::UNION << 24 | 2, 8, at(b"x"), 1, 0, at(b"deep"), 1, 32]);
        words.extend([at(b"s"), kind::STRUCT << 24 | 2, 16, at(b"first"), 1, 0, 0, 3, 64]);
        let types: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend_from_slice(&[1, 0]);
        for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&types);
        out.extend_from_slice(strings);
        out
    }

    #[test]
    fn members_of_anonymous_members_are_found() {
        let btf = Btf::parse(sample()).unwrap();
        assert_eq!(btf.offset("s", "first"), Some(0));
        assert_eq!(btf.offset("s", "deep"), Some(12));
        assert_eq!(btf.offset("s", "none"), None);
        assert_eq!(btf.offset("none", "first"), None);
        assert_eq!(btf.enumerator("WANTED"), Some(7));
        assert_eq!(btf.enumerator("first"), None);
    }

    #[test]
    fn damage_is_no_panic() {
        let whole = sample();
        for length in 0..whole.len() {
            if let Some(btf) = Btf::parse(whole[..length].to_vec()) {
                btf.offset("s", "deep");
                btf.enumerator("WANTED");
            }
        }
        assert!(Btf::parse(b"ELF".to_vec()).is_none());
    }
}
