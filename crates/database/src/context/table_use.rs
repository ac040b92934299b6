//! The tables of a plan: the session takes their metadata locks, and looks at their privileges, before the plan runs.

use crate::accounts::Privileges;
use crate::dictionary::TableDef;
use crate::mdl::Mode;
use std::sync::Arc;

/// A table of a plan and what is done with it.
#[derive(Clone, Debug)]
pub struct TableUse {
    /// The table.
    pub table: Arc<TableDef>,
    /// `Write` for the targets of data changes and for locking reads.
    pub mode: Mode,
    /// What the account must be allowed, all of it, on the table or on the columns that the plan uses.
    pub privileges: Privileges,
    /// What the statement calls it, if not by its name: LOCK TABLES goes by that.
    pub alias: Option<String>,
    /// The statement does not name it: a foreign key leads there. LOCK TABLES has nothing to say of it.
    pub implied: bool,
    /// The statement does not name it: a view does. The rights to it are the definer's, and LOCK TABLES of the view locks it.
    pub through_view: bool,
}

impl TableUse {
    /// A use under the table's own name.
    pub fn new(table: Arc<TableDef>, mode: Mode, privileges: Privileges) -> TableUse {
        TableUse {
            table,
            mode,
            privileges,
            alias: None,
            implied: false,
            through_view: false,
        }
    }

    /// The same, of a table that a view names.
    pub fn through_view(mut self, is: bool) -> TableUse {
        self.through_view = is;
        self
    }

    /// The same, of a table that a foreign key leads to.
    pub fn implied(mut self) -> TableUse {
        self.implied = true;
        self
    }

    /// The same under another name.
    pub fn named(mut self, alias: &str) -> TableUse {
        self.alias = (alias != self.table.name).then(|| alias.to_owned());
        self
    }

    /// What the statement calls it.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.table.name)
    }
}
