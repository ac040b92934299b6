//! Random requests of a few owners for a few keys, compared with a specification that fits on a page: what is granted
//! and what waits is computed anew, from the list of requests alone, before each step.

use super::*;
use crate::ids::Isolation;
use crate::testing::Random;

const OWNERS: u64 = 5;
const KEYS: [&[u8]; 3] = [b"a", b"b", SUPREMUM];

/// A request as the specification knows it.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    owner: u64,
    want: LockType,
    granted: bool,
}

/// Where owners lock enough rows to begin with that the next ones are noted in bulk.
const OTHER_ROWS: u64 = 64;

struct World {
    locks: Locks,
    index: Arc<IndexLocks>,
    other: Arc<IndexLocks>,
    in_bulk: bool,
    owners: Vec<Arc<Owner>>,
    random: Random,
}

impl World {
    fn new(seed: u64, in_bulk: bool) -> World {
        let locks = Locks::new(u64::MAX);
        let owners = (1..=OWNERS)
            .map(|n| Owner::new(n, locks.memory.clone()))
            .collect::<Vec<_>>();
        owners.iter().for_each(|o| o.begin(Isolation::RepeatableRead));
        let world = World {
            locks,
            other: IndexLocks::new(IndexId(8), TableId(1), 0),
            in_bulk,
            index: IndexLocks::new(IndexId(7), TableId(1), 0),
            owners,
            random: Random(seed),
        };
        world.owners.iter().for_each(|owner| world.begin(owner));
        world
    }

    fn begin(&self, owner: &Arc<Owner>) {
        for row in (0..OTHER_ROWS).filter(|_| self.in_bulk) {
            let request = LockRequest {
                locks: &self.other,
                key: &(owner.number << 32 | row).to_be_bytes(),
                want: LockType::WRITE,
                held: Implicit::None,
                may_wait: false,
            };
            self.locks.acquire(owner, request, Materialise::Single);
        }
    }

    fn end(&self, owner: &Arc<Owner>) {
        self.locks.release_all(owner);
        self.begin(owner);
    }

    /// The locks in bulk on a key that have no object there, in front of those that have.
    fn all(&self, key: &[u8]) -> Vec<Seen> {
        let queue = self.queue(key);
        let in_bulk = self
            .index
            .record_holders(key)
            .into_iter()
            .map(|(owner, _, want)| Seen {
                owner: owner.number,
                want,
                granted: true,
            });
        let mut all: Vec<Seen> = in_bulk.filter(|lock| !queue.contains(lock)).collect();
        all.extend(queue);
        all
    }

    fn key(&self, key: &[u8]) -> LockKey {
        LockKey {
            index: self.index.index,
            key: key.into(),
            hash: self.locks.hash(self.index.index, key),
        }
    }

    fn queue(&self, key: &[u8]) -> Vec<Seen> {
        let seen = self.locks.with_queue(&self.key(key), |queue| {
            let seen = queue.requests.iter().map(|r| Seen {
                owner: r.owner.number,
                want: r.want,
                granted: r.granted,
            });
            seen.collect()
        });
        seen.unwrap_or_default()
    }

    fn waits_at(&self, owner: u64) -> Option<&'static [u8]> {
        let waits = |key: &&[u8]| self.queue(key).iter().any(|r| r.owner == owner && !r.granted);
        KEYS.iter().find(|key| waits(key)).copied()
    }

    fn want(&mut self, key: &[u8]) -> LockType {
        let mode = [LockMode::Shared, LockMode::Exclusive][self.random.below(2) as usize];
        match self.random.below(4) {
            _ if key.is_empty() => [LockType::gap(mode), LockType::INSERT][self.random.below(2) as usize],
            0 => LockType::record(mode),
            1 => LockType::gap(mode),
            2 => LockType::next_key(mode),
            _ => LockType::INSERT,
        }
    }

    /// What the specification says of a new request: must it wait?
    fn must_wait(queue: &[Seen], owner: u64, mut want: LockType) -> bool {
        let holds = |what: LockType| {
            queue
                .iter()
                .any(|r| r.granted && r.owner == owner && r.want.covers(what))
        };
        if holds(want) {
            return false;
        }
        if want.kind == LockKind::NextKey && holds(LockType::record(want.mode)) {
            want = LockType::gap(want.mode);
        }
        let exclusive = |w: LockType| w.has_record() && w.mode == LockMode::Exclusive;
        let overtakes = exclusive(want) && holds(LockType::record(LockMode::Shared));
        queue.iter().any(|r| {
            let overtaken = overtakes && !r.granted && exclusive(r.want);
            r.owner != owner && want.waits_for(r.want) && !overtaken
        })
    }

    fn step(&mut self) {
        let number = self.random.below(OWNERS) + 1;
        let owner = self.owners[number as usize - 1].clone();
        if let Some(key) = self.waits_at(number) {
            // An owner that waits can do nothing but give up.
            if self.random.below(4) == 0 {
                assert!(!self.locks.leave(&owner, &self.key(key)), "it was waiting");
                *owner.wait_state() = Wait::Nothing;
            }
            return;
        }
        if self.random.below(6) == 0 {
            self.end(&owner);
            return;
        }
        let key = KEYS[self.random.below(KEYS.len() as u64) as usize];
        let (want, may_wait) = (self.want(key), self.random.below(3) > 0);
        let before = self.all(key);
        let expected = World::must_wait(&before, number, want);
        let request = LockRequest {
            locks: &self.index,
            key,
            want,
            held: Implicit::None,
            may_wait,
        };
        let attempt = self.locks.acquire(&owner, request, Materialise::Single);
        let came = match attempt {
            Attempt::Granted { .. } => false,
            Attempt::Queued(_) => may_wait,
            Attempt::Busy => !may_wait,
        };
        let blocked = !matches!(attempt, Attempt::Granted { .. });
        assert_eq!(
            blocked, expected,
            "{want:?} of {number} at {key:?} behind {before:?}"
        );
        assert!(came || !blocked);
        if matches!(attempt, Attempt::Busy) {
            let after = self.all(key);
            let same = after.len() == before.len() && after.iter().all(|lock| before.contains(lock));
            assert!(same, "nothing was entered: {before:?}, {after:?}");
        }
    }

    /// What must hold at any time.
    fn check(&self) {
        let (mut objects, mut watched) = (0, 0);
        for key in KEYS {
            objects += !self.queue(key).is_empty() as u64;
            let queue = self.all(key);
            watched += queue.iter().filter(|r| r.want.is_watched()).count() as u64;
            for (i, r) in queue.iter().enumerate() {
                let in_the_way = |o: &Seen| o.owner != r.owner && r.want.waits_for(o.want);
                if r.granted {
                    assert!(
                        queue[..i].iter().all(|o| o.granted),
                        "granted ones stand in front: {queue:?}"
                    );
                    // An insert intention that was granted may be followed by locks on the gap.
                    let clash = queue.iter().any(|o| o.granted && in_the_way(o));
                    assert!(!clash || r.want == LockType::INSERT, "{queue:?}");
                } else {
                    assert!(
                        queue[..i].iter().any(in_the_way),
                        "nobody waits for nothing: {queue:?}"
                    );
                    assert_eq!(
                        queue.iter().filter(|o| o.owner == r.owner && !o.granted).count(),
                        1
                    );
                }
            }
        }
        let bulks = self.index.bulk_count.load(Ordering::Relaxed);
        assert!(self.in_bulk || bulks == 0);
        assert_eq!(self.index.objects.load(Ordering::Relaxed), objects + bulks);
        assert_eq!(self.index.watched.load(Ordering::Relaxed), watched);
    }
}

#[test]
fn random_requests_are_granted_as_specified() {
    play(false);
}

#[test]
fn with_locks_in_bulk_they_are_granted_no_differently() {
    play(true);
}

fn play(in_bulk: bool) {
    let (mut waited, mut bulks) = (0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed, in_bulk);
        for _ in 0..300 {
            world.step();
            world.check();
            bulks += world.index.bulk_count.load(Ordering::Relaxed);
            waited += (1..=OWNERS).filter(|o| world.waits_at(*o).is_some()).count();
        }
        // Once all have given up and let go, nothing is left.
        for number in 1..=OWNERS {
            let owner = world.owners[number as usize - 1].clone();
            if let Some(key) = world.waits_at(number) {
                world.locks.leave(&owner, &world.key(key));
            }
            world.locks.release_all(&owner);
            world.check();
        }
        assert!(KEYS.iter().all(|key| world.queue(key).is_empty()));
    }
    assert!(waited > 10_000, "{waited}");
    assert_eq!(bulks > 10_000, in_bulk, "{bulks}");
}
