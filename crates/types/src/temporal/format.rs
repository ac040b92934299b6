//! `DATE_FORMAT`, `TIME_FORMAT` and `STR_TO_DATE`.

use super::calendar::{self, DAYS, MONTHS, WeekMode, day_of_year, week, weekday};
use super::{Date, DateTime, Locale, Time};
use crate::error::Result;
use crate::error::interrupt::Steps;
use std::fmt::Write;

/// `DATE_FORMAT`, with a locale's names of days and months; `None` where the date lacks what the format asks for (the weekday of a date without day).
/// Error 1317 if the statement is to end.
pub fn format_datetime(t: DateTime, format: &[u8], locale: &Locale) -> Result<Option<String>> {
    let format = String::from_utf8_lossy(format);
    let mut out = String::with_capacity(format.len() * 2);
    let mut chars = format.chars();
    let mut steps = Steps::default();
    while let Some(c) = chars.next() {
        steps.step()?;
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            None => out.push('%'),
            Some(code) => match date_part(t, code, locale, &mut out) {
                Some(()) => {}
                None => return Ok(None),
            },
        }
    }
    Ok(Some(out))
}

fn date_part(t: DateTime, code: char, locale: &Locale, out: &mut String) -> Option<()> {
    let d = t.date;
    let day = || (!d.has_zero_part()).then(|| weekday(d.day_number(), false) as usize);
    let month = || (d.month as usize).checked_sub(1);
    let weeks = |mode| week(d, WeekMode::from_mode(mode));
    // Writing to a String cannot fail.
    let _ = match code {
        'Y' => write!(out, "{:04}", d.year),
        'y' => write!(out, "{:02}", d.year % 100),
        'm' => write!(out, "{:02}", d.month),
        'c' => write!(out, "{}", d.month),
        'd' => write!(out, "{:02}", d.day),
        'e' => write!(out, "{}", d.day),
        'D' => write!(out, "{}{}", d.day, ordinal(d.day)),
        'M' => write!(out, "{}", locale.months.get(month()?)?),
        'b' => write!(out, "{}", locale.short_months.get(month()?)?),
        'W' => write!(out, "{}", locale.days[day()?]),
        'a' => write!(out, "{}", locale.short_days[day()?]),
        'w' => write!(out, "{}", (day()? + 1) % 7),
        'j' => write!(
            out,
            "{:03}",
            if d.has_zero_part() {
                return None;
            } else {
                day_of_year(d)
            }
        ),
        'U' => write!(out, "{:02}", weeks(0).0),
        'u' => write!(out, "{:02}", weeks(1).0),
        'V' => write!(out, "{:02}", weeks(2).0),
        'v' => write!(out, "{:02}", weeks(3).0),
        'X' => write!(out, "{:04}", weeks(2).1),
        'x' => write!(out, "{:04}", weeks(3).1),
        _ => {
            time_part(t.hour as u32, t.minute, t.second, t.micro, code, out);
            Ok(())
        }
    };
    Some(())
}

fn ordinal(day: u8) -> &'static str {
    match (day % 10, day / 10) {
        (_, 1) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

fn time_part(hour: u32, minute: u8, second: u8, micro: u32, code: char, out: &mut String) {
    let twelve = if hour.is_multiple_of(12) { 12 } else { hour % 12 };
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let _ = match code {
        'H' => write!(out, "{hour:02}"),
        'k' => write!(out, "{hour}"),
        'h' | 'I' => write!(out, "{twelve:02}"),
        'l' => write!(out, "{twelve}"),
        'i' => write!(out, "{minute:02}"),
        's' | 'S' => write!(out, "{second:02}"),
        'f' => write!(out, "{micro:06}"),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{twelve:02}:{minute:02}:{second:02} {half}"),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        other => write!(out, "{other}"),
    };
}

/// `TIME_FORMAT`: hours may exceed a day; date codes give zeros or NULL. Error 1317 if the statement is to end.
pub fn format_time(time: Time, format: &[u8]) -> Result<Option<String>> {
    let format = String::from_utf8_lossy(format);
    let (h, m, s, micro) = time.parts();
    let mut out = String::with_capacity(format.len() * 2);
    // The sign stands before all, whatever is shown.
    out.push_str(if time.negative() { "-" } else { "" });
    let mut chars = format.chars();
    let mut steps = Steps::default();
    while let Some(c) = chars.next() {
        steps.step()?;
        if c != '%' {
            out.push(c);
            continue;
        }
        let code = chars.next().unwrap_or('%');
        match code {
            'Y' => out.push_str("0000"),
            'y' | 'm' | 'd' => out.push_str("00"),
            'c' | 'e' => out.push('0'),
            'M' | 'b' | 'W' | 'a' | 'w' | 'j' | 'U' | 'u' | 'V' | 'v' | 'X' | 'x' | 'D' => {
                return Ok(None);
            }
            code => time_part(h, m, s, micro, code, &mut out),
        }
    }
    Ok(Some(out))
}

/// As how many characters `DATE_FORMAT` and `TIME_FORMAT` may write a format, as MySQL reckons: a name as long as in any language,
/// hours that go on beyond a day.
pub fn formatted_length(format: &[u8]) -> usize {
    let mut length = 0;
    let mut bytes = format.iter();
    while let Some(b) = bytes.next() {
        length += match (b, bytes.as_slice().first()) {
            (b'%', Some(code)) => {
                bytes.next();
                match code {
                    b'M' | b'W' => 64,
                    b'a' | b'b' => 32,
                    b'r' => 11,
                    b'T' => 8,
                    b'H' | b'k' => 7,
                    b'f' => 6,
                    b'Y' | b'X' | b'x' | b'D' => 4,
                    b'j' => 3,
                    b'c' | b'd' | b'e' | b'h' | b'I' | b'i' | b'l' | b'm' | b'p' | b'S' | b's' | b'U'
                    | b'u' | b'V' | b'v' | b'y' => 2,
                    _ => 1,
                }
            }
            _ => 1,
        };
    }
    length
}

/// What a format of `STR_TO_DATE` yields: known from the format alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    /// A date without a time.
    Date,
    /// A time without a date.
    Time,
    /// Both.
    DateTime,
}

/// Whether a format speaks of dates, of times or of both, and whether of fractions of a second.
pub fn format_kind(format: &[u8]) -> (FormatKind, bool) {
    let (mut date, mut time, mut fraction) = (false, false, false);
    let mut bytes = format.iter();
    while let Some(b) = bytes.next() {
        if *b == b'%' {
            match bytes.next() {
                Some(b'f') => {
                    fraction = true;
                    time = true;
                }
                Some(b'H' | b'i' | b'I' | b'h' | b'k' | b'l' | b'p' | b'r' | b's' | b'S' | b'T') => {
                    time = true
                }
                Some(
                    b'Y' | b'y' | b'm' | b'c' | b'd' | b'e' | b'D' | b'M' | b'b' | b'W' | b'a' | b'w' | b'j'
                    | b'U' | b'u' | b'V' | b'v' | b'X' | b'x',
                ) => date = true,
                _ => {}
            }
        }
    }
    let kind = match (date, time) {
        (_, false) => FormatKind::Date,
        (false, true) => FormatKind::Time,
        (true, true) => FormatKind::DateTime,
    };
    (kind, fraction)
}

/// The fields that a format has found so far.
#[derive(Default)]
struct Fields {
    year: Option<u32>,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micro: u32,
    twelve_hours: bool,
    afternoon: Option<bool>,
    day_of_year: Option<u32>,
    weekday: Option<u32>,
    week: Option<(u32, u64)>,
    week_year: Option<u32>,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self, max: usize) -> Option<u32> {
        let start = self.at;
        let mut n = 0u32;
        while self.at - start < max && self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            n = n * 10 + (self.text[self.at] - b'0') as u32;
            self.at += 1;
        }
        (self.at > start).then_some(n)
    }

    fn spaces(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// A name of a list, or its first `len` letters; its index.
    fn name(&mut self, names: &[&str], len: Option<usize>) -> Option<u32> {
        let rest = &self.text[self.at..];
        let found = names.iter().position(|n| {
            let wanted = &n.as_bytes()[..len.unwrap_or(n.len())];
            rest.get(..wanted.len())
                .is_some_and(|r| r.eq_ignore_ascii_case(wanted))
        })?;
        self.at += len.unwrap_or(names[found].len());
        Some(found as u32)
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        let rest = self.text[self.at..].get(..text.len())?;
        (rest == text.as_bytes()).then(|| self.at += text.len())
    }
}

/// `STR_TO_DATE`: the date and time, and whether text was left over. `None` if the text does not fit the format.
pub fn parse_by_format(text: &[u8], format: &[u8]) -> Result<Option<(DateTime, bool)>> {
    let format = String::from_utf8_lossy(format);
    let mut r = Reader { text, at: 0 };
    let mut f = Fields::default();
    let mut steps = Steps::default();
    let mut ended = Ok(());
    let go_on = &mut || {
        ended = steps.step();
        ended.is_ok()
    };
    let read = read_format(&mut r, &format, &mut f, go_on);
    ended?;
    r.spaces();
    let whole = r.at >= text.len();
    Ok(read.and_then(|()| Some((assemble(&f)?, whole))))
}

/// `go_on` says, for each character of the format, whether to.
fn read_format(r: &mut Reader, format: &str, f: &mut Fields, go_on: &mut dyn FnMut() -> bool) -> Option<()> {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if !go_on() {
            return None;
        }
        if r.at >= r.text.len() {
            // A text may end before its format does.
            break;
        }
        if c.is_whitespace() {
            r.spaces();
            continue;
        }
        if c != '%' {
            r.spaces();
            r.literal(c.encode_utf8(&mut [0; 4]))?;
            continue;
        }
        let code = chars.next()?;
        if !matches!(code, '%' | '.' | '@' | '#') {
            r.spaces();
        }
        read_code(r, code, f)?;
    }
    Some(())
}

fn read_code(r: &mut Reader, code: char, f: &mut Fields) -> Option<()> {
    match code {
        'Y' => {
            let start = r.at;
            let year = r.number(4)?;
            let short = r.at - start == 2;
            f.year = Some(if !short {
                year
            } else if year < 70 {
                2000 + year
            } else {
                1900 + year
            });
        }
        'y' => {
            let year = r.number(2)?;
            f.year = Some(if year < 70 { 2000 + year } else { 1900 + year });
        }
        'm' | 'c' => f.month = r.number(2)?,
        'M' => f.month = r.name(&MONTHS, None)? + 1,
        'b' => f.month = r.name(&MONTHS, Some(3))? + 1,
        'd' | 'e' => f.day = r.number(2)?,
        'D' => {
            f.day = r.number(2)?;
            r.at = (r.at + 2).min(r.text.len());
        }
        'H' | 'k' => f.hour = r.number(2)?,
        'h' | 'I' | 'l' => {
            f.hour = r.number(2).filter(|h| (1..=12).contains(h))?;
            f.twelve_hours = true;
        }
        'i' => f.minute = r.number(2)?,
        's' | 'S' => f.second = r.number(2)?,
        'f' => {
            let start = r.at;
            let micro = r.number(6)?;
            f.micro = micro * 10u32.pow(6 - (r.at - start) as u32);
        }
        'p' => f.afternoon = Some(r.name(&["AM", "PM"], None)? == 1),
        'r' => read_format(r, "%I:%i:%S %p", f, &mut || true)?,
        'T' => read_format(r, "%H:%i:%S", f, &mut || true)?,
        'j' => f.day_of_year = Some(r.number(3)?),
        'W' => f.weekday = Some(r.name(&DAYS, None)? + 1),
        'a' => f.weekday = Some(r.name(&DAYS, Some(3))? + 1),
        'w' => {
            f.weekday = Some(
                r.number(1)
                    .filter(|w| *w < 7)
                    .map(|w| if w == 0 { 7 } else { w })?,
            )
        }
        'U' => f.week = Some((r.number(2)?, 0)),
        'u' => f.week = Some((r.number(2)?, 1)),
        'V' => f.week = Some((r.number(2)?, 2)),
        'v' => f.week = Some((r.number(2)?, 3)),
        'X' | 'x' => f.week_year = Some(r.number(4)?),
        '.' => skip(r, u8::is_ascii_punctuation),
        '@' => skip(r, u8::is_ascii_alphabetic),
        '#' => skip(r, u8::is_ascii_digit),
        other => r.literal(other.encode_utf8(&mut [0; 4]))?,
    }
    Some(())
}

fn skip(r: &mut Reader, class: fn(&u8) -> bool) {
    while r.text.get(r.at).is_some_and(class) {
        r.at += 1;
    }
}

fn assemble(f: &Fields) -> Option<DateTime> {
    let mut hour = f.hour;
    if let Some(afternoon) = f.afternoon {
        if !f.twelve_hours {
            return None;
        }
        hour = hour % 12 + if afternoon { 12 } else { 0 };
    } else if f.twelve_hours {
        hour %= 12;
    }
    let mut date = Date::new(f.year.unwrap_or(0) as u16, f.month as u8, f.day as u8);
    if let (Some(day), Some(year)) = (f.day_of_year, f.year) {
        date = Date::from_day_number(calendar::day_number(year as i64, 1, 1) + day as i64 - 1)?;
    }
    if let (Some((number, mode)), Some(weekday)) = (f.week, f.weekday) {
        let year = f.week_year.or(f.year)? as i64;
        date = day_of_week(year, number as i64, weekday as i64, mode)?;
    }
    if hour > 23 || f.minute > 59 || f.second > 59 || date.month > 12 || f.month > 12 || f.day > 31 {
        return None;
    }
    Some(DateTime::new(
        date,
        hour as u8,
        f.minute as u8,
        f.second as u8,
        f.micro,
        6,
    ))
}

/// The date of a weekday (Monday 1 to Sunday 7) in a numbered week.
fn day_of_week(year: i64, number: i64, day: i64, mode: u64) -> Option<Date> {
    let sunday_first = mode & 1 == 0;
    let start = calendar::day_number(year, 1, 1);
    let first = weekday(start, sunday_first);
    // Where weeks start on Sundays, week 1 begins with the first Sunday; else with the week of 4 January.
    let begin = if sunday_first {
        start + (7 - first) % 7
    } else {
        start - first + if first <= 3 { 0 } else { 7 }
    };
    let offset = if sunday_first { day % 7 } else { day - 1 };
    Date::from_day_number(begin + (number - 1) * 7 + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let t = DateTime::new(Date::new(2009, 10, 4), 22, 23, 0, 0, 0);
        assert_eq!(
            format_datetime(t, b"%W %M %Y", Locale::english())
                .unwrap()
                .unwrap(),
            "Sunday October 2009"
        );
        assert_eq!(
            format_datetime(t, b"%H %k %I %r %T %S %w", Locale::english())
                .unwrap()
                .unwrap(),
            "22 22 10 10:23:00 PM 22:23:00 00 0"
        );
        assert_eq!(
            format_datetime(t, b"%D %y %a %d %m %b %j", Locale::english())
                .unwrap()
                .unwrap(),
            "4th 09 Sun 04 10 Oct 277"
        );
        assert_eq!(
            format_datetime(Date::new(2006, 6, 0).midnight(), b"%d", Locale::english())
                .unwrap()
                .unwrap(),
            "00"
        );
        assert_eq!(
            format_time(Time::from_hms(false, 100, 0, 0, 0, 0), b"%H %k %h %I %l")
                .unwrap()
                .unwrap(),
            "100 100 04 04 4"
        );
    }

    #[test]
    fn texts_by_format() {
        let parse = |text: &str, format: &str| {
            let parsed = parse_by_format(text.as_bytes(), format.as_bytes()).unwrap();
            parsed.map(|(t, whole)| (t.to_string(), whole))
        };
        assert_eq!(
            parse("01,5,2013", "%d,%m,%Y").unwrap().0,
            "2013-05-01 00:00:00.000000"
        );
        assert_eq!(
            parse("May 1, 2013", "%M %d,%Y").unwrap().0,
            "2013-05-01 00:00:00.000000"
        );
        assert_eq!(parse("09:30:17", "a%h:%i:%s"), None);
        assert_eq!(
            parse("09:30:17 PM", "%h:%i:%s %p").unwrap().0,
            "0000-00-00 21:30:17.000000"
        );
        assert_eq!(
            parse("200442 Monday", "%X%V %W").unwrap().0,
            "2004-10-18 00:00:00.000000"
        );
        assert!(!parse("9abc", "%d").unwrap().1);
    }
}
