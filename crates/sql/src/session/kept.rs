//! Running one of the plans that are kept of a statement for other values ([`Kept`](crate::plan::kept::Kept)).

use super::Session;
use super::run::Ran;
use crate::error::Result;
use crate::exec::Receiver;
use crate::plan::ready::ReadyPlan;
use crate::types::Value;

impl Session {
    /// Runs that plan of a statement that was made for values like these, which `current` was not. It becomes the current one. Nothing is
    /// done if there is none.
    #[cold]
    pub(super) fn run_other(
        &mut self,
        (current, others): (&mut ReadyPlan, &mut [ReadyPlan]),
        values: &[Value],
        out: &mut Receiver,
    ) -> Result<Ran> {
        for other in others {
            match self.run_ready(other, values, out)? {
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
