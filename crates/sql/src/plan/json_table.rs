//! JSON_TABLE among the tables of FROM: a document's parts as rows.
//!
//! ```text
//!  JSON_TABLE(t.j, '$[*]' COLUMNS (n FOR ORDINALITY, a INT PATH '$.a', NESTED PATH '$.b[*]' COLUMNS (b INT PATH '$')))
//!
//!   document   t.j, over the row so far              rows  '$[*]'     columns 0 and 1
//!   columns    n, a, b: one behind the other          └ rows  '$.b[*]'  column 2
//! ```
//!
//! The document's expression is bound in the scope of the tables to its left, as a condition of ON would be, and is evaluated
//! for each row of theirs. Paths and defaults are constants, so they are read here.

use super::from::{From, FromInput, FromTable, Tree};
use super::walk::has_subquery;
use super::{AGGREGATE, Planner};
use crate::dictionary::names_equal;
use crate::error::{Result, SqlError, er};
use crate::expr::{
    DefaultOf, Expr, Node, ScopeColumn, ScopeTable, Volatility, check_document_type, column_type,
    duplicate_members,
};
use crate::parse::ast::{self, JsonOtherwise, JsonTableColumn};
use crate::types::json::{Json, PathStep, parse_path};
use crate::types::{Conversion, SqlType, TypeKind, Val, Value, Warnings};
use std::ops::Range;
use std::sync::Arc;

/// How error texts name the place of the document.
const ARGUMENT: &str = "a table function argument";

/// MySQL's limit, of 16 with the document itself and what it counts from.
const NESTED_MAX: usize = 14;

/// What the columns of every JSON_TABLE are said to be of.
pub const ORG_TABLE: &str = "json_table";

/// What is expected of a table function: rows for each row to its left.
pub const EXPECTED_ROWS: f64 = 2.0;

/// A JSON_TABLE ready to run.
pub struct JsonTablePlan {
    pub document: Expr,
    pub columns: Vec<JsonColumn>,
    pub rows: JsonRowsPlan,
}

/// A column of the table.
pub struct JsonColumn {
    pub name: String,
    pub ty: SqlType,
    pub source: JsonSource,
}

/// What a column's value is.
pub enum JsonSource {
    /// The number of the row among those of its path, from 1.
    Ordinality,
    /// Whether the path leads anywhere.
    Exists(Vec<PathStep>),
    /// What the path leads to.
    Path {
        path: Vec<PathStep>,
        on_empty: Otherwise,
        on_error: Otherwise,
    },
}

/// What a column has in place of a value from the document.
pub enum Otherwise {
    Error,
    /// NULL, or the default.
    Value(Value),
}

/// A row for each place that a path leads to.
pub struct JsonRowsPlan {
    pub path: Vec<PathStep>,
    /// Its own columns, by position in the table.
    pub columns: Vec<usize>,
    /// The positions of its columns and of those below it.
    pub range: Range<usize>,
    /// Rows of their own for each row, those of the second behind those of the first.
    pub nested: Vec<JsonRowsPlan>,
}

impl JsonTablePlan {
    /// Whether the rows depend on more than the query's surroundings: they are made anew for each row to the left.
    pub fn is_lateral(&self) -> bool {
        let mut varies = false;
        self.document.walk(&mut |e| {
            varies |= match &e.node {
                Node::Column(slot) => *slot < AGGREGATE,
                Node::Call(function, _) => function.volatility == Volatility::Volatile,
                Node::UserVar(_) | Node::AssignVar(..) | Node::Routine(_) | Node::Subquery { .. } => true,
                _ => false,
            }
        });
        varies
    }

    /// Whether the document is of a row around the query.
    pub fn reads_outer_row(&self) -> bool {
        self.document.columns().iter().any(|slot| *slot >= AGGREGATE)
    }
}

impl Planner<'_> {
    pub(super) fn json_table(&mut self, table: &ast::JsonTable, from: &mut From) -> Result<Tree> {
        let document = self.json_document(&table.document, from)?;
        let mut binding = Binding {
            planner: self,
            alias: &table.alias,
            columns: Vec::new(),
            nested: 0,
        };
        let rows = binding.rows(&table.rows)?;
        let columns = binding.columns;
        let base = from.scope.width();
        let named = columns.iter().enumerate().map(|(at, column)| ScopeColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            slot: base + at,
            hidden: false,
            merged: false,
            value: None,
            default: DefaultOf::Missing,
        });
        from.scope.add(ScopeTable {
            schema: None,
            alias: table.alias.clone(),
            columns: named.collect(),
            readable: None,
        })?;
        from.see_last_table();
        let plan = JsonTablePlan {
            document,
            columns,
            rows,
        };
        Ok(from.add_leaf(FromTable {
            alias: table.alias.clone(),
            locked_as: table.alias.clone(),
            within: self.views.first().cloned(),
            rights: self.state.rights(),
            base,
            input: FromInput::Json(Arc::new(plan)),
            allowed: None,
            forced: false,
            apart: false,
            recursive: None,
        }))
    }

    /// Errors 1054 and 1109 for a name that is no column to the left, 1210 for a query, 3144 and 3146 for what is no document.
    fn json_document(&mut self, document: &ast::Expr, from: &From) -> Result<Expr> {
        let bound = self.condition(document, &from.scope, ARGUMENT);
        let bound = bound.map_err(|error| match document {
            ast::Expr::Column(ast::ColumnName {
                table: Some(table), ..
            }) if error.code == er::BAD_FIELD && from.scope.tables.is_empty() => SqlError::new(
                er::UNKNOWN_TABLE,
                format!("Unknown table '{table}' in {ARGUMENT}"),
            ),
            _ => error,
        })?;
        if has_subquery(&bound) {
            return Err(SqlError::wrong_arguments("JSON_TABLE"));
        }
        // A parameter has no type until it has a value.
        if !matches!(bound.node, Node::Param(_)) || bound.ty.is_numeric() {
            check_document_type(&bound.ty, 1, "json_table")?;
        }
        Ok(bound)
    }
}

/// A JSON_TABLE whose columns are being bound.
struct Binding<'b, 'a> {
    planner: &'b mut Planner<'a>,
    alias: &'b str,
    columns: Vec<JsonColumn>,
    /// How many NESTED there have been.
    nested: usize,
}

impl Binding<'_, '_> {
    fn rows(&mut self, rows: &ast::JsonRows) -> Result<JsonRowsPlan> {
        let path = self.path(&rows.path)?;
        let start = self.columns.len();
        let (mut columns, mut nested) = (Vec::new(), Vec::new());
        for column in &rows.columns {
            let (name, ty, source) = match column {
                JsonTableColumn::Nested(inner) => {
                    self.nested += 1;
                    if self.nested > NESTED_MAX {
                        return Err(SqlError::new(
                            er::JSON_TABLE_MAX_NESTED_PATH,
                            format!(
                                "More than supported 16 NESTED PATHs were found in JSON_TABLE '{}'",
                                self.alias
                            ),
                        ));
                    }
                    nested.push(self.rows(inner)?);
                    continue;
                }
                JsonTableColumn::Ordinality { name } => {
                    let ty = SqlType::new(TypeKind::BigInt).with_length(10);
                    (name, ty, JsonSource::Ordinality)
                }
                JsonTableColumn::Exists { name, ty, path } => {
                    let ty = self.type_of(name, ty)?;
                    (name, ty, JsonSource::Exists(self.path(path)?))
                }
                JsonTableColumn::Path {
                    name,
                    ty,
                    path,
                    on_empty,
                    on_error,
                } => {
                    let ty = self.type_of(name, ty)?;
                    let source = JsonSource::Path {
                        path: self.path(path)?,
                        on_empty: self.otherwise(on_empty.as_ref(), name, &ty)?,
                        on_error: self.otherwise(on_error.as_ref(), name, &ty)?,
                    };
                    (name, ty, source)
                }
            };
            if let Some(other) = self.columns.iter().find(|other| names_equal(&other.name, name)) {
                return Err(SqlError::duplicate_column(&other.name));
            }
            columns.push(self.columns.len());
            self.columns.push(JsonColumn {
                name: name.clone(),
                ty,
                source,
            });
        }
        Ok(JsonRowsPlan {
            path,
            columns,
            range: start..self.columns.len(),
            nested,
        })
    }

    fn type_of(&self, name: &str, ty: &ast::TypeName) -> Result<SqlType> {
        let (ty, _) = column_type(name, ty, self.planner.binder.ctx.collation_connection)?;
        match duplicate_members(name, &ty).into_iter().next() {
            Some(duplicate) => Err(duplicate),
            None => Ok(ty),
        }
    }

    /// The text of a literal.
    fn text(&mut self, literal: &ast::Expr) -> Result<Value> {
        match self.planner.plain(literal)?.node {
            Node::Literal(value) => Ok(value),
            _ => Ok(Val::Null),
        }
    }

    fn path(&mut self, literal: &ast::Expr) -> Result<Vec<PathStep>> {
        let text = self.text(literal)?;
        parse_path(&String::from_utf8_lossy(&text.to_text())).map_err(SqlError::invalid_json_path)
    }

    fn otherwise(&mut self, written: Option<&JsonOtherwise>, name: &str, ty: &SqlType) -> Result<Otherwise> {
        match written {
            None | Some(JsonOtherwise::Null) => Ok(Otherwise::Value(Val::Null)),
            Some(JsonOtherwise::Error) => Ok(Otherwise::Error),
            Some(JsonOtherwise::Default(literal)) => self.default(literal, name, ty).map(Otherwise::Value),
        }
    }

    /// A default is a document, whose value the column can hold. Errors 1235, 3141, 3144, 1067 and those of a conversion.
    fn default(&mut self, literal: &ast::Expr, name: &str, ty: &SqlType) -> Result<Value> {
        let is_text = matches!(
            literal,
            ast::Expr::Literal(ast::Literal::Str { .. } | ast::Literal::Hex(_) | ast::Literal::Bit(_))
        );
        if !is_text {
            return Err(SqlError::not_supported(
                "non-string DEFAULT value for a column in a JSON_TABLE expression",
            ));
        }
        let bound = self.planner.plain(literal)?;
        let value = match &bound.node {
            Node::Literal(value) => value.clone(),
            _ => Val::Null,
        };
        let document = crate::expr::document(&value, &bound.ty, 1, "JSON_TABLE")?.unwrap_or(Json::Null);
        let settings = &self.planner.state.settings;
        let unheard = Warnings::default();
        let env = Conversion {
            sql_mode: settings.sql_mode,
            writes: true,
            ..Conversion::new(&unheard, &settings.time_zone)
        };
        document
            .column_value(ty, name, &env)
            .map_err(|error| match error.code {
                er::WRONG_JSON_TABLE_VALUE => SqlError::invalid_default(name),
                _ => error,
            })
    }
}
