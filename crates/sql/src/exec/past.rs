//! The moment at which a query with AS OF reads its tables.

use crate::context::SessionState;
use crate::error::{Result, SqlError};
use crate::expr::NoSubqueries;
use crate::plan::past::{AsOf, different_moments};
use crate::types::Value;
use std::time::{Duration, UNIX_EPOCH};
use tidemark_engine::{Lsn, Moment};

/// The one moment that all of these are.
pub(super) fn one_moment(all: &[AsOf], state: &SessionState, params: &[Value]) -> Result<Option<Moment>> {
    let mut one = None;
    for at in all {
        let moment = moment_of(at, state, params)?;
        if *one.get_or_insert(moment) != moment {
            return Err(different_moments());
        }
    }
    Ok(one)
}

fn moment_of(at: &AsOf, state: &SessionState, params: &[Value]) -> Result<Moment> {
    let env = state.env(&NoSubqueries, params);
    let ctx = env.ctx();
    let wrong = |what| SqlError::unknown(format!("Incorrect {what} in AS OF"));
    match at {
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
