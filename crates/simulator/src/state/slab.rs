//! Slab caches: which objects share a page. A page is freed only when all of its objects are.
//!
//! As in SLUB, each CPU fills one slab at a time; slabs with room wait on a list per cache, those that lost an object
//! at its tail. Sizes and orders are those that /proc/slabinfo shows on the recorded guests (6.18, x86-64).

use crate::state::folio::FolioId;
use crate::state::line::{Line, Ticket};
use crate::state::page_size::PageSize;
use pagealloc::{CpuId, Gfp, NodeId, Order};
use smallvec::SmallVec;
use workload::SlabAllocator;

/// How a cache is laid out.
pub(crate) struct Layout {
    pub name: &'static str,
    /// Bytes of an object, padding included.
    pub size: u32,
    /// Order of a slab where memory allows.
    pub order: Order,
    /// A shrinker can free its objects (`SLAB_RECLAIM_ACCOUNT`).
    pub reclaimable: bool,
    /// Asked for inside a filesystem.
    pub nofs: bool,
}

impl Layout {
    /// Order of a slab of as many bytes as with pages of 4 KiB, or of a page.
    fn order_with(&self, page: PageSize) -> Order {
        (u64::from(page.fill(4096 << self.order))).trailing_zeros() as Order
    }
}

/// A cache a line: its name here and in /proc/slabinfo, size, order, whether a shrinker can free its objects, whether it is
/// asked for inside a filesystem. One list, so that neither the order nor the number can differ.
macro_rules! caches {
    ($($cache:ident: $name:literal, $size:literal, $order:literal, $reclaimable:literal, $nofs:literal;)*) => {
        /// The caches that are modelled.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub(crate) enum Cache {
            $($cache,)*
        }

        impl Cache {
            pub const ALL: [Cache; LAYOUTS.len()] = [$(Cache::$cache,)*];
        }

        /// By [`Cache`].
        const LAYOUTS: &[Layout] = &[
            $(Layout { name: $name, size: $size, order: $order, reclaimable: $reclaimable, nofs: $nofs },)*
        ];
    };
}

caches! {
    Dentry: "dentry", 192, 0, true, false;
    Inode: "ext4_inode_cache", 1128, 2, true, true;
    InodeSecurity: "lsm_inode_cache", 88, 0, false, true;
    ExtentStatus: "ext4_extent_status", 40, 0, true, true;
    BufferHead: "buffer_head", 104, 0, true, true;
    XarrayNode: "radix_tree_node", 584, 1, true, true;
    Task: "task_struct", 8768, 3, false, false;
    Signal: "signal_cache", 1152, 2, false, false;
    Sighand: "sighand_cache", 2112, 3, false, false;
    Mm: "mm_struct", 1536, 3, false, false;
    Vma: "vm_area_struct", 192, 0, false, false;
    AnonVma: "anon_vma", 104, 0, false, false;
    AnonVmaChain: "anon_vma_chain", 64, 0, false, false;
    Files: "files_cache", 704, 2, false, false;
    Pid: "pid", 192, 0, false, false;
    Cred: "cred_jar", 192, 0, false, false;
    Filp: "filp", 192, 0, false, false;
    KmallocCg512: "kmalloc-cg-512", 512, 1, false, false;
    KmallocCg1k: "kmalloc-cg-1k", 1024, 2, false, false;
    KmallocCg2k: "kmalloc-cg-2k", 2048, 3, false, false;
    KmallocCg4k: "kmalloc-cg-4k", 4096, 3, false, false;
    PseudoInode: "inode_cache", 616, 1, true, false;
    SocketInode: "sock_inode_cache", 832, 2, true, false;
    UnixSocket: "UNIX-STREAM", 1152, 2, false, false;
    SkbHead: "skbuff_head_cache", 256, 0, false, false;
    XfsInode: "xfs_inode", 960, 2, true, true;
    XfsInodeItem: "xfs_ili", 168, 0, false, true;
    XfsBuf: "xfs_buf", 384, 1, false, true;
    XfsBufItem: "xfs_buf_item", 272, 1, false, true;
    Kmalloc512: "kmalloc-512", 512, 1, false, true;
    Kmalloc1k: "kmalloc-1024", 1024, 2, false, true;
    Kmalloc2k: "kmalloc-2048", 2048, 3, false, true;
    Kmalloc4k: "kmalloc-4096", 4096, 3, false, true;
    Kmalloc8k: "kmalloc-8192", 8192, 3, false, true;
}

impl Cache {
    /// Those of `kmalloc` for what a filesystem logs, and for what is charged to a memory cgroup; by size.
    pub const KMALLOC: [Cache; 5] =
        [Cache::Kmalloc512, Cache::Kmalloc1k, Cache::Kmalloc2k, Cache::Kmalloc4k, Cache::Kmalloc8k];
    pub const KMALLOC_CG: [Cache; 4] =
        [Cache::KmallocCg512, Cache::KmallocCg1k, Cache::KmallocCg2k, Cache::KmallocCg4k];

    /// The first of these, which are sorted by size, whose objects have room for so many bytes.
    pub fn smallest_for(caches: &[Cache], bytes: u32) -> Option<Cache> {
        caches.iter().copied().find(|cache| cache.layout().size >= bytes)
    }

    pub fn layout(self) -> &'static Layout {
        &LAYOUTS[self as usize]
    }

    /// Mask of the request that needs a slab.
    fn gfp(self) -> Gfp {
        let layout = self.layout();
        let gfp = if layout.nofs { Gfp::NOFS } else { Gfp::KERNEL };
        if layout.reclaimable { gfp | Gfp::RECLAIMABLE } else { gfp }
    }

    /// The two attempts at a slab: order and mask. SLUB tries for large ones without any reclaim, as the recordings show.
    pub fn attempts(self, allocator: SlabAllocator, page: PageSize) -> [(Order, Gfp); 2] {
        let (layout, gfp) = (self.layout(), self.gfp() | Gfp::COMP);
        let lightly = gfp | Gfp::NOWARN | Gfp::NORETRY;
        let smallest = page.fill(layout.size.into()).next_power_of_two().trailing_zeros() as Order;
        if allocator == SlabAllocator::Slab {
            return [(self.order_in_slab(smallest, page), gfp); 2];
        }
        let order = layout.order_with(page);
        match order > smallest {
            true => [(order, (lightly | Gfp::NOMEMALLOC).without(Gfp::RECLAIM)), (smallest, gfp)],
            false => [(order, lightly), (order, gfp)],
        }
    }

    /// Order of SLAB's slabs: the smallest for what reclaim can free, else at most 1 for the sake of less waste
    /// (`calculate_slab_order`).
    fn order_in_slab(self, smallest: Order, page: PageSize) -> Order {
        let layout = self.layout();
        let page = page.bytes() as u32;
        let wasteful = |order: Order| (page << order) % layout.size * 8 > page << order;
        let larger = !layout.reclaimable && smallest == 0 && wasteful(0);
        smallest.max(Order::from(larger))
    }

    /// Objects in a slab of this order.
    pub fn capacity(self, order: Order, page: PageSize) -> u16 {
        ((page.bytes() << order) / u64::from(self.layout().size)) as u16
    }
}

/// An object: all that matters of it is its slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) struct Object(u32);

/// Those that belong together: of one page, one inode, one mapping, mostly no more than four.
pub(crate) type Objects = SmallVec<[Object; 4]>;

/// Empty slabs that a cache keeps before it gives pages back (`min_partial`).
const MIN_PARTIAL: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    Cpu,
    /// With room, at this place of the cache's list.
    Partial(Ticket),
    Full,
    /// Given back.
    Gone,
}

struct Slab {
    cache: Cache,
    folio: FolioId,
    node: NodeId,
    capacity: u16,
    in_use: u16,
    on: On,
}

#[derive(Clone, Default)]
struct CacheState {
    /// Slab that each CPU fills.
    cpu: Vec<Option<u32>>,
    /// Slabs with room by node, longest there first.
    partial: Vec<Line<u32>>,
    objects: u64,
}

impl CacheState {
    /// A slab with room: of the CPU's node, else of the first node that has more of them than it keeps anyway.
    fn with_room(&mut self, node: NodeId) -> Option<u32> {
        let own = self.partial[node.index()].pop_first();
        own.or_else(|| self.partial.iter_mut().find(|slabs| slabs.len() > MIN_PARTIAL).and_then(Line::pop_first))
    }
}

/// All caches.
pub(crate) struct Slabs {
    slabs: Vec<Slab>,
    vacant: Vec<u32>,
    caches: Vec<CacheState>,
    cpu_node: Vec<NodeId>,
    page: PageSize,
    /// Slabs that have lost their last object: their pages are to be freed.
    pub emptied: Vec<FolioId>,
}

impl Slabs {
    /// `cpu_node`: the node of each CPU.
    pub fn new(cpu_node: Vec<NodeId>, page: PageSize) -> Slabs {
        let nodes = 1 + cpu_node.iter().map(|node| node.index()).max().unwrap_or(0);
        let cache = CacheState { cpu: vec![None; cpu_node.len()], partial: vec![Line::default(); nodes], objects: 0 };
        let caches = vec![cache; Cache::ALL.len()];
        Slabs { slabs: Vec::new(), vacant: Vec::new(), caches, cpu_node, page, emptied: Vec::new() }
    }

    /// Objects in use.
    pub fn objects(&self, cache: Cache) -> u64 {
        self.caches[cache as usize].objects
    }

    /// An object, if there is a slab with room.
    pub fn take(&mut self, cache: Cache, cpu: CpuId) -> Option<Object> {
        let state = &mut self.caches[cache as usize];
        let filled = state.cpu[cpu.index()];
        if let Some(slab) = filled
            && self.slabs[slab as usize].in_use < self.slabs[slab as usize].capacity
        {
            return Some(self.take_from(slab));
        }
        let slab = self.caches[cache as usize].with_room(self.cpu_node[cpu.index()])?;
        self.fill(cache, cpu, slab);
        Some(self.take_from(slab))
    }

    fn take_from(&mut self, slab: u32) -> Object {
        let of = &mut self.slabs[slab as usize];
        of.in_use += 1;
        self.caches[of.cache as usize].objects += 1;
        Object(slab)
    }

    /// Makes this the slab that the CPU fills.
    fn fill(&mut self, cache: Cache, cpu: CpuId, slab: u32) {
        self.slabs[slab as usize].on = On::Cpu;
        if let Some(before) = self.caches[cache as usize].cpu[cpu.index()].replace(slab) {
            let of = &mut self.slabs[before as usize];
            if of.in_use == of.capacity {
                of.on = On::Full;
            } else {
                self.enlist(before);
            }
        }
    }

    fn enlist(&mut self, slab: u32) {
        let of = &mut self.slabs[slab as usize];
        of.on = On::Partial(self.caches[of.cache as usize].partial[of.node.index()].push(slab));
    }

    /// Number that the next slab will have: its folio is named after it.
    pub fn next_slab(&self) -> u32 {
        self.vacant.last().copied().unwrap_or(self.slabs.len() as u32)
    }

    /// A new slab in a page of this order; the CPU fills it, and this is its first object.
    pub fn grow(&mut self, cache: Cache, cpu: CpuId, (folio, node): (FolioId, NodeId), order: Order) -> Object {
        let slab = Slab { cache, folio, node, capacity: cache.capacity(order, self.page), in_use: 0, on: On::Cpu };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.slabs[number as usize] = slab;
                number
            }
            None => {
                self.slabs.push(slab);
                self.slabs.len() as u32 - 1
            }
        };
        self.fill(cache, cpu, number);
        self.take_from(number)
    }

    /// Gives an object back.
    pub fn free(&mut self, object: Object) {
        let of = &mut self.slabs[object.0 as usize];
        of.in_use -= 1;
        let (cache, in_use, on, node) = (of.cache, of.in_use, of.on, of.node);
        let state = &mut self.caches[cache as usize];
        state.objects -= 1;
        match on {
            On::Full => self.enlist(object.0),
            On::Partial(place) if in_use == 0 && state.partial[node.index()].len() > MIN_PARTIAL => {
                state.partial[node.index()].remove(place);
                self.discard(object.0);
            }
            On::Cpu | On::Partial(_) | On::Gone => {}
        }
    }

    fn discard(&mut self, slab: u32) {
        let of = &mut self.slabs[slab as usize];
        of.on = On::Gone;
        self.emptied.push(of.folio);
        self.vacant.push(slab);
    }

    /// Folio of a slab.
    pub fn folio(&self, slab: u32) -> Option<FolioId> {
        self.slabs.get(slab as usize).filter(|slab| slab.on != On::Gone).map(|slab| slab.folio)
    }

    /// Whether the counts of all slabs add up, for [`crate::check`].
    pub fn check(&self) -> Result<(), String> {
        for cache in Cache::ALL {
            let (state, name) = (&self.caches[cache as usize], cache.layout().name);
            let slabs = || self.slabs.iter().filter(|slab| slab.cache == cache && slab.on != On::Gone);
            let in_use: u64 = slabs().map(|slab| u64::from(slab.in_use)).sum();
            if in_use != state.objects {
                return Err(format!("{name}: slabs hold {in_use} objects, the cache counts {}", state.objects));
            }
            if let Some(slab) = slabs().find(|slab| slab.in_use > slab.capacity) {
                return Err(format!("{name}: {} objects in a slab for {}", slab.in_use, slab.capacity));
            }
            let listed = slabs().filter(|slab| matches!(slab.on, On::Partial(_))).count();
            let lists: usize = state.partial.iter().map(Line::len).sum();
            if listed != lists {
                return Err(format!("{name}: {listed} slabs say that they are listed, {lists} are"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::new(12);

    const CPU: CpuId = CpuId(0);

    fn grown(slabs: &mut Slabs, folio: u32) -> Object {
        let capacity = Cache::Dentry.capacity(0, PAGE);
        let first = slabs.grow(Cache::Dentry, CPU, (FolioId(folio), NodeId(0)), 0);
        for _ in 1..capacity {
            slabs.take(Cache::Dentry, CPU).unwrap();
        }
        first
    }

    #[test]
    fn capacities_are_those_of_slabinfo() {
        let of = |cache: Cache| cache.capacity(cache.layout().order, PAGE);
        assert_eq!([of(Cache::Dentry), of(Cache::Inode), of(Cache::XarrayNode), of(Cache::Task)], [21, 14, 14, 3]);
        assert_eq!([of(Cache::BufferHead), of(Cache::Mm), of(Cache::Sighand)], [39, 21, 15]);
    }

    #[test]
    fn large_slabs_are_tried_for_without_reclaim() {
        let [(order, gfp), (smallest, fallback)] = Cache::Inode.attempts(SlabAllocator::Slub, PAGE);
        assert_eq!((order, gfp.0, smallest), (2, 0xd2050, 0), "mask as recorded");
        assert_eq!(fallback, Gfp::NOFS | Gfp::RECLAIMABLE | Gfp::COMP);
        let [(order, gfp), _] = Cache::Dentry.attempts(SlabAllocator::Slub, PAGE);
        assert_eq!((order, gfp.0), (0, 0x52cd0), "mask as recorded");
        assert_eq!(Cache::Task.attempts(SlabAllocator::Slub, PAGE)[1].0, 2, "an object of 8768 bytes needs four pages");
    }

    #[test]
    fn slab_takes_single_pages_for_what_reclaim_can_free() {
        let order = |cache: Cache| cache.attempts(SlabAllocator::Slab, PAGE)[0].0;
        assert_eq!([Cache::XfsInode, Cache::XarrayNode, Cache::Dentry, Cache::Filp].map(order), [0; 4]);
        assert_eq!(Cache::XfsInode.capacity(order(Cache::XfsInode), PAGE), 4);
        assert_eq!(
            (order(Cache::Files), order(Cache::Task)),
            (1, 2),
            "704 bytes would waste a seventh of a page, 8768 need four"
        );
    }

    #[test]
    fn a_page_is_freed_only_when_all_its_objects_are() {
        let mut slabs = Slabs::new(vec![NodeId(0)], PAGE);
        // More than the cache keeps, and the one that the CPU fills.
        let firsts: Vec<Object> = (0..8).map(|folio| grown(&mut slabs, folio)).collect();
        assert_eq!(slabs.take(Cache::Dentry, CPU), None);
        let capacity = Cache::Dentry.capacity(0, PAGE);
        for &object in &firsts[..7] {
            for _ in 1..capacity {
                slabs.free(object);
            }
        }
        assert!(slabs.emptied.is_empty(), "each slab still holds an object");
        for &object in &firsts[..7] {
            slabs.free(object);
        }
        assert_eq!(slabs.emptied, [FolioId(0), FolioId(1)], "the cache keeps {MIN_PARTIAL} with room");
        slabs.check().unwrap();
    }

    #[test]
    fn slabs_with_room_are_filled_up_first() {
        let mut slabs = Slabs::new(vec![NodeId(0)], PAGE);
        let old = grown(&mut slabs, 0);
        grown(&mut slabs, 1);
        slabs.free(old);
        assert_eq!(slabs.take(Cache::Dentry, CPU), Some(old));
        assert_eq!(slabs.take(Cache::Dentry, CPU), None);
        slabs.check().unwrap();
    }
}
