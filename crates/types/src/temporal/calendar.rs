//! The proleptic Gregorian calendar by day numbers, as `TO_DAYS` counts them: 1 January of year 1 is day 366.

use super::Date;

/// Whether the year has a 29th of February.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0 && year != 0)
}

/// Days of a month from 1 to 12.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 365 or 366.
pub fn days_in_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

/// Days since year 0. Zero months and days count as MySQL counts them: linearly.
pub fn day_number(year: i64, month: i64, day: i64) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let days = 365 * year + 31 * (month - 1) + day;
    // Months before March belong, for leap days, to the year before.
    let (days, leap_base) = if month <= 2 {
        (days, year - 1)
    } else {
        (days - (month * 4 + 23) / 10, year)
    };
    let centuries = (leap_base / 100 + 1) * 3 / 4;
    days + leap_base / 4 - centuries
}

/// The inverse of [`day_number`]; `None` outside the years 0 to 9999.
pub fn from_day_number(days: i64) -> Option<Date> {
    if days <= 365 || days > 3_652_424 {
        return None;
    }
    let mut year = days * 100 / 36_525;
    let mut leap_days = (((year - 1) / 100) + 1) * 3 / 4;
    let mut day_of_year = days - year * 365 - (year - 1) / 4 + leap_days;
    while day_of_year > days_in_year(year) {
        day_of_year -= days_in_year(year);
        year += 1;
    }
    while day_of_year < 1 {
        year -= 1;
        day_of_year += days_in_year(year);
    }
    leap_days = 1;
    let mut month = leap_days;
    while day_of_year > days_in_month(year, month) {
        day_of_year -= days_in_month(year, month);
        month += 1;
    }
    Some(Date::new(year as u16, month as u8, day_of_year as u8))
}

/// 0 is Monday; with `sunday_first`, 0 is Sunday.
pub fn weekday(day_number: i64, sunday_first: bool) -> i64 {
    (day_number + 5 + sunday_first as i64).rem_euclid(7)
}

/// From 1 on.
pub fn day_of_year(date: Date) -> i64 {
    date.day_number() - day_number(date.year as i64, 1, 1) + 1
}

/// How weeks are numbered: MySQL's modes 0 to 7 in their three bits.
#[derive(Clone, Copy)]
pub struct WeekMode {
    /// Weeks begin on Monday rather than Sunday.
    pub monday_first: bool,
    /// Weeks are numbered 1 to 53 and belong to one year or the other, never week 0.
    pub week_year: bool,
    /// Week 1 is the first that begins with the first day of the week, rather than the first with 4 days.
    pub first_weekday: bool,
}

impl WeekMode {
    /// From the argument of `WEEK(date, mode)`.
    pub fn from_mode(mode: u64) -> WeekMode {
        let monday_first = mode & 1 != 0;
        // Without Monday first, the meaning of the third bit turns round.
        let first_weekday = (mode & 4 != 0) ^ !monday_first;
        WeekMode {
            monday_first,
            week_year: mode & 2 != 0,
            first_weekday,
        }
    }
}

/// The week and the year it belongs to.
pub fn week(date: Date, mode: WeekMode) -> (i64, i64) {
    let day = date.day_number();
    let mut year = date.year as i64;
    let mut first = day_number(year, 1, 1);
    let mut weekday_of_first = weekday(first, !mode.monday_first);
    let mut week_year = mode.week_year;
    if date.month == 1 && date.day as i64 <= 7 - weekday_of_first {
        let counts_to_last_year =
            mode.first_weekday && weekday_of_first != 0 || !mode.first_weekday && weekday_of_first >= 4;
        if !week_year && counts_to_last_year {
            return (0, year);
        }
        if counts_to_last_year {
            week_year = true;
            year -= 1;
            let days = days_in_year(year);
            first -= days;
            weekday_of_first = (weekday_of_first + 53 * 7 - days) % 7;
        }
    }
    let offset =
        if mode.first_weekday && weekday_of_first != 0 || !mode.first_weekday && weekday_of_first >= 4 {
            day - (first + (7 - weekday_of_first))
        } else {
            day - (first - weekday_of_first)
        };
    if week_year && offset >= 52 * 7 {
        let next = (weekday_of_first + days_in_year(year)) % 7;
        if !mode.first_weekday && next < 4 || mode.first_weekday && next == 0 {
            return (1, year + 1);
        }
    }
    (offset / 7 + 1, year)
}

/// The English names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From Monday.
pub const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_agree_with_to_days() {
        assert_eq!(day_number(1970, 1, 1), 719_528);
        assert_eq!(day_number(2024, 2, 29), 739_310);
        assert_eq!(day_number(9999, 12, 31), 3_652_424);
        for days in (366..3_652_424).step_by(17) {
            let d = from_day_number(days).unwrap();
            assert_eq!(d.day_number(), days, "{d}");
        }
        assert_eq!(from_day_number(365), None);
    }

    #[test]
    fn weeks_follow_their_mode() {
        let d = Date::new(2008, 2, 20);
        assert_eq!(week(d, WeekMode::from_mode(0)).0, 7);
        assert_eq!(week(d, WeekMode::from_mode(1)).0, 8);
        assert_eq!(week(Date::new(2008, 12, 31), WeekMode::from_mode(1)).0, 53);
        assert_eq!(week(Date::new(2000, 1, 1), WeekMode::from_mode(0)).0, 0);
        assert_eq!(week(Date::new(2000, 1, 1), WeekMode::from_mode(2)), (52, 1999));
        assert_eq!(weekday(day_number(2024, 1, 1), false), 0);
    }
}
