//! EXPLAIN: a plan for people to read, as MySQL's table or as a tree of lines.

use super::access::AccessPath;
use super::index_bounds::{EqualPart, IndexBounds};
use super::window::WindowCall;
use super::{Input, QueryBody, QueryPlan, RowSource, SelectPlan, TableScan};
use crate::context::SessionState;
use crate::dictionary::{IndexDef, TableDef};
use crate::error::{Result, SqlError};
use crate::parse::ast::{ExplainFormat, SetOp};
use crate::types::{Collation, ColumnMeta, SqlType, TypeKind, Value};

const NAMES: [&str; 12] = [
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

/// The result of EXPLAIN.
pub struct Explanation {
    tree: bool,
    rows: Vec<Vec<Value>>,
}

impl Explanation {
    pub fn types(&self) -> Vec<SqlType> {
        let text = SqlType::varchar(1024, Collation::DEFAULT);
        if self.tree {
            return vec![text];
        }
        let mut types = vec![text; NAMES.len()];
        types[0] = SqlType::bigint_unsigned();
        types[9] = SqlType::bigint_unsigned();
        types[10] = SqlType::double();
        types
    }

    pub fn columns(&self, state: &SessionState) -> Vec<ColumnMeta> {
        let names: &[&str] = if self.tree { &["EXPLAIN"] } else { &NAMES };
        let results = state.results_collation();
        let types = self.types();
        names
            .iter()
            .zip(&types)
            .map(|(name, ty)| ColumnMeta::of_expression(name, ty, results))
            .collect()
    }

    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

/// Reads a plan.
pub struct Explainer<'q> {
    format: ExplainFormat,
    queries: &'q [QueryPlan],
    rows: Vec<Vec<Value>>,
    lines: Vec<String>,
    next_id: u64,
}

fn string(s: impl Into<String>) -> Value {
    Value::string(s.into())
}

fn optional(s: String) -> Value {
    if s.is_empty() { Value::Null } else { string(s) }
}

/// How a row of the table describes the use of one table.
struct Line<'l> {
    id: u64,
    select_type: &'l str,
    table: &'l str,
    def: Option<&'l TableDef>,
    path: &'l AccessPath,
    first: bool,
    rows: f64,
    filtered: f64,
    extra: Vec<&'static str>,
}

impl<'q> Explainer<'q> {
    pub fn new(format: ExplainFormat, queries: &'q [QueryPlan]) -> Result<Explainer<'q>> {
        if format == ExplainFormat::Json {
            return Err(SqlError::not_supported("EXPLAIN FORMAT=JSON"));
        }
        Ok(Explainer {
            format,
            queries,
            rows: Vec::new(),
            lines: Vec::new(),
            next_id: 0,
        })
    }

    pub fn finish(self) -> Explanation {
        let tree = self.format == ExplainFormat::Tree;
        let rows = if tree {
            vec![vec![string(self.lines.join("\n") + "\n")]]
        } else {
            self.rows
        };
        Explanation { tree, rows }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub fn query(&mut self, plan: &QueryPlan) {
        self.block(plan, "SIMPLE", 0);
    }

    fn line(&mut self, depth: usize, text: String) {
        self.lines.push(format!("{}-> {text}", "    ".repeat(depth)));
    }

    fn block(&mut self, plan: &QueryPlan, kind: &str, depth: usize) {
        match &plan.body {
            QueryBody::Select(select) => self.select(plan, select, kind, depth),
            // A query in parentheses, with an order or a limit of its own.
            QueryBody::Set { first, rest } if rest.is_empty() => self.block(first, kind, depth),
            QueryBody::Set { first, rest } => {
                let name = |op: SetOp| match op {
                    SetOp::Union => "UNION",
                    SetOp::Intersect => "INTERSECT",
                    SetOp::Except => "EXCEPT",
                };
                let op = rest.first().map_or(SetOp::Union, |branch| branch.op);
                let text = match rest.len() {
                    1 => format!("{} of two queries", name(op)),
                    more => format!("{} of {} queries", name(op), more + 1),
                };
                self.line(depth, text);
                self.block(first, "PRIMARY", depth + 1);
                for branch in rest {
                    self.block(&branch.plan, name(branch.op), depth + 1);
                }
            }
            QueryBody::Recursive(recursion) => {
                self.line(depth, "Materialize recursive CTE".to_string());
                self.block(&recursion.seed, kind, depth + 1);
                self.block(&recursion.step, "UNION", depth + 1);
            }
            QueryBody::Values(rows) => {
                let id = self.id();
                self.line(
                    depth,
                    format!("Rows fetched before execution  (rows={})", rows.len()),
                );
                self.plain_row(id, kind, "No tables used");
            }
        }
    }

    fn plain_row(&mut self, id: u64, kind: &str, extra: &str) {
        let mut row = vec![Value::Null; NAMES.len()];
        row[0] = Value::UInt(id);
        row[1] = string(kind);
        row[11] = string(extra);
        self.rows.push(row);
    }

    fn select(&mut self, plan: &QueryPlan, select: &SelectPlan, kind: &str, mut depth: usize) {
        let id = self.id();
        let mut subqueries = Vec::new();
        let mut derived = Vec::new();
        plan.walk(
            &mut |e| {
                if let crate::expr::Node::Subquery { id, .. } = &e.node {
                    subqueries.push(*id);
                }
            },
            &mut |scan| {
                if let Input::Derived { query, .. } = &scan.input {
                    derived.push(*query);
                }
            },
        );
        let kind = match kind {
            "SIMPLE" if !subqueries.is_empty() || !derived.is_empty() => "PRIMARY",
            other => other,
        };
        let mut extra = Vec::new();
        let group = select.group.as_ref();
        if plan.limit.is_some() {
            self.line(depth, "Limit".to_string());
            depth += 1;
        }
        if !plan.order.is_empty() {
            extra.push("Using filesort");
            self.line(depth, "Sort".to_string());
            depth += 1;
        }
        if select.distinct {
            extra.insert(0, "Using temporary");
            self.line(depth, "Remove duplicate rows".to_string());
            depth += 1;
        }
        depth = self.windows(select, depth, &mut extra);
        if let Some(group) = group {
            let how = match (group.keys.is_empty(), group.sorted) {
                _ if group.rollup.is_some() => "Group aggregate with rollup",
                (true, _) => "Aggregate",
                (_, true) => "Group aggregate in index order",
                (_, false) => "Aggregate using hash table",
            };
            if !group.keys.is_empty() && !group.sorted && !extra.contains(&"Using temporary") {
                extra.insert(0, "Using temporary");
            }
            self.line(depth, how.to_string());
            depth += 1;
            if group.rollup.is_some() && !group.sorted {
                self.line(depth, "Sort".to_string());
                depth += 1;
            }
        }
        if select.filter.is_some() || select.having.is_some() {
            self.line(depth, "Filter".to_string());
            depth += 1;
        }
        let before = self.rows.len();
        self.source(&select.source, id, kind, depth, &mut true);
        if self.rows.len() == before {
            let what = if matches!(select.source, RowSource::One) {
                "No tables used"
            } else {
                ""
            };
            self.line(depth, "Rows fetched before execution  (rows=1)".to_string());
            self.plain_row(id, kind, what);
        } else if let Some(row) = self.rows.get_mut(before) {
            add_extra(&mut row[11], &extra);
        }
        for query in derived {
            self.block(&self.queries[query], "DERIVED", depth + 1);
        }
        for query in subqueries {
            let plan = &self.queries[query];
            let kind = if plan.outer.is_empty() {
                "SUBQUERY"
            } else {
                "DEPENDENT SUBQUERY"
            };
            self.block(plan, kind, depth + 1);
        }
    }

    /// The passes of window functions, the last first; returns how deep what comes before them stands.
    fn windows(&mut self, select: &SelectPlan, mut depth: usize, extra: &mut Vec<&'static str>) -> usize {
        for pass in select
            .windows
            .iter()
            .flat_map(|windows| windows.passes.iter().rev())
        {
            let functions: Vec<&str> = pass.calls.iter().map(|call| call.function.name()).collect();
            let how = match pass.calls.iter().all(WindowCall::streams) {
                true => "Window aggregate",
                false => "Window aggregate with buffering",
            };
            self.line(depth, format!("{how}: {}", functions.join(", ")));
            depth += 1;
            if pass.sorts() {
                self.line(depth, "Sort".to_string());
                depth += 1;
                if !extra.contains(&"Using filesort") {
                    extra.push("Using filesort");
                }
            }
        }
        depth
    }

    fn source(&mut self, source: &RowSource, id: u64, kind: &str, depth: usize, first: &mut bool) {
        match source {
            RowSource::One => {}
            RowSource::Table(scan) => self.scan(scan, id, kind, depth, std::mem::take(first)),
            RowSource::Inner(list) => {
                self.line(depth, "Nested loop inner join".to_string());
                list.iter()
                    .for_each(|s| self.source(s, id, kind, depth + 1, first));
            }
            RowSource::Left(join) => {
                self.line(depth, "Nested loop left join".to_string());
                self.source(&join.left, id, kind, depth + 1, first);
                self.source(&join.right, id, kind, depth + 1, first);
            }
        }
    }

    fn scan(&mut self, scan: &TableScan, id: u64, kind: &str, depth: usize, first: bool) {
        let mut extra = Vec::new();
        if scan.filter.is_some() || scan.late_filter.is_some() {
            extra.push("Using where");
        }
        let reads_index = scan.path.covering && scan.path.index != 0;
        if reads_index {
            extra.push("Using index");
        }
        if scan.reverse {
            extra.push("Backward index scan");
        }
        if scan.hash.is_some() {
            extra.push("Using join buffer (hash join)");
        }
        let derived_name;
        let table = match &scan.input {
            Input::Derived { .. } => {
                derived_name = format!("<derived {}>", scan.alias);
                derived_name.as_str()
            }
            _ => &scan.alias,
        };
        let rows = scan.path.rows.max(1.0);
        self.describe(
            Line {
                id,
                select_type: kind,
                table,
                def: scan.input.def().map(|def| &**def),
                path: &scan.path,
                first,
                rows,
                filtered: (scan.rows_out / rows * 100.0).clamp(1.0, 100.0),
                extra,
            },
            depth,
        );
    }

    /// The table a data change goes to.
    pub fn change(&mut self, kind: &str, def: &TableDef, path: Option<&AccessPath>) {
        let id = self.id();
        let all = AccessPath::full(0, true, 1.0, 0.0);
        let path = path.unwrap_or(&all);
        let extra = if kind == "INSERT" {
            Vec::new()
        } else {
            vec!["Using where"]
        };
        let line = Line {
            id,
            select_type: kind,
            table: &def.name,
            def: Some(def),
            path,
            first: true,
            rows: path.rows.max(1.0),
            filtered: 100.0,
            extra,
        };
        self.describe(line, 0);
    }

    fn describe(&mut self, line: Line, depth: usize) {
        let path = line.path;
        let index = line.def.and_then(|def| def.index_by_number(path.index));
        let used = index.filter(|_| !path.is_full() || path.covering && path.index != 0);
        let bounds = path.single_bounds();
        let one_value = |part: &EqualPart| part.values.len() + part.null as usize == 1;
        let one_key = path.bounds.len() == 1 && bounds.range.is_none() && bounds.equal.iter().all(one_value);
        let access = match used {
            None => "ALL",
            Some(_) if path.is_full() => "index",
            Some(_) if !one_key => "range",
            Some(_) if path.point && line.first => "const",
            Some(_) if path.point => "eq_ref",
            Some(_) => "ref",
        };
        let name = index_name(used);
        let how = match access {
            "ALL" => format!("Table scan on {}", line.table),
            "index" => format!("Index scan on {} using {name}", line.table),
            "range" => format!("Index range scan on {} using {name}", line.table),
            "const" | "eq_ref" => format!("Single-row index lookup on {} using {name}", line.table),
            _ => format!("Index lookup on {} using {name}", line.table),
        };
        self.line(
            depth,
            format!("{how}  (cost={:.2} rows={:.0})", path.cost, line.rows),
        );
        let possible = used
            .filter(|_| access != "index")
            .map(|_| name.clone())
            .unwrap_or_default();
        let length = match (line.def, used) {
            (Some(def), Some(index)) => key_length(def, index, path).to_string(),
            _ => String::new(),
        };
        let reference = match access {
            "const" | "eq_ref" | "ref" => {
                let parts = bounds.values();
                let names = parts.map(|value| {
                    if value.expr.columns().is_empty() {
                        "const"
                    } else {
                        "func"
                    }
                });
                names.collect::<Vec<_>>().join(",")
            }
            _ => String::new(),
        };
        let mut row = vec![
            Value::UInt(line.id),
            string(line.select_type),
            string(line.table),
            Value::Null,
            string(access),
            optional(possible),
            optional(name),
            optional(length),
            optional(reference),
            Value::UInt(line.rows as u64),
            Value::Double((line.filtered * 100.0).round() / 100.0),
            Value::Null,
        ];
        add_extra(&mut row[11], &line.extra);
        self.rows.push(row);
    }
}

fn index_name(index: Option<&IndexDef>) -> String {
    index.map(|index| index.name.clone()).unwrap_or_default()
}

fn add_extra(cell: &mut Value, extra: &[&str]) {
    let mut parts: Vec<String> = match cell {
        Value::Str(text) => vec![String::from_utf8_lossy(text).into_owned()],
        _ => Vec::new(),
    };
    parts.extend(extra.iter().map(|s| (*s).to_string()));
    *cell = optional(parts.join("; "));
}

/// Bytes of the key parts that are bounded, as MySQL counts them.
fn key_length(def: &TableDef, index: &IndexDef, path: &AccessPath) -> u32 {
    let bounded = path.bounds.iter().map(IndexBounds::parts).max();
    let parts = bounded.unwrap_or(index.parts.len());
    let length = |part: &crate::dictionary::IndexPart| {
        let ty = &def.columns[part.column].ty;
        let bytes = match ty.kind {
            TypeKind::TinyInt | TypeKind::Year => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt | TypeKind::Date | TypeKind::Time => 3,
            TypeKind::Int | TypeKind::Float | TypeKind::Timestamp => 4,
            TypeKind::DateTime => 5,
            TypeKind::BigInt | TypeKind::Double => 8,
            TypeKind::Decimal => ty.length.div_ceil(2),
            TypeKind::Char => part.prefix.unwrap_or(ty.length) * ty.collation.charset().max_bytes(),
            TypeKind::Enum => 1,
            _ => part.prefix.unwrap_or(ty.length) * ty.collation.charset().max_bytes() + 2,
        };
        bytes + ty.nullable as u32
    };
    index.parts.iter().take(parts).map(length).sum()
}
