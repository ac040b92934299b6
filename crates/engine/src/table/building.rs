//! An index that is being built while others write to its table: what its writers, undo and purge have to know, and why at the
//! end no entry is missing and none too many. The builder, which reads the rows and fills the tree, is in `build::online`.
//!
//! ```text
//!   alone with the table          beside writers                                          alone again
//!   ────────────┬───────────────────────────────┬──────────────────────────────┬─────────────────────
//!   registered  │ Filling                       │ Filled                       │ in the definition,
//!   view S      │ scan in S, sort, add entries  │ deleted entries out, pairs   │ or else Abandoned
//! ```
//!
//! *Registered* is the index by a handle of its table that has it behind the indexes of the definition. No transaction uses the
//! table at that moment, so all its writers from then on work with this handle, and to them the index is one like the others:
//! they add and mark entries, roll back, leave purge tasks. No reader gets to it, since the definition does not have it. The
//! view S is opened at the same moment and sees every commit of before.
//!
//! **The builder adds the entry of each row that S sees, if the tree has none of its key, marked or not.** Nobody else adds an
//! entry that was there at the start; and until the tree is filled three rules hold:
//!
//! 1. Marking an entry that is not there adds it as marked (a *tombstone*).
//! 2. Nothing is removed: undo marks where it would remove, purge passes the index over.
//! 3. Undo brings an entry back that is not there, as it always does.
//!
//! So a key that any writer has touched since the start is in the tree and stays there, in the state that its last writer or its
//! undoing left it in; what each of them leaves does not depend on what the builder has added so far. A key that nobody has touched
//! belongs to its row now just as it did in S: a change that gives an entry to a row or takes it away, or gives it other stored columns,
//! touches its key. Touched keys are right, the builder adds the others and no more: when it is through, the tree has what
//! the same writers had left in an index of before. An undo that finds nothing to mark leaves no gap either: the entry is of the undone
//! version alone, so a row has it in S only if somebody took it away since, and that one has left a tombstone.
//!
//! *Filled*, the index obeys the ordinary rules: a missing entry is damage, entries are removed. What was marked before and passed
//! over is taken out by the builder: entries whose deleter has ended, since nobody reads here in an older view. Tasks of
//! deleters that end later find the index filled. Each access of a writer, of undo and of purge holds the `gate` shared, so that
//! none goes by a phase that is over.
//!
//! **Unique.** While the index is built it refuses nothing, as MySQL's does: a key that two rows have for a moment is no error of
//! theirs. Instead *suspects* are noted: own parts under which the tree has, or may have had, two entries. A writer looks for another entry
//! with the same own parts, marked or not, and adds its own, under the mutex that serialises such additions (`lock::unique`);
//! undo notes what it adds. Once the tree is filled, the builder looks for neighbours that share their own parts. Of two entries
//! that stand at the end, take the one that was put into the tree later, for the last time. Was it a writer or undo, it was noted; was it the builder,
//! both were in the tree when it looked for neighbours. So under the lock that ends the build only the suspects need be looked at, or, if there
//! are too many, all entries.
//!
//! *Abandoned* is a build that failed, was killed or found a duplicate. Writers may be at work, so the handle stays, and nobody touches the
//! tree again: it is freed as garbage. The next change of the definition makes a handle without it. After a crash recovery knows
//! only the committed definition, and frees the tree as it was in the garbage list all the time.

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::HashSet;

/// Suspects noted one by one, and bytes of them; if there are more, all entries are looked at.
const SUSPECTS_MAX: usize = 10_000;
const SUSPECT_BYTES_MAX: usize = 1 << 20;

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Entries of rows that nobody has changed since the start may be missing.
    Filling,
    /// It has all entries.
    Filled,
    /// It will never be used; its tree may be gone.
    Abandoned,
}

/// The state of a build, shared by the builder and the handles of the table. See the module's head.
pub(crate) struct Building {
    gate: RwLock<Phase>,
    suspects: Mutex<Suspects>,
}

/// Own parts of a unique index that two rows may share.
#[derive(Default)]
pub(crate) struct Suspects {
    keys: HashSet<Vec<u8>>,
    bytes: usize,
    /// There were too many.
    overflowed: bool,
}

impl Suspects {
    /// The keys, or `None` if any key may be one.
    pub fn keys(&self) -> Option<impl Iterator<Item = &[u8]>> {
        (!self.overflowed).then(|| self.keys.iter().map(Vec::as_slice))
    }

    fn add(&mut self, own: &[u8]) {
        if self.overflowed || self.keys.contains(own) {
            return;
        }
        self.bytes += own.len();
        if self.keys.len() == SUSPECTS_MAX || self.bytes > SUSPECT_BYTES_MAX {
            *self = Suspects {
                overflowed: true,
                ..Suspects::default()
            };
            return;
        }
        self.keys.insert(own.to_vec());
    }
}

impl Building {
    pub fn new() -> Building {
        Building {
            gate: RwLock::new(Phase::Filling),
            suspects: Mutex::default(),
        }
    }

    /// Begins an access to the tree, which ends when the guard is dropped; the phase does not change meanwhile. `None`: it is
    /// abandoned, and there is nothing to be done. Not to be held across a lock wait, and no two at once.
    pub fn enter(&self) -> Option<Access<'_>> {
        let phase = self.gate.read();
        (*phase != Phase::Abandoned).then_some(Access { phase })
    }

    /// Waits for the accesses under way; those that follow see the new phase.
    pub fn set(&self, phase: Phase) {
        *self.gate.write() = phase;
    }

    /// Notes own parts that two rows may share.
    pub fn suspect(&self, own: &[u8]) {
        self.suspects.lock().add(own);
    }

    /// What was noted so far.
    pub fn take_suspects(&self) -> Suspects {
        std::mem::take(&mut self.suspects.lock())
    }
}

/// An access to the tree of an index that is being built.
pub(crate) struct Access<'b> {
    phase: RwLockReadGuard<'b, Phase>,
}

impl Access<'_> {
    /// Entries may still be missing, and none may be removed.
    pub fn is_filling(&self) -> bool {
        *self.phase == Phase::Filling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_suspects_are_all_keys() {
        let mut suspects = Suspects::default();
        for n in 0..SUSPECTS_MAX as u32 {
            suspects.add(&n.to_be_bytes());
            suspects.add(&n.to_be_bytes());
        }
        assert_eq!(suspects.keys().unwrap().count(), SUSPECTS_MAX);
        suspects.add(b"one more");
        assert!(suspects.keys().is_none());
        suspects.add(b"another");
        assert!(suspects.keys().is_none() && suspects.keys.is_empty());
        let mut long = Suspects::default();
        long.add(&vec![7; SUSPECT_BYTES_MAX + 1]);
        assert!(long.keys().is_none());
    }

    #[test]
    fn nobody_enters_what_is_abandoned() {
        let building = Building::new();
        assert!(building.enter().unwrap().is_filling());
        building.set(Phase::Filled);
        assert!(!building.enter().unwrap().is_filling());
        building.set(Phase::Abandoned);
        assert!(building.enter().is_none());
    }
}
