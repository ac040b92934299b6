//! The foreign keys that a statement's changes can touch: a graph of tables, found when the statement is planned.
//!
//! ```text
//!   parents, looked up        the target        children, looked up (RESTRICT)
//!   when a row comes    ◄──   node 0      ──►   or changed (CASCADE, SET NULL): nodes again,
//!   or its columns change                       with parents and children of their own
//! ```
//!
//! A node is a table; circles of constraints are circles of the graph. Only what the statement's kind of change can lead to
//! is in it: an UPDATE of other columns than those of a key finds no graph, and costs no more than where there are no
//! constraints. All tables of the graph are tables of the plan, so their metadata locks are taken before it runs, for
//! reading those that are looked up, for writing those that cascades change; and a new definition of any makes a new plan.

use super::Target;
use super::hooks::{Origin, RowEvent, RowHooks};
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::dictionary::{ForeignKeyDef, ReferentialAction, TableDef};
use crate::error::Result;
use crate::mdl::Mode;
use crate::plan::Planner;
use crate::plan::generated::GeneratedColumns;
use std::sync::Arc;
use tidemark_engine::{IndexNo, Table};

/// The tables around a target, which is node 0.
pub struct ForeignKeys {
    pub nodes: Vec<Node>,
}

/// A table that may change, or whose rows may keep others from changing.
pub struct Node {
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    /// What its generated columns are computed by, if its rows are updated.
    pub generated: GeneratedColumns,
    /// What else happens when a cascade changes its rows.
    pub hooks: Option<Box<RowHooks>>,
    /// The constraints of which it is the child, by name.
    pub parents: Vec<ParentLink>,
    /// The constraints of which it is the parent, those of older tables first.
    pub children: Vec<ChildLink>,
    deleted: bool,
    updated: Vec<usize>,
}

/// A constraint that a row with new values in its columns has to satisfy.
pub struct ParentLink {
    /// Position in the child's [`TableDef::foreign_keys`].
    pub key: usize,
    /// Where its parent's rows are found; `None` if there is no such table, or it has no such key.
    pub parent: Option<ParentKey>,
}

/// The key of a parent that a constraint refers to.
pub struct ParentKey {
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    pub index: IndexNo,
    /// The key is all of a unique index.
    pub whole: bool,
    /// Positions in the parent, for each of the constraint's columns.
    pub columns: Vec<usize>,
    /// Parent and child are one table.
    pub own: bool,
}

/// A constraint that says what becomes of the children of a row.
pub struct ChildLink {
    /// The child's node.
    pub child: usize,
    /// Position in the child's [`TableDef::foreign_keys`].
    pub key: usize,
    /// Positions in the parent, for each of the constraint's columns.
    pub columns: Vec<usize>,
    /// The child's index that begins with its columns.
    pub index: IndexNo,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

/// What happens to rows of a table.
#[derive(Clone)]
pub enum Event {
    Insert,
    Delete,
    /// With the columns that may take other values.
    Update(Vec<usize>),
}

impl Node {
    /// Finds the hooks for what cascades can do to its rows.
    fn add_hooks(&mut self) {
        let mut events = Vec::new();
        if self.deleted {
            events.push(RowEvent::Delete);
        }
        if !self.updated.is_empty() {
            events.push(RowEvent::Update);
        }
        if !events.is_empty() {
            self.hooks = RowHooks::of(&self.def, &events, Origin::Cascade);
        }
    }
}

impl ForeignKeys {
    /// The constraint of a link to children.
    pub fn child_key(&self, link: &ChildLink) -> &ForeignKeyDef {
        &self.nodes[link.child].def.foreign_keys[link.key]
    }

    fn node(&mut self, def: &Arc<TableDef>, table: Arc<Table>) -> usize {
        if let Some(known) = self.nodes.iter().position(|node| node.def.id == def.id) {
            return known;
        }
        self.nodes.push(Node {
            def: Arc::clone(def),
            table,
            generated: GeneratedColumns::default(),
            hooks: None,
            parents: Vec::new(),
            children: Vec::new(),
            deleted: false,
            updated: Vec::new(),
        });
        self.nodes.len() - 1
    }
}

impl Planner<'_> {
    /// Gives a target the constraints that these events touch, and the statement their tables. Its hooks are known.
    pub fn add_foreign_keys(&mut self, target: &mut Target, events: &[Event]) -> Result<()> {
        let dictionary = self.state.database.dictionary();
        let def = &target.def;
        let has_children = || dictionary.has_children(&def.schema, &def.name);
        if def.temporary || def.foreign_keys.is_empty() && !has_children() {
            return Ok(());
        }
        let mut graph = ForeignKeys { nodes: Vec::new() };
        graph.node(def, Arc::clone(&target.table));
        for event in events {
            self.reach(&mut graph, 0, event)?;
        }
        let touched = !graph.nodes[0].parents.is_empty() || !graph.nodes[0].children.is_empty();
        if !touched {
            return Ok(());
        }
        for node in &mut graph.nodes {
            node.add_hooks();
        }
        for node in &graph.nodes {
            let changes = node.deleted || !node.updated.is_empty();
            self.imply(&node.def, if changes { Mode::Write } else { Mode::Read });
            for parent in node.parents.iter().filter_map(|link| link.parent.as_ref()) {
                self.imply(&parent.def, Mode::Read);
            }
        }
        target.foreign_keys = Some(Box::new(graph));
        Ok(())
    }

    fn imply(&mut self, def: &Arc<TableDef>, mode: Mode) {
        let covered = |used: &TableUse| used.mode >= mode && used.table.id == def.id;
        if !self.uses.iter().any(covered) {
            let used = TableUse::new(Arc::clone(def), mode, Privileges::NONE);
            self.uses.push(used.implied());
        }
    }

    /// Follows an event at a node to whatever it can lead to.
    fn reach(&self, graph: &mut ForeignKeys, node: usize, event: &Event) -> Result<()> {
        let (def, known) = (Arc::clone(&graph.nodes[node].def), &mut graph.nodes[node]);
        match event {
            Event::Insert => {}
            Event::Delete if known.deleted => return Ok(()),
            Event::Delete => known.deleted = true,
            Event::Update(columns) => {
                let before = known.updated.len();
                for column in columns {
                    if !known.updated.contains(column) {
                        known.updated.push(*column);
                    }
                }
                if known.updated.len() == before {
                    return Ok(());
                }
                if before == 0 {
                    known.generated = GeneratedColumns::of(&def, &self.binder)?;
                }
            }
        }
        for (at, key) in def.foreign_keys.iter().enumerate() {
            let touched = match event {
                Event::Insert => true,
                Event::Delete => false,
                Event::Update(written) => key.columns.iter().any(|column| written.contains(column)),
            };
            if touched && !graph.nodes[node].parents.iter().any(|link| link.key == at) {
                let parent = self.parent_of(key, &def)?;
                graph.nodes[node].parents.push(ParentLink { key: at, parent });
            }
        }
        if !matches!(event, Event::Insert) {
            self.reach_children(graph, node, event)?;
        }
        Ok(())
    }

    fn reach_children(&self, graph: &mut ForeignKeys, node: usize, event: &Event) -> Result<()> {
        let def = Arc::clone(&graph.nodes[node].def);
        let mut children = self.state.database.dictionary().children(&def.schema, &def.name);
        children.sort_by_key(|child| child.id);
        for child in children {
            for (at, key) in child.foreign_keys.iter().enumerate() {
                if !key.refers_to(&def.schema, &def.name) {
                    continue;
                }
                let columns = key.parent_columns.iter().map(|name| def.column(name));
                let Some(columns) = columns.collect::<Option<Vec<usize>>>() else {
                    continue;
                };
                let Some(index) = child.index_of_columns(&key.columns) else {
                    continue;
                };
                let action = match event {
                    Event::Update(written) if !columns.iter().any(|at| written.contains(at)) => continue,
                    Event::Update(_) => key.on_update,
                    _ => key.on_delete,
                };
                let table = self.state.database.engine().table(child.id)?;
                let there = graph.node(&child, table);
                let links = &mut graph.nodes[node].children;
                if !links.iter().any(|link| link.child == there && link.key == at) {
                    links.push(ChildLink {
                        child: there,
                        key: at,
                        columns,
                        index: index.number,
                        on_delete: key.on_delete,
                        on_update: key.on_update,
                    });
                }
                match (action, event) {
                    (ReferentialAction::Cascade, Event::Delete) => {
                        self.reach(graph, there, &Event::Delete)?;
                    }
                    (ReferentialAction::Cascade | ReferentialAction::SetNull, _) => {
                        self.reach(graph, there, &Event::Update(key.columns.clone()))?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn parent_of(&self, key: &ForeignKeyDef, child: &TableDef) -> Result<Option<ParentKey>> {
        let database = &self.state.database;
        let Some(def) = database.dictionary().find_table(&key.parent_schema, &key.parent) else {
            return Ok(None);
        };
        let columns = key.parent_columns.iter().map(|name| def.column(name));
        let Some(columns) = columns.collect::<Option<Vec<usize>>>() else {
            return Ok(None);
        };
        let Some(index) = def.parent_key(&columns) else {
            return Ok(None);
        };
        Ok(Some(ParentKey {
            table: database.engine().table(def.id)?,
            index: index.number,
            whole: index.unique && index.parts.len() == columns.len(),
            own: def.id == child.id,
            columns,
            def,
        }))
    }
}
