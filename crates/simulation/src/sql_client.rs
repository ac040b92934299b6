//! What the sessions of a run of SQL do: transactions of several statements, reads that are held against each other, tables
//! that are copied, and indexes and columns that come and go.
//!
//! Where calls of the disk may fail, a client has a table to itself: a COMMIT that fails rolls back, and lets its locks go, before the
//! model knows.

use super::crowd::{self, Done, Stop, until_over};
use super::model::{Model, Row, Text, Writes};
use super::scheduler::{self, Random};
use super::sql::{Answer, check_text, connect, row_of, rows_of, run, run_with};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tidemark_engine::Error;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_sql::error::er;
use tidemark_sql::{Database, Session, SqlError};

/// Tables of a run.
pub const SLOTS: usize = 2;
/// Indexes that a table may have besides.
pub const EXTRA: usize = 2;
/// Columns that a table may have besides, each with a default of its own.
pub const MORE: usize = 2;
/// What the indexes are on.
const EXTRA_PARTS: [&str; EXTRA] = ["writer, k", "k, u"];
/// The number of the first client's connection: 1 is of the run's own.
const FIRST_SESSION: u64 = 2;
/// Ids below this are drawn for single rows.
const IDS: u64 = 200;
/// Above them, so many times a hundred are filled and emptied together.
const RANGES: u64 = 4;

/// What all sessions of a run share.
pub struct SqlWorld {
    /// The database under test.
    pub database: Arc<Database>,
    /// Its disk.
    pub disk: SimDisk,
    /// What must be there.
    pub model: Mutex<Model>,
    /// Whether calls may fail although the power is on.
    pub faulty: bool,
    /// Whether LOAD DATA is among the statements.
    pub loads: bool,
    /// Held by the client that alters a table, so that the model knows which definition may be there.
    pub alters: Vec<Mutex<()>>,
    /// The clients are to stop.
    pub over: AtomicBool,
    /// The longest that any statement took, in milliseconds of the world's time.
    pub longest_ms: AtomicU64,
    /// What statements failed with for the disk's sake, and how often.
    pub errors: Mutex<BTreeMap<String, u64>>,
}

impl SqlWorld {
    /// A database on a disk, and what must be there. Calls may not fail while the power is on.
    pub fn new(database: Arc<Database>, disk: &SimDisk, model: Model) -> SqlWorld {
        SqlWorld {
            database,
            disk: disk.clone(),
            model: Mutex::new(model),
            faulty: false,
            loads: true,
            alters: (0..SLOTS).map(|_| Mutex::new(())).collect(),
            over: AtomicBool::new(false),
            longest_ms: AtomicU64::new(0),
            errors: Mutex::default(),
        }
    }
}

/// What the nth column besides shows in every row.
pub fn more_default(n: usize) -> usize {
    7 + n
}

/// What became of a statement.
enum Ran {
    Done(Answer),
    /// The statement has left nothing.
    Failed(SqlError),
    /// Nor has its transaction.
    RolledBack,
}

/// One session and its transaction.
pub struct SqlClient<'w> {
    world: &'w SqlWorld,
    random: Random,
    session: Session,
    /// The table to which it keeps, if it keeps to one.
    own: Option<usize>,
}

/// What a transaction has done so far.
struct Doing {
    number: u64,
    repeatable: bool,
    writes: Writes,
    saved: Option<Writes>,
}

/// Whether an error says that the disk has failed.
fn is_of_disk(error: &SqlError) -> bool {
    matches!(error.code, er::DISK_FULL | er::GET_ERRNO | er::SERVER_SHUTDOWN)
}

fn session(world: &SqlWorld, id: u64) -> std::result::Result<Session, String> {
    let mut session = connect(&world.database, id, Some("d")).map_err(|error| error.to_string())?;
    let settings = "SET innodb_lock_wait_timeout = 2, lock_wait_timeout = 5";
    run(&mut session, settings).map_err(|error| error.to_string())?;
    Ok(session)
}

fn show(value: Option<i64>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

fn hex(text: Text) -> String {
    use std::fmt::Write;
    let mut hex = String::new();
    for byte in text.bytes() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

impl<'w> SqlClient<'w> {
    /// The nth session, whose doings follow from the seed.
    pub fn new(world: &'w SqlWorld, n: u64, seed: u64) -> std::result::Result<SqlClient<'w>, String> {
        Ok(SqlClient {
            world,
            random: Random(seed),
            session: session(world, FIRST_SESSION + n)?,
            own: world.faulty.then_some(n as usize % SLOTS),
        })
    }

    fn some_slot(&mut self) -> usize {
        let drawn = self.random.below(SLOTS as u64) as usize;
        self.own.unwrap_or(drawn)
    }

    /// Works until it must stop.
    pub fn run(mut self) -> std::result::Result<(), String> {
        let world = self.world;
        until_over(&world.over, || match self.random.below(40) {
            0 => self.alter(),
            1..4 => self.look(),
            4 => self.rest(),
            5 => self.put_aside(),
            _ => self.transact(),
        })
    }

    /// Whether the log could not be written, so that nothing can be changed any more. (A server's process has ended by then.)
    fn has_stopped(&self) -> bool {
        let change = || {
            let mut ddl = self.world.database.engine().ddl()?;
            ddl.put_meta("simulation.probe", b"", b"")?;
            ddl.commit()
        };
        matches!(change(), Err(Error::Stopped(_)))
    }

    fn rest(&mut self) -> Done {
        std::thread::sleep(Duration::from_millis(self.random.below(2000)));
        Ok(())
    }

    fn ask(&mut self, statement: &str) -> Done<Ran> {
        self.ask_with(statement, Vec::new())
    }

    fn ask_with(&mut self, statement: &str, file: Vec<u8>) -> Done<Ran> {
        let done = crowd::timed(&self.world.longest_ms, || {
            run_with(&mut self.session, statement, file)
        });
        match done {
            Ok(answer) => Ok(Ran::Done(answer)),
            Err(_) if self.world.disk.is_dead() => Err(Stop::Over),
            Err(error) => match error.code {
                er::SERVER_SHUTDOWN if self.world.faulty => Err(Stop::Over),
                er::DISK_FULL | er::GET_ERRNO if self.world.faulty => {
                    *self.world.errors.lock().entry(error.message.clone()).or_default() += 1;
                    if self.session.is_killed() {
                        self.session = session(self.world, self.session.connection_id())?;
                        return Ok(Ran::RolledBack);
                    }
                    Ok(Ran::Failed(error))
                }
                // A transaction that is gone for the disk's sake must not pass for a statement that failed for its own.
                _ if self.session.is_killed() => Err(Stop::Wrong(format!(
                    "the connection has ended, and was told only: {error}"
                ))),
                er::LOCK_DEADLOCK => Ok(Ran::RolledBack),
                er::LOCK_WAIT_TIMEOUT | er::DUP_ENTRY | er::TABLE_DEF_CHANGED => Ok(Ran::Failed(error)),
                _ => Err(Stop::Wrong(format!(
                    "{}: {error}",
                    &statement[..statement.len().min(200)]
                ))),
            },
        }
    }

    /// A statement that cannot fail while there is power and the disk works; else the session is given up, and its transaction with it.
    fn must(&mut self, statement: &str) -> Done<Answer> {
        match self.ask(statement)? {
            Ran::Done(answer) => Ok(answer),
            Ran::Failed(_) if self.world.faulty => {
                self.session = session(self.world, self.session.connection_id())?;
                Err(Stop::GivenUp)
            }
            Ran::RolledBack if self.world.faulty => Err(Stop::GivenUp),
            Ran::Failed(error) => Err(Stop::Wrong(format!("{statement}: {error}"))),
            Ran::RolledBack => Err(Stop::Wrong(format!("{statement}: rolled back"))),
        }
    }

    fn transact(&mut self) -> Done {
        let repeatable = !self.random.one_in(3);
        if !repeatable {
            self.must("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        }
        self.must("BEGIN")?;
        let mut doing = Doing {
            number: self.world.model.lock().number(),
            repeatable,
            writes: Writes::new(),
            saved: None,
        };
        for _ in 0..1 + self.random.below(10) {
            if !self.step(&mut doing)? {
                return Ok(());
            }
        }
        if self.random.one_in(6) {
            return self.must("ROLLBACK").map(drop);
        }
        self.world.model.lock().enter(doing.number, &doing.writes);
        match self.ask("COMMIT")? {
            Ran::Done(_) => self.world.model.lock().acknowledge(doing.number, &doing.writes),
            // Its record is in the log, which may be on the disk or not.
            Ran::Failed(_) | Ran::RolledBack if self.world.faulty && self.has_stopped() => {
                return Err(Stop::Over);
            }
            // The transaction is rolled back, or will be.
            Ran::Failed(_) | Ran::RolledBack if self.world.faulty => {
                self.world.model.lock().take_back(doing.number, &doing.writes);
                self.must("ROLLBACK")?;
            }
            Ran::Failed(error) => return Err(Stop::Wrong(format!("COMMIT: {error}"))),
            Ran::RolledBack => return Err(Stop::Wrong("COMMIT: rolled back".into())),
        }
        Ok(())
    }

    /// One statement. False if the transaction is gone.
    fn step(&mut self, doing: &mut Doing) -> Done<bool> {
        let slot = self.some_slot();
        match self.random.below(20) {
            0 => {
                self.must("SAVEPOINT s")?;
                doing.saved = Some(doing.writes.clone());
                Ok(true)
            }
            1 if doing.saved.is_some() => {
                self.must("ROLLBACK TO SAVEPOINT s")?;
                doing.writes = doing.saved.clone().unwrap_or_default();
                Ok(true)
            }
            2 | 3 => self.insert_many(doing, slot),
            4 => self.change_range(doing, slot, true),
            5 => self.change_range(doing, slot, false),
            6..12 => self.insert(doing, slot),
            12..15 => self.change(doing, slot, true),
            15 => self.read_locked(doing, slot),
            _ => self.change(doing, slot, false),
        }
    }

    fn expected(&self, doing: &Doing, slot: usize, id: i64) -> Option<Row> {
        match doing.writes.get(&(slot, id)) {
            Some(row) => row.clone(),
            None => self.world.model.lock().latest(slot, id),
        }
    }

    fn some_row(&mut self, doing: &Doing, id: i64) -> Row {
        let len = match self.random.below(50) {
            0 => 8_000 + self.random.below(8_000),
            1..4 => 500 + self.random.below(2_000),
            _ => self.random.below(100),
        };
        Row {
            id,
            writer: doing.number,
            k: (!self.random.one_in(8)).then(|| self.random.below(20) as i64),
            u: self.random.one_in(3).then(|| self.random.below(400) as i64),
            c: Text::new(len as usize, self.random.draw()),
        }
    }

    fn insert(&mut self, doing: &mut Doing, slot: usize) -> Done<bool> {
        let id = self.random.below(IDS) as i64;
        let row = self.some_row(doing, id);
        self.put(doing, slot, vec![row])
    }

    /// So many rows one behind the other that pages split, in one statement.
    fn insert_many(&mut self, doing: &mut Doing, slot: usize) -> Done<bool> {
        let from = (IDS + self.random.below(RANGES) * 100) as i64;
        let count = 10 + self.random.below(40) as i64;
        let rows = (from..from + count).map(|id| Row {
            u: None,
            ..self.some_row(doing, id)
        });
        let rows = rows.collect();
        match self.world.loads && count % 3 == 0 {
            true => self.load(doing, slot, rows),
            false => self.put(doing, slot, rows),
        }
    }

    /// Rows in a file of the client's, which take the places of those that are there.
    fn load(&mut self, doing: &mut Doing, slot: usize, rows: Vec<Row>) -> Done<bool> {
        let null = |value: Option<i64>| value.map_or("\\N".to_owned(), |value| value.to_string());
        let line = |row: &Row| {
            let (k, u) = (null(row.k), null(row.u));
            format!("{}\t{}\t{k}\t{u}\t{}\n", row.id, row.writer, hex(row.c))
        };
        let file: String = rows.iter().map(line).collect();
        let statement = format!(
            "LOAD DATA LOCAL INFILE 'rows' REPLACE INTO TABLE t{slot} (id, writer, k, u, @c) SET c = UNHEX(@c)"
        );
        match self.ask_with(&statement, file.into_bytes())? {
            Ran::RolledBack => return Ok(false),
            Ran::Failed(_) => {}
            Ran::Done(_) => doing
                .writes
                .extend(rows.into_iter().map(|row| ((slot, row.id), Some(row)))),
        }
        Ok(true)
    }

    fn put(&mut self, doing: &mut Doing, slot: usize, rows: Vec<Row>) -> Done<bool> {
        let values: Vec<String> = rows
            .iter()
            .map(|row| {
                let (id, writer, c) = (row.id, row.writer, hex(row.c));
                format!("({id}, {writer}, {}, {}, x'{c}')", show(row.k), show(row.u))
            })
            .collect();
        let statement = format!(
            "INSERT INTO t{slot} (id, writer, k, u, c) VALUES {}",
            values.join(", ")
        );
        match self.ask(&statement)? {
            Ran::RolledBack => Ok(false),
            Ran::Failed(_) => Ok(true),
            Ran::Done(_) => {
                for row in rows {
                    if let Some(known) = self.expected(doing, slot, row.id) {
                        return Err(Stop::Wrong(format!(
                            "row {} of t{slot} was inserted although {} has",
                            row.id, known.writer
                        )));
                    }
                    doing.writes.insert((slot, row.id), Some(row));
                }
                Ok(true)
            }
        }
    }

    fn change(&mut self, doing: &mut Doing, slot: usize, deletes: bool) -> Done<bool> {
        let id = self.random.below(IDS) as i64;
        let row = self.some_row(doing, id);
        let statement = match deletes {
            true => format!("DELETE FROM t{slot} WHERE id = {id}"),
            false => format!(
                "UPDATE t{slot} SET writer = {}, k = {}, u = {}, c = x'{}' WHERE id = {id}",
                row.writer,
                show(row.k),
                show(row.u),
                hex(row.c)
            ),
        };
        let answer = match self.ask(&statement)? {
            Ran::RolledBack => return Ok(false),
            Ran::Failed(_) => return Ok(true),
            Ran::Done(answer) => answer,
        };
        let known = self.expected(doing, slot, id);
        // An UPDATE that changes nothing counts none: only that of a row which is the same already.
        let found = answer.changed > 0 || !deletes && known.as_ref() == Some(&row);
        if found != known.is_some() && (found || doing.repeatable) {
            return Err(Stop::Wrong(format!(
                "{} rows were changed for row {id} of t{slot}, which is of {:?}",
                answer.changed,
                known.map(|row| row.writer)
            )));
        }
        if found {
            doing.writes.insert((slot, id), (!deletes).then_some(row));
        }
        Ok(true)
    }

    /// Deletes so many rows that pages merge, or changes them.
    fn change_range(&mut self, doing: &mut Doing, slot: usize, deletes: bool) -> Done<bool> {
        if !doing.repeatable {
            return Ok(true);
        }
        let from = (IDS + self.random.below(RANGES) * 100) as i64;
        let to = from + 99;
        let condition = format!("WHERE id BETWEEN {from} AND {to}");
        let statement = match deletes {
            true => format!("DELETE FROM t{slot} {condition}"),
            false => format!(
                "UPDATE t{slot} SET writer = {}, k = k + 1 {condition}",
                doing.number
            ),
        };
        let answer = match self.ask(&statement)? {
            Ran::RolledBack => return Ok(false),
            Ran::Failed(_) => return Ok(true),
            Ran::Done(answer) => answer,
        };
        let known: Vec<Row> = (from..=to)
            .filter_map(|id| self.expected(doing, slot, id))
            .collect();
        // A row of which this transaction is the writer already, and `k` is NULL, is not changed.
        let changes = |row: &&Row| deletes || row.writer != doing.number || row.k.is_some();
        let expected = known.iter().filter(changes).count() as u64;
        if answer.changed != expected {
            return Err(Stop::Wrong(format!(
                "{} rows of t{slot} from {from} to {to} were changed, but there were {expected}",
                answer.changed
            )));
        }
        for row in known {
            let new = Row {
                writer: doing.number,
                k: row.k.map(|k| k + 1),
                ..row
            };
            doing.writes.insert((slot, new.id), (!deletes).then_some(new));
        }
        Ok(true)
    }

    fn read_locked(&mut self, doing: &mut Doing, slot: usize) -> Done<bool> {
        let id = self.random.below(IDS) as i64;
        let statement = format!("SELECT writer FROM t{slot} WHERE id = {id} FOR UPDATE");
        let answer = match self.ask(&statement)? {
            Ran::RolledBack => return Ok(false),
            Ran::Failed(_) => return Ok(true),
            Ran::Done(answer) => answer,
        };
        let known = self.expected(doing, slot, id);
        if answer.rows.is_empty() == known.is_some() && doing.repeatable {
            return Err(Stop::Wrong(format!(
                "row {id} of t{slot} is {:?}, but must be of {:?}",
                answer.rows,
                known.map(|row| row.writer)
            )));
        }
        Ok(true)
    }

    /// Reads a table by each index, twice, in one view.
    fn look(&mut self) -> Done {
        let slot = self.random.below(SLOTS as u64) as usize;
        self.must("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        let mut views = Vec::new();
        for _ in 0..2 {
            match rows_of(&mut self.session, slot) {
                Ok(rows) => views.push(rows.map_err(Stop::Wrong)?),
                Err(_) if self.world.disk.is_dead() => return Err(Stop::Over),
                // An index came while it looked.
                Err(error) if matches!(error.code, er::TABLE_DEF_CHANGED | er::LOCK_WAIT_TIMEOUT) => break,
                Err(error) if self.world.faulty && is_of_disk(&error) => break,
                Err(error) => return Err(Stop::Wrong(format!("reading t{slot}: {error}"))),
            }
            scheduler::pause(100_000);
        }
        if let Some(rows) = views.first() {
            let mut model = self.world.model.lock();
            for row in rows.values() {
                model.saw(row.writer).map_err(Stop::Wrong)?;
            }
        }
        if views.len() == 2 && views[0] != views[1] {
            return Err(Stop::Wrong("a view has shown other rows the second time".into()));
        }
        self.must("COMMIT").map(drop)
    }

    /// Copies a table to another one, which may be a temporary one, reads that, and drops it.
    fn put_aside(&mut self) -> Done {
        let slot = self.some_slot();
        let kind = match self.random.one_in(2) {
            true => "TEMPORARY TABLE",
            false => "TABLE",
        };
        let name = format!("aside{}", self.session.connection_id());
        let copy = format!(
            "CREATE {kind} {name} (PRIMARY KEY (id), KEY (writer)) SELECT id, writer, c FROM t{slot}"
        );
        self.must(&format!("DROP {kind} IF EXISTS {name}"))?;
        let Ran::Done(_) = self.ask(&copy)? else {
            return Ok(());
        };
        let Ran::Done(rows) = self.ask(&format!("SELECT id, writer, NULL, NULL, c FROM {name}"))? else {
            return Ok(());
        };
        for row in rows.rows.iter().map(|row| row_of(row)) {
            check_text(&row).map_err(Stop::Wrong)?;
            self.world.model.lock().saw(row.writer).map_err(Stop::Wrong)?;
        }
        self.must(&format!("DROP {kind} {name}")).map(drop)
    }

    /// An index or a column more or less, or the table made anew.
    fn alter(&mut self) -> Done {
        let world = self.world;
        let slot = self.some_slot();
        let _guard = world.alters[slot].lock();
        let Some(mut shape) = world.model.lock().slots[slot].shape else {
            return Ok(());
        };
        let what = match self.random.below(5) {
            0 if shape.indexes < EXTRA => {
                shape.indexes += 1;
                let n = shape.indexes - 1;
                format!("ADD INDEX extra{n} ({})", EXTRA_PARTS[n])
            }
            1 if shape.indexes > 0 => {
                shape.indexes -= 1;
                format!("DROP INDEX extra{}", shape.indexes)
            }
            2 if shape.columns < MORE => {
                shape.columns += 1;
                let n = shape.columns - 1;
                format!("ADD COLUMN more{n} INT NOT NULL DEFAULT {}", more_default(n))
            }
            3 if shape.columns > 0 => {
                shape.columns -= 1;
                format!("DROP COLUMN more{}", shape.columns)
            }
            _ => "ENGINE = InnoDB".to_owned(),
        };
        world.model.lock().slots[slot].pending = Some((shape, false));
        match self.ask(&format!("ALTER TABLE t{slot} {what}"))? {
            Ran::Done(_) => world.model.lock().define(slot, shape, false),
            Ran::Failed(_) | Ran::RolledBack => world.model.lock().slots[slot].pending = None,
        }
        Ok(())
    }
}
