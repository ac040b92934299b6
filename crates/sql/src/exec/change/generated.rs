//! The values of generated columns: computed for each row that is written, from left to right, when all other columns have
//! theirs.

use super::assignments::{Set, put};
use super::rows::Changed;
use crate::dictionary::{ColumnDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{EvalCtx, Expr, Row};
use crate::plan::change::Target;
use crate::types::Value;
use crate::types::assign::between_sets;
use crate::types::json::array;

/// The value that a row has in a generated column.
pub fn computed(def: &TableDef, (at, expr): &(usize, Expr), row: &dyn Row, ctx: &EvalCtx) -> Result<Value> {
    let value = expr.eval(&ctx.env.ctx_with(row));
    let value = value.and_then(|value| {
        let column = &def.columns[*at];
        let value = between_sets(value, (&expr.ty, &column.ty), &column.name, ctx.env)?;
        Ok(super::target::assigned(def, *at, value, ctx)?.into_owned())
    });
    value.map_err(|error| match def.columns[*at].is_key_part() {
        true => of_index(def, *at, &def.columns[*at], error, ctx.env.row_number.get()),
        false => error,
    })
}

/// Errors 3751 and 3752, and those of arrays: a functional key part has no name that an error could say.
fn of_index(def: &TableDef, at: usize, column: &ColumnDef, error: SqlError, row: u64) -> SqlError {
    let mut indexes = def.indexes.iter();
    let index = indexes.find(|index| index.parts.iter().any(|part| part.column == at));
    let name = index.map_or(&column.name, |index| &index.name);
    match error.code {
        er::WARN_DATA_OUT_OF_RANGE => SqlError::new(
            er::FUNCTIONAL_INDEX_VALUE_OUT_OF_RANGE,
            format!("Value is out of range for functional index '{name}' at row {row}"),
        ),
        er::TRUNCATED_WRONG_VALUE | er::WARN_DATA_TRUNCATED | er::DATA_TOO_LONG => SqlError::new(
            er::FUNCTIONAL_INDEX_DATA_TRUNCATED,
            format!("Data truncated for functional index '{name}' at row {row}"),
        ),
        _ => array::in_index(error, name),
    }
}

impl Target {
    /// Adds to new values of a row those that these generated columns get by them.
    pub fn generate(&self, columns: &[usize], row: &dyn Row, ctx: &EvalCtx, set: &mut Set) -> Result<()> {
        for generated in self.generated.list() {
            if columns.contains(&generated.0) {
                let value = computed(&self.def, generated, &Changed { base: row, set }, ctx)?;
                put(set, generated.0, value);
            }
        }
        Ok(())
    }
}
