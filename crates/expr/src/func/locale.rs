//! How locales write numbers: what `FORMAT(x, d, locale)` puts between digits.
//!
//! The table holds what MySQL 9.7 answers for each of its 111 locales, which is not always what is written in that country: two of them do
//! not group digits although they have a separator, and bg_BG groups them by a zero byte.

/// The separators of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NumberStyle {
    pub point: char,
    pub group: char,
    pub grouping: Grouping,
}

/// Which digits of a whole number are apart from others.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    None,
    /// By three.
    Thousands,
    /// The last three, then by two: lakh and crore.
    Indian,
}

const fn style(point: char, group: char, grouping: Grouping) -> NumberStyle {
    NumberStyle {
        point,
        group,
        grouping,
    }
}

/// Of FORMAT without a locale, whatever `lc_time_names` is.
pub(super) static EN_US: NumberStyle = style('.', ',', Grouping::Thousands);

static STYLES: [(&str, NumberStyle); 9] = [
    (
        "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD ar_SY ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US \
         en_ZA en_ZW es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US gu_IN he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK zh_TW",
        style('.', ',', Grouping::Thousands),
    ),
    ("ar_SA sr_RS", style('.', ',', Grouping::None)),
    (
        "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE fo_FO hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO \
         ru_UA sq_AL tr_TR uk_UA vi_VN",
        style(',', '.', Grouping::Thousands),
    ),
    ("bg_BG", style(',', '\0', Grouping::Thousands)),
    (
        "ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL pl_PL pt_BR pt_PT sl_SI",
        style(',', '.', Grouping::None),
    ),
    (
        "cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE",
        style(',', ' ', Grouping::Thousands),
    ),
    ("de_CH", style('.', '\'', Grouping::Thousands)),
    ("en_IN ta_IN te_IN", style('.', ',', Grouping::Indian)),
    ("it_CH rm_CH", style(',', '\'', Grouping::Thousands)),
];

impl NumberStyle {
    /// That of a locale, whose name is compared without case.
    pub fn of(locale: &str) -> Option<&'static NumberStyle> {
        let is_it = |names: &str| names.split(' ').any(|name| name.eq_ignore_ascii_case(locale));
        STYLES
            .iter()
            .find(|(names, _)| is_it(names))
            .map(|(_, style)| style)
    }

    /// Whether a separator comes before the digit that so many follow, itself counted.
    fn separates(&self, left: usize) -> bool {
        match self.grouping {
            Grouping::None => false,
            Grouping::Thousands => left.is_multiple_of(3),
            Grouping::Indian => left == 3 || left > 3 && !left.is_multiple_of(2),
        }
    }

    /// A number in decimal digits, with these separators.
    pub fn write(&self, plain: &str) -> String {
        let (sign, digits) = plain.strip_prefix('-').map_or(("", plain), |rest| ("-", rest));
        let (int, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut out = String::from(sign);
        for (at, digit) in int.chars().enumerate() {
            if at > 0 && self.separates(int.len() - at) {
                out.push(self.group);
            }
            out.push(digit);
        }
        if !fraction.is_empty() {
            out.push(self.point);
            out.push_str(fraction);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_types::Locale;

    #[test]
    fn every_locale_writes_numbers() {
        for locale in Locale::all() {
            assert!(NumberStyle::of(locale.name).is_some(), "{}", locale.name);
        }
        let names: usize = STYLES.iter().map(|(names, _)| names.split(' ').count()).sum();
        assert_eq!(names, Locale::all().len());
    }
}
