//! The results of statements other than queries and data changes: an OK, or a small table built in memory.

use super::sink::{OkInfo, ResultSink};
use super::state::SessionState;
use crate::error::Result;
use crate::types::{Charset, ColumnMeta, SqlType, TypeKind, Value};

/// The result of a statement that is neither a query nor a change of rows.
pub enum Answer {
    /// An OK packet.
    Ok(Done),
    /// A result set, made in memory.
    Rows(ResultRows),
}

/// An OK before the session has added its state.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Rows or objects changed.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value generated, or the last one given; 0 for none.
    pub last_insert_id: u64,
    /// The human-readable part; often empty.
    pub info: String,
}

impl Answer {
    /// An OK that changed nothing countable.
    pub fn ok() -> Answer {
        Answer::Ok(Done::default())
    }

    /// An OK with a number of changed rows or objects.
    pub fn affected(affected_rows: u64) -> Answer {
        Answer::Ok(Done {
            affected_rows,
            ..Done::default()
        })
    }
}

/// A result held in memory.
#[derive(Clone, Debug)]
pub struct ResultRows {
    /// Names and types.
    pub columns: Vec<(String, SqlType)>,
    /// A value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// The type of a name in a SHOW result.
pub fn text(length: u32) -> SqlType {
    SqlType::varchar(length, crate::types::Collation::DEFAULT)
}

/// A name of a database or table, or another text in which cases differ.
pub fn exact_name(length: u32) -> SqlType {
    SqlType::varchar(length, crate::types::Collation::UTF8MB3_BIN)
}

/// A name of a column or index.
pub fn caseless_name(length: u32) -> SqlType {
    SqlType::varchar(length, crate::types::Collation::UTF8MB3_TOLOWER_CI)
}

pub fn bigint() -> SqlType {
    SqlType::new(TypeKind::BigInt)
}

impl ResultRows {
    /// A result without rows, of columns with names and types.
    pub fn new(columns: &[(&str, SqlType)]) -> ResultRows {
        ResultRows {
            columns: columns
                .iter()
                .map(|(name, ty)| ((*name).to_owned(), ty.clone()))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// All columns text of this length.
    pub fn of_text(names: &[&str], length: u32) -> ResultRows {
        ResultRows {
            columns: names
                .iter()
                .map(|name| ((*name).to_owned(), text(length)))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, which has a value for each column.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Sends the rows. The number of warnings and `status` go with the end of the result.
    pub fn send(
        &self,
        state: &SessionState,
        warnings: u16,
        status: u16,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let results = state.results_collation();
        let columns: Vec<ColumnMeta> = self
            .columns
            .iter()
            .map(|(name, ty)| ColumnMeta::of_expression(name, ty, results))
            .collect();
        out.columns(&columns)?;
        for row in &self.rows {
            out.begin_row();
            for (value, (_, ty)) in row.iter().zip(&self.columns) {
                match value {
                    Value::Str(text) => {
                        out.bytes(&Charset::send(state.settings.character_set_results, ty, text));
                    }
                    value => put_value(out, value),
                }
            }
            out.end_row()?;
            if out.is_full() {
                out.flush()?;
            }
        }
        state.track_rows();
        out.end_rows(warnings, status, &state.take_changes_with_rows())
    }
}

/// Writes one value of a row.
pub fn put_value(out: &mut dyn ResultSink, value: &Value) {
    match value {
        Value::Null => out.null(),
        Value::Int(v) => out.int(*v),
        Value::UInt(v) => out.uint(*v),
        Value::Float(v) => out.float(*v),
        Value::Double(v) => out.double(*v),
        Value::Decimal(v) => out.decimal(&v.to_string()),
        Value::Str(v) | Value::Member(_, v) => out.bytes(v),
        Value::Json(_) => out.bytes(&value.to_text()),
        Value::Date(v) => out.date(*v),
        Value::DateTime(v) => out.datetime(*v),
        Value::Time(v) => out.time(*v),
    }
}

/// The OK of a statement that succeeded.
pub fn ok_info(state: &SessionState, done: &Done, status: u16) -> OkInfo {
    OkInfo {
        affected_rows: done.affected_rows,
        last_insert_id: done.last_insert_id,
        status,
        warnings: state.warnings.count(),
        info: done.info.clone(),
        changes: state.take_changes(),
    }
}
