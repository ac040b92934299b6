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
}

impl ParsedDateTime {
    /// In the session's zone.
    pub fn in_zone(self, zone: &TimeZone) -> DateTime {
        match self.offset {
            Some(seconds) => {
                let instant = TimeZone::Offset(seconds).instant(self.value);
                zone.local(instant, self.value.fsp)
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

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn digit(&self) -> bool {
        self.peek().is_some_and(|b| b.is_ascii_digit())
    }

    /// Up to `max` digits: value and count.
    fn number(&mut self, max: usize) -> (u32, usize) {
        let (mut value, mut count) = (0u32, 0);
        while count < max && self.digit() {
            value = value
                .saturating_mul(10)
                .saturating_add((self.text[self.at] - b'0') as u32);
            self.at += 1;
            count += 1;
        }
        (value, count)
    }

    fn spaces(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at - start
    }

    fn punctuation(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_punctuation()) {
            self.at += 1;
        }
        self.at - start
    }

    /// The digits after a point: microseconds (the seventh digit rounds, so up to 1,000,000) and how many were written.
    fn fraction(&mut self) -> (u32, u8) {
        let (value, count) = self.number(6);
        let mut micro = value * 10u32.pow(6 - count as u32);
        if count == 6 && self.digit() {
            micro += (self.text[self.at] >= b'5') as u32;
            while self.digit() {
                self.at += 1;
            }
        }
        (micro, count as u8)
    }
}

/// A date, with or without time.
pub fn datetime(text: &[u8], mode: SqlMode) -> Option<ParsedDateTime> {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    if !s.digit() {
        return None;
    }
    let start = s.at;
    let run = text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    let next = text.get(start + run).copied();
    let compact = run >= 5 && !next.is_some_and(|b| matches!(b, b'-' | b'/' | b':'));
    let (fields, count, year_digits) = if compact {
        compact_fields(&mut s, run)
    } else {
        delimited_fields(&mut s)
    };
    if count < 3 {
        return None;
    }
    let [year, month, day, hour, minute, second] = fields;
    let year = if year_digits == 2 && !(year == 0 && month == 0 && day == 0) {
        full_year(year)
    } else {
        year
    };
    let (mut micro, mut fsp) = (0, 0);
    if count == 6 && s.peek() == Some(b'.') {
        s.at += 1;
        (micro, fsp) = s.fraction();
    }
    let mut offset = None;
    if count >= 4 && matches!(s.peek(), Some(b'+' | b'-')) {
        let rest = std::str::from_utf8(&text[s.at..]).ok()?;
        let found = rest.len() == 6 && rest.as_bytes()[3] == b':';
        offset = Some(parse_offset(rest).filter(|_| found)?);
        s.at = text.len();
    }
    s.spaces();
    if hour > 23 || minute > 59 || second > 59 || year > 9999 || month > 12 || day > 31 {
        return None;
    }
    let date = Date::new(year as u16, month as u8, day as u8);
    if !valid_date(date, mode) {
        return None;
    }
    let value = DateTime::new(date, hour as u8, minute as u8, second as u8, 0, fsp);
    Some(ParsedDateTime {
        value: add_micro(value, micro)?,
        offset,
        truncated: s.at < text.len(),
    })
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

/// A run of digits: 14, 12 and 6 to 8 of them have their meanings; a `T` may stand before the time.
fn compact_fields(s: &mut Scanner, run: usize) -> ([u32; 6], usize, usize) {
    let year_digits = if run == 8 || run >= 14 { 4 } else { 2 };
    let mut fields = [0; 6];
    let mut count = 0;
    for (i, field) in fields.iter_mut().enumerate() {
        if i == 3
            && matches!(s.peek(), Some(b'T' | b' '))
            && s.text.get(s.at + 1).is_some_and(u8::is_ascii_digit)
        {
            s.at += 1;
        }
        if i > 3 && s.peek() == Some(b':') {
            s.at += 1;
        }
        let (value, digits) = s.number(if i == 0 { year_digits } else { 2 });
        if digits == 0 {
            break;
        }
        *field = value;
        count += 1;
    }
    (fields, count, year_digits)
}

fn delimited_fields(s: &mut Scanner) -> ([u32; 6], usize, usize) {
    let mut fields = [0; 6];
    let mut year_digits = 0;
    let mut count = 0;
    for (i, field) in fields.iter_mut().enumerate() {
        // However many digits there are, they are the field, and too great a number is none.
        let (value, digits) = s.number(usize::MAX);
        if digits == 0 {
            break;
        }
        if i == 0 {
            year_digits = digits;
        }
        *field = value;
        count += 1;
        if i == 5 {
            break;
        }
        let mark = s.at;
        if i == 2 {
            let separated = if s.peek() == Some(b'T') {
                s.at += 1;
                1
            } else {
                s.spaces() + s.punctuation()
            };
            if separated == 0 || !s.digit() {
                s.at = mark;
                break;
            }
        } else {
            // The point before a fraction is no separator.
            if i >= 3 && matches!(s.peek(), Some(b'+' | b'-')) {
                break;
            }
            if s.punctuation() == 0 || !s.digit() {
                s.at = mark;
                break;
            }
        }
    }
    (fields, count, if year_digits <= 2 { 2 } else { year_digits })
}

/// The date a number writes: yymmdd, yyyymmdd, yymmddhhmmss or yyyymmddhhmmss. `fraction` is of a second.
pub fn number_to_datetime(n: i128, fraction: f64, fsp: u8, mode: SqlMode) -> Option<ParsedDateTime> {
    const MILLION: i128 = 1_000_000;
    let n = match n {
        0 => 0,
        1..101 => return None,
        101..=691_231 => (n + 20_000_000) * MILLION,
        691_232..700_101 => return None,
        700_101..=991_231 => (n + 19_000_000) * MILLION,
        991_232..10_000_101 => return None,
        10_000_101..=99_991_231 => n * MILLION,
        99_991_232..101_000_000 => return None,
        101_000_000..=691_231_235_959 => n + 20_000_000_000_000,
        691_231_235_960..700_101_000_000 => return None,
        700_101_000_000..=991_231_235_959 => n + 19_000_000_000_000,
        991_231_235_960..10_000_000_000_000 => return None,
        _ => n,
    };
    if n > 99_991_231_235_959 {
        return None;
    }
    let (date, time) = (n / MILLION, (n % MILLION) as u32);
    let date = Date::new(
        (date / 10_000) as u16,
        (date / 100 % 100) as u8,
        (date % 100) as u8,
    );
    let (hour, minute, second) = (time / 10_000, time / 100 % 100, time % 100);
    if !valid_date(date, mode) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let value = DateTime::new(date, hour as u8, minute as u8, second as u8, 0, fsp);
    let value = add_micro(value, (fraction * 1e6).round() as u32)?;
    Some(ParsedDateTime {
        value,
        offset: None,
        truncated: false,
    })
}

/// A duration, and whether the text was all of it and in range (out of range it is the nearest possible).
pub fn time(text: &[u8], mode: SqlMode) -> Option<(Time, bool)> {
    let mut s = Scanner { text, at: 0 };
    s.spaces();
    let negative = s.peek() == Some(b'-');
    s.at += negative as usize;
    if !s.digit() && s.peek() != Some(b':') {
        return None;
    }
    // A long text may be a whole date and time.
    if !negative
        && text.len() - s.at >= 12
        && looks_like_date(&text[s.at..])
        && let Some(whole) = datetime(text, mode)
    {
        return Some((whole.value.time(), !whole.truncated));
    }
    let (first, count) = s.number(9);
    let mark = s.at;
    let spaces = s.spaces();
    let (mut days, hour, minute, second);
    let mut bare = false;
    if spaces > 0 && s.digit() {
        days = first as u64;
        let (h, _) = s.number(9);
        let (m, sec) = colon_parts(&mut s);
        (hour, minute, second) = (h as u64, m.unwrap_or(0), sec.unwrap_or(0));
    } else {
        s.at = mark;
        days = 0;
        if s.peek() == Some(b':') && s.text.get(s.at + 1).is_some_and(u8::is_ascii_digit) {
            let (m, sec) = colon_parts(&mut s);
            (hour, minute, second) = (first as u64, m.unwrap_or(0), sec.unwrap_or(0));
        } else {
            bare = true;
            let n = first as u64;
            (hour, minute, second) = (n / 10_000, n / 100 % 100, n % 100);
        }
    }
    if count == 0 && bare {
        return None;
    }
    if minute > 59 || second > 59 {
        return None;
    }
    let (mut micro, mut fsp) = (0, 0);
    if s.peek() == Some(b'.') {
        s.at += 1;
        (micro, fsp) = s.fraction();
    }
    s.spaces();
    days = days.min(1_000_000);
    let time = Time::from_hms(negative, days * 24 + hour, minute, second, micro as u64, fsp);
    let whole = s.at >= text.len();
    Some(match clamp_time(time) {
        (t, true) => (t, whole),
        (t, false) => (t, false),
    })
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

fn looks_like_date(text: &[u8]) -> bool {
    let run = text.iter().take_while(|b| b.is_ascii_digit()).count();
    run >= 12 || run <= 4 && matches!(text.get(run), Some(b'-' | b'/' | b'.'))
}

fn colon_parts(s: &mut Scanner) -> (Option<u64>, Option<u64>) {
    let mut part = || {
        if s.peek() != Some(b':') || !s.text.get(s.at + 1).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        s.at += 1;
        Some(s.number(9).0 as u64)
    };
    let minute = part();
    let second = minute.and_then(|_| part());
    (minute, second)
}

/// The duration a number writes: hhmmss.
pub fn number_to_time(n: i128, negative: bool, fraction: f64, fsp: u8) -> Option<(Time, bool)> {
    let n = n.unsigned_abs();
    if n >= 10_000_000_000 {
        let whole = number_to_datetime(n as i128, fraction, fsp, SqlMode(0))?;
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
        time(text.as_bytes(), SqlMode::DEFAULT).map(|(t, whole)| (t.to_string(), whole))
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
        ];
        for (text, want, whole) in cases {
            assert_eq!(tm(text), Some((want.to_string(), whole)), "{text}");
        }
        assert_eq!(tm("10:61:00"), None);
        assert_eq!(tm("abc"), None);
    }
}
