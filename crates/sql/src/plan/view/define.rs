//! What CREATE VIEW stores: the text of the query, its columns, what it names, and what can be done with it.

use super::canonical::Canonical;
use super::expressions::variable_clause;
use super::naming::column_names;
use super::{Contexts, collation_of};
use crate::context::SessionState;
use crate::ddl::view::ViewBody;
use crate::dictionary::{ColumnDef, ColumnDefault, TableDef, ViewDef, names_equal};
use crate::error::interrupt::shielded;
use crate::error::{Result, SqlError, er};
use crate::expr::{Binder, NoSubqueries, Node};
use crate::parse::ast::{CheckOption, CreateView, Query, QueryBody as WrittenBody, TableRef, ViewAlgorithm};
use crate::parse::parse_query;
use crate::parse::view_text::{self, ViewText};
use crate::plan::from::FromInput;
use crate::plan::walk::has_subquery;
use crate::plan::{OutputColumn, Planner, QueryBody, logical};
use crate::types::{Charset, Collation, SqlType, TypeKind, Value, assign};

/// What a view's query comes to.
struct Made {
    query: Query,
    columns: Vec<ColumnDef>,
    tables: Vec<(String, String)>,
    mergeable: bool,
    updatable: bool,
}

/// The body of a view to be made. Errors are those of its query; 1353 and 1060 for its columns' names, 1368 for a CHECK OPTION
/// that nothing could be checked by. A MERGE that is not possible is warning 1354.
pub fn view_body(state: &SessionState, create: &CreateView, definer: (String, String)) -> Result<ViewBody> {
    let own = state.settings.collation_connection;
    let mut made = make(state, &create.query, &create.columns, own)?;
    let (schema, name) = state.resolve(&create.name)?;
    if reaches(state, &made.tables, (schema, name)) {
        return Err(SqlError::no_such_table(schema, name));
    }
    let text = view_text::query(&made.query, ViewText::Whole);
    let again = match parse_query(&text) {
        Ok(query) => Some(view_text::query(&query, ViewText::Whole)),
        Err(error) if error.code == er::PARSE_ERROR => None,
        // Out of memory, or killed: that says nothing about the query.
        Err(error) => return Err(error),
    };
    if again.as_ref() != Some(&text) {
        return Err(SqlError::not_supported("this query in a view"));
    }
    let mut algorithm = create.algorithm.unwrap_or(ViewAlgorithm::Undefined);
    if algorithm == ViewAlgorithm::Merge && !made.mergeable {
        state.warnings.warn(SqlError::view_merge_ignored());
        algorithm = ViewAlgorithm::Undefined;
    }
    made.updatable &= algorithm != ViewAlgorithm::Temptable;
    if create.check != CheckOption::None && !made.updatable {
        return Err(SqlError::new(
            er::VIEW_NONUPD_CHECK,
            format!("CHECK OPTION on non-updatable view '{schema}.{name}'"),
        ));
    }
    Ok(ViewBody {
        view: ViewDef {
            text,
            names: create.columns.clone(),
            algorithm,
            definer,
            invoker: create.invoker.unwrap_or(false),
            check: create.check,
            valid: true,
            mergeable: made.mergeable,
            updatable: made.updatable,
            collation: own,
            client: state.settings.character_set_client.default_collation(),
            tables: made.tables,
        },
        columns: made.columns,
    })
}

/// What has become of a view whose tables have changed; `None`: nothing that is stored.
pub fn refreshed(state: &SessionState, table: &TableDef, view: &ViewDef) -> Option<ViewBody> {
    let _rights = state.act_unrestricted();
    // A statement that ends here says nothing of the view.
    let made = shielded(|| {
        let query = parse_query(&view.text).ok()?;
        Some(make(state, &query, &view.names, collation_of(view)).ok())
    })?;
    let valid = made.is_some();
    let columns = made.map_or(Vec::new(), |made| made.columns);
    let alike = |(new, old): (&ColumnDef, &ColumnDef)| new.name == old.name && new.ty == old.ty;
    let same = columns.len() == table.columns.len() && columns.iter().zip(&table.columns).all(alike);
    if same && valid == view.valid {
        return None;
    }
    let view = ViewDef {
        valid,
        ..view.clone()
    };
    Some(ViewBody { columns, view })
}

/// Whether the tables, or the views among them, lead to this name.
fn reaches(state: &SessionState, tables: &[(String, String)], name: (&str, &str)) -> bool {
    let dictionary = state.database.dictionary();
    let mut known = tables.to_vec();
    let mut at = 0;
    while let Some((schema, table)) = known.get(at).cloned() {
        at += 1;
        if (schema.as_str(), table.as_str()) == name {
            return true;
        }
        let view = dictionary
            .find_table(&schema, &table)
            .and_then(|table| table.view.clone());
        for next in view.iter().flat_map(|view| &view.tables) {
            if !known.contains(next) {
                known.push(next.clone());
            }
        }
    }
    false
}

fn make(state: &SessionState, query: &Query, names: &[String], collation: Collation) -> Result<Made> {
    let mut ctx = state.bind_ctx();
    ctx.collation_connection = collation;
    ctx.character_set_client = Charset::Utf8mb4;
    let env = state.env(&NoSubqueries, &[]);
    let sample = env.ctx();
    let binder = Binder {
        ctx: &ctx,
        session: state,
        params: &[],
        clause: "field list",
    };
    let contexts = Contexts::default();
    let mut planner = Planner::new(state, binder, Some(&sample), &contexts);
    planner.explains = true;
    if query.into.is_some() {
        return Err(variable_clause());
    }
    let bound = planner.query(query, None);
    if let Some(used) = planner.uses.iter().find(|used| used.table.temporary) {
        return Err(SqlError::view_of_temporary(used.name()));
    }
    let bound = bound?;
    if !names.is_empty() && names.len() != bound.columns.len() {
        return Err(SqlError::new(
            er::VIEW_WRONG_LIST,
            "In definition of view, derived table or common table expression, SELECT list and column names list have \
             different column counts",
        ));
    }
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = names[..at].iter().find(|other| names_equal(other, name)) {
            return Err(SqlError::duplicate_column(first));
        }
    }
    let reads_own = reads_own_tables(&planner, &bound);
    let mut canonical = Canonical::new(&mut planner);
    let written = canonical.whole(query, !names.is_empty())?;
    let (tables, outer_join) = (canonical.tables, canonical.outer_join);
    let own_names = column_names(&written.body);
    let named = match names.is_empty() {
        true => &own_names,
        false => names,
    };
    let columns = bound.columns.iter().zip(named);
    let dictionary = state.database.dictionary();
    let described = |(column, name): (&OutputColumn, &String)| {
        let table = dictionary.find_table(&column.origin.schema, &column.origin.table);
        let base = table.as_deref().and_then(|table| base_column(table, column));
        column_def(column, base, name)
    };
    let columns: Vec<ColumnDef> = columns.map(described).collect();
    let mergeable = is_mergeable(&written, &bound);
    let changes_rows = |(schema, name): &(String, String)| match dictionary.find_table(schema, name) {
        Some(table) => table.view.as_ref().is_none_or(|view| view.updatable),
        None => false,
    };
    let updatable = mergeable
        && !outer_join
        && !reads_own
        && has_plain_column(&bound)
        && from_tables(&written).iter().all(changes_rows);
    // It must be possible to run it.
    planner.lower(bound)?;
    Ok(Made {
        query: written,
        columns,
        tables,
        mergeable,
        updatable,
    })
}

/// Whether the tables of a query can join those of a statement in place of its rows.
fn is_mergeable(written: &Query, bound: &logical::Query) -> bool {
    let (WrittenBody::Select(written_select), QueryBody::Select(select)) = (&written.body, &bound.body)
    else {
        return false;
    };
    let reads_variables = |e: &crate::expr::Expr| {
        let mut found = false;
        e.walk(&mut |e| found |= matches!(e.node, Node::UserVar(_) | Node::AssignVar(..)));
        found
    };
    written.with.is_none()
        && written.limit.is_none()
        && written_select.having.is_none()
        && !select.has_windows()
        && select.tree.is_some()
        && !select.is_grouped()
        && !select.distinct
        && !select
            .output
            .iter()
            .any(|e| has_subquery(e) || reads_variables(e))
}

/// Whether a subquery reads a table that the query is made of, which could then not be changed.
fn reads_own_tables(planner: &Planner, bound: &logical::Query) -> bool {
    let mut derived = Vec::new();
    let mut own = Vec::new();
    bound.walk(&mut |_| {}, &mut |table| match &table.input {
        FromInput::Stored { def, .. } => own.push(def.id),
        FromInput::Derived { query, .. } => derived.push(*query),
        FromInput::Virtual(_) | FromInput::Json(_) => {}
    });
    let others = planner.queries.iter().enumerate();
    let mut found = false;
    for (_, query) in others.filter(|(id, _)| !derived.contains(id)) {
        query.walk(&mut |_| {}, &mut |table| {
            found |= matches!(&table.input, FromInput::Stored { def, .. } if own.contains(&def.id));
        });
    }
    found
}

/// The tables of the FROM clause of a query whose names have been written out.
fn from_tables(written: &Query) -> Vec<(String, String)> {
    fn add(table: &TableRef, found: &mut Vec<(String, String)>) {
        match table {
            TableRef::Table(named) => {
                let schema = named.name.schema.clone().unwrap_or_default();
                found.push((schema, named.name.name.clone()));
            }
            TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
            TableRef::Nested(list) => list.iter().for_each(|table| add(table, found)),
            TableRef::Join(join) => {
                add(&join.left, found);
                add(&join.right, found);
            }
        }
    }
    let mut found = Vec::new();
    if let WrittenBody::Select(select) = &written.body {
        select.from.iter().for_each(|table| add(table, &mut found));
    }
    found
}

fn has_plain_column(bound: &logical::Query) -> bool {
    match &bound.body {
        QueryBody::Select(select) => select.output.iter().any(|e| matches!(e.node, Node::Column(_))),
        _ => false,
    }
}

/// The column of the table that a query's column is.
pub(in crate::plan) fn base_column<'t>(table: &'t TableDef, column: &OutputColumn) -> Option<&'t ColumnDef> {
    let at = table.column(&column.origin.column)?;
    Some(&table.columns[at])
}

/// A column as SHOW and `information_schema` describe it: with the default of the column that it is, or else with none but
/// that of its type.
pub(in crate::plan) fn column_def(column: &OutputColumn, base: Option<&ColumnDef>, name: &str) -> ColumnDef {
    let mut ty = column.ty.clone();
    if ty.kind == TypeKind::Null {
        ty = SqlType {
            nullable: true,
            ..SqlType::new(TypeKind::Char)
        };
        ty.collation = Collation::BINARY;
        ty.length = 0;
    }
    ty.zerofill &= !column.origin.table.is_empty();
    let default = match base {
        Some(base) if base.generated.is_some() => {
            base.ty.nullable.then_some(ColumnDefault::Literal(Value::Null))
        }
        Some(base) if base.auto_increment => Some(ColumnDefault::Literal(assign::zero_value(&base.ty))),
        Some(base) => base.default.clone(),
        None if ty.nullable => Some(ColumnDefault::Literal(Value::Null)),
        None if ty.is_blob_or_text() => None,
        None => Some(ColumnDefault::Literal(assign::zero_value(&ty))),
    };
    ColumnDef {
        name: name.to_owned(),
        ty,
        default,
        on_update_now: false,
        auto_increment: false,
        invisible: false,
        explicit_collation: false,
        comment: base.map_or(String::new(), |base| base.comment.clone()),
        generated: None,
    }
}
