//! What a crash keeps beside rows: auto-increment counters; and what `check` says of definitions that were lost.

use super::*;
use std::time::Duration;
use tidemark_engine::Engine;

impl World {
    /// The process ends, and the operating system keeps what it has written.
    pub(super) fn crash(&mut self) {
        let disk = self.disk.take().expect("a simulated disk");
        self.database = None;
        self.disk = Some(disk.kill());
        self.open();
    }
}

fn next_id(session: &mut Session, table: &str) -> String {
    ok(session, &format!("INSERT INTO {table} (v) VALUES (0)"));
    ok(session, "SELECT LAST_INSERT_ID()").concat()
}

/// What is done with a table before the crash, and the value that the next row gets: as without a crash.
const KEPT: &[(&str, &[&str], u64)] = &[
    ("nothing", &[], 1),
    ("one row", &["INSERT INTO {t} (v) VALUES (1)"], 2),
    (
        "several at once",
        &["INSERT INTO {t} (v) VALUES (1), (2), (3)"],
        4,
    ),
    ("a value of its own", &["INSERT INTO {t} VALUES (1000, 1)"], 1001),
    (
        "the maximum deleted",
        &[
            "INSERT INTO {t} (v) VALUES (1), (2), (3)",
            "DELETE FROM {t} WHERE id > 1",
        ],
        4,
    ),
    (
        "all rows deleted",
        &["INSERT INTO {t} VALUES (70, 1)", "DELETE FROM {t}"],
        71,
    ),
    (
        "rolled back",
        &[
            "BEGIN",
            "INSERT INTO {t} (v) VALUES (1), (2)",
            "ROLLBACK",
            "INSERT IGNORE INTO u VALUES (1)",
        ],
        3,
    ),
    (
        "truncated",
        &["INSERT INTO {t} (v) VALUES (1), (2)", "TRUNCATE TABLE {t}"],
        1,
    ),
    (
        "truncated and filled",
        &[
            "INSERT INTO {t} VALUES (500, 1)",
            "TRUNCATE TABLE {t}",
            "INSERT INTO {t} (v) VALUES (1)",
        ],
        2,
    ),
    (
        "set higher",
        &[
            "INSERT INTO {t} (v) VALUES (1)",
            "ALTER TABLE {t} AUTO_INCREMENT = 300",
        ],
        300,
    ),
    (
        "set lower after rows went",
        &[
            "INSERT INTO {t} VALUES (900, 1)",
            "DELETE FROM {t}",
            "ALTER TABLE {t} AUTO_INCREMENT = 40",
        ],
        40,
    ),
    (
        "set lower, and used",
        &[
            "INSERT INTO {t} VALUES (900, 1)",
            "DELETE FROM {t}",
            "ALTER TABLE {t} AUTO_INCREMENT = 40",
            "INSERT INTO {t} (v) VALUES (1), (2)",
        ],
        42,
    ),
    (
        "copied",
        &[
            "INSERT INTO {t} (v) VALUES (1), (2)",
            "ALTER TABLE {t} FORCE, ALGORITHM=COPY",
        ],
        3,
    ),
    (
        "replaced",
        &[
            "INSERT INTO {t} (v) VALUES (1)",
            "REPLACE INTO {t} VALUES (1, 5), (20, 6)",
        ],
        21,
    ),
    (
        "given to rows that stand in for others of the same key",
        &[
            "DROP TABLE {t}",
            "CREATE TABLE {t} (k BIGINT PRIMARY KEY DEFAULT (UUID_SHORT()), id INT AUTO_INCREMENT, v INT, KEY (id))",
            "REPLACE INTO {t} (k, v) VALUES (1, 1)",
            "REPLACE INTO {t} (k, v) VALUES (1, 2)",
            "DELETE FROM {t}",
            "INSERT INTO {t} (k, v) VALUES (1, 3)",
            "REPLACE INTO {t} (k, v) VALUES (1, 4)",
        ],
        5,
    ),
    (
        "a key that was taken raises it by an update",
        &[
            "INSERT INTO {t} (v) VALUES (1)",
            "INSERT INTO {t} VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 60",
        ],
        61,
    ),
    (
        "renamed",
        &[
            "INSERT INTO {t} (v) VALUES (1)",
            "RENAME TABLE {t} TO s",
            "RENAME TABLE s TO {t}",
        ],
        2,
    ),
];

#[test]
fn counters_go_on_after_a_crash_where_they_were() {
    // Soon after, and when what has moved was stored, too.
    for wait in [0, 2500] {
        let mut world = World::at("kept", Some(SimDisk::new(1)));
        let mut session = world.session();
        ok(&mut session, "CREATE TABLE u (id INT PRIMARY KEY)");
        for (n, (_, statements, _)) in KEPT.iter().enumerate() {
            let created = "CREATE TABLE {t} (id INT AUTO_INCREMENT PRIMARY KEY, v INT)";
            for statement in [created].iter().chain(*statements) {
                ok(&mut session, &statement.replace("{t}", &format!("t{n}")));
            }
        }
        std::thread::sleep(Duration::from_millis(wait));
        // At once, after a run that has done next to nothing, and after one that stopped in order.
        for (starts, how) in [World::crash, World::crash, World::restart].iter().enumerate() {
            drop(session);
            how(&mut world);
            session = world.session();
            for (n, (what, _, next)) in KEPT.iter().enumerate() {
                let given = next_id(&mut session, &format!("t{n}"));
                let expected = next + starts as u64;
                assert_eq!(
                    given,
                    expected.to_string(),
                    "{what}, after {wait} ms, start {starts}"
                );
            }
        }
    }
}

/// Stops, and says what a check finds.
fn check(world: &mut World) -> Vec<String> {
    world.database.take().unwrap().shutdown().unwrap();
    let above = &crate::faults_of_definitions;
    let report = Engine::check(&world.dir, crate::collator(), above, &mut |_, _| {});
    report.unwrap().faults
}

#[test]
fn a_check_names_tables_that_have_lost_their_definitions() {
    let mut world = World::new("lost");
    let mut session = world.session();
    ok(&mut session, "CREATE TABLE kept (id INT PRIMARY KEY)");
    ok(&mut session, "CREATE TABLE lost (id INT PRIMARY KEY)");
    ok(&mut session, "CREATE VIEW shown AS SELECT 1");
    drop(session);
    assert_eq!(check(&mut world), Vec::<String>::new());
    world.open();
    for (key, value, said) in [
        (&b"d\0lost"[..], None, "no definition: its name is lost"),
        (b"d\0shown", Some(&b"\x03no view"[..]), "table d.shown: "),
        (b"gone\0kept", Some(b"\x01"), "there is no such database"),
        (b"strange", Some(b"\x01"), "the strange key 'strange'"),
    ] {
        let mut ddl = world.database().engine().ddl().unwrap();
        match value {
            None => ddl.delete_meta("table", key).unwrap(),
            Some(value) => ddl.put_meta("table", key, value).unwrap(),
        }
        ddl.commit().unwrap();
        let faults = check(&mut world);
        assert!(
            faults.iter().any(|fault| fault.contains(said)),
            "{said}: {faults:?}"
        );
        // The start may refuse what is damaged: it is undone by the engine alone.
        let mut config = tidemark_engine::Config::new(&world.dir);
        config.collator = crate::collator();
        let engine = Engine::open(config).unwrap();
        let mut ddl = engine.ddl().unwrap();
        if value.is_some() {
            ddl.delete_meta("table", key).unwrap();
        }
        ddl.commit().unwrap();
        engine.shutdown().unwrap();
        drop(engine);
        world.open();
    }
}
