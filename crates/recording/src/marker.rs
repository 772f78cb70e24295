//! Marks that the recorder wrote into the trace.

/// Text that user space wrote into `trace_marker`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The text, without the newline at its end.
    pub text: Box<str>,
}

/// Beginning or end of what a recorder marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It begins.
    Begin,
    /// It ends.
    End,
}

/// A mark of fraglab's own recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// `TICK <n> begin|end`: an entry of `ticks.txt` is being written.
    Tick(u64, Edge),
    /// `SNAP <tag> begin|end`: a snapshot is being taken.
    Snap(&'a str, Edge),
    /// `WORKLOAD start|end`.
    Workload(Edge),
}

impl Marker {
    /// The recorder's mark, if the text is one.
    pub fn mark(&self) -> Option<Mark<'_>> {
        let mut words = self.text.split_ascii_whitespace();
        let mark = match (words.next()?, words.next()?, words.next()) {
            ("TICK", number, Some(edge)) => Mark::Tick(number.parse().ok()?, edge_of(edge)?),
            ("SNAP", tag, Some(edge)) => Mark::Snap(tag, edge_of(edge)?),
            ("WORKLOAD", edge, None) => Mark::Workload(edge_of(edge)?),
            _ => return None,
        };
        words.next().is_none().then_some(mark)
    }
}

fn edge_of(word: &str) -> Option<Edge> {
    match word {
        "begin" | "start" => Some(Edge::Begin),
        "end" => Some(Edge::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str) -> Option<String> {
        let marker = Marker { text: text.into() };
        marker.mark().map(|mark| format!("{mark:?}"))
    }

    #[test]
    fn marks_are_recognised_and_other_text_is_not() {
        assert_eq!(mark("TICK 3 end").as_deref(), Some("Tick(3, End)"));
        assert_eq!(
            mark("SNAP mid01 begin").as_deref(),
            Some("Snap(\"mid01\", Begin)")
        );
        assert_eq!(mark("WORKLOAD start").as_deref(), Some("Workload(Begin)"));
        assert_eq!(mark("TICK x end"), None);
        assert_eq!(mark("TICK 3 end now"), None);
        assert_eq!(mark(""), None);
    }
}
