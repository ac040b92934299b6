//! What an optimizer trace tells of a statement that runs, in MySQL's shape: `join_execution` of each block, within it the subqueries
//! that are run, the temporary tables that are made, and how rows were sorted.
//!
//! A trace is closed when the plan is made, as the statement may never run. When it does, it is continued: the text of before lacks
//! its last brackets, which come again at the end of what is told then ([`Tracer::resumed`]).

use super::Tracer;
use crate::dictionary::TableDef;
use crate::expr::Expr;
use crate::plan::explain::Names;
use crate::plan::{QueryBody, QueryPlan, RowSource, SelectPlan};
use crate::variables::TraceSettings;

/// A sort that is about to hand out its rows.
#[derive(Clone, Copy, Debug)]
pub struct Sorted {
    /// Bytes that rows in memory might take.
    pub memory: usize,
    /// The most that they took.
    pub peak: usize,
    /// Rows that came.
    pub rows: u64,
    /// Sorted runs that were put aside, as not all rows had room.
    pub runs: usize,
    /// How many of the first rows are wanted, if not all.
    pub wanted: Option<u64>,
}

/// A temporary table that is about to be filled.
#[derive(Clone, Copy, Debug)]
pub struct Temporary<'t> {
    /// The name in the statement, if it has one.
    pub name: Option<&'t str>,
    /// Values in a row.
    pub columns: usize,
    /// A row for each group of rows, or of each group of equal rows one.
    pub grouped: bool,
}

/// Steps of a trace that belong together, until this is dropped.
#[must_use]
pub struct Part<'t> {
    trace: &'t Tracer,
    levels: usize,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        match self.levels {
            0 => self.trace.silent.set(self.trace.silent.get() - 1),
            levels => self.trace.close(levels),
        }
    }
}

impl Tracer {
    /// Goes on with a trace that has been [finished](Tracer::finish); `has_some`: it has steps.
    pub fn resumed(settings: TraceSettings, room: u64, has_some: bool) -> Tracer {
        let tracer = Tracer::closed(settings, room);
        let open = [('}', None, true), (']', Some("steps"), has_some)];
        tracer.writer.borrow_mut().open.extend(open);
        tracer
    }

    /// Whether subqueries are told of each time that they run.
    pub fn repeats_subqueries(&self) -> bool {
        self.settings.repeated_subqueries
    }

    /// Nothing is told until the part is dropped.
    pub fn silence(&self) -> Part<'_> {
        self.silent.set(self.silent.get() + 1);
        Part {
            trace: self,
            levels: 0,
        }
    }

    fn part(&self, what: &'static str, select: Option<u64>) -> Part<'_> {
        self.element();
        self.object(what);
        if let Some(select) = select {
            self.raw("select#", &select.to_string());
        }
        self.list("steps");
        Part {
            trace: self,
            levels: 3,
        }
    }

    /// A block runs.
    pub fn runs(&self, select: &SelectPlan) -> Part<'_> {
        self.part("join_execution", told_number(select))
    }

    /// A subquery of an expression runs.
    pub fn runs_subquery(&self, query: &QueryPlan) -> Part<'_> {
        self.part("subselect_execution", number_of(query))
    }

    /// The rows of a query are kept in a temporary table.
    pub fn materializes(&self, query: &QueryPlan, name: Option<&str>) -> Part<'_> {
        self.creates_table(Temporary {
            name,
            columns: query.columns.len(),
            grouped: false,
        });
        self.part("materialize", number_of(query))
    }

    /// A temporary table is made.
    pub fn creates_table(&self, table: Temporary) {
        self.element();
        self.object("creating_tmp_table");
        self.object("tmp_table_info");
        self.text("table", table.name.unwrap_or("<temporary>"));
        self.raw("columns", &table.columns.to_string());
        self.flag("makes_grouped_rows", table.grouped);
        self.close(3);
    }

    /// The rows of a query, or of one of its window functions, are sorted.
    pub fn sorts<'e>(
        &self,
        query: &QueryPlan,
        queries: &[QueryPlan],
        keys: impl Iterator<Item = (&'e Expr, bool)>,
        sorted: Sorted,
    ) {
        match &query.body {
            QueryBody::Select(select) => {
                let names = Names::quoted_of_select(select, queries);
                let table = match &select.source {
                    RowSource::Table(scan) if select.group.is_none() => Some(scan.alias.as_str()),
                    _ => None,
                };
                self.sorts_by(table, &names, keys, sorted);
            }
            _ => {
                let names = Names::of_columns(query.columns.iter().map(|column| column.name.as_str()));
                self.sorts_by(None, &names, keys, sorted);
            }
        }
    }

    /// The rows of a table that are to be changed are sorted.
    pub fn sorts_table<'e>(
        &self,
        def: &TableDef,
        keys: impl Iterator<Item = (&'e Expr, bool)>,
        sorted: Sorted,
    ) {
        self.sorts_by(Some(&def.name), &Names::full_of_table(def), keys, sorted);
    }

    /// Rows are sorted: those of a table, or others.
    fn sorts_by<'e>(
        &self,
        table: Option<&str>,
        names: &Names,
        keys: impl Iterator<Item = (&'e Expr, bool)>,
        sorted: Sorted,
    ) {
        self.element();
        self.text("sorting_table", table.unwrap_or("<temporary>"));
        self.list("filesort_information");
        for (key, descending) in keys {
            self.element();
            self.text("direction", if descending { "desc" } else { "asc" });
            self.text("expression", &names.expr(key));
            self.close(1);
        }
        self.close(1);
        self.object("filesort_priority_queue_optimization");
        match sorted.wanted {
            Some(wanted) => {
                self.raw("limit", &wanted.to_string());
                self.flag("chosen", true);
            }
            None => {
                self.flag("usable", false);
                self.text("cause", "not applicable (no LIMIT)");
            }
        }
        self.close(1);
        self.list("filesort_execution");
        self.close(1);
        self.object("filesort_summary");
        self.raw("memory_available", &sorted.memory.to_string());
        self.raw("num_rows_found", &sorted.rows.to_string());
        self.raw("num_initial_chunks_spilled_to_disk", &sorted.runs.to_string());
        self.raw("peak_memory_used", &sorted.peak.to_string());
        self.text("sort_mode", "<varlen_sort_key, packed_additional_fields>");
        self.close(2);
    }
}

/// That of a block whose planning was told of.
fn told_number(select: &SelectPlan) -> Option<u64> {
    Some(select.number).filter(|number| *number > 0)
}

/// That of the first SELECT of a query.
fn number_of(query: &QueryPlan) -> Option<u64> {
    match &query.body {
        QueryBody::Select(select) => told_number(select),
        QueryBody::Set { first, .. } => number_of(first),
        QueryBody::Recursive(recursion) => number_of(&recursion.seed),
        QueryBody::Values(_) => None,
    }
}
