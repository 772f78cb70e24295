//! Events of the OOM killer, and of the decision to try once more: the kernel's trace system `oom`.

use crate::codec::{Label, Named, Number, Text};
use crate::symbols::ZoneType;
use std::sync::Arc;

events! {
    /// A process's OOM score adjustment was set.
    "oom_score_adj_update" => OomScoreAdjUpdate {
        /// Process ID.
        pid: i32 => Number;
        /// Process name.
        comm: Box<str> => Text;
        /// New adjustment, -1000 to 1000.
        oom_score_adj: i16 => Number;
    }
    /// It was judged whether another round of reclaim in a zone can help.
    "reclaim_retry_zone" => ReclaimRetryZone {
        /// Node.
        node: i32 => Number;
        /// Zone.
        zone_idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Pages that reclaim could get.
        reclaimable: u64 => Number;
        /// Pages that reclaim could get, and free ones.
        available: u64 => Number;
        /// The zone's min watermark.
        min_wmark: u64 => Number;
        /// Rounds without progress.
        no_progress_loops: i32 => Number;
        /// Whether the watermark could be met.
        wmark_check: bool => Number;
    }
    /// It was judged whether another round of compaction can help.
    "compact_retry" => CompactRetry {
        /// Order that is wanted.
        order: i32 => Number;
        /// Name of the compaction priority.
        priority: Arc<str> => Label;
        /// Name of the condensed result.
        result: Arc<str> => Label, "compaction_result=";
        /// Rounds so far.
        retries: i32 => Number;
        /// Most rounds.
        max_retries: i32 => Number;
        /// Whether it is worth it.
        ret: bool => Number, "should_retry=";
    }
    /// A process was chosen to be killed for want of memory.
    "mark_victim" => MarkVictim {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper was woken.
    "wake_reaper" => WakeReaper {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper began.
    "start_task_reaping" => StartTaskReaping {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper finished.
    "finish_task_reaping" => FinishTaskReaping {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper gave up.
    "skip_task_reaping" => SkipTaskReaping {
        /// Process ID.
        pid: i32 => Number;
    }
}
