//! Which items must be there before others: as joins are written with STRAIGHT_JOIN, as hints ask, and as LATERAL needs it.

use super::super::from::Tree;
use super::super::join::Joiner;
use super::{Set, only};
use crate::parse::ast::JoinPlace;

impl Joiner<'_, '_> {
    /// For each item, those that hints ask to be joined before it.
    pub(super) fn asked_before(&self, items: &[Tree]) -> Vec<Set> {
        let there: Vec<usize> = items.iter().flat_map(Tree::tables).collect();
        let called = |name: &String| {
            let tables = there.iter().copied();
            tables
                .filter(|at| self.input.tables[*at].is_called(name))
                .collect::<Vec<_>>()
        };
        let mut before = vec![0; items.len()];
        let item_of = |table: usize| items.iter().position(|item| item.tables().contains(&table));
        let mut ask = |earlier: usize, later: usize| {
            if let (Some(earlier), Some(later)) = (item_of(earlier), item_of(later))
                && earlier != later
            {
                before[later] |= only(earlier);
            }
        };
        for (place, names) in self.input.advice.iter().flat_map(|advice| &advice.orders) {
            let named: Vec<Vec<usize>> = names.iter().map(called).collect();
            for (at, later) in named.iter().enumerate() {
                for earlier in named[..at].iter().flatten() {
                    later.iter().for_each(|later| ask(*earlier, *later));
                }
            }
            let all: Vec<usize> = named.into_iter().flatten().collect();
            for other in there.iter().filter(|at| !all.contains(at)) {
                for named in &all {
                    match place {
                        JoinPlace::First => ask(*named, *other),
                        JoinPlace::Last => ask(*other, *named),
                        JoinPlace::Anywhere => {}
                    }
                }
            }
        }
        before
    }

    /// For each item, those whose rows its LATERAL derived tables and JSON_TABLEs read.
    pub(super) fn read_before(&self, items: &[Tree]) -> Vec<Set> {
        let named_by = |item: &Tree| {
            let inside = item.tables();
            let mut slots = Vec::new();
            let tables = inside.iter().map(|at| &self.input.tables[*at]);
            self.planner.slots_of_laterals(tables, &mut slots);
            let named: Vec<usize> = slots.into_iter().map(|slot| self.table_of(slot)).collect();
            let is_read = |other: &Tree| other.tables().iter().any(|at| named.contains(at));
            let others = items.iter().enumerate().filter(|(_, other)| is_read(other));
            let others = others.filter(|(_, other)| other.tables() != inside);
            others.fold(0, |set, (at, _)| set | only(at))
        };
        items.iter().map(named_by).collect()
    }

    /// Whether an item that is made for each row of those before it may be made behind these: no view's rows are hidden there.
    pub(super) fn is_let_in(&self, item: &Tree, there: &[usize]) -> bool {
        let inside = item.tables();
        let is_made_anew = inside.iter().any(|at| self.input.tables[*at].is_made_anew());
        !is_made_anew || self.barriers.let_in(&inside, there)
    }
}
