//! Version 6: one section after another, without a table of contents (trace-cmd.dat.v6(5)).

use std::collections::BTreeSet;

use crate::cursor::Cursor;
use crate::error::Error;
use crate::tracedat::metadata::Metadata;
use crate::tracedat::options::{Options, id};
use crate::tracedat::{Buffer, Contents, CpuData, Place, check_places, cpu_number};

/// No kernel has a clock of so long a name. Every buffer has a copy of it.
const MAX_CLOCK: usize = 64;

/// Reads everything behind the page size.
pub(crate) fn read(cursor: &mut Cursor<'_>, page_size: u32) -> Result<Contents, Error> {
    let mut metadata = Metadata::default();
    metadata.read_headers(cursor)?;
    metadata.read_ftrace_formats(cursor)?;
    metadata.read_event_formats(cursor)?;
    metadata.read_kallsyms(cursor)?;
    metadata.read_printk_formats(cursor)?;
    metadata.read_cmdlines(cursor)?;
    let cpus = cursor.u32("the number of CPUs")?;
    let mut options = Options::default();
    let mut instances = Vec::new();
    let mut offset = cursor.offset();
    let mut word = cursor.bytes(10, "the kind of the trace data")?;
    if word == b"options  \0" {
        read_options(cursor, &mut options, &mut instances)?;
        offset = cursor.offset();
        word = cursor.bytes(10, "the kind of the trace data")?;
    }
    require_flyrecord(cursor, offset, word)?;
    let clock = options.selected_clock().unwrap_or("").to_owned();
    if clock.len() > MAX_CLOCK {
        let problem = format!("the name of the trace clock has {} bytes", clock.len());
        return Err(cursor.malformed(offset, problem));
    }
    let mut buffers = vec![read_cpus(cursor, cpus, page_size, String::new(), clock.clone())?];
    for (name, offset) in instances {
        let mut cursor = cursor.at(offset, "a trace instance")?;
        let word = cursor.bytes(10, "the kind of the instance's data")?;
        require_flyrecord(&cursor, offset, word)?;
        let cpus = options.cpu_count.unwrap_or(cpus);
        buffers.push(read_cpus(&mut cursor, cpus, page_size, name, clock.clone())?);
    }
    Ok(Contents { metadata, options, buffers })
}

fn require_flyrecord(cursor: &Cursor<'_>, offset: u64, word: &[u8]) -> Result<(), Error> {
    match word {
        b"flyrecord\0" => Ok(()),
        b"latency  \0" => Err(Error::malformed(
            cursor.path(),
            offset,
            "the file holds latency text, not ring-buffer pages",
            "give the text itself, from `trace-cmd report`",
        )),
        _ => Err(cursor.malformed(offset, "trace data is neither `flyrecord` nor `latency`")),
    }
}

fn read_options(
    cursor: &mut Cursor<'_>,
    options: &mut Options,
    instances: &mut Vec<(String, u64)>,
) -> Result<(), Error> {
    let mut offsets = BTreeSet::new();
    loop {
        let option = cursor.u16("an option's number")?;
        if option == id::DONE {
            return Ok(());
        }
        let size = u64::from(cursor.u32("an option's size")?);
        let mut data = cursor.clone();
        cursor.bytes(size, "an option")?;
        if option == id::BUFFER {
            let offset = data.u64("an instance's offset")?;
            let name = data.c_string("an instance's name")?;
            // Two at one place would be read twice; tables at different ones can't overlap, since each follows its own word.
            if !offsets.insert(offset) {
                return Err(data.malformed(offset, "two options point at one trace instance"));
            }
            instances.push((String::from_utf8_lossy(name).into_owned(), offset));
        } else {
            options.take(option, &mut data, size)?;
        }
    }
}

/// The table of offsets and sizes, one entry a CPU.
fn read_cpus(cursor: &mut Cursor<'_>, cpus: u32, page_size: u32, name: String, clock: String) -> Result<Buffer, Error> {
    let (mut data, mut places) = (Vec::new(), Vec::new());
    for cpu in 0..cpus {
        let number = cpu_number(cursor, cpu)?;
        let offset = cursor.u64("the offset of a CPU's data")?;
        let size = cursor.u64("the size of a CPU's data")?;
        let mut pages = cursor.at(offset, "a CPU's data")?;
        pages.bytes(size, "a CPU's data")?;
        // Memory goes by what the file holds, not by how many CPUs it names.
        if size == 0 {
            continue;
        }
        data.push(CpuData::in_file(number, offset, size));
        places.push(Place { cpu: number, offset, size });
    }
    check_places(cursor, places)?;
    Ok(Buffer::new(name, clock, page_size, data))
}
