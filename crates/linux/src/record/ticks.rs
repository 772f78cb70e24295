//! `ticks.txt`: what /proc says, once a second.

use super::clock;
use super::error::RecordError;
use super::memmap::Memmap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What is sampled; what the kernel does not have is left out.
const PARTS: [&str; 4] = ["buddyinfo", "pagetypeinfo", "vmstat", "zoneinfo"];

/// The open files, and the text that is growing.
#[derive(Debug)]
pub(crate) struct Ticks {
    path: PathBuf,
    out: File,
    parts: Vec<(&'static str, File)>,
    text: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl Ticks {
    /// Makes the file.
    pub(crate) fn create(path: &Path, proc: &Path) -> Result<Self, RecordError> {
        let out = File::create_new(path).map_err(RecordError::io(path, "making"))?;
        let parts = PARTS.into_iter().filter_map(|part| Some((part, File::open(proc.join(part)).ok()?)));
        Ok(Self { path: path.to_path_buf(), out, parts: parts.collect(), text: Vec::new(), number: 0, bytes: 0 })
    }

    /// Takes a sample between two marks in the trace.
    pub(crate) fn take(&mut self, marks: &mut File, blocks: Option<&Blocks>) -> Result<(), RecordError> {
        let number = self.number;
        let _ = marks.write_all(format!("TICK {number} begin\n").as_bytes());
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.extend_from_slice(format!("=== tick {number} mono_ns {}\n", clock::monotonic_ns()).as_bytes());
        for (name, file) in &self.parts {
            text.extend_from_slice(format!("--- /proc/{name}\n").as_bytes());
            read_again(file, &mut text).map_err(RecordError::io(Path::new("/proc").join(name).as_path(), "reading"))?;
        }
        if let Some(bytes) = blocks.and_then(Blocks::read) {
            text.extend_from_slice(b"--- pageblocks\n");
            text.extend_from_slice(hex(&bytes).as_bytes());
        }
        text.extend_from_slice(format!("=== end {number} mono_ns {}\n", clock::monotonic_ns()).as_bytes());
        let _ = marks.write_all(format!("TICK {number} end\n").as_bytes());
        self.out.write_all(&text).map_err(RecordError::io(&self.path, "writing"))?;
        self.bytes += text.len() as u64;
        self.number += 1;
        self.text = text;
        Ok(())
    }

    /// Bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The pageblocks of a machine whose kernel lets them be read.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) memmap: std::sync::Arc<Memmap>,
    pub(crate) frames: u64,
    pub(crate) order: u32,
}

impl Blocks {
    /// One byte a pageblock.
    pub(crate) fn read(&self) -> Option<Vec<u8>> {
        self.memmap.pageblocks(self.frames, self.order)
    }
}

/// Reads a file of /proc from its start, which makes the kernel write it anew.
fn read_again(file: &File, text: &mut Vec<u8>) -> std::io::Result<()> {
    let begin = text.len();
    loop {
        let length = text.len();
        text.resize(length + 16384, 0);
        let read = file.read_at(&mut text[length..], (length - begin) as u64);
        text.truncate(length + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            return Ok(());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len() + 1);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_its_parts_between_marks() {
        let directory = tempfile::tempdir().unwrap();
        let (proc, path, marks) =
            (directory.path(), directory.path().join("ticks.txt"), directory.path().join("marks"));
        std::fs::write(proc.join("vmstat"), "pgfree 3\n".repeat(5000)).unwrap();
        std::fs::write(proc.join("buddyinfo"), "Node 0, zone DMA 1 2\n").unwrap();
        let mut ticks = Ticks::create(&path, proc).unwrap();
        let mut marker = File::create(&marks).unwrap();
        ticks.take(&mut marker, None).unwrap();
        std::fs::write(proc.join("buddyinfo"), "Node 0, zone DMA 3\n").unwrap();
        ticks.take(&mut marker, None).unwrap();
        assert_eq!(std::fs::read_to_string(&marks).unwrap(), "TICK 0 begin\nTICK 0 end\nTICK 1 begin\nTICK 1 end\n");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.len() as u64, ticks.bytes());
        assert_eq!(text.matches("pgfree 3\n").count(), 10000);
        assert!(text.contains("--- /proc/buddyinfo\nNode 0, zone DMA 1 2\n--- /proc/vmstat\n"));
        assert!(text.contains("--- /proc/buddyinfo\nNode 0, zone DMA 3\n"));
        let (read, cut_short) = recording::proc::ticks::parse(&path.as_path().into(), &text).unwrap();
        assert_eq!(cut_short, None);
        assert_eq!((read.len(), read[1].number, read[0].end_ns > 0), (2, 1, true));
    }

    #[test]
    fn pageblocks_are_two_digits_each() {
        assert_eq!(hex(&[0, 1, 0x1a]), "00011a\n");
    }
}
