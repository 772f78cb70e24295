//! Sysctls under the kernel's names, with its ranges and defaults.

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
        }
    }
}

/// What is known about a sysctl.
#[derive(Clone, Copy, Debug)]
pub struct SysctlInfo {
    /// Name below `vm.`.
    pub name: &'static str,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Unit, in words.
    pub unit: &'static str,
    /// Kernels that have it.
    pub kernels: &'static str,
    get: fn(&Sysctl) -> Option<u64>,
    set: fn(&mut Sysctl, u64),
}

impl SysctlInfo {
    /// Its value, or `None` where it is computed from the machine.
    pub fn get(&self, sysctl: &Sysctl) -> Option<u64> {
        (self.get)(sysctl)
    }
}

macro_rules! scalar {
    ($field:ident, $min:literal ..= $max:literal, $unit:literal, $kernels:literal) => {
        SysctlInfo {
            name: stringify!($field),
            min: $min,
            max: $max,
            unit: $unit,
            kernels: $kernels,
            get: |sysctl| Some(sysctl.$field.into()),
            set: |sysctl, value| sysctl.$field = value as u32,
        }
    };
}

/// All sysctls, by name.
pub const SYSCTLS: &[SysctlInfo] = &[
    scalar!(compact_unevictable_allowed, 0..=1, "switch", "4.3+"),
    scalar!(compaction_proactiveness, 0..=100, "%; 0 disables", "5.9+"),
    scalar!(defrag_mode, 0..=2, "0 off, 1 on, 2 fail rather than fragment (fraglab)", "6.15+"),
    scalar!(dirty_background_ratio, 0..=100, "% of dirtyable memory", "all"),
    scalar!(dirty_ratio, 0..=100, "% of dirtyable memory", "all"),
    scalar!(extfrag_threshold, 0..=1000, "fragmentation index / 1000", "all"),
    scalar!(fragment_stall_order, 0..=11, "order; 0 disables", "4.20+stall"),
    scalar!(laptop_mode, 0..=1000000, "seconds; 0 disables", "all"),
    SysctlInfo {
        name: "min_free_kbytes",
        min: 0,
        max: 4294967295,
        unit: "KiB; default computed from memory",
        kernels: "all",
        get: |sysctl| sysctl.min_free_kbytes.map(Into::into),
        set: |sysctl, value| sysctl.min_free_kbytes = Some(value as u32),
    },
    scalar!(percpu_pagelist_high_fraction, 0..=1000000, "divisor of the zone; 0 tunes, else at least 8", "5.14+"),
    scalar!(stat_interval, 1..=3600, "seconds", "all"),
    scalar!(swappiness, 0..=200, "relative cost of I/O; 200 all anon", "all"),
    scalar!(vfs_cache_pressure, 0..=10000, "%", "all"),
    scalar!(watermark_boost_factor, 0..=1000000, "1/10000 of the high mark; 0 disables", "4.20+stall, 5.0+"),
    scalar!(watermark_scale_factor, 1..=3000, "1/10000 of the zone", "4.6+"),
    scalar!(zone_reclaim_mode, 0..=7, "bits: 1 on, 2 write, 4 unmap", "all"),
];

/// Why a sysctl was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetSysctlError {
    /// No sysctl of that name; the closest known one is named if one is near.
    Unknown {
        /// "Did you mean".
        suggestion: Option<&'static str>,
    },
    /// The value is outside the kernel's range.
    OutOfRange {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
}

impl Sysctl {
    /// Sets the sysctl of that name, with or without the leading `vm.`.
    ///
    /// # Errors
    /// [`SetSysctlError`] when the name is unknown or the value out of range; nothing is changed then.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), SetSysctlError> {
        let name = name.strip_prefix("vm.").unwrap_or(name);
        let Some(info) = SYSCTLS.iter().find(|info| info.name == name) else {
            let suggestion = super::closest(name, SYSCTLS.iter().map(|info| info.name));
            return Err(SetSysctlError::Unknown { suggestion });
        };
        if !(info.min..=info.max).contains(&value) {
            return Err(SetSysctlError::OutOfRange { min: info.min, max: info.max });
        }
        (info.set)(self, value);
        Ok(())
    }
}
