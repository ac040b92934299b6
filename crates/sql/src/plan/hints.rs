//! USE, FORCE and IGNORE INDEX.

use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, IndexHintKind};
use tidemark_engine::IndexNo;

/// Which indexes the hints leave, and whether the whole table is to be read only where none of them helps; error 1176.
pub fn hints(hints: &[ast::IndexHint], def: &TableDef, alias: &str) -> Result<(Option<Vec<IndexNo>>, bool)> {
    if hints.is_empty() {
        return Ok((None, false));
    }
    let mut allowed: Vec<IndexNo> = def.indexes.iter().map(|index| index.number).collect();
    let mut forced = false;
    let number = |name: &String| {
        def.index(name).map(|index| index.number).ok_or_else(|| {
            SqlError::new(
                er::KEY_DOES_NOT_EXIST,
                format!("Key '{name}' doesn't exist in table '{alias}'"),
            )
        })
    };
    let mut used: Option<Vec<IndexNo>> = None;
    for hint in hints {
        let named = hint.indexes.iter().map(number).collect::<Result<Vec<_>>>()?;
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
