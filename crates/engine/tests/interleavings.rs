//! Every interleaving, and every order the memory model allows, of the few steps on which consistent reads rest, and of
//! those by which the intentions on a table are noted and collected. The code checked is the engine's own: some of its
//! files, compiled here against *loom*'s atomics instead of the real ones.

// An exhibit of the museum has latches of its own, which loom does not know.
#![cfg(not(feature = "museum"))]

mod ids {
    pub use tidemark_engine::ids::*;
}

mod sync {
    pub use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

    pub const CHUNK_IDS: u64 = 4;
    pub const PLACES_MAX: usize = 2;
    pub const PART_SLOTS: usize = 2;
    pub const PARTS_MAX: usize = 2;
}

/// Nothing is broken here, also in a build that could be.
#[cfg(feature = "sabotage")]
mod sabotage {
    pub fn breaks(_: &str) -> bool {
        false
    }
}

use loom::sync::atomic;

#[allow(dead_code)]
#[path = "../src/mvcc/copies.rs"]
mod copies;
#[path = "../src/lock/intentions.rs"]
mod intentions;
#[allow(dead_code)]
#[path = "../src/mvcc/txns.rs"]
mod txns;
#[allow(dead_code)]
#[path = "../src/mvcc/views.rs"]
mod views;

use copies::{Copy, Need, Watch};
use ids::{Lsn, TxnId};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use txns::Txns;
use views::{SlotNo, TidePoint, View, Views};

/// All orders with up to so many switches that no thread had to make. Without a bound three threads take minutes.
fn model(switches: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(run);
}

/// What a commit, a reader and a pruner share. The tide stands for the log's.
struct World {
    txns: Txns,
    views: Views,
    tide: AtomicU64,
}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            txns: Txns::new(TxnId(1)),
            views: Views::new(),
            tide: AtomicU64::new(10),
        })
    }

    fn tide(&self) -> Lsn {
        Lsn(self.tide.load(Ordering::SeqCst))
    }

    /// A commit whose record ends at `lsn`: the end is stored first, then the tide may pass it.
    fn commit(&self, id: TxnId, lsn: Lsn) {
        self.txns.end(id, lsn);
        self.tide.fetch_max(lsn.0, Ordering::SeqCst);
    }

    fn copy(&self) -> Copy {
        let (mut copy, mut watch) = (Copy::default(), Watch::default());
        self.views.look(&mut watch, &self.txns, || self.tide());
        copy.follow(&mut watch);
        copy
    }

    fn open(&self, slot: SlotNo) -> View {
        self.views.open(slot, &self.txns, || self.tide())
    }
}

/// What pruners who go by a copy do with the version that `old` wrote and `new` replaced, and purge with what `new` deleted.
struct Verdict<'a> {
    copy: &'a Copy,
    writers: (TxnId, TxnId),
    keeps: bool,
    purges: bool,
}

impl Verdict<'_> {
    fn of<'a>(copy: &'a Copy, old: TxnId, new: TxnId, world: &World) -> Verdict<'a> {
        Verdict {
            copy,
            writers: (old, new),
            keeps: matches!(copy.need(old, new, &world.txns), Need::By(_) | Need::Unknown),
            purges: copy.all_see(new, &world.txns),
        }
    }

    fn must_leave_what_is_wanted_in(&self, view: View, world: &World) {
        let sees = |writer| view.sees(writer, &world.txns);
        let (old, new) = self.writers;
        let copy = self.copy;
        assert!(
            self.keeps || !sees(old) || sees(new),
            "pruned under {view:?}, by {copy:?}"
        );
        assert!(!self.purges || sees(new), "purged under {view:?}, by {copy:?}");
    }
}

#[test]
fn whoever_sees_the_tide_sees_the_commits_below_it() {
    loom::model(|| {
        let world = World::new();
        let id = world.txns.assign();
        let slot = world.views.acquire();
        let committer = {
            let world = world.clone();
            thread::spawn(move || {
                world.commit(id, Lsn(20));
                world.txns.settle(world.tide());
            })
        };
        let view = world.open(slot);
        let sees = view.sees(id, &world.txns);
        assert_eq!(sees, view.lsn >= Lsn(20), "{view:?}");
        committer.join().unwrap();
        assert_eq!(
            view.sees(id, &world.txns),
            sees,
            "what a view sees does not change"
        );
    });
}

#[test]
fn a_writer_that_begins_after_a_view_is_not_seen() {
    loom::model(|| {
        let world = World::new();
        let slot = world.views.acquire();
        let writer = {
            let world = world.clone();
            thread::spawn(move || {
                let id = world.txns.assign();
                world.commit(id, Lsn(20));
                id
            })
        };
        let view = world.open(slot);
        let id = writer.join().unwrap();
        assert_eq!(view.sees(id, &world.txns), view.lsn >= Lsn(20), "{view:?}");
    });
}

#[test]
fn what_a_view_needs_is_never_pruned() {
    model(3, || {
        let world = World::new();
        let (old, new) = (world.txns.assign(), world.txns.assign());
        world.commit(old, Lsn(15));
        let slot = world.views.acquire();
        let reader = {
            let world = world.clone();
            thread::spawn(move || world.open(slot))
        };
        let committer = {
            let world = world.clone();
            thread::spawn(move || world.commit(new, Lsn(20)))
        };
        let copy = world.copy();
        let verdict = Verdict::of(&copy, old, new, &world);
        committer.join().unwrap();
        verdict.must_leave_what_is_wanted_in(reader.join().unwrap(), &world);
    });
}

#[test]
fn whoever_a_copy_takes_for_settled_had_ended_at_its_horizon() {
    model(3, || {
        let world = World::new();
        let id = world.txns.assign();
        let slot = world.views.acquire();
        let reader = {
            let world = world.clone();
            thread::spawn(move || world.open(slot))
        };
        world.commit(id, Lsn(20));
        world.txns.settle(world.tide());
        let copy = world.copy();
        assert!(copy.settled() <= id || copy.horizon() >= Lsn(20), "{copy:?}");
        reader.join().unwrap();
    });
}

/// A session closes a view and opens the next while the views are copied; another one's view is open all along. A copy that
/// paired the moment of the closed view with what has settled since would take for settled what the other does not see.
#[test]
fn a_view_that_replaces_another_is_not_mixed_up_with_it() {
    model(2, || {
        let world = World::new();
        let (old, new) = (world.txns.assign(), world.txns.assign());
        let (slot, other) = (world.views.acquire(), world.views.acquire());
        // The older of the two: what is taken for true of it is taken for true of both.
        world.open(slot);
        world.commit(old, Lsn(15));
        let view = world.open(other);
        world.commit(new, Lsn(20));
        world.txns.settle(world.tide());
        let session = {
            let world = world.clone();
            thread::spawn(move || {
                world.views.close(slot);
                world.open(slot);
            })
        };
        let copy = world.copy();
        Verdict::of(&copy, old, new, &world).must_leave_what_is_wanted_in(view, &world);
        session.join().unwrap();
    });
}

#[test]
fn a_copy_that_follows_is_as_good_as_a_new_one() {
    model(2, || {
        let world = World::new();
        let (old, new) = (world.txns.assign(), world.txns.assign());
        world.commit(old, Lsn(15));
        let slot = world.views.acquire();
        world.open(slot);
        let reader = {
            let world = world.clone();
            // The slot's view goes, and another comes.
            thread::spawn(move || {
                world.views.close(slot);
                world.open(slot)
            })
        };
        let (mut copy, mut watch) = (Copy::default(), Watch::default());
        for lsn in [Lsn(20), Lsn(25)] {
            if lsn == Lsn(20) {
                world.commit(new, lsn);
            } else {
                world.commit(world.txns.assign(), lsn);
            }
            let horizon = copy.horizon();
            world.views.look(&mut watch, &world.txns, || world.tide());
            copy.follow(&mut watch);
            assert!(copy.horizon() >= horizon);
        }
        let verdict = Verdict::of(&copy, old, new, &world);
        let view = reader.join().unwrap();
        verdict.must_leave_what_is_wanted_in(view, &world);
        // Once all is quiet the copy is exact.
        world.views.look(&mut watch, &world.txns, || world.tide());
        copy.follow(&mut watch);
        assert_eq!(copy.views, [view]);
    });
}

#[test]
fn the_ends_that_a_view_must_look_up_are_never_recycled() {
    model(3, || {
        let world = World::new();
        // The first chunk of four ids: 1, 2 and 3 in use, 3 still active.
        let ids: Vec<TxnId> = (0..3).map(|_| world.txns.assign()).collect();
        world.commit(ids[0], Lsn(11));
        world.commit(ids[1], Lsn(12));
        let next = world.txns.assign();
        world.commit(next, Lsn(13));
        let slot = world.views.acquire();
        let reader = {
            let world = world.clone();
            let id = ids[2];
            thread::spawn(move || {
                let view = world.open(slot);
                assert_eq!(view.sees(id, &world.txns), view.lsn >= Lsn(20), "{view:?}");
            })
        };
        world.commit(ids[2], Lsn(20));
        world.txns.settle(world.tide());
        let copy = world.copy();
        world.txns.recycle(copy.settled(), &copy.windows());
        reader.join().unwrap();
    });
}

#[test]
fn a_collapsed_chunk_tells_every_view_the_same() {
    model(3, || {
        let world = World::new();
        // The first chunk of four ids has three in use, the first of which writes and idles. The second fills, and ends.
        let idle: Vec<TxnId> = (0..3).map(|_| world.txns.assign()).collect();
        let ids: Vec<TxnId> = (0..4).map(|_| world.txns.assign()).collect();
        for (id, lsn) in ids[..3].iter().zip(11..) {
            world.commit(*id, Lsn(lsn));
        }
        let slot = world.views.acquire();
        let reader = {
            let (world, id) = (world.clone(), ids[3]);
            thread::spawn(move || {
                let view = world.open(slot);
                for _ in 0..2 {
                    assert_eq!(view.sees(id, &world.txns), view.lsn >= Lsn(20), "{view:?}");
                }
            })
        };
        world.commit(ids[3], Lsn(20));
        let copy = world.copy();
        world.txns.recycle(copy.settled(), &copy.windows());
        world
            .txns
            .collapse(copy.horizon(), |first, last| copy.tells_apart(first, last));
        // There is room for two chunks only: if the second was collapsed, the third takes its place.
        if copy.horizon() >= Lsn(20) && !copy.tells_apart(Lsn(11), Lsn(20)) {
            let next = world.txns.assign();
            assert!(
                !world
                    .views
                    .open(world.views.acquire(), &world.txns, || world.tide())
                    .sees(next, &world.txns)
            );
        }
        reader.join().unwrap();
        assert!(world.txns.is_active(idle[0]));
        assert!(!world.txns.is_active(ids[0]));
    });
}

#[test]
fn a_view_of_the_past_keeps_what_it_needs_or_is_refused() {
    model(3, || {
        let world = World::new();
        let (old, new) = (world.txns.assign(), world.txns.assign());
        world.commit(old, Lsn(15));
        let past = TidePoint {
            lsn: Lsn(15),
            settled: old,
        };
        world.views.set_retention_floor(past);
        world.commit(new, Lsn(20));
        let slot = world.views.acquire();
        let reader = {
            let world = world.clone();
            thread::spawn(move || world.views.open_at(slot, past, &world.txns))
        };
        // The past moves on, and a pruner looks at who is there.
        world.views.set_retention_floor(TidePoint {
            lsn: Lsn(20),
            settled: old,
        });
        let copy = world.copy();
        let verdict = Verdict::of(&copy, old, new, &world);
        if let Some(view) = reader.join().unwrap() {
            verdict.must_leave_what_is_wanted_in(view, &world);
        }
    });
}

type Notes = Arc<Mutex<Vec<u32>>>;

/// One table, and every owner that may have noted an intention on it.
struct Table {
    watched: AtomicU64,
    owners: Mutex<Vec<Notes>>,
}

impl Table {
    fn new() -> Arc<Table> {
        Arc::new(Table {
            watched: AtomicU64::new(0),
            owners: Mutex::new(Vec::new()),
        })
    }

    fn join(&self) -> Notes {
        let notes = Arc::new(Mutex::new(Vec::new()));
        self.owners.lock().unwrap().push(notes.clone());
        notes
    }

    /// What the watcher has found.
    fn watch(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let all = || self.owners.lock().unwrap().clone();
        intentions::watch(&self.watched, all, |notes| {
            found.append(&mut notes.lock().unwrap());
        });
        found
    }

    fn note(&self, notes: &Notes, intention: u32) -> bool {
        intentions::note(&self.watched, &mut notes.lock().unwrap(), intention)
    }
}

#[test]
fn an_intention_is_collected_or_refused() {
    loom::model(|| {
        let table = Table::new();
        let there = table.join();
        let old = {
            let table = table.clone();
            thread::spawn(move || table.note(&there, 1))
        };
        let new = {
            let table = table.clone();
            thread::spawn(move || {
                let notes = table.join();
                table.note(&notes, 2)
            })
        };
        let found = table.watch();
        assert_eq!(found.contains(&1), old.join().unwrap());
        assert_eq!(found.contains(&2), new.join().unwrap());
    });
}

#[test]
fn two_watchers_find_an_intention_once() {
    model(3, || {
        let table = Table::new();
        let notes = table.join();
        let writer = {
            let table = table.clone();
            thread::spawn(move || table.note(&notes, 1))
        };
        let other = {
            let table = table.clone();
            thread::spawn(move || table.watch())
        };
        let mut found = table.watch();
        found.append(&mut other.join().unwrap());
        let noted = writer.join().unwrap();
        assert_eq!(found, if noted { vec![1] } else { vec![] });
    });
}
