//! Which stacks do CPUs keep?

use crate::state::folio::FolioId;
use pagealloc::CpuId;

/// Stacks that a CPU keeps (`NR_CACHED_STACKS`).
const CACHED: usize = 2;

/// Stacks that CPUs keep for the next tasks that they start (`cached_stacks`).
#[derive(Default)]
pub(crate) struct CachedStacks(Vec<Vec<Vec<FolioId>>>);

impl CachedStacks {
    fn of(&mut self, cpu: CpuId) -> &mut Vec<Vec<FolioId>> {
        if self.0.len() <= cpu.index() {
            self.0.resize_with(cpu.index() + 1, Vec::new);
        }
        &mut self.0[cpu.index()]
    }

    pub fn take(&mut self, cpu: CpuId) -> Option<Vec<FolioId>> {
        self.of(cpu).pop()
    }

    /// Keeps a stack, or gives it back if there are enough.
    pub fn keep(&mut self, cpu: CpuId, stack: Vec<FolioId>) -> Option<Vec<FolioId>> {
        let kept = self.of(cpu);
        if stack.is_empty() || kept.len() >= CACHED {
            return Some(stack);
        }
        kept.push(stack);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_keeps_two_stacks() {
        let mut stacks = CachedStacks::default();
        let [one, two, three] = [1, 2, 3].map(|id| vec![FolioId(id)]);
        assert_eq!(stacks.keep(CpuId(1), Vec::new()), Some(Vec::new()), "nothing");
        assert_eq!(stacks.keep(CpuId(1), one), None);
        assert_eq!(stacks.keep(CpuId(1), two.clone()), None);
        assert_eq!(stacks.keep(CpuId(1), three.clone()), Some(three));
        assert_eq!(stacks.take(CpuId(0)), None);
        assert_eq!(stacks.take(CpuId(1)), Some(two));
    }
}
