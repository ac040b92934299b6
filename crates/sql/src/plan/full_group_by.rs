//! ONLY_FULL_GROUP_BY: what stands beside groups, or orders rows that DISTINCT has made one, must have one value for all of them.
//!
//! A grouped query may read its keys and what follows from them ([`super::dependence`]): errors 1055 and 1140 otherwise. An
//! expression that is a key is read whole; inside others keys count only as columns, as in MySQL. `ANY_VALUE` is a function of a row
//! like others, but may read anything. ORDER BY of SELECT DISTINCT may read what is selected: error 3065 otherwise.

use super::dependence::Dependences;
use super::from::{From, FromInput};
use super::group::slot_of;
use super::items::Item;
use super::window::Windows;
use super::{AGGREGATE, Planner, QueryBody, WINDOW};
use crate::error::{Result, SqlError, er};
use crate::expr::{Aggregate, Expr, Node, OUTER, Scope, ScopeColumn};
use std::collections::HashSet;

/// What is evaluated on groups.
pub(super) struct OverGroups<'g> {
    pub items: &'g [Item],
    pub having: Option<&'g Expr>,
    pub order: &'g [(Expr, bool)],
    pub windows: &'g Windows,
    /// There are rows of totals.
    pub rollup: bool,
}

/// What may be read: some expressions as they are, and columns.
struct Readable<'r, 'p> {
    planner: &'r Planner<'p>,
    whole: HashSet<&'r Expr>,
    slots: HashSet<usize>,
    scope: &'r Scope<'r>,
    /// There are keys.
    grouped: bool,
    /// Those of the query, where they count as columns.
    aggregates: Option<&'r [Aggregate]>,
}

impl Planner<'_> {
    /// Error 1055 or 1140 where something reads a column that is not the same in all rows of a group.
    pub(super) fn check_grouping(
        &self,
        keys: &[Expr],
        filter: Option<&Expr>,
        from: &From,
        over: &OverGroups,
    ) -> Result<()> {
        // In a row of totals nothing follows from the keys that it leaves out.
        let dependences = match over.rollup {
            true => Dependences::default(),
            false => self.dependences(from, filter)?,
        };
        let readable = Readable {
            planner: self,
            whole: keys.iter().collect(),
            slots: dependences.closure(keys.iter().filter_map(|key| self.slot_alone(key))),
            scope: &from.scope,
            grouped: !keys.is_empty(),
            aggregates: None,
        };
        for (n, item) in over.items.iter().enumerate() {
            readable.check(&item.expr, n + 1, "SELECT list")?;
            for input in over.windows.inputs_of(&item.expr) {
                readable.check(input, n + 1, "SELECT list")?;
            }
        }
        if let Some(having) = over.having {
            readable.check(having, 1, "HAVING clause")?;
        }
        // The only group needs no order.
        let order = over.order.iter().filter(|_| readable.grouped);
        for (n, (e, _)) in order.enumerate() {
            readable.check(e, n + 1, "ORDER BY clause")?;
            for input in over.windows.inputs_of(e) {
                readable.check(input, n + 1, "ORDER BY clause")?;
            }
        }
        for (window, keys) in over.windows.in_use() {
            let clause = format!("PARTITION BY or ORDER BY clause of window '{window}'");
            for (n, key) in keys.into_iter().enumerate() {
                readable.check(key, n + 1, &clause)?;
            }
        }
        Ok(())
    }

    /// Error 3065 where the order of distinct rows reads a column that is not selected, 3066 for such an aggregate.
    pub(super) fn check_distinct_order(
        &self,
        items: &[Item],
        order: &[(Expr, bool)],
        aggregates: &[Aggregate],
        from: &From,
    ) -> Result<()> {
        let selected = Readable {
            planner: self,
            whole: items.iter().map(|item| &item.expr).collect(),
            slots: items.iter().filter_map(|item| slot_of(&item.expr)).collect(),
            scope: &from.scope,
            grouped: true,
            aggregates: Some(aggregates),
        };
        for (n, (e, _)) in order.iter().enumerate() {
            if let Some(slot) = selected.stray(e) {
                if slot >= AGGREGATE {
                    return Err(unselected_aggregate(n + 1));
                }
                return Err(SqlError::new(
                    er::FIELD_IN_ORDER_NOT_SELECT,
                    format!(
                        "Expression #{} of ORDER BY clause is not in SELECT list, references column '{}' which is not in \
                         SELECT list; this is incompatible with DISTINCT",
                        n + 1,
                        selected.full_name(slot)
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl Planner<'_> {
    /// What a subquery without tables selects, which MySQL takes in its place.
    fn selected_alone(&self, e: &Expr) -> Option<&Expr> {
        let Node::Subquery { id, .. } = e.node else {
            return None;
        };
        match &self.queries[id].body {
            QueryBody::Select(block)
                if block.tables.is_empty()
                    && block.filter.is_none()
                    && block.having.is_none()
                    && !block.is_grouped()
                    && !block.has_windows()
                    && !block.limited =>
            {
                block.output.first()
            }
            _ => None,
        }
    }

    /// Whether an expression is a subquery that selects another expression, without tables.
    fn is_alone(&self, e: &Expr, other: &Expr) -> bool {
        let selected = self.selected_alone(e);
        selected.is_some_and(|selected| other.same_moved(selected, OUTER))
    }

    /// The column that an expression is, or that a subquery without tables selects.
    fn slot_alone(&self, e: &Expr) -> Option<usize> {
        match self.selected_alone(e) {
            Some(selected) => slot_of(selected)?.checked_sub(OUTER).filter(|slot| *slot < OUTER),
            None => slot_of(e),
        }
    }
}

impl Readable<'_, '_> {
    /// Error 1055 or 1140 for the `n`-th expression of a clause.
    fn check(&self, e: &Expr, n: usize, clause: &str) -> Result<()> {
        let Some(slot) = self.stray(e) else { return Ok(()) };
        let name = self.full_name(slot);
        Err(if self.grouped {
            SqlError::new(
                er::WRONG_FIELD_WITH_GROUP,
                format!(
                    "Expression #{n} of {clause} is not in GROUP BY clause and contains nonaggregated column '{name}' \
                     which is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                     sql_mode=only_full_group_by"
                ),
            )
        } else {
            SqlError::new(
                er::MIX_OF_GROUP_FUNC_AND_FIELDS,
                format!(
                    "In aggregated query without GROUP BY, expression #{n} of {clause} contains nonaggregated column \
                     '{name}'; this is incompatible with sql_mode=only_full_group_by"
                ),
            )
        })
    }

    /// A column in the expression that may not be read.
    fn stray(&self, e: &Expr) -> Option<usize> {
        let planner = self.planner;
        let is_same = |whole: &Expr| {
            planner.is_alone(e, whole) || planner.is_alone(whole, e) || self.is_same_aggregate(e, whole)
        };
        match self.whole.contains(e) && !is_interval(e) || self.whole.iter().any(|whole| is_same(whole)) {
            true => None,
            false => self.stray_in(e),
        }
    }

    fn is_same_aggregate(&self, e: &Expr, other: &Expr) -> bool {
        let aggregate = |e: &Expr| self.aggregates?.get(slot_of(e)?.checked_sub(AGGREGATE)?);
        aggregate(e).is_some_and(|e| aggregate(other).is_some_and(|other| e.same_as(other)))
    }

    fn stray_in(&self, e: &Expr) -> Option<usize> {
        match &e.node {
            Node::Column(slot) if self.aggregates.is_some() && (AGGREGATE..WINDOW).contains(slot) => {
                return Some(*slot).filter(|_| !self.whole.contains(e));
            }
            Node::Column(slot) => return Some(*slot).filter(|slot| self.is_stray(*slot)),
            // A column of a merged view is a column, whatever it is computed by.
            _ if e.name.is_some() && self.whole.contains(e) => return None,
            // Whichever of the group's rows it is read of.
            Node::Call(def, _) if def.name == "any_value" => return None,
            Node::Subquery { id, .. } => {
                let around = &self.planner.queries[*id].outer;
                if around.iter().any(|slot| self.is_stray(*slot))
                    && let Some(slot) = self.stray_inside(*id, 1)
                {
                    return Some(slot);
                }
            }
            _ => {}
        }
        e.children().into_iter().find_map(|child| self.stray_in(child))
    }

    fn is_stray(&self, slot: usize) -> bool {
        slot < AGGREGATE && !self.slots.contains(&slot)
    }

    /// Like `stray`, in a query so many queries further inwards, where the name of an item that may be read is no column.
    fn stray_inside(&self, id: usize, depth: usize) -> Option<usize> {
        let (mut named, mut found): (HashSet<*const Expr>, _) = (HashSet::new(), None);
        let (mut inside, mut derived) = (Vec::new(), Vec::new());
        self.planner.queries[id].walk(
            &mut |e| {
                let is_whole = |whole: &&Expr| whole.same_moved(e, depth * OUTER);
                if e.name.is_some() && slot_of(e).is_none() && self.whole.iter().any(is_whole) {
                    e.walk(&mut |part| _ = named.insert(part));
                }
                match &e.node {
                    Node::Column(slot) if slot / OUTER == depth && !named.contains(&(e as *const Expr)) => {
                        found = found.or(Some(slot % OUTER).filter(|slot| self.is_stray(*slot)));
                    }
                    Node::Subquery { id, .. } => inside.push((*id, depth + 1)),
                    _ => {}
                }
            },
            &mut |table| {
                if let FromInput::Derived { query, lateral } = &table.input {
                    derived.push((*query, depth + usize::from(*lateral)));
                }
            },
        );
        let mut inside = inside.into_iter().chain(derived);
        found.or_else(|| inside.find_map(|(id, depth)| self.stray_inside(id, depth)))
    }

    fn full_name(&self, slot: usize) -> String {
        for table in &self.scope.tables {
            let is_it = |column: &&ScopeColumn| column.value.is_none() && column.slot == slot;
            if let Some(column) = table.columns.iter().find(is_it) {
                let schema = table
                    .schema
                    .as_deref()
                    .map(|s| format!("{s}."))
                    .unwrap_or_default();
                return format!("{schema}{}.{}", table.alias, column.name);
            }
        }
        String::new()
    }
}

/// `INTERVAL(…)` equals nothing, not even itself.
fn is_interval(e: &Expr) -> bool {
    matches!(&e.node, Node::Call(def, _) if def.name == "interval")
}

/// Error 3066: an aggregate in ORDER BY of SELECT DISTINCT, as its `n`-th expression, that is not selected.
fn unselected_aggregate(n: usize) -> SqlError {
    SqlError::new(
        er::AGGREGATE_IN_ORDER_NOT_SELECT,
        format!(
            "Expression #{n} of ORDER BY clause is not in SELECT list, contains aggregate function; this is incompatible with DISTINCT"
        ),
    )
}

/// Error 3029: an aggregate in ORDER BY, as its `n`-th expression, of a query that has no other and no groups.
pub(super) fn order_aggregates(n: usize) -> SqlError {
    SqlError::new(
        er::AGGREGATE_ORDER_NON_AGG_QUERY,
        format!(
            "Expression #{n} of ORDER BY contains aggregate function and applies to the result of a non-aggregated query"
        ),
    )
}
