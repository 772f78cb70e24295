//! A small machine for end-to-end tests: virtual time, a deterministic executor on one thread, an owner that keeps a
//! table of pages.

mod compacting;
mod executor;
mod owner;
mod watcher;

pub use compacting::{compact, leaves_nothing_behind, populate};
pub use executor::{Costs, TestEnv};
pub use owner::TestOwner;
pub use watcher::Watcher;

use executor::Executor;
use mm::{Env, Mm, PageFlags, State, TaskContext, World};
use pagealloc::policy::preset;
use pagealloc::{
    AllocFlags, Counter, CpuId, Geometry, Gfp, Machine, NodeId, PageAllocator, Pfn, Policy, Request, ZoneId,
};
use std::future::Future;
use std::rc::Rc;

/// The world of these tests.
pub struct TestWorld;

impl World for TestWorld {
    type Env = TestEnv;
    type Owner = TestOwner;
    type Observer = Watcher;
}

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;
/// Pages in a MiB.
pub const MIB: u32 = 256;
/// The only zone of [`TestMachine::new`].
pub const ZONE: ZoneId = ZoneId(0);
/// The only node.
pub const NODE: NodeId = NodeId(0);
/// A task's CPU.
pub const CPU: CpuId = CpuId(0);

/// A machine of one node and one zone, with its executor.
pub struct TestMachine {
    pub mm: Rc<Mm<TestWorld>>,
    executor: Executor,
}

/// The policy of a preset, changed.
pub fn policy(name: &str, change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = preset(name).unwrap_or_else(|near| panic!("no preset {name}, near: {near:?}"));
    change(&mut policy);
    policy
}

impl TestMachine {
    pub fn new(policy: Policy, mib: u32) -> TestMachine {
        TestMachine::with_zones(policy, &Machine::uniform(Geometry::PAGES_4K, 2, mib * MIB, false))
    }

    pub fn with_zones(policy: Policy, machine: &Machine) -> TestMachine {
        let alloc = PageAllocator::new(machine, policy, Watcher::default()).expect("a valid machine");
        let env = TestEnv::default();
        let mm = Rc::new(Mm::new(State::new(alloc, TestOwner::default()), env.clone()));
        TestMachine { executor: Executor::new(env), mm }
    }

    /// With kswapd and, where the kernel has it, kcompactd running.
    pub fn with_daemons(policy: Policy, mib: u32) -> TestMachine {
        let mut machine = TestMachine::new(policy, mib);
        machine.start_daemons();
        machine
    }

    /// Starts kswapd and, where the kernel has it, kcompactd.
    pub fn start_daemons(&mut self) {
        let kcompactd = self.mm.state.borrow().alloc.policy.kswapd.kcompactd;
        let mm = self.mm.clone();
        self.spawn(async move { mm.kswapd(NODE).await });
        if kcompactd {
            let mm = self.mm.clone();
            self.spawn(async move { mm.kcompactd(NODE).await });
        }
        self.run_for(10 * MS); // They go to sleep.
    }

    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.executor.spawn(task);
    }

    /// Runs for that much virtual time.
    pub fn run_for(&mut self, nanos: u64) {
        let end = self.mm.env.now() + nanos;
        self.executor.run_until(&self.mm, end);
    }

    /// Runs `task` to its end, or for at most `nanos`: its result, or `None` if it is still at it.
    pub fn complete<T: 'static>(&mut self, nanos: u64, task: impl Future<Output = T> + 'static) -> Option<T> {
        let result = Rc::new(std::cell::RefCell::new(None));
        let slot = result.clone();
        self.spawn(async move {
            let value = task.await;
            *slot.borrow_mut() = Some(value);
        });
        let end = self.mm.env.now() + nanos;
        self.executor.run_while(&self.mm, end, || result.borrow().is_none());
        result.take()
    }

    pub fn counter(&self, counter: Counter) -> u64 {
        self.mm.state.borrow().alloc.vmstat.get(counter)
    }

    pub fn allocstalls(&self) -> u64 {
        let alloc = &self.mm.state.borrow().alloc;
        pagealloc::ZoneType::ALL.iter().map(|&zone| alloc.vmstat.get(Counter::allocstall(zone))).sum()
    }

    pub fn free(&self) -> u64 {
        self.mm.state.borrow().alloc.free_pages(ZONE)
    }

    pub fn mark(&self, mark: AllocFlags) -> u64 {
        self.mm.state.borrow().alloc.wmark(ZONE, mark)
    }

    /// What the observer saw.
    pub fn watched<T>(&self, look: impl FnOnce(&Watcher) -> T) -> T {
        look(&self.mm.state.borrow().alloc.observer)
    }

    pub fn check(&self) {
        self.mm.state.borrow().alloc.check().expect("the allocator's invariants hold");
    }
}

/// A request as tests make them.
pub fn request(order: u8, gfp: Gfp) -> Request {
    Request::new(order, gfp, CPU)
}

/// An ordinary task.
pub fn task(pid: u32) -> TaskContext {
    TaskContext::user(pid, CPU)
}

/// Allocates a page of user memory and puts it on its LRU list.
pub async fn user_page(mm: &Mm<TestWorld>, order: u8, flags: PageFlags, pid: u32) -> Option<Pfn> {
    let request = request(order, Gfp::HIGHUSER_MOVABLE);
    let page = mm.alloc_pages(&request, &task(pid)).await?;
    let mut state = mm.state.borrow_mut();
    let tag = state.owner.adopt(page, order, pid);
    state.lru_add(page, flags, tag);
    Some(page)
}

/// A page of kernel memory: not movable, not reclaimable.
pub async fn kernel_page(mm: &Mm<TestWorld>, order: u8, pid: u32) -> Option<Pfn> {
    mm.alloc_pages(&request(order, Gfp::KERNEL), &task(pid)).await
}

/// Takes user pages down to the last one, watermarks ignored: the pages.
pub fn fill(machine: &TestMachine, flags: PageFlags, pid: u32) -> Vec<Pfn> {
    fill_to(machine, AllocFlags::NO_WATERMARKS, flags, pid)
}

/// Takes user pages down to a mark, without waking anybody.
pub fn fill_to(machine: &TestMachine, mark: AllocFlags, flags: PageFlags, pid: u32) -> Vec<Pfn> {
    let mut pages = Vec::new();
    let mut state = machine.mm.state.borrow_mut();
    let request = request(0, Gfp::HIGHUSER_MOVABLE);
    while let Some(page) = state.alloc.get_page_from_freelist(&request, mark) {
        let tag = state.owner.adopt(page, 0, pid);
        state.lru_add(page, flags, tag);
        pages.push(page);
    }
    pages
}

/// Frees a page and has the owner forget it.
pub fn free_page(machine: &TestMachine, page: Pfn) {
    let mut state = machine.mm.state.borrow_mut();
    state.owner.forget(page);
    state.free_page(page, CPU);
}
