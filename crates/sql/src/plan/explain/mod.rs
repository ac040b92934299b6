//! EXPLAIN: a plan for people and programs to read.
//!
//! - [`table`]: MySQL's table, a row for each use of a table (`FORMAT=TRADITIONAL`);
//! - [`tree`]: the tree of operators, which [`operator`] writes as lines (`FORMAT=TREE`) and as JSON (`FORMAT=JSON`, version 2);
//!   [`names`] says what the slots of a plan's rows are called there;
//! - [`measured`]: what EXPLAIN ANALYZE has seen of the operators as they ran.

pub mod measured;
mod names;
mod operator;
mod table;
mod tree;

use super::QueryPlan;
use super::change::insert::{InsertSource, OnDuplicate};
use super::statement::Body;
use crate::context::SessionState;
use crate::parse::ast::ExplainFormat;
use crate::types::json::Json;
use crate::types::{Collation, ColumnMeta, SqlType, Value};
use measured::Measured;
use operator::{Operator, text};
use table::{NAMES, Table};
use tree::Tree;

/// The result of EXPLAIN.
pub struct Explanation {
    format: ExplainFormat,
    rows: Vec<Vec<Value>>,
}

/// The types of the result's columns.
pub fn types(format: ExplainFormat) -> Vec<SqlType> {
    if format != ExplainFormat::Traditional {
        return vec![SqlType::varchar(16_383, Collation::DEFAULT)];
    }
    let mut types = vec![SqlType::varchar(1024, Collation::DEFAULT); NAMES.len()];
    types[0] = SqlType::bigint_unsigned();
    types[9] = SqlType::bigint_unsigned();
    types[10] = SqlType::double();
    types
}

/// The result's columns.
pub fn columns(format: ExplainFormat, state: &SessionState) -> Vec<ColumnMeta> {
    let names: &[&str] = match format {
        ExplainFormat::Traditional => &NAMES,
        ExplainFormat::Tree | ExplainFormat::Json => &["EXPLAIN"],
    };
    let results = state.results_collation();
    let types = types(format);
    let columns = names.iter().zip(&types);
    columns
        .map(|(name, ty)| ColumnMeta::of_expression(name, ty, results))
        .collect()
}

impl Explanation {
    pub fn format(&self) -> ExplainFormat {
        self.format
    }

    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

/// Reads the plan of a statement; `measured`: what was seen when it ran.
pub fn explain(
    body: &Body,
    queries: &[QueryPlan],
    format: ExplainFormat,
    measured: Option<&Measured>,
) -> Explanation {
    let rows = match format {
        ExplainFormat::Traditional => in_rows(body, queries),
        ExplainFormat::Tree => {
            let lines = match tree_of(body, queries) {
                Some(tree) => tree.lines(measured),
                None => "-> No tables used\n".to_owned(),
            };
            vec![vec![Value::string(lines)]]
        }
        ExplainFormat::Json => {
            let plan = tree_of(body, queries).map(|tree| tree.json(measured));
            let document = Json::object(vec![
                ("query_plan".to_owned(), plan.unwrap_or(Json::Null)),
                ("query_type".to_owned(), text(query_type(body))),
                ("json_schema_version".to_owned(), text("2.0")),
            ]);
            vec![vec![Value::string(document.indented())]]
        }
    };
    Explanation { format, rows }
}

fn in_rows(body: &Body, queries: &[QueryPlan]) -> Vec<Vec<Value>> {
    let mut table = Table::new(queries);
    match body {
        Body::Query(query) => table.query(query),
        Body::Insert(insert) => table.change("INSERT", &insert.target.def, None),
        Body::Update(update) => table.change("UPDATE", &update.target.def, Some(&update.rows.path)),
        Body::Delete(delete) => table.change("DELETE", &delete.target.def, Some(&delete.rows.path)),
        Body::Joined(joined) => table.query(&joined.join),
        Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => {}
    }
    table.finish()
}

fn tree_of(body: &Body, queries: &[QueryPlan]) -> Option<Operator> {
    let mut tree = Tree::new(queries);
    Some(match body {
        Body::Query(query) => tree.query(query),
        Body::Insert(insert) => {
            let source = match &insert.source {
                InsertSource::Query(source) => Some(Tree::new(&source.queries).query(&source.query)),
                InsertSource::Rows(_) | InsertSource::File(_) => None,
            };
            let how = match insert.on_duplicate {
                OnDuplicate::Replace => "REPLACE",
                OnDuplicate::Fail | OnDuplicate::Update(_) => "INSERT",
            };
            tree.change(how, &insert.target.def.name, source)
        }
        Body::Update(update) => {
            let def = &update.target.def;
            let read = tree.selection(def, &update.rows.path, update.rows.filter.as_ref());
            tree.change("UPDATE", &def.name, Some(read))
        }
        Body::Delete(delete) => {
            let def = &delete.target.def;
            let read = tree.selection(def, &delete.rows.path, delete.rows.filter.as_ref());
            tree.change("DELETE", &def.name, Some(read))
        }
        Body::Joined(joined) => tree.query(&joined.join),
        Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => return None,
    })
}

fn query_type(body: &Body) -> &'static str {
    match body {
        Body::Insert(_) => "insert",
        Body::Update(_) => "update",
        Body::Delete(_) => "delete",
        Body::Joined(_) => "change of joined tables",
        Body::Query(_) | Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => "select",
    }
}
