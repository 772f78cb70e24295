//! *What do tests ask for?* Random operations.

use workload::{Access, Advice, FileId, FileMapping, GfpClass, HandleId, Op, RegionId};

/// Xorshift: the tests' own random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn op(&mut self) -> Op {
        let region = RegionId(self.below(6) as u32);
        let file = FileId(self.below(40) as u32);
        let handle = HandleId(self.below(8) as u32);
        let (offset, bytes) = (self.below(700) * 4096, (self.below(600) + 1) * 4096);
        let access = if self.below(4) == 0 { Access::Read } else { Access::Write };
        match self.below(26) {
            0 | 1 => Op::Map { region, bytes: (self.below(2000) + 1) * 4096 },
            2 => {
                let advice = [Advice::HugePage, Advice::NoHugePage, Advice::DontNeed][self.below(3) as usize];
                Op::Advise { region, advice }
            }
            3..=8 => Op::Touch { region, offset, bytes, access },
            9 => Op::Unmap { region, offset, bytes },
            10 => Op::Create { file },
            11 | 12 => Op::Write { file, offset: offset / 8, bytes: bytes / 4 },
            13 | 14 => Op::Read { file, offset: offset / 8, bytes: bytes / 4 },
            15 => Op::Unlink { file },
            16 => Op::Sync { file },
            17 => Op::Pipe { handle, bytes: bytes / 32 },
            18 => Op::Socket { handle, bytes: bytes / 16 },
            19 => Op::Ring { handle, order: self.below(4) as u8, blocks: 2 },
            20 => Op::Close { handle },
            21 => match self.below(8) {
                0 => Op::DropCaches,
                1 => Op::SyncAll,
                2..=4 => Op::KernelPages { handle, order: self.below(5) as u8, gfp: GfpClass::Kernel, count: 2 },
                _ => Op::Open { handle, file },
            },
            22..=24 => {
                let mapping = FileMapping::ALL[self.below(4) as usize];
                Op::MapFile { region, file, bytes: (self.below(250) + 1) * 4096, mapping }
            }
            _ => Op::Lookup { name: self.below(2_000), count: 16 },
        }
    }

    /// Ranges of 2 MiB, of which parts come and go.
    pub fn op_on_huge_pages(&mut self) -> Op {
        self.op_on_ranges(8, 2 << 20)
    }

    pub fn op_on_larger_huge_pages(&mut self) -> Op {
        self.op_on_ranges(4, 32 << 20)
    }

    fn op_on_ranges(&mut self, ranges: u64, size: u64) -> Op {
        let region = RegionId(self.below(4) as u32);
        let page = size / 512;
        let (offset, bytes) = (self.below(ranges - 2) * size, (self.below(512) + 1) * page);
        match self.below(14) {
            0..=2 => Op::Map { region, bytes: ranges * size },
            3 => Op::Advise { region, advice: [Advice::NoHugePage, Advice::DontNeed][self.below(2) as usize] },
            4 | 5 => Op::Unmap { region, offset: offset + self.below(512) * page, bytes },
            6 => Op::Create { file: FileId(1) },
            7 => Op::Write { file: FileId(1), offset: 0, bytes: 24 << 20 },
            8 => Op::Touch { region, offset, bytes, access: Access::Read },
            _ => Op::Touch { region, offset, bytes, access: Access::Write },
        }
    }
}

/// What chooses operations.
pub type NextOp = fn(&mut Random) -> Op;
