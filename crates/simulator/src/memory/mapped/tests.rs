use super::*;
use crate::boot::boot;
use crate::spec::MachineSpec;
use crate::tests::{all, run_alone, small_machine, started};
use mm::thp::ThpEnabled;
use pagealloc::policy::preset;
use workload::{Access, FileId, Op, Spawn};

const FILE: FileId = FileId(1);
const TEXT: RegionId = RegionId(1);

/// A machine with little memory, and what its tasks do.
fn on(policy: &str) -> Sim {
    let spec = MachineSpec { folio_order: 0, ..small_machine(ThpEnabled::Never) };
    boot(&spec, &preset(policy).unwrap(), 1, &[]).unwrap()
}

fn map(pages: u64, mapping: FileMapping) -> Op {
    Op::MapFile { region: TEXT, file: FILE, bytes: pages * 4096, mapping }
}

fn touch(page: u64, pages: u64, access: Access) -> Op {
    Op::Touch { region: TEXT, offset: page * 4096, bytes: pages * 4096, access }
}

fn write(pages: u64) -> [Op; 2] {
    [Op::Create { file: FILE }, Op::Write { file: FILE, offset: 0, bytes: pages * 4096 }]
}

/// Page faults, those of them that read, and pages that the process has mapped.
fn faults(sim: &Sim, pid: Pid) -> (u64, u64, usize) {
    let state = sim.mm.state.borrow();
    let mapped = |pte: &&Pte| matches!(pte, Pte::File { .. });
    let windows = state.owner.processes.get(pid).unwrap().windows.iter();
    let tables =
        windows.filter_map(|(_, window)| if let Entry::Table(table) = &window.entry { Some(table) } else { None });
    let count = |counter| state.alloc.vmstat.get(counter);
    (count(Counter::Pgfault), count(Counter::Pgmajfault), tables.flat_map(|table| table.iter().filter(mapped)).count())
}

fn flags(sim: &Sim, page: u32) -> PageFlags {
    let state = sim.mm.state.borrow();
    let id = state.owner.files[FILE.0].page(page).expect("in memory");
    state.pages.flags(state.owner.folios.frame(id).expect("in memory"))
}

#[test]
fn a_fault_maps_what_is_in_memory_around_it() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &write(64)).await?;
        all(&sim, pid, &[map(64, FileMapping::Exec)]).await?;
        let before = faults(&sim, pid);
        all(&sim, pid, &[touch(20, 1, Access::Read)]).await?;
        assert_eq!(faults(&sim, pid), (before.0 + 1, before.1, 16), "16 pages, aligned");
        all(&sim, pid, &[touch(16, 16, Access::Read)]).await?;
        assert_eq!(faults(&sim, pid).0, before.0 + 1);
        all(&sim, pid, &[touch(0, 64, Access::Read)]).await?;
        assert_eq!(faults(&sim, pid), (before.0 + 4, before.1, 64));
        assert!(flags(&sim, 0).contains(PageFlags::MAPPED.with(PageFlags::EXEC)));
        assert_eq!(all(&sim, pid, &[touch(0, 1, Access::Write)]).await, Err(FAULT), "text is not written");
        sim.exit(pid).await;
        assert!(!flags(&sim, 0).intersects(PageFlags::MAPPED.with(PageFlags::EXEC)));
        Ok(())
    });
}

#[test]
fn a_page_that_is_missing_is_read_with_its_neighbours() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &write(256)).await?;
        all(&sim, pid, &[Op::SyncAll, Op::DropCaches, map(256, FileMapping::Exec)]).await?;
        let before = faults(&sim, pid);
        all(&sim, pid, &[touch(100, 1, Access::Read)]).await?;
        let (_, read, mapped) = faults(&sim, pid);
        assert_eq!((read, mapped), (before.1 + 1, 15), "not the page that starts the next window, 108");
        {
            let state = sim.mm.state.borrow();
            let cached: Vec<u32> = state.owner.files[FILE.0].tree.iter().map(|(index, _)| index).collect();
            assert_eq!(cached, (84..116).collect::<Vec<_>>(), "half of the window before, half behind");
        }
        all(&sim, pid, &[touch(108, 1, Access::Read)]).await?;
        assert!(sim.mm.state.borrow().owner.files[FILE.0].page(116).is_some());
        sim.exit(pid).await;
        Ok(())
    });
}

#[test]
fn a_page_that_is_used_through_page_tables_is_told_by_each() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &write(16)).await?;
        all(&sim, pid, &[map(16, FileMapping::Read), touch(0, 1, Access::Read)]).await?;
        sim.fork(pid, &Spawn::root(0, 0, 0, 1)).await?;
        let child = sim.births.borrow_mut().pop_front().expect("born").pid;
        assert_eq!(faults(&sim, child).2, 0, "a child finds them in the cache when it wants them");
        all(&sim, child, &[touch(0, 1, Access::Read)]).await?;
        let uses = || {
            let owner = &mut sim.mm.state.borrow_mut().owner;
            let id = owner.files[FILE.0].page(0).expect("in memory");
            owner.uses_of_file_page(id)
        };
        assert_eq!([uses(), uses()], [2, 0]);
        all(&sim, child, &[touch(0, 1, Access::Read)]).await?;
        assert_eq!(uses(), 1);
        sim.exit(child).await;
        sim.exit(pid).await;
        Ok(())
    });
}

#[test]
fn an_exit_is_a_use_of_what_was_mapped_and_used() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        for exits in 1..=2 {
            let pid = started(&sim).await?;
            if exits == 1 {
                all(&sim, pid, &write(16)).await?;
            }
            all(&sim, pid, &[map(16, FileMapping::Exec), touch(0, 1, Access::Read)]).await?;
            sim.exit(pid).await;
            let wanted = if exits == 1 { PageFlags::REFERENCED } else { PageFlags::ACTIVE };
            assert!(flags(&sim, 3).contains(wanted), "{exits}: {:?}", flags(&sim, 3));
        }
        Ok(())
    });
}

#[test]
fn a_private_mapping_is_copied_and_a_shared_one_written() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &write(16)).await?;
        all(&sim, pid, &[Op::SyncAll, map(16, FileMapping::Private), touch(0, 16, Access::Read)]).await?;
        all(&sim, pid, &[touch(2, 3, Access::Write)]).await?;
        assert_eq!(faults(&sim, pid).2, 13, "three are the process's own");
        let file_page = flags(&sim, 2);
        assert!(!file_page.intersects(PageFlags::DIRTY.with(PageFlags::MAPPED)), "{file_page:?}");
        all(&sim, pid, &[map(16, FileMapping::Shared), touch(2, 1, Access::Write)]).await?;
        assert!(flags(&sim, 2).contains(PageFlags::DIRTY) && !flags(&sim, 3).contains(PageFlags::DIRTY));
        let before = faults(&sim, pid).0;
        all(&sim, pid, &[touch(2, 1, Access::Write)]).await?;
        assert_eq!(faults(&sim, pid).0, before, "it is writable as long as it is dirty");
        all(&sim, pid, &[Op::SyncAll]).await?;
        assert!(!flags(&sim, 2).contains(PageFlags::DIRTY));
        all(&sim, pid, &[touch(2, 1, Access::Write)]).await?;
        assert_eq!(faults(&sim, pid).0, before + 1);
        sim.exit(pid).await;
        Ok(())
    });
}

#[test]
fn beyond_the_end_of_a_file_is_nothing() {
    let sim = on("linux-6.15");
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        assert_eq!(all(&sim, pid, &[map(16, FileMapping::Read)]).await, Err(crate::errno::NOENT));
        all(&sim, pid, &write(8)).await?;
        all(&sim, pid, &[map(16, FileMapping::Read), touch(0, 8, Access::Read)]).await?;
        assert_eq!(all(&sim, pid, &[touch(8, 1, Access::Read)]).await, Err(FAULT));
        all(&sim, pid, &[Op::Unlink { file: FILE }]).await?;
        assert_eq!(faults(&sim, pid).2, 0);
        all(&sim, pid, &write(8)).await?;
        assert_eq!(all(&sim, pid, &[touch(0, 1, Access::Read)]).await, Err(FAULT), "another file");
        sim.exit(pid).await;
        Ok(())
    });
}

/// Reads a file that is larger than memory, a piece at a time, with a program running beside it: pages of the program that
/// are still in memory at the end.
fn left_of_program(policy: &str, mapping: Option<FileMapping>) -> usize {
    const PROGRAM: u64 = 1024;
    let sim = on(policy);
    run_alone(&sim, async {
        let pid = started(&sim).await?;
        all(&sim, pid, &write(PROGRAM)).await?;
        let stream = FileId(2);
        all(&sim, pid, &[Op::Create { file: stream }, Op::Write { file: stream, offset: 0, bytes: 200 << 20 }]).await?;
        all(&sim, pid, &[Op::SyncAll]).await?;
        if let Some(mapping) = mapping {
            all(&sim, pid, &[map(PROGRAM, mapping)]).await?;
        }
        for piece in 0..200 {
            if mapping.is_some() {
                all(&sim, pid, &[touch(0, PROGRAM, Access::Read)]).await?;
            }
            all(&sim, pid, &[Op::Read { file: stream, offset: piece << 20, bytes: 1 << 20 }]).await?;
        }
        sim.exit(pid).await;
        Ok(())
    });
    let state = sim.mm.state.borrow();
    let of = &state.owner.files[FILE.0];
    of.tree.pages().count()
}

#[test]
fn reclaim_spares_a_program_that_runs() {
    for policy in ["linux-6.15", "linux-6.18"] {
        assert!(left_of_program(policy, Some(FileMapping::Exec)) > 1000, "{policy}");
        assert!(left_of_program(policy, None) < 100, "{policy}");
    }
}
