//! How one field of an event is found and read: in a binary record by its `format`, in text by its key.

use std::sync::Arc;

use crate::format::{Field, FieldKind, Format};
use crate::gfp::GfpNames;
use crate::gfp_bits::GfpBits;
use crate::symbols::Symbol;
use crate::text_scan::{after_key, number, token, value_with_blanks};

/// The way one kind of field becomes a `V`.
///
/// A codec is made once per file and event ([`Codec::resolve`]) and then reads every record.
pub(crate) trait Codec<V>: Sized {
    /// Finds the field in the format. `name` is the kernel's field name, `key` what precedes the
    /// value in text: some fields bore the key's name in other kernels.
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>>;

    /// The field's value in a record; `None` if the record is too short to hold it.
    fn read(&self, record: &[u8]) -> Option<V>;

    /// The field's value in an event's text; `None` if it is not there or not understood.
    fn text(payload: &[u8], key: &str, gfp: &mut GfpNames) -> Option<V>;
}

/// A number type that a field may be turned into.
pub(crate) trait Integer: Sized {
    /// Its size in bytes: a wider field would lose bits.
    const SIZE: u32;
    /// The value of a field's (sign-extended) bits.
    fn from_raw(raw: u64) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Integer for $type {
            const SIZE: u32 = size_of::<$type>() as u32;
            #[inline]
            fn from_raw(raw: u64) -> Self {
                raw as $type
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i16, i32, i64);

impl Integer for bool {
    // Any width will do: only zero or not matters.
    const SIZE: u32 = 8;
    fn from_raw(raw: u64) -> Self {
        raw != 0
    }
}

/// Where a number lies in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    offset: u32,
    size: u8,
    signed: bool,
}

impl Slot {
    pub(crate) fn new(field: &Field, max_size: u32) -> Result<Self, Box<str>> {
        let Field { name, size, .. } = field;
        if field.kind != FieldKind::Scalar || ![1, 2, 4, 8].contains(size) {
            return Err(format!("field {name} of {size} bytes is no number").into());
        }
        if *size > max_size {
            return Err(format!("field {name} has {size} bytes, at most {max_size} are understood").into());
        }
        Ok(Self { offset: field.offset, size: *size as u8, signed: field.signed })
    }

    /// The field's bits, sign-extended to 64 if the field is signed.
    #[inline]
    pub(crate) fn read(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset as usize..)?;
        Some(match (self.size, self.signed) {
            (8, _) => u64::from_le_bytes(*bytes.first_chunk()?),
            (4, false) => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
            (4, true) => i32::from_le_bytes(*bytes.first_chunk()?) as u64,
            (2, false) => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
            (2, true) => i16::from_le_bytes(*bytes.first_chunk()?) as u64,
            (_, false) => u64::from(*bytes.first()?),
            (_, true) => *bytes.first()? as i8 as u64,
        })
    }
}

fn find<'f>(format: &'f Format, name: &str, key: &str) -> Option<&'f Field> {
    let key = key.trim_end_matches([':', '=', ' ']);
    format.field(name).or_else(|| format.field(key))
}

fn needed<'f>(format: &'f Format, name: &str, key: &str) -> Result<&'f Field, Box<str>> {
    find(format, name, key).ok_or_else(|| format!("its format has no field {name}").into())
}

/// A number that must be there.
pub(crate) struct Number(Slot);

impl<V: Integer> Codec<V> for Number {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        Slot::new(needed(format, name, key)?, V::SIZE).map(Self)
    }

    #[inline]
    fn read(&self, record: &[u8]) -> Option<V> {
        self.0.read(record).map(V::from_raw)
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<V> {
        number(after_key(payload, key)?).map(V::from_raw)
    }
}

/// A number that only some kernels record.
pub(crate) struct Optional(Option<Slot>);

impl<V: Integer> Codec<Option<V>> for Optional {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        let slot = find(format, name, key).map(|field| Slot::new(field, V::SIZE));
        slot.transpose().map(Self)
    }

    #[inline]
    fn read(&self, record: &[u8]) -> Option<Option<V>> {
        match self.0 {
            Some(slot) => slot.read(record).map(|raw| Some(V::from_raw(raw))),
            None => Some(None),
        }
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<Option<V>> {
        match after_key(payload, key) {
            Some(rest) => number(rest).map(|raw| Some(V::from_raw(raw))),
            None => Some(None),
        }
    }
}

/// A page frame number that says "no page" by all bits set, or in text by a null page pointer.
pub(crate) struct PfnOrNone(Slot);

impl Codec<Option<u64>> for PfnOrNone {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        Slot::new(needed(format, name, key)?, u64::SIZE).map(Self)
    }

    #[inline]
    fn read(&self, record: &[u8]) -> Option<Option<u64>> {
        let none = u64::MAX >> (64 - 8 * u32::from(self.0.size));
        self.0.read(record).map(|pfn| (pfn & none != none).then_some(pfn))
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<Option<u64>> {
        let pfn = number(after_key(payload, key)?)?;
        // A failed allocation prints pfn 0 (or all ones) and a page of `(null)`, `NULL`, `(nil)` or zeros.
        let page = after_key(payload, "page=").map(token).unwrap_or(b"-");
        let digits = page.strip_prefix(b"0x").unwrap_or(page);
        let null = digits.iter().all(|&byte| byte == b'0') || [&b"(null)"[..], b"NULL", b"(nil)"].contains(&page);
        Some((pfn != u64::MAX && !(pfn == 0 && null)).then_some(pfn))
    }
}

/// A gfp mask: the recorded kernel's bits in binary, names in text.
pub(crate) struct Gfp {
    slot: Slot,
    bits: GfpBits,
}

impl Codec<u64> for Gfp {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        let field = needed(format, name, key)?;
        Ok(Self { slot: Slot::new(field, u64::SIZE)?, bits: GfpBits::of(&format.flags(&field.name)) })
    }

    #[inline]
    fn read(&self, record: &[u8]) -> Option<u64> {
        self.slot.read(record).map(|raw| self.bits.known(raw))
    }

    fn text(payload: &[u8], key: &str, gfp: &mut GfpNames) -> Option<u64> {
        Some(gfp.bits(token(after_key(payload, key)?)))
    }
}

/// A gfp mask that only some kernels record.
pub(crate) struct OptionalGfp(Option<Gfp>);

impl Codec<Option<u64>> for OptionalGfp {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        find(format, name, key).map(|_| Gfp::resolve(format, name, key)).transpose().map(Self)
    }

    fn read(&self, record: &[u8]) -> Option<Option<u64>> {
        match &self.0 {
            Some(gfp) => gfp.read(record).map(Some),
            None => Some(None),
        }
    }

    fn text(payload: &[u8], key: &str, gfp: &mut GfpNames) -> Option<Option<u64>> {
        Some(after_key(payload, key).map(|rest| gfp.bits(token(rest))))
    }
}

/// An enumerator whose names are known here; its numbers come from the format.
pub(crate) struct Named<S> {
    slot: Slot,
    table: Vec<(u64, S)>,
}

impl<S: Symbol> Codec<S> for Named<S> {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        let field = needed(format, name, key)?;
        let names = format.symbols(&field.name);
        Ok(Self {
            slot: Slot::new(field, u64::SIZE)?,
            table: names.iter().map(|(number, name)| (*number, S::from_name(name))).collect(),
        })
    }

    fn read(&self, record: &[u8]) -> Option<S> {
        let raw = self.slot.read(record)?;
        let entry = self.table.iter().find(|(number, _)| *number == raw);
        Some(entry.map_or_else(|| S::from_name(""), |&(_, symbol)| symbol))
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<S> {
        let name = token(after_key(payload, key)?);
        std::str::from_utf8(name).ok().map(S::from_name)
    }
}

/// An enumerator that is kept as the name that the kernel prints.
pub(crate) struct Label {
    slot: Slot,
    table: Vec<(u64, Arc<str>)>,
}

impl Codec<Arc<str>> for Label {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        let field = needed(format, name, key)?;
        let names = format.symbols(&field.name);
        Ok(Self {
            slot: Slot::new(field, u64::SIZE)?,
            table: names.into_iter().map(|(number, name)| (number, name.into())).collect(),
        })
    }

    fn read(&self, record: &[u8]) -> Option<Arc<str>> {
        let raw = self.slot.read(record)?;
        let entry = self.table.iter().find(|(number, _)| *number == raw);
        Some(entry.map_or_else(|| (raw as i64).to_string().into(), |(_, name)| Arc::clone(name)))
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<Arc<str>> {
        let name = token(after_key(payload, key)?);
        Some(String::from_utf8_lossy(name).into())
    }
}

/// A label that only some kernels record.
pub(crate) struct OptionalLabel(Option<Label>);

impl Codec<Option<Arc<str>>> for OptionalLabel {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        find(format, name, key).map(|_| Label::resolve(format, name, key)).transpose().map(Self)
    }

    fn read(&self, record: &[u8]) -> Option<Option<Arc<str>>> {
        match &self.0 {
            Some(label) => label.read(record).map(Some),
            None => Some(None),
        }
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<Option<Arc<str>>> {
        let name = after_key(payload, key).map(token);
        Some(name.map(|name| String::from_utf8_lossy(name).into()))
    }
}

/// Characters: a fixed array, an array to the record's end, or data that the field points at.
pub(crate) struct Text {
    offset: usize,
    size: usize,
    kind: FieldKind,
}

impl Codec<Box<str>> for Text {
    fn resolve(format: &Format, name: &str, key: &str) -> Result<Self, Box<str>> {
        let field = needed(format, name, key)?;
        let pointer = matches!(field.kind, FieldKind::DataLoc | FieldKind::RelLoc);
        if field.kind == FieldKind::Scalar || (pointer && field.size != 4) {
            return Err(format!("field {name} of {} bytes is no text", field.size).into());
        }
        Ok(Self { offset: field.offset as usize, size: field.size as usize, kind: field.kind })
    }

    fn read(&self, record: &[u8]) -> Option<Box<str>> {
        let field = record.get(self.offset..)?;
        let bytes = match self.kind {
            FieldKind::DataLoc | FieldKind::RelLoc => {
                let place = u32::from_le_bytes(*field.first_chunk()?);
                let origin = if self.kind == FieldKind::RelLoc { self.offset + 4 } else { 0 };
                let data = record.get(origin + (place & 0xffff) as usize..)?;
                data.get(..(place >> 16) as usize)?
            }
            _ if self.size == 0 => field,
            _ => field.get(..self.size)?,
        };
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into())
    }

    fn text(payload: &[u8], key: &str, _: &mut GfpNames) -> Option<Box<str>> {
        let value = value_with_blanks(after_key(payload, key)?);
        Some(String::from_utf8_lossy(value).into())
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Decoder, Event};
    use crate::format::Format;

    /// The event that a record of consecutive numbers, from 0, tells.
    fn decoded(name: &str, fields: &[&str], print: &str) -> Option<Event> {
        let mut text = format!("name: {name}\nID: 7\nformat:\n");
        for (at, field) in fields.iter().enumerate() {
            let size = if field.starts_with("nr_") { 8 } else { 4 };
            text += &format!("\tfield:long {field};\toffset:{};\tsize:{size};\tsigned:0;\n", 8 * at);
        }
        let format = Format::parse(&format!("{text}print fmt: {print}\n")).unwrap();
        let record: Vec<u8> = (0..fields.len() as u64).flat_map(u64::to_le_bytes).collect();
        Decoder::new(&format).decode(&record)
    }

    /// A trace was refused at the first such event, though nothing asks for what these kernels don't tell.
    #[test]
    fn events_of_older_kernels_are_known_without_what_they_lack() {
        let isolate = |fields: &[&str]| match decoded(
            "mm_vmscan_lru_isolate",
            fields,
            "__print_symbolic(REC->lru, {6, \"active_file\"})",
        ) {
            Some(Event::VmscanLruIsolate(event)) => (event.highest_zoneidx, event.nr_taken, event.lru),
            other => panic!("{other:?}"),
        };
        let common = ["order", "nr_requested", "nr_scanned", "nr_skipped", "nr_taken"];
        let of_6_18 = [&["highest_zoneidx"][..], &common, &["lru"]].concat();
        assert_eq!(isolate(&of_6_18), (Some(0), 5, Some("active_file".into())));
        let of_5_4 = [&["classzone_idx"][..], &common, &["lru"]].concat();
        assert_eq!(isolate(&of_5_4), (None, 5, Some("active_file".into())));
        let of_4_9 = [&common[..], &["isolate_mode", "file"]].concat();
        assert_eq!(isolate(&of_4_9), (None, 4, None));
        let compact = decoded("mm_compaction_try_to_compact_pages", &["order", "gfp_mask", "mode"], "");
        assert!(matches!(compact, Some(Event::CompactionTryToCompactPages(event)) if event.prio.is_none()));
    }

    fn record(numbers: &[(u64, usize)], size: usize) -> Vec<u8> {
        let mut record: Vec<u8> =
            numbers.iter().flat_map(|&(number, size)| number.to_le_bytes()[..size].to_vec()).collect();
        record.resize(size, 0);
        record
    }

    fn page_alloc(pfn_bytes: usize, order_bytes: usize) -> Decoder {
        let order = 8 + order_bytes;
        let text = format!(
            "name: mm_page_alloc\nID: 7\nformat:\n\
             \tfield:unsigned long pfn;\toffset:0;\tsize:{pfn_bytes};\tsigned:0;\n\
             \tfield:unsigned int order;\toffset:8;\tsize:{order_bytes};\tsigned:0;\n\
             \tfield:unsigned long gfp_flags;\toffset:{order};\tsize:8;\tsigned:0;\n\
             \tfield:int migratetype;\toffset:{};\tsize:4;\tsigned:1;\n\nprint fmt: \n",
            order + 8
        );
        Decoder::new(&Format::parse(&text).unwrap())
    }

    /// All bits of the field say that there is no page: 32 of them on a machine of 32 bits.
    #[test]
    fn a_request_without_a_page_says_so_by_all_bits_of_the_field() {
        let pfn = |bytes: usize, pfn: u64| {
            let record = record(&[(pfn, 8), (3, 4), (0, 8), (-1_i64 as u64, 4)], 24);
            match page_alloc(bytes, 4).decode(&record) {
                Some(Event::PageAlloc(alloc)) => {
                    assert_eq!((alloc.order, alloc.migratetype), (3, -1), "a signed number keeps its sign");
                    alloc.pfn
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([pfn(8, u64::MAX), pfn(4, 0xffff_ffff)], [None, None]);
        assert_eq!([pfn(8, 0xffff_ffff), pfn(4, 7)], [Some(0xffff_ffff), Some(7)]);
    }

    #[test]
    fn a_field_that_would_lose_bits_is_refused() {
        assert!(matches!(page_alloc(8, 4), Decoder::PageAlloc(_)));
        assert!(matches!(page_alloc(8, 8), Decoder::Unusable { .. }), "an order of 8 bytes");
    }

    /// Offset and length of the data: from the record's start (`__data_loc`), or from the field's end (`__rel_loc`, 5.17+).
    #[test]
    fn texts_lie_where_their_fields_point() {
        let names = |kind: &str, [name, upper]: [u64; 2]| {
            let text = format!(
                "name: mm_setup_per_zone_lowmem_reserve\nID: 7\nformat:\n\
                 \tfield:int node_id;\toffset:0;\tsize:4;\tsigned:1;\n\
                 \tfield:{kind} char[] name;\toffset:4;\tsize:4;\tsigned:0;\n\
                 \tfield:{kind} char[] upper_name;\toffset:8;\tsize:4;\tsigned:0;\n\
                 \tfield:long lowmem_reserve;\toffset:16;\tsize:8;\tsigned:1;\n\nprint fmt: \n"
            );
            let mut record = record(&[(0, 4), (4 << 16 | name, 4), (7 << 16 | upper, 4), (0, 4), (256, 8)], 24);
            record.extend_from_slice(b"DMA\0Normal\0");
            match Decoder::new(&Format::parse(&text).unwrap()).decode(&record) {
                Some(Event::SetupPerZoneLowmemReserve(event)) => (event.name, event.upper_name, event.lowmem_reserve),
                other => panic!("{other:?}"),
            }
        };
        let expected = ("DMA".into(), "Normal".into(), 256);
        assert_eq!(names("__data_loc", [24, 28]), expected);
        assert_eq!(names("__rel_loc", [24 - 8, 28 - 12]), expected);
    }
}
