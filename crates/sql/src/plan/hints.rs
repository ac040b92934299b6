//! USE, FORCE and IGNORE INDEX, and the optimizer hints that come to the same.

use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, IndexHintKind};
use crate::types::Warnings;
use tidemark_engine::IndexNo;

/// Which indexes the hints leave, and whether the whole table is to be read only where none of them helps. An index that is not
/// there is error 1176, in an optimizer hint warning 3128.
pub fn hints(
    hints: &[ast::IndexHint],
    def: &TableDef,
    alias: &str,
    warnings: &Warnings,
) -> Result<(Option<Vec<IndexNo>>, bool)> {
    if hints.is_empty() {
        return Ok((None, false));
    }
    let mut allowed: Vec<IndexNo> = def.indexes.iter().map(|index| index.number).collect();
    let mut forced = false;
    let mut used: Option<Vec<IndexNo>> = None;
    let advised = hints.iter().any(|hint| hint.advice.is_some());
    for hint in hints.iter().filter(|hint| hint.advice.is_some() == advised) {
        let named = match (&hint.advice, hint.indexes.is_empty()) {
            (Some(_), true) => allowed.clone(),
            _ => named_by(hint, def, alias, warnings)?,
        };
        if hint.advice.is_some() && named.is_empty() {
            continue;
        }
        match hint.kind {
            IndexHintKind::Ignore => allowed.retain(|index| !named.contains(index)),
            IndexHintKind::Use => used.get_or_insert_default().extend(named),
            IndexHintKind::Force => {
                forced = true;
                used.get_or_insert_default().extend(named);
            }
        }
    }
    if let Some(used) = used {
        allowed.retain(|index| used.contains(index));
    }
    Ok((Some(allowed), forced))
}

fn named_by(hint: &ast::IndexHint, def: &TableDef, alias: &str, warnings: &Warnings) -> Result<Vec<IndexNo>> {
    let mut named = Vec::with_capacity(hint.indexes.len());
    for name in &hint.indexes {
        match (def.index(name), &hint.advice) {
            (Some(index), _) => named.push(index.number),
            (None, Some(advice)) => warnings.warn(SqlError::new(
                er::WARN_UNKNOWN_HINT_NAME,
                format!(
                    "Unresolved name {} `{name}` for {} hint",
                    advice.path, advice.hint
                ),
            )),
            (None, None) => {
                return Err(SqlError::new(
                    er::KEY_DOES_NOT_EXIST,
                    format!("Key '{name}' doesn't exist in table '{alias}'"),
                ));
            }
        }
    }
    Ok(named)
}
