//! Planning of data changes: INSERT, REPLACE, UPDATE and DELETE.
//!
//! Each is planned once into data that any session can run with its own parameters; `exec::change` runs it.
//!
//! - [`target`]: the table written to; [`seen`]: through a view; [`assignments`]: what SET gives to its columns.
//! - [`insert`], [`update`], [`delete`]: the statements; [`selection`]: how the last two find their rows.
//! - [`filling`]: the rows of CREATE TABLE … SELECT, [`made_columns`] the columns that its query makes.
//! - [`load`]: LOAD DATA.
//! - [`joined`]: UPDATE and DELETE of the rows that a join finds.
//! - [`reads`]: that the table is not read beside.
//! - [`foreign_keys`]: the tables that foreign keys lead to; [`hooks`]: what else happens with each row.
//! - [`setup`]: changes of the switches of `performance_schema`.

pub mod assignments;
mod carried;
pub mod delete;
pub mod filling;
pub mod foreign_keys;
pub mod hooks;
pub mod insert;
pub mod joined;
pub mod load;
mod made_columns;
mod reads;
pub(in crate::plan) mod seen;
pub mod selection;
pub mod setup;
pub mod target;
pub mod update;

pub use assignments::Assignments;
pub(in crate::plan) use carried::Carried;
pub use delete::DeletePlan;
pub use foreign_keys::ForeignKeys;
pub(in crate::plan) use insert::INSERTED;
pub use insert::{Given, InsertPlan, InsertSource, OnDuplicate};
pub use joined::{JoinedAction, JoinedPlan, JoinedTarget};
pub(in crate::plan) use made_columns::widen_text;
pub use selection::{Pass, RowSelection};
pub use setup::{InsertedSetup, SetupChange, SetupPlan};
pub use target::{Check, CheckOf, Target};
pub use update::UpdatePlan;

use crate::dictionary::ColumnDefault;
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, build};
use crate::types::assign::zero_value;

/// DEFAULT(column) of a column with a constant default.
fn literal_default(target: &Target, column: usize) -> Result<Expr> {
    let def = &target.def.columns[column];
    if def.generated.is_some() {
        return Err(SqlError::no_default(&def.name));
    }
    match &def.default {
        Some(ColumnDefault::Literal(value)) => Ok(build::typed_literal(def.ty.clone(), value.clone())),
        Some(ColumnDefault::Expression(_)) => Err(SqlError::new(
            er::DEFAULT_AS_VAL_GENERATED,
            "DEFAULT function cannot be used with default value expressions",
        )),
        Some(ColumnDefault::CurrentTimestamp) => {
            Err(SqlError::not_supported("DEFAULT(column) of the current time"))
        }
        None if def.auto_increment => Ok(build::typed_literal(def.ty.clone(), zero_value(&def.ty))),
        None => Err(SqlError::no_default(&def.name)),
    }
}
