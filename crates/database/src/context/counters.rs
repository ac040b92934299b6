//! What the SQL floor counts, for SHOW STATUS.
//!
//! Nearly all of it belongs to a session ([`SessionCounters`]). Only the thread that serves the session adds, with a plain load
//! and store instead of a locked instruction, and on cache lines that no other session adds to. SHOW SESSION STATUS shows
//! the counters of one session; SHOW GLOBAL STATUS sums those of all, and what was counted by sessions that are over or that
//! began anew ([`Totals`]). A session's counts move there under the lock of the list of sessions, under which they are summed
//! too, so a sum has each count once.

use super::command;
use super::latency::{self, Durations};
use super::state::clock_micros;
use crate::statements::Rare;
use crate::statements::figures::{RareFigures, bits};
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use tidemark_engine::{COUNTED, prefetch};

/// Counters that belong to no session.
#[derive(Default)]
pub struct Counters {
    pub connections: AtomicU64,
    pub max_used_connections: AtomicU64,
    /// When there were most, in microseconds since 1970 UTC.
    pub max_used_connections_at: AtomicU64,
    pub aborted_clients: AtomicU64,
    pub aborted_connects: AtomicU64,
    /// Connections that were refused because there were too many.
    pub too_many_connections: AtomicU64,
    /// Connections that the operating system could not hand over.
    pub failed_accepts: AtomicU64,
    /// Connections that got no thread.
    pub failed_threads: AtomicU64,
    /// Threads of connections that took longer than `slow_launch_time` to begin.
    pub slow_launches: AtomicU64,
    /// Logins of accounts that are locked.
    pub locked_connects: AtomicU64,
    /// Bytes of the longest list of attributes that a client has sent.
    pub longest_attributes: AtomicU64,
    /// Lists of attributes that were not kept whole.
    pub cut_attributes: AtomicU64,
    /// Connections that asked for TLS.
    pub ssl_accepts: AtomicU64,
    /// Those of them that got it.
    pub ssl_finished_accepts: AtomicU64,
    /// Times that `information_schema.PROCESSLIST` or SHOW PROCESSLIST was read.
    pub processlists: AtomicU64,
    /// When for the last time, in microseconds since 1970 UTC.
    pub processlist_at: AtomicU64,
    /// Statements that are prepared now, in all sessions.
    pub prepared: AtomicU64,
    /// Times that tables were flushed.
    pub flushes: AtomicU64,
    /// When FLUSH STATUS was executed last, in seconds after the start.
    pub status_flushed_at_s: AtomicU64,
}

/// Declares [`Counter`] with the names that SHOW STATUS has for them.
macro_rules! session_counters {
    ($($(#[$doc:meta])* $counter:ident = $name:literal,)+) => {
        /// A counter of a session, other than those of the kinds of statements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter {
            $($(#[$doc])* $counter,)+
        }

        impl Counter {
            /// All of them, in the order of their values.
            pub const ALL: &[Counter] = &[$(Counter::$counter,)+];

            /// As SHOW STATUS names it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Counter::$counter => $name,)+
                }
            }
        }
    };
}

session_counters! {
    /// Bytes from the client, packet headers included.
    BytesReceived = "Bytes_received",
    /// Bytes to the client, packet headers included.
    BytesSent = "Bytes_sent",
    /// Sets of rows that a statement has put together and that did not fit in its memory.
    CreatedTmpDiskTables = "Created_tmp_disk_tables",
    /// Temporary files of sorts and other intermediate results.
    CreatedTmpFiles = "Created_tmp_files",
    /// Sets of rows that a statement has put together on its way: derived tables, groups, unions.
    CreatedTmpTables = "Created_tmp_tables",
    /// Transactions of the engine that were committed, those of single statements included.
    HandlerCommit = "Handler_commit",
    /// Rows deleted.
    HandlerDelete = "Handler_delete",
    /// Tables that statements began and ended with.
    HandlerExternalLock = "Handler_external_lock",
    /// Scans from an index's beginning.
    HandlerReadFirst = "Handler_read_first",
    /// Descents to a key.
    HandlerReadKey = "Handler_read_key",
    /// Scans from an index's end.
    HandlerReadLast = "Handler_read_last",
    /// Steps forward in the order of an index.
    HandlerReadNext = "Handler_read_next",
    /// Steps backward in the order of an index.
    HandlerReadPrev = "Handler_read_prev",
    /// Rows that were read again by their place.
    HandlerReadRnd = "Handler_read_rnd",
    /// Steps in scans of whole tables.
    HandlerReadRndNext = "Handler_read_rnd_next",
    /// Transactions of the engine that were rolled back.
    HandlerRollback = "Handler_rollback",
    /// Savepoints set.
    HandlerSavepoint = "Handler_savepoint",
    /// Rollbacks to a savepoint.
    HandlerSavepointRollback = "Handler_savepoint_rollback",
    /// Rows updated.
    HandlerUpdate = "Handler_update",
    /// Rows inserted.
    HandlerWrite = "Handler_write",
    /// Queries that `max_execution_time` has ended.
    MaxExecutionTimeExceeded = "Max_execution_time_exceeded",
    /// Queries that ran under a `max_execution_time`.
    MaxExecutionTimeSet = "Max_execution_time_set",
    /// Statements that the client sent.
    Questions = "Questions",
    /// Joins that read a whole table for each row.
    SelectFullJoin = "Select_full_join",
    /// Joins that read a range of a table that does not depend on the rows before.
    SelectFullRangeJoin = "Select_full_range_join",
    /// Queries that read a range of their first table.
    SelectRange = "Select_range",
    /// Queries that read the whole of their first table.
    SelectScan = "Select_scan",
    /// Statements that took longer than `long_query_time`.
    SlowQueries = "Slow_queries",
    /// Times that sorted runs were merged.
    SortMergePasses = "Sort_merge_passes",
    /// Sorts of what a range had.
    SortRange = "Sort_range",
    /// Rows sorted.
    SortRows = "Sort_rows",
    /// Sorts of what whole tables had.
    SortScan = "Sort_scan",
}

impl Counters {
    /// So many connections are open now.
    pub fn note_connections(&self, now: u64) {
        if self.max_used_connections.fetch_max(now, Ordering::Relaxed) < now {
            self.max_used_connections_at
                .store(clock_micros() as u64, Ordering::Relaxed);
        }
    }

    /// FLUSH STATUS, so long after the start: the most connections at once are counted anew from the `now` open ones on.
    pub fn begin_status(&self, now: u64, uptime_s: u64) {
        self.max_used_connections.store(now, Ordering::Relaxed);
        self.max_used_connections_at
            .store(clock_micros() as u64, Ordering::Relaxed);
        self.status_flushed_at_s.store(uptime_s, Ordering::Relaxed);
    }
}

const COUNTERS: usize = Counter::ALL.len();

/// The counters that are figures of single statements too, as [`Rare`] orders them.
const OF_STATEMENTS: [Counter; Rare::COUNT - 1] = [
    Counter::CreatedTmpDiskTables,
    Counter::CreatedTmpTables,
    Counter::SelectFullJoin,
    Counter::SelectFullRangeJoin,
    Counter::SelectRange,
    Counter::SelectScan,
    Counter::SortMergePasses,
    Counter::SortRange,
    Counter::SortRows,
    Counter::SortScan,
];

/// The counters that statements add to most, which have a cache line together.
const OFTEN: [Counter; 8] = [
    Counter::BytesReceived,
    Counter::BytesSent,
    Counter::HandlerCommit,
    Counter::HandlerExternalLock,
    Counter::HandlerReadKey,
    Counter::HandlerReadNext,
    Counter::HandlerUpdate,
    Counter::Questions,
];

/// By counter, where a session has it: those of [`OFTEN`] first, the others in their order.
const PLACES: [u8; COUNTERS] = {
    const NONE: u8 = u8::MAX;
    let mut places = [NONE; COUNTERS];
    let mut next = 0;
    while next < OFTEN.len() {
        places[OFTEN[next] as usize] = next as u8;
        next += 1;
    }
    let mut counter = 0;
    while counter < COUNTERS {
        if places[counter] == NONE {
            places[counter] = next as u8;
            next += 1;
        }
        counter += 1;
    }
    places
};

/// By counter, the number of the rare figure that it is, or [`NOT_RARE`].
const RARE: [u8; COUNTERS] = {
    let mut numbers = [NOT_RARE; COUNTERS];
    let mut rare = 0;
    while rare < OF_STATEMENTS.len() {
        numbers[OF_STATEMENTS[rare] as usize] = rare as u8;
        rare += 1;
    }
    numbers
};
const NOT_RARE: u8 = u8::MAX;
/// Among the rare figures that a statement has touched.
const NO_INDEX_USED: u16 = 1 << Rare::NoIndexUsed as u16;

/// The counters of a session. One thread at a time adds; everybody may read.
#[repr(C, align(64))]
pub struct SessionCounters {
    /// By [`PLACES`].
    counts: [AtomicU64; COUNTERS],
    /// A bit for each rare figure that the statement at hand has.
    touched: AtomicU16,
    /// Those figures; the others mean nothing.
    rare: [AtomicU64; OF_STATEMENTS.len()],
    /// Statements by kind, see [`command`].
    commands: [AtomicU64; command::COUNT],
    statements: Latencies,
    commits: Latencies,
}

/// Durations as one session counts them.
struct Latencies {
    counts: [AtomicU64; latency::BUCKETS],
    nanos: AtomicU64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            counts: [const { AtomicU64::new(0) }; latency::BUCKETS],
            nanos: AtomicU64::new(0),
        }
    }
}

impl Latencies {
    #[inline]
    fn add(&self, nanos: u64) {
        if !COUNTED {
            return;
        }
        add(&self.counts[latency::bucket(nanos)], 1);
        add(&self.nanos, nanos);
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        self.counts.iter().chain([&self.nanos])
    }
}

impl Default for SessionCounters {
    fn default() -> SessionCounters {
        SessionCounters {
            counts: [const { AtomicU64::new(0) }; COUNTERS],
            touched: AtomicU16::new(0),
            rare: [const { AtomicU64::new(0) }; OF_STATEMENTS.len()],
            commands: [const { AtomicU64::new(0) }; command::COUNT],
            statements: Latencies::default(),
            commits: Latencies::default(),
        }
    }
}

/// Adds to a counter that this thread alone changes. Relaxed: a count says nothing about other memory, and a session that goes
/// from one thread to another is handed over under a lock.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    if COUNTED {
        let sum = counter.load(Ordering::Relaxed).wrapping_add(more);
        counter.store(sum, Ordering::Relaxed);
    }
}

impl SessionCounters {
    /// A command begins that is to be counted.
    #[inline]
    pub fn approach(&self) {
        prefetch(&self.counts[0]);
    }

    /// To be called by the session's thread alone.
    #[inline]
    pub fn add(&self, counter: Counter, more: u64) {
        add(&self.counts[PLACES[counter as usize] as usize], more);
        // A constant where the counter is one, so that others pay nothing.
        let rare = RARE[counter as usize];
        if COUNTED && rare != NOT_RARE {
            self.add_rare(rare as usize, more);
        }
    }

    fn add_rare(&self, rare: usize, more: u64) {
        let touched = self.touched.load(Ordering::Relaxed);
        let sum = match touched & 1 << rare {
            0 => 0,
            _ => self.rare[rare].load(Ordering::Relaxed),
        };
        self.rare[rare].store(sum + more, Ordering::Relaxed);
        self.touched.store(touched | 1 << rare, Ordering::Relaxed);
    }

    /// The statement at hand has read a table as a whole, not by an index.
    pub fn add_no_index_used(&self) {
        if COUNTED {
            let touched = self.touched.load(Ordering::Relaxed);
            self.touched.store(touched | NO_INDEX_USED, Ordering::Relaxed);
        }
    }

    /// Whether [`SessionCounters::add_no_index_used`] was called for the statement at hand.
    #[inline]
    pub fn has_used_no_index(&self) -> bool {
        self.touched.load(Ordering::Relaxed) & NO_INDEX_USED != 0
    }

    /// Something that is a figure of statements was counted since [`SessionCounters::of_statement`] was asked last.
    #[inline]
    pub fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed) != 0
    }

    /// Puts down the rare figures that were counted since this was asked last. To be called by the session's thread alone.
    pub fn of_statement(&self, figures: &mut RareFigures) {
        let touched = self.touched.load(Ordering::Relaxed);
        self.touched.store(0, Ordering::Relaxed);
        for rare in bits(touched & !NO_INDEX_USED) {
            figures.put(rare, self.rare[rare].load(Ordering::Relaxed));
        }
        if touched & NO_INDEX_USED != 0 {
            figures.put(Rare::NoIndexUsed as usize, 1);
        }
    }

    /// Counts a statement of a [kind](command). To be called by the session's thread alone.
    #[inline]
    pub fn add_command(&self, command: usize) {
        add(&self.commands[command], 1);
    }

    /// Counts how long a command that runs statements took, in nanoseconds. To be called by the session's thread alone.
    #[inline]
    pub fn add_statement(&self, nanos: u64) {
        self.statements.add(nanos);
    }

    /// Counts how long the commit of a transaction that has written took, in nanoseconds. To be called by the session's thread
    /// alone.
    #[inline]
    pub fn add_commit(&self, nanos: u64) {
        self.commits.add(nanos);
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        let counts = self.counts.iter().chain(&self.commands);
        counts.chain(self.statements.all()).chain(self.commits.all())
    }
}

/// Sums of the counters of sessions.
#[derive(Clone)]
pub struct Totals {
    /// By [`PLACES`].
    counts: [u64; COUNTERS],
    commands: [u64; command::COUNT],
    statements: Durations,
    commits: Durations,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            counts: [0; COUNTERS],
            commands: [0; command::COUNT],
            statements: Durations::default(),
            commits: Durations::default(),
        }
    }
}

impl Totals {
    /// Adds what a session has counted.
    pub fn add(&mut self, session: &SessionCounters) {
        let sums = self.counts.iter_mut().chain(&mut self.commands);
        let sums = sums
            .chain(&mut self.statements.counts)
            .chain([&mut self.statements.nanos]);
        let sums = sums
            .chain(&mut self.commits.counts)
            .chain([&mut self.commits.nanos]);
        for (sum, count) in sums.zip(session.all()) {
            *sum = sum.wrapping_add(count.load(Ordering::Relaxed));
        }
    }

    /// Adds what a session has counted, which begins again at 0. Its own thread calls this.
    pub fn take(&mut self, session: &SessionCounters) {
        self.add(session);
        session.all().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// The sum of a counter.
    pub fn of(&self, counter: Counter) -> u64 {
        self.counts[PLACES[counter as usize] as usize]
    }

    /// Statements of a kind, see [`command`].
    pub fn of_command(&self, command: usize) -> u64 {
        self.commands[command]
    }

    /// How long statements took.
    pub fn statements(&self) -> &Durations {
        &self.statements
    }

    /// How long the commits of transactions took that had written.
    pub fn commits(&self) -> &Durations {
        &self.commits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_numbered_as_they_are_listed() {
        for (at, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(*counter as usize, at);
        }
    }

    #[test]
    fn what_a_session_has_counted_is_taken_once() {
        let session = SessionCounters::default();
        session.add(Counter::HandlerWrite, 3);
        session.add_command(command::STMT_CLOSE);
        let mut totals = Totals::default();
        session.add_statement(3000);
        totals.take(&session);
        session.add_commit(2000);
        session.add(Counter::HandlerWrite, 4);
        assert_eq!(totals.of(Counter::HandlerWrite), 3);
        totals.add(&session);
        assert_eq!(totals.of(Counter::HandlerWrite), 7);
        assert_eq!(totals.of_command(command::STMT_CLOSE), 1);
        assert_eq!(
            (totals.statements().counts[3], totals.statements().nanos),
            (1, 3000)
        );
        assert_eq!((totals.commits().counts[2], totals.commits().count()), (1, 1));
    }
}
