//! Presets and sysctls: the era table (chapter 16), row by row, and names that explain themselves.

use pagealloc::ZoneType;
use pagealloc::policy::*;

/// A behaviour and the kernels in which it changed. Copying is how a row is compared and how completeness is shown.
struct Row {
    name: &'static str,
    /// Columns that differ from their left neighbour.
    changes: &'static [&'static str],
    copy: fn(&Policy, &mut Policy),
}

macro_rules! row {
    ($name:literal, [$($change:literal),*], $($($field:ident).+),+) => {
        Row { name: $name, changes: &[$($change),*], copy: |from, to| { $(to.$($field).+ = from.$($field).+;)+ } }
    };
}

/// The columns of the table, plus 5.4, 5.10, 5.15 and 6.6 (their presets say which trees), 6.14 (part of its 6.15
/// column), 6.16 and 6.17 (of its 6.18 column), 6.19 (the list at its end) and 7.x (their presets say where from).
const COLUMNS: &[&str] = &[
    "3.10", "3.11", "3.12", "4.6", "4.8", "4.20", "5.0", "5.4", "5.10", "5.15", "6.1", "6.6", "6.12", "6.14", "6.15",
    "6.16", "6.17", "6.18", "6.19", "7.1", "7.2", "7.3",
];

/// Chapter 16, top to bottom; then what other chapters say about eras.
const ROWS: &[Row] = &[
    row!("LRU", ["4.8"], reclaim.lru),
    row!("high-order watermark rule", ["4.6"], watermark_test),
    row!("watermark scale factor", ["4.6"], watermark_gap),
    row!("Reserve type", ["4.6", "6.12"], reserve),
    row!("MT numbers", ["4.6"], migratetype_numbers),
    row!("fair zone allocator", ["3.12", "4.6", "4.8"], fair_zones),
    row!("kswapd wake rule", ["3.12", "4.8", "4.20", "5.0"], kswapd.wake),
    row!("9.6 rounds", ["3.11"], kswapd.rounds),
    row!("kcompactd", ["4.6"], kswapd.kcompactd),
    row!("9.9 hand-over to kcompactd", ["4.6"], kswapd.hands_over),
    row!("11.17 kcompactd", ["4.6", "4.20"], compaction.daemon),
    row!("proactive compaction", ["5.10"], kswapd.proactive_compaction),
    row!("fallback claim", ["4.6", "4.20", "6.12", "6.15"], fallback),
    row!("2.8 who has the HighAtomic reserve", ["6.6", "6.17"], reserve_for_nonblocking),
    row!("2.7 where the HighAtomic reserve is used", ["7.1", "7.3"], highatomic_use),
    row!("7.7 last resort", ["6.6"], highatomic_last_resort),
    row!("extfrag change flag", ["3.12"], extfrag_ownership),
    row!("free-list type hygiene", ["6.12"], list_types),
    row!("3.7 large frees", ["6.12"], splits_large_frees),
    row!("NOFRAGMENT", ["5.4"], nofragment),
    row!("requests in bulk", ["5.15"], bulk_requests),
    row!("watermark boost", ["5.0", "5.4", "6.15"], boost),
    row!("fragment_stall_order", [], fragment_stall),
    row!("pcp orders", ["5.15", "6.6"], pcp.orders),
    row!("5.5, 7.7 past lists that stay empty", ["5.15"], pcp.falls_through),
    row!("pcp high", ["5.15", "6.12"], pcp.high),
    row!("5.7, 5.14 high-order frees empty lists", ["6.1", "6.12", "6.16"], pcp.empties),
    row!("boot free order", ["5.10"], boot_release, tail_placement),
    row!("compaction in slow path", ["4.6", "4.8"], slowpath.scheme),
    row!("initial compaction", ["4.20"], slowpath.initial_compaction_nonmovable),
    row!("8.1.4 NORETRY leaves", ["5.4", "5.10", "6.1", "6.19", "7.1"], slowpath.noretry_leaves),
    row!("8.7 retry form", ["5.4", "6.6"], slowpath.compact_retry),
    row!("2.9 reserve of an OOM victim", ["4.20"], slowpath.victim_reserve),
    row!("skip on isolation failure", ["4.8"], compaction.skip_on_failure),
    row!("fast search", ["5.4"], compaction.fast_search),
    row!("11.13 capture", ["5.4", "6.12", "6.15"], compaction.capture),
    row!("what is contention", ["4.8"], compaction.lack_contends),
    row!("8.13 OOM kills", ["4.6"], slowpath.oom_kills),
    row!("fast search hides what it finds", ["5.4", "6.6"], compaction.search_marks_source),
    row!("NOFS compaction", ["4.20"], compaction.nofs),
    row!("finish test", ["4.6", "4.20", "5.4"], compaction.finish),
    row!("11.12 after a failure", ["6.6"], compaction.failed_batch),
    row!("base mark of suitability", ["4.20", "6.15"], compaction.suitable_mark),
    row!("11.10 room first", ["4.6"], compaction.room_first),
    row!("11.10 room outside of CMA", ["6.15"], compaction.room_outside_cma),
    row!("11.7 sources for whole blocks", ["7.2"], compaction.sources_of_blocks),
    row!("11.10 gap", ["7.2"], compaction.gap),
    row!("defrag_mode, NR_FREE_PAGES_BLOCKS", ["6.15", "7.2", "7.3"], defrag),
    row!("NUMA balancing", ["4.6"], computer.numa_balancing),
    row!("kernel stacks", ["4.6", "4.20", "6.19"], computer.stacks),
    row!("lists of page tables", ["6.15"], computer.page_tables_apart),
    row!("large folios of files", ["6.1", "6.16"], computer.large_folios),
    row!("XFS in memory", ["5.10", "6.1", "6.6", "6.15", "6.18"], computer.xfs),
    row!("scheduler", ["6.6"], computer.scheduler),
    row!("skip nodes with active kswapd", ["6.18"], skip_kswapd_nodes),
    row!("6.19 (1) merge retypes", ["6.12", "6.19"], merge_retype),
    row!("6.19 (2) drains in batches", ["6.19"], pcp.steps),
    row!("6.19 (3) pcp batch", ["4.20", "6.19"], pcp.batch),
    row!("6.19 (4) boosted failures", ["6.19"], kswapd.boosted_run_may_fail),
    row!("10.12, 6.19 (5, 6) kswapd and dirty file pages", ["6.6", "6.19"], reclaim.kswapd_file_writes),
    row!("10.6, 10.12 dirty pages that reclaim meets", ["3.11", "4.6", "4.20"], reclaim.dirty_pages),
    row!("10.5, 10.8 scan balance", ["4.6", "4.20", "5.4"], reclaim.scan_balance),
    row!("10.9 end of a pass", ["3.11", "4.6", "5.10"], reclaim.pass_end),
    row!("3.2 reserve held back", ["6.12"], reserve_held_back),
    row!("3.5c merges", ["6.1"], merge_types),
    row!("6.1 limit of min_free_kbytes", ["5.10"], min_free_kbytes_limit),
    row!("6.3 L", ["6.6"], lowmem_zones),
    row!("6.5, 10.8, 11.19 sysctls", ["4.6", "5.10"], sysctl_rules),
    row!("6.6 to 6.8 reserves", ["4.6", "6.6"], watermark_reserve),
    row!("8.4 what counts as a stall", ["4.6", "5.4", "5.15", "7.2"], slowpath.compact_stalls),
    row!("8.13 deferral", ["4.6"], compaction.defer_per_zone),
    row!("9.6.3 boost skips slab", ["5.0", "5.4"], reclaim.boost_skips_slab),
    row!("9.9 order of sleep", ["4.8"], kswapd.sleeps_by_order),
    row!("9.4 zones of a run unasked for", ["4.8", "5.4"], kswapd.forgets_zones),
    row!("9.9 zones that sleep waits for", ["4.8", "4.20"], kswapd.sleeps_when_all_balanced),
    row!("9.6.6 what counts as reclaimed for the order", ["4.20"], kswapd.counts_each_pass),
    row!("9.6.6 orders given up", ["4.6", "4.8"], kswapd.gives_up_order),
    row!("9.6.5 what counts as scanned", ["6.6"], kswapd.reclaimed_counts_as_scanned),
    row!("9.10 failures", ["4.20"], kswapd.failures),
    row!("9.10 end of failures", ["6.6", "6.12", "7.1"], kswapd.failures_end),
    row!("9.10 failures that frees end", ["6.18"], kswapd.frees_end_failures),
    row!("9.6 a run without cache trim mode", ["6.12"], kswapd.retries_without_trim),
    row!("10.1, 10.16 anon working set", ["5.10"], reclaim.anon_workingset),
    row!("10.17 what may be dirtied", ["4.6"], reclaim.anon_dirtyable),
    row!("10.16 refaults by writes", ["4.8"], reclaim.writes_refault),
    row!("swap readahead", ["4.6", "4.20"], computer.swap_readahead),
    row!("file readahead", ["6.17"], computer.rotating_readahead_kib),
    row!("where pages from swap enter", ["4.8", "5.10"], reclaim.swap_in_activates),
    row!("7.8 kswapd within the lock", [], kswapd.woken_amid_refill),
    row!("10.19 slab pressure", ["4.6", "4.20", "5.15"], reclaim.slab_pressure),
    row!("least of slab scanned", ["4.20", "5.0"], reclaim.slab_minimum),
    row!("10.4, 10.13 compaction by mask", ["5.4", "6.1", "6.6"], reclaim.compacts_by_mask),
    row!("10.4 ready for compaction", ["4.8", "4.20", "6.15"], reclaim.compaction_ready),
    row!("10.3 rounds", ["4.6", "4.20", "5.10", "6.12"], reclaim.rounds),
    row!("10.5, 10.7 when lists are judged", ["5.10"], reclaim.lists_judged),
    row!("10.6 passes without page cache", ["4.20", "6.14"], reclaim.empty_pass_is_dirty),
    row!("10.8 rounding", ["4.20", "5.4"], reclaim.rounds_scan_up),
    row!("10.11 counting", ["4.6", "5.4"], reclaim.counting),
    row!("10.13 going on for compaction", ["5.4"], reclaim.continues),
    row!("10.14 throttling", ["4.20", "6.1"], reclaim.throttling),
    row!("10.16 what ages", ["5.10"], reclaim.putback_ages),
    row!("10.15 cost", ["5.10"], reclaim.cost_model),
    row!("10.15 cost of rotations", ["6.6"], reclaim.cost_of_rotations),
    row!("10.15 when costs are taken", ["7.3"], reclaim.costs_by_pass),
    row!("10.16 refault", ["4.6"], reclaim.workingset),
    row!("shrinkers know nodes", ["3.12"], computer.shrinkers_know_nodes),
    row!("inode shrinker drops page cache", ["6.1"], computer.inodes_with_cache),
    row!("metadata that a journal holds", ["5.0", "5.15"], reclaim.journal_release),
    row!("10.12 huge pages swapped whole", ["4.20", "6.14"], reclaim.swaps_huge_pages),
    row!("programs read forward", ["6.17"], computer.programs_read_forward),
    row!("flushed statistics", ["6.12"], reclaim.stats_flush_ms),
    row!("swap tables", ["6.18"], reclaim.swap_tables),
    row!("8.6, 8.14 zones without pages on lists", ["5.4", "6.1", "6.14", "6.18"], reclaim.idle_zones),
    row!("10.12 order of frees", ["6.12"], reclaim.batch_frees),
    row!("generations", ["6.1", "6.6", "6.12", "6.14", "6.17", "7.2", "7.3"], reclaim.generations),
    row!("11.5 compound pages move", ["6.12"], compaction.moves_compound),
    row!("11.12 batches are unmapped first", ["6.6"], compaction.unmaps_batch_first),
    row!("11.11 targets kept by order", ["6.12"], compaction.targets_by_order),
    row!("11.5, 11.11 scanned counters", ["6.6"], compaction.counts_stepped_over),
    row!("11.17 daemon counters", ["6.6"], compaction.counts_proactive),
    row!("11.11 target blocks", ["6.12"], compaction.targets_below_order),
    row!("3.10 mark of targets", ["4.20", "5.4"], compaction.target_mark),
    row!("11.11 where the free scanner stops", ["4.6", "4.8"], compaction.target_scan),
    row!("11.3 success by the mark", ["4.20"], compaction.succeeds_by_mark),
    row!("11.5 another task's turn", ["5.4"], compaction.async_yields),
    row!("11.5.11 pages under writeback", ["4.8"], compaction.light_isolates_writeback),
    row!("11.5.1 too many isolated", ["6.6"], compaction.nofs_isolates_more),
    row!("11.12b drains", ["4.6"], compaction.drains),
    row!("11.4 positions", ["4.6"], compaction.positions),
    row!("11.7 source blocks", ["4.20"], compaction.async_same_type),
    row!("11.10 fragmentation index", ["4.20"], compaction.fragindex_all_orders),
    row!("8.11 huge pages without another try", ["4.8"], thp.always_noretry),
    row!("8.12 nodes of faults", ["4.6", "4.20", "5.0", "5.4"], thp.fault_nodes),
    row!("12.3 nodes of collapses", ["4.6"], thp.collapses_anywhere),
    row!("12.3 collapses", ["4.8", "5.10", "6.1"], thp.collapse_swap_in, thp.collapses_shared),
    row!("12.3 what a range costs", ["7.1"], thp.scan_progress),
    row!("12.4 deferred splits", ["4.6"], thp.defers_split),
    row!("12.4 parts of split pages", ["6.15"], thp.split_parts),
    row!("12.5 khugepaged's reclaim", ["6.6"], thp.counts_khugepaged),
];

fn kernel(version: &str) -> Policy {
    preset(&format!("linux-{version}")).expect("a known kernel")
}

fn differs(row: &Row, from: &Policy, to: &Policy) -> bool {
    let mut merged = from.clone();
    (row.copy)(to, &mut merged);
    merged != *from
}

#[test]
fn the_gap_of_compaction_is_twice_the_order_and_has_a_limit_from_7_2_on() {
    let gaps = |version: &str| [0, 3, 9].map(|order| kernel(version).compaction.gap.pages(order));
    assert_eq!(gaps("6.18"), [2, 16, 1024]);
    assert_eq!(gaps("7.2"), [2, 16, 32]);
}

#[test]
fn every_row_is_a_field() {
    for columns in COLUMNS.windows(2) {
        let (left, right) = (kernel(columns[0]), kernel(columns[1]));
        let mut merged = Policy { name: right.name, ..left.clone() };
        for row in ROWS {
            let expected = row.changes.contains(&columns[1]);
            assert_eq!(differs(row, &left, &right), expected, "{:?} from {} to {}", row.name, columns[0], columns[1]);
            (row.copy)(&right, &mut merged);
        }
        assert_eq!(merged, right, "a field that no row names changed from {} to {}", columns[0], columns[1]);
    }
    for change in ROWS.iter().flat_map(|row| row.changes) {
        assert!(COLUMNS[1..].contains(change), "{change} is no column");
    }
}

/// What a patch changes, and nothing else.
#[test]
fn patches_are_small() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("linux-4.6", "linux-4.6+nofs", &["NOFS compaction"]),
        ("linux-4.6", "linux-4.6-rc1", &["9.9 hand-over to kcompactd", "11.17 kcompactd"]),
        ("linux-4.6-rc1", "linux-4.6-rc1+skip", &["skip on isolation failure"]),
        ("linux-4.6-rc1+skip", "linux-4.6-rc1+skip-fixed", &["skip on isolation failure"]),
        ("linux-4.9-rc1", "linux-4.9-rc1+nofs", &["NOFS compaction"]),
        ("linux-4.20", "linux-4.20+patch1", &["NOFRAGMENT"]),
        (
            "linux-4.20+patch1",
            "linux-4.20+patch3",
            &["kswapd wake rule", "watermark boost", "7.8 kswapd within the lock"],
        ),
        ("linux-4.20+patch3", "linux-4.20+stall", &["fragment_stall_order"]),
        ("linux-4.20+stall", "linux-4.20+stall-hz10", &["fragment_stall_order"]),
        (
            "linux-6.1.116",
            "linux-6.1.157",
            &["2.8 who has the HighAtomic reserve", "8.6, 8.14 zones without pages on lists"],
        ),
        ("linux-6.1.157", "linux-6.1.165", &["8.1.4 NORETRY leaves"]),
        ("linux-6.12.29", "linux-6.12.54", &["2.8 who has the HighAtomic reserve"]),
        ("linux-6.12.54", "linux-6.12.65", &["6.19 (1) merge retypes", "6.19 (2) drains in batches"]),
    ];
    for (from, to, rows) in cases {
        let (from, to) = (preset(from).unwrap(), preset(to).unwrap());
        let changed: Vec<_> = ROWS.iter().filter(|row| differs(row, &from, &to)).map(|row| row.name).collect();
        assert_eq!(&changed, rows, "from {} to {}", from.name, to.name);
    }
}

/// The steps of seed 002 (13.8), each with the rules of 13.3 that it brought.
#[test]
fn defrag_steps() {
    let rules = |name: &str| preset(&format!("linux-6.15+{name}")).unwrap().defrag.unwrap();
    let posted = rules("defrag-as-posted");
    assert_eq!((posted.retry, posted.kswapd_block_order), (DefragRetry::AsPosted, false));
    assert_eq!(posted.kswapd_block_watermark, BlockWatermark::Off);
    assert!(!posted.kcompactd_block_watermark);
    assert_eq!(rules("defrag-patch1-fixed"), DefragRules { retry: DefragRetry::Once, ..posted });
    let kswapd = rules("defrag-kswapd");
    assert_eq!(kswapd, DefragRules { kswapd_block_order: true, ..posted });
    let blocks = rules("defrag-blocks");
    let always = BlockWatermark::Always;
    assert_eq!(blocks, DefragRules { kswapd_block_watermark: always, kcompactd_block_watermark: true, ..kswapd });
    let fixed = rules("defrag-oomfix");
    assert_eq!(fixed, DefragRules { retry: DefragRetry::Once, ..blocks });
    let released = DefragRules { kswapd_block_watermark: BlockWatermark::WhileHighOrder, ..fixed };
    assert_eq!(rules("defrag"), released);
    for name in ["linux-6.15", "linux-6.18", "linux-6.18+defrag", "linux-6.19"] {
        assert_eq!(preset(name).unwrap().defrag, Some(released), "{name}");
    }
}

#[test]
fn defrag_mode_is_set_where_the_name_says_so() {
    for entry in PRESETS {
        let mode = (entry.build)().sysctl.defrag_mode;
        let expected = match entry.name {
            "linux-6.18+defrag2" => 2,
            "linux-6.18+nonblock-fix" | "linux-6.18+memalloc-fix" | "linux-6.18+bulk-ban" | "linux-6.18+storm-fix" => 1,
            name => u32::from(name.contains("defrag")),
        };
        assert_eq!(mode, expected, "{}", entry.name);
    }
}

#[test]
fn names_are_unique_and_those_of_the_policies() {
    for (index, entry) in PRESETS.iter().enumerate() {
        assert_eq!((entry.build)().name, entry.name);
        assert!(PRESETS[..index].iter().all(|earlier| earlier.name != entry.name), "{} twice", entry.name);
        assert!(!entry.summary.is_empty() && entry.summary.len() < 100, "{}", entry.name);
    }
}

#[test]
fn presets_are_in_chronological_order() {
    let versions: Vec<Version> = PRESETS.iter().map(|entry| version(entry.name)).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    let plain: Vec<_> = PRESETS.iter().filter_map(|entry| entry.name.strip_prefix("linux-")).collect();
    assert!(COLUMNS.iter().all(|column| plain.contains(column)));
}

fn version(name: &str) -> Version {
    let release = name.strip_prefix("linux-").expect("named after a kernel");
    let year = || version_of(&format!("{}.0", release.split('-').next()?)); // linux-2026-defrag
    version_of(release).or_else(year).expect("a version")
}

#[test]
fn misspelt_names_get_a_suggestion() {
    let near = |name| preset(name).expect_err("misspelt").suggestion;
    assert_eq!(near("linux-2026-defrags"), Some("linux-2026-defrag"));
    assert_eq!(near("linux-4.20+stal"), Some("linux-4.20+stall"));
    assert_eq!(near("freebsd"), None);
    let unknown = |suggestion| Err(SetSysctlError::Unknown { suggestion });
    let mut sysctl = Sysctl::default();
    assert_eq!(sysctl.set("watermark_bost_factor", 1), unknown(Some("watermark_boost_factor")));
    assert_eq!(sysctl.set("vm.defragmode", 1), unknown(Some("defrag_mode")));
    assert_eq!(sysctl.set("panic_on_oom", 1), unknown(None));
    assert_eq!(sysctl, Sysctl::default());
}

#[test]
fn errors_say_what_would_be_right() {
    let text = |name: &str, setting, value| match preset(name) {
        Ok(mut policy) => policy.set_sysctl(setting, value).expect_err("refused").to_string(),
        Err(unknown) => unknown.to_string(),
    };
    assert_eq!(text("linux-4.20+stal", "", 0), "no such preset; there is linux-4.20+stall");
    assert_eq!(text("freebsd", "", 0), "no such preset");
    assert_eq!(text("linux-6.18", "swapiness", 0), "no such sysctl; there is vm.swappiness");
    assert_eq!(text("linux-6.14", "defrag_mode", 1), "only kernels 6.15+ have the sysctl");
    assert_eq!(text("linux-5.0", "swappiness", 101), "the sysctl takes 0 to 100");
    let unknown = pagealloc::Gfp::parse("GFP_KERNEL|__GFP_NONSENSE").expect_err("nonsense");
    assert_eq!(unknown.to_string(), "\"__GFP_NONSENSE\" is no GFP flag");
}

#[test]
fn ranges_refuse() {
    for info in SYSCTLS {
        let mut sysctl = Sysctl::default();
        let SysctlRange { min, max, .. } = info.range;
        for value in [min, max] {
            assert_eq!(sysctl.set(info.name, value), Ok(()), "{}", info.name);
            assert_eq!(info.get(&sysctl), Some(value), "{}", info.name);
        }
        let out_of_range = Err(SetSysctlError::OutOfRange { range: info.range });
        assert_eq!(sysctl.set(info.name, max + 1), out_of_range, "{}", info.name);
        if let Some(below) = min.checked_sub(1) {
            assert_eq!(sysctl.set(info.name, below), out_of_range, "{}", info.name);
        }
        assert_eq!(info.get(&sysctl), Some(max), "{}: changed by a refused value", info.name);
    }
    assert!(SYSCTLS.is_sorted_by_key(|info| info.name));
    let fraction = |value| Sysctl::default().set("vm.percpu_pagelist_high_fraction", value);
    let range = SysctlRange { min: 0, max: 1_000_000, hole: Some((1, 7)) };
    assert_eq!([1, 7].map(fraction), [Err(SetSysctlError::OutOfRange { range }); 2]);
    assert_eq!(fraction(8), Ok(()));
    assert_eq!(range.to_string(), "0 to 1000000, but not 1 to 7");
}

#[test]
fn a_kernel_has_its_own_sysctls() {
    let since: &[(&str, &str)] = &[
        ("compact_unevictable_allowed", "4.6"),
        ("compaction_proactiveness", "5.10"),
        ("defrag_mode", "6.15"),
        ("lru_gen/enabled", "6.1"),
        ("percpu_pagelist_high_fraction", "5.15"),
        ("watermark_boost_factor", "5.0"),
        ("watermark_scale_factor", "4.6"),
    ];
    for info in SYSCTLS {
        let first = since.iter().find(|(name, _)| *name == info.name).map_or("3.10", |(_, version)| version);
        let since = COLUMNS.iter().position(|column| *column == first).unwrap();
        for (index, column) in COLUMNS.iter().enumerate() {
            let expected = index >= since && info.name != "fragment_stall_order";
            assert_eq!(info.available(&kernel(column)), expected, "{} in {column}", info.name);
        }
    }
}

#[test]
fn a_kernel_refuses_what_it_refused() {
    let set = |preset_name: &str, name: &str, value| preset(preset_name).unwrap().set_sysctl(name, value);
    let range = |min, max| Err(SetSysctlError::OutOfRange { range: SysctlRange { min, max, hole: None } });
    assert_eq!(set("linux-6.14", "vm.defrag_mode", 1), Err(SetSysctlError::Unavailable { kernels: "6.15+" }));
    assert_eq!(set("linux-6.18", "vm.defrag_mode", 2), range(0, 1));
    assert_eq!(set("linux-6.18+defrag2", "defrag_mode", 2), Ok(()));
    assert_eq!(set("linux-5.0", "swappiness", 101), range(0, 100));
    assert_eq!(set("linux-6.1", "swappiness", 101), Ok(()));
    assert_eq!(set("linux-5.0", "watermark_scale_factor", 3000), range(1, 1000));
    assert_eq!(set("linux-6.1", "watermark_scale_factor", 3000), Ok(()));
    assert_eq!(set("linux-4.20+stall", "fragment_stall_order", 9), Ok(()));
}

#[test]
fn up_to_5_2_kswapd_looks_after_the_higher_of_two_requests_zones() {
    let next = |version: &str, asked| kernel(version).kswapd.next_zone(asked, ZoneType::Normal);
    assert_eq!(["5.0", "5.4"].map(|version| next(version, Some(ZoneType::Dma32))), [ZoneType::Normal, ZoneType::Dma32]);
    assert_eq!(["5.0", "5.4"].map(|version| next(version, Some(ZoneType::Movable))), [ZoneType::Movable; 2]);
    assert_eq!(next("5.0", None), ZoneType::Normal);
}
