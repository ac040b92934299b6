//! A path over a document: which nodes it selects, and what it says of them.
//!
//! A set of nodes is a list, in which a node may stand several times, as MySQL has it: `count(//a//b)` counts a node once for each way to it. What a step finds has
//! its place among what it finds from the same node; that is what `[n]` and `position()` go by.

use super::document::{BETWEEN_LOOKS, Document, Kind};
use super::path::Path;
use super::plan::{Nodes, Plan, Slot};
use super::words::Axis;
use crate::env::{Env, EvalCtx, Watch};
use crate::eval::text;
use crate::node::Expr;
use std::ops::Range;
use tidemark_types::convert::double_prefix;
use tidemark_types::error::Result;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;
use tidemark_types::{Val, Value};

/// A node of a set.
#[derive(Clone, Copy, Debug)]
struct Found {
    node: usize,
    /// Its place in its context, from 0.
    place: usize,
    /// How many there are in the context, where that is known: in a predicate.
    size: usize,
}

/// A document that paths are asked of.
pub(crate) struct Evaluation<'d> {
    document: &'d Document<'d>,
    env: &'d Env<'d>,
    watch: Watch<'d>,
}

impl<'d> Evaluation<'d> {
    pub fn new(document: &'d Document<'d>, env: &'d Env<'d>) -> Evaluation<'d> {
        Evaluation {
            document,
            env,
            watch: Watch::new(env),
        }
    }

    /// What the path says, as a text; `None` is NULL.
    pub fn text(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        let row = self.row(&path.plan, None)?;
        let ctx = EvalCtx {
            row: &row,
            env: self.env,
        };
        Ok(text(&path.plan.expr, &ctx)?.map(|text| text.into_owned()))
    }

    /// Where the only node of a set stands in the text, its brackets included; `None` if there are none or several.
    pub fn place(&mut self, nodes: &Nodes) -> Result<Option<Range<usize>>> {
        let found = self.nodes(nodes, None)?;
        let [only] = found.as_slice() else {
            return Ok(None);
        };
        let node = &self.document.nodes[only.node];
        Ok(Some(match (only.node, node.kind) {
            (0, _) => 0..node.end,
            (_, Kind::Element) => node.span.start - 1..node.end,
            _ => node.span.start..node.end,
        }))
    }

    fn row(&mut self, plan: &Plan, context: Option<Found>) -> Result<Vec<Value>> {
        let mut row: Vec<Value> = Vec::with_capacity(plan.slots.len());
        for slot in &plan.slots {
            let value = match slot {
                Slot::Text(nodes) => Value::string(self.texts(nodes, context)?),
                Slot::Count(nodes) => {
                    let found = self.nodes(nodes, context)?;
                    Value::Int(match found.as_slice() {
                        [only] if only.size > 0 => only.size,
                        all => all.len(),
                    } as i64)
                }
                Slot::Sum(nodes) => Value::Double(self.sum(nodes, context)?),
                Slot::IsOne(nodes) => Value::bool(self.nodes(nodes, context)?.len() == 1),
                Slot::Position => Value::Int(context.map_or(0, |found| found.place as i64 + 1)),
                Slot::Each => Value::Null,
                Slot::Any(nodes, test) => Value::bool(self.any(nodes, context, test, &mut row)?),
            };
            row.push(value);
        }
        Ok(row)
    }

    /// Whether the test holds for one of the texts, which it finds at the end of the row.
    fn any(
        &mut self,
        nodes: &Nodes,
        context: Option<Found>,
        test: &Expr,
        row: &mut Vec<Value>,
    ) -> Result<bool> {
        for found in self.nodes(nodes, context)? {
            for child in self.document.children(found.node) {
                self.watch.step(1)?;
                if self.document.nodes[child].kind != Kind::Text {
                    continue;
                }
                row.pop();
                row.push(Value::string(self.document.written(child)));
                let ctx = EvalCtx { row, env: self.env };
                if test.eval(&ctx)?.truth(self.env)? == Some(true) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The texts right below the nodes, each once, in the order of the document.
    fn texts(&mut self, nodes: &Nodes, context: Option<Found>) -> Result<Vec<u8>> {
        let mut chosen: Vec<usize> = Vec::new();
        for found in self.nodes(nodes, context)? {
            self.watch.step(1)?;
            chosen.push(found.node);
        }
        chosen.sort_unstable();
        chosen.dedup();
        let mut places = Vec::new();
        for node in chosen {
            for child in self.document.children(node) {
                self.watch.step(1)?;
                if self.document.nodes[child].kind == Kind::Text {
                    places.push(child);
                }
            }
        }
        places.sort_unstable();
        let mut out = Vec::new();
        for place in places {
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(self.document.written(place));
        }
        check_memory()?;
        Ok(out)
    }

    fn sum(&mut self, nodes: &Nodes, context: Option<Found>) -> Result<f64> {
        let mut sum = 0.0;
        for found in self.nodes(nodes, context)? {
            for child in self.document.children(found.node) {
                self.watch.step(1)?;
                if self.document.nodes[child].kind == Kind::Text {
                    sum += double_prefix(self.document.written(child)).0;
                }
            }
        }
        Ok(sum)
    }

    fn nodes(&mut self, nodes: &Nodes, context: Option<Found>) -> Result<Vec<Found>> {
        check_stack()?;
        let first = Found {
            node: 0,
            place: 0,
            size: 0,
        };
        match nodes {
            Nodes::Root => Ok(vec![first]),
            Nodes::Context => Ok(vec![context.unwrap_or(first)]),
            Nodes::Step(from, axis, name) => {
                let from = self.nodes(from, context)?;
                self.step(&from, *axis, name.as_deref())
            }
            Nodes::Where(from, plan) => {
                let mut out = Vec::new();
                for found in self.in_context(from, context)? {
                    if self.judge(plan, found)?.truth(self.env)? == Some(true) {
                        let place = out.len();
                        self.add(&mut out, found.node, place)?;
                    }
                }
                Ok(out)
            }
            Nodes::Nth(from, plan) => {
                let mut out = Vec::new();
                for found in self.in_context(from, context)? {
                    let number = match self.judge(plan, found)? {
                        Val::Null => 0,
                        value => value.to_i64(self.env)?,
                    };
                    if number >= 1 && found.place as i64 == number - 1 {
                        let place = out.len();
                        self.add(&mut out, found.node, place)?;
                    }
                }
                Ok(out)
            }
            Nodes::Union(a, b) => {
                let mut all = self.nodes(a, context)?;
                all.extend(self.nodes(b, context)?);
                all.sort_unstable_by_key(|found| found.node);
                all.dedup_by_key(|found| found.node);
                let mut out = Vec::with_capacity(all.len());
                for found in all {
                    let place = out.len();
                    self.add(&mut out, found.node, place)?;
                }
                Ok(out)
            }
        }
    }

    /// The nodes that a predicate judges, each with how many there are.
    fn in_context(&mut self, from: &Nodes, context: Option<Found>) -> Result<Vec<Found>> {
        let mut all = self.nodes(from, context)?;
        let size = all.len();
        all.iter_mut().for_each(|found| found.size = size);
        Ok(all)
    }

    fn judge(&mut self, plan: &Plan, found: Found) -> Result<Value> {
        self.watch.step(1)?;
        let row = self.row(plan, Some(found))?;
        let ctx = EvalCtx {
            row: &row,
            env: self.env,
        };
        Ok(plan.expr.eval(&ctx)?.into_owned())
    }

    fn step(&mut self, from: &[Found], axis: Axis, name: Option<&[u8]>) -> Result<Vec<Found>> {
        let document = self.document;
        let is_such = |node: usize| name.is_none_or(|name| document.written(node) == name);
        if matches!(axis, Axis::Parent | Axis::Ancestor | Axis::AncestorOrSelf) {
            return self.upwards(from, axis, is_such);
        }
        let mut out = Vec::new();
        for Found { node, .. } in from.iter().copied() {
            let mut place = 0;
            let kind = match axis {
                Axis::Attribute => Kind::Attribute,
                _ => Kind::Element,
            };
            if matches!(axis, Axis::Itself | Axis::DescendantOrSelf) && is_such(node) {
                self.add(&mut out, node, place)?;
                place += 1;
            }
            let mut inside = match axis {
                Axis::Itself => node + 1..node + 1,
                _ => node + 1..document.nodes[node].after,
            };
            while let Some(next) = inside.next() {
                self.watch.step(1)?;
                if document.nodes[next].kind == kind && is_such(next) {
                    self.add(&mut out, next, place)?;
                    place += 1;
                }
                if matches!(axis, Axis::Child | Axis::Attribute) {
                    inside.start = document.nodes[next].after;
                }
            }
        }
        Ok(out)
    }

    /// The axes that lead to the root, which is no ancestor of anything itself: each node once, and the nearest has the least place.
    fn upwards(&mut self, from: &[Found], axis: Axis, is_such: impl Fn(usize) -> bool) -> Result<Vec<Found>> {
        let mut chosen = Vec::new();
        for found in from {
            self.watch.step(1)?;
            if axis == Axis::AncestorOrSelf && is_such(found.node) {
                chosen.push(found.node);
            }
            let mut above = self.document.nodes[found.node].parent;
            match axis {
                Axis::Parent if found.node != 0 && is_such(above) => chosen.push(above),
                Axis::Parent => {}
                _ => {
                    while above != 0 {
                        if is_such(above) {
                            chosen.push(above);
                        }
                        above = self.document.nodes[above].parent;
                    }
                }
            }
        }
        let ways = chosen.len();
        chosen.sort_unstable();
        chosen.dedup();
        let mut out = Vec::with_capacity(chosen.len());
        for (at, node) in chosen.into_iter().enumerate() {
            let place = match axis {
                Axis::Parent => at,
                _ => ways - 1 - at,
            };
            self.add(&mut out, node, place)?;
        }
        Ok(out)
    }

    fn add(&mut self, out: &mut Vec<Found>, node: usize, place: usize) -> Result<()> {
        out.push(Found { node, place, size: 0 });
        if out.len().is_multiple_of(BETWEEN_LOOKS) {
            check_memory()?;
        }
        self.watch.step(1)
    }
}
