//! What sockets had carried when their summaries were begun anew: it is left out of what those show, while SHOW STATUS goes on.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Bytes received and sent.
pub type Bytes = [u64; 2];

/// What is left out.
#[derive(Debug, Default)]
pub struct TrafficBefore(Mutex<Before>);

#[derive(Debug, Default)]
struct Before {
    all: Bytes,
    sessions: BTreeMap<u64, Bytes>,
}

fn without(now: Bytes, before: Bytes) -> Bytes {
    [0, 1].map(|at| now[at].saturating_sub(before[at]))
}

impl TrafficBefore {
    /// The summaries begin anew: so much have all carried, and each open session by its number.
    pub fn begin_anew(&self, all: Bytes, sessions: impl Iterator<Item = (u64, Bytes)>) {
        let sessions = sessions.collect();
        *self.0.lock() = Before { all, sessions };
    }

    /// Of what all have carried, what is shown.
    pub fn shown(&self, all: Bytes) -> Bytes {
        without(all, self.0.lock().all)
    }

    /// Of what a session has carried, what is shown.
    pub fn shown_of(&self, session: u64, carried: Bytes) -> Bytes {
        let before = self.0.lock().sessions.get(&session).copied();
        without(carried, before.unwrap_or_default())
    }

    /// A session is over, or counts from 0 again.
    pub fn forget(&self, session: u64) {
        self.0.lock().sessions.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_is_left_out() {
        let before = TrafficBefore::default();
        assert_eq!(before.shown([5, 7]), [5, 7]);
        before.begin_anew([5, 7], [(1, [2, 3])].into_iter());
        assert_eq!(before.shown([6, 9]), [1, 2]);
        assert_eq!(
            (before.shown_of(1, [2, 5]), before.shown_of(2, [2, 5])),
            ([0, 2], [2, 5])
        );
        before.forget(1);
        assert_eq!(before.shown_of(1, [1, 1]), [1, 1]);
    }
}
