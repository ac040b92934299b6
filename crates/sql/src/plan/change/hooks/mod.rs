//! Row hooks: what else happens when a statement changes a row. Triggers hang here, and whatever records changes row by row.
//!
//! ```text
//!   plan                                      exec::change::row_writer
//!   SOURCES, asked for a table and its        before: the new row may be changed, then NOT NULL, generated
//!   events ──► Target::hooks                          columns and CHECK constraints are looked at
//!              (None: no source has any)      after:  the row is as it is said to be
//! ```
//!
//! A hook runs statements of its own in the transaction that changes the row. So it is called while no page is latched and nothing of
//! the transaction is borrowed: a target with hooks is never changed in place ([`Target::latch_safe`]).
//!
//! *A table without hooks pays nothing.* Whether there are any is found when a statement is planned. Its plan then has `None`, and
//! the passes that change rows under a latch have been chosen: they never look at hooks. The others compare a pointer with null for each
//! row; no call through a table of functions, no copy of a row and no allocation is made for a hook that is not there.
//!
//! A definition that brings hooks or takes them away is one that makes plans of its table anew, like any other.

#[cfg(debug_assertions)]
pub mod counted;
#[cfg(test)]
pub mod testing;

use super::foreign_keys::Event;
use super::target::Target;
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::Transaction;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEvent {
    Insert,
    Update,
    Delete,
}

/// What leads to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The statement names the table, or a view of it.
    Statement,
    /// A foreign key's ON DELETE or ON UPDATE. No trigger is activated by it.
    Cascade,
}

/// A row that is about to change. New values have their columns' types; any may be NULL.
#[derive(Debug)]
pub enum Before<'r> {
    /// A row that may come. That it has a duplicate is not known yet; a generated value of AUTO_INCREMENT is not there yet.
    Insert { new: &'r mut [Value] },
    /// A row that is found and assigned to, whether or not that changes it.
    Update { old: &'r [Value], new: &'r mut [Value] },
    /// A row that goes.
    Delete { old: &'r [Value] },
}

/// A row that has changed, with its full images.
#[cfg_attr(
    not(debug_assertions),
    expect(dead_code, reason = "no hook of a release reads it")
)]
#[derive(Clone, Copy, Debug)]
pub enum After<'r> {
    /// It is there now.
    Insert { new: &'r [Value] },
    /// It was assigned to. Unless it was `written`, both images are the same.
    Update {
        old: &'r [Value],
        new: &'r [Value],
        written: bool,
    },
    /// REPLACE made the new row of the one that was in its way. To a trigger that is an insertion.
    Replace {
        old: &'r [Value],
        new: &'r [Value],
        written: bool,
    },
    /// It is gone.
    Delete { old: &'r [Value] },
}

/// What a hook has at hand.
#[cfg_attr(
    not(debug_assertions),
    expect(dead_code, reason = "no hook of a release reads it")
)]
pub struct HookContext<'h> {
    pub session: &'h SessionState,
    /// The statement's, in its midst: what a hook changes goes with the statement, or row, that is undone.
    pub txn: &'h mut Transaction,
    pub table: &'h TableDef,
    pub origin: Origin,
}

/// Something that happens with rows of one table. An error is the statement's.
pub trait RowHook: Send + Sync {
    /// True if [`RowHook::before`] is to be called. Then values that are NULL are let through until it has been.
    fn acts_before(&self, event: RowEvent) -> bool;
    /// True if an event is more than recorded: then REPLACE deletes what is in its way rather than changes it.
    fn acts_on(&self, event: RowEvent) -> bool;
    fn before(&self, context: HookContext, row: Before) -> Result<()>;
    fn after(&self, context: HookContext, row: After) -> Result<()>;
}

/// Finds the hook that a table has for some events of some origin.
type Source = fn(&TableDef, &[RowEvent], Origin) -> Option<Arc<dyn RowHook>>;

/// All sources of hooks, in the order in which these are called.
const SOURCES: &[Source] = &[
    #[cfg(test)]
    testing::hook_of,
    #[cfg(debug_assertions)]
    counted::hook_of,
];

/// The hooks on one table.
pub struct RowHooks(Vec<Arc<dyn RowHook>>);

impl RowHooks {
    /// Finds the hooks of a table; `None` if it has none for these events.
    pub fn of(table: &TableDef, events: &[RowEvent], origin: Origin) -> Option<Box<RowHooks>> {
        let found = SOURCES.iter().filter_map(|source| source(table, events, origin));
        let hooks: Vec<_> = found.collect();
        (!hooks.is_empty()).then(|| Box::new(RowHooks(hooks)))
    }

    /// See [`RowHook::acts_before`].
    pub fn act_before(&self, event: RowEvent) -> bool {
        self.0.iter().any(|hook| hook.acts_before(event))
    }

    /// See [`RowHook::acts_on`].
    pub fn act_on(&self, event: RowEvent) -> bool {
        self.0.iter().any(|hook| hook.acts_on(event))
    }

    /// Calls those that act before the event.
    pub fn before(&self, mut context: HookContext, mut row: Before) -> Result<()> {
        let event = row.event();
        for hook in self.0.iter().filter(|hook| hook.acts_before(event)) {
            hook.before(context.again(), row.again())?;
        }
        Ok(())
    }

    /// Calls them all.
    pub fn after(&self, mut context: HookContext, row: After) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|hook| hook.after(context.again(), row))
    }
}

impl HookContext<'_> {
    fn again(&mut self) -> HookContext<'_> {
        HookContext {
            txn: &mut *self.txn,
            ..*self
        }
    }
}

impl Before<'_> {
    fn event(&self) -> RowEvent {
        match self {
            Before::Insert { .. } => RowEvent::Insert,
            Before::Update { .. } => RowEvent::Update,
            Before::Delete { .. } => RowEvent::Delete,
        }
    }

    fn again(&mut self) -> Before<'_> {
        match self {
            Before::Insert { new } => Before::Insert { new },
            Before::Update { old, new } => Before::Update { old, new },
            Before::Delete { old } => Before::Delete { old },
        }
    }
}

impl Event {
    fn row_event(&self) -> RowEvent {
        match self {
            Event::Insert => RowEvent::Insert,
            Event::Update(_) => RowEvent::Update,
            Event::Delete => RowEvent::Delete,
        }
    }
}

impl Target {
    /// Finds the hooks for what a statement does to rows of its target.
    pub fn add_hooks(&mut self, events: &[Event]) {
        let events: Vec<RowEvent> = events.iter().map(Event::row_event).collect();
        self.hooks = RowHooks::of(&self.def, &events, Origin::Statement);
    }

    /// True if hooks act before the event.
    pub fn acts_before(&self, event: RowEvent) -> bool {
        let hooks = self.hooks.as_deref();
        hooks.is_some_and(|hooks| hooks.act_before(event))
    }

    /// The columns that an UPDATE which assigns to some may give other values: any, if a hook acts before it.
    pub fn written(&self, assigned: Vec<usize>) -> Vec<usize> {
        match self.acts_before(RowEvent::Update) {
            true => (0..self.def.columns.len()).collect(),
            false => assigned,
        }
    }
}
