//! The events of a recording, typed, with the kernel's own field names.
//!
//! There is one file per trace system of the kernel. It says for each event how it is called, which fields it has, and how
//! each is read from binary records and from text. Fields that only some kernels record are `Option`; all others must be
//! there. Events without an entry are kept by name only. Names, meanings and text forms are those of reference section
//! 15.6.

#[macro_use]
mod tables;
mod claim;
mod compaction;
mod filemap;
mod huge_memory;
mod kmem;
mod migrate;
mod oom;
mod probes;
mod recorded;
mod vmscan;

pub use self::compaction::*;
pub use self::filemap::*;
pub use self::huge_memory::*;
pub use self::kmem::*;
pub use self::migrate::*;
pub use self::oom::*;
pub use self::probes::*;
pub use self::vmscan::*;
pub use crate::record::{Lost, Other, Record};

use crate::codec::{Codec, Text};
use crate::format::Format;
use crate::gfp::GfpNames;
use crate::marker::Marker;
use recorded::Recorded;
use std::sync::Arc;

// Those with more fields than the frequent events are boxed, so that they don't make every record longer.
all_events! {
    PageAlloc(PageAlloc),
    PageFree(PageFree),
    PageFreeBatched(PageFreeBatched),
    PageAllocZoneLocked(PageAllocZoneLocked),
    PagePcpuDrain(PagePcpuDrain),
    PageAllocExtfrag(PageAllocExtfrag),
    SetupPerZoneWmarks(Box<SetupPerZoneWmarks>),
    SetupPerZoneLowmemReserve(Box<SetupPerZoneLowmemReserve>),
    CalculateTotalreservePages(CalculateTotalreservePages),
    FilemapAdd(FilemapAdd),
    FilemapDelete(FilemapDelete),
    CompactionIsolateMigratepages(CompactionIsolateMigratepages),
    CompactionIsolateFreepages(CompactionIsolateFreepages),
    CompactionFastIsolateFreepages(CompactionFastIsolateFreepages),
    CompactionMigratepages(CompactionMigratepages),
    CompactionBegin(Box<CompactionBegin>),
    CompactionEnd(Box<CompactionEnd>),
    CompactionTryToCompactPages(CompactionTryToCompactPages),
    CompactionSuitable(CompactionSuitable),
    CompactionFinished(CompactionFinished),
    CompactionDeferred(CompactionDeferred),
    CompactionDeferCompaction(CompactionDeferCompaction),
    CompactionDeferReset(CompactionDeferReset),
    CompactionKcompactdSleep(CompactionKcompactdSleep),
    CompactionWakeupKcompactd(CompactionWakeupKcompactd),
    CompactionKcompactdWake(CompactionKcompactdWake),
    VmscanKswapdSleep(VmscanKswapdSleep),
    VmscanKswapdWake(VmscanKswapdWake),
    VmscanWakeupKswapd(VmscanWakeupKswapd),
    VmscanDirectReclaimBegin(VmscanDirectReclaimBegin),
    VmscanDirectReclaimEnd(VmscanDirectReclaimEnd),
    VmscanNodeReclaimBegin(VmscanNodeReclaimBegin),
    VmscanNodeReclaimEnd(VmscanNodeReclaimEnd),
    VmscanLruShrinkInactive(Box<VmscanLruShrinkInactive>),
    VmscanLruShrinkActive(Box<VmscanLruShrinkActive>),
    VmscanLruIsolate(Box<VmscanLruIsolate>),
    VmscanWriteFolio(VmscanWriteFolio),
    VmscanThrottled(VmscanThrottled),
    ShrinkSlabStart(Box<ShrinkSlabStart>),
    ShrinkSlabEnd(Box<ShrinkSlabEnd>),
    MigratePages(Box<MigratePages>),
    MigratePagesStart(MigratePagesStart),
    KhugepagedScanPmd(Box<KhugepagedScanPmd>),
    KhugepagedScanFile(Box<KhugepagedScanFile>),
    KhugepagedCollapseFile(Box<KhugepagedCollapseFile>),
    CollapseHugePage(CollapseHugePage),
    CollapseHugePageIsolate(Box<CollapseHugePageIsolate>),
    CollapseHugePageSwapin(CollapseHugePageSwapin),
    OomScoreAdjUpdate(OomScoreAdjUpdate),
    ReclaimRetryZone(Box<ReclaimRetryZone>),
    CompactRetry(Box<CompactRetry>),
    MarkVictim(MarkVictim),
    WakeReaper(WakeReaper),
    StartTaskReaping(StartTaskReaping),
    FinishTaskReaping(FinishTaskReaping),
    SkipTaskReaping(SkipTaskReaping),
    PageMoved(PageMoved),
    ThpFallback(ThpFallback),
}

impl Decoder {
    /// The decoder for an event; one without a needed field is an error only once it is met.
    pub(crate) fn new(format: &Format) -> Self {
        Self::resolve(format).unwrap_or_else(|problem| Self::Unusable { event: format.name.clone(), problem })
    }
}
