//! Changes documents at a path.

use super::{Index, Json, PathStep, growth};
use crate::error::Result as SqlResult;

/// What a changing function does at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEdit {
    /// JSON_SET: replaces what is there, or adds.
    Set,
    /// JSON_INSERT: only adds.
    Insert,
    /// JSON_REPLACE: only replaces.
    Replace,
    /// JSON_ARRAY_APPEND: adds to the array that is there.
    Append,
    /// JSON_ARRAY_INSERT: moves the element that is there, and those behind it, to make room.
    ArrayInsert,
    /// JSON_REMOVE
    Remove,
}

/// Changes the place a path (without wildcards) leads to.
pub fn change(root: &mut Json, path: &[PathStep], kind: PathEdit, value: Json) -> SqlResult<()> {
    // A scalar is its own first element, however often that is said.
    let leads_to_itself = |step: &&PathStep| match step {
        PathStep::Element(index) => index.position(1) == Some(0),
        _ => false,
    };
    let skipped = match root {
        Json::Array(_) => 0,
        _ if kind == PathEdit::Remove => 0,
        _ => path.iter().take_while(leads_to_itself).count(),
    };
    let Some((step, rest)) = path[skipped..].split_first() else {
        match kind {
            PathEdit::Set | PathEdit::Replace => *root = value,
            PathEdit::Append => {
                let old = std::mem::replace(root, Json::Null);
                let mut list = if let Json::Array(list) = old {
                    list
                } else {
                    vec![old]
                };
                growth::push(&mut list, value)?;
                *root = Json::Array(list);
            }
            PathEdit::Insert | PathEdit::ArrayInsert | PathEdit::Remove => {}
        }
        return Ok(());
    };
    let adds = matches!(kind, PathEdit::Set | PathEdit::Insert) && rest.is_empty();
    match (step, root) {
        (PathStep::Member(name), Json::Object(members)) => {
            match members.iter().position(|(n, _)| n == name) {
                Some(at) if kind == PathEdit::Remove && rest.is_empty() => {
                    members.remove(at);
                }
                Some(at) => change(&mut members[at].1, rest, kind, value)?,
                None if adds => {
                    let mut all = std::mem::take(members);
                    growth::push(&mut all, (name.clone(), value))?;
                    if let Json::Object(sorted) = Json::large_object(all)? {
                        *members = sorted;
                    }
                }
                None => {}
            }
        }
        (PathStep::Element(index), Json::Array(list)) => match index.position(list.len()) {
            Some(at) if at < list.len() && kind == PathEdit::Remove && rest.is_empty() => {
                list.remove(at);
            }
            at if kind == PathEdit::ArrayInsert && rest.is_empty() => {
                growth::grow_by_one(list)?;
                list.insert(at.unwrap_or(0).min(list.len()), value);
            }
            Some(at) if at < list.len() => change(&mut list[at], rest, kind, value)?,
            Some(_) if adds => growth::push(list, value)?,
            None if adds => {
                growth::grow_by_one(list)?;
                list.insert(0, value);
            }
            _ => {}
        },
        (PathStep::Element(index), root) if adds => {
            let old = std::mem::replace(root, Json::Null);
            *root = Json::Array(match index {
                Index::FromFirst(_) => vec![old, value],
                Index::FromLast(_) => vec![value, old],
            });
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse_path;
    use super::*;

    #[test]
    fn changes_happen_where_their_path_leads() {
        let mut changed = Json::parse(r#"{"a": [1, {"b": 2}], "c d": {"b": 3}}"#).unwrap();
        change(
            &mut changed,
            &parse_path("$.a[5]").unwrap(),
            PathEdit::Set,
            Json::Int(9),
        )
        .unwrap();
        change(
            &mut changed,
            &parse_path("$.\"c d\"").unwrap(),
            PathEdit::Remove,
            Json::Null,
        )
        .unwrap();
        assert_eq!(changed.to_string(), r#"{"a": [1, {"b": 2}, 9]}"#);
        let itself = format!("$.a[0]{}", "[0]".repeat(100_000));
        change(
            &mut changed,
            &parse_path(&itself).unwrap(),
            PathEdit::Set,
            Json::Int(7),
        )
        .unwrap();
        assert_eq!(changed.to_string(), r#"{"a": [7, {"b": 2}, 9]}"#);
    }
}
