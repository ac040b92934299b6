//! Sorted runs read as one.
//!
//! ```text
//!                  0            the run whose record comes next
//!                  1            at each match: the run that lost it
//!               2     3
//!             4  5   6  7       the runs
//! ```
//!
//! When the winner's next record is there it has lost no match but those on its way to the root, and each is played against the one
//! run that lost there: as many comparisons as the tree has levels (Knuth, *The Art of Computer Programming* 3, 5.4.1).

use super::Room;
use super::codec::Reader;
use super::sorter::beginning;
use crate::error::Result;
use tidemark_engine::Spool;

/// A run's next record.
struct Head {
    reader: Reader,
    /// The beginning of its key.
    beginning: u64,
    /// There is none.
    ended: bool,
}

impl Head {
    fn advance(&mut self, spool: &Spool) -> Result<()> {
        self.ended = !self.reader.advance(spool)?;
        if !self.ended {
            self.beginning = beginning(self.reader.key());
        }
        Ok(())
    }
}

struct Tournament {
    heads: Vec<Head>,
    /// By the number of the match; in front the winner of all.
    losers: Vec<usize>,
}

impl Tournament {
    fn new(spool: &Spool, parts: &[(u64, u64)]) -> Result<Tournament> {
        let head = |(from, end): &(u64, u64)| {
            let mut head = Head {
                reader: Reader::new(*from, *end),
                beginning: 0,
                ended: false,
            };
            head.advance(spool)?;
            Ok(head)
        };
        let mut tournament = Tournament {
            heads: parts.iter().map(head).collect::<Result<_>>()?,
            losers: vec![0; parts.len()],
        };
        if !parts.is_empty() {
            tournament.losers[0] = tournament.play(1);
        }
        Ok(tournament)
    }

    /// The winner of a match and of all below it.
    fn play(&mut self, place: usize) -> usize {
        if place >= self.heads.len() {
            return place - self.heads.len();
        }
        let (a, b) = (self.play(2 * place), self.play(2 * place + 1));
        let (winner, loser) = if self.is_before(a, b) { (a, b) } else { (b, a) };
        self.losers[place] = loser;
        winner
    }

    /// Whether a run's record comes before that of another; of equal keys the earlier run's does.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.heads[a], &self.heads[b]);
        if one.ended || other.ended {
            return !one.ended;
        }
        let by_beginning = one.beginning.cmp(&other.beginning);
        let order = by_beginning.then_with(|| one.reader.key().cmp(other.reader.key()));
        order.then(a.cmp(&b)).is_lt()
    }

    /// The record that comes next.
    fn first(&self) -> Option<&Head> {
        let winner = *self.losers.first()?;
        Some(&self.heads[winner]).filter(|head| !head.ended)
    }

    /// Goes on to the record behind it.
    fn advance(&mut self, spool: &Spool) -> Result<()> {
        let mut winner = self.losers[0];
        self.heads[winner].advance(spool)?;
        let mut place = (winner + self.heads.len()) / 2;
        while place > 0 {
            if self.is_before(self.losers[place], winner) {
                std::mem::swap(&mut self.losers[place], &mut winner);
            }
            place /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

/// Hands out keys and rows of the records of some runs in order, until `f` wants no more.
pub(super) fn merge(
    room: Room,
    spool: &Spool,
    parts: &[(u64, u64)],
    distinct: bool,
    f: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    let mut runs = Tournament::new(spool, parts)?;
    let mut last: Option<Vec<u8>> = None;
    let mut records = 0;
    while let Some(Head { reader, .. }) = runs.first() {
        room.check_at(records)?;
        records += 1;
        let key = reader.key();
        if !(distinct && last.as_deref() == Some(key)) {
            if !f(key, reader.row())? {
                return Ok(());
            }
            if distinct {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
            }
        }
        runs.advance(spool)?;
    }
    Ok(())
}
