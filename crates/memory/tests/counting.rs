//! What the allocator counts, in a process of its own: one test, since the counters are the process's.

use std::sync::mpsc;
use tidemark_memory::{
    Counting, Exceeded, Limit, QUANTUM, begin_statement, check, process_bytes, reserve, set_process_limit,
    statement_bytes, thread_begins,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

const MIB: usize = 1 << 20;

/// Bytes by which two numbers may differ: two threads' quanta, and what the test's own machinery takes.
const SLACK: u64 = 4 * QUANTUM as u64;

fn near(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= SLACK
}

#[test]
fn memory_is_counted_by_thread_and_in_all() {
    // A vector that grows is counted once, however often it moves.
    begin_statement(Limit::NONE);
    let before = process_bytes();
    let mut grown: Vec<u8> = Vec::new();
    for n in 0..(8 * MIB) {
        grown.push(n as u8);
    }
    assert!(near(statement_bytes(), 8 * MIB as u64), "{}", statement_bytes());
    assert!(near(process_bytes(), before + 8 * MIB as u64));

    // What one thread took another may free: the sum is right.
    std::thread::spawn(move || {
        begin_statement(Limit::NONE);
        drop(grown);
        assert_eq!(statement_bytes(), 0);
    })
    .join()
    .unwrap();
    assert!(near(process_bytes(), before), "{} {before}", process_bytes());

    // Short threads leave nothing behind, whichever thread frees what they took.
    let (sender, receiver) = mpsc::channel();
    for _ in 0..1000 {
        let sender = sender.clone();
        let thread = std::thread::spawn(move || {
            thread_begins();
            sender.send(vec![0u8; 10_000]).unwrap();
        });
        thread.join().unwrap();
        drop(receiver.recv().unwrap());
    }
    assert!(near(process_bytes(), before), "{} {before}", process_bytes());

    // A statement's own limit.
    let limit = |bytes, name| Limit { bytes, name };
    let own = limit(4 * MIB as u64, "own");
    begin_statement(own);
    let taken = vec![1u8; 2 * MIB];
    assert_eq!(check(), Ok(()));
    assert!(reserve(MIB as u64).is_ok());
    assert_eq!(reserve(3 * MIB as u64).unwrap_err(), Exceeded(own));
    let more = vec![1u8; 3 * MIB];
    assert_eq!(check(), Err(Exceeded(own)));
    drop(more);

    // The limit of all: a statement that has taken next to nothing goes on.
    let all = limit(process_bytes() - MIB as u64 / 2, "all");
    set_process_limit(all);
    assert_eq!(check(), Err(Exceeded(all)));
    drop(taken);
    assert_eq!(check(), Ok(()));
    let taken = vec![1u8; 2 * MIB];
    assert_eq!(check(), Err(Exceeded(all)));
    begin_statement(Limit::NONE);
    assert_eq!(check(), Ok(()));
    drop(taken);

    // Of several that want the last room, one gets it.
    set_process_limit(limit(process_bytes() + 10 * MIB as u64, "all"));
    let first = reserve(8 * MIB as u64).unwrap();
    assert!(reserve(8 * MIB as u64).is_err());
    drop(first);
    assert!(reserve(8 * MIB as u64).is_ok());
    set_process_limit(Limit::NONE);
}
