//! What the optimizer trace is told of the search: at each place of the order that was chosen, the items that could have come there.

use super::graph::Graph;
use super::search::Asked;
use super::{Step, members, only};
use crate::error::Result;
use crate::plan::join::{self, Joiner};

impl Joiner<'_, '_> {
    pub(super) fn tell_search(&self, graph: &Graph, steps: &[Step], asked: &Asked) -> Result<()> {
        if graph.trees.len() < 2 || self.orders_told().is_none() {
            return Ok(());
        }
        let mut there = 0;
        let mut before = Vec::new();
        let mut cost = 0.0;
        for step in steps {
            let could_come =
                members(graph.all() & !there).filter(|item| self.can_come(graph, *item, there, asked));
            let mut least = 0.0;
            for item in could_come {
                let Some((_, step_cost)) = self.cheapest_way(graph, item, there, asked) else {
                    continue;
                };
                let is_chosen = item == step.item;
                if is_chosen {
                    least = step_cost;
                }
                let table = graph.trees[item].tables()[0];
                let known = [graph.known, &before].concat();
                let ready = self.ready(graph, table, &known);
                let rows = graph.rows_with(there, item);
                self.tell_next(&known, &graph.trees[item]);
                let scan = self.scan(table, &ready, &known, join::Reading::Best)?;
                self.tell_step(&scan, (rows.max(1.0), cost + step_cost), is_chosen);
            }
            cost += least;
            there |= only(step.item);
            before.extend(graph.trees[step.item].tables());
        }
        Ok(())
    }
}
