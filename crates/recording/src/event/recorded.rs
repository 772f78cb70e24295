//! What every event offers whose fields this crate knows.

use crate::format::Format;
use crate::gfp::GfpNames;

/// An event that can be read from binary records and from text.
pub(crate) trait Recorded: Sized {
    /// The kernel's name of the event.
    const NAME: &'static str;

    /// Where the event's fields lie in the records of one file.
    type Layout;

    /// Finds the fields in a file's description of the event; an error says which one is missing or not understood.
    fn layout(format: &Format) -> Result<Self::Layout, Box<str>>;

    /// Reads a record; `None` if it is too short for a needed field.
    fn read(layout: &Self::Layout, record: &[u8]) -> Option<Self>;

    /// Parses the text that follows the event's name; an error is the key of the field that is missing or not understood.
    fn text(payload: &[u8], gfp: &mut GfpNames) -> Result<Self, &'static str>;
}
