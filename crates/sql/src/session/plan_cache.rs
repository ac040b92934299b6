//! The plans that a session keeps, by the shape of their statements.
//!
//! A statement's *shape* is its text without the literals. A session that runs a statement again with other literals finds
//! the plan by the shape, and the literals become its parameters: nothing is parsed and nothing is planned. Of a shape whose literals
//! decide there may be several ([`Kept`]). Plans depend on
//! the current database and on what types depend on, so that the session forgets them all when one of these changes; that
//! definitions and privileges are still what they were is checked at each run ([`ReadyPlan`]).

use crate::parse::shape::Shape;
use crate::plan::kept::Kept;
use crate::plan::ready::ReadyPlan;
use crate::types::Value;
use std::collections::{HashMap, HashSet};

/// Plans kept by a session. A session that runs more different statements than that starts over.
const PLANS_MAX: usize = 400;
/// A statement that has taken more memory than this when it ends is planned again.
const PLAN_BYTES_MAX: u64 = 1 << 20;
/// Buffers of statements with more literals, or longer ones, are not kept for their memory.
const BUFFERS_KEPT_MAX: usize = 4096;

/// The plans, and the shape and literals of the statement at hand; their buffers are used again by the next one.
#[derive(Default)]
pub(super) struct PlanCache {
    pub shape: Shape,
    pub values: Vec<Value>,
    pub index: HashMap<Box<[u8]>, usize>,
    pub plans: Vec<Kept>,
    /// Shapes of statements whose meaning depends on their literals: these are planned each time.
    pub refused: HashSet<Box<[u8]>>,
}

impl PlanCache {
    pub fn clear(&mut self) {
        self.index.clear();
        self.plans.clear();
        self.refused.clear();
    }

    /// Whether the next plan of the statement at hand is to serve any values.
    pub fn wants_typical(&self) -> bool {
        let at = self.index.get(self.shape.key());
        at.is_some_and(|at| self.plans[*at].wants_typical())
    }

    /// Gives back what a large statement has made large.
    #[inline]
    pub fn give_back(&mut self) {
        if self.values.capacity() > BUFFERS_KEPT_MAX || self.shape.key().len() > 16 * BUFFERS_KEPT_MAX {
            self.values = Vec::new();
            self.shape = Shape::default();
        }
    }

    /// The statement at hand is to be planned each time.
    pub fn refuse(&mut self) {
        if self.refused.len() >= PLANS_MAX {
            self.refused.clear();
        }
        self.refused.insert(self.shape.key().into());
    }

    /// Keeps a plan, unless it is so large that a session with many of them would hold more than it may.
    pub fn add(&mut self, plan: ReadyPlan) {
        if tidemark_memory::statement_bytes() > PLAN_BYTES_MAX {
            return;
        }
        let has_room = tidemark_memory::hold(0).is_ok();
        if let Some(&at) = self.index.get(self.shape.key()).filter(|_| has_room) {
            self.plans[at].add(plan);
            return;
        }
        if self.plans.len() >= PLANS_MAX || !has_room {
            self.clear();
        }
        self.index.insert(self.shape.key().into(), self.plans.len());
        let mut kept = Kept::default();
        kept.add(plan);
        self.plans.push(kept);
    }
}
