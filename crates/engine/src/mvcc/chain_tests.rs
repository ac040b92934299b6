//! Random updates of one row beside views that come and go: after each update the chain must hold exactly what the views
//! need (and what is too new to be decided), and every view must read what it saw at first.

use super::*;
use crate::ids::{Lsn, TxnId};
use crate::store::{OpTable, Store};
use crate::testing::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct World {
    store: Arc<Store>,
    generations: Generations,
    queue: PurgeQueue,
    hot: HotRows,
    txns: Txns,
    views: Views,
    copy: ViewCopy,
    tide: AtomicU64,
    buffer: parking_lot::Mutex<VersionBuffer>,
    /// The row: its writer, the chain below it, its columns.
    writer: TxnId,
    older: Address,
    value: u64,
}

struct Open {
    slot: SlotNo,
    view: View,
    sees: u64,
}

impl World {
    fn new() -> World {
        let txns = Txns::new(TxnId(1));
        World {
            store: Store::in_memory(64, OpTable::new()),
            generations: Generations::new(),
            queue: PurgeQueue::default(),
            hot: HotRows::default(),
            views: Views::new(),
            copy: ViewCopy::new(txns.next()),
            tide: AtomicU64::new(10),
            buffer: VersionBuffer::new(),
            writer: TxnId::NONE,
            older: Address::NONE,
            value: 0,
            txns,
        }
    }

    fn versions(&self) -> Versions<'_> {
        Versions {
            store: &self.store,
            generations: &self.generations,
            queue: &self.queue,
            hot: &self.hot,
        }
    }

    fn tide(&self) -> Lsn {
        Lsn(self.tide.load(Ordering::SeqCst))
    }

    fn update(&mut self) {
        let id = self.txns.assign();
        let pruner = Pruner {
            versions: self.versions(),
            copy: &self.copy,
            views: &self.views,
            txns: &self.txns,
            tide: || self.tide(),
        };
        let chain = pruner.prune(self.writer, self.older).unwrap();
        assert_eq!(self.chain(chain.first).len(), chain.len as usize);
        let version = Version {
            flags: LINKED,
            row_flags: 0,
            writer: self.writer,
            superseder: id,
            older: chain.first,
            table: crate::ids::TableId(1),
            indexes: 0,
            pruner_mark: chain.pruner_mark,
            below: chain.len,
        };
        let columns = self.value.to_le_bytes();
        let older = self
            .buffer
            .lock()
            .append(&self.versions(), &version, b"key", &columns)
            .unwrap();
        let before = std::mem::replace(&mut self.older, older);
        self.versions()
            .discard_until(before, chain.dropped_until)
            .unwrap();
        (self.writer, self.value) = (id, self.value + 1);
        let lsn = self.tide.load(Ordering::SeqCst) + 10;
        self.txns.end(id, Lsn(lsn));
        self.buffer.lock().end_transaction(Lsn(lsn), &self.queue);
        self.tide.store(lsn, Ordering::SeqCst);
        self.txns.settle(Lsn(lsn));
    }

    fn chain(&self, newest: Address) -> Vec<Version> {
        let mut chain = Vec::new();
        let mut at = newest;
        while at != Address::NONE {
            let version = self.versions().read(at, None).unwrap().expect("a linked version");
            chain.push(version);
            at = version.older;
        }
        chain
    }

    fn open(&self) -> Open {
        let slot = self.views.acquire();
        let view = self.views.open(slot, &self.txns, || self.tide());
        Open {
            slot,
            view,
            sees: self.value,
        }
    }

    fn read(&self, view: &View) -> Option<u64> {
        if view.sees(self.writer, &self.txns) {
            return Some(self.value);
        }
        let mut columns = Vec::new();
        let seen = chain::walk(
            &self.versions(),
            &self.txns,
            view,
            TxnId::NONE,
            self.older,
            &mut columns,
        );
        match seen.unwrap() {
            Seen::Row { .. } => Some(u64::from_le_bytes(columns.try_into().unwrap())),
            Seen::Nothing | Seen::Unborn => None,
        }
    }
}

#[test]
fn a_chain_is_what_the_views_need() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut world = World::new();
        let mut open: Vec<Open> = Vec::new();
        // Phases in which views gather and in which they go.
        for step in 0..1500 {
            let gathering = step / 300 % 2 == 0;
            match random.below(10) {
                0..2 if gathering => open.push(world.open()),
                0..3 if !open.is_empty() => {
                    let gone = open.swap_remove(random.below(open.len() as u64) as usize);
                    world.views.release(gone.slot);
                }
                _ if random.below(3) > 0 => world.update(),
                _ => {
                    // Refreshed often, as by the purge thread.
                    let tide = || world.tide();
                    world.copy.refresh_with(&world.views, &world.txns, tide, |_| ());
                    world.update();
                    let chain = world.chain(world.older);
                    // The views stand between versions; each version but the newest few has one.
                    let needed = |v: &Version| {
                        open.iter().any(|o| {
                            o.view.sees(v.writer, &world.txns) && !o.view.sees(v.superseder, &world.txns)
                        })
                    };
                    let idle = chain.iter().filter(|v| !needed(v)).count();
                    assert!(idle <= 2, "{idle} versions of {} for nobody", chain.len());
                }
            }
            for open in &open {
                assert_eq!(
                    world.read(&open.view),
                    Some(open.sees),
                    "seed {seed}, step {step}"
                );
            }
        }
        // All views gone, the next update leaves nothing behind but its own.
        open.drain(..).for_each(|o| world.views.release(o.slot));
        (0..4).for_each(|_| world.update());
        assert!(world.chain(world.older).len() <= 3);
    }
}

#[test]
fn with_history_kept_the_past_can_be_read() {
    let mut world = World::new();
    (0..50).for_each(|_| world.update());
    let mut moments = Vec::new();
    let kept_from = TidePoint {
        lsn: world.tide(),
        settled: world.txns.settled(),
    };
    world.copy.set_retention_floor(&world.views, kept_from);
    for _ in 0..200 {
        moments.push((
            TidePoint {
                lsn: world.tide(),
                settled: world.txns.settled(),
            },
            world.value,
        ));
        world.update();
    }
    let slot = world.views.acquire();
    for (at, value) in &moments {
        let view = world.views.open_at(slot, *at, &world.txns).expect("it is kept");
        assert_eq!(world.read(&view), Some(*value));
        world.views.close(slot);
    }
    // The past moves on: what is before it can no longer be asked for, and goes.
    let (from, value) = moments[150];
    world.copy.set_retention_floor(&world.views, from);
    assert!(world.views.open_at(slot, moments[149].0, &world.txns).is_none());
    (0..400).for_each(|_| world.update());
    let view = world.views.open_at(slot, from, &world.txns).expect("it is kept");
    assert_eq!(world.read(&view), Some(value));
    world.views.close(slot);
    world.copy.set_retention_floor(&world.views, TidePoint::NONE);
    (0..40).for_each(|_| world.update());
    let tide = || world.tide();
    world.copy.refresh_with(&world.views, &world.txns, tide, |_| ());
    world.update();
    assert!(world.chain(world.older).len() <= 3);
}
