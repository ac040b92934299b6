//! A plan that is kept, with what it was made for: whether it serves once more.
//!
//! A plan depends on definitions (the dictionary's epoch), on the session's temporary tables, on what the account may do, and on its
//! parameters. Each run asks for all of it, nearly always by comparing one number each; the locks of the tables come after the first question
//! about definitions and before the second, since a definition may change in between.

use super::guards::Fit;
use super::statement::{StatementPlan, plan};
use crate::accounts::Privileges;
use crate::context::{RightsAt, SessionState, command};
use crate::dictionary::{Dictionary, TableDef, is_open_table};
use crate::error::Result;
use crate::expr::{Expr, Params};
use crate::mdl::Mode;
use crate::parse::ast::Statement;
use crate::statements::Meter;
use crate::types::Value;
use std::sync::Arc;

/// A plan and what it was made for.
pub struct ReadyPlan {
    pub plan: Box<StatementPlan>,
    /// The dictionary's epoch it was planned at, or found to be right at.
    epoch: u64,
    /// The version of the session's temporary tables that it was last held against.
    pub temporary_at: u64,
    /// As of when its privileges were checked.
    allowed_at: RightsAt,
    pub command: usize,
    /// Where what it does is counted, once it has run by itself.
    pub meter: Option<Meter>,
    /// It was made for the parameters that it will run with first.
    pub fresh: bool,
}

/// What was found about the tables of a plan when they were locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesInUse {
    /// There is one that is not virtual.
    pub any_stored: bool,
    /// So many have metadata locks: those that are no temporary ones.
    pub locked: u64,
}

/// Whether the definitions of a plan's tables are those of some epoch, which becomes the present one if they are.
#[inline]
fn is_right(plan: &StatementPlan, epoch: &mut u64, dictionary: &Dictionary) -> bool {
    *epoch == dictionary.epoch() || is_right_still(plan, epoch, dictionary)
}

/// [`is_right`] after some definition has changed.
#[cold]
fn is_right_still(plan: &StatementPlan, epoch: &mut u64, dictionary: &Dictionary) -> bool {
    dictionary.still_right(epoch, stored_tables(plan))
}

fn stored_tables(plan: &StatementPlan) -> impl Iterator<Item = &Arc<TableDef>> {
    let used = plan.uses().iter().map(|used| &used.table);
    used.filter(|table| !table.temporary && !table.is_virtual())
}

impl ReadyPlan {
    /// Plans a statement.
    pub fn new(statement: &Statement, state: &SessionState, params: Params) -> Result<ReadyPlan> {
        let epoch = state.database.dictionary().epoch();
        let temporary_at = state.temporary.version();
        let allowed_at = state.rights_at();
        Ok(ReadyPlan {
            plan: plan(statement, state, params)?,
            epoch,
            temporary_at,
            allowed_at,
            command: command::of(statement),
            meter: None,
            fresh: true,
        })
    }

    /// Returns the dictionary's epoch it was planned at, or found to be right at.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the tables whose definitions it depends on, and that are in the dictionary.
    pub fn stored_tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        stored_tables(&self.plan)
    }

    /// Whether it is right for its tables, and for these parameters.
    #[inline]
    pub fn serves(&mut self, state: &SessionState, params: &[Value]) -> Fit {
        // A plan that has never run was made for these parameters.
        let is_fresh = std::mem::take(&mut self.fresh);
        let fits = is_fresh || self.plan.fits(params);
        if !fits || !self.is_right(state) || !self.means_the_same(state) {
            return Fit::Outgrown;
        }
        match is_fresh {
            true => Fit::Fits,
            false => self.plan.fit(state, params),
        }
    }

    /// Returns the expression that it is a plan of, if it serves and the expression needs nothing but the parameters.
    #[inline]
    pub fn serving_value(&mut self, state: &SessionState, params: &[Value]) -> Option<&Expr> {
        let serves = self.serves(state, params) == Fit::Fits && self.is_allowed(state);
        self.plan.plain_value().filter(|_| serves)
    }

    /// Whether its tables are what they were when it was made.
    #[inline]
    pub fn is_right(&mut self, state: &SessionState) -> bool {
        is_right(&self.plan, &mut self.epoch, state.database.dictionary())
    }

    /// Whether the account may still run it. One that may not, as far as this tells, is to be planned again.
    #[inline]
    pub fn is_allowed(&mut self, state: &SessionState) -> bool {
        let rights_now = state.rights_at();
        if self.allowed_at != rights_now {
            if !holds_all(&self.plan, state) {
                return false;
            }
            self.allowed_at = rights_now;
        }
        true
    }

    /// Takes the metadata locks of its tables, in their order. After an error some may have been taken.
    #[inline]
    pub fn lock_tables(&self, state: &SessionState) -> Result<TablesInUse> {
        let mut in_use = TablesInUse {
            any_stored: false,
            locked: 0,
        };
        for used in self.plan.uses() {
            if used.table.is_virtual() {
                continue;
            }
            in_use.any_stored = true;
            if used.table.temporary {
                continue;
            }
            in_use.locked += 1;
            let locks = &state.locks;
            state.with_wait_policy(|policy| locks.use_table(&used.table.lock, used.mode, policy))?;
        }
        Ok(in_use)
    }

    /// Whether each table of the plan is still what its name means, if temporary tables have come or gone since.
    pub fn means_the_same(&mut self, state: &SessionState) -> bool {
        let temporary = &state.temporary;
        if self.temporary_at == temporary.version() {
            return true;
        }
        let same = self.plan.uses().iter().all(|used| {
            let table = &used.table;
            if used.implied || used.through_view {
                return true;
            }
            match temporary.find(&table.schema, &table.name) {
                Some(found) => Arc::ptr_eq(&found, table),
                None => !table.temporary,
            }
        });
        if same {
            self.temporary_at = temporary.version();
        }
        same
    }
}

/// True if the account holds all that the plan needs, and SELECT, on whole tables: nothing else could be found by planning
/// anew. A plan that needs less, goes by columns, or looks into views, is made anew when privileges have changed.
fn holds_all(plan: &StatementPlan, state: &SessionState) -> bool {
    let rights = state.rights();
    plan.uses().iter().all(|used| {
        let (schema, name) = (&used.table.schema, &used.table.name);
        let all = used.privileges.union(Privileges::SELECT);
        let is_locking_read = used.mode == Mode::Write && used.privileges == Privileges::SELECT;
        let locks = !is_locking_read || state.require_locking(schema, name).is_ok();
        let allowed = is_open_table(schema, name) || (rights.allow(all, schema, name) && locks);
        used.implied || used.table.temporary || (allowed && !used.through_view)
    })
}
