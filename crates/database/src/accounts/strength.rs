//! What `validate_password` demands of passwords: length, kinds of characters, none of a dictionary's words, not the name of
//! the account that sets it. It is asked only once the component is installed.

use std::collections::HashSet;

/// `validate_password.policy`: each asks for what those before it ask, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyLevel {
    /// The length.
    Low,
    /// Digits, letters in both cases, other characters.
    Medium,
    /// No word of the dictionary.
    Strong,
}

/// The variables of the component.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `validate_password.policy`
    pub level: PolicyLevel,
    /// `validate_password.length`, in characters.
    pub length: usize,
    /// `validate_password.mixed_case_count`: so many upper and so many lower letters.
    pub mixed_case: usize,
    /// `validate_password.number_count`
    pub numbers: usize,
    /// `validate_password.special_char_count`
    pub special: usize,
    /// `validate_password.changed_characters_percentage`
    pub changed_pct: usize,
    /// The names of the session that sets a password, if they are to be looked for; the password may be none of them.
    pub names: Vec<String>,
}

/// Shorter words of a dictionary are not looked for, nor longer ones.
const WORD_LEN: std::ops::RangeInclusive<usize> = 4..=100;

/// The words of `validate_password.dictionary_file`, in lower case.
#[derive(Debug, Default)]
pub struct Dictionary(HashSet<String>);

impl Dictionary {
    /// Of a file's text, a word a line.
    pub fn of(text: &str) -> Dictionary {
        let words = text.lines().map(|line| line.trim_end().to_lowercase());
        Dictionary(words.filter(|word| WORD_LEN.contains(&word.len())).collect())
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without a word.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a word stands anywhere in the password.
    fn is_in(&self, password: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let lower = password.to_lowercase();
        let ends: Vec<usize> = lower
            .char_indices()
            .map(|(at, _)| at)
            .chain([lower.len()])
            .collect();
        ends.iter().any(|from| {
            let fitting = ends
                .iter()
                .filter(|to| **to > *from && WORD_LEN.contains(&(**to - from)));
            fitting.into_iter().any(|to| self.0.contains(&lower[*from..*to]))
        })
    }
}

impl Policy {
    /// The least length that leaves room for the characters that are demanded.
    pub fn length_min(numbers: usize, special: usize, mixed_case: usize) -> usize {
        numbers + special + 2 * mixed_case
    }

    fn has_characters(&self, password: &str) -> bool {
        let count = |is: fn(&char) -> bool| password.chars().filter(is).count();
        count(|c| c.is_numeric()) >= self.numbers
            && count(|c| c.is_uppercase()) >= self.mixed_case
            && count(|c| c.is_lowercase()) >= self.mixed_case
            && count(|c| !c.is_alphanumeric()) >= self.special
    }

    /// The password is a name of the account that sets it, as it is or backwards.
    fn is_name(&self, password: &str) -> bool {
        let mut names = self.names.iter().filter(|name| !name.is_empty());
        names.any(|name| *name == password || password.chars().rev().eq(name.chars()))
    }

    /// Whether the password may be set.
    pub fn allows(&self, password: &str, words: &Dictionary) -> bool {
        !self.is_name(password)
            && password.chars().count() >= self.length
            && (self.level < PolicyLevel::Medium || self.has_characters(password))
            && (self.level < PolicyLevel::Strong || !words.is_in(password))
    }

    /// VALIDATE_PASSWORD_STRENGTH(): 0, 25, 50, 75 or 100.
    pub fn strength(&self, password: &str, words: &Dictionary) -> u64 {
        let length = password.chars().count();
        if self.is_name(password) || length < *WORD_LEN.start() {
            0
        } else if length < self.length {
            25
        } else if !self.has_characters(password) {
            50
        } else if words.is_in(password) {
            75
        } else {
            100
        }
    }

    /// How many characters of a new password must differ from the present one's, and how many do, if these are too few. Case
    /// makes no difference.
    pub fn lacks_change(&self, present: &str, new: &str) -> Option<(usize, usize)> {
        let (present, new) = (present.to_lowercase(), new.to_lowercase());
        let length = present.chars().count().max(new.chars().count());
        let wanted = length * self.changed_pct / 100;
        let mut left: Vec<char> = present.chars().collect();
        let different = new.chars().filter(|c| {
            let found = left.iter().position(|other| other == c);
            found.map(|at| left.swap_remove(at)).is_none()
        });
        let different = different.count();
        (different < wanted).then_some((wanted, different))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(level: PolicyLevel) -> Policy {
        Policy {
            level,
            length: 8,
            mixed_case: 1,
            numbers: 1,
            special: 1,
            changed_pct: 50,
            names: vec!["gates_w".to_owned(), String::new()],
        }
    }

    #[test]
    fn each_policy_asks_for_more() {
        let words = Dictionary::of("Secret\nabc\n");
        let medium = policy(PolicyLevel::Medium);
        for (password, strength) in [
            ("", 0),
            ("abc", 0),
            ("abcdefg", 25),
            ("abcdefgh1", 50),
            ("xSECRETy1!", 75),
            ("abcdefghA1!", 100),
            ("gates_w", 0),
            ("w_setag", 0),
        ] {
            assert_eq!(medium.strength(password, &words), strength, "{password}");
            assert_eq!(medium.allows(password, &words), strength >= 75, "{password}");
        }
        assert!(policy(PolicyLevel::Low).allows("abcdefgh1", &words));
        assert!(!policy(PolicyLevel::Strong).allows("xSECRETy1!", &words));
        assert!(policy(PolicyLevel::Strong).allows("abcdefghA1!", &words));
        assert_eq!(words.len(), 1);
    }

    #[test]
    fn a_new_password_differs_in_enough_characters() {
        let policy = policy(PolicyLevel::Low);
        assert_eq!(policy.lacks_change("abcdefghA1!", "abcdefghA1?"), Some((5, 1)));
        assert_eq!(policy.lacks_change("abcdefghA1!", "ABCDEFGHa1!"), Some((5, 0)));
        assert_eq!(policy.lacks_change("abcdefghA1?", "zyxwvuT9?"), None);
    }
}
