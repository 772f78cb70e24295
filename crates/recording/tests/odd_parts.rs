//! Recordings whose parts are not whole, or not of one machine and run: each was a panic, or replayed with wrong numbers and no word.

mod common;

use common::fixture;
use pagealloc::policy::preset;
use recording::Recording;
use recording::container::{MAX_UNPACKED, read_file, unpack_tar, unpack_xz};
use recording::pagelog::{Normalised, OpKind, kernel_alone, normalise};
use recording::replay::{ReplayOptions, replay};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;

/// A recording of the fixture's machine, with its parts unpacked: what a test changes is one of them.
struct Parts(BTreeMap<String, Vec<u8>>);

/// A mark, or another event of task 1, at a microsecond of the trace's sixth second.
fn at(us: u64, event: &str) -> String {
    format!("x-1 [000] 5.{us:06}: {event}\n")
}

impl Parts {
    fn whole() -> Parts {
        let mut parts = BTreeMap::new();
        for archive in ["tiny/snap.tar.xz", "tiny/meta.tar.xz"] {
            let path = fixture(archive);
            let name = path.as_path().into();
            let packed = fs::read(&path).expect("shipped");
            parts.extend(unpack_tar(&name, &unpack_xz(&name, &packed, MAX_UNPACKED).expect("whole")).expect("whole"));
        }
        parts.insert("ticks.txt".to_owned(), read_file(&fixture("tiny/ticks.txt.xz")).expect("shipped"));
        let mut parts = Parts(parts);
        parts.trace(&[
            "mm_page_alloc: page=x pfn=0x8000 order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE",
            "mm_page_free: page=x pfn=0x8000 order=0",
        ]);
        parts
    }

    /// A trace with these events between the marks, which come when the files say.
    fn trace(&mut self, events: &[&str]) {
        let mark = |us: u64, text: &str| at(us, &format!("tracing_mark_write: {text}"));
        let mut text = mark(233_400, "TICK 0 begin") + &mark(238_200, "TICK 0 end");
        text += &(mark(238_600, "SNAP start begin") + &mark(364_400, "SNAP start end"));
        text.extend(events.iter().zip(400_000..).map(|(event, us)| at(us, event)));
        self.0.insert("trace.txt".to_owned(), (text + &mark(900_000, "TICK 1 end")).into_bytes());
    }

    fn with(mut self, part: &str, bytes: impl Into<Vec<u8>>) -> Parts {
        self.0.insert(part.to_owned(), bytes.into());
        self
    }

    fn without(mut self, part: &str) -> Parts {
        self.0.remove(part).expect("it was there");
        self
    }

    fn edited(self, part: &str, edit: impl FnOnce(&str) -> String) -> Parts {
        let text = String::from_utf8(self.0[part].clone()).expect("UTF-8");
        let edited = edit(&text);
        assert_ne!(text, edited, "the edit of {part} is one");
        self.with(part, edited)
    }

    fn read(&self) -> Result<Normalised, String> {
        self.opened(normalise)
    }

    fn opened<T>(&self, read: impl FnOnce(&Recording) -> Result<T, recording::Error>) -> Result<T, String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (name, bytes) in &self.0 {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("in it")).expect("made");
            fs::write(path, bytes).expect("written");
        }
        let read = Recording::open(dir.path()).and_then(|recording| read(&recording));
        read.map_err(|error| error.to_string())
    }

    fn edited_bytes(mut self, part: &str, edit: impl FnOnce(&mut Vec<u8>)) -> Parts {
        edit(self.0.get_mut(part).expect("a part"));
        self
    }

    #[track_caller]
    fn is_refused_with(&self, words: &[&str]) {
        let why = self.read().map(|_| ()).expect_err("it is refused");
        words.iter().for_each(|word| assert!(why.contains(word), "`{word}` is not in: {why}"));
    }
}

#[test]
fn whole_parts_are_read() {
    let read = Parts::whole().read().unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(read.log.ops.len(), 2);
}

#[test]
fn memory_without_a_zone_is_refused() {
    let zone = |text: &str, name: &str| text.find(&format!("Node 0, zone {name:>8}")).expect("the zone");
    let zoneinfo = |edit: fn(&str, usize) -> String| {
        Parts::whole().edited("start.zoneinfo", |text| edit(text, zone(text, "DMA32")))
    };
    let no_zone = ["start.zoneinfo: no zone has page frame 0x", "the snapshot has memory there"];
    zoneinfo(|text, dma32| text[..dma32].to_owned()).is_refused_with(&no_zone);
    zoneinfo(|text, dma32| text[dma32..].to_owned()).is_refused_with(&no_zone);
    zoneinfo(|text, _| text.replace("126976", "100000")).is_refused_with(&no_zone);
    zoneinfo(|text, dma32| text[..dma32].to_owned() + &text[dma32..].replacen("managed ", "manag ", 1))
        .is_refused_with(&no_zone);
    zoneinfo(|text, _| text.replace("zone    DMA32", "zone    DMA99"))
        .is_refused_with(&["start.zoneinfo: zone DMA99 of node 0 has pages", "DMA32, Normal"]);
    zoneinfo(|text, dma32| text[..dma32].to_owned() + &text[dma32..].replacen("start_pfn:", "begin_pfn:", 1))
        .is_refused_with(&["start.zoneinfo: zone DMA32 of node 0 has pages and no start_pfn"]);
    zoneinfo(|text, _| text.replace("Node 0,", "Node 300,"))
        .is_refused_with(&["start.zoneinfo: zone DMA of node 300 cannot be replayed"]);
    // Few enough to be behind the end of memory, but the kernel handed one out.
    let mut short = zoneinfo(|text, _| text.replace("126976", "126900"));
    short.trace(&[
        "mm_page_free: page=x pfn=0x1fff0 order=0",
        "mm_page_alloc: page=x pfn=0x1fff0 order=0 migratetype=1 gfp_flags=GFP_KERNEL",
    ]);
    short.is_refused_with(&["start.zoneinfo: no zone has page frame 0x1fff0, and the page trace has events of it"]);
}

/// `/proc/kpageflags` goes on to the end of a section of memory.
#[test]
fn frames_behind_the_last_zone_are_none() {
    let frames = Parts::whole().read().unwrap_or_else(|why| panic!("{why}")).log.start.used.len();
    let longer = |states: &[u8], flags: u64| {
        let mut parts = Parts::whole();
        let words = states.len() / 2;
        let mut append = |part: &str, bytes: &[u8]| parts.0.get_mut(part).expect("a part").extend_from_slice(bytes);
        append("start.pagestate", states);
        append("start.kpageflags", &flags.to_le_bytes().repeat(words));
        append("start.kpagecount", &[0; 8].repeat(words));
        parts
            .with("start.pageblocks", [&Parts::whole().0["start.pageblocks"][..], &[1]].concat())
            .edited("ticks.txt", |text| text.replace("--- pageblocks\n", "--- pageblocks\n01"))
    };
    let lru = 1 << 5;
    for (state, order, flags) in [(10, 0, 0), (9, 0, lru), (1, 3, 1 << 10), (4, 0, 0)] {
        let states: Vec<u8> =
            [state, order].into_iter().chain([if state == 1 { 4 } else { state }, 0].repeat(7)).collect();
        let read = longer(&states, flags).read().unwrap_or_else(|why| panic!("{state}: {why}"));
        assert_eq!(read.log.start.used.len(), frames, "state {state}");
    }
    let bare = Parts::whole().without("start.pagestate").without("start.kpagecount");
    let used = |parts: &Parts| parts.read().unwrap_or_else(|why| panic!("{why}")).log.start.used.len();
    let flags = [&bare.0["start.kpageflags"][..], &[0; 8]].concat();
    let before = used(&bare);
    assert_eq!(used(&bare.with("start.kpageflags", flags)), before);
}

#[test]
fn parts_that_no_kernel_has_told_are_refused() {
    let whole = || Parts::whole();
    let zeros = |part: &str| whole().with(part, vec![0; whole().0[part].len()]);
    zeros("start.kpageflags").is_refused_with(&["start.kpageflags: at byte 0: no page frame has a flag"]);
    zeros("start.pagestate").is_refused_with(&["start.pagestate: at byte 0: no page frame could be read"]);
    let blocks = |bytes: Vec<u8>| whole().with("start.pageblocks", bytes).without("ticks.txt");
    for length in [1, 255, 257, 456] {
        blocks(vec![1; length]).is_refused_with(&[&format!(
            "start.pageblocks: at byte {length}: {length} pageblocks are not those of 131072 page frames"
        )]);
    }
    for migratetype in [6, 7] {
        let odd = [vec![1; 9], vec![migratetype], vec![1; 246]].concat();
        let words = format!("start.pageblocks: at byte 9: no pageblock has a migratetype {migratetype}");
        blocks(odd).is_refused_with(&[&words]);
    }
}

/// Not even all of them: a trace of one kind says nothing of who has what.
#[test]
fn a_trace_without_allocations_or_frees_is_refused() {
    let only = |event: &str| {
        let mut parts = Parts::whole();
        parts.trace(&[event]);
        parts
    };
    only("mm_page_alloc: page=x pfn=0x8000 order=0 migratetype=1 gfp_flags=GFP_KERNEL")
        .is_refused_with(&["trace.txt: the page trace has no mm_page_free events", "record kmem:mm_page_alloc and"]);
    // A page in use at the start.
    only("mm_page_free: page=x pfn=0x1000 order=0").is_refused_with(&["the page trace has no mm_page_alloc events"]);
}

/// Of machines of one size, snapshots and ticks are alike; only their times tell.
#[test]
fn files_of_another_run_are_refused() {
    let shifted = |ms: i64| {
        Parts::whole().edited("start.mono_ns", |text| {
            let times =
                text.split_whitespace().map(|time| (time.parse::<i64>().expect("a time") + ms * 1_000_000).to_string());
            times.collect::<Vec<_>>().join(" ") + "\n"
        })
    };
    assert!(shifted(-15).read().is_ok() && shifted(15).read().is_ok());
    for ms in [-60, 60, 7_000] {
        shifted(ms).is_refused_with(&[
            "start.mono_ns: its time at the trace's mark `SNAP start",
            "ms off, by the time of `TICK 0",
        ]);
    }
    let ticks = |begin: &str| Parts::whole().edited("ticks.txt", |text| text.replace("tick 0 mono_ns 5233", begin));
    assert!(ticks("tick 0 mono_ns 5229").read().is_ok());
    ticks("tick 0 mono_ns 5133").is_refused_with(&["ticks.txt: its time at the trace's mark `TICK 0 begin` is 9"]);
    assert!(shifted(7_000).without("ticks.txt").read().is_ok(), "with nothing to compare it with it is taken");
}

#[test]
fn losses_of_the_trace_that_is_counted_are_refused_and_none_is_none() {
    let fell_back = "mm_page_alloc_extfrag: page=x pfn=0x8000 alloc_order=0 fallback_order=3 pageblock_order=9 \
                     alloc_migratetype=0 fallback_migratetype=1 fragmenting=1 change_ownership=0";
    let alone = |before: &str, after: &str| {
        let mut parts = Parts::whole();
        parts.trace(&[fell_back]);
        let text = String::from_utf8(parts.0.remove("trace.txt").expect("made")).expect("UTF-8");
        let text = format!("{before}{}", text.replace(fell_back, &format!("{fell_back}\n{after}")));
        parts.with("rare.txt", text).opened(kernel_alone)
    };
    let lost = |count: u64| format!("CPU:0 [LOST {count} EVENTS]");
    assert_eq!(alone("", "").expect("nothing lost").extfrag.len(), 1);
    assert!(alone(&(lost(9) + "\n"), "").is_ok(), "before the start");
    assert!(alone("", &lost(0)).is_ok());
    let why = alone("", &lost(9)).expect_err("it is refused");
    assert!(why.contains("rare.txt:6: the kernel lost 9 events before here, so what it did can't be counted"), "{why}");
}

impl Parts {
    /// What is said of it, beside that the trace has events of one of two CPUs only: it is made up.
    #[track_caller]
    fn notes(&self) -> Vec<String> {
        let said = self.read().unwrap_or_else(|why| panic!("{why}")).notes;
        said.into_iter().filter(|note| !note.contains("no event of CPU 1")).collect()
    }

    #[track_caller]
    fn has_notes(&self, notes: &[&str]) {
        assert_eq!(self.notes(), notes);
    }

    /// So many ticks, a second between them; the trace has marks of the first two.
    fn with_ticks(self, number: u64) -> Parts {
        let mark = "tracing_mark_write: TICK 1 end";
        let parts =
            self.edited("trace.txt", |text| text.replace(&format!("5.900000: {mark}"), &format!("6.238200: {mark}")));
        parts.edited("ticks.txt", |text| {
            let tick = |at: u64| {
                let begun = text.replace("=== tick 0 mono_ns 5", &format!("=== tick {at} mono_ns {}", 5 + at));
                begun.replace("=== end 0 mono_ns 5", &format!("=== end {at} mono_ns {}", 5 + at))
            };
            (0..number).map(tick).collect()
        })
    }
}

/// All but the first page of each free block seemed in use.
#[test]
fn states_are_not_inferred_from_flags_that_do_not_tell() {
    let of = |release: &str| Parts::whole().edited("meta/sys/proc_version", |text| text.replace("6.18.15", release));
    assert!(of("4.4.0").read().is_ok() && of("4.7.2").without("start.pagestate").read().is_ok());
    let words = ["the start snapshot's pagestate is missing", "kernels before 4.7"];
    of("4.4.0").without("start.pagestate").is_refused_with(&words);
}

#[test]
fn what_is_inferred_is_said() {
    Parts::whole().has_notes(&[]);
    let states = "start.pagestate is not in the recording: what pages were at the start is inferred from kpageflags";
    Parts::whole().without("start.pagestate").has_notes(&[states]);
    let blocks = |how: &str| format!("start.pageblocks is not in the recording: the types of pageblocks {how}");
    Parts::whole().without("start.pageblocks").has_notes(&[&blocks("are inferred")]);
    Parts::whole()
        .without("start.pageblocks")
        .without("ticks.txt")
        .has_notes(&[&blocks("are all taken for Movable, as no pagetypeinfo of ticks.txt counts them")]);
}

#[test]
fn what_is_not_read_or_not_recorded_is_said() {
    let text = Parts::whole().0["trace.txt"].clone();
    Parts::whole().with("all.txt", text).has_notes(&["all.txt is not read: the page trace is trace.txt"]);
    let swapless = Parts::whole()
        .edited("meta/sys/proc_swaps", |text| text.lines().take(1).map(|line| format!("{line}\n")).collect());
    let swap_of = |parts: &Parts| parts.read().unwrap_or_else(|why| panic!("{why}")).log.swap_pages;
    assert_eq!([swap_of(&Parts::whole()), swap_of(&swapless)], [262_144, 0]);
    let flags = |text: &str| {
        Parts::whole()
            .edited("trace.txt", |trace| trace.replace("GFP_HIGHUSER_MOVABLE", &format!("GFP_HIGHUSER_MOVABLE{text}")))
    };
    flags("|__GFP_SHINY")
        .has_notes(&["the trace has a gfp flag that is not known, and left out: __GFP_SHINY (1 in all)"]);
    flags("|__GFP_B|__GFP_C|__GFP_D|__GFP_E|__GFP_F|__GFP_G").has_notes(&[
        "the trace has gfp flags that are not known, and left out: __GFP_B, __GFP_C, __GFP_D, __GFP_E, __GFP_F and 1 more (6 in all)",
    ]);
}

/// The pages of a trace stand in for lists of nodes' CPUs that are not there.
#[test]
fn a_cpu_is_of_its_node() {
    let two_nodes = || {
        Parts::whole().edited("start.zoneinfo", |text| text.replace("Node 0, zone    DMA32", "Node 1, zone    DMA32"))
    };
    let machine = |parts: &Parts| parts.read().unwrap_or_else(|why| panic!("{why}")).log.start.machine;
    let nodes = |parts: &Parts| machine(parts).cpu_node.iter().map(|node| node.0).collect::<Vec<_>>();
    assert_eq!(nodes(&two_nodes()), [1], "all pages of the trace are of zone DMA32");
    two_nodes().has_notes(&[
        "the machine has 2 nodes, and the recording does not say which CPUs are theirs (meta/sys/*_cpulist): each CPU is taken for one \
         of the node that most of its pages are of",
    ]);
    let list = |node: u8| format!("meta/sys/sys_devices_system_node_node{node}_cpulist");
    let told = two_nodes().with(&list(0), "0\n").with(&list(1), "1-3\n");
    let distance = |node: u8| format!("meta/sys/sys_devices_system_node_node{node}_distance");
    let told = told.with(&distance(0), "10 31\n").with(&distance(1), "31 10\n");
    assert_eq!((nodes(&told), machine(&told).distance), (vec![0], vec![vec![10, 31], vec![31, 10]]));
    told.has_notes(&[]);
    let node = |parts: &Parts| parts.opened(|recording| Ok(recording.node(1).map(|(cpus, far)| (cpus, far.to_vec()))));
    assert_eq!(node(&told), Ok(Some(("1-3".to_owned(), vec![31, 10]))));
    assert_eq!(node(&two_nodes()), Ok(None));
    let taken_from = |parts: &Parts| {
        let log = std::sync::Arc::new(parts.read().unwrap_or_else(|why| panic!("{why}")).log);
        let policy = preset("linux-6.18").expect("a preset");
        let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: true, sampling: None };
        let replayed = replay(&log, &options, &mut |_| ControlFlow::Continue(())).expect("a sound replay");
        ["pgalloc_dma", "pgalloc_dma32"].map(|counter| replayed.outcome.counters[counter] > 0)
    };
    assert_eq!(taken_from(&told), [true, false], "node 0 has zone DMA");
    assert_eq!(taken_from(&two_nodes()), [false, true], "node 1 has zone DMA32");
    two_nodes().with(&list(1), "0-\n").is_refused_with(&["node1_cpulist:1", "a list of CPUs"]);
}

/// NUMA balancing asks for a page, moves another one's contents there, and frees that: the target was never given back.
#[test]
fn a_page_that_another_moves_to_is_not_asked_for_twice() {
    let base = 0xffff_ea00_0000_0000_u64;
    let page = |pfn: u64| format!("{:#x}", base + 64 * pfn);
    let mut parts = Parts::whole().with("meta/fraglab", format!("probes=fraglab_migrate\nvmemmap_base={base:#x}\n"));
    let asked =
        |pfn: u64, gfp: &str| format!("mm_page_alloc: page=x pfn={pfn:#x} order=0 migratetype=1 gfp_flags={gfp}");
    parts.trace(&[
        &asked(0x8000, "GFP_HIGHUSER_MOVABLE"),
        &asked(0x8100, "__GFP_HIGHMEM|__GFP_MOVABLE|__GFP_HARDWALL|__GFP_IO|__GFP_FS|__GFP_NOMEMALLOC|__GFP_THISNODE"),
        &format!("fraglab_migrate: (x) new={} old={}", page(0x8100), page(0x8000)),
        "mm_page_free: page=x pfn=0x8000 order=0",
        "mm_page_free: page=x pfn=0x8100 order=0",
    ]);
    let log = parts.read().unwrap_or_else(|why| panic!("{why}")).log;
    let ops: Vec<_> = log.ops.iter().map(|op| (op.kind, op.object - log.ops[0].object)).collect();
    assert_eq!(ops, [(OpKind::Alloc, 0), (OpKind::Alloc, 1), (OpKind::Free, 1), (OpKind::Free, 0)]);
    let told = log.attribution;
    assert_eq!((told.moves_recorded, told.moves_to_asked, told.frees_by_migration, told.frees_unknown), (1, 1, 1, 0));
}

/// A hugetlb page of 1 GiB is larger than any that the allocator has: no recording with one could be opened, and its free was refused.
#[test]
fn gigantic_pages_are_in_use_and_can_be_given_back() {
    let (first, pages, order) = (0x1_0000, 0x8000, 15);
    let gigantic = || {
        let parts = Parts::whole().edited_bytes("start.pagestate", |bytes| {
            let pages = &mut bytes[2 * first..2 * (first + pages)];
            pages.as_chunks_mut::<2>().0.fill([3, 0]);
            (pages[0], pages[1]) = (8, order);
        });
        parts.edited_bytes("start.kpageflags", |bytes| {
            let flags = bytes[8 * first..8 * (first + pages)].as_chunks_mut::<8>().0;
            flags.fill((1_u64 << 16 | 1 << 17).to_le_bytes());
            flags[0] = (1_u64 << 15 | 1 << 17).to_le_bytes();
        })
    };
    let alloc = "mm_page_alloc: page=x pfn=0x10000 order=10 migratetype=0 gfp_flags=GFP_KERNEL";
    let free = format!("mm_page_free: page=x pfn={first:#x} order={order}");
    for mut parts in [gigantic(), gigantic().without("start.pagestate")] {
        parts.trace(&[&free, alloc]);
        let log = parts.read().unwrap_or_else(|why| panic!("{why}")).log;
        let frees = log.ops.iter().filter(|op| log.objects[op.object as usize].order == 10).count();
        assert_eq!((frees, log.attribution.frees_unknown), (32 + 1, 0));
        let policy = preset("linux-6.18").expect("a preset");
        let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: true, sampling: None };
        replay(&std::sync::Arc::new(log), &options, &mut |_| ControlFlow::Continue(())).expect("a sound replay");
    }
}

#[test]
fn a_tick_that_is_cut_short_is_left_out_and_said() {
    let cut = Parts::whole().with_ticks(2).edited("ticks.txt", |text| text[..text.len() - 5000].to_owned());
    let notes = cut.notes();
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].ends_with("/ticks.txt:218: the file ends inside the tick that begins here, which is left out"),
        "{notes:?}"
    );
}

#[test]
fn a_trace_that_ends_before_its_ticks_is_said() {
    let ticks = |number| Parts::whole().with_ticks(number);
    ticks(2).has_notes(&[]);
    let lacking = |which: &str| format!("the trace has no mark of {which}: the window ends at tick 1");
    ticks(3).has_notes(&[&lacking("tick 2")]);
    ticks(4).has_notes(&[&lacking("ticks 2 and 3")]);
    ticks(9).has_notes(&[&lacking("ticks 2 to 8")]);
    // Where it was cut is known.
    ticks(9).with("cut.txt", "tick1 6.238\n").has_notes(&[]);
    ticks(9).with("cut.txt", "tick3 8.238\n").has_notes(&[&lacking("ticks 2 and 3")]);
    ticks(9).with("cut.txt", "start 5.364\n").has_notes(&[]);
    let first = |parts: Parts| parts.edited("trace.txt", |text| text.replace("TICK 0 end", "TICK 0 over"));
    first(ticks(2)).has_notes(&["the trace has no mark of tick 0: what /proc said then is left out"]);
}

#[test]
fn files_are_named_and_not_what_they_are_part_of() {
    let short = Parts::whole().edited_bytes("start.kpageflags", |bytes| bytes.truncate(8 * 1000));
    short.is_refused_with(&["start.kpageflags: kpageflags has 1000 page frames, but pagestate has 131072"]);
    let packed = Parts::whole().with("rare.txt", Parts::whole().0["trace.txt"].clone()).without("trace.txt");
    packed.is_refused_with(&["the page trace (all*.dat, trace.dat or trace.txt) is missing"]);
    let packed = packed.with("all-start-to-end.dat.gz", *b"\x1f\x8b\x08\0");
    packed.is_refused_with(&["all-start-to-end.dat.gz: at byte 0: the file is packed with gzip"]);
}

#[test]
fn masks_without_a_place_of_their_own_are_said() {
    let with_masks = |number: u64| {
        let alloc = |mask| {
            format!("mm_page_alloc: page=x pfn=0x8000 order=0 migratetype=0 gfp_flags={:#x}", 0xcc0_u64 | mask << 20)
        };
        let events: Vec<String> = (0..number).map(alloc).collect();
        let mut events: Vec<&str> = events.iter().map(String::as_str).collect();
        events.push("mm_page_free: page=x pfn=0x8000 order=0");
        let mut parts = Parts::whole();
        parts.trace(&events);
        parts
    };
    with_masks(200).has_notes(&[]);
    // There is one more: of the parts of huge pages, or none.
    let notes = with_masks(300).notes();
    assert_eq!(notes, ["the trace has 300 gfp masks, and a replay tells 256 apart: the last 45 are one"]);
}

/// It took hours: four tries for each page that the recording has activated.
#[test]
fn an_endless_number_of_uses_is_over_once_each_page_was_used() {
    let parts = Parts::whole().with_ticks(2).edited("ticks.txt", |text| {
        let last = text.rfind("pgactivate ").expect("a counter");
        let end = last + text[last..].find('\n').expect("a line");
        format!("{}pgactivate 1000000000000{}", &text[..last], &text[end..])
    });
    let log = parts.read().unwrap_or_else(|why| panic!("{why}")).log;
    assert!(log.activated_by_use.last().is_some_and(|(_, activated)| *activated == 1_000_000_000_000));
    let mut policy = preset("linux-6.18").expect("a preset");
    policy.sysctl.set("lru_gen/enabled", 0).expect("a setting");
    let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: true, sampling: None };
    replay(&std::sync::Arc::new(log), &options, &mut |_| ControlFlow::Continue(())).expect("a sound replay");
}
