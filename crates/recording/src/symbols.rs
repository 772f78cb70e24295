//! Named values of events: zones and compaction results.
//!
//! The kernel stores them as enumerators whose numbers move between versions and configurations;
//! their printed names do not. So both binary and text readers come here by name.

/// A set of named values that a reader can meet.
pub(crate) trait Symbol: Copy {
    /// The value that the kernel prints as `name`; the type's `Unknown` for any other.
    fn from_name(name: &str) -> Self;
}

macro_rules! symbols {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
            /// A name or number that this version does not know.
            Unknown,
        }

        impl $type {
            /// The kernel's printed name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Unknown => "unknown",
                }
            }
        }

        impl Symbol for $type {
            fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Unknown,
                }
            }
        }
    };
}

symbols! {
    /// A zone of a node, as events name it.
    ZoneType {
        /// The first 16 MiB on x86.
        Dma = "DMA",
        /// The first 4 GiB.
        Dma32 = "DMA32",
        /// All memory that the kernel maps directly.
        Normal = "Normal",
        /// Memory that a 32-bit kernel does not map.
        HighMem = "HighMem",
        /// Memory for movable pages only.
        Movable = "Movable",
        /// Memory of devices.
        Device = "Device",
    }
}

symbols! {
    /// How a compaction attempt, or the test before it, ended.
    CompactResult {
        /// The zone cannot be compacted for this order.
        NotSuitableZone = "not_suitable_zone",
        /// Not tried: there is enough free memory, or too little.
        Skipped = "skipped",
        /// Not tried: it failed too often lately.
        Deferred = "deferred",
        /// No page of the order came free.
        NoSuitablePage = "no_suitable_page",
        /// Worth starting, or going on.
        Continue = "continue",
        /// The scanners met without success.
        Complete = "complete",
        /// The scanners met, but did not see the whole zone.
        PartialSkipped = "partial_skipped",
        /// Stopped because of lock contention.
        Contended = "contended",
        /// A page of the order is available.
        Success = "success",
    }
}
