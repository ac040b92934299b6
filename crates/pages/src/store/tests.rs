//! The store as a whole: what a checkpoint, a restart and a power cut leave of it.

use super::*;
use crate::disk::sim::{Faults, Random, SimDisk};
use crate::ids::TxnId;
use crate::log::TxnNote;
use crate::pool::{OptimisticGuard, PAGE_HEADER, PageBuf};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::thread;

/// Eight bytes of a page that others may be changing.
#[allow(unsafe_code)]
fn racy_word(guard: &OptimisticGuard<'_>, at: usize) -> [u8; 8] {
    assert!(at <= PAGE_SIZE - 8);
    // SAFETY: in bounds of memory that is always readable; a volatile read assumes nothing of the value.
    unsafe { guard.as_ptr().add(at).cast::<[u8; 8]>().read_volatile() }
}

/// Writes bytes somewhere into a page.
pub(super) struct Put<'a> {
    pub at: usize,
    pub bytes: &'a [u8],
}

impl PageOp for Put<'_> {
    const KIND: u8 = 200;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.at as u16).to_le_bytes());
        out.extend_from_slice(self.bytes);
    }

    fn apply(&self, page: &mut PageBuf) {
        page[self.at..self.at + self.bytes.len()].copy_from_slice(self.bytes);
    }
}

fn redo_put(arguments: &[u8], page: &mut PageBuf) -> Result<()> {
    let at = usize::from(u16::from_le_bytes([arguments[0], arguments[1]]));
    Put {
        at,
        bytes: &arguments[2..],
    }
    .apply(page);
    Ok(())
}

/// Adds to the number at the body's start. Done twice it is not what it is done once, so redo must count.
struct Add(u64);

impl PageOp for Add {
    const KIND: u8 = 201;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn apply(&self, page: &mut PageBuf) {
        page.put_u64(BODY, page.u64_at(BODY).wrapping_add(self.0));
    }
}

fn redo_add(arguments: &[u8], page: &mut PageBuf) -> Result<()> {
    Add(u64::from_le_bytes(arguments.try_into().expect("eight bytes"))).apply(page);
    Ok(())
}

pub(super) fn ops() -> OpTable {
    let mut ops = OpTable::new();
    ops.register(Add::KIND, redo_add);
    ops.register(Put::KIND, redo_put);
    ops
}

const BODY: usize = PAGE_HEADER;

fn put_u64(mtr: &mut Mtr<'_>, handle: PageHandle, at: usize, value: u64) {
    mtr.apply(
        handle,
        &Put {
            at,
            bytes: &value.to_le_bytes(),
        },
    );
}

pub(super) fn new_page(store: &Store, value: u64) -> PageId {
    let mut mtr = store.begin_mtr().unwrap();
    let handle = mtr.alloc_page(9, 0).unwrap();
    put_u64(&mut mtr, handle, BODY, value);
    let page = mtr.id(handle);
    mtr.commit();
    page
}

pub(super) fn write(store: &Store, page: PageId, value: u64) -> crate::log::MtrLsn {
    let mut mtr = store.begin_mtr().unwrap();
    let handle = mtr.add(store.pool().exclusive(page).unwrap());
    put_u64(&mut mtr, handle, BODY, value);
    mtr.commit()
}

pub(super) fn read(store: &Store, page: PageId) -> u64 {
    store.pool().shared(page).unwrap().u64_at(BODY)
}

#[test]
fn a_page_survives_a_shutdown_and_a_power_cut() {
    let disk = SimDisk::new(7);
    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(found.created);
    let page = new_page(&store, 1);
    store.shutdown().unwrap();
    drop(store);

    let disk = disk.restart();
    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(found.clean && found.records_redone == 0);
    assert_eq!(read(&store, page), 1);
    let lsn = write(&store, page, 2);
    store.log().wait_durable(lsn.end).unwrap();
    assert!(store.log().tide() >= lsn.end);
    let disk = disk.restart();
    drop(store);

    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(!found.clean && found.records_redone > 0);
    assert_eq!(read(&store, page), 2);
    assert!(store.is_used(page).unwrap() && !store.is_used(PageId(page.0 + 1)).unwrap());
}

#[test]
fn far_more_pages_than_the_pool_has_frames() {
    let store = Store::in_memory(64, ops());
    let pages: Vec<PageId> = (0..1000).map(|i| new_page(&store, i)).collect();
    for round in 0..3 {
        for (i, &page) in pages.iter().enumerate() {
            assert_eq!(read(&store, page), i as u64 + round);
            write(&store, page, i as u64 + round + 1);
        }
    }
    let status = store.status();
    assert!(status.pool.used <= status.pool.frames && status.pool.evictions > 2000);
}

#[test]
fn scratch_pages_spill_and_are_gone_at_the_next_start() {
    let disk = SimDisk::new(3);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let tail = store.log().tail();
    let pages: Vec<PageId> = (0..300u64)
        .map(|i| {
            let mut guard = store.alloc_scratch(page_type::VERSIONS).unwrap();
            guard.scratch_mut().put_u64(BODY, i);
            guard.id()
        })
        .collect();
    for (i, &page) in pages.iter().enumerate() {
        assert_eq!(read(&store, page), i as u64);
    }
    assert_eq!(store.status().scratch_pages, 300);
    for &page in &pages {
        store.free_scratch(page);
    }
    assert_eq!(store.status().scratch_pages, 0);
    assert!(pages.contains(&store.alloc_scratch(page_type::VERSIONS).unwrap().id()));
    assert_eq!(store.log().tail(), tail, "none of this is logged");
}

#[test]
fn freed_pages_are_used_again_and_whole_extents_are_given_back() {
    let store = Store::in_memory(256, ops());
    let pages: Vec<PageId> = (0..400).map(|i| new_page(&store, i)).collect();
    let grown = store.file_pages();
    for &page in &pages {
        let mut mtr = store.begin_mtr().unwrap();
        mtr.free_page(page).unwrap();
        mtr.commit();
    }
    assert!(!store.is_used(pages[0]).unwrap());
    while store.pool().dirty_count() > 0 {
        store.clean(Aim::Room, usize::MAX).unwrap();
    }
    store.checkpoint().unwrap();
    let mut bytes = [1; 64];
    store.pool().read_raw(PageId(200), &mut bytes).unwrap();
    assert_eq!(bytes, [0; 64], "its extent was given back");
    let again: Vec<PageId> = (0..400).map(|i| new_page(&store, i)).collect();
    assert_eq!(store.file_pages(), grown);
    for (i, &page) in again.iter().enumerate() {
        assert_eq!(read(&store, page), i as u64);
    }
    let mut distinct = again.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 400);
}

#[test]
fn pages_that_grow_from_one_another_lie_together_and_holes_are_filled_before_the_file_grows() {
    let disk = SimDisk::new(5);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let grow = |from: PageId| {
        let mut mtr = store.begin_mtr().unwrap();
        let handle = mtr.alloc_page_near(from, 9, 0).unwrap();
        let page = mtr.id(handle);
        mtr.commit();
        page
    };
    let free = |pages: &mut dyn Iterator<Item = PageId>| {
        let mut mtr = store.begin_mtr().unwrap();
        pages.for_each(|page| mtr.free_page(page).unwrap());
        mtr.commit();
    };
    // Three that grow in turns, from the same extent on, where there is room.
    let mut grown: Vec<Vec<PageId>> = (0..3).map(|_| vec![new_page(&store, 1)]).collect();
    let room: Vec<PageId> = (0..2000).map(|_| new_page(&store, 1)).collect();
    free(&mut room.into_iter());
    for _ in 0..400 {
        for pages in &mut grown {
            pages.push(grow(*pages.last().unwrap()));
        }
    }
    for pages in &grown {
        let neighbours = pages.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1);
        assert!(neighbours.count() > 350, "{pages:?}");
    }
    let mut all = grown.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 3 * 401, "no page twice");
    // Every other page goes. With no extent left that is free, those that come take their places.
    free(&mut all.iter().copied().skip(1).step_by(2));
    let (end, holes) = store.space().count();
    for _ in 0..holes {
        grow(all[0]);
    }
    assert_eq!(store.space().count(), (end, 0));
    grow(all[0]);
    assert!(store.space().count().0 > end);
}

#[test]
fn a_full_disk_is_an_error_and_goes_away() {
    let disk = SimDisk::new(5);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store
        .log()
        .make_room(Lsn(0), store.log().tail(), 4 << 20, true)
        .unwrap();
    disk.set_faults(Faults {
        capacity: Some(0),
        ..Faults::default()
    });
    let mut made = 0;
    let error = loop {
        let mut mtr = store.begin_mtr().unwrap();
        match mtr.reserve_pages(3) {
            Ok(()) => {
                for _ in 0..3 {
                    mtr.alloc_page(9, 0).unwrap();
                }
                mtr.commit();
                made += 3;
            }
            Err(e) => break e,
        }
        assert!(made < 200);
    };
    assert!(matches!(error, Error::DiskFull));
    disk.set_faults(Faults::default());
    new_page(&store, 1);
}

#[test]
fn room_given_back_that_others_took_does_not_hide_the_pages_that_have_room() {
    let disk = SimDisk::new(5);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<PageId> = (0..600).map(|n| new_page(&store, n)).collect();
    let free = |page| {
        let mut mtr = store.begin_mtr().unwrap();
        mtr.free_page(page).unwrap();
        mtr.commit();
    };
    // Whole extents go, and single pages of others.
    pages[200..400].iter().for_each(|page| free(*page));
    let holes: Vec<PageId> = pages[400..600].iter().step_by(4).copied().collect();
    holes.iter().for_each(|page| free(*page));
    while store.pool().dirty_count() > 0 {
        store.clean(Aim::Room, usize::MAX).unwrap();
    }
    store.checkpoint().unwrap();
    disk.set_faults(Faults {
        capacity: Some(0),
        ..Faults::default()
    });
    let grow = || {
        let mut mtr = store.begin_mtr()?;
        mtr.alloc_page_near(pages[0], 9, 0)?;
        mtr.commit();
        Ok(())
    };
    for _ in &holes {
        grow().unwrap();
    }
    let full = loop {
        // What is left of extents that were not free as a whole.
        if let Err(error) = grow() {
            break error;
        }
    };
    assert!(matches!(full, Error::DiskFull));
    assert!(
        store.space().count().1 >= 64,
        "an extent is free, and has no room"
    );
    disk.set_faults(Faults::default());
    grow().unwrap();
}

#[test]
fn a_corrupt_page_is_named() {
    let disk = SimDisk::new(5);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 1);
    store.shutdown().unwrap();
    drop(store);
    let disk = disk.restart();
    disk.flip_bit("data", page.0 as usize * PAGE_SIZE + 5000, 3);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    match store.pool().shared(page).err().unwrap() {
        Error::Corrupt { page: named, .. } => assert_eq!(named, Some(page)),
        other => panic!("{other}"),
    }
    assert!(
        store.pool().optimistic(page).is_err(),
        "and again: the latch was released"
    );
}

#[test]
fn losers_are_found_and_their_records_read_back() {
    let disk = SimDisk::new(11);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 0);
    let undo = |txn, prev, payload: &[u8]| {
        let mut mtr = store.begin_mtr().unwrap();
        let handle = mtr.add(store.pool().exclusive(page).unwrap());
        put_u64(&mut mtr, handle, BODY, txn);
        mtr.note(TxnNote::Undo {
            txn: TxnId(txn),
            prev,
            payload,
        });
        mtr.commit()
    };
    let note = |note| {
        let mut mtr = store.begin_mtr().unwrap();
        mtr.note(note);
        mtr.commit()
    };
    let first = undo(5, Lsn::ZERO, b"five");
    undo(6, Lsn::ZERO, b"six");
    let second = undo(5, first.start, b"five again");
    undo(7, Lsn::ZERO, b"seven");
    note(TxnNote::Commit { txn: TxnId(6) });
    note(TxnNote::Clr {
        txn: TxnId(7),
        undo_next: Lsn::ZERO,
    });
    let mut seen = Lsn::ZERO;
    let mut mtr = store.begin_mtr().unwrap();
    mtr.note(TxnNote::Commit { txn: TxnId(9) });
    let last = mtr.commit_with(|end| seen = end);
    assert_eq!(seen, last.end);
    store.log().wait_durable(last.end).unwrap();
    let disk = disk.restart();
    drop(store);

    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(found.next_txn, TxnId(10));
    let losers: Vec<_> = found
        .losers
        .iter()
        .map(|l| (l.txn.0, l.first_lsn, l.undo_from))
        .collect();
    assert_eq!(losers[0], (5, first.start, second.start));
    assert_eq!((losers[1].0, losers[1].2), (7, Lsn::ZERO));
    let record = store.log().read_record(second.start).unwrap();
    let expected = TxnNote::Undo {
        txn: TxnId(5),
        prev: first.start,
        payload: b"five again",
    };
    assert_eq!(record.note().unwrap(), Some(expected));
    assert!(store.log().read_record(Lsn(first.start.0 + 16)).is_err());

    // Nobody has answered for the losers: checkpoints keep what their undo needs, through another crash.
    for i in 0..20 {
        write(&store, page, i);
        store.checkpoint().unwrap();
    }
    let disk = disk.restart();
    drop(store);
    let (_, again) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(again.losers, found.losers);
}

/// Nobody has said yet which ids are given out, and the log that says so is behind the checkpoint.
#[test]
fn a_checkpoint_right_after_a_start_forgets_no_id() {
    let disk = SimDisk::new(12);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 0);
    let mut mtr = store.begin_mtr().unwrap();
    mtr.note(TxnNote::Commit { txn: TxnId(9) });
    store.log().wait_durable(mtr.commit().end).unwrap();
    let disk = disk.restart();
    drop(store);

    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(found.next_txn, TxnId(10));
    write(&store, page, 1);
    while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
    store.checkpoint().unwrap();
    let disk = disk.restart();
    drop(store);
    let (_, again) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(again.next_txn, TxnId(10));
}

/// The power may go, or the disk fail, at any moment of the first start.
#[test]
fn a_first_start_that_was_cut_short_is_begun_again() {
    for cut in 1.. {
        let disk = SimDisk::new(cut);
        disk.set_faults(Faults {
            power_cut_in: Some(cut),
            ..Faults::default()
        });
        let first = Store::on_sim(&disk, 64, ops());
        let is_over = !disk.is_dead();
        drop(first);
        let disk = disk.restart();
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        new_page(&store, 0);
        if is_over {
            assert!(cut > 10, "the first start changes the disk more often than that");
            return;
        }
    }
}

#[test]
fn the_log_is_recycled_and_never_overrun() {
    let disk = SimDisk::new(2);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 0);
    let big = vec![7; 8000];
    // Five times the log's capacity.
    for i in 0..2600u64 {
        let mut mtr = store.begin_mtr().unwrap();
        let handle = mtr.add(store.pool().exclusive(page).unwrap());
        mtr.apply(handle, &Put { at: 100, bytes: &big });
        put_u64(&mut mtr, handle, BODY, i);
        mtr.commit();
    }
    store.log().flush_all().unwrap();
    let segments = disk
        .list()
        .unwrap()
        .iter()
        .filter(|name| name.starts_with("redo-"))
        .count();
    assert!(segments <= 14, "{segments} segments of 512 KiB");
    assert!(store.status().checkpoints > 3);
    let disk = disk.restart();
    drop(store);
    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(found.records_redone < 600);
    assert_eq!(read(&store, page), 2599);
}

#[test]
fn a_failed_sync_of_the_log_stops_everything_and_wakes_everyone() {
    let disk = SimDisk::new(2);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<_> = (0..8).map(|i| new_page(&store, i)).collect();
    store.log().flush_all().unwrap();
    disk.set_faults(Faults {
        sync_failure_in: Some(1),
        ..Faults::default()
    });
    thread::scope(|scope| {
        for &page in &pages {
            let store = &store;
            scope.spawn(move || {
                let mut mtr = store.begin_mtr()?;
                let handle = mtr.add(store.pool().exclusive(page)?);
                put_u64(&mut mtr, handle, BODY, 100);
                let lsn = mtr.commit();
                store.log().wait_durable(lsn.end)
            });
        }
    });
    assert!(store.log().check().is_err() && store.begin_mtr().is_err());
    assert!(store.log().flush_all().is_err());
}

/// Threads move amounts between pages, each move one mini-transaction over two or three pages, and keep books of what
/// was acknowledged; the power goes at a random write. Afterwards every acknowledged move is there, and the sum over all
/// pages, which a half-done move would change, is what it was.
#[test]
fn power_cuts_lose_nothing_acknowledged_and_leave_no_half() {
    const PAGES: usize = 120;
    const THREADS: u64 = 4;
    let rounds = std::env::var("TIDEMARK_POWER_CUTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(40);
    let mut random = Random::new(42);
    let (mut torn, mut redone) = (0, 0);
    for round in 0..rounds {
        let mut disk = SimDisk::new(round);
        let mut pages = Vec::new();
        // What each thread last wrote into its own cell of each page, acknowledged; and what it may have written after.
        let mut certain: HashMap<(u64, usize), u64> = HashMap::new();
        for start in 0..3u64 {
            let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
            torn += found.torn_pages_repaired;
            redone += found.records_redone;
            if pages.is_empty() {
                pages = (0..PAGES).map(|_| new_page(&store, 0)).collect();
                store.log().flush_all().unwrap();
            }
            for (&(thread, page), &value) in &certain {
                let found = store.pool().shared(pages[page]).unwrap().u64_at(cell(thread));
                assert!(
                    found >= value,
                    "round {round}: acknowledged {value}, found {found}"
                );
            }
            let mut sum = 0i64;
            for &page in &pages {
                sum += store.pool().shared(page).unwrap().u64_at(BODY) as i64;
            }
            assert_eq!(sum, 0, "round {round} start {start}: half a mini-transaction");

            disk.set_faults(Faults {
                power_cut_in: Some(1 + random.below(400)),
                ..Faults::default()
            });
            let sequence = AtomicU64::new(1 + start * 1_000_000_000);
            let books: Vec<HashMap<(u64, usize), u64>> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|t| {
                        let (store, pages, sequence) = (&store, &pages, &sequence);
                        let random = Random::new(round * 100 + start * 10 + t + 1);
                        scope.spawn(move || move_until_the_power_goes(store, pages, t, sequence, random))
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            certain.extend(books.into_iter().flatten());
            let old = disk;
            disk = old.restart();
            drop(store);
        }
    }
    assert!(
        torn > 0 && redone > 0,
        "the power went where it hurts: {torn} torn pages, {redone} records redone"
    );
}

fn cell(thread: u64) -> usize {
    BODY + 8 + 8 * thread as usize
}

fn move_until_the_power_goes(
    store: &Store,
    pages: &[PageId],
    thread: u64,
    sequence: &AtomicU64,
    mut random: Random,
) -> HashMap<(u64, usize), u64> {
    let mut acknowledged = HashMap::new();
    loop {
        let mut at = [0; 2].map(|_| random.below(pages.len() as u64) as usize);
        at.sort_unstable();
        if at[0] == at[1] {
            continue;
        }
        // Far more checkpoints than the cleaner would take, and half the pages not clean.
        if random.below(20) == 0 && (store.clean(Aim::Room, 7).is_err() || store.checkpoint().is_err()) {
            return acknowledged;
        }
        let Ok(mut mtr) = store.begin_mtr() else {
            return acknowledged;
        };
        let latched: Result<Vec<_>> = at.iter().map(|&i| store.pool().exclusive(pages[i])).collect();
        let Ok(latched) = latched else { return acknowledged };
        if random.below(4) == 0 && mtr.reserve_pages(1).is_err() {
            return acknowledged;
        }
        let amount = random.below(1000);
        let value = sequence.fetch_add(1, Ordering::Relaxed);
        let filler = vec![value as u8; random.below(3000) as usize];
        for (guard, amount) in latched.into_iter().zip([amount, amount.wrapping_neg()]) {
            let handle = mtr.add(guard);
            mtr.apply(handle, &Add(amount));
            put_u64(&mut mtr, handle, cell(thread), value);
            mtr.apply(
                handle,
                &Put {
                    at: 8000,
                    bytes: &filler,
                },
            );
        }
        let lsn = mtr.commit();
        if random.below(3) == 0 && store.log().wait_durable(lsn.end).is_err() {
            return acknowledged;
        }
        if store.log().flushed() >= lsn.end {
            for i in at {
                acknowledged.insert((thread, i), value);
            }
        }
        if store.log().check().is_err() {
            return acknowledged;
        }
    }
}

/// Many more threads than processors, each waiting for its own commit: everyone is woken, with few syncs, under every
/// durability setting.
#[test]
fn a_crowd_commits_together() {
    let store = Store::in_memory(256, ops());
    for mode in [1, 2, 0] {
        store.log().set_flush_at_trx_commit(mode);
        let pages: Vec<_> = (0..64).map(|i| new_page(&store, i)).collect();
        thread::scope(|scope| {
            for &page in &pages {
                let store = &store;
                scope.spawn(move || {
                    for i in 0..50 {
                        let lsn = write(store, page, i);
                        store.log().wait_durable(lsn.end).unwrap();
                        assert!(store.log().tide() >= lsn.end);
                    }
                });
            }
        });
        let at = match mode {
            1 => store.log().flushed(),
            2 => store.log().written(),
            _ => store.log().tide(),
        };
        assert_eq!(at, store.log().tail());
    }
    store.log().flush_all().unwrap();
    assert_eq!(store.log().flushed(), store.log().tail());
}

#[test]
fn optimistic_readers_never_believe_a_page_in_motion() {
    let store = Store::in_memory(64, ops());
    let pages: Vec<_> = (0..200).map(|_| new_page(&store, 0)).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (store, pages, stop) = (&store, &pages, &stop);
        for t in 0..2u64 {
            scope.spawn(move || {
                let mut random = Random::new(t + 1);
                for i in 0..4000 {
                    let page = pages[random.below(200) as usize];
                    let mut mtr = store.begin_mtr().unwrap();
                    let handle = mtr.add(store.pool().exclusive(page).unwrap());
                    put_u64(&mut mtr, handle, BODY, i);
                    put_u64(&mut mtr, handle, PAGE_SIZE - 8, i);
                    mtr.commit();
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
        scope.spawn(move || {
            let mut random = Random::new(9);
            let mut believed = 0;
            while !stop.load(Ordering::Relaxed) || believed == 0 {
                let guard = store
                    .pool()
                    .optimistic(pages[random.below(200) as usize])
                    .unwrap();
                let (front, back) = (racy_word(&guard, BODY), racy_word(&guard, PAGE_SIZE - 8));
                if guard.validate().is_ok() {
                    assert_eq!(front, back);
                    believed += 1;
                }
            }
        });
    });
}

#[test]
fn what_a_crash_left_can_be_examined_without_changing_it() {
    let disk = SimDisk::new(13);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 4);
    store.log().flush_all().unwrap();
    let disk = disk.restart();
    drop(store);
    for _ in 0..2 {
        let overlay = crate::disk::overlay::Overlay::new(Arc::new(disk.clone()));
        let (store, found) = Store::open(StoreConfig::new(Arc::new(overlay)), ops()).unwrap();
        assert!(found.records_redone > 0, "nothing of the first look was kept");
        assert_eq!(read(&store, page), 4);
        write(&store, page, 5);
        store.shutdown().unwrap();
    }
}

#[test]
fn scratch_pages_that_find_no_room_do_not_hold_up_the_others() {
    let disk = SimDisk::new(5);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 1);
    disk.set_faults(Faults {
        capacity: Some(0),
        ..Faults::default()
    });
    let full = (0..100).find_map(|_| store.alloc_scratch(page_type::VERSIONS).err());
    assert!(matches!(full, Some(Error::DiskFull)));
    let lsn = write(&store, page, 2);
    store.log().wait_durable(lsn.end).unwrap();
    disk.set_faults(Faults::default());
    store.alloc_scratch(page_type::VERSIONS).unwrap();
}

/// With every page clean redo could begin at the tail, but analysis, which begins with the oldest transaction, must find
/// a log without a gap up to there.
#[test]
fn a_checkpoint_does_not_run_ahead_of_the_log_on_disk() {
    let disk = SimDisk::new(17);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    new_page(&store, 1);
    let note = |note| {
        let mut mtr = store.begin_mtr().unwrap();
        mtr.note(note);
        mtr.commit()
    };
    let first = note(TxnNote::Undo {
        txn: TxnId(2),
        prev: Lsn::ZERO,
        payload: b"",
    });
    while store.pool().dirty_count() > 0 {
        store.clean(Aim::Room, usize::MAX).unwrap();
    }
    store.log().flush(first.end).unwrap();
    store.set_retain_hook(move || {
        Some(Retain {
            oldest: first.start,
            next_txn: TxnId(3),
        })
    });
    note(TxnNote::Commit { txn: TxnId(2) });
    store.checkpoint().unwrap();
    let disk = disk.restart();
    drop(store);
    let (_, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(
        found.losers.is_empty(),
        "the commit was made certain by the checkpoint that passed it"
    );
}

/// One page of a transaction is on disk, the other is not; it has committed, and no thread waited for that. The checkpoint
/// that no longer counts it among the running must not leave half of it behind.
#[test]
fn a_checkpoint_forgets_nobody_whose_end_is_not_on_disk() {
    for seed in 0..8 {
        let disk = SimDisk::new(seed);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        let pages = [new_page(&store, 0), new_page(&store, 0)];
        let change = |page, prev| {
            let mut mtr = store.begin_mtr().unwrap();
            let handle = mtr.add(store.pool().exclusive(page).unwrap());
            put_u64(&mut mtr, handle, BODY, 1);
            mtr.note(TxnNote::Undo {
                txn: TxnId(2),
                prev,
                payload: b"",
            });
            mtr.commit().start
        };
        let first = change(pages[0], Lsn::ZERO);
        while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
        change(pages[1], first);
        let mut mtr = store.begin_mtr().unwrap();
        mtr.note(TxnNote::Commit { txn: TxnId(2) });
        mtr.commit();
        store.set_retain_hook(|| {
            Some(Retain {
                oldest: Lsn::MAX,
                next_txn: TxnId(3),
            })
        });
        store.checkpoint().unwrap();
        let disk = disk.restart();
        drop(store);

        let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
        let values = pages.map(|page| read(&store, page));
        assert!(
            values == [1, 1] || !found.losers.is_empty(),
            "half of a transaction: {values:?}"
        );
    }
}

/// A batch whose sync failed may have left torn pages, and the next batch takes its place in the doublewrite file.
#[test]
fn pages_of_a_failed_batch_are_protected_until_they_are_written() {
    const FAR: usize = 9000;
    for cut_in in 1..=8 {
        let disk = SimDisk::new(cut_in);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        let pages: Vec<PageId> = (0..16).map(|_| new_page(&store, 1)).collect();
        while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
        store.checkpoint().unwrap();
        let (first, second) = pages.split_at(8);
        let change = |pages: &[PageId]| {
            for &page in pages {
                let mut mtr = store.begin_mtr().unwrap();
                let handle = mtr.add(store.pool().exclusive(page).unwrap());
                put_u64(&mut mtr, handle, BODY, 2);
                put_u64(&mut mtr, handle, FAR, 2);
                mtr.commit();
            }
            store.log().flush_all().unwrap();
        };
        change(first);
        disk.set_faults(Faults {
            sync_failure_in: Some(2),
            ..Faults::default()
        });
        assert!(
            store.clean(Aim::Room, usize::MAX).is_err(),
            "the data file's sync"
        );
        change(second);
        let held: Vec<_> = first
            .iter()
            .map(|&page| store.pool().exclusive(page).unwrap())
            .collect();
        disk.set_faults(Faults {
            power_cut_in: Some(cut_in),
            ..Faults::default()
        });
        let _ = store.clean(Aim::Room, usize::MAX);
        drop(held);
        drop(store);

        let (store, _) = Store::on_sim(&disk.restart(), 64, ops()).unwrap();
        for &page in &pages {
            let page = store.pool().shared(page).unwrap();
            assert_eq!((page.u64_at(BODY), page.u64_at(FAR)), (2, 2));
        }
    }
}

/// Records so large that the ring and the log are full all the time: a thread that copies waits for the one that writes, which waits
/// for gaps, and all wait for checkpoints; no thread waits for ever and nothing is lost.
#[test]
fn a_ring_and_a_log_too_small_for_the_crowd() {
    let disk = SimDisk::new(23);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<_> = (0..12).map(|i| new_page(&store, i)).collect();
    thread::scope(|scope| {
        for (t, &page) in pages.iter().enumerate() {
            let store = &store;
            scope.spawn(move || {
                let filler = vec![t as u8; 16_000];
                for i in 0..40u64 {
                    let mut mtr = store.begin_mtr().unwrap();
                    let handle = mtr.add(store.pool().exclusive(page).unwrap());
                    for _ in 0..10 {
                        mtr.apply(
                            handle,
                            &Put {
                                at: 200,
                                bytes: &filler,
                            },
                        );
                    }
                    put_u64(&mut mtr, handle, BODY, i);
                    let lsn = mtr.commit();
                    if t % 2 == 0 {
                        store.log().wait_durable(lsn.end).unwrap();
                    }
                }
            });
        }
    });
    store.log().flush_all().unwrap();
    assert!(store.log().tail().0 > 64 << 20);
    let disk = disk.restart();
    drop(store);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    for &page in &pages {
        assert_eq!(read(&store, page), 39);
    }
}
