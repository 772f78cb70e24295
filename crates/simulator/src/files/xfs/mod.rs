//! XFS: how its metadata (buffers, directories, log items, inodes) comes into memory, is logged and written: format version 5. What is known of it as of
//! 2016, and what guests of 6.1 to 6.18 and the tree of 6.18.15 tell (`XfsRules`).
//!
//! A directory grows by data blocks, filled from the front, and by leaf blocks that hold hashes in order. What a transaction
//! changes in a block is logged as a run of 128-byte chunks that begins at the first change since the block was last written
//! and ends at the last one; the copy of it that the log keeps in memory (log vector) is one piece of memory, taken by
//! `kmem_alloc`, for which 64 KiB blocks need orders up to 5. Blocks themselves are arrays of single pages, since 6.15 folios.

mod create;
mod ends;
mod files;
mod inodes;
mod log;
#[cfg(test)]
mod tests;

use mm::Nanos;

/// `congestion_wait(BLK_RW_ASYNC, HZ/50)` between two attempts at memory, and attempts between two messages.
const RETRY: Nanos = 20_000_000;
const ATTEMPTS_A_MESSAGE: u64 = 100;
/// How often a log's worker writes everything (`xfssyncd_centisecs`).
const SYNC: Nanos = 30_000_000_000;
