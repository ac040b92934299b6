//! What several meters have counted together: those that count now, each of which is its session's alone to add to, and those that are
//! gone.

use super::digests::Local;
use super::figures::Totals;
use std::sync::Arc;

/// The meters of a digest, or of a prepared statement.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    meters: Vec<Arc<Local>>,
    /// What those have counted that are gone.
    before: Totals,
}

impl Gathered {
    /// A meter begins to count.
    pub fn begin(&mut self, local: &Arc<Local>) {
        self.meters.push(Arc::clone(local));
    }

    /// A meter counts no more.
    pub fn end(&mut self, local: &Arc<Local>) {
        self.meters.retain(|other| !Arc::ptr_eq(other, local));
        self.before.add(&local.totals());
    }

    /// Those that count now.
    pub fn meters(&self) -> impl Iterator<Item = &Local> {
        self.meters.iter().map(|local| &**local)
    }

    /// What all have counted.
    pub fn totals(&self) -> Totals {
        let mut totals = self.before.clone();
        self.meters().for_each(|local| totals.add(&local.totals()));
        totals
    }
}
