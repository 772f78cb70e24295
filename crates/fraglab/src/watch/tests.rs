//! The terminal interface, key by key, on a terminal that is an array.

use super::*;
use report::view::Chunk;
use serde_json::json;
use std::collections::VecDeque;

const FRAME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/watch.txt");
const HOUR: Duration = Duration::from_secs(3600);

/// A made-up run of 20 s: four blocks of which one is polluted at 10 s, one event, two numbers.
fn made_up() -> Replayed {
    let (u8s, f32s) = (|values: &[u8]| json!(Chunk::u8(values)), |values: &[f32]| json!(Chunk::f32(values)));
    let series = |name: &str, group: &str, zone: Option<&str>, value: &[f32]| {
        json!({ "name": name, "label": name, "unit": "", "group": group, "zone": zone, "times": 0,
            "value": f32s(value), "low": null, "high": null })
    };
    let (empty, polluted) = (0b00_00_11_01, 0b01_01_10_01);
    let run = json!({
        "name": "made-up", "group": "made-up", "kind": "simulated", "scenario": null, "recording": null,
        "policy": "made-up", "preset": "linux-6.18", "sysctls": {}, "seed": 1, "digest": null, "command": "",
        "duration_s": 20.0, "page_size": 4096, "pageblock_order": 9,
        "zones": [{ "node": 0, "name": "Normal", "first_block": 0, "blocks": 4 }],
        "clocks": [f32s(&[0.0, 10.0, 20.0])],
        "series": [
            series("free.order0.movable", "free_blocks", Some("0/Normal"), &[0.0, 1000.0, 500.0]),
            series("free.order9.movable", "free_blocks", Some("0/Normal"), &[4.0, 0.0, 0.0]),
            series("pageblocks.movable", "pageblocks", Some("0/Normal"), &[4.0, 4.0, 4.0]),
            series("extfrag.pollute", "events", None, &[0.0, 2.5, 0.0]),
        ],
        "map": { "times": f32s(&[0.0, 10.0]), "blocks": 4, "keyframe_every": 1,
            "frames": u8s(&[empty, empty, empty, empty, empty, polluted, empty, empty]) },
        "events": { "time": f32s(&[9.5]), "block": json!(Chunk::u32(&[1])), "kind": u8s(&[2]), "alloc_type": u8s(&[0]),
            "block_type": u8s(&[1]), "alloc_order": u8s(&[0]), "fallback_order": u8s(&[3]) },
        "events_total": 1, "matrix": [], "latency": [], "counters": {}
    });
    Replayed::new(serde_json::from_value(run).expect("as docs/view-format.md has it"), 0.0)
}

fn terminal() -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(80, 24)).expect("an array")
}

fn key(code: KeyCode) -> Event {
    Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Lets a user do this, and then press `q`: the last frame before the end.
fn after(source: &mut Source, done: &[Event]) -> String {
    let mut terminal = terminal();
    let mut left: VecDeque<Event> = done.iter().cloned().chain([key(KeyCode::Char('q'))]).collect();
    let mut typed = |_: Duration| Ok(Some(left.pop_front().expect("q ends the watch")));
    draw_on(&mut terminal, source, HOUR, &mut typed).expect("drawn");
    assert!(left.is_empty(), "nothing but q ends the watch");
    text_of(&terminal)
}

fn after_in_run(done: &[Event]) -> String {
    after(&mut Source::Replayed(Box::new(made_up())), done)
}

#[test]
fn a_frame_stands_as_on_file() {
    let found = after_in_run(&[key(KeyCode::End)]);
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(FRAME, &found).expect("written");
    }
    let kept = std::fs::read_to_string(FRAME).unwrap_or_default();
    assert_eq!(found, kept, "if the change is wanted: FRAGLAB_BLESS=1");
}

#[test]
fn keys_move_in_time() {
    let at = |done: &[Event]| {
        let frame = after_in_run(done);
        frame.lines().next().and_then(|title| title.split(": ").nth(1)).expect("a title").to_owned()
    };
    let shifted = Event::Key(KeyEvent::new(KeyCode::Right, KeyModifiers::SHIFT));
    assert_eq!(at(&[]), "0.0 s of 20.0 s");
    assert_eq!(at(&[key(KeyCode::Right), key(KeyCode::Right), key(KeyCode::Left)]), "1.0 s of 20.0 s");
    assert_eq!(at(&[shifted.clone(), key(KeyCode::Char('x'))]), "10.0 s of 20.0 s");
    assert_eq!(at(&[shifted.clone(), shifted.clone(), shifted]), "20.0 s of 20.0 s");
    assert_eq!(at(&[key(KeyCode::End), key(KeyCode::Home)]), "0.0 s of 20.0 s");
    assert_eq!(at(&[Event::Resize(80, 24), key(KeyCode::Right)]), "1.0 s of 20.0 s");
}

#[test]
fn space_lets_a_run_go_on() {
    let mut source = Source::Replayed(Box::new(made_up()));
    let mut looks = 0;
    // The user starts it, looks on for a while, and leaves.
    let mut typed = |wait: Duration| {
        looks += 1;
        match looks {
            1 => return Ok(Some(key(KeyCode::Char(' ')))),
            100 => return Ok(Some(key(KeyCode::Char('q')))),
            _ => std::thread::sleep(wait),
        }
        Ok(None)
    };
    draw_on(&mut terminal(), &mut source, Duration::from_millis(1), &mut typed).expect("drawn");
    let Source::Replayed(replayed) = &source else { panic!("it is a run") };
    assert!((0.05..1.0).contains(&replayed.at), "a millisecond each interval: {}", replayed.at);
}

#[test]
fn control_c_and_escape_end_it_as_q_does() {
    let control_c = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    for end in [control_c, key(KeyCode::Esc)] {
        let mut source = Source::Replayed(Box::new(made_up()));
        let mut ends = Some(end);
        let mut typed = |_: Duration| Ok(Some(ends.take().expect("it has ended")));
        draw_on(&mut terminal(), &mut source, HOUR, &mut typed).expect("drawn");
    }
}

#[test]
fn a_host_is_looked_at_anew_and_does_not_move_in_time() {
    let proc = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| std::fs::write(proc.path().join(name), text).expect("written");
    write("buddyinfo", "Node 0, zone   Normal   1000 0 0 0 0 0 0 0 0 0 0\n");
    write("vmstat", "compact_stall 7\n");
    let mut source = Source::Host(Host::new(proc.path()));
    let frame = after(&mut source, &[key(KeyCode::Right), key(KeyCode::Char(' '))]);
    assert!(frame.contains("0/Normal") && frame.contains("7 since boot"), "{frame}");
    write("vmstat", "compact_stall 9\n");
    assert!(after(&mut source, &[]).contains("9 since boot"));
}
