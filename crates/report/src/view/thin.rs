//! Making a view smaller: halving what takes most room, until it fits.

use super::build::longest;
use super::{Chunk, ChunkError, Events, FrameReader, Map, MapError, Run, Series, View, pack_frames};

/// Fewest samples, buckets or events of a run: below that nothing can be seen any more.
const FEWEST: usize = 16;

/// What takes room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Maps,
    Series,
    Events,
    Slices,
}

const PARTS: [Part; 4] = [Part::Maps, Part::Series, Part::Events, Part::Slices];

impl View {
    /// Halves what takes most room until the view's text has at most `bytes` bytes, or nothing is left to halve.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn shrink_to(&mut self, bytes: usize) -> Result<(), MapError> {
        while self.to_json().len() > bytes {
            let largest = PARTS.into_iter().filter(|part| self.runs.iter().any(|run| part.can_halve(run)));
            let room = |part: &Part| self.runs.iter().map(|run| part.room(run)).sum::<usize>();
            let Some(part) = largest.max_by_key(room) else { return Ok(()) };
            for run in self.runs.iter_mut().filter(|run| part.can_halve(run)) {
                part.halve(run)?;
            }
        }
        Ok(())
    }
}

impl Part {
    /// Bytes of text, nearly.
    fn room(self, run: &Run) -> usize {
        let of = |chunk: &Chunk| chunk.data.len();
        match self {
            Part::Maps => run.map.as_ref().map_or(0, |map| of(&map.frames) + of(&map.times)),
            Part::Series => run.series.iter().flat_map(chunks).map(of).sum(),
            Part::Events => event_chunks(&run.events).into_iter().map(of).sum(),
            Part::Slices => run.slices.len() * 90,
        }
    }

    fn can_halve(self, run: &Run) -> bool {
        let len = match self {
            Part::Maps => run.map.as_ref().map_or(0, |map| map.times.len),
            Part::Series => run.clocks.first().map_or(0, |clock| clock.len),
            Part::Events => run.events.time.len,
            Part::Slices => run.slices.len(),
        };
        len > FEWEST
    }

    fn halve(self, run: &mut Run) -> Result<(), MapError> {
        match self {
            Part::Maps => run.map = run.map.as_ref().map(halve_map).transpose()?,
            Part::Series => halve_series(run)?,
            Part::Events => halve_events(&mut run.events)?,
            Part::Slices => {
                let slices = std::mem::take(&mut run.slices);
                let most = slices.len() / 2;
                run.slices = longest(slices, most);
            }
        }
        Ok(())
    }
}

fn chunks(series: &Series) -> impl Iterator<Item = &Chunk> {
    std::iter::once(&series.value).chain(&series.low).chain(&series.high)
}

fn event_chunks(events: &Events) -> [&Chunk; 7] {
    let Events { time, block, kind, alloc_type, block_type, alloc_order, fallback_order } = events;
    [time, block, kind, alloc_type, block_type, alloc_order, fallback_order]
}

/// Every other sample; the last one stays.
fn halve_map(map: &Map) -> Result<Map, MapError> {
    let reader = FrameReader::new(map)?;
    let last = reader.times().len().saturating_sub(1);
    let kept: Vec<usize> = (0..=last).filter(|at| at % 2 == 0 || *at == last).collect();
    let times: Vec<f32> = kept.iter().map(|at| reader.times()[*at]).collect();
    let frames = pack_frames(kept.iter().map(|at| reader.frame(*at)), map.blocks as usize, map.keyframe_every);
    Ok(Map { times: Chunk::f32(&times), frames, ..map.clone() })
}

/// Joins every two neighbours: states keep the later value, rates the mean by time; least and greatest stay.
fn halve_series(run: &mut Run) -> Result<(), ChunkError> {
    let clocks: Vec<Vec<f32>> = run.clocks.iter().map(Chunk::to_f32).collect::<Result<_, _>>()?;
    for series in &mut run.series {
        let value = series.value.to_f32()?;
        let [low, high] = [&series.low, &series.high].map(|bound| bound.as_ref().map(Chunk::to_f32));
        let (low, high) = (low.transpose()?, high.transpose()?);
        let is_rate = series.unit == lab::timeline::Unit::PerSecond.name();
        let ends = clocks.get(series.times).map_or(&[][..], Vec::as_slice);
        let length = |at: usize| match at {
            0 => ends.first().copied().unwrap_or(1.0),
            _ => ends.get(at).map_or(1.0, |end| end - ends[at - 1]),
        };
        let joined = value.chunks(2).enumerate().map(|(pair, values)| match values {
            [first, second] if is_rate => {
                let (mine, theirs) = (length(2 * pair), length(2 * pair + 1));
                (first * mine + second * theirs) / (mine + theirs)
            }
            _ => values[values.len() - 1],
        });
        let least = low.as_ref().unwrap_or(&value).chunks(2).map(|pair| pair.iter().copied().fold(f32::NAN, f32::min));
        let most = high.as_ref().unwrap_or(&value).chunks(2).map(|pair| pair.iter().copied().fold(f32::NAN, f32::max));
        let (joined, least, most): (Vec<_>, Vec<_>, Vec<_>) = (joined.collect(), least.collect(), most.collect());
        series.value = Chunk::f32(&joined);
        (series.low, series.high) = (Some(Chunk::f32(&least)), Some(Chunk::f32(&most)));
    }
    let ends = |clock: &Vec<f32>| Chunk::f32(&clock.chunks(2).map(|pair| pair[pair.len() - 1]).collect::<Vec<_>>());
    run.clocks = clocks.iter().map(ends).collect();
    Ok(())
}

/// Every other event, of pollutions first.
fn halve_events(events: &mut Events) -> Result<(), ChunkError> {
    const POLLUTE: u8 = 2;
    let kinds = events.kind.to_u8()?;
    let pollutions = kinds.iter().filter(|kind| **kind == POLLUTE).count();
    let others_too = pollutions * 2 < kinds.len();
    let mut seen = [0usize; 2];
    let kept: Vec<usize> = (0..kinds.len())
        .filter(|at| {
            let pollutes = kinds[*at] == POLLUTE;
            let count = &mut seen[usize::from(pollutes)];
            *count += 1;
            !(pollutes || others_too) || *count % 2 == 1
        })
        .collect();
    let (time, block) = (events.time.to_f32()?, events.block.to_u32()?);
    events.time = Chunk::f32(&kept.iter().filter_map(|at| time.get(*at).copied()).collect::<Vec<_>>());
    events.block = Chunk::u32(&kept.iter().filter_map(|at| block.get(*at).copied()).collect::<Vec<_>>());
    let Events { kind, alloc_type, block_type, alloc_order, fallback_order, .. } = events;
    for chunk in [kind, alloc_type, block_type, alloc_order, fallback_order] {
        let bytes = chunk.to_u8()?;
        *chunk = Chunk::u8(&kept.iter().filter_map(|at| bytes.get(*at).copied()).collect::<Vec<_>>());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::run;

    fn events(kinds: &[u8]) -> Events {
        let numbers: Vec<u8> = (0..kinds.len() as u8).collect();
        let column = || Chunk::u8(&numbers);
        Events {
            time: Chunk::f32(&numbers.iter().map(|at| f32::from(*at)).collect::<Vec<_>>()),
            block: Chunk::u32(&numbers.iter().map(|at| (*at).into()).collect::<Vec<_>>()),
            kind: Chunk::u8(kinds),
            alloc_type: column(),
            block_type: column(),
            alloc_order: column(),
            fallback_order: column(),
        }
    }

    /// Which events are left; all their columns go together.
    fn left(kinds: &[u8]) -> Vec<u8> {
        let mut events = events(kinds);
        halve_events(&mut events).expect("own chunks");
        let kept = events.alloc_type.to_u8().expect("own chunk");
        let (time, block) = (events.time.to_f32().expect("own chunk"), events.block.to_u32().expect("own chunk"));
        assert!(
            time.iter()
                .zip(&block)
                .zip(&kept)
                .all(|((time, block), at)| (*time, *block) == (f32::from(*at), (*at).into()))
        );
        assert!([time.len(), block.len()] == [kept.len(); 2]);
        let kind = events.kind.to_u8().expect("own chunk");
        assert_eq!(kind, kept.iter().map(|at| kinds[usize::from(*at)]).collect::<Vec<_>>());
        kept
    }

    /// Claims (0) and steals (1) change blocks, pollutions (2) do not, and are the many: as long as those are half of all or more, only
    /// they go.
    #[test]
    fn every_other_pollution_goes_first() {
        assert_eq!(left(&[2, 0, 2, 1, 2, 2]), [0, 1, 3, 4], "the first and the third of four pollutions stay");
        assert_eq!(left(&[2, 0, 2, 1]), [0, 1, 3]);
        assert_eq!(left(&[2, 0, 0, 1, 1, 2]), [0, 1, 3], "of either kind every other one");
        assert_eq!(left(&[]), [0; 0]);
    }

    /// A rate over a second and one over three are one of (1 * first + 3 * second) / 4 over all four.
    #[test]
    fn joined_rates_weigh_by_their_times_and_states_keep_the_later_one() {
        let mut run = run();
        run.clocks = vec![Chunk::f32(&[1.0, 4.0, 5.0])];
        let series = |unit: lab::timeline::Unit| Series {
            name: unit.name().into(),
            label: "a".into(),
            unit: unit.name().into(),
            group: "free".into(),
            zone: None,
            times: 0,
            value: Chunk::f32(&[8.0, 4.0, 7.0]),
            low: None,
            high: None,
        };
        run.series = vec![series(lab::timeline::Unit::PerSecond), series(lab::timeline::Unit::Pages)];
        halve_series(&mut run).expect("own chunks");
        let values = |chunk: &Chunk| chunk.to_f32().expect("own chunk");
        assert_eq!(values(&run.clocks[0]), [4.0, 5.0]);
        assert_eq!([&run.series[0], &run.series[1]].map(|series| values(&series.value)), [[5.0, 7.0], [4.0, 7.0]]);
        for series in &run.series {
            let [low, high] = [&series.low, &series.high].map(|bound| values(bound.as_ref().expect("joined")));
            assert_eq!((low, high), (vec![4.0, 7.0], vec![8.0, 7.0]));
        }
    }
}
