//! This host, by what /proc says. Nothing is changed, and nothing is traced.

use super::screen::{Screen, ZoneState};
use crate::failure::Failure;
use recording::proc::{buddyinfo, pagetypeinfo, vmstat};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Counters that are shown as rates.
const RATES: [&str; 14] = [
    "allocstall_dma32",
    "allocstall_normal",
    "allocstall_movable",
    "compact_stall",
    "compact_success",
    "compact_fail",
    "compact_daemon_wake",
    "pgmigrate_success",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "thp_fault_alloc",
    "thp_fault_fallback",
];

/// Where /proc is, and what it said last.
pub struct Host {
    proc: PathBuf,
    before: Option<(Instant, vmstat::Vmstat)>,
}

impl Host {
    /// Reads from here: /proc, or a copy of it.
    pub fn new(proc: &Path) -> Host {
        Host { proc: proc.to_owned(), before: None }
    }

    /// What it says now; rates are since the call before.
    pub fn look(&mut self) -> Result<Screen, Failure> {
        let read = |name: &str| {
            let path = self.proc.join(name);
            fs::read_to_string(&path)
                .map(|text| (recording::SourceName::from(path.as_path()), text))
                .map_err(|error| Failure::Host(format!("{}: {error}", path.display())))
        };
        let bad = |error: recording::Error| Failure::Input(error.to_string());
        let (name, text) = read("buddyinfo")?;
        let orders = buddyinfo::parse(&name, &text).map_err(bad)?;
        let (name, text) = read("vmstat")?;
        let now = vmstat::parse(&name, &text).map_err(bad)?;
        let mut screen = Screen { title: self.title(), ..Screen::default() };
        screen.zones = orders.iter().map(zone).collect();
        match read("pagetypeinfo") {
            Ok((name, text)) => {
                types(&mut screen.zones, &pagetypeinfo::parse(&name, &text).map_err(bad)?);
            }
            Err(_) => screen.notes.push("pageblocks by type: /proc/pagetypeinfo is for root".to_owned()),
        }
        screen.notes.push("q ends. A block map needs `fraglab record`; events are counted, not traced.".to_owned());
        self.rates(&mut screen, now);
        Ok(screen)
    }

    fn title(&self) -> String {
        let release = fs::read_to_string(self.proc.join("sys/kernel/osrelease")).unwrap_or_default();
        match release.trim() {
            "" => format!("fraglab watch: {}", self.proc.display()),
            release => format!("fraglab watch: Linux {release}"),
        }
    }

    fn rates(&mut self, screen: &mut Screen, now: vmstat::Vmstat) {
        let at = Instant::now();
        if let Some((then, before)) = &self.before {
            let seconds = at.duration_since(*then).as_secs_f64().max(1e-3);
            let rate = |name: &&str| Some(now.get(name)?.saturating_sub(before.get(name)?) as f64 / seconds);
            screen.rates = RATES.iter().filter_map(|name| Some(((*name).to_owned(), rate(name)?))).collect();
        }
        let totals = ["compact_stall", "compact_fail", "thp_fault_fallback", "oom_kill"];
        let total = |name: &&str| Some(format!("{:>7} since boot: {name}", now.get(name)?));
        screen.events = totals.iter().filter_map(total).collect();
        self.before = Some((at, now));
    }
}

fn zone(row: &buddyinfo::FreeBlocks) -> ZoneState {
    ZoneState { name: format!("{}/{}", row.node, row.zone), orders: row.by_order.to_vec(), blocks: Vec::new() }
}

fn types(zones: &mut [ZoneState], info: &pagetypeinfo::PageTypeInfo) {
    for row in &info.blocks {
        let name = format!("{}/{}", row.node, row.zone);
        if let Some(zone) = zones.iter_mut().find(|zone| zone.name == name) {
            let named = info.migratetypes.iter().zip(&row.by_type);
            zone.blocks = named.filter(|(_, n)| **n > 0).map(|(of, n)| (of.to_string(), *n)).collect();
        }
    }
}
