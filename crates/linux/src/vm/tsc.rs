//! The rate of the host's time-stamp counter.
//!
//! An emulated guest reads the host's counter, and finds its rate by comparing it with emulated timers while it boots. On a busy
//! host that goes wrong by a factor of several, and with it every time that the guest tells. So it is told the rate.

use std::time::Duration;

const SAMPLES: usize = 5;
const SAMPLE: Duration = Duration::from_millis(20);

/// Thousands of ticks a second; `None` where guests count something else.
#[cfg(target_arch = "x86_64")]
pub fn host_khz() -> Option<u64> {
    let mut rates: Vec<u64> = (0..SAMPLES).filter_map(|_| sample()).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied().filter(|rate| *rate > 0)
}

/// Thousands of ticks a second; `None` where guests count something else.
#[cfg(not(target_arch = "x86_64"))]
pub fn host_khz() -> Option<u64> {
    None
}

#[cfg(target_arch = "x86_64")]
fn sample() -> Option<u64> {
    let (began, first) = reading();
    std::thread::sleep(SAMPLE);
    let (ended, last) = reading();
    let nanos = ended.duration_since(began).as_nanos();
    let ticks = u128::from(last.checked_sub(first)?);
    u64::try_from((ticks * 1_000_000).checked_div(nanos)?).ok()
}

/// Clock and counter at one moment: of several tries, the one between whose readings least happened.
#[cfg(target_arch = "x86_64")]
fn reading() -> (std::time::Instant, u64) {
    let tries = (0..8).map(|_| {
        let before = ticks();
        let now = std::time::Instant::now();
        let after = ticks();
        (after.wrapping_sub(before), now, before + after.wrapping_sub(before) / 2)
    });
    let (_, now, ticks) = tries.min_by_key(|(gap, _, _)| *gap).expect("there are tries");
    (now, ticks)
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_agree() {
        let (one, other) = (host_khz().unwrap(), host_khz().unwrap());
        assert!(one.abs_diff(other) * 1000 < one, "{one} and {other} kHz differ by more than a thousandth");
        assert!((100_000..20_000_000).contains(&one), "{one} kHz");
    }
}
