//! Temporary tables: their end, the rights they need, read-only servers, the plans that are kept.

use super::{World, fails, ok};
use crate::types::Value;

fn temporary_tables(world: &World) -> usize {
    world.database().engine().temporary_tables().len()
}

#[test]
fn the_sessions_end_and_its_reset_drop_them() {
    let world = World::new("temporary_end");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TEMPORARY TABLE t (a INT); CREATE TEMPORARY TABLE u LIKE t",
    );
    ok(&mut s, "BEGIN; INSERT INTO t VALUES (1)");
    assert_eq!(temporary_tables(&world), 2);
    s.reset().unwrap();
    assert_eq!(temporary_tables(&world), 0);
    assert_eq!(fails(&mut s, "SELECT * FROM t"), 1146);

    ok(
        &mut s,
        "CREATE TEMPORARY TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)",
    );
    let info = s.state().info.clone();
    s.change_user(info).unwrap();
    assert_eq!(temporary_tables(&world), 0);
    assert_eq!(fails(&mut s, "SELECT * FROM d.t"), 1146);

    ok(
        &mut s,
        "CREATE TEMPORARY TABLE d.t (a INT); INSERT INTO d.t VALUES (1)",
    );
    ok(&mut s, "BEGIN; DELETE FROM d.t");
    drop(s);
    assert_eq!(temporary_tables(&world), 0);
}

/// A table that is dropped while its transaction is open is kept until that has been undone.
#[test]
fn the_engines_table_goes_with_the_transaction() {
    let world = World::new("temporary_dropped");
    let mut s = world.session();
    ok(&mut s, "CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)");
    ok(
        &mut s,
        "BEGIN; SAVEPOINT p; INSERT INTO t VALUES (1); DROP TEMPORARY TABLE t",
    );
    assert_eq!(temporary_tables(&world), 1);
    ok(
        &mut s,
        "CREATE TEMPORARY TABLE t (a INT); INSERT INTO t VALUES (5)",
    );
    ok(&mut s, "ROLLBACK TO p");
    assert_eq!(temporary_tables(&world), 2);
    ok(&mut s, "INSERT INTO t VALUES (6); COMMIT");
    assert_eq!(temporary_tables(&world), 1);
    assert_eq!(ok(&mut s, "SELECT * FROM t"), ["6"]);
    ok(&mut s, "DROP TEMPORARY TABLE t");
    assert_eq!(temporary_tables(&world), 0);
}

#[test]
fn a_restart_leaves_none() {
    let mut world = World::new("temporary_restart");
    {
        let mut s = world.session();
        ok(&mut s, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
        ok(
            &mut s,
            "CREATE TEMPORARY TABLE t (b INT); INSERT INTO t VALUES (2)",
        );
        assert_eq!(ok(&mut s, "SELECT b FROM t"), ["2"]);
    }
    world.restart();
    assert_eq!(temporary_tables(&world), 0);
    assert_eq!(ok(&mut world.session(), "SELECT a FROM t"), ["1"]);
}

/// CREATE TEMPORARY TABLES on the database is enough for the table, and gives nothing on a permanent one of its name.
#[test]
fn one_privilege_is_enough() {
    let world = World::new("temporary_rights");
    let mut root = world.session();
    ok(
        &mut root,
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1); CREATE TABLE secret (s INT); \
         CREATE VIEW view_of_t AS SELECT id FROM t; \
         CREATE USER 'u'@'localhost'; GRANT CREATE TEMPORARY TABLES ON d.* TO 'u'@'localhost'",
    );
    let mut u = world.connect("u", Some("d"));
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    assert_eq!(fails(&mut u, "CREATE TABLE x (a INT)"), 1142);
    assert_eq!(fails(&mut u, "CREATE TEMPORARY TABLE mysql.x (a INT)"), 1044);
    assert_eq!(fails(&mut u, "CREATE TEMPORARY TABLE nowhere.x (a INT)"), 1044);
    assert_eq!(fails(&mut u, "CREATE TEMPORARY TABLE x LIKE secret"), 1142);
    ok(&mut u, "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT)");
    for statement in [
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "UPDATE t SET v = v + 1 WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "SELECT id, v FROM t FOR UPDATE",
        "REPLACE INTO t VALUES (1, 5)",
        "ALTER TABLE t ADD COLUMN w INT",
        "CREATE INDEX w ON t (w)",
        "DROP INDEX w ON t",
        "SHOW CREATE TABLE t",
        "DESCRIBE t",
        "SHOW INDEX FROM t",
        "CHECK TABLE t",
        "OPTIMIZE TABLE t",
        "CREATE TEMPORARY TABLE copied LIKE t",
        "DELETE a FROM t a JOIN copied ON a.id = copied.id",
        "TRUNCATE TABLE t",
        "DROP TABLE copied",
    ] {
        ok(&mut u, statement);
    }
    let shown = ok(&mut u, "SHOW FULL COLUMNS FROM t WHERE Field = 'w'");
    assert!(shown[0].contains("select,insert,update,references"), "{shown:?}");
    // A new name is asked for, and what means the permanent table.
    assert_eq!(fails(&mut u, "ALTER TABLE t RENAME TO x"), 1142);
    assert_eq!(fails(&mut u, "RENAME TABLE t TO x"), 1142);
    assert_eq!(fails(&mut u, "CREATE TABLE t (a INT)"), 1142);
    assert_eq!(fails(&mut u, "SELECT * FROM view_of_t"), 1142);
    assert_eq!(fails(&mut u, "SELECT * FROM t JOIN secret"), 1142);
    ok(&mut u, "CREATE TEMPORARY TABLE view_of_t (a INT)");
    assert_eq!(fails(&mut u, "SHOW CREATE VIEW view_of_t"), 1142);
    assert_eq!(fails(&mut u, "DROP VIEW view_of_t"), 1142);
    ok(&mut u, "DROP TABLE t");
    assert_eq!(fails(&mut u, "SELECT * FROM t"), 1142);
    assert_eq!(fails(&mut u, "DROP TABLE t"), 1142);
    assert_eq!(fails(&mut u, "DROP TEMPORARY TABLE t"), 1051);
    assert_eq!(ok(&mut root, "SELECT * FROM t"), ["1|1"]);
}

#[test]
fn a_read_only_server_lets_them_be() {
    let world = World::new("temporary_read_only");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE p (a INT); CREATE TABLE q (a INT)");
    let mut open = world.session();
    ok(
        &mut open,
        "CREATE TEMPORARY TABLE o (a INT); BEGIN; INSERT INTO o VALUES (1)",
    );
    let mut writes = world.session();
    ok(&mut writes, "BEGIN; INSERT INTO p VALUES (1)");
    ok(&mut s, "SET GLOBAL super_read_only = ON");
    for statement in [
        "CREATE TEMPORARY TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t SELECT a FROM q",
        "UPDATE t SET a = 2",
        "ALTER TABLE t ADD COLUMN b INT",
        "CREATE INDEX a ON t (a)",
        "TRUNCATE TABLE t",
        "DROP TABLE t",
    ] {
        ok(&mut s, statement);
    }
    assert_eq!(fails(&mut s, "INSERT INTO p VALUES (1)"), 1290);
    assert_eq!(fails(&mut s, "DROP TABLE p"), 1290);
    ok(&mut open, "COMMIT");
    assert_eq!(fails(&mut writes, "COMMIT"), 1290);
    ok(&mut s, "SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF");
}

/// Over the binary protocol: the plan follows the name from one table to the other and back.
#[test]
fn prepared_plans_follow_the_name() {
    let world = World::new("temporary_plans");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)",
    );
    ok(
        &mut s,
        "CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO other VALUES (7)",
    );
    let read = s.prepare(b"SELECT COUNT(*) FROM t WHERE id > ?").unwrap().id;
    let write = s.prepare(b"INSERT INTO t VALUES (?)").unwrap().id;
    let elsewhere = s.prepare(b"SELECT id FROM other WHERE id > ?").unwrap().id;
    let execute = |s: &mut super::Session, id: u32, value: i64| {
        let mut out = super::Text::default();
        s.execute(id, &[Value::Int(value)], &mut out).unwrap();
        out.lines
    };
    assert_eq!(execute(&mut s, read, 0), ["1"]);
    ok(&mut s, "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY)");
    assert_eq!(execute(&mut s, read, 0), ["0"]);
    execute(&mut s, write, 5);
    execute(&mut s, write, 6);
    assert_eq!(execute(&mut s, read, 0), ["2"]);
    assert_eq!(execute(&mut s, elsewhere, 0), ["7"]);
    ok(
        &mut s,
        "ALTER TABLE t ADD COLUMN v INT DEFAULT 1 FIRST; ALTER TABLE t DROP COLUMN v",
    );
    assert_eq!(execute(&mut s, read, 5), ["1"]);
    ok(&mut s, "ALTER TABLE t RENAME TO moved");
    assert_eq!(execute(&mut s, read, 0), ["1"]);
    ok(&mut s, "ALTER TABLE moved RENAME TO t");
    assert_eq!(execute(&mut s, read, 0), ["2"]);
    ok(&mut s, "DROP TABLE t");
    execute(&mut s, write, 2);
    assert_eq!(execute(&mut s, read, 0), ["2"]);
    assert_eq!(ok(&mut world.session(), "SELECT * FROM t"), ["1", "2"]);
}

/// Another session may do anything with the permanent table while this one uses the temporary one.
#[test]
fn no_metadata_lock_is_taken_of_the_name() {
    let world = World::new("temporary_locks");
    let (mut a, mut b) = (world.session(), world.session());
    ok(&mut b, "CREATE TABLE t (a INT)");
    ok(
        &mut a,
        "CREATE TEMPORARY TABLE t (b INT); BEGIN; INSERT INTO t VALUES (1)",
    );
    ok(
        &mut b,
        "ALTER TABLE t ADD COLUMN c INT; DROP TABLE t; CREATE TABLE t (z INT); BEGIN; SELECT * FROM t",
    );
    assert_eq!(
        ok(
            &mut a,
            "SELECT * FROM t; COMMIT; ALTER TABLE t ADD COLUMN x INT; DROP TABLE t"
        ),
        ["1", "ok 0", "ok 1 Records: 1  Duplicates: 0  Warnings: 0", "ok 0"]
    );
    assert_eq!(
        ok(
            &mut a,
            "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't'"
        ),
        ["1"]
    );
}

/// What a constraint of the permanent table says is not said of the temporary one.
#[test]
fn foreign_keys_are_those_of_the_permanent_table() {
    let world = World::new("temporary_keys");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE p (id INT PRIMARY KEY); CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)); \
         INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1)",
    );
    ok(
        &mut s,
        "CREATE TEMPORARY TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1); DELETE FROM p",
    );
    ok(
        &mut s,
        "ALTER TABLE p RENAME COLUMN id TO other; TRUNCATE TABLE p",
    );
    ok(&mut s, "INSERT INTO c VALUES (2, 1)");
    assert_eq!(fails(&mut s, "INSERT INTO c VALUES (3, 2)"), 1452);
    ok(&mut s, "DROP TABLE p");
    assert_eq!(fails(&mut s, "DELETE FROM p"), 1451);
    ok(
        &mut s,
        "CREATE TEMPORARY TABLE c (id INT, p INT); INSERT INTO c VALUES (3, 2)",
    );
    assert_eq!(fails(&mut s, "DELETE FROM p"), 1451);
}
