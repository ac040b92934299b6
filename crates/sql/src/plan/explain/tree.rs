//! From a plan to the tree of its operators.

use super::measured::{Stage, meter};
use super::names::{Names, quoted};
use super::operator::{Estimate, Operator, text};
use super::table::access_type;
use crate::dictionary::{IndexDef, TableDef};
use crate::expr::{Expr, Node};
use crate::parse::ast::SetOp;
use crate::plan::access::AccessPath;
use crate::plan::index_bounds::{IndexBounds, KeyValue};
use crate::plan::window::WindowCall;
use crate::plan::{
    HashJoin, Input, LeftJoin, QueryBody, QueryPlan, RowSource, SelectPlan, Side, TableScan, prices,
};
use crate::types::json::Json;

/// Where fewer rows than these are expected, so many are shown.
const ROWS_SHOWN_MIN: f64 = 0.01;

/// Makes the tree of a statement's queries.
pub struct Tree<'q> {
    queries: &'q [QueryPlan],
    /// SELECTs so far, which are numbered in the order in which they stand in the tree.
    selects: u64,
}

/// The equalities by which rows are looked up in a hash table.
fn looked_up_by(hash: &HashJoin, names: &Names) -> String {
    let pairs = hash.probe.iter().zip(&hash.build);
    let conditions: Vec<String> = pairs
        .map(|(probe, build)| format!("({} = {})", names.expr(build), names.expr(probe)))
        .collect();
    match conditions.is_empty() {
        true => "(no condition)".to_owned(),
        false => conditions.join(", "),
    }
}

impl<'q> Tree<'q> {
    pub fn new(queries: &'q [QueryPlan]) -> Tree<'q> {
        Tree { queries, selects: 0 }
    }

    /// The operators of a whole query.
    pub fn query(&mut self, plan: &QueryPlan) -> Operator {
        let body = match &plan.body {
            QueryBody::Select(select) => return self.select(plan, select),
            QueryBody::Set { first, rest } if rest.is_empty() => self.query(first),
            QueryBody::Set { first, rest } => {
                let distinct = rest.iter().any(|branch| !branch.all);
                let name = match rest.first().map_or(SetOp::Union, |branch| branch.op) {
                    SetOp::Union => "Union",
                    SetOp::Intersect => "Intersect",
                    SetOp::Except => "Except",
                };
                let how = match distinct {
                    true => format!("{name} with deduplication"),
                    false => format!("{name} all"),
                };
                let mut union = Operator::new("union", how).over(self.query(first));
                for branch in rest {
                    union = union.over(self.query(&branch.plan));
                }
                union
            }
            QueryBody::Recursive(recursion) => {
                let mut step = Operator::new("repeat_until_convergence", "Repeat until convergence");
                for query in &recursion.steps {
                    step = step.over(self.query(query));
                }
                Operator::new("materialize", "Recursive CTE")
                    .over(self.query(&recursion.seed))
                    .over(step)
            }
            QueryBody::Values(rows) => {
                let rows = rows.len() as f64;
                Operator::new("rows_fetched_before_execution", "Rows fetched before execution")
                    .estimated(Some(Estimate { cost: 0.0, rows }))
            }
        };
        self.tail(plan, body, None)
    }

    /// An UPDATE, DELETE or INSERT of one table, over what it reads; `None`: rows that are written in it.
    pub fn change(&mut self, how: &str, table: &str, input: Option<Operator>) -> Operator {
        let what = match how {
            "INSERT" | "REPLACE" => {
                format!("{}{} into {}", &how[..1], how[1..].to_lowercase(), quoted(table))
            }
            "DELETE" => format!("Delete from {}", quoted(table)),
            _ => format!("Update {}", quoted(table)),
        };
        let change = Operator::new("change", what);
        match input {
            Some(input) => change.over(input),
            None => change.over(Operator::new(
                "rows_fetched_before_execution",
                "Rows fetched before execution",
            )),
        }
    }

    /// What a change of one table reads of it.
    pub fn selection(&mut self, def: &TableDef, path: &AccessPath, filter: Option<&Expr>) -> Operator {
        let names = Names::of_table(def);
        let scan = stored(def, &def.name, path, true, false, &names);
        let rows = path.rows.max(1.0);
        match filter {
            Some(filter) => self.filter(
                filter,
                &names,
                scan,
                Some(Estimate {
                    cost: path.cost,
                    rows,
                }),
            ),
            None => scan,
        }
    }

    fn select(&mut self, plan: &QueryPlan, select: &SelectPlan) -> Operator {
        self.selects += 1;
        let names = Names::of_select(select, self.queries);
        let mut op = match &select.source {
            RowSource::One => Operator::new("rows_fetched_before_execution", "Rows fetched before execution")
                .estimated(Some(Estimate { cost: 0.0, rows: 1.0 })),
            source => self.source(source, &names, true),
        };
        if let Some(filter) = &select.filter {
            let estimate = op.estimate;
            op = self
                .filter(filter, &names, op, estimate)
                .metered(meter(select, Stage::Filtered));
        }
        if let Some(group) = &select.group {
            let functions: Vec<String> = group
                .aggregates
                .iter()
                .filter(|a| !a.as_double)
                .map(|a| names.aggregate(a))
                .collect();
            let functions = functions.join(", ");
            let how = match (group.keys.is_empty(), group.sorted) {
                _ if group.rollup.is_some() => "Group aggregate with rollup",
                (true, _) => "Aggregate",
                (_, true) => "Group aggregate",
                (_, false) => "Aggregate using temporary table",
            };
            if group.rollup.is_some() && !group.sorted {
                op = Operator::new("sort", format!("Sort: {}", names.list(&group.keys))).over(op);
            }
            let what = match functions.is_empty() {
                true => how.to_owned(),
                false => format!("{how}: {functions}"),
            };
            let rows = group.keys.is_empty().then_some(1.0);
            let estimate = op
                .estimate
                .and_then(|below| rows.map(|rows| Estimate { rows, ..below }));
            op = Operator::new("aggregate", what)
                .with(
                    "functions",
                    Json::Array(
                        group
                            .aggregates
                            .iter()
                            .filter(|a| !a.as_double)
                            .map(|a| text(&names.aggregate(a)))
                            .collect(),
                    ),
                )
                .with("group_by", Json::Bool(!group.keys.is_empty()))
                .estimated(estimate)
                .metered(meter(select, Stage::Grouped))
                .over(op);
            let ends = group.ends.iter().map(|end| self.source(end, &names, true));
            op = ends.fold(op, Operator::over);
        }
        if let Some(having) = &select.having {
            op = self.filter(having, &names, op, None);
        }
        op = self.windows(select, &names, op);
        if select.distinct {
            op = Operator::new("temp_table", "Temporary table with deduplication").over(op);
        }
        let op = self.tail(plan, op, Some(&names));
        let subqueries = self.subqueries("projection", &select.output, &names);
        subqueries.into_iter().fold(op, Operator::over)
    }

    fn windows(&mut self, select: &SelectPlan, names: &Names, mut op: Operator) -> Operator {
        for pass in select.windows.iter().flat_map(|windows| &windows.passes) {
            if pass.sorts() {
                let mut keys: Vec<String> = pass.partition.iter().map(|e| names.expr(e)).collect();
                keys.extend(
                    pass.order
                        .iter()
                        .map(|(e, descending)| sort_key(names, e, *descending)),
                );
                op = Operator::new("sort", format!("Sort: {}", keys.join(", "))).over(op);
            }
            let functions: Vec<&str> = pass.calls.iter().map(|call| call.function.name()).collect();
            let how = match pass.calls.iter().all(WindowCall::streams) {
                true => "Window aggregate",
                false => "Window aggregate with buffering",
            };
            op = Operator::new("window", format!("{how}: {}", functions.join(", "))).over(op);
        }
        op
    }

    /// Order and limit.
    fn tail(&mut self, plan: &QueryPlan, mut op: Operator, names: Option<&Names>) -> Operator {
        let of_result;
        let names = match names {
            Some(names) => names,
            None => {
                of_result = Names::of_order(plan, self.queries);
                &of_result
            }
        };
        let number = |e: &Expr| names.expr(e);
        if !plan.order.is_empty() {
            let keys: Vec<String> = plan
                .order
                .iter()
                .map(|(e, descending)| sort_key(names, e, *descending))
                .collect();
            let mut what = format!("Sort: {}", keys.join(", "));
            if let Some(limit) = &plan.limit
                && !plan.calc_found_rows
            {
                let most = match (&limit.node, plan.offset.as_ref().map(|e| &e.node)) {
                    (Node::Literal(limit), Some(Node::Literal(offset))) => {
                        let of = |value: &crate::types::Value| {
                            String::from_utf8_lossy(&value.to_text()).parse::<u64>()
                        };
                        match (of(limit), of(offset)) {
                            (Ok(limit), Ok(offset)) => limit.saturating_add(offset).to_string(),
                            _ => number(&plan.limit.clone().expect("it has one")),
                        }
                    }
                    _ => number(limit),
                };
                what += &format!(", limit input to {most} row(s) per chunk");
            }
            op = Operator::new("sort", what)
                .with(
                    "sort_fields",
                    Json::Array(keys.iter().map(|key| text(key)).collect()),
                )
                .estimated(op.estimate)
                .metered(meter(plan, Stage::Sorted))
                .over(op);
        }
        if let Some(limit) = &plan.limit {
            let what = match &plan.offset {
                Some(offset) => format!("Limit/Offset: {}/{} row(s)", number(limit), number(offset)),
                None => format!("Limit: {} row(s)", number(limit)),
            };
            op = Operator::new("limit", what)
                .metered(meter(plan, Stage::Sent))
                .over(op);
        }
        op
    }

    // --------------------------------------------------------------------------------------------- sources

    fn source(&mut self, source: &RowSource, names: &Names, first: bool) -> Operator {
        match source {
            RowSource::One => Operator::new("rows_fetched_before_execution", "Rows fetched before execution")
                .estimated(Some(Estimate { cost: 0.0, rows: 1.0 })),
            never if never.is_never() => Operator::new("zero_rows", "Zero rows (Impossible WHERE)")
                .with("zero_rows_cause", text("Impossible WHERE"))
                .estimated(Some(Estimate { cost: 0.0, rows: 0.0 })),
            RowSource::Table(scan) => self.scan(scan, names, first),
            RowSource::Inner(list) => {
                let mut joined: Option<Operator> = None;
                for part in list {
                    let first = first && joined.is_none();
                    joined = Some(match joined {
                        None => self.source(part, names, first),
                        Some(left) => self.join("Inner", left, part, names),
                    });
                }
                joined.unwrap_or_else(|| {
                    Operator::new("rows_fetched_before_execution", "Rows fetched before execution")
                })
            }
            RowSource::Left(join) => self.left_join(join, names, first),
        }
    }

    fn left_join(&mut self, join: &LeftJoin, names: &Names, first: bool) -> Operator {
        let left = self.source(&join.left, names, first);
        let rows = meter(&*join.right, Stage::Joined);
        let joined = self.join("Left", left, &join.right, names);
        match &join.filter {
            Some(filter) => {
                let (estimate, unmeasured) = (
                    joined.estimate,
                    Operator {
                        meter: None,
                        ..joined
                    },
                );
                self.filter(filter, names, unmeasured, estimate).metered(rows)
            }
            None => joined.metered(rows),
        }
    }

    /// One join: `right` is read for each row of `left`, or one of them met in a hash table of the other.
    fn join(&mut self, kind: &'static str, left: Operator, right: &RowSource, names: &Names) -> Operator {
        let rows = meter(right, Stage::Joined);
        let join_type = text(&format!("{} join", kind.to_lowercase()));
        if let RowSource::Table(scan) = right
            && let Some(hash) = &scan.hash
        {
            let on = looked_up_by(hash, names);
            let build = self.table(scan, names, false);
            let estimate = joined(left.estimate, build.estimate, scan.rows_out.max(ROWS_SHOWN_MIN));
            let (kept, looked_up) = match hash.side {
                Side::Table => (build, left),
                Side::Before => (left, build),
            };
            let mut join = Operator::new("join", format!("{kind} hash join {on}"))
                .with("join_type", join_type)
                .with("join_algorithm", text("hash"))
                .estimated(estimate)
                .over(looked_up)
                .over(Operator::new("hash", "Hash").over(kept));
            if let Some(late) = &scan.late_filter {
                join = self.filter(late, names, join, estimate);
            }
            return join.metered(rows);
        }
        let right = self.source(right, names, false);
        let estimate = match (left.estimate, right.estimate) {
            (Some(a), Some(b)) => Some(Estimate {
                cost: a.cost + a.rows.max(1.0) * b.cost,
                rows: a.rows * b.rows,
            }),
            _ => None,
        };
        Operator::new("join", format!("Nested loop {} join", kind.to_lowercase()))
            .with("join_type", join_type)
            .with("join_algorithm", text("nested_loop"))
            .estimated(estimate)
            .metered(rows)
            .over(left)
            .over(right)
    }

    fn scan(&mut self, scan: &TableScan, names: &Names, first: bool) -> Operator {
        let mut table = self.table(scan, names, first);
        if let Some(hash) = &scan.hash {
            let what = format!(
                "Hash lookup on {} {}",
                quoted(&scan.alias),
                looked_up_by(hash, names)
            );
            table = Operator::new("hash_lookup", what)
                .with("table_name", text(&scan.alias))
                .estimated(Some(Estimate {
                    cost: prices::HASH_PROBE,
                    rows: scan.rows_out.max(ROWS_SHOWN_MIN),
                }))
                .over(Operator::new("hash", "Hash").over(table));
        }
        match &scan.late_filter {
            Some(late) => {
                let estimate = Some(Estimate {
                    cost: scan.path.cost,
                    rows: scan.rows_out.max(ROWS_SHOWN_MIN),
                });
                let filter = self.filter(late, names, table, estimate);
                match scan.hash {
                    None => filter.metered(meter(scan, Stage::Passed)),
                    Some(_) => filter,
                }
            }
            None => table,
        }
    }

    /// A table with the conditions that are tested where it is read.
    fn table(&mut self, scan: &TableScan, names: &Names, first: bool) -> Operator {
        let op = match &scan.input {
            Input::Stored { def, .. } | Input::Virtual(def) => {
                stored(def, &scan.alias, &scan.path, first, scan.reverse, names)
            }
            Input::Derived { query, lateral, .. } => {
                let plan = &self.queries[*query];
                let how = match lateral {
                    true => "Materialize (invalidate on row from the tables before it)",
                    false => "Materialize",
                };
                let kept = Operator::new("materialize", how)
                    .metered(meter(plan, Stage::Kept))
                    .over(self.query(plan));
                Operator::new("table", format!("Table scan on {}", quoted(&scan.alias)))
                    .with("table_name", text(&scan.alias))
                    .over(kept)
            }
            Input::Json(_) => {
                let what = format!("Materialize table function {}", quoted(&scan.alias));
                Operator::new("materialize_table_function", what)
                    .with("table_name", text(&scan.alias))
                    .estimated(Some(Estimate {
                        cost: scan.path.cost,
                        rows: scan.path.rows,
                    }))
            }
        };
        let op = op.metered(meter(scan, Stage::Read));
        match &scan.tests() {
            Some(filter) => {
                // What is hashed is joined behind it.
                let rows = scan.hash.as_ref().map_or(scan.rows_out, |hash| hash.rows);
                let estimate = Some(Estimate {
                    cost: scan.path.cost,
                    rows: rows.max(ROWS_SHOWN_MIN),
                });
                let op = self.filter(filter, names, op, estimate);
                match scan.late_filter.is_none() || scan.hash.is_some() {
                    true => op.metered(meter(scan, Stage::Passed)),
                    false => op,
                }
            }
            None => op,
        }
    }

    // ------------------------------------------------------------------------------------- conditions, subqueries

    fn filter(
        &mut self,
        filter: &Expr,
        names: &Names,
        input: Operator,
        estimate: Option<Estimate>,
    ) -> Operator {
        let subqueries = self.subqueries("condition", std::slice::from_ref(filter), names);
        let condition = names.expr(filter);
        let op = Operator::new("filter", format!("Filter: {condition}"))
            .with("condition", text(&condition))
            .estimated(estimate)
            .over(input);
        subqueries.into_iter().fold(op, Operator::over)
    }

    /// The queries that some expressions run, to stand beside the operator that they belong to. `names` is told their numbers.
    fn subqueries(&mut self, place: &str, exprs: &[Expr], names: &Names) -> Vec<Operator> {
        let mut found = Vec::new();
        for e in exprs {
            e.walk(&mut |e| {
                if let Node::Subquery { id, .. } = &e.node
                    && !found.contains(id)
                {
                    found.push(*id);
                }
            });
        }
        let mut operators = Vec::new();
        for id in found {
            let plan = &self.queries[id];
            let number = self.selects + 1;
            let dependent = match plan.outer.is_empty() {
                true => "run only once",
                false => "dependent",
            };
            let mut query = self.query(plan);
            query.heading = Some(format!("Select #{number} (subquery in {place}; {dependent})"));
            names.number(id, number);
            operators.push(query);
        }
        operators
    }
}

fn sort_key(names: &Names, e: &Expr, descending: bool) -> String {
    let key = names.expr(e);
    if descending { key + " DESC" } else { key }
}

fn joined(left: Option<Estimate>, right: Option<Estimate>, rows: f64) -> Option<Estimate> {
    let (left, right) = (left?, right?);
    Some(Estimate {
        cost: left.cost + right.cost,
        rows: left.rows * rows,
    })
}

/// How a stored table is read.
fn stored(
    def: &TableDef,
    alias: &str,
    path: &AccessPath,
    first: bool,
    reverse: bool,
    names: &Names,
) -> Operator {
    let (used, access) = access_type(Some(def), path, first);
    let alias_shown = quoted(alias);
    let covering = if path.covering && path.index != 0 {
        "Covering index"
    } else {
        "Index"
    };
    let back = if reverse { " (reverse)" } else { "" };
    let mut bounds = String::new();
    if path.is_merged() {
        let merge = Operator::new("index_merge", "Deduplicate rows by primary key")
            .with("table_name", text(alias))
            .with("schema_name", text(&def.schema))
            .estimated(Some(Estimate {
                cost: path.cost,
                rows: path.rows.max(1.0),
            }));
        return path.parts().iter().fold(merge, |merge, part| {
            merge.over(stored(def, alias, part, first, reverse, names))
        });
    }
    let operation = match (used, access) {
        (None, _) if reverse => format!("Index scan on {alias_shown} using PRIMARY (reverse)"),
        (None, _) => format!("Table scan on {alias_shown}"),
        (Some(index), _) if path.skip.is_some() => {
            let ranges = path.bounds.iter().map(|b| ranges_of(def, index, b, names));
            bounds = ranges.collect::<Vec<_>>().join(" OR ");
            let over = match bounds.is_empty() {
                true => String::new(),
                false => format!(" over {bounds}"),
            };
            let covering = covering
                .replace("index", "index skip scan")
                .replace("Index", "Index skip scan");
            format!(
                "{covering} on {alias_shown} using {}{over}{back}",
                quoted(&index.name)
            )
        }
        (Some(index), "index") => format!(
            "{covering} scan on {alias_shown} using {}{back}",
            quoted(&index.name)
        ),
        (Some(index), "range") => {
            let ranges: Vec<String> = path
                .bounds
                .iter()
                .map(|b| ranges_of(def, index, b, names))
                .collect();
            bounds = ranges.join(" OR ");
            let covering = covering
                .replace("index", "index range")
                .replace("Index", "Index range");
            format!(
                "{covering} scan on {alias_shown} using {} over {bounds}{back}",
                quoted(&index.name)
            )
        }
        (Some(index), _) => {
            bounds = key_of(def, index, path.single_bounds(), names);
            let how = match (access, path.covering && path.index != 0) {
                ("ref", true) => "Covering index lookup",
                ("ref", false) => "Index lookup",
                (_, true) => "Single-row covering index lookup",
                (_, false) => "Single-row index lookup",
            };
            format!(
                "{how} on {alias_shown} using {} ({bounds}){back}",
                quoted(&index.name)
            )
        }
    };
    let mut op = Operator::new(if used.is_some() { "index" } else { "table" }, operation)
        .with("table_name", text(alias))
        .with("schema_name", text(&def.schema))
        .estimated(Some(Estimate {
            cost: path.cost,
            rows: path.rows.max(1.0),
        }));
    if let Some(index) = used {
        let kind = match access {
            "index" => "index_scan",
            "range" => "index_range_scan",
            _ => "index_lookup",
        };
        op = op
            .with("index_name", text(&index.name))
            .with("index_access_type", text(kind))
            .with("covering", Json::Bool(path.covering && path.index != 0));
        if !bounds.is_empty() {
            let key = if access == "range" {
                "ranges"
            } else {
                "lookup_condition"
            };
            op = op.with(key, text(&bounds));
        }
    }
    op
}

fn part_name(def: &TableDef, index: &IndexDef, part: usize) -> String {
    let column = &def.columns[index.parts[part].column];
    match column.key_part_expression() {
        Some(expression) => expression.to_owned(),
        None => quoted(&column.name),
    }
}

/// `a = 1, b = t.x`
fn key_of(def: &TableDef, index: &IndexDef, bounds: &IndexBounds, names: &Names) -> String {
    let parts = bounds.equal.iter().enumerate().map(|(n, part)| {
        let value = match part.values.first() {
            Some(value) => names.expr(&value.expr),
            None => "NULL".to_owned(),
        };
        format!("{} = {value}", part_name(def, index, n))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// `(a = 1 AND 3 <= b < 9)`; of several values of a part, each.
pub fn ranges_of(def: &TableDef, index: &IndexDef, bounds: &IndexBounds, names: &Names) -> String {
    /// Of more values only how many there are is said.
    const VALUES_SHOWN: usize = 10;
    let (mut parts, mut is_enclosed) = (Vec::new(), false);
    for (n, part) in bounds.equal.iter().enumerate() {
        let column = part_name(def, index, n);
        let mut values: Vec<String> = part.values.iter().map(|value| names.expr(&value.expr)).collect();
        if part.null {
            values.push("NULL".to_owned());
        }
        if let Some(query) = &part.query {
            parts.push(names.expr(&query.test));
            continue;
        }
        let rest = values.len().saturating_sub(VALUES_SHOWN);
        values.truncate(VALUES_SHOWN);
        let mut shown: Vec<String> = values.iter().map(|value| format!("{column} = {value}")).collect();
        if rest > 0 {
            shown.push(format!("({rest} more)"));
        }
        is_enclosed = shown.len() != 1;
        parts.push(match shown.len() {
            1 => shown.remove(0),
            _ => format!("({})", shown.join(" OR ")),
        });
    }
    if let Some(range) = &bounds.range {
        is_enclosed = false;
        let column = part_name(def, index, bounds.equal.len());
        let sign = |inclusive: bool| if inclusive { "<=" } else { "<" };
        let bound = |(value, inclusive): &(KeyValue, bool)| (names.expr(&value.expr), sign(*inclusive));
        let lower = range
            .lower
            .as_ref()
            .map(bound)
            .map_or(String::new(), |(value, sign)| format!("{value} {sign} "));
        let upper = range
            .upper
            .as_ref()
            .map(bound)
            .map_or(String::new(), |(value, sign)| format!(" {sign} {value}"));
        if !lower.is_empty() || !upper.is_empty() || range.like.is_none() {
            parts.push(format!("{lower}{column}{upper}"));
        }
        let like = range.like.as_ref().map(|like| names.expr(&like.pattern.expr));
        parts.extend(like.map(|pattern| format!("{column} like {pattern}")));
    }
    match parts.as_slice() {
        [one] if is_enclosed => one.clone(),
        _ => format!("({})", parts.join(" AND ")),
    }
}
