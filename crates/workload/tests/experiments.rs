//! What the experiments ask for is the same in every release, on every platform.

use workload::{Op, Scenario, on_paper};

/// Digests of all operations owed at seed 1, at a scale that makes them few.
const GOLDEN: &[(&str, &str, u64)] = &[
    ("fsmark-xfs64k", "1/512", 0x8551_0978_7ed4_bd41),
    ("kbuild-mix", "1/4", 0xb4d5_3dbd_6039_bd1b),
    ("kbuild-short", "1/4", 0xf5c5_3e4e_8ea2_2e44),
    ("kbuild-thp", "1/16", 0xc4ab_9913_4782_b420),
    ("kbuild-thp-16k", "1/16", 0x0b11_86f2_7b6c_73de),
    ("oom-loop", "1/16", 0x1cd4_81c3_e2f8_e88a),
    ("parallelio-memcachetest", "1/64", 0x003b_1531_8948_0e1f),
    ("stress-highalloc", "1/32", 0xfb6c_8655_2a0f_c8c8),
    ("thpfioscale", "1/512", 0x1e60_fd54_e9b1_eb7e),
    ("thpfioscale-madvise", "1/512", 0x410b_65f6_2b58_bc1f),
    ("thpfioscale-2s", "1/512", 0xaf13_19fe_7c3e_f7ed),
    ("thpfioscale-2s-madvise", "1/512", 0x1f90_8e37_75ea_0bb5),
    ("thpscale", "1/16", 0x7ecb_5c3d_229a_4046),
    ("thpscale-madvise", "1/16", 0x8573_3077_5df9_9121),
];

#[test]
fn digests_are_golden() {
    assert!(Scenario::names().all(|name| GOLDEN.iter().any(|golden| golden.0 == name)), "every scenario has a digest");
    let mut wrong = Vec::new();
    for &(name, scale, golden) in GOLDEN {
        let mut scenario = Scenario::shipped(name).expect("it is shipped");
        scenario.scale(scale.parse().expect("a scale"));
        let digest = on_paper(&*scenario.workload()).digest();
        if digest != Some(golden) {
            wrong.push(format!("{name}: {digest:x?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// 24,576 files per GiB, each of them written in 16 sweeps and then read as often as the warm-up says.
#[test]
fn thpfioscale_has_the_benchmarks_sizes() {
    let mut scenario = Scenario::shipped("thpfioscale-2s").expect("it is shipped");
    scenario.scale("1/64".parse().expect("a scale"));
    let workload = scenario.workload();
    let (mut opened, mut written, mut faulted) = (0, 0, 0);
    for root in workload.roots() {
        let mut closed = false;
        for op in workload.program(&root.spawn).take(root.quota as usize) {
            match op {
                Op::Open { .. } if !closed => opened += 1,
                Op::Close { .. } => closed = true,
                Op::Write { bytes, .. } => written += bytes,
                Op::Touch { bytes, .. } => faulted += bytes,
                _ => {}
            }
        }
    }
    assert_eq!((opened, written), (24_576, 3 << 29));
    // Half of 75 % of a node of 512 MiB, in whole pieces for each of five threads.
    assert_eq!(faulted, 19 * 5 * (2 << 20));
}
