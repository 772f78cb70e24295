//! A file's tree: which of its pages are in memory and what evictions have left, by nodes of [`NODE_PAGES`].

use crate::state::folio::FolioId;
use crate::state::slab::Object;
use mm::reclaim::Shadow;
use std::collections::BTreeMap;

/// Pages that one node of a file's tree holds.
pub(crate) const NODE_PAGES: u32 = 64;

/// A place in a file's cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Slot {
    Page(FolioId),
    /// Not its first page: the folio begins further down.
    Tail(FolioId),
    /// Reclaimed.
    Shadow(Shadow),
}

fn is_page(slot: Option<Slot>) -> bool {
    matches!(slot, Some(Slot::Page(_) | Slot::Tail(_)))
}

/// A node.
#[derive(Default)]
struct Node {
    /// Up to the last one that was ever taken.
    slots: Vec<Option<Slot>>,
    /// Slots that hold pages.
    pages: u32,
    /// Its memory, if the file needs nodes.
    object: Option<Object>,
}

impl Node {
    /// Room for a slot, in steps: most files have a few pages, and most others fill a node.
    fn make_room(&mut self, place: usize) {
        if self.slots.len() <= place {
            let room = [4, 16].into_iter().find(|&room| place < room).unwrap_or(NODE_PAGES as usize);
            self.slots.reserve_exact(room - self.slots.len());
            self.slots.resize(place + 1, None);
        }
    }

    fn put(&mut self, place: usize, slot: Option<Slot>) -> Option<Slot> {
        let before = std::mem::replace(&mut self.slots[place], slot);
        self.pages = self.pages + u32::from(is_page(slot)) - u32::from(is_page(before));
        before
    }
}

/// The tree. Most files have no more than one node's pages.
#[derive(Default)]
pub(crate) struct PageTree {
    first: Node,
    rest: BTreeMap<u32, Node>,
    /// Nodes that have memory.
    objects: u32,
}

/// Node and place in it.
fn place(index: u32) -> (u32, usize) {
    (index / NODE_PAGES, (index % NODE_PAGES) as usize)
}

impl PageTree {
    #[inline]
    fn node(&self, number: u32) -> Option<&Node> {
        if number == 0 { Some(&self.first) } else { self.rest.get(&number) }
    }

    fn node_mut(&mut self, number: u32) -> Option<&mut Node> {
        if number == 0 { Some(&mut self.first) } else { self.rest.get_mut(&number) }
    }

    fn node_or_new(&mut self, number: u32) -> &mut Node {
        if number == 0 { &mut self.first } else { self.rest.entry(number).or_default() }
    }

    fn nodes(&self) -> impl Iterator<Item = (u32, &Node)> {
        std::iter::once((0, &self.first)).chain(self.rest.iter().map(|(&number, node)| (number, node)))
    }

    #[inline]
    pub fn get(&self, index: u32) -> Option<Slot> {
        let (node, place) = place(index);
        *self.node(node)?.slots.get(place)?
    }

    /// What was there before.
    pub fn insert(&mut self, index: u32, slot: Slot) -> Option<Slot> {
        let (node, place) = place(index);
        let node = self.node_or_new(node);
        node.make_room(place);
        node.put(place, Some(slot))
    }

    pub fn remove(&mut self, index: u32) -> Option<Slot> {
        let (node, place) = place(index);
        let node = self.node_mut(node).filter(|node| place < node.slots.len())?;
        node.put(place, None)
    }

    /// Taken slots in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Slot)> {
        self.nodes().flat_map(|(number, node)| {
            let numbered = (0..NODE_PAGES).zip(&node.slots);
            numbered.filter_map(move |(place, slot)| Some((number * NODE_PAGES + place, (*slot)?)))
        })
    }

    /// Folios of pages in order; those of several pages as often.
    pub fn pages(&self) -> impl Iterator<Item = (u32, FolioId)> {
        self.iter().filter_map(|(index, slot)| match slot {
            Slot::Page(id) | Slot::Tail(id) => Some((index, id)),
            Slot::Shadow(_) => None,
        })
    }

    /// Folios in order, by their first pages.
    pub fn heads(&self) -> impl Iterator<Item = (u32, FolioId)> {
        self.iter().filter_map(|(index, slot)| match slot {
            Slot::Page(id) => Some((index, id)),
            Slot::Tail(_) | Slot::Shadow(_) => None,
        })
    }

    /// Whether a node holds pages.
    pub fn has_pages(&self, node: u32) -> bool {
        self.node(node).is_some_and(|node| node.pages > 0)
    }

    /// Whether a node holds anything.
    pub fn has_slots(&self, node: u32) -> bool {
        self.node(node).is_some_and(|node| node.slots.iter().any(Option::is_some))
    }

    /// Forgets all slots of a node.
    pub fn clear_slots(&mut self, node: u32) {
        if let Some(node) = self.node_mut(node) {
            node.slots.clear();
            node.pages = 0;
        }
    }

    /// Whether some node has memory.
    pub fn has_objects(&self) -> bool {
        self.objects > 0
    }

    /// Nodes that have memory, in order.
    pub fn with_objects(&self) -> impl Iterator<Item = u32> {
        self.nodes().filter(|(_, node)| node.object.is_some()).map(|(number, _)| number)
    }

    pub fn object(&self, node: u32) -> Option<Object> {
        self.node(node)?.object
    }

    pub fn add_object(&mut self, node: u32, object: Object) {
        let before = self.node_or_new(node).object.replace(object);
        self.objects += u32::from(before.is_none());
    }

    pub fn take_object(&mut self, node: u32) -> Option<Object> {
        let object = self.node_mut(node)?.object.take()?;
        self.objects -= 1;
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_count_their_pages_and_keep_their_memory_apart() {
        let (mut tree, shadow) = (PageTree::default(), Slot::Shadow(Shadow::default()));
        for index in [3, 64, 65, 200] {
            assert_eq!(tree.insert(index, Slot::Page(FolioId(index))), None);
        }
        assert_eq!(tree.insert(65, shadow), Some(Slot::Page(FolioId(65))));
        assert_eq!(tree.iter().map(|(index, _)| index).collect::<Vec<_>>(), [3, 64, 65, 200]);
        assert_eq!(tree.pages().map(|(index, _)| index).collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!((tree.get(2), tree.get(66), tree.get(4_000_000)), (None, None, None));
        assert_eq!((tree.remove(64), tree.remove(64), tree.remove(9_999)), (Some(Slot::Page(FolioId(64))), None, None));
        assert!(tree.has_slots(1) && !tree.has_pages(1) && tree.has_pages(3) && !tree.has_pages(2));
        tree.clear_slots(1);
        assert!(!tree.has_slots(1));
    }
}
