use super::*;

fn events() -> Events {
    let none = Chunk::u8(&[]);
    Events {
        time: Chunk::f32(&[0.5]),
        block: Chunk::u32(&[2]),
        kind: Chunk::u8(&[1]),
        alloc_type: Chunk::u8(&[0]),
        block_type: Chunk::u8(&[1]),
        alloc_order: Chunk::u8(&[0]),
        fallback_order: none,
    }
}

pub(super) fn run() -> Run {
    let samples: [&[u8]; 3] = [&[1, 2, 3], &[1, 2, 4], &[9, 2, 4]];
    Run {
        name: "</script><b>".into(),
        group: "recorded".into(),
        kind: Kind::Replay,
        scenario: None,
        recording: Some("demo".into()),
        policy: "recorded".into(),
        preset: "linux-6.18".into(),
        sysctls: BTreeMap::from([("vm.min_free_kbytes".into(), None)]),
        seed: Some(1),
        digest: Some("00000000000000ab".into()),
        command: "fraglab replay demo".into(),
        notes: Vec::new(),
        clock_start_ns: 0,
        duration_s: 2.0,
        page_size: 4096,
        pageblock_order: 9,
        zones: vec![Zone { node: 0, name: "Normal".into(), first_block: 0, blocks: 3 }],
        clocks: Vec::new(),
        series: Vec::new(),
        map: Some(Map {
            times: Chunk::f32(&[0.0, 1.0, 2.0]),
            blocks: 3,
            keyframe_every: 2,
            frames: pack_frames(samples.into_iter(), 3, 2),
        }),
        events: events(),
        events_total: 1,
        matrix: Vec::new(),
        latency: Vec::new(),
        counters: BTreeMap::new(),
        slices: Vec::new(),
        slices_total: 0,
    }
}

fn view() -> View {
    View {
        schema: SCHEMA.into(),
        version: VERSION,
        title: "demo".into(),
        command: "fraglab report".into(),
        generated_by: "fraglab 0".into(),
        compare: None,
        runs: vec![run()],
    }
}

#[test]
fn a_view_comes_back_as_it_was_and_cannot_end_a_script_element() {
    let text = view().to_json();
    assert!(!text.contains('<') && text.contains("\\u003c/script>"), "{text}");
    assert_eq!(serde_json::from_str::<View>(&text).expect("own text"), view());
}

#[test]
fn documented_keys_are_the_written_ones() {
    let text = include_str!("../../../../docs/view-format.md");
    let json: serde_json::Value = serde_json::from_str(&view().to_json()).expect("own text");
    let run = &json["runs"][0];
    for object in [&json, run, &run["map"], &run["events"], &run["zones"][0]] {
        for key in object.as_object().expect("an object").keys() {
            assert!(text.contains(&format!("`{key}`")), "docs/view-format.md does not name {key}");
        }
    }
}

#[test]
fn every_kth_sample_stands_in_full_and_others_are_differences() {
    let map = run().map.expect("it has one");
    assert_eq!(map.frames.to_u8().expect("own chunk"), [1, 2, 3, 0, 0, 7, 9, 2, 4]);
    let reader = FrameReader::new(&map).expect("own map");
    assert_eq!(
        (reader.frame(0), reader.frame(1), reader.frame(2)),
        (&[1u8, 2, 3][..], &[1u8, 2, 4][..], &[9u8, 2, 4][..])
    );
    assert_eq!((reader.at(-1.0), reader.at(1.5), reader.at(9.0)), (Some(0), Some(1), Some(2)));
    let short = Map { blocks: 4, ..map };
    assert!(matches!(FrameReader::new(&short), Err(MapError::Size { found: 9, .. })));
}

#[test]
fn a_view_that_is_too_large_loses_detail_and_no_extremes() {
    let mut view = view();
    let run = &mut view.runs[0];
    let noise = |at: u32| (at.wrapping_mul(2_654_435_761) >> 8) as f32;
    let times: Vec<f32> = (1..=1000).map(|at| at as f32).collect();
    run.clocks = vec![Chunk::f32(&times)];
    let mut values: Vec<f32> = (0..1000).map(noise).collect();
    values[501] = 1e9;
    let series = |unit: &str| Series {
        name: unit.into(),
        label: "a".into(),
        unit: unit.into(),
        group: "free".into(),
        zone: None,
        times: 0,
        value: Chunk::f32(&values),
        low: None,
        high: None,
    };
    run.series = vec![series("pages"), series("per second")];
    let samples: Vec<Vec<u8>> =
        (0..300u32).map(|at| (0..50).map(|block| noise(at * 50 + block) as u8).collect()).collect();
    let times: Vec<f32> = (0..300).map(|at| at as f32).collect();
    let frames = pack_frames(samples.iter().map(Vec::as_slice), 50, 64);
    run.map = Some(Map { times: Chunk::f32(&times), blocks: 50, keyframe_every: 64, frames });
    let before = view.to_json().len();
    view.shrink_to(before / 5).expect("own chunks");
    let run = &view.runs[0];
    assert!(view.to_json().len() <= before / 5, "{} of {before}", view.to_json().len());
    let reader = FrameReader::new(run.map.as_ref().expect("kept")).expect("own map");
    assert_eq!(reader.times().last(), Some(&299.0));
    for (at, time) in reader.times().iter().enumerate() {
        assert_eq!(reader.frame(at), samples[*time as usize]);
    }
    let clock = run.clocks[0].to_f32().expect("own chunk");
    assert_eq!(clock.last(), Some(&1000.0));
    for series in &run.series {
        let high = series.high.as_ref().expect("joined").to_f32().expect("own chunk");
        assert_eq!((high.len(), high.iter().copied().fold(0.0, f32::max)), (clock.len(), 1e9));
    }
    let mean = |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64;
    let rate = run.series[1].value.to_f32().expect("own chunk");
    assert!((mean(&rate) / mean(&values) - 1.0).abs() < 0.05, "{} {}", mean(&rate), mean(&values));
}
