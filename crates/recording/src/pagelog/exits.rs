//! Which pages on swap went with their task? What a task has on swap when it ends is freed with it, without any event: to the trace those
//! pages are gone since reclaim took them. A replay that has kept them in memory frees them when the task does.

use super::{AGAIN, Class, INTERNAL, LEAVE_SHIFT, MEMBER, NEVER, Object, Op, OpKind, UNIT};

/// Adds frees of what was on swap when its task gave back its last anonymous page; how many. Whose the pages from before the recording are
/// is not known.
pub(super) fn add_frees(ops: &mut Vec<Op>, objects: &[Object], askers: &[u16]) -> u64 {
    let ends = ends(ops, objects);
    let mut stays = came_back(objects);
    from_before(ops, objects).for_each(|object| stays[object] = true);
    let swapped =
        |object: &Object| object.class == Class::Anon && object.leave != NEVER && object.flags & INTERNAL == 0;
    let end_of = |id: usize| ends.get(usize::from(askers[id])).copied().flatten();
    let frees: Vec<Op> = (0..objects.len())
        .filter(|&id| swapped(&objects[id]) && !stays[id])
        .filter_map(|id| Some(Op { object: id as u32, ..end_of(id)? }))
        .filter(|op| u64::from(objects[op.object as usize].leave) << LEAVE_SHIFT <= op.ts)
        .collect();
    let count = frees.len() as u64;
    ops.extend(frees);
    ops.sort_by_key(|op| op.ts);
    count
}

/// By task: its last operation on anonymous memory, if that was a free.
fn ends(ops: &[Op], objects: &[Object]) -> Vec<Option<Op>> {
    let mut ends = Vec::new();
    let own = |op: &&Op| objects[op.object as usize].class == Class::Anon && op.kind != OpKind::FreePart;
    for op in ops.iter().filter(own) {
        let task = usize::from(op.task);
        if ends.len() <= task {
            ends.resize(task + 1, None);
        }
        ends[task] = Some(*op).filter(|op| op.kind == OpKind::Free);
    }
    ends
}

/// Objects that nobody was seen to ask for.
fn from_before(ops: &[Op], objects: &[Object]) -> impl Iterator<Item = usize> {
    let mut asked: Vec<bool> = objects.iter().map(|object| object.flags & (MEMBER | UNIT) != 0).collect();
    ops.iter().filter(|op| op.kind == OpKind::Alloc).for_each(|op| asked[op.object as usize] = true);
    (0..asked.len()).filter(move |&object| !asked[object])
}

/// By object: whether it was read from swap again.
fn came_back(objects: &[Object]) -> Vec<bool> {
    let mut back = vec![false; objects.len()];
    for again in objects.iter().filter(|object| object.flags & AGAIN != 0) {
        back[again.link as usize] = true;
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 1 << LEAVE_SHIFT;

    fn page(class: Class, leave: u32) -> Object {
        Object { leave, link: 0, gfp: 0, order: 0, class, flags: 0 }
    }

    fn op(kind: OpKind, object: u32, task: u16, at: u64) -> Op {
        Op { ts: at * TICK, object, task, cpu: 1, kind }
    }

    #[test]
    fn what_was_on_swap_goes_when_its_task_gives_back_its_last_page() {
        let objects = [page(Class::Anon, NEVER), page(Class::Anon, 5), page(Class::File, 5), page(Class::Anon, 5)];
        let kept = [op(OpKind::Alloc, 0, 0, 1), op(OpKind::Alloc, 1, 0, 1), op(OpKind::Alloc, 3, 1, 2)];
        let mut ops = [&kept[..], &[op(OpKind::Free, 0, 0, 9), op(OpKind::Alloc, 2, 0, 10)]].concat();
        assert_eq!(add_frees(&mut ops, &objects, &[0, 0, 0, 1]), 1, "task 1 goes on");
        assert_eq!(ops[4], op(OpKind::Free, 1, 0, 9), "right behind the free of object 0");
        assert!(ops.is_sorted_by_key(|op| op.ts));
    }

    #[test]
    fn what_came_back_is_another_object_now() {
        let mut objects = [page(Class::Anon, 5), page(Class::Anon, 7), page(Class::Anon, NEVER)];
        (objects[1].flags, objects[1].link) = (AGAIN, 0);
        let asked = [0, 1, 2].map(|object| op(OpKind::Alloc, object, 0, 3 * u64::from(object)));
        let mut ops = [&asked[..], &[op(OpKind::Free, 2, 0, 9)]].concat();
        assert_eq!(add_frees(&mut ops, &objects, &[0, 0, 0]), 1);
        assert_eq!(ops[4], op(OpKind::Free, 1, 0, 9));
    }

    #[test]
    fn what_left_later_or_came_before_stays() {
        let objects = [page(Class::Anon, 10), page(Class::Anon, NEVER), page(Class::Anon, 5)];
        let mut ops = vec![op(OpKind::Alloc, 0, 0, 1), op(OpKind::Alloc, 1, 0, 1), op(OpKind::Free, 1, 0, 9)];
        assert_eq!(add_frees(&mut ops, &objects, &[0, 0, 0]), 0);
    }
}
