//! Sparse memory: sections, each with its part of the page array and its pageblocks' bits.

use super::btf::Btf;
use super::kcore::Kcore;

/// Low bits of a section's page-array address that are flags: its alignment leaves room for six.
const SECTION_FLAGS: u64 = 0x3f;
/// Of these: the section has a page array.
const HAS_MEM_MAP: u64 = 1 << 1;
/// Bits of a pageblock where BTF does not tell: migratetype and skip.
const USUAL_BLOCK_BITS: u64 = 4;

/// Where pageblock bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockLayout {
    /// Offset of the pointer to them in a section.
    usage: usize,
    /// Offset of the bits behind that pointer.
    flags: usize,
    /// Bits of one block.
    bits: u32,
    /// Number of migratetype "isolated", which older kernels keep as a type.
    isolate: Option<u64>,
}

/// All sections.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Address of the `struct page` of frame 0.
    pub(super) base: u64,
    /// Where pageblock bits are, if that is known.
    pub(super) blocks: Option<BlockLayout>,
    page_size: u64,
    /// Binary logarithm of a section's page frames.
    section_order: u32,
    /// Address of each section's descriptor, by number; `None` for those without memory.
    sections: Vec<Option<u64>>,
}

impl Layout {
    /// Reads the sections; `None` if they cannot be found.
    pub(super) fn of(kcore: &Kcore, btf: Option<&Btf>, frames: u64) -> Option<Self> {
        let info = kcore.info();
        let page_size = info.size("page")?;
        let descriptor = info.size("mem_section")?;
        let map_offset = info.offset("mem_section.section_mem_map")? as u64;
        let bits = info.number("SECTION_SIZE_BITS")?;
        let page_bytes = rustix::param::page_size() as u64;
        let section_order = u32::try_from(bits).ok()?.checked_sub(page_bytes.ilog2())?;
        let table = info.symbol("mem_section")?;
        let per_root = page_bytes / descriptor.max(1);
        let roots = info.length("mem_section")?.min((frames >> section_order) / per_root.max(1) + 1);
        // The symbol is the table of roots, or a pointer to it.
        let (base, sections) = [Some(table), kcore.word(table)].into_iter().flatten().find_map(|table| {
            let sections = sections(kcore, table, [roots, per_root, descriptor]);
            let maps = sections.iter().flatten().filter_map(|section| kcore.word(section + map_offset));
            let mut bases = maps.filter(|map| map & HAS_MEM_MAP != 0).map(|map| map & !SECTION_FLAGS);
            let base = bases.next()?;
            // All sections must give one array.
            bases.all(|other| other == base).then_some((base, sections))
        })?;
        let sections = sections.into_iter().map(|section| {
            section.filter(|section| kcore.word(section + map_offset).is_some_and(|map| map & HAS_MEM_MAP != 0))
        });
        let blocks = btf.and_then(|btf| {
            let named = btf.enumerator("NR_PAGEBLOCK_BITS").or_else(|| btf.enumerator("__NR_PAGEBLOCK_BITS"));
            Some(BlockLayout {
                usage: btf.offset("mem_section", "usage")?,
                flags: btf.offset("mem_section_usage", "pageblock_flags")?,
                bits: named.unwrap_or(USUAL_BLOCK_BITS).next_power_of_two().clamp(4, 64) as u32,
                // Newer kernels have a bit of its own for it.
                isolate: btf.enumerator("MIGRATE_ISOLATE").filter(|_| btf.enumerator("PB_migrate_isolate").is_none()),
            })
        });
        Some(Self { base, blocks, page_size, section_order, sections: sections.collect() })
    }

    /// Address of the `struct page` of a frame, if the `pages` from there on are in sections that have some.
    pub(super) fn page_address(&self, pfn: u64, pages: u64) -> Option<u64> {
        let has = |section: u64| self.sections.get(section as usize).is_some_and(Option::is_some);
        let last = pfn + pages.max(1) - 1;
        let all = (pfn >> self.section_order..=last >> self.section_order).all(has);
        all.then(|| self.base.wrapping_add(pfn * self.page_size))
    }

    /// The bits of all pageblocks up to a frame, as a recording has them; 0 where there is no memory. `None` if they cannot
    /// be read.
    pub(super) fn blocks(&self, kcore: &Kcore, frames: u64, order: u32) -> Option<Vec<u8>> {
        let layout = self.blocks?;
        let number = frames.div_ceil(1 << order) as usize;
        let per_section = 1_usize << self.section_order.checked_sub(order)?;
        let mut bits = vec![0; per_section * layout.bits as usize / 8];
        let mut blocks = Vec::with_capacity(number);
        for section in 0..number.div_ceil(per_section) {
            match self.sections.get(section) {
                Some(Some(descriptor)) => {
                    let usage = kcore.word(descriptor + layout.usage as u64)?;
                    kcore.read(usage + layout.flags as u64, &mut bits)?;
                    blocks.extend((0..per_section).map(|block| layout.decode(&bits, block)));
                }
                _ => blocks.resize(blocks.len() + per_section, 0),
            }
        }
        blocks.truncate(number);
        Some(blocks)
    }
}

impl BlockLayout {
    /// One block's bits: migratetype in bits 0-2, compaction skip in bit 3, isolated in bit 4.
    fn decode(self, bits: &[u8], block: usize) -> u8 {
        let at = block * self.bits as usize;
        let raw = bits.get(at / 8).map_or(0, |byte| byte >> (at % 8));
        let raw = raw & if self.bits > 4 { 0x1f } else { 0xf };
        let isolated = self.isolate == Some(u64::from(raw & 7));
        // Where isolation is a type, what the block was before is not known; only movable blocks are isolated.
        if isolated { raw & 8 | 0x11 } else { raw }
    }
}

/// Address of each section's descriptor. Roots hold as many as fit into a page.
fn sections(kcore: &Kcore, table: u64, [roots, per_root, descriptor]: [u64; 3]) -> Vec<Option<u64>> {
    let mut sections = Vec::new();
    for root in 0..roots {
        let address = kcore.word(table.wrapping_add(8 * root)).filter(|address| *address != 0);
        let Some(address) = address else { continue };
        sections.resize((root * per_root) as usize, None);
        sections.extend((0..per_root).map(|section| Some(address + section * descriptor)));
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_four_or_eight_bits() {
        let old = BlockLayout { usage: 8, flags: 24, bits: 4, isolate: Some(4) };
        let seen: Vec<u8> = (0..4).map(|block| old.decode(&[0x91, 0xc2], block)).collect();
        assert_eq!(seen, [0x01, 0x09, 0x02, 0x19]);
        let new = BlockLayout { bits: 8, isolate: None, ..old };
        assert_eq!([new.decode(&[0x11, 0x0a], 0), new.decode(&[0x11, 0x0a], 1)], [0x11, 0x0a]);
    }
}
