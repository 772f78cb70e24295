//! Events of page migration: the kernel's trace system `migrate`.

use crate::codec::{Label, Number, Optional};
use std::sync::Arc;

events! {
    /// A list of pages was migrated. Optional fields are missing in old kernels.
    "mm_migrate_pages" => MigratePages {
        /// Pages that moved.
        succeeded: u64 => Number, "nr_succeeded=";
        /// Pages that did not.
        failed: u64 => Number, "nr_failed=";
        /// Huge pages that moved.
        thp_succeeded: Option<u64> => Optional, "nr_thp_succeeded=";
        /// Huge pages that did not.
        thp_failed: Option<u64> => Optional, "nr_thp_failed=";
        /// Huge pages that were split.
        thp_split: Option<u64> => Optional, "nr_thp_split=";
        /// Large folios that were split.
        large_folio_split: Option<u64> => Optional, "nr_split=";
        /// Name of the mode.
        mode: Arc<str> => Label;
        /// Name of the reason.
        reason: Arc<str> => Label;
    }
    /// Migration of a list of pages began.
    "mm_migrate_pages_start" => MigratePagesStart {
        /// Name of the mode.
        mode: Arc<str> => Label;
        /// Name of the reason.
        reason: Arc<str> => Label;
    }
}
