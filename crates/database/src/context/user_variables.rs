//! A session's user variables, and how much they hold: they stay after the statement that set them, so their sum is bounded.

use crate::error::Result;
use crate::types::{Val, Value};
use std::collections::HashMap;
use tidemark_memory::{Exceeded, Limit, hold};

/// About what a variable takes beside its name and its text.
const ENTRY_BYTES: u64 = 128;

/// Values by name, in lower case.
#[derive(Debug, Default)]
pub struct UserVariables {
    values: HashMap<String, Value>,
    bytes: u64,
}

fn bytes_of(name: &str, value: &Value) -> u64 {
    let text = match value {
        Val::Str(text) | Val::Json(text) | Val::Member(_, text) => text.len(),
        _ => 0,
    };
    ENTRY_BYTES + (name.len() + text) as u64
}

impl UserVariables {
    /// `None` if it was never set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self.values.get(name) {
            Some(value) => Some(value),
            None => self.values.get(&name.to_lowercase()),
        }
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<(&str, &Value)> {
        let mut all: Vec<_> = self.values.iter().map(|(name, value)| (&**name, value)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    /// Sets a variable. Error 3170, and the old value stays, if all together would hold more than the limit.
    pub fn set(&mut self, name: &str, value: Value, limit: Limit) -> Result<()> {
        let name = name.to_lowercase();
        // A variable holds no document, but its text.
        let value = match value {
            document @ Val::Json(_) => Val::Str(document.checked_text()?),
            other => other,
        };
        let old = self.values.get(&name).map_or(0, |old| bytes_of(&name, old));
        let new = bytes_of(&name, &value);
        let bytes = self.bytes - old + new;
        if bytes > limit.bytes && new > old {
            return Err(Exceeded(limit).into());
        }
        if new > old {
            // The value is there already, in the statement: what is asked is whether the session may keep it.
            hold(0)?;
        }
        self.bytes = bytes;
        self.values.insert(name, value);
        Ok(())
    }

    /// Forgets a variable, and returns what it was.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let value = self.values.remove(name)?;
        self.bytes -= bytes_of(name, &value);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_bounded_together_and_can_be_given_up() {
        let limit = Limit {
            bytes: 1000,
            name: "bound",
        };
        let mut variables = UserVariables::default();
        let text = |len: usize| Value::string(vec![b'a'; len]);
        variables.set("One", text(300), limit).unwrap();
        variables.set("two", text(300), limit).unwrap();
        let error = variables.set("three", text(300), limit).unwrap_err();
        assert!(error.code == 3170 && error.message.contains("'bound'"), "{error}");
        assert_eq!(variables.get("three"), None);
        assert_eq!(variables.get("ONE"), Some(&text(300)));
        // One may always be made smaller, and then there is room.
        variables.set("one", Value::Null, limit).unwrap();
        variables.set("three", text(300), limit).unwrap();
        assert_eq!(variables.remove("two"), Some(text(300)));
        variables.set("four", text(200), limit).unwrap();
    }
}
