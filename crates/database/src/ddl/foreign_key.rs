//! FOREIGN KEY constraints: what a definition must fulfil, on the side of the child and on that of the parent.
//!
//! A constraint is defined with the child and names its parent. What holds between the two, whichever of them changes:
//!
//! - The child has an index that begins with the referencing columns, in their order. If none is there one is made
//!   (*generated*), which goes again when another takes its place.
//! - The parent has the referenced columns, of types that compare alike, and an index that begins with them. With
//!   `restrict_fk_on_non_standard_key` it is a unique index of just these columns.
//! - Columns and indexes that a constraint needs stay as long as it does.
//!
//! With `foreign_key_checks` = 0 the parent may be missing, and collations may differ; the rules above are applied when a
//! table of the parent's name appears. So tables with constraints in a circle can be made, and a dump read in any order.
//!
//! Names of constraints are unique in a database. One that was made up from its table's name follows that name.

use super::{DdlContext, column, index};
use crate::accounts::{Privileges, table_denied};
use crate::dictionary::{
    CheckDef, ColumnDef, ForeignKeyDef, IndexDef, ReferentialAction, TableDef, names_equal, virtual_schema,
};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, IndexKind};
use crate::parse::parse_expression;
use crate::show::create::foreign_key_text;
use crate::types::{SqlType, TypeKind};
use std::collections::HashMap;

/// A table as the rules see it: one that is there, or one that is being defined.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub schema: &'a str,
    pub name: &'a str,
    pub columns: &'a [ColumnDef],
    pub indexes: &'a [IndexDef],
}

impl<'a> Shape<'a> {
    pub fn of(table: &'a TableDef) -> Shape<'a> {
        Shape {
            schema: &table.schema,
            name: &table.name,
            columns: &table.columns,
            indexes: &table.indexes,
        }
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| !column.is_key_part() && names_equal(&column.name, name))
    }
}

/// The number behind the names that are made up next: above those of the constraints that are there.
pub(super) fn next_number(table: &str, keys: &[ForeignKeyDef]) -> u64 {
    let numbers = keys.iter().filter_map(|key| made_up_number(&key.name, table));
    numbers.max().unwrap_or(0) + 1
}

fn made_up(table: &str, number: u64) -> String {
    format!("{table}_ibfk_{number}")
}

fn made_up_number(name: &str, table: &str) -> Option<u64> {
    let number = name.strip_prefix(table)?.strip_prefix("_ibfk_")?;
    number.parse().ok()
}

/// Tables that get other names at the same time: from database and name to database and name.
pub(super) type Moves<'m> = HashMap<(&'m str, &'m str), (&'m str, &'m str)>;

/// The constraints of a table under its new name, if it gets one, with the new names of the tables that they refer to.
pub(super) fn renamed(
    keys: &[ForeignKeyDef],
    from: &str,
    to: &str,
    moves: &Moves,
) -> Result<Vec<ForeignKeyDef>> {
    let mut keys = keys.to_vec();
    for key in &mut keys {
        if from != to
            && let Some(number) = made_up_number(&key.name, from)
        {
            key.name = made_up(to, number);
            column::check_identifier(&key.name)?;
        }
        if let Some((schema, name)) = moves.get(&(key.parent_schema.as_str(), key.parent.as_str())) {
            (key.parent_schema, key.parent) = ((*schema).to_owned(), (*name).to_owned());
        }
    }
    sort(&mut keys);
    Ok(keys)
}

/// In the order of their names they are tested and shown.
pub(super) fn sort(keys: &mut [ForeignKeyDef]) {
    keys.sort_by_cached_key(|key| key.name.to_lowercase());
}

/// A constraint as written, as it is kept. `next` is the number of the next name that is made up.
pub(super) fn define(
    written: &ast::ForeignKey,
    child: Shape,
    others: &[ForeignKeyDef],
    next: &mut u64,
) -> Result<ForeignKeyDef> {
    let name = match &written.name {
        Some(name) => name.clone(),
        None => {
            *next += 1;
            made_up(child.name, *next - 1)
        }
    };
    column::check_identifier(&name)?;
    if let Some(index) = &written.index {
        column::check_identifier(index)?;
    }
    let mut columns = Vec::with_capacity(written.columns.len());
    for written in &written.columns {
        let at = child
            .column(written)
            .ok_or_else(|| SqlError::key_column_missing(written))?;
        if columns.contains(&at) {
            return Err(SqlError::duplicate_column(written));
        }
        columns.push(at);
    }
    if others.iter().any(|other| names_equal(&other.name, &name)) {
        return Err(duplicate_name(&name));
    }
    let key = ForeignKeyDef {
        name,
        columns,
        parent_schema: written
            .table
            .schema
            .clone()
            .unwrap_or_else(|| child.schema.to_owned()),
        parent: written.table.name.clone(),
        parent_columns: written.referenced.clone(),
        on_delete: action(written.on_delete.as_deref()),
        on_update: action(written.on_update.as_deref()),
    };
    if !written.referenced.is_empty() && written.referenced.len() != key.columns.len() {
        return Err(wrong_definition(&key, child.name));
    }
    check_child(&key, child.columns)?;
    refuse_generated(&key, child.columns)?;
    Ok(key)
}

/// Errors 3104 and 3733: a cascade cannot give a generated column a value, and constraints are held against STORED ones only.
fn refuse_generated(key: &ForeignKeyDef, columns: &[ColumnDef]) -> Result<()> {
    let generated = || key.columns.iter().filter(|at| columns[**at].generated.is_some());
    let clause = match (key.on_delete, key.on_update) {
        (ReferentialAction::SetNull, _) => Some("ON DELETE SET NULL"),
        (_, ReferentialAction::Cascade) => Some("ON UPDATE CASCADE"),
        (_, ReferentialAction::SetNull) => Some("ON UPDATE SET NULL"),
        _ => None,
    };
    if let Some(clause) = clause
        && generated().next().is_some()
    {
        return Err(SqlError::new(
            er::WRONG_FK_OPTION_FOR_GENERATED_COLUMN,
            format!("Cannot define foreign key with {clause} clause on a generated column."),
        ));
    }
    match generated().find(|at| columns[**at].is_virtual()) {
        Some(at) => Err(uses_virtual(key, &columns[*at])),
        None => Ok(()),
    }
}

/// Error 3733.
fn uses_virtual(key: &ForeignKeyDef, column: &ColumnDef) -> SqlError {
    SqlError::new(
        er::FK_CANNOT_USE_VIRTUAL_COLUMN,
        format!(
            "Foreign key '{}' uses virtual column '{}' which is not supported.",
            key.name, column.name
        ),
    )
}

fn action(written: Option<&str>) -> ReferentialAction {
    match written {
        Some("RESTRICT") => ReferentialAction::Restrict,
        Some("CASCADE") => ReferentialAction::Cascade,
        Some("SET NULL") => ReferentialAction::SetNull,
        Some("SET DEFAULT") => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

/// Error 1239.
fn wrong_definition(key: &ForeignKeyDef, child: &str) -> SqlError {
    let name = match made_up_number(&key.name, child) {
        Some(_) => "foreign key without name",
        None => &key.name,
    };
    SqlError::new(
        er::WRONG_FK_DEF,
        format!(
            "Incorrect foreign key definition for '{name}': Key reference and table reference don't match"
        ),
    )
}

/// Error 1826.
fn duplicate_name(name: &str) -> SqlError {
    SqlError::new(
        er::FK_DUP_NAME,
        format!("Duplicate foreign key constraint name '{name}'"),
    )
}

/// Error 1830 if a column that may become NULL may not be NULL.
pub(super) fn check_child(key: &ForeignKeyDef, columns: &[ColumnDef]) -> Result<()> {
    if key.on_delete != ReferentialAction::SetNull && key.on_update != ReferentialAction::SetNull {
        return Ok(());
    }
    match key.columns.iter().find(|at| !columns[**at].ty.nullable) {
        None => Ok(()),
        Some(at) => Err(SqlError::new(
            er::FK_COLUMN_NOT_NULL,
            format!(
                "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                columns[*at].name, key.name
            ),
        )),
    }
}

/// Error 3823 if a CHECK constraint depends on a column that a referential action changes: cascades do not test it.
pub(super) fn check_checks(keys: &[ForeignKeyDef], columns: &[ColumnDef], checks: &[CheckDef]) -> Result<()> {
    let changing = |key: &&ForeignKeyDef| {
        key.on_delete == ReferentialAction::SetNull || key.on_update.changes_children()
    };
    for check in checks {
        let expr = parse_expression(&check.expression)?;
        let named = super::check::columns_of(&expr);
        for key in keys.iter().filter(changing) {
            let mut needed = key.columns.iter().map(|at| columns[*at].name.as_str());
            if let Some(column) = needed.find(|column| named.iter().any(|name| names_equal(name, column))) {
                return Err(SqlError::new(
                    er::CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN,
                    format!(
                        "Column '{column}' cannot be used in a check constraint '{}': needed in a foreign key constraint \
                         '{}' referential action.",
                        check.name, key.name
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// The index to be made for a constraint; `None` if there is one that serves. Those that were made for other constraints
/// and that this one makes superfluous are taken out; the caller does so with what it keeps for each index.
pub(super) fn generated_index(
    written: &ast::ForeignKey,
    key: &ForeignKeyDef,
    columns: &mut [ColumnDef],
    indexes: &[IndexDef],
) -> Result<Option<IndexDef>> {
    let serves = |index: &IndexDef| index.can_serve(&key.columns) && !is_superseded(index, &key.columns);
    let mut lead_to_all = indexes.iter().filter(|index| index.array_part(columns).is_none());
    if lead_to_all.any(serves) {
        return Ok(None);
    }
    let stay = indexes.iter().filter(|index| !is_superseded(index, &key.columns));
    let indexes: Vec<IndexDef> = stay.cloned().collect();
    let part = |name: &String| ast::IndexPart {
        column: name.clone(),
        length: None,
        descending: false,
        ordered: false,
        expression: None,
    };
    let def = ast::IndexDef {
        kind: IndexKind::Plain,
        name: written.name.clone().or_else(|| written.index.clone()),
        parts: written.columns.iter().map(part).collect(),
        comment: None,
        invisible: false,
        method: None,
    };
    let made = index::index(&def, columns, &[], &indexes)?;
    Ok(Some(IndexDef {
        generated: true,
        ..made
    }))
}

/// Whether an index was made for another constraint, and one of these columns serves for that as well.
pub(super) fn is_superseded(index: &IndexDef, columns: &[usize]) -> bool {
    let parts = index.parts.iter().map(|part| part.column);
    index.generated
        && index.parts.len() <= columns.len()
        && parts.eq(columns[..index.parts.len()].iter().copied())
}

/// Whether values of the two types are compared alike, as InnoDB sees it: integers of one width and sign, strings of one
/// collation, otherwise one kind of type.
pub(super) fn compare_alike(child: &SqlType, parent: &SqlType, collations: bool) -> bool {
    let text = |ty: &SqlType| ty.is_string() && !ty.is_member() && !ty.is_binary_string();
    let binary = |ty: &SqlType| ty.is_string() && !ty.is_member() && ty.is_binary_string();
    if text(child) && text(parent) {
        return !collations || child.collation == parent.collation;
    }
    if binary(child) && binary(parent) {
        return true;
    }
    let same_kind = child.kind == parent.kind && child.unsigned == parent.unsigned;
    match child.kind {
        _ if text(child) || binary(child) => false,
        TypeKind::Enum | TypeKind::Set | TypeKind::Bit => {
            same_kind && child.engine_type() == parent.engine_type()
        }
        TypeKind::Decimal | TypeKind::Float | TypeKind::Double => child.kind == parent.kind,
        _ => same_kind,
    }
}

/// Error 1828 if a constraint has the column.
pub(super) fn refuse_drop_of_column(keys: &[ForeignKeyDef], columns: &[ColumnDef], at: usize) -> Result<()> {
    match keys.iter().find(|key| key.columns.contains(&at)) {
        None => Ok(()),
        Some(key) => Err(SqlError::new(
            er::FK_COLUMN_CANNOT_DROP,
            format!(
                "Cannot drop column '{}': needed in a foreign key constraint '{}'",
                columns[at].name, key.name
            ),
        )),
    }
}

/// The index of a table that served for columns, given by their positions in the table as it will be.
pub(super) fn index_before<'t>(
    before: &'t TableDef,
    after: Shape,
    positions: &[usize],
) -> Option<&'t IndexDef> {
    let was = |at: &usize| before.column(&after.columns[*at].name);
    let was: Vec<usize> = positions.iter().map(was).collect::<Option<_>>()?;
    before.index_of_columns(&was)
}

/// What the rules depend on in a session.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// `foreign_key_checks`
    pub checks: bool,
    /// Strings must be of one collation. That of a constraint that is there may be changed without checks.
    pub collations: bool,
    /// `restrict_fk_on_non_standard_key`
    pub standard_keys: bool,
}

/// Whether the parent has what the constraint refers to. Errors 3734, 3780, 1822 and 6125.
pub(super) fn check_parent(key: &ForeignKeyDef, child: Shape, parent: Shape, rules: Rules) -> Result<()> {
    let failed = "Failed to add the foreign key constraint.";
    let mut positions = Vec::with_capacity(key.parent_columns.len());
    for name in &key.parent_columns {
        positions.push(parent.column(name).ok_or_else(|| {
            SqlError::new(
                er::FK_NO_COLUMN_PARENT,
                format!(
                    "{failed} Missing column '{name}' for constraint '{}' in the referenced table '{}'",
                    key.name, parent.name
                ),
            )
        })?);
    }
    if let Some(at) = positions.iter().find(|at| parent.columns[**at].is_virtual()) {
        return Err(uses_virtual(key, &parent.columns[*at]));
    }
    for (at, parent_at) in key.columns.iter().zip(&positions) {
        let (column, referenced) = (&child.columns[*at], &parent.columns[*parent_at]);
        if !compare_alike(&column.ty, &referenced.ty, rules.collations) {
            return Err(SqlError::new(
                er::FK_INCOMPATIBLE_COLUMNS,
                format!(
                    "Referencing column '{}' and referenced column '{}' in foreign key constraint '{}' are incompatible.",
                    column.name, referenced.name, key.name
                ),
            ));
        }
    }
    let serving = || {
        parent
            .indexes
            .iter()
            .filter(|index| index.begins_with(&positions) && index.array_part(parent.columns).is_none())
    };
    let to_itself = key.refers_to(child.schema, child.name) && key.columns == positions;
    if !rules.standard_keys && (to_itself || serving().next().is_none()) {
        return Err(SqlError::new(
            er::FK_NO_INDEX_PARENT,
            format!(
                "{failed} Missing index for constraint '{}' in the referenced table '{}'",
                key.name, parent.name
            ),
        ));
    }
    let standard = |index: &IndexDef| index.unique && index.parts.len() == positions.len();
    if rules.standard_keys && (to_itself || !serving().any(standard)) {
        return Err(SqlError::new(
            er::FK_NO_UNIQUE_INDEX_PARENT,
            format!(
                "{failed} Missing unique key for constraint '{}' in the referenced table '{}'",
                key.name, parent.name
            ),
        ));
    }
    Ok(())
}

impl DdlContext<'_> {
    pub(super) fn foreign_key_rules(&self) -> Rules {
        Rules {
            checks: self.state.settings.foreign_key_checks,
            collations: true,
            standard_keys: self.state.settings.restrict_fk_on_non_standard_key,
        }
    }

    /// Database and name of the tables that constraints refer to, from a table of this database; the account may refer to
    /// them.
    pub(super) fn parent_names<'k>(
        &self,
        keys: impl Iterator<Item = &'k ast::ForeignKey>,
        schema: &'k str,
    ) -> Result<Vec<(&'k str, &'k str)>> {
        let mut names = Vec::new();
        for key in keys {
            let parent_schema = key.table.schema.as_deref().unwrap_or(schema);
            super::check_table_name(&key.table.name)?;
            if virtual_schema(parent_schema).is_some() {
                return Err(self.state.database_denied(parent_schema));
            }
            let info = &self.state.info;
            let may = self.state.require_table(
                Privileges::REFERENCES,
                "REFERENCES",
                parent_schema,
                &key.table.name,
            );
            may.map_err(|_| {
                let table = format!("{parent_schema}.{}", key.table.name);
                table_denied("REFERENCES", &info.user, &info.host, &table)
            })?;
            names.push((parent_schema, key.table.name.as_str()));
        }
        Ok(names)
    }

    /// Completes a new constraint by its parent, and holds the two against each other. Error 1824 if there is no parent.
    pub(super) fn join_parent(&self, key: &mut ForeignKeyDef, child: Shape) -> Result<()> {
        let rules = self.foreign_key_rules();
        let own = key.refers_to(child.schema, child.name);
        let found = match own {
            true => None,
            false => self.find_base_table(&key.parent_schema, &key.parent),
        };
        let parent = match &found {
            Some(table) => Shape::of(table),
            None if own => child,
            None if rules.checks => {
                return Err(SqlError::new(
                    er::FK_CANNOT_OPEN_PARENT,
                    format!("Failed to open the referenced table '{}'", key.parent),
                ));
            }
            None if key.parent_columns.is_empty() => return Err(wrong_definition(key, child.name)),
            None => return Ok(()),
        };
        if key.parent_columns.is_empty() {
            // The primary key is meant.
            let primary = parent.indexes.iter().find(|index| index.name == index::PRIMARY);
            let parts = primary.map_or(&[][..], |index| &index.parts);
            let names = parts.iter().map(|part| parent.columns[part.column].name.clone());
            key.parent_columns = names.collect();
            if key.parent_columns.len() != key.columns.len() {
                return Err(wrong_definition(key, child.name));
            }
        }
        for name in &mut key.parent_columns {
            // As the parent writes it.
            if let Some(at) = parent.column(name) {
                name.clone_from(&parent.columns[at].name);
            }
        }
        check_parent(key, child, parent, rules)
    }

    /// Holds a table that is made or gets this name against the constraints that were waiting for a parent.
    pub(super) fn adopt_children(&self, parent: Shape) -> Result<()> {
        let dictionary = self.state.database.dictionary();
        for child in dictionary.children(parent.schema, parent.name) {
            for key in &child.foreign_keys {
                if key.refers_to(parent.schema, parent.name) {
                    let rules = self.foreign_key_rules();
                    let fits = check_parent(key, Shape::of(&child), parent, rules);
                    fits.map_err(|error| match rules.checks {
                        true => SqlError::new(er::CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint"),
                        false => error,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Error 1826 if another table of the database has a constraint of such a name.
    pub(super) fn foreign_key_names_are_free(
        &self,
        schema: &str,
        table: &str,
        keys: &[ForeignKeyDef],
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        for other in self.state.database.dictionary().tables(schema) {
            if other.name == table {
                continue;
            }
            for taken in &other.foreign_keys {
                if let Some(key) = keys.iter().find(|key| names_equal(&key.name, &taken.name)) {
                    return Err(duplicate_name(&key.name));
                }
            }
        }
        Ok(())
    }

    /// Error 3730 if one of these tables is the parent of a table that is none of them.
    pub(super) fn check_droppable(&self, tables: &[(&str, &str)]) -> Result<()> {
        if !self.state.settings.foreign_key_checks {
            return Ok(());
        }
        let dictionary = self.state.database.dictionary();
        for (schema, name) in tables {
            for child in dictionary.children(schema, name) {
                if tables.contains(&(child.schema.as_str(), child.name.as_str())) {
                    continue;
                }
                if let Some(key) = child.foreign_keys.iter().find(|key| key.refers_to(schema, name)) {
                    return Err(SqlError::new(
                        er::FK_CANNOT_DROP_PARENT,
                        format!(
                            "Cannot drop table '{name}' referenced by a foreign key constraint '{}' on table '{}'.",
                            key.name, child.name
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Error 1701 if another table refers to this one.
    pub(super) fn check_truncatable(&self, schema: &str, name: &str) -> Result<()> {
        if !self.state.settings.foreign_key_checks {
            return Ok(());
        }
        for child in self.state.database.dictionary().children(schema, name) {
            if child.schema == schema && child.name == name {
                continue;
            }
            if let Some(key) = child.foreign_keys.iter().find(|key| key.refers_to(schema, name)) {
                return Err(SqlError::new(
                    er::TRUNCATE_ILLEGAL_FK,
                    format!(
                        "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}`, CONSTRAINT `{}`)",
                        child.schema, child.name, key.name
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Error 1452, for a row that is there when a constraint comes.
pub(super) fn no_parent_row(child: &TableDef, key: &ForeignKeyDef) -> SqlError {
    SqlError::new(
        er::NO_REFERENCED_ROW_2,
        format!(
            "Cannot add or update a child row: a foreign key constraint fails (`{}`.`{}`, {})",
            child.schema,
            child.name,
            foreign_key_text(key, child)
        ),
    )
}
