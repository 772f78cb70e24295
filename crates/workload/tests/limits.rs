//! Numbers at the end of what their type holds are refused with a reason, or run.

use workload::Scenario;

/// Operations that are looked at, of each root.
const OPS: usize = 5_000;

fn with(scenario: &str, from: &str, to: &str) -> Result<Scenario, String> {
    let text = Scenario::shipped_text(scenario).expect("it is shipped");
    assert!(text.contains(from), "{scenario}: `{from}`");
    Scenario::parse(&text.replace(from, to)).map_err(|error| error.to_string())
}

#[test]
fn greatest_numbers_run() {
    for (scenario, from, to) in [
        ("kbuild-thp", "cpu_us_per_mib = 7400", "cpu_us_per_mib = 4294967295"),
        ("parallelio-memcachetest", "chunk_bytes = 17352", "chunk_bytes = 1048576"),
    ] {
        let scenario = with(scenario, from, to).expect(to);
        let workload = scenario.workload();
        let taken: Vec<usize> =
            workload.roots().iter().map(|root| workload.program(&root.spawn).take(OPS).count()).collect();
        assert!(taken.iter().sum::<usize>() > 0, "{to}: {taken:?}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (scenario, from, to, why) in [
        ("kbuild-mix", "slots = 3", "slots = 300", "are more than 254 together"),
        (
            "kbuild-mix",
            "headers = 200",
            "headers = 1048577",
            "1048577 headers of a compiler slot are more than 1048576",
        ),
        (
            "kbuild-mix",
            "objects = 100",
            "objects = 15728641",
            "15728641 objects of a compiler slot are more than 15728640",
        ),
        ("kbuild-mix", "steps = 32", "steps = 65537", "65537 steps of a compiler slot are more than 65536"),
        ("fsmark-xfs64k", "\nfiles = 100000", "\nfiles = 286331154", "4294967310 files of a worker in all loops"),
        (
            "fsmark-xfs64k",
            "directory_files = 47800",
            "directory_files = 22",
            "68182 directories of a worker are more than 65536",
        ),
        ("thpfioscale", "block_kib = 4", "block_kib = 65", "a block of 65 KiB is larger than a file of 64 KiB"),
        ("stress-highalloc", "order = 4", "order = 99", "99 is not within 0 to"),
        ("oom-loop", "wanted_percent = 120", "wanted_percent = 100", "100 is not within 101 to 1000"),
        ("kbuild-thp", "others = 82271", "others = 4194305", "4194305 others of a tree are more than 4194304"),
        ("parallelio-memcachetest", "value_bytes = 16384", "value_bytes = 17289", "than chunk_bytes: 17353, 17352"),
        ("parallelio-memcachetest", "pool_percent = 80", "pool_percent = 100", "within 1 to 99"),
        ("thpfioscale", "jobs = 4", "jobs = 257", "257 jobs are more than 256"),
        ("parallelio-memcachetest", "warm_ups = 1", "warm_ups = 60", "are more than 64"),
        ("parallelio-memcachetest", "ready_percent = 80", "ready_percent = 100", "ready_percent is below 100"),
        ("kbuild-thp", "used_kib = 22480, hot_kib = 8130", "used_kib = 8129, hot_kib = 8130", "8130, 8129, 32560"),
    ] {
        let said = with(scenario, from, to).expect_err(to);
        assert!(said.starts_with("line ") && said.contains(why), "{said}");
    }
}

#[test]
fn what_does_not_fit_a_slab_is_refused() {
    let said = with("parallelio-memcachetest", "chunk_bytes = 17352", "chunk_bytes = 1048577").expect_err("refused");
    assert!(said.contains("1048577 is not within 1 to 1048576"), "{said}");
}
