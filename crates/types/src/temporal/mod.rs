//! Dates and times as MySQL has them: with zero dates, zero months and days, and times beyond a day.
//!
//! A DATE or DATETIME is a record of fields, not a point on a line: `0000-00-00` and `2020-02-00` are values (which
//! `sql_mode` may refuse). Comparison is by fields, so the packed form, in which the engine stores them, orders the same
//! way. A TIME is a signed duration in microseconds. Fractional digits are a property of how a value is shown, and
//! every value carries them.

pub mod calendar;
pub mod format;
mod locale;
pub mod parse;

use calendar::{day_number, from_day_number};
pub use locale::Locale;
use std::cmp::Ordering;
use std::fmt;

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// 838:59:59
pub const TIME_MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;

/// A date, or what MySQL takes for one: month and day may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A signed duration. Equality and order ignore how many digits are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    /// Microseconds, negative below zero.
    pub micros: i64,
    /// Fractional digits shown.
    pub fsp: u8,
}

/// Equality and order ignore how many digits are shown, and which of two instants of one local time is meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct DateTime {
    /// The day.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Fractional digits shown.
    pub fsp: u8,
    /// Microseconds, below a million.
    pub micro: u32,
    /// 0, but for the later one of two instants that have this local time, as a change of a zone's offset repeats it: the minutes, begun ones
    /// counted, until the clock has shown all that it shows twice. Only TIMESTAMP columns, and texts with an offset on their way there, tell
    /// the two apart.
    pub repeated: u16,
}

impl Date {
    /// `0000-00-00`
    pub const ZERO: Date = Date {
        year: 0,
        month: 0,
        day: 0,
    };

    /// The date of these parts, which are not checked.
    #[inline]
    pub fn new(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    /// Whether all parts are 0.
    #[inline]
    pub fn is_zero(self) -> bool {
        self == Date::ZERO
    }

    /// A zero month or day in an otherwise set date.
    #[inline]
    pub fn has_zero_part(self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// In 24 bits, in the order of dates.
    #[inline]
    pub fn pack(self) -> u64 {
        (self.year as u64) << 9 | (self.month as u64) << 5 | self.day as u64
    }

    /// From the stored form.
    #[inline]
    pub fn unpack(packed: u64) -> Date {
        Date {
            year: (packed >> 9) as u16,
            month: (packed >> 5) as u8 & 15,
            day: packed as u8 & 31,
        }
    }

    /// Days since year 0, as `TO_DAYS` counts.
    #[inline]
    pub fn day_number(self) -> i64 {
        day_number(self.year as i64, self.month as i64, self.day as i64)
    }

    /// The date of a day counted from year 0, as TO_DAYS() counts; `None` outside of what a DATE holds.
    #[inline]
    pub fn from_day_number(days: i64) -> Option<Date> {
        from_day_number(days)
    }

    /// The beginning of the day.
    #[inline]
    pub fn midnight(self) -> DateTime {
        DateTime {
            date: self,
            ..DateTime::default()
        }
    }

    /// 20240131
    #[inline]
    pub fn to_number(self) -> i64 {
        self.year as i64 * 10_000 + self.month as i64 * 100 + self.day as i64
    }
}

impl Time {
    /// A duration of so many microseconds.
    #[inline]
    pub fn new(micros: i64, fsp: u8) -> Time {
        Time { micros, fsp }
    }

    /// A duration of these parts.
    #[inline]
    pub fn from_hms(negative: bool, hour: u64, minute: u64, second: u64, micro: u64, fsp: u8) -> Time {
        let micros = (hour * 3600 + minute * 60 + second) as i64 * MICROS_PER_SECOND + micro as i64;
        Time {
            micros: if negative { -micros } else { micros },
            fsp,
        }
    }

    /// Whether it is below zero.
    #[inline]
    pub fn negative(self) -> bool {
        self.micros < 0
    }

    /// Hours, minutes, seconds, microseconds of the absolute value.
    pub fn parts(self) -> (u32, u8, u8, u32) {
        let abs = self.micros.unsigned_abs();
        let seconds = abs / 1_000_000;
        (
            (seconds / 3600) as u32,
            (seconds / 60 % 60) as u8,
            (seconds % 60) as u8,
            (abs % 1_000_000) as u32,
        )
    }

    /// ±hhmmss without the fraction.
    #[inline]
    pub fn to_number(self) -> i64 {
        let (h, m, s, _) = self.parts();
        let n = h as i64 * 10_000 + m as i64 * 100 + s as i64;
        if self.negative() { -n } else { n }
    }

    /// Rounded half away from zero to this many fractional digits, and shown so.
    #[inline]
    pub fn round(self, fsp: u8) -> Time {
        Time {
            micros: round_micros(self.micros, fsp),
            fsp,
        }
    }
}

/// Half away from zero.
pub(crate) fn round_micros(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    let half = unit / 2;
    let shifted = if micros < 0 { micros - half } else { micros + half };
    shifted / unit * unit
}

impl DateTime {
    /// The point in time of these parts, which are not checked.
    pub fn new(date: Date, hour: u8, minute: u8, second: u8, micro: u32, fsp: u8) -> DateTime {
        DateTime {
            date,
            hour,
            minute,
            second,
            micro,
            fsp,
            repeated: 0,
        }
    }

    /// Whether all parts are 0.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.date.is_zero() && self.micros_of_day() == 0
    }

    /// Microseconds since midnight.
    #[inline]
    pub fn micros_of_day(self) -> i64 {
        (self.hour as i64 * 3600 + self.minute as i64 * 60 + self.second as i64) * MICROS_PER_SECOND
            + self.micro as i64
    }

    /// The time of the day.
    #[inline]
    pub fn time(self) -> Time {
        Time {
            micros: self.micros_of_day(),
            fsp: self.fsp,
        }
    }

    /// In 64 bits, in the order of date and time.
    #[inline]
    pub fn pack(self) -> u64 {
        let seconds = (self.hour as u64) << 12 | (self.minute as u64) << 6 | self.second as u64;
        self.date.pack() << 41 | seconds << 24 | self.micro as u64
    }

    /// From the stored form.
    pub fn unpack(packed: u64, fsp: u8) -> DateTime {
        DateTime {
            date: Date::unpack(packed >> 41),
            hour: (packed >> 36) as u8 & 31,
            minute: (packed >> 30) as u8 & 63,
            second: (packed >> 24) as u8 & 63,
            micro: packed as u32 & 0xFF_FFFF,
            fsp,
            repeated: 0,
        }
    }

    /// In 128 bits, in the order of instants. What is repeated comes before the local time that follows all that is, and behind everything
    /// earlier; the repeated hours may be several, and go over midnight.
    #[inline]
    pub fn pack_instant(self) -> u128 {
        let (until, local) = match self.repeated {
            0 => (self, u64::MAX),
            minutes => (self.minutes_later(minutes), self.pack()),
        };
        u128::from(until.pack()) << 64 | u128::from(local)
    }

    #[cold]
    fn minutes_later(self, minutes: u16) -> DateTime {
        let minute = DateTime {
            second: 0,
            micro: 0,
            ..self
        };
        let later = minute.to_micros() + i64::from(minutes) * 60 * MICROS_PER_SECOND;
        DateTime::from_micros(later, self.fsp).unwrap_or(self)
    }

    /// Microseconds since year 0.
    #[inline]
    pub fn to_micros(self) -> i64 {
        self.date.day_number() * MICROS_PER_DAY + self.micros_of_day()
    }

    /// `None` outside years 0..=9999.
    #[inline]
    pub fn from_micros(micros: i64, fsp: u8) -> Option<DateTime> {
        let date = Date::from_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        Some(DateTime::from_parts(date, micros.rem_euclid(MICROS_PER_DAY), fsp))
    }

    /// So many microseconds after midnight.
    pub fn from_parts(date: Date, micros_of_day: i64, fsp: u8) -> DateTime {
        let seconds = micros_of_day / MICROS_PER_SECOND;
        DateTime {
            date,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micro: (micros_of_day % MICROS_PER_SECOND) as u32,
            fsp,
            repeated: 0,
        }
    }

    /// Rounded half up to this many fractional digits; `None` past the year 9999.
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let micros = round_micros(self.micros_of_day(), fsp);
        if micros < MICROS_PER_DAY {
            return Some(DateTime {
                repeated: self.repeated,
                ..DateTime::from_parts(self.date, micros, fsp)
            });
        }
        if self.date.has_zero_part() {
            return None;
        }
        Some(DateTime::from_parts(
            Date::from_day_number(self.date.day_number() + 1)?,
            0,
            fsp,
        ))
    }

    /// The fraction beyond `fsp` digits cut off.
    #[inline]
    pub fn truncate(self, fsp: u8) -> DateTime {
        let unit = 10u32.pow(6 - fsp.min(6) as u32);
        DateTime {
            micro: self.micro / unit * unit,
            fsp,
            ..self
        }
    }

    /// 20240131235959 without the fraction.
    #[inline]
    pub fn to_number(self) -> i64 {
        let time = self.hour as i64 * 10_000 + self.minute as i64 * 100 + self.second as i64;
        self.date.to_number() * 1_000_000 + time
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}
impl Eq for Time {}
impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.micros.cmp(&other.micros)
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &Self) -> bool {
        self.pack() == other.pack()
    }
}
impl Eq for DateTime {}
impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for DateTime {
    fn cmp(&self, other: &Self) -> Ordering {
        self.pack().cmp(&other.pack())
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, micro: u32, fsp: u8) -> fmt::Result {
    if fsp == 0 {
        return Ok(());
    }
    let fsp = fsp.min(6) as usize;
    write!(f, ".{:0fsp$}", micro / 10u32.pow(6 - fsp as u32))
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (h, m, s, micro) = self.parts();
        let sign = if self.negative() { "-" } else { "" };
        write!(f, "{sign}{h:02}:{m:02}:{s:02}")?;
        write_fraction(f, micro, self.fsp)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:02}:{:02}:{:02}",
            self.date, self.hour, self.minute, self.second
        )?;
        write_fraction(f, self.micro, self.fsp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_order_and_value() {
        let a = DateTime::new(Date::new(2024, 2, 29), 23, 59, 59, 999_999, 6);
        let b = DateTime::new(Date::new(2024, 3, 1), 0, 0, 0, 0, 6);
        assert_eq!(
            DateTime::unpack(a.pack(), 6).to_string(),
            "2024-02-29 23:59:59.999999"
        );
        assert!(a.pack() < b.pack());
        assert_eq!(
            Date::unpack(Date::new(9999, 12, 31).pack()),
            Date::new(9999, 12, 31)
        );
        assert!(Date::new(9999, 12, 31).pack() < 1 << 23);
        assert_eq!(a.round(3).unwrap().to_string(), "2024-03-01 00:00:00.000");
        assert_eq!(Time::new(-1_500_000, 0).round(0).to_string(), "-00:00:02");
        assert_eq!(Time::new(TIME_MAX_MICROS, 0).to_string(), "838:59:59");
    }
}
