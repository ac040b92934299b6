//! Planning: from syntax to what the executor runs.
//!
//! A statement is bound as a whole first, which gives what it means ([`logical`]); rules make it cheaper ([`rewrite`]), then it is decided
//! how it is done ([`lower`]).
//!
//! - [`query`]: queries, UNION and its kin; [`common`]: WITH; [`block`]: one SELECT.
//! - [`items`]: a SELECT's list; [`from`] its tables, with [`derived`], [`json_table`], [`join_clause`], [`hints`] and [`locking`] for what
//!   stands there other than names.
//! - [`lower`]: from a bound block to one that is run ([`cost`]: what it costs; [`prices`]: of which single steps; [`cardinality`]: rows of queries).
//!   - [`join`], [`enumerate`]: the order of its tables; [`equalities`]: what follows from their conditions; [`shares`]: how many rows pass
//!     ([`sampled`]: some are tested).
//!   - [`access`]: the ranges of an index that are read ([`index_bounds`]); [`order`]: reading in a wanted order; [`skip`]: reading a few
//!     rows of each group; [`ends`]: one row for each MIN and MAX.
//!   - [`filter`]: conditions left to be tested; [`condition_order`]: in which order; [`barrier`]: not before the conditions of a view.
//!   - [`group`]: groups; [`rollup`]: with totals; [`full_group_by`], [`dependence`]: which columns they determine. [`window`]: window functions.
//!   - [`walk`]: through a whole plan.
//! - [`view`]: views among the tables, and their definitions.
//! - [`change`]: INSERT, UPDATE and DELETE; [`handler`]: HANDLER … READ; [`past`]: AS OF; [`file_form`]: how rows stand in files.
//! - [`statement`]: whole statements ([`guards`]: for which tables and values), as the session has them run; [`ready`], [`kept`]: those that are kept
//!   for the next time; [`program`]: what stored programs and plans need of each other; [`trace`]: what was considered for them; [`dice`]: plans at random.
//! - [`explain`]: a plan for people to read.
//!
//! A plan holds no session's state and no values of parameters: it is used until a definition changes.

pub mod access;
mod barrier;
mod block;
mod cardinality;
pub mod change;
mod common;
mod condition_order;
mod cost;
mod dependence;
mod derived;
mod dice;
mod digits;
mod ends;
mod enumerate;
mod equalities;
pub mod explain;
pub mod file_form;
mod filter;
pub mod from;
mod full_group_by;
pub mod generated;
mod group;
mod guards;
pub mod handler;
mod hints;
mod index_bounds;
mod items;
mod join;
mod join_clause;
mod join_trace;
pub mod json_table;
pub mod kept;
mod locking;
mod logical;
mod lower;
mod multi_valued;
pub mod order;
mod outer_aggregate;
pub mod past;
mod prices;
pub mod program;
mod query;
pub mod ready;
mod rewrite;
pub mod rollup;
mod sampled;
mod shares;
pub mod skip;
mod spread;
pub mod statement;
mod strict;
pub mod trace;
mod trace_query;
pub mod view;
mod walk;
pub mod window;
mod zero_dates;

pub use guards::Fit;
pub use statement::StatementPlan;
#[cfg(test)]
pub use statement::plan;

use crate::accounts::Rights;
use crate::context::SessionState;
use crate::context::TableUse;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::expr::{Aggregate, Binder, DefaultOf, EvalCtx, Expr, build};
use crate::parse::ast::{self, SetOp};
use crate::types::sort::KeyForm;
use crate::types::{ColumnMeta, SqlType};
use access::AccessPath;
use cardinality::Estimates;
use dice::Dice;
use file_form::FileForm;
use generated::GeneratedColumns;
use json_table::JsonTablePlan;
use logical::Query;
use program::StoredFunction;
use rollup::RollupPlan;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tidemark_engine::{LockWait, Table, TableId};
use window::WindowPlan;

/// Slots from here on are finished aggregates.
pub const AGGREGATE: usize = 1 << 20;

/// Slots from here on are the values of window functions.
pub const WINDOW: usize = 1 << 22;

/// How many views and common tables one statement may plan, each as often as it is named.
const EXPANDED_MAX: usize = 10_000;

/// A query with its order and limit, whose blocks are `S`: as they are run, or as they are bound ([`logical::Query`]).
pub struct QueryPlan<S = SelectPlan> {
    pub body: QueryBody<S>,
    /// Sort keys; over the source's row for a select, over the result's columns otherwise. True: descending.
    pub order: Vec<(Expr, bool)>,
    pub offset: Option<Expr>,
    pub limit: Option<Expr>,
    pub columns: Vec<OutputColumn>,
    /// Over the row of `columns`: what a set operation around it makes of the rows that are left. Empty: they are handed on as they are.
    pub converted: Vec<Expr>,
    /// Slots of the row around it that it reads.
    pub outer: Vec<usize>,
    /// It gives the same, and changes nothing, when it is evaluated again for the same rows around it.
    repeatable: bool,
    /// It reads or sets user variables that the statement sets while it runs.
    pub reads_changes: bool,
    pub into: Destination,
    pub calc_found_rows: bool,
    /// Some result has more digits than its type.
    is_unveiled: bool,
    /// The order is that of the output columns from left to right.
    pub ordered_by_output: bool,
    /// Which of its columns follow from which others, where a query around it may ask; `None`: nothing is known.
    dependences: Option<dependence::Exported>,
}

/// Where the rows of a query go.
pub enum Destination {
    Client,
    /// `INTO @a, @b`
    Variables(Vec<String>),
    /// `INTO OUTFILE`, `INTO DUMPFILE`
    File(Box<FileForm>),
}

pub struct OutputColumn {
    pub name: String,
    pub ty: SqlType,
    pub meta: ColumnMeta,
    /// Where it stands, if it is a table's column, also through views; `meta` tells what a client is told of that.
    pub origin: Origin,
    /// That of the table's column that it is.
    pub default: DefaultOf,
}

/// Names a table's column; all are empty where there is none.
#[derive(Clone, Default)]
pub struct Origin {
    pub schema: String,
    pub table: String,
    pub column: String,
}

pub enum QueryBody<S = SelectPlan> {
    Select(Box<S>),
    /// From the left: `first op₁ query₁ op₂ query₂ …`. All give the types of the whole.
    Set {
        first: Box<QueryPlan<S>>,
        rest: Vec<SetBranch<S>>,
    },
    Values(Vec<Vec<Expr>>),
    Recursive(Recursion<S>),
}

/// `WITH RECURSIVE`: the rows of `seed`, then those of each step over the rows that it has not read yet, until all have been
/// read by all.
pub struct Recursion<S = SelectPlan> {
    /// The query by whose number the steps know the rows before.
    pub working: usize,
    /// Equal rows stay.
    pub all: bool,
    pub seed: Box<QueryPlan<S>>,
    /// Their values are assigned to the columns, as in an INSERT.
    pub steps: Vec<QueryPlan<S>>,
}

/// A query of a set operation and how its rows are joined to those before.
pub struct SetBranch<S = SelectPlan> {
    pub op: SetOp,
    pub all: bool,
    pub plan: QueryPlan<S>,
}

pub struct SelectPlan {
    /// Its number in the optimizer trace; 0 if there is none.
    pub number: u64,
    /// Slots of the joined row.
    pub width: usize,
    pub source: RowSource,
    /// Conditions that must wait for the whole row: those with subqueries.
    pub filter: Option<Expr>,
    pub group: Option<GroupPlan>,
    pub having: Option<Expr>,
    /// HAVING names nothing of a group: if it does not hold no row is read.
    pub having_first: bool,
    /// Worked out over the rows that are left; `None`: there are no window functions.
    pub windows: Option<WindowPlan>,
    pub output: Vec<Expr>,
    pub distinct: bool,
    /// Rows may go from the last table's page through the rest of the plan under its latch: nothing there reads
    /// another row.
    pub latch_safe: bool,
}

pub struct GroupPlan {
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    /// Rows of totals are added; `None`: they are not.
    pub rollup: Option<RollupPlan>,
    /// Slots of a group's first row that are read after grouping.
    pub keep: Vec<usize>,
    /// Slots of each row that are read when it is taken into its group, those of the first row too.
    pub slots: Vec<usize>,
    /// Rows arrive with equal keys together.
    pub sorted: bool,
    /// MIN or MAX read from the end of an index: the first row with a value decides.
    pub first_only: bool,
    /// Of several such aggregates, where each but the first is read; the first is where the block reads.
    pub ends: Vec<RowSource>,
}

/// Where rows come from.
pub enum RowSource {
    /// No FROM: one row of no columns.
    One,
    Table(Box<TableScan>),
    /// One inside the other, in this order, each filtered as soon as its tables are there.
    Inner(Vec<RowSource>),
    Left(LeftJoin),
}

/// LEFT JOIN: each row of the left with those of the right that match, or with NULLs.
pub struct LeftJoin {
    pub left: Box<RowSource>,
    /// Tested with ON: its conditions stand at its tables.
    pub right: Box<RowSource>,
    /// The part of WHERE that is tested on the joined row.
    pub filter: Option<Expr>,
}

/// One table of the FROM clause.
pub struct TableScan {
    pub alias: String,
    pub base: usize,
    pub input: Input,
    /// The columns read, by position; one beyond the last is the row's primary key as the engine knows it.
    pub needed: Vec<usize>,
    pub path: AccessPath,
    pub reverse: bool,
    /// Tested before the table is read, for the row of the tables before it: conditions that name no column of this one. If it does not
    /// hold, no row is read, and none is locked.
    pub gate: Option<Expr>,
    /// It is known not to hold, whatever the rows are.
    pub never: bool,
    /// Tested on each row under the latch: what the path does not ensure by itself.
    pub filter: Option<Expr>,
    /// Tested once the row has been copied: conditions with subqueries, and those that must not see what a view hides.
    pub late_filter: Option<Expr>,
    pub lock: Option<(bool, LockWait)>,
    pub hash: Option<HashJoin>,
    /// Rows expected after filtering, for EXPLAIN and join order.
    pub rows_out: f64,
}

impl TableScan {
    /// All that is tested before and where the table is read.
    pub fn tests(&self) -> Option<Expr> {
        match (&self.gate, &self.filter) {
            (Some(gate), Some(filter)) => Some(build::and(vec![gate.clone(), filter.clone()])),
            (gate, filter) => gate.as_ref().or(filter.as_ref()).cloned(),
        }
    }
}

impl RowSource {
    /// Whether it is known that there are no rows.
    pub fn is_never(&self) -> bool {
        match self {
            RowSource::One => false,
            RowSource::Table(scan) => scan.never,
            RowSource::Inner(list) => list.iter().any(RowSource::is_never),
            RowSource::Left(join) => join.left.is_never(),
        }
    }

    /// Has joins hand on their rows in the order of their first table's.
    fn keep_order(&mut self) {
        self.each_hash_join(&mut |hash| (hash.side, hash.keeps_order) = (Side::Table, true));
    }

    pub(crate) fn each_hash_join(&mut self, f: &mut dyn FnMut(&mut HashJoin)) {
        match self {
            RowSource::One => {}
            RowSource::Table(scan) => scan.hash.iter_mut().for_each(f),
            RowSource::Inner(list) => list.iter_mut().for_each(|source| source.each_hash_join(f)),
            RowSource::Left(join) => {
                join.left.each_hash_join(f);
                join.right.each_hash_join(f);
            }
        }
    }
}

pub enum Input {
    Stored {
        def: Arc<TableDef>,
        table: Arc<Table>,
    },
    Virtual(Arc<TableDef>),
    /// The result of a query, by number. `lateral`: the row so far is the row around it.
    Derived {
        query: usize,
        types: Vec<SqlType>,
        lateral: bool,
    },
    /// The rows of a document.
    Json(Arc<JsonTablePlan>),
}

impl Input {
    pub fn def(&self) -> Option<&Arc<TableDef>> {
        match self {
            Input::Stored { def, .. } | Input::Virtual(def) => Some(def),
            Input::Derived { .. } | Input::Json(_) => None,
        }
    }

    pub fn width(&self) -> usize {
        match self {
            Input::Stored { def, .. } | Input::Virtual(def) => def.columns.len(),
            Input::Derived { types, .. } => types.len(),
            Input::Json(plan) => plan.columns.len(),
        }
    }
}

/// A table met by hashing: the rows of one side are kept by key, those of the other looked up. Without keys all rows are, for each.
pub struct HashJoin {
    /// Over the table.
    pub build: Vec<Expr>,
    /// Over the rows before it in the join.
    pub probe: Vec<Expr>,
    /// In which form the two of each pair are looked up.
    pub forms: Vec<KeyForm>,
    /// How many rows the table is expected to have.
    pub rows: f64,
    pub side: Side,
    /// The joined rows are to be in the order of the rows before the table.
    pub keeps_order: bool,
}

/// The side of a hash join that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The table's rows: those before it are looked up as they come.
    Table,
    /// The rows before the table, which is read once, when they have all come.
    Before,
}

/// Makes plans for one statement.
pub struct Planner<'a> {
    pub state: &'a SessionState,
    pub binder: Binder<'a>,
    /// The subqueries and derived tables, by the numbers that expressions and tables know them by. Of those that are in `lowered`
    /// all is here but their bodies.
    queries: Vec<Query<'a>>,
    /// Those among them that rules have made of others, which stand in these.
    forms: Vec<usize>,
    /// The same as they are run, as far as that has been decided.
    lowered: Vec<Option<QueryPlan>>,
    /// What has been worked out of those.
    estimates: RefCell<Estimates>,
    pub uses: Vec<TableUse>,
    /// The stored functions that are called, by the numbers that expressions know them by.
    pub routines: Vec<Arc<dyn StoredFunction>>,
    pub common: Vec<Arc<ast::CommonTable>>,
    /// Recursive tables being planned, which their own queries may name.
    working: Vec<common::Working>,
    /// Common tables that have been planned and read nothing around them, and their queries.
    planned_common: Vec<(Arc<ast::CommonTable>, usize)>,
    /// The SELECTs around the one being planned, those of common tables that it names included.
    pub selects: usize,
    /// Rows of the tables of the FROM clause being planned may change: they have a slot behind their columns for the row's
    /// primary key, and of merged views it is put down what they are.
    pub keyed: bool,
    /// The locking clauses of the query being planned.
    pub locks: Vec<ast::LockClause>,
    /// For each stored table that is read, at which moment.
    pub moments: Vec<Option<ast::AsOf>>,
    /// Weighs the costs of plans.
    dice: Dice,
    /// The statement is only to be explained.
    pub explains: bool,
    /// What is considered is told here; `None`: statements are not traced.
    trace: Option<trace::Tracer>,
    /// With the parameters of the first execution, for estimates; `None` when there are none yet.
    pub sample: Option<&'a EvalCtx<'a>>,
    /// What the types in views depend on.
    contexts: &'a view::Contexts,
    /// The views that the query being planned stands in, the outermost first.
    views: Vec<Arc<view::merged::Within>>,
    /// What the account may do that runs the statement, if the query being planned stands in a view.
    account: Option<Arc<Rights>>,
    /// How many views and common tables have been planned where they are named.
    expanded: usize,
    /// The tables of the FROM clause being planned may be given NULLs for rows by an outer join.
    null_extended: bool,
    /// The places in the queries around that the query being planned stands in, the outermost first.
    places: Vec<outer_aggregate::Place>,
    /// What is bound is of ON DUPLICATE KEY UPDATE.
    on_duplicate: bool,
    /// What ON DUPLICATE KEY UPDATE asks of the outermost block of INSERT's query.
    carried: Option<change::Carried>,
    /// Some block has an AVG that has more digits than it shows.
    has_averages: bool,
    /// For each aggregate around what is bound, how many scopes are around its query.
    aggregates_around: Vec<usize>,
    /// The generated columns that conditions may go by, of the tables met so far.
    generated: RefCell<Vec<(TableId, Rc<GeneratedColumns>)>>,
}

impl<'a> Planner<'a> {
    /// For one statement. `sample` is an evaluation with the parameters of the first execution.
    fn new(
        state: &'a SessionState,
        binder: Binder<'a>,
        sample: Option<&'a EvalCtx<'a>>,
        contexts: &'a view::Contexts,
    ) -> Planner<'a> {
        Planner {
            state,
            binder,
            queries: Vec::new(),
            forms: Vec::new(),
            lowered: Vec::new(),
            estimates: RefCell::default(),
            uses: Vec::new(),
            routines: Vec::new(),
            common: Vec::new(),
            working: Vec::new(),
            planned_common: Vec::new(),
            selects: 0,
            keyed: false,
            locks: Vec::new(),
            moments: Vec::new(),
            dice: Dice::new(state.settings.random_plans),
            explains: false,
            trace: None,
            sample,
            contexts,
            views: Vec::new(),
            account: None,
            expanded: 0,
            null_extended: false,
            places: Vec::new(),
            on_duplicate: false,
            carried: None,
            has_averages: false,
            aggregates_around: Vec::new(),
            generated: RefCell::default(),
        }
    }

    /// The generated columns of a table that conditions may go by.
    fn indexed_generated(&self, def: &TableDef) -> Result<Rc<GeneratedColumns>> {
        if let Some((_, known)) = self.generated.borrow().iter().find(|(id, _)| *id == def.id) {
            return Ok(Rc::clone(known));
        }
        let bound = Rc::new(GeneratedColumns::indexed(def, &self.binder)?);
        self.generated.borrow_mut().push((def.id, Rc::clone(&bound)));
        Ok(bound)
    }

    /// Adds a table that the statement names. Error 1137 if it is a temporary one that it has named before.
    fn add_use(&mut self, used: TableUse) -> Result<()> {
        let same = |other: &&TableUse| other.table.id == used.table.id;
        if used.table.temporary
            && let Some(first) = self.uses.iter().find(same)
        {
            return Err(SqlError::cannot_reopen(first.name()));
        }
        self.uses.push(used);
        Ok(())
    }

    /// Counts a view or common table that is planned where it is named. Where each names the one before twice, the work doubles
    /// from one to the next: error 1473 beyond [`EXPANDED_MAX`], and 1317 once the statement is to end.
    fn count_expanded(&mut self) -> Result<()> {
        if self.state.process.is_interrupted() {
            return Err(SqlError::interrupted());
        }
        self.expanded += 1;
        match self.expanded > EXPANDED_MAX {
            true => Err(SqlError::too_high_nesting_for_select()),
            false => Ok(()),
        }
    }
}
