//! Whatever text comes, it is run from the first byte to the last row, or ends with an error: in a small database of its own, by an
//! account that may do everything there and nothing elsewhere. The corpus is every statement of the golden scripts. What has
//! parameters is also prepared, and executed with values of any kind.
//!
//! A statement that runs for seconds is killed, and must then end; one that does not ends the test, with its text.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidemark_sql::types::{Date, DateTime, Decimal, Value};
use tidemark_sql::{ConnectInfo, Database, Discard, Options, Session};
use tidemark_testing::Random;
use tidemark_testing::fuzz::Corpus;

/// A database serves so many inputs, and a session so many.
const INPUTS_OF_DATABASE: u64 = 2000;
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

    fn run(&mut self, input: &[u8]) {
        if self.inputs.is_multiple_of(INPUTS_OF_DATABASE) && self.inputs > 0 {
            self.prepare();
        }
        if self.inputs.is_multiple_of(INPUTS_OF_SESSION) {
            self.session = None;
        }
        self.inputs += 1;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect("fuzz", Some("d")),
        };
        *self.running.lock().unwrap() = Some((session.connection_id(), input.to_vec(), Instant::now()));
        // Errors are answers.
        let _ = session.query(input, &mut Discard);
        if input.contains(&b'?') {
            execute(&mut session, input, self.inputs);
        }
        *self.running.lock().unwrap() = None;
        // A panic leaves no session behind, and neither does a kill.
        self.session = (!session.is_killed()).then_some(session);
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
        .lines(include_str!("corpus/statements.sql"));
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
    corpus().play(1500, |input| world.run(input));
}

/// Definitions as dumps have them, and as they are shown once they are there.
#[test]
fn dumped_definitions_of_any_text() {
    let dump = include_str!("corpus/dump.sql");
    let statements = dump.split_terminator(";\n");
    let corpus = statements.fold(Corpus::new("dump").words(WORDS), Corpus::input);
    let mut world = World::new("dump");
    corpus.play(800, |input| {
        world.run(input);
        for show in ["SHOW CREATE TABLE p", "SHOW CREATE TABLE c", "SHOW CREATE VIEW w"] {
            world.run(show.as_bytes());
        }
    });
}
