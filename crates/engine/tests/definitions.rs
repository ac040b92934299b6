//! Definitions that are too long to be stored, and changes of definitions that wait for one another.

mod common;

use common::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// Bytes that the catalog can hold under one key.
const LONGEST: usize = 65_536 * 3000;

#[test]
fn a_definition_that_the_catalog_cannot_hold_is_refused_before_anything_is_written() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let mut ddl = engine.ddl().unwrap();
    ddl.put_meta("long", b"a", b"before").unwrap();
    ddl.commit().unwrap();
    let tail = engine.status().log_tail;
    let mut ddl = engine.ddl().unwrap();
    match ddl.put_meta("long", b"a", &vec![1; LONGEST + 1]) {
        Err(Error::DefinitionTooLong { bytes, max_bytes }) => {
            assert_eq!((bytes, max_bytes), (LONGEST + 1, LONGEST));
        }
        other => panic!("{other:?}"),
    }
    drop(ddl);
    assert_eq!(engine.status().log_tail, tail);
    assert_eq!(engine.meta_get("long", b"a").unwrap().unwrap(), b"before");
    // Lengths around those of whole chunks, longer and shorter.
    for len in [3000, 2999, 9000, 9001, 3000, 0, 6000, 1] {
        let mut ddl = engine.ddl().unwrap();
        ddl.put_meta("long", b"a", &vec![7; len]).unwrap();
        ddl.commit().unwrap();
        assert_eq!(engine.meta_get("long", b"a").unwrap().unwrap(), vec![7; len]);
    }
    drop(engine);
    let disk = disk.restart();
    assert_eq!(open(&disk).meta_get("long", b"a").unwrap().unwrap(), [7]);
    check(&disk);
}

/// A wait for the turn ends by KILL and by a time limit. Work that takes long does not hold the turn.
#[test]
fn a_change_of_definitions_waits_for_its_turn_as_long_as_it_is_wanted() {
    let engine = open(&SimDisk::new(1));
    let interrupt = Arc::new(Interrupt::default());
    let mut first = engine.ddl().unwrap();
    let began = Instant::now();
    let waited = engine.ddl_within(interrupt.clone(), Duration::from_millis(300));
    assert!(
        matches!(waited, Err(Error::LockWaitTimeout)),
        "{:?}",
        waited.err()
    );
    assert!(began.elapsed() >= Duration::from_millis(300));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| engine.ddl_within(interrupt.clone(), Duration::MAX).map(drop));
        std::thread::sleep(Duration::from_millis(300));
        interrupt.kill();
        assert!(matches!(waits.join().unwrap(), Err(Error::Interrupted)));
    });
    // What does not have to wait is not ended by what killed it before.
    first.let_others();
    let mut second = engine.ddl_within(interrupt.clone(), Duration::MAX).unwrap();
    second.put_meta("turns", b"a", b"second").unwrap();
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| first.commit());
        std::thread::sleep(Duration::from_millis(300));
        assert!(!commits.is_finished());
        second.commit().unwrap();
        commits.join().unwrap().unwrap();
    });
    assert_eq!(engine.meta_get("turns", b"a").unwrap().unwrap(), b"second");
}
