//! Slab objects by turns of growth and shrinking: small files, negative dentries, pipes and unix sockets with contents.

use super::{KIB, file_of};
use crate::bounds::{Between, Percent};
use crate::random::Random;
use crate::rounds::Script;
use crate::{HandleId, Op, Spawn};
use serde::Deserialize;

/// Parameters of the slab workers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Slab {
    /// Workers.
    pub workers: u16,
    /// Rounds that each owes: a small file made or removed, with what belongs to it.
    pub rounds: u32,
    /// Fewest and most rounds of a turn.
    pub turn_rounds: Between,
    /// Largest of the small files, KiB; 0 makes them empty.
    pub file_kib: u32,
    /// Names looked up in vain each round.
    pub lookups: u32,
    /// Percent of rounds that open (in growth) or close a pipe; the same for sockets.
    pub channel_percent: Percent,
    /// Most pipes, and most pairs of sockets, that are open at a time; 0 for none.
    pub channels: u32,
    /// Smallest and largest content of a pipe, KiB.
    pub pipe_kib: Between,
    /// Smallest and largest content of a socket, KiB.
    pub socket_kib: Between,
}

/// Numbers in use, of which any can be taken back. A number that is free again is the next to be used.
#[derive(Clone, Default)]
struct Numbers {
    used: Vec<u32>,
    free: Vec<u32>,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        let number = self.free.pop().unwrap_or(self.used.len() as u32);
        self.used.push(number);
        number
    }

    fn put_back(&mut self, random: &mut Random) -> Option<u32> {
        let at = random.below(self.used.len() as u64) as usize;
        let number = (!self.used.is_empty()).then(|| self.used.swap_remove(at))?;
        self.free.push(number);
        Some(number)
    }
}

/// A slab worker.
#[derive(Clone)]
pub struct Worker {
    parameters: Slab,
    root: u64,
    random: Random,
    files: Numbers,
    pipes: Numbers,
    sockets: Numbers,
    names: u64,
    grows: bool,
    /// Rounds left of this turn.
    left: u64,
}

/// First of the numbers of sockets: those below are pipes.
const FIRST_SOCKET: u32 = 1 << 24;

impl Worker {
    /// A worker.
    pub fn new(parameters: Slab, spawn: &Spawn) -> Worker {
        Worker {
            parameters,
            root: spawn.argument,
            random: Random::of(spawn),
            files: Numbers::default(),
            pipes: Numbers::default(),
            sockets: Numbers::default(),
            names: spawn.argument << 40,
            grows: false,
            left: 0,
        }
    }

    fn grow(&mut self, ops: &mut Vec<Op>) {
        let file = file_of(self.root, self.files.take().into());
        ops.push(Op::Create { file });
        if self.parameters.file_kib > 0 {
            ops.push(Op::Write {
                file,
                offset: 0,
                bytes: self.random.range(1, u64::from(self.parameters.file_kib) * KIB),
            });
        }
        if self.opens_channel() {
            self.close_pipe(ops, self.parameters.channels);
            let bytes = kib_between(&mut self.random, self.parameters.pipe_kib);
            ops.push(Op::Pipe { handle: HandleId(self.pipes.take()), bytes });
        }
        if self.opens_channel() {
            self.close_socket(ops, self.parameters.channels);
            let bytes = kib_between(&mut self.random, self.parameters.socket_kib);
            ops.push(Op::Socket { handle: HandleId(FIRST_SOCKET + self.sockets.take()), bytes });
        }
    }

    fn opens_channel(&mut self) -> bool {
        self.random.chance(self.parameters.channel_percent.number()) && self.parameters.channels > 0
    }

    fn shrink(&mut self, ops: &mut Vec<Op>) {
        if let Some(number) = self.files.put_back(&mut self.random) {
            ops.push(Op::Unlink { file: file_of(self.root, number.into()) });
        }
        if self.random.chance(self.parameters.channel_percent.number()) {
            self.close_pipe(ops, 1);
        }
        if self.random.chance(self.parameters.channel_percent.number()) {
            self.close_socket(ops, 1);
        }
    }

    /// Closes one of the pipes, if there are this many.
    fn close_pipe(&mut self, ops: &mut Vec<Op>, at_least: u32) {
        if self.pipes.used.len() >= at_least as usize {
            let number = self.pipes.put_back(&mut self.random);
            ops.extend(number.map(|number| Op::Close { handle: HandleId(number) }));
        }
    }

    /// Closes one of the sockets, if there are this many.
    fn close_socket(&mut self, ops: &mut Vec<Op>, at_least: u32) {
        if self.sockets.used.len() >= at_least as usize {
            let number = self.sockets.put_back(&mut self.random);
            ops.extend(number.map(|number| Op::Close { handle: HandleId(FIRST_SOCKET + number) }));
        }
    }
}

fn kib_between(random: &mut Random, Between { low, high }: Between) -> u64 {
    random.log_uniform(low, high) * KIB
}

impl Script for Worker {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.left == 0 {
            let Between { low, high } = self.parameters.turn_rounds;
            self.grows = !self.grows;
            self.left = self.random.range(low, high);
        }
        self.left -= 1;
        if self.grows {
            self.grow(ops)
        } else {
            self.shrink(ops)
        }
        let count = self.parameters.lookups;
        ops.push(Op::Lookup { name: self.names, count });
        self.names += u64::from(count);
        true
    }
}
