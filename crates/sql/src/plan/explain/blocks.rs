//! `FORMAT=JSON` in MySQL's version 1: query blocks inside one another, each with its tables in the order in which they are read.
//!
//! Costs are this planner's. It does not tell what a row costs to read from what it costs to look at, so all of it is `read_cost`,
//! and `eval_cost` is 0.

use super::names::Names;
use super::table::{access_type, key_lengths, parts_used, row_length};
use crate::dictionary::TableDef;
use crate::expr::{Expr, Node};
use crate::parse::ast::SetOp;
use crate::plan::access::{AccessPath, conjuncts};
use crate::plan::change::insert::{InsertPlan, InsertSource, OnDuplicate};
use crate::plan::change::selection::RowSelection;
use crate::plan::change::{JoinedAction, JoinedPlan};
use crate::plan::statement::Body;
use crate::plan::window::{WindowCall, WindowPass};
use crate::plan::{Input, QueryBody, QueryPlan, RowSource, SelectPlan, TableScan};
use crate::types::json::Json;
use std::collections::HashMap;

type Members = Vec<(String, Json)>;

/// Reads a plan.
pub struct Blocks<'q> {
    queries: &'q [QueryPlan],
    last_id: u64,
    /// The blocks of derived tables that have been shown, by their queries.
    shown: HashMap<usize, u64>,
    /// The recursive tables whose own queries are being shown.
    working: Vec<usize>,
}

/// The tables read so far: rows of their join, and what they have cost.
struct Joined {
    rows: f64,
    cost: f64,
    tables: Vec<Json>,
}

/// What is said of a table that is changed.
#[derive(Clone, Copy)]
struct Changed {
    base: usize,
    how: &'static str,
}

/// The whole document.
pub fn document(body: &Body, queries: &[QueryPlan]) -> Json {
    let mut blocks = Blocks {
        queries,
        last_id: 0,
        shown: HashMap::new(),
        working: Vec::new(),
    };
    let block = match body {
        Body::Query(query) => blocks.query(query),
        Body::Insert(insert) => blocks.insert(insert),
        Body::Update(update) => blocks.change("update", &update.target.def, &update.rows),
        Body::Delete(delete) => blocks.change("delete", &delete.target.def, &delete.rows),
        Body::Joined(joined) => blocks.joined_change(joined),
        Body::Setup(setup) => blocks.query(&setup.query),
        Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => Vec::new(),
    };
    object([("query_block", Json::Object(block))])
}

fn text(text: impl Into<String>) -> Json {
    Json::String(text.into())
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(owned(members))
}

fn owned<const N: usize>(members: [(&str, Json); N]) -> Members {
    members.map(|(key, value)| (key.to_owned(), value)).into()
}

fn number(cost: f64) -> Json {
    text(format!("{cost:.2}"))
}

/// Puts members into an object of their own.
fn enclose(key: &str, mut flags: Members, inner: Members) -> Members {
    flags.extend(inner);
    vec![(key.to_owned(), Json::Object(flags))]
}

fn flags(temporary: bool, sorts: bool) -> Members {
    let mut flags = Vec::new();
    if temporary {
        flags.extend(owned([("using_temporary_table", Json::Bool(true))]));
    }
    flags.extend(owned([("using_filesort", Json::Bool(sorts))]));
    flags
}

/// Bytes as MySQL shortens them: 373, 1K, 10M.
fn bytes(count: f64) -> String {
    let (mut count, mut unit) = (count, "");
    for next in ["K", "M", "G", "T"] {
        if count < 1024.0 {
            break;
        }
        (count, unit) = (count / 1024.0, next);
    }
    format!("{}{unit}", count as u64)
}

impl Blocks<'_> {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The members of a query's block.
    fn query(&mut self, plan: &QueryPlan) -> Members {
        match &plan.body {
            QueryBody::Select(select) => self.select(plan, select, None),
            // A query in parentheses, with an order or a limit of its own.
            QueryBody::Set { first, rest } if rest.is_empty() => self.query(first),
            QueryBody::Set { first, rest } => {
                let first_id = self.last_id + 1;
                let mut parts = vec![self.part(first, false)];
                let mut ids = vec![first_id];
                for branch in rest {
                    ids.push(self.last_id + 1);
                    parts.push(self.part(&branch.plan, false));
                }
                let op = rest[0].op;
                let is_kept = !plan.order.is_empty() || rest.iter().any(|b| !b.all || b.op != SetOp::Union);
                self.set(op, is_kept.then_some(&ids), !plan.order.is_empty(), parts)
            }
            QueryBody::Recursive(recursion) => {
                let mut parts = vec![self.part(&recursion.seed, false)];
                self.working.push(recursion.working);
                for step in &recursion.steps {
                    parts.push(self.part(step, true));
                }
                self.working.pop();
                self.set(SetOp::Union, None, false, parts)
            }
            QueryBody::Values(_) => {
                let id = self.id();
                owned([("select_id", Json::UInt(id)), ("message", text("No tables used"))])
            }
        }
    }

    /// `kept`: the blocks whose rows a temporary table takes.
    fn set(&mut self, op: SetOp, kept: Option<&Vec<u64>>, sorts: bool, parts: Vec<Json>) -> Members {
        let name = match op {
            SetOp::Union => "union",
            SetOp::Intersect => "intersect",
            SetOp::Except => "except",
        };
        let mut members = owned([("using_temporary_table", Json::Bool(kept.is_some()))]);
        if let Some(ids) = kept {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            members.extend(owned([
                ("select_id", Json::UInt(self.id())),
                ("table_name", text(format!("<{name}{}>", ids.join(",")))),
                ("access_type", text("ALL")),
            ]));
        }
        if sorts {
            members.extend(owned([("using_filesort", Json::Bool(true))]));
        }
        members.extend(owned([("query_specifications", Json::Array(parts))]));
        vec![(format!("{name}_result"), Json::Object(members))]
    }

    /// A query inside another.
    fn part(&mut self, plan: &QueryPlan, recursive: bool) -> Json {
        let dependent = !plan.outer.is_empty();
        let mut block = self.query(plan);
        if recursive {
            block.insert(1.min(block.len()), ("recursive".to_owned(), Json::Bool(true)));
        }
        object([
            ("dependent", Json::Bool(dependent)),
            ("cacheable", Json::Bool(!dependent)),
            ("query_block", Json::Object(block)),
        ])
    }

    fn select(&mut self, plan: &QueryPlan, select: &SelectPlan, changed: Option<&[Changed]>) -> Members {
        let mut block = owned([("select_id", Json::UInt(self.id()))]);
        let names = Names::full_of_select(select, self.queries);
        let mut joined = Joined {
            rows: 1.0,
            cost: 0.0,
            tables: Vec::new(),
        };
        let is_never = select.source.is_never();
        if !is_never {
            self.source(&select.source, &names, &mut joined, changed.unwrap_or(&[]));
        }
        if let (Some(filter), Some(last)) = (&select.filter, joined.tables.last_mut()) {
            let subqueries = self.subqueries([filter]);
            let condition = names.expr(filter);
            attach(last, condition, subqueries);
        }
        let mut inner = match joined.tables.len() {
            0 if is_never => owned([("message", text("Impossible WHERE"))]),
            0 => owned([("message", text("No tables used"))]),
            1 => owned([("table", joined.tables.remove(0))]),
            _ => {
                let tables = joined.tables.into_iter();
                let tables = tables.map(|table| object([("table", table)]));
                owned([("nested_loop", Json::Array(tables.collect()))])
            }
        };
        if !matches!(select.source, RowSource::One) {
            let cost = object([("query_cost", number(joined.cost))]);
            block.extend(owned([("cost_info", cost)]));
        }
        if let Some(group) = select.group.as_ref().filter(|group| !group.keys.is_empty()) {
            let aside = !group.sorted && group.rollup.is_none();
            let sorts = !group.sorted && group.rollup.is_some();
            inner = enclose("grouping_operation", flags(aside, sorts), inner);
        }
        if let Some(windows) = &select.windows {
            let passes = windows.passes.iter().flat_map(|pass| windows_of(pass, &names));
            let windows = owned([("windows", Json::Array(passes.collect()))]);
            inner = enclose("windowing", windows, inner);
        }
        if select.distinct {
            inner = enclose("duplicates_removal", flags(true, false), inner);
        }
        if !plan.order.is_empty() {
            inner = enclose("ordering_operation", flags(false, true), inner);
        }
        block.extend(inner);
        let keys = select.group.iter().flat_map(|group| &group.keys);
        for (place, found) in [
            ("select_list_subqueries", self.subqueries(&select.output)),
            ("group_by_subqueries", self.subqueries(keys)),
            ("having_subqueries", self.subqueries(&select.having)),
            (
                "order_by_subqueries",
                self.subqueries(plan.order.iter().map(|(e, _)| e)),
            ),
        ] {
            if !found.is_empty() {
                block.push((place.to_owned(), Json::Array(found)));
            }
        }
        block
    }

    /// The queries that expressions run.
    fn subqueries<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Json> {
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
        let queries = self.queries;
        found
            .into_iter()
            .map(|id| self.part(&queries[id], false))
            .collect()
    }

    // ------------------------------------------------------------------------------------------------- tables

    fn source(&mut self, source: &RowSource, names: &Names, joined: &mut Joined, changed: &[Changed]) {
        match source {
            RowSource::One => {}
            RowSource::Table(scan) => self.scan(scan, names, joined, changed),
            RowSource::Inner(list) => list
                .iter()
                .for_each(|part| self.source(part, names, joined, changed)),
            RowSource::Left(left_join) => {
                self.source(&left_join.left, names, joined, changed);
                let before = joined.rows;
                self.source(&left_join.right, names, joined, changed);
                joined.rows = joined.rows.max(before);
                if let (Some(filter), Some(last)) = (&left_join.filter, joined.tables.last_mut()) {
                    let subqueries = self.subqueries([filter]);
                    attach(last, names.expr(filter), subqueries);
                }
            }
        }
    }

    fn scan(&mut self, scan: &TableScan, names: &Names, joined: &mut Joined, changed: &[Changed]) {
        let mut table = Vec::new();
        if let Some(change) = changed.iter().find(|change| change.base == scan.base) {
            table.push((change.how.to_owned(), Json::Bool(true)));
        }
        table.push(("table_name".to_owned(), text(&scan.alias)));
        let (def, path) = (scan.input.def().map(|def| &**def), &scan.path);
        table.extend(access(def, path, joined.tables.is_empty(), names));
        let (rows, read) = (path.rows.max(1.0), joined.rows.max(1.0));
        let cost = match scan.hash {
            Some(_) => path.cost + read,
            None => path.cost * read,
        };
        joined.cost += cost;
        joined.rows *= scan.rows_out;
        let filtered = (scan.rows_out / rows * 100.0).clamp(0.01, 100.0);
        table.extend(owned([
            ("rows_examined_per_scan", Json::UInt(rows as u64)),
            ("rows_produced_per_join", Json::UInt(joined.rows.round() as u64)),
            ("filtered", number(filtered)),
        ]));
        let reads_index = path.covering && path.index != 0;
        for (flag, is_so) in [
            ("using_index", reads_index && path.skip.is_none()),
            ("using_index_for_group_by", path.skip.is_some()),
            ("backward_index_scan", scan.reverse),
        ] {
            if is_so {
                table.extend(owned([(flag, Json::Bool(true))]));
            }
        }
        if scan.hash.is_some() {
            table.extend(owned([("using_join_buffer", text("hash join"))]));
        }
        if matches!(scan.input, Input::Json(_)) {
            table.extend(owned([
                ("table_function", text("json_table")),
                ("using_temporary_table", Json::Bool(true)),
            ]));
        }
        let width = def.map_or(0.0, |def| f64::from(row_length(def)));
        let costs = object([
            ("read_cost", number(cost)),
            ("eval_cost", number(0.0)),
            ("prefix_cost", number(joined.cost)),
            ("data_read_per_join", text(bytes(width * joined.rows))),
        ]);
        table.extend(owned([("cost_info", costs)]));
        let columns = self.used_columns(scan);
        if !columns.is_empty() {
            table.extend(owned([("used_columns", Json::Array(columns))]));
        }
        let mut table = Json::Object(table);
        self.attach_conditions(&mut table, scan, names);
        if let Input::Derived { query, lateral, .. } = &scan.input
            && !self.working.contains(query)
        {
            self.attach_query(&mut table, *query, *lateral);
        }
        joined.tables.push(table);
    }

    fn used_columns(&self, scan: &TableScan) -> Vec<Json> {
        let name = |at: &usize| match &scan.input {
            Input::Stored { def, .. } | Input::Virtual(def) => {
                let column = def.columns.get(*at).filter(|column| !column.is_key_part())?;
                Some(text(&column.name))
            }
            Input::Derived { query, .. } => self.queries[*query].columns.get(*at).map(|c| text(&c.name)),
            Input::Json(plan) => plan.columns.get(*at).map(|c| text(&c.name)),
        };
        let mut columns = scan.needed.clone();
        columns.sort_unstable();
        columns.iter().filter_map(name).collect()
    }

    fn attach_conditions(&mut self, table: &mut Json, scan: &TableScan, names: &Names) {
        let mut conditions: Vec<String> = Vec::new();
        let tests = scan.tests();
        let own = tests.iter().chain(&scan.late_filter);
        // The parts of a conjunction stand side by side with what the join asks for.
        own.clone()
            .for_each(|e| conditions.extend(conjuncts(e).iter().map(|e| names.expr(e))));
        if let Some(hash) = &scan.hash {
            let pairs = hash.build.iter().zip(&hash.probe);
            conditions.extend(
                pairs.map(|(build, probe)| format!("({} = {})", names.expr(build), names.expr(probe))),
            );
        }
        let condition = match conditions.len() {
            0 => return,
            1 => conditions.remove(0),
            _ => format!("({})", conditions.join(" and ")),
        };
        let subqueries = self.subqueries(own);
        attach(table, condition, subqueries);
    }

    /// The query that a derived table or a common table is made by.
    fn attach_query(&mut self, table: &mut Json, query: usize, lateral: bool) {
        let Json::Object(members) = table else { return };
        let made = match self.shown.get(&query) {
            Some(id) => object([(
                "sharing_temporary_table_with",
                object([("select_id", Json::UInt(*id))]),
            )]),
            None => {
                self.shown.insert(query, self.last_id + 1);
                let queries = self.queries;
                let mut made = owned([("using_temporary_table", Json::Bool(true))]);
                let dependent = lateral || !queries[query].outer.is_empty();
                made.extend(owned([
                    ("dependent", Json::Bool(dependent)),
                    ("cacheable", Json::Bool(!dependent)),
                    ("query_block", Json::Object(self.query(&queries[query]))),
                ]));
                Json::Object(made)
            }
        };
        members.push(("materialized_from_subquery".to_owned(), made));
    }

    // ------------------------------------------------------------------------------------------------ changes

    fn insert(&mut self, insert: &InsertPlan) -> Members {
        let how = match insert.on_duplicate {
            OnDuplicate::Replace => "replace",
            OnDuplicate::Fail | OnDuplicate::Update(_) => "insert",
        };
        let table = object([
            (how, Json::Bool(true)),
            ("table_name", text(&insert.target.def.name)),
            ("access_type", text("ALL")),
        ]);
        let InsertSource::Query(source) = &insert.source else {
            let id = self.id();
            return owned([("select_id", Json::UInt(id)), ("table", table)]);
        };
        let mut blocks = Blocks {
            queries: &source.queries,
            last_id: 0,
            shown: HashMap::new(),
            working: Vec::new(),
        };
        let read = blocks.query(&source.query);
        let (mut block, from): (Members, Members) = read
            .into_iter()
            .partition(|(key, _)| matches!(key.as_str(), "select_id" | "cost_info"));
        if block.is_empty() {
            block = owned([("select_id", Json::UInt(1))]);
        }
        block.extend(owned([("table", table), ("insert_from", Json::Object(from))]));
        block
    }

    /// UPDATE or DELETE of one table.
    fn change(&mut self, how: &str, def: &TableDef, rows: &RowSelection) -> Members {
        let names = Names::full_of_table(def);
        let mut table = owned([(how, Json::Bool(true)), ("table_name", text(&def.name))]);
        table.extend(access(Some(def), &rows.path, true, &names));
        table.extend(owned([
            (
                "rows_examined_per_scan",
                Json::UInt(rows.path.rows.max(1.0) as u64),
            ),
            ("filtered", number(100.0)),
        ]));
        let id = self.id();
        let mut table = Json::Object(table);
        if let Some(filter) = &rows.filter {
            let subqueries = self.subqueries([filter]);
            attach(&mut table, names.expr(filter), subqueries);
        }
        let mut inner = owned([("table", table)]);
        if !rows.order_by.is_empty() {
            inner = enclose("ordering_operation", flags(false, true), inner);
        }
        let mut block = owned([("select_id", Json::UInt(id))]);
        block.extend(inner);
        block
    }

    fn joined_change(&mut self, plan: &JoinedPlan) -> Members {
        let changed = plan.targets.iter().map(|target| Changed {
            base: target.base,
            how: match target.action {
                JoinedAction::Delete => "delete",
                JoinedAction::Update(_) => "update",
            },
        });
        let changed: Vec<Changed> = changed.collect();
        match &plan.join.body {
            QueryBody::Select(select) => self.select(&plan.join, select, Some(&changed)),
            _ => self.query(&plan.join),
        }
    }
}

/// How a table is read: from `access_type` to `ref`.
fn access(def: Option<&TableDef>, path: &AccessPath, first: bool, names: &Names) -> Members {
    let (used, kind) = access_type(def, path, first);
    let mut members = owned([("access_type", text(kind))]);
    let (Some(def), Some(index)) = (def, used) else {
        return members;
    };
    if kind != "index" {
        members.extend(owned([("possible_keys", Json::Array(vec![text(&index.name)]))]));
    }
    let parts = index.parts.iter().take(parts_used(index, path));
    let parts = parts.map(|part| {
        let column = &def.columns[part.column];
        text(column.key_part_expression().unwrap_or(&column.name))
    });
    members.extend(owned([
        ("key", text(&index.name)),
        ("used_key_parts", Json::Array(parts.collect())),
        ("key_length", text(key_lengths(def, path))),
    ]));
    if matches!(kind, "const" | "eq_ref" | "ref") {
        let values = path.single_bounds().values().map(|value| {
            text(match &value.expr.node {
                _ if value.expr.columns().is_empty() => "const".to_owned(),
                Node::Column(_) => names.expr(&value.expr).replace('`', ""),
                _ => "func".to_owned(),
            })
        });
        members.extend(owned([("ref", Json::Array(values.collect()))]));
    }
    members
}

/// Adds a condition to what a table has already.
fn attach(table: &mut Json, condition: String, subqueries: Vec<Json>) {
    let Json::Object(members) = table else { return };
    let before = members.iter_mut().find(|(key, _)| key == "attached_condition");
    match before {
        Some((_, Json::String(before))) => *before = format!("({before} and {condition})"),
        _ => members.push(("attached_condition".to_owned(), text(condition))),
    }
    if !subqueries.is_empty() {
        members.push(("attached_subqueries".to_owned(), Json::Array(subqueries)));
    }
}

/// The windows of a pass, each with its functions.
fn windows_of(pass: &WindowPass, names: &Names) -> Vec<Json> {
    let mut keys: Vec<Json> = pass.partition.iter().map(|e| text(names.expr(e))).collect();
    keys.extend(pass.order.iter().map(|(e, descending)| {
        let key = names.expr(e);
        text(if *descending { key + " desc" } else { key })
    }));
    let mut windows: Vec<(String, Vec<&WindowCall>)> = Vec::new();
    for call in &pass.calls {
        match windows.iter_mut().find(|(name, _)| *name == call.frame.window) {
            Some((_, calls)) => calls.push(call),
            None => windows.push((call.frame.window.clone(), vec![call])),
        }
    }
    let window = |(at, (name, calls)): (usize, (String, Vec<&WindowCall>))| {
        let mut window = owned([("name", text(name))]);
        if pass.sorts() && at == 0 {
            window.extend(owned([
                ("using_filesort", Json::Bool(true)),
                ("filesort_key", Json::Array(keys.clone())),
            ]));
        }
        if !calls.iter().all(|call| call.streams()) {
            let buffer = object([("using_temporary_table", Json::Bool(true))]);
            window.extend(owned([("frame_buffer", buffer)]));
        }
        let functions = calls.iter().map(|call| text(call.function.name()));
        window.extend(owned([("functions", Json::Array(functions.collect()))]));
        Json::Object(window)
    };
    windows.into_iter().enumerate().map(window).collect()
}
