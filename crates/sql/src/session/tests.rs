//! Conversations with a database on a real engine.

mod columns_at_once;
mod explain;
mod failing_disk;
mod foreign_keys;
mod histograms;
mod json_table;
mod kept;
mod kept_plans;
mod nested;
mod old_documents;
mod online;
mod plans;
mod row_hooks;
mod shapes;
mod statistics;
mod temporary;
mod transaction_events;
mod work;

use super::Session;
use crate::context::{ConnectInfo, Database, OkInfo, Options, ResultSink, SERVER_ID, capability, status};
use crate::error::Result;
use crate::types::{ColumnMeta, Date, DateTime, Time};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_engine::disk::sim::SimDisk;

/// The results, as text: rows with `|` between values, OKs as `ok N` with their info.
#[derive(Default)]
pub(super) struct Text {
    pub(super) lines: Vec<String>,
    row: Vec<String>,
    last_insert_id: u64,
    warnings: u16,
    status: u16,
    more: bool,
}

impl Text {
    fn status_with(&self, status: u16) -> u16 {
        match self.more {
            true => status | status::MORE_RESULTS_EXISTS,
            false => status,
        }
    }
}

impl ResultSink for Text {
    fn more_follows(&mut self, more: bool) -> bool {
        std::mem::replace(&mut self.more, more)
    }
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {
        self.row.clear();
    }
    fn null(&mut self) {
        self.row.push("NULL".to_owned());
    }
    fn int(&mut self, value: i64) {
        self.row.push(value.to_string());
    }
    fn uint(&mut self, value: u64) {
        self.row.push(value.to_string());
    }
    fn float(&mut self, value: f32) {
        self.row.push(value.to_string());
    }
    fn double(&mut self, value: f64) {
        self.row.push(value.to_string());
    }
    fn decimal(&mut self, digits: &str) {
        self.row.push(digits.to_owned());
    }
    fn bytes(&mut self, value: &[u8]) {
        self.row.push(String::from_utf8_lossy(value).into_owned());
    }
    fn date(&mut self, value: Date) {
        self.row.push(value.to_string());
    }
    fn datetime(&mut self, value: DateTime) {
        self.row.push(DateTime { fsp: 0, ..value }.to_string());
    }
    fn time(&mut self, value: Time) {
        self.row.push(Time { fsp: 0, ..value }.to_string());
    }
    fn end_row(&mut self) -> Result<()> {
        self.lines.push(self.row.join("|"));
        Ok(())
    }
    fn is_full(&self) -> bool {
        false
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_rows(&mut self, warnings: u16, status: u16, _: &[crate::context::SessionChange]) -> Result<()> {
        self.warnings = warnings;
        self.status = self.status_with(status);
        Ok(())
    }
    fn ok(&mut self, info: &OkInfo) -> Result<()> {
        self.warnings = info.warnings;
        self.status = self.status_with(info.status);
        self.last_insert_id = info.last_insert_id;
        let mut line = format!("ok {}", info.affected_rows);
        if !info.info.is_empty() {
            line.push(' ');
            line.push_str(&info.info);
        }
        self.lines.push(line);
        Ok(())
    }
}

/// A database in a directory of its own, or on a simulated disk.
pub(super) struct World {
    database: Option<Arc<Database>>,
    dir: PathBuf,
    disk: Option<SimDisk>,
    next_id: AtomicU64,
}

impl World {
    pub(super) fn new(name: &str) -> World {
        World::at(name, None)
    }

    fn at(name: &str, disk: Option<SimDisk>) -> World {
        let dir = std::env::temp_dir().join(format!("tidemark-session-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let mut world = World {
            database: None,
            dir,
            disk,
            next_id: AtomicU64::new(SERVER_ID + 1),
        };
        world.open();
        let mut root = world.root();
        ok(&mut root, "CREATE DATABASE d");
        world
    }

    fn open(&mut self) {
        let options = [
            ("innodb_buffer_pool_size", "16M"),
            ("innodb_log_buffer_size", "1M"),
            ("secure_file_priv", ""),
        ]
        .map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        let options = Options::from_pairs(self.dir.clone(), options).unwrap();
        let opened = match &self.disk {
            None => crate::open(options),
            Some(disk) => crate::open_on(options, Arc::new(disk.clone())),
        };
        self.database = Some(opened.unwrap());
    }

    fn database(&self) -> &Arc<Database> {
        self.database.as_ref().unwrap()
    }

    /// Stops and starts.
    fn restart(&mut self) {
        self.database.take().unwrap().shutdown().unwrap();
        self.open();
    }

    fn connect(&self, user: &str, schema: Option<&str>) -> Session {
        let database = self.database.as_ref().unwrap();
        let account = database.account(user, "localhost").unwrap();
        let info = ConnectInfo {
            connection_id: self.next_id.fetch_add(1, Ordering::Relaxed),
            user: user.to_owned(),
            host: "localhost".to_owned(),
            port: 0,
            account,
            database: schema.map(str::to_owned),
            capabilities: capability::MULTI_STATEMENTS,
            collation: 255,
            encryption: None,
            attributes: Vec::new(),
            password_expired: false,
            client: None,
        };
        Session::connect(Arc::clone(database), info).unwrap()
    }

    fn root(&self) -> Session {
        self.connect("root", None)
    }

    pub(super) fn session(&self) -> Session {
        self.connect("root", Some("d"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            let _ = database.shutdown();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

pub(super) fn run(session: &mut Session, sql: &str) -> Result<Text> {
    let mut text = Text::default();
    session.query(sql.as_bytes(), &mut text)?;
    Ok(text)
}

#[track_caller]
fn ok(session: &mut Session, sql: &str) -> Vec<String> {
    match run(session, sql) {
        Ok(text) => text.lines,
        Err(error) => panic!("{sql}: {error}"),
    }
}

#[track_caller]
fn fails(session: &mut Session, sql: &str) -> u16 {
    match run(session, sql) {
        Ok(text) => panic!("{sql}: {:?}", text.lines),
        Err(error) => error.code,
    }
}

#[test]
fn tables_come_and_go_and_survive_a_restart() {
    let mut world = World::new("tables");
    {
        let mut s = world.session();
        ok(
            &mut s,
            "CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, c VARCHAR(10) DEFAULT 'x', n DECIMAL(5,2), \
             PRIMARY KEY (id), KEY c (c(3)))",
        );
        let inserted = run(&mut s, "INSERT INTO t (c, n) VALUES ('a', 1.5), (DEFAULT, NULL)").unwrap();
        assert_eq!(inserted.last_insert_id, 1);
        assert_eq!(ok(&mut s, "SELECT * FROM t"), ["1|a|1.50", "2|x|NULL"]);
        assert_eq!(fails(&mut s, "CREATE TABLE t (a INT)"), 1050);
        assert_eq!(fails(&mut s, "SELECT * FROM missing"), 1146);
        assert_eq!(ok(&mut s, "DROP TABLE IF EXISTS missing"), ["ok 0"]);
    }
    world.restart();
    let mut s = world.session();
    assert_eq!(ok(&mut s, "SELECT id, c FROM t WHERE c = 'x'"), ["2|x"]);
    assert_eq!(
        ok(&mut s, "SHOW CREATE TABLE t"),
        [
            "t|CREATE TABLE `t` (\n  `id` int unsigned NOT NULL AUTO_INCREMENT,\n  `c` varchar(10) DEFAULT 'x',\n  \
          `n` decimal(5,2) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `c` (`c`(3))\n) ENGINE=InnoDB AUTO_INCREMENT=3 \
          DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
        ]
    );
    ok(&mut s, "TRUNCATE TABLE t");
    assert!(ok(&mut s, "SELECT * FROM t").is_empty());
    ok(&mut s, "RENAME TABLE t TO u");
    assert_eq!(ok(&mut s, "SHOW TABLES"), ["u"]);
    ok(&mut s, "DROP DATABASE d");
    assert_eq!(fails(&mut s, "SHOW TABLES"), 1046);
}

#[test]
fn alterations_keep_the_rows() {
    let world = World::new("alter");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(5), KEY (b))",
    );
    ok(&mut s, "INSERT INTO t VALUES (1, '10'), (2, '20'), (3, NULL)");
    assert_eq!(
        ok(
            &mut s,
            "ALTER TABLE t MODIFY b INT, ADD c INT NOT NULL DEFAULT 7 FIRST"
        ),
        ["ok 3 Records: 3  Duplicates: 0  Warnings: 0"]
    );
    assert_eq!(ok(&mut s, "SELECT * FROM t"), ["7|1|10", "7|2|20", "7|3|NULL"]);
    assert_eq!(fails(&mut s, "ALTER TABLE t ADD UNIQUE (c)"), 1062);
    assert_eq!(
        ok(
            &mut s,
            "ALTER TABLE t DROP INDEX b, ADD INDEX cb (c, b), ADD UNIQUE u (b)"
        ),
        ["ok 0 Records: 0  Duplicates: 0  Warnings: 0"]
    );
    assert_eq!(
        ok(&mut s, "SELECT a FROM t FORCE INDEX (cb) WHERE c = 7 AND b = 20"),
        ["2"]
    );
    assert_eq!(ok(&mut s, "SELECT a FROM t WHERE b = 10"), ["1"]);
    assert_eq!(fails(&mut s, "INSERT INTO t VALUES (1, 9, 10)"), 1062);
    assert_eq!(fails(&mut s, "ALTER TABLE t MODIFY b INT NOT NULL"), 1138);
    ok(&mut s, "ALTER TABLE t RENAME COLUMN a TO id, RENAME TO v");
    assert_eq!(ok(&mut s, "SELECT id FROM v ORDER BY id DESC LIMIT 1"), ["3"]);
    ok(&mut s, "ALTER TABLE v DROP PRIMARY KEY, DROP COLUMN c");
    assert_eq!(ok(&mut s, "SELECT * FROM v WHERE b = 20"), ["2|20"]);
    ok(&mut s, "ALTER TABLE v ADD n INT AUTO_INCREMENT PRIMARY KEY");
    assert_eq!(
        ok(&mut s, "SELECT id, n FROM v ORDER BY n"),
        ["1|1", "2|2", "3|3"]
    );
    ok(&mut s, "INSERT INTO v (id) VALUES (9)");
    assert_eq!(ok(&mut s, "SELECT n FROM v WHERE id = 9"), ["4"]);
    for (sql, code) in [
        ("ALTER TABLE v ADD COLUMN id INT", 1060),
        ("ALTER TABLE v ADD INDEX u (b)", 1061),
        ("ALTER TABLE v DROP COLUMN zz", 1091),
        ("ALTER TABLE v ADD PRIMARY KEY (id)", 1068),
        ("ALTER TABLE v ADD INDEX (zz)", 1072),
        ("ALTER TABLE v DROP PRIMARY KEY", 1075),
        ("ALTER TABLE v MODIFY b BLOB DEFAULT 'x'", 1101),
    ] {
        assert_eq!(fails(&mut s, sql), code, "{sql}");
    }
}

#[test]
fn transactions_begin_and_end_where_mysql_says() {
    let world = World::new("transactions");
    let (mut a, mut b) = (world.session(), world.session());
    ok(&mut a, "CREATE TABLE t (a INT PRIMARY KEY)");
    ok(&mut a, "BEGIN");
    let begun = run(&mut a, "INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(begun.status & status::IN_TRANS, status::IN_TRANS);
    assert!(ok(&mut b, "SELECT * FROM t").is_empty());
    assert_eq!(fails(&mut a, "INSERT INTO t VALUES (2), (1)"), 1062);
    assert_eq!(ok(&mut a, "SELECT * FROM t"), ["1"]);
    ok(&mut a, "SAVEPOINT s");
    ok(&mut a, "INSERT INTO t VALUES (3)");
    ok(&mut a, "ROLLBACK TO s");
    ok(&mut a, "COMMIT AND CHAIN");
    assert_eq!(ok(&mut b, "SELECT * FROM t"), ["1"]);
    assert_eq!(
        fails(&mut a, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        1568
    );
    ok(&mut a, "ROLLBACK");
    ok(&mut a, "SET autocommit = 0");
    ok(&mut a, "INSERT INTO t VALUES (4)");
    ok(&mut a, "ROLLBACK");
    ok(&mut a, "INSERT INTO t VALUES (5)");
    ok(&mut a, "SET autocommit = 1");
    assert_eq!(ok(&mut b, "SELECT * FROM t"), ["1", "5"]);
    ok(&mut a, "START TRANSACTION READ ONLY");
    assert_eq!(fails(&mut a, "DELETE FROM t"), 1792);
    ok(&mut a, "COMMIT");
    assert_eq!(fails(&mut a, "ROLLBACK TO nowhere"), 1305);
    // DDL commits what is open.
    ok(&mut a, "BEGIN");
    ok(&mut a, "INSERT INTO t VALUES (6)");
    ok(&mut a, "CREATE TABLE u (a INT)");
    ok(&mut a, "ROLLBACK");
    assert_eq!(ok(&mut b, "SELECT COUNT(*) FROM t"), ["3"]);
}

#[test]
fn ddl_waits_for_open_transactions() {
    let world = World::new("metadata");
    let (mut a, mut b) = (world.session(), world.session());
    ok(&mut a, "CREATE TABLE t (a INT PRIMARY KEY)");
    ok(&mut a, "BEGIN");
    ok(&mut a, "SELECT * FROM t");
    ok(&mut b, "SET lock_wait_timeout = 1");
    assert_eq!(fails(&mut b, "DROP TABLE t"), 1205);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            ok(&mut b, "SET lock_wait_timeout = 100");
            ok(&mut b, "ALTER TABLE t ADD b INT")
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        ok(&mut a, "COMMIT");
        waiting.join().unwrap();
    });
    ok(&mut a, "INSERT INTO t VALUES (1, 2)");
    assert_eq!(ok(&mut a, "SELECT * FROM t"), ["1|2"]);
}

#[test]
fn variables_are_read_and_set() {
    let world = World::new("variables");
    let mut s = world.session();
    assert_eq!(
        ok(&mut s, "SELECT @@autocommit, @@session.sql_mode LIKE '%STRICT%'"),
        ["1|1"]
    );
    ok(
        &mut s,
        "SET @a = 1 + 1, SESSION sql_mode = 'ANSI_QUOTES', @b = (SELECT 5)",
    );
    assert_eq!(ok(&mut s, "SELECT @a, @@sql_mode, @b"), ["2|ANSI_QUOTES|5"]);
    assert_eq!(ok(&mut s, "SHOW VARIABLES LIKE 'autocommit'"), ["autocommit|ON"]);
    assert_eq!(
        ok(&mut s, "SHOW VARIABLES WHERE Variable_name = 'wait_timeout'"),
        ["wait_timeout|28800"]
    );
    for (sql, code) in [
        ("SET no_such_variable = 1", 1193),
        ("SET version = 'x'", 1238),
        ("SET max_connections = 5", 1229),
        ("SET GLOBAL warning_count = 5", 1238),
        ("SET autocommit = 7", 1231),
        ("SET wait_timeout = 'soon'", 1232),
        ("SELECT @@global.timestamp", 1238),
        ("SET NAMES klingon", 1115),
    ] {
        assert_eq!(fails(&mut s, sql), code, "{sql}");
    }
    ok(&mut s, "SET GLOBAL wait_timeout = 100");
    assert_eq!(
        ok(&mut s, "SELECT @@wait_timeout, @@global.wait_timeout"),
        ["28800|100"]
    );
    assert_eq!(ok(&mut world.session(), "SELECT @@wait_timeout"), ["100"]);
    let warned = run(&mut s, "SET GLOBAL max_connections = 1000000").unwrap();
    assert_eq!(warned.warnings, 1);
    assert_eq!(ok(&mut s, "SHOW WARNINGS")[0].split('|').nth(1), Some("1292"));
}

#[test]
fn statements_are_prepared_and_several_sent_at_once() {
    let world = World::new("prepared");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 10), (2, 20)",
    );
    ok(&mut s, "PREPARE p FROM 'SELECT b FROM t WHERE a = ?'; SET @x = 2");
    assert_eq!(ok(&mut s, "EXECUTE p USING @x"), ["20"]);
    ok(&mut s, "DEALLOCATE PREPARE p");
    assert_eq!(fails(&mut s, "EXECUTE p"), 1243);
    let prepared = s.prepare(b"SELECT b, a FROM t WHERE a = ?").unwrap();
    assert_eq!((prepared.params.len(), prepared.columns.len()), (1, 2));
    for (value, row) in [(1, "10|1"), (2, "20|2")] {
        let mut text = Text::default();
        s.execute(prepared.id, &[crate::types::Value::Int(value)], &mut text)
            .unwrap();
        assert_eq!(text.lines, [row]);
    }
    // The definition changes under the prepared statement.
    ok(&mut s, "ALTER TABLE t ADD c INT FIRST");
    let mut text = Text::default();
    s.execute(prepared.id, &[crate::types::Value::Int(1)], &mut text)
        .unwrap();
    assert_eq!(text.lines, ["10|1"]);
    s.close_statement(prepared.id);
    assert_eq!(
        s.execute(prepared.id, &[], &mut Text::default())
            .unwrap_err()
            .code,
        1243
    );
    assert_eq!(fails(&mut s, "   "), 1065);
    assert_eq!(fails(&mut s, "SELECT 1; SELEC 2"), 1064);
}

#[test]
fn the_history_has_the_texts_of_prepared_statements_as_long_as_those_are_there_and_behind_them() {
    let world = World::new("prepared_texts");
    let (mut s, mut watcher) = (world.session(), world.root());
    ok(
        &mut s,
        "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)",
    );
    let (one, other) = (
        s.prepare(b"SELECT a FROM t WHERE a = ?").unwrap(),
        s.prepare(b"DELETE FROM t").unwrap(),
    );
    let value = crate::types::Value::Int(2);
    for (id, params) in [(one.id, &[value][..]), (other.id, &[]), (one.id, &[])] {
        // The last lacks its parameter.
        let executed = s.execute(id, params, &mut Text::default());
        assert_eq!(executed.is_err(), id == one.id && params.is_empty());
    }
    let history = format!(
        "SELECT SQL_TEXT, ROWS_SENT, ROWS_AFFECTED, SELECT_SCAN, ERRORS FROM performance_schema.events_statements_history WHERE \
         THREAD_ID = {} AND EVENT_NAME = 'statement/com/Execute' ORDER BY EVENT_ID",
        s.connection_id()
    );
    let seen = [
        "SELECT a FROM t WHERE a = ?|1|0|0|0",
        "DELETE FROM t|0|2|0|0",
        "SELECT a FROM t WHERE a = ?|0|0|0|1",
    ];
    s.close_statement(one.id);
    assert_eq!(ok(&mut watcher, &history), seen);
    s.close_statement(other.id);
    ok(&mut s, "SELECT * FROM t WHERE a + 0 = 7");
    assert_eq!(ok(&mut watcher, &history), seen);
    let last = history
        .replace("_history", "_current")
        .replace("com/Execute", "sql/select");
    assert_eq!(
        ok(&mut watcher, &last),
        ["SELECT * FROM t WHERE a + 0 = 7|0|0|1|0"]
    );
}

#[test]
fn roles_count_while_they_are_active_and_survive_a_restart() {
    let mut world = World::new("roles");
    let mut root = world.session();
    ok(&mut root, "CREATE TABLE t (a INT PRIMARY KEY)");
    ok(&mut root, "CREATE ROLE r, s; CREATE USER u DEFAULT ROLE r");
    ok(
        &mut root,
        "GRANT SELECT ON d.* TO s; GRANT s TO r WITH ADMIN OPTION",
    );
    drop(root);
    world.restart();
    let mut root = world.session();
    let mut u = world.connect("u", Some("d"));
    assert_eq!(ok(&mut u, "SELECT CURRENT_ROLE()"), ["`r`@`%`"]);
    ok(&mut u, "SELECT * FROM t; SET ROLE NONE");
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    ok(&mut u, "SET ROLE ALL; SELECT * FROM t");
    // The cached plan is not run for a role that is gone.
    ok(&mut root, "REVOKE s FROM r");
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    ok(&mut root, "GRANT s TO r");
    ok(&mut u, "SELECT * FROM t");
    assert_eq!(fails(&mut root, "GRANT r TO s"), 4027);
    assert_eq!(fails(&mut u, "SET ROLE s"), 3530);
    ok(&mut root, "DROP ROLE s");
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    assert_eq!(
        ok(&mut u, "SHOW GRANTS"),
        ["GRANT USAGE ON *.* TO `u`@`%`", "GRANT `r`@`%` TO `u`@`%`"]
    );
}

#[test]
fn columns_are_asked_for_wherever_they_are_named() {
    let mut world = World::new("columns");
    let mut root = world.session();
    ok(&mut root, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)");
    ok(
        &mut root,
        "CREATE USER u; GRANT SELECT (a), INSERT (a, b), UPDATE (b) ON d.t TO u",
    );
    drop(root);
    world.restart();
    let mut root = world.session();
    let mut u = world.connect("u", Some("d"));
    ok(&mut u, "INSERT INTO t (b, a) VALUES (1, 2), (3, 4)");
    ok(
        &mut u,
        "INSERT INTO t (b, a) VALUES (1, 2) AS n ON DUPLICATE KEY UPDATE b = n.a",
    );
    let insert = "INSERT INTO t (b, a) VALUES (1, 2) AS n ON DUPLICATE KEY UPDATE b = n.b";
    assert_eq!(fails(&mut u, insert), 1143);
    assert_eq!(fails(&mut u, "INSERT INTO t VALUES (1, 2, 3)"), 1142);
    ok(&mut u, "UPDATE t SET b = a WHERE a = 2");
    assert_eq!(fails(&mut u, "UPDATE t SET b = c"), 1143);
    assert_eq!(fails(&mut u, "UPDATE t SET c = 1"), 1143);
    assert_eq!(fails(&mut u, "UPDATE t SET nosuch = 1"), 1143);
    assert_eq!(ok(&mut u, "SELECT a FROM t ORDER BY a"), ["2", "4"]);
    assert_eq!(ok(&mut u, "SELECT COUNT(*) FROM t"), ["2"]);
    for query in ["b", "*", "t.*"].map(|what| format!("SELECT {what} FROM t")) {
        assert!([1142, 1143].contains(&fails(&mut u, &query)), "{query}");
    }
    // Plans are made anew where they must be, and the same plan serves where nothing changes.
    ok(&mut root, "GRANT SELECT ON d.* TO u");
    assert_eq!(ok(&mut u, "SELECT b FROM t WHERE a = 2"), ["2"]);
    ok(&mut root, "REVOKE SELECT ON d.* FROM u");
    assert_eq!(fails(&mut u, "SELECT b FROM t WHERE a = 2"), 1143);
    assert_eq!(ok(&mut u, "SELECT a FROM t ORDER BY a"), ["2", "4"]);
    assert_eq!(
        ok(
            &mut u,
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'd'"
        ),
        ["a", "b"]
    );
}

#[test]
fn accounts_may_do_what_they_were_granted() {
    let world = World::new("accounts");
    let mut root = world.session();
    ok(&mut root, "CREATE TABLE t (a INT PRIMARY KEY)");
    ok(&mut root, "CREATE USER 'u'@'%' IDENTIFIED BY 'pw'");
    assert_eq!(fails(&mut root, "CREATE USER 'u'@'%'"), 1396);
    let mut u = world.connect("u", None);
    assert_eq!(fails(&mut u, "USE d"), 1044);
    assert_eq!(fails(&mut u, "SELECT * FROM d.t"), 1142);
    ok(&mut root, "GRANT SELECT ON d.* TO 'u'@'%'");
    ok(&mut u, "USE d");
    ok(&mut u, "SELECT * FROM t");
    assert_eq!(fails(&mut u, "INSERT INTO t VALUES (1)"), 1142);
    assert_eq!(fails(&mut u, "CREATE TABLE v (a INT)"), 1142);
    assert_eq!(fails(&mut u, "CREATE USER x"), 1227);
    assert_eq!(fails(&mut u, "SET GLOBAL max_connections = 7"), 1227);
    ok(&mut root, "GRANT INSERT ON d.t TO 'u'@'%'");
    ok(&mut u, "INSERT INTO t VALUES (1)");
    assert_eq!(
        ok(&mut u, "SHOW GRANTS"),
        [
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT SELECT ON `d`.* TO `u`@`%`",
            "GRANT INSERT ON `d`.`t` TO `u`@`%`"
        ]
    );
    ok(&mut root, "REVOKE SELECT ON d.* FROM 'u'@'%'");
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    ok(&mut root, "DROP USER 'u'@'%'");
    assert!(
        world
            .database
            .as_ref()
            .unwrap()
            .account("u", "localhost")
            .is_none()
    );
    // The root account is for this machine alone.
    assert!(
        world
            .database
            .as_ref()
            .unwrap()
            .account("root", "10.0.0.1")
            .is_none()
    );
}

#[test]
fn kill_ends_statements_and_sessions() {
    let world = World::new("kill");
    let (mut a, mut b) = (world.session(), world.session());
    ok(
        &mut a,
        "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1)",
    );
    ok(&mut a, "BEGIN");
    ok(&mut a, "SELECT * FROM t FOR UPDATE");
    let id = b.connection_id();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fails(&mut b, "UPDATE t SET a = 2"));
        std::thread::sleep(std::time::Duration::from_millis(50));
        ok(&mut a, &format!("KILL QUERY {id}"));
        assert_eq!(waiting.join().unwrap(), 1317);
    });
    assert!(!b.is_killed());
    ok(&mut a, &format!("KILL {id}"));
    assert!(b.is_killed());
    assert_eq!(fails(&mut a, "KILL 999"), 1094);
}

/// Every virtual table can be read, and each of its rows has a value for each of its columns.
#[test]
fn virtual_tables_answer() {
    let world = World::new("virtual");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), c DECIMAL(5, 2), UNIQUE (b), CHECK (c > 0))",
    );
    ok(&mut s, "BEGIN");
    for schema in ["information_schema", "performance_schema", "mysql"] {
        for table in crate::dictionary::virtual_tables::tables(schema) {
            let rows = crate::information_schema::rows(&table, s.state()).unwrap();
            for row in rows {
                assert_eq!(row.len(), table.columns.len(), "{schema}.{}", table.name);
            }
            ok(&mut s, &format!("SELECT COUNT(*) FROM {schema}.{}", table.name));
        }
    }
    assert_eq!(
        ok(
            &mut s,
            "SELECT TABLE_NAME FROM information_schema.tables WHERE table_schema = 'd'"
        ),
        ["t"]
    );
    assert_eq!(
        ok(
            &mut s,
            "SELECT constraint_name FROM information_schema.table_constraints WHERE table_name = 't' ORDER BY 1"
        ),
        ["b", "PRIMARY", "t_chk_1"]
    );
    assert_eq!(
        ok(&mut s, "SELECT User, Host, Super_priv FROM mysql.user"),
        ["root|localhost|Y"]
    );
    assert_eq!(fails(&mut s, "DELETE FROM mysql.user"), 1044);
    assert_eq!(fails(&mut s, "CREATE TABLE mysql.x (a INT)"), 1044);
    assert_eq!(fails(&mut s, "DROP DATABASE mysql"), 1044);
}

#[test]
fn tables_can_be_read_as_they_were() {
    let world = World::new("as-of");
    let mut s = world.session();
    let pause = || std::thread::sleep(std::time::Duration::from_millis(250));
    let tide = |s: &mut Session| {
        let status = ok(s, "SHOW GLOBAL STATUS LIKE 'Tidemark_tide_lsn'");
        status[0].split('|').nth(1).unwrap().to_owned()
    };
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
    ok(&mut s, "CREATE TABLE u (id INT PRIMARY KEY)");
    ok(&mut s, "INSERT INTO t VALUES (1, 10), (2, 20)");
    ok(&mut s, "INSERT INTO u VALUES (1)");
    assert_eq!(
        fails(&mut s, "SELECT * FROM t AS OF TIMESTAMP '2001-01-01'"),
        1105
    );
    assert_eq!(fails(&mut s, "SELECT * FROM t AS OF LSN 1"), 1105);
    ok(&mut s, "SET GLOBAL innodb_undo_retention = 600");
    pause();
    let before = tide(&mut s);
    ok(&mut s, "UPDATE t SET v = 11 WHERE id = 1");
    ok(&mut s, "DELETE FROM t WHERE id = 2");
    pause();
    let time = ok(&mut s, "SELECT CAST(NOW(6) AS CHAR)").remove(0);
    let middle = tide(&mut s);
    pause();
    ok(&mut s, "INSERT INTO t VALUES (3, 30)");
    ok(&mut s, "UPDATE t SET v = 12");

    assert_eq!(ok(&mut s, "SELECT * FROM t"), ["1|12", "3|12"]);
    let at = |lsn: &str| format!("SELECT * FROM t AS OF LSN {lsn}");
    assert_eq!(ok(&mut s, &at(&before)), ["1|10", "2|20"]);
    assert_eq!(ok(&mut s, &at(&middle)), ["1|11"]);
    assert_eq!(
        ok(
            &mut s,
            &format!("SELECT x.v FROM t AS OF TIMESTAMP '{time}' AS x")
        ),
        ["11"]
    );
    // In a transaction, beside its own view; through an index; joined, and in a subquery.
    ok(&mut s, "BEGIN");
    ok(&mut s, "SELECT * FROM t");
    assert_eq!(ok(&mut s, &format!("{} WHERE v = 20", at(&before))), ["2|20"]);
    let joined = format!("SELECT t.v FROM t AS OF LSN {before} JOIN u AS OF LSN {before} ON u.id = t.id");
    assert_eq!(ok(&mut s, &joined), ["10"]);
    let inner = format!("SELECT COUNT(*) FROM (SELECT id FROM t AS OF LSN {before}) d");
    assert_eq!(ok(&mut s, &inner), ["2"]);
    assert_eq!(ok(&mut s, "SELECT * FROM t"), ["1|12", "3|12"]);
    ok(&mut s, "COMMIT");
    // One moment a statement, and no other but now for what changes or locks.
    assert_eq!(
        fails(&mut s, &format!("SELECT * FROM t AS OF LSN {before}, u")),
        1235
    );
    assert_eq!(fails(&mut s, &format!("{} FOR UPDATE", at(&before))), 1235);
    assert_eq!(
        fails(
            &mut s,
            &format!("INSERT INTO u SELECT id + 10 FROM t AS OF LSN {before}")
        ),
        1235
    );
    assert_eq!(fails(&mut s, "SELECT * FROM t AS OF LSN 99999999999"), 1105);
    assert_eq!(fails(&mut s, "SELECT * FROM t AS OF TIMESTAMP NULL"), 1105);
    // What is still to come.
    let later = "SELECT * FROM t AS OF TIMESTAMP NOW() + INTERVAL 1 DAY";
    assert_eq!(fails(&mut s, later), 1105);
    let common = format!("WITH c AS (SELECT * FROM t) SELECT * FROM c AS OF LSN {before}");
    assert_eq!(fails(&mut s, &common), 1235);
    // To the microsecond, whatever the plan was made for.
    ok(&mut s, "PREPARE p FROM 'SELECT v FROM t AS OF TIMESTAMP ?'");
    ok(&mut s, "SET @at = TIMESTAMP'2001-01-01 00:00:00'");
    assert_eq!(fails(&mut s, "EXECUTE p USING @at"), 1105);
    ok(&mut s, &format!("SET @at = CAST('{time}' AS DATETIME(6))"));
    assert_eq!(ok(&mut s, "EXECUTE p USING @at"), ["11"]);
    // A definition that came later.
    ok(&mut s, "ALTER TABLE t ADD COLUMN w INT");
    assert_eq!(fails(&mut s, &at(&before)), 1412);
    ok(&mut s, "SET GLOBAL innodb_undo_retention = 0");
}

#[test]
fn who_holds_history_back_can_be_seen() {
    let world = World::new("views");
    let (mut s, mut old) = (world.session(), world.session());
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    ok(&mut s, "INSERT INTO t VALUES (1, 0), (2, 0)");
    ok(&mut old, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    ok(&mut s, "UPDATE t SET v = v + 1");
    ok(&mut s, "UPDATE t SET v = v + 1");
    let pid = ok(&mut old, "SELECT CONNECTION_ID()").remove(0);
    let seen = ok(
        &mut s,
        "SELECT pid, user, versions, bytes > 0 FROM sys.tidemark_views",
    );
    assert!(seen.contains(&format!("{pid}|root|2|1")), "{seen:?}");
    let status = ok(&mut s, "SHOW ENGINE INNODB STATUS").join("\n");
    assert!(status.contains("READ VIEWS AND PURGE"), "{status}");
    assert!(status.contains("2 versions and"), "{status}");
    let opened_by = "SELECT opened_by FROM sys.tidemark_views WHERE pid = ";
    let seen = ok(&mut s, &format!("{opened_by}{pid}"));
    assert_eq!(seen, ["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
    let history = "SELECT reason, versions, ended_by FROM sys.tidemark_history WHERE pid = ";
    let seen = ok(&mut s, &format!("{history}{pid}"));
    assert_eq!(
        seen,
        [format!("read view|2|COMMIT or ROLLBACK there, or KILL {pid}")]
    );
    ok(&mut old, "COMMIT");
    ok(&mut old, "BEGIN");
    ok(&mut old, "SELECT 1");
    ok(&mut old, "SELECT v FROM t WHERE id = 1");
    ok(&mut old, "SELECT v FROM t WHERE id = 2");
    let seen = ok(&mut s, &format!("{opened_by}{pid}"));
    assert_eq!(seen, ["SELECT v FROM t WHERE id = 1"]);
    ok(&mut old, "COMMIT");
    assert!(ok(&mut s, &format!("{opened_by}{pid}")).is_empty());
    ok(&mut s, "SET GLOBAL innodb_max_purge_lag = 1000");
    ok(&mut s, "SET GLOBAL innodb_max_purge_lag = 0");
}

#[test]
fn optimize_makes_a_table_anew_and_gives_room_back() {
    let world = World::new("optimize");
    let (mut s, mut old) = (world.session(), world.session());
    ok(
        &mut s,
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, c VARCHAR(200), KEY (k))",
    );
    ok(&mut s, "INSERT INTO t (k, c) VALUES (1, REPEAT('x', 150))");
    for _ in 0..13 {
        ok(&mut s, "INSERT INTO t (k, c) SELECT k + id, c FROM t");
    }
    ok(&mut s, "DELETE FROM t WHERE id % 8 <> 0");
    let sums = "SELECT COUNT(*), SUM(id), SUM(k), MIN(c) FROM t";
    let by_index = "SELECT COUNT(*), SUM(k) FROM t FORCE INDEX (k)";
    let before = (ok(&mut s, sums), ok(&mut s, by_index));
    let used = || {
        let status = world.database.as_ref().unwrap().engine().status();
        status.data_file_pages - status.data_file_pages_free
    };
    let full = used();
    let answer = ok(&mut s, "OPTIMIZE TABLE t");
    assert_eq!(answer.len(), 2, "{answer:?}");
    assert!(answer[1].ends_with("optimize|status|OK"), "{answer:?}");
    assert_eq!((ok(&mut s, sums), ok(&mut s, by_index)), before);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while used() > full * 2 / 3 {
        assert!(
            std::time::Instant::now() < until,
            "{} pages of {full} are still used",
            used()
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    ok(&mut s, "INSERT INTO t (k) VALUES (1)");
    // A transaction that uses the table is waited for, and a failure is a row of the result.
    ok(&mut old, "BEGIN");
    ok(&mut old, "SELECT COUNT(*) FROM t");
    ok(&mut s, "SET lock_wait_timeout = 1");
    let answer = ok(&mut s, "OPTIMIZE TABLE t, missing");
    assert!(answer[1].contains("Lock wait timeout"), "{answer:?}");
    assert!(answer[2].ends_with("status|Operation failed"), "{answer:?}");
    assert!(answer[3].contains("doesn't exist"), "{answer:?}");
    ok(&mut old, "COMMIT");
}

#[test]
fn a_covering_scan_of_a_prefix_index_goes_on_where_it_paused() {
    let world = World::new("prefix");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, c VARCHAR(20), KEY k (a, c(3)))",
    );
    ok(&mut s, "INSERT INTO t (a, c) VALUES (1, 'word')");
    for _ in 0..10 {
        ok(&mut s, "INSERT INTO t (a, c) SELECT a, CONCAT('w', id) FROM t");
    }
    ok(&mut s, "CREATE TABLE u (id INT PRIMARY KEY)");
    ok(&mut s, "INSERT INTO u VALUES (1), (2)");
    // The index covers what is asked for, but has only a prefix of `c`, so its columns cannot say where the scan is.
    let joined = "SELECT COUNT(*), COUNT(DISTINCT t.id) FROM t FORCE INDEX (k) STRAIGHT_JOIN u ON u.id = t.a WHERE t.a = 1";
    let plan = ok(&mut s, &format!("EXPLAIN FORMAT=TRADITIONAL {joined}"));
    assert!(
        plan[0].contains("|k|") && plan[0].ends_with("Using index"),
        "{plan:?}"
    );
    assert_eq!(ok(&mut s, joined), ["1024|1024"]);
}
