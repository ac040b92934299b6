//! Which moment of the clock was which moment of the log: samples of the tide, for who asks for a view of the past by
//! time, or how long ago something was.
//!
//! A sample is taken several times a second if the tide has moved. Old ones are thinned out rather than dropped: of the
//! older half every second one goes when there are too many, so that a day takes no more room than an hour, only
//! coarser.

use super::views::Past;
use crate::ids::{Lsn, TxnId};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

const SAMPLES_MAX: usize = 16_384;
/// Samples are not taken more often.
const EVERY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    at: SystemTime,
    lsn: Lsn,
    /// Everybody below had ended at or before `lsn`.
    settled: TxnId,
}

#[derive(Default)]
pub(crate) struct Tides {
    samples: Mutex<VecDeque<Sample>>,
}

impl Tides {
    /// `settled` must have been read before the tide `lsn`.
    pub fn sample(&self, at: SystemTime, settled: TxnId, lsn: Lsn) {
        let mut samples = self.samples.lock();
        if let Some(last) = samples.back()
            && (last.lsn >= lsn || at < last.at + EVERY)
        {
            return;
        }
        samples.push_back(Sample { at, lsn, settled });
        if samples.len() > SAMPLES_MAX {
            let older = SAMPLES_MAX / 2;
            let mut n = 0;
            samples.retain(|_| {
                n += 1;
                n > older || n % 2 == 1
            });
        }
    }

    /// The latest moment known that is not later than `at`.
    pub fn at(&self, at: SystemTime) -> Option<Past> {
        self.last(|sample| sample.at <= at)
    }

    /// The view at this position.
    pub fn at_position(&self, lsn: Lsn) -> Option<Past> {
        let sample = self.last(|sample| sample.lsn <= lsn)?;
        Some(Past {
            lsn,
            settled: sample.settled,
        })
    }

    /// When the log was there, about.
    pub fn when(&self, lsn: Lsn) -> Option<SystemTime> {
        let samples = self.samples.lock();
        let after = samples.partition_point(|sample| sample.lsn < lsn);
        samples.get(after).or(samples.back()).map(|sample| sample.at)
    }

    fn last(&self, is_not_after: impl Fn(&Sample) -> bool) -> Option<Past> {
        let samples = self.samples.lock();
        let after = samples.partition_point(is_not_after);
        let sample = samples.get(after.checked_sub(1)?)?;
        Some(Past {
            lsn: sample.lsn,
            settled: sample.settled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_found_by_time_and_by_position() {
        let tides = Tides::default();
        let start = SystemTime::UNIX_EPOCH;
        let second = Duration::from_secs(1);
        for n in 0..40_000u64 {
            tides.sample(start + second * n as u32, TxnId(n), Lsn(1000 + n * 10));
        }
        assert!(tides.samples.lock().len() <= SAMPLES_MAX);
        assert_eq!(tides.at(start - second), None);
        // Recent moments are exact, older ones coarser, and never later than asked for.
        let exact = tides.at(start + second * 39_990 + second / 2).unwrap();
        assert_eq!(exact.lsn, Lsn(1000 + 399_900));
        for n in (0..40_000u64).step_by(777) {
            let past = tides.at(start + second * n as u32).unwrap();
            assert!(past.lsn <= Lsn(1000 + n * 10) && past.lsn.0 + 10 * 64 >= 1000 + n * 10);
            let at = tides.at_position(Lsn(1005 + n * 10)).unwrap();
            assert_eq!(at.lsn, Lsn(1005 + n * 10));
            assert!(at.settled <= TxnId(n));
        }
        // Nothing moved: nothing to remember.
        let len = tides.samples.lock().len();
        tides.sample(start + second * 50_000, TxnId(40_000), Lsn(1000 + 399_990));
        assert_eq!(tides.samples.lock().len(), len);
        assert_eq!(tides.when(Lsn(1000 + 399_985)), Some(start + second * 39_999));
    }
}
