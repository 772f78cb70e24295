//! An operation as numbers: the one place that says what each consists of. Saved streams and digests are both made of these.

use crate::op::MEETINGS;
use crate::{Access, Advice, FileId, FileMapping, GfpClass, HandleId, Op, RegionId, Spawn, TaskId};

/// Most operands that an operation has.
pub const MAX_OPERANDS: usize = 4;

/// An operation taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words {
    /// Its place in [`FORMS`].
    pub code: usize,
    /// Its operands; those that it lacks are 0.
    pub operands: [u64; MAX_OPERANDS],
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A number up to this one.
    Number(u64),
    /// A task or seed: any 64 bits, written in hexadecimal digits.
    Bits,
    /// One of these words, by its place.
    Word(&'static [&'static str]),
}

/// How an operation looks.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name in a saved stream.
    pub name: &'static str,
    /// Its operands in order.
    pub operands: &'static [Operand],
}

const ID: Operand = Operand::Number(u32::MAX as u64);
/// Order of an allocation.
const ORDER: Operand = Operand::Number(pagealloc::MAX_ORDER_LIMIT as u64);
const ROLE: Operand = Operand::Number(u16::MAX as u64);
/// Sizes, offsets and times: what fits a signed 64-bit number of a system call.
const SIZE: Operand = Operand::Number(i64::MAX as u64);
const ADVICE: Operand = Operand::Word(&["hugepage", "nohugepage", "dontneed"]);
const GFP: Operand = Operand::Word(&["kernel", "nofs", "nowait", "atomic", "highuser_movable", "transhuge"]);
const ACCESS: Operand = Operand::Word(&["read", "write"]);
const MAPPING: Operand = Operand::Word(&["exec", "read", "private", "shared"]);

/// All operations. An operation's code is its place here; new ones are added at the end, so that digests stay.
pub const FORMS: [Form; 31] = [
    form("map", &[ID, SIZE]),
    form("advise", &[ID, ADVICE]),
    form("touch", &[ID, SIZE, SIZE, ACCESS]),
    form("unmap", &[ID, SIZE, SIZE]),
    form("fork", &[Operand::Bits, ROLE, SIZE, Operand::Bits]),
    form("wait", &[]),
    form("create", &[ID]),
    form("write", &[ID, SIZE, SIZE]),
    form("read", &[ID, SIZE, SIZE]),
    form("sync", &[ID]),
    form("unlink", &[ID]),
    form("lookup", &[SIZE, ID]),
    form("pipe", &[ID, SIZE]),
    form("socket", &[ID, SIZE]),
    form("ring", &[ID, ORDER, ID]),
    form("close", &[ID]),
    form("sleep", &[SIZE]),
    form("pace", &[SIZE]),
    form("compute", &[SIZE]),
    form("begin", &[ROLE]),
    form("end", &[]),
    form("mark", &[ROLE]),
    form("open", &[ID, ID]),
    form("meet", &[Operand::Number(MEETINGS as u64 - 1), ID]),
    form("kernel_pages", &[ID, ORDER, GFP, ID]),
    form("drop_caches", &[]),
    form("sync_all", &[]),
    form("for", &[ROLE, SIZE]),
    form("done", &[]),
    form("create_many", &[ID, ID, ID]),
    form("map_file", &[ID, ID, SIZE, MAPPING]),
];

const fn form(name: &'static str, operands: &'static [Operand]) -> Form {
    Form { name, operands }
}

impl Words {
    fn new<const N: usize>(code: usize, given: [u64; N]) -> Words {
        let mut operands = [0; MAX_OPERANDS];
        operands[..N].copy_from_slice(&given);
        Words { code, operands }
    }
}

impl From<&Op> for Words {
    fn from(op: &Op) -> Words {
        match *op {
            Op::Map { region, bytes } => Words::new(0, [region.0.into(), bytes]),
            Op::Advise { region, advice } => Words::new(1, [region.0.into(), advice as u64]),
            Op::Touch { region, offset, bytes, access } => {
                Words::new(2, [region.0.into(), offset, bytes, access as u64])
            }
            Op::Unmap { region, offset, bytes } => Words::new(3, [region.0.into(), offset, bytes]),
            Op::Fork(Spawn { task, role, argument, seed }) => Words::new(4, [task.0, role.into(), argument, seed]),
            Op::Wait => Words::new(5, []),
            Op::Create { file } => Words::new(6, [file.0.into()]),
            Op::Write { file, offset, bytes } => Words::new(7, [file.0.into(), offset, bytes]),
            Op::Read { file, offset, bytes } => Words::new(8, [file.0.into(), offset, bytes]),
            Op::Sync { file } => Words::new(9, [file.0.into()]),
            Op::Unlink { file } => Words::new(10, [file.0.into()]),
            Op::Lookup { name, count } => Words::new(11, [name, count.into()]),
            Op::Pipe { handle, bytes } => Words::new(12, [handle.0.into(), bytes]),
            Op::Socket { handle, bytes } => Words::new(13, [handle.0.into(), bytes]),
            Op::Ring { handle, order, blocks } => Words::new(14, [handle.0.into(), order.into(), blocks.into()]),
            Op::Close { handle } => Words::new(15, [handle.0.into()]),
            Op::Sleep { nanos } => Words::new(16, [nanos]),
            Op::Pace { nanos } => Words::new(17, [nanos]),
            Op::Compute { nanos } => Words::new(18, [nanos]),
            Op::Begin { label } => Words::new(19, [label.into()]),
            Op::End => Words::new(20, []),
            Op::Mark { label } => Words::new(21, [label.into()]),
            Op::Open { handle, file } => Words::new(22, [handle.0.into(), file.0.into()]),
            Op::Meet { number, tasks } => Words::new(23, [number.into(), tasks.into()]),
            Op::KernelPages { handle, order, gfp, count } => {
                Words::new(24, [handle.0.into(), order.into(), gfp as u64, count.into()])
            }
            Op::DropCaches => Words::new(25, []),
            Op::SyncAll => Words::new(26, []),
            Op::For { label, nanos } => Words::new(27, [label.into(), nanos]),
            Op::Done => Words::new(28, []),
            Op::CreateMany { directory, first, count } => {
                Words::new(29, [directory.into(), first.into(), count.into()])
            }
            Op::MapFile { region, file, bytes, mapping } => {
                Words::new(30, [region.0.into(), file.0.into(), bytes, mapping as u64])
            }
        }
    }
}

impl Words {
    /// The operation; `None` if the code or an operand is beyond what [`FORMS`] allows.
    pub fn op(&self) -> Option<Op> {
        let form = FORMS.get(self.code)?;
        let fits = |(operand, value): (&Operand, &u64)| match operand {
            Operand::Number(most) => value <= most,
            Operand::Bits => true,
            Operand::Word(words) => *value < words.len() as u64,
        };
        form.operands.iter().zip(&self.operands).all(fits).then(|| self.assemble())
    }

    /// The operation, its operands being in range.
    fn assemble(&self) -> Op {
        let [a, b, c, d] = self.operands;
        let (region, file, handle) = (RegionId(a as u32), FileId(a as u32), HandleId(a as u32));
        match self.code {
            0 => Op::Map { region, bytes: b },
            1 => Op::Advise { region, advice: [Advice::HugePage, Advice::NoHugePage, Advice::DontNeed][b as usize] },
            2 => Op::Touch { region, offset: b, bytes: c, access: [Access::Read, Access::Write][d as usize] },
            3 => Op::Unmap { region, offset: b, bytes: c },
            4 => Op::Fork(Spawn { task: TaskId(a), role: b as u16, argument: c, seed: d }),
            5 => Op::Wait,
            6 => Op::Create { file },
            7 => Op::Write { file, offset: b, bytes: c },
            8 => Op::Read { file, offset: b, bytes: c },
            9 => Op::Sync { file },
            10 => Op::Unlink { file },
            11 => Op::Lookup { name: a, count: b as u32 },
            12 => Op::Pipe { handle, bytes: b },
            13 => Op::Socket { handle, bytes: b },
            14 => Op::Ring { handle, order: b as u8, blocks: c as u32 },
            15 => Op::Close { handle },
            16 => Op::Sleep { nanos: a },
            17 => Op::Pace { nanos: a },
            18 => Op::Compute { nanos: a },
            19 => Op::Begin { label: a as u16 },
            20 => Op::End,
            21 => Op::Mark { label: a as u16 },
            22 => Op::Open { handle, file: FileId(b as u32) },
            23 => Op::Meet { number: a as u16, tasks: b as u32 },
            24 => Op::KernelPages { handle, order: b as u8, gfp: GfpClass::ALL[c as usize], count: d as u32 },
            25 => Op::DropCaches,
            26 => Op::SyncAll,
            27 => Op::For { label: a as u16, nanos: b },
            28 => Op::Done,
            29 => Op::CreateMany { directory: a as u32, first: b as u32, count: c as u32 },
            _ => Op::MapFile { region, file: FileId(b as u32), bytes: c, mapping: FileMapping::ALL[d as usize] },
        }
    }

    /// Feeds code and operands to a digest.
    pub fn fold(&self, digest: &mut lab::Digest) {
        digest.fold(self.code as u64);
        for operand in &self.operands[..FORMS[self.code].operands.len()] {
            digest.fold(*operand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_an_operation_and_back() {
        for (code, form) in FORMS.iter().enumerate() {
            let mut words = Words { code, operands: [0; MAX_OPERANDS] };
            for (value, operand) in words.operands.iter_mut().zip(form.operands) {
                *value = match operand {
                    Operand::Number(most) => *most,
                    Operand::Bits => u64::MAX - 7,
                    Operand::Word(words) => words.len() as u64 - 1,
                };
            }
            let op = words.op().unwrap_or_else(|| panic!("{} is an operation", form.name));
            assert_eq!(Words::from(&op), words, "{}", form.name);
        }
    }

    #[test]
    fn operands_out_of_range_are_refused() {
        assert_eq!(Words::new(0, [1 << 32, 1]).op(), None);
        assert_eq!(Words::new(1, [0, 3]).op(), None);
        assert_eq!(Words::new(FORMS.len(), []).op(), None);
    }
}
