//! Experiments on machines that are small enough for tests.

use workload::Scenario;

/// Builds in 144 MiB: brought to scale, `kbuild-thp` builds less on the same machine.
pub const BUILDS: &str = "kbuild-thp-small";

/// [`BUILDS`], or a shipped scenario at this scale.
pub fn scenario(name: &str, scale: &str) -> Scenario {
    if name == BUILDS {
        return Scenario::parse(include_str!("kbuild-thp-small.toml")).unwrap();
    }
    let mut scenario = Scenario::shipped(name).unwrap();
    scenario.scale(scale.parse().unwrap());
    scenario
}
