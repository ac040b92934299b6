//! Statements in, trees out; and what is wrong with those that are wrong.

use super::ast::*;
use super::*;

fn statement(sql: &str) -> Statement {
    match parse(sql.as_bytes(), 0, SqlMode::DEFAULT) {
        Ok(parsed) => parsed.statement,
        Err(e) => panic!("{sql}: {e}"),
    }
}

fn error(sql: &str) -> String {
    parse(sql.as_bytes(), 0, SqlMode::DEFAULT).unwrap_err().message
}

fn select(sql: &str) -> Select {
    match statement(sql) {
        Statement::Query(query) => match query.body {
            QueryBody::Select(select) => *select,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn item(sql: &str) -> Expr {
    match select(sql).items.remove(0) {
        SelectItem::Expr { expr, .. } => expr,
        other => panic!("{other:?}"),
    }
}

#[test]
fn precedence_is_mysqls() {
    assert_eq!(item("SELECT 1 + 2 * 3"), item("SELECT 1 + (2 * 3)"));
    assert_eq!(item("SELECT NOT a = b"), item("SELECT NOT (a = b)"));
    assert_eq!(item("SELECT !a = b"), item("SELECT (!a) = b"));
    assert_eq!(item("SELECT a OR b AND c"), item("SELECT a OR (b AND c)"));
    assert_eq!(item("SELECT 1 | 2 & 3"), item("SELECT 1 | (2 & 3)"));
    assert_eq!(item("SELECT -2 ^ 3 * 4"), item("SELECT ((-2) ^ 3) * 4"));
    assert_eq!(item("SELECT a - b - c"), item("SELECT (a - b) - c"));
    assert_eq!(
        item("SELECT a BETWEEN 1 AND 2 AND c"),
        item("SELECT (a BETWEEN 1 AND 2) AND c")
    );
}

#[test]
fn select_items_are_named_by_their_text() {
    let SelectItem::Expr { text, .. } = &select("SELECT count( * ) FROM t").items[0] else {
        panic!()
    };
    assert_eq!(text, "count( * )");
}

#[test]
fn clone_local_names_a_directory() {
    for sql in [
        "CLONE LOCAL DATA DIRECTORY = '/a/b'",
        "clone local data directory '/a/b'",
    ] {
        assert_eq!(statement(sql), Statement::CloneLocal("/a/b".to_owned()));
    }
    assert!(parse(b"CLONE LOCAL '/a/b'", 0, SqlMode::DEFAULT).is_err());
    assert!(parse(b"CLONE LOCAL DATA DIRECTORY = a", 0, SqlMode::DEFAULT).is_err());
}

#[test]
fn errors_say_where() {
    assert_eq!(
        error("SELECT *\nFROM WHERE"),
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
         the right syntax to use near 'WHERE' at line 2"
    );
    assert!(error("SELECT 1 1").contains("near '1' at line 1"));
    assert!(error("SELECT").contains("near '' at line 1"));
    assert!(error("BANANA").contains("near 'BANANA' at line 1"));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let sql = format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert_eq!(parse(sql.as_bytes(), 0, SqlMode::DEFAULT).unwrap_err().code, 1436);
    let sql = format!("SELECT {}1", "NOT ".repeat(50_000));
    assert!(parse(sql.as_bytes(), 0, SqlMode::DEFAULT).is_err());
    let sql = format!("SELECT {}1", "- ".repeat(50_000));
    assert!(parse(sql.as_bytes(), 0, SqlMode::DEFAULT).is_err());
    let sql = format!("SELECT 1{}", " OR 1".repeat(50_000));
    assert!(parse(sql.as_bytes(), 0, SqlMode::DEFAULT).is_ok());
}

#[test]
fn statements_of_all_kinds_parse() {
    for sql in [
        "SELECT a, t.b AS x, 'str' y FROM s.t AS t USE INDEX (i) WHERE a IN (1, 2) GROUP BY a HAVING COUNT(*) > 1 ORDER BY 1 DESC LIMIT 1, 2",
        "SELECT * FROM a LEFT JOIN b ON a.x = b.x JOIN c USING (y), d NATURAL JOIN e WHERE EXISTS (SELECT 1)",
        "SELECT * FROM (SELECT 1 AS a UNION ALL SELECT 2) AS d, (a, b)",
        "SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x",
        "(SELECT 1) UNION (SELECT 2) ORDER BY 1",
        "SELECT c FROM t WHERE id = 1 LOCK IN SHARE MODE",
        "SELECT c FROM t WHERE id = 1 FOR UPDATE OF t SKIP LOCKED",
        "SELECT a INTO @x FROM t",
        "SELECT @@session.autocommit, @x := @x + 1, @@global.max_connections",
        "SELECT DATE '2020-01-01' + INTERVAL 1 DAY, EXTRACT(YEAR FROM d), TRIM(BOTH 'x' FROM y), CAST(a AS CHAR(10))",
        "SELECT GROUP_CONCAT(DISTINCT a ORDER BY b DESC SEPARATOR ', '), CONVERT(x USING utf8mb4), _binary 'abc'",
        "SELECT CASE WHEN a THEN 1 ELSE 2 END, IF(a, b, c), LEFT('abc', 1), CURRENT_TIMESTAMP, NOW(6)",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x",
        "INSERT INTO t (a, b) VALUES (1, DEFAULT), (2, 'x') ON DUPLICATE KEY UPDATE b = VALUES(b)",
        "INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a",
        "INSERT IGNORE t SET a = 1, b = 2",
        "INSERT INTO t SELECT * FROM u",
        "REPLACE INTO t VALUES (1)",
        "UPDATE t SET a = a + 1 WHERE b = 2 ORDER BY c LIMIT 3",
        "UPDATE a JOIN b ON a.x = b.x SET a.y = b.y",
        "DELETE FROM t WHERE a = 1 ORDER BY b LIMIT 1",
        "DELETE a FROM a JOIN b ON a.x = b.x",
        "DELETE FROM a USING a JOIN b ON a.x = b.x",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1, @x = 2, NAMES utf8mb4 COLLATE utf8mb4_bin, autocommit = ON",
        "SET @@session.sql_mode = 'ANSI', @@autocommit = 0",
        "/*!40101 SET NAMES utf8 */",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "PREPARE s FROM 'SELECT ?'",
        "EXECUTE s USING @a, @b",
        "DEALLOCATE PREPARE s",
        "CREATE TABLE IF NOT EXISTS t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, c CHAR(120) DEFAULT '' NOT NULL, \
         e ENUM('a','b') CHARACTER SET latin1 COLLATE latin1_bin, d DECIMAL(10,2), ts TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE \
         CURRENT_TIMESTAMP, PRIMARY KEY (id), UNIQUE KEY u (c(10) DESC), KEY k_1 (e) USING BTREE COMMENT 'x', \
         CONSTRAINT f FOREIGN KEY (d) REFERENCES o (id) ON DELETE CASCADE ON UPDATE SET NULL, CHECK (id > 0)) \
         ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci MAX_ROWS=1000000 COMMENT='y'",
        "CREATE TABLE t (a INT REFERENCES p, b INT NOT NULL REFERENCES d.p (x) MATCH SIMPLE ON UPDATE NO ACTION ON DELETE SET DEFAULT, \
         FOREIGN KEY i (a, b) REFERENCES p (x, y) ON UPDATE RESTRICT)",
        "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES p (x) ON DELETE CASCADE, DROP FOREIGN KEY g, DROP CONSTRAINT h",
        "CREATE TABLE t (type INT, INDEX type (type), KEY type TYPE BTREE (type), KEY USING BTREE (type))",
        "CREATE TABLE t (id INTEGER PRIMARY KEY) /*! ENGINE = innodb */",
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE TABLE t LIKE u",
        "ALTER TABLE t ADD COLUMN a INT FIRST, DROP COLUMN b, ADD INDEX i (a), DROP PRIMARY KEY, RENAME TO u, ENGINE = InnoDB, \
         MODIFY c BIGINT AFTER a, CHANGE d e INT, ALTER COLUMN f SET DEFAULT 1, RENAME COLUMN g TO h, ADD CONSTRAINT p PRIMARY KEY (a)",
        "CREATE UNIQUE INDEX i ON t (a, b(10))",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "DROP TABLE IF EXISTS a, s.b CASCADE",
        "RENAME TABLE a TO b, c TO s.d",
        "TRUNCATE TABLE t",
        "CREATE USER IF NOT EXISTS 'u'@'%' IDENTIFIED WITH mysql_native_password BY 'p', v@localhost",
        "ALTER USER 'u'@'localhost' IDENTIFIED BY 'x' ACCOUNT UNLOCK",
        "SET PASSWORD FOR 'u'@'%' = 'x'",
        "GRANT SELECT, INSERT (a, b), UPDATE (c) ON db.t TO 'u'@'10.0.0.%' WITH GRANT OPTION",
        "REVOKE ALL PRIVILEGES, GRANT OPTION FROM u",
        "SHOW FULL TABLES FROM db LIKE 'x%'",
        "SHOW GLOBAL VARIABLES WHERE Variable_name = 'x'",
        "SHOW CREATE TABLE s.t",
        "SHOW ENGINE INNODB STATUS",
        "SHOW WARNINGS LIMIT 10",
        "SHOW COUNT(*) WARNINGS",
        "SHOW INDEX FROM t FROM s",
        "EXPLAIN FORMAT=TREE SELECT 1",
        "DESC t",
        "KILL QUERY 5",
        "FLUSH TABLES WITH READ LOCK",
        "LOCK TABLES a READ, b AS c WRITE",
        "LOCK TABLES `sbtest1` WRITE",
        "UNLOCK TABLES",
        "ANALYZE TABLE a, b",
        "DO SLEEP(0)",
        "ROLLBACK TO SAVEPOINT a",
        "COMMIT AND CHAIN",
        "CREATE VIEW v AS SELECT 1",
        "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`b` SQL SECURITY INVOKER VIEW s.v (a, b) AS SELECT 1, 2 WITH CHECK OPTION",
        "ALTER DEFINER = CURRENT_USER() VIEW v AS (SELECT 1) UNION SELECT 2 WITH LOCAL CHECK OPTION",
        "DROP VIEW IF EXISTS a, b",
        "HANDLER s.t OPEN AS h",
        "HANDLER h READ NEXT LIMIT 5",
        "HANDLER h READ first PREV WHERE a > 1 LIMIT 1, 2",
        "HANDLER h READ k >= (1, 'x')",
        "HANDLER h CLOSE",
    ] {
        assert!(
            !matches!(statement(sql), Statement::Unsupported(_) | Statement::Empty),
            "{sql}"
        );
    }
    for sql in [
        "XA START 'x'",
        "CREATE AGGREGATE FUNCTION f RETURNS INT SONAME 'f.so'",
    ] {
        assert!(matches!(statement(sql), Statement::Unsupported(_)), "{sql}");
    }
}

#[test]
fn several_statements_in_one_text() {
    let sql = b"SELECT 1; SELECT ';'; -- done";
    let first = parse(sql, 0, SqlMode::DEFAULT).unwrap();
    let second = parse(sql, first.next, SqlMode::DEFAULT).unwrap();
    assert!(matches!(second.statement, Statement::Query(_)));
    let third = parse(sql, second.next, SqlMode::DEFAULT).unwrap();
    assert_eq!(third.statement, Statement::Empty);
    assert_eq!(third.next, sql.len());
    assert_eq!(parse(b" ; SELECT 1", 0, SqlMode::DEFAULT).unwrap_err().code, 1064);
    assert_eq!(parse(b"  ", 0, SqlMode::DEFAULT).unwrap_err().code, 1065);
}

#[test]
fn what_stands_around_a_text_is_ignored() {
    for (sent, kept) in [
        ("  SELECT 1 ;\n; ", "SELECT 1"),
        ("DO 1\0", "DO 1"),
        ("DO 1;\0", "DO 1"),
        (" ; ;", ""),
        ("", ""),
        ("-- c\n;", "-- c"),
        ("a\0b", "a\0b"),
    ] {
        assert_eq!(trim(sent.as_bytes()), kept.as_bytes(), "{sent:?}");
    }
}

#[test]
fn parameters_are_numbered_and_shapes_agree_with_the_parser() {
    assert_eq!(
        parse(b"SELECT ? + ? LIMIT ?", 0, SqlMode::DEFAULT)
            .unwrap()
            .param_count,
        3
    );
    let sql = b"SELECT a FROM t WHERE b = 5 AND c LIKE 'x' LIMIT 7";
    let mut shape = shape::Shape::default();
    assert!(shape.scan(sql, 0, SqlMode::DEFAULT));
    let parsed = parse_shape(sql, 0, SqlMode::DEFAULT, 0, shape.offsets()).unwrap();
    let reference = parse(
        b"SELECT a FROM t WHERE b = ? AND c LIKE ? LIMIT ?",
        0,
        SqlMode::DEFAULT,
    )
    .unwrap();
    assert_eq!(parsed.statement, reference.statement);
    assert!(!parsed.needs_literal);
    for sql in [
        "SELECT a FROM t WHERE b = CAST(c AS CHAR(10))",
        "DELETE FROM t WHERE ts < now(3) - INTERVAL 1 DAY",
        "UPDATE t SET a = ROUND(b, 2)",
    ] {
        assert!(shape.scan(sql.as_bytes(), 0, SqlMode::DEFAULT));
        let parsed = parse_shape(sql.as_bytes(), 0, SqlMode::DEFAULT, 0, shape.offsets());
        assert!(parsed.unwrap().needs_literal, "{sql}");
    }
}
