//! What the user should know about the kernel that made a recording.

use recording::Recording;

/// What the recorded kernel did that the model does not: to be told before any figure is printed.
pub fn caveats(recording: &Recording) -> Vec<String> {
    let mglru = recording.setting("lru_gen/enabled").is_some_and(|value| !matches!(value.trim(), "0" | "0x0000" | "n"));
    let mglru = mglru.then(|| {
        "the recorded kernel reclaimed with MGLRU; the model has the classic LRU lists, so expect larger errors \
         (docs/deviations.md)"
            .to_owned()
    });
    mglru.into_iter().collect()
}
