//! Snapshots: what every page frame is, at the start and at the end.

use super::clock;
use super::error::RecordError;
use super::kernel_file;
use super::store::{AlignedBuffer, copy};
use super::ticks::Blocks;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes moved at once.
const PIECE: usize = 256 << 10;

/// Takes a snapshot between two marks in the trace; returns its size. Parts that the kernel does not show are left out.
pub(crate) fn take(
    tag: &str,
    output: &Path,
    proc: &Path,
    marks: &mut File,
    blocks: Option<&Blocks>,
) -> Result<u64, RecordError> {
    let path = |part: &str| output.join(format!("{tag}.{part}"));
    let put = |part: &str, bytes: &[u8]| {
        std::fs::write(path(part), bytes).map_err(RecordError::io(&path(part), "writing"))?;
        Ok(bytes.len() as u64)
    };
    let mut buffer = AlignedBuffer::new(PIECE);
    let mut size = 0;
    let _ = marks.write_all(format!("SNAP {tag} begin\n").as_bytes());
    let begin = clock::monotonic_ns();
    // The kernel's own arrays first: they are read fastest, so they are the nearest to one moment.
    if let Some(blocks) = blocks {
        let states = blocks.memmap.pagestate(blocks.frames);
        let types = blocks.read();
        size += put("pagestate", &states)?;
        size += types.map_or(Ok(0), |types| put("pageblocks", &types))?;
    }
    for part in ["kpageflags", "kpagecount"] {
        if readable(&proc.join(part)) {
            size += copy(&proc.join(part), &path(part), &mut buffer)?;
        }
    }
    if let Ok(zones) = kernel_file::read(&proc.join("zoneinfo")) {
        size += put("zoneinfo", &zones)?;
    }
    let end = clock::monotonic_ns();
    let _ = marks.write_all(format!("SNAP {tag} end\n").as_bytes());
    size += put("mono_ns", format!("{begin} {end}\n").as_bytes())?;
    Ok(size)
}

fn readable(path: &Path) -> bool {
    File::open(path).and_then(|file| file.read_at(&mut [0; 8], 0)).is_ok_and(|read| read == 8)
}

/// Number of page frames that `/proc/kpageflags` has, which does not tell its size: found by reading single words of it.
pub(crate) fn frames(kpageflags: &Path) -> u64 {
    let Ok(file) = File::open(kpageflags) else { return 0 };
    let has = |pfn: u64| file.read_at(&mut [0; 8], pfn * 8).is_ok_and(|read| read == 8);
    let mut end = 1_u64;
    while has(end - 1) && end < 1 << 50 {
        end *= 2;
    }
    // Frames below `low` are there; that of `end` is not.
    let (mut low, mut end) = (end / 2, end - 1);
    while low < end {
        let middle = low + (end - low) / 2;
        if has(middle) {
            low = middle + 1;
        } else {
            end = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_frames_is_found_by_reading() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kpageflags");
        for count in [0, 1, 2, 3, 4, 7, 8, 1000, 1024, 32769] {
            std::fs::write(&path, vec![0; 8 * count]).unwrap();
            assert_eq!(frames(&path), count as u64);
        }
        assert_eq!(frames(&directory.path().join("none")), 0);
    }

    #[test]
    fn a_snapshot_has_what_the_kernel_shows() {
        let directory = tempfile::tempdir().unwrap();
        let (proc, output) = (directory.path().join("proc"), directory.path().join("output"));
        std::fs::create_dir_all(&proc).unwrap();
        std::fs::create_dir_all(&output).unwrap();
        std::fs::write(proc.join("kpageflags"), vec![3; 8 * 70_000]).unwrap();
        std::fs::write(proc.join("zoneinfo"), "Node 0, zone DMA\n").unwrap();
        let mut marks = File::create(directory.path().join("marks")).unwrap();
        let size = take("start", &output, &proc, &mut marks, None).unwrap();
        assert_eq!(std::fs::read(output.join("start.kpageflags")).unwrap(), vec![3; 8 * 70_000]);
        assert!(!output.join("start.kpagecount").exists() && !output.join("start.pagestate").exists());
        let files = std::fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
        assert_eq!(files.sum::<u64>(), size);
        let marks = std::fs::read_to_string(directory.path().join("marks")).unwrap();
        assert_eq!(marks, "SNAP start begin\nSNAP start end\n");
    }
}
