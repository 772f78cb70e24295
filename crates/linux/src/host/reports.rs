//! How tasks' reports reach the process that started the run: through one pipe, in messages that the kernel keeps whole.

use rustix::io::{Errno, read, write};
use rustix::pipe::{PIPE_BUF, PipeFlags, pipe_with};
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use workload::TaskReport;

/// Message header: task, length of the whole report, offset of this piece.
const HEADER: usize = 16;
/// Report bytes of one message. A write of at most `PIPE_BUF` bytes is never mixed with another, nor cut by a signal.
const PIECE: usize = PIPE_BUF - HEADER;

/// The two ends, reader first.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    pipe_with(PipeFlags::CLOEXEC)
}

/// Sends a report.
pub fn send(pipe: BorrowedFd<'_>, report: &TaskReport) -> Result<(), Errno> {
    // A report is numbers and lists of numbers: it can always be written down.
    let text = serde_json::to_vec(report).map_err(|_| Errno::INVAL)?;
    for (number, piece) in text.chunks(PIECE).enumerate() {
        let mut message = Vec::with_capacity(HEADER + piece.len());
        message.extend(report.task.0.to_le_bytes());
        message.extend((text.len() as u32).to_le_bytes());
        message.extend(((number * PIECE) as u32).to_le_bytes());
        message.extend(piece);
        while let Err(error) = write(pipe, &message) {
            if error != Errno::INTR {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Puts reports together again.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Pieces of reports that are not whole yet, by task.
    parts: HashMap<u64, Vec<u8>>,
    /// Whole reports.
    pub reports: Vec<TaskReport>,
}

impl Inbox {
    /// Takes in what is there. `false` once nobody is left to write.
    pub fn receive(&mut self, pipe: BorrowedFd<'_>) -> Result<bool, Errno> {
        let mut buffer = [0; 16 << 10];
        let length = match read(pipe, &mut buffer) {
            Err(Errno::INTR) => return Ok(true),
            other => other?,
        };
        self.bytes.extend(&buffer[..length]);
        let mut at = 0;
        while let Some(used) = self.message(at) {
            at += used;
        }
        self.bytes.drain(..at);
        Ok(length > 0)
    }

    /// Takes in the message that begins at this place; `None` if it is not whole yet.
    fn message(&mut self, at: usize) -> Option<usize> {
        let header = self.bytes.get(at..at + HEADER)?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let task = u64::from(word(0)) | u64::from(word(4)) << 32;
        let (total, offset) = (word(8) as usize, word(12) as usize);
        let length = PIECE.min(total - offset);
        let piece = self.bytes.get(at + HEADER..at + HEADER + length)?.to_vec();
        let text = self.parts.entry(task).or_default();
        text.extend(piece);
        if text.len() == total {
            let text = self.parts.remove(&task).unwrap_or_default();
            self.reports.extend(serde_json::from_slice::<TaskReport>(&text));
        }
        Some(HEADER + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::fd::AsFd;
    use workload::{Mark, TaskId, Timing};

    #[test]
    fn reports_of_many_pieces_arrive_whole() {
        let (reader, writer) = pipe().expect("a pipe");
        let timing = |at| Timing { label: 0, at, nanos: 5, bytes: 6, huge: Some(1), failed: false };
        let report = |task, timings: u64| TaskReport {
            task: TaskId(task),
            role: 1,
            ops: 2,
            failed: 0,
            digest: Some(u64::MAX),
            owed: vec![TaskId(9)],
            timings: (0..timings).map(timing).collect(),
            marks: vec![Mark { label: 1, at: 2, counters: BTreeMap::from([("pgfault".to_owned(), 3)]) }],
            spans: Vec::new(),
        };
        let sent = [report(1, 700), report(2, 0)];
        for report in &sent {
            send(writer.as_fd(), report).expect("sent");
        }
        drop(writer);
        let mut inbox = Inbox::default();
        while inbox.receive(reader.as_fd()).expect("received") {}
        assert_eq!(inbox.reports, sent);
    }
}
