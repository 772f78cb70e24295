//! Which window of a file was read last?

/// State of sequential reading: the last window, and where its second half begins.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Readahead {
    pub start: u32,
    pub size: u32,
    pub async_size: u32,
    pub order: u8,
}

impl Readahead {
    /// The page whose use starts the next window.
    pub fn mark(&self) -> Option<u32> {
        (self.async_size > 0).then(|| self.start + self.size - self.async_size)
    }
}
