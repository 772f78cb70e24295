//! Writing a shorter trace.dat: whole ring-buffer pages up to a time.
//!
//! The result is version 6, which needs no table of sections and which every trace-cmd reads.

use crate::error::Error;
use crate::tracedat::options::id;
use crate::tracedat::{Buffer, MAGIC, TraceDat};

/// What a cut kept of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutCpu {
    /// The CPU.
    pub cpu: u16,
    /// Pages that were kept.
    pub kept: usize,
    /// Pages that there were.
    pub of: usize,
}

impl TraceDat {
    /// A trace.dat with the main buffer's pages that begin at `until_ns` or before, and all
    /// descriptions of events; and how many pages it keeps.
    ///
    /// Every event up to `until_ns` is in it, with those that follow on the same pages. The CPUs'
    /// statistics are left out, since they speak of the whole recording.
    ///
    /// # Errors
    ///
    /// When a page has no header, the buffer's clock does not count time, or its pages have another size than the machine's, for which
    /// version 6 has no room.
    pub fn cut(&self, until_ns: u64) -> Result<(Vec<u8>, Vec<CutCpu>), Error> {
        let buffer = self.main_buffer();
        if buffer.page_size != self.page_size {
            let (pages, machine) = (buffer.page_size, self.page_size);
            let problem = format!(
                "ring-buffer pages of {pages} bytes on a machine with pages of {machine} can't be cut: trace.dat version 6 has no room for \
                 both; replay it as it is, or record with `--subbuf-size {}`",
                machine >> 10
            );
            return Err(Error::Unsupported { path: self.path.to_path_buf(), problem: problem.into() });
        }
        let page_size = (buffer.page_size as usize).max(1);
        let scale = self.clock_scale(buffer)?;
        let mut kept = Vec::new();
        for data in &buffer.cpus {
            let pages = self.pages(data);
            let mut length = 0;
            for page in pages.chunks(page_size) {
                let Some(time) = page.first_chunk() else {
                    let what = "a page has no timestamp";
                    return Err(Error::malformed(&self.path, 0, what, "cut the recording at a whole page"));
                };
                if scale.to_ns(u64::from_le_bytes(*time)) > until_ns {
                    break;
                }
                length += page.len();
            }
            kept.push((data.cpu, &pages[..length], pages.len()));
        }
        let summary = kept.iter().map(|(cpu, pages, of)| CutCpu {
            cpu: *cpu,
            kept: pages.len().div_ceil(page_size),
            of: of.div_ceil(page_size),
        });
        let summary = summary.collect();
        let pages: Vec<_> = kept.into_iter().map(|(cpu, pages, _)| (cpu, pages)).collect();
        Ok((self.write_v6(buffer, &pages), summary))
    }

    /// A whole file of version 6 with these pages.
    fn write_v6(&self, buffer: &Buffer, pages: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(b"6\0\0");
        out.push(self.long_size);
        out.extend_from_slice(&buffer.page_size.to_le_bytes());
        self.metadata.write_v6(&mut out);
        // Version 6 numbers its CPUs without gaps.
        let cpus = pages.iter().map(|(cpu, _)| u32::from(*cpu) + 1).max().unwrap_or(0);
        out.extend_from_slice(&cpus.to_le_bytes());
        self.write_options(buffer, cpus, &mut out);
        out.extend_from_slice(b"flyrecord\0");
        let table = out.len();
        out.resize(table + cpus as usize * 16, 0);
        for (cpu, pages) in pages {
            out.resize(out.len().next_multiple_of((buffer.page_size as usize).max(1)), 0);
            let entry = table + usize::from(*cpu) * 16;
            let offset = out.len() as u64;
            out[entry..entry + 8].copy_from_slice(&offset.to_le_bytes());
            out[entry + 8..entry + 16].copy_from_slice(&(pages.len() as u64).to_le_bytes());
            out.extend_from_slice(pages);
        }
        out
    }

    fn write_options(&self, buffer: &Buffer, cpus: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"options  \0");
        let mut option = |id: u16, data: &[u8]| {
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&(data.len() as u32).to_le_bytes());
            out.extend_from_slice(data);
        };
        let options = &self.options;
        if !buffer.clock.is_empty() {
            option(id::TRACECLOCK, format!("[{}]\n\0", buffer.clock).as_bytes());
        }
        if let Some(uname) = &options.uname {
            option(id::UNAME, format!("{uname}\0").as_bytes());
        }
        if let Some(version) = &options.version {
            option(id::VERSION, format!("{version}\0").as_bytes());
        }
        if options.ts_offset_ns != 0 {
            option(id::OFFSET, format!("{}\0", options.ts_offset_ns).as_bytes());
        }
        if let Some(tsc) = options.tsc_to_ns {
            let words = [tsc.mult.to_le_bytes(), tsc.shift.to_le_bytes()];
            option(id::TSC2NSEC, &[words.as_flattened(), &tsc.offset.to_le_bytes()].concat());
        }
        option(id::CPUCOUNT, &options.cpu_count.unwrap_or(cpus).to_le_bytes());
        out.extend_from_slice(&id::DONE.to_le_bytes());
    }
}
