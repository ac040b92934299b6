//! Queries from text to rows, on a real engine.

use crate::context::{ConnectInfo, Database, OkInfo, Options, ResultSink};
use crate::ddl;
use crate::error::Result;
use crate::exec::{self, Outcome, Receiver};
use crate::parse;
use crate::parse::ast::Class;
use crate::plan::statement::{Body, StatementPlan};
use crate::plan::{self, HashJoin, QueryBody, QueryPlan, Side};
use crate::session::Session;
use crate::types::{ColumnMeta, Date, DateTime, SqlMode, Time, Value};
use std::sync::Arc;
use tidemark_engine::{Isolation, Transaction};

/// Rows as text: values with `|` between them, a line per row.
#[derive(Default)]
struct Text {
    rows: Vec<String>,
    row: Vec<String>,
}

impl ResultSink for Text {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {
        self.row.clear();
    }
    fn null(&mut self) {
        self.row.push("NULL".to_string());
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
        self.row.push(digits.to_string());
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
        self.rows.push(self.row.join("|"));
        Ok(())
    }
    /// Now and then, so that scans pause and go on.
    fn is_full(&self) -> bool {
        self.rows.len() % 7 == 3
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_rows(&mut self, _warnings: u16, _status: u16, _: &[crate::context::SessionChange]) -> Result<()> {
        Ok(())
    }
    fn ok(&mut self, _info: &OkInfo) -> Result<()> {
        Ok(())
    }
}

struct World {
    session: Session,
    txn: Transaction,
    /// Which side hash joins keep where they may choose; `None`: as planned.
    side: Option<Side>,
    _dir: Dir,
}

struct Dir(std::path::PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn connect(database: &std::sync::Arc<Database>, schema: Option<&str>) -> Session {
    let account = database.account("root", "localhost").unwrap();
    let info = ConnectInfo {
        connection_id: 1,
        user: "root".to_string(),
        host: "localhost".to_string(),
        port: 0,
        account,
        database: schema.map(str::to_string),
        capabilities: 0,
        collation: 255,
        encryption: None,
        attributes: Vec::new(),
        password_expired: false,
        client: None,
    };
    Session::connect(Arc::clone(database), info).unwrap()
}

impl World {
    fn new(name: &str) -> World {
        let path = std::env::temp_dir().join(format!("tidemark-exec-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let dir = Dir(path.clone());
        let pairs = [("innodb_buffer_pool_size".to_string(), Some("64M".to_string()))];
        let options = Options::from_pairs(path, pairs).unwrap();
        let database = crate::open(options).unwrap();
        let first = connect(&database, None);
        let create = parse::parse(b"CREATE DATABASE d", 0, SqlMode::DEFAULT).unwrap();
        ddl::execute(first.state(), &create.statement).unwrap();
        let session = connect(&database, Some("d"));
        let txn = database.engine().transaction();
        World {
            session,
            txn,
            side: None,
            _dir: dir,
        }
    }

    fn try_run(&mut self, sql: &str, params: &[Value]) -> Result<String> {
        let state = self.session.state();
        let parsed = parse::parse(sql.as_bytes(), 0, SqlMode::DEFAULT)?;
        if parsed.statement.facts().class == Class::Definitions {
            ddl::execute(state, &parsed.statement)?;
            return Ok(String::new());
        }
        let mut plan = plan::plan(&parsed.statement, state, params.into())?;
        if let Some(side) = self.side {
            each_hash_join(&mut plan, &mut |hash| {
                if !hash.keeps_order {
                    hash.side = side;
                }
            });
        }
        let mut out = Text::default();
        self.txn.begin(Isolation::RepeatableRead, false);
        let outcome = exec::run(
            &plan,
            (state, &mut self.txn),
            params,
            &mut Receiver::Sink(&mut out),
            None,
        );
        match outcome {
            Ok(outcome) => {
                self.txn.commit()?;
                Ok(match outcome {
                    Outcome::Rows(_) => out.rows.join("\n"),
                    Outcome::Done { affected_rows, .. } => affected_rows.to_string(),
                })
            }
            Err(error) => {
                self.txn.rollback()?;
                Err(error)
            }
        }
    }

    fn run(&mut self, sql: &str) -> String {
        match self.try_run(sql, &[]) {
            Ok(text) => text,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    fn set(&mut self, assignments: &str) {
        let set = format!("SET {assignments}");
        self.session.query(set.as_bytes(), &mut Text::default()).unwrap();
    }

    fn is(&mut self, sql: &str, expected: &str) {
        assert_eq!(self.run(sql), expected, "{sql}");
    }

    fn fails(&mut self, sql: &str, code: u16) {
        match self.try_run(sql, &[]) {
            Ok(text) => panic!("{sql}: {text}"),
            Err(error) => assert_eq!(error.code, code, "{sql}: {error}"),
        }
    }
}

fn each_hash_join(plan: &mut StatementPlan, f: &mut dyn FnMut(&mut HashJoin)) {
    fn of_query(query: &mut QueryPlan, f: &mut dyn FnMut(&mut HashJoin)) {
        match &mut query.body {
            QueryBody::Select(select) => select.source.each_hash_join(f),
            QueryBody::Set { first, rest } => {
                of_query(first, f);
                rest.iter_mut().for_each(|branch| of_query(&mut branch.plan, f));
            }
            QueryBody::Values(_) | QueryBody::Recursive(_) => {}
        }
    }
    if let Body::Query(query) = &mut plan.body {
        of_query(query, f);
    }
    plan.queries.iter_mut().for_each(|query| of_query(query, f));
}

fn numbers(name: &str) -> World {
    let mut w = World::new(name);
    w.run("CREATE TABLE t (id INT PRIMARY KEY, k INT, c VARCHAR(20), KEY (k), KEY ck (c, k))");
    let rows: Vec<String> = (1..=100)
        .map(|i| format!("({i}, {}, 'c{}')", i % 10, i % 7))
        .collect();
    w.is(&format!("INSERT INTO t VALUES {}", rows.join(",")), "100");
    w
}

#[test]
fn points_ranges_and_order() {
    let mut w = numbers("ranges");
    w.is("SELECT c FROM t WHERE id = 5", "c5");
    w.is("SELECT id FROM t WHERE id = 500", "");
    w.is("SELECT COUNT(*) FROM t", "100");
    w.is("SELECT id FROM t WHERE id BETWEEN 3 AND 5", "3\n4\n5");
    w.is(
        "SELECT id FROM t WHERE id > 98 OR id = 2 ORDER BY id DESC",
        "100\n99\n2",
    );
    w.is("SELECT id FROM t WHERE id IN (7, 3, 3, 900)", "3\n7");
    w.is("SELECT id FROM t WHERE k = 3 ORDER BY id LIMIT 3", "3\n13\n23");
    w.is(
        "SELECT id FROM t WHERE k = 3 ORDER BY id DESC LIMIT 1, 2",
        "83\n73",
    );
    w.is("SELECT id FROM t ORDER BY k DESC, id LIMIT 2", "9\n19");
    w.is(
        "SELECT id, k FROM t WHERE c = 'C3' AND k > 7 ORDER BY k, id",
        "38|8\n59|9\n".trim_end(),
    );
    w.is("SELECT SUM(k) FROM t WHERE id BETWEEN 1 AND 10", "45");
    w.is(
        "SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 20 ORDER BY c DESC LIMIT 2",
        "c6\nc5",
    );
    w.is("SELECT MIN(id), MAX(id) FROM t", "1|100");
    w.is("SELECT MAX(id) FROM t", "100");
    w.is("SELECT MIN(k) FROM t", "0");
    w.is("SELECT MAX(id) FROM t WHERE id < 50", "49");
    w.is("SELECT id FROM t WHERE id = 5.5", "");
    w.is("SELECT id FROM t WHERE id > 98.5", "99\n100");
    w.is("SELECT id FROM t WHERE id = '7'", "7");
    w.is("SELECT 1 + 1, 'x'", "2|x");
    assert_eq!(w.run("SELECT id FROM t WHERE k >= 0").lines().count(), 100);
}

#[test]
fn groups() {
    let mut w = numbers("groups");
    w.is(
        "SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k LIMIT 2",
        "0|10\n1|10",
    );
    w.is(
        "SELECT c, SUM(k) AS s FROM t GROUP BY c HAVING s > 64 ORDER BY s DESC, c LIMIT 1",
        w_sum().as_str(),
    );
    w.is("SELECT COUNT(*), MAX(id) FROM t WHERE id > 1000", "0|NULL");
    w.is("SELECT k FROM t WHERE id > 1000 GROUP BY k", "");
    w.is(
        "SELECT id % 2 AS odd, COUNT(*) FROM t GROUP BY odd ORDER BY 1",
        "0|50\n1|50",
    );
    w.is("SELECT COUNT(DISTINCT c), AVG(k) FROM t", "7|4.5000");
    w.is(
        "SELECT id, c, COUNT(*) FROM t WHERE id < 3 GROUP BY id",
        "1|c1|1\n2|c2|1",
    );
    w.fails("SELECT id, COUNT(*) FROM t", 1140);
    w.fails("SELECT id, COUNT(*) FROM t GROUP BY k", 1055);
    w.fails("SELECT COUNT(*) FROM t WHERE COUNT(*) > 1", 1111);
    w.fails("SELECT nothing FROM t", 1054);
    w.fails("SELECT id FROM missing", 1146);
}

fn w_sum() -> String {
    let sum = |c: u32| (1..=100u32).filter(|i| i % 7 == c).map(|i| i % 10).sum::<u32>();
    let best = (0..7)
        .map(|c| (sum(c), c))
        .max_by_key(|(s, c)| (*s, std::cmp::Reverse(*c)))
        .unwrap();
    format!("c{}|{}", best.1, best.0)
}

#[test]
fn joins_and_subqueries() {
    let mut w = numbers("joins");
    w.run("CREATE TABLE u (id INT PRIMARY KEY, t_id INT, name VARCHAR(10))");
    w.run("INSERT INTO u VALUES (1, 5, 'five'), (2, 6, 'six'), (3, 500, 'none'), (4, NULL, 'null')");
    w.is(
        "SELECT u.name, t.k FROM u JOIN t ON t.id = u.t_id ORDER BY u.id",
        "five|5\nsix|6",
    );
    w.is(
        "SELECT u.name, t.k FROM u LEFT JOIN t ON t.id = u.t_id ORDER BY u.id",
        "five|5\nsix|6\nnone|NULL\nnull|NULL",
    );
    w.is(
        "SELECT u.name FROM u LEFT JOIN t ON t.id = u.t_id WHERE t.id IS NULL ORDER BY 1",
        "none\nnull",
    );
    w.is("SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.k = b.k", "1000");
    w.is(
        "SELECT COUNT(*) FROM t AS a JOIN u AS b ON a.k = b.t_id + 0",
        "20",
    );
    w.is("SELECT COUNT(*) FROM t, u", "400");
    w.is(
        "SELECT a.name FROM u a RIGHT JOIN t b ON a.t_id = b.id WHERE b.id IN (5, 7) ORDER BY b.id",
        "five\nNULL",
    );
    w.is(
        "SELECT id, k FROM t JOIN u USING (id) ORDER BY id LIMIT 2",
        "1|1\n2|2",
    );
    w.is(
        "SELECT name FROM u WHERE t_id IN (SELECT id FROM t WHERE k = 5)",
        "five",
    );
    w.is(
        "SELECT name FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.id = u.t_id) ORDER BY 1",
        "five\nsix",
    );
    w.is(
        "SELECT name, (SELECT k FROM t WHERE t.id = u.t_id) FROM u WHERE id < 3",
        "five|5\nsix|6",
    );
    w.is(
        "SELECT id FROM t WHERE id = (SELECT MAX(t_id) FROM u WHERE t_id < 100)",
        "6",
    );
    w.fails("SELECT (SELECT id FROM t)", 1242);
    w.is("SELECT COUNT(*) FROM t WHERE k IN (SELECT t_id FROM u)", "20");
    w.is("SELECT COUNT(*) FROM t WHERE k NOT IN (SELECT t_id FROM u)", "0");
    w.is(
        "SELECT COUNT(*) FROM t WHERE k NOT IN (SELECT t_id FROM u WHERE t_id > 0)",
        "80",
    );
    w.is(
        "SELECT COUNT(*) FROM t WHERE k NOT IN (SELECT t_id FROM u WHERE id > 90)",
        "100",
    );
    w.is("SELECT d.n FROM (SELECT COUNT(*) AS n FROM t) AS d", "100");
    w.is(
        "WITH x AS (SELECT k, COUNT(*) n FROM t GROUP BY k) SELECT SUM(n) FROM x WHERE k > 7",
        "20",
    );
    w.is(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT SUM(i) FROM n",
        "10",
    );
    w.is(
        "WITH RECURSIVE n AS (SELECT 5 AS i UNION SELECT k FROM n JOIN t ON t.id = n.i + 10) SELECT COUNT(*) FROM n",
        "1",
    );
    w.fails(
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i FROM n) SELECT * FROM n",
        3636,
    );
    w.is(
        "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 2 FROM n WHERE i < 4 UNION ALL SELECT i * 10 FROM n WHERE i < 4)
         SELECT * FROM n",
        "1\n3\n5\n10\n30",
    );
    w.fails(
        "WITH RECURSIVE n AS (SELECT 'a' s UNION ALL SELECT CONCAT(s, 'b') FROM n) SELECT * FROM n",
        1406,
    );
    w.is("SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1 DESC", "2\n1");
    w.is("SELECT id FROM u UNION ALL SELECT 9 LIMIT 5", "1\n2\n3\n4\n9");
    w.is("SELECT id FROM u EXCEPT SELECT 2", "1\n3\n4");
    w.fails("SELECT id FROM t JOIN u ON t.id = u.id", 1052);
}

#[test]
fn changes() {
    let mut w = numbers("changes");
    w.is("UPDATE t SET k = k + 1 WHERE id = 5", "1");
    w.is("SELECT k FROM t WHERE id = 5", "6");
    w.is("UPDATE t SET k = 100 WHERE k = 3", "10");
    w.is("SELECT COUNT(*) FROM t WHERE k = 100", "10");
    w.is("DELETE FROM t WHERE id BETWEEN 1 AND 10", "10");
    w.is("SELECT COUNT(*) FROM t", "90");
    w.is("INSERT INTO t SELECT id - 90, k, c FROM t WHERE id > 95", "5");
    w.is(
        "INSERT INTO t VALUES (6, 1, 'x') ON DUPLICATE KEY UPDATE c = CONCAT(VALUES(c), '!')",
        "2",
    );
    w.is("SELECT c FROM t WHERE id = 6", "x!");
    w.fails("INSERT INTO t VALUES (6, 1, 'x')", 1062);
    w.is(
        "DELETE FROM t WHERE id IN (SELECT id FROM (SELECT id FROM t WHERE k = 100) AS d)",
        "9",
    );
}

/// What a statement holds past its share of memory goes through the engine's pages: no query may tell by its rows.
#[test]
fn small_buffers_change_no_result() {
    let mut world = World::new("buffers");
    world.run("CREATE TABLE big (id INT PRIMARY KEY, a INT, b VARCHAR(100), c DECIMAL(12,3), d DATETIME(3))");
    world.run(
        "INSERT INTO big WITH RECURSIVE n AS (SELECT 1 x UNION ALL SELECT x + 1 FROM n WHERE x < 900)
         SELECT x, x * 7919 % 1500, CONCAT('text number ', x * 31 % 400), x / 7, '2024-01-01' + INTERVAL x HOUR FROM n",
    );
    for more in [900, 1800] {
        world.run(&format!(
            "INSERT INTO big SELECT id + {more}, (id + {more}) * 7919 % 1500, CONCAT(b, id % 3), c * 2, d + INTERVAL 1 SECOND FROM big"
        ));
    }
    let queries = [
        "SELECT b, id FROM big ORDER BY b DESC, id",
        "SELECT id, c FROM big ORDER BY a, c LIMIT 100, 700",
        "SELECT SQL_CALC_FOUND_ROWS b FROM big ORDER BY b LIMIT 3",
        "SELECT DISTINCT b FROM big",
        "SELECT DISTINCT b, a % 3 FROM big ORDER BY b, a % 3",
        "SELECT DISTINCT b FROM big ORDER BY LENGTH(b), b",
        "SELECT DISTINCT a FROM big ORDER BY a LIMIT 17",
        "SELECT b, COUNT(*), SUM(c), MIN(d), MAX(id), COUNT(DISTINCT a) FROM big GROUP BY b",
        "SELECT b, GROUP_CONCAT(id ORDER BY id DESC) FROM big GROUP BY b ORDER BY b",
        "SELECT COUNT(DISTINCT b, a), SUM(DISTINCT a), AVG(DISTINCT c), COUNT(DISTINCT d), BIT_XOR(DISTINCT a), COUNT(*) FROM big",
        "SELECT a % 7 x, COUNT(DISTINCT b, c), SUM(DISTINCT id), GROUP_CONCAT(DISTINCT b ORDER BY b DESC) FROM big GROUP BY x ORDER BY x",
        "SELECT id % 900 x, LENGTH(GROUP_CONCAT(DISTINCT a, b)), COUNT(DISTINCT a) FROM big GROUP BY x HAVING COUNT(DISTINCT a) > 1",
        "SELECT MD5(GROUP_CONCAT(b ORDER BY c DESC, id)), MD5(GROUP_CONCAT(DISTINCT b ORDER BY b)) FROM big",
        "SELECT id, COUNT(DISTINCT b), SUM(DISTINCT a) FROM big GROUP BY id",
        "SELECT a % 1000 x, b, AVG(c) FROM big GROUP BY x, b HAVING AVG(c) > 100 ORDER BY x, b",
        "SELECT x.id, y.id FROM big x JOIN big y ON x.b = y.b WHERE x.id <> y.id",
        "SELECT x.id, y.b FROM big x LEFT JOIN (SELECT b, MIN(id) m FROM big GROUP BY b) y ON x.id = y.m",
        "SELECT COUNT(*) FROM (SELECT b, c FROM big ORDER BY c) t JOIN (SELECT DISTINCT b FROM big) u ON t.b = u.b",
        "SELECT x.id, y.id FROM big x LEFT JOIN big y ON x.a = y.c AND y.id % 3 = x.id % 3 WHERE x.id % 4 = 0",
        "SELECT x.id, y.id, z.id FROM big x JOIN big y ON x.a = y.a + 1 LEFT JOIN big z ON z.b = y.b AND z.c > x.c WHERE x.id % 8 = 0",
        "SELECT x.id, y.m FROM big x LEFT JOIN (SELECT NULLIF(a % 50, 7) k, MAX(id) m FROM big GROUP BY k) y ON NULLIF(x.a % 60, 9) = y.k",
        "SELECT y.k, x.k FROM (SELECT DISTINCT a % 100 k FROM big) x JOIN (SELECT DISTINCT a % 90 k FROM big) y ON x.k > y.k",
        "SELECT y.k, x.k FROM (SELECT DISTINCT a % 40 k FROM big) x LEFT JOIN (SELECT DISTINCT a % 30 k FROM big) y ON x.k < y.k",
        "SELECT x.id, y.b FROM big x JOIN (SELECT DISTINCT UPPER(b) b FROM big) y ON x.b = y.b",
        "SELECT x.id, y.id FROM big x LEFT JOIN big y ON x.d = y.d AND x.id <> y.id",
        "SELECT x.id, y.id FROM big x JOIN big y ON x.a = y.a AND x.id % 5 = y.id % 7",
        "SELECT x.id, y.id, z.id FROM big x LEFT JOIN (big y JOIN big z ON z.a = y.a + 700) ON x.b = y.b AND x.id % 90 = 1",
        "SELECT x.id, (SELECT COUNT(*) FROM big y JOIN big z ON y.a = z.a + 1 WHERE z.id = x.id) FROM big x WHERE x.id < 15",
        "SELECT x.id, y.id FROM big x JOIN big y ON x.a = y.a + 1 ORDER BY x.id LIMIT 30",
        "SELECT id FROM big WHERE b IN (SELECT b FROM big WHERE id % 5 = 0)",
        "SELECT id FROM big WHERE a NOT IN (SELECT a FROM big WHERE id > 3000)",
        "SELECT b FROM big UNION SELECT CONCAT(b, a % 2) FROM big",
        "SELECT b FROM big UNION ALL SELECT d FROM big ORDER BY 1 LIMIT 2000, 500",
        "SELECT b FROM big EXCEPT SELECT b FROM big WHERE a < 750",
        "(SELECT a FROM big UNION ALL SELECT a FROM big) INTERSECT ALL SELECT a FROM big ORDER BY a",
        "SELECT b, a FROM big EXCEPT ALL SELECT b, a FROM big WHERE id % 3 = 0",
        "SELECT a FROM big EXCEPT SELECT a + 1 FROM big WHERE id < 1000 INTERSECT SELECT a + 1 FROM big",
        "SELECT b FROM big UNION SELECT b FROM big EXCEPT ALL SELECT b FROM big WHERE id < 300",
        "SELECT b FROM big UNION SELECT CONCAT(b, a % 2) FROM big UNION ALL SELECT b FROM big WHERE id < 100",
        "WITH RECURSIVE n AS (SELECT id, b FROM big WHERE id < 50 UNION SELECT (id * 7 + 3) % 2000, b FROM n WHERE id % 11 <> 5)
         SELECT COUNT(*), SUM(id), MAX(b) FROM n",
        "WITH RECURSIVE n AS (SELECT id, b FROM big WHERE id < 200 UNION ALL SELECT id + 200, b FROM n WHERE id < 1000)
         SELECT COUNT(*), SUM(id), MAX(b) FROM n",
        "WITH RECURSIVE n AS (SELECT id, b FROM big WHERE id < 100 UNION ALL SELECT id + 200, b FROM n WHERE id < 800
         UNION ALL SELECT id + 500, b FROM n WHERE id < 300) SELECT COUNT(*), SUM(id), MAX(b) FROM n",
        "SELECT (SELECT COUNT(*) FROM big y WHERE y.b = x.b) FROM big x WHERE id < 20",
    ];
    let all = |world: &mut World| -> Vec<Vec<String>> {
        let sorted = |query: &&str| {
            let rows = world.run(query);
            let mut rows: Vec<String> = rows.lines().map(str::to_owned).collect();
            if !query.contains("ORDER BY") {
                rows.sort();
            }
            rows
        };
        queries.iter().map(sorted).collect()
    };
    let large = "sort_buffer_size = 16777216, join_buffer_size = 16777216, tmp_table_size = 16777216";
    world.set(large);
    let roomy = all(&mut world);
    for (query, rows) in queries.iter().zip(&roomy) {
        assert!(!rows.is_empty(), "{query}");
    }
    let filled = |world: &World| {
        world
            .session
            .state()
            .database
            .engine()
            .status()
            .spool_pages_filled
    };
    assert_eq!(filled(&world), 0);
    // Whichever side a hash join keeps.
    world.side = Some(Side::Before);
    let other_side = all(&mut world);
    assert_eq!(filled(&world), 0);
    world.set("sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024");
    let tight_other_side = all(&mut world);
    world.side = None;
    let tight = all(&mut world);
    assert!(filled(&world) > 100);
    for found in [other_side, tight_other_side, tight] {
        for (query, (roomy, found)) in queries.iter().zip(roomy.iter().zip(&found)) {
            assert!(roomy == found, "{query}");
        }
    }

    // Changes too: the same rows, in the same order.
    let changed = |world: &mut World| {
        world.run("DELETE FROM copy");
        world.run("INSERT INTO copy SELECT * FROM big ORDER BY b");
        world.run("UPDATE copy SET a = a + 1, b = 'x' ORDER BY b DESC, id LIMIT 1000");
        world.run("UPDATE copy c JOIN big b ON c.id = b.id SET c.d = NULL, c.c = b.a WHERE b.a < 400");
        world.run("DELETE FROM copy WHERE a IN (SELECT a FROM big WHERE id < 50)");
        world.run("SELECT * FROM copy ORDER BY id")
    };
    world
        .run("CREATE TABLE copy (id INT PRIMARY KEY, a INT, b VARCHAR(100), c DECIMAL(12,3), d DATETIME(3))");
    let tight = changed(&mut world);
    let before = filled(&world);
    world.set(large);
    assert_eq!(changed(&mut world), tight);
    assert_eq!(filled(&world), before);
}
