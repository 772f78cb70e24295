//! Whose the CPUs' time was, as far as events tell.

use super::Builder;
use crate::Record;
use crate::event::Event;
use crate::pagelog::speed::Step;
use crate::pagelog::turns::Passed;

impl Builder<'_> {
    /// Something is heard of a task: if it reclaims or compacts, what it did since this was last so.
    pub(super) fn time_passed(&mut self, record: &Record, task: usize) {
        self.note_kthread(record, task);
        let step = self.step_of(record);
        let state = self.tasks.get(task);
        let Some(last) = state.last_seen else { return };
        state.last_seen = Some(step);
        let wall = step.ts.saturating_sub(last.ts);
        if state.slab_objects.is_some() {
            if state.kswapd {
                self.measured.slab.passed(wall);
            }
            return;
        }
        let passed = match &record.event {
            Event::VmscanKswapdWake(_) => Passed::Sleep,
            _ => Passed::between(last.worked_until(step), wall, !state.compacting),
        };
        if let Passed::Work(worked) = passed {
            state.worked_since_step += worked;
        }
        if state.compacting {
            self.measured.compaction_turns(state.kcompactd).passed(&mut state.worked, passed);
        } else if state.kswapd {
            self.measured.kswapd.passed(passed);
        } else {
            self.measured.reclaim.passed(&mut state.worked, passed);
        }
    }

    /// Whether a kernel thread has the CPU on which this is heard, and whether somebody else asks for memory.
    fn note_kthread(&mut self, record: &Record, task: usize) {
        let state = self.tasks.get(task);
        let kthread = state.kswapd || state.kcompactd;
        let sleeps = match &record.event {
            Event::VmscanKswapdSleep(_) => {
                self.kthreads.reclaims(false);
                true
            }
            Event::CompactionKcompactdSleep(_) => true,
            Event::VmscanKswapdWake(_) => {
                self.kthreads.reclaims(true);
                false
            }
            Event::PageAlloc(_) if !kthread && !state.compacting && !state.direct_reclaim => {
                self.kthreads.others_ask();
                false
            }
            _ => false,
        };
        self.kthreads.heard(record.ts_ns, record.cpu, kthread && !sleeps);
    }

    pub(super) fn step_of(&self, record: &Record) -> Step {
        Step { ts: record.ts_ns, cpu: record.cpu, turn: self.turns.turn(record.cpu) }
    }

    /// From now on, or no longer, a task reclaims or compacts.
    pub(super) fn works(&mut self, task: usize, since: Option<Step>) {
        let state = self.tasks.get(task);
        state.last_seen = since;
        state.worked_since_step = 0;
        state.slab_objects = None;
    }
}
