//! The end of a write: a file that has grown is given its size once its pages are on disk, in a transaction of its own, by a worker
//! (`xfs_end_io`). So what these transactions take lies apart from what the flusher's take.

use crate::files::writeback::KERNEL;
use crate::sim::Sim;
use crate::state::xfs::Logged;
use mm::{Env, Nanos};

impl Sim {
    /// The flusher has sent a file's pages to the disk. How many files wait for it follows the scale, as does how many a checkpoint has: the
    /// disk's queue does not.
    pub(crate) fn file_will_be_written(&self, file: u32) {
        let now = self.env().now();
        let ready = now + self.spec.scale.of(self.env().disk().idle_at().saturating_sub(now));
        self.being_written.borrow_mut().push_back((ready, file));
        self.wake_at(&self.end_worker);
    }

    /// The worker.
    pub(crate) async fn end_writes_forever(&self) {
        loop {
            let first = self.being_written.borrow().front().map(|&(ready, _)| ready);
            match first {
                Some(ready) => self.env().sleep_until(ready).await,
                None => self.sleep_at(&self.end_worker, None).await,
            }
            self.end_writes().await;
        }
    }

    /// Ends the writes that are done.
    pub(crate) async fn end_writes(&self) {
        let now = self.env().now();
        while let Some(file) = self.written_file(now) {
            self.log_inode(KERNEL, file, Logged::Core).await;
        }
    }

    fn written_file(&self, now: Nanos) -> Option<u32> {
        let mut writes = self.being_written.borrow_mut();
        writes.pop_front_if(|&mut (ready, _)| ready <= now).map(|(_, file)| file)
    }
}
