//! What a run looked like over time: numbers ([`Tracks`]) and pageblocks ([`BlockMap`]), of bounded size however long the
//! run is. Models and recorded kernels fill the same [`Timeline`], through one [`Sampler`].

mod blocks;
mod bucket;
mod gauge;
mod map;
mod moment;
mod rates;
mod sampler;

pub use blocks::{BlockFill, block_byte, block_bytes};
pub use bucket::{Bucket, Tracks};
pub use gauge::{Group, Key, Unit};
pub use map::BlockMap;
pub use moment::{Moment, ZoneMoment};
pub use sampler::{Sampler, Sampling};

use crate::activity::{Activities, Slice};
use mm::Nanos;
use std::fmt;

/// A run over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// First and last moment on the run's clock.
    pub window: (Nanos, Nanos),
    /// The machine.
    pub machine: Shape,
    /// Numbers.
    pub tracks: Tracks,
    /// Pageblocks.
    pub map: BlockMap,
    /// What took time.
    pub slices: Vec<Slice>,
    /// The events behind it, of a model's run.
    pub activities: Activities,
    /// Release of the kernel, of a recorded one.
    pub release: Option<String>,
    /// What of this is inferred, or not known.
    pub notes: Vec<String>,
}

/// What the times and places of a timeline stand on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a page.
    pub page_size: u32,
    /// log2 of a pageblock's pages.
    pub pageblock_order: u8,
    /// Zones by address.
    pub zones: Vec<Span>,
}

/// A zone's pageblocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Node number.
    pub node: u8,
    /// Name as in /proc.
    pub name: String,
    /// First pageblock.
    pub first_block: u32,
    /// Number of pageblocks.
    pub blocks: u32,
}

impl Shape {
    /// Number of the machine's pageblocks, holes included.
    pub fn blocks(&self) -> u32 {
        self.zones.iter().map(|zone| zone.first_block + zone.blocks).max().unwrap_or(0)
    }
}

impl fmt::Display for Span {
    /// `NODE/NAME`, as series name the zone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.name)
    }
}
