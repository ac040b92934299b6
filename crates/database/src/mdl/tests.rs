//! Of metadata locks, alone and by several sessions at once.

use super::*;
use std::sync::atomic::AtomicBool;
use std::thread;

impl Waiter for AtomicBool {
    fn is_interrupted(&self) -> bool {
        self.load(Ordering::SeqCst)
    }

    fn look(&self) {}

    fn counts(&self, _: &TableLock) -> [bool; 2] {
        [true; 2]
    }
}

pub(super) fn policy(ms: u64) -> WaitPolicy<'static> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    WaitPolicy {
        timeout: Duration::from_millis(ms),
        waiter: &NEVER,
    }
}

#[test]
fn ddl_waits_for_users_and_stops_new_ones() {
    let locks = Arc::new(Locks::default());
    let t = locks.table("test", "t");
    let (reader, late, ddl) = (locks.holder(1), locks.holder(2), locks.holder(3));
    reader.use_table(&t, Mode::Read, &policy(0)).unwrap();
    assert_eq!(ddl.own(&t, Block::Definition, &policy(20)), Err(Failure::Timeout));
    late.use_table(&t, Mode::Read, &policy(0)).unwrap();
    late.release_used();

    thread::scope(|scope| {
        let waiting = scope.spawn(|| ddl.own(&t, Block::Definition, &policy(10_000)));
        while t.blocker() != Blocker::Owner(3) {
            thread::yield_now();
        }
        assert_eq!(late.use_table(&t, Mode::Read, &policy(20)), Err(Failure::Timeout));
        reader.release_used();
        waiting.join().unwrap().unwrap();
    });
    ddl.release_owned_after(0);
    late.use_table(&t, Mode::Write, &policy(0)).unwrap();
}

#[test]
fn names_that_nobody_uses_go() {
    let locks = Arc::new(Locks::default());
    let (kept, held) = (locks.table("test", "kept"), locks.table("test", "held"));
    let holder = locks.holder(1);
    holder.own(&held, Block::Definition, &policy(0)).unwrap();
    let address = Arc::as_ptr(&held);
    drop(held);
    for n in 0..100_000 {
        locks.table("test", &format!("t{n}"));
    }
    assert!(locks.names.lock().locks.len() <= LocksByName::LEN_MIN);
    assert!(Arc::ptr_eq(&kept, &locks.table("test", "kept")));
    assert_eq!(Arc::as_ptr(&locks.table("test", "held")), address);
    let other = locks.holder(2);
    let again = locks.table("test", "held");
    assert_eq!(
        other.use_table(&again, Mode::Read, &policy(5)),
        Err(Failure::Timeout)
    );
}

/// Sessions that own one name in turn, asking for its lock anew each time, while names come and go beside it: two
/// locks of that name at once would let two sessions in.
#[test]
fn a_swept_name_has_one_lock() {
    let locks = Arc::new(Locks::default());
    let inside = AtomicU64::new(0);
    thread::scope(|scope| {
        for id in 1..4 {
            let (locks, inside) = (&locks, &inside);
            scope.spawn(move || {
                let me = locks.holder(id);
                for n in 0..3_000 {
                    let lock = locks.table("test", "t");
                    me.own(&lock, Block::Definition, &policy(10_000)).unwrap();
                    drop(lock);
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    me.release_owned_after(0);
                    for other in 0..30 {
                        locks.table("test", &format!("{id}-{n}-{other}"));
                    }
                }
            });
        }
    });
    assert!(locks.names.lock().locks.len() <= 2 * LocksByName::LEN_MIN);
}

#[test]
fn lock_tables_read_stops_writers_only() {
    let locks = Arc::new(Locks::default());
    let t = locks.table("test", "t");
    let (dump, other) = (locks.holder(1), locks.holder(2));
    dump.own(&t, Block::Writers, &policy(0)).unwrap();
    other.use_table(&t, Mode::Read, &policy(0)).unwrap();
    assert_eq!(
        other.use_table(&t, Mode::Write, &policy(10)),
        Err(Failure::Timeout)
    );
    // Another may lock it likewise; neither lets writers in before both are gone.
    let second = locks.holder(3);
    second.own(&t, Block::Writers, &policy(0)).unwrap();
    assert_eq!(
        second.own(&t, Block::Definition, &policy(10)),
        Err(Failure::Timeout)
    );
    drop(dump);
    assert_eq!(
        other.use_table(&t, Mode::Write, &policy(10)),
        Err(Failure::Timeout)
    );
    second.release_owned_after(0);
    other.use_table(&t, Mode::Write, &policy(0)).unwrap();
}

#[test]
fn a_cycle_is_found_and_a_kill_is_heard() {
    let locks = Arc::new(Locks::default());
    let (t, u) = (locks.table("test", "t"), locks.table("test", "u"));
    let (a, b) = (locks.holder(1), locks.holder(2));
    a.own(&t, Block::Definition, &policy(0)).unwrap();
    b.own(&u, Block::Definition, &policy(0)).unwrap();
    let killed = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let policy = WaitPolicy {
                timeout: Duration::from_secs(10),
                waiter: &killed,
            };
            a.use_table(&u, Mode::Read, &policy)
        });
        while !locks.state.lock().waits.contains_key(&1) {
            thread::yield_now();
        }
        assert_eq!(
            b.use_table(&t, Mode::Read, &policy(10_000)),
            Err(Failure::Deadlock)
        );
        killed.store(true, Ordering::SeqCst);
        locks.wake_all();
        assert_eq!(waiting.join().unwrap(), Err(Failure::Interrupted));
    });
}

#[test]
fn a_cycle_leads_through_one_who_waits_for_the_last_writers() {
    let locks = Arc::new(Locks::default());
    let (t, u) = (locks.table("test", "t"), locks.table("test", "u"));
    let (writer, reader, late) = (locks.holder(1), locks.holder(2), locks.holder(3));
    writer.use_table(&t, Mode::Write, &policy(0)).unwrap();
    late.own(&u, Block::Definition, &policy(0)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| reader.own(&t, Block::Writers, &policy(10_000)));
        while !locks.state.lock().waits.contains_key(&2) {
            thread::yield_now();
        }
        scope.spawn(|| late.use_table(&t, Mode::Write, &policy(10_000)));
        while !locks.state.lock().waits.contains_key(&3) {
            thread::yield_now();
        }
        assert_eq!(
            writer.use_table(&u, Mode::Read, &policy(10_000)),
            Err(Failure::Deadlock)
        );
        writer.release_all();
        while locks.state.lock().waits.contains_key(&2) {
            thread::yield_now();
        }
        reader.release_all();
    });
}

/// The two sides race; whenever both believe they have the table, the protocol is broken.
#[test]
fn shared_and_exclusive_never_overlap() {
    let locks = Arc::new(Locks::default());
    let t = locks.table("test", "t");
    let inside = AtomicU64::new(0);
    let changing = AtomicBool::new(false);
    thread::scope(|scope| {
        for id in 1..4 {
            let (locks, t, inside, changing) = (&locks, &t, &inside, &changing);
            scope.spawn(move || {
                let me = locks.holder(id);
                for _ in 0..20_000 {
                    me.use_table(t, Mode::Read, &policy(10_000)).unwrap();
                    inside.fetch_add(1, Ordering::SeqCst);
                    assert!(!changing.load(Ordering::SeqCst));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    me.release_used();
                }
            });
        }
        let me = locks.holder(9);
        for _ in 0..500 {
            me.own(&t, Block::Definition, &policy(10_000)).unwrap();
            changing.store(true, Ordering::SeqCst);
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            changing.store(false, Ordering::SeqCst);
            me.release_owned_after(0);
        }
    });
}
