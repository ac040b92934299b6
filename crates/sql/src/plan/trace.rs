//! The optimizer trace: what the planner considers, told while it does, in the shape of MySQL's.
//!
//! A trace is text from the first byte on, so that it takes no more memory than `optimizer_trace_max_mem_size` gives it, however
//! much there is to tell; what is beyond is counted. While statements are not traced, nothing here is made, and each place that would
//! tell something looks at one `Option`.
//!
//! Steps that MySQL has and this planner has not (constant propagation, semijoins, materialization) are not there. Costs are this
//! planner's. When the plan runs, the trace goes on: [`run`].

pub mod run;

use super::access::{AccessPath, Request};
use super::explain::{Names, access_type, ranges_of};
use super::{RowSource, TableScan};
use crate::expr::Expr;
use crate::variables::TraceSettings;
use std::cell::{Cell, RefCell};

/// JSON that is written from front to back into a bounded room.
struct Writer {
    text: String,
    room: usize,
    missing: u64,
    one_line: bool,
    end_markers: bool,
    /// What is open, the innermost last: what closes it, its name, and whether something stands in it.
    open: Vec<(char, Option<&'static str>, bool)>,
}

impl Writer {
    fn put(&mut self, part: &str) {
        let mut end = self.room.saturating_sub(self.text.len()).min(part.len());
        // What follows a cut is not text that would go on.
        if self.missing > 0 {
            end = 0;
        }
        while !part.is_char_boundary(end) {
            end -= 1;
        }
        self.text.push_str(&part[..end]);
        self.missing += (part.len() - end) as u64;
    }

    fn line(&mut self) {
        if !self.one_line {
            let depth = self.open.len();
            self.put("\n");
            (0..depth).for_each(|_| self.put("  "));
        }
    }

    /// Goes to where the next value stands.
    fn begin(&mut self, key: Option<&str>) {
        let before = match self.open.last_mut() {
            Some((_, _, has_some)) => std::mem::replace(has_some, true),
            None => false,
        };
        if before {
            self.put(",");
        }
        if !self.open.is_empty() {
            self.line();
        }
        if let Some(key) = key {
            self.quoted(key);
            self.put(": ");
        }
    }

    fn quoted(&mut self, text: &str) {
        let json = crate::types::json::Json::String(text.to_owned());
        self.put(&json.to_string());
    }

    fn open(&mut self, key: Option<&'static str>, brackets: [&str; 2]) {
        self.begin(key);
        self.put(brackets[0]);
        let close = if brackets[1] == "}" { '}' } else { ']' };
        self.open.push((close, key, false));
    }

    fn close(&mut self) {
        let Some((close, key, _)) = self.open.pop() else {
            return;
        };
        self.line();
        self.put(if close == '}' { "}" } else { "]" });
        if let Some(key) = key.filter(|_| self.end_markers) {
            self.put(&format!(" /* {key} */"));
        }
    }
}

/// A trace that is being written. Shared, as the planner is while it considers.
pub struct Tracer {
    settings: TraceSettings,
    writer: RefCell<Writer>,
    /// SELECTs so far.
    selects: Cell<u64>,
    /// The tables of the block whose joins are being considered.
    names: RefCell<Names>,
    /// Ways of reading a table that are looked at are told: the choice is part of a plan that is considered.
    considers: Cell<bool>,
    /// Above 0 nothing is told.
    silent: Cell<u32>,
}

/// A trace as far as it goes.
pub struct Finished {
    /// JSON.
    pub text: String,
    /// Bytes for which there was no room.
    pub missing: u64,
    /// There are steps in it.
    pub has_steps: bool,
    /// The last so many bytes, those missing included, are brackets: what follows stands before them.
    pub closing: u64,
}

const OBJECT: [&str; 2] = ["{", "}"];
const LIST: [&str; 2] = ["[", "]"];

impl Tracer {
    /// Begins a trace that takes so many bytes at most.
    pub fn new(settings: TraceSettings, room: u64) -> Tracer {
        let tracer = Tracer::closed(settings, room);
        tracer.writer.borrow_mut().open(None, OBJECT);
        tracer.list("steps");
        tracer
    }

    /// One in which nothing is open.
    fn closed(settings: TraceSettings, room: u64) -> Tracer {
        Tracer {
            settings,
            writer: RefCell::new(Writer {
                text: String::new(),
                room: room.try_into().unwrap_or(usize::MAX),
                missing: 0,
                one_line: settings.one_line,
                end_markers: settings.end_markers,
                open: Vec::new(),
            }),
            selects: Cell::new(0),
            names: RefCell::new(Names::of_nothing()),
            considers: Cell::new(false),
            silent: Cell::new(0),
        }
    }

    /// Closes what is open.
    pub fn finish(self) -> Finished {
        let mut writer = self.writer.into_inner();
        // The list of steps is open, and in it nothing.
        let has_steps = writer.open.last().is_some_and(|(_, _, has_some)| *has_some);
        let before = writer.text.len() as u64 + writer.missing;
        while !writer.open.is_empty() {
            writer.close();
        }
        Finished {
            has_steps,
            closing: writer.text.len() as u64 + writer.missing - before,
            text: writer.text,
            missing: writer.missing,
        }
    }

    /// Something is told, unless nothing is to be.
    fn write(&self, f: impl FnOnce(&mut Writer)) {
        if self.silent.get() == 0 {
            f(&mut self.writer.borrow_mut());
        }
    }

    fn list(&self, key: &'static str) {
        self.write(|writer| writer.open(Some(key), LIST));
    }

    fn object(&self, key: &'static str) {
        self.write(|writer| writer.open(Some(key), OBJECT));
    }

    /// An object in a list.
    fn element(&self) {
        self.write(|writer| writer.open(None, OBJECT));
    }

    fn close(&self, levels: usize) {
        self.write(|writer| (0..levels).for_each(|_| writer.close()));
    }

    fn text(&self, key: &str, text: &str) {
        self.write(|writer| {
            writer.begin(Some(key));
            writer.quoted(text);
        });
    }

    fn item(&self, text: &str) {
        self.write(|writer| {
            writer.begin(None);
            writer.quoted(text);
        });
    }

    fn raw(&self, key: &str, value: &str) {
        self.write(|writer| {
            writer.begin(Some(key));
            writer.put(value);
        });
    }

    fn flag(&self, key: &str, is_so: bool) {
        self.raw(key, if is_so { "true" } else { "false" });
    }

    fn number(&self, key: &str, number: f64) {
        self.raw(key, &short(number));
    }

    fn expr(&self, e: &Expr) -> String {
        self.names.borrow().expr(e)
    }

    // ------------------------------------------------------------------------------------------------- blocks

    /// Another SELECT: its number.
    pub fn next_select(&self) -> u64 {
        self.selects.set(self.selects.get() + 1);
        self.selects.get()
    }

    /// Names are known: the query as it is bound.
    pub fn prepared(&self, select: u64, query: &str) {
        self.element();
        self.object("join_preparation");
        self.raw("select#", &select.to_string());
        self.list("steps");
        self.element();
        self.text("expanded_query", &format!("/* select#{select} */ {query}"));
        self.close(4);
    }

    /// The joins of a SELECT are about to be considered, until [`optimized`](Tracer::optimized).
    pub fn optimizes(&self, select: u64, names: Names) {
        *self.names.borrow_mut() = names;
        self.element();
        self.object("join_optimization");
        self.raw("select#", &select.to_string());
        self.list("steps");
    }

    /// They have been.
    pub fn optimized(&self) {
        self.close(3);
    }

    /// The condition of WHERE, and whether left joins became inner ones by it.
    pub fn conditions(&self, filter: Option<&Expr>, made_inner: bool) {
        if let Some(filter) = filter {
            self.element();
            self.object("condition_processing");
            self.text("condition", "WHERE");
            self.text("original_condition", &self.expr(filter));
            self.close(2);
        }
        if made_inner {
            self.element();
            self.object("transformations_to_nested_joins");
            self.list("transformations");
            self.item("outer_join_to_inner_join");
            self.close(3);
        }
    }

    /// Which tables there are: their names, whether they may be NULL for want of a row, and which must be read before.
    pub fn dependencies(&self, tables: &[(String, bool, Vec<usize>)]) {
        self.element();
        self.list("table_dependencies");
        for (at, (name, may_be_null, before)) in tables.iter().enumerate() {
            self.element();
            self.text("table", &ticked(name));
            self.flag("row_may_be_null", *may_be_null);
            self.raw("map_bit", &at.to_string());
            self.list("depends_on_map_bits");
            for other in before {
                let mut writer = self.writer.borrow_mut();
                writer.begin(None);
                writer.put(&other.to_string());
            }
            self.close(2);
        }
        self.close(2);
    }

    // ------------------------------------------------------------------------------------------------- ranges

    /// What each table by itself comes to is about to be told, until [`end_list`](Tracer::end_list).
    pub fn estimates_rows(&self) {
        self.element();
        self.list("rows_estimation");
    }

    /// A list of steps is complete.
    pub fn end_list(&self) {
        self.close(2);
    }

    /// A table without indexes.
    pub fn plain_table(&self, name: &str, rows: f64, cost: f64) {
        self.element();
        self.text("table", &ticked(name));
        self.object("table_scan");
        self.number("rows", rows);
        self.number("cost", cost);
        self.close(2);
    }

    /// The ways of reading a table by its own conditions, of which the first is the scan of all of it; `best`: the one to take.
    pub fn ranges(&self, name: &str, request: &Request, paths: &[AccessPath], best: &AccessPath) {
        self.element();
        self.text("table", &ticked(name));
        if !self.settings.ranges {
            self.text("range_analysis", "...");
            return self.close(1);
        }
        self.object("range_analysis");
        if let Some(all) = paths.first() {
            self.object("table_scan");
            self.number("rows", all.rows);
            self.number("cost", all.cost);
            self.close(1);
        }
        self.potential_indexes(request, paths);
        self.object("analyzing_range_alternatives");
        self.list("range_scan_alternatives");
        let mut least = f64::INFINITY;
        for path in paths.iter().filter(|path| !path.is_full()) {
            let better = path.cost < least;
            least = least.min(path.cost);
            self.element();
            self.path(request, path, false);
            self.flag("chosen", better);
            if !better {
                self.text("cause", "cost");
            }
            self.close(1);
        }
        self.close(2);
        if !best.is_full() {
            self.object("chosen_range_access_summary");
            self.object("range_access_plan");
            self.text("type", "range_scan");
            self.path(request, best, false);
            self.close(1);
            self.number("rows_for_plan", best.rows);
            self.number("cost_for_plan", best.cost);
            self.flag("chosen", true);
            self.close(1);
        }
        self.close(2);
    }

    fn potential_indexes(&self, request: &Request, paths: &[AccessPath]) {
        self.list("potential_range_indexes");
        for index in &request.def.indexes {
            self.element();
            self.text("index", &index.name);
            let cause = match paths
                .iter()
                .any(|path| path.index == index.number && !path.is_full())
            {
                true => None,
                false if !index.visible => Some("invisible"),
                false if !request.may_use(index) => Some("index_hint"),
                false => Some("not_applicable"),
            };
            self.flag("usable", cause.is_none());
            match cause {
                Some(cause) => self.text("cause", cause),
                None => {
                    self.list("key_parts");
                    for part in &index.parts {
                        let column = &request.def.columns[part.column];
                        self.item(column.key_part_expression().unwrap_or(&column.name));
                    }
                    self.close(1);
                }
            }
            self.close(1);
        }
        self.close(1);
    }

    /// Which index a path goes by, its ranges, rows and cost.
    fn path(&self, request: &Request, path: &AccessPath, with_type: bool) {
        let (used, kind) = access_type(Some(request.def), path, false);
        if with_type {
            self.text("access_type", if kind == "ALL" { "scan" } else { kind });
        }
        if let Some(index) = used {
            self.text("index", &index.name);
            if !path.is_full() {
                self.list("ranges");
                for bounds in &path.bounds {
                    self.item(&ranges_of(request.def, index, bounds, &self.names.borrow()));
                }
                self.close(1);
            }
            self.flag("index_only", path.covering && path.index != 0);
        }
        self.number("rows", path.rows);
        self.number("cost", path.cost);
    }

    // ------------------------------------------------------------------------------------------------- orders

    /// Orders of joins are about to be considered, until [`end_list`](Tracer::end_list).
    pub fn considers_orders(&self) {
        self.element();
        self.list("considered_execution_plans");
    }

    /// Whether orders are told one by one.
    pub fn tells_orders(&self) -> bool {
        self.settings.join_orders
    }

    /// They are not.
    pub fn orders_untold(&self) {
        self.element();
        self.text("considered_execution_plans", "...");
        self.close(1);
    }

    /// One more table behind those of the prefix is about to be considered.
    pub fn considers_table(&self, prefix: &[String], name: &str) {
        self.element();
        self.list("plan_prefix");
        prefix.iter().for_each(|name| self.item(&ticked(name)));
        self.close(1);
        self.text("table", &ticked(name));
        self.object("best_access_path");
        self.list("considered_access_paths");
        self.considers.set(true);
    }

    /// What it comes to: the share of its rows that pass, the rows of the join with it and what they cost; `hashed`: it is read once.
    pub fn considered_table(&self, scan: &TableScan, rows: f64, cost: f64) {
        self.considers.set(false);
        self.close(2);
        if scan.hash.is_some() {
            self.flag("using_join_cache", true);
        }
        let share = scan.rows_out / scan.path.rows.max(0.01) * 100.0;
        self.number("condition_filtering_pct", share.min(100.0));
        self.number("rows_for_plan", rows);
        self.number("cost_for_plan", cost);
    }

    /// Whether it is better than those tried in its place before.
    pub fn judged_table(&self, chosen: bool) {
        self.flag("chosen", chosen);
        self.close(1);
    }

    /// The ways of reading a table that a plan has to choose from.
    pub fn paths(&self, request: &Request, paths: &[AccessPath], best: usize) {
        if !self.considers.get() {
            return;
        }
        for (at, path) in paths.iter().enumerate() {
            self.element();
            self.path(request, path, true);
            self.flag("chosen", at == best);
            if at != best {
                // One row at most is taken before any estimate.
                let by_rule = paths[best].point && !path.point && path.cost < paths[best].cost;
                let cause = if by_rule {
                    "heuristic_eqref_already_found"
                } else {
                    "cost"
                };
                self.text("cause", cause);
            }
            self.close(1);
        }
    }

    /// Of a table that is no stored one.
    pub fn only_path(&self, rows: f64, cost: f64) {
        if self.considers.get() {
            self.element();
            self.text("access_type", "scan");
            self.number("rows", rows);
            self.number("cost", cost);
            self.flag("chosen", true);
            self.close(1);
        }
    }

    /// An index that gives the order was looked for: how the table is read in the end, whether that gives the order, and whether
    /// it would be read otherwise if the order did not matter.
    pub fn ordered(&self, scan: &TableScan, given: bool, changed: bool) {
        self.element();
        self.object("reconsidering_access_paths_for_index_ordering");
        self.object("index_order_summary");
        self.text("table", &ticked(&scan.alias));
        self.flag("index_provides_order", given);
        let direction = match (given, scan.reverse) {
            (false, _) => "undefined",
            (true, false) => "asc",
            (true, true) => "desc",
        };
        self.text("order_direction", direction);
        let index = scan
            .input
            .def()
            .and_then(|def| def.index_by_number(scan.path.index));
        let used = index.filter(|_| !scan.path.is_full() || given);
        self.text("index", used.map_or("unknown", |index| &index.name));
        self.flag("plan_changed", changed);
        self.close(3);
    }

    /// The plan: what is tested at which table, and how each is read.
    pub fn attached(&self, filter: Option<&Expr>, source: &RowSource) {
        self.element();
        self.object("attaching_conditions_to_tables");
        if let Some(filter) = filter {
            self.text("original_condition", &self.expr(filter));
        }
        self.list("attached_conditions_summary");
        source.walk(&mut |_| {}, &mut |scan| {
            self.element();
            self.text("table", &ticked(&scan.alias));
            let tests = scan.tests();
            let conditions = tests.iter().chain(&scan.late_filter);
            let conditions: Vec<String> = conditions.map(|e| self.expr(e)).collect();
            match conditions.is_empty() {
                true => self.raw("attached", "null"),
                false => self.text("attached", &conditions.join(" and ")),
            }
            self.close(1);
        });
        self.close(3);
        self.element();
        self.list("refine_plan");
        let mut first = true;
        source.walk(&mut |_| {}, &mut |scan| {
            self.element();
            self.text("table", &ticked(&scan.alias));
            self.refined(scan, std::mem::take(&mut first));
            self.close(1);
        });
        self.close(2);
    }

    fn refined(&self, scan: &TableScan, first: bool) {
        let def = scan.input.def().map(|def| &**def);
        let (used, kind) = access_type(def, &scan.path, first);
        self.text("access_type", if kind == "ALL" { "table_scan" } else { kind });
        if let Some(index) = used {
            self.text("index", &index.name);
        }
        if scan.hash.is_some() {
            self.text("using_join_buffer", "hash join");
        }
    }
}

/// A name in quotes.
fn ticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// With six digits that count, as MySQL writes them: 200, 22.35, 2.25811.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    let exponent = number.abs().log10().floor() as i32;
    let decimals = (5 - exponent).clamp(0, 12) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> TraceSettings {
        TraceSettings {
            one_line: true,
            ..TraceSettings::default()
        }
    }

    #[test]
    fn numbers_have_six_digits_that_count() {
        let shown = [
            (200.0, "200"),
            (22.35, "22.35"),
            (2.258114, "2.25811"),
            (0.0, "0"),
            (1e7, "10000000"),
        ];
        for (number, text) in shown {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn what_is_beyond_the_room_is_counted() {
        let write = |room| {
            let tracer = Tracer::new(settings(), room);
            tracer.prepared(1, "select 'ä'");
            let Finished {
                text,
                missing,
                closing,
                ..
            } = tracer.finish();
            assert_eq!(closing, 2);
            (text, missing)
        };
        let (whole, missing) = write(u64::MAX);
        assert_eq!(missing, 0);
        assert_eq!(
            whole,
            "{\"steps\": [{\"join_preparation\": {\"select#\": 1,\"steps\": [{\"expanded_query\": \"/* select#1 */ select 'ä'\"}]}}]}"
        );
        for room in 0..=whole.len() {
            let (text, missing) = write(room as u64);
            assert!(whole.starts_with(&text) && text.len() <= room, "{room}: {text}");
            assert_eq!(text.len() as u64 + missing, whole.len() as u64);
        }
    }
}
