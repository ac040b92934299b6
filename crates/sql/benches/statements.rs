//! What comes before a statement runs: recognising its shape, parsing it, planning it (PREPARE without the round trip).
//!
//! ```sh
//! cargo bench -p tidemark-sql --bench statements
//! ```

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use tidemark_sql::parse::parse;
use tidemark_sql::parse::shape::Shape;
use tidemark_sql::types::SqlMode;
use tidemark_sql::{ConnectInfo, Database, Options, Session, open, run_trusted};
use tidemark_testing::bench::{line, time};

const STATEMENTS: [(&str, &str); 5] = [
    ("point", "SELECT c FROM t WHERE id = 42"),
    ("range", "SELECT SUM(k) FROM t WHERE id BETWEEN 10 AND 109"),
    ("change", "UPDATE t SET k = k + 1, c = 'some text' WHERE id = 42"),
    (
        "join",
        "SELECT a.c, b.c FROM t AS a JOIN t AS b ON b.id = a.k WHERE a.id BETWEEN 1 AND 10 ORDER BY a.c",
    ),
    (
        "five tables",
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON b.id = a.k JOIN t AS c ON c.id = b.k \
         JOIN t AS d ON d.id = c.k JOIN t AS e ON e.id = d.k WHERE a.k = 7 GROUP BY e.k HAVING COUNT(*) > 1",
    ),
];

fn texts() {
    let mode = SqlMode::default();
    let mut shape = Shape::default();
    for (name, sql) in STATEMENTS {
        let took = time(100_000, || {
            assert!(shape.scan(black_box(sql.as_bytes()), 0, mode));
        });
        line(&format!("recognise the shape ({name}); bytes:"), sql.len(), took);
        let took = time(20_000, || {
            black_box(parse(black_box(sql.as_bytes()), 0, mode).expect("a statement"));
        });
        line(&format!("parse ({name}); bytes:"), sql.len(), took);
    }
}

/// A database with a table `t` of 1,000 rows.
fn database(dir: &Path) -> Arc<Database> {
    let options = [("innodb_buffer_pool_size".to_owned(), Some("16M".to_owned()))];
    let options = Options::from_pairs(dir.to_owned(), options).expect("options");
    let database = open(options).expect("a database");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(100), KEY (k))",
        "INSERT INTO d.t WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 1000) \
         SELECT id, id % 100, 'some text' FROM n",
        "ANALYZE TABLE d.t",
    ] {
        run_trusted(&database, sql.as_bytes()).expect(sql);
    }
    database
}

fn session(database: &Arc<Database>) -> Session {
    let info = ConnectInfo {
        connection_id: 1,
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        port: 0,
        account: database.account("root", "localhost").expect("root"),
        database: Some("d".to_owned()),
        capabilities: 0,
        collation: 255,
        encryption: None,
        attributes: Vec::new(),
        password_expired: false,
        client: None,
    };
    Session::connect(database.clone(), info).expect("a session")
}

fn plans() {
    let dir = std::env::temp_dir().join(format!("tidemark-bench-{}", std::process::id()));
    let database = database(&dir);
    let mut session = session(&database);
    for (name, sql) in STATEMENTS {
        let took = time(2_000, || {
            let prepared = session.prepare(black_box(sql.as_bytes())).expect("a statement");
            session.close_statement(prepared.id);
        });
        line(&format!("parse and plan ({name}); bytes:"), sql.len(), took);
    }
    session.end();
    drop(session);
    database.shutdown().expect("a clean end");
    let _ = std::fs::remove_dir_all(&dir);
}

fn main() {
    texts();
    plans();
}
