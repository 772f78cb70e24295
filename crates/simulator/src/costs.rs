//! What things cost: the one place where the simulated computer's speed is said.
//!
//! Nanoseconds of CPU time unless a field says otherwise. Where a figure comes from stands beside it;
//! `docs/simulator.md` has the measurements.

use lab::{Speeds, TurnsByJob};
use mm::Nanos;

/// A cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Name of the calibration.
    pub name: &'static str,
    /// Share of each CPU that the machine gets from its host, in percent: the rest is stolen time. More than 100: it is as much
    /// faster than the machine that the costs are of.
    pub cpu_percent: u32,
    /// Share of each CPU of the machine that reading its trace takes, in percent.
    pub readers_percent: u32,
    /// What it takes a process to go on on a CPU that another one had.
    pub context_switch: Nanos,
    /// A system call that does nothing.
    pub syscall: Nanos,
    /// A page fault without its page: trap, page-table walk, accounting.
    pub fault: Nanos,
    /// Clearing a page.
    pub clear_page: Nanos,
    /// Copying a page: copy on write, reads and writes of files, pipes and sockets.
    pub copy_page: Nanos,
    /// A program's write to a page that is mapped already: the whole page, as scenarios write.
    pub write_page: Nanos,
    /// A program's read of a word of a page that is mapped already.
    pub read_word: Nanos,
    /// Handing out or freeing a page.
    pub page: Nanos,
    /// Finding a page of a file in the cache.
    pub file_lookup: Nanos,
    /// Putting a page into a file's cache.
    pub file_add: Nanos,
    /// `fork` without its page tables, and `exit`.
    pub fork: Nanos,
    /// Copying a page table with its entries at `fork`.
    pub copy_table: Nanos,
    /// Making a file: filesystem and journal.
    pub file_create: Nanos,
    /// Removing its name.
    pub file_remove: Nanos,
    /// Removing it from the filesystem, once its pages are gone.
    pub free_inode: Nanos,
    /// What giving back blocks on disk adds to that.
    pub free_blocks: Nanos,
    /// Walking a path whose names are in memory.
    pub lookup: Nanos,
    /// Searching a directory for a name that is not.
    pub lookup_miss: Nanos,
    /// Making a pipe, pair of sockets, or ring.
    pub handle: Nanos,
    /// A kernel object.
    pub object: Nanos,
    /// Handing a page to a device, and taking its answer.
    pub io_page: Nanos,
    /// What it takes to write a page of a file back besides: finding it a place on the disk, the journal's part, ending the write.
    pub write_back: Nanos,
    /// The disk: transfer of a page, delay of a request (time, not CPU time).
    pub disk: (Nanos, Nanos),
    /// The same of the swap device.
    pub swap: (Nanos, Nanos),
    /// Devices are virtio's, which say that they rotate whatever is behind them.
    pub virtio: bool,
    /// How long a folio that programs run from is out of all page tables while it is split (time, not CPU time).
    pub split_unmaps: Nanos,
    /// Reclaim and compaction.
    pub speeds: Speeds,
}

impl Costs {
    /// About a 3 GHz server core with an NVMe disk. Public orders of magnitude, not a machine that was measured.
    pub const BARE_METAL: Costs = Costs {
        name: "bare-metal",
        cpu_percent: 100,
        readers_percent: 0,
        // lat_ctx of lmbench has 1 to 2 us, of the milliseconds that a task has a CPU.
        context_switch: 0,
        // getpid of lmbench on mitigated kernels: 50 to 100 ns; with entry work of a real call 200.
        syscall: 200,
        // will-it-scale page_fault1: about 0.5 us a fault in one process, clearing included.
        fault: 400,
        // `rep stosb` at some 40 GB/s from cache, 10 from memory: 100 to 400 ns.
        clear_page: 150,
        copy_page: 300,
        write_page: 150,
        read_word: 5,
        // page_bench and netdev measurements of alloc plus free of order 0: 50 to 100 ns.
        page: 40,
        // Buffered read of cached data in 4 KiB pieces: about 1 M IOPS with the copy.
        file_lookup: 100,
        file_add: 200,
        // lmbench fork+exit of a small static process: 50 to 100 us both.
        fork: 30_000,
        // 512 entries at about 10 ns each.
        copy_table: 5_000,
        // fs_mark with empty files on ext4: some 100,000 files/s a core.
        file_create: 8_000,
        // As long as making one, all told.
        file_remove: 8_000,
        free_inode: 0,
        free_blocks: 0,
        // lmbench stat of a cached path, and of a name that ext4 has to search a directory block for.
        lookup: 500,
        lookup_miss: 3_000,
        handle: 3_000,
        object: 50,
        io_page: 300,
        // Within what a program pays for writing.
        write_back: 0,
        // NVMe: 2 GB/s, 80 us.
        disk: (2_000, 80_000),
        swap: (2_000, 80_000),
        virtio: false,
        // Up to 768 entries of 16 processes at some 50 ns, and other CPUs' TLBs flushed: an estimate.
        split_unmaps: 50_000,
        speeds: Speeds { swap_write: 2_000, ..Speeds::BARE_METAL },
    };

    /// The same machine with pages of so many bytes: what fills or copies a page, or goes through a table of entries, takes as much longer.
    #[must_use]
    pub fn with_pages_of(mut self, bytes: u64) -> Costs {
        let times = bytes / 4096;
        for cost in [&mut self.clear_page, &mut self.copy_page, &mut self.write_page, &mut self.copy_table] {
            *cost *= times;
        }
        self.speeds.migrate *= times;
        self
    }

    /// The recorded guests: QEMU's TCG on two shared cores, all page events traced. Measured on `m512lru-d0-s21` and
    /// `m512lru-d1-s21`.
    pub const TCG: Costs = Costs {
        name: "tcg",
        // What the host leaves while a guest's task works: median by mean of the times between two anonymous faults in a row, 0.36
        // to 0.68 on six recordings, 0.495 in the median.
        cpu_percent: 50,
        // `/proc/PID/task/TID/schedstat` at the end of a run of 6.18: our recorder had 3.5 %.
        readers_percent: 3,
        // New page tables empty the emulated TLB. Where one task in a row of faults takes over from another at once, its first fault
        // comes 113 to 121 us after the last one of the other (first deciles of five recordings; 13 us of it are the fault), and the
        // twenty after it take 46 to 51 us more than usual.
        context_switch: 140_000,
        syscall: 5_000,
        // A huge page is cleared and written in 6.2 ms at least: 12 us each 4 KiB, half of it for either. A fault of 4 KiB
        // with clearing and writing follows the last one by 10 to 13 us: 2 + 2 us are left for the rest.
        fault: 2_000,
        clear_page: 4_500,
        // A copy on write follows the last one by 24 to 28 us, a page in a pipe by 14 to 17, in a file that is written by 17 to 19
        // (medians, as the 13 us of a fault are).
        copy_page: 14_000,
        write_page: 4_500,
        read_word: 100,
        page: 2_000,
        file_lookup: 4_000,
        // Pages read ahead follow each other by 9 to 13 us, written ones by 17 to 21 us a page at any order.
        file_add: 6_000,
        fork: 800_000,
        copy_table: 60_000,
        // Small files with eight names looked up in vain each are made 229 to 236 us apart (first quartiles: longer ones were interrupted).
        file_create: 60_000,
        // Threads that replace files have their first event after a sleep no later if it is a removed file's first page that goes than
        // if it is a read one's that comes. The first page of the new file comes 552 to 608 us after the last one of the old is gone
        // (first quartiles of five recordings), whatever that one's size.
        file_remove: 60_000,
        free_inode: 60_000,
        free_blocks: 380_000,
        // 965,000 operations on names, pipes and sockets in 165 s by one task with about half a CPU; the shares are guesses.
        lookup: 5_000,
        lookup_miss: 10_000,
        handle: 75_000,
        object: 1_000,
        io_page: 5_000,
        // Workers of writeback and ext4, kblockd and jbd2 had 34.5 and 68.8 us of a CPU for each page written (`schedstat` over 46 and 78 s
        // of two guests of 6.18; `nr_written`). Times what the host left these, as their faults tell, that is 12.5 and 20.8 us.
        write_back: 14_000,
        // Both are of one kind. In its busiest second a guest wrote 21,500 pages (`nr_written`), 10,400 of them to swap; reads are
        // served from the host's page cache.
        disk: (30_000, 150_000),
        swap: (46_500, 150_000),
        virtio: true,
        // 10 to 100 ms in a guest of 6.18 (docs/experiments-kbuild.md).
        split_unmaps: 50_000_000,
        speeds: Speeds {
            // Elapsed time a page of steps that nobody else had a turn in, as replays measure it, times the 0.495 above: medians of
            // ten recordings (12.6, 4.65, 0.395, 0.71 and 24 us), which lie within a factor of two of them.
            shrink: 6_200,
            shrink_folio: 0,
            shrink_anon: 6_200,
            // kswapd pays a third of what a task does: 64 pages at once, and it goes on where it was.
            shrink_kswapd: 2_300,
            shrink_kswapd_folio: 0,
            shrink_kswapd_anon: 2_300,
            turns: TurnsByJob::NONE,
            kswapd_latency: None,
            failed_request: 20_000,
            scan_migrate: 195,
            scan_free: 350,
            migrate: 11_900,
            slab: 200,
            swap_write: 46_500,
            lock_contention: 2_200,
            rmap_contention: 0,
            busy_pages: 107,
        },
    };

    /// An anonymous fault of order 0 with its page cleared and written to, on a CPU that the machine has for itself.
    fn whole_fault(&self) -> Nanos {
        self.fault + self.page + self.clear_page + self.write_page
    }

    /// The same of a machine where such a fault takes so long. Its disks are as much slower or faster: emulated ones are work of
    /// the same host.
    pub fn as_fast_as(mut self, fault: Nanos) -> Costs {
        let percent = (self.whole_fault() * 100 / fault.max(1)).clamp(1, 10_000);
        let device = |(page, delay)| [page, delay].map(|time| time * u64::from(self.cpu_percent) / percent).into();
        (self.disk, self.swap) = (device(self.disk), device(self.swap));
        Costs { cpu_percent: percent as u32, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorded guests had half of each CPU: a fault of 13 us took 26, and their disks had their speed as they were.
    #[test]
    fn a_machine_is_as_fast_as_its_faults() {
        assert_eq!(Costs::TCG.whole_fault(), 13_000);
        let like = |fault| Costs::TCG.as_fast_as(fault);
        assert_eq!(like(26_000), Costs::TCG);
        let twice = like(13_000);
        assert_eq!((twice.cpu_percent, twice.disk, twice.swap), (100, (15_000, 75_000), (23_250, 75_000)));
        let half = like(52_000);
        assert_eq!((half.cpu_percent, half.disk), (25, (60_000, 300_000)));
        assert_eq!([0, u64::MAX].map(|fault| like(fault).cpu_percent), [10_000, 1], "within bounds");
    }

    #[test]
    fn larger_pages_cost_as_much_more_where_they_are_gone_through() {
        let (small, large) = (Costs::BARE_METAL, Costs::BARE_METAL.with_pages_of(16 << 10));
        let gone_through = |of: Costs| [of.clear_page, of.copy_page, of.write_page, of.copy_table, of.speeds.migrate];
        assert_eq!(gone_through(large), gone_through(small).map(|cost| 4 * cost));
        assert_eq!((large.fault, large.page, large.file_add), (small.fault, small.page, small.file_add));
        assert_eq!(small.with_pages_of(4096), small);
    }
}
