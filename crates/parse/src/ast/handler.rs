//! HANDLER: a table read row by row.

use super::{BinaryOp, Expr, Limit};

/// `HANDLER name READ …`
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerRead {
    /// The name that it was opened under, as written.
    pub name: String,
    /// The index that says the order; `None`: the table's own.
    pub index: Option<String>,
    /// Where to read.
    pub step: HandlerStep,
    /// `WHERE`; `None`: all rows.
    pub filter: Option<Expr>,
    /// `LIMIT`; `None`: one row.
    pub limit: Option<Limit>,
}

/// Where `HANDLER … READ` reads.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerStep {
    /// `FIRST`: from the first row on.
    First,
    /// `NEXT`: behind the row read last.
    Next,
    /// `PREV`: before the row read last, backwards.
    Prev,
    /// `LAST`: from the last row on, backwards.
    Last,
    /// `= (a, b)`, `<= (…)` and so on: from the first values of the index's key on; `<` and `<=` backwards.
    Key(BinaryOp, Vec<Expr>),
}
