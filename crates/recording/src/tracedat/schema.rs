//! All event formats of a file, ready to decode records.

use std::sync::Arc;

use crate::codec::Slot;
use crate::error::{Error, SourceName};
use crate::event::{Decoder, Event, Other};
use crate::format::Format;
use crate::quote::cited;
use crate::tracedat::metadata::Metadata;

/// Marks an event ID without a format in the index.
const NO_DECODER: u16 = u16::MAX;

/// `common_flags`: `TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` and `TRACE_FLAG_NMI`.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;

/// Decoders by event ID, and the common fields that every record begins with.
pub(crate) struct Schema {
    common_type: Slot,
    common_pid: Slot,
    common_flags: Slot,
    /// Index into `decoders` by event ID.
    by_id: Vec<u16>,
    decoders: Vec<Decoder>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Schema of {} events", self.decoders.len())
    }
}

impl Schema {
    /// Parses all formats. A format that cannot be parsed is an error; one that lacks a field
    /// that this crate needs is an error only if such an event occurs.
    pub(crate) fn new(path: &SourceName, metadata: &Metadata) -> Result<(Self, Vec<Format>), Error> {
        let systems = metadata.systems.iter().flat_map(|(_, formats)| formats);
        let formats = metadata.ftrace_formats.iter().chain(systems).map(|text| {
            let text = String::from_utf8_lossy(text);
            Format::parse(&text).map_err(|error| Error::Field {
                path: Arc::clone(path),
                event: cited(event_name(&text)).into(),
                problem: error.to_string().into(),
            })
        });
        let formats = formats.collect::<Result<Vec<_>, _>>()?;
        let common = |name: &str| {
            let missing =
                |problem: Box<str>| Error::Field { path: Arc::clone(path), event: "common fields".into(), problem };
            let field = formats.iter().find_map(|format| format.field(name));
            let field = field.ok_or_else(|| missing(format!("no format has the field {name}").into()))?;
            Slot::new(field, 4).map_err(missing)
        };
        let largest = formats.iter().map(|format| format.id).max().unwrap_or(0);
        let mut schema = Self {
            common_type: common("common_type")?,
            common_pid: common("common_pid")?,
            common_flags: common("common_flags")?,
            by_id: vec![NO_DECODER; usize::from(largest) + 1],
            decoders: Vec::new(),
        };
        for format in &formats {
            let slot = &mut schema.by_id[usize::from(format.id)];
            // The ID space has one format each; should a file repeat one, the first counts.
            if *slot == NO_DECODER {
                *slot = schema.decoders.len() as u16;
                schema.decoders.push(Decoder::new(format));
            }
        }
        Ok((schema, formats))
    }

    /// Decodes a record into where it happened and its event.
    #[inline]
    pub(crate) fn decode(&self, path: &SourceName, record: &[u8]) -> Result<(Context, Event), Problem> {
        let short = Problem::Short;
        let id = self.common_type.read(record).ok_or(short)? as usize;
        let pid = self.common_pid.read(record).ok_or(Problem::Short)? as i32;
        let flags = self.common_flags.read(record).ok_or(Problem::Short)?;
        let context = Context { pid, in_interrupt: flags & IN_INTERRUPT != 0 };
        let index = self.by_id.get(id).copied().unwrap_or(NO_DECODER);
        let Some(decoder) = self.decoders.get(usize::from(index)) else {
            let name = format!("event#{id}").into();
            return Ok((context, Event::Other(Other { name })));
        };
        match decoder.decode(record) {
            Some(event) => Ok((context, event)),
            None => Err(Self::problem(path, decoder)),
        }
    }

    #[cold]
    fn problem(path: &SourceName, decoder: &Decoder) -> Problem {
        match decoder {
            Decoder::Unusable { event, problem } => Problem::Unusable(Error::Field {
                path: Arc::clone(path),
                event: event.clone(),
                problem: problem.clone(),
            }),
            _ => Problem::Short,
        }
    }
}

/// Who did it.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub pid: i32,
    pub in_interrupt: bool,
}

/// Why a record cannot be decoded.
pub(crate) enum Problem {
    /// It ends before its last needed field.
    Short,
    /// Its format lacks a needed field.
    Unusable(Error),
}

/// The event's name if the text has one, for an error about the text.
fn event_name(text: &str) -> &str {
    let name = text.lines().find_map(|line| line.strip_prefix("name:"));
    name.map_or("without a name", str::trim)
}
