//! `FORMAT=TRADITIONAL`: a row for each use of a table, as MySQL numbers and names them.

use crate::dictionary::{IndexDef, TableDef};
use crate::parse::ast::SetOp;
use crate::plan::access::AccessPath;
use crate::plan::index_bounds::IndexBounds;
use crate::plan::window::WindowPass;
use crate::plan::{Input, QueryBody, QueryPlan, SelectPlan, TableScan};
use crate::types::{SqlType, TypeKind, Value};

pub const NAMES: [&str; 12] = [
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

/// Reads a plan.
pub struct Table<'q> {
    queries: &'q [QueryPlan],
    rows: Vec<Vec<Value>>,
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

impl<'q> Table<'q> {
    pub fn new(queries: &'q [QueryPlan]) -> Table<'q> {
        Table {
            queries,
            rows: Vec::new(),
            next_id: 0,
        }
    }

    pub fn finish(self) -> Vec<Vec<Value>> {
        self.rows
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub fn query(&mut self, plan: &QueryPlan) {
        self.block(plan, "SIMPLE");
    }

    fn block(&mut self, plan: &QueryPlan, kind: &str) {
        match &plan.body {
            QueryBody::Select(select) => self.select(plan, select, kind),
            // A query in parentheses, with an order or a limit of its own.
            QueryBody::Set { first, rest } if rest.is_empty() => self.block(first, kind),
            QueryBody::Set { first, rest } => {
                self.block(first, "PRIMARY");
                for branch in rest {
                    let kind = match branch.op {
                        SetOp::Union => "UNION",
                        SetOp::Intersect => "INTERSECT",
                        SetOp::Except => "EXCEPT",
                    };
                    self.block(&branch.plan, kind);
                }
            }
            QueryBody::Recursive(recursion) => {
                self.block(&recursion.seed, kind);
                recursion.steps.iter().for_each(|step| self.block(step, "UNION"));
            }
            QueryBody::Values(_) => {
                let id = self.id();
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

    fn select(&mut self, plan: &QueryPlan, select: &SelectPlan, kind: &str) {
        let id = self.id();
        let (mut subqueries, mut derived) = (Vec::new(), Vec::new());
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
        let groups_aside = select
            .group
            .as_ref()
            .is_some_and(|group| !group.keys.is_empty() && !group.sorted);
        if groups_aside || select.distinct {
            extra.push("Using temporary");
        }
        let mut passes = select.windows.iter().flat_map(|windows| &windows.passes);
        if !plan.order.is_empty() || passes.any(WindowPass::sorts) {
            extra.push("Using filesort");
        }
        if select.source.is_never() {
            self.plain_row(id, kind, "Impossible WHERE");
            return;
        }
        let before = self.rows.len();
        let mut first = true;
        let ends = select.group.iter().flat_map(|group| &group.ends);
        for source in std::iter::once(&select.source).chain(ends) {
            source.walk(&mut |_| {}, &mut |scan| {
                self.scan(scan, id, kind, std::mem::take(&mut first))
            });
        }
        if self.rows.len() == before {
            self.plain_row(id, kind, "No tables used");
        } else if let Some(row) = self.rows.get_mut(before) {
            add_extra(&mut row[11], &extra);
        }
        for query in derived {
            self.block(&self.queries[query], "DERIVED");
        }
        for query in subqueries {
            let plan = &self.queries[query];
            let kind = match plan.outer.is_empty() {
                true => "SUBQUERY",
                false => "DEPENDENT SUBQUERY",
            };
            self.block(plan, kind);
        }
    }

    fn scan(&mut self, scan: &TableScan, id: u64, kind: &str, first: bool) {
        let mut extra = Vec::new();
        if matches!(scan.input, Input::Json(_)) {
            extra.extend(["Table function: json_table", "Using temporary"]);
        }
        if scan.gate.is_some() || scan.filter.is_some() || scan.late_filter.is_some() {
            extra.push("Using where");
        }
        let reads_index = scan.path.covering && scan.path.index != 0;
        match (scan.path.skip.is_some(), reads_index) {
            (true, _) => extra.push("Using index for group-by"),
            (false, true) => extra.push("Using index"),
            (false, false) => {}
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
        self.describe(Line {
            id,
            select_type: kind,
            table,
            def: scan.input.def().map(|def| &**def),
            path: &scan.path,
            first,
            rows,
            filtered: (scan.rows_out / rows * 100.0).clamp(0.01, 100.0),
            extra,
        });
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
        self.describe(line);
    }

    fn describe(&mut self, line: Line) {
        let path = line.path;
        let (used, access) = access_type(line.def, path, line.first);
        let name = match line.def {
            Some(def) if path.is_merged() => {
                let names = path
                    .parts()
                    .iter()
                    .map(|part| index_name(def.index_by_number(part.index)));
                names.collect::<Vec<_>>().join(",")
            }
            _ => index_name(used),
        };
        let possible = used
            .filter(|_| access != "index")
            .map(|_| name.clone())
            .unwrap_or_default();
        let length = match (line.def, used) {
            (Some(def), Some(_)) => key_lengths(def, path),
            _ => String::new(),
        };
        let reference = match access {
            "const" | "eq_ref" | "ref" => {
                let parts = path.single_bounds().values();
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
            optional(name.clone()),
            optional(length),
            optional(reference),
            Value::UInt(line.rows as u64),
            Value::Double((line.filtered * 100.0).round() / 100.0),
            Value::Null,
        ];
        let merge = path.is_merged().then(|| format!("Using union({name})"));
        let extra = line.extra.iter().copied();
        add_extra(
            &mut row[11],
            &merge.as_deref().into_iter().chain(extra).collect::<Vec<_>>(),
        );
        self.rows.push(row);
    }
}

/// The lengths of the key parts that are bounded, of each index of a merge.
pub fn key_lengths(def: &TableDef, path: &AccessPath) -> String {
    let parts = path
        .parts()
        .iter()
        .filter_map(|part| Some((def.index_by_number(part.index)?, part)));
    let lengths = parts.map(|(index, part)| key_length(def, index, part).to_string());
    lengths.collect::<Vec<_>>().join(",")
}

/// The index that a table is read by, and how MySQL calls that. `first`: no table is read before it.
pub fn access_type<'d>(
    def: Option<&'d TableDef>,
    path: &AccessPath,
    first: bool,
) -> (Option<&'d IndexDef>, &'static str) {
    let index = def.and_then(|def| def.index_by_number(path.index));
    let used = index.filter(|_| !path.is_full() || path.skip.is_some() || path.index != 0);
    let access = match used {
        None => "ALL",
        Some(_) if path.is_merged() => "index_merge",
        Some(_) if path.skip.is_some() => "range",
        Some(_) if path.is_full() => "index",
        Some(_) if !path.is_one_key() => "range",
        Some(_) if path.point && first => "const",
        Some(_) if path.point => "eq_ref",
        Some(_) => "ref",
    };
    (used, access)
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

/// How many parts of an index a path goes by.
pub fn parts_used(index: &IndexDef, path: &AccessPath) -> usize {
    let bounded = path.bounds.iter().map(IndexBounds::parts).max();
    let skipped = path.skip.map(|skip| skip.parts_read());
    bounded.max(skipped).unwrap_or(index.parts.len())
}

/// Bytes of the key parts that are bounded, as MySQL counts them.
fn key_length(def: &TableDef, index: &IndexDef, path: &AccessPath) -> u32 {
    let length = |part: &crate::dictionary::IndexPart| {
        let ty = &def.columns[part.column].ty;
        value_length(ty, part.prefix) + ty.nullable as u32
    };
    index.parts.iter().take(parts_used(index, path)).map(length).sum()
}

/// Bytes of the longest row, as far as they are not put aside.
pub fn row_length(def: &TableDef) -> u32 {
    const TEXT_MAX: u32 = 768;
    let columns = def.columns.iter();
    columns
        .map(|column| value_length(&column.ty, None).min(TEXT_MAX))
        .sum()
}

/// Bytes of the longest value; `prefix`: so many characters of it.
fn value_length(ty: &SqlType, prefix: Option<u32>) -> u32 {
    let of_text = || {
        prefix
            .unwrap_or(ty.length)
            .saturating_mul(ty.collation.charset().max_bytes())
    };
    match ty.kind {
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date | TypeKind::Time => 3,
        TypeKind::Int | TypeKind::Float | TypeKind::Timestamp => 4,
        TypeKind::DateTime => 5,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Decimal => ty.length.div_ceil(2),
        TypeKind::Char => of_text(),
        TypeKind::Enum => 1,
        _ => of_text().saturating_add(2),
    }
}
