//! The allocation slow path.
use crate::env::TaskContext;
use crate::state::{Mm, World};
use pagealloc::{Pfn, Request};

impl<W: World> Mm<W> {
    /// Allocates: fast path, then slow path (8.1). Emits `mm_page_alloc`.
    pub async fn alloc_pages(&self, request: &Request, task: &TaskContext) -> Option<Pfn> {
        todo!()
    }
}
