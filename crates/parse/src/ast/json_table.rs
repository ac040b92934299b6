//! JSON_TABLE: a document's parts as rows.

use super::{Expr, TypeName};

/// `JSON_TABLE(document, path COLUMNS (…)) [AS] alias`
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document, over the tables to the left.
    pub document: Expr,
    /// What becomes rows, and what of each.
    pub rows: JsonRows,
    /// Its name, as written; required.
    pub alias: String,
}

/// `path COLUMNS (…)`: a row for each place that the path leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRows {
    /// A string literal: from the document, or from the place of the row around.
    pub path: Expr,
    /// In the order written, at least one.
    pub columns: Vec<JsonTableColumn>,
}

/// What stands between the parentheses of COLUMNS.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`: the number of the row, from 1.
    Ordinality {
        /// The column's name as written.
        name: String,
    },
    /// `name type PATH path …`
    Path {
        /// The column's name as written.
        name: String,
        /// Its type.
        ty: TypeName,
        /// A string literal: from the place of the row.
        path: Expr,
        /// `ON EMPTY`; `None`: not written, which is NULL.
        on_empty: Option<JsonOtherwise>,
        /// `ON ERROR`; `None`: not written, which is NULL.
        on_error: Option<JsonOtherwise>,
    },
    /// `name type EXISTS PATH path`: 1 if the path leads anywhere, else 0.
    Exists {
        /// The column's name as written.
        name: String,
        /// Its type.
        ty: TypeName,
        /// A string literal: from the place of the row.
        path: Expr,
    },
    /// `NESTED PATH path COLUMNS (…)`: rows of their own for each row around.
    Nested(JsonRows),
}

/// What a column of JSON_TABLE has in place of a value from the document.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOtherwise {
    /// `NULL`
    Null,
    /// `ERROR`
    Error,
    /// `DEFAULT literal`
    Default(Box<Expr>),
}
