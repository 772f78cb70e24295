//! `alloc_pages_bulk()`, 5.13+.

use super::*;

impl Model {
    /// The pages of a request for so many single ones. None: the caller has to ask for one page.
    pub fn alloc_bulk(&mut self, request: &Request, wanted: u64) -> Vec<Pfn> {
        let mut pages = Vec::new();
        if self.policy.bulk_requests == BulkRequests::OneByOne || wanted <= 1 {
            return pages;
        }
        let mut flags = AllocFlags::WMARK_LOW;
        if request.migratetype == Migratetype::Movable {
            flags |= AllocFlags::CMA;
        }
        let Some(zone) = self.zone_for(request, wanted, flags) else { return pages };
        while (pages.len() as u64) < wanted {
            let Some(pfn) = self.pcp_take(zone, request, flags) else { break };
            self.prepare(pfn, 0);
            let local = self.zones[zone].node == self.cpu_node[request.cpu.index()];
            self.vmstat.bump(Counter::pgalloc(self.zones[zone].kind));
            self.vmstat.bump(Counter::NumaHit);
            self.vmstat.bump(if local { Counter::NumaLocal } else { Counter::NumaOther });
            pages.push(pfn);
        }
        pages
    }

    /// The zone that all pages would leave above its low mark, if one comes before those of another node.
    fn zone_for(&self, request: &Request, wanted: u64, flags: AllocFlags) -> Option<usize> {
        let zones = self.zonelist(request);
        for &zone in &zones {
            if self.zones[zone].node != self.zones[zones[0]].node {
                return None;
            }
            if self.fast_ok(zone, self.mark(zone, 1) + wanted, request, flags) {
                return Some(zone);
            }
        }
        None
    }
}
