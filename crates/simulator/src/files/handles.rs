//! Pipes, unix sockets and packet rings: unmovable memory of the kernel that user space makes it hold.

use crate::errno::{BADF, EXIST, NOMEM};
use crate::sim::Sim;
use crate::state::address_space::{Handle, Pid};
use crate::state::folio::{FolioId, KernelUse, Use};
use crate::state::slab::Cache;
use mm::PageFlags;
use pagealloc::{Gfp, Order, PAGE_ALLOC_COSTLY_ORDER};
use workload::{Errno, HandleId, rest_of_piece};

/// Pages of a pipe; as recorded.
const PIPE: Gfp = Gfp(Gfp::HIGHUSER.0 | Gfp::ACCOUNT.0);
/// A socket buffer's fragments, tried for without direct reclaim, and in single pages at last.
const SKB_FRAGMENT: Gfp = Gfp(Gfp::KERNEL_ACCOUNT.0 & !Gfp::DIRECT_RECLAIM.0 | Gfp::COMP.0 | Gfp::NOWARN.0);
const SKB_PAGE: Gfp = Gfp::KERNEL_ACCOUNT;
/// Bytes of a stream socket's head, what is kept behind it, and bytes of all fragments of one buffer (`SKB_MAX_HEAD`, a page
/// with `skb_shared_info`; `UNIX_SKB_FRAGS_SZ`).
const SKB_SHARED_INFO: u64 = 320;
const SKB_FRAGMENT_BYTES: u64 = 32_768;
/// Blocks of a packet ring (af_packet): without retries, then for good.
const RING: Gfp = Gfp(Gfp::KERNEL.0 | Gfp::COMP.0 | Gfp::ZERO.0 | Gfp::NOWARN.0);

impl Sim {
    fn skb_head_bytes(&self) -> u64 {
        self.spec.page() - SKB_SHARED_INFO
    }

    /// A pipe with this much in it.
    pub async fn pipe(&self, pid: Pid, handle: HandleId, bytes: u64) -> Result<(), Errno> {
        use Cache::{Dentry, Filp, KmallocCg1k, PseudoInode};
        let number = self.open(pid, handle)?;
        self.spend(self.spec.costs.handle).await;
        // Its ring of 16 buffers of 40 bytes is a `kmalloc` of 1 KiB.
        self.hold_objects(pid, number, &[PseudoInode, KmallocCg1k, Dentry, Filp, Filp]).await?;
        for _ in 0..self.page_size().fill(bytes) {
            let id = self.kernel_page(0, PIPE, pid, KernelUse::Pipe).await.ok_or(NOMEM)?;
            self.hold(number, id);
            self.spend(self.spec.costs.copy_page).await;
        }
        Ok(())
    }

    /// A pair of unix sockets with this much in flight.
    pub async fn socket(&self, pid: Pid, handle: HandleId, bytes: u64) -> Result<(), Errno> {
        use Cache::{Dentry, Filp, SocketInode, UnixSocket};
        let number = self.open(pid, handle)?;
        self.spend(self.spec.costs.handle).await;
        let pair = [SocketInode, UnixSocket, Dentry, Filp, SocketInode, UnixSocket, Dentry, Filp];
        self.hold_objects(pid, number, &pair).await?;
        let mut sent = 0;
        while sent < bytes {
            let size = rest_of_piece(&(0..bytes), sent).min(self.skb_head_bytes() + SKB_FRAGMENT_BYTES);
            self.socket_buffer(pid, number, size).await?;
            sent += size;
        }
        Ok(())
    }

    async fn socket_buffer(&self, pid: Pid, number: u32, size: u64) -> Result<(), Errno> {
        // What exceeds a head goes into whole pages first.
        let in_pages = size.saturating_sub(self.skb_head_bytes()).next_multiple_of(self.spec.page()).min(size);
        let data = Cache::smallest_for(&Cache::KMALLOC_CG, (size - in_pages + SKB_SHARED_INFO) as u32);
        let objects: Vec<Cache> = [Cache::SkbHead].into_iter().chain(data).collect();
        self.hold_objects(pid, number, &objects).await?;
        self.socket_fragments(pid, number, self.page_size().fill(in_pages).into()).await?;
        self.spend(self.spec.costs.copy_page * u64::from(self.page_size().fill(size))).await;
        Ok(())
    }

    /// Fragments as large as may be; once a size was not to be had, smaller ones only (`alloc_skb_with_frags`).
    async fn socket_fragments(&self, pid: Pid, number: u32, mut pages: u64) -> Result<(), Errno> {
        let mut largest = PAGE_ALLOC_COSTLY_ORDER;
        while pages > 0 {
            let order = largest.min(pages.ilog2() as Order);
            let gfp = if order > 0 { SKB_FRAGMENT } else { SKB_PAGE };
            match self.kernel_page(order, gfp, pid, KernelUse::Socket).await {
                Some(id) => {
                    self.hold(number, id);
                    pages -= 1 << order;
                }
                None if order > 0 => largest = order - 1,
                None => return Err(NOMEM),
            }
        }
        Ok(())
    }

    /// A packet ring.
    pub async fn ring(&self, pid: Pid, handle: HandleId, order: Order, blocks: u32) -> Result<(), Errno> {
        use Cache::{Dentry, Filp, SocketInode};
        let number = self.open(pid, handle)?;
        self.spend(self.spec.costs.handle).await;
        self.hold_objects(pid, number, &[SocketInode, Dentry, Filp]).await?;
        for _ in 0..blocks {
            let quick = self.kernel_page(order, RING | Gfp::NORETRY, pid, KernelUse::Ring).await;
            match quick {
                Some(id) => self.hold(number, id),
                None => self.ring_block_in_pages(pid, number, order).await?,
            }
            self.spend(self.spec.costs.clear_page << order).await;
        }
        Ok(())
    }

    /// `vzalloc`, once a whole block was not to be had.
    async fn ring_block_in_pages(&self, pid: Pid, number: u32, order: Order) -> Result<(), Errno> {
        for _ in 0..1u32 << order {
            let id = self.kernel_page(0, Gfp::KERNEL | Gfp::ZERO, pid, KernelUse::Ring).await.ok_or(NOMEM)?;
            self.hold(number, id);
        }
        Ok(())
    }

    /// Closes what a handle stands for.
    pub async fn close(&self, pid: Pid, handle: HandleId) -> Result<(), Errno> {
        let number = self.with_process(pid, |process| process.handles.remove(&handle))?.ok_or(BADF)?;
        self.spend(self.spec.costs.handle / 2).await;
        self.drop_handle(number);
        Ok(())
    }

    /// `open` with `O_CREAT`: a struct file, which holds dentry and inode.
    pub async fn open_held(&self, pid: Pid, handle: HandleId, file: u32) -> Result<(), Errno> {
        let number = self.open(pid, handle)?;
        self.hold_objects(pid, number, &[Cache::Filp]).await?;
        let exists = self.mm.state.borrow().owner.files.contains(file);
        if !exists {
            self.create(pid, file).await?;
        }
        // Nobody holds a new name while its inode is made, so reclaim may have had it.
        if exists || !self.mm.state.borrow().owner.dentries.holds(file) {
            self.open_file(pid, file).await?;
        }
        let owner = &mut self.mm.state.borrow_mut().owner;
        owner.hold_file(file);
        if let Some(handle) = owner.handles.get_mut(number) {
            handle.file = Some(file);
        }
        Ok(())
    }

    /// Blocks of pages for the kernel itself, up to the first that is not to be had.
    pub async fn kernel_pages(
        &self,
        pid: Pid,
        handle: HandleId,
        order: Order,
        gfp: Gfp,
        count: u32,
    ) -> Result<(), Errno> {
        let held = self.with_process(pid, |process| process.handles.get(&handle).copied())?;
        let number = held.map_or_else(|| self.open(pid, handle), Ok)?;
        for _ in 0..count {
            let pfn = self.pages(order, gfp, pid).await.ok_or(NOMEM)?;
            self.hold(number, self.adopt(pfn, order, Use::Kernel(KernelUse::Held)));
            if order > 0 {
                self.mm.state.borrow_mut().pages.add_flags(pfn, PageFlags::NOT_COMPOUND);
            }
        }
        Ok(())
    }

    fn open(&self, pid: Pid, handle: HandleId) -> Result<u32, Errno> {
        let number = self.next_handle.get();
        let free = self.with_process(pid, |process| {
            let free = !process.handles.contains_key(&handle);
            if free {
                process.handles.insert(handle, number);
            }
            free
        })?;
        if !free {
            return Err(EXIST);
        }
        self.next_handle.set(number + 1);
        self.mm.state.borrow_mut().owner.handles.insert(number, Handle { holders: 1, ..Handle::default() });
        Ok(number)
    }

    async fn hold_objects(&self, pid: Pid, number: u32, caches: &[Cache]) -> Result<(), Errno> {
        let objects = self.objects(caches.iter().copied(), pid).await?;
        if let Some(handle) = self.mm.state.borrow_mut().owner.handles.get_mut(number) {
            handle.objects.extend(objects);
        }
        Ok(())
    }

    fn hold(&self, number: u32, id: FolioId) {
        if let Some(handle) = self.mm.state.borrow_mut().owner.handles.get_mut(number) {
            handle.pages.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::tests::{run_alone, small_machine, started};
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;

    /// Orders of the pages that hold what a socket was sent, and heads by cache.
    fn sent(bytes: u64) -> (Vec<Order>, [u64; 4]) {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        let found = std::cell::RefCell::default();
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            sim.socket(pid, HandleId(1), bytes).await?;
            let owner = &sim.mm.state.borrow().owner;
            let pages = owner.folios.iter().filter(|(_, folio)| folio.what == Use::Kernel(KernelUse::Socket));
            let mut orders: Vec<Order> = pages.map(|(_, folio)| folio.order).collect();
            orders.sort_unstable_by(|a, b| b.cmp(a));
            found.replace((orders, Cache::KMALLOC_CG.map(|cache| owner.slabs.objects(cache))));
            Ok(())
        });
        found.take()
    }

    #[test]
    fn who_closes_a_removed_file_does_not_close_its_successor() {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            sim.open_held(pid, HandleId(1), 1).await?;
            sim.unlink(pid, 1).await?;
            sim.create(pid, 1).await?;
            sim.open_held(pid, HandleId(2), 1).await?;
            let opened = || sim.mm.state.borrow().owner.files.get(1).map(|of| of.opened);
            sim.close(pid, HandleId(1)).await?;
            assert_eq!(opened(), Some(1));
            sim.close(pid, HandleId(2)).await?;
            assert_eq!(opened(), Some(0));
            Ok(())
        });
    }

    #[test]
    fn a_stream_socket_keeps_what_exceeds_a_head_in_whole_pages() {
        assert_eq!(sent(3_776), (vec![], [0, 0, 0, 1]), "with what is kept behind it a page");
        assert_eq!(sent(3_777), (vec![0], [1, 0, 0, 0]), "one page holds all of it");
        assert_eq!(sent(4_800), (vec![0], [0, 1, 0, 0]));
        // 36,544 bytes at most in a buffer: eight pages and a head; then 28,992: seven pages, and 320 bytes.
        assert_eq!(sent(64 << 10), (vec![3, 2, 1, 0], [0, 1, 0, 1]));
    }
}
