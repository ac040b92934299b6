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
//! run that lost there: as many comparisons as the tree has levels (Knuth, *The Art of Computer Programming* 3, 5.4.1). Which of two wins is
//! as good as random, so the tree holds the beginnings of keys, and where those differ a match is played without a branch.

use super::Room;
use super::codec::Reader;
use super::sorter::beginning;
use crate::error::Result;
use tidemark_engine::Spool;

/// A run at a match.
#[derive(Clone, Copy)]
struct Player {
    /// The beginning of its next record's key; of one that has ended the greatest there is.
    beginning: u64,
    run: usize,
}

struct Tournament {
    readers: Vec<Reader>,
    /// Which of the runs have ended.
    ended: Vec<bool>,
    /// By the number of the match; in front the winner of all.
    losers: Vec<Player>,
}

impl Tournament {
    fn new(spool: &Spool, parts: &[(u64, u64)]) -> Result<Tournament> {
        let nobody = Player {
            beginning: u64::MAX,
            run: 0,
        };
        let mut tournament = Tournament {
            readers: parts.iter().map(|(from, end)| Reader::new(*from, *end)).collect(),
            ended: vec![false; parts.len()],
            losers: vec![nobody; parts.len()],
        };
        if !parts.is_empty() {
            tournament.losers[0] = tournament.play(1, spool)?;
        }
        Ok(tournament)
    }

    /// The winner of a match and of all below it.
    fn play(&mut self, place: usize, spool: &Spool) -> Result<Player> {
        if let Some(run) = place.checked_sub(self.readers.len()) {
            return self.next_of(run, spool);
        }
        let (a, b) = (self.play(2 * place, spool)?, self.play(2 * place + 1, spool)?);
        let (winner, loser) = if self.is_before(a, b) { (a, b) } else { (b, a) };
        self.losers[place] = loser;
        Ok(winner)
    }

    /// A run with its next record.
    fn next_of(&mut self, run: usize, spool: &Spool) -> Result<Player> {
        let reader = &mut self.readers[run];
        let beginning = match reader.advance(spool)? {
            true => beginning(reader.key()),
            false => {
                self.ended[run] = true;
                u64::MAX
            }
        };
        Ok(Player { beginning, run })
    }

    /// Whether a run's record comes before that of another; of equal keys the earlier run's does.
    #[inline]
    fn is_before(&self, a: Player, b: Player) -> bool {
        match a.beginning == b.beginning {
            true => self.is_before_behind_beginning(a.run, b.run),
            false => a.beginning < b.beginning,
        }
    }

    fn is_before_behind_beginning(&self, a: usize, b: usize) -> bool {
        if self.ended[a] || self.ended[b] {
            return !self.ended[a];
        }
        let order = self.readers[a].key().cmp(self.readers[b].key());
        order.then(a.cmp(&b)).is_lt()
    }

    /// The record that comes next.
    fn first(&self) -> Option<&Reader> {
        let winner = self.losers.first()?.run;
        (!self.ended[winner]).then(|| &self.readers[winner])
    }

    /// Goes on to the record behind it.
    fn advance(&mut self, spool: &Spool) -> Result<()> {
        let run = self.losers[0].run;
        let mut winner = self.next_of(run, spool)?;
        let mut place = (run + self.readers.len()) / 2;
        while place > 0 {
            let other = self.losers[place];
            let wins = self.is_before(other, winner);
            self.losers[place] = if wins { winner } else { other };
            winner = if wins { other } else { winner };
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
    while let Some(reader) = runs.first() {
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
