//! What one statement did, and sums of it.

use std::sync::atomic::{AtomicU64, Ordering};

/// What few statements do, and all but those leave at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rare {
    /// Sets of rows put together on the way that did not fit in memory.
    CreatedTmpDiskTables,
    /// Sets of rows put together on the way.
    CreatedTmpTables,
    /// Joins that read a whole table for each row.
    SelectFullJoin,
    /// Joins that read a range of a table that does not depend on the rows before.
    SelectFullRangeJoin,
    /// Ranges of a first table.
    SelectRange,
    /// Whole first tables.
    SelectScan,
    /// Times that sorted runs were merged.
    SortMergePasses,
    /// Sorts of what a range had.
    SortRange,
    /// Rows sorted.
    SortRows,
    /// Sorts of what whole tables had.
    SortScan,
    /// Statements that read a whole table.
    NoIndexUsed,
}

impl Rare {
    /// How many there are.
    pub const COUNT: usize = Rare::NoIndexUsed as usize + 1;
}

/// The rare figures of one statement. Those that it has not are not written either: for most statements that is all but one word.
#[derive(Clone, Debug, Default)]
pub struct RareFigures {
    /// A bit for each that it has.
    present: u16,
    figures: [u64; Rare::COUNT],
}

const _: () = assert!(Rare::COUNT <= u16::BITS as usize);

impl RareFigures {
    /// It has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.present = 0;
    }

    /// Notes the one that has this number.
    #[inline]
    pub fn put(&mut self, rare: usize, figure: u64) {
        self.present |= 1 << rare;
        self.figures[rare] = figure;
    }

    /// One of them; 0 if it has that not.
    pub fn of(&self, rare: Rare) -> u64 {
        match self.present & 1 << rare as u32 {
            0 => 0,
            _ => self.figures[rare as usize],
        }
    }

    /// Those that it has, with their numbers.
    fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        bits(self.present).map(|rare| (rare, self.figures[rare]))
    }

    /// Becomes the same as another.
    #[inline]
    fn copy(&mut self, other: &RareFigures) {
        self.present = other.present;
        if other.present != 0 {
            self.figures = other.figures;
        }
    }
}

/// The numbers of the bits that are set, the lowest first.
pub fn bits(mut of: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = of.trailing_zeros();
        of &= of.wrapping_sub(1);
        (bit < u16::BITS).then_some(bit as usize)
    })
}

/// What one statement did.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Figures {
    /// How long it took, in nanoseconds.
    pub nanos: u64,
    /// How long of that it waited for locks.
    pub lock_nanos: u64,
    /// 1 if it failed.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Rows changed.
    pub affected: u64,
    /// Rows sent to the client.
    pub sent: u64,
    /// Rows read.
    pub examined: u64,
    /// What few statements do. Last, as it is not looked at for most.
    pub rare: RareFigures,
}

impl Figures {
    /// One of the rare figures.
    pub fn rare(&self, rare: Rare) -> u64 {
        self.rare.of(rare)
    }

    /// Becomes the same as another.
    #[inline]
    pub fn copy(&mut self, other: &Figures) {
        self.nanos = other.nanos;
        self.lock_nanos = other.lock_nanos;
        self.errors = other.errors;
        self.warnings = other.warnings;
        self.affected = other.affected;
        self.sent = other.sent;
        self.examined = other.examined;
        self.rare.copy(&other.rare);
    }
}

/// Sums of figures, to which one thread adds and which everybody may read.
#[derive(Debug)]
pub struct Sums {
    count: AtomicU64,
    nanos: AtomicU64,
    least_nanos: AtomicU64,
    most_nanos: AtomicU64,
    lock_nanos: AtomicU64,
    errors: AtomicU64,
    warnings: AtomicU64,
    affected: AtomicU64,
    sent: AtomicU64,
    examined: AtomicU64,
    rare: [AtomicU64; Rare::COUNT],
}

impl Default for Sums {
    fn default() -> Sums {
        let zero = || AtomicU64::new(0);
        Sums {
            count: zero(),
            nanos: zero(),
            least_nanos: AtomicU64::new(u64::MAX),
            most_nanos: zero(),
            lock_nanos: zero(),
            errors: zero(),
            warnings: zero(),
            affected: zero(),
            sent: zero(),
            examined: zero(),
            rare: [const { AtomicU64::new(0) }; Rare::COUNT],
        }
    }
}

/// Adds to a number that this thread alone changes. Relaxed: it says nothing about other memory.
#[inline]
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// Most figures of most statements are 0, and a branch costs less than a line that must be written.
#[inline]
fn add_some(sum: &AtomicU64, more: u64) {
    if more > 0 {
        add(sum, more);
    }
}

impl Sums {
    /// Adds a statement. To be called by the owner's thread alone.
    pub fn add(&self, figures: &Figures) {
        let mut totals = Totals::default();
        totals.add_usual(&Usual {
            nanos: figures.nanos,
            sent: figures.sent,
            examined: figures.examined,
        });
        self.add_usual(&totals);
        self.add_unusual(figures);
    }

    /// Adds the number of statements, how long they took, and the rows that they read and sent. To be called by the owner's thread
    /// alone.
    pub fn add_usual(&self, totals: &Totals) {
        add(&self.count, totals.count);
        add(&self.nanos, totals.nanos);
        add(&self.sent, totals.sent);
        add(&self.examined, totals.examined);
        let least = self.least_nanos.load(Ordering::Relaxed).min(totals.least_nanos);
        self.least_nanos.store(least, Ordering::Relaxed);
        let most = self.most_nanos.load(Ordering::Relaxed).max(totals.most_nanos);
        self.most_nanos.store(most, Ordering::Relaxed);
    }

    /// Adds what else a statement has, which is little for most. To be called by the owner's thread alone.
    #[inline]
    pub fn add_unusual(&self, figures: &Figures) {
        let any = figures.affected | figures.lock_nanos | figures.errors | figures.warnings;
        if any > 0 || !figures.rare.is_empty() {
            self.add_some_unusual(figures);
        }
    }

    #[inline(never)]
    fn add_some_unusual(&self, figures: &Figures) {
        add_some(&self.affected, figures.affected);
        add_some(&self.lock_nanos, figures.lock_nanos);
        add_some(&self.errors, figures.errors);
        add_some(&self.warnings, figures.warnings);
        for (rare, more) in figures.rare.each() {
            add(&self.rare[rare], more);
        }
    }
}

/// What every statement has.
pub(super) struct Usual {
    pub nanos: u64,
    pub sent: u64,
    pub examined: u64,
}

/// Sums of figures as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Statements.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub nanos: u64,
    /// The shortest of them; the largest number if there was none.
    pub least_nanos: u64,
    /// The longest of them.
    pub most_nanos: u64,
    /// How long they waited for locks.
    pub lock_nanos: u64,
    /// Those that failed.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Rows changed.
    pub affected: u64,
    /// Rows sent.
    pub sent: u64,
    /// Rows read.
    pub examined: u64,
    /// By [`Rare`].
    pub rare: [u64; Rare::COUNT],
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            count: 0,
            nanos: 0,
            least_nanos: u64::MAX,
            most_nanos: 0,
            lock_nanos: 0,
            errors: 0,
            warnings: 0,
            affected: 0,
            sent: 0,
            examined: 0,
            rare: [0; Rare::COUNT],
        }
    }
}

impl Totals {
    /// What sums are now. Read while their thread adds, a statement may be there in part.
    pub fn of(sums: &Sums) -> Totals {
        let load = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        let mut rare = [0; Rare::COUNT];
        for (total, sum) in rare.iter_mut().zip(&sums.rare) {
            *total = load(sum);
        }
        Totals {
            count: load(&sums.count),
            nanos: load(&sums.nanos),
            least_nanos: load(&sums.least_nanos),
            most_nanos: load(&sums.most_nanos),
            lock_nanos: load(&sums.lock_nanos),
            errors: load(&sums.errors),
            warnings: load(&sums.warnings),
            affected: load(&sums.affected),
            sent: load(&sums.sent),
            examined: load(&sums.examined),
            rare,
        }
    }

    /// Counts a statement, as far as it is a usual one.
    #[inline]
    pub(super) fn add_usual(&mut self, usual: &Usual) {
        self.count += 1;
        self.nanos = self.nanos.wrapping_add(usual.nanos);
        self.least_nanos = self.least_nanos.min(usual.nanos);
        self.most_nanos = self.most_nanos.max(usual.nanos);
        self.sent += usual.sent;
        self.examined += usual.examined;
    }

    /// Adds others.
    pub fn add(&mut self, other: &Totals) {
        self.count += other.count;
        self.nanos = self.nanos.wrapping_add(other.nanos);
        self.least_nanos = self.least_nanos.min(other.least_nanos);
        self.most_nanos = self.most_nanos.max(other.most_nanos);
        self.lock_nanos += other.lock_nanos;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.affected += other.affected;
        self.sent += other.sent;
        self.examined += other.examined;
        for (sum, more) in self.rare.iter_mut().zip(other.rare) {
            *sum += more;
        }
    }

    /// Takes off what the same sums were before. The shortest and the longest stay, unless nothing is left.
    pub fn take_off(&mut self, before: &Totals) {
        self.count -= before.count;
        self.nanos = self.nanos.wrapping_sub(before.nanos);
        self.lock_nanos -= before.lock_nanos;
        self.errors -= before.errors;
        self.warnings -= before.warnings;
        self.affected -= before.affected;
        self.sent -= before.sent;
        self.examined -= before.examined;
        for (sum, less) in self.rare.iter_mut().zip(before.rare) {
            *sum -= less;
        }
        if self.count == 0 {
            (self.least_nanos, self.most_nanos) = (u64::MAX, 0);
        }
    }

    /// The shortest of them; 0 if there was none.
    pub fn least_nanos(&self) -> u64 {
        match self.count {
            0 => 0,
            _ => self.least_nanos,
        }
    }

    /// How long they took on average; 0 if there was none.
    pub fn average_nanos(&self) -> u64 {
        self.nanos.checked_div(self.count).unwrap_or(0)
    }

    /// One of the rare figures.
    pub fn rare(&self, rare: Rare) -> u64 {
        self.rare[rare as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_sums_are_those_of_all() {
        let (one, other) = (Sums::default(), Sums::default());
        for (sums, nanos) in [(&one, 30), (&one, 10), (&other, 20)] {
            let mut figures = Figures {
                nanos,
                sent: 1,
                ..Figures::default()
            };
            if nanos == 20 {
                figures.rare.put(Rare::SortRows as usize, 7);
            }
            sums.add(&figures);
        }
        let mut total = Totals::of(&one);
        total.add(&Totals::default());
        total.add(&Totals::of(&other));
        assert_eq!((total.count, total.nanos, total.sent), (3, 60, 3));
        assert_eq!(
            (total.least_nanos(), total.average_nanos(), total.most_nanos),
            (10, 20, 30)
        );
        assert_eq!(total.rare(Rare::SortRows), 7);
        assert_eq!(Totals::default().least_nanos(), 0);
    }

    #[test]
    fn rare_figures_are_those_that_were_put_since_they_were_cleared() {
        let mut one = RareFigures::default();
        one.put(Rare::SortRows as usize, 7);
        one.put(Rare::NoIndexUsed as usize, 1);
        let mut other = RareFigures::default();
        other.copy(&one);
        one.clear();
        assert!(one.is_empty() && one.of(Rare::SortRows) == 0 && one.each().count() == 0);
        one.put(Rare::SelectScan as usize, 2);
        assert_eq!(one.each().collect::<Vec<_>>(), [(Rare::SelectScan as usize, 2)]);
        let all = [(Rare::SortRows as usize, 7), (Rare::NoIndexUsed as usize, 1)];
        assert_eq!(other.each().collect::<Vec<_>>(), all);
        other.copy(&one);
        assert_eq!((other.of(Rare::SortRows), other.of(Rare::SelectScan)), (0, 2));
    }
}
