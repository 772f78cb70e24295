//! Bad recordings, from the command line: exit code 3, one clear sentence with file and place, no panic, nothing on stdout.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

const READERS: [&str; 2] = ["replay", "validate"];

/// A directory with a recording in it: the start snapshot and machine of the shipped fixture, and a trace.
struct Bad {
    dir: tempfile::TempDir,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/fixtures").join(name)
}

fn unpacked(name: &str) -> Vec<u8> {
    recording::container::read_file(&fixture(name)).expect("shipped")
}

/// 140 ms of a page trace, most of it beside the start snapshot.
fn tiny_trace() -> Vec<u8> {
    unpacked("tiny/all-start-to-0.1s.dat.xz")
}

impl Bad {
    fn with(name: &str, trace: impl AsRef<[u8]>) -> Bad {
        let bad = Bad { dir: tempfile::tempdir().expect("a temporary directory") };
        for part in ["snap.tar.xz", "meta.tar.xz"] {
            fs::copy(fixture("tiny").join(part), bad.dir.path().join(part)).expect("copied");
        }
        bad.and(name, trace)
    }

    fn and(self, name: &str, content: impl AsRef<[u8]>) -> Bad {
        fs::write(self.dir.path().join(name), content).expect("written");
        self
    }

    /// Every command refuses it with a sentence that has all these words.
    fn is_refused_with(&self, commands: &[&str], words: &[&str]) {
        for command in commands {
            refused(command, self.dir.path(), words);
        }
    }
}

fn refused(command: &str, path: &Path, words: &[&str]) {
    let run = Command::cargo_bin("fraglab").expect("built by cargo").arg(command).arg(path).assert();
    let output = run.code(3).get_output().clone();
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.stdout.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(stderr.lines().count(), 1, "{command}: one sentence, not\n{stderr}");
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{command}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{command}: `{word}` is not in {stderr}");
    }
}

fn find(bytes: &[u8], text: &str, from: usize) -> usize {
    from + bytes[from..].windows(text.len()).position(|window| window == text.as_bytes()).expect("it is in there")
}

/// Text without a `start` of its own: that of the shipped sample, after the mark that ends the start snapshot.
fn text_with(lines: &str) -> String {
    let text = String::from_utf8(unpacked("rare.trace")).expect("UTF-8");
    let end = text.find("SNAP start end").expect("a mark");
    let end = end + text[end..].find('\n').expect("more lines") + 1;
    format!("{}{lines}{}", &text[..end], &text[end..])
}

#[test]
fn a_truncated_trace() {
    let trace = tiny_trace();
    let bad = Bad::with("trace.dat", &trace[..trace.len() - 10_000]);
    bad.is_refused_with(&["replay", "validate", "inspect"], &["trace.dat: at byte ", "the file ends inside"]);
}

#[test]
fn an_archive_that_ends_early() {
    let packed = fs::read(fixture("tiny/all-start-to-0.1s.dat.xz")).expect("shipped");
    let bad = Bad::with("trace.dat.xz", &packed[..packed.len() / 2]);
    bad.is_refused_with(&["replay", "validate", "inspect"], &["trace.dat.xz"]);
}

/// What is packed with anything but xz is named, and how to unpack it: not "a trace is missing" beside a trace.
#[test]
fn a_trace_that_another_packer_packed() {
    let commands = ["replay", "validate", "inspect"];
    for (ending, magic, packer) in
        [("gz", &b"\x1f\x8b\x08\0"[..], "gzip"), ("zst", b"\x28\xb5\x2f\xfd", "zstd"), ("bz2", b"BZh9", "bzip2")]
    {
        let name = format!("trace.dat.{ending}");
        let bad = Bad::with(&name, [magic, &tiny_trace()[..1000]].concat());
        let words = [&format!("{name}: at byte 0: the file is packed with {packer}"), "pack it with xz"];
        bad.is_refused_with(&commands, &words.map(|word| word as &str));
        refused("inspect", &bad.dir.path().join(&name), &[packer]);
    }
    let packed = fs::read(fixture("tiny/all-start-to-0.1s.dat.xz")).expect("shipped");
    Bad::with("trace.dat", packed).is_refused_with(&commands, &["trace.dat: at byte 0: ", "not named .xz"]);
}

/// A device is read for ever, or until memory is full.
#[cfg(unix)]
#[test]
fn a_device_is_no_recording() {
    for command in ["replay", "validate", "inspect"] {
        refused(command, Path::new("/dev/zero"), &["/dev/zero: that is a device", "give a directory"]);
        refused(command, Path::new("/dev/null"), &["/dev/null: that is a device"]);
    }
}

#[test]
fn text_with_lost_events() {
    let bad = Bad::with("trace.txt", text_with("CPU:1 [LOST 1234 EVENTS]\n"));
    bad.is_refused_with(&READERS, &["trace.txt:19: ", "lost 1234 events"]);
    let inspect = Command::cargo_bin("fraglab").expect("built by cargo").arg("inspect").arg(bad.dir.path()).assert();
    let stdout = String::from_utf8(inspect.success().get_output().stdout.clone()).expect("UTF-8");
    let line = stdout.lines().find(|line| line.contains("events lost in them")).expect("losses are printed");
    assert!(line.ends_with(" 1234"), "{line}");
}

/// Bit 31 of a page's commit word: events before this page are missing.
#[test]
fn a_trace_with_lost_events() {
    let mut trace = tiny_trace();
    let table = find(&trace, "flyrecord\0", 0) + 10;
    let number = |at: usize| u64::from_le_bytes(trace[at..at + 8].try_into().expect("8 bytes")) as usize;
    let last_page = number(table) + number(table + 8) - 4096;
    trace[last_page + 8 + 3] |= 0x80;
    let bad = Bad::with("trace.dat", trace);
    bad.is_refused_with(&READERS, &[&format!("trace.dat: at byte {last_page}: "), "lost events"]);
}

#[test]
fn a_snapshot_of_another_machine() {
    let bad = Bad::with("trace.dat", tiny_trace()).and("mid.kpageflags", [0; 8 * 65_536]);
    bad.is_refused_with(&["replay", "validate", "inspect"], &["snapshot mid has 65536 page frames"]);
}

/// Each was a panic, or followed as something else: an index of 20 where there are 15 orders, CPU 65535 and one more.
#[test]
fn events_that_no_machine_has() {
    let all = ["replay", "validate", "inspect"];
    let line = |cpu: u16, event: &str| text_with(&format!("x-1 [{cpu:03}] 4.6: {event}\n"));
    let free = |pfn: &str, order: u32| format!("mm_page_free: page=x pfn={pfn} order={order}");
    for order in [19, 20, 64, 300, u32::MAX] {
        let bad = Bad::with("trace.txt", line(0, &free("0x8000", order)));
        bad.is_refused_with(&all, &["trace.txt:19: mm_page_free of order ", "no kernel has one above order 18"]);
        let alloc = format!("mm_page_alloc: page=x pfn=0x8000 order={} migratetype=0 gfp_flags=GFP_KERNEL", order - 4);
        let bad = Bad::with("trace.txt", line(0, &alloc));
        bad.is_refused_with(&all, &["trace.txt:19: mm_page_alloc of order ", "no kernel has one above order 14"]);
    }
    for cpu in [256, u16::MAX] {
        let bad = Bad::with("trace.txt", line(cpu, &free("0x8000", 0)));
        bad.is_refused_with(&READERS, &[&format!("CPU {cpu}, and a replay follows CPUs 0 to 255 only")]);
    }
    for pfn in ["0xffffffffffffffff", "0x20000"] {
        let bad = Bad::with("trace.txt", line(0, &free(pfn, 0)));
        bad.is_refused_with(&all, &[&format!("page frame {pfn}, but the snapshots end at 0x20000")]);
    }
}

#[test]
fn nothing_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for command in ["replay", "validate", "inspect"] {
        refused(command, &dir.path().join("nowhere"), &["nowhere", "No such file"]);
        refused(command, dir.path(), &["a trace", "is missing"]);
    }
}

#[test]
fn a_trace_without_its_snapshot() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("trace.dat"), tiny_trace()).expect("written");
    READERS.iter().for_each(|command| refused(command, dir.path(), &["a start snapshot is missing"]));
}

#[test]
fn a_trace_that_ends_with_the_start_snapshot() {
    Bad::with("trace.txt", text_with("")).is_refused_with(&READERS, &["the time after the start snapshot"]);
}

#[test]
fn a_trace_that_ends_before_the_start_snapshot() {
    let whole = text_with("");
    let (before, _) = whole.split_once("SNAP start end").expect("the mark");
    let cut = &before[..before.rfind('\n').expect("a line before it") + 1];
    Bad::with("trace.txt", cut).is_refused_with(&READERS, &["the time after the start snapshot"]);
}

#[test]
fn garbage() {
    let noise: Vec<u8> = (0..50_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let commands = ["replay", "validate", "inspect"];
    Bad::with("trace.dat", &noise).is_refused_with(&commands, &["trace.dat: at byte 0: "]);
    Bad::with("trace.txt", "the quick brown fox\n").is_refused_with(&commands, &["trace.txt:1: "]);
    let half = [&tiny_trace()[..150_000], &noise[..]].concat();
    Bad::with("trace.dat", half).is_refused_with(&commands, &["trace.dat: "]);
    Bad::with("trace.dat", tiny_trace()).and("start.zoneinfo", &noise).is_refused_with(&commands, &["start.zoneinfo"]);
}

#[test]
fn a_format_without_a_needed_field() {
    let mut trace = tiny_trace();
    let format = find(&trace, "mm_page_alloc\n", 0);
    let field = find(&trace, "unsigned long pfn;", format);
    trace[field..][..18].copy_from_slice(b"unsigned long fpn;");
    let words = ["trace.dat: event mm_page_alloc: its format has no field pfn"];
    Bad::with("trace.dat", trace).is_refused_with(&["replay", "validate", "inspect"], &words);
}

/// Newer kernels add fields: that must simply work, and change nothing. The print format makes room for the new one.
#[test]
fn a_format_with_an_unknown_field() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo");
    let mut trace = recording::container::read_file(&demo.join("all-start-to-tick12.dat.xz")).expect("shipped");
    let format = find(&trace, "mm_page_alloc\n", 0);
    let print = find(&trace, "print fmt: ", format);
    let line_end = find(&trace, "\n", print);
    let field = "\tfield:unsigned char flavour;\toffset:16;\tsize:1;\tsigned:0;\n\n";
    let renamed = format!("{field}{:<width$}", "print fmt: \"\"", width = line_end - print - field.len());
    trace[print..line_end].copy_from_slice(renamed.as_bytes());
    let dir = tempfile::tempdir().expect("a temporary directory");
    for part in ["snap.tar.xz", "meta.tar.xz", "ticks.txt.xz"] {
        fs::copy(demo.join(part), dir.path().join(part)).expect("copied");
    }
    fs::write(dir.path().join("trace.dat"), trace).expect("written");
    let digest = |path: &Path| {
        let args = ["replay", path.to_str().expect("UTF-8"), "--seed", "1", "--format", "json"];
        let run = Command::cargo_bin("fraglab").expect("built by cargo").args(args).assert().success();
        let json: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).expect("JSON");
        json["columns"][1]["replay"]["event_digest"].clone()
    };
    assert_eq!(digest(dir.path()), digest(&demo));
}

#[test]
fn an_empty_file_is_no_trace() {
    Bad::with("trace.dat", []).is_refused_with(&["inspect", "replay"], &["trace.dat", "the file is empty"]);
}

/// The path stands in what is written, and was looked up as text: a panic after the replay.
#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf_8_is_a_path() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = dir.path().join(std::ffi::OsStr::from_bytes(b"n\xff\xfe"));
    fs::create_dir(&place).expect("made");
    copy_demo(&place);
    let mut replay = Command::cargo_bin("fraglab").expect("built by cargo");
    replay.arg("replay").arg(&place).args(["--seed", "1", "-o"]).arg(dir.path().join("run")).assert().success();
    let manifest = fs::read_to_string(dir.path().join("run/manifest.json")).expect("written");
    assert!(manifest.contains("/n\u{fffd}\u{fffd}\""), "{manifest}");
}

/// The parts of the demo that a replay reads.
fn copy_demo(place: &Path) {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo");
    for part in ["all-start-to-tick12.dat.xz", "snap.tar.xz", "meta.tar.xz", "ticks.txt.xz"] {
        fs::copy(demo.join(part), place.join(part)).expect("copied");
    }
}

/// Takes files out of a packed archive.
fn without(archive: &Path, files: &[&str]) {
    use recording::container::{MAX_UNPACKED, pack_tar, pack_xz, unpack_tar, unpack_xz};
    let name = archive.into();
    let packed = fs::read(archive).expect("copied");
    let mut all = unpack_tar(&name, &unpack_xz(&name, &packed, MAX_UNPACKED).expect("whole")).expect("whole");
    files.iter().for_each(|file| drop(all.remove(*file).expect("it is in there")));
    let packed = pack_xz(archive, &pack_tar(archive, &all).expect("small")).expect("packed");
    fs::write(archive, packed).expect("written");
}

#[test]
fn what_a_recording_lacks_is_said_by_all_that_replay_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let warnings = |args: &[&str]| {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        let run = command.args(args).arg(dir.path()).assert().success();
        let stderr = String::from_utf8(run.get_output().stderr.clone()).expect("UTF-8");
        stderr.lines().filter_map(|line| Some(line.strip_prefix("warning: ")?.to_owned())).collect::<Vec<_>>()
    };
    copy_demo(dir.path());
    assert_eq!(warnings(&["replay", "--seed", "1"]), [""; 0]);
    without(&dir.path().join("snap.tar.xz"), &["start.pagestate", "start.pageblocks"]);
    without(&dir.path().join("meta.tar.xz"), &["meta/sys/proc_sys_vm_defrag_mode"]);
    let page = dir.path().join("page.html");
    let report = ["report", "-o", page.to_str().expect("UTF-8")];
    for args in [&["replay", "--seed", "1"][..], &["validate", "--seeds", "1"], &report] {
        let said = warnings(args);
        assert_eq!(said.len(), 3, "{args:?}: {said:?}");
        assert_eq!(said[0], "vm.defrag_mode is not in the recording: taken as 0");
        assert!(said[1].starts_with("start.pagestate is not in the recording: "), "{said:?}");
        assert!(said[2].starts_with("start.pageblocks is not in the recording: "), "{said:?}");
    }
    let name = dir.path().file_name().expect("it has one").to_string_lossy();
    let said = warnings(&["validate", "../../recordings/demo", "--seeds", "1", "--pair"]);
    assert_eq!(said, [format!("{name}: vm.defrag_mode is not in the recording: taken as 0")]);
}

#[test]
fn the_file_that_should_tell_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy_demo(dir.path());
    without(&dir.path().join("meta.tar.xz"), &["meta/sys/proc_version"]);
    refused("validate", dir.path(), &["/meta/sys/proc_version: the recording does not say which kernel it is of"]);
}
