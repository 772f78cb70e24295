//! The descriptive sections of a trace.dat, kept as they are so that a cut file can carry them on.

use crate::cursor::Cursor;
use crate::error::Error;

/// Raw texts of the recorded kernel: page header, event formats, symbols, process names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) header_page: Vec<u8>,
    pub(crate) header_event: Vec<u8>,
    /// Formats of the events that ftrace itself writes (system `ftrace`).
    pub(crate) ftrace_formats: Vec<Vec<u8>>,
    /// All other systems, each with its events' formats.
    pub(crate) systems: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    pub(crate) kallsyms: Vec<u8>,
    pub(crate) printk_formats: Vec<u8>,
    pub(crate) cmdlines: Vec<u8>,
}

impl Metadata {
    /// Reads `header_page` and `header_event`.
    pub(crate) fn read_headers(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.expect(b"header_page\0", "the word header_page")?;
        self.header_page = text_u64(cursor, "the page header")?;
        cursor.expect(b"header_event\0", "the word header_event")?;
        self.header_event = text_u64(cursor, "the event header")?;
        Ok(())
    }

    /// Reads the formats of ftrace's own events.
    pub(crate) fn read_ftrace_formats(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        self.ftrace_formats = format_texts(cursor)?;
        Ok(())
    }

    /// Reads the formats of all other events.
    pub(crate) fn read_event_formats(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let count = cursor.u32("the number of event systems")?;
        self.systems.clear();
        for _ in 0..count {
            let name = cursor.c_string("an event system's name")?.to_vec();
            self.systems.push((name, format_texts(cursor)?));
        }
        Ok(())
    }

    /// Reads the kernel's symbol table.
    pub(crate) fn read_kallsyms(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        self.kallsyms = text_u32(cursor, "the kernel symbols")?;
        Ok(())
    }

    /// Reads the formats of `trace_printk`.
    pub(crate) fn read_printk_formats(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        self.printk_formats = text_u32(cursor, "the printk formats")?;
        Ok(())
    }

    /// Reads the names of processes.
    pub(crate) fn read_cmdlines(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        self.cmdlines = text_u64(cursor, "the process names")?;
        Ok(())
    }

    /// Everything above in the order and form of version 6.
    pub(crate) fn write_v6(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"header_page\0");
        put_u64(out, &self.header_page);
        out.extend_from_slice(b"header_event\0");
        put_u64(out, &self.header_event);
        put_formats(out, &self.ftrace_formats);
        out.extend_from_slice(&(self.systems.len() as u32).to_le_bytes());
        for (name, formats) in &self.systems {
            out.extend_from_slice(name);
            out.push(0);
            put_formats(out, formats);
        }
        for text in [&self.kallsyms, &self.printk_formats] {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text);
        }
        put_u64(out, &self.cmdlines);
    }
}

fn format_texts(cursor: &mut Cursor<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let count = cursor.u32("the number of event formats")?;
    (0..count)
        .map(|_| text_u64(cursor, "an event format"))
        .collect()
}

fn text_u64(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Vec<u8>, Error> {
    let size = cursor.u64(what)?;
    Ok(cursor.bytes(size, what)?.to_vec())
}

fn text_u32(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Vec<u8>, Error> {
    let size = cursor.u32(what)?;
    Ok(cursor.bytes(size.into(), what)?.to_vec())
}

fn put_u64(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text);
}

fn put_formats(out: &mut Vec<u8>, formats: &[Vec<u8>]) {
    out.extend_from_slice(&(formats.len() as u32).to_le_bytes());
    for text in formats {
        put_u64(out, text);
    }
}
