//! The state of memory management, and the handle that its async parts share.

use crate::compaction::progress::ZoneCompaction;
use crate::env::Env;
use crate::event::MmObserver;
use crate::kcompactd::requests::Kcompactd;
use crate::kswapd::requests::Kswapd;
use crate::lru::generations::Generations;
use crate::lru::lists::LruState;
use crate::owner::Owner;
use crate::pages::Pages;
use crate::reclaim::node::NodeReclaim;
use crate::swap::clusters::Swap;
use alloc::vec::Vec;
use core::cell::RefCell;
use pagealloc::policy::GenerationRules;
use pagealloc::{PageAllocator, Pfn};

/// The types that surround a machine's memory management.
pub trait World {
    /// Time, waiting, I/O.
    type Env: Env;
    /// Owner of the pages.
    type Owner: Owner;
    /// Who watches.
    type Observer: MmObserver;
}

/// What a node needs beside its zones.
#[derive(Default)]
pub struct NodeState {
    /// LRU lists (per zone policies keep theirs in [`ZoneState`]).
    pub lru: LruState,
    /// The same pages by generation, where generations are in force: then of the lists in `lru` only the unevictable one
    /// is in use, and its sizes are gauges.
    pub generations: Generations,
    /// Reclaim: costs, refaults, isolated pages, throttling flags, deferred slab work.
    pub reclaim: NodeReclaim,
    /// kswapd's requests and failures.
    pub kswapd: Kswapd,
    /// kcompactd's requests.
    pub kcompactd: Kcompactd,
}

/// What a zone needs beside the allocator's part.
#[derive(Default)]
pub struct ZoneState {
    /// Cached scanner positions, deferral.
    pub compaction: ZoneCompaction,
    /// LRU lists of kernels that keep them per zone (up to 4.7).
    pub lru: LruState,
    /// Pages that kswapd, and that direct reclaim has scanned on the zone's own lists.
    pub scanned: [u64; 2],
    /// LRU pages of this zone by list: inactive anon, active anon, inactive file, active file, unevictable.
    pub lru_pages: [u64; 5],
}

/// Everything that is borrowed for one step.
pub struct State<W: World> {
    /// Floor 1.
    pub alloc: PageAllocator<W::Observer>,
    /// Flags and tags.
    pub pages: Pages,
    /// By node number.
    pub nodes: Vec<NodeState>,
    /// By zone number.
    pub zones: Vec<ZoneState>,
    /// Swap slots, where the policy has tables for them.
    pub swap: Swap,
    /// Owner of the pages.
    pub owner: W::Owner,
    /// Rules of generations if the policy says so at the start; `None`: classic lists.
    pub lru_gen: Option<GenerationRules>,
    /// Lent to whoever collects the neighbours of a page, so that it is not allocated each time.
    pub(crate) near: Vec<Pfn>,
    /// Pages of the machine that this one stands for, to pages here. Rules that go by gigabytes of memory see the former.
    pub stands_for: (u64, u64),
}

/// Memory management of one machine: the shared handle that tasks and daemons run on.
pub struct Mm<W: World> {
    /// Borrowed for a step at a time, never across an await.
    pub state: RefCell<State<W>>,
    /// Surroundings.
    pub env: W::Env,
}

impl<W: World> State<W> {
    /// State around an allocator, with empty LRU lists.
    pub fn new(alloc: PageAllocator<W::Observer>, owner: W::Owner) -> State<W> {
        let pages = Pages::new(alloc.frames.len());
        let nodes = (0..alloc.nr_nodes()).map(|_| NodeState::default()).collect();
        let zones = (0..alloc.nr_zones()).map(|_| ZoneState::default()).collect();
        let lru_gen = alloc.policy.lru_gen();
        State {
            alloc,
            pages,
            nodes,
            zones,
            swap: Swap::default(),
            owner,
            lru_gen,
            near: Vec::new(),
            stands_for: (1, 1),
        }
    }

    /// Loads what is about to be asked of pages and their owner, one page after the other: all at once, so that the cache
    /// misses overlap.
    pub(crate) fn load_owners(&self, pages: impl Iterator<Item = Pfn>) {
        let tags = pages.map(|pfn| self.pages.tag(pfn));
        core::hint::black_box(tags.fold(0, |sum, tag| sum ^ self.owner.load_ahead(tag)));
    }
}

impl<W: World> Mm<W> {
    /// The handle.
    pub fn new(state: State<W>, env: W::Env) -> Mm<W> {
        Mm { state: RefCell::new(state), env }
    }
}
