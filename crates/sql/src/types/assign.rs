//! Storing a value in a column.

use super::{SqlType, Value, value::Val};
use crate::error::Result;
use crate::expr::Env;

/// Converts a value to a column's type as INSERT and UPDATE do. What does not fit is an error when `env.strict`, else a
/// warning and the nearest value that does. NULL passes through: whether the column takes it is the caller's check
/// ([`null_for`]).
pub fn assign<'a>(value: Val<'a>, ty: &SqlType, column: &str, env: &Env) -> Result<Val<'a>> {
    let _ = (ty, column, env);
    Ok(value)
}

/// What a non-strict statement stores for NULL in a NOT NULL column: the type's zero.
pub fn zero_value(ty: &SqlType) -> Value {
    let _ = ty;
    Value::Null
}
