//! What the reference model leaves out: lists beside a CPU, isolated blocks, marks that are computed anew. Only the
//! structural oracle judges it.

use super::Driver;
use pagealloc::*;

impl Driver {
    pub fn go_beyond_the_model(&mut self) {
        match self.rng.below(3) {
            0 => self.leave_cpu_beside(),
            1 => self.isolate_block(),
            _ => self.recompute(),
        }
    }

    fn leave_cpu_beside(&mut self) {
        let Some(beside) = self.beside else { return };
        let next = CpuId(self.rng.below(self.engine.nr_cpus() as u64) as u16);
        self.last = format!("{beside:?} goes to {next:?}");
        self.engine.leave_cpu_beside(beside, next);
    }

    fn isolate_block(&mut self) {
        let block = self.block();
        if self.engine.block_type(block) == Migratetype::HighAtomic {
            return;
        }
        self.last = format!("{block:?} is isolated");
        self.engine.set_block_type(block, Migratetype::Isolate);
    }

    /// Pages of isolated blocks count nowhere: before counting, no block may be.
    pub fn end_isolation(&mut self) {
        for block in (0..self.engine.frames.len() / self.engine.geometry.pageblock_pages()).map(BlockId) {
            if self.engine.block_type(block) == Migratetype::Isolate {
                self.engine.set_block_type(block, Migratetype::Movable);
            }
        }
    }

    fn recompute(&mut self) {
        let sysctl = &mut self.engine.policy.sysctl;
        sysctl.min_free_kbytes = Some(self.rng.below(1024) as u32);
        sysctl.watermark_scale_factor = 1 + self.rng.below(1000) as u32;
        self.last = format!("marks by {sysctl:?}");
        self.engine.recompute_watermarks();
    }
}
