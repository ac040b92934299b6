//! How a table gets from one definition to the next: by the definition alone, by building indexes, or by a copy of its rows; and
//! what MySQL would find in the way.

use super::super::{check, default, index};
use super::draft::Draft;
use crate::dictionary::{ColumnDef, TableDef, TableOptions};
use crate::types::{SqlType, TypeKind};

/// What there is to be done beside writing the definition down.
pub struct Way {
    /// Rows are copied into a new table.
    pub copies: bool,
    /// And MySQL would copy them as well.
    pub copies_in_mysql: bool,
    /// Rows are tested against a new foreign key.
    pub tests_rows: bool,
    /// Nothing is done but what MySQL does at once.
    pub is_instant: bool,
    /// What MySQL finds in the way of a change in place.
    pub obstacle: Option<Obstacle>,
}

/// What keeps MySQL from a change in place, or from letting writers go on beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Rows have to be held against a CHECK.
    Checks,
    /// A column's values are stored in another way.
    Type,
    /// Rows have to be held against a foreign key.
    ForeignKeyChecks,
    /// The primary key goes, and no other comes.
    PrimaryKeyGoes,
    /// The values of a STORED column have to be computed.
    Stored,
    /// AUTO_INCREMENT values have to be given to the rows.
    Counter,
    /// An index has a functional part.
    FunctionalPart,
}

const COUNTER: &str = "Adding an auto-increment column requires a lock";
const FOREIGN_KEY_CHECKS: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const FUNCTIONAL_PART: &str = "ADD COLUMN col...VIRTUAL, ADD INDEX(col)";
const PRIMARY_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";
const TYPE: &str = "Cannot change column type INPLACE";

impl Obstacle {
    /// The reason that it is not done in place, if there is a word for it.
    pub fn to_inplace(self) -> Option<&'static str> {
        match self {
            Obstacle::Type => Some(TYPE),
            Obstacle::ForeignKeyChecks => Some(FOREIGN_KEY_CHECKS),
            Obstacle::PrimaryKeyGoes => Some(PRIMARY_KEY),
            Obstacle::Checks | Obstacle::Stored | Obstacle::Counter | Obstacle::FunctionalPart => None,
        }
    }

    /// The reason that it is not done at once.
    pub fn to_instant(self) -> Option<&'static str> {
        match self {
            Obstacle::Type => Some("Need to rebuild the table to change column type"),
            _ => self.to_writers(),
        }
    }

    /// The reason that there can be no writers meanwhile.
    pub fn to_writers(self) -> Option<&'static str> {
        match self {
            Obstacle::Counter => Some(COUNTER),
            Obstacle::FunctionalPart => Some(FUNCTIONAL_PART),
            _ => self.to_inplace(),
        }
    }
}

impl Way {
    /// From the old definition to the draft. `tests_rows`: foreign keys that come are to be held against the rows.
    pub fn of(old: &TableDef, draft: &Draft, tests_rows: bool) -> Way {
        let same_places = (0..old.columns.len()).map(Some).eq(draft.origins.iter().copied());
        let alike = |(new, old): (&ColumnDef, &ColumnDef)| is_stored_alike(&new.ty, &old.ty);
        let plain_columns = same_places
            && draft.columns.iter().zip(&old.columns).all(alike)
            && keeps_generated(&draft.columns, &old.columns);
        let same_primary = primary_origin(draft) == old.primary().map(|_| 0);
        let is_plain = plain_columns && same_primary && !draft.rebuild && !draft.tests_checks;
        let copies = !is_plain || draft.demands.is_copy();
        let tests_rows = tests_rows && !draft.new_foreign_keys.is_empty();
        Way {
            copies,
            copies_in_mysql: draft.demands.is_copy() || needs_copy_in_mysql(old, draft),
            tests_rows,
            is_instant: !copies && !tests_rows && changes_columns_alone(old, draft),
            obstacle: obstacle(old, draft, tests_rows),
        }
    }

    /// Whether it is what MySQL calls a copy.
    pub fn is_copy(&self) -> bool {
        self.copies || self.tests_rows
    }
}

/// Whether, of a definition whose rows stay as they are, MySQL changes nothing but what it does at once: names, defaults and the
/// visibility of columns, members of ENUM and SET, constraints that go, the table's name.
fn changes_columns_alone(old: &TableDef, draft: &Draft) -> bool {
    let options = |options: &TableOptions| {
        let mut options = options.clone();
        options.checks.clear();
        format!("{options:?}")
    };
    let keeps = |(new, old): (&ColumnDef, &ColumnDef)| new.ty == old.ty || new.ty.is_member();
    draft.columns.iter().zip(&old.columns).all(keeps)
        && format!("{:?}", draft.indexes) == format!("{:?}", old.indexes)
        && options(&draft.options) == options(&old.options)
        && draft.foreign_keys == old.foreign_keys
        && draft.auto_increment.is_none()
}

fn obstacle(old: &TableDef, draft: &Draft, tests_rows: bool) -> Option<Obstacle> {
    let checks = &draft.options.checks;
    let added = || {
        let columns = draft.columns.iter().zip(&draft.origins);
        columns
            .filter(|(_, origin)| origin.is_none())
            .map(|(column, _)| column)
    };
    if draft.tests_checks || retyped(old, draft).any(|column| check::name_column(checks, &column.name)) {
        Some(Obstacle::Checks)
    } else if retyped(old, draft).next().is_some() {
        Some(Obstacle::Type)
    } else if tests_rows {
        Some(Obstacle::ForeignKeyChecks)
    } else if loses_primary(old, draft) {
        Some(Obstacle::PrimaryKeyGoes)
    } else if computes_stored(old, draft) {
        Some(Obstacle::Stored)
    } else if added().any(|column| column.auto_increment) {
        Some(Obstacle::Counter)
    } else if added().any(ColumnDef::is_key_part) {
        Some(Obstacle::FunctionalPart)
    } else {
        None
    }
}

/// The columns that are stored in another way, other than for NULLs.
fn retyped<'d>(old: &'d TableDef, draft: &'d Draft) -> impl Iterator<Item = &'d ColumnDef> {
    let columns = draft.columns.iter().zip(&draft.origins);
    let retyped = columns.filter(move |(column, origin)| {
        let from = origin.map(|origin| &old.columns[origin].ty);
        !column.is_virtual()
            && from.is_some_and(|from| {
                !is_stored_alike(&column.ty, &from.clone().with_nullable(column.ty.nullable))
            })
    });
    retyped.map(|(column, _)| column)
}

fn loses_primary(old: &TableDef, draft: &Draft) -> bool {
    old.primary().is_some() && draft.index(index::PRIMARY).is_none()
}

/// Whether a STORED column comes, or is computed in another way.
fn computes_stored(old: &TableDef, draft: &Draft) -> bool {
    let is_stored = |column: &ColumnDef| column.generated.as_ref().is_some_and(|g| g.stored);
    let mut columns = draft.columns.iter().zip(&draft.origins);
    columns.any(|(column, origin)| {
        let before = origin.and_then(|origin| old.columns[origin].generated.as_ref());
        is_stored(column) && before != column.generated.as_ref()
    })
}

/// Where the draft's primary key comes from.
fn primary_origin(draft: &Draft) -> Option<usize> {
    let at = draft.index(index::PRIMARY)?;
    // A new primary key is not the old one, wherever that was.
    Some(draft.index_origins[at].unwrap_or(usize::MAX))
}

/// Whether MySQL would copy the rows one by one, and so count them: a column takes another type, a constraint has to be tested, values
/// have to be computed, or the primary key goes without another in its place.
pub fn needs_copy_in_mysql(old: &TableDef, draft: &Draft) -> bool {
    let mut columns = draft.columns.iter().zip(&draft.origins);
    let computes = columns.any(|(column, origin)| origin.is_none() && default::expression(column).is_some());
    computes
        || draft.tests_checks
        || retyped(old, draft).next().is_some()
        || computes_stored(old, draft)
        || loses_primary(old, draft)
}

/// Whether no generated column gets other values, for columns that come one from the other: what they are computed from, and how,
/// is what it was. One that is generated no more keeps the values it has.
fn keeps_generated(new: &[ColumnDef], old: &[ColumnDef]) -> bool {
    let none = |columns: &[ColumnDef]| columns.iter().all(|column| column.generated.is_none());
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|g| g.expression.clone());
    let same = |(new, old): (&ColumnDef, &ColumnDef)| new.ty == old.ty && expression(new) == expression(old);
    none(new) || new.iter().zip(old).all(same)
}

/// Whether values of the old type are values of the new one as they are stored, without reading them.
fn is_stored_alike(new: &SqlType, old: &SqlType) -> bool {
    if new == old {
        return true;
    }
    let longer = |new: &SqlType, old: &SqlType| {
        new.kind == TypeKind::VarChar
            && old.kind == TypeKind::VarChar
            && new.collation == old.collation
            && new.length >= old.length
    };
    let more_members = || {
        new.is_member()
            && new.kind == old.kind
            && new.collation == old.collation
            && new.members().starts_with(old.members())
            && new.engine_type() == old.engine_type()
    };
    let display_only = new.is_integer() && new.kind == old.kind && new.unsigned == old.unsigned;
    new.nullable == old.nullable
        && (longer(new, old) || more_members() || display_only && new.kind != TypeKind::Bit)
}
