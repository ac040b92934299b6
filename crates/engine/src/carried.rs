//! What notes in the log carry of auto-increment counters, gathered by a start (`table/state.rs`).

use crate::ids::{Lsn, TableId};
use crate::txn::carried_counter;
use std::collections::HashMap;

/// Of each table, positions of notes with the counters that they carry: of those that follow one another, only what is higher than
/// all that follow. So the first at or behind a position has the highest of all from there on.
#[derive(Default)]
pub(crate) struct Carried(HashMap<TableId, Vec<(Lsn, u64)>>);

impl Carried {
    /// Takes the next note of the log.
    pub fn add(&mut self, lsn: Lsn, note: &[u8]) {
        let Some((table, counter)) = carried_counter(note) else {
            return;
        };
        let of_table = self.0.entry(table).or_default();
        while of_table.last().is_some_and(|&(_, before)| before <= counter) {
            of_table.pop();
        }
        of_table.push((lsn, counter));
    }

    /// All of it, by table.
    pub fn tables(&self) -> impl Iterator<Item = (TableId, &[(Lsn, u64)])> {
        self.0.iter().map(|(table, carried)| (*table, carried.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::Undo;

    #[test]
    fn the_first_behind_a_position_is_the_highest_from_there_on() {
        let mut carried = Carried::default();
        for (lsn, counter) in [(10, 3), (20, 9), (30, 4), (40, 6), (50, 5)] {
            let mut note = Vec::new();
            Undo::Insert {
                table: TableId(7),
                counter,
                key: b"key",
            }
            .encode(&mut note);
            carried.add(Lsn(lsn), &note);
        }
        carried.add(Lsn(60), b"\x01 a note that carries none");
        let tables: Vec<_> = carried.tables().collect();
        let expected = [(Lsn(20), 9), (Lsn(40), 6), (Lsn(50), 5)];
        assert_eq!(tables, [(TableId(7), &expected[..])]);
    }
}
