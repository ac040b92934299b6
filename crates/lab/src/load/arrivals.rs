//! When the transactions of an open loop are to begin.
//!
//! In a closed loop a client asks again when it was answered, so a server that stands still is asked nothing, and the waits
//! that users would have had are missing from the latencies ("coordinated omission", Gil Tene). In an open loop transactions
//! arrive by a schedule that does not know the server: a free client takes the next one, waits for its moment or is late for
//! it, and the latency counts from that moment on.
//!
//! Arrivals are a Poisson process, as those of many independent users are: the gaps are exponentially distributed.

use crate::load::random::Random;
use std::time::Duration;

/// A schedule of arrivals, from the load's beginning on.
pub struct Arrivals {
    random: Random,
    mean_gap_s: f64,
    at_s: f64,
}

impl Arrivals {
    /// So many arrivals per second, on average.
    pub fn new(per_s: f64, seed: u64) -> Arrivals {
        Arrivals {
            random: Random::new(seed),
            mean_gap_s: 1.0 / per_s,
            at_s: 0.0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        // 1 - fraction is above 0, so the logarithm is finite.
        self.at_s -= (1.0 - self.random.fraction()).ln() * self.mean_gap_s;
        Some(Duration::from_secs_f64(self.at_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let at: Vec<f64> = Arrivals::new(1000.0, 5)
            .take(100_000)
            .map(|at| at.as_secs_f64())
            .collect();
        let gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap >= 0.0));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
    }
}
