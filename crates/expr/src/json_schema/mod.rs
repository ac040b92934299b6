//! JSON Schema, draft 4, as MySQL validates by it: a document is read from its beginning to its end, and the first requirement that
//! it fails is reported, with the keyword and where that stands in the schema and in the document.
//!
//! ```text
//!  a value:   type, and what is said of numbers and texts
//!               then its members or elements, one after the other, each by the schemas that apply to it
//!             at the end of an object or array: required, sizes, dependencies
//!             of the whole: enum, allOf, anyOf, oneOf, not
//! ```
//!
//! Keywords of another type than the standard asks for say nothing, as do `format` and patterns that are no regular expressions.
//! `$ref` refers to places in the schema itself, and not to one around it: a schema that has no end is refused (3157), as there.
//!
//! It is our own because the report is a part of the answer: which keyword fails first, and the names of the places, are what
//! MySQL (RapidJSON) says, and documents are our own trees, whose numbers are exact. Validators that are to be had report
//! everything in an order of their own, work on trees of `serde_json` and bring clients of HTTP and tables of time zones along.

mod place;
mod references;
mod scalars;

use crate::regexp::{Flags, Limits, Regex};
use place::{Place, at_pointer, local_pointer};
use references::check_references;
use scalars::{check_number, check_type};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::json::Json;

/// A schema. It can be used for any number of documents.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Json,
    /// By its text, what a pattern is compiled to; `None`: it is no regular expression.
    patterns: RefCell<HashMap<String, Option<Rc<Regex>>>>,
}

/// The requirement that a document fails.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// The keyword.
    pub keyword: &'static str,
    /// Where the schema with the keyword stands: `#/properties/a`.
    pub schema_location: String,
    /// Where the value stands that fails it.
    pub document_location: String,
}

impl Failure {
    /// What error 3934 says of it.
    pub fn reason(&self) -> String {
        format!(
            "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
            self.document_location, self.keyword, self.schema_location
        )
    }
}

/// A schema that applies to a value, and where it stands.
#[derive(Clone, Copy)]
struct Rule<'r> {
    schema: &'r Json,
    place: Place<'r>,
}

impl<'r> Rule<'r> {
    fn keyword(&self, name: &str) -> Option<&'r Json> {
        self.schema.member(name)
    }

    fn size(&self, name: &str) -> Option<u64> {
        match self.keyword(name)? {
            Json::Int(v) => u64::try_from(*v).ok(),
            Json::UInt(v) => Some(*v),
            _ => None,
        }
    }

    fn list(&self, name: &str) -> Option<&'r [Json]> {
        match self.keyword(name)? {
            Json::Array(list) => Some(list),
            _ => None,
        }
    }

    fn members(&self, name: &str) -> Option<&'r [(String, Json)]> {
        match self.keyword(name)? {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    fn is_true(&self, name: &str) -> bool {
        self.keyword(name) == Some(&Json::Bool(true))
    }

    fn is_false(&self, name: &str) -> bool {
        self.keyword(name) == Some(&Json::Bool(false))
    }
}

/// What came of a value: valid, or the first failure.
type Outcome = Result<std::result::Result<(), Failure>>;

/// Goes on if the value is valid so far.
macro_rules! valid {
    ($outcome:expr) => {
        if let Err(failure) = $outcome {
            return Ok(Err(failure));
        }
    };
}

impl Schema {
    /// Error 1235 if the schema refers to others outside of it, 3157 if it is in itself by its references.
    pub fn new(root: Json) -> Result<Schema> {
        check_references(&root)?;
        Ok(Schema {
            root,
            patterns: RefCell::default(),
        })
    }

    /// Whether a document is valid. `step` is called for each value that is looked at, and may end the validation.
    pub fn validate(&self, document: &Json, step: &mut dyn FnMut() -> Result<()>) -> Outcome {
        let rule = Rule {
            schema: &self.root,
            place: Place::Root,
        };
        Validation { schema: self, step }.value(rule, document, &Place::Root)
    }

    fn pattern(&self, pattern: &str) -> Result<Option<Rc<Regex>>> {
        if let Some(known) = self.patterns.borrow().get(pattern) {
            return Ok(known.clone());
        }
        check_memory()?;
        let compiled = match Regex::new(pattern.as_bytes(), false, Flags::default()) {
            Ok(regex) => Some(Rc::new(regex)),
            Err(error) if error.code == er::REGEXP_UNIMPLEMENTED => {
                return Err(SqlError::not_supported("such a pattern in a JSON schema"));
            }
            Err(error) if is_own(error.code) => return Err(error),
            Err(_) => None,
        };
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() < PATTERNS_KEPT {
            patterns.insert(pattern.to_owned(), compiled.clone());
        }
        Ok(compiled)
    }
}

/// Compiled patterns that a schema keeps; others are compiled each time.
const PATTERNS_KEPT: usize = 64;

/// True for errors that say nothing of the syntax of a pattern. One that is no expression asks for nothing.
fn is_own(code: u16) -> bool {
    matches!(
        code,
        er::CAPACITY_EXCEEDED
            | er::QUERY_INTERRUPTED
            | er::STACK_OVERRUN_NEED_MORE
            | er::REGEXP_PATTERN_TOO_BIG
    )
}

/// One document by one schema.
struct Validation<'v> {
    schema: &'v Schema,
    step: &'v mut dyn FnMut() -> Result<()>,
}

fn fail(keyword: &'static str, rule: &Rule, at: &Place) -> std::result::Result<(), Failure> {
    Err(Failure {
        keyword,
        schema_location: rule.place.fragment(),
        document_location: at.fragment(),
    })
}

impl<'v> Validation<'v> {
    /// The schema that a rule with `$ref` stands for. A reference that leads nowhere asks for nothing.
    fn resolved<'r>(&self, mut rule: Rule<'r>) -> Option<Rule<'r>>
    where
        'v: 'r,
    {
        while let Some(Json::String(target)) = rule.keyword("$ref") {
            if target.is_empty() {
                break;
            }
            let pointer = local_pointer(target)?;
            rule = Rule {
                schema: at_pointer(&self.schema.root, pointer)?,
                place: Place::Pointer(pointer),
            };
        }
        Some(rule)
    }

    fn value(&mut self, rule: Rule, value: &Json, at: &Place) -> Outcome {
        check_stack()?;
        (self.step)()?;
        let Some(rule) = self.resolved(rule) else {
            return Ok(Ok(()));
        };
        if !matches!(rule.schema, Json::Object(_)) {
            return Ok(Ok(()));
        }
        valid!(check_type(&rule, value, at));
        match value {
            Json::Object(members) => valid!(self.object(&rule, value, members, at)?),
            Json::Array(list) => valid!(self.array(&rule, list, at)?),
            Json::String(text) => valid!(self.text(&rule, text, at)?),
            number => valid!(check_number(&rule, number, at)),
        }
        self.whole(&rule, value, at)
    }

    fn is_match(&self, regex: &Regex, text: &str) -> Result<bool> {
        regex.is_match(text.as_bytes(), Limits::default())
    }

    fn is_valid(&mut self, rule: Rule, value: &Json, at: &Place) -> Result<bool> {
        Ok(self.value(rule, value, at)?.is_ok())
    }

    fn text(&mut self, rule: &Rule, text: &str, at: &Place) -> Outcome {
        let length = text.chars().count() as u64;
        if rule.size("minLength").is_some_and(|least| length < least) {
            return Ok(fail("minLength", rule, at));
        }
        if rule.size("maxLength").is_some_and(|most| length > most) {
            return Ok(fail("maxLength", rule, at));
        }
        if let Some(Json::String(pattern)) = rule.keyword("pattern")
            && let Some(regex) = self.schema.pattern(pattern)?
            && !self.is_match(&regex, text)?
        {
            return Ok(fail("pattern", rule, at));
        }
        Ok(Ok(()))
    }

    // ------------------------------------------------------------------------------------------------ objects

    fn object(&mut self, rule: &Rule, object: &Json, members: &[(String, Json)], at: &Place) -> Outcome {
        for (name, value) in members {
            valid!(self.member(rule, name, value, &Place::Member(at, name))?);
        }
        let properties = rule.members("properties").unwrap_or(&[]);
        for name in rule.list("required").unwrap_or(&[]) {
            if let Json::String(name) = name
                && object.member(name).is_none()
                && !has_default(properties, name)
            {
                return Ok(fail("required", rule, at));
            }
        }
        let count = members.len() as u64;
        if rule.size("minProperties").is_some_and(|least| count < least) {
            return Ok(fail("minProperties", rule, at));
        }
        if rule.size("maxProperties").is_some_and(|most| count > most) {
            return Ok(fail("maxProperties", rule, at));
        }
        for (name, wanted) in rule.members("dependencies").unwrap_or(&[]) {
            if object.member(name).is_none() {
                continue;
            }
            let holds = match wanted {
                Json::Array(others) => others.iter().all(|other| match other {
                    Json::String(other) => object.member(other).is_some(),
                    _ => true,
                }),
                schema => {
                    let list = Place::Member(&rule.place, "dependencies");
                    let place = Place::Member(&list, name);
                    self.is_valid(Rule { schema, place }, object, at)?
                }
            };
            if !holds {
                return Ok(fail("dependencies", rule, at));
            }
        }
        Ok(Ok(()))
    }

    /// A member by its name's schema, those of the patterns that its name matches, or else what is said of others.
    fn member(&mut self, rule: &Rule, name: &str, value: &Json, at: &Place) -> Outcome {
        let list = Place::Member(&rule.place, "properties");
        let own = rule.keyword("properties").and_then(|list| list.member(name));
        let own = own.map(|schema| Rule {
            schema,
            place: Place::Member(&list, name),
        });
        let other = match rule.keyword("additionalProperties") {
            Some(schema @ Json::Object(_)) if own.is_none() && !is_named(rule, name) => Some(Rule {
                schema,
                place: Place::Member(&rule.place, "additionalProperties"),
            }),
            _ => None,
        };
        let mut matching = Vec::new();
        let list = Place::Member(&rule.place, "patternProperties");
        for (pattern, schema) in rule.members("patternProperties").unwrap_or(&[]) {
            (self.step)()?;
            if let Some(regex) = self.schema.pattern(pattern)?
                && self.is_match(&regex, name)?
            {
                let place = Place::Member(&list, pattern);
                matching.push(Rule { schema, place });
            }
        }
        if matching.is_empty() {
            return match own.or(other) {
                Some(schema) => self.value(schema, value, at),
                None if rule.is_false("additionalProperties") && !is_named(rule, name) => {
                    Ok(fail("additionalProperties", rule, at))
                }
                None => Ok(Ok(())),
            };
        }
        let mut holds = true;
        for schema in matching {
            holds = holds && self.is_valid(schema, value, at)?;
        }
        holds = match (own, other) {
            (Some(own), _) => holds && self.is_valid(own, value, at)?,
            (None, Some(other)) => holds || self.is_valid(other, value, at)?,
            (None, None) => holds,
        };
        if holds {
            return Ok(Ok(()));
        }
        let nowhere = Rule {
            schema: &Json::Null,
            place: Place::Root,
        };
        Ok(fail("patternProperties", &nowhere, at))
    }

    // ------------------------------------------------------------------------------------------------- arrays

    fn array(&mut self, rule: &Rule, list: &[Json], at: &Place) -> Outcome {
        let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
        for (index, value) in list.iter().enumerate() {
            let at = Place::Element(at, index);
            valid!(self.element(rule, index, value, &at)?);
            if rule.is_true("uniqueItems") {
                let mut key = Vec::new();
                value.sort_key(&mut key)?;
                if !seen.insert(key) {
                    return Ok(fail("uniqueItems", rule, &at));
                }
            }
        }
        let count = list.len() as u64;
        if rule.size("minItems").is_some_and(|least| count < least) {
            return Ok(fail("minItems", rule, at));
        }
        if rule.size("maxItems").is_some_and(|most| count > most) {
            return Ok(fail("maxItems", rule, at));
        }
        Ok(Ok(()))
    }

    fn element(&mut self, rule: &Rule, index: usize, value: &Json, at: &Place) -> Outcome {
        let items = Place::Member(&rule.place, "items");
        match rule.keyword("items") {
            Some(schema @ Json::Object(_)) => self.value(Rule { schema, place: items }, value, at),
            Some(Json::Array(tuple)) => match (tuple.get(index), rule.keyword("additionalItems")) {
                (Some(schema), _) => {
                    let place = Place::Element(&items, index);
                    self.value(Rule { schema, place }, value, at)
                }
                (None, Some(schema @ Json::Object(_))) => {
                    let place = Place::Member(&rule.place, "additionalItems");
                    self.value(Rule { schema, place }, value, at)
                }
                (None, Some(Json::Bool(false))) => Ok(fail("additionalItems", rule, at)),
                (None, _) => Ok(Ok(())),
            },
            _ => Ok(Ok(())),
        }
    }

    // ---------------------------------------------------------------------------------------- whole values

    fn whole(&mut self, rule: &Rule, value: &Json, at: &Place) -> Outcome {
        if let Some(allowed) = rule.list("enum")
            && !allowed
                .iter()
                .any(|other| other.compare(value) == Ordering::Equal)
        {
            return Ok(fail("enum", rule, at));
        }
        if let Some(all) = rule.list("allOf")
            && self.valid_of(rule, "allOf", value, at, all.len())? < all.len()
        {
            return Ok(fail("allOf", rule, at));
        }
        if let Some(any) = rule.list("anyOf")
            && !any.is_empty()
            && self.valid_of(rule, "anyOf", value, at, 1)? == 0
        {
            return Ok(fail("anyOf", rule, at));
        }
        if let Some(one) = rule.list("oneOf")
            && !one.is_empty()
            && self.valid_of(rule, "oneOf", value, at, 2)? != 1
        {
            return Ok(fail("oneOf", rule, at));
        }
        if let Some(schema @ Json::Object(_)) = rule.keyword("not") {
            let place = Place::Member(&rule.place, "not");
            if self.is_valid(Rule { schema, place }, value, at)? {
                return Ok(fail("not", rule, at));
            }
        }
        Ok(Ok(()))
    }

    /// How many of a keyword's schemas the value is valid by, as soon as they are `enough`.
    fn valid_of(
        &mut self,
        rule: &Rule,
        keyword: &str,
        value: &Json,
        at: &Place,
        enough: usize,
    ) -> Result<usize> {
        let list = Place::Member(&rule.place, keyword);
        let mut count = 0;
        for (index, schema) in rule.list(keyword).unwrap_or(&[]).iter().enumerate() {
            let place = Place::Element(&list, index);
            count += usize::from(self.is_valid(Rule { schema, place }, value, at)?);
            if count == enough {
                break;
            }
        }
        Ok(count)
    }
}

/// Whether a name stands among those that an object must have, or that others of its members ask for: then it is no additional one.
fn is_named(rule: &Rule, name: &str) -> bool {
    let is_it = |other: &Json| matches!(other, Json::String(other) if other == name);
    let required = rule.list("required").unwrap_or(&[]);
    let dependencies = rule.members("dependencies").unwrap_or(&[]);
    required.iter().any(is_it)
        || dependencies.iter().any(|(key, wanted)| {
            key == name || matches!(wanted, Json::Array(others) if others.iter().any(is_it))
        })
}

/// Whether a member that is missing has a text by default, which makes up for it.
fn has_default(properties: &[(String, Json)], name: &str) -> bool {
    let own = properties.iter().find(|(other, _)| other == name);
    let default = own.and_then(|(_, schema)| schema.member("default"));
    matches!(default, Some(Json::String(text)) if !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    /// The keyword that fails and where, or `valid`.
    fn outcome(schema: &str, document: &str) -> String {
        let outcome = Schema::new(json(schema)).and_then(|s| s.validate(&json(document), &mut || Ok(())));
        match outcome {
            Ok(Ok(())) => "valid".to_owned(),
            Ok(Err(f)) => format!("{} {} {}", f.keyword, f.schema_location, f.document_location),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn the_first_failure_is_reported() {
        let schema = r#"{"properties": {"a": {"type": "integer", "minimum": 5}}, "required": ["b"], "maxProperties": 1}"#;
        assert_eq!(outcome(schema, r#"{"a": 3}"#), "minimum #/properties/a #/a");
        assert_eq!(outcome(schema, r#"{"a": 7}"#), "required # #");
        assert_eq!(outcome(schema, r#"{"a": 7, "b": 1}"#), "maxProperties # #");
        assert_eq!(outcome(schema, "3"), "valid");
    }

    #[test]
    fn places_are_fragments_of_uris() {
        let schema = r#"{"properties": {"a b/c~d": {"items": [{}, {"type": "null"}]}}}"#;
        assert_eq!(
            outcome(schema, r#"{"a b/c~d": [1, 2]}"#),
            "type #/properties/a%20b~1c~0d/items/1 #/a%20b~1c~0d/1"
        );
    }

    #[test]
    fn patterns_and_properties_apply_together() {
        let both =
            r#"{"patternProperties": {"^a": {"type": "string"}}, "properties": {"ab": {"type": "integer"}}}"#;
        assert_eq!(outcome(both, r#"{"ab": 1}"#), "patternProperties # #/ab");
        let others = r#"{"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}"#;
        assert_eq!(outcome(others, r#"{"ab": "x"}"#), "valid");
        assert_eq!(outcome(others, r#"{"b": "x"}"#), "additionalProperties # #/b");
        let required = r#"{"additionalProperties": false, "required": ["a"]}"#;
        assert_eq!(outcome(required, r#"{"a": 1}"#), "valid");
    }

    #[test]
    fn numbers_are_equal_whatever_they_are_written_as() {
        assert_eq!(outcome(r#"{"enum": [1, {"x": [1]}]}"#, "1.0"), "valid");
        assert_eq!(
            outcome(r#"{"uniqueItems": true}"#, "[1, 2, 1.0]"),
            "uniqueItems # #/2"
        );
        assert_eq!(outcome(r#"{"multipleOf": 0.1}"#, "0.3"), "valid");
        assert_eq!(outcome(r#"{"multipleOf": 0.01}"#, "4.567"), "multipleOf # #");
        assert_eq!(outcome(r#"{"type": "integer"}"#, "1.0"), "type # #");
        assert_eq!(
            outcome(r#"{"maximum": 5, "exclusiveMaximum": true}"#, "5"),
            "maximum # #"
        );
    }

    #[test]
    fn references_lead_inside() {
        let schema = r##"{"$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}}"##;
        assert_eq!(outcome(schema, "3"), "type #/definitions/x #");
        assert_eq!(outcome(r##"{"$ref": "#/nope"}"##, "3"), "valid");
        assert_eq!(outcome(r##"{"$ref": "#nope", "type": "string"}"##, "3"), "valid");
        assert_eq!(outcome(r##"{"properties": {"a": {"$ref": "#"}}}"##, "3"), "3157");
        assert_eq!(outcome(r#"{"items": {"$ref": "other.json"}}"#, "3"), "1235");
    }

    #[test]
    fn schemas_are_combined() {
        assert_eq!(
            outcome(r#"{"allOf": [{"type": "string"}, {"maxLength": 2}]}"#, "\"abc\""),
            "allOf # #"
        );
        assert_eq!(
            outcome(r#"{"anyOf": [{"type": "string"}, {"maximum": 2}]}"#, "3"),
            "anyOf # #"
        );
        assert_eq!(
            outcome(r#"{"oneOf": [{"type": "number"}, {"maximum": 2}]}"#, "1"),
            "oneOf # #"
        );
        assert_eq!(
            outcome(r#"{"oneOf": [{"type": "number"}, {"maximum": 2}]}"#, "3"),
            "valid"
        );
        assert_eq!(outcome(r#"{"not": {"type": "number"}}"#, "1"), "not # #");
        assert_eq!(outcome(r#"{"pattern": "("}"#, "\"a\""), "valid");
        assert_eq!(outcome(r#"{"pattern": "(?=a)b"}"#, "\"a\""), "pattern # #");
    }
}
