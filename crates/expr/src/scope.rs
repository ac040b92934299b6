//! Names in scope: which tables an expression can see and in which slot of the row each of their columns stands.
//!
//! A row of a query is one flat sequence of slots: the columns of its first table, then those of the second, and so on.
//! A query inside another sees the outer row as well: the outer row's slots are the inner ones plus [`OUTER`], once for
//! every level between them, so that an inner row finds such a slot by asking the row outside for it, less [`OUTER`].

use crate::{Expr, build};
use tidemark_parse::ast::ColumnName;
use tidemark_types::SqlType;
use tidemark_types::error::{Result, SqlError};

/// What is added to a slot for each query level between its use and its row.
pub const OUTER: usize = 1 << 24;

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
}

/// The tables that the names of an expression can mean.
#[derive(Clone, Debug, Default)]
pub struct Scope<'p> {
    /// The tables of FROM, in the order of their slots.
    pub tables: Vec<ScopeTable>,
    /// The scope around a subquery.
    pub outer: Option<&'p Scope<'p>>,
}

impl<'p> Scope<'p> {
    /// An empty scope inside `outer`.
    pub fn inside(outer: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope {
            tables: Vec::new(),
            outer,
        }
    }

    /// Of a row whose columns have names, and no table.
    pub fn of_row<'c>(columns: impl Iterator<Item = (&'c String, &'c SqlType)>) -> Scope<'p> {
        let columns = columns.enumerate().map(|(slot, (name, ty))| ScopeColumn {
            name: name.clone(),
            ty: ty.clone(),
            slot,
            hidden: false,
            merged: false,
        });
        let table = ScopeTable {
            schema: None,
            alias: String::new(),
            columns: columns.collect(),
        };
        Scope {
            tables: vec![table],
            outer: None,
        }
    }

    /// How many slots the row has so far.
    pub fn width(&self) -> usize {
        let slots = self
            .tables
            .iter()
            .flat_map(|t| t.columns.iter().map(|c| c.slot + 1));
        slots.max().unwrap_or(0)
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

    /// The column that a name means, here or in the scopes around; errors 1054 and 1052 naming the clause.
    pub fn resolve(&self, name: &ColumnName, clause: &str) -> Result<Expr> {
        let mut scope = Some(self);
        let mut shift = 0;
        while let Some(current) = scope {
            if let Some((table, column)) = current.locate(name, clause)? {
                let schema = table.schema.iter().map(|s| format!("`{s}`.")).collect::<String>();
                let name = format!("{schema}`{}`.`{}`", table.alias, column.name);
                return Ok(build::named_column(column.slot + shift, column.ty.clone(), name));
            }
            scope = current.outer;
            shift += OUTER;
        }
        Err(SqlError::unknown_column(&name.to_string(), clause))
    }

    /// As [`Scope::resolve`], in this scope alone. `None` if there is no such column.
    pub fn find(&self, name: &ColumnName, clause: &str) -> Result<Option<&ScopeColumn>> {
        Ok(self.locate(name, clause)?.map(|(_, column)| column))
    }

    fn locate(&self, name: &ColumnName, clause: &str) -> Result<Option<(&ScopeTable, &ScopeColumn)>> {
        let mut found = None;
        for table in &self.tables {
            if !table.answers_to(name.schema.as_deref(), name.table.as_deref()) {
                continue;
            }
            for column in &table.columns {
                if !names_equal(&column.name, &name.column) || (name.table.is_none() && column.merged) {
                    continue;
                }
                if found.is_some() {
                    return Err(SqlError::ambiguous_column(&name.to_string(), clause));
                }
                found = Some((table, column));
            }
        }
        Ok(found)
    }
}

impl ScopeTable {
    /// Whether `[[schema.]table]` means this table.
    pub fn answers_to(&self, schema: Option<&str>, table: Option<&str>) -> bool {
        table.is_none_or(|table| self.alias == table)
            && schema.is_none_or(|schema| self.schema.as_deref() == Some(schema))
    }
}

/// Column and index names, which compare without case.
pub fn names_equal(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase()
}
