//! The latch by itself: versions, second chances, and that every waiter is woken.

use super::latch::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn resident() -> Latch {
    let latch = Latch::default();
    assert!(!latch.lock_exclusive());
    latch.set_resident();
    latch.unlock_exclusive();
    latch
}

#[test]
fn versions_tell_of_changes_and_of_evictions() {
    let latch = Latch::default();
    assert_eq!(latch.optimistic(), None);
    assert!(!latch.lock_shared());
    let latch = resident();
    let version = latch.optimistic().unwrap();
    assert!(latch.lock_shared());
    assert!(latch.validate(version), "sharers change nothing");
    latch.unlock_shared();
    assert!(latch.share_at(version));
    latch.unlock_shared();
    assert!(latch.exclude_at(version));
    assert!(!latch.validate(version) && !latch.try_lock_shared());
    latch.unlock_exclusive();
    assert!(!latch.validate(version) && !latch.share_at(version) && !latch.exclude_at(version));

    let version = latch.optimistic().unwrap();
    assert!(!latch.take_if_unused(), "the first round only marks");
    assert!(latch.validate(version));
    assert!(latch.take_if_unused());
    latch.unlock_evicted();
    assert!(!latch.validate(version) && !latch.is_resident());
    assert!(!latch.lock_exclusive());
    latch.set_resident();
    latch.unlock_exclusive();
    assert!(
        !latch.validate(version),
        "the same page come back is not the same reading"
    );
}

#[test]
fn use_gives_a_second_chance() {
    let latch = resident();
    assert!(!latch.take_if_unused());
    latch.optimistic();
    assert!(!latch.take_if_unused());
    assert!(latch.take_if_unused());
}

/// Starts a thread that will wait, and returns when it sleeps (or has had ample time to).
fn sleeper<'s, T: Send + 's>(
    scope: &'s thread::Scope<'s, '_>,
    f: impl FnOnce() -> T + Send + 's,
) -> thread::ScopedJoinHandle<'s, T> {
    let handle = scope.spawn(f);
    thread::sleep(Duration::from_millis(30));
    handle
}

/// That all of them come back; a thread that sleeps for ever is woken in the end, so that the test can fail.
fn all_come_back(latch: &Latch, waiting: &[&dyn Fn() -> bool]) {
    let begun = std::time::Instant::now();
    while !waiting.iter().all(|is_finished| is_finished()) {
        if begun.elapsed() > Duration::from_secs(5) {
            while !waiting.iter().all(|is_finished| is_finished()) {
                latch.wake();
                thread::sleep(Duration::from_millis(5));
            }
            panic!("somebody waited for a free latch");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_optimistic_reader_does_not_use_up_a_wake_up() {
    let latch = resident();
    thread::scope(|scope| {
        latch.lock_exclusive();
        let reader = sleeper(scope, || latch.optimistic());
        let writer = sleeper(scope, || {
            latch.lock_exclusive();
            latch.unlock_exclusive();
        });
        latch.unlock_exclusive();
        all_come_back(&latch, &[&|| reader.is_finished(), &|| writer.is_finished()]);
    });
}

/// The page changes while they wait for it as it was, so they take nothing.
#[test]
fn who_finds_the_page_changed_passes_the_wake_up_on() {
    let latch = resident();
    let version = latch.optimistic().unwrap();
    thread::scope(|scope| {
        latch.lock_shared();
        let write = || {
            latch.lock_exclusive();
            latch.unlock_exclusive();
        };
        let first = sleeper(scope, write);
        let sharer = sleeper(scope, || latch.share_at(version));
        let excluder = sleeper(scope, || latch.exclude_at(version));
        let last = sleeper(scope, write);
        latch.unlock_shared();
        all_come_back(
            &latch,
            &[
                &|| first.is_finished(),
                &|| sharer.is_finished(),
                &|| excluder.is_finished(),
                &|| last.is_finished(),
            ],
        );
        assert!(!sharer.join().unwrap() && !excluder.join().unwrap());
    });
}

/// Many more threads than processors, every kind of hold: exclusion holds and no thread sleeps for ever.
#[test]
fn crowds_pass_through() {
    let latch = resident();
    let (inside, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for t in 0..32 {
            let (latch, inside, sum) = (&latch, &inside, &sum);
            scope.spawn(move || {
                for i in 0..300 {
                    match (t + i) % 4 {
                        0 => {
                            latch.lock_exclusive();
                            assert_eq!(inside.fetch_add(1000, Ordering::SeqCst), 0);
                            if i % 64 == 0 {
                                thread::sleep(Duration::from_micros(100));
                            }
                            sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            inside.fetch_sub(1000, Ordering::SeqCst);
                            latch.unlock_exclusive();
                        }
                        1 => {
                            latch.lock_exclusive();
                            latch.downgrade();
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 1000);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            latch.unlock_shared();
                        }
                        2 => {
                            assert!(latch.lock_shared());
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 1000);
                            thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            latch.unlock_shared();
                        }
                        _ => {
                            let version = latch.optimistic().unwrap();
                            let before = sum.load(Ordering::Relaxed);
                            let again = sum.load(Ordering::Relaxed);
                            if latch.validate(version) {
                                assert_eq!(before, again);
                            }
                        }
                    }
                }
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), 32 * 75);
    assert!(latch.take_if_unused() || latch.take_if_unused(), "nobody is left");
}
