//! Samples of the tide: which LSN the log had reached at which time of the clock. They serve views of the past by time,
//! and questions of how long ago an LSN was.
//!
//! A sample is taken several times a second if the tide has moved. Old ones are thinned out rather than dropped, so
//! that a moment is known to about a thousandth of its age: each tenfold increase of the period adds 2,300 samples.

use super::views::TidePoint;
use crate::ids::{Lsn, TxnId};
use parking_lot::Mutex;
use std::time::{Duration, SystemTime};

/// Thinning begins at this many samples, and again whenever the number left by the last thinning has doubled.
const SAMPLES_MIN: usize = 16_384;
/// Two neighbouring samples are at most this fraction of their age apart.
const PRECISION: u32 = 1000;
/// The interval between samples.
pub(crate) const SAMPLE_EVERY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    at: SystemTime,
    lsn: Lsn,
    /// All transactions below had ended at or before `lsn`.
    settled: TxnId,
}

#[derive(Default)]
pub(crate) struct Tides {
    samples: Mutex<Samples>,
}

#[derive(Default)]
struct Samples {
    list: Vec<Sample>,
    /// How many samples the last thinning left.
    left: usize,
}

/// Drops the samples that [`PRECISION`] does not require at the time `now`.
fn thin(samples: &mut Vec<Sample>, now: SystemTime) {
    let Some(mut kept) = samples.first().map(|first| first.at) else {
        return;
    };
    let (mut at, mut left) = (1, 1);
    while at < samples.len() {
        let sample = samples[at];
        let age = now.duration_since(sample.at).unwrap_or_default();
        let spare = samples.get(at + 1).is_some_and(|next| {
            let without = next.at.duration_since(kept).unwrap_or_default();
            without <= age / PRECISION
        });
        if !spare {
            (samples[left], kept) = (sample, sample.at);
            left += 1;
        }
        at += 1;
    }
    samples.truncate(left);
}

impl Tides {
    /// Adds a sample. `settled` must have been read before the tide `lsn`.
    pub fn sample(&self, at: SystemTime, settled: TxnId, lsn: Lsn) {
        let mut samples = self.samples.lock();
        // The clock was set back: samples with later times are dropped, so that times stay in order with positions.
        let after = samples.list.partition_point(|sample| sample.at <= at);
        samples.list.truncate(after);
        if let Some(last) = samples.list.last()
            && (last.lsn >= lsn || at < last.at + SAMPLE_EVERY)
        {
            return;
        }
        samples.list.push(Sample { at, lsn, settled });
        if samples.list.len() >= SAMPLES_MIN.max(2 * samples.left) {
            thin(&mut samples.list, at);
            samples.left = samples.list.len();
        }
    }

    /// The latest sample that is not later than `at`.
    pub fn at(&self, at: SystemTime) -> Option<TidePoint> {
        self.last(|sample| sample.at <= at)
    }

    /// The tide point for a view at this position.
    pub fn at_position(&self, lsn: Lsn) -> Option<TidePoint> {
        let sample = self.last(|sample| sample.lsn <= lsn)?;
        Some(TidePoint {
            lsn,
            settled: sample.settled,
        })
    }

    /// About when the log reached this position.
    pub fn when(&self, lsn: Lsn) -> Option<SystemTime> {
        let samples = &self.samples.lock().list;
        let after = samples.partition_point(|sample| sample.lsn < lsn);
        samples.get(after).or(samples.last()).map(|sample| sample.at)
    }

    fn last(&self, is_not_after: impl Fn(&Sample) -> bool) -> Option<TidePoint> {
        let samples = &self.samples.lock().list;
        let after = samples.partition_point(is_not_after);
        let sample = samples.get(after.checked_sub(1)?)?;
        Some(TidePoint {
            lsn: sample.lsn,
            settled: sample.settled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day, ten samples a second.
    #[test]
    fn the_past_is_found_by_time_and_by_position() {
        let tides = Tides::default();
        let tenth = Duration::from_millis(100);
        let at = |n: u64| SystemTime::UNIX_EPOCH + tenth * n as u32;
        const LAST: u64 = 864_000;
        for n in 0..=LAST {
            tides.sample(at(n), TxnId(n), Lsn(1000 + n * 10));
        }
        let count = tides.samples.lock().list.len();
        assert!(count <= 2 * SAMPLES_MIN, "{count} samples");
        assert_eq!(tides.at(SystemTime::UNIX_EPOCH - tenth), None);
        // Recent moments are exact, older ones coarser, and never later than asked for.
        let exact = tides.at(at(LAST - 5) + tenth / 2).unwrap();
        assert_eq!(exact.lsn, Lsn(1000 + (LAST - 5) * 10));
        for n in (0..LAST).step_by(777) {
            let past = tides.at(at(n)).unwrap();
            let found = (past.lsn.0 - 1000) / 10;
            let tolerated = (LAST - n) / u64::from(PRECISION) + 1;
            assert!(found <= n && found + tolerated >= n, "{found} for {n}");
            let position = tides.at_position(Lsn(1005 + n * 10)).unwrap();
            assert_eq!(position.lsn, Lsn(1005 + n * 10));
            assert!(position.settled <= TxnId(n));
        }
        // Nothing moved: nothing to remember.
        tides.sample(at(LAST + 10), TxnId(LAST + 1), Lsn(1000 + LAST * 10));
        assert_eq!(tides.samples.lock().list.len(), count);
        assert_eq!(tides.when(Lsn(1000 + LAST * 10 - 5)), Some(at(LAST)));
    }
    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_past() {
        let tides = Tides::default();
        let at = |s: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
        for n in 0..100 {
            tides.sample(at(1000 + n), TxnId(n), Lsn(1 + n));
        }
        tides.sample(at(500), TxnId(100), Lsn(101));
        assert_eq!(tides.at(at(499)), None);
        assert_eq!(tides.at(at(501)).map(|past| past.lsn), Some(Lsn(101)));
        tides.sample(at(502), TxnId(102), Lsn(103));
        assert_eq!(tides.at(at(503)).map(|past| past.lsn), Some(Lsn(103)));
    }
}
