//! What is written is what our own reader, and trace-cmd where it is installed, read.

use super::salvage::salvage;
use super::tracedat::{Ending, Formats, TraceDat};
use recording::{Event, Trace};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
    \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

fn format(name: &str, id: u16, fields: &str, print: &str) -> Vec<u8> {
    format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: {print}\n").into_bytes()
}

fn formats() -> Formats {
    let marker = "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n";
    let free = "\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int order;\toffset:16;\tsize:4;\tsigned:0;\n";
    Formats {
        header_page: HEADER_PAGE.into(),
        header_event: HEADER_EVENT.into(),
        ftrace: vec![format("print", 5, marker, "\"%ps: %s\", (void *)REC->ip, REC->buf")],
        systems: vec![(
            "kmem".into(),
            vec![format("mm_page_free", 500, free, "\"pfn=0x%lx order=%d\", REC->pfn, REC->order")],
        )],
        printk: Vec::new(),
    }
}

/// One ring-buffer page of `mm_page_free` events, a microsecond apart.
fn page(start: u64, pfns: std::ops::Range<u64>) -> Vec<u8> {
    let mut data = Vec::new();
    for pfn in pfns {
        // 24 bytes of record: 6 words.
        data.extend_from_slice(&(1000_u32 << 5 | 6).to_le_bytes());
        data.extend_from_slice(&500_u16.to_le_bytes());
        data.extend_from_slice(&[0, 0]);
        data.extend_from_slice(&42_i32.to_le_bytes());
        data.extend_from_slice(&pfn.to_le_bytes());
        data.extend_from_slice(&[0; 8]);
    }
    let mut page = start.to_le_bytes().to_vec();
    page.extend_from_slice(&(data.len() as u64).to_le_bytes());
    page.extend_from_slice(&data);
    page.resize(4096, 0);
    page
}

/// A file with the pages of CPUs 0 and 3; CPU 1 has none.
fn write(directory: &Path) -> PathBuf {
    let path = directory.join("trace.dat");
    let mut trace = TraceDat::create(&path, 4096, &formats()).unwrap();
    let cpus = [
        (0, [page(1_000_000, 0..100), page(2_000_000, 100..110)].concat()),
        (1, Vec::new()),
        (3, page(1_500_000, 1000..1007)),
    ];
    for (cpu, pages) in cpus {
        let (file, offset) = trace.begin_cpu(cpu).unwrap();
        assert_eq!(offset % 4096, 0);
        file.write_all(&pages).unwrap();
        trace.end_cpu(pages.len() as u64).unwrap();
    }
    let ending = Ending {
        clock: "global".into(),
        uname: "Linux host 6.18.15 x86_64".into(),
        cpus: 4,
        cmdlines: b"42 cc1\n".to_vec(),
        stats: vec![
            b"CPU: 0\nentries: 0\noverrun: 0\ncommit overrun: 0\ndropped events: 0\nread events: 117\n".to_vec(),
        ],
    };
    let size = trace.finish(&ending).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    path
}

#[test]
fn our_reader_reads_what_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path());
    let trace = Trace::open(&path).unwrap();
    let Trace::Dat(dat) = &trace else { panic!("it is no trace.dat") };
    assert_eq!((dat.version(), dat.page_size(), dat.comm(42)), (7, 4096, Some("cc1")));
    assert_eq!(dat.main_buffer().clock, "global");
    assert_eq!(dat.main_buffer().cpus().collect::<Vec<_>>(), [0, 3]);
    assert_eq!((dat.options().cpu_count, dat.options().lost_in_stats()), (Some(4), Some(0)));
    assert_eq!(dat.options().uname.as_deref(), Some("Linux host 6.18.15 x86_64"));
    let records: Vec<_> = trace.records().unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len(), 117);
    assert!(records.is_sorted_by_key(|record| record.ts_ns));
    let of_cpu_3: Vec<_> = records.iter().filter(|record| record.cpu == 3).collect();
    assert!(of_cpu_3.iter().zip(1000..).all(|(record, wanted)| {
        matches!(&record.event, Event::PageFree(free) if free.pfn == wanted && record.pid == 42)
    }));
}

#[test]
fn trace_cmd_reads_what_is_written() {
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: trace-cmd is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path());
    let report = Command::new("trace-cmd").args(["report", "-i"]).arg(&path).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&report.stdout), String::from_utf8_lossy(&report.stderr));
    assert!(report.status.success() && errors.is_empty(), "{errors}");
    assert_eq!(out.lines().filter(|line| line.contains("mm_page_free:")).count(), 117, "{out}");
    let first = out.lines().find(|line| line.contains("mm_page_free:")).unwrap();
    assert!(first.contains("cc1-42") && first.contains("[000]") && first.contains("pfn=0x0 order=0"), "{first}");
    assert!(!out.to_lowercase().contains("warning"), "{out}");
}

/// The directory of a recorder that was killed in the middle of a page.
fn killed(directory: &Path, owner: &str) {
    let path = directory.join("trace.dat");
    drop(TraceDat::create(&path, 4096, &formats()).unwrap());
    let mut half = page(2_000_000, 100..110);
    half.truncate(100);
    std::fs::write(directory.join("trace.dat.cpu0"), [page(1_000_000, 0..100), half].concat()).unwrap();
    std::fs::write(directory.join("trace.dat.cpu1"), page(1_500_000, 1000..1007)).unwrap();
    std::fs::create_dir(directory.join("meta")).unwrap();
    let choices = format!("recorder=fraglab 0\nowner={owner}\nclock=mono\nuname=Linux host 6.18\n");
    std::fs::write(directory.join("meta/fraglab"), choices).unwrap();
}

#[test]
fn what_a_killed_recorder_left_becomes_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    // No process started at tick 0 but the first one.
    killed(directory.path(), "fraglab-999999999-0");
    let salvaged = salvage(directory.path()).unwrap();
    assert_eq!((salvaged.bytes, salvaged.cpus), (8192, 2));
    let trace = Trace::open(&salvaged.trace).unwrap();
    let records: Vec<_> = trace.records().unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len(), 107);
    let Trace::Dat(dat) = &trace else { panic!("it is no trace.dat") };
    assert_eq!(dat.main_buffer().clock, "mono");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let again = salvage(directory.path()).expect_err("it is complete").to_string();
    assert!(again.ends_with("the trace is complete: there is nothing to put together"), "{again}");
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped the second half: trace-cmd is not installed");
        return;
    }
    let report = Command::new("trace-cmd").args(["report", "-i"]).arg(&salvaged.trace).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&report.stdout), String::from_utf8_lossy(&report.stderr));
    assert!(report.status.success() && errors.is_empty(), "{errors}");
    assert_eq!(out.lines().filter(|line| line.contains("mm_page_free:")).count(), 107, "{out}");
}

#[test]
fn what_cannot_be_salvaged_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let own = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    killed(directory.path(), &format!("fraglab-{own}-{start}"));
    let said = salvage(directory.path()).expect_err("its recorder lives").to_string();
    assert!(said.contains("still runs"), "{said}");
    assert!(directory.path().join("trace.dat.cpu1").exists());
    let other = tempfile::tempdir().unwrap();
    killed(other.path(), "fraglab-999999999-0");
    let trace = other.path().join("trace.dat");
    let bytes = std::fs::read(&trace).unwrap();
    for length in [10, 40, bytes.len() - 1] {
        std::fs::write(&trace, &bytes[..length]).unwrap();
        assert!(salvage(other.path()).is_err(), "{length} bytes");
        assert!(other.path().join("trace.dat.cpu0").metadata().unwrap().len() > 4096);
    }
}
