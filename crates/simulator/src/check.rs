//! Invariants: every page has exactly one owner, and all counts are what counting anew gives.

use crate::sim::SimWorld;
use crate::state::folio::{FolioId, Place, Use};
use crate::state::page_table::{Entry, Pte};
use mm::{PageFlags, State};
use pagealloc::Pfn;
use std::collections::BTreeMap;

/// Whether tasks may be between getting a page and putting it to use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    /// At a moment of the run.
    Allowed,
    /// At rest.
    None,
}

/// The checks.
pub(crate) trait CheckAll {
    /// # Errors
    /// The first broken invariant.
    fn check_all(&self, flight: Flight) -> Result<(), String>;
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

impl CheckAll for State<SimWorld> {
    fn check_all(&self, flight: Flight) -> Result<(), String> {
        self.alloc.check()?;
        check_frames(self, flight)?;
        check_maps(self, flight)?;
        check_files(self, flight)?;
        let owner = &self.owner;
        owner.slabs.check()?;
        owner.dentries.check()?;
        let slots =
            owner.folios.iter().filter(|(_, folio)| folio.slot.is_some()).map(|(_, folio)| u64::from(folio.pages()));
        let (slots, used): (u64, u64) = (slots.sum(), owner.slots.used());
        ensure(slots == used, || format!("{slots} swap slots are taken, {used} are counted"))
    }
}

/// Every allocated page is a folio's, and every folio in memory has an allocated page of its order.
fn check_frames(state: &State<SimWorld>, flight: Flight) -> Result<(), String> {
    let folios = &state.owner.folios;
    let mut owned = 0u64;
    for (id, folio) in folios.iter() {
        let Place::Frame(pfn) = folio.place else { continue };
        let frames = &state.alloc.frames;
        ensure(frames.state(pfn).is_allocated_head() && frames.order(pfn) == folio.order, || {
            format!("{id:?} ({folio:?}): its frame is {:?} of order {}", frames.state(pfn), frames.order(pfn))
        })?;
        ensure(state.pages.tag(pfn).0 == id.0, || {
            format!("{id:?} is in {pfn:?}, which is {:?}'s", state.pages.tag(pfn))
        })?;
        if let Use::Slab(slab) = folio.what {
            // One that has just become empty is about to be freed, and its number may be another's already.
            let slabs = &state.owner.slabs;
            let known = slabs.folio(slab) == Some(id) || slabs.emptied.contains(&id);
            ensure(known, || format!("{id:?} is slab {slab}, which is elsewhere"))?;
        }
        owned += 1;
    }
    let heads = (0..state.alloc.frames.len()).map(Pfn).filter(|&pfn| state.alloc.frames.state(pfn).is_allocated_head());
    let heads = heads.filter(|&pfn| !state.pages.flags(pfn).contains(PageFlags::DOOMED)).count() as u64;
    let owned = owned + state.swap.nr_tables() as u64;
    let on_the_way = heads.wrapping_sub(owned);
    // Each task can be between getting a page and using it; a readahead window is in the cache at once.
    let allowed = if flight == Flight::None { 0 } else { state.owner.processes.len() as u64 + 1 };
    ensure(on_the_way <= allowed, || format!("{heads} pages are allocated, {owned} have an owner"))
}

/// Map counts are what page tables say.
fn check_maps(state: &State<SimWorld>, flight: Flight) -> Result<(), String> {
    let owner = &state.owner;
    let mut maps: BTreeMap<FolioId, u32> = BTreeMap::new();
    for (pid, process) in owner.processes.iter() {
        for (number, window) in process.windows.iter() {
            let mut count = |id: FolioId| *maps.entry(id).or_default() += 1;
            match &window.entry {
                Entry::Empty => continue,
                Entry::Huge(id) => match owner.folios.get(*id).place {
                    Place::Split(first) => {
                        count(*id);
                        (0..owner.folios.get(*id).pages()).for_each(|index| count(FolioId(first.0 + index)));
                    }
                    Place::Frame(_) | Place::Swapped(_) => count(*id),
                },
                Entry::Table(table) => {
                    for (index, pte) in (0..).zip(table.iter()) {
                        if let Pte::Page(id) | Pte::File { id, .. } = pte {
                            count(*id);
                            ensure(window.is_mapped(index), || format!("process {pid}: {id:?} outside all mappings"))?;
                            let parts_elsewhere =
                                owner.folios.get(*id).parts && !owner.deferred.is_mapped_at(*id, pid, number);
                            ensure(!parts_elsewhere, || format!("process {pid}: parts of {id:?} are another's"))?;
                        }
                    }
                }
            }
            ensure(window.table.is_some() || process.killed, || {
                format!("process {pid}: window {number} holds pages without a page table")
            })?;
        }
    }
    owner.locked.iter().for_each(|&id| *maps.entry(id).or_default() += 1);
    for (id, folio) in owner.folios.iter().filter(|(_, folio)| matches!(folio.what, Use::File { .. })) {
        let counted = maps.get(&id).copied().unwrap_or(0);
        ensure(counted + 1 == folio.maps, || format!("{id:?} of a file counts {} maps, {counted} map it", folio.maps))?;
        let flagged = owner.folios.frame(id).is_some_and(|pfn| state.pages.flags(pfn).contains(PageFlags::MAPPED));
        ensure(flagged || counted == 0, || format!("{id:?} of a file is mapped and does not say so"))?;
    }
    for (id, folio) in owner.folios.iter().filter(|(_, folio)| folio.what == Use::Anon) {
        let counted = maps.get(&id).copied().unwrap_or(0);
        // A page that is being mapped is counted before its entry is written.
        let close = flight == Flight::Allowed && folio.maps == 1 && counted == 0;
        ensure(counted == folio.maps || close, || format!("{id:?} counts {} maps, {counted} map it", folio.maps))?;
    }
    Ok(())
}

/// Files hold what their folios say.
fn check_files(state: &State<SimWorld>, flight: Flight) -> Result<(), String> {
    let owner = &state.owner;
    let mut held = 0;
    for (file, of) in owner.files.iter() {
        let mut cached = 0;
        for (index, id) in of.tree.pages() {
            cached += 1;
            let folio = owner.folios.get(id);
            let Use::File { file: named, index: start } = folio.what else {
                return Err(format!("page {index} of file {file} is {folio:?}"));
            };
            let inside = start <= index && index < start + folio.pages();
            ensure(named == file && inside, || format!("page {index} of file {file} is {folio:?}"))?;
            held += u64::from(start == index);
        }
        ensure(cached == of.cached, || format!("file {file} counts {} pages, {cached} are cached", of.cached))?;
        for node in of.tree.with_objects().filter(|_| flight == Flight::None) {
            let shadows_only = !of.tree.has_pages(node);
            let empty = !of.tree.has_slots(node);
            let listed = owner.shadow_nodes.contains((file, node));
            ensure(listed == (shadows_only && !empty) || empty, || {
                format!("node {node} of file {file}: listed {listed}")
            })?;
        }
    }
    let folios = owner.folios.iter().filter(|(_, folio)| matches!(folio.what, Use::File { .. })).count() as u64;
    ensure(folios == held, || format!("{folios} folios are of files, files hold {held}"))
}
