//! `SELECT … FROM t AS OF TIMESTAMP '…'` and `AS OF LSN n`: tables as they were, within `innodb_undo_retention` seconds.
//!
//! A statement sees one moment. So all stored tables of a query are read at the same one, which each of them names; and
//! data changes and locking reads, which are about the newest rows, know no other.

use super::Planner;
use crate::context::SessionState;
use crate::error::{Result, SqlError};
use crate::expr::{Expr, NoSubqueries};
use crate::parse::ast;
use crate::types::Value;
use std::time::{Duration, UNIX_EPOCH};
use tidemark_engine::{Lsn, Moment};

/// The moment, still to be worked out when the statement runs.
pub(super) enum AsOf {
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
            return Err(different());
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

fn different() -> SqlError {
    SqlError::not_supported(
        "tables at different moments in one statement: AS OF must be the same for all of them",
    )
}

/// The one moment that all of these are.
pub(super) fn one_moment(all: &[AsOf], state: &SessionState, params: &[Value]) -> Result<Option<Moment>> {
    let mut one = None;
    for at in all {
        let moment = at.moment(state, params)?;
        if *one.get_or_insert(moment) != moment {
            return Err(different());
        }
    }
    Ok(one)
}

impl AsOf {
    fn moment(&self, state: &SessionState, params: &[Value]) -> Result<Moment> {
        let env = state.env(&NoSubqueries, params);
        let ctx = env.ctx();
        let wrong = |what| SqlError::unknown(format!("Incorrect {what} in AS OF"));
        match self {
            AsOf::Time(at) => {
                // As the value is, whatever type the plan was made for.
                let local = at.eval(&ctx)?.to_datetime(&env)?;
                let local = local.filter(|t| !t.date.has_zero_part());
                let micros = local.and_then(|t| u64::try_from(env.time_zone.instant(t)).ok());
                let micros = micros.ok_or_else(|| wrong("TIMESTAMP value"))?;
                Ok(Moment::Time(UNIX_EPOCH + Duration::from_micros(micros)))
            }
            AsOf::Lsn(at) => {
                let value = at.eval(&ctx)?.into_owned();
                let lsn = String::from_utf8_lossy(&value.to_text()).parse().ok();
                let lsn = lsn.filter(|_| !value.is_null());
                Ok(Moment::Lsn(Lsn(lsn.ok_or_else(|| wrong("LSN value"))?)))
            }
        }
    }
}
