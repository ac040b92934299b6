//! Names in scope: which tables an expression can see and in which slot of the row each of their columns stands.
//!
//! A row of a query is one flat sequence of slots: the columns of its first table, then those of the second, and so on.
//! A query inside another sees the outer row as well: the outer row's slots are the inner ones plus [`OUTER`], once for
//! every level between them, so that an inner row finds such a slot by asking the row outside for it, less [`OUTER`].

use crate::{Expr, Node, build};
use std::sync::Arc;
use tidemark_parse::ast::ColumnName;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::{SqlType, Value};

/// What is added to a slot for each query level between its use and its row.
pub const OUTER: usize = 1 << 24;

/// What `DEFAULT(column)` is.
#[derive(Clone, Debug, Default)]
pub enum DefaultOf {
    /// There is no default: error 1364.
    #[default]
    Missing,
    /// The default, of the column's type.
    Value(Value),
    /// An expression, which is computed for each row: error 3773.
    Expression,
}

/// A column that a name can mean.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// The name it has here.
    pub name: String,
    /// Its type; nullable on the inner side of an outer join.
    pub ty: SqlType,
    /// Where its value stands in the row.
    pub slot: usize,
    /// Not in `*`: an invisible column, or the twin that a USING join merged away.
    pub hidden: bool,
    /// The twin that a USING or NATURAL join merged into another: an unqualified name does not mean it.
    pub merged: bool,
    /// What a column of a merged view is computed by, over this row; `None`: it is its slot.
    pub value: Option<Arc<Expr>>,
    /// Its default.
    pub default: DefaultOf,
}

impl ScopeColumn {
    /// No name means it: it is in the row for the statement's own use.
    pub fn is_nameless(&self) -> bool {
        self.hidden && self.merged && self.name.is_empty()
    }

    /// Its value in a row that lies so many slots further out.
    pub fn expr(&self, shift: usize) -> Expr {
        match &self.value {
            None => build::column(self.slot + shift, self.ty.clone()),
            Some(value) => {
                let mut value = Expr::clone(value);
                value.shift(shift);
                value.name = Some(self.name.as_str().into());
                value
            }
        }
    }
}

/// The columns of a table that a statement may use in one way, where its account may not use all of them. Whoever names
/// another is told the same whether or not there is such a column.
#[derive(Clone, Debug)]
pub struct AllowedColumns {
    /// The privilege: `SELECT`, `INSERT`, `UPDATE`.
    pub privilege: &'static str,
    /// The account, as error texts write it.
    pub account: String,
    /// The table's own name.
    pub table: String,
    /// By position in the table: true if it may be used.
    pub columns: Vec<bool>,
}

impl AllowedColumns {
    /// Error 1143 unless the column at the position may be used.
    pub fn check(&self, at: usize, name: &str) -> Result<()> {
        match self.columns.get(at) {
            Some(false) => Err(self.denied(name)),
            _ => Ok(()),
        }
    }

    /// Error 1142 unless all the columns may be used.
    pub fn check_all(&self, columns: impl IntoIterator<Item = usize>) -> Result<()> {
        let mut columns = columns.into_iter();
        match columns.all(|at| self.columns.get(at) != Some(&false)) {
            true => Ok(()),
            false => Err(SqlError::new(
                er::TABLEACCESS_DENIED,
                format!(
                    "{} command denied to user {} for table '{}'",
                    self.privilege, self.account, self.table
                ),
            )),
        }
    }

    /// Error 1143 for a column of this name.
    pub fn denied(&self, name: &str) -> SqlError {
        SqlError::new(
            er::COLUMNACCESS_DENIED,
            format!(
                "{} command denied to user {} for column '{name}' in table '{}'",
                self.privilege, self.account, self.table
            ),
        )
    }
}

/// A table of the FROM clause under the name it has there.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// `None` for a derived table or an alias.
    pub schema: Option<String>,
    /// The alias, or the table's own name.
    pub alias: String,
    /// The columns in the table's order.
    pub columns: Vec<ScopeColumn>,
    /// What may be read of it; `None`: all.
    pub readable: Option<Arc<AllowedColumns>>,
}

/// An item of a select list, which the queries inside its query may name where none of its tables has such a column.
#[derive(Clone, Debug)]
pub struct ScopeAlias {
    /// Its name.
    pub name: String,
    /// Its value over the query's row, without subqueries; or why it cannot be named.
    pub value: Result<Expr>,
}

/// The tables that the names of an expression can mean.
#[derive(Clone, Debug, Default)]
pub struct Scope<'p> {
    /// The tables of FROM, in the order of their slots.
    pub tables: Vec<ScopeTable>,
    /// The scope around a subquery.
    pub outer: Option<&'p Scope<'p>>,
    /// The row has at least so many slots: tables of merged views have some, and no names here.
    pub reserved: usize,
    /// The items of the select list that the queries inside may name.
    pub aliases: Vec<ScopeAlias>,
}

impl<'p> Scope<'p> {
    /// An empty scope inside `outer`.
    pub fn inside(outer: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope {
            outer,
            ..Scope::default()
        }
    }

    /// Of a row whose columns have names, and no table. A column of an empty name is in the row and cannot be named.
    pub fn of_row<'c>(columns: impl Iterator<Item = (&'c String, &'c SqlType)>) -> Scope<'p> {
        let columns = columns.enumerate().map(|(slot, (name, ty))| ScopeColumn {
            name: name.clone(),
            ty: ty.clone(),
            slot,
            hidden: name.is_empty(),
            merged: name.is_empty(),
            value: None,
            default: DefaultOf::Missing,
        });
        let table = ScopeTable {
            schema: None,
            alias: String::new(),
            columns: columns.collect(),
            readable: None,
        };
        Scope {
            tables: vec![table],
            ..Scope::default()
        }
    }

    /// Returns the scope in which a name that several columns of a table have is the first one's.
    pub fn with_first_names(&self) -> Scope<'p> {
        let mut scope = self.clone();
        for table in &mut scope.tables {
            for at in 1..table.columns.len() {
                let (before, rest) = table.columns.split_at_mut(at);
                if before
                    .iter()
                    .any(|column| names_equal(&column.name, &rest[0].name))
                {
                    rest[0].name.clear();
                    (rest[0].hidden, rest[0].merged) = (true, true);
                }
            }
        }
        scope
    }

    /// How many slots the row has so far.
    pub fn width(&self) -> usize {
        let slots = self
            .tables
            .iter()
            .flat_map(|t| t.columns.iter().map(|c| c.slot + 1));
        slots.max().unwrap_or(0).max(self.reserved)
    }

    /// Adds a table behind the others; error 1066 if its name is taken.
    pub fn add(&mut self, table: ScopeTable) -> Result<()> {
        let taken = |other: &ScopeTable| {
            other.alias == table.alias
                && (other.schema == table.schema || other.schema.is_none() || table.schema.is_none())
        };
        if self.tables.iter().any(taken) {
            return Err(SqlError::not_unique_table(&table.alias));
        }
        self.tables.push(table);
        Ok(())
    }

    /// The column that a name means, here or in the scopes around; errors 1054 and 1052 naming the clause, 1143 for a column
    /// that may not be read.
    pub fn resolve(&self, name: &ColumnName, clause: &str) -> Result<Expr> {
        let mut scope = Some(self);
        let mut shift = 0;
        while let Some(current) = scope {
            if let Some((table, at)) = current.locate(name, clause)? {
                table.check_readable(at)?;
                let column = &table.columns[at];
                if column.value.is_some() {
                    return Ok(column.expr(shift));
                }
                let schema = table.schema.iter().map(|s| format!("`{s}`.")).collect::<String>();
                let name = match table.alias.as_str() {
                    "" => format!("`{}`", column.name),
                    alias => format!("{schema}`{alias}`.`{}`", column.name),
                };
                return Ok(build::named_column(column.slot + shift, column.ty.clone(), name));
            }
            if let Some(alias) = current.alias(name) {
                let mut value = alias.value.clone()?;
                value.shift(shift);
                return Ok(value);
            }
            scope = current.outer;
            shift += OUTER;
        }
        match self.limits() {
            Some(limits) => Err(limits.denied(&name.column)),
            None => Err(SqlError::unknown_column(&name.to_string(), clause)),
        }
    }

    /// Whether a name means an item of a query around, rather than a column.
    pub fn names_item(&self, name: &ColumnName, clause: &str) -> bool {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.outer);
        scopes
            .find_map(|scope| match scope.locate(name, clause) {
                Ok(None) => scope.alias(name).map(|_| true),
                _ => Some(false),
            })
            .unwrap_or(false)
    }

    fn alias(&self, name: &ColumnName) -> Option<&ScopeAlias> {
        let mut aliases = self.aliases.iter().filter(|_| name.table.is_none());
        aliases.find(|alias| names_equal(&alias.name, &name.column))
    }

    /// The default of the column that a name means, here or in the scopes around. Errors 1054, 1052 and 1143; 1364 and 3773 for a
    /// column that has none, or an expression.
    pub fn default_of(&self, name: &ColumnName, clause: &str) -> Result<Expr> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some((table, at)) = current.locate(name, clause)? {
                table.check_readable(at)?;
                let column = &table.columns[at];
                return match &column.default {
                    DefaultOf::Missing => Err(SqlError::no_default(&column.name)),
                    DefaultOf::Value(value) => {
                        let ty = column.ty.clone().with_nullable(value.is_null());
                        Ok(build::expr(ty, Node::Literal(value.clone())))
                    }
                    DefaultOf::Expression => Err(SqlError::new(
                        er::DEFAULT_AS_VAL_GENERATED,
                        "DEFAULT function cannot be used with default value expressions",
                    )),
                };
            }
            scope = current.outer;
        }
        Err(SqlError::unknown_column(&name.to_string(), clause))
    }

    /// What may be read of the nearest table that may not be read as a whole.
    fn limits(&self) -> Option<&AllowedColumns> {
        let own = self.tables.iter().find_map(|table| table.readable.as_deref());
        own.or_else(|| self.outer.and_then(Scope::limits))
    }

    /// As [`Scope::resolve`], in this scope alone. `None` if there is no such column.
    pub fn find(&self, name: &ColumnName, clause: &str) -> Result<Option<&ScopeColumn>> {
        Ok(self.locate(name, clause)?.map(|(table, at)| &table.columns[at]))
    }

    /// The table that a name's column is of, in this scope alone, and the column's position. Errors 1052 and 1143.
    pub fn locate(&self, name: &ColumnName, clause: &str) -> Result<Option<(&ScopeTable, usize)>> {
        let mut found: Option<(&ScopeTable, usize)> = None;
        for table in &self.tables {
            if !table.answers_to(name.schema.as_deref(), name.table.as_deref()) {
                continue;
            }
            for (at, column) in table.columns.iter().enumerate() {
                let is_it = !column.is_nameless() && names_equal(&column.name, &name.column);
                if !is_it || (name.table.is_none() && column.merged) {
                    continue;
                }
                if let Some((other, other_at)) = found {
                    other.check_readable(other_at)?;
                    table.check_readable(at)?;
                    return Err(SqlError::ambiguous_column(&name.to_string(), clause));
                }
                found = Some((table, at));
            }
        }
        Ok(found)
    }
}

impl ScopeTable {
    /// Error 1143 unless the column at the position may be read.
    pub fn check_readable(&self, at: usize) -> Result<()> {
        match &self.readable {
            Some(readable) => readable.check(at, &self.columns[at].name),
            None => Ok(()),
        }
    }

    /// Error 1142 unless the columns at these positions may be read: they are what `*` stands for.
    pub fn check_star(&self, columns: impl Iterator<Item = usize>) -> Result<()> {
        match &self.readable {
            Some(readable) => readable.check_all(columns),
            None => Ok(()),
        }
    }

    /// Whether `[[schema.]table]` means this table. The name of `information_schema` alone is compared without case.
    pub fn answers_to(&self, schema: Option<&str>, table: Option<&str>) -> bool {
        const ANY_CASE: &str = "information_schema";
        let is_own = |schema: &str| match self.schema.as_deref() {
            Some(ANY_CASE) => schema.eq_ignore_ascii_case(ANY_CASE),
            own => own == Some(schema),
        };
        table.is_none_or(|table| self.alias == table) && schema.is_none_or(is_own)
    }
}

/// Column and index names, which compare without case.
pub fn names_equal(a: &str, b: &str) -> bool {
    let has_other_letters = |name: &str| !name.is_ascii();
    a.eq_ignore_ascii_case(b)
        || (has_other_letters(a) || has_other_letters(b)) && a.to_lowercase() == b.to_lowercase()
}
