//! Session time zones: between UTC instants, which TIMESTAMP stores, and local date and time, which it shows.

use super::temporal::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::{Result, SqlError};

/// Day number of 1970-01-01.
const EPOCH_DAY: i64 = 719_528;

/// A time zone, as `@@time_zone` names one.
#[derive(Clone, Debug)]
pub enum TimeZone {
    /// The machine's.
    System(jiff::tz::TimeZone),
    /// `+05:30`, in seconds east.
    Offset(i32),
    /// `Europe/Berlin`
    Named(String, jiff::tz::TimeZone),
}

/// Where a local date and time is.
enum Local {
    At(i64),
    /// Clocks jump over it: the instant at which they do, and the fraction of the second.
    Gap(i64),
}

impl TimeZone {
    /// `+00:00`
    pub const UTC: TimeZone = TimeZone::Offset(0);

    /// The machine's.
    pub fn system() -> TimeZone {
        TimeZone::System(jiff::tz::TimeZone::system())
    }

    /// A value of the variable `time_zone`.
    pub fn parse(name: &str) -> Result<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Ok(TimeZone::system());
        }
        if let Some(seconds) = parse_offset(name) {
            return Ok(TimeZone::Offset(seconds));
        }
        match jiff::tz::TimeZone::get(name) {
            Ok(zone) if !name.is_empty() => {
                // The name in its own spelling, however it was written.
                let name = zone.iana_name().unwrap_or(name).to_owned();
                Ok(TimeZone::Named(name, zone))
            }
            _ => Err(SqlError::unknown_time_zone(name)),
        }
    }

    /// As `@@time_zone` prints it.
    pub fn name(&self) -> String {
        match self {
            TimeZone::System(_) => "SYSTEM".to_string(),
            TimeZone::Offset(s) => {
                let sign = if *s < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", s.abs() / 3600, s.abs() / 60 % 60)
            }
            TimeZone::Named(name, _) => name.clone(),
        }
    }

    fn offset_at(&self, micros: i64) -> i64 {
        match self {
            TimeZone::Offset(s) => *s as i64,
            TimeZone::System(zone) | TimeZone::Named(_, zone) => {
                match jiff::Timestamp::from_microsecond(micros) {
                    Ok(at) => zone.to_offset(at).seconds() as i64,
                    Err(_) => 0,
                }
            }
        }
    }

    /// Local date and time at an instant in microseconds since 1970 UTC.
    pub fn local(&self, micros: i64, fsp: u8) -> DateTime {
        let local = micros.saturating_add(self.offset_at(micros) * MICROS_PER_SECOND);
        let local = local.saturating_add(EPOCH_DAY * MICROS_PER_DAY);
        DateTime::from_micros(local, fsp).unwrap_or_default()
    }

    /// Like [`Self::local`], and says which of two instants with this local time it is.
    pub fn local_instant(&self, micros: i64, fsp: u8) -> DateTime {
        DateTime {
            repeated: self.repeats(micros),
            ..self.local(micros, fsp)
        }
    }

    /// 0 if no earlier instant has the same local time, else as [`DateTime::repeated`].
    fn repeats(&self, micros: i64) -> u16 {
        let (TimeZone::System(zone) | TimeZone::Named(_, zone)) = self else {
            return 0;
        };
        if zone.to_fixed_offset().is_ok() {
            return 0;
        }
        let (before, now) = (self.offset_at(micros - MICROS_PER_DAY), self.offset_at(micros));
        let back = (before - now) * MICROS_PER_SECOND;
        if back <= 0 || self.offset_at(micros - back) != before {
            return 0;
        }
        let left = self.transition(micros - back, micros) + back - micros;
        let minutes =
            left.div_euclid(60 * MICROS_PER_SECOND) + i64::from(left % (60 * MICROS_PER_SECOND) != 0);
        minutes.clamp(1, i64::from(u16::MAX)) as u16
    }

    /// The instant of a local date and time, in microseconds since 1970 UTC. In the gap of a spring change the
    /// instant is that of the change, as in MySQL; in the fold of autumn it is the earlier one unless it is marked as repeated.
    pub fn instant(&self, local: DateTime) -> i64 {
        match self.find(local) {
            Local::At(instant) | Local::Gap(instant) => instant,
        }
    }

    /// True if clocks show a local date and time twice.
    pub fn is_repeated(&self, local: DateTime) -> bool {
        let at = |repeated| self.instant(DateTime { repeated, ..local });
        at(0) != at(1)
    }

    /// True if clocks jump over a local date and time.
    pub fn is_skipped(&self, local: DateTime) -> bool {
        matches!(self.find(local), Local::Gap(_))
    }

    fn find(&self, local: DateTime) -> Local {
        let naive = local.to_micros() - EPOCH_DAY * MICROS_PER_DAY;
        if let TimeZone::Offset(s) = self {
            return Local::At(naive - *s as i64 * MICROS_PER_SECOND);
        }
        let before = self.offset_at(naive - MICROS_PER_DAY);
        let after = self.offset_at(naive + MICROS_PER_DAY);
        let order = match local.repeated {
            0 => [before, after],
            _ => [after, before],
        };
        for offset in order {
            let candidate = naive - offset * MICROS_PER_SECOND;
            if self.offset_at(candidate) == offset {
                return Local::At(candidate);
            }
        }
        let change = self.transition(naive - MICROS_PER_DAY, naive + MICROS_PER_DAY);
        Local::Gap(change + i64::from(local.micro))
    }

    /// The instant of the one change of offset between two instants.
    fn transition(&self, mut low: i64, mut high: i64) -> i64 {
        let first = self.offset_at(low);
        while high - low > MICROS_PER_SECOND {
            let middle = low + (high - low) / 2;
            if self.offset_at(middle) == first {
                low = middle
            } else {
                high = middle
            }
        }
        high / MICROS_PER_SECOND * MICROS_PER_SECOND
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

/// `±hh:mm` from -13:59 to +14:00, in seconds.
pub fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |s: &str| (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours) || !digits(minutes) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    (minutes < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds)).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_names() {
        assert_eq!(parse_offset("+05:30"), Some(19_800));
        assert_eq!(parse_offset("-13:59"), Some(-50_340));
        assert_eq!(parse_offset("+14:01"), None);
        assert_eq!(TimeZone::parse("-3:00").unwrap().name(), "-03:00");
        assert_eq!(TimeZone::parse("Nowhere/At").unwrap_err().code, 1298);
    }

    #[test]
    fn the_later_of_two_instants_is_told_apart() {
        let zone = TimeZone::parse("europe/berlin").unwrap();
        assert_eq!(zone.name(), "Europe/Berlin");
        let at = |seconds: i64| zone.local_instant(seconds * MICROS_PER_SECOND, 0);
        let (first, second) = (at(1_761_438_600), at(1_761_442_200));
        assert_eq!(first.to_string(), "2025-10-26 02:30:00");
        assert_eq!(first, second);
        assert_eq!([first, second, at(1_761_447_600)].map(|t| t.repeated), [0, 30, 0]);
        assert_eq!(zone.instant(first), 1_761_438_600 * MICROS_PER_SECOND);
        assert_eq!(zone.instant(second), 1_761_442_200 * MICROS_PER_SECOND);
        assert!(first.pack_instant() < at(1_761_439_500).pack_instant());
        assert!(at(1_761_439_500).pack_instant() < second.pack_instant());
    }

    #[test]
    fn instants_are_in_order_where_several_hours_or_midnight_are_repeated() {
        // Two hours back in Troll; an hour back from one minute after midnight in St. John's.
        for (name, from) in [
            ("Antarctica/Troll", 1_761_433_200),
            ("America/St_Johns", 1_257_037_200),
        ] {
            let zone = TimeZone::parse(name).unwrap();
            let order: Vec<u128> = (0..2_000)
                .map(|step| zone.local_instant((from + step * 17) * MICROS_PER_SECOND, 0))
                .inspect(|local| {
                    assert_eq!(
                        zone.local_instant(zone.instant(*local), 0).repeated,
                        local.repeated
                    )
                })
                .map(DateTime::pack_instant)
                .collect();
            assert!(order.is_sorted(), "{name}");
            let repeated = (0..2_000).filter(|step| zone.repeats((from + step * 17) * MICROS_PER_SECOND) > 0);
            assert!(repeated.count() > 200, "{name}");
        }
    }

    #[test]
    fn the_gap_of_spring_is_skipped() {
        let zone = TimeZone::parse("Europe/Berlin").unwrap();
        let gap = DateTime::new(crate::Date::new(2025, 3, 30), 2, 30, 0, 500_000, 6);
        assert!(zone.is_skipped(gap));
        assert_eq!(zone.instant(gap), 1_743_296_400_500_000);
        assert!(!zone.is_skipped(zone.local(1_743_296_400_000_000, 0)));
        assert!(!zone.is_repeated(gap));
        let twice = DateTime::new(crate::Date::new(2025, 10, 26), 2, 30, 0, 0, 0);
        assert!(zone.is_repeated(twice) && !zone.is_repeated(DateTime { hour: 3, ..twice }));
    }

    #[test]
    fn instants_round_trip() {
        let zone = TimeZone::Offset(3600);
        let local = zone.local(0, 0);
        assert_eq!(local.to_string(), "1970-01-01 01:00:00");
        assert_eq!(zone.instant(local), 0);
    }
}
