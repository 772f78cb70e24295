//! A run or a recording, at a moment that can be moved.

use super::screen::{Screen, ZoneState};
use crate::failure::Failure;
use pagealloc::Migratetype;
use report::view::{Chunk, ChunkError, Events, Run, Series, grid};

/// Highest order that has a column.
const MAX_ORDER: usize = 10;
/// Most events shown.
const MOST_EVENTS: usize = 12;

/// A run that is looked at.
pub struct Replayed {
    run: Run,
    /// Seconds since its start.
    pub at: f64,
}

impl Replayed {
    /// At a moment of a run.
    pub fn new(run: Run, at: f64) -> Replayed {
        let at = at.clamp(0.0, run.duration_s);
        Replayed { run, at }
    }

    /// Moves on by so many seconds.
    pub fn step(&mut self, seconds: f64) {
        self.at = (self.at + seconds).clamp(0.0, self.run.duration_s);
    }

    /// Whether it has reached its end.
    pub fn ended(&self) -> bool {
        self.at >= self.run.duration_s
    }

    /// What it looked like. `cells`: room for pageblocks.
    pub fn look(&self, cells: usize) -> Result<Screen, Failure> {
        self.screen(cells).map_err(|error| Failure::Input(format!("run `{}`: {error}", self.run.name)))
    }

    fn screen(&self, cells: usize) -> Result<Screen, report::view::MapError> {
        let run = &self.run;
        let map = grid(run, Some(self.at as f32), cells / run.zones.len().max(1))?;
        let (rates, events) = (self.rates()?, self.events()?);
        Ok(Screen {
            title: format!("{} ({}): {:.1} s of {:.1} s", run.name, run.preset, self.at, run.duration_s),
            zones: run.zones.iter().map(|zone| self.zone(zone)).collect::<Result<_, _>>()?,
            rates,
            events,
            map: map.map(|(_, zones)| zones).unwrap_or_default(),
            notes: vec!["left and right move by a second, shift by ten, space goes on or stops, q ends".to_owned()],
        })
    }

    /// Value of a series now.
    fn now(&self, series: &Series) -> Result<Option<f32>, ChunkError> {
        let Some(clock) = self.run.clocks.get(series.times) else { return Ok(None) };
        let times = clock.to_f32()?;
        let bucket = times.partition_point(|end| f64::from(*end) < self.at).min(times.len().saturating_sub(1));
        Ok(series.value.to_f32()?.get(bucket).copied().filter(|value| !value.is_nan()))
    }

    fn zone(&self, zone: &report::view::Zone) -> Result<ZoneState, ChunkError> {
        let name = format!("{}/{}", zone.node, zone.name);
        let mut state = ZoneState { orders: vec![0; MAX_ORDER + 1], name, blocks: Vec::new() };
        for series in self.run.series.iter().filter(|series| series.zone.as_deref() == Some(&state.name)) {
            let Some(value) = self.now(series)? else { continue };
            if let Some(rest) = series.name.strip_prefix("free.order") {
                let order: usize = rest.split('.').next().and_then(|order| order.parse().ok()).unwrap_or(0);
                if let Some(blocks) = state.orders.get_mut(order) {
                    *blocks += value as u64;
                }
            } else if let Some(of) = series.name.strip_prefix("pageblocks.") {
                state.blocks.push((of.to_owned(), value as u64));
            }
        }
        Ok(state)
    }

    fn rates(&self) -> Result<Vec<(String, f64)>, ChunkError> {
        let mut rates = Vec::new();
        let shown = ["thp", "stalls", "reclaim", "compaction", "events"];
        for series in self.run.series.iter().filter(|series| shown.contains(&series.group.as_str())) {
            if let Some(value) = self.now(series)? {
                rates.push((series.name.clone(), f64::from(value)));
            }
        }
        // What goes on comes first: there is not room for all.
        rates.sort_by(|a, b| b.1.total_cmp(&a.1));
        rates.truncate(14);
        Ok(rates)
    }

    /// The last fragmentation events before now.
    fn events(&self) -> Result<Vec<String>, ChunkError> {
        let Events { time, block, kind, alloc_type, block_type, .. } = &self.run.events;
        let (time, block, kind) = (time.to_f32()?, block.to_u32()?, kind.to_u8()?);
        let (wanted, from) = (names(alloc_type)?, names(block_type)?);
        let behind = time.partition_point(|at| f64::from(*at) <= self.at);
        let line = |at: usize| {
            let class = ["claim", "steal", "pollute"].get(usize::from(*kind.get(at)?))?;
            Some(format!("{:>5.1}s {class:<7}{:>4} {} <- {}", time[at], block.get(at)?, wanted.get(at)?, from.get(at)?))
        };
        Ok((0..behind).rev().take(MOST_EVENTS).filter_map(line).collect())
    }
}

fn names(types: &Chunk) -> Result<Vec<&'static str>, ChunkError> {
    Ok(types.to_u8()?.into_iter().map(|of| Migratetype::from_index(of).name()).collect())
}
