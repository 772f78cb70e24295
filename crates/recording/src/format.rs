//! An event's `format` text: which bytes of a record hold which field.
//!
//! The kernel prints it in `events/<system>/<event>/format`, and trace.dat carries a copy of each.
//! Offsets and sizes differ between kernels and configurations, so nothing here or above is ever
//! read from a fixed offset.

use crate::c_constant;
use crate::quote::cited;

/// How a field's bytes are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// One number of the field's size.
    Scalar,
    /// An array; size 0 means "to the end of the record".
    Array,
    /// `__data_loc`: 32 bits that hold the offset (low half) and length (high half) of the data,
    /// counted from the start of the record.
    DataLoc,
    /// `__rel_loc`: as `DataLoc`, counted from the end of the field itself.
    RelLoc,
}

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name, for instance `pfn`.
    pub name: Box<str>,
    /// Where it starts, in bytes from the start of the record.
    pub offset: u32,
    /// Its size in bytes; 0 for an array that reaches to the end of the record.
    pub size: u32,
    /// Whether numbers are signed.
    pub signed: bool,
    /// How its bytes are to be taken.
    pub kind: FieldKind,
}

/// A parsed `format` text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The event's name, for instance `mm_page_alloc`.
    pub name: Box<str>,
    /// The number that marks the event's records (`common_type`).
    pub id: u16,
    /// All fields, the common ones included, in the order of the text.
    pub fields: Vec<Field>,
    /// The text after `print fmt:`; empty if there is none.
    pub print_fmt: Box<str>,
}

/// Why a `format` text cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the format text: {problem}")]
pub struct FormatError {
    /// Line within the text, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Box<str>,
}

impl Format {
    /// Parses one `format` text.
    ///
    /// Lines that are neither `name:`, `ID:`, `field:` nor `print fmt:` are ignored, as are
    /// properties of a field that are not known here: later kernels may add both.
    ///
    /// # Errors
    ///
    /// When name or ID are missing, or a field has no name, offset or size.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let mut name = None;
        let mut id = None;
        let mut fields = Vec::new();
        let mut print_fmt = "";
        for (index, line) in text.lines().enumerate() {
            let at_line = |problem: Box<str>| FormatError { line: index + 1, problem };
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                let number = rest.trim().parse::<u16>();
                id = Some(number.map_err(|_| at_line(format!("`{}` is no event ID", cited(line)).into()))?);
            } else if line.starts_with("field:") {
                fields.push(parse_field(line).map_err(at_line)?);
            } else if let Some(rest) = line.strip_prefix("print fmt:") {
                print_fmt = rest.trim();
            }
        }
        let missing = |what: &str| FormatError { line: 1, problem: format!("there is no `{what}` line").into() };
        Ok(Self {
            name: name.ok_or_else(|| missing("name:"))?.into(),
            id: id.ok_or_else(|| missing("ID:"))?,
            fields,
            print_fmt: print_fmt.into(),
        })
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// The names that `print fmt` gives to the numbers of a field (its `__print_symbolic` table);
    /// empty if it gives none.
    ///
    /// These numbers are enumerators of the recorded kernel and move between versions, so they
    /// must come from here.
    pub fn symbols(&self, field: &str) -> Vec<(u64, Box<str>)> {
        self.table(&format!("__print_symbolic(REC->{field},"), c_constant::number)
    }

    /// The names that `print fmt` gives to the bits of a field (its `__print_flags` table), composites included, in its
    /// order; empty if it gives none.
    pub fn flags(&self, field: &str) -> Vec<(u64, Box<str>)> {
        self.table(&format!("__print_flags(REC->{field},"), c_constant::evaluate)
    }

    /// The `{value, "name"}` pairs behind this call. Values that `value_of` does not understand are left out.
    fn table(&self, call: &str, value_of: fn(&str) -> Option<u64>) -> Vec<(u64, Box<str>)> {
        let Some(start) = self.print_fmt.find(call) else {
            return Vec::new();
        };
        // A table of flags has a delimiter before it.
        let mut rest = self.print_fmt[start + call.len()..].trim_start();
        if let Some(delimiter) = rest.strip_prefix('"') {
            rest = delimiter.split_once('"').map_or("", |(_, rest)| rest);
        }
        let mut table = Vec::new();
        // Each entry reads `{number, "name"}`; the first thing that does not ends the table.
        while let Some(entry) = rest.trim_start_matches([' ', ',']).strip_prefix('{') {
            let Some((pair, tail)) = entry.split_once('}') else {
                break;
            };
            let Some((number, name)) = pair.split_once(',') else {
                break;
            };
            let Some((symbol, _)) = quoted(name) else {
                break;
            };
            if let Some(number) = value_of(number.trim()) {
                table.push((number, symbol.into()));
            }
            rest = tail;
        }
        table
    }
}

/// Parses `field:<declaration>; offset:<n>; size:<n>; signed:<0|1>;`.
///
/// Also used for the lines of `header_page`, which have the same shape (with a blank after the colon).
pub(crate) fn parse_field(line: &str) -> Result<Field, Box<str>> {
    let bad = |what: &str| -> Box<str> { format!("`{}` has no {what}", cited(line.trim())).into() };
    let rest = line.trim().strip_prefix("field:").ok_or_else(|| bad("`field:`"))?;
    let (declaration, properties) = rest.split_once(';').ok_or_else(|| bad("`;`"))?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for property in properties.split(';') {
        match property.trim().split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse().ok(),
            Some(("size", value)) => size = value.trim().parse().ok(),
            Some(("signed", value)) => signed = value.trim() == "1",
            _ => {}
        }
    }
    let declaration = declaration.trim();
    // `char comm[16]`, `char buf[]`: the bracket after the name tells an array.
    let plain = declaration.split_once('[').filter(|_| declaration.ends_with(']'));
    let kind = match declaration {
        text if text.starts_with("__data_loc ") => FieldKind::DataLoc,
        text if text.starts_with("__rel_loc ") => FieldKind::RelLoc,
        _ if plain.is_some() => FieldKind::Array,
        _ => FieldKind::Scalar,
    };
    let named = plain.map_or(declaration, |(before, _)| before).trim_end();
    let start = named.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |index| index + 1);
    let name = named.get(start..).filter(|name| !name.is_empty());
    Ok(Field {
        name: name.ok_or_else(|| bad("name"))?.into(),
        offset: offset.ok_or_else(|| bad("offset"))?,
        size: size.ok_or_else(|| bad("size"))?,
        signed,
        kind,
    })
}

/// The text between the next two quotation marks, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINISHED: &str = "name: mm_compaction_finished\nID: 512\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:enum zone_type idx;\toffset:12;\tsize:4;\tsigned:0;\tshiny:7;\n\
        \tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n\
        \tfield:struct mm_struct * mm;\toffset:40;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"zone=%s\", __print_symbolic(REC->idx, {0, \"DMA\"}, {0x1u, \"DMA32\"}, { -1, \"none\" })\n";

    #[test]
    fn fields_have_name_place_and_kind() {
        let format = Format::parse(FINISHED).unwrap();
        assert_eq!((&*format.name, format.id), ("mm_compaction_finished", 512));
        let kinds: Vec<_> = format.fields.iter().map(|f| (&*f.name, f.offset, f.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("common_type", 0, FieldKind::Scalar),
                ("common_pid", 4, FieldKind::Scalar),
                ("idx", 12, FieldKind::Scalar),
                ("comm", 16, FieldKind::Array),
                ("name", 32, FieldKind::DataLoc),
                ("mm", 40, FieldKind::Scalar),
            ]
        );
        assert!(format.field("common_pid").unwrap().signed);
    }

    #[test]
    fn symbol_tables_come_from_print_fmt() {
        let format = Format::parse(FINISHED).unwrap();
        let table = format.symbols("idx");
        assert_eq!(table[0], (0, "DMA".into()));
        assert_eq!(table[1], (1, "DMA32".into()));
        assert_eq!(table[2], (u64::MAX, "none".into()));
        assert!(format.symbols("comm").is_empty());
    }

    #[test]
    fn flag_tables_come_from_print_fmt() {
        let print = "(REC->gfp) ? __print_flags(REC->gfp, \"|\", {( unsigned long)((( gfp_t)0x40u) | (( gfp_t)0x80u)), \
            \"GFP_A\"}, {( unsigned long)(( gfp_t)0x40u), \"__GFP_B\"}, { 0, ((void *)0) } ) : \"none\"";
        let format = Format::parse(&format!("name: x\nID: 1\nprint fmt: \"%s\", {print}\n")).unwrap();
        assert_eq!(format.flags("gfp"), [(0xc0, "GFP_A".into()), (0x40, "__GFP_B".into())]);
    }

    #[test]
    fn bad_texts_name_the_line() {
        let error = Format::parse("name: x\nID: many\n").unwrap_err();
        assert_eq!(error.line, 2);
        let error = Format::parse("name: x\nID: 1\n\tfield:int a;\tsize:4;\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3 of the format text: `field:int a;\tsize:4;` has no offset");
        assert!(Format::parse("").is_err());
    }
}
