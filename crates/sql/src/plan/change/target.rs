//! Resolves the target of INSERT, UPDATE or DELETE: binds its defaults and CHECK constraints, finds the columns that a
//! statement names, and tells which changes move a row within an index.

use super::foreign_keys::ForeignKeys;
use crate::dictionary::{ColumnDefault, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{AllowedColumns, Binder, Expr, PlainHooks, Scope, ScopeColumn, ScopeTable};
use crate::parse::{self, ast};
use crate::plan::generated::GeneratedColumns;
use std::sync::Arc;
use tidemark_engine::Table;

/// A table with what its definition means, bound and ready.
pub struct Target {
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    /// The expression defaults, by column.
    pub defaults: Vec<Option<Expr>>,
    has_computed: bool,
    /// The generated columns.
    pub generated: GeneratedColumns,
    /// The enforced CHECK constraints, by name.
    pub checks: Vec<(String, Expr)>,
    /// What the account may read of it; `None`: all.
    pub readable: Option<Arc<AllowedColumns>>,
    /// The columns that it may give values to in new rows; `None`: all.
    pub insertable: Option<Arc<AllowedColumns>>,
    /// The columns that it may change; `None`: all.
    pub updatable: Option<Arc<AllowedColumns>>,
    /// The foreign keys that the statement touches; `None`: none.
    pub foreign_keys: Option<Box<ForeignKeys>>,
}

/// The columns of a table as a scope sees them, none of them withheld.
fn scope_table(def: &TableDef, alias: Option<&str>, base: usize) -> ScopeTable {
    let columns = def.columns.iter().enumerate().map(|(at, column)| ScopeColumn {
        name: if column.is_key_part() {
            String::new()
        } else {
            column.name.clone()
        },
        ty: column.ty.clone(),
        slot: base + at,
        hidden: column.invisible,
        merged: column.is_key_part(),
        value: None,
    });
    ScopeTable {
        schema: alias.is_none().then(|| def.schema.clone()),
        alias: alias.unwrap_or(&def.name).to_owned(),
        columns: columns.collect(),
        readable: None,
    }
}

impl Target {
    pub fn new(def: Arc<TableDef>, table: Arc<Table>, binder: &Binder) -> Result<Target> {
        let mut scope = Scope::default();
        scope.add(scope_table(&def, None, 0))?;
        let bind = |text: &str| {
            let parsed = parse::parse_expression(text)?;
            binder.bind(&parsed, &scope, &mut PlainHooks)
        };
        let mut defaults = Vec::with_capacity(def.columns.len());
        for column in &def.columns {
            defaults.push(match &column.default {
                Some(ColumnDefault::Expression(text)) => Some(bind(text)?),
                _ => None,
            });
        }
        let mut checks = Vec::new();
        for check in def.options.checks.iter().filter(|check| check.enforced) {
            checks.push((check.name.clone(), bind(&check.expression)?));
        }
        Ok(Target {
            has_computed: defaults.iter().any(Option::is_some),
            generated: GeneratedColumns::of(&def, binder)?,
            def,
            table,
            defaults,
            checks,
            readable: None,
            insertable: None,
            updatable: None,
            foreign_keys: None,
        })
    }

    /// The table as the scope of a statement sees it, under its alias.
    pub fn scope_table(&self, alias: Option<&str>) -> ScopeTable {
        ScopeTable {
            readable: self.readable.clone(),
            ..scope_table(&self.def, alias, 0)
        }
    }

    /// The position of a column that a statement names and may use; errors 1054 and 1143. `allowed` is what it may use.
    pub fn column(&self, name: &str, allowed: &Option<Arc<AllowedColumns>>) -> Result<usize> {
        match (self.def.column(name), allowed) {
            (Some(at), None) => Ok(at),
            (Some(at), Some(allowed)) => allowed.check(at, name).map(|()| at),
            (None, Some(allowed)) => Err(allowed.denied(name)),
            (None, None) => Err(SqlError::unknown_column(name, "field list")),
        }
    }

    /// Whether a value is to be put into the column that a statement gives it: not so for a generated one, which takes DEFAULT
    /// alone. Error 3105 for another value.
    pub fn takes(&self, column: usize, value: &ast::Expr) -> Result<bool> {
        match (&self.def.columns[column].generated, value) {
            (None, _) => Ok(true),
            (Some(_), ast::Expr::Default(None)) => Ok(false),
            (Some(_), _) => Err(self.computed_already(column)),
        }
    }

    /// Error 3105 if one of these columns is generated: a query gives them values.
    pub fn refuse_generated(&self, columns: &[usize]) -> Result<()> {
        let mut columns = columns.iter();
        match columns.find(|at| self.def.columns[**at].generated.is_some()) {
            Some(at) => Err(self.computed_already(*at)),
            None => Ok(()),
        }
    }

    fn computed_already(&self, column: usize) -> SqlError {
        SqlError::new(
            er::NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN,
            format!(
                "The value specified for generated column '{}' in table '{}' is not allowed.",
                self.def.columns[column].name, self.def.name
            ),
        )
    }

    /// True if the column's default is an expression, which may be computed from other columns.
    pub fn is_computed(&self, column: usize) -> bool {
        self.defaults[column].is_some()
    }

    /// True if any column's default is an expression.
    pub fn has_computed(&self) -> bool {
        self.has_computed
    }

    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Whether no unique index comes after this one.
    pub fn is_last_unique(&self, index: usize) -> bool {
        let others = self.def.indexes.iter();
        others
            .filter(|other| other.unique)
            .all(|other| other.number <= index)
    }

    /// Whether one of the columns is part of the index, or decides where the row stands.
    pub fn moves(&self, columns: &[usize], index: usize) -> bool {
        let has = |number| {
            let def = self.def.index_by_number(number);
            def.is_some_and(|def| def.parts.iter().any(|part| columns.contains(&part.column)))
        };
        has(0) || has(index)
    }
}
