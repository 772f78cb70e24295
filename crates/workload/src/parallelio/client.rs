//! memcached and memcachetest, its client: items in slabs of memory that the server maps as it fills them.
//!
//! The two take turns on a connection, so one task stands for both: what they compute for a request is one time.

use super::{MIB, OPS_A_REQUEST, POPULATE, Parameters, REQUESTS, Share};
use crate::bounds::Bounded;
use crate::rounds::Script;
use crate::{Access, Op, Random, RegionId, Scale, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of server and client.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Memory that the items take.
    pub pool_percent: Share,
    /// Value of an item.
    pub value_bytes: NonZero<u32>,
    /// What an item counts as when the client works out how many fit into the pool.
    pub item_bytes: NonZero<u32>,
    /// What an item takes in the server: the chunk of a slab.
    pub chunk_bytes: Bounded<1, { SLAB as u32 }>,
    /// Share of requests that write.
    pub sets_percent: Share,
    /// Length of the measurement, milliseconds.
    pub duration_ms: NonZero<u32>,
    /// What a request takes on both sides and between them while all items are in memory, microseconds.
    pub round_trip_us: NonZero<u32>,
    /// Items that are there when the file's time begins.
    pub ready_percent: Share,
}

impl Client {
    pub(super) fn scale(&mut self, scale: Scale) {
        self.duration_ms = scale.of_nonzero(self.duration_ms);
    }

    /// What an item is, and how many there are, goes together.
    pub(super) fn check(&self) -> Result<(), String> {
        let (item, chunk) = (u64::from(self.value_bytes.get()) + HEADER, u64::from(self.chunk_bytes.get()));
        if item > chunk {
            return Err(format!(
                "a value with its {HEADER} bytes of header and key is larger than chunk_bytes: {item}, {chunk}"
            ));
        }
        if self.ready_percent.number() == 100 {
            return Err("ready_percent is below 100: dd begins while the client still fills its memory".to_owned());
        }
        match self.pool_percent.number() {
            1..=99 => Ok(()),
            percent => Err(format!("pool_percent is within 1 to 99, as dd writes a share of the rest; not {percent}")),
        }
    }

    /// Bytes of all items.
    pub(super) fn pool(&self, memory: u64) -> u64 {
        self.pool_percent.of(memory)
    }
}

/// What the server maps at once (`item_size_max`, the size of a slab).
const SLAB: u64 = MIB;

#[derive(Clone)]
pub(super) struct Server {
    client: Client,
    items: u64,
    populated: u64,
    /// Requests that can be made at most in the time.
    left: u64,
    meeting: u16,
    random: Random,
}

/// Requests written down at once.
const BATCH: u64 = 1_000;

impl Server {
    pub fn new(parameters: &Parameters, spawn: &Spawn) -> Server {
        let client = parameters.client;
        let nanos = u64::from(client.duration_ms.get()) * 1_000_000;
        Server {
            client,
            // On a machine that is brought to a small scale both are one at least.
            items: (client.pool(parameters.memory()) / u64::from(client.item_bytes.get())).max(1),
            populated: 0,
            left: (nanos / (u64::from(client.round_trip_us.get()) * 1_000)).max(1),
            meeting: (spawn.argument >> 16) as u16,
            random: Random::of(spawn),
        }
    }

    fn items_a_slab(&self) -> u64 {
        SLAB / u64::from(self.client.chunk_bytes.get())
    }

    fn request(&self, item: u64, access: Access, ops: &mut Vec<Op>) {
        let per_slab = self.items_a_slab();
        let region = RegionId((item / per_slab) as u32);
        let offset = item % per_slab * u64::from(self.client.chunk_bytes.get());
        // Header and key precede the value.
        let bytes = u64::from(self.client.value_bytes.get()) + HEADER;
        ops.push(Op::Compute { nanos: u64::from(self.client.round_trip_us.get()) * 1_000 });
        ops.push(Op::Touch { region, offset, bytes, access });
    }

    fn populate(&mut self, ops: &mut Vec<Op>) {
        let end = (self.populated + BATCH).min(self.items);
        let ready = self.client.ready_percent.of(self.items);
        for item in self.populated..end {
            if item % self.items_a_slab() == 0 {
                ops.push(Op::Map { region: RegionId((item / self.items_a_slab()) as u32), bytes: SLAB });
            }
            if item == ready {
                ops.push(Op::Meet { number: self.meeting, tasks: 2 });
            }
            self.request(item, Access::Write, ops);
        }
        self.populated = end;
        if end == self.items {
            let nanos = u64::from(self.client.duration_ms.get()) * 1_000_000;
            ops.extend([Op::Done, Op::For { label: REQUESTS, nanos }]);
        }
    }
}

/// An item's header and key.
const HEADER: u64 = 64;

impl Script for Server {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::For { label: POPULATE, nanos: i64::MAX as u64 });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.populated < self.items {
            self.populate(ops);
            return true;
        }
        if self.left == 0 {
            return false;
        }
        let now = BATCH.min(self.left);
        for _ in 0..now {
            let item = self.random.below(self.items);
            let write = self.random.chance(self.client.sets_percent.number());
            self.request(item, if write { Access::Write } else { Access::Read }, ops);
        }
        self.left -= now;
        if self.left == 0 {
            ops.push(Op::Done);
        }
        debug_assert!(ops.len() as u64 >= now * OPS_A_REQUEST);
        true
    }
}
