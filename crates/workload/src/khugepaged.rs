//! Settings of khugepaged.

use crate::bounds::Bounded;
use serde::Deserialize;

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $least:literal..=$most:literal,)*) => {
        /// Files below `transparent_hugepage/khugepaged`. What is left out stays as the kernel has it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Khugepaged {
            $($(#[$doc])* #[serde(default)] pub $name: Option<Bounded<$least, $most>>,)*
        }

        impl Khugepaged {
            /// These settings, and others where these leave the kernel's own.
            #[must_use]
            pub(crate) fn or(self, others: Khugepaged) -> Khugepaged {
                Khugepaged { $($name: self.$name.or(others.$name),)* }
            }

            /// Those that are given: the file's path below /sys/kernel/mm, and the value.
            pub fn given(&self) -> Vec<(&'static str, u32)> {
                [$((concat!("transparent_hugepage/khugepaged/", stringify!($name)), self.$name.map(Bounded::get)),)*]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect()
            }
        }
    };
}

settings! {
    /// Base pages looked at between two sleeps (4096).
    pages_to_scan: 1..=4_294_967_295,
    /// Sleep between scans, milliseconds (10000).
    scan_sleep_millisecs: 0..=4_294_967_295,
    /// Sleep after an allocation failed, milliseconds (60000).
    alloc_sleep_millisecs: 0..=4_294_967_295,
    /// Empty entries of a range of 2 MiB that may be filled up (511).
    max_ptes_none: 0..=511,
    /// Entries that may be read back from swap (64; 4.8+).
    max_ptes_swap: 0..=511,
    /// Entries that may map what processes share (256; 5.8+).
    max_ptes_shared: 0..=511,
    /// Whether it reclaims and compacts for a huge page: 1 on machines of 512 MiB and more, 0 on smaller ones.
    defrag: 0..=1,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_within_its_bounds_and_wins() {
        let of = |text: &str| toml::from_str::<Khugepaged>(text);
        let given = of("pages_to_scan = 1024\ndefrag = 0").unwrap();
        let path = |name: &str| format!("transparent_hugepage/khugepaged/{name}");
        let said =
            |given: Khugepaged| given.given().into_iter().map(|(at, value)| (at.to_owned(), value)).collect::<Vec<_>>();
        assert_eq!(said(given), [(path("pages_to_scan"), 1024), (path("defrag"), 0)]);
        let merged = given.or(of("defrag = 1\nmax_ptes_none = 0").unwrap());
        assert_eq!(said(merged)[1..], [(path("max_ptes_none"), 0), (path("defrag"), 0)]);
        assert!(of("max_ptes_none = 512").unwrap_err().to_string().contains("512 is not within 0 to 511"));
        assert!(of("pages_to_scan = 0").is_err() && of("max_ptes = 3").is_err());
    }
}
