//! Which zones a pass over the zonelist skips, and when it is worth another scan (7.1b to d, 7.2, 7.10, 7.11).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::gfp::Gfp;
use crate::ids::{Pfn, ZoneId, ZoneType};
use crate::migratetype::Migratetype;
use crate::policy::{FairZones, NoFragment};
use crate::request::Request;

/// How one scan of the zonelist ended.
pub(crate) enum Scan {
    Served(Pfn),
    /// Start again at the preferred zone.
    Restart,
    Exhausted,
}

/// What a pass remembers between its scans.
pub(crate) struct Pass {
    pub flags: AllocFlags,
    pub highest: ZoneType,
    pub migratetype: Migratetype,
    /// Skip nodes whose kswapd is awake (7.1d).
    pub skip_kswapd_nodes: bool,
    pub skipped_kswapd_nodes: bool,
    /// Zones passed over because their fair batch is used up (7.11).
    pub skipped_fair: bool,
}

/// What 7.1's filters say about a zone.
pub(crate) enum Filter {
    Try,
    Skip,
    Stop(Scan),
}

impl<O: Observer> PageAllocator<O> {
    /// Whether anything but the marks could make the preferred zone unfit.
    #[inline(always)]
    pub(crate) fn has_rare_filters(&self) -> bool {
        self.kswapd_awake | self.dirty_limited != 0 || self.policy.fair_zones != FairZones::Off
    }

    /// The same, of which some could concern this request: dirty limits hold for pages to be written to.
    #[inline(always)]
    pub(crate) fn has_filters_for(&self, request: &Request) -> bool {
        self.has_rare_filters()
            && (self.kswapd_awake != 0 || self.policy.fair_zones != FairZones::Off || request.gfp.contains(Gfp::WRITE))
    }

    /// Steps b to d of 7.1, and fair zones.
    pub(crate) fn filter_zone(&self, request: &Request, pass: &mut Pass, preferred: ZoneId, zone: ZoneId) -> Filter {
        let node = self.zones[zone.index()].node;
        let node_bit = 1u64 << node.0;
        let local = node == self.zones[preferred.index()].node;
        let fast = pass.flags.wmark() == AllocFlags::WMARK_LOW.wmark();
        match self.policy.fair_zones {
            FairZones::AllNodes if fast && self.zones[zone.index()].alloc_batch <= 0 => return Filter::Skip,
            FairZones::AllNodes if fast && !local && self.policy.sysctl.zone_reclaim_mode != 0 => {
                return Filter::Skip;
            }
            FairZones::LocalNode if pass.flags.contains(AllocFlags::FAIR) => {
                if !local {
                    return Filter::Stop(Scan::Exhausted);
                }
                if self.zones[zone.index()].fair_depleted {
                    pass.skipped_fair = true;
                    return Filter::Skip;
                }
            }
            _ => {}
        }
        if fast && self.dirty_limited & node_bit != 0 && request.gfp.contains(Gfp::WRITE) {
            return Filter::Skip;
        }
        if !local && let Some(scan) = self.leave_local_node(pass) {
            return Filter::Stop(scan);
        }
        if pass.skip_kswapd_nodes && self.kswapd_awake & node_bit != 0 {
            pass.skipped_kswapd_nodes = true;
            return Filter::Skip;
        }
        Filter::Try
    }

    /// Mixing types beats leaving the node, except under defrag_mode (7.1c, 7.4, 7.9).
    fn leave_local_node(&self, pass: &mut Pass) -> Option<Scan> {
        let series = self.policy.nofragment == NoFragment::Series;
        if pass.flags.contains(AllocFlags::FRAGMENT_STALL) {
            return Some(Scan::Exhausted); // The floor above stalls, then tries again without the flag.
        }
        if !pass.flags.contains(AllocFlags::NOFRAGMENT) || self.policy.defrag_mode() {
            return None;
        }
        pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
        // The series "restarted" without moving its cursor back: it went on with this zone.
        if series { None } else { Some(Scan::Restart) }
    }

    /// Whether the list is worth another scan, with what to give up (7.2, 7.11).
    #[cold]
    pub(crate) fn may_rescan(&mut self, request: &Request, pass: &mut Pass) -> bool {
        if pass.flags.contains(AllocFlags::FAIR) {
            pass.flags = pass.flags.without(AllocFlags::FAIR);
            if pass.skipped_fair {
                self.reset_local_fair_batches(request);
            }
            if pass.skipped_fair || self.nodes > 1 {
                return true;
            }
        }
        if pass.skipped_kswapd_nodes {
            pass.skip_kswapd_nodes = false;
            pass.skipped_kswapd_nodes = false;
            return true;
        }
        let gives_up_nofragment = pass.flags.contains(AllocFlags::NOFRAGMENT)
            && !self.policy.defrag_mode()
            && self.policy.nofragment != NoFragment::Series; // Its cursor stood at the end already (7.9).
        if gives_up_nofragment {
            pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
        }
        gives_up_nofragment
    }
}
