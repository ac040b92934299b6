//! Paths into documents: `$`, then steps. Each step leads from the places found so far to others below them.
//!
//! ```text
//!  $.a[0]        the first element of member a          $.*   $[*]     all members, all elements
//!  $[1 to last]  a range of elements                    $**.a          member a, however deep it stands
//! ```
//!
//! A scalar is its own only element, so `$[0]`, `$[last]` and ranges with the first element lead from it to itself. A path
//! with `**` may lead to a place in several ways; it is found once. Places are found step by step, so that the time is
//! bounded by the steps and the document's size.

use super::Json;
use super::reader::Reader;
use crate::error::interrupt::Steps;
use std::collections::HashSet;

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    /// `.name`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[n]`, `[last - n]`
    Element(Index),
    /// `[n to m]`
    Range(Index, Index),
    /// `[*]`
    AnyElement,
    /// `**`
    Anywhere,
}

/// Which element of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    /// `n`, from 0.
    FromFirst(usize),
    /// `last - n`
    FromLast(usize),
}

impl Index {
    /// The position in an array of so many elements; `None` if it is before the first. It may be behind the last.
    pub fn position(self, len: usize) -> Option<usize> {
        match self {
            Index::FromFirst(at) => Some(at),
            Index::FromLast(back) => len.checked_sub(back)?.checked_sub(1),
        }
    }
}

/// The elements between two, both included, of an array of so many.
pub(super) fn range(first: Index, last: Index, len: usize) -> std::ops::Range<usize> {
    let end = last.position(len).map_or(0, |at| at.saturating_add(1)).min(len);
    let start = first.position(len).unwrap_or(0);
    start.min(end)..end
}

/// Reads a path like `$.a[0]."b c"`. The error is where it is wrong, in bytes.
pub fn parse_path(text: &str) -> Result<Vec<PathStep>, usize> {
    let mut reader = PathReader(Reader {
        text: text.as_bytes(),
        at: 0,
        is_normal: false,
        steps: Steps::default(),
    });
    let steps = reader.steps();
    steps.ok_or(reader.0.at)
}

/// Whether a path can lead to several places.
pub fn has_wildcard(path: &[PathStep]) -> bool {
    let many = |step: &PathStep| !matches!(step, PathStep::Member(_) | PathStep::Element(_));
    path.iter().any(many)
}

/// Every place a path leads to, each once, in the order of the document. `step` is told before each step how many places
/// there are, and may end the search.
pub fn find<'a, E>(
    root: &'a Json,
    path: &[PathStep],
    step: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Vec<&'a Json>, E> {
    let mut places = vec![root];
    let mut several_ways = false;
    for next in path {
        step(places.len())?;
        several_ways |= *next == PathStep::Anywhere;
        let mut found = Vec::with_capacity(places.len().min(16));
        for place in places {
            follow(place, next, &mut found);
        }
        if several_ways {
            let mut seen = HashSet::with_capacity(found.len());
            found.retain(|place| seen.insert(std::ptr::from_ref::<Json>(place)));
        }
        places = found;
        if places.is_empty() {
            break;
        }
    }
    Ok(places)
}

/// The places one step below a place.
fn follow<'a>(place: &'a Json, step: &PathStep, found: &mut Vec<&'a Json>) {
    match (step, place) {
        (PathStep::Member(name), Json::Object(_)) => found.extend(place.member(name)),
        (PathStep::AnyMember, Json::Object(members)) => found.extend(members.iter().map(|(_, v)| v)),
        (PathStep::AnyElement, Json::Array(list)) => found.extend(list),
        (PathStep::Element(index), Json::Array(list)) => {
            found.extend(index.position(list.len()).and_then(|at| list.get(at)));
        }
        (PathStep::Range(first, last), Json::Array(list)) => {
            found.extend(&list[range(*first, *last, list.len())]);
        }
        (PathStep::Element(index), _) if index.position(1) == Some(0) => found.push(place),
        (PathStep::Range(first, last), _) if !range(*first, *last, 1).is_empty() => found.push(place),
        (PathStep::Anywhere, _) => everything(place, found),
        _ => {}
    }
}

/// A place and all that is below it.
fn everything<'a>(place: &'a Json, found: &mut Vec<&'a Json>) {
    found.push(place);
    match place {
        Json::Array(list) => list.iter().for_each(|v| everything(v, found)),
        Json::Object(members) => members.iter().for_each(|(_, v)| everything(v, found)),
        _ => {}
    }
}

/// Reads a path; it stands where the path is wrong when a method returns `None`.
struct PathReader<'a>(Reader<'a>);

impl PathReader<'_> {
    fn accept(&mut self, text: &str) -> Option<()> {
        let found = self.0.text[self.0.at..].starts_with(text.as_bytes());
        found.then(|| self.0.at += text.len())
    }

    /// A sign that must be here. Where another stands, the path is wrong behind that.
    fn expect(&mut self, sign: u8) -> Option<()> {
        let found = self.0.peek()?;
        self.0.at += 1;
        (found == sign).then_some(())
    }

    fn steps(&mut self) -> Option<Vec<PathStep>> {
        let mut steps = Vec::new();
        self.0.spaces();
        self.expect(b'$')?;
        self.0.spaces();
        while let Some(byte) = self.0.peek() {
            steps.push(match byte {
                b'[' => self.elements()?,
                b'.' => self.members()?,
                b'*' => self.anywhere()?,
                _ => return None,
            });
            self.0.spaces();
        }
        (steps.last() != Some(&PathStep::Anywhere)).then_some(steps)
    }

    fn anywhere(&mut self) -> Option<PathStep> {
        self.0.at += 1;
        self.expect(b'*')?;
        (self.0.peek() != Some(b'*')).then_some(PathStep::Anywhere)
    }

    fn elements(&mut self) -> Option<PathStep> {
        self.0.at += 1;
        self.0.spaces();
        let step = match self.accept("*") {
            Some(()) => PathStep::AnyElement,
            None => {
                let first = self.index()?;
                let end = self.0.at;
                self.0.spaces();
                let spaced = self.0.at > end;
                match spaced && self.is_to() {
                    true => self.range_from(first)?,
                    false => PathStep::Element(first),
                }
            }
        };
        self.0.spaces();
        self.expect(b']')?;
        Some(step)
    }

    /// Whether the word `to` stands here, with a space behind it.
    fn is_to(&self) -> bool {
        let rest = &self.0.text[self.0.at..];
        rest.starts_with(b"to") && matches!(rest.get(2), Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// A range that no array has anything in is wrong.
    fn range_from(&mut self, first: Index) -> Option<PathStep> {
        self.0.at += 2;
        self.0.spaces();
        let last = self.index()?;
        let is_empty = match (first, last) {
            (Index::FromFirst(first), Index::FromFirst(last)) => last < first,
            (Index::FromLast(first), Index::FromLast(last)) => first < last,
            _ => false,
        };
        (!is_empty).then_some(PathStep::Range(first, last))
    }

    fn index(&mut self) -> Option<Index> {
        if self.accept("last").is_none() {
            return self.number().map(Index::FromFirst);
        }
        let end = self.0.at;
        self.0.spaces();
        if self.accept("-").is_none() {
            self.0.at = end;
            return Some(Index::FromLast(0));
        }
        self.0.spaces();
        self.number().map(Index::FromLast)
    }

    fn number(&mut self) -> Option<usize> {
        let rest = &self.0.text[self.0.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let written = std::str::from_utf8(&rest[..digits]).ok()?;
        let number: u32 = written.parse().ok()?;
        self.0.at += digits;
        Some(number as usize)
    }

    fn members(&mut self) -> Option<PathStep> {
        self.0.at += 1;
        self.0.spaces();
        if self.accept("*").is_some() {
            return Some(PathStep::AnyMember);
        }
        self.0.peek()?;
        if self.0.peek() == Some(b'"') {
            let start = self.0.at;
            let name = self.0.string().ok();
            if name.is_none() {
                self.0.at = self.end_of_quoted(start);
            }
            return name.map(PathStep::Member);
        }
        let rest = &self.0.text[self.0.at..];
        let ends = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b'.' | b'[' | b'*');
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let name = std::str::from_utf8(&rest[..end]).ok()?;
        self.0.at += end;
        is_identifier(name).then(|| PathStep::Member(name.to_owned()))
    }
}

impl PathReader<'_> {
    /// Behind the name in quotes that begins here.
    fn end_of_quoted(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.0.text.get(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => return at + 1,
                _ => at += 1,
            }
        }
        self.0.text.len()
    }
}

/// Whether a member's name stands in a path without quotes: an identifier of ECMAScript.
pub fn is_identifier(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let mut chars = name.chars();
    chars.next().is_some_and(starts) && chars.all(|c| starts(c) || c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn at(doc: &Json, path: &str) -> String {
        let path = parse_path(path).unwrap();
        let found = find(doc, &path, &mut |_| Ok::<(), Infallible>(())).unwrap();
        found.iter().map(|j| j.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn paths_lead_where_they_say() {
        let doc = Json::parse(r#"{"a": [1, {"b": 2}], "c d": {"b": 3}}"#).unwrap();
        assert_eq!(at(&doc, "$.a[0]"), "1");
        assert_eq!(at(&doc, " $ . a [ last ] . b "), "2");
        assert_eq!(at(&doc, "$.\"c d\".b"), "3");
        assert_eq!(at(&doc, "$**.b"), "2 3");
        assert_eq!(at(&doc, "$.a[*]"), r#"1 {"b": 2}"#);
        assert_eq!(at(&doc, "$.x"), "");
    }

    #[test]
    fn ranges_end_where_the_array_does() {
        let doc = Json::parse("[1, 2, 3, 4]").unwrap();
        assert_eq!(at(&doc, "$[1 to 2]"), "2 3");
        assert_eq!(at(&doc, "$[1 to 9]"), "2 3 4");
        assert_eq!(at(&doc, "$[last-1 to last]"), "3 4");
        assert_eq!(at(&doc, "$[last - 9 to 1]"), "1 2");
        assert_eq!(at(&doc, "$[3 to last-3]"), "");
        let scalar = Json::Int(7);
        for (path, found) in [
            ("$[0]", "7"),
            ("$[last]", "7"),
            ("$[0 to 3]", "7"),
            ("$[last-2 to last]", "7"),
            ("$[1 to 2]", ""),
            ("$[*]", ""),
        ] {
            assert_eq!(at(&scalar, path), found, "{path}");
        }
    }

    #[test]
    fn a_place_is_found_once_however_many_ways_lead_to_it() {
        let doc = Json::parse(r#"{"a": {"a": {"a": 1}}}"#).unwrap();
        assert_eq!(at(&doc, "$**.a"), r#"{"a": {"a": 1}} {"a": 1} 1"#);
        assert_eq!(at(&doc, "$**.a**.a"), r#"{"a": 1} 1"#);
        let mut deep = Json::Int(1);
        for _ in 0..99 {
            deep = Json::object(vec![("a".to_owned(), deep)]);
        }
        assert_eq!(at(&deep, &format!("${}", "**.a".repeat(99))), "1");
    }

    #[test]
    fn an_error_says_where_the_path_is_wrong() {
        for (path, position) in [
            ("a.b", 1),
            ("", 0),
            ("  ", 2),
            ("$.a[", 4),
            ("$.a[x]", 4),
            ("$**", 3),
            ("$***.a", 3),
            ("$.a.", 4),
            ("$.1a", 4),
            ("$[3 to 2]", 8),
            ("$[0 to2]", 5),
            ("$[1 to", 5),
            ("$[]", 2),
            ("$[ 1 ]a", 6),
            ("$*.a", 3),
            ("$.a-b", 5),
            ("$.\"abc", 6),
            ("$.\"a\\q\"", 7),
            ("$[last-]", 7),
            ("$[4294967296]", 2),
        ] {
            assert_eq!(parse_path(path), Err(position), "{path}");
        }
    }

    #[test]
    fn a_search_ends_when_it_is_told_to() {
        let path = parse_path("$.a.b").unwrap();
        let doc = Json::parse(r#"{"a": {"b": 1}}"#).unwrap();
        assert_eq!(find(&doc, &path, &mut |_| Err(())), Err(()));
    }
}
