//! One thread a CPU that moves ring-buffer pages to a file.
//!
//! Pages are read, not spliced: reading takes them from the ring buffer in exchange for one spare page, while splicing
//! allocates a page for every page moved, which would be the recorder's own traffic in what it records. The reader
//! sleeps between rounds for as long as the buffer's fill allows, since waking with every event costs more than
//! everything else.

use super::error::RecordError;
use super::store::{AlignedBuffer, Store};
use super::tracefs::RawPipe;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What a reader collects before it writes.
const BATCH: usize = 256 << 10;
/// How long a reader sleeps at least and at most.
const SLEEP: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));
/// Priority of the readers: the load that is recorded must not keep them from running.
const NICE: i32 = -15;

/// What the threads of a recording share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Tracing is off: read what is left and end.
    pub(crate) drain: AtomicBool,
    /// Bytes of pages written so far.
    pub(crate) bytes: AtomicU64,
    /// Whether something failed.
    pub(crate) failed: AtomicBool,
    /// What failed first.
    failure: Mutex<Option<RecordError>>,
}

impl Shared {
    /// Notes a failure; the first one counts.
    pub(crate) fn fail(&self, error: RecordError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
        self.failed.store(true, Ordering::Release);
    }

    /// Takes what failed.
    pub(crate) fn take_failure(&self) -> Option<RecordError> {
        self.failure.lock().ok()?.take()
    }
}

/// A CPU's ring buffer and the file for its pages.
#[derive(Debug)]
pub(crate) struct Reader {
    pipe: RawPipe,
    store: Store,
    buffer: AlignedBuffer,
    page_size: usize,
    /// Pages that the ring buffer holds.
    capacity: usize,
}

impl Reader {
    /// A reader of a CPU's raw pipe.
    pub(crate) fn new(pipe: RawPipe, file: &Path, page_size: usize, ring: u64) -> Result<Self, RecordError> {
        let batch = BATCH.next_multiple_of(page_size);
        Ok(Self {
            pipe,
            store: Store::create(file)?,
            buffer: AlignedBuffer::new(batch),
            page_size,
            capacity: (ring as usize / page_size).max(1),
        })
    }

    /// Reads until tracing is off and nothing is left; what failed is noted in `shared`.
    pub(crate) fn run(mut self, shared: &Shared) {
        // Best effort: without the right to, the usual priority has to do.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
        if let Err(error) = self.read_all(shared) {
            shared.fail(error);
        }
    }

    fn read_all(&mut self, shared: &Shared) -> Result<(), RecordError> {
        let mut sleep = SLEEP.0;
        let mut filled = 0;
        loop {
            // Asked before reading: what was written before tracing went off is then read for certain.
            let last_round = shared.drain.load(Ordering::Acquire);
            let mut pages = 0;
            while self.read_page(&mut filled)? {
                pages += 1;
                if filled == self.buffer.bytes().len() {
                    self.flush(&mut filled, shared)?;
                }
            }
            if last_round {
                return self.flush(&mut filled, shared);
            }
            sleep = next_sleep(sleep, pages, self.capacity);
            std::thread::sleep(sleep);
        }
    }

    /// Reads one page behind the others; false if there is none now.
    fn read_page(&mut self, filled: &mut usize) -> Result<bool, RecordError> {
        let place = &mut self.buffer.bytes()[*filled..*filled + self.page_size];
        match self.pipe.file.read(place) {
            Ok(0) => Ok(false),
            Ok(size) => {
                // A page may be cut behind its entries; in the file, all pages are whole.
                place[size..].fill(0);
                *filled += self.page_size;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(RecordError::tracefs(&self.pipe.path, "reading")(error)),
        }
    }

    fn flush(&mut self, filled: &mut usize, shared: &Shared) -> Result<(), RecordError> {
        if *filled > 0 {
            self.store.write(&self.buffer.bytes()[..*filled])?;
            shared.bytes.fetch_add(*filled as u64, Ordering::Relaxed);
            *filled = 0;
        }
        Ok(())
    }
}

/// How long to sleep after a round of this many pages, so that the next finds between 16 pages and an eighth of the
/// ring buffer.
fn next_sleep(sleep: Duration, pages: usize, capacity: usize) -> Duration {
    let next = if pages * 8 > capacity {
        sleep / 2
    } else if pages < 16 {
        sleep * 2
    } else {
        sleep
    };
    next.clamp(SLEEP.0, SLEEP.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn readers_sleep_less_when_there_is_much() {
        let (short, long) = SLEEP;
        assert_eq!(next_sleep(long, 1000, 1024), long / 2);
        assert_eq!(next_sleep(short, 1000, 1024), short);
        assert_eq!(next_sleep(long / 2, 0, 1024), long);
        assert_eq!(next_sleep(long, 0, 1024), long);
        assert_eq!(next_sleep(long / 2, 20, 1024), long / 2);
    }

    #[test]
    fn pages_reach_the_file_whole() {
        let directory = tempfile::tempdir().unwrap();
        let raw = directory.path().join("raw");
        // A file stands in for the pipe; its last page is cut.
        std::fs::write(&raw, [vec![1; 4096], vec![2; 100]].concat()).unwrap();
        let file = directory.path().join("trace.dat.cpu0");
        let pipe = RawPipe { file: File::open(&raw).unwrap(), path: raw };
        let reader = Reader::new(pipe, &file, 4096, 1 << 20).unwrap();
        let shared = Shared { drain: true.into(), ..Shared::default() };
        reader.run(&shared);
        assert!(shared.take_failure().is_none());
        assert_eq!(shared.bytes.load(Ordering::Relaxed), 8192);
        let read = std::fs::read(&file).unwrap();
        assert_eq!((read.len(), read[4095], read[4195], read[4196]), (8192, 1, 2, 0));
    }
}
