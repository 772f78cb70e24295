//! The computer as its processes see it: operations become calls of the simulated kernel.

use crate::errno::{BADF, FAULT, FBIG, INVAL, NOMEM};
use crate::memory::process::{IMAGE, Zap};
use crate::sim::Sim;
use crate::state::address_space::{Backing, Pid};
use crate::state::file::BLOCK_DEVICE;
use crate::zone_scans::scans_by_zone;
use mm::Env;
use pagealloc::Gfp;
use std::collections::BTreeMap;
use workload::{Advice, Errno, GfpClass, Op, RegionId, System, Touched};

/// A process at work.
pub(crate) struct Task<'s> {
    sim: &'s Sim,
    pid: Pid,
    /// When its last beat was due.
    beat: u64,
}

/// Pages of an address space that a mapping may have: what page numbers have room for.
const MAX_PAGES: u64 = 1 << 29;

/// Mask of a class of kernel allocations. As who asks for such pages in earnest does, without a warning where there are none.
fn mask(class: GfpClass) -> Gfp {
    let gfp = match class {
        GfpClass::Kernel => Gfp::KERNEL,
        GfpClass::Nofs => Gfp::NOFS,
        GfpClass::Nowait => Gfp::KSWAPD_RECLAIM,
        GfpClass::Atomic => Gfp::ATOMIC,
        GfpClass::HighuserMovable => Gfp::HIGHUSER_MOVABLE,
        GfpClass::Transhuge => (Gfp::HIGHUSER_MOVABLE | Gfp::NOMEMALLOC | Gfp::NORETRY).without(Gfp::KSWAPD_RECLAIM),
    };
    gfp | Gfp::NOWARN
}

/// Whether a number is the simulated kernel's own: that of the region that stands for a program's image, or of the disk's own file.
fn is_reserved(op: &Op) -> bool {
    match *op {
        Op::MapFile { region, file, .. } => region == IMAGE || file.0 == BLOCK_DEVICE,
        Op::Map { region, .. } | Op::Advise { region, .. } | Op::Touch { region, .. } | Op::Unmap { region, .. } => {
            region == IMAGE
        }
        Op::Create { file }
        | Op::Write { file, .. }
        | Op::Read { file, .. }
        | Op::Sync { file }
        | Op::Unlink { file }
        | Op::Open { file, .. } => file.0 == BLOCK_DEVICE,
        _ => false,
    }
}

impl Task<'_> {
    pub fn new(sim: &Sim, pid: Pid) -> Task<'_> {
        Task { sim, pid, beat: sim.mm.env.now() }
    }

    /// Whether the OOM killer has taken it.
    pub fn is_killed(&self) -> bool {
        self.sim.with_process(self.pid, |process| process.killed).unwrap_or(true)
    }

    /// Pages of a region.
    fn length(&self, region: RegionId) -> Result<u32, Errno> {
        self.sim.with_process(self.pid, |process| process.regions.get(&region).map(|of| of.pages))?.ok_or(FAULT)
    }

    /// First page and pages of a range of a region.
    fn range(&self, region: RegionId, offset: u64, bytes: u64) -> Result<(u32, u32), Errno> {
        let size = self.sim.page_size();
        let length = u64::from(self.length(region)?) * size.bytes();
        if offset > length || bytes > length - offset {
            return Err(FAULT);
        }
        let (first, end) = (size.at(offset), size.fill(offset + bytes));
        Ok((first, end - first))
    }

    /// How long a file can be: its pages have numbers of 32 bits, as ext4's blocks have.
    fn longest_file(&self) -> u64 {
        u64::from(u32::MAX) * self.sim.spec.page()
    }

    /// A number that is used again: what it stood for is unmapped.
    async fn unmap_before(&self, region: RegionId) -> Result<(), Errno> {
        let Ok(whole) = self.length(region) else { return Ok(()) };
        self.sim.zap(self.pid, region, 0, whole, Zap::Addresses).await?;
        self.sim.release_file_map(self.pid, region);
        self.sim.with_process(self.pid, |process| process.forget_region(region))
    }

    async fn memory(&self, op: &Op) -> Result<Touched, Errno> {
        let (sim, pid) = (self.sim, self.pid);
        match *op {
            Op::Map { region, bytes } => {
                if bytes == 0 || bytes.div_ceil(sim.spec.page()) > MAX_PAGES {
                    return Err(if bytes == 0 { INVAL } else { NOMEM });
                }
                self.unmap_before(region).await?;
                sim.with_process(pid, |process| process.map(region, sim.page_size().fill(bytes), None))??;
                sim.has_room_for_huge_pages(pid, region)?;
            }
            Op::MapFile { region, file, bytes, mapping } => {
                if bytes == 0 || bytes.div_ceil(sim.spec.page()) > MAX_PAGES {
                    return Err(if bytes == 0 { INVAL } else { NOMEM });
                }
                self.unmap_before(region).await?;
                sim.map_file(pid, region, sim.page_size().fill(bytes), Backing { file: file.0, mapping }).await?;
            }
            Op::Advise { region, advice: Advice::DontNeed } => {
                sim.zap(pid, region, 0, self.length(region)?, Zap::Pages).await?;
            }
            Op::Advise { region, advice } => {
                sim.with_process(pid, |process| process.regions.get_mut(&region).map(|of| of.advice = Some(advice)))?
                    .ok_or(FAULT)?;
                sim.has_room_for_huge_pages(pid, region)?;
            }
            Op::Unmap { bytes: 0, .. } => return Err(INVAL),
            Op::Unmap { region, offset, bytes } => {
                let (first, count) = self.range(region, offset, bytes)?;
                sim.zap(pid, region, first, count, Zap::Addresses).await?;
                if count == self.length(region)? {
                    sim.release_file_map(pid, region);
                }
            }
            Op::Touch { region, offset, bytes, access } => {
                let (first, count) = self.range(region, offset, bytes)?;
                return sim.touch(pid, region, first, count, access).await;
            }
            _ => return Err(INVAL),
        }
        Ok(Touched::default())
    }

    async fn other(&mut self, op: &Op) -> Result<(), Errno> {
        let (sim, pid) = (self.sim, self.pid);
        match *op {
            Op::Fork(spawn) => sim.fork(pid, &spawn).await,
            Op::Wait => sim.wait_for_children(pid).await,
            Op::Create { file } => sim.create(pid, file.0).await,
            Op::Write { bytes: 0, .. } | Op::Read { bytes: 0, .. } => Ok(()),
            Op::Write { offset, bytes, .. } if offset + bytes > self.longest_file() => Err(FBIG),
            Op::Write { file, offset, bytes } => sim.write(pid, file.0, offset, bytes).await,
            // Beyond the end of any file there is nothing to be read.
            Op::Read { offset, .. } if offset >= self.longest_file() => Ok(()),
            Op::Read { file, offset, bytes } => {
                sim.read(pid, file.0, offset, bytes.min(self.longest_file() - offset)).await
            }
            Op::Sync { file } => sim.sync(file.0).await,
            Op::Unlink { file } => sim.unlink(pid, file.0).await,
            Op::Lookup { name, count } => sim.look_up_absent(pid, name, count).await,
            Op::Pipe { handle, bytes } => sim.pipe(pid, handle, bytes).await,
            Op::Socket { handle, bytes } => sim.socket(pid, handle, bytes).await,
            Op::Ring { handle, order, blocks } => sim.ring(pid, handle, order, blocks).await,
            Op::Close { handle } => sim.close(pid, handle).await.map_err(|_| BADF),
            Op::Open { handle, file } => sim.open_held(pid, handle, file.0).await,
            Op::KernelPages { handle, order, gfp, count } => {
                sim.kernel_pages(pid, handle, order, mask(gfp), count).await
            }
            Op::CreateMany { directory, first, count } => sim.create_files(pid, directory, first, count).await,
            Op::DropCaches => sim.drop_caches().await,
            Op::SyncAll => {
                sim.sync_all().await;
                Ok(())
            }
            Op::Meet { number, tasks } => {
                sim.meet(number, tasks).await;
                Ok(())
            }
            Op::Sleep { nanos } => {
                sim.nap_until(sim.mm.env.now().saturating_add(nanos)).await;
                Ok(())
            }
            Op::Compute { nanos } => {
                sim.spend_as_user(nanos).await;
                Ok(())
            }
            Op::Pace { nanos } => {
                self.pace(nanos).await;
                Ok(())
            }
            _ => Err(INVAL),
        }
    }

    async fn pace(&mut self, nanos: u64) {
        self.beat = self.beat.saturating_add(nanos).max(self.sim.mm.env.now());
        self.sim.nap_until(self.beat).await;
    }
}

impl System for Task<'_> {
    async fn perform(&mut self, op: &Op) -> Result<Touched, Errno> {
        self.sim.spend(self.sim.spec.costs.syscall).await;
        self.sim.numa_tick(self.pid).await;
        let done = match op {
            _ if is_reserved(op) => Err(INVAL),
            Op::Map { .. } | Op::MapFile { .. } | Op::Advise { .. } | Op::Unmap { .. } | Op::Touch { .. } => {
                self.memory(op).await
            }
            _ => self.other(op).await.map(|()| Touched::default()),
        };
        self.sim.settle();
        done
    }

    fn now(&self) -> u64 {
        self.sim.mm.env.now()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let state = self.sim.mm.state.borrow();
        let vmstat = state.alloc.vmstat.iter().map(|(counter, value)| (counter.name().to_owned(), value));
        let busy: u64 = self.sim.env().cpu_busy().iter().sum();
        let user = self.sim.user.get();
        let cpu = [("cpu_user_ns", user), ("cpu_system_ns", busy.saturating_sub(user))];
        let cpu = cpu.map(|(name, value)| (name.to_owned(), value));
        let nofs = (0..).zip(self.sim.requests.borrow().nofs).filter(|(_, count)| *count > 0);
        let named = |(order, count): (u8, u64)| (format!("nofs_alloc.{order}"), count);
        let nofs: Vec<(String, u64)> = nofs.map(named).collect();
        let messages = state.owner.xfs.as_ref().map(|xfs| ("xfs_deadlock_messages".to_owned(), xfs.messages()));
        vmstat.chain(scans_by_zone(&state)).chain(cpu).chain(nofs).chain(messages).collect()
    }

    fn over(&self) -> bool {
        self.sim.is_over() || self.is_killed()
    }

    fn quota_done(&mut self) {
        self.sim.root_is_done();
    }
}
