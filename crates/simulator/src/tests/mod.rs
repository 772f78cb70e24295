//! Random operations against a naive model of what memory holds, with all invariants checked on the way.

use crate::boot::boot;
use crate::check::{CheckAll, Flight};
use crate::costs::Costs;
use crate::errno::{FBIG, INVAL, NOMEM};
use crate::sim::Sim;
use crate::spec::{Boot, Disks, MachineSpec};
use crate::state::address_space::Pid;
use crate::state::page_table::{Entry, Pte};
use crate::system::Task;
use lab::{Executor, start_daemons};
use mm::thp::{Khugepaged, ThpEnabled};
use pagealloc::policy::preset;
use pagealloc::{Counter, Geometry};
use std::cell::{Cell, RefCell};
use std::num::NonZero;
use workload::{Access, DeviceSpeed, Errno, FileId, FileMapping, GfpClass, HandleId, Op, RegionId, Spawn, System};

mod naive;
mod random;

use naive::{Content, Naive, NaiveFiles};
use random::{NextOp, Random};

pub(crate) fn small_machine(thp: ThpEnabled) -> MachineSpec {
    let mut spec = MachineSpec::guest(96 << 20);
    spec.thp.enabled = thp;
    spec.boot = Boot { unmovable: 11_500, reclaimable: 100, mlocked: 50, ..spec.boot };
    spec
}

/// Whether the page tables say what the naive model does.
fn compare(sim: &Sim, pid: Pid, naive: &Naive) -> Result<(), String> {
    let state = sim.mm.state.borrow();
    let process = state.owner.processes.get(pid).ok_or("no process")?;
    let size = process.windows.size;
    for (&region, pages) in &naive.regions {
        let base = process.regions.get(&RegionId(region)).ok_or("no region")?.base;
        for (page, &wanted) in (base..).zip(pages) {
            let window = process.windows.get(size.window(page)).filter(|window| window.is_mapped(size.index(page)));
            let found = match window.map(|window| (&window.entry, window.is_whole())) {
                None => Content::Unmapped,
                Some((Entry::Empty, _)) => Content::Untouched,
                // A huge page brings its neighbours in.
                Some((Entry::Huge(_), whole)) if whole && wanted != Content::Unmapped => continue,
                Some((Entry::Huge(_), _)) => Content::Unmapped,
                Some((Entry::Table(table), _)) => match table[size.index(page) as usize] {
                    Pte::None | Pte::File { .. } => Content::Untouched,
                    Pte::Zero => Content::Zeroes,
                    Pte::Page(_) => Content::Data,
                },
            };
            let split_huge = sim.spec.thp.enabled != ThpEnabled::Never && found == Content::Data;
            let agrees = found == wanted || split_huge && wanted != Content::Unmapped;
            if !agrees {
                return Err(format!("region {region} page {}: {found:?}, should be {wanted:?}", page - base));
            }
        }
    }
    Ok(())
}

/// Random operations of a process and of children that it forks.
async fn work(sim: &Sim, seed: u64, (ops, next): (u32, NextOp)) -> Result<(), String> {
    let mut random = Random(seed);
    let root = sim.new_root();
    sim.start_root(root).await.map_err(|error| error.to_string())?;
    let mut tasks = vec![(root, Naive::new(sim.page_size()))];
    let mut files = NaiveFiles::default();
    for number in 0..ops {
        let (pid, mut naive) = tasks.pop().ok_or("no task")?;
        let op = next(&mut random);
        let expected = naive.perform(&op, &mut files);
        let done = Task::new(sim, pid).perform(&op).await;
        if done.is_ok() != expected {
            return Err(format!("op {number} {op:?}: {done:?}, should succeed: {expected}"));
        }
        compare(sim, pid, &naive).map_err(|what| format!("op {number} {op:?}: {what}"))?;
        tasks.push((pid, naive));
        match random.below(40) {
            0 if tasks.len() < 3 => {
                let (parent, copy) = tasks.last().cloned().ok_or("no task")?;
                sim.fork(parent, &Spawn::root(0, 0, 0, seed)).await.map_err(|error| error.to_string())?;
                let child = sim.births.borrow_mut().pop_front().ok_or("no birth")?.pid;
                compare(sim, child, &copy).map_err(|what| format!("fork at {number}: {what}"))?;
                tasks.push((child, copy));
            }
            1 if tasks.len() > 1 => {
                let (pid, _) = tasks.pop().ok_or("no task")?;
                sim.exit(pid).await;
            }
            _ => tasks.rotate_left(1),
        }
        sim.mm.state.borrow().check_all(Flight::Allowed).map_err(|what| format!("op {number} {op:?}: {what}"))?;
    }
    while let Some((pid, _)) = tasks.pop() {
        sim.exit(pid).await;
    }
    Ok(())
}

/// Runs random operations to their end; what is left must be accounted for to the page.
/// Digest, and pages swapped out on the way.
fn run(thp: ThpEnabled, seed: u64, ops: u32) -> (u64, u64) {
    let counters = [Counter::PswpOut];
    let (digest, [swapped]) = run_on(&small_machine(thp), "linux-6.18", seed, (ops, Random::op), counters);
    (digest, swapped)
}

fn run_on<const N: usize>(
    spec: &MachineSpec,
    policy: &str,
    seed: u64,
    ops: (u32, NextOp),
    counters: [Counter; N],
) -> (u64, [u64; N]) {
    let sim = boot(spec, &preset(policy).unwrap(), seed, &[]).unwrap();
    let (done, result) = (Cell::new(false), RefCell::new(Ok(())));
    let mut executor = Executor::default();
    start_daemons(&mut executor, &sim.mm, 0);
    executor.spawn(sim.env(), sim.flush_forever());
    executor.spawn_daemon(sim.env(), sim.commit_forever());
    executor.spawn_daemon(sim.env(), sim.collapse_forever());
    executor.spawn(sim.env(), async {
        *result.borrow_mut() = work(&sim, seed, ops).await;
        done.set(true);
    });
    run_until(&sim, &mut executor, || done.get());
    assert_eq!(*result.borrow(), Ok(()), "seed {seed}");
    let state = sim.mm.state.borrow();
    assert_eq!(state.check_all(Flight::None), Ok(()), "seed {seed}");
    assert_eq!(state.owner.slots.used(), 0, "seed {seed}: nobody is left who could have swapped memory");
    (state.alloc.observer.digest(), counters.map(|counter| state.alloc.vmstat.get(counter)))
}

#[test]
fn base_pages_hold_what_was_written() {
    let swapped: u64 = (1..=3).map(|seed| run(ThpEnabled::Never, seed, 400).1).sum();
    assert!(swapped > 500, "memory is short: {swapped} pages swapped out");
}

#[test]
fn huge_pages_hold_what_was_written() {
    let swapped: u64 = (11..=13).map(|seed| run(ThpEnabled::Always, seed, 300).1).sum();
    assert!(swapped > 1_000, "memory is short: {swapped} pages swapped out");
}

#[test]
fn huge_pages_that_are_cut_and_made_hold_what_was_written() {
    let mut spec = small_machine(ThpEnabled::Always);
    spec.boot.unmovable = 3_000;
    (spec.thp.khugepaged.scan_sleep, spec.thp.khugepaged.alloc_sleep) = (20_000_000, 40_000_000);
    let counters = [Counter::PswpOut, Counter::ThpDeferredSplitPage, Counter::ThpSplitPage, Counter::ThpCollapseAlloc];
    for policy in ["linux-4.20", "linux-6.18", "linux-7.3"] {
        let mut sums = [0; 4];
        for seed in 11..=16 {
            let (_, counted) = run_on(&spec, policy, seed, (600, Random::op_on_huge_pages), counters);
            sums.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
        }
        println!("{policy}: {sums:?}");
        assert!(sums.iter().all(|&counted| counted > 20), "{policy}: {sums:?}");
    }
}

/// A machine with larger pages, of which the kernel has left so much.
fn with_larger_pages(geometry: Geometry, memory: u64, left: u64) -> MachineSpec {
    let mut spec = MachineSpec { geometry, ..MachineSpec::guest(memory) };
    spec.costs = spec.costs.with_pages_of(spec.page());
    let unmovable = spec.frames() - (left >> geometry.page_shift) as u32;
    spec.boot = Boot { image: 0, unmovable, reclaimable: 100, mlocked: 50 };
    spec.thp.khugepaged = Khugepaged { scan_sleep: 20_000_000, ..Khugepaged::new(geometry.pmd_order) };
    spec
}

#[test]
fn larger_pages_hold_what_was_written() {
    let sizes = [(Geometry::PAGES_16K, 512 << 20, 36 << 20), (Geometry::PAGES_64K, 2 << 30, 112 << 20)];
    let swapped = sizes.map(|(geometry, memory, left)| {
        let mut spec = with_larger_pages(geometry, memory, left);
        // With huge pages a twentieth of memory would be kept free.
        spec.thp.enabled = ThpEnabled::Never;
        let ops = (400, Random::op as NextOp);
        (31..=33).map(|seed| run_on(&spec, "linux-6.18", seed, ops, [Counter::PswpOut]).1[0]).sum::<u64>()
    });
    assert!(swapped[0] > 100, "memory is short: {swapped:?} pages swapped out");
}

#[test]
fn huge_pages_of_32_mib_hold_what_was_written() {
    let spec = with_larger_pages(Geometry::PAGES_16K, 1 << 30, 400 << 20);
    let counters = [Counter::ThpFaultAlloc, Counter::ThpDeferredSplitPage, Counter::ThpSplitPage];
    let ops = (300, Random::op_on_larger_huge_pages as NextOp);
    let mut sums = [0; 3];
    for seed in 41..=42 {
        let (_, counted) = run_on(&spec, "linux-6.18", seed, ops, counters);
        sums.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
    }
    assert!(sums.iter().all(|&counted| counted > 5), "{sums:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(run(ThpEnabled::Always, 21, 120), run(ThpEnabled::Always, 21, 120));
    assert_ne!(run(ThpEnabled::Always, 21, 120), run(ThpEnabled::Always, 22, 120));
}

#[test]
fn nodes_hold_what_was_written() {
    let spec = MachineSpec { nodes: 4, cpus: 4, memory: 320 << 20, ..small_machine(ThpEnabled::Always) };
    let spec = MachineSpec { boot: Boot { unmovable: 64_500, ..spec.boot }, ..spec };
    let mut swapped = 0;
    for policy in ["linux-6.18", "linux-3.12"] {
        let (_, [out, missed]) = run_on(&spec, policy, 5, (300, Random::op), [Counter::PswpOut, Counter::NumaMiss]);
        assert!(missed > 100, "{policy}: each node is too small for the task on it: {missed}");
        swapped += out;
    }
    assert!(swapped > 100, "memory is short: {swapped} pages swapped out");
}

/// A task fills its node and the next, gives up what it has on its own, and goes on using the rest: that is moved to it.
async fn move_in(sim: &Sim) -> Result<(), workload::Errno> {
    let pid = started(sim).await?;
    // Sleep ends with the run.
    sim.roots_left.set(1);
    let mut task = Task::new(sim, pid);
    let (half, access) = (80 << 20, Access::Write);
    for region in [RegionId(1), RegionId(2)] {
        task.perform(&Op::Map { region, bytes: half }).await?;
        task.perform(&Op::Touch { region, offset: 0, bytes: half, access }).await?;
    }
    task.perform(&Op::Unmap { region: RegionId(1), offset: 0, bytes: half }).await?;
    for _ in 0..8 {
        task.perform(&Op::Sleep { nanos: 1_500_000_000 }).await?;
        task.perform(&Op::Touch { region: RegionId(2), offset: 0, bytes: half, access }).await?;
    }
    sim.exit(pid).await;
    Ok(())
}

/// Lets everything happen until this is so.
pub(crate) fn run_until(sim: &Sim, executor: &mut Executor<'_>, done: impl Fn() -> bool) {
    while !done() {
        if !executor.run_next(sim.env()) {
            sim.settle();
            sim.env().advance().into_iter().for_each(|pfn| sim.end_write(pfn));
        }
    }
}

/// Does this beside the machine's daemons: it succeeds and leaves the machine in order.
pub(crate) fn run_alone(sim: &Sim, work: impl Future<Output = Result<(), Errno>>) {
    let result = Cell::new(None);
    let mut executor = Executor::default();
    start_daemons(&mut executor, &sim.mm, 0);
    executor.spawn(sim.env(), sim.flush_forever());
    executor.spawn_daemon(sim.env(), sim.commit_forever());
    executor.spawn(sim.env(), async { result.set(Some(work.await)) });
    run_until(sim, &mut executor, || result.get().is_some());
    assert_eq!(result.get(), Some(Ok(())));
    assert_eq!(sim.mm.state.borrow().check_all(Flight::None), Ok(()));
}

/// A process.
pub(crate) async fn started(sim: &Sim) -> Result<Pid, Errno> {
    let pid = sim.new_root();
    sim.start_root(pid).await?;
    Ok(pid)
}

/// Does all of this, one after the other.
pub(crate) async fn all(sim: &Sim, pid: Pid, ops: &[Op]) -> Result<(), Errno> {
    let mut task = Task::new(sim, pid);
    for op in ops {
        task.perform(op).await?;
    }
    Ok(())
}

#[test]
fn pages_follow_their_user() {
    for thp in [ThpEnabled::Never, ThpEnabled::Always] {
        let spec = MachineSpec { nodes: 2, cpus: 2, memory: 256 << 20, ..small_machine(thp) };
        let sim = boot(&spec, &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        run_alone(&sim, move_in(&sim));
        let state = sim.mm.state.borrow();
        let count = |counter| state.alloc.vmstat.get(counter);
        let (missed, moved) = (count(Counter::NumaMiss), count(Counter::NumaPagesMigrated));
        assert!(count(Counter::NumaPteUpdates) >= moved && moved > 5_000, "{thp:?}: {missed} elsewhere, {moved} moved");
        assert_eq!(count(Counter::NumaHintFaultsLocal), 0, "pages of a lone task that are local are not marked");
    }
}

/// Takes more than there is, and reads all of it again.
async fn read_again(sim: &Sim) -> Result<(), Errno> {
    let pid = started(sim).await?;
    let (region, bytes) = (RegionId(1), 80 << 20);
    let mut task = Task::new(sim, pid);
    task.perform(&Op::Map { region, bytes }).await?;
    for access in [Access::Write, Access::Read] {
        task.perform(&Op::Touch { region, offset: 0, bytes, access }).await?;
    }
    sim.exit(pid).await;
    Ok(())
}

/// The same with a disk that moves its head, and swap on it.
fn rotating(spec: MachineSpec) -> MachineSpec {
    let disk = DeviceSpeed { mb_s: NonZero::new(100).unwrap(), latency_us: 0, seek_us: 1_000 };
    MachineSpec { disks: Disks { disk: Some(disk), swap_on_disk: true, ..spec.disks }, ..spec }
}

#[test]
fn linux_3_11_reads_eight_slots_at_a_miss_of_a_part_of_a_disk() {
    let sim = boot(&rotating(small_machine(ThpEnabled::Never)), &preset("linux-3.11").unwrap(), 1, &[]).unwrap();
    run_alone(&sim, read_again(&sim));
    let state = sim.mm.state.borrow();
    let [pages, misses] = [Counter::PswpIn, Counter::Pgmajfault].map(|counter| state.alloc.vmstat.get(counter));
    assert!(misses > 500 && pages > misses * 6, "{pages} pages for {misses} misses");
}

#[test]
fn who_syncs_a_file_waits_for_the_request_queue() {
    let spec = rotating(small_machine(ThpEnabled::Never));
    // At this scale a request is of two pages.
    let sim = boot(
        &MachineSpec { folio_order: 0, scale: "1/64".parse().unwrap(), ..spec },
        &preset("linux-3.11").unwrap(),
        1,
        &[],
    )
    .unwrap();
    let (most, done) = (Cell::new(0), Cell::new(false));
    let work = async {
        let (pid, file) = (started(&sim).await?, FileId(1));
        let write = Op::Write { file, offset: 0, bytes: 8 << 20 };
        all(&sim, pid, &[Op::Create { file }, write, Op::Sync { file }]).await?;
        done.set(true);
        sim.exit(pid).await;
        Ok::<(), Errno>(())
    };
    let mut executor = Executor::default();
    executor.spawn(sim.env(), async { assert_eq!(work.await, Ok(())) });
    run_until(&sim, &mut executor, || {
        most.set(most.get().max(sim.mm.state.borrow().nr_dirty_and_writeback().1));
        done.get()
    });
    assert!((128..=2 * 129).contains(&most.get()), "{} of 2,048 pages are being written at a time", most.get());
    assert_eq!(sim.mm.state.borrow().nr_dirty_and_writeback().1, 0);
}

#[test]
fn swap_is_read_by_neighbourhood() {
    let read = |name, virtio| {
        let guest = small_machine(ThpEnabled::Never);
        let spec = MachineSpec { costs: Costs { virtio, ..guest.costs }, ..guest };
        let sim = boot(&spec, &preset(name).unwrap(), 1, &[]).unwrap();
        run_alone(&sim, read_again(&sim));
        let state = sim.mm.state.borrow();
        assert_eq!(state.owner.slots.used(), 0, "everything was given back");
        [Counter::PswpIn, Counter::Pgmajfault].map(|counter| state.alloc.vmstat.get(counter))
    };
    // Of slots where the device rotates, else of addresses.
    for virtio in [true, false] {
        let [pages, misses] = read("linux-6.18", virtio);
        assert!(misses > 500 && pages > misses * 4, "{pages} pages for {misses} misses");
    }
    let [alone, each] = read("linux-4.8", false);
    assert!(alone > 5_000 && alone == each, "{alone} pages for {each} misses, one by one");
}

#[test]
fn what_no_machine_has_room_for_is_refused() {
    let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
    let refusals = RefCell::new(Vec::new());
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &[Op::Create { file: FileId(1) }]).await?;
        let bytes = (1 << 41) - 4096;
        let mapped =
            |region| Op::MapFile { region: RegionId(region), file: FileId(1), bytes, mapping: FileMapping::Read };
        let private = |region| Op::Map { region: RegionId(region), bytes };
        let order = Op::KernelPages { handle: HandleId(1), order: 20, gfp: GfpClass::Kernel, count: 1 };
        for op in [mapped(0), mapped(1), mapped(2), private(3), private(4), private(5), order] {
            let refusal = all(&sim, pid, &[op]).await.err();
            refusals.borrow_mut().push(refusal);
        }
        Ok(())
    });
    let no = Some(NOMEM);
    assert_eq!(refusals.take(), [None, None, no, None, None, no, no]);
}

#[test]
fn what_a_kernel_would_refuse_is_refused_and_changes_nothing() {
    let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
    let outcomes = RefCell::new(Vec::new());
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        let (region, file) = (RegionId(1), FileId(1));
        all(&sim, pid, &[Op::Map { region, bytes: 8192 }, Op::Create { file }]).await?;
        // What numbers of the kernel's own stand for, nothing at all, and pages beyond the last that a file can have.
        let (end, bytes) = (u64::from(u32::MAX) * 4096, 4096);
        for op in [
            Op::Unmap { region: RegionId(u32::MAX), offset: 0, bytes },
            Op::Unlink { file: FileId(u32::MAX) },
            Op::Unmap { region, offset: 0, bytes: 0 },
            Op::Write { file, offset: end - 1, bytes },
            Op::Read { file, offset: end, bytes },
        ] {
            let outcome = all(&sim, pid, &[op]).await.err();
            outcomes.borrow_mut().push(outcome);
        }
        let length = sim.mm.state.borrow().owner.files.get(1).map(|of| of.bytes);
        assert_eq!(length, Some(0));
        sim.exit(pid).await;
        Ok(())
    });
    let invalid = Some(INVAL);
    assert_eq!(outcomes.take(), [invalid, invalid, invalid, Some(FBIG), None]);
}
