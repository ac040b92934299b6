//! CREATE VIEW and ALTER VIEW.

use super::{ObjectName, Query, UserName};

/// `CREATE VIEW …`, `ALTER VIEW …`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// What becomes of a view that is there already.
    pub form: ViewForm,
    /// `ALGORITHM = …`; `None`: not written.
    pub algorithm: Option<ViewAlgorithm>,
    /// `DEFINER = …`; `None`: the account of the session.
    pub definer: Option<UserName>,
    /// `SQL SECURITY …`: true for INVOKER; `None`: not written.
    pub invoker: Option<bool>,
    /// The view's name.
    pub name: ObjectName,
    /// `v (a, b)`: its columns' names; empty: those of its query.
    pub columns: Vec<String>,
    /// What it stands for.
    pub query: Query,
    /// `WITH … CHECK OPTION`
    pub check: CheckOption,
}

/// What becomes of a view that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewForm {
    /// `CREATE VIEW`: an error.
    Create,
    /// `CREATE VIEW IF NOT EXISTS`: it stays, with a note.
    CreateIfNotExists,
    /// `CREATE OR REPLACE VIEW`: it is replaced.
    Replace,
    /// `ALTER VIEW`: it is replaced, and must be there.
    Alter,
}

/// ALGORITHM of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    /// As MERGE where that is possible.
    Undefined,
    /// Its tables join the statement's.
    Merge,
    /// Its rows are put aside first.
    Temptable,
}

/// What rows may be written through a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// Any.
    None,
    /// Those that the view shows.
    Local,
    /// Those that the view, and every view below it, shows.
    Cascaded,
}

impl ViewAlgorithm {
    /// As SQL writes it.
    pub fn as_sql(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::Temptable => "TEMPTABLE",
        }
    }
}

impl CheckOption {
    /// As `information_schema` writes it.
    pub fn as_sql(self) -> &'static str {
        match self {
            CheckOption::None => "NONE",
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}
