//! Times a function: the median of several runs, so that a neighbour's moment of noise does not show. Numbers of different machines, or of
//! one machine on different days, say nothing; compare lines of one run, or two builds in turns.

use std::time::{Duration, Instant};

const RUNS: usize = 7;

/// The median time of one of `n` calls.
pub fn time(n: u32, mut f: impl FnMut()) -> Duration {
    let mut runs: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            (0..n).for_each(|_| f());
            start.elapsed() / n
        })
        .collect();
    runs.sort();
    runs[RUNS / 2]
}

/// Prints what was measured, at which size, and how long one call took.
pub fn line(what: &str, size: usize, took: Duration) {
    println!("{what:<58} {size:>10} {took:>14.1?}");
}
