//! Views.
//!
//! A view in FROM is *merged* where MySQL merges: the tables of its query join those of the statement, its WHERE is a
//! condition of that join, and the names of its columns stand for expressions over their slots:
//!
//! ```text
//! v AS select t.a AS x, t.b + 1 AS y from t where t.c > 0        SELECT y FROM v JOIN u ON u.k = v.x
//!
//!   scope   v (x → slot 0, y → slot 1 + 1)   u (k → slot 3)
//!   tables  t (slots 0, 1, 2)                u (slot 3)
//!   tree    Inner [ Inner [t] on c > 0, u ] on k = slot 0
//! ```
//!
//! Elsewhere (groups, DISTINCT, LIMIT, UNION, ALGORITHM = TEMPTABLE; a computed column that an outer join may turn into NULL)
//! it is a derived table. Its query is planned with the rights of its definer, and errors in it are error 1356: an
//! account that uses the view is not told what it is made of.
//!
//! - [`canonical`]: a view's query with all its names written out, which is what the dictionary keeps; [`names`],
//!   [`expressions`], [`naming`]: parts of it.
//! - [`define`]: what CREATE VIEW stores.
//! - [`merged`]: what is put down of merged views, through which rows may change.

mod canonical;
pub mod define;
mod expressions;
pub(in crate::plan) mod merged;
mod names;
mod naming;

use super::Planner;
use super::from::{From, FromInput, FromTable, Tree, default_of};
use super::hints::hints;
use crate::accounts::Rights;
use crate::context::TableUse;
use crate::ddl::view::no_such_definer;
use crate::dictionary::{TableDef, ViewDef};
use crate::error::depth::{TABLES_MAX, check_stack};
use crate::error::{Result, SqlError, er};
use crate::expr::{BindCtx, DateConstant, DefaultOf, Expr, Node, ScopeColumn, ScopeTable, build};
use crate::mdl::Mode;
use crate::parse::ast::{self, LockClause, QueryBody, Select, ViewAlgorithm};
use crate::parse::parse_query;
use crate::types::{Charset, Collation};
use merged::{MergedView, Within};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

/// How many collations the views of one statement may have between them.
const CONTEXTS_MAX: usize = 8;

/// What types depend on in views: the literals of a view are in the collation of the connection that made it. One for each
/// collation met.
#[derive(Default)]
pub struct Contexts([OnceCell<BindCtx>; CONTEXTS_MAX]);

impl Contexts {
    /// The context of this collation, or else a copy of `around` with it.
    fn of(&self, collation: Collation, around: &BindCtx) -> Result<&BindCtx> {
        let known = |ctx: &&BindCtx| ctx.collation_connection == collation;
        if let Some(ctx) = self.0.iter().filter_map(OnceCell::get).find(known) {
            return Ok(ctx);
        }
        let free = self.0.iter().find(|cell| cell.get().is_none());
        let free = free
            .ok_or_else(|| SqlError::not_supported("views of more than eight collations in one statement"))?;
        Ok(free.get_or_init(|| BindCtx {
            collation_connection: collation,
            character_set_client: Charset::Utf8mb4,
            dates: RefCell::default(),
            warnings: RefCell::default(),
            deprecated: RefCell::default(),
            ..around.clone()
        }))
    }

    /// The texts that stand beside dates.
    pub fn dates(&self) -> Vec<DateConstant> {
        let made = self.0.iter().filter_map(OnceCell::get);
        made.flat_map(|ctx| ctx.dates.take()).collect()
    }

    /// Whether other literals in place of the parameters could make another plan.
    pub fn depend_on_literals(&self) -> bool {
        let mut made = self.0.iter().filter_map(OnceCell::get);
        made.any(|ctx| ctx.depends_on_literals.get())
    }

    /// Whether a view has something that would be something else on another server.
    pub fn are_unsafe(&self) -> bool {
        let mut made = self.0.iter().filter_map(OnceCell::get);
        made.any(|ctx| ctx.is_unsafe.get())
    }
}

/// What belongs to the statement around a view, put aside while the view's query is planned.
struct Around<'a> {
    binder: crate::expr::Binder<'a>,
    common: Vec<Arc<ast::CommonTable>>,
    working: Vec<crate::plan::common::Working>,
    locks: Vec<LockClause>,
    places: Vec<crate::plan::outer_aggregate::Place>,
    aggregates_around: Vec<usize>,
}

impl<'a> Planner<'a> {
    /// A view among the tables of FROM. The account has been found to hold SELECT on it, or on some of its columns.
    pub(super) fn view(
        &mut self,
        def: &Arc<TableDef>,
        view: &ViewDef,
        named: &ast::TableName,
        from: &mut From,
    ) -> Result<Tree> {
        if named.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF of a view"));
        }
        let alias = named.alias.as_deref().unwrap_or(&def.name);
        hints(&named.hints, def, alias, &self.state.warnings)?;
        let lock = self.lock_of(alias).map(|(exclusive, _)| exclusive);
        if lock == Some(true) {
            self.state.require_locking(&def.schema, &def.name)?;
        }
        let used = TableUse::new(Arc::clone(def), Mode::Read, crate::accounts::Privileges::SELECT);
        self.uses
            .push(used.named(alias).through_view(!self.views.is_empty()));
        let clause = self
            .locks
            .iter()
            .find(|clause| clause.of.is_empty() || clause.of.iter().any(|of| of.name == alias));
        let locks = clause.map(|clause| LockClause {
            of: Vec::new(),
            ..clause.clone()
        });
        let readable = self
            .state
            .allowed_columns(crate::accounts::Privileges::SELECT, def);
        let query = parse_query(&view.text)?;
        if self.views.is_empty() {
            self.account = Some(self.state.rights());
        }
        let shape = ViewShape {
            def,
            view,
            alias,
            readable,
            rights: self.state.rights(),
        };
        self.inside(
            def,
            view,
            alias,
            locks.into_iter().collect(),
            |planner| match shape.merged_select(planner, &query) {
                Some(select) => planner.merged(&shape, select, &query.order_by, from),
                None => planner.materialized(&shape, &query, from),
            },
        )
    }

    /// Plans something in a view: with the rights of its definer, under its collation, without the names and locks of the
    /// statement around it. Errors 1449 and 1045 if the definer is gone, 1462 if the view stands in itself, 1356 for most others.
    pub(super) fn inside<T>(
        &mut self,
        def: &TableDef,
        view: &ViewDef,
        alias: &str,
        locks: Vec<LockClause>,
        plan: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        check_stack()?;
        self.count_expanded()?;
        if self.views.iter().any(|around| around.is(&def.schema, &def.name)) {
            return Err(SqlError::new(
                er::VIEW_RECURSIVE,
                format!("`{}`.`{}` contains view recursion", def.schema, def.name),
            ));
        }
        let state = self.state;
        let acting = match view.invoker {
            true => None,
            false => Some(
                state
                    .act_as(&view.definer.0, &view.definer.1)
                    .ok_or_else(|| self.definer_missing(view))?,
            ),
        };
        let contexts: &'a Contexts = self.contexts;
        let ctx = contexts.of(collation_of(view), self.binder.ctx)?;
        let around = Around {
            binder: self.binder,
            common: std::mem::take(&mut self.common),
            working: std::mem::take(&mut self.working),
            places: std::mem::take(&mut self.places),
            aggregates_around: std::mem::take(&mut self.aggregates_around),
            locks: std::mem::replace(&mut self.locks, locks),
        };
        self.binder.ctx = ctx;
        self.views.push(Arc::new(Within {
            alias: alias.to_owned(),
            schema: def.schema.clone(),
            name: def.name.clone(),
        }));
        let permanent = state.temporary.hide();
        let planned = plan(self);
        drop(permanent);
        self.views.pop();
        self.binder = around.binder;
        self.common = around.common;
        self.working = around.working;
        self.places = around.places;
        self.aggregates_around = around.aggregates_around;
        self.locks = around.locks;
        drop(acting);
        planned.map_err(|error| match is_hidden(&error) {
            true => SqlError::view_invalid(&def.schema, &def.name),
            false => error,
        })
    }

    fn definer_missing(&self, view: &ViewDef) -> SqlError {
        if self.state.has_global(crate::accounts::Privileges::SUPER) {
            return no_such_definer(&view.definer.0, &view.definer.1);
        }
        let own = &self.state.info.account;
        SqlError::new(
            er::ACCESS_DENIED,
            format!(
                "Access denied for user '{}'@'{}' (using password: {})",
                own.user,
                own.host,
                if own.auth_string.is_empty() { "NO" } else { "YES" }
            ),
        )
    }

    /// Adds the view's tables to the statement's.
    fn merged(
        &mut self,
        shape: &ViewShape,
        select: &Select,
        order_by: &[ast::OrderItem],
        from: &mut From,
    ) -> Result<Tree> {
        let first = from.tables.len();
        let mut inner = From {
            tables: std::mem::take(&mut from.tables),
            views: std::mem::take(&mut from.views),
            ..From::inside(None)
        };
        inner.scope.reserved = from.scope.width();
        let planned = self.merged_query(select, order_by, &mut inner);
        from.tables = inner.tables;
        from.views = inner.views;
        from.scope.reserved = inner.scope.width();
        let (mut tree, columns, order) = planned?;
        if let Some(error) = inner.wrong_condition.take() {
            return Err(error);
        }
        if from.tables.len() > TABLES_MAX {
            return Err(SqlError::too_many_tables());
        }
        shape.check_columns(columns.len())?;
        for leaf in &mut from.tables[first..] {
            leaf.locked_as = shape.alias.to_owned();
        }
        if let Tree::Inner { hides, list, on, .. } = &mut tree {
            let leaves = &from.tables[first..];
            let is_derived = |leaf: &FromTable| matches!(leaf.input, FromInput::Derived { .. });
            let chooses =
                !on.is_empty() || list.len() > 1 || leaves.len() > 1 || leaves.iter().any(is_derived);
            *hides = chooses && !self.may_read(leaves);
            for leaf in &mut from.tables[first..] {
                leaf.apart |= *hides;
            }
        }
        if self.keyed {
            let mut conditions = inner.join_conditions;
            if let Tree::Inner { on, .. } = &tree {
                conditions.extend(on.iter().cloned());
            }
            from.views.push(MergedView {
                def: Arc::clone(shape.def),
                rights: Arc::clone(&shape.rights),
                depth: self.views.len() - 1,
                leaves: first..from.tables.len(),
                columns: columns.iter().map(slot_of).collect(),
                conditions,
                joins_outer: tree.joins_outer(),
            });
        }
        from.scope.add(shape.scope_table(columns.into_iter()))?;
        from.leaves.push(first..from.tables.len());
        from.see_last_table();
        from.order = order;
        Ok(tree)
    }

    /// Returns true if the account may read every table that there is.
    fn may_read_all(&self) -> bool {
        let select = crate::accounts::Privileges::SELECT;
        let account = self.account.as_ref();
        account.is_none_or(|account| account.global.contains(select))
    }

    /// Returns true if the account may read the tables of a view without it. Views around it do not matter: they hide more.
    fn may_read(&self, leaves: &[FromTable]) -> bool {
        let _acting = self.account.as_ref().map(|account| self.state.act_again(account));
        let select = crate::accounts::Privileges::SELECT;
        let is_readable = |leaf: &FromTable| match &leaf.input {
            FromInput::Stored { def, .. } | FromInput::Virtual(def) => {
                self.state.require_in_part(select, &def.schema, &def.name).is_ok()
                    && self.state.allowed_columns(select, def).is_none()
            }
            FromInput::Derived { .. } => self.may_read_all(),
            FromInput::Json(_) => true,
        };
        leaves.iter().all(is_readable)
    }

    /// The join that a merged view is, its columns' values, and its order.
    #[expect(clippy::type_complexity)]
    fn merged_query(
        &mut self,
        select: &Select,
        order_by: &[ast::OrderItem],
        inner: &mut From,
    ) -> Result<(Tree, Vec<Expr>, Vec<(Expr, bool)>)> {
        let mut list = Vec::new();
        for table in &select.from {
            list.push(self.table_ref(table, inner)?);
        }
        let null_extended = std::mem::take(&mut self.null_extended);
        let mut on = Vec::new();
        if let Some(filter) = &select.filter {
            on.push(build::condition(self.condition(
                filter,
                &inner.scope,
                "where clause",
            )?));
        }
        let mut items: Vec<(&str, Expr)> = Vec::new();
        for item in &select.items {
            let ast::SelectItem::Expr { expr, alias, .. } = item else {
                return Err(SqlError::unknown("a view's columns are not written out"));
            };
            let name = alias.as_deref().unwrap_or_default();
            items.push((name, self.condition(expr, &inner.scope, "field list")?));
        }
        check_size(&items)?;
        let mut order = Vec::new();
        for item in order_by {
            let named = match &item.expr {
                ast::Expr::Column(name) if name.table.is_none() => {
                    items.iter().find(|(alias, _)| *alias == name.column)
                }
                _ => None,
            };
            let expr = match named {
                Some((_, named)) => named.clone(),
                None => self.condition(&item.expr, &inner.scope, "order clause")?,
            };
            if !expr.is_constant() {
                order.push((expr, item.descending));
            }
        }
        self.null_extended = null_extended;
        let tree = Tree::Inner {
            list,
            on,
            straight: select.straight_join,
            hides: false,
        };
        Ok((tree, items.into_iter().map(|(_, value)| value).collect(), order))
    }

    /// The view's rows as those of a derived table.
    fn materialized(&mut self, shape: &ViewShape, query: &ast::Query, from: &mut From) -> Result<Tree> {
        let null_extended = std::mem::take(&mut self.null_extended);
        let planned = self.query(query, None);
        self.null_extended = null_extended;
        let plan = planned?;
        shape.check_columns(plan.columns.len())?;
        let base = from.scope.width();
        let columns = plan.columns.iter().enumerate();
        let columns = columns.map(|(at, column)| build::column(base + at, column.ty.clone()));
        let table = shape.scope_table(columns);
        self.queries.push(plan);
        from.scope.add(table)?;
        from.see_last_table();
        Ok(from.add_leaf(FromTable {
            alias: shape.alias.to_owned(),
            locked_as: shape.alias.to_owned(),
            within: self.views.first().cloned(),
            rights: Arc::clone(&shape.rights),
            base,
            input: FromInput::Derived {
                query: self.queries.len() - 1,
                lateral: false,
            },
            allowed: None,
            forced: false,
            apart: !self.may_read_all(),
            recursive: None,
        }))
    }
}

/// Most parts that the expressions of a merged view's columns may have together. Each view that names another's columns several
/// times has that many copies of what they are, so without a bound a few dozen views fill the memory.
const MERGED_PARTS_MAX: usize = 50_000;

/// Error 1473 for a view whose columns are more than can be copied into a statement.
fn check_size(columns: &[(&str, Expr)]) -> Result<()> {
    let mut parts = 0;
    columns.iter().for_each(|(_, e)| e.walk(&mut |_| parts += 1));
    match parts > MERGED_PARTS_MAX {
        true => Err(SqlError::too_high_nesting_for_select()),
        false => Ok(()),
    }
}

/// A view as a statement names it.
struct ViewShape<'v> {
    def: &'v Arc<TableDef>,
    view: &'v ViewDef,
    alias: &'v str,
    readable: Option<Arc<crate::expr::AllowedColumns>>,
    /// The rights that the statement has outside of it.
    rights: Arc<Rights>,
}

impl ViewShape<'_> {
    /// The SELECT whose tables join those of the statement; `None`: they do not.
    fn merged_select<'q>(&self, planner: &Planner, query: &'q ast::Query) -> Option<&'q Select> {
        let QueryBody::Select(select) = &query.body else {
            return None;
        };
        let is_column = |item: &ast::SelectItem| {
            matches!(
                item,
                ast::SelectItem::Expr {
                    expr: ast::Expr::Column(_),
                    ..
                }
            )
        };
        // Of a column alone the NULL that an outer join gives it is its own.
        let stays = !planner.null_extended || select.items.iter().all(is_column);
        let merges = self.view.mergeable && self.view.algorithm != ViewAlgorithm::Temptable && stays;
        merges.then_some(select)
    }

    fn check_columns(&self, columns: usize) -> Result<()> {
        match columns == self.def.columns.len() {
            true => Ok(()),
            false => Err(SqlError::view_invalid(&self.def.schema, &self.def.name)),
        }
    }

    fn scope_table(&self, values: impl Iterator<Item = Expr>) -> ScopeTable {
        let columns = self.def.columns.iter().zip(values);
        let columns = columns.map(|(column, value)| ScopeColumn {
            name: column.name.clone(),
            ty: value.ty.clone(),
            slot: slot_of(&value).unwrap_or(0),
            hidden: false,
            merged: false,
            default: match value.node {
                Node::Column(_) => default_of(column),
                _ => DefaultOf::Missing,
            },
            value: (!matches!(value.node, Node::Column(_))).then(|| Arc::new(value)),
        });
        ScopeTable {
            schema: Some(self.def.schema.clone()),
            alias: self.alias.to_owned(),
            columns: columns.collect(),
            readable: self.readable.clone(),
        }
    }
}

/// The slot that a column of a view is; `None`: it is computed.
fn slot_of(value: &Expr) -> Option<usize> {
    match value.node {
        Node::Column(slot) => Some(slot),
        _ => None,
    }
}

/// The collation of a view's literals, which are stored as UTF-8.
fn collation_of(view: &ViewDef) -> Collation {
    match view.collation.charset() {
        Charset::Utf8mb4 | Charset::Utf8mb3 => view.collation,
        _ => Collation::DEFAULT,
    }
}

/// Whether an error would tell what a view is made of.
fn is_hidden(error: &SqlError) -> bool {
    matches!(
        error.code,
        er::NO_SUCH_TABLE
            | er::BAD_FIELD
            | er::BAD_TABLE
            | er::NON_UNIQ
            | er::BAD_DB
            | er::DBACCESS_DENIED
            | er::TABLEACCESS_DENIED
            | er::COLUMNACCESS_DENIED
            | er::SP_DOES_NOT_EXIST
            | er::VIEW_INVALID
    )
}
