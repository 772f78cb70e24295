//! How is a set of bits written down?

/// A plain set-of-bits type: named constants, `contains`, `intersects`, `with`, `without`.
macro_rules! bitflags_like {
    ($(#[$doc:meta])* $name:ident: $repr:ty { $($(#[$bit_doc:meta])* $bit:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
        pub struct $name(pub $repr);
        impl $name {
            /// Nothing set.
            pub const NONE: $name = $name(0);
            $($(#[$bit_doc])* pub const $bit: $name = $name($value);)*
            /// Whether all bits of `other` are set.
            #[inline(always)]
            pub const fn contains(self, other: $name) -> bool { self.0 & other.0 == other.0 }
            /// Whether any bit of `other` is set.
            #[inline(always)]
            pub const fn intersects(self, other: $name) -> bool { self.0 & other.0 != 0 }
            /// With the bits of `other` as well.
            #[inline(always)]
            pub const fn with(self, other: $name) -> $name { $name(self.0 | other.0) }
            /// Without the bits of `other`.
            #[inline(always)]
            pub const fn without(self, other: $name) -> $name { $name(self.0 & !other.0) }
        }
    };
}
pub(crate) use bitflags_like;
