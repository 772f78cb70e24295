//! Codecs of the few fields whose text is not `key=value`.

use crate::codec::{Codec, Integer, Number};
use crate::format::Format;
use crate::gfp::GfpNames;
use crate::text_scan::{after_key, decimal, hex, number, token};

/// Declares a codec that reads binary records as [`Number`] and text in its own way.
macro_rules! number_with_text {
    ($(#[$doc:meta])* $name:ident<$value:ty> = |$payload:ident, $key:ident| $body:expr) => {
        $(#[$doc])*
        pub(crate) struct $name(Number);

        impl Codec<$value> for $name {
            fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
                <Number as Codec<$value>>::resolve(format, name, key).map(Self)
            }

            fn read(&self, record: &[u8]) -> Option<$value> {
                self.0.read(record)
            }

            fn text($payload: &[u8], $key: &str, _: &mut GfpNames) -> Option<$value> {
                $body
            }
        }
    };
}

number_with_text! {
    /// `mode=sync` or `mode=async`.
    SyncMode<bool> = |payload, key| match token(after_key(payload, key)?) {
        b"sync" => Some(true),
        b"async" => Some(false),
        _ => None,
    }
}

number_with_text! {
    /// A shift that text shows as the power of two.
    Shift<u32> = |payload, key| {
        let limit = number(after_key(payload, key)?)?;
        limit.is_power_of_two().then(|| limit.trailing_zeros())
    }
}

number_with_text! {
    /// A hexadecimal number without `0x`.
    Hex<u64> = |payload, key| hex(after_key(payload, key)?)
}

number_with_text! {
    /// `dev 8:1`: major and minor number, 12 and 20 bits of a `dev_t`.
    Device<u32> = |payload, key| {
        let text = after_key(payload, key)?;
        let (major, digits) = decimal(text)?;
        let (minor, _) = decimal(text[digits..].strip_prefix(b":")?)?;
        (major < 1 << 12 && minor < 1 << 20).then(|| (major << 20 | minor) as u32)
    }
}

number_with_text! {
    /// A page index that text shows as a byte offset. The recorded kernel's page size is not in the
    /// text; 4 KiB is assumed.
    FileIndex<u64> = |payload, key| number(after_key(payload, key)?).map(|bytes| bytes >> 12)
}

number_with_text! {
    /// The second number of `range=(0x1 ~ 0x2)`.
    RangeEnd<u64> = |payload, key| {
        let range = after_key(payload, key)?;
        number(after_key(range, "~ ")?)
    }
}

/// `RECLAIM_WB_FILE|RECLAIM_WB_ASYNC`: how reclaim writes back.
const RECLAIM_FLAGS: [(&[u8], i32); 6] = [
    (b"RECLAIM_WB_NONE", 0),
    (b"RECLAIM_WB_ANON", 0x01),
    (b"RECLAIM_WB_FILE", 0x02),
    (b"RECLAIM_WB_SYNC", 0x04),
    (b"RECLAIM_WB_ASYNC", 0x08),
    (b"RECLAIM_WB_MIXED", 0x10),
];

number_with_text! {
    /// Reclaim flags, printed by name.
    ReclaimFlags<i32> = |payload, key| {
        let mut flags = 0;
        for name in token(after_key(payload, key)?).split(|&byte| byte == b'|') {
            let known = RECLAIM_FLAGS.iter().find(|(known, _)| *known == name);
            flags |= match known {
                Some((_, bits)) => *bits,
                None => i32::from_raw(number(name)?),
            };
        }
        Some(flags)
    }
}

/// Why a reclaimer waits, in the order of the kernel's bits.
const THROTTLE_REASONS: [&[u8]; 4] = [
    b"VMSCAN_THROTTLE_WRITEBACK",
    b"VMSCAN_THROTTLE_ISOLATED",
    b"VMSCAN_THROTTLE_NOPROGRESS",
    b"VMSCAN_THROTTLE_CONGESTED",
];

number_with_text! {
    /// Reasons to wait, printed by name.
    ThrottleReason<i32> = |payload, key| {
        let mut bits = 0;
        for name in token(after_key(payload, key)?).split(|&byte| byte == b'|') {
            let known = THROTTLE_REASONS.iter().position(|known| *known == name);
            bits |= match known {
                Some(bit) => 1 << bit,
                None if name == b"VMSCAN_THROTTLE_NONE" => 0,
                None => i32::from_raw(number(name)?),
            };
        }
        Some(bits)
    }
}
