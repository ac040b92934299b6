//! Aggregate functions.
//!
//! The executor keeps one [`Accumulator`] per group and aggregate, feeds it rows with [`Accumulator::update`] and takes
//! the result with [`Accumulator::finish`]. The result goes to a slot of the grouped row, where expressions above read
//! it as a column of the type [`Aggregate::ty`].

use super::{BindCtx, EvalCtx, Expr};
use crate::error::{Result, SqlError};
use crate::types::{SqlType, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggFunc {
    /// COUNT(*)
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
    AnyValue,
}

/// One aggregate of a query.
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub func: AggFunc,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY; true is descending.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's SEPARATOR.
    pub separator: Vec<u8>,
    pub ty: SqlType,
}

impl Aggregate {
    /// COUNT(*)
    pub fn count_rows() -> Aggregate {
        Aggregate {
            func: AggFunc::CountRows,
            args: Vec::new(),
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            ty: SqlType::bigint().with_nullable(false),
        }
    }

    /// By name; `None` if it is no aggregate function. COUNT(*) is [`Aggregate::count_rows`].
    pub fn resolve(name: &str, args: Vec<Expr>, distinct: bool, bind: &BindCtx) -> Option<Result<Aggregate>> {
        let _ = (args, distinct, bind);
        Some(Err(SqlError::unknown_function(name)))
    }

    /// Whether a name is that of an aggregate function.
    pub fn is_aggregate(name: &str) -> bool {
        let _ = name;
        false
    }

    /// GROUP_CONCAT's own clauses.
    pub fn with_order(mut self, order_by: Vec<(Expr, bool)>, separator: Option<Vec<u8>>) -> Aggregate {
        self.order_by = order_by;
        if let Some(separator) = separator {
            self.separator = separator;
        }
        self
    }

    pub fn accumulator(&self) -> Accumulator {
        Accumulator {}
    }
}

#[derive(Debug)]
pub struct Accumulator {}

impl Accumulator {
    /// Takes the row of `ctx` in.
    pub fn update(&mut self, spec: &Aggregate, ctx: &EvalCtx) -> Result<()> {
        let _ = (spec, ctx);
        Ok(())
    }

    /// The result over the rows taken in; with none of them, what SQL says of the empty set.
    pub fn finish(self, spec: &Aggregate, ctx: &EvalCtx) -> Result<Value> {
        let _ = (spec, ctx);
        Ok(Value::Null)
    }
}
