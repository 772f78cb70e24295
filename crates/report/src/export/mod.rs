//! A run directory for other tools: Perfetto, readers of ftrace text, spreadsheets, programs.

mod ftrace;
mod perfetto;
mod plain;
mod read;
mod wire;

pub use ftrace::ftrace;
pub use perfetto::perfetto;
pub use plain::{csv, json};

use crate::view::{Run, ViewError};
use std::path::PathBuf;

/// A run with everything that its directory has of it. Times are nanoseconds since the run's start.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The run over time.
    pub view: Run,
    /// Everything that took time.
    pub slices: Vec<Slice>,
    /// Every fragmentation event.
    pub events: Vec<EventLine>,
    /// Every event of what took time, of a model's run.
    pub trace: Vec<TraceLine>,
    /// Where it was read from.
    pub dir: PathBuf,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Who did it, or where.
    pub track: String,
    /// What.
    pub name: String,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

/// A fragmentation event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// When.
    pub ts_ns: u64,
    /// First frame.
    pub pfn: u64,
    /// Order of the request.
    pub alloc_order: u8,
    /// Order of what was taken.
    pub fallback_order: u8,
    /// log2 of a pageblock's pages.
    pub pageblock_order: u8,
    /// Type asked for.
    pub alloc_migratetype: String,
    /// Type taken from.
    pub fallback_migratetype: String,
    /// Whether less than a pageblock was taken.
    pub fragmenting: bool,
    /// Whether the block is of the request's type afterwards.
    pub change_ownership: bool,
    /// claim, steal or pollute.
    pub class: &'static str,
}

/// A tracepoint's event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// When.
    pub ts_ns: u64,
    /// Name of the tracepoint.
    pub event: String,
    /// Its fields, as the kernel prints them.
    pub fields: String,
}

/// A series, unpacked.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpacked {
    /// Stable name.
    pub name: String,
    /// `NODE/NAME`.
    pub zone: Option<String>,
    /// Unit.
    pub unit: String,
    /// Plot.
    pub group: String,
    /// End of each bucket, seconds.
    pub times: Vec<f32>,
    /// Values.
    pub value: Vec<f32>,
    /// Least values, where buckets are more than one sample.
    pub low: Option<Vec<f32>>,
    /// Greatest values.
    pub high: Option<Vec<f32>>,
}

impl Exported {
    /// All series.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn unpacked(&self) -> Result<Vec<Unpacked>, ViewError> {
        let damaged = |error: crate::view::ChunkError| ViewError::Damaged {
            path: self.dir.join(crate::view::VIEW_FILE),
            what: error.to_string(),
        };
        let clocks: Vec<Vec<f32>> =
            self.view.clocks.iter().map(|clock| clock.to_f32().map_err(damaged)).collect::<Result<_, _>>()?;
        let bound = |chunk: &Option<crate::view::Chunk>| {
            chunk.as_ref().map(|chunk| chunk.to_f32().map_err(damaged)).transpose()
        };
        let unpack = |series: &crate::view::Series| {
            Ok(Unpacked {
                name: series.name.clone(),
                zone: series.zone.clone(),
                unit: series.unit.clone(),
                group: series.group.clone(),
                times: clocks.get(series.times).cloned().unwrap_or_default(),
                value: series.value.to_f32().map_err(damaged)?,
                low: bound(&series.low)?,
                high: bound(&series.high)?,
            })
        };
        self.view.series.iter().map(unpack).collect()
    }
}

impl EventLine {
    /// Its fields, as the kernel prints them.
    fn fields(&self) -> String {
        let index = |name: &str| {
            let of = pagealloc::Migratetype::ALL.into_iter().find(|of| of.name() == name);
            of.map_or(0, |of| of as u8)
        };
        format!(
            "page={0:#x} pfn={0:#x} alloc_order={1} fallback_order={2} pageblock_order={3} alloc_migratetype={4} \
             fallback_migratetype={5} fragmenting={6} change_ownership={7}",
            self.pfn,
            self.alloc_order,
            self.fallback_order,
            self.pageblock_order,
            index(&self.alloc_migratetype),
            index(&self.fallback_migratetype),
            u8::from(self.fragmenting),
            u8::from(self.change_ownership)
        )
    }
}
