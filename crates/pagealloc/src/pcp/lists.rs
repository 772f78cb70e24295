//! One CPU's lists of a zone: how many pages they may hold, and how many come and go at a time (5.1, 5.4 to 5.8).

use crate::frames::FrameList;
use crate::ids::{Order, PAGE_ALLOC_COSTLY_ORDER};
use crate::migratetype::NR_PCP_TYPES;
use crate::policy::{PcpEmpties, PcpHigh};

/// Lists below the huge page lists: three types times orders 0 to 3 (5.1).
pub(super) const FIRST_THP_LIST: usize = NR_PCP_TYPES * (PAGE_ALLOC_COSTLY_ORDER as usize + 1);
/// All lists of one CPU in one zone.
pub(crate) const NR_PCP_LISTS: usize = FIRST_THP_LIST + 2;
/// `PCP_BATCH_SCALE_MAX`: amounts scale up to 32 batches.
pub(crate) const BATCH_SCALE_MAX: u8 = 5;

/// One CPU's lists of a zone, and how they are tuned (5.4).
#[derive(Clone, Default)]
pub(crate) struct Pcp {
    /// Base pages on all lists, and on those of whoever works beside this CPU.
    pub count: u32,
    /// Current limit.
    pub high: u32,
    pub high_min: u32,
    pub high_max: u32,
    pub batch: u32,
    /// Pages freed lately, halved by each allocation.
    pub free_count: u32,
    /// Refills double while a CPU only allocates (6.7+).
    pub alloc_factor: u8,
    /// Drains double while a CPU only frees (5.14 to 6.6).
    pub free_factor: u8,
    /// The previous page freed was of order 1 to 3.
    pub freed_high_order: bool,
    /// Ticks until a remote zone's lists are emptied (5.11).
    pub expire: u8,
    /// `count` at the previous tick.
    pub count_at_tick: u32,
    pub lists: [FrameList; NR_PCP_LISTS],
}

impl Pcp {
    /// A page is handed out by a request of its own: what is known of the CPU's frees fades (5.5).
    #[inline(always)]
    pub fn forget_frees(&mut self) {
        self.free_count >>= 1;
        self.free_factor >>= 1;
    }

    /// Whether `high` moves between its bounds (5.6).
    #[inline(always)]
    fn is_auto_tuned(&self) -> bool {
        self.high_min != self.high_max
    }

    #[inline(always)]
    fn clamped_high(&self) -> u32 {
        clamp(self.high, self.high_min, self.high_max)
    }

    /// Pages to refill an empty list with (5.6).
    pub fn alloc_batch(&mut self, order: Order, rule: PcpHigh, below_high: bool) -> u32 {
        let n = match rule {
            PcpHigh::SixBatches => return self.batch,
            PcpHigh::LowWatermark => self.batch,
            PcpHigh::AutoTuned => self.tuned_alloc_batch(order, below_high),
        };
        if n > 1 { (n >> order).max(2) } else { n }
    }

    fn tuned_alloc_batch(&mut self, order: Order, below_high: bool) -> u32 {
        self.high = self.clamped_high();
        if self.high < self.batch {
            return 1;
        }
        let mut n = if order == 0 { self.batch << self.alloc_factor } else { self.batch };
        if self.is_auto_tuned() && !below_high {
            self.high = (self.high + n).min(self.high_max);
        }
        if order == 0 {
            let room = self.high.saturating_sub(self.count + self.batch).max(self.batch);
            if n <= room && self.alloc_factor < BATCH_SCALE_MAX {
                self.alloc_factor += 1;
            }
            n = n.min(room);
        }
        n
    }

    /// Whether a free of this order shall empty the lists: a long run of high-order frees (5.7). The CPU's cache is
    /// taken to be large enough for `FREE_HIGH_BATCH`.
    #[inline(always)]
    pub fn frees_high_orders(&mut self, order: Order, rule: PcpEmpties) -> bool {
        let high_order = (1..=PAGE_ALLOC_COSTLY_ORDER).contains(&order);
        let many = self.batch + if rule == PcpEmpties::AfterBatchAndHalfHighMin { self.high_min / 2 } else { 0 };
        let run = high_order && self.freed_high_order && self.free_count >= many && self.count >= self.batch;
        self.freed_high_order = high_order;
        run
    }

    /// The limit that `count` is compared with, after retuning (5.8).
    #[inline(always)]
    pub fn effective_high(&mut self, free_high: bool, reclaim_active: bool, below_high: bool) -> u32 {
        let high = self.clamped_high();
        if high == 0 {
            return 0;
        }
        if free_high {
            self.high = high.saturating_sub(self.batch << BATCH_SCALE_MAX).max(self.high_min);
            return 0;
        }
        if reclaim_active {
            self.high = high.saturating_sub(self.free_count.max(self.batch)).max(self.high_min);
            return (self.batch << 2).min(self.high);
        }
        if !self.is_auto_tuned() {
            return high;
        }
        if below_high {
            self.high = high.saturating_sub(self.free_count.max(self.batch)).max(self.high_min);
            return self.count.max(self.high_min);
        }
        let needed = self.free_count + self.batch;
        if self.count >= high && self.high < needed {
            self.high = clamp(needed, self.high_min, self.high_max);
        }
        high
    }

    /// Pages to drain once the limit is reached (5.9).
    pub fn amount_to_free(&self, high: u32, free_high: bool) -> u32 {
        if free_high {
            return self.count.min(self.batch << BATCH_SCALE_MAX);
        }
        if high < self.batch {
            return 1;
        }
        clamp(self.free_count, self.batch, high - self.batch)
    }

    /// The same in 5.14 to 6.6 (5.14).
    pub fn amount_to_free_doubling(&mut self, high: u32, free_high: bool) -> u32 {
        if free_high {
            return self.count;
        }
        if high < self.batch {
            return 1;
        }
        let most = high - self.batch;
        let n = self.batch << self.free_factor;
        if n < most {
            self.free_factor += 1;
        }
        clamp(n, self.batch, most)
    }
}

/// Clamp as the kernel has it, which asks for the upper bound first: the bounds cross where `min_free_kbytes` is large.
#[inline(always)]
fn clamp(n: u32, low: u32, high: u32) -> u32 {
    if n >= high { high } else { n.max(low) }
}
