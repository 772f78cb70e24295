//! What caches of objects the kernel has, and what pages does a slab of each take?
//!
//! Sizes are those that /proc/slabinfo shows on the recorded guests (6.18, x86-64), those of XFS follow the kernel. Orders follow from them,
//! the number of CPUs and the allocator.

use crate::state::page_size::PageSize;
use pagealloc::policy::{XfsReclaimable, XfsRules};
use pagealloc::{Gfp, Order};
use std::ops::Index;
use workload::SlabAllocator;

/// How a cache is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Bytes of an object, padding included.
    size: u32,
    /// A shrinker can free its objects (`SLAB_RECLAIM_ACCOUNT`).
    reclaimable: bool,
    /// Asked for inside a filesystem.
    nofs: bool,
}

/// A cache a line: its name here and in /proc/slabinfo, size, whether a shrinker can free its objects, whether it is asked for
/// inside a filesystem. One list, so that neither the order nor the number can differ.
macro_rules! caches {
    ($($cache:ident: $name:literal, $size:literal, $reclaimable:literal, $nofs:literal;)*) => {
        /// The caches that are modelled.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub(crate) enum Cache {
            $($cache,)*
        }

        impl Cache {
            pub const ALL: [Cache; COUNT] = [$(Cache::$cache,)*];

            /// As /proc/slabinfo has it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Cache::$cache => $name,)*
                }
            }
        }

        const COUNT: usize = [$(Cache::$cache,)*].len();

        /// By [`Cache`].
        const LAYOUTS: [Layout; COUNT] = [
            $(Layout { size: $size, reclaimable: $reclaimable, nofs: $nofs },)*
        ];
    };
}

caches! {
    Dentry: "dentry", 192, true, false;
    Inode: "ext4_inode_cache", 1128, true, true;
    InodeSecurity: "lsm_inode_cache", 88, false, true;
    ExtentStatus: "ext4_extent_status", 40, true, true;
    BufferHead: "buffer_head", 104, true, true;
    XarrayNode: "radix_tree_node", 584, true, true;
    Task: "task_struct", 8768, false, false;
    Signal: "signal_cache", 1152, false, false;
    Sighand: "sighand_cache", 2112, false, false;
    Mm: "mm_struct", 1536, false, false;
    Vma: "vm_area_struct", 192, false, false;
    AnonVma: "anon_vma", 104, false, false;
    AnonVmaChain: "anon_vma_chain", 64, false, false;
    Files: "files_cache", 704, false, false;
    Pid: "pid", 192, false, false;
    Cred: "cred_jar", 192, false, false;
    Filp: "filp", 192, false, false;
    KmallocCg512: "kmalloc-cg-512", 512, false, false;
    KmallocCg1k: "kmalloc-cg-1k", 1024, false, false;
    KmallocCg2k: "kmalloc-cg-2k", 2048, false, false;
    KmallocCg4k: "kmalloc-cg-4k", 4096, false, false;
    PseudoInode: "inode_cache", 616, true, false;
    SocketInode: "sock_inode_cache", 832, true, false;
    UnixSocket: "UNIX-STREAM", 1152, false, false;
    SkbHead: "skbuff_head_cache", 256, false, false;
    XfsInode: "xfs_inode", 1024, true, true;
    XfsInodeItem: "xfs_ili", 208, true, true;
    XfsBuf: "xfs_buf", 384, true, true;
    XfsBufItem: "xfs_buf_item", 272, false, true;
    Kmalloc512: "kmalloc-512", 512, false, true;
    Kmalloc1k: "kmalloc-1024", 1024, false, true;
    Kmalloc2k: "kmalloc-2048", 2048, false, true;
    Kmalloc4k: "kmalloc-4096", 4096, false, true;
    Kmalloc8k: "kmalloc-8192", 8192, false, true;
}

impl Cache {
    /// Those of `kmalloc` for what a filesystem logs, and for what is charged to a memory cgroup; by size.
    pub const KMALLOC: [Cache; 5] =
        [Cache::Kmalloc512, Cache::Kmalloc1k, Cache::Kmalloc2k, Cache::Kmalloc4k, Cache::Kmalloc8k];
    pub const KMALLOC_CG: [Cache; 4] =
        [Cache::KmallocCg512, Cache::KmallocCg1k, Cache::KmallocCg2k, Cache::KmallocCg4k];

    /// The first of these, which are sorted by size, whose objects have room for so many bytes.
    pub fn smallest_for(caches: &[Cache], bytes: u32) -> Option<Cache> {
        caches.iter().copied().find(|&cache| LAYOUTS[cache as usize].size >= bytes)
    }
}

/// How all caches are laid out in a kernel.
pub(crate) struct Layouts([Layout; COUNT]);

impl Layouts {
    pub fn of(xfs: XfsRules) -> Layouts {
        let reclaimable = xfs.reclaimable == XfsReclaimable::AllThatIsCached;
        let mut layouts = LAYOUTS;
        layouts[Cache::XfsInode as usize].size = xfs.inode_bytes.into();
        layouts[Cache::XfsInodeItem as usize] = Layout { size: xfs.log_item_bytes.into(), reclaimable, nofs: true };
        layouts[Cache::XfsBuf as usize].reclaimable = reclaimable;
        Layouts(layouts)
    }

    #[cfg(test)]
    pub fn of_preset(name: &str) -> Layouts {
        Layouts::of(pagealloc::policy::preset(name).unwrap().computer.xfs)
    }
}

impl Index<Cache> for Layouts {
    type Output = Layout;

    fn index(&self, cache: Cache) -> &Layout {
        &self.0[cache as usize]
    }
}

impl Layout {
    /// Mask of the request that needs a slab.
    fn gfp(self) -> Gfp {
        let gfp = if self.nofs { Gfp::NOFS } else { Gfp::KERNEL };
        if self.reclaimable { gfp | Gfp::RECLAIMABLE } else { gfp }
    }

    /// The two attempts at a slab on a machine of so many CPUs: order and mask. SLUB tries for large ones without any reclaim, as the
    /// recordings show.
    pub fn attempts(self, allocator: SlabAllocator, page: PageSize, cpus: u16) -> [(Order, Gfp); 2] {
        let gfp = self.gfp() | Gfp::COMP;
        let lightly = gfp | Gfp::NOWARN | Gfp::NORETRY;
        let smallest = page.fill(self.size.into()).next_power_of_two().trailing_zeros() as Order;
        if allocator == SlabAllocator::Slab {
            return [(self.order_in_slab(smallest, page), gfp); 2];
        }
        let order = self.order_in_slub(smallest, page, cpus);
        match order > smallest {
            true => [(order, (lightly | Gfp::NOMEMALLOC).without(Gfp::RECLAIM)), (smallest, gfp)],
            false => [(order, lightly), (order, gfp)],
        }
    }

    /// Order of SLAB's slabs: the smallest for what reclaim can free, else at most 1 for the sake of less waste
    /// (`calculate_slab_order`).
    fn order_in_slab(self, smallest: Order, page: PageSize) -> Order {
        let page = page.bytes() as u32;
        let wasteful = |order: Order| (page << order) % self.size * 8 > page << order;
        let larger = !self.reclaimable && smallest == 0 && wasteful(0);
        smallest.max(Order::from(larger))
    }

    /// Order of SLUB's slabs: they hold four objects for each binary digit of the number of CPUs, and four more, as far as the largest
    /// order allows, and waste at most a sixteenth, else an eighth, a quarter or a half (`calculate_order`; CPUs that are present, since
    /// 5.12, before that all that there may be).
    fn order_in_slub(self, smallest: Order, page: PageSize, cpus: u16) -> Order {
        const LARGEST: Order = 3;
        let size = u64::from(self.size);
        let bytes = |order: Order| page.bytes() << order;
        let objects = u64::from(4 * (u16::BITS - cpus.leading_zeros() + 1)).min(bytes(LARGEST) / size);
        let least = page.fill(objects * size).next_power_of_two().trailing_zeros() as Order;
        let thrifty = |part: u64| (least..=LARGEST).find(|&order| bytes(order) % size <= bytes(order) / part);
        [16, 8, 4, 2].into_iter().find_map(thrifty).unwrap_or(smallest)
    }

    /// Objects in a slab of this order.
    pub fn capacity(self, order: Order, page: PageSize) -> u16 {
        ((page.bytes() << order) / u64::from(self.size)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::new(12);

    fn layout(cache: Cache) -> Layout {
        Layouts::of_preset("linux-6.18")[cache]
    }

    /// Order and objects of a slab, as /proc/slabinfo shows them.
    fn slab(cache: Cache, cpus: u16) -> (Order, u16) {
        let [(order, _), _] = layout(cache).attempts(SlabAllocator::Slub, PAGE, cpus);
        (order, layout(cache).capacity(order, PAGE))
    }

    #[test]
    fn slabs_are_those_of_slabinfo_on_guests_of_two_and_eight_cpus() {
        let [two, eight] = [2, 8].map(|cpus| move |cache| slab(cache, cpus));
        assert_eq!([Cache::Dentry, Cache::Inode, Cache::XarrayNode].map(two), [(0, 21), (2, 14), (1, 14)]);
        assert_eq!([Cache::Dentry, Cache::Inode, Cache::XarrayNode].map(eight), [(0, 21), (3, 29), (2, 28)]);
        assert_eq!([Cache::BufferHead, Cache::Mm, Cache::Files].map(two), [(0, 39), (3, 21), (2, 23)]);
        assert_eq!([Cache::Kmalloc512, Cache::Kmalloc1k, Cache::XfsBuf].map(eight), [(2, 32), (3, 32), (1, 21)]);
        assert_eq!([Cache::XfsInode, Cache::XfsInodeItem].map(eight), [(3, 32), (1, 39)]);
        assert_eq!(two(Cache::XfsInode), (2, 16));
        for of in [two, eight] {
            assert_eq!([Cache::Task, Cache::Sighand].map(of), [(3, 3), (3, 15)]);
        }
    }

    #[test]
    fn larger_pages_hold_what_smaller_ones_need_several_of() {
        let large = PageSize::new(16);
        let order = |cache: Cache| layout(cache).attempts(SlabAllocator::Slub, large, 8)[0].0;
        assert_eq!([Cache::Dentry, Cache::Inode, Cache::Mm, Cache::Kmalloc2k].map(order), [0; 4]);
        assert_eq!([Cache::Kmalloc4k, Cache::Kmalloc8k, Cache::Task].map(order), [1, 2, 2], "for twenty objects");
    }

    #[test]
    fn large_slabs_are_tried_for_without_reclaim() {
        let [(order, gfp), (smallest, fallback)] = layout(Cache::Inode).attempts(SlabAllocator::Slub, PAGE, 2);
        assert_eq!((order, gfp.0, smallest), (2, 0xd2050, 0), "mask as recorded");
        assert_eq!(fallback, Gfp::NOFS | Gfp::RECLAIMABLE | Gfp::COMP);
        let [(order, gfp), _] = layout(Cache::Dentry).attempts(SlabAllocator::Slub, PAGE, 2);
        assert_eq!((order, gfp.0), (0, 0x52cd0), "mask as recorded");
        assert_eq!(
            layout(Cache::Task).attempts(SlabAllocator::Slub, PAGE, 2)[1].0,
            2,
            "an object of 8768 bytes needs four pages"
        );
    }

    #[test]
    fn log_items_of_xfs_have_become_reclaimable() {
        let [old, new] = ["linux-5.4", "linux-5.10"].map(|name| Layouts::of_preset(name)[Cache::XfsInodeItem].gfp());
        assert_eq!((old, new), (Gfp::NOFS, Gfp::NOFS | Gfp::RECLAIMABLE));
    }

    #[test]
    fn slab_takes_single_pages_for_what_reclaim_can_free() {
        let layouts = Layouts::of_preset("linux-4.6");
        let order = |cache: Cache| layouts[cache].attempts(SlabAllocator::Slab, PAGE, 8)[0].0;
        assert_eq!([Cache::XfsInode, Cache::XarrayNode, Cache::Dentry, Cache::Filp].map(order), [0; 4]);
        assert_eq!(layouts[Cache::XfsInode].capacity(0, PAGE), 4);
        assert_eq!(
            (order(Cache::Files), order(Cache::Task)),
            (1, 2),
            "704 bytes would waste a seventh of a page, 8768 need four"
        );
    }
}
