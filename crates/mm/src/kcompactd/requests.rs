//! What has been asked of a node's kcompactd? (11.17)

use pagealloc::{Order, ZoneType};

/// Requests to a node's kcompactd.
#[derive(Default, Debug)]
pub struct Kcompactd {
    /// Largest order asked for; 0: none.
    pub(super) max_order: Order,
    /// Lowest of the highest zones asked for; `None`: all zones. (Own knowledge: the tightest request counts.)
    pub(super) highest: Option<ZoneType>,
}

impl Kcompactd {
    pub(super) fn request(&mut self, order: Order, highest: ZoneType) {
        self.max_order = self.max_order.max(order);
        self.highest = Some(self.highest.map_or(highest, |known| known.min(highest)));
    }

    /// The request was worked on: forgotten, unless a larger or tighter one came in meanwhile.
    pub(super) fn served(&mut self, order: Order, highest: Option<ZoneType>) {
        if self.max_order <= order {
            self.max_order = 0;
        }
        let tighter = self.highest.is_some_and(|now| highest.is_none_or(|then| now < then));
        if !tighter {
            self.highest = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_order_and_the_tightest_zone_are_kept() {
        let mut requests = Kcompactd::default();
        requests.request(4, ZoneType::Normal);
        requests.request(9, ZoneType::Movable);
        requests.request(2, ZoneType::Dma32);
        assert_eq!((requests.max_order, requests.highest), (9, Some(ZoneType::Dma32)));
    }

    #[test]
    fn a_larger_request_that_came_in_meanwhile_stays() {
        let mut requests = Kcompactd::default();
        requests.request(4, ZoneType::Normal);
        requests.request(9, ZoneType::Normal);
        requests.served(4, Some(ZoneType::Normal));
        assert_eq!((requests.max_order, requests.highest), (9, None));
        requests.served(9, Some(ZoneType::Normal));
        assert_eq!(requests.max_order, 0);
    }
}
