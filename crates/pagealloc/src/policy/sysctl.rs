//! Sysctls, and settings of /sys/kernel/mm, under the kernel's names, with its ranges and defaults.

use super::{Boost, PcpHigh, Policy, WatermarkGap};
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Values of the `vm.*` sysctls that the machinery reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// `vm.min_free_kbytes`, KiB; `None`: computed from the size of memory (6.1), with the THP adjustment if THP is on.
    pub min_free_kbytes: Option<u32>,
    /// `vm.watermark_scale_factor`, 1/10000 of a zone.
    pub watermark_scale_factor: u32,
    /// `vm.watermark_boost_factor`, 1/10000 of the high mark; 0 disables.
    pub watermark_boost_factor: u32,
    /// `vm.lowmem_reserve_ratio` by zone type.
    pub lowmem_reserve_ratio: [u32; crate::ids::NR_ZONE_TYPES],
    /// `vm.percpu_pagelist_high_fraction`; 0: tuned by the kernel.
    pub percpu_pagelist_high_fraction: u32,
    /// `vm.defrag_mode`: 0 off, 1 on, 2 fail rather than fragment (our definition).
    pub defrag_mode: u32,
    /// `vm.fragment_stall_order` of the 4.20 series; 0 disables.
    pub fragment_stall_order: u32,
    /// `vm.extfrag_threshold`, 0 ..= 1000.
    pub extfrag_threshold: u32,
    /// `vm.compaction_proactiveness`, 0 ..= 100; 0 disables.
    pub compaction_proactiveness: u32,
    /// `vm.compact_unevictable_allowed`.
    pub compact_unevictable_allowed: u32,
    /// `vm.swappiness`, 0 ..= 200.
    pub swappiness: u32,
    /// `vm.zone_reclaim_mode`, bits: 1 on, 2 write, 4 unmap.
    pub zone_reclaim_mode: u32,
    /// `vm.dirty_ratio`, % of dirtyable memory.
    pub dirty_ratio: u32,
    /// `vm.dirty_background_ratio`, %.
    pub dirty_background_ratio: u32,
    /// `vm.laptop_mode`.
    pub laptop_mode: u32,
    /// `vm.vfs_cache_pressure`, %.
    pub vfs_cache_pressure: u32,
    /// `vm.stat_interval`, seconds between periodic per-CPU list decay.
    pub stat_interval: u32,
    /// `/sys/kernel/mm/lru_gen/enabled`, bits: 1 generations instead of active and inactive lists, 2 page table walks
    /// that look for uses, 4 (no effect here) the same by upper levels of page tables.
    pub lru_gen: u32,
}

impl Default for Sysctl {
    /// Defaults of 6.18.
    fn default() -> Self {
        Sysctl {
            min_free_kbytes: None,
            watermark_scale_factor: 10,
            watermark_boost_factor: 15000,
            lowmem_reserve_ratio: [256, 256, 32, 0, 0],
            percpu_pagelist_high_fraction: 0,
            defrag_mode: 0,
            fragment_stall_order: 4,
            extfrag_threshold: 500,
            compaction_proactiveness: 20,
            compact_unevictable_allowed: 1,
            swappiness: 60,
            zone_reclaim_mode: 0,
            dirty_ratio: 20,
            dirty_background_ratio: 10,
            laptop_mode: 0,
            vfs_cache_pressure: 100,
            stat_interval: 1,
            lru_gen: 0,
        }
    }
}

/// Values that a kernel takes for a sysctl: `0 to 1000000, but not 1 to 7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysctlRange {
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// First and last of the values in between that the kernel refuses all the same.
    pub hole: Option<(u64, u64)>,
}

impl SysctlRange {
    /// Whether the kernel takes this value.
    pub fn takes(&self, value: u64) -> bool {
        let refused = self.hole.is_some_and(|(first, last)| (first..=last).contains(&value));
        (self.min..=self.max).contains(&value) && !refused
    }
}

impl fmt::Display for SysctlRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)?;
        self.hole.map_or(Ok(()), |(first, last)| write!(f, ", but not {first} to {last}"))
    }
}

/// What is known about a sysctl.
#[derive(Clone, Copy, Debug)]
pub struct SysctlInfo {
    /// Name below `vm.`, or below `/sys/kernel/mm/` if there is a slash in it.
    pub name: &'static str,
    /// Values that some kernel takes.
    pub range: SysctlRange,
    /// Unit, in words.
    pub unit: &'static str,
    /// Kernels that have it.
    pub kernels: &'static str,
    /// Why it changes nothing, or not all that it changes in a kernel, where a recording is replayed.
    pub in_replays: Option<&'static str>,
    available: fn(&Policy) -> bool,
    get: fn(&Sysctl) -> Option<u64>,
    set: fn(&mut Sysctl, u64),
}

impl SysctlInfo {
    /// The name that users know: `vm.NAME` for sysctls, the path below `/sys/kernel/mm/` for the rest.
    pub fn full_name(&self) -> String {
        full_name(self.name)
    }

    /// Whether the policy's kernel has it.
    pub fn available(&self, policy: &Policy) -> bool {
        (self.available)(policy)
    }

    /// Its range in the policy's kernel, which may be narrower than [`SysctlInfo::range`].
    pub fn range_in(&self, policy: &Policy) -> SysctlRange {
        let rules = policy.sysctl_rules;
        let max = match self.name {
            "defrag_mode" if !policy.defrag.is_some_and(|defrag| defrag.never_fragment) => 1,
            "swappiness" => rules.swappiness_max.into(),
            "watermark_scale_factor" => rules.watermark_scale_factor_max.into(),
            _ => self.range.max,
        };
        SysctlRange { max, ..self.range }
    }

    /// Its value, or `None` where it is computed from the machine.
    pub fn get(&self, sysctl: &Sysctl) -> Option<u64> {
        (self.get)(sysctl)
    }
}

macro_rules! scalar {
    ($field:ident, $min:literal ..= $max:literal, $unit:literal, $kernels:literal) => {
        scalar!($field, $min..=$max, $unit, $kernels, |_| true)
    };
    ($field:ident, $min:literal ..= $max:literal, $unit:literal, $kernels:literal, $available:expr) => {
        SysctlInfo {
            name: stringify!($field),
            range: SysctlRange { min: $min, max: $max, hole: None },
            unit: $unit,
            kernels: $kernels,
            in_replays: None,
            available: $available,
            get: |sysctl| Some(sysctl.$field.into()),
            set: |sysctl, value| sysctl.$field = value as u32,
        }
    };
}

/// All sysctls, by name.
pub const SYSCTLS: &[SysctlInfo] = &[
    scalar!(compact_unevictable_allowed, 0..=1, "switch", "4.3+", |policy| policy
        .sysctl_rules
        .compact_unevictable_allowed),
    scalar!(compaction_proactiveness, 0..=100, "%; 0 disables", "5.9+", |policy| policy.kswapd.proactive_compaction),
    scalar!(defrag_mode, 0..=2, "0 off, 1 on, 2 fail rather than fragment (fraglab)", "6.15+", |policy| policy
        .defrag
        .is_some()),
    SysctlInfo {
        in_replays: Some("flushers write when the recorded ones did, if the recording shows when"),
        ..scalar!(dirty_background_ratio, 0..=100, "% of dirtyable memory", "all")
    },
    scalar!(dirty_ratio, 0..=100, "% of dirtyable memory", "all"),
    scalar!(extfrag_threshold, 0..=1000, "fragmentation index / 1000", "all"),
    scalar!(fragment_stall_order, 0..=11, "order; 0 disables", "4.20+stall", |policy| policy.fragment_stall.is_some()),
    scalar!(laptop_mode, 0..=1000000, "seconds; 0 disables", "all"),
    SysctlInfo {
        name: "lru_gen/enabled",
        range: SysctlRange { min: 0, max: 7, hole: None },
        unit: "bits: 1 generations, 2 page table walks, 4 upper levels",
        kernels: "6.1+",
        in_replays: None,
        available: |policy| policy.reclaim.generations.is_some(),
        get: |sysctl| Some(sysctl.lru_gen.into()),
        set: |sysctl, value| sysctl.lru_gen = value as u32,
    },
    SysctlInfo {
        name: "min_free_kbytes",
        range: SysctlRange { min: 0, max: 2147483647, hole: None },
        unit: "KiB; default computed from memory",
        kernels: "all",
        in_replays: None,
        available: |_| true,
        get: |sysctl| sysctl.min_free_kbytes.map(Into::into),
        set: |sysctl, value| sysctl.min_free_kbytes = Some(value as u32),
    },
    SysctlInfo {
        // Finer than an eighth of the zone is refused (5.3).
        range: SysctlRange { min: 0, max: 1000000, hole: Some((1, 7)) },
        ..scalar!(
            percpu_pagelist_high_fraction,
            0..=1000000,
            "divisor of the zone; 0 tunes, else at least 8",
            "5.14+",
            |policy| policy.pcp.high != PcpHigh::SixBatches
        )
    },
    scalar!(stat_interval, 1..=3600, "seconds", "all"),
    scalar!(swappiness, 0..=200, "relative cost of I/O; 200 all anon", "all"),
    SysctlInfo {
        in_replays: Some("slab is shrunk by what the recording tells of it; only the simulated computer reads this"),
        ..scalar!(vfs_cache_pressure, 0..=10000, "%", "all")
    },
    scalar!(
        watermark_boost_factor,
        0..=1000000,
        "1/10000 of the high mark; 0 disables",
        "4.20+patch3, 5.0+",
        |policy| policy.boost != Boost::Never
    ),
    scalar!(watermark_scale_factor, 1..=3000, "1/10000 of the zone", "4.6+", |policy| policy.watermark_gap
        == WatermarkGap::ScaleFactor),
    SysctlInfo {
        in_replays: Some(
            "nodes do not reclaim for themselves; it decides the order of zones of linux-3.10+fair and linux-3.12 only",
        ),
        ..scalar!(zone_reclaim_mode, 0..=7, "bits: 1 on, 2 write, 4 unmap", "all")
    },
];

/// Why a sysctl was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetSysctlError {
    /// No sysctl of that name; the closest known one is named if one is near.
    Unknown {
        /// "Did you mean".
        suggestion: Option<&'static str>,
    },
    /// The policy's kernel does not have it.
    Unavailable {
        /// Kernels that do.
        kernels: &'static str,
    },
    /// The kernel refuses the value.
    OutOfRange {
        /// Values that it takes.
        range: SysctlRange,
    },
}

impl fmt::Display for SetSysctlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetSysctlError::Unknown { suggestion: None } => f.write_str("no such sysctl"),
            SetSysctlError::Unknown { suggestion: Some(near) } => {
                write!(f, "no such sysctl; there is {}", full_name(near))
            }
            SetSysctlError::Unavailable { kernels } => write!(f, "only kernels {kernels} have the sysctl"),
            SetSysctlError::OutOfRange { range } => write!(f, "the sysctl takes {range}"),
        }
    }
}

impl core::error::Error for SetSysctlError {}

/// The name that users know of a setting: with `vm.` before it unless it is a path.
pub fn full_name(name: &str) -> String {
    if name.contains('/') { name.to_owned() } else { ["vm.", name].concat() }
}

fn find(name: &str) -> Result<&'static SysctlInfo, SetSysctlError> {
    let name = name.strip_prefix("vm.").unwrap_or(name);
    SYSCTLS.iter().find(|info| info.name == name).ok_or_else(|| SetSysctlError::Unknown {
        suggestion: super::closest(name, SYSCTLS.iter().map(|info| info.name)),
    })
}

impl SysctlInfo {
    fn store(&self, sysctl: &mut Sysctl, value: u64, range: SysctlRange) -> Result<(), SetSysctlError> {
        if !range.takes(value) {
            return Err(SetSysctlError::OutOfRange { range });
        }
        (self.set)(sysctl, value);
        Ok(())
    }
}

impl Sysctl {
    /// Sets the sysctl of that name, with or without the leading `vm.`, as the latest kernel that has it would.
    ///
    /// # Errors
    /// [`SetSysctlError`] when the name is unknown or the value out of range; nothing is changed then.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), SetSysctlError> {
        let info = find(name)?;
        info.store(self, value, info.range)
    }
}

impl Policy {
    /// Sets the sysctl of that name, with or without the leading `vm.`, as this policy's kernel would.
    ///
    /// # Errors
    /// [`SetSysctlError`] when the kernel does not know the name or refuses the value; nothing is changed then.
    pub fn set_sysctl(&mut self, name: &str, value: u64) -> Result<(), SetSysctlError> {
        let info = find(name)?;
        if !info.available(self) {
            return Err(SetSysctlError::Unavailable { kernels: info.kernels });
        }
        let range = info.range_in(self);
        info.store(&mut self.sysctl, value, range)
    }
}
