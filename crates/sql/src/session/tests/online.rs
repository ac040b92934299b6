//! ALTER TABLE beside the users of its table.

use super::{World, fails, ok};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A table of many rows.
fn filled(world: &World) {
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, c VARCHAR(200))",
    );
    ok(&mut s, "CREATE TABLE digits (d INT)");
    ok(
        &mut s,
        "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    );
    ok(
        &mut s,
        "INSERT INTO t SELECT e.d * 10000 + d.d * 1000 + c.d * 100 + b.d * 10 + a.d, a.d, REPEAT('x', 150)
         FROM digits a, digits b, digits c, digits d, digits e WHERE e.d < 3",
    );
}

/// The state that the process list shows of the ALTER TABLE that runs.
const STATE: &str = "SELECT state FROM information_schema.processlist WHERE info LIKE 'ALTER TABLE%'";

#[test]
fn writers_go_on_while_an_index_is_built() {
    let world = World::new("online");
    filled(&world);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let builder = scope.spawn(|| {
            let mut s = world.session();
            let add = "ALTER TABLE t ADD INDEX kv (v, c), ADD UNIQUE INDEX u (c, id), LOCK=NONE";
            let added = ok(&mut s, add);
            over.store(true, Ordering::Relaxed);
            added
        });
        let (mut s, mut shown, mut locks) = (world.session(), Vec::new(), Vec::new());
        let mut beside = 0;
        for n in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let id = n * 7 % 30_000;
            ok(
                &mut s,
                &format!("UPDATE t SET v = v + 100, c = 'changed {n}' WHERE id = {id}"),
            );
            if n % 3 == 0 {
                ok(&mut s, &format!("DELETE FROM t WHERE id = {}", id + 1));
                ok(
                    &mut s,
                    &format!("REPLACE INTO t VALUES ({}, {n}, 'new')", id + 30_000),
                );
            }
            let state = ok(&mut s, STATE);
            if state.iter().any(|state| state.starts_with("alter table (")) {
                beside += 1;
                locks.extend(ok(
                    &mut s,
                    "SELECT lock_type FROM performance_schema.metadata_locks WHERE object_name = 't'",
                ));
            }
            shown.extend(state);
        }
        assert_eq!(
            builder.join().unwrap(),
            ["ok 0 Records: 0  Duplicates: 0  Warnings: 0"]
        );
        assert!(beside > 10, "{beside} rounds beside the build: {shown:?}");
        assert!(locks.contains(&"SHARED_UPGRADABLE".to_owned()), "{locks:?}");
    });
    let mut s = world.session();
    let by = |index: &str| {
        format!("SELECT COUNT(*), SUM(id), SUM(v), SUM(CRC32(c)) FROM t FORCE INDEX ({index}) WHERE ")
    };
    let rows = ok(&mut s, &format!("{} id > -1", by("PRIMARY")));
    assert_eq!(ok(&mut s, &format!("{} v > -1", by("kv"))), rows);
    assert_eq!(ok(&mut s, &format!("{} c > ''", by("u"))), rows);
    assert_eq!(ok(&mut s, "CHECK TABLE t"), ["d.t|check|status|OK"]);
}

#[test]
fn a_build_that_is_killed_leaves_nothing() {
    let world = World::new("online-killed");
    filled(&world);
    let mut s = world.session();
    ok(&mut s, "BEGIN");
    ok(&mut s, "SELECT 1");
    for statement in [
        "ALTER TABLE t ADD INDEX kc (c, v)",
        "ALTER TABLE t ADD COLUMN w INT, ALGORITHM=COPY",
    ] {
        thread::scope(|scope| {
            let builder = scope.spawn(|| fails(&mut world.session(), statement));
            let id = loop {
                let running = "SELECT id FROM information_schema.processlist WHERE info LIKE 'ALTER TABLE%'";
                match ok(&mut s, running).pop() {
                    Some(id) => break id,
                    None => thread::yield_now(),
                }
            };
            thread::sleep(Duration::from_millis(20));
            ok(&mut s, &format!("KILL QUERY {id}"));
            assert_eq!(builder.join().unwrap(), 1317);
        });
        ok(&mut s, "UPDATE t SET v = 5 WHERE id < 100");
        ok(&mut s, "COMMIT");
        ok(&mut s, "BEGIN");
    }
    ok(&mut s, "COMMIT");
    assert_eq!(ok(&mut s, "SHOW INDEX FROM t").len(), 1);
    ok(&mut s, "ALTER TABLE t ADD INDEX kc (c, v)");
    assert_eq!(
        ok(&mut s, "SELECT COUNT(*) FROM t FORCE INDEX (kc) WHERE c > ''"),
        ["30000"]
    );
    let rows = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't'";
    assert_eq!(ok(&mut s, rows), ["0"]);
}

#[test]
fn readers_go_on_while_rows_are_copied() {
    let world = World::new("online-copied");
    filled(&world);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            ok(&mut world.session(), "ALTER TABLE t MODIFY v BIGINT, LOCK=SHARED");
            over.store(true, Ordering::Relaxed);
        });
        let (mut s, mut locks) = (world.session(), Vec::new());
        while !over.load(Ordering::Relaxed) {
            assert_eq!(ok(&mut s, "SELECT v FROM t WHERE id = 5"), ["5"]);
            locks.extend(ok(
                &mut s,
                "SELECT lock_type FROM performance_schema.metadata_locks WHERE object_name = 't'",
            ));
        }
        assert!(locks.contains(&"SHARED_READ_ONLY".to_owned()), "{locks:?}");
    });
}
