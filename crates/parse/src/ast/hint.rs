//! What optimizer hints ask of a whole statement.

use super::Literal;
use tidemark_types::error::SqlError;

/// The hints of a statement's comments, `/*+ … */`, that do not belong to a query block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatementHints {
    /// MAX_EXECUTION_TIME, in milliseconds; 0: without limit. `None`: not given.
    pub max_execution_time_ms: Option<u64>,
    /// SET_VAR: variables that have another value while the statement runs, each once, in the order written.
    pub variables: Vec<VariableHint>,
    /// What is wrong with the hints.
    pub warnings: Vec<SqlError>,
    /// How many MAX_EXECUTION_TIME were read that have not found their statement.
    pub(crate) time_limits: usize,
}

/// `SET_VAR(name = value)`
#[derive(Debug, Clone, PartialEq)]
pub struct VariableHint {
    /// The variable, as written.
    pub name: String,
    /// Its value.
    pub value: Literal,
    /// The hint, as a warning prints it.
    pub(crate) text: String,
}
