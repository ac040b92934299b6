//! Windows of a query block: what stands behind OVER and in the WINDOW clause, bound, and arranged in passes.
//!
//! A window function's value is a slot of the row, from [`WINDOW`] on, which the select list and ORDER BY read like a column.
//! A pass works out the functions of all windows with one partitioning and order, over rows that it sorts, or that come in
//! that order already. Passes follow one another as MySQL has them: windows of the WINDOW clause before the others, those of
//! the same order side by side. The rows leave in the order of the last.

use super::group::{Aliases, BlockHooks};
use super::{Planner, WINDOW};
use crate::error::{Result, SqlError, er};
use crate::expr::{
    Binder, Expr, IntervalUnit, Node, OUTER, Scope, WindowFunc, WindowFunction, build, check_comparable,
    misplaced_window_function, range_end,
};
use crate::parse::ast::{self, FrameBound, FrameUnit, FunctionCall, NamedWindow, Over};
use crate::types::CmpKind;
use std::collections::HashMap;

/// How error texts name a window without a name.
const UNNAMED: &str = "<unnamed window>";
const PARTITION_CLAUSE: &str = "window partition by";
const ORDER_CLAUSE: &str = "window order by";

/// All window functions of a block, in the order in which they are worked out.
pub struct WindowPlan {
    /// The slots of a row that are read by it or behind it: columns of tables, and finished aggregates.
    pub keep: Vec<usize>,
    pub passes: Vec<WindowPass>,
}

/// The window functions of one partitioning and order.
pub struct WindowPass {
    pub partition: Vec<Expr>,
    /// True: descending.
    pub order: Vec<(Expr, bool)>,
    /// Rows arrive in the order of the partition and of `order`.
    pub ordered: bool,
    pub calls: Vec<WindowCall>,
}

/// A window function and its frame.
pub struct WindowCall {
    /// Its value's slot is [`WINDOW`] and this.
    pub number: usize,
    pub function: WindowFunction,
    pub frame: Frame,
}

/// Which rows of its partition a function sees from a row.
#[derive(Clone)]
pub struct Frame {
    /// The window's name, for errors.
    pub window: String,
    pub start: FrameEnd,
    pub end: FrameEnd,
    /// What [`FrameEnd::Value`] is compared with, and whether it descends.
    pub key: Option<(Expr, bool)>,
}

/// One end of a frame.
#[derive(Clone)]
pub enum FrameEnd {
    /// That of the partition.
    Unbounded,
    /// The row itself.
    Row,
    /// So many rows from it.
    Rows { preceding: bool, distance: Expr },
    /// Its first or last peer.
    Peer,
    /// The first or last row whose key is not beyond `bound`, which is the row's own key and the distance.
    Value {
        distance: Expr,
        bound: Expr,
        kind: CmpKind,
    },
}

/// A window with its names resolved.
pub(super) struct BoundWindow {
    name: Option<String>,
    partition: Vec<Expr>,
    order: Vec<(Expr, bool)>,
    frame: Frame,
}

impl BoundWindow {
    fn text(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let Frame { start, end, key, .. } = &mut self.frame;
        let bounds = [start, end].into_iter().filter_map(|end| match end {
            FrameEnd::Value { bound, .. } => Some(bound),
            _ => None,
        });
        let order = self.order.iter_mut().chain(key).map(|(e, _)| e);
        self.partition.iter_mut().chain(order).chain(bounds)
    }

    /// What rows are sorted by. Constants order nothing.
    fn sort(&self) -> Vec<(&Expr, bool)> {
        sort_of(&self.partition, &self.order)
    }
}

fn sort_of<'e>(partition: &'e [Expr], order: &'e [(Expr, bool)]) -> Vec<(&'e Expr, bool)> {
    let partition = partition.iter().map(|e| (e, false));
    let all = partition.chain(order.iter().map(|(e, descending)| (e, *descending)));
    all.filter(|(e, _)| !e.is_constant()).collect()
}

/// Whether rows in the order `have` are in the order `want` too.
fn gives(have: &[(&Expr, bool)], want: &[(&Expr, bool)]) -> bool {
    let same = |(a, b): (&(&Expr, bool), &(&Expr, bool))| a.1 == b.1 && a.0.same_as(b.0);
    want.len() <= have.len() && have.iter().zip(want).all(same)
}

/// The positions of the windows that are used, in the order of their passes: behind each one that sorts alike comes first, in place of that
/// which stood there.
fn side_by_side(windows: &[BoundWindow], is_used: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let mut order = Vec::new();
    for at in (0..windows.len()).filter(|at| is_used(*at)) {
        let sort = windows[at].sort();
        let next = numbers.len();
        order.push((at, *numbers.entry(sort).or_insert(next)));
    }
    let mut left = vec![0u32; numbers.len()];
    order.iter().for_each(|(_, sort)| left[*sort] += 1);
    for i in 0..order.len() {
        let sort = order[i].1;
        left[sort] -= 1;
        if left[sort] > 0 {
            let behind = &order[i + 1..];
            let alike = behind.iter().position(|(_, other)| *other == sort);
            order.swap(i + 1, i + 1 + alike.unwrap_or(0));
        }
    }
    order.into_iter().map(|(at, _)| at).collect()
}

/// The windows of a block while its clauses are bound.
#[derive(Default)]
pub(super) struct Windows {
    /// The WINDOW clause.
    clause: Vec<NamedWindow>,
    /// Its positions by names in lower case.
    names: HashMap<String, usize>,
    /// Windows that stand behind OVER. Their positions, like those of calls, are counted behind the clause.
    unnamed: Vec<ast::Window>,
    /// All of them, once they are bound.
    windows: Vec<BoundWindow>,
    /// Each with the position of its window; the slot is [`WINDOW`] and the position here.
    calls: Vec<(WindowFunction, usize)>,
}

/// The keys of a window as it is written, without those of the window that it goes on from.
struct OwnKeys {
    partition: Vec<Expr>,
    order: Vec<(Expr, bool)>,
}

/// The positions of the windows of which one has its partitioning and its order: itself, or those it goes on from.
#[derive(Clone, Copy)]
struct Sources {
    partition: usize,
    order: usize,
}

impl Windows {
    /// The windows of a block with this WINDOW clause.
    pub fn of_clause(clause: &[NamedWindow]) -> Windows {
        let mut names = HashMap::with_capacity(clause.len());
        for (at, window) in clause.iter().enumerate() {
            names.entry(window.name.to_lowercase()).or_insert(at);
        }
        Windows {
            clause: clause.to_vec(),
            names,
            ..Windows::default()
        }
    }

    /// Binds all windows, when all other clauses are: what is wrong in those is told first. Of all windows the keys come first, then
    /// what each goes on from, then the frames.
    pub fn bind(&mut self, hooks: &mut BlockHooks, (scope, binder): (&Scope, &Binder)) -> Result<()> {
        for (at, window) in self.clause.iter().enumerate() {
            let first = self.named(&window.name)?;
            if first != at {
                let first = &self.clause[first].name;
                return Err(SqlError::new(
                    er::WINDOW_DUPLICATE_NAME,
                    format!("Window '{first}' is defined twice."),
                ));
            }
        }
        let named = self.clause.iter().map(|w| (Some(w.name.as_str()), &w.window));
        let written: Vec<(Option<&str>, &ast::Window)> = named
            .chain(self.unnamed.iter().map(|window| (None, window)))
            .collect();
        let keys = written
            .iter()
            .map(|(name, window)| own_keys(window, name.unwrap_or(UNNAMED), hooks, (scope, binder)))
            .collect::<Result<Vec<_>>>()?;
        let mut known = vec![None; written.len()];
        for (at, window) in written.iter().enumerate() {
            self.find_sources(at, *window, &mut known)?;
        }
        let mut windows = Vec::with_capacity(written.len());
        for ((name, window), Sources { partition, order }) in
            written.into_iter().zip(known.into_iter().flatten())
        {
            let order = keys[order].order.clone();
            let frame = frame_of(window, name.unwrap_or(UNNAMED), &order, hooks, (scope, binder))?;
            windows.push(BoundWindow {
                name: name.map(str::to_string),
                partition: keys[partition].partition.clone(),
                order,
                frame,
            });
        }
        self.windows = windows;
        Ok(())
    }

    /// The functions, with the slots that they have.
    fn functions(&self) -> impl Iterator<Item = (usize, &WindowFunction)> {
        let calls = self.calls.iter().enumerate();
        calls.map(|(n, (function, _))| (WINDOW + n, function))
    }

    /// What the functions whose slots an expression reads are called with.
    pub fn inputs_of<'w>(&'w self, e: &Expr) -> Vec<&'w Expr> {
        let slots = e.columns();
        let read = self.functions().filter(|(slot, _)| slots.contains(slot));
        read.flat_map(|(_, function)| function.inputs()).collect()
    }

    /// What the windows in use are partitioned by, and ordered by; each clause with the window's name in texts.
    pub fn in_use(&self) -> impl Iterator<Item = (&str, Vec<&Expr>)> {
        let used = |n: &usize| self.calls.iter().any(|(_, window)| window == n);
        let windows = (0..self.windows.len()).filter(used).map(|n| &self.windows[n]);
        windows.flat_map(|window| {
            let order = window.order.iter().map(|(e, _)| e);
            let clauses = [window.partition.iter().collect(), order.collect()];
            clauses.into_iter().map(|clause| (window.text(), clause))
        })
    }

    /// Whether the block has window functions.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// All that is evaluated on the rows of groups, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let args = self.calls.iter_mut().flat_map(|(function, _)| &mut function.args);
        args.chain(self.windows.iter_mut().flat_map(BoundWindow::exprs_mut))
    }

    /// The window a call looks through, as its position.
    fn window_of(&mut self, over: &Over) -> Result<usize> {
        match over {
            Over::Name(name) => self.named(name),
            Over::Window(window) => {
                self.unnamed.push((**window).clone());
                Ok(self.clause.len() + self.unnamed.len() - 1)
            }
        }
    }

    fn named(&self, name: &str) -> Result<usize> {
        let found = self.names.get(&name.to_lowercase());
        found.copied().ok_or_else(|| no_such_window(name))
    }

    /// Finds of which windows one has its partitioning and its order, and of those that it goes on from, too, as far as they are not known
    /// yet: so each is looked at once.
    fn find_sources(
        &self,
        position: usize,
        (name, window): (Option<&str>, &ast::Window),
        known: &mut [Option<Sources>],
    ) -> Result<()> {
        let mut chain = vec![position];
        let (mut at, mut ordered) = (window, !window.order_by.is_empty());
        while let Some(base) = &at.base {
            let found = self.named(base)?;
            let next = &self.clause[found].window;
            if chain.len() > self.clause.len() {
                return Err(SqlError::new(
                    er::WINDOW_CIRCULARITY_IN_WINDOW_GRAPH,
                    "There is a circularity in the window dependency graph.",
                ));
            }
            if !at.partition_by.is_empty() {
                return Err(SqlError::new(
                    er::WINDOW_NO_CHILD_PARTITIONING,
                    "A window which depends on another cannot define partitioning.",
                ));
            }
            if next.frame.is_some() {
                return Err(SqlError::new(
                    er::WINDOW_NO_INHERIT_FRAME,
                    format!(
                        "Window '{base}' has a frame definition, so cannot be referenced by another window."
                    ),
                ));
            }
            // Of one that is known, whatever it goes on from is right.
            let source = known[found].map_or(found, |sources| sources.order);
            let is_ordered = !self.clause[source].window.order_by.is_empty();
            if ordered && is_ordered {
                let base = match source == found {
                    true => base,
                    false => &self.clause[source].name,
                };
                let name = name.unwrap_or(UNNAMED);
                return Err(SqlError::new(
                    er::WINDOW_NO_REDEFINE_ORDER_BY,
                    format!("Window '{name}' cannot inherit '{base}' since both contain an ORDER BY clause."),
                ));
            }
            ordered |= is_ordered;
            chain.push(found);
            if known[found].is_some() {
                break;
            }
            at = next;
        }
        let mut below = None;
        for at in chain.into_iter().rev() {
            let own = || Sources {
                partition: at,
                order: at,
            };
            let sources = known[at].get_or_insert_with(|| {
                let base: Sources = below.unwrap_or_else(own);
                let is_ordered = at < self.clause.len() && !self.clause[at].window.order_by.is_empty()
                    || at == position && !window.order_by.is_empty();
                Sources {
                    order: if is_ordered { at } else { base.order },
                    ..base
                }
            });
            below = Some(*sources);
        }
        Ok(())
    }

    /// The passes in which the functions are worked out.
    pub fn passes(self) -> Vec<WindowPass> {
        let mut calls = vec![Vec::new(); self.windows.len()];
        for (number, (function, window)) in self.calls.into_iter().enumerate() {
            calls[window].push((number, function));
        }
        let mut passes: Vec<WindowPass> = Vec::new();
        for at in side_by_side(&self.windows, |at| !calls[at].is_empty()) {
            let window = &self.windows[at];
            let calls = calls[at].drain(..).map(|(number, function)| WindowCall {
                number,
                function,
                frame: window.frame.clone(),
            });
            match passes.last_mut() {
                Some(last) if last.is_of(window) => last.calls.extend(calls),
                last => {
                    let before = last.map_or(Vec::new(), |last| last.sort());
                    let ordered = gives(&before, &window.sort());
                    passes.push(WindowPass {
                        partition: window.partition.clone(),
                        order: window.order.clone(),
                        ordered,
                        calls: calls.collect(),
                    });
                }
            }
        }
        passes
    }
}

impl WindowPass {
    /// What its rows are sorted by.
    pub fn sort(&self) -> Vec<(&Expr, bool)> {
        sort_of(&self.partition, &self.order)
    }

    /// Whether its rows are still to be sorted.
    pub fn sorts(&self) -> bool {
        !self.ordered && !self.sort().is_empty()
    }

    /// Whether rows that leave it are in an order.
    pub fn leaves_ordered(&self, order: &[(Expr, bool)]) -> bool {
        gives(&self.sort(), &sort_of(&[], order))
    }

    fn is_of(&self, window: &BoundWindow) -> bool {
        self.partition == window.partition && self.order == window.order
    }

    /// The same, to be changed, and all that is kept of it to be compared with.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let keys = self
            .partition
            .iter_mut()
            .chain(self.order.iter_mut().map(|(e, _)| e));
        keys.chain(self.calls.iter_mut().flat_map(WindowCall::exprs_mut))
    }

    /// All that it evaluates on a row.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.partition.iter().chain(self.order.iter().map(|(e, _)| e));
        keys.chain(self.calls.iter().flat_map(WindowCall::exprs))
    }
}

impl WindowCall {
    /// Whether its value for a row needs no other row than those before, in order.
    pub fn streams(&self) -> bool {
        match self.function.func {
            WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank => true,
            WindowFunc::Aggregate(_) => {
                matches!(
                    (&self.frame.start, &self.frame.end),
                    (FrameEnd::Unbounded, FrameEnd::Row)
                )
            }
            _ => false,
        }
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let Frame { start, end, key, .. } = &mut self.frame;
        let bounds = [start, end].into_iter().flat_map(|end| match end {
            FrameEnd::Value { distance, bound, .. } => vec![distance, bound],
            FrameEnd::Rows { distance, .. } => vec![distance],
            _ => Vec::new(),
        });
        let key = key.iter_mut().map(|(e, _)| e);
        self.function.exprs_mut().chain(bounds).chain(key)
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let ends = [&self.frame.start, &self.frame.end];
        let bounds = ends.into_iter().flat_map(|end| match end {
            FrameEnd::Value { distance, bound, .. } => vec![distance, bound],
            FrameEnd::Rows { distance, .. } => vec![distance],
            _ => Vec::new(),
        });
        let own = self.function.inputs().chain(&self.function.number);
        own.chain(bounds)
    }
}

/// Binds what a window is partitioned and ordered by where it is written.
fn own_keys(
    window: &ast::Window,
    text: &str,
    hooks: &mut BlockHooks,
    (scope, binder): (&Scope, &Binder),
) -> Result<OwnKeys> {
    let ordered_by = window.order_by.iter().map(|item| &item.expr);
    if window
        .partition_by
        .iter()
        .chain(ordered_by)
        .any(|e| super::query::ordinal(e).is_some())
    {
        return Err(SqlError::new(
            er::WINDOW_ILLEGAL_ORDER_BY,
            format!(
                "Window '{text}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, \
                 use expression."
            ),
        ));
    }
    let aliases = hooks.aliases;
    let mut key = |e: &ast::Expr, clause: &'static str| {
        // An alias is none by itself.
        hooks.aliases = match e {
            ast::Expr::Column(_) => Aliases::NONE,
            _ => aliases,
        };
        let bound = binder.in_clause(clause).bind(e, scope, hooks);
        hooks.aliases = aliases;
        bound.map_err(|error| match error.code {
            er::WINDOW_INVALID_WINDOW_FUNC_USE => nested(text),
            _ => error,
        })
    };
    let partition = window
        .partition_by
        .iter()
        .map(|e| key(e, PARTITION_CLAUSE))
        .collect::<Result<Vec<_>>>()?;
    let order = window
        .order_by
        .iter()
        .map(|item| Ok((key(&item.expr, ORDER_CLAUSE)?, item.descending)))
        .collect::<Result<Vec<_>>>()?;
    Ok(OwnKeys { partition, order })
}

/// Binds the frame of a window with this order.
fn frame_of(
    window: &ast::Window,
    text: &str,
    order: &[(Expr, bool)],
    hooks: &mut BlockHooks,
    (scope, binder): (&Scope, &Binder),
) -> Result<Frame> {
    // Rows are compared to find those that are equal to the current one.
    let asks_for_peers = window.frame.as_ref().is_none_or(|frame| {
        let all = matches!(frame.start, FrameBound::UnboundedPreceding)
            && matches!(frame.end, FrameBound::UnboundedFollowing);
        frame.unit == FrameUnit::Range && !all
    });
    if asks_for_peers {
        order
            .iter()
            .try_for_each(|(by, _)| check_comparable(&by.ty, ""))?;
    }
    match &window.frame {
        Some(frame) => FrameBinder {
            text,
            order,
            hooks,
            scope,
            binder,
        }
        .frame(frame),
        None => Ok(default_frame(text, !order.is_empty())),
    }
}

/// Without ORDER BY all rows are peers.
fn default_frame(window: &str, ordered: bool) -> Frame {
    Frame {
        window: window.to_string(),
        start: FrameEnd::Unbounded,
        end: if ordered {
            FrameEnd::Peer
        } else {
            FrameEnd::Unbounded
        },
        key: None,
    }
}

/// Binds the frame of one window.
struct FrameBinder<'f, 'h, 'p, 'a> {
    text: &'f str,
    order: &'f [(Expr, bool)],
    hooks: &'f mut BlockHooks<'h, 'p>,
    scope: &'f Scope<'f>,
    binder: &'f Binder<'a>,
}

impl FrameBinder<'_, '_, '_, '_> {
    fn frame(mut self, frame: &ast::Frame) -> Result<Frame> {
        self.check_ends(frame)?;
        if frame.unit == FrameUnit::Rows {
            return Ok(Frame {
                window: self.text.to_string(),
                start: self.row_end(&frame.start)?,
                end: self.row_end(&frame.end)?,
                key: None,
            });
        }
        let by_value = [&frame.start, &frame.end]
            .into_iter()
            .any(|end| matches!(end, FrameBound::Preceding(_) | FrameBound::Following(_)));
        let key = if by_value { Some(self.range_key()?) } else { None };
        Ok(Frame {
            window: self.text.to_string(),
            start: self.range_bound(&frame.start, key.as_ref())?,
            end: self.range_bound(&frame.end, key.as_ref())?,
            key,
        })
    }

    /// Errors 3584 to 3586: ends that no row can lie between.
    fn check_ends(&self, frame: &ast::Frame) -> Result<()> {
        use FrameBound::*;
        let text = self.text;
        match (&frame.start, &frame.end) {
            (UnboundedFollowing, _) => Err(SqlError::new(
                er::WINDOW_FRAME_START_ILLEGAL,
                format!("Window '{text}': frame start cannot be UNBOUNDED FOLLOWING."),
            )),
            (_, UnboundedPreceding) => Err(SqlError::new(
                er::WINDOW_FRAME_END_ILLEGAL,
                format!("Window '{text}': frame end cannot be UNBOUNDED PRECEDING."),
            )),
            (CurrentRow, Preceding(_)) | (Following(_), Preceding(_) | CurrentRow) => {
                Err(illegal_frame_end(text))
            }
            _ => Ok(()),
        }
    }

    fn row_end(&mut self, end: &FrameBound) -> Result<FrameEnd> {
        let (distance, preceding) = match end {
            FrameBound::CurrentRow => return Ok(FrameEnd::Row),
            FrameBound::Preceding(distance) => (distance, true),
            FrameBound::Following(distance) => (distance, false),
            _ => return Ok(FrameEnd::Unbounded),
        };
        if matches!(distance, ast::Expr::Interval { .. }) {
            return Err(SqlError::new(
                er::WINDOW_ROWS_INTERVAL_USE,
                format!(
                    "Window '{}': INTERVAL can only be used with RANGE frames.",
                    self.text
                ),
            ));
        }
        let mut distance = self.binder.bind(distance, self.scope, self.hooks)?;
        self.binder.ctx.settle_count(&mut distance);
        Ok(FrameEnd::Rows { preceding, distance })
    }

    /// The one expression by which a RANGE frame with distances is ordered.
    fn range_key(&self) -> Result<(Expr, bool)> {
        let fits = |e: &Expr| {
            let ty = &e.ty;
            let volatile = |e: &Expr| matches!(&e.node, Node::Call(f, _) if f.volatility == crate::expr::Volatility::Volatile);
            let mut stable = true;
            e.walk(&mut |e| stable &= !volatile(e));
            stable && !ty.is_member() && (ty.is_numeric() || ty.is_temporal())
        };
        match self.order {
            [(key, descending)] if fits(key) => Ok((key.clone(), *descending)),
            _ => Err(SqlError::new(
                er::WINDOW_RANGE_FRAME_ORDER_TYPE,
                format!(
                    "Window '{}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY \
                     expression, of numeric or temporal type",
                    self.text
                ),
            )),
        }
    }

    fn range_bound(&mut self, end: &FrameBound, key: Option<&(Expr, bool)>) -> Result<FrameEnd> {
        let (written, preceding) = match end {
            FrameBound::CurrentRow if self.order.is_empty() => return Ok(FrameEnd::Unbounded),
            FrameBound::CurrentRow => return Ok(FrameEnd::Peer),
            FrameBound::Preceding(distance) => (distance, true),
            FrameBound::Following(distance) => (distance, false),
            _ => return Ok(FrameEnd::Unbounded),
        };
        let Some((key, descending)) = key else {
            return Ok(FrameEnd::Unbounded);
        };
        let temporal = key.ty.is_temporal();
        let (written, unit) = match written {
            ast::Expr::Interval { .. } if !temporal => {
                return Err(SqlError::new(
                    er::WINDOW_RANGE_FRAME_NUMERIC_TYPE,
                    format!(
                        "Window '{}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
                         allowed.",
                        self.text
                    ),
                ));
            }
            ast::Expr::Interval { value, unit } => {
                let known = IntervalUnit::by_name(unit);
                let unit = known.ok_or_else(|| SqlError::not_supported(format!("interval unit {unit}")))?;
                (&**value, Some(unit))
            }
            _ if temporal => {
                return Err(SqlError::new(
                    er::WINDOW_RANGE_FRAME_TEMPORAL_TYPE,
                    format!(
                        "Window '{}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value \
                         allowed.",
                        self.text
                    ),
                ));
            }
            number => (number, None),
        };
        let distance = self.binder.bind(written, self.scope, self.hooks)?;
        let less = preceding != *descending;
        let (bound, kind) = range_end(key, (distance.clone(), unit), less, self.binder.ctx)?;
        Ok(FrameEnd::Value {
            distance,
            bound,
            kind,
        })
    }
}

impl BlockHooks<'_, '_> {
    /// Binds a call with OVER; its value is a new slot.
    pub(super) fn bind_window_call(
        &mut self,
        call: &FunctionCall,
        scope: &Scope,
        binder: &Binder,
    ) -> Result<Expr> {
        // Inside there is no other window function.
        let (Some(windows), Some(over)) = (self.windows.take(), &call.over) else {
            return Err(misplaced_window_function(&call.name));
        };
        let aliases = self.aliases;
        self.aliases = aliases.within();
        let bound = self.bind_over(call, over, windows, (scope, binder));
        self.aliases = aliases;
        let bound = bound.map(|(function, window)| {
            let slot = WINDOW + windows.calls.len();
            let column = build::column(slot, function.ty.clone());
            windows.calls.push((function, window));
            column
        });
        self.windows = Some(windows);
        bound
    }

    fn bind_over(
        &mut self,
        call: &FunctionCall,
        over: &Over,
        windows: &mut Windows,
        (scope, binder): (&Scope, &Binder),
    ) -> Result<(WindowFunction, usize)> {
        let window = windows.window_of(over)?;
        let function = match call.star {
            true => WindowFunction::count_rows(),
            false => {
                let args = binder.bind_all(&call.args, scope, self)?;
                WindowFunction::resolve(&call.name, args, call.distinct, binder.ctx)?
            }
        };
        Ok((function, window))
    }
}

impl Planner<'_> {
    /// What is kept of each row for the passes and what comes behind them. `finished`: how many finished aggregates a row
    /// has.
    pub(super) fn window_plan(
        &self,
        passes: Vec<WindowPass>,
        results: &[&Expr],
        finished: usize,
    ) -> Option<WindowPlan> {
        if passes.is_empty() {
            return None;
        }
        let mut keep = Vec::new();
        let exprs = passes.iter().flat_map(WindowPass::exprs);
        let exprs = exprs.chain(results.iter().copied());
        exprs.for_each(|e| self.slots_of(e, &mut keep));
        keep.extend((0..finished).map(|n| super::AGGREGATE + n));
        Some(WindowPlan { keep, passes })
    }
}

/// Whether an expression reads the value of a window function.
pub(super) fn has_window(e: &Expr) -> bool {
    e.columns().iter().any(|slot| (WINDOW..OUTER).contains(slot))
}

/// Whether an error of this clause is one of a window's keys.
pub(super) fn is_window_clause(clause: &str) -> bool {
    clause == PARTITION_CLAUSE || clause == ORDER_CLAUSE
}

fn no_such_window(name: &str) -> SqlError {
    SqlError::new(
        er::WINDOW_NO_SUCH_WINDOW,
        format!("Window name '{name}' is not defined."),
    )
}

fn nested(window: &str) -> SqlError {
    SqlError::new(
        er::WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC,
        format!("You cannot nest a window function in the specification of window '{window}'."),
    )
}

/// Error 3586.
pub fn illegal_frame_end(window: &str) -> SqlError {
    SqlError::new(
        er::WINDOW_FRAME_ILLEGAL,
        format!("Window '{window}': frame start or end is negative, NULL or of non-integral type"),
    )
}
