//! The plans of one statement, each for other values of its parameters.
//!
//! A plan is guarded by what was expected of the values that it was made for ([`crate::plan`]). For values outside of that the statement
//! is planned again, and both plans are kept: a value that most rows have and one that few have take turns without planning. Where four plans
//! were not enough, the values tell too little, and one more plan is made that goes by none: it serves whatever the others do not.

use super::Session;
use super::run::{Ran, ReadyPlan};
use crate::context::ResultSink;
use crate::error::Result;
use crate::types::Value;

/// Plans kept of a statement for different values.
const PLANS_OF_VALUES_MAX: usize = 4;

/// The plan that ran last, and the others.
#[derive(Default)]
pub(super) struct Kept {
    pub current: Option<ReadyPlan>,
    pub others: Vec<ReadyPlan>,
}

impl Kept {
    /// Whether the next plan is to serve any values.
    pub fn wants_typical(&self) -> bool {
        self.others.len() + 1 >= PLANS_OF_VALUES_MAX
    }

    /// Adds a plan.
    pub fn add(&mut self, plan: ReadyPlan) {
        match plan.plan.is_typical {
            // It would leave nothing to the others.
            true => self.others.push(plan),
            false => self.others.extend(self.current.replace(plan)),
        }
    }

    pub fn forget(&mut self) {
        *self = Kept::default();
    }
}

impl Session {
    /// Runs that plan of a statement that was made for values like these, which `current` was not. It becomes the current one. Nothing is
    /// done if there is none.
    #[cold]
    pub(super) fn run_other(
        &mut self,
        (current, others): (&mut ReadyPlan, &mut [ReadyPlan]),
        values: &[Value],
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<Ran> {
        for other in others {
            match self.run_ready(other, values, more, out)? {
                Ran::OtherValues => {}
                Ran::Done if !other.plan.is_typical => {
                    std::mem::swap(current, other);
                    return Ok(Ran::Done);
                }
                ran => return Ok(ran),
            }
        }
        Ok(Ran::OtherValues)
    }
}
