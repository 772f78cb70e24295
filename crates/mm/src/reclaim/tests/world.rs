//! The machine of these tests.

use crate::env::{Env, Nanos, Queue, TaskContext, Woken, Work};
use crate::lru::LruList;
use crate::lru_kind::LruKind;
use crate::owner::{Owner, References, ShrinkControl, Tag};
use crate::pages::PageFlags;
use crate::reclaim::Shadow;
use crate::state::{Mm, NodeState, State, World, ZoneState};
use crate::{MmEvent, MmObserver};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use pagealloc::policy::preset;
use pagealloc::{
    Counter, CpuId, Event, FrameState, Geometry, Gfp, Machine, NodeId, Observer, Order, PageAllocator, Pfn, Policy,
    Request, ZoneId,
};

/// 16 pages a block and a huge page, largest order 5.
pub const SMALL: Geometry = Geometry { page_shift: 12, max_order: 5, pageblock_order: 4, pmd_order: 4 };
pub const NODE: NodeId = NodeId(0);
pub const ZONE: ZoneId = ZoneId(0);
pub const CPU: CpuId = CpuId(0);
pub const TASK: TaskContext = TaskContext::user(1, CPU);

/// Everything is ready at once; what was asked for is remembered.
#[derive(Default)]
pub struct ToyEnv {
    pub waits: RefCell<Vec<Queue>>,
    /// How long each of these waits may last.
    pub timeouts: RefCell<Vec<Nanos>>,
    /// Somebody waits wherever one can wait.
    pub waiters: Cell<bool>,
    pub woken: RefCell<Vec<Queue>>,
    pub writes: RefCell<Vec<(Pfn, LruKind)>>,
    pub flushers_woken: Cell<u32>,
    /// Scanned, reclaimed and the folios of these, of all batches.
    pub shrunk: Cell<(u32, u32, u32)>,
    pub clock: Cell<Nanos>,
    pub congested: Cell<bool>,
}

impl Env for ToyEnv {
    fn now(&self) -> Nanos {
        self.clock.get()
    }
    fn work(&self, _task: &TaskContext, work: Work) -> impl Future<Output = ()> {
        if let Work::Shrink { scanned, reclaimed, folios, .. } = work {
            let (s, r, f) = self.shrunk.get();
            self.shrunk.set((s + scanned, r + reclaimed, f + folios));
        }
        core::future::ready(())
    }
    fn wait(&self, queue: Queue, timeout: Option<Nanos>) -> impl Future<Output = Woken> {
        self.timeouts.borrow_mut().push(timeout.unwrap_or_else(|| panic!("nobody would wake {queue:?}")));
        self.waits.borrow_mut().push(queue);
        core::future::ready(Woken::TimedOut)
    }
    fn wake(&self, queue: Queue) {
        self.woken.borrow_mut().push(queue);
    }
    fn has_waiters(&self, _queue: Queue) -> bool {
        self.waiters.get()
    }
    fn start_write(&self, pfn: Pfn, kind: LruKind, _pages: u64) {
        self.writes.borrow_mut().push((pfn, kind));
    }
    fn congested(&self) -> bool {
        self.congested.get()
    }
    fn wake_flushers(&self, _pages: u64) {
        self.flushers_woken.set(self.flushers_woken.get() + 1);
    }
}

/// Tags are numbers in order of appearance; the pages listed in `hot` are always in use.
#[derive(Default)]
pub struct ToyOwner {
    pub hot: Vec<Tag>,
    /// Frames that lie next to any page in page tables, whatever is in them.
    pub near: Vec<Pfn>,
    /// Read three times meanwhile.
    pub read_meanwhile: Vec<Tag>,
    pub swap_free: u64,
    pub evicted: Vec<(Tag, Pfn, Shadow)>,
    pub contiguous_swap: bool,
    /// Objects of the only shrinker, if there is one.
    pub slab_objects: Option<u64>,
    pub slab_pages: Vec<Pfn>,
    pub slab_needs_fs: bool,
    /// Whoever holds a page lets go of it.
    pub lets_go: bool,
    /// Parts of huge pages that were given back.
    pub zapped: Vec<u32>,
}

impl Owner for ToyOwner {
    fn referenced(&mut self, tag: Tag, _pfn: Pfn, _now: Nanos) -> References {
        if self.hot.contains(&tag) { References::Ptes(1) } else { References::None }
    }
    fn uses_meanwhile(&mut self, tag: Tag, _pfn: Pfn, _now: Nanos) -> u8 {
        if self.read_meanwhile.contains(&tag) { 3 } else { 0 }
    }
    fn neighbours(&mut self, _tag: Tag, near: &mut Vec<Pfn>) -> u32 {
        near.extend(&self.near);
        0
    }
    fn reclaimed(&mut self, tag: Tag, pfn: Pfn, _now: Nanos, shadow: Shadow) {
        self.evicted.push((tag, pfn, shadow));
    }
    fn migrated(&mut self, _tag: Tag, _from: Pfn, _to: Pfn) {}
    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag> {
        (index == 0 || !self.zapped.contains(&index)).then_some(Tag(head_tag.0 * 100 + index))
    }
    fn release_folio(&mut self, _tag: Tag) -> bool {
        self.lets_go
    }
    fn free_swap_pages(&self) -> u64 {
        self.swap_free
    }
    fn add_to_swap(&mut self, _tag: Tag, _pfn: Pfn, pages: u32) -> bool {
        let fits = self.swap_free >= u64::from(pages) && (pages == 1 || self.contiguous_swap);
        if fits {
            self.swap_free -= u64::from(pages);
        }
        fits
    }
    fn shrinkers(&self) -> usize {
        usize::from(self.slab_objects.is_some())
    }
    fn shrinker_needs_fs(&self, _shrinker: usize) -> bool {
        self.slab_needs_fs
    }
    fn shrinker_count(&mut self, _shrinker: usize, _node: NodeId) -> (u64, u32) {
        (self.slab_objects.unwrap_or(0), 2)
    }
    fn shrinker_scan(&mut self, _shrinker: usize, control: ShrinkControl<'_>) -> u64 {
        let objects = self.slab_objects.as_mut().expect("there is a shrinker");
        let scanned = control.nr.min(*objects);
        *objects -= scanned;
        control.freed.extend(self.slab_pages.pop());
        scanned
    }
    fn oom_kill(&mut self, _now: Nanos, _freed: &mut Vec<Pfn>) -> Option<u32> {
        None
    }
}

#[derive(Default)]
/// Events of this floor, and the frames that were freed, each with its order.
pub struct Seen(pub Vec<MmEvent>, pub Vec<(Pfn, Order)>);
impl Observer for Seen {
    fn kmem(&mut self, event: &Event) {
        if let Event::MmPageFree { pfn, order } = *event {
            self.1.push((pfn, order));
        }
    }
}
impl MmObserver for Seen {
    fn mm(&mut self, event: &MmEvent) {
        self.0.push(*event);
    }
}

pub struct Toy;
impl World for Toy {
    type Env = ToyEnv;
    type Owner = ToyOwner;
    type Observer = Seen;
}

pub fn linux_6_18() -> Policy {
    preset("linux-6.18").expect("the preset of the newest kernel")
}

/// A machine of 1024 free pages, without per-CPU caches, marks 32, 40 and 48.
pub fn machine(policy: Policy) -> Mm<Toy> {
    let mut alloc = PageAllocator::new(&Machine::uniform(SMALL, 1, 1024, false), policy, Seen::default()).unwrap();
    alloc.set_watermarks(ZONE, 32, 40, 48, 56);
    alloc.set_pcp_limits(ZONE, 1, 0, 0);
    Mm::new(State::new(alloc, ToyOwner { swap_free: 10_000, ..ToyOwner::default() }), ToyEnv::default())
}

/// Runs a future that is never pending.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the toy environment is always ready"),
    }
}

pub fn request(order: Order) -> Request {
    Request::new(order, Gfp::HIGHUSER_MOVABLE, CPU)
}

impl Mm<Toy> {
    /// Allocates pages of this order onto an LRU list, with tags from `first_tag` on.
    pub(super) fn fill(&self, count: u32, order: Order, flags: PageFlags, first_tag: u32) -> Vec<Pfn> {
        let mut state = self.state.borrow_mut();
        (0..count)
            .map(|index| {
                let pfn = state.alloc.alloc_fast(&request(order)).expect("the machine is large enough");
                state.lru_add(pfn, flags, Tag(first_tag + index));
                pfn
            })
            .collect()
    }

    pub(super) fn count(&self, counter: Counter) -> u64 {
        self.state.borrow().alloc.vmstat.get(counter)
    }

    pub(super) fn on(&self, list: LruList) -> u64 {
        self.state.borrow().nr_lru(NODE, list)
    }

    /// Gauges, list sizes and frame states agree.
    pub(super) fn check(&self) {
        let state = self.state.borrow();
        state.alloc.check().unwrap();
        let mut listed = [0u64; 5];
        let vecs = state.nodes.iter().map(|node: &NodeState| &node.lru);
        for lru in vecs.chain(state.zones.iter().map(|zone: &ZoneState| &zone.lru)) {
            for (number, list) in lru.lists.iter().enumerate() {
                let mut pages = 0;
                for pfn in list.iter(&state.alloc.frames) {
                    assert_eq!(state.alloc.frames.state(pfn), FrameState::LRU);
                    assert_eq!(LruList::of(state.pages.flags(pfn)) as usize, number);
                    pages += 1 << state.alloc.frames.order(pfn);
                }
                if state.lru_gen.is_none() || number == LruList::Unevictable as usize {
                    assert_eq!(pages, lru.pages[number]);
                } else {
                    assert!(list.is_empty(), "classic list {number} in use beside generations");
                }
                listed[number] += pages;
            }
        }
        if state.lru_gen.is_some() {
            check_generations(&state, &mut listed);
        }
        for (number, &pages) in listed.iter().enumerate() {
            assert_eq!(pages, state.zones.iter().map(|zone| zone.lru_pages[number]).sum::<u64>());
        }
        let lru_frames = (0..state.alloc.frames.len()).map(Pfn);
        let heads = lru_frames.filter(|&pfn| state.alloc.frames.state(pfn) == FrameState::LRU);
        let in_state: u64 = heads.map(|pfn| 1u64 << state.alloc.frames.order(pfn)).sum();
        assert_eq!(in_state, listed.iter().sum::<u64>());
        assert!(state.nodes.iter().all(|node| node.reclaim.isolated == [0, 0]));
        let sum = |counts: &dyn Fn(PageFlags) -> bool| -> u64 {
            let heads = (0..state.alloc.frames.len()).map(Pfn);
            let allocated = heads.filter(|&pfn| state.alloc.frames.state(pfn).is_allocated_head());
            let counted = allocated.filter(|&pfn| counts(state.pages.flags(pfn)));
            counted.map(|pfn| 1u64 << state.alloc.frames.order(pfn)).sum()
        };
        let dirty = sum(&|flags| flags.contains(PageFlags::DIRTY) && !flags.contains(PageFlags::ANON));
        let writeback = sum(&|flags| flags.contains(PageFlags::WRITEBACK));
        assert_eq!(state.nr_dirty_and_writeback(), (dirty, writeback));
    }
}

/// Every page hangs on the list of its home generation and counts in its own; kinds keep between 2 and 4 generations;
/// gauges are sums over generations. Adds the pages to the sizes of the classic lists that they count as.
fn check_generations(state: &State<Toy>, listed: &mut [u64; 5]) {
    for (number, node) in state.nodes.iter().enumerate() {
        let generations = &node.generations;
        let mut counted = generations.pages;
        for kinds in &mut counted {
            *kinds = Default::default();
        }
        let mut gauges = [0; 4];
        for (home, kinds) in generations.lists.iter().enumerate() {
            for (kind, zones) in kinds.iter().enumerate() {
                for (zone, list) in zones.iter().enumerate() {
                    for pfn in list.iter(&state.alloc.frames) {
                        let (flags, bits) = (state.pages.flags(pfn), state.pages.bits(pfn));
                        assert_eq!(state.alloc.frames.state(pfn), FrameState::LRU);
                        assert_eq!(state.alloc.zone_info(state.alloc.zone_of(pfn)).kind as usize, zone);
                        assert_eq!((bits.home(), LruKind::of(flags) as usize), (home, kind));
                        assert!(!flags.intersects(PageFlags::ACTIVE.with(PageFlags::UNEVICTABLE)), "{flags:?}");
                        let pages = 1u64 << state.alloc.frames.order(pfn);
                        counted[bits.generation()][kind][zone] += pages;
                        gauges[2 * kind + usize::from(generations.is_active(bits.generation()))] += pages;
                    }
                }
            }
        }
        assert_eq!(counted, generations.pages);
        for kind in LruKind::ALL {
            let range = crate::lru::MIN_NR_GENS..=crate::lru::MAX_NR_GENS;
            assert!(range.contains(&generations.nr_gens(kind)), "{} generations", generations.nr_gens(kind));
        }
        assert!(generations.walk.is_over(), "nobody walks");
        for (list, &pages) in gauges.iter().enumerate() {
            assert_eq!(pages, node.lru.pages[list], "gauge {list} of node {number}");
            listed[list] += pages;
        }
    }
}
