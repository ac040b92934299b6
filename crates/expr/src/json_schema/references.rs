//! `$ref`: a schema refers to places in itself, and comes to an end whichever of them are followed.

use super::place::{at_pointer, local_pointer};
use std::collections::HashSet;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::json::{Json, JsonError};

/// The references of a schema, while they are followed.
struct References<'j> {
    root: &'j Json,
    /// What is being looked at, by reference.
    open: Vec<&'j Json>,
    /// What references lead to and is in order.
    checked: HashSet<*const Json>,
}

/// Error 1235 if a schema refers to others outside of it, 3157 if it is in itself by its references.
pub(super) fn check_references(root: &Json) -> Result<()> {
    let mut references = References {
        root,
        open: vec![root],
        checked: HashSet::new(),
    };
    references.check(root)
}

impl<'j> References<'j> {
    fn check(&mut self, schema: &'j Json) -> Result<()> {
        check_stack()?;
        match schema {
            Json::Object(members) => {
                if let Some(Json::String(target)) = schema.member("$ref") {
                    self.follow(target)?;
                }
                members.iter().try_for_each(|(_, inner)| self.check(inner))
            }
            Json::Array(list) => list.iter().try_for_each(|inner| self.check(inner)),
            _ => Ok(()),
        }
    }

    fn follow(&mut self, target: &str) -> Result<()> {
        let Some(pointer) = local_pointer(target) else {
            return match target.starts_with('#') || target.is_empty() {
                true => Ok(()),
                false => Err(SqlError::not_supported("references in JSON Schema")),
            };
        };
        let Some(target) = at_pointer(self.root, pointer) else {
            return Ok(());
        };
        if self.open.iter().any(|open| std::ptr::eq(*open, target)) {
            return Err(JsonError::too_deep());
        }
        if self.checked.insert(std::ptr::from_ref(target)) {
            self.open.push(target);
            self.check(target)?;
            self.open.pop();
        }
        Ok(())
    }
}
