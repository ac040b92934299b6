//! Reading dates and times from texts and numbers.
//!
//! MySQL accepts nearly any punctuation between the parts, two-digit years, and runs of digits whose length tells
//! what they are. The rules here are those; what is not a date at all is `None`, and what has rubbish behind it is
//! marked, for the caller to warn.

use super::calendar::days_in_month;
use super::{Date, DateTime, MICROS_PER_SECOND, TIME_MAX_MICROS, Time};
use crate::SqlMode;
use crate::convert::refused_by_mode;
use crate::time_zone::{TimeZone, parse_offset};

/// What a text says, before it is brought into a time zone.
#[derive(Clone, Copy, Debug)]
pub struct ParsedDateTime {
    /// Date and time as written.
    pub value: DateTime,
    /// Seconds east of UTC, if the text says so.
    pub offset: Option<i32>,
    /// There was something behind it.
    pub truncated: bool,
    /// It has a time behind the date.
    pub has_time: bool,
}

impl ParsedDateTime {
    /// The local time of the session's zone.
    pub fn in_zone(self, zone: &TimeZone) -> DateTime {
        DateTime {
            repeated: 0,
            ..self.instant_in_zone(zone)
        }
    }

    /// Like [`Self::in_zone`], and says which of two instants with this local time the text means.
    pub fn instant_in_zone(self, zone: &TimeZone) -> DateTime {
        match self.offset {
            Some(seconds) => {
                let instant = TimeZone::Offset(seconds).instant(self.value);
                zone.local_instant(instant, self.value.fsp)
            }
            None => self.value,
        }
    }
}

/// Whether the calendar has this date, with the liberties the mode takes.
pub fn valid_date(date: Date, mode: SqlMode) -> bool {
    if date.month > 12 || date.year > 9999 || date.day > 31 {
        return false;
    }
    if date.has_zero_part() || mode.has(SqlMode::ALLOW_INVALID_DATES) {
        return true;
    }
    date.day as i64 <= days_in_month(date.year as i64, date.month as i64)
}

fn full_year(year: u32) -> u32 {
    if year < 70 { 2000 + year } else { 1900 + year }
}

/// What separates words in the C locale.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(u8::is_ascii_digit)
    }

    fn digit(&self) -> bool {
        self.is_digit(self.at)
    }

    /// Returns true if an exponent stands here.
    fn is_exponent(&self) -> bool {
        let sign = matches!(self.text.get(self.at + 1), Some(b'+' | b'-'));
        matches!(self.peek(), Some(b'e' | b'E')) && self.is_digit(self.at + 1 + sign as usize)
    }

    fn left(&self) -> usize {
        self.text.len() - self.at
    }

    /// Up to `max` digits: value and count.
    fn number(&mut self, max: usize) -> (u64, usize) {
        let (mut value, mut count) = (0u64, 0);
        while count < max && self.digit() {
            value = value
                .saturating_mul(10)
                .saturating_add((self.text[self.at] - b'0') as u64);
            self.at += 1;
            count += 1;
        }
        (value, count)
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// The digits after a point: microseconds (the seventh digit rounds, so up to 1,000,000) and how many were written.
    fn fraction(&mut self) -> (u32, u8) {
        let (value, count) = self.number(6);
        let mut micro = value as u32 * 10u32.pow(6 - count as u32);
        if count == 6 && self.digit() {
            micro += (self.text[self.at] >= b'5') as u32;
            while self.digit() {
                self.at += 1;
            }
        }
        (micro, count as u8)
    }

    /// The zone that is written from here to the end.
    fn offset(&mut self) -> Option<i32> {
        let rest = std::str::from_utf8(&self.text[self.at..]).ok()?.trim_ascii_end();
        let found = rest.len() == 6 && rest.as_bytes()[3] == b':';
        self.at = self.text.len();
        parse_offset(rest).filter(|_| found)
    }
}

/// What a text is that was tried as a date.
enum Read {
    /// Something else.
    Other,
    /// Parts of a date that make none.
    Wrong,
    Moment(ParsedDateTime),
}

/// A date, with or without time.
pub fn datetime(text: &[u8], mode: SqlMode) -> Option<ParsedDateTime> {
    match read_datetime(text, false, mode) {
        Read::Moment(parsed) => Some(parsed),
        Read::Other | Read::Wrong => None,
    }
}

/// The parts of a date and time as they are written: numbers with signs and spaces between them, or, where the first run of digits (and
/// `T`) ends the text or stands before a point, numbers of fixed widths that may have signs between them all the same: `1.02.3` has the
/// year 2001, `1-02-3` the year 1.
#[derive(Default)]
struct Parts {
    numbers: [u32; 6],
    micro: u32,
    fsp: u8,
    count: usize,
    year_digits: usize,
    offset: Option<i32>,
    has_sign: bool,
    has_space: bool,
    /// Where they end.
    end: usize,
}

impl Parts {
    /// `None` for what is no date at all.
    fn scan(s: &mut Scanner) -> Option<Parts> {
        let run = s.text[s.at..].iter();
        let run = run.take_while(|b| b.is_ascii_digit() || **b == b'T').count();
        let is_packed = matches!(s.text.get(s.at + run), None | Some(b'.'));
        let packed_year = if matches!(run, 4 | 8 | 14..) { 4 } else { 2 };
        let mut parts = Parts::default();
        while parts.count < 6 && s.digit() {
            let part = parts.count;
            let width = match (is_packed, part) {
                (false, _) => usize::MAX,
                (true, 0) => packed_year,
                (true, _) => 2,
            };
            let (number, digits) = s.number(width);
            if number > 999_999 {
                return None;
            }
            if part == 0 {
                parts.year_digits = if is_packed { packed_year } else { digits };
            }
            parts.numbers[part] = number as u32;
            parts.count += 1;
            parts.end = s.at;
            if part == 5 {
                parts.behind_seconds(s)?;
            } else if part == 2 && s.peek() == Some(b'T') {
                s.at += 1;
            } else {
                parts.signs(s, part == 2)?;
            }
        }
        Some(parts)
    }

    /// Signs, and behind the day spaces, before the next number.
    fn signs(&mut self, s: &mut Scanner, spaces_too: bool) -> Option<()> {
        while let Some(next) = s.peek().filter(|b| b.is_ascii_punctuation() || is_space(*b)) {
            if is_space(next) {
                self.has_space = spaces_too.then_some(true)?;
            }
            self.has_sign = true;
            s.at += 1;
        }
        self.end = s.at;
        Some(())
    }

    /// A fraction, then a zone.
    fn behind_seconds(&mut self, s: &mut Scanner) -> Option<()> {
        if s.peek() == Some(b'.') {
            s.at += 1;
            (self.micro, self.fsp) = s.fraction();
            if self.fsp > 0 && !matches!(s.peek(), Some(b'+' | b'-')) {
                self.signs(s, true)?;
            }
        }
        if matches!(s.peek(), Some(b'+' | b'-')) {
            self.offset = Some(s.offset()?);
        }
        self.end = s.at;
        Some(())
    }
}

/// `in_full`: only what has no signs, or a space behind the date.
fn read_datetime(text: &[u8], in_full: bool, mode: SqlMode) -> Read {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    if !s.digit() {
        return Read::Other;
    }
    let Some(parts) = Parts::scan(&mut s) else {
        return Read::Other;
    };
    if in_full && parts.has_sign && !parts.has_space {
        return Read::Other;
    }
    s.at = parts.end;
    s.spaces();
    let [mut year, month, day, hour, minute, second] = parts.numbers;
    let is_zero = parts.micro == 0 && parts.numbers.iter().all(|number| *number == 0);
    if parts.year_digits == 2 && !is_zero {
        year = full_year(year);
    }
    let fits = year <= 9999 && month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
    if parts.count < 3 || !fits {
        return Read::Wrong;
    }
    let date = Date::new(year as u16, month as u8, day as u8);
    if !valid_date(date, mode) {
        return Read::Wrong;
    }
    let value = DateTime::new(date, hour as u8, minute as u8, second as u8, 0, parts.fsp);
    match add_micro(value, parts.micro) {
        Some(value) => Read::Moment(ParsedDateTime {
            value,
            offset: parts.offset,
            truncated: s.at < text.len(),
            has_time: parts.count > 3,
        }),
        None => Read::Wrong,
    }
}

fn add_micro(value: DateTime, micro: u32) -> Option<DateTime> {
    if micro < 1_000_000 {
        return Some(DateTime { micro, ..value });
    }
    if value.date.has_zero_part() {
        return None;
    }
    DateTime::from_micros(value.to_micros() + MICROS_PER_SECOND, value.fsp)
}

const MILLION: i128 = 1_000_000;

/// The date that a number writes where a date alone is wanted: yymmdd or yyyymmdd, with any six digits of a time behind it. MySQL fills it up
/// to 20yymmdd down to 0, takes zeros for month and day, and does not ask the calendar: [`valid_date`] does.
pub fn number_to_date(n: i128) -> Option<Date> {
    let written = match n {
        0..100_000_000 => n,
        100_000_000..100_000_000_000_000 => n / MILLION,
        _ => return None,
    };
    let date = date_of_digits(match written {
        0..=691_231 => written + 20_000_000,
        691_232..=991_231 => written + 19_000_000,
        _ => written,
    });
    (date.month <= 12 && date.day <= 31).then_some(date)
}

fn date_of_digits(n: i128) -> Date {
    Date::new((n / 10_000) as u16, (n / 100 % 100) as u8, (n % 100) as u8)
}

/// The date and time that a number writes: yymmdd, yyyymmdd, yymmddhhmmss or yyyymmddhhmmss. `fraction` is of a second; that of a date
/// alone is cut off. As in [`number_to_date`] the calendar is not asked.
pub fn number_to_moment(n: i128, fraction: f64, fsp: u8) -> Option<ParsedDateTime> {
    let (n, is_date) = match n {
        0 => (0, false),
        1..101 => return None,
        101..=691_231 => ((n + 20_000_000) * MILLION, true),
        691_232..700_101 => return None,
        700_101..=991_231 => ((n + 19_000_000) * MILLION, true),
        991_232..1_000_000 => return None,
        1_000_000..=99_991_231 => (n * MILLION, true),
        99_991_232..101_000_000 => return None,
        101_000_000..=691_231_235_959 => (n + 20_000_000_000_000, false),
        691_231_235_960..700_101_000_000 => return None,
        700_101_000_000..=991_231_235_959 => (n + 19_000_000_000_000, false),
        _ => (n, false),
    };
    if !(0..=99_991_231_235_959).contains(&n) {
        return None;
    }
    let (date, time) = (date_of_digits(n / MILLION), (n % MILLION) as u32);
    let (hour, minute, second) = (time / 10_000, time / 100 % 100, time % 100);
    if date.month > 12 || date.day > 31 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let truncated = is_date && fraction != 0.0;
    let micro = if is_date {
        0
    } else {
        (fraction * 1e6).round() as u32
    };
    let value = DateTime::new(date, hour as u8, minute as u8, second as u8, 0, fsp);
    Some(ParsedDateTime {
        value: add_micro(value, micro)?,
        offset: None,
        truncated,
        has_time: !is_date,
    })
}

/// As [`number_to_moment`], of a date that the calendar has, with the liberties the mode takes.
pub fn number_to_datetime(n: i128, fraction: f64, fsp: u8, mode: SqlMode) -> Option<ParsedDateTime> {
    number_to_moment(n, fraction, fsp).filter(|parsed| valid_date(parsed.value.date, mode))
}

/// A duration, and whether the text was all of it and in range (out of range it is the nearest possible). That of a date and time is
/// its time of the day.
pub fn time(text: &[u8]) -> Option<(Time, bool)> {
    time_or_moment(text).map(|read| read.time(&TimeZone::UTC))
}

/// What a text is where a time is wanted.
#[derive(Clone, Copy, Debug)]
pub enum TimeOrMoment {
    /// A duration, and whether the text was all of it and in range.
    Time(Time, bool),
    /// A date and time, written in full.
    Moment(ParsedDateTime),
}

impl TimeOrMoment {
    /// The duration or the time of the day, and whether the text was all of it and in range. A moment with a zone is brought into the
    /// session's.
    pub fn time(self, zone: &TimeZone) -> (Time, bool) {
        match self {
            TimeOrMoment::Time(time, whole) => (time, whole),
            TimeOrMoment::Moment(parsed) => (parsed.in_zone(zone).time(), !parsed.truncated),
        }
    }
}

/// A text of twelve characters or more may be a date with its time, whatever the SQL mode forbids; every other is a duration.
pub fn time_or_moment(text: &[u8]) -> Option<TimeOrMoment> {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    let negative = s.peek() == Some(b'-');
    s.at += negative as usize;
    let start = s.at;
    if s.left() >= 12 {
        match read_datetime(&text[start..], true, SqlMode::ALLOW_INVALID_DATES) {
            Read::Moment(parsed) if !negative => return Some(TimeOrMoment::Moment(parsed)),
            Read::Moment(_) | Read::Wrong => return None,
            Read::Other => {}
        }
    }
    if s.left() == 0 {
        return None;
    }
    let (first, days, [hour, minute, second]) = days_and_clock(&mut s);
    if [first, hour, minute, second]
        .iter()
        .any(|part| *part > u32::MAX as u64)
        || minute > 59
        || second > 59
    {
        return None;
    }
    let (mut micro, mut fsp) = (0, 0);
    if s.peek() == Some(b'.') && (s.left() == 1 || s.is_digit(s.at + 1)) {
        s.at += 1;
        let from = s.at;
        (micro, fsp) = s.fraction();
        // Of more digits than six MySQL rounds by the last one here.
        if s.at - from > 6 {
            micro = text[from..from + 6]
                .iter()
                .fold(0, |n, b| n * 10 + (b - b'0') as u32);
            micro += (text[s.at - 1] >= b'5') as u32;
        }
    }
    if s.is_exponent() {
        return None;
    }
    let is_empty = s.at == start;
    s.spaces();
    let whole = s.at >= text.len();
    if is_empty && !whole {
        return None;
    }
    let hours = (days * 24 + hour).min(100_000_000);
    let (time, fits) = clamp_time(Time::from_hms(negative, hours, minute, second, micro as u64, fsp));
    Some(TimeOrMoment::Time(time, whole && fits))
}

/// The number that comes first, the days, and hours, minutes and seconds: `d h:m:s`, `h:m:s`, or a number of which each takes two digits.
fn days_and_clock(s: &mut Scanner) -> (u64, u64, [u64; 3]) {
    let first = s.number(usize::MAX).0;
    let mark = s.at;
    s.spaces();
    if s.left() > 1 && s.at > mark && s.digit() {
        (first, first, clock_parts(s, 0, [0; 3]))
    } else if s.left() > 1 && s.peek() == Some(b':') && s.is_digit(s.at + 1) {
        s.at += 1;
        (first, 0, clock_parts(s, 1, [first, 0, 0]))
    } else {
        (first, 0, [first / 10_000, first / 100 % 100, first % 100])
    }
}

/// Returns true for a text that is a duration but for its minutes or seconds, which are more than 59: out of range rather than wrong.
pub fn is_beyond_clock(text: &[u8]) -> bool {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    s.at += (s.peek() == Some(b'-')) as usize;
    if !s.digit() {
        return false;
    }
    let (first, _, clock) = days_and_clock(&mut s);
    let is_read = first <= u32::MAX as u64 && clock.iter().all(|part| *part <= u32::MAX as u64);
    is_read && clock[1..].iter().any(|part| *part > 59)
}

/// Returns true for a duration, whatever its parts are, behind which an exponent stands, as behind a double: no duration.
pub fn is_clock_with_exponent(text: &[u8]) -> bool {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    s.at += (s.peek() == Some(b'-')) as usize;
    days_and_clock(&mut s);
    if s.peek() == Some(b'.') {
        s.at += 1;
        s.fraction();
    }
    s.is_exponent()
}

/// Returns true for a zero with too few parts for a date, and nothing else: out of range rather than wrong.
pub fn is_short_zero(text: &[u8]) -> bool {
    text.contains(&b'0')
        && text
            .iter()
            .all(|b| *b == b'0' || b.is_ascii_punctuation() || is_space(*b))
}

/// Hours, minutes and seconds with colons between them, from one of them on.
fn clock_parts(s: &mut Scanner, from: usize, mut parts: [u64; 3]) -> [u64; 3] {
    for (at, part) in parts.iter_mut().enumerate().skip(from) {
        if at > from {
            if s.peek() != Some(b':') || !s.is_digit(s.at + 1) {
                break;
            }
            s.at += 1;
        }
        *part = s.number(usize::MAX).0;
    }
    parts
}

/// To ±838:59:59; false if it lay outside.
pub fn clamp_time(time: Time) -> (Time, bool) {
    if time.micros.abs() <= TIME_MAX_MICROS {
        return (time, true);
    }
    (
        Time {
            micros: TIME_MAX_MICROS * time.micros.signum(),
            fsp: time.fsp,
        },
        false,
    )
}

/// The duration a number writes: hhmmss.
pub fn number_to_time(n: i128, negative: bool, fraction: f64, fsp: u8) -> Option<(Time, bool)> {
    let n = n.unsigned_abs();
    if n >= 10_000_000_000 {
        let whole = number_to_moment(n as i128, fraction, fsp)?;
        return Some((whole.value.time(), true));
    }
    if n > 8_385_959 {
        return None;
    }
    let n = n as u64;
    let (hour, minute, second) = (n / 10_000, n / 100 % 100, n % 100);
    if minute > 59 || second > 59 {
        return None;
    }
    let micro = (fraction * 1e6).round() as u64;
    Some(clamp_time(Time::from_hms(
        negative, hour, minute, second, micro, fsp,
    )))
}

/// A date that a strict mode takes: not zero where the mode forbids it.
pub fn acceptable(parsed: &ParsedDateTime, mode: SqlMode) -> bool {
    !refused_by_mode(parsed.value.date, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dt(text: &str) -> Option<String> {
        datetime(text.as_bytes(), SqlMode::DEFAULT).map(|p| p.value.to_string())
    }

    fn tm(text: &str) -> Option<(String, bool)> {
        time(text.as_bytes()).map(|(t, whole)| (t.to_string(), whole))
    }

    #[test]
    fn dates_in_all_their_spellings() {
        let cases = [
            ("20-1-1", "2020-01-01 00:00:00"),
            ("2020/1/1 1:2", "2020-01-01 01:02:00"),
            ("2020-01-01T10:11:12.1234567", "2020-01-01 10:11:12.123457"),
            ("20200101", "2020-01-01 00:00:00"),
            ("200101", "2020-01-01 00:00:00"),
            ("20200101101112", "2020-01-01 10:11:12"),
            ("200101101112", "2020-01-01 10:11:12"),
            ("2020-01-01 10:11:12abc", "2020-01-01 10:11:12"),
            ("10:11:12", "2010-11-12 00:00:00"),
            ("4-12-3", "0004-12-03 00:00:00"),
            ("4.12.3", "2004-12-03 00:00:00"),
            ("1.001.001.00", "2001-00-01 00:01:00"),
            ("2024-01-31 10:11:12.5 +", "2024-01-31 10:11:12.5"),
            ("2024-01-31-", "2024-01-31 00:00:00"),
            ("20200101T101112", "2020-01-01 10:11:12"),
            ("2020-01-01 10", "2020-01-01 10:00:00"),
            ("2020.01.01", "2020-01-01 00:00:00"),
            ("2020-01-01 10.11.12", "2020-01-01 10:11:12"),
            ("0000-00-00", "0000-00-00 00:00:00"),
        ];
        for (text, want) in cases {
            assert_eq!(dt(text).as_deref(), Some(want), "{text}");
        }
        let not_dates = [
            "abc",
            "2020-01",
            "2020-13-01",
            "2020-02-30",
            "1-1",
            "2020-01-01 25:00:00",
            "2020010110",
            "20240229 10:11:12",
            "2024-01 -31",
            "2024-01-31 10:11:12+1:00",
        ];
        for text in not_dates {
            assert_eq!(dt(text), None, "{text}");
        }
    }

    #[test]
    fn times_in_all_their_spellings() {
        let cases = [
            ("1", "00:00:01", true),
            ("1112", "00:11:12", true),
            ("10:11", "10:11:00", true),
            ("1 10:11", "34:11:00", true),
            ("1 10", "34:00:00", true),
            ("-10:11:12.5", "-10:11:12.5", true),
            ("2020-01-01 10:11:12", "10:11:12", true),
            ("900:00:00", "838:59:59", false),
            ("10:11:12 PM", "10:11:12", false),
            ("1:2:3.4", "01:02:03.4", true),
            (".5", "00:00:00.5", true),
            (":10", "00:10:00", true),
            ("1 5", "00:00:01", false),
            ("1.001.001.00", "00:00:01.001", false),
            ("1.5234561239", "00:00:01.523457", true),
            ("2020-01-01T10:11:12", "00:20:20", false),
        ];
        for (text, want, whole) in cases {
            assert_eq!(tm(text), Some((want.to_string(), whole)), "{text}");
        }
        assert_eq!(tm("10:61:00"), None);
        for text in [
            "abc",
            "",
            "-",
            "1e1",
            "1.5E+2",
            "2020-13-01 10:11:12",
            "2020-01-32 10:11:12",
            "-2020-01-01 10:11:12",
        ] {
            assert_eq!(tm(text), None, "{text}");
        }
    }
}
