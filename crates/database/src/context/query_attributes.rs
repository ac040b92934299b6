//! What a client sends beside a command, by name: query attributes. They hold for the statements of that command and no longer.
//!
//! A statement reads them with `mysql_query_attribute_string()`, and `traceparent` says to which trace it belongs. Names are
//! compared as `utf8mb3_general_ci` has it, and of several with one name the first is found, as in MySQL.

use crate::types::Collation;
use std::cmp::Ordering;

/// The attributes of the command at hand.
#[derive(Clone, Debug, Default)]
pub struct QueryAttributes(Vec<(String, Option<Vec<u8>>)>);

impl QueryAttributes {
    /// Adds one; `None` is NULL. One without a name cannot be asked for and is left out.
    pub fn add(&mut self, name: String, value: Option<Vec<u8>>) {
        if !name.is_empty() {
            self.0.push((name, value));
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the first with this name; the inner `None` is NULL.
    pub fn find(&self, name: &str) -> Option<Option<&[u8]>> {
        let compare = |other: &str| Collation::UTF8MB3_GENERAL_CI.compare(other.as_bytes(), name.as_bytes());
        let found = self.0.iter().find(|(other, _)| compare(other) == Ordering::Equal);
        found.map(|(_, value)| value.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_found_in_any_case() {
        let mut attributes = QueryAttributes::default();
        attributes.add("Trace".to_owned(), Some(b"1".to_vec()));
        attributes.add("trace".to_owned(), Some(b"2".to_vec()));
        attributes.add("nothing".to_owned(), None);
        attributes.add("Öl".to_owned(), Some(b"3".to_vec()));
        assert_eq!(attributes.find("TRACE"), Some(Some(&b"1"[..])));
        assert_eq!(attributes.find("nothing"), Some(None));
        assert_eq!(attributes.find("oL"), Some(Some(&b"3"[..])));
        assert_eq!(attributes.find("trac"), None);
        attributes.add(String::new(), None);
        assert_eq!(attributes.find(""), None);
    }
}
