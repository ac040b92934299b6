//! With snapshot isolation on, a row that has changed since the view must be neither locked nor changed
//! ([`Error::RecordChanged`]); and that includes one that was deleted since, whose grave is all there is of it.

use super::super::Table;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::transaction::Inner;

impl Table {
    /// With snapshot isolation on: that no row within these bounds, which are locked by now, was deleted since the view
    /// and has been put out of the way already.
    pub(in crate::table) fn check_none_buried(
        &self,
        core: &Core,
        t: &Inner,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<()> {
        const AT_A_TIME: usize = 64;
        let graveyard = &self.indexes[0].graveyard;
        let Some(view) = t.view_to_keep().filter(|view| graveyard.concerns(view)) else {
            return Ok(());
        };
        let mut lower = lower.to_vec();
        let mut found = graveyard.stretch();
        loop {
            found.clear();
            let all = graveyard.collect(&lower, upper, false, 0, AT_A_TIME, &mut found)?;
            if found.iter().any(|buried| !view.sees(buried.deleter, &core.txns)) {
                return Err(Error::RecordChanged);
            }
            match found.last_key() {
                Some(last) if !all => {
                    lower.clear();
                    lower.extend_from_slice(last);
                    lower.push(0);
                }
                _ => return Ok(()),
            }
        }
    }

    /// The same for one key.
    pub(in crate::table) fn check_not_buried(&self, core: &Core, t: &Inner, key: &[u8]) -> Result<()> {
        if t.view_to_keep().is_none() {
            return Ok(());
        }
        let mut end = key.to_vec();
        end.push(0);
        self.check_none_buried(core, t, key, Some(&end))
    }
}
