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
        ("fsmark-xfs64k", "files = 100000", "files = 4294967295"),
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
