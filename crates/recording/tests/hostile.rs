//! Traces whose lines can be read and whose figures are anything: a replay follows them or refuses them, and never panics.

mod common;

use common::fixture;
use pagealloc::policy::preset;
use recording::Recording;
use recording::container::{MAX_UNPACKED, read_file, unpack_tar, unpack_xz};
use recording::occupancy::kernel_timeline;
use recording::pagelog::{Normalised, kernel_alone, normalise};
use recording::replay::{ReplayOptions, replay};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Events with a place for each figure: `P` a frame, `O` an order, `T` a migratetype, `G` a mask, `N` any number.
const EVENTS: [&str; 17] = [
    "mm_page_alloc: page=x pfn=P order=O migratetype=T gfp_flags=G",
    "mm_page_alloc: page=(nil) pfn=0x0 order=O migratetype=T gfp_flags=G",
    "mm_page_free: page=x pfn=P order=O",
    "mm_page_free_batched: page=x pfn=P",
    "mm_page_alloc_extfrag: page=x pfn=P alloc_order=O fallback_order=O pageblock_order=9 alloc_migratetype=T \
     fallback_migratetype=T fragmenting=1 change_ownership=1",
    "mm_filemap_add_to_page_cache: dev 8:1 ino 5 pfn=P ofs=N order=O",
    "mm_filemap_delete_from_page_cache: dev 8:1 ino 5 pfn=P ofs=N order=O",
    "mm_compaction_begin: zone_start=P migrate_pfn=P free_pfn=P zone_end=P, mode=sync",
    "mm_compaction_isolate_migratepages: range=(P ~ P) nr_scanned=N nr_taken=N",
    "mm_compaction_isolate_freepages: range=(P ~ P) nr_scanned=N nr_taken=N",
    "mm_compaction_migratepages: nr_migrated=N nr_failed=N",
    "mm_vmscan_direct_reclaim_begin: order=O gfp_flags=G",
    "mm_vmscan_direct_reclaim_end: nr_reclaimed=N",
    "mm_vmscan_lru_shrink_inactive: nid=0 nr_scanned=N nr_reclaimed=N nr_dirty=0 nr_writeback=0 nr_congested=0 \
     nr_immediate=0 nr_activate_anon=0 nr_activate_file=0 nr_ref_keep=0 nr_unmap_fail=0 priority=12 flags=RECLAIM_WB_FILE",
    "mm_vmscan_kswapd_wake: nid=0 order=O",
    "mm_vmscan_kswapd_sleep: nid=0",
    "fraglab_migrate: (x) new=N old=N",
];

/// Figures of a machine of 131,072 frames.
const USUAL: [u64; 8] = [0, 1, 3, 9, 0x8000, 0x8007, 0x1_fe00, 0x1_ffff];
/// Figures of none.
const EXTREME: [u64; 8] = [14, 15, 64, 0x2_0000, u32::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];

/// xorshift64: the test must be the same on every run.
struct Random(u64);

impl Random {
    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        &choices[(self.0 >> 8) as usize % choices.len()]
    }

    /// An event's text. Of so many figures one is extreme; `None`: none is.
    fn event(&mut self, extreme: Option<usize>) -> String {
        let event = *self.of(&EVENTS);
        let fill = |text: String, place: char| {
            let mut filled = String::new();
            for (at, part) in text.split(place).enumerate() {
                // Texts of events have no other capitals.
                let number = if at > 0 { self.figure(place, extreme) } else { String::new() };
                filled += &(number + part);
            }
            filled
        };
        // Masks last: there are capitals in them.
        "POTNG".chars().fold(event.to_owned(), fill)
    }

    fn figure(&mut self, place: char, extreme: Option<usize>) -> String {
        let is_extreme = extreme.is_some_and(|of| *self.of(&(0..of).collect::<Vec<_>>()) == 0);
        match place {
            _ if is_extreme => format!("{:#x}", self.of(&EXTREME)),
            'O' => self.of(&[0, 0, 0, 1, 3, 9, 10]).to_string(),
            'T' => self.of(&[0, 1, 2, 3]).to_string(),
            'G' => {
                self.of(&["GFP_KERNEL", "GFP_HIGHUSER_MOVABLE|__GFP_ZERO", "GFP_TRANSHUGE", "GFP_NOWAIT"]).to_string()
            }
            _ => format!("{:#x}", self.of(&USUAL)),
        }
    }

    /// A trace with so many events behind the start snapshot, of a machine that was up for so many seconds.
    fn trace(&mut self, uptime: u64, events: u64, extreme: Option<usize>) -> String {
        let time = |ms: u64| format!("{}.{:03}000", uptime + ms / 1000, ms % 1000);
        let mark = |ms: u64, text: &str| format!("x-1 [000] {}: tracing_mark_write: {text}\n", time(ms));
        let mut text = mark(1000, "SNAP start begin") + &mark(1001, "SNAP start end") + &mark(1002, "TICK 0 end");
        for at in 0..events {
            let (pid, cpu, ms) = (self.of(&[1, 2, 3, 40]), self.of(&[0, 1]), 1003 + at);
            let event = self.event(extreme);
            text += &format!("x-{pid} [00{cpu}] {}: {event}\n", time(ms));
        }
        text + &mark(1003 + events, "TICK 1 end")
    }
}

/// All that reads a recording. How far it came, in words.
fn follow(place: &Path) -> Result<String, String> {
    let recording = Recording::open(place).map_err(|error| error.to_string())?;
    let _ = (recording.inspect(), kernel_alone(&recording));
    let Normalised { log, kernel, .. } = normalise(&recording).map_err(|error| error.to_string())?;
    let log = Arc::new(log);
    let policy = preset("linux-6.18").expect("a preset");
    let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: true, sampling: None };
    let replayed = replay(&log, &options, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    kernel_timeline(&recording, &log, &kernel, Default::default()).map_err(|error| error.to_string())?;
    Ok(format!("{} page events, digest {:x}, kernel {kernel:?}", replayed.page_events, replayed.digest))
}

/// A recording that lacks its trace yet.
fn without_trace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for part in ["snap.tar.xz", "meta.tar.xz"] {
        fs::copy(fixture("tiny").join(part), dir.path().join(part)).expect("copied");
    }
    fs::write(dir.path().join("ticks.txt"), read_file(&fixture("tiny/ticks.txt.xz")).expect("shipped"))
        .expect("written");
    // The marks of these traces follow each other faster than a snapshot is taken.
    fs::write(dir.path().join("start.mono_ns"), "5238681252 5238681300\n").expect("written");
    dir
}

#[test]
fn a_machine_that_was_up_for_a_year_is_replayed_as_one_that_was_just_booted() {
    let dir = without_trace();
    let followed = |uptime| {
        fs::write(dir.path().join("trace.txt"), Random(1).trace(uptime, 400, None)).expect("written");
        follow(dir.path()).expect("nothing extreme is in it")
    };
    // Whole multiples of 2^16 seconds: nothing that recurs meets another phase.
    assert_eq!(followed(0), followed(500 << 16));
}

#[test]
fn figures_of_any_size_are_followed_or_refused() {
    let dir = without_trace();
    let mut random = Random(1);
    let (mut followed, mut refused) = (0, 0);
    for extreme in [None, Some(400), Some(12)].into_iter().cycle().take(90) {
        fs::write(dir.path().join("trace.txt"), random.trace(0, 120, extreme)).expect("written");
        match follow(dir.path()) {
            Ok(_) => followed += 1,
            Err(why) => {
                assert!(!why.contains("invariant"), "{why}");
                refused += 1;
            }
        }
    }
    assert!(followed > 20 && refused > 20, "{followed} followed, {refused} refused: one of the two is hardly tried");
}

#[test]
fn blocks_of_another_order_are_refused_and_not_taken_for_those_of_order_9() {
    let dir = without_trace();
    fs::write(dir.path().join("trace.txt"), Random(1).trace(0, 20, None)).expect("written");
    assert!(follow(dir.path()).is_ok());
    let ticks = dir.path().join("ticks.txt");
    let text = fs::read_to_string(&ticks).expect("written above");
    fs::write(&ticks, text.replace("Page block order: 9", "Page block order: 13")).expect("written");
    let why = follow(dir.path()).expect_err("no such blocks are modelled");
    assert!(why.ends_with("pageblocks of order 13 cannot be replayed, those of order 9 can"), "{why}");
}

/// Kernels tell of page frames up to the end of a section of memory, wherever the last zone ends.
#[test]
fn a_snapshot_may_go_on_behind_the_zones() {
    let dir = without_trace();
    let frames = 4 * 512;
    let packed = fixture("tiny/snap.tar.xz");
    let name = packed.as_path().into();
    let unpacked = unpack_xz(&name, &fs::read(&packed).expect("shipped"), MAX_UNPACKED).expect("whole");
    let mut archive = tar::Builder::new(Vec::new());
    for (file, mut bytes) in unpack_tar(&name, &unpacked).expect("whole") {
        let more = match file.rsplit('.').next() {
            Some("kpagecount" | "kpageflags") => 8 * frames,
            Some("pagestate") => 2 * frames,
            Some("pageblocks") => frames / 512,
            _ => 0,
        };
        bytes.resize(bytes.len() + more, 0);
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, &file, &bytes[..]).expect("in memory");
    }
    fs::remove_file(dir.path().join("snap.tar.xz")).expect("copied");
    fs::write(dir.path().join("snap.tar"), archive.into_inner().expect("in memory")).expect("written");
    let ticks = dir.path().join("ticks.txt");
    let text = fs::read_to_string(&ticks).expect("written");
    fs::write(&ticks, text.replace("--- pageblocks\n", "--- pageblocks\n00000000")).expect("written");
    fs::write(dir.path().join("trace.txt"), Random(1).trace(0, 120, None)).expect("written");
    let followed = follow(dir.path()).expect("the zones are as they were");
    assert!(!followed.starts_with("0 page events"), "{followed}");
}

/// A replay works through all the time up to the last tick, however long that is.
#[test]
fn times_that_no_recording_reaches_are_refused_at_their_line() {
    let dir = without_trace();
    let follow_with = |seconds: &[u64]| {
        let mut text = Random(1).trace(0, 50, None);
        let lines = text.lines().count();
        for (number, seconds) in seconds.iter().enumerate() {
            text += &format!("x-1 [000] {seconds}.000000: tracing_mark_write: TICK {} end\n", 2 + number);
        }
        fs::write(dir.path().join("trace.txt"), text).expect("written");
        (lines, follow(dir.path()))
    };
    let (lines, followed) = follow_with(&[1_000_000_000]);
    let why = followed.expect_err("decades later");
    assert!(
        why.contains(&format!("trace.txt:{}: an event comes 277777.8 hours after the one before it", lines + 1)),
        "{why}"
    );
    let (lines, followed) = follow_with(&[80_000, 160_000, 240_000]);
    let why = followed.expect_err("nearly three days later");
    assert!(why.contains(&format!("trace.txt:{}: an event comes 22.2 hours", lines + 3)), "{why}");
}
