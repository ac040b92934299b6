use super::*;
use crate::ids::Isolation;
use std::thread;

const INDEX: IndexId = IndexId(1);
const S: LockType = LockType::record(LockMode::Shared);
const X: LockType = LockType::record(LockMode::Exclusive);
const LONG: Duration = Duration::from_secs(20);

struct Fixture {
    locks: Arc<Locks>,
    index: Arc<IndexLocks>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            locks: Arc::new(Locks::new(u64::MAX)),
            index: IndexLocks::new(INDEX, TableId(1), 0),
        }
    }

    fn attempt(&self, owner: &Arc<Owner>, key: &[u8], want: LockType) -> Attempt {
        self.acquire(owner, key, want, Implicit::None, true)
    }

    fn acquire(
        &self,
        owner: &Arc<Owner>,
        key: &[u8],
        want: LockType,
        held: Implicit,
        may_wait: bool,
    ) -> Attempt {
        let request = LockRequest {
            locks: &self.index,
            key,
            want,
            held,
            may_wait,
        };
        self.locks.acquire(owner, request, Materialise::Single)
    }

    /// Takes a lock that must be free.
    fn take(&self, owner: &Arc<Owner>, key: &[u8], want: LockType) {
        assert!(matches!(self.attempt(owner, key, want), Attempt::Granted { .. }));
    }

    /// Enters the queue for a lock that must be taken; the thread waits for it.
    fn wait(
        &self,
        owner: &Arc<Owner>,
        key: &[u8],
        want: LockType,
        timeout: Duration,
    ) -> thread::JoinHandle<Result<()>> {
        let Attempt::Queued(key) = self.attempt(owner, key, want) else {
            panic!("granted at once")
        };
        let (locks, owner) = (self.locks.clone(), owner.clone());
        thread::spawn(move || locks.wait(&owner, &key, timeout).map(|_| ()))
    }

    fn busy(&self, owner: &Arc<Owner>, key: &[u8], want: LockType) -> bool {
        match self.acquire(owner, key, want, Implicit::None, false) {
            Attempt::Busy => true,
            Attempt::Granted { new } => {
                if new {
                    self.locks.release(owner, &self.index, key, want);
                }
                false
            }
            Attempt::Queued(_) => panic!("queued though it would not wait"),
        }
    }
}

fn memory() -> Arc<LockMemory> {
    Arc::new(LockMemory::new(u64::MAX))
}

fn owners<const N: usize>() -> [Arc<Owner>; N] {
    std::array::from_fn(|i| {
        let owner = Owner::new(i as u64 + 1, memory());
        owner.begin(Isolation::RepeatableRead);
        owner
    })
}

#[test]
fn shared_locks_share_and_exclusive_ones_do_not() {
    let f = Fixture::new();
    let [a, b, c] = owners();
    f.take(&a, b"k", S);
    f.take(&b, b"k", S);
    assert!(f.busy(&c, b"k", X));
    assert!(!f.busy(&c, b"other", X));
    f.locks.release_all(&a);
    assert!(f.busy(&c, b"k", X));
    f.take(&b, b"k", X);
    assert!(f.busy(&c, b"k", S));
    f.locks.release_all(&b);
    assert!(!f.busy(&c, b"k", X));
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0, "no objects are left");
}

#[test]
fn nobody_overtakes_a_waiter() {
    let f = Fixture::new();
    let [a, b, c] = owners();
    f.take(&a, b"k", S);
    let waiting = f.wait(&b, b"k", X, LONG);
    assert!(
        f.busy(&c, b"k", S),
        "compatible with the holder, but not with a waiting request"
    );
    f.locks.release_all(&a);
    waiting.join().unwrap().unwrap();
    f.locks.release_all(&b);
    assert!(!f.busy(&c, b"k", S));
}

#[test]
fn a_wait_times_out_and_leaves_nothing_behind() {
    let f = Fixture::new();
    let [a, b, c] = owners();
    f.take(&a, b"k", S);
    let waiting = f.wait(&b, b"k", X, Duration::from_millis(20));
    let behind = f.wait(&c, b"k", S, LONG);
    assert!(matches!(waiting.join().unwrap(), Err(Error::LockWaitTimeout)));
    behind.join().unwrap().unwrap();
    f.locks.release_all(&a);
    f.locks.release_all(&c);
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0);
}

#[test]
fn a_kill_ends_a_wait() {
    let f = Fixture::new();
    let [a, b] = owners();
    f.take(&a, b"k", X);
    let waiting = f.wait(&b, b"k", X, LONG);
    b.interrupt.kill();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
}

#[test]
fn an_implicit_lock_becomes_an_object_only_while_its_writer_runs() {
    let f = Fixture::new();
    let [a, b] = owners();
    a.begin_writing(TxnId(7));
    let writer = || Implicit::Other(TxnId(7), a.clone());
    let acquire = |held| f.acquire(&b, b"k", X, held, true);
    let Attempt::Queued(key) = acquire(writer()) else {
        panic!("granted though the writer runs")
    };
    f.locks.release_all(&a);
    f.locks.wait(&b, &key, LONG).unwrap();
    f.locks.release_all(&b);
    a.begin_writing(TxnId(8));
    assert!(
        matches!(acquire(writer()), Attempt::Granted { new: true }),
        "7 has ended; 8 never wrote the row"
    );
}

#[test]
fn the_lighter_of_a_deadlock_gives_way() {
    let f = Fixture::new();
    let [a, b] = owners();
    a.changes.store(1, Ordering::Relaxed);
    b.changes.store(5, Ordering::Relaxed);
    f.take(&a, b"x", X);
    f.take(&b, b"y", X);
    let first = f.wait(&a, b"y", X, LONG);
    let second = f.wait(&b, b"x", X, LONG);
    assert!(matches!(first.join().unwrap(), Err(Error::Deadlock)));
    f.locks.release_all(&a);
    second.join().unwrap().unwrap();
    assert_eq!(f.locks.stats.deadlocks.load(Ordering::Relaxed), 1);
    let info = f.locks.latest_deadlock().unwrap();
    let seen = |owner: u64| {
        let member = info
            .members
            .iter()
            .find(|m| m.transaction.owner == owner)
            .unwrap();
        let place = |lock: &LockInfo| match &lock.place {
            LockPlace::Key(key) => key.clone(),
            other => panic!("{other:?}"),
        };
        let holds: Vec<_> = member.holds.iter().map(place).collect();
        (
            member.transaction.owner,
            place(&member.waits_for),
            holds,
            member.victim,
        )
    };
    assert_eq!(seen(2), (2, b"x".to_vec(), vec![b"y".to_vec()], false));
    assert_eq!(seen(1), (1, b"y".to_vec(), vec![b"x".to_vec()], true));
}

#[test]
fn two_upgrades_are_a_deadlock() {
    let f = Fixture::new();
    let [a, b] = owners();
    f.take(&a, b"k", S);
    f.take(&b, b"k", S);
    let first = f.wait(&a, b"k", X, LONG);
    let second = f.wait(&b, b"k", X, LONG);
    // Whichever search runs last sees the cycle; its owner, or the first of the cycle, gives way.
    let deadline = Instant::now() + LONG;
    while f.locks.stats.deadlocks.load(Ordering::Relaxed) == 0 {
        assert!(Instant::now() < deadline, "not found");
        thread::yield_now();
    }
    while !first.is_finished() && !second.is_finished() {
        thread::yield_now();
    }
    let (loser, winner, lost, won) = if first.is_finished() {
        (&a, &b, first, second)
    } else {
        (&b, &a, second, first)
    };
    assert!(matches!(lost.join().unwrap(), Err(Error::Deadlock)));
    f.locks.release_all(loser);
    won.join().unwrap().unwrap();
    f.locks.release_all(winner);
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0);
}

#[test]
fn no_wakeup_is_lost() {
    // Every thread increments a plain counter under the lock of one of two keys; a lost wakeup times out.
    let f = Arc::new(Fixture::new());
    let counters: Arc<[AtomicU64; 2]> = Arc::default();
    let threads: Vec<_> = (0..8u64)
        .map(|n| {
            let (f, counters) = (f.clone(), counters.clone());
            thread::spawn(move || {
                let owner = Owner::new(n + 1, memory());
                for i in 0..500u64 {
                    let k = ((i + n) % 2) as usize;
                    let key = [k as u8];
                    if let Attempt::Queued(key) = f.attempt(&owner, &key, X) {
                        f.locks.wait(&owner, &key, LONG).unwrap();
                    }
                    let v = counters[k].load(Ordering::Relaxed);
                    if i % 16 == 0 {
                        thread::yield_now();
                    }
                    counters[k].store(v + 1, Ordering::Relaxed);
                    f.locks.release_all(&owner);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let total: u64 = counters.iter().map(|c| c.load(Ordering::Relaxed)).sum();
    assert_eq!(total, 8 * 500);
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0);
}

/// Releases the locks of `holder`, and returns the order in which the waiting owners were granted `b"k"`.
fn order_on_k(
    f: &Fixture,
    holder: &Arc<Owner>,
    waiting: Vec<(&Arc<Owner>, thread::JoinHandle<Result<()>>)>,
) -> Vec<u64> {
    let mut order = Vec::new();
    let mut waiting = waiting;
    f.locks.release_all(holder);
    while !waiting.is_empty() {
        let at = loop {
            match waiting.iter().position(|(_, thread)| thread.is_finished()) {
                Some(at) => break at,
                None => thread::yield_now(),
            }
        };
        let (owner, thread) = waiting.remove(at);
        thread.join().unwrap().unwrap();
        order.push(owner.number);
        f.locks.release_all(owner);
    }
    order
}

#[test]
fn the_most_wanted_go_first_but_not_for_ever() {
    for overtaken in [false, true] {
        let f = Fixture::new();
        let [holder, old, wanted, wants, passing] = owners();
        f.take(&holder, b"k", X);
        f.take(&wanted, b"other", X);
        let first = f.wait(&old, b"k", X, LONG);
        for _ in 0..if overtaken { 10 } else { 0 } {
            let gone = f
                .wait(&passing, b"k", X, Duration::from_millis(1))
                .join()
                .unwrap();
            assert!(matches!(gone, Err(Error::LockWaitTimeout)));
        }
        let second = f.wait(&wanted, b"k", X, LONG);
        let third = f.wait(&wants, b"other", X, LONG);
        // All three wait by now: their threads have begun to.
        let is_wanted = || {
            let counts = f.locks.waiting.wanted(&holder);
            let has = |owner: &Owner| counts.iter().any(|(number, _)| *number == owner.number);
            has(&wanted) && has(&old) == overtaken
        };
        while !is_wanted() {
            thread::yield_now();
        }
        let order = order_on_k(&f, &holder, vec![(&old, first), (&wanted, second)]);
        third.join().unwrap().unwrap();
        f.locks.release_all(&wants);
        match overtaken {
            true => assert_eq!(order, [old.number, wanted.number]),
            false => assert_eq!(order, [wanted.number, old.number]),
        }
    }
}

#[test]
fn a_record_locked_in_bulk_hands_its_lock_on_to_the_gap_when_it_goes() {
    let f = Fixture::new();
    let [a, b] = owners();
    for row in 0..64u64 {
        f.take(&a, &row.to_be_bytes(), LockType::WRITE);
    }
    f.take(&a, b"k", LockType::WRITE);
    assert!(
        f.locks.with_queue(&f.locks.key(&f.index, b"k"), |_| ()).is_none(),
        "it is no object"
    );
    assert!(f.busy(&b, b"k", LockType::WRITE));
    assert!(!f.busy(&b, b"m", LockType::INSERT));
    f.locks.join_gaps(&f.index, b"k", b"m");
    assert!(!f.busy(&b, b"k", LockType::WRITE), "a new record may stand there");
    assert!(f.busy(&b, b"m", LockType::INSERT));
    f.locks.release_all(&a);
    assert!(!f.busy(&b, b"m", LockType::INSERT));
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0);
}

#[test]
fn a_lock_in_bulk_is_released_alone_whether_another_waits_for_it_or_not() {
    let f = Fixture::new();
    let [a, b] = owners();
    for row in 0..64u64 {
        f.take(&a, &row.to_be_bytes(), LockType::WRITE);
    }
    f.take(&a, b"k", LockType::WRITE);
    f.take(&a, b"m", LockType::WRITE);
    f.locks.release(&a, &f.index, b"k", LockType::WRITE);
    assert!(!f.busy(&b, b"k", LockType::WRITE));
    let waiting = f.wait(&b, b"m", LockType::WRITE, LONG);
    f.locks.release(&a, &f.index, b"m", LockType::WRITE);
    waiting.join().expect("it does not panic").expect("granted");
    f.locks.release_all(&b);
    f.locks.release_all(&a);
    assert_eq!(f.index.objects.load(Ordering::Relaxed), 0);
}
