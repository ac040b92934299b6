//! Medians, spreads, and when two sets of measurements differ by more than their noise.
//!
//! A cell is measured a few times. Its figure is the median and its spread runs from the least to the greatest, which says
//! more of so few than a deviation would. Two sets differ if their spreads do not touch and the medians are further
//! apart than the wider spread is wide; what was measured once has no spread and shows no difference. Of sets of three that
//! are drawn from one distribution, every tenth pair does not touch, so the first condition alone would not do.

/// A few measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The one in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How many there are.
    pub len: usize,
}

/// A difference below this is none, however small the spread: of the old median.
const LEAST: f64 = 0.02;

impl Sample {
    /// Of these values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Sample> {
        let median = median(values)?;
        Some(Sample {
            median,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            len: values.len(),
        })
    }

    /// Half the distance of least and greatest, as a share of the median.
    pub fn spread(&self) -> f64 {
        match self.median {
            0.0 => 0.0,
            median => (self.max - self.min) / 2.0 / median.abs(),
        }
    }

    /// The change of `new` against this as a share, if it is beyond the noise.
    pub fn change_to(&self, new: &Sample) -> Option<f64> {
        let distance = (new.median - self.median).abs();
        let is_apart = new.min > self.max || new.max < self.min;
        let noise = (self.max - self.min).max(new.max - new.min);
        let is_change = self.len > 1
            && new.len > 1
            && is_apart
            && distance > noise
            && distance > LEAST * self.median.abs();
        (is_change && self.median != 0.0).then(|| new.median / self.median - 1.0)
    }
}

/// The value in the middle, or between the two there.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let sample = Sample::of(&[90.0, 110.0, 100.0]).unwrap();
        assert_eq!(
            (sample.median, sample.min, sample.max, sample.len),
            (100.0, 90.0, 110.0, 3)
        );
        assert_eq!(sample.spread(), 0.1);
        assert_eq!(Sample::of(&[0.0]).unwrap().spread(), 0.0);
    }

    #[test]
    fn a_change_is_beyond_the_noise() {
        let change = |old: &[f64], new: &[f64]| Sample::of(old).unwrap().change_to(&Sample::of(new).unwrap());
        assert_eq!(
            change(&[100.0, 101.0, 102.0], &[100.0, 103.0, 104.0]),
            None,
            "they touch"
        );
        assert_eq!(
            change(&[80.0, 100.0, 110.0], &[111.0, 115.0, 120.0]),
            None,
            "noisy"
        );
        assert_eq!(change(&[100.0, 100.1], &[101.0, 101.1]), None, "small");
        assert_eq!(change(&[100.0, 100.0, 101.0], &[150.0, 150.0, 151.0]), Some(0.5));
        assert_eq!(change(&[100.0, 101.0], &[50.5, 50.0]), Some(-0.5));
        assert_eq!(change(&[100.0], &[50.0]), None, "measured once");
        assert_eq!(change(&[0.0, 0.0], &[50.0, 50.0]), None);
    }
}
