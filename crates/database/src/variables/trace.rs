//! The variables of the optimizer trace, decoded.

use super::positions::*;
use super::switches::is_on;
use super::values::Values;
use crate::variables::Setting;

/// What `optimizer_trace` and its kin say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSettings {
    /// Statements are traced. Off by default.
    pub enabled: bool,
    /// A trace is one line.
    pub one_line: bool,
    /// `greedy_search`: the orders of joins that were considered are told.
    pub join_orders: bool,
    /// `range_optimizer`: the ranges of indexes that were considered are told.
    pub ranges: bool,
    /// `repeated_subselect`: a subquery is told of each time that it runs.
    pub repeated_subqueries: bool,
    /// `end_markers_in_json`: a closing bracket is followed by what it closes.
    pub end_markers: bool,
    /// The first that is kept; below 0, counted from the last.
    pub offset: i64,
    /// How many are shown.
    pub limit: u64,
    /// Bytes of all of them.
    pub memory_max: u64,
}

impl Values {
    pub(super) fn trace(&self) -> TraceSettings {
        let uint = |at: usize| self.get(at).as_u64();
        let (main, features) = (
            self.text(at_optimizer_trace()),
            self.text(at_optimizer_trace_features()),
        );
        TraceSettings {
            enabled: is_on(main, "enabled"),
            one_line: is_on(main, "one_line"),
            join_orders: is_on(features, "greedy_search"),
            ranges: is_on(features, "range_optimizer"),
            repeated_subqueries: is_on(features, "repeated_subselect"),
            end_markers: uint(at_end_markers_in_json()) != 0,
            offset: match self.get(at_optimizer_trace_offset()) {
                Setting::Int(offset) => *offset,
                other => other.as_u64() as i64,
            },
            limit: uint(at_optimizer_trace_limit()),
            memory_max: uint(at_optimizer_trace_max_mem_size()),
        }
    }
}
