//! How locales name days and months: what `lc_time_names` chooses for DATE_FORMAT, DAYNAME and MONTHNAME.
//!
//! `locales.txt` holds what MySQL 9.7 answers, in blocks of five lines: the locales that have the same names, each as `number:name`, then the
//! days from Monday, the same short, the months, and the same short. Each name of a day or month ends with `|`; some end with a space.

use std::sync::LazyLock;

/// The names of days and months in one locale.
#[derive(Clone, Copy, Debug)]
pub struct Locale {
    /// What `@@lc_time_names` shows, such as `de_DE`.
    pub name: &'static str,
    /// From Monday.
    pub days: [&'static str; 7],
    /// Short, as `%a` shows them.
    pub short_days: [&'static str; 7],
    /// From January.
    pub months: [&'static str; 12],
    /// Short, as `%b` shows them.
    pub short_months: [&'static str; 12],
}

/// By number.
static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| parse(include_str!("locales.txt")));

fn parse(text: &'static str) -> Vec<Locale> {
    let mut lines = text.lines();
    let mut numbered = Vec::new();
    while let Some(heads) = lines.next() {
        let block = Locale {
            name: "",
            days: names(lines.next()),
            short_days: names(lines.next()),
            months: names(lines.next()),
            short_months: names(lines.next()),
        };
        for (number, name) in heads.split(' ').filter_map(|head| head.split_once(':')) {
            numbered.push((number.parse::<usize>(), Locale { name, ..block }));
        }
    }
    numbered.sort_by_key(|(number, _)| number.clone().unwrap_or(usize::MAX));
    numbered.into_iter().map(|(_, locale)| locale).collect()
}

fn names<const N: usize>(line: Option<&'static str>) -> [&'static str; N] {
    let mut names = line.unwrap_or_default().split_terminator('|');
    std::array::from_fn(|_| names.next().unwrap_or_default())
}

impl Locale {
    /// Returns `en_US`, the default.
    pub fn english() -> &'static Locale {
        &LOCALES[0]
    }

    /// Returns all locales, by their numbers.
    pub fn all() -> &'static [Locale] {
        &LOCALES
    }

    /// Returns the locale of a name, in any case.
    pub fn by_name(name: &str) -> Option<&'static Locale> {
        LOCALES
            .iter()
            .find(|locale| locale.name.eq_ignore_ascii_case(name))
    }

    /// Returns the most characters that the name of a day has.
    pub fn day_length(&self) -> usize {
        longest(&self.days)
    }

    /// Returns the most characters that the name of a month has.
    pub fn month_length(&self) -> usize {
        longest(&self.months)
    }
}

fn longest(names: &[&str]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::calendar::{DAYS, MONTHS};

    #[test]
    fn every_locale_has_all_names() {
        assert_eq!(Locale::all().len(), 111);
        for locale in Locale::all() {
            let names = locale.days.iter().chain(&locale.short_days);
            let mut names = names.chain(&locale.months).chain(&locale.short_months);
            assert!(names.all(|name| !name.is_empty()), "{}", locale.name);
            assert_eq!(
                Locale::by_name(locale.name).map(|found| found.name),
                Some(locale.name)
            );
        }
        let english = Locale::english();
        assert_eq!(
            (english.name, english.days, english.months),
            ("en_US", DAYS, MONTHS)
        );
        assert_eq!(Locale::all()[110].name, "rm_CH");
        assert_eq!(
            Locale::by_name("DE_de").map(|german| german.months[2]),
            Some("März")
        );
        assert!(Locale::by_name("de").is_none());
    }
}
