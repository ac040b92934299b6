//! What the disk fails to do while something is undone: the transaction is gone as a whole, so its connection ends, and the
//! client is told why.

use super::{World, ok, run};
use crate::error::er;
use crate::session::Session;
use tidemark_engine::disk::sim::{Call, Failing, Faults, SimDisk};

/// So many rows of so many bytes that their records do not fit the log's buffer: to undo them, the log is read.
const ROWS: usize = 400;
const ROW_LEN: usize = 8000;

/// Reads of the disk fail from now on.
fn fail_reads(disk: &SimDisk) {
    disk.set_faults(Faults {
        failing: Some(Failing {
            calls: &[Call::Read],
            at: 1,
            for_ever: true,
            error: libc::EIO,
        }),
        ..Faults::default()
    });
}

/// Rows of these ids, as an INSERT takes them.
fn rows(ids: std::ops::Range<usize>) -> String {
    let row = |id| format!("({id}, REPEAT('x', {ROW_LEN}))");
    ids.map(row).collect::<Vec<_>>().join(", ")
}

/// Runs what cannot be undone while reads fail, in a transaction that has inserted row 1; then the disk is well again, and row 1
/// is gone.
#[track_caller]
fn ends_the_connection(name: &str, before: &[String], sql: &str) {
    let disk = SimDisk::new(1);
    let world = World::at(name, Some(disk.clone()));
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(8000))");
    ok(&mut s, "INSERT INTO t VALUES (0, 'before')");
    ok(&mut s, "BEGIN");
    ok(&mut s, "INSERT INTO t VALUES (1, 'first')");
    for statement in before {
        ok(&mut s, statement);
    }
    fail_reads(&disk);
    let error = run(&mut s, sql).map(|text| text.lines).expect_err(name);
    assert_eq!(error.code, er::GET_ERRNO, "{name}: {error}");
    assert!(s.is_killed(), "{name}");
    drop(s);
    disk.set_faults(Faults::default());
    let ids = |s: &mut Session| ok(s, "SELECT id FROM t");
    assert_eq!(ids(&mut world.session()), ["0"], "{name}");
}

#[test]
fn a_statement_that_cannot_be_undone_ends_the_connection() {
    let sql = format!("INSERT INTO t VALUES {}, (0, 'duplicate')", rows(2..ROWS));
    ends_the_connection("undo", &[], &sql);
}

#[test]
fn a_savepoint_that_cannot_be_reached_ends_the_connection() {
    let before = [
        "SAVEPOINT a".to_owned(),
        format!("INSERT INTO t VALUES {}", rows(2..ROWS)),
    ];
    ends_the_connection("savepoint", &before, "ROLLBACK TO SAVEPOINT a");
}
