//! What a level lets happen: scripts of two sessions, one for each anomaly, and what came of them.
//!
//! ```text
//!   lost update           first                       second
//!                         reads 10
//!                                                     reads 10
//!                         writes 11
//!                                                     writes 11      waits
//!                         COMMIT                                     goes on
//!                                                     COMMIT         an update is lost, unless an error came before
//! ```
//!
//! Each session is a thread. A statement is given to its session, and if no answer comes within [`PATIENCE`] it waits for a
//! lock: the script goes on with the other session. The next statement of a session that waits is given when it
//! has been answered, which a lock wait timeout of a second sees to. After an error by which a level rules something out the session has
//! rolled back and takes no further part. So a script ends in the same way each time, however levels are made: by locks, by versions, by
//! errors. Any other error, of a right that the account lacks, say, rules nothing out: the cell could not be measured.
//!
//! The names are those of Berenson et al., *A critique of ANSI SQL isolation levels* (1995), as Adya's thesis (1999) makes them
//! precise and Kleppmann's *Hermitage* tries them.

use crate::client::{Client, Dialect, Error, Row, Transient};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::load::tables;
use crate::results::{Finding, Found};
use crate::server::Server;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A statement that has no answer by then waits for a lock.
const PATIENCE: Duration = Duration::from_millis(200);
/// A server that takes longer than this for a statement, with a lock wait timeout of a second, has failed.
const ANSWER_MAX: Duration = Duration::from_secs(30);
const NAME: &str = "meaning";
const TABLE: [&str; 3] = [
    "DROP TABLE IF EXISTS meaning",
    "CREATE TABLE meaning (id INT PRIMARY KEY, value INT NOT NULL)",
    "INSERT INTO meaning VALUES (1, 10), (2, 20)",
];

/// A session of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    First,
    Second,
}
use Who::{First, Second};

/// What came of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// The integers of its rows, one after the other.
    Rows(Vec<i64>),
    /// An error by which the level rules something out, or none because the session was rolled back before.
    Failed,
}

/// An anomaly, and how to try it. Sessions are in a transaction when the script begins.
struct Anomaly {
    name: &'static str,
    script: &'static [(Who, &'static str)],
    /// From the answers, and the table at the end: has it happened?
    happened: fn(&[Answer], &[i64]) -> bool,
    /// The weakest level that rules it out, by MySQL's manual on InnoDB's levels; see [`Promises`] for others.
    prevented_from: Level,
}

const READ_1: &str = "SELECT value FROM meaning WHERE id = 1";
const READ_2: &str = "SELECT value FROM meaning WHERE id = 2";
const READ_ALL: &str = "SELECT value FROM meaning ORDER BY id";

const ANOMALIES: &[Anomaly] = &[
    Anomaly {
        name: "dirty write",
        script: &[
            (First, "UPDATE meaning SET value = 11 WHERE id = 1"),
            (Second, "UPDATE meaning SET value = 12 WHERE id = 1"),
            (First, "UPDATE meaning SET value = 21 WHERE id = 2"),
            (First, "COMMIT"),
            (Second, "UPDATE meaning SET value = 22 WHERE id = 2"),
            (Second, "COMMIT"),
        ],
        happened: |_, end| end != [11, 21] && end != [12, 22],
        prevented_from: Level::ReadUncommitted,
    },
    Anomaly {
        name: "dirty read",
        script: &[
            (First, "UPDATE meaning SET value = 11 WHERE id = 1"),
            (Second, READ_1),
            (First, "ROLLBACK"),
            (Second, "COMMIT"),
        ],
        happened: |answers, _| answers[1] == Answer::Rows(vec![11]),
        prevented_from: Level::ReadCommitted,
    },
    Anomaly {
        name: "non-repeatable read",
        script: &[
            (First, READ_1),
            (Second, "UPDATE meaning SET value = 12 WHERE id = 1"),
            (Second, "COMMIT"),
            (First, READ_1),
            (First, "COMMIT"),
        ],
        happened: |answers, _| answers[0] == Answer::Rows(vec![10]) && answers[3] == Answer::Rows(vec![12]),
        prevented_from: Level::RepeatableRead,
    },
    Anomaly {
        name: "phantom",
        script: &[
            (First, READ_ALL),
            (Second, "INSERT INTO meaning VALUES (3, 30)"),
            (Second, "COMMIT"),
            (First, READ_ALL),
            (First, "COMMIT"),
        ],
        happened: |answers, _| {
            answers[0] == Answer::Rows(vec![10, 20]) && answers[3] == Answer::Rows(vec![10, 20, 30])
        },
        prevented_from: Level::RepeatableRead,
    },
    Anomaly {
        name: "read skew",
        script: &[
            (First, READ_1),
            (Second, "UPDATE meaning SET value = 12 WHERE id = 1"),
            (Second, "UPDATE meaning SET value = 18 WHERE id = 2"),
            (Second, "COMMIT"),
            (First, READ_2),
            (First, "COMMIT"),
        ],
        happened: |answers, _| answers[0] == Answer::Rows(vec![10]) && answers[4] == Answer::Rows(vec![18]),
        prevented_from: Level::RepeatableRead,
    },
    Anomaly {
        name: "lost update",
        script: &[
            (First, READ_1),
            (Second, READ_1),
            (First, "UPDATE meaning SET value = 11 WHERE id = 1"),
            (Second, "UPDATE meaning SET value = 11 WHERE id = 1"),
            (First, "COMMIT"),
            (Second, "COMMIT"),
        ],
        happened: |answers, _| {
            let all_read_10 = answers[..2].iter().all(|read| *read == Answer::Rows(vec![10]));
            all_read_10 && !answers.contains(&Answer::Failed)
        },
        prevented_from: Level::Serializable,
    },
    Anomaly {
        name: "write skew",
        script: &[
            (First, READ_ALL),
            (Second, READ_ALL),
            (First, "UPDATE meaning SET value = 11 WHERE id = 1"),
            (Second, "UPDATE meaning SET value = 21 WHERE id = 2"),
            (First, "COMMIT"),
            (Second, "COMMIT"),
        ],
        happened: |answers, _| {
            let saw_nothing = answers[..2]
                .iter()
                .all(|read| *read == Answer::Rows(vec![10, 20]));
            saw_nothing && !answers.contains(&Answer::Failed)
        },
        prevented_from: Level::Serializable,
    },
];

/// Whose documentation it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promises {
    /// MySQL's of InnoDB.
    Locking,
    /// MariaDB's with `innodb_snapshot_isolation`: at REPEATABLE READ, changing a row that has changed since the snapshot is an error.
    SnapshotIsolation,
    /// PostgreSQL's: that, and READ UNCOMMITTED is READ COMMITTED.
    Postgres,
}

impl Promises {
    fn of(client: &mut Client) -> Result<Promises, Failure> {
        if client.dialect() == Dialect::Postgres {
            return Ok(Promises::Postgres);
        }
        let rows = client.query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")?;
        let value = rows.first().and_then(|row| row.get(1)?.as_deref());
        Ok(match value {
            Some(b"ON") => Promises::SnapshotIsolation,
            _ => Promises::Locking,
        })
    }

    /// Whether the documentation lets the anomaly happen at the level.
    fn possible(self, anomaly: &Anomaly, level: Level) -> bool {
        let prevented_from = match anomaly.name {
            "dirty read" if self == Promises::Postgres => Level::ReadUncommitted,
            "lost update" if self != Promises::Locking => Level::RepeatableRead,
            _ => anomaly.prevented_from,
        };
        (level as u8) < prevented_from as u8
    }
}

/// Tries all of them at one level.
pub(super) fn measure(server: &Server, level: Level, interrupt: &Interrupt) -> Result<Found, Failure> {
    let promises = Promises::of(&mut server.connect()?)?;
    let mut found = Found::default();
    for anomaly in ANOMALIES {
        interrupt.check()?;
        tables::make(server, NAME, &TABLE)?;
        let finding = Finding {
            possible: play(server, level, anomaly)?,
            promised_possible: promises.possible(anomaly, level),
        };
        found.findings.insert(anomaly.name.to_owned(), finding);
    }
    Ok(found)
}

fn play(server: &Server, level: Level, anomaly: &Anomaly) -> Result<bool, Failure> {
    let mut sessions = [Session::begin(server, level)?, Session::begin(server, level)?];
    let mut answers = vec![Answer::Failed; anomaly.script.len()];
    for (at, (who, sql)) in anomaly.script.iter().enumerate() {
        sessions[*who as usize].give(at, sql, &mut answers)?;
    }
    for session in &mut sessions {
        session.finish(&mut answers)?;
    }
    drop(sessions);
    let end = integers(&server.connect()?.query(READ_ALL)?);
    Ok((anomaly.happened)(&answers, &end))
}

/// A session and its thread.
struct Session {
    statements: Sender<&'static str>,
    answers: Receiver<Result<Answer, Failure>>,
    /// The place in the script of the statement that has no answer yet.
    waiting: Option<usize>,
    is_over: bool,
}

impl Session {
    fn begin(server: &Server, level: Level) -> Result<Session, Failure> {
        let mut client = server.connect()?;
        let dialect = client.dialect();
        client.query(&dialect.set_level(level))?;
        client.query(dialect.set_short_lock_wait())?;
        client.query("BEGIN")?;
        let (statements, given) = mpsc::channel::<&'static str>();
        let (answer, answers) = mpsc::channel();
        // It ends when the session is dropped, or with its connection.
        let run = move || {
            for sql in given {
                let done = match client.query(sql) {
                    Ok(rows) => Ok(Answer::Rows(integers(&rows))),
                    // A lock wait timeout has undone its statement alone.
                    Err(e) if rules_out(&e) => client.query("ROLLBACK").map(|_| Answer::Failed),
                    Err(e) => Err(e),
                };
                if answer.send(done.map_err(Failure::from)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(run).map_err(Failure::no_thread)?;
        Ok(Session {
            statements,
            answers,
            waiting: None,
            is_over: false,
        })
    }

    /// Gives it a statement, when the one before is answered, and waits a moment for the answer.
    fn give(&mut self, at: usize, sql: &'static str, answers: &mut [Answer]) -> Result<(), Failure> {
        self.finish(answers)?;
        if self.is_over {
            return Ok(());
        }
        self.statements.send(sql).map_err(|_| ended())?;
        self.waiting = Some(at);
        self.settle(PATIENCE, answers).map(drop)
    }

    /// Takes the answer that is missing, which must come.
    fn finish(&mut self, answers: &mut [Answer]) -> Result<(), Failure> {
        match self.settle(ANSWER_MAX, answers)? {
            true => Ok(()),
            false => Err(Failure::because(format!("no answer within {ANSWER_MAX:?}"))),
        }
    }

    /// Takes the answer that is missing; false if it does not come in time.
    fn settle(&mut self, within: Duration, answers: &mut [Answer]) -> Result<bool, Failure> {
        let Some(at) = self.waiting else {
            return Ok(true);
        };
        let answer = match self.answers.recv_timeout(within) {
            Ok(answer) => answer?,
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
        };
        self.waiting = None;
        self.is_over = answer == Answer::Failed;
        answers[at] = answer;
        Ok(true)
    }
}

fn ended() -> Failure {
    Failure::because("a session of the script has ended")
}

/// True if it is how a server keeps transactions apart.
fn rules_out(e: &Error) -> bool {
    e.transient()
        .is_some_and(|transient| transient != Transient::DuplicateKey)
}

fn integers(rows: &[Row]) -> Vec<i64> {
    let values = rows.iter().flatten().flatten();
    values
        .filter_map(|value| std::str::from_utf8(value).ok()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_grow_with_the_level() {
        let count = |promises: Promises, level| {
            let of = |anomaly: &&Anomaly| promises.possible(anomaly, level);
            ANOMALIES.iter().filter(of).count()
        };
        let counts = |promises| Level::ALL.map(|level| count(promises, level));
        assert_eq!(counts(Promises::Locking), [6, 5, 2, 0]);
        assert_eq!(counts(Promises::SnapshotIsolation), [6, 5, 1, 0]);
        assert_eq!(counts(Promises::Postgres), [5, 5, 1, 0]);
    }

    #[test]
    fn a_right_that_is_missing_rules_nothing_out() {
        let error = |code| {
            let message = String::new();
            Error::MySql(tidemark_client::Error::Server { code, message })
        };
        assert!([1205, 1213, 1020].map(error).iter().all(rules_out));
        assert!(![1142, 1064, 2013, 1062].map(error).iter().any(rules_out));
    }

    #[test]
    fn an_update_is_lost_only_if_both_commit() {
        let lost = ANOMALIES
            .iter()
            .find(|anomaly| anomaly.name == "lost update")
            .unwrap();
        let read = Answer::Rows(vec![10]);
        let done = Answer::Rows(Vec::new());
        let mut answers = vec![read.clone(), read, done.clone(), done.clone(), done.clone(), done];
        assert!((lost.happened)(&answers, &[11, 20]));
        answers[3] = Answer::Failed;
        assert!(!(lost.happened)(&answers, &[11, 20]));
    }
}
