//! How a table gets from one definition to the next: by the definition alone, by building indexes, or by a copy of its rows; and
//! what MySQL would find in the way.
//!
//! Columns come, go and change places by the definition alone, if those that come have the same value in all rows there are: the
//! engine keeps that value, and the rows (`Ddl::change_columns`).

use super::super::{check, default, index};
use super::draft::Draft;
use crate::dictionary::{ColumnDef, TableDef, TableOptions};
use crate::types::{SqlType, TypeKind};
use tidemark_engine::ROW_VERSIONS_MAX;

/// What there is to be done beside writing the definition down.
pub struct Way {
    /// Rows are copied into a new table.
    pub copies: bool,
    /// Columns come, go or change places beside the rows, which stay as they are.
    pub changes_columns: bool,
    /// They would, but have done so too often.
    pub versions_used_up: bool,
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
    /// From the old definition to the draft. `tests_rows`: foreign keys that come are to be held against the rows. `row_versions`: how
    /// often columns have come or gone beside the rows there are.
    pub fn of(old: &TableDef, draft: &Draft, tests_rows: bool, row_versions: usize) -> Way {
        let changes_columns = !(0..old.columns.len()).map(Some).eq(draft.origins.iter().copied());
        let alike = |(new, old): (&ColumnDef, &ColumnDef)| {
            is_stored_alike(&new.ty, &old.ty) && new.auto_increment == old.auto_increment
        };
        let keeps_columns = kept(old, draft).all(alike)
            && keeps_generated(old, draft)
            && (!changes_columns || added(draft).all(has_one_value) && builds_no_index(draft));
        let same_primary = primary_origin(draft) == old.primary().map(|_| 0);
        let keeps_rows = keeps_columns && same_primary && !draft.rebuild && !draft.tests_checks;
        let versions_used_up = keeps_rows && changes_columns && row_versions >= ROW_VERSIONS_MAX;
        let copies = !keeps_rows || versions_used_up || draft.demands.is_copy();
        let tests_rows = tests_rows && !draft.new_foreign_keys.is_empty();
        Way {
            copies,
            changes_columns: changes_columns && !copies,
            versions_used_up,
            copies_in_mysql: draft.demands.is_copy() || needs_copy_in_mysql(old, draft),
            tests_rows,
            is_instant: keeps_rows && !tests_rows && is_instant_in_mysql(old, draft),
            obstacle: obstacle(old, draft, tests_rows),
        }
    }

    /// Whether it is what MySQL calls a copy.
    pub fn is_copy(&self) -> bool {
        self.copies || self.tests_rows
    }
}

/// The columns that stay, each with what it was.
fn kept<'d>(old: &'d TableDef, draft: &'d Draft) -> impl Iterator<Item = (&'d ColumnDef, &'d ColumnDef)> {
    let columns = draft.columns.iter().zip(&draft.origins);
    columns.filter_map(|(column, origin)| origin.map(|origin| (column, &old.columns[origin])))
}

/// The columns that come.
pub fn added(draft: &Draft) -> impl Iterator<Item = &ColumnDef> {
    let columns = draft.columns.iter().zip(&draft.origins);
    columns
        .filter(|(_, origin)| origin.is_none())
        .map(|(column, _)| column)
}

/// Whether rows there are get a date of zeros from a column that comes, which a mode may refuse.
pub fn begins_with_zero_date(column: &ColumnDef) -> bool {
    let dates = matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime);
    dates && !column.ty.nullable && column.default.is_none() && column.generated.is_none()
}

/// Whether a column that comes has the same value in all rows there are.
fn has_one_value(column: &ColumnDef) -> bool {
    column.generated.is_none() && !column.auto_increment && default::expression(column).is_none()
}

fn builds_no_index(draft: &Draft) -> bool {
    draft.index_origins.iter().all(Option::is_some)
}

/// Whether, of a definition whose rows stay as they are, MySQL changes nothing but what it does at once: columns that come and go and
/// with them those that change places; names, defaults and the visibility of columns, members of ENUM and SET, constraints that go,
/// the table's name.
fn is_instant_in_mysql(old: &TableDef, draft: &Draft) -> bool {
    // Where the draft has a column of the old definition.
    let place = |column: usize| draft.origins.iter().position(|origin| *origin == Some(column));
    let stays = (0..old.columns.len()).filter_map(place);
    let stays_in_order = stays.is_sorted();
    let as_many = old.columns.len() == draft.columns.len() && added(draft).next().is_none();
    let mut indexes = old.indexes.clone();
    let mut keys = old.foreign_keys.clone();
    let parts = indexes.iter_mut().flat_map(|index| &mut index.parts);
    let columns = keys.iter_mut().flat_map(|key| &mut key.columns);
    for column in parts.map(|part| &mut part.column).chain(columns) {
        // An index that loses a column differs.
        *column = place(*column).unwrap_or(usize::MAX);
    }
    let options = |options: &TableOptions| {
        let mut options = options.clone();
        options.checks.clear();
        format!("{options:?}")
    };
    let keeps = |(new, old): (&ColumnDef, &ColumnDef)| new.ty == old.ty || new.ty.is_member();
    kept(old, draft).all(keeps)
        && (stays_in_order || !as_many)
        && format!("{:?}", draft.indexes) == format!("{indexes:?}")
        && options(&draft.options) == options(&old.options)
        && draft.foreign_keys == keys
        && draft.auto_increment.is_none()
        && !added(draft).any(begins_with_zero_date)
}

fn obstacle(old: &TableDef, draft: &Draft, tests_rows: bool) -> Option<Obstacle> {
    let checks = &draft.options.checks;
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
    } else if added(draft).any(|column| column.auto_increment) {
        Some(Obstacle::Counter)
    } else if added(draft).any(ColumnDef::is_key_part) {
        Some(Obstacle::FunctionalPart)
    } else {
        None
    }
}

/// The columns that are stored in another way, other than for NULLs, or that begin or cease to be AUTO_INCREMENT.
fn retyped<'d>(old: &'d TableDef, draft: &'d Draft) -> impl Iterator<Item = &'d ColumnDef> {
    let columns = draft.columns.iter().zip(&draft.origins);
    let retyped = columns.filter(move |(column, origin)| {
        let from = origin.map(|origin| &old.columns[origin]);
        !column.is_virtual()
            && from.is_some_and(|from| {
                let ty = from.ty.clone().with_nullable(column.ty.nullable);
                !is_stored_alike(&column.ty, &ty) || from.auto_increment != column.auto_increment
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
    let computes = |column: &ColumnDef| default::expression(column).is_some();
    added(draft).any(computes)
        || draft.tests_checks
        || retyped(old, draft).next().is_some()
        || computes_stored(old, draft)
        || loses_primary(old, draft)
}

/// Whether no generated column that stays gets other values: what it is computed from, and how, is what it was. One that is generated
/// no more keeps the values it has.
fn keeps_generated(old: &TableDef, draft: &Draft) -> bool {
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|g| g.expression.clone());
    let same = |(new, old): (&ColumnDef, &ColumnDef)| new.ty == old.ty && expression(new) == expression(old);
    kept(old, draft).all(|(new, _)| new.generated.is_none()) || kept(old, draft).all(same)
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
