//! `SELECT … FROM t AS OF TIMESTAMP '…'` and `AS OF LSN n`: tables as they were, within `innodb_undo_retention` seconds.
//!
//! A statement sees one moment. So all stored tables of a query are read at the same one, which each of them names; and
//! data changes and locking reads, which are about the newest rows, know no other.

use super::Planner;
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::parse::ast;

/// The moment at which a table is read: an expression, evaluated when the statement runs.
pub enum AsOf {
    Time(Expr),
    Lsn(Expr),
}

impl Planner<'_> {
    /// The moments that the tables planned so far name: none, or one for each. Whether they are the same is known only
    /// when the statement runs, for literals are parameters by now.
    pub(super) fn moments(&mut self, allowed: bool) -> Result<Vec<AsOf>> {
        let named: Vec<ast::AsOf> = self.moments.iter().flatten().cloned().collect();
        if !named.is_empty() && !allowed {
            return Err(SqlError::not_supported("AS OF in a data change"));
        }
        if !named.is_empty() && named.len() < self.moments.len() {
            return Err(different_moments());
        }
        let bound = named.iter().map(|at| {
            Ok(match at {
                ast::AsOf::Time(at) => AsOf::Time(self.plain(at)?),
                ast::AsOf::Lsn(at) => AsOf::Lsn(self.plain(at)?),
            })
        });
        bound.collect()
    }
}

/// The error of a statement whose tables are not all read at one moment.
pub fn different_moments() -> SqlError {
    SqlError::not_supported(
        "tables at different moments in one statement: AS OF must be the same for all of them",
    )
}
