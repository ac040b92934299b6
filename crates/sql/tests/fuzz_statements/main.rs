//! Whatever text comes, it is run from the first byte to the last row, or ends with an error: in a small database of its own, by an
//! account that may do everything there and nothing elsewhere. The corpus is every statement of the golden scripts. What has
//! parameters is also prepared, and executed with values of any kind.
//!
//! A statement that runs for seconds is killed, and must then end; one that does not ends the test, with its text.

mod definitions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidemark_sql::types::{ColumnMeta, Date, DateTime, Decimal, Time, Value};
use tidemark_sql::{ConnectInfo, Database, Discard, OkInfo, Options, Result, ResultSink, Session};
use tidemark_testing::Random;
use tidemark_testing::fuzz::Corpus;

/// A database serves so many inputs, and a session so many.
const INPUTS_OF_DATABASE: u64 = 2000;
/// Definitions are tried in one database, each with several statements.
const DEFINITIONS_OF_DATABASE: u64 = 500;
const INPUTS_OF_SESSION: u64 = 40;

/// After so long a statement is killed, and after so long it does not end by that.
const KILLED_AFTER: Duration = Duration::from_secs(2);
const HANGS_AFTER: Duration = Duration::from_secs(60);

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DECIMAL(8,2), d DATETIME(3), e DOUBLE, j JSON, KEY (a), KEY (b, a));
    INSERT INTO t VALUES (1, 1, 'a', 1.5, '2024-02-29 12:30:00', 0.5, '{\"a\": [1, 2]}'), (2, NULL, 'B', -2, NULL, 1e10, '[]'), (3, 3, '', 0, '1999-01-01', NULL, NULL);
    CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, t INT, s SET('a','b'), x VARBINARY(8), y YEAR, f TIME, UNIQUE (t), FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE);
    INSERT INTO u VALUES (1, 1, 'a', 'x', 2024, '-10:00:00'), (2, NULL, 'a,b', '', NULL, NULL)";

const WORDS: &str = "SELECT FROM WHERE t u id a b c d e j s x y f DISTINCT GROUP BY ORDER HAVING LIMIT JOIN LEFT ON UNION ALL INTERSECT EXCEPT WITH RECURSIVE AS OF LATERAL NULL DEFAULT
    IN EXISTS BETWEEN LIKE REGEXP IS NOT AND OR XOR CASE WHEN THEN ELSE END INTERVAL DAY CAST( CONVERT( COUNT( SUM( MAX( GROUP_CONCAT( REPEAT( JSON_EXTRACT( DATE_ADD( IF( COALESCE(
    ( ) , ; . ? = <=> < > + - * / % << ^ ~ ! := @v @@sql_mode -> ->> 0 1 -1 1.5 1e400 18446744073709551615 -9223372036854775808 0x00 b'1' '' 'a' '\\' '2024-02-30' '$.a' _utf8mb4 COLLATE utf8mb4_bin";

/// The connection and the input that run now, and since when.
type Running = Arc<Mutex<Option<(u64, Vec<u8>, Instant)>>>;

struct World {
    database: Arc<Database>,
    dir: PathBuf,
    session: Option<Session>,
    inputs: u64,
    inputs_of_database: u64,
    running: Running,
}

impl World {
    fn new(name: &str) -> World {
        let dir = std::env::temp_dir().join(format!("tidemark-fuzz-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let pairs = [
            ("innodb_buffer_pool_size", "32M"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("max_allowed_packet", "1M"),
            ("max_execution_time", "500"),
            ("lock_wait_timeout", "1"),
            ("innodb_lock_wait_timeout", "1"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_string(), Some(value.to_string())));
        let database = tidemark_sql::open(Options::from_pairs(dir.clone(), pairs).unwrap()).unwrap();
        let running = Running::default();
        let (watched, of) = (Arc::clone(&running), Arc::clone(&database));
        std::thread::spawn(move || watch(&watched, &of));
        let mut world = World {
            database,
            dir,
            session: None,
            inputs: 0,
            inputs_of_database: 0,
            running,
        };
        let mut root = world.connect("root", None);
        for sql in ["CREATE USER fuzz@localhost", "GRANT ALL ON d.* TO fuzz@localhost"] {
            root.query(sql.as_bytes(), &mut Discard).unwrap();
        }
        world.prepare();
        world
    }

    fn connect(&self, user: &str, schema: Option<&str>) -> Session {
        let info = ConnectInfo {
            connection_id: self.inputs + 1,
            user: user.to_string(),
            host: "localhost".to_string(),
            port: 0,
            account: self.database.account(user, "localhost").unwrap(),
            database: schema.map(str::to_string),
            // Many statements in a text.
            capabilities: 1 << 16,
            collation: 255,
            encryption: None,
            attributes: Vec::new(),
            password_expired: false,
            client: None,
        };
        Session::connect(Arc::clone(&self.database), info).unwrap()
    }

    /// The tables, as they were at first.
    fn prepare(&mut self) {
        self.session = None;
        let mut root = self.connect("root", None);
        for sql in ["DROP DATABASE IF EXISTS d", "CREATE DATABASE d", "USE d"]
            .into_iter()
            .chain(TABLES.split(';'))
        {
            root.query(sql.trim().as_bytes(), &mut Discard)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    /// Makes the database anew when so many inputs have come since it was made.
    fn prepare_after(&mut self, inputs: u64) {
        self.inputs_of_database += 1;
        if self.inputs_of_database > inputs {
            self.inputs_of_database = 0;
            self.prepare();
        }
    }

    fn run(&mut self, input: &[u8]) -> Result<()> {
        self.run_into(input, &mut Discard)
    }

    fn run_into(&mut self, input: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        if self.inputs.is_multiple_of(INPUTS_OF_SESSION) {
            self.session = None;
        }
        self.inputs += 1;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => {
                // An input may have dropped it.
                let mut root = self.connect("root", None);
                root.query(b"CREATE DATABASE IF NOT EXISTS d", &mut Discard)
                    .unwrap();
                self.connect("fuzz", Some("d"))
            }
        };
        *self.running.lock().unwrap() = Some((session.connection_id(), input.to_vec(), Instant::now()));
        let done = session.query(input, out);
        if input.contains(&b'?') {
            execute(&mut session, input, self.inputs);
        }
        *self.running.lock().unwrap() = None;
        // A panic leaves no session behind, and neither does a kill.
        self.session = (!session.is_killed()).then_some(session);
        done
    }

    /// The definition of the table or view `made`, if there is one.
    fn shown(&mut self) -> Option<Vec<u8>> {
        let mut texts = Texts::default();
        self.run_into(b"SHOW CREATE TABLE made", &mut texts).ok()?;
        Some(texts.0.swap_remove(1))
    }

    fn drop_made(&mut self) {
        for sql in ["DROP TABLE IF EXISTS made", "DROP VIEW IF EXISTS made"] {
            self.run(sql.as_bytes())
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}

/// Keeps the texts of a result.
#[derive(Default)]
struct Texts(Vec<Vec<u8>>);

impl ResultSink for Texts {
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {}
    fn null(&mut self) {}
    fn int(&mut self, _: i64) {}
    fn uint(&mut self, _: u64) {}
    fn float(&mut self, _: f32) {}
    fn double(&mut self, _: f64) {}
    fn decimal(&mut self, _: &str) {}
    fn bytes(&mut self, value: &[u8]) {
        self.0.push(value.to_vec());
    }
    fn date(&mut self, _: Date) {}
    fn datetime(&mut self, _: DateTime) {}
    fn time(&mut self, _: Time) {}
    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }
    fn is_full(&self) -> bool {
        false
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_rows(&mut self, _: u16, _: u16, _: &[tidemark_sql::SessionChange]) -> Result<()> {
        Ok(())
    }
    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.database.shutdown();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Kills what runs for long, and ends the test if that does not help.
fn watch(running: &Running, database: &Database) {
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let Some((id, input, since)) = running.lock().unwrap().clone() else {
            continue;
        };
        if since.elapsed() > KILLED_AFTER {
            let _ = database.kill(id, true);
        }
        if since.elapsed() > HANGS_AFTER {
            println!("does not end: {}", input.escape_ascii());
            std::process::abort();
        }
    }
}

fn execute(session: &mut Session, input: &[u8], seed: u64) {
    let Ok(prepared) = session.prepare(input) else {
        return;
    };
    let mut random = Random::new(seed);
    for _ in 0..3 {
        let values: Vec<Value> = prepared.params.iter().map(|_| value(&mut random)).collect();
        let _ = session.execute(prepared.id, &values, &mut Discard);
    }
    session.close_statement(prepared.id);
}

fn value(random: &mut Random) -> Value {
    let number = random.number() >> random.below(64);
    match random.below(9) {
        0 => Value::Null,
        1 => Value::Int(number as i64),
        2 => Value::UInt(number),
        3 => Value::Double(f64::from_bits(random.number())),
        4 => Value::Float(f32::from_bits(random.number() as u32)),
        5 => Decimal::parse(&format!("{number}.{}", random.below(1000))).map_or(Value::Null, Value::Decimal),
        6 => Value::string(number.to_le_bytes()[..random.below(9)].to_vec()),
        7 => {
            let mut below = |bound| random.below(bound) as u8;
            let (month, day, hour, minute, second) = (below(13), below(32), below(24), below(60), below(60));
            let date = Date::new(random.below(10_000) as u16, month, day);
            Value::DateTime(DateTime::new(
                date,
                hour,
                minute,
                second,
                random.below(1_000_000) as u32,
                6,
            ))
        }
        _ => Value::string(*random.choice(&[
            "",
            "a",
            "1",
            "2024-02-30",
            "{}",
            "[1]",
            "-0",
            "1e999",
            "%",
            "\u{10ffff}",
        ])),
    }
}

/// Every statement of the golden scripts that stands on one line.
fn corpus() -> Corpus {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(scripts)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    paths.sort();
    let mut corpus = Corpus::new("statements")
        .words(WORDS)
        .lines(include_str!("../corpus/statements.sql"));
    for path in paths {
        let text = std::fs::read(path).unwrap();
        let lines = String::from_utf8_lossy(&text).into_owned();
        for line in lines
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        {
            corpus = corpus.input(line);
        }
    }
    corpus
}

#[test]
fn statements_of_any_text() {
    let mut world = World::new("statements");
    // Errors are answers.
    corpus().play(1500, |input| {
        world.prepare_after(INPUTS_OF_DATABASE);
        let _ = world.run(input);
    });
}

/// Definitions as dumps have them, and as they are shown once they are there.
#[test]
fn dumped_definitions_of_any_text() {
    let dump = include_str!("../corpus/dump.sql");
    let statements = dump.split_terminator(";\n");
    let corpus = statements.fold(Corpus::new("dump").words(WORDS), Corpus::input);
    let mut world = World::new("dump");
    corpus.play(800, |input| {
        world.prepare_after(INPUTS_OF_DATABASE);
        let _ = world.run(input);
        for show in ["SHOW CREATE TABLE p", "SHOW CREATE TABLE c", "SHOW CREATE VIEW w"] {
            let _ = world.run(show.as_bytes());
        }
    });
}

/// A definition but for the character sets of its columns: a collation that a column has from its table is shown alone, one that it was
/// given, as it is when a shown definition is loaded, with its set.
fn without_sets(definition: &[u8]) -> String {
    let text = String::from_utf8_lossy(definition);
    let mut parts = text.split(" CHARACTER SET ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        before + part.trim_start_matches(|c: char| c.is_alphanumeric())
    })
}

/// A definition that is accepted is shown as one that is accepted and shown the same; and most of those that a dump may hold are.
#[test]
fn definitions_load_as_they_are_shown() {
    let corpus = Corpus::new("definition")
        .words(WORDS)
        .grammar(definitions::definition);
    let mut world = World::new("definition");
    let (mut inputs, mut whole) = (0, 0);
    corpus.play(600, |input| {
        inputs += 1;
        world.prepare_after(DEFINITIONS_OF_DATABASE);
        // An error if it is there, which it is unless the database is new.
        let _ = world.run(definitions::PARENT.as_bytes());
        world.drop_made();
        let is_accepted = world.run(input).is_ok();
        // A mutated input may also have made something else.
        let Some(shown) = world.shown().filter(|_| is_accepted) else {
            return;
        };
        whole += 1;
        world.drop_made();
        let again = world.run(&shown);
        assert!(again.is_ok(), "{again:?}: {}", shown.escape_ascii());
        let shown_again = world.shown().expect("it is there");
        assert_eq!(without_sets(&shown), without_sets(&shown_again));
    });
    assert!(
        whole * 2 > inputs,
        "of {inputs} definitions {whole} were accepted"
    );
}
