//! Which anonymous pages lie in one page table, and which beside each other? Addresses are not in a trace: a task's pages are taken to lie in
//! the order in which it asked for them.

use crate::pagelog::{Class, Object, ObjectId, PageLog, UNIT};
use mm::{ENTRIES_A_TABLE, Nanos};

/// Neighbours to either side that a look at a page takes in (half of what a batch of eviction takes).
const NEIGHBOURS: usize = 32;
/// Objects to either side among which they are looked for. Of those from before the recording, whose tasks are not known, the
/// ones in the frames behind stand in.
const SEARCHED: u32 = 512;

/// Anonymous pages, task by task, in the order in which they were asked for; those from before the recording come first.
#[derive(Default)]
pub(super) struct PageTables {
    /// The first that was asked for in the recording.
    first: ObjectId,
    objects: Vec<ObjectId>,
    /// Where in `objects` the pages of a task begin, and behind them where those of the last one end.
    starts: Vec<u32>,
    /// By object, the table that it lies in; the first one for what lies in none.
    tables: Vec<u32>,
    /// By table, how many of its pages are on swap.
    swapped: Vec<u16>,
}

impl PageTables {
    pub fn of(log: &PageLog) -> PageTables {
        let listed = |(_, object): &(usize, &Object)| object.class == Class::Anon && object.flags & UNIT == 0;
        let by_task = || {
            log.objects.iter().enumerate().filter(listed).map(|(id, _)| (id as ObjectId, usize::from(log.askers[id])))
        };
        let mut starts = vec![0; log.tasks.len() + 1];
        by_task().for_each(|(_, task)| starts[task + 1] += 1);
        for task in 1..starts.len() {
            starts[task] += starts[task - 1];
        }
        let mut next = starts.clone();
        let mut objects = vec![0; starts[log.tasks.len()] as usize];
        for (id, task) in by_task() {
            objects[next[task] as usize] = id;
            next[task] += 1;
        }
        let tables = number_tables(&objects, &starts, log.objects.len());
        let swapped = vec![0; tables.iter().max().map_or(0, |&last| last as usize + 1)];
        PageTables { first: log.start.used.len() as ObjectId, objects, starts, tables, swapped }
    }

    /// When the address space began in which an object lies, if that of the task that asked for it did at `began`.
    pub fn since(&self, object: ObjectId, began: Nanos) -> Nanos {
        if object < self.first { 0 } else { began }
    }

    /// A page of an object is swapped out.
    pub fn swapped_out(&mut self, object: ObjectId) {
        self.count_swapped(object, |swapped| swapped.saturating_add(1));
    }

    /// One is no longer on swap.
    pub fn left_swap(&mut self, object: ObjectId) {
        self.count_swapped(object, |swapped| swapped.saturating_sub(1));
    }

    fn count_swapped(&mut self, object: ObjectId, change: impl Fn(u16) -> u16) {
        if let Some(&table) = self.tables.get(object as usize) {
            let swapped = &mut self.swapped[table as usize];
            *swapped = change(*swapped);
        }
    }

    /// How many pages of a table are on swap.
    pub fn swapped(&self, table: u32) -> u32 {
        self.swapped.get(table as usize).copied().unwrap_or(0).into()
    }

    /// The table that an object lies in.
    pub fn table_of(&self, object: ObjectId) -> u32 {
        self.tables[object as usize]
    }

    /// Those of an object that `task` asked for: the ones before it, nearest first, and the ones behind it.
    pub fn beside(&self, object: ObjectId, task: u16) -> impl Iterator<Item = ObjectId> + use<'_> {
        let task = usize::from(task);
        let of_task = &self.objects[self.starts[task] as usize..self.starts[task + 1] as usize];
        let (before, rest) = of_task.split_at(of_task.partition_point(|&other| other < object));
        let behind = &rest[usize::from(rest.first() == Some(&object))..];
        let near = move |other: &&ObjectId| other.abs_diff(object) <= SEARCHED;
        let before = before.iter().rev().take_while(near).take_while(|&&other| other >= self.first).take(NEIGHBOURS);
        before.chain(behind.iter().take_while(near).take(NEIGHBOURS)).copied()
    }
}

/// Tables are full before a task has the next, and no two tasks share one.
fn number_tables(objects: &[ObjectId], starts: &[u32], all: usize) -> Vec<u32> {
    let (mut tables, mut next) = (vec![0; all], 0);
    for task in starts.windows(2) {
        for full in objects[task[0] as usize..task[1] as usize].chunks(ENTRIES_A_TABLE as usize) {
            full.iter().for_each(|&object| tables[object as usize] = next);
            next += 1;
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_tasks(first: ObjectId, objects: Vec<ObjectId>, starts: Vec<u32>) -> PageTables {
        let all = objects.iter().max().map_or(0, |&last| last as usize + 1);
        let tables = number_tables(&objects, &starts, all);
        let swapped = vec![0; all.div_ceil(ENTRIES_A_TABLE as usize) + starts.len()];
        PageTables { first, tables, objects, starts, swapped }
    }

    #[test]
    fn a_table_holds_512_pages_of_one_task() {
        let two = of_tasks(0, (0..1_000).step_by(2).chain((1..1_201).step_by(2)).collect(), vec![0, 500, 500, 1_100]);
        assert_eq!([0, 998, 1, 1_023, 1_025, 1_199].map(|object| two.table_of(object)), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn what_is_from_before_the_recording_has_no_beginning() {
        let two = of_tasks(10, vec![8, 10, 11], vec![0, 2, 3]);
        assert_eq!([8, 10, 11].map(|object| two.since(object, 7)), [0, 7, 7]);
    }

    #[test]
    fn pages_on_swap_are_counted_by_table() {
        let mut two = of_tasks(0, (0..600).collect(), vec![0, 600]);
        [1, 2, 513].into_iter().for_each(|object| two.swapped_out(object));
        two.left_swap(2);
        assert_eq!([0, 1, 2].map(|table| two.swapped(table)), [1, 1, 0]);
        let mut none = PageTables::default();
        none.swapped_out(3);
        assert_eq!(none.swapped(0), 0, "classic lists don't ask");
    }

    #[test]
    fn a_tasks_pages_lie_in_the_order_of_its_requests() {
        let two_tasks = of_tasks(10, vec![8, 10, 12, 13, 14, 900, 11, 15], vec![0, 6, 8]);
        let beside = |object, task| two_tasks.beside(object, task).collect::<Vec<_>>();
        assert_eq!(beside(13, 0), [12, 10, 14], "object 900 is too far off");
        assert_eq!(beside(8, 0), [10, 12, 13, 14], "a page from before the recording has those behind it");
        assert_eq!(beside(11, 0), [10, 12, 13, 14], "what is itself not among them has neighbours too");
        assert_eq!(beside(15, 1), [11]);
        let long = of_tasks(0, (0..100).collect(), vec![0, 100]);
        assert_eq!(long.beside(50, 0).collect::<Vec<_>>(), (18..50).rev().chain(51..83).collect::<Vec<_>>());
    }
}
