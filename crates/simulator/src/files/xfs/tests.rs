//! The lock under which transactions commit, the worker that frees inodes, and what the log keeps in memory: on a machine that creates files,
//! step by step.

use crate::boot::boot;
use crate::check::{CheckAll, Flight};
use crate::sim::Sim;
use crate::spec::{Disks, MachineSpec};
use crate::state::address_space::Pid;
use crate::state::slab::Cache;
use crate::state::xfs::{INODES_A_CLUSTER, Xfs};
use lab::{Executor, start_daemons};
use mm::{Env, Nanos};
use pagealloc::NodeId;
use pagealloc::policy::preset;
use std::cell::Cell;
use workload::Filesystem;

const SECOND: Nanos = 1_000_000_000;

fn machine() -> Sim {
    let disks = Disks { filesystem: Filesystem::Xfs, directory_block: 64 << 10, ..Disks::default() };
    let spec = MachineSpec { disks, cpus: 4, ..MachineSpec::guest(512 << 20) };
    let sim = boot(&spec, &preset("linux-4.6").unwrap(), 1, &[]).unwrap();
    // Somebody is left who may do something: what waits goes on waiting.
    sim.roots_left.set(1);
    sim
}

fn look<R>(sim: &Sim, at: impl FnOnce(&mut Xfs) -> R) -> R {
    at(sim.mm.state.borrow_mut().owner.xfs.as_deref_mut().expect("the machine has XFS"))
}

/// Goes on by a step: a task's, or to the next moment at which there is something to do.
fn step(executor: &mut Executor<'_>, sim: &Sim) {
    if !executor.run_next(sim.env()) {
        sim.settle();
        sim.env().advance().into_iter().for_each(|pfn| sim.end_write(pfn));
    }
}

/// A process that creates files in a directory of its own.
async fn create(sim: &Sim, directory: u32, files: u32, done: &Cell<u32>) {
    let pid = sim.new_root();
    sim.start_root(pid).await.expect("a process");
    sim.create_files(pid, directory, 0, files).await.expect("files");
    sim.exit(pid).await;
    done.set(done.get() + 1);
}

#[test]
fn nobody_is_amid_a_commit_when_the_log_takes_its_items() {
    const CREATORS: u32 = 4;
    let (sim, done) = (machine(), Cell::new(0));
    let mut executor = Executor::default();
    start_daemons(&mut executor, &sim.mm, 0);
    executor.spawn_daemon(sim.env(), sim.log_forever());
    executor.spawn_daemon(sim.env(), sim.write_metadata_forever());
    for directory in 0..CREATORS {
        executor.spawn(sim.env(), create(&sim, directory, 6_000, &done));
    }
    let (mut checkpoints, mut most, mut waited) = (0, 0, 0);
    while done.get() < CREATORS {
        let (head, barred, committing) = look(&sim, |xfs| (xfs.head, xfs.push_waits, xfs.committing));
        step(&mut executor, &sim);
        look(&sim, |xfs| {
            if xfs.head > head {
                checkpoints += 1;
                assert_eq!(
                    (xfs.committing, xfs.commit_waiters.len()),
                    (0, 0),
                    "all are out, and those who waited go on"
                );
            }
            assert!(
                !(barred && xfs.push_waits) || xfs.committing <= committing,
                "nobody enters while the log wants to"
            );
            most = most.max(xfs.committing);
            waited = waited.max(xfs.commit_waiters.len());
        });
    }
    assert!(checkpoints >= 2 && most >= 2, "{checkpoints} checkpoints, at most {most} commits at once");
    assert!(waited > 0, "somebody had to wait");
    assert_eq!(look(&sim, |xfs| xfs.committing), 0);
}

#[test]
fn a_commit_that_does_not_end_holds_up_the_log_and_all_other_commits() {
    let (sim, done) = (machine(), Cell::new(0));
    let mut executor = Executor::default();
    start_daemons(&mut executor, &sim.mm, 0);
    executor.spawn_daemon(sim.env(), sim.log_forever());
    // Somebody waits for memory under the lock, and the log has to be written.
    look(&sim, |xfs| {
        xfs.committing += 1;
        xfs.push_all = true;
    });
    executor.spawn(sim.env(), create(&sim, 0, 50, &done));
    while sim.env().now() < SECOND {
        step(&mut executor, &sim);
    }
    let stuck = look(&sim, |xfs| (xfs.head, xfs.push_waits, xfs.committing, xfs.commit_waiters.len()));
    assert_eq!(stuck, (0, true, 1, 1), "no checkpoint in a second, and the creator waits");
    assert_eq!(done.get(), 0);

    look(&sim, |xfs| xfs.committing -= 1);
    sim.wake_log();
    while done.get() == 0 {
        step(&mut executor, &sim);
    }
    assert!(look(&sim, |xfs| xfs.head) > 0, "the checkpoint was written");
    assert!(sim.env().now() < 2 * SECOND, "at once, not at the next look for something to do");
}

#[test]
fn inodes_without_a_name_leave_once_they_are_on_disk() {
    const FILES: u32 = 10 * INODES_A_CLUSTER;
    let (sim, done) = (machine(), Cell::new(0));
    let inodes = |sim: &Sim| sim.mm.state.borrow().owner.slabs.objects(Cache::XfsInode);
    let before = inodes(&sim);
    let mut executor = Executor::default();
    start_daemons(&mut executor, &sim.mm, 0);
    executor.spawn_daemon(sim.env(), sim.reclaim_inodes_forever());
    executor.spawn(sim.env(), create(&sim, 0, FILES, &done));
    while done.get() == 0 {
        step(&mut executor, &sim);
    }
    // Reclaim takes the names, and no inode.
    let named = u64::from(FILES);
    let given = look(&sim, |xfs| xfs.shrink_files(NodeId(0), named));
    assert_eq!((given.scanned, given.objects.len()), (named, FILES as usize));
    sim.free_objects(given.objects);

    let from = sim.env().now();
    while sim.env().now() < from + 20 * SECOND {
        step(&mut executor, &sim);
    }
    assert_eq!(
        look(&sim, |xfs| xfs.count_files(NodeId(0))),
        named,
        "nothing has been logged: the worker finds none that is clean"
    );

    executor.spawn_daemon(sim.env(), sim.log_forever());
    executor.spawn_daemon(sim.env(), sim.write_metadata_forever());
    look(&sim, |xfs| xfs.push_all = true);
    let from = sim.env().now();
    while look(&sim, |xfs| xfs.count_files(NodeId(0))) > 0 {
        step(&mut executor, &sim);
        assert!(sim.env().now() < from + 20 * SECOND, "{} left", look(&sim, |xfs| xfs.count_files(NodeId(0))));
    }
    let from = sim.env().now();
    while sim.env().now() < from + SECOND {
        step(&mut executor, &sim);
    }
    assert_eq!(inodes(&sim), before, "their objects are free, with memory to spare");
    assert_eq!(sim.mm.state.borrow().check_all(Flight::Allowed), Ok(()));
}

/// A process that writes files, and when all is on disk reads each of them for the first time.
async fn write_and_read(sim: &Sim, files: u32, phase: &Cell<u32>) {
    let pid = sim.new_root();
    sim.start_root(pid).await.expect("a process");
    for file in 0..files {
        sim.create(pid, file).await.expect("a file");
        sim.write(pid, file, 0, 4096).await.expect("written");
    }
    sim.sync_all().await;
    phase.set(1);
    // Longer than it takes until everything is written to its cluster.
    sim.env().wait(mm::Queue::Timer, Some(70 * SECOND)).await;
    for file in 0..files {
        sim.read(pid, file, 0, 4096).await.expect("read");
    }
    phase.set(2);
    sim.env().wait(mm::Queue::Timer, Some(70 * SECOND)).await;
    phase.set(3);
    sim.exit(pid).await;
}

#[test]
fn a_written_inode_keeps_a_copy_in_memory_until_it_was_read() {
    const FILES: u32 = 1_000;
    let (sim, phase) = (machine(), Cell::new(0));
    let mut executor = Executor::default();
    executor.spawn_daemon(sim.env(), sim.flush_forever());
    executor.spawn_daemon(sim.env(), sim.log_inodes_forever());
    executor.spawn_daemon(sim.env(), sim.end_writes_forever());
    executor.spawn(sim.env(), write_and_read(&sim, FILES, &phase));
    let mut held = [0; 4];
    while phase.get() < 3 {
        step(&mut executor, &sim);
        let slabs = &sim.mm.state.borrow().owner.slabs;
        let copies = slabs.objects(Cache::Kmalloc512) + slabs.objects(Cache::Kmalloc1k);
        held[phase.get() as usize] = match phase.get() {
            0 => copies.max(held[0]),
            _ => copies,
        };
    }
    let [most, synced, read, _] = held;
    assert_eq!(most, 2 * u64::from(FILES), "no checkpoint came in between: each was logged at least twice");
    // The flusher may have been between the two transactions of one of them.
    assert!(
        (u64::from(FILES) - 1..=u64::from(FILES)).contains(&synced),
        "the checkpoint has freed one of two: {synced}"
    );
    assert_eq!(read, 0, "the time of access was logged once, which took the other one");
    sim.mm.state.borrow().check_all(Flight::Allowed).unwrap();
}

/// Log vectors: of 512 bytes, of 1 KiB.
fn vectors(sim: &Sim) -> [u64; 2] {
    [Cache::Kmalloc512, Cache::Kmalloc1k].map(|cache| sim.mm.state.borrow().owner.slabs.objects(cache))
}

/// Has a process do something, until it is done.
fn in_a_process(sim: &Sim, what: impl AsyncFnOnce(Pid)) {
    let done = Cell::new(false);
    let mut executor = Executor::default();
    executor.spawn(sim.env(), async {
        let pid = sim.new_root();
        sim.start_root(pid).await.expect("a process");
        what(pid).await;
        sim.exit(pid).await;
        done.set(true);
    });
    while !done.get() {
        step(&mut executor, sim);
    }
    sim.mm.state.borrow().check_all(Flight::Allowed).unwrap();
}

#[test]
fn memory_of_a_checkpoint_is_free_once_its_end_is_written() {
    let sim = machine();
    in_a_process(&sim, async |pid| {
        sim.create(pid, 1).await.expect("a file");
        sim.write(pid, 1, 0, 4096).await.expect("written");
        assert_eq!(vectors(&sim), [2, 0], "logged twice: a vector and its shadow");
        sim.log_inodes().await;
        let is_pinned = |file| sim.mm.state.borrow().owner.inode_is_pinned(file);
        assert!(is_pinned(1));
        assert_eq!(vectors(&sim), [2, 0], "its end lies in a buffer of the log that is not full");
        sim.create(pid, 2).await.expect("a file");
        sim.log_inodes().await;
        assert!(!is_pinned(1) && is_pinned(2));
        assert_eq!(vectors(&sim), [2, 0], "the next one has filled it: the shadow of one, the vector of the other");
        sim.force_inode_log().await;
        assert!(!is_pinned(2));
        assert_eq!(vectors(&sim), [1, 0]);
    });
}

#[test]
fn a_file_of_several_folios_is_given_its_blocks_once_and_its_size_when_it_is_on_disk() {
    let sim = machine();
    in_a_process(&sim, async |pid| {
        sim.create(pid, 1).await.expect("a file");
        sim.write(pid, 1, 0, 20_000).await.expect("written");
        sim.write_back(u64::MAX).await;
        assert_eq!(vectors(&sim), [1, 1], "for blocks a vector of 1 KiB, which the old one is the shadow of");
        sim.env().sleep_until(sim.env().disk().idle_at()).await;
        sim.end_writes().await;
        assert_eq!(vectors(&sim), [0, 2], "for the size a shadow that has room for blocks, too");
    });
}

#[test]
fn a_file_that_is_written_over_keeps_its_blocks_and_one_that_grows_gets_more() {
    let sim = machine();
    in_a_process(&sim, async |pid| {
        let extents = || sim.mm.state.borrow().owner.files.get(1).map(|of| of.extents);
        sim.create(pid, 1).await.expect("a file");
        for (offset, wanted) in [(0, 1), (0, 1), (4096, 2), (8192, 3), (4096, 3)] {
            sim.write(pid, 1, offset, 4096).await.expect("written");
            sim.write_back(u64::MAX).await;
            sim.env().sleep_until(sim.env().disk().idle_at()).await;
            assert_eq!(extents(), Some(wanted), "written at {offset}");
        }
    });
}
