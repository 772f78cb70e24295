//! Files of version 7 as no trace-cmd at hand writes them: zlib, two buffers, options in two
//! sections. They are made here from the fixture of version 6.

use std::io::Write;
use std::path::Path;

use super::{TraceDat, TscToNs, id};
use crate::event::Record;

fn tiny() -> TraceDat {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny/all-start-to-0.1s.dat.xz");
    TraceDat::from_bytes("tiny", crate::container::read_file(&path).unwrap()).unwrap()
}

fn records(trace: &TraceDat, buffer: usize) -> Vec<Record> {
    let records = trace.records_of(&trace.buffers()[buffer]).unwrap();
    records.map(Result::unwrap).collect()
}

/// A file under construction.
struct Writer {
    out: Vec<u8>,
    zlib: bool,
}

impl Writer {
    fn new(zlib: bool) -> Self {
        let mut out = b"\x17\x08\x44tracing7\0\0\x08".to_vec();
        out.extend_from_slice(&4096_u32.to_le_bytes());
        out.extend_from_slice(if zlib { b"zlib\x001.2\0" } else { b"none\0\0" });
        out.extend_from_slice(&[0; 8]);
        Self { out, zlib }
    }

    /// Lets the place at `at` hold the offset of what comes next.
    fn point_here(&mut self, at: usize) {
        let offset = self.out.len() as u64;
        self.out[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }

    fn pack(&self, bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        let sizes = [packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes);
        [sizes.as_flattened(), &packed].concat()
    }

    /// Writes a section and returns its offset.
    fn section(&mut self, id: u16, contents: &[u8]) -> u64 {
        let offset = self.out.len() as u64;
        let contents = if self.zlib { self.pack(contents) } else { contents.to_vec() };
        self.section_header(id, contents.len());
        self.out.extend_from_slice(&contents);
        offset
    }

    fn section_header(&mut self, id: u16, size: usize) {
        self.out.extend_from_slice(&id.to_le_bytes());
        self.out.extend_from_slice(&u16::from(self.zlib).to_le_bytes());
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&(size as u64).to_le_bytes());
    }

    /// Writes a buffer's section and returns its option.
    fn buffer(&mut self, name: &str, clock: &str, cpus: &[(u16, &[u8])]) -> Vec<u8> {
        let mut option = (self.out.len() as u64).to_le_bytes().to_vec();
        self.section_header(id::BUFFER, 0);
        option.extend_from_slice(format!("{name}\0{clock}\0").as_bytes());
        option.extend_from_slice(&[4096, cpus.len() as u32].map(u32::to_le_bytes).concat());
        for (cpu, pages) in cpus {
            let offset = self.out.len();
            if self.zlib {
                // Two chunks, parted at a page.
                let (first, second) = pages.split_at(4096.min(pages.len()));
                self.out.extend_from_slice(&2_u32.to_le_bytes());
                for chunk in [first, second] {
                    let chunk = self.pack(chunk);
                    self.out.extend_from_slice(&chunk);
                }
            } else {
                self.out.extend_from_slice(pages);
            }
            option.extend_from_slice(&u32::from(*cpu).to_le_bytes());
            option.extend_from_slice(&[offset, self.out.len() - offset].map(|n| (n as u64).to_le_bytes()).concat());
        }
        option
    }
}

fn option(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

/// The fixture as version 7, once as the top buffer and once, on the TSC clock, as instance `more`.
fn as_v7(trace: &TraceDat, zlib: bool) -> Vec<u8> {
    as_v7_with(trace, zlib, &[])
}

/// The same with more options.
fn as_v7_with(trace: &TraceDat, zlib: bool, more: &[(u16, &[u8])]) -> Vec<u8> {
    let mut file = Writer::new(zlib);
    let start = file.out.len() - 8;
    // The headers stand first in version 6; what follows them here is empty and not read.
    let metadata = &trace.metadata;
    let mut headers = super::Metadata { ftrace_formats: Vec::new(), systems: Vec::new(), ..metadata.clone() };
    (headers.kallsyms, headers.printk_formats, headers.cmdlines) = Default::default();
    let parts: [(u16, Vec<u8>); 3] = [
        (id::HEADER_INFO, head_of(&headers)),
        (id::FTRACE_EVENTS, formats(&metadata.ftrace_formats)),
        (id::EVENT_FORMATS, systems(&metadata.systems)),
    ];
    let mut first = Vec::new();
    for (id, contents) in parts {
        let offset = file.section(id, &contents);
        first.extend(option(id, &offset.to_le_bytes()));
    }
    let cmdlines = [&(metadata.cmdlines.len() as u64).to_le_bytes()[..], &metadata.cmdlines].concat();
    let offset = file.section(id::CMDLINES, &cmdlines);
    first.extend(option(id::CMDLINES, &offset.to_le_bytes()));
    let cpus: Vec<_> = trace.main_buffer().cpus.iter().map(|data| (data.cpu, trace.pages(data))).collect();
    let mut second = Vec::new();
    for (name, clock) in [("", "local"), ("more", "x86-tsc")] {
        second.extend(option(id::BUFFER, &file.buffer(name, clock, &cpus)));
    }
    second.extend(option(id::CPUSTAT, b"CPU: 0\nentries: 5\noverrun: 3\ndropped events: 1\n\0"));
    let conversion = [2_u32, 1].map(u32::to_le_bytes).concat();
    second.extend(option(id::TSC2NSEC, &[&conversion[..], &1_000_u64.to_le_bytes()].concat()));
    second.extend(option(999, b"of the future"));
    second.extend(more.iter().flat_map(|(id, data)| option(*id, data)));
    second.extend(option(id::DONE, &[0; 8]));
    let offset = file.section(0, &second);
    first.extend(option(id::DONE, &offset.to_le_bytes()));
    file.point_here(start);
    file.section(0, &first);
    file.out
}

fn head_of(metadata: &super::Metadata) -> Vec<u8> {
    let mut out = Vec::new();
    metadata.write_v6(&mut out);
    out
}

fn formats(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = (texts.len() as u32).to_le_bytes().to_vec();
    for text in texts {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text);
    }
    out
}

fn systems(systems: &[(Vec<u8>, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut out = (systems.len() as u32).to_le_bytes().to_vec();
    for (name, texts) in systems {
        out.extend_from_slice(name);
        out.push(0);
        out.extend(formats(texts));
    }
    out
}

#[test]
fn buffers_and_options_of_either_compression_are_read() {
    let trace = tiny();
    let expected = records(&trace, 0);
    for zlib in [false, true] {
        let v7 = TraceDat::from_bytes("v7", as_v7(&trace, zlib)).unwrap();
        assert_eq!((v7.version(), v7.buffers().len(), v7.comm(151)), (7, 2, Some("fragrec")));
        assert_eq!(records(&v7, 0), expected);
        assert_eq!(v7.options().lost_in_stats(), Some(4));
        assert_eq!(v7.options().tsc_to_ns, Some(TscToNs { mult: 2, shift: 1, offset: 1000 }));
        assert_eq!(v7.other_buffers().map(|buffer| buffer.called()).collect::<Vec<_>>(), ["instance more"]);
        // The conversion multiplies by 2, halves, and moves the origin.
        assert_eq!(v7.buffers()[1].name, "more");
        let moved = records(&v7, 1);
        assert_eq!(moved.len(), expected.len());
        assert!(moved.iter().zip(&expected).all(|(tsc, ns)| tsc.ts_ns + 1000 == ns.ts_ns && tsc.event == ns.event));
    }
}

/// A cut has one page size, that of its pages; replays ask it for the machine's.
#[test]
fn ring_buffer_pages_of_another_size_are_not_cut() {
    let mut v7 = TraceDat::from_bytes("v7", as_v7(&tiny(), false)).unwrap();
    assert!(v7.cut(u64::MAX).is_ok());
    v7.page_size = 8192;
    let error = v7.cut(u64::MAX).unwrap_err().to_string();
    assert!(
        error.starts_with("v7: ring-buffer pages of 4096 bytes on a machine with pages of 8192 can't be cut"),
        "{error}"
    );
}

#[test]
fn damaged_chunks_and_circles_of_options_are_errors() {
    let bytes = as_v7(&tiny(), true);
    for at in (40..bytes.len()).step_by(997) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        // Either outcome is right; zlib's checksum finds most of them.
        let _ = TraceDat::from_bytes("damaged", damaged).map(|trace| trace.buffers().len());
    }
    let mut circle = as_v7(&tiny(), false);
    let place = b"\x17\x08\x44tracing7\0\0\x08".len() + 4 + b"none\0\0".len();
    let first = u64::from_le_bytes(circle[place..place + 8].try_into().unwrap()) as usize;
    let done = circle.len() - 8;
    circle[done..].copy_from_slice(&(first as u64).to_le_bytes());
    let error = TraceDat::from_bytes("circle", circle).unwrap_err().to_string();
    assert!(error.contains("the chain of option sections bites its tail"), "{error}");
}

#[test]
fn a_section_is_read_once() {
    let trace = tiny();
    let plain = as_v7(&trace, false);
    let place = b"\x17\x08\x44tracing7\0\0\x08".len() + 4 + b"none\0\0".len();
    // The headers' section follows the offset of the options, and more options move none of it.
    let headers = place as u64 + 8;
    assert_eq!(plain[headers as usize..][..2], id::HEADER_INFO.to_le_bytes());
    let twice = as_v7_with(&trace, false, &[(id::HEADER_INFO, &headers.to_le_bytes())]);
    let error = TraceDat::from_bytes("twice", twice).unwrap_err().to_string();
    assert!(error.contains(&format!("at byte {headers}: two options point at one section")), "{error}");
}
