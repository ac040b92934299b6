//! What is known of an index, and by which columns it tells its entries apart.

use crate::dictionary::{IndexDef, TableDef};

/// Leaves below an inner page, about.
const INNER_FANOUT: u64 = 300;
/// The name of the clustered index of a table without a primary key, and of its column.
const GENERATED_CLUSTERED: &str = "GEN_CLUST_INDEX";
const ROW_ID: &str = "DB_ROW_ID";

/// What is known of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStatistics {
    /// Its name.
    pub name: String,
    /// How many parts it has.
    pub own_parts: usize,
    /// Its [`key_columns`].
    pub columns: Vec<String>,
    /// Different values of the first of `columns`, of the first two, and so on.
    pub distinct: Vec<f64>,
    /// Leaves that were looked at.
    pub sampled_leaves: u64,
    /// Leaves.
    pub leaves: u64,
    /// All its pages.
    pub pages: u64,
}

impl IndexStatistics {
    /// Of an index with so many leaves, of which one was looked at; `None`: the clustered one of a table without a primary key.
    pub fn of(
        index: Option<&IndexDef>,
        columns: Vec<String>,
        distinct: Vec<f64>,
        leaves: u64,
    ) -> IndexStatistics {
        IndexStatistics {
            name: name_of(index).to_owned(),
            own_parts: index.map_or(0, |index| index.parts.len()),
            columns,
            distinct,
            sampled_leaves: 1,
            leaves,
            pages: match leaves {
                0 | 1 => 1,
                _ => leaves + leaves.div_ceil(INNER_FANOUT),
            },
        }
    }

    /// Whether it is of this index as the table defines it now.
    pub(super) fn is_of(&self, def: &TableDef, index: Option<&IndexDef>) -> bool {
        let parts = index.map_or(&[][..], |index| &index.parts);
        let columns = parts.iter().map(|part| &def.columns[part.column].name);
        self.name == name_of(index) && self.columns.iter().take(self.own_parts).eq(columns)
    }
}

fn name_of(index: Option<&IndexDef>) -> &str {
    index.map_or(GENERATED_CLUSTERED, |index| &index.name)
}

/// The columns by which an index tells its entries apart: those of its parts, then, unless those are enough, those of the primary key
/// that are not among them. Each with the number of the engine's parts up to it.
pub fn key_columns(def: &TableDef, index: Option<&IndexDef>) -> Vec<(String, usize)> {
    let own = index.map_or(&[][..], |index| &index.parts);
    let is_unique = index.is_some_and(|index| index.unique);
    let primary = def.primary().filter(|_| !is_unique);
    let behind = primary.map_or(&[][..], |primary| &primary.parts);
    let is_own = |column: usize| own.iter().any(|part| part.column == column);
    let all = own.iter().chain(behind).map(|part| part.column).zip(1..);
    let keys = all.filter(|(column, parts)| *parts <= own.len() || !is_own(*column));
    let mut keys: Vec<_> = keys
        .map(|(column, parts)| (def.columns[column].name.clone(), parts))
        .collect();
    if !is_unique && def.primary().is_none() {
        keys.push((ROW_ID.to_owned(), own.len() + 1));
    }
    keys
}
