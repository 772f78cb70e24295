//! Slab caches: which objects share a page. A page is freed only when all of its objects are.
//!
//! As in SLUB, each CPU fills one slab at a time; slabs with room wait on a list per cache, those that lost an object
//! at its tail.

mod cache;

pub(crate) use cache::{Cache, Layouts};

use crate::state::folio::FolioId;
use crate::state::node_lines::{NodeLines, NodeTicket};
use crate::state::page_size::PageSize;
use pagealloc::{CpuId, Gfp, NodeId, Order};
use smallvec::SmallVec;
use workload::SlabAllocator;

/// An object: all that matters of it is its slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) struct Object(u32);

/// Those that belong together: of one page, one inode, one mapping, mostly no more than four.
pub(crate) type Objects = SmallVec<[Object; 4]>;

/// Empty slabs that a cache keeps before it gives pages back (`min_partial`).
const MIN_PARTIAL: u64 = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    Cpu,
    /// With room, at this place of the cache's list.
    Partial(NodeTicket),
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

#[derive(Clone)]
struct CacheState {
    /// Slab that each CPU fills.
    cpu: Vec<Option<u32>>,
    /// Slabs with room by node, longest there first.
    partial: NodeLines<u32>,
    objects: u64,
}

impl CacheState {
    /// A slab with room: of the CPU's node, else of the first node that has more of them than it keeps anyway.
    fn with_room(&mut self, node: NodeId) -> Option<u32> {
        let own = self.partial.pop_first(node);
        own.or_else(|| {
            let other = self.partial.nodes().find(|&node| self.partial.len(node) > MIN_PARTIAL)?;
            self.partial.pop_first(other)
        })
    }
}

/// All caches.
pub(crate) struct Slabs {
    slabs: Vec<Slab>,
    vacant: Vec<u32>,
    caches: Vec<CacheState>,
    cpu_node: Vec<NodeId>,
    page: PageSize,
    layouts: Layouts,
    /// Slabs that have lost their last object: their pages are to be freed.
    pub emptied: Vec<FolioId>,
}

impl Slabs {
    /// `cpu_node`: the node of each CPU.
    pub fn new(cpu_node: Vec<NodeId>, page: PageSize, layouts: Layouts) -> Slabs {
        let nodes = 1 + cpu_node.iter().map(|node| node.index()).max().unwrap_or(0);
        let cache = CacheState { cpu: vec![None; cpu_node.len()], partial: NodeLines::new(nodes), objects: 0 };
        let caches = vec![cache; Cache::ALL.len()];
        Slabs { slabs: Vec::new(), vacant: Vec::new(), caches, cpu_node, page, layouts, emptied: Vec::new() }
    }

    /// Those of a machine of one CPU.
    #[cfg(test)]
    pub fn on_one_cpu(page: PageSize) -> Slabs {
        Slabs::new(vec![NodeId(0)], page, Layouts::of_preset("linux-6.18"))
    }

    /// The two attempts at a slab: order and mask.
    pub fn attempts(&self, cache: Cache, allocator: SlabAllocator) -> [(Order, Gfp); 2] {
        self.layouts[cache].attempts(allocator, self.page, self.cpu_node.len() as u16)
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
        of.on = On::Partial(self.caches[of.cache as usize].partial.push(of.node, slab));
    }

    /// Number that the next slab will have: its folio is named after it.
    pub fn next_slab(&self) -> u32 {
        self.vacant.last().copied().unwrap_or(self.slabs.len() as u32)
    }

    /// A new slab in a page of this order; the CPU fills it, and this is its first object.
    pub fn grow(&mut self, cache: Cache, cpu: CpuId, (folio, node): (FolioId, NodeId), order: Order) -> Object {
        let capacity = self.layouts[cache].capacity(order, self.page);
        let slab = Slab { cache, folio, node, capacity, in_use: 0, on: On::Cpu };
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
            On::Partial(place) if in_use == 0 && state.partial.len(node) > MIN_PARTIAL => {
                state.partial.remove(place);
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

    /// Node that an object lies on.
    pub fn node(&self, object: Object) -> NodeId {
        self.slabs[object.0 as usize].node
    }

    /// Folio of a slab.
    pub fn folio(&self, slab: u32) -> Option<FolioId> {
        self.slabs.get(slab as usize).filter(|slab| slab.on != On::Gone).map(|slab| slab.folio)
    }

    /// Whether the counts of all slabs add up, for [`crate::check`].
    pub fn check(&self) -> Result<(), String> {
        for cache in Cache::ALL {
            let (state, name) = (&self.caches[cache as usize], cache.name());
            let slabs = || self.slabs.iter().filter(|slab| slab.cache == cache && slab.on != On::Gone);
            let in_use: u64 = slabs().map(|slab| u64::from(slab.in_use)).sum();
            if in_use != state.objects {
                return Err(format!("{name}: slabs hold {in_use} objects, the cache counts {}", state.objects));
            }
            if let Some(slab) = slabs().find(|slab| slab.in_use > slab.capacity) {
                return Err(format!("{name}: {} objects in a slab for {}", slab.in_use, slab.capacity));
            }
            let listed = slabs().filter(|slab| matches!(slab.on, On::Partial(_))).count();
            let lists = state.partial.total();
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
        let capacity = slabs.layouts[Cache::Dentry].capacity(0, PAGE);
        let first = slabs.grow(Cache::Dentry, CPU, (FolioId(folio), NodeId(0)), 0);
        for _ in 1..capacity {
            slabs.take(Cache::Dentry, CPU).unwrap();
        }
        first
    }

    #[test]
    fn a_page_is_freed_only_when_all_its_objects_are() {
        let mut slabs = Slabs::on_one_cpu(PAGE);
        // More than the cache keeps, and the one that the CPU fills.
        let firsts: Vec<Object> = (0..8).map(|folio| grown(&mut slabs, folio)).collect();
        assert_eq!(slabs.take(Cache::Dentry, CPU), None);
        let capacity = slabs.layouts[Cache::Dentry].capacity(0, PAGE);
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
        let mut slabs = Slabs::on_one_cpu(PAGE);
        let old = grown(&mut slabs, 0);
        grown(&mut slabs, 1);
        slabs.free(old);
        assert_eq!(slabs.take(Cache::Dentry, CPU), Some(old));
        assert_eq!(slabs.take(Cache::Dentry, CPU), None);
        slabs.check().unwrap();
    }

    /// A node keeps its slabs with room for itself as long as it has no more of them than it keeps anyway.
    #[test]
    fn another_nodes_slabs_are_filled_up_if_it_has_many() {
        for (with_room, found) in [(MIN_PARTIAL, None), (MIN_PARTIAL + 1, Some(NodeId(1)))] {
            let nodes = vec![NodeId(0), NodeId(1)];
            let mut slabs = Slabs::new(nodes, PAGE, Layouts::of_preset("linux-6.18"));
            let capacity = slabs.layouts[Cache::Dentry].capacity(0, PAGE);
            let grown = |folio| {
                let first = slabs.grow(Cache::Dentry, CpuId(1), (FolioId(folio), NodeId(1)), 0);
                for _ in 1..capacity {
                    slabs.take(Cache::Dentry, CpuId(1)).unwrap();
                }
                first
            };
            // The last one is its CPU's.
            let firsts: Vec<Object> = (0..=with_room as u32).map(grown).collect();
            firsts[..with_room as usize].iter().for_each(|&object| slabs.free(object));
            let object = slabs.take(Cache::Dentry, CPU);
            assert_eq!(object.map(|object| slabs.node(object)), found);
            slabs.check().unwrap();
        }
    }
}
