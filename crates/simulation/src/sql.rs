//! Power cuts under SQL: sessions work on a whole database until the power goes; then it starts, which may be cut short as well,
//! and what its tables show is held against what was acknowledged.
//!
//! What [`cuts`](super::cuts) shows of the engine is shown here of what stands on it: that a COMMIT is answered only when it is
//! certain, that a statement that fails leaves nothing, that the dictionary and the tables are of one moment after an ALTER
//! TABLE that was cut short.

use super::crowd::run_clients;
use super::disk::SlowDisk;
use super::model::{Model, Row, Rows, SPARES, Shape, Text};
use super::power::{cut_in, lose_power, of_any_size, try_start};
use super::scheduler::Random;
use super::sql_client::{EXTRA, MORE, SLOTS, SqlClient, SqlWorld, more_default};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::TableId;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_sql::types::{ColumnMeta, Date, DateTime, Time};
use tidemark_sql::{
    ConnectInfo, Database, OkInfo, Options, Result, ResultSink, Session, SqlError, capability,
};

/// No statement may take longer, in milliseconds of the world's time.
const LONGEST_MS: u64 = 60_000;
/// The smallest that a server takes.
const OPTIONS: [(&str, &str); 5] = [
    ("innodb_buffer_pool_size", "5M"),
    ("innodb_redo_log_capacity", "8M"),
    ("innodb_log_buffer_size", "1M"),
    ("innodb_purge_threads", "2"),
    ("local_infile", "ON"),
];
/// A client sends so much of a file at once.
const FILE_PART: usize = 1000;

/// What a run has shown.
#[derive(Default, Debug)]
pub struct Shown {
    /// Cuts while sessions worked.
    pub cuts: u64,
    /// Cuts while the database started.
    pub cuts_of_starts: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
}

/// Opens the database.
pub fn open(disk: &SimDisk) -> Result<Arc<Database>> {
    let pairs = OPTIONS.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    let options = Options::from_pairs(PathBuf::from("/simulated"), pairs).map_err(unknown)?;
    tidemark_sql::open_on(options, Arc::new(SlowDisk(disk.clone())))
}

fn unknown(what: String) -> SqlError {
    SqlError::unknown(what)
}

/// A session of root's, in the run's database if that is there.
pub fn connect(database: &Arc<Database>, id: u64, schema: Option<&str>) -> Result<Session> {
    let account = database
        .account("root", "localhost")
        .ok_or_else(|| unknown("there is no root".into()))?;
    let info = ConnectInfo {
        connection_id: id,
        user: "root".into(),
        host: "localhost".into(),
        port: 0,
        account,
        database: schema.map(str::to_owned),
        capabilities: capability::LOCAL_FILES,
        collation: 255,
        encryption: None,
        attributes: Vec::new(),
        password_expired: false,
        client: None,
    };
    Session::connect(database.clone(), info)
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Number(i128),
    Bytes(Vec<u8>),
}

/// What a statement was answered.
#[derive(Default, Debug)]
pub struct Answer {
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
    /// Rows that it changed.
    pub changed: u64,
    /// What is left of the file for which it may ask.
    file: Vec<u8>,
}

impl Answer {
    fn add(&mut self, value: Value) {
        if let Some(row) = self.rows.last_mut() {
            row.push(value);
        }
    }
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }
    fn null(&mut self) {
        self.add(Value::Null);
    }
    fn int(&mut self, value: i64) {
        self.add(Value::Number(value.into()));
    }
    fn uint(&mut self, value: u64) {
        self.add(Value::Number(value.into()));
    }
    fn float(&mut self, value: f32) {
        self.bytes(value.to_string().as_bytes());
    }
    fn double(&mut self, value: f64) {
        self.bytes(value.to_string().as_bytes());
    }
    fn decimal(&mut self, digits: &str) {
        self.bytes(digits.as_bytes());
    }
    fn bytes(&mut self, value: &[u8]) {
        self.add(Value::Bytes(value.to_vec()));
    }
    fn date(&mut self, value: Date) {
        self.bytes(value.to_string().as_bytes());
    }
    fn datetime(&mut self, value: DateTime) {
        self.bytes(value.to_string().as_bytes());
    }
    fn time(&mut self, value: Time) {
        self.bytes(value.to_string().as_bytes());
    }
    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }
    fn is_full(&self) -> bool {
        false
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn ask_for_file(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
    fn file_part(&mut self, part: &mut Vec<u8>) -> Result<bool> {
        part.clear();
        part.extend(self.file.drain(..self.file.len().min(FILE_PART)));
        Ok(!part.is_empty())
    }
    fn end_rows(&mut self, _: u16, _: u16, _: &[tidemark_sql::SessionChange]) -> Result<()> {
        Ok(())
    }
    fn ok(&mut self, info: &OkInfo) -> Result<()> {
        self.changed = info.affected_rows;
        Ok(())
    }
}

/// Runs one statement.
pub fn run(session: &mut Session, statement: &str) -> Result<Answer> {
    run_with(session, statement, Vec::new())
}

/// Runs one statement, which gets this file if it asks for one.
pub fn run_with(session: &mut Session, statement: &str, file: Vec<u8>) -> Result<Answer> {
    let mut answer = Answer {
        file,
        ..Answer::default()
    };
    session.query(statement.as_bytes(), &mut answer)?;
    Ok(answer)
}

fn number(value: Option<&Value>) -> Option<i64> {
    match value {
        Some(Value::Number(n)) => i64::try_from(*n).ok(),
        _ => None,
    }
}

/// The row that these values are: the columns of every table.
pub fn row_of(values: &[Value]) -> Row {
    let text = match values.get(4) {
        Some(Value::Bytes(bytes)) => &bytes[..],
        _ => &[],
    };
    Row {
        id: number(values.first()).unwrap_or(i64::MIN),
        writer: number(values.get(1)).unwrap_or(0) as u64,
        k: number(values.get(2)),
        u: number(values.get(3)),
        c: Text::of(text),
    }
}

/// The rows of a table, which each index must agree on. Below an error of SQL's, what is wrong.
pub fn rows_of(session: &mut Session, slot: usize) -> Result<std::result::Result<Rows, String>> {
    let rows = run(
        session,
        &format!("SELECT id, writer, k, u, c FROM t{slot} FORCE INDEX (PRIMARY)"),
    )?;
    let rows: Rows = rows
        .rows
        .iter()
        .map(|row| row_of(row))
        .map(|row| (row.id, row))
        .collect();
    for index in ["k", "u"] {
        let found = run(
            session,
            &format!(
                "SELECT id, writer, {index} FROM t{slot} FORCE INDEX ({index}) WHERE {index} IS NULL OR {index} > -1"
            ),
        )?;
        let mut found: Vec<_> = found
            .rows
            .iter()
            .map(|row| [number(row.first()), number(row.get(1)), number(row.get(2))])
            .collect();
        found.sort_unstable();
        let value = |row: &Row| if index == "k" { row.k } else { row.u };
        let expected = rows
            .values()
            .map(|row| [Some(row.id), Some(row.writer as i64), value(row)]);
        if !expected.eq(found.iter().copied()) {
            return Ok(Err(format!("index {index} of t{slot} disagrees with the table")));
        }
    }
    Ok(Ok(rows))
}

/// What the dictionary says that the table has beside what every table has. The columns must show their defaults.
fn shape_of(session: &mut Session, slot: usize) -> Result<std::result::Result<Shape, String>> {
    let indexes = run(
        session,
        &format!("SHOW INDEX FROM t{slot} WHERE Key_name LIKE 'extra%' AND Seq_in_index = 1"),
    )?;
    let columns = run(session, &format!("SHOW COLUMNS FROM t{slot} LIKE 'more%'"))?;
    let shape = Shape {
        table: TableId(slot as u64),
        indexes: indexes.rows.len(),
        columns: columns.rows.len(),
        spares: [0; SPARES],
    };
    if shape.indexes > EXTRA || shape.columns > MORE {
        return Ok(Err(format!("t{slot} is {shape:?}")));
    }
    for n in 0..shape.columns {
        let default = more_default(n);
        let others = run(
            session,
            &format!("SELECT id, more{n} FROM t{slot} WHERE NOT more{n} <=> {default} LIMIT 3"),
        )?;
        if !others.rows.is_empty() {
            return Ok(Err(format!(
                "more{n} of t{slot} is not {default} in {:?}",
                others.rows
            )));
        }
    }
    Ok(Ok(shape))
}

/// Fails if a row has a text that no client has written.
pub fn check_text(row: &Row) -> std::result::Result<(), String> {
    match row.c.number {
        0 => Err(format!("row {} of a copied table has another's text", row.id)),
        _ => Ok(()),
    }
}

/// Drops the tables that clients were filling: each is whole, if it is there at all.
fn drop_asides(session: &mut Session) -> Result<std::result::Result<(), String>> {
    for row in run(session, "SHOW TABLES LIKE 'aside%'")?.rows {
        let Some(Value::Bytes(name)) = row.first() else {
            continue;
        };
        let name = String::from_utf8_lossy(name).into_owned();
        for index in ["PRIMARY", "writer"] {
            let rows = run(
                session,
                &format!(
                    "SELECT id, writer, NULL, NULL, c FROM {name} FORCE INDEX ({index}) WHERE writer > 0"
                ),
            )?;
            if let Err(wrong) = rows.rows.iter().try_for_each(|row| check_text(&row_of(row))) {
                return Ok(Err(wrong));
            }
        }
        run(session, &format!("DROP TABLE {name}"))?;
    }
    Ok(Ok(()))
}

/// Makes the tables of a run.
pub fn make_tables(database: &Arc<Database>, model: &mut Model) -> Result<()> {
    let mut session = connect(database, 1, None)?;
    run(&mut session, "CREATE DATABASE d")?;
    run(&mut session, "USE d")?;
    for slot in 0..SLOTS {
        run(
            &mut session,
            &format!(
                "CREATE TABLE t{slot} (id INT PRIMARY KEY, writer BIGINT UNSIGNED NOT NULL, k INT, u INT, c LONGBLOB, \
                 KEY k (k), UNIQUE KEY u (u))"
            ),
        )?;
        model.slots.push(Default::default());
        let shape = Shape {
            table: TableId(slot as u64),
            indexes: 0,
            columns: 0,
            spares: [0; SPARES],
        };
        model.define(slot, shape, true);
    }
    Ok(())
}

/// What stands in the tables.
pub fn read_tables(database: &Arc<Database>) -> Result<std::result::Result<Vec<(Shape, Rows)>, String>> {
    let mut session = connect(database, 1, Some("d"))?;
    let mut found = Vec::new();
    if let Err(wrong) = drop_asides(&mut session)? {
        return Ok(Err(wrong));
    }
    for slot in 0..SLOTS {
        match (shape_of(&mut session, slot)?, rows_of(&mut session, slot)?) {
            (Ok(shape), Ok(rows)) => found.push((shape, rows)),
            (Err(wrong), _) | (_, Err(wrong)) => return Ok(Err(wrong)),
        }
    }
    Ok(Ok(found))
}

/// A run: so many cuts.
pub struct Run {
    random: Random,
    disk: SimDisk,
    model: Model,
    shown: Shown,
}

impl Run {
    /// A run that follows from the seed.
    pub fn new(seed: u64) -> Run {
        Run {
            random: Random(seed),
            disk: SimDisk::new(seed),
            model: Model::default(),
            shown: Shown::default(),
        }
    }

    /// Runs until there were so many cuts.
    pub fn go(mut self, cuts: u64) -> std::result::Result<Shown, String> {
        open(&self.disk)
            .and_then(|database| make_tables(&database, &mut self.model))
            .map_err(|error| format!("making the tables: {error}"))?;
        while self.shown.cuts < cuts {
            lose_power(&mut self.random, &mut self.disk);
            let database = self.start()?;
            let found =
                read_tables(&database).map_err(|error| format!("reading after a start: {error}"))??;
            self.model
                .settle(&found)
                .map_err(|wrong| format!("after cut {}: {wrong}", self.shown.cuts))?;
            self.work(database)?;
        }
        self.shown.commits = self.model.commits;
        Ok(self.shown)
    }

    /// Starts the database, perhaps not at the first time.
    fn start(&mut self) -> std::result::Result<Arc<Database>, String> {
        loop {
            if let Some(database) = try_start(&mut self.random, &mut self.disk, open)? {
                return Ok(database);
            }
            self.shown.cuts_of_starts += 1;
        }
    }

    /// Sessions work until the power goes, or until the database is stopped.
    fn work(&mut self, database: Arc<Database>) -> std::result::Result<(), String> {
        let stops = self.random.one_in(10);
        let world = SqlWorld::new(database, &self.disk, std::mem::take(&mut self.model));
        if !stops {
            let changes = of_any_size(&mut self.random, 1500);
            self.disk.set_faults(cut_in(changes));
        }
        let clients = 1 + self.random.below(4);
        let seeds: Vec<u64> = (0..clients).map(|_| self.random.draw()).collect();
        let pause = self.random.below(4000);
        let client = |n, seed| SqlClient::new(&world, n, seed).and_then(SqlClient::run);
        run_clients(&world.over, &seeds, client, || {
            if stops {
                std::thread::sleep(Duration::from_millis(pause));
                world.over.store(true, Ordering::Relaxed);
            }
        })?;
        if stops {
            world
                .database
                .shutdown()
                .map_err(|error| format!("the database does not stop: {error}"))?;
        } else {
            self.shown.cuts += 1;
        }
        let longest = world.longest_ms.into_inner();
        if longest > LONGEST_MS {
            return Err(format!("a statement took {longest} ms"));
        }
        self.model = world.model.into_inner();
        Ok(())
    }
}
