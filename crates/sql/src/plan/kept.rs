//! The plans of one statement, each for other values of its parameters.
//!
//! A plan is guarded by what was expected of the values that it was made for ([`guards`](super::guards)). For values outside of that the
//! statement is planned again, and both plans are kept: a value that most rows have and one that few have take turns without planning. Where four plans
//! were not enough, the values tell too little, and one more plan is made that goes by none: it serves whatever the others do not.

use super::ready::ReadyPlan;

/// Plans kept of a statement for different values.
const PLANS_OF_VALUES_MAX: usize = 4;

/// The plan that ran last, and the others.
#[derive(Default)]
pub struct Kept {
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
