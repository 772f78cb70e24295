use super::*;
use crate::{Op, Scenario, Workload, on_paper};

fn saved_kbuild() -> String {
    let scenario = Scenario::shipped("kbuild-mix").expect("it is shipped");
    let mut bytes = Vec::new();
    save(&*scenario.workload(), "kbuild-mix, seed 1", 10, &mut bytes).expect("memory doesn't fail");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_saved_scenario_asks_for_the_same() {
    let workload = Scenario::shipped("kbuild-mix").expect("it is shipped").workload();
    let text = saved_kbuild();
    let saved = Saved::parse(text.clone()).expect("it was just written");
    assert_eq!(saved.roots(), workload.roots());
    assert_eq!((saved.roles(), saved.labels()), (workload.roles(), workload.labels()));
    assert_eq!(on_paper(&saved).digest(), on_paper(&*workload).digest());
    for root in workload.roots() {
        let beyond = (root.quota + root.quota / 10) as usize;
        assert!(saved.program(&root.spawn).take(beyond).eq(workload.program(&root.spawn).take(beyond)));
        let idle = saved.program(&root.spawn).nth(beyond);
        assert!(matches!(idle, Some(Op::Sleep { .. })), "{idle:?}");
    }
    // Written again it is the same text, so that nothing is lost on the way.
    let mut again = Vec::new();
    save(&saved, "kbuild-mix, seed 1", 10, &mut again).expect("memory doesn't fail");
    assert_eq!(String::from_utf8(again).expect("text"), text);
}

const SMALL: &str = "fraglab-ops 1
# by hand
role parent
role child
label timed
root a 0 0 0 quota 3

task a
fork b 1 4096 0   # the child
wait
begin 0
end
task b
map 0 4096
touch 0 0 4096 write
end-of-file 2
";

#[test]
fn comments_and_empty_lines_are_skipped() {
    let saved = Saved::parse(SMALL.to_owned()).expect("it is well formed");
    let run = on_paper(&saved);
    assert_eq!(run.by_role().iter().map(|role| role.ops).collect::<Vec<_>>(), [3, 2]);
    assert!(run.digest().is_some());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        ("fraglab-ops 1", "fraglab-ops 2", "line 1: version 2 of the format; this fraglab reads 1"),
        ("fraglab-ops 1", "fraglab-opps 1", "line 1: no operation stream"),
        ("wait", "waits", "line 10: unknown operation `waits`; did you mean `wait`?"),
        ("map 0 4096", "map 0", "line 14: `map` lacks operand 2"),
        ("map 0 4096", "map 0 4096 1", "line 14: `1` is more than `map` takes"),
        ("map 0 4096", "map 0 -1", "line 14: operand 2 of `map`: `-1` is no whole number"),
        ("4096 write", "4096 wrote", "line 15: operand 4 of `touch`: `wrote` is none of read, write"),
        ("begin 0", "begin 1", "line 11: label 1 has no name"),
        ("begin 0", "mark 1", "line 11: label 1 has no name"),
        ("begin 0", "for 2 5", "line 11: label 2 has no name"),
        ("fork b 1", "fork b 2", "line 9: role 2 has no name"),
        ("fork b 1", "fork c 1", "line 9: task c is forked, but has no operations"),
        ("wait", "fork b 1 0 0", "line 10: task b is started already"),
        ("wait", "fork a 0 0 0", "line 10: task a is started already"),
        ("fork b 1 4096 0   # the child", "wait", "line 13: nobody starts task b"),
        ("quota 3", "quota 5", "line 8: the task owes 5 operations, but has 4"),
        ("task b", "task a", "line 13: task a stands here twice"),
        ("root a 0 0 0 quota 3\n", "root a 0 0 0 quota 3\nroot c 0 0 0 quota 0\n", "line 7: root c has no operations"),
        ("end-of-file 2", "end-of-file 3", "line 16: the stream has 2 tasks"),
        ("end-of-file 2\n", "", "line 15: the stream ends without `end-of-file`"),
        ("role parent", "rule parent", "line 3: here come lines"),
    ];
    for (sense, nonsense, said) in cases {
        assert!(SMALL.contains(sense), "{sense}");
        let error = Saved::parse(SMALL.replacen(sense, nonsense, 1)).expect_err(nonsense).to_string();
        assert!(error.starts_with(said), "{nonsense}: {error}");
    }
}

#[test]
fn who_is_started_by_nobody_that_begins_is_told_first_heading_first() {
    let ring = "task c\nfork d 1 0 0\ntask d\nfork c 1 0 0\ntask e\nfork e 1 0 0\n";
    let text = SMALL.replace("end-of-file 2", &format!("{ring}end-of-file 5"));
    // Where tasks are kept in no order, one time in three would do.
    for _ in 0..20 {
        let error = Saved::parse(text.clone()).expect_err("nobody starts them").to_string();
        assert_eq!(error, "line 16: nobody starts task c");
    }
    let error = Saved::parse("fraglab-ops 1\nend-of-file 0\n".to_owned()).expect_err("no task").to_string();
    assert_eq!(error, "line 1: the stream has no root: nobody would do anything");
}

/// Whatever is damaged is refused or read, and what is read can be written and read again.
#[test]
fn damage_is_no_surprise() {
    let mut random = crate::Random::of(&crate::Spawn::root(0, 0, 0, 5));
    let mut readable = 0;
    for _ in 0..20_000 {
        let mut bytes = SMALL.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            if bytes.is_empty() {
                break;
            }
            match random.below(4) {
                0 => bytes[at] = b"0123456789abcdef \n#-x"[random.below(21) as usize],
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, bytes[at]),
                _ => bytes.truncate(at),
            }
        }
        let Ok(saved) = Saved::parse(String::from_utf8(bytes).expect("ASCII stays text")) else { continue };
        readable += 1;
        let mut again = Vec::new();
        save(&saved, "", 0, &mut again).expect("memory doesn't fail");
        let again = Saved::parse(String::from_utf8(again).expect("text")).expect("it was just written");
        assert_eq!(on_paper(&again).digest(), on_paper(&saved).digest());
    }
    assert!(readable > 100, "{readable}");
}

#[test]
fn the_documentations_example_can_be_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("SKIPPED: there is no docs/operations.md beside this crate");
        return;
    };
    let example = text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let saved = Saved::parse(example.to_owned()).expect("well formed");
    assert!(on_paper(&saved).digest().is_some());
    for form in crate::FORMS {
        assert!(text.contains(&format!("| `{}` |", form.name)), "{} has a line in the table", form.name);
    }
}
