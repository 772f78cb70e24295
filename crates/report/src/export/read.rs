//! Reading what a run directory has of its runs, in full.

use super::{EventLine, Exported, Slice, TraceLine};
use crate::view::{Run, View, ViewError};
use std::fs;
use std::io;
use std::path::Path;

/// Fields of a line; quoted ones may hold commas (RFC 4180, without line breaks, which no field has).
fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let (mut field, mut quoted) = (String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

/// Calls `each` with the fields of every line of a column. A file that is not there has no lines.
fn lines(dir: &Path, name: &str, column: &str, mut each: impl FnMut(&[String]) -> Option<()>) -> Result<(), ViewError> {
    let path = dir.join(name);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ViewError::Read { path, source }),
    };
    for (at, line) in text.lines().enumerate().skip(1) {
        let fields = fields(line);
        if fields.first().is_some_and(|first| first == column) && each(&fields[1..]).is_none() {
            let what = format!("line {} is not understood", at + 1);
            return Err(ViewError::Damaged { path, what });
        }
    }
    Ok(())
}

impl Exported {
    /// Every run of a run directory.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn read(dir: &Path) -> Result<Vec<Exported>, ViewError> {
        View::of_run_dir(dir)?.runs.into_iter().map(|run| Exported::of(dir, run)).collect()
    }

    fn of(dir: &Path, view: Run) -> Result<Exported, ViewError> {
        let column = view.policy.clone();
        let start = view.clock_start_ns;
        let time = |text: &str| text.parse::<u64>().ok().map(|ts| ts.saturating_sub(start));
        let (mut slices, mut events, mut trace) = (Vec::new(), Vec::new(), Vec::new());
        lines(dir, "slices.csv", &column, |fields| {
            let [track, name, start_ns, end_ns] = fields else { return None };
            let (start_ns, end_ns) = (time(start_ns)?, time(end_ns)?);
            slices.push(Slice { track: track.clone(), name: name.clone(), start_ns, end_ns });
            Some(())
        })?;
        lines(dir, "extfrag.csv", &column, |fields| {
            let [ts, pfn, alloc, fallback, block, wanted, from, fragmenting, changed] = fields else { return None };
            let (fragmenting, change_ownership) = (fragmenting == "1", changed == "1");
            events.push(EventLine {
                ts_ns: time(ts)?,
                pfn: pfn.parse().ok()?,
                alloc_order: alloc.parse().ok()?,
                fallback_order: fallback.parse().ok()?,
                pageblock_order: block.parse().ok()?,
                alloc_migratetype: wanted.clone(),
                fallback_migratetype: from.clone(),
                fragmenting,
                change_ownership,
                class: match (fragmenting, change_ownership) {
                    (false, _) => "claim",
                    (true, true) => "steal",
                    (true, false) => "pollute",
                },
            });
            Some(())
        })?;
        lines(dir, "activity.csv", &column, |fields| {
            let [ts, event, of_event] = fields else { return None };
            trace.push(TraceLine { ts_ns: time(ts)?, event: event.clone(), fields: of_event.clone() });
            Some(())
        })?;
        Ok(Exported { view, slices, events, trace, dir: dir.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn quoted_fields_hold_commas_and_quotes() {
        assert_eq!(fields("a,\"b,c\",\"d\"\"e\","), ["a", "b,c", "d\"e", ""]);
    }
}
