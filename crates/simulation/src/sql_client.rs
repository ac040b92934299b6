//! What the sessions of a run of SQL do: transactions of several statements, reads that are held against each other, and
//! indexes that come and go.

use super::crowd::{self, Done, Stop, until_over};
use super::model::{Model, Row, Shape, Text, Writes};
use super::scheduler::{self, Random};
use super::sql::{Answer, connect, rows_of, run};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tidemark_engine::TableId;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_sql::error::er;
use tidemark_sql::{Database, Session, SqlError};

/// Tables of a run.
pub const SLOTS: usize = 2;
/// Indexes that a table may have besides.
pub const EXTRA: usize = 2;
/// What they are on.
const EXTRA_PARTS: [&str; EXTRA] = ["writer, k", "k, u"];
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
    /// Held by the client that alters a table, so that the model knows which definition may be there.
    pub alters: Vec<Mutex<()>>,
    /// The clients are to stop.
    pub over: AtomicBool,
    /// The longest that any statement took, in milliseconds of the world's time.
    pub longest_ms: AtomicU64,
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
}

/// What a transaction has done so far.
struct Doing {
    number: u64,
    repeatable: bool,
    writes: Writes,
    saved: Option<Writes>,
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
    /// A session whose doings follow from the seed.
    pub fn new(world: &'w SqlWorld, id: u64, seed: u64) -> std::result::Result<SqlClient<'w>, String> {
        let mut session = connect(&world.database, id, Some("d")).map_err(|error| error.to_string())?;
        let settings = "SET innodb_lock_wait_timeout = 2, lock_wait_timeout = 5";
        run(&mut session, settings).map_err(|error| error.to_string())?;
        Ok(SqlClient {
            world,
            random: Random(seed),
            session,
        })
    }

    /// Works until it must stop.
    pub fn run(mut self) -> std::result::Result<(), String> {
        let world = self.world;
        until_over(&world.over, || match self.random.below(40) {
            0 => self.alter(),
            1..4 => self.look(),
            4 => self.rest(),
            _ => self.transact(),
        })
    }

    fn rest(&mut self) -> Done {
        std::thread::sleep(Duration::from_millis(self.random.below(2000)));
        Ok(())
    }

    fn ask(&mut self, statement: &str) -> Done<Ran> {
        match crowd::timed(&self.world.longest_ms, || run(&mut self.session, statement)) {
            Ok(answer) => Ok(Ran::Done(answer)),
            Err(_) if self.world.disk.is_dead() => Err(Stop::Over),
            Err(error) => match error.code {
                er::LOCK_DEADLOCK => Ok(Ran::RolledBack),
                er::LOCK_WAIT_TIMEOUT | er::DUP_ENTRY | er::TABLE_DEF_CHANGED => Ok(Ran::Failed(error)),
                _ => Err(Stop::Wrong(format!(
                    "{}: {error}",
                    &statement[..statement.len().min(200)]
                ))),
            },
        }
    }

    /// A statement that cannot fail while there is power.
    fn must(&mut self, statement: &str) -> Done<Answer> {
        match self.ask(statement)? {
            Ran::Done(answer) => Ok(answer),
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
        self.must("COMMIT")?;
        self.world.model.lock().acknowledge(doing.number, &doing.writes);
        Ok(())
    }

    /// One statement. False if the transaction is gone.
    fn step(&mut self, doing: &mut Doing) -> Done<bool> {
        let slot = self.random.below(SLOTS as u64) as usize;
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
        self.put(doing, slot, rows)
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

    /// An index more or less, or the table made anew.
    fn alter(&mut self) -> Done {
        let world = self.world;
        let slot = self.random.below(SLOTS as u64) as usize;
        let _guard = world.alters[slot].lock();
        let now = world.model.lock().slots[slot]
            .shape
            .map_or(0, |shape| shape.indexes);
        let (indexes, what) = match self.random.below(3) {
            0 if now < EXTRA => (now + 1, format!("ADD INDEX extra{now} ({})", EXTRA_PARTS[now])),
            1 if now > 0 => (now - 1, format!("DROP INDEX extra{}", now - 1)),
            _ => (now, "ENGINE = InnoDB".to_owned()),
        };
        let shape = Shape {
            table: TableId(slot as u64),
            indexes,
        };
        world.model.lock().slots[slot].pending = Some((shape, false));
        match self.ask(&format!("ALTER TABLE t{slot} {what}"))? {
            Ran::Done(_) => world.model.lock().define(slot, shape, false),
            Ran::Failed(_) | Ran::RolledBack => world.model.lock().slots[slot].pending = None,
        }
        Ok(())
    }
}
