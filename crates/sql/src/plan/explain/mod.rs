//! EXPLAIN: a plan for people and programs to read.
//!
//! - [`table`]: MySQL's table, a row for each use of a table (`FORMAT=TRADITIONAL`);
//! - [`blocks`]: query blocks and their tables (`FORMAT=JSON`, version 1);
//! - [`tree`]: the tree of operators, which [`operator`] writes as lines (`FORMAT=TREE`) and as JSON (`FORMAT=JSON`, version 2);
//!   [`names`] says what the slots of a plan's rows are called there;
//! - [`measured`]: what EXPLAIN ANALYZE has seen of the operators as they ran.

mod blocks;
pub mod measured;
mod names;
mod operator;
mod table;
mod tree;

use super::QueryPlan;
use super::change::SetupChange;
use super::change::insert::{InsertSource, OnDuplicate};
use super::statement::Body;
use crate::context::SessionState;
use crate::types::json::Json;
use crate::types::{Collation, ColumnMeta, SqlType, Value};
use measured::Measured;
pub(super) use names::Names;
use operator::{Operator, text};
pub(super) use table::access_type;
use table::{NAMES, Table};
use tree::Tree;
pub(super) use tree::ranges_of;

/// What EXPLAIN answers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A row for each use of a table.
    Table,
    /// Operators as indented lines.
    Tree,
    /// Query blocks as JSON: version 1.
    Blocks,
    /// Operators as JSON: version 2.
    Operators,
}

/// The result of EXPLAIN.
pub struct Explanation {
    form: Form,
    rows: Vec<Vec<Value>>,
    /// The user variable that gets it; `None`: it is the statement's result.
    pub into: Option<String>,
}

/// The types of the result's columns.
pub fn types(form: Form) -> Vec<SqlType> {
    if form != Form::Table {
        return vec![SqlType::varchar(16_383, Collation::DEFAULT)];
    }
    let mut types = vec![SqlType::varchar(1024, Collation::DEFAULT); NAMES.len()];
    types[0] = SqlType::bigint_unsigned();
    types[9] = SqlType::bigint_unsigned();
    types[10] = SqlType::double();
    types
}

/// The result's columns.
pub fn columns(form: Form, state: &SessionState) -> Vec<ColumnMeta> {
    let names: &[&str] = match form {
        Form::Table => &NAMES,
        Form::Tree | Form::Blocks | Form::Operators => &["EXPLAIN"],
    };
    let results = state.results_collation();
    let types = types(form);
    let columns = names.iter().zip(&types);
    columns
        .map(|(name, ty)| ColumnMeta::of_expression(name, ty, results))
        .collect()
}

impl Explanation {
    /// The same for a user variable, if there is one.
    pub fn into_variable(self, into: Option<String>) -> Explanation {
        Explanation { into, ..self }
    }

    pub fn form(&self) -> Form {
        self.form
    }

    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

/// Reads the plan of a statement; `measured`: what was seen when it ran.
pub fn explain(body: &Body, queries: &[QueryPlan], form: Form, measured: Option<&Measured>) -> Explanation {
    let rows = match form {
        Form::Table => in_rows(body, queries),
        Form::Tree => {
            let lines = match tree_of(body, queries) {
                Some(tree) => tree.lines(measured),
                None => "-> No tables used\n".to_owned(),
            };
            vec![vec![Value::string(lines)]]
        }
        Form::Blocks => {
            let document = blocks::document(body, queries);
            vec![vec![Value::string(document.indented())]]
        }
        Form::Operators => {
            let plan = tree_of(body, queries).map(|tree| tree.json(measured));
            let document = Json::object(vec![
                ("query_plan".to_owned(), plan.unwrap_or(Json::Null)),
                ("query_type".to_owned(), text(query_type(body))),
                ("json_schema_version".to_owned(), text("2.0")),
            ]);
            vec![vec![Value::string(document.indented())]]
        }
    };
    Explanation {
        form,
        rows,
        into: None,
    }
}

fn in_rows(body: &Body, queries: &[QueryPlan]) -> Vec<Vec<Value>> {
    let mut table = Table::new(queries);
    match body {
        Body::Query(query) => table.query(query),
        Body::Insert(insert) => table.change("INSERT", &insert.target.def, None),
        Body::Update(update) => table.change("UPDATE", &update.target.def, Some(&update.rows.path)),
        Body::Delete(delete) => table.change("DELETE", &delete.target.def, Some(&delete.rows.path)),
        Body::Joined(joined) => table.query(&joined.join),
        Body::Setup(setup) => table.query(&setup.query),
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
        Body::Setup(setup) => tree.query(&setup.query),
        Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => return None,
    })
}

fn query_type(body: &Body) -> &'static str {
    match body {
        Body::Setup(setup) => match setup.change {
            SetupChange::Update(_) => "update",
            SetupChange::Insert(_) => "insert",
            SetupChange::Delete => "delete",
        },
        Body::Insert(_) => "insert",
        Body::Update(_) => "update",
        Body::Delete(_) => "delete",
        Body::Joined(_) => "change of joined tables",
        Body::Query(_) | Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => "select",
    }
}
