//! What a conversion of a value can see: the mode, the clock, the time zone, and where warnings go.
//!
//! A conversion never fails for want of the session: all of it is fixed while one statement runs. Expressions have more to
//! see (`expr::Env`), of which this is a part.

use super::{SqlMode, TimeZone, Warnings};
use crate::error::{Result, SqlError};
use std::cell::Cell;

/// The circumstances under which values are converted and assigned.
pub struct Conversion<'a> {
    /// Where warnings go.
    pub warnings: &'a Warnings,
    /// `@@sql_mode`
    pub sql_mode: SqlMode,
    /// Bad values for columns are errors rather than warnings: strict mode and no IGNORE.
    pub strict: bool,
    /// The statement writes rows: in strict mode division by zero and bad casts are then errors.
    pub writes: bool,
    /// `@@time_zone`, which places TIMESTAMPs.
    pub time_zone: &'a TimeZone,
    /// NOW() in microseconds since 1970 UTC.
    pub now_micros: i64,
    /// The row of a multi-row statement, from 1, as error texts count.
    pub row_number: Cell<u64>,
}

impl<'a> Conversion<'a> {
    /// The default mode, strict, in a statement that writes nothing, with the clock at 0.
    pub fn new(warnings: &'a Warnings, time_zone: &'a TimeZone) -> Conversion<'a> {
        Conversion {
            warnings,
            sql_mode: SqlMode::DEFAULT,
            strict: true,
            writes: false,
            time_zone,
            now_micros: 0,
            row_number: Cell::new(1),
        }
    }

    /// A fault in a value: an error where the statement is strict about what it writes, else a warning.
    #[inline]
    pub fn complain(&self, error: SqlError) -> Result<()> {
        self.fail(error.clone())?;
        self.warnings.warn(error);
        Ok(())
    }

    /// An error where the statement is strict about what it writes.
    pub fn fail(&self, error: SqlError) -> Result<()> {
        match self.strict && self.writes {
            true => Err(error),
            false => Ok(()),
        }
    }
}
