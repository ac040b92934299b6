//! Resolves the target of INSERT, UPDATE or DELETE: binds its defaults and CHECK constraints, finds the columns that a
//! statement names, and tells which changes move a row within an index. The statement may name a view: [`super::seen`].

use super::foreign_keys::ForeignKeys;
use super::hooks::RowHooks;
use super::seen::{SeenColumn, SeenThrough};
use crate::dictionary::{ColumnDefault, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::{AllowedColumns, Binder, Expr, PlainHooks, Scope, ScopeColumn, ScopeTable, build};
use crate::parse::{self, ast};
use crate::plan::from::default_of;
use crate::plan::generated::GeneratedColumns;
use crate::plan::view::merged::Within;
use crate::plan::walk::has_subquery;
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
    /// What each new row must satisfy: the CHECK OPTION of a view, and then the CHECK constraints.
    pub checks: Vec<Check>,
    /// The view that the statement names in its place. What may be done with columns is then said of the view's.
    pub seen: Option<Box<SeenThrough>>,
    /// What the account may read of it; `None`: all.
    pub readable: Option<Arc<AllowedColumns>>,
    /// The columns that it may give values to in new rows; `None`: all.
    pub insertable: Option<Arc<AllowedColumns>>,
    /// The columns that it may change; `None`: all.
    pub updatable: Option<Arc<AllowedColumns>>,
    /// The foreign keys that the statement touches; `None`: none.
    pub foreign_keys: Option<Box<ForeignKeys>>,
    /// What else happens when its rows change; `None`: nothing.
    pub hooks: Option<Box<RowHooks>>,
}

/// A condition on new rows.
pub struct Check {
    pub condition: Expr,
    pub of: CheckOf,
}

/// What makes a condition of new rows.
pub enum CheckOf {
    /// The enforced CHECK constraint of this name. It holds unless it is false.
    Constraint(String),
    /// The CHECK OPTION of a view. It holds if it is true.
    View(Arc<Within>),
}

/// What a statement does with a column that it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    Insert,
    Update,
}

impl Check {
    /// The CHECK OPTION of a view, which comes to these conditions.
    pub fn of_view(view: &Arc<Within>, conditions: Vec<Expr>) -> Option<Check> {
        (!conditions.is_empty()).then(|| Check {
            condition: build::and(conditions),
            of: CheckOf::View(Arc::clone(view)),
        })
    }
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
        default: default_of(column),
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
            checks.push(Check {
                condition: bind(&check.expression)?,
                of: CheckOf::Constraint(check.name.clone()),
            });
        }
        Ok(Target {
            has_computed: defaults.iter().any(Option::is_some),
            generated: GeneratedColumns::of(&def, binder)?,
            def,
            table,
            defaults,
            checks,
            seen: None,
            readable: None,
            insertable: None,
            updatable: None,
            foreign_keys: None,
            hooks: None,
        })
    }

    /// The table as the scope of a statement sees it, under its alias; or the view that the statement names.
    pub fn scope_table(&self, alias: Option<&str>) -> ScopeTable {
        match &self.seen {
            Some(seen) => seen.scope.clone(),
            None => ScopeTable {
                readable: self.readable.clone(),
                ..scope_table(&self.def, alias, 0)
            },
        }
    }

    /// The table under its own name, its columns from a slot on.
    pub fn own_scope(&self, base: usize) -> ScopeTable {
        scope_table(&self.def, None, base)
    }

    /// The position of a column that a statement names and may use so; errors 1054 and 1143, and those of
    /// [`SeenThrough::column`].
    pub fn column(&self, name: &str, to: Use) -> Result<usize> {
        let found = match &self.seen {
            Some(seen) => seen.columns.iter().position(|(own, _)| names_equal(own, name)),
            None => self.def.column(name),
        };
        let at = match (found, self.allowed(to)) {
            (Some(at), None) => at,
            (Some(at), Some(allowed)) => allowed.check(at, name).map(|()| at)?,
            (None, Some(allowed)) => return Err(allowed.denied(name)),
            (None, None) => return Err(SqlError::unknown_column(name, "field list")),
        };
        match &self.seen {
            Some(seen) => seen.column(at, to),
            None => Ok(at),
        }
    }

    /// The columns that are meant where none are listed: all that can be seen. Error 1142 if the account may not insert into
    /// each.
    pub fn visible_columns(&self) -> Result<Vec<usize>> {
        let visible: Vec<usize> = match &self.seen {
            Some(seen) => (0..seen.columns.len()).collect(),
            None => {
                let all = self.def.columns.iter().enumerate();
                all.filter(|(_, column)| !column.invisible)
                    .map(|(at, _)| at)
                    .collect()
            }
        };
        if let Some(insertable) = &self.insertable {
            insertable.check_all(visible.iter().copied())?;
        }
        match &self.seen {
            Some(seen) => visible
                .into_iter()
                .map(|at| seen.column(at, Use::Insert))
                .collect(),
            None => Ok(visible),
        }
    }

    /// What the statement calls a column, and where that stands in the table or view that it names.
    pub fn named(&self, column: usize) -> (&str, usize) {
        let seen = self.seen.as_deref().and_then(|seen| {
            let is = |(_, other): &(String, SeenColumn)| *other == SeenColumn::Own(column);
            let at = seen.columns.iter().position(is)?;
            Some((seen.columns[at].0.as_str(), at))
        });
        seen.unwrap_or((&self.def.columns[column].name, column))
    }

    fn allowed(&self, to: Use) -> Option<&AllowedColumns> {
        let allowed = match to {
            Use::Read => &self.readable,
            Use::Insert => &self.insertable,
            Use::Update => &self.updatable,
        };
        allowed.as_deref()
    }

    /// Error 1143 or 1356 unless a column may be changed, which stands at `at` in what the statement names.
    pub fn check_update(&self, at: usize, column: usize, name: &str) -> Result<()> {
        if let Some(updatable) = &self.updatable {
            updatable.check(at, name)?;
        }
        match &self.seen {
            Some(seen) => seen.check_definer(column, Use::Update),
            None => Ok(()),
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

    /// Whether a condition on new rows runs queries.
    pub fn checks_query(&self) -> bool {
        self.checks.iter().any(|check| has_subquery(&check.condition))
    }

    /// True if its rows may be changed while the page that they lie in is latched: all that happens on the way is that
    /// expressions of the row are computed. What makes it false are hooks, which run statements; foreign keys, by which other rows are
    /// looked at; and queries, in conditions on new rows or (`queries`) in the statement's own expressions.
    pub fn latch_safe(&self, queries: bool) -> bool {
        self.hooks.is_none() && self.foreign_keys.is_none() && !queries && !self.checks_query()
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

    /// Whether one of the columns that change is part of the index, or decides where the row stands. As in MySQL a virtual
    /// column counts as changed whenever its row changes.
    pub fn moves(&self, columns: &[usize], index: usize) -> bool {
        let changes = |column: usize| {
            columns.contains(&column) || !columns.is_empty() && self.def.columns[column].is_virtual()
        };
        let has = |number| {
            let def = self.def.index_by_number(number);
            def.is_some_and(|def| def.parts.iter().any(|part| changes(part.column)))
        };
        has(0) || has(index)
    }
}
