//! What is put down of the views that a FROM clause merges when rows may change through them: which slots their columns are,
//! their conditions, and whose rights count where.
//!
//! ```text
//!   w AS SELECT n FROM v WHERE n > 1           v AS SELECT id AS n FROM t WHERE id < 9
//!
//!   views   v  depth 1   rights of w's definer     columns [0]   conditions [slot 0 < 9]
//!           w  depth 0   rights of the account     columns [0]   conditions [slot 0 > 1]
//!   tables  t            rights of v's definer     slots 0, 1, …
//! ```
//!
//! A change of a column of `w` is a change of a slot of `t`. It needs the privilege on `w`, on `v` and on `t`, each asked
//! with the rights that count there. CHECK OPTION is a condition over the same slots.

use crate::accounts::{Privileges, Rights};
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::expr::{AllowedColumns, Expr};
use crate::parse::ast::CheckOption;
use crate::plan::from::{From, FromInput};
use crate::types::ColumnMeta;
use std::ops::Range;
use std::sync::Arc;

/// A view that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// What the statement calls it.
    pub alias: String,
    /// Its database.
    pub schema: String,
    /// Its own name.
    pub name: String,
}

impl Within {
    /// Has one of the view's columns say that it is the view's, and what it is called there.
    pub fn named(&self, meta: &mut ColumnMeta, name: Option<&str>) {
        meta.table.clone_from(&self.alias);
        if let Some(name) = name {
            meta.org_table.clone_from(&self.name);
            meta.db.clone_from(&self.schema);
            meta.org_name = name.to_owned();
        }
    }

    /// Whether it is the view of this name.
    pub fn is(&self, schema: &str, name: &str) -> bool {
        self.schema == schema && self.name == name
    }
}

/// A view whose tables have joined those of the statement.
pub(in crate::plan) struct MergedView {
    pub def: Arc<TableDef>,
    /// What may be done with it: the rights of the account, or of the definer of the view around it.
    pub rights: Arc<Rights>,
    /// How many views are around it.
    pub depth: usize,
    /// Its tables, by their positions in [`From::tables`].
    pub leaves: Range<usize>,
    /// The slots that its columns are; `None`: one that is computed.
    pub columns: Vec<Option<usize>>,
    /// Its own WHERE and the conditions of its joins, without those of the views that it names.
    pub conditions: Vec<Expr>,
    /// Some of its rows are NULLs that an outer join adds.
    pub joins_outer: bool,
}

/// Which columns of a target may be used for one purpose.
#[derive(Default)]
pub(in crate::plan) struct MayChange {
    /// By position in what the statement names, a table or a view; `None`: all.
    pub named: Option<Arc<AllowedColumns>>,
    /// By position in the table below a view: true if the definer of some view may not. Empty: all may be.
    pub withheld: Vec<bool>,
}

impl From<'_> {
    /// The view that a table of the scope is, and behind it those that it names; empty for a table.
    pub(in crate::plan) fn views_of(&self, named: usize) -> Vec<&MergedView> {
        let whole = &self.leaves[named];
        let top = |view: &MergedView| view.depth == 0 && view.leaves == *whole;
        let Some(at) = self.views.iter().position(top) else {
            return Vec::new();
        };
        let below = self.views[..at].iter().rev().take_while(|view| view.depth > 0);
        std::iter::once(&self.views[at]).chain(below).collect()
    }

    /// What a row that goes in through a table of the scope must satisfy. With LOCAL that is the view's own condition, with
    /// CASCADED those of all views below it as well; those that say something themselves are asked in any case.
    pub(in crate::plan) fn checked(&self, named: usize) -> Vec<Expr> {
        let mut conditions = Vec::new();
        let mut cascades: Vec<bool> = Vec::new();
        for view in self.views_of(named) {
            let option = view
                .def
                .view
                .as_ref()
                .map_or(CheckOption::None, |view| view.check);
            cascades.truncate(view.depth);
            let cascaded = cascades.last() == Some(&true) || option == CheckOption::Cascaded;
            cascades.push(cascaded);
            if cascaded || option == CheckOption::Local {
                conditions.extend(view.conditions.iter().cloned());
            }
        }
        conditions
    }

    /// Error 1142 or 1356 unless the privileges are held on a leaf of a table of the scope and on each view around it, or on
    /// some of their columns.
    pub(in crate::plan) fn require(
        &self,
        state: &SessionState,
        (named, at): (usize, usize),
        privileges: Privileges,
    ) -> Result<()> {
        for step in self.path_to(named, at) {
            let _acting = state.act_again(step.rights);
            let held = state.require_in_part(privileges, &step.def.schema, &step.def.name);
            held.map_err(|error| self.hidden(named, step.depth, error))?;
        }
        Ok(())
    }

    /// The columns of a leaf that the privilege is held on, all the way.
    pub(in crate::plan) fn may_change(
        &self,
        state: &SessionState,
        (named, at): (usize, usize),
        privilege: Privileges,
    ) -> MayChange {
        let mut may = MayChange::default();
        let base = self.tables[at].base;
        for step in self.path_to(named, at) {
            let _acting = state.act_again(step.rights);
            let allowed = state.allowed_columns(privilege, step.def);
            match allowed {
                allowed if step.depth == 0 => may.named = allowed,
                Some(allowed) => may.withhold(&allowed, &step.columns, base),
                None => {}
            }
        }
        may
    }

    /// The views around a leaf, the outermost first, and at last the leaf.
    fn path_to(&self, named: usize, at: usize) -> Vec<Step<'_>> {
        let views = self.views_of(named);
        let around = views.into_iter().filter(|view| view.leaves.contains(&at));
        let mut path: Vec<Step> = around
            .map(|view| Step {
                def: &view.def,
                rights: &view.rights,
                depth: view.depth,
                columns: view.columns.clone(),
            })
            .collect();
        let table = &self.tables[at];
        if let FromInput::Stored { def, .. } = &table.input {
            path.push(Step {
                def,
                rights: &table.rights,
                depth: path.len(),
                columns: (table.base..table.base + def.columns.len()).map(Some).collect(),
            });
        }
        path
    }

    /// What is told of a privilege that is missing so many views deep.
    fn hidden(&self, named: usize, depth: usize, error: SqlError) -> SqlError {
        match (depth, self.views_of(named).first()) {
            (1.., Some(top)) => SqlError::view_invalid(&top.def.schema, &top.def.name),
            _ => error,
        }
    }
}

/// A view or table on the way to a leaf.
struct Step<'f> {
    def: &'f TableDef,
    rights: &'f Arc<Rights>,
    /// How many views are around it.
    depth: usize,
    /// The slots that its columns are.
    columns: Vec<Option<usize>>,
}

impl MayChange {
    /// Takes away the columns of the table at `base` that these columns are, as far as they are not allowed.
    fn withhold(&mut self, allowed: &AllowedColumns, columns: &[Option<usize>], base: usize) {
        for (slot, is_allowed) in columns.iter().zip(&allowed.columns) {
            let column = slot.and_then(|slot| slot.checked_sub(base));
            if let (Some(column), false) = (column, is_allowed) {
                if self.withheld.len() <= column {
                    self.withheld.resize(column + 1, false);
                }
                self.withheld[column] = true;
            }
        }
    }
}
