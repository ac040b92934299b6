//! Media that lose or change what was written: noticed at the next start, not taken for something else.

use super::tests::{new_page, ops, read, write};
use super::*;
use crate::disk::Access;
use crate::disk::sim::{Faults, SimDisk};
use crate::pool::PageBuf;

fn file(disk: &SimDisk, name: &str) -> Arc<dyn crate::disk::File> {
    disk.open(name, false, Access::Buffered).unwrap()
}

#[track_caller]
fn refused(disk: &SimDisk, part: &str) {
    match Store::on_sim(disk, 64, ops()) {
        Err(error @ Error::CannotOpen(_)) => assert!(error.to_string().contains(part), "{error}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("damage was not noticed"),
    }
}

/// Commits of which each was waited for, and where their records begin.
fn commits(store: &Store, pages: &[PageId], count: u64) -> Vec<Lsn> {
    (0..count)
        .map(|n| {
            let lsn = write(store, pages[n as usize % pages.len()], n);
            store.log().wait_durable(lsn.end).unwrap();
            lsn.start
        })
        .collect()
}

/// The same, each with so many bytes more in its record.
fn commits_with(store: &Store, pages: &[PageId], count: u64, more: usize) {
    let bytes = vec![7; more];
    for n in 0..count {
        let page = pages[n as usize % pages.len()];
        let mut mtr = store.begin_mtr().unwrap();
        let handle = mtr.add(store.pool().exclusive(page).unwrap());
        mtr.apply(
            handle,
            &super::tests::Put {
                at: 200,
                bytes: &bytes,
            },
        );
        mtr.commit();
        store.log().wait_durable(write(store, page, n).end).unwrap();
    }
}

#[test]
fn a_flipped_bit_before_commits_is_not_the_end_of_the_log() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let pages: Vec<PageId> = (0..8).map(|_| new_page(&store, 0)).collect();
    let places = commits(&store, &pages, 1000);
    let disk = disk.restart();
    drop(store);
    // Each but the last: nothing came after what the very last sync wrote.
    for n in [9, 500, 998] {
        let disk = disk.restart();
        disk.flip_bit("redo-0000000000", places[n].0 as usize + 20, 3);
        refused(&disk, &format!("redo-0000000000 at byte {}", places[n]));
        disk.flip_bit("redo-0000000000", places[n].0 as usize + 20, 3);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        assert_eq!(read(&store, pages[999 % 8]), 999);
    }
}

#[test]
fn a_segment_that_is_gone_is_not_the_end_of_the_log() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let pages: Vec<PageId> = (0..8).map(|_| new_page(&store, 0)).collect();
    let filler = vec![7; 4000];
    for n in 0..400 {
        let mut mtr = store.begin_mtr().unwrap();
        let handle = mtr.add(store.pool().exclusive(pages[n % 8]).unwrap());
        mtr.apply(
            handle,
            &super::tests::Put {
                at: 200,
                bytes: &filler,
            },
        );
        store.log().wait_durable(mtr.commit().end).unwrap();
    }
    let disk = disk.restart();
    drop(store);
    disk.remove("redo-0000000001").unwrap();
    refused(&disk, "redo-0000000001 is missing");
}

/// The log is idle, so that no record vouches for the last one; but a checkpoint does.
#[test]
fn the_last_record_of_an_idle_log_is_vouched_for() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 0);
    let last = write(&store, page, 5);
    store.log().flush_all().unwrap();
    store.checkpoint().unwrap();
    let disk = disk.restart();
    drop(store);
    disk.flip_bit("redo-0000000000", last.start.0 as usize + 40, 0);
    refused(&disk, "control shows");
}

/// A page that went to the disk shows that the log had gone there before.
#[test]
fn a_page_newer_than_the_log_shows_that_some_of_it_is_lost() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let page = new_page(&store, 0);
    store.log().flush_all().unwrap();
    let last = write(&store, page, 5);
    store.clean(Aim::Room, usize::MAX).unwrap();
    let disk = disk.restart();
    drop(store);
    let copies = file(&disk, "doublewrite");
    disk.flip_bit("redo-0000000000", last.start.0 as usize + 40, 0);
    refused(&disk, "doublewrite");
    // The page alone, then.
    let len = copies.len().unwrap();
    copies.truncate(0).unwrap();
    copies.truncate(len).unwrap();
    refused(&disk, &format!("page {page} in data"));
}

/// A torn tail is no damage: the threads that were writing had not been told that it is on disk.
#[test]
fn what_was_never_acknowledged_may_have_holes() {
    let (mut cut_off, mut whole) = (0, 0);
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        store.log().set_flush_at_trx_commit(2);
        let pages: Vec<PageId> = (0..8).map(|_| new_page(&store, 0)).collect();
        store.log().flush_all().unwrap();
        commits(&store, &pages, 50);
        let tail = store.log().tail();
        let disk = disk.restart();
        drop(store);
        let (_, found) = Store::on_sim(&disk, 64, ops()).unwrap();
        if found.end < tail {
            cut_off += 1;
        } else {
            whole += 1;
        }
    }
    assert!(cut_off > 40, "{cut_off} of 60; {whole} whole");
}

/// The sync of a commit fails, the process ends, and the next one reads from the system's cache what is not on the disk.
#[test]
fn what_a_failed_sync_dropped_is_written_again_before_it_counts() {
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        let page = new_page(&store, 1);
        store.log().flush_all().unwrap();
        disk.set_faults(Faults {
            sync_failure_in: Some(1),
            sync_failure_drops: true,
            ..Faults::default()
        });
        // Several sectors of them.
        for value in 3..100 {
            write(&store, page, value);
        }
        let lsn = write(&store, page, 2);
        assert!(store.log().wait_durable(lsn.end).is_err());
        let disk = disk.kill();
        drop(store);

        // The next start finds the change, so it shows it, and it must stay.
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        assert_eq!(read(&store, page), 2);
        let lsn = write(&store, new_page(&store, 0), 3);
        store.log().wait_durable(lsn.end).unwrap();
        let disk = disk.restart();
        drop(store);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        assert_eq!(read(&store, page), 2, "seed {seed}");
    }
}

/// The same of pages, where the system's cache has the data file too.
#[test]
fn pages_whose_sync_failed_are_written_again() {
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        let page = new_page(&store, 1);
        while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
        store.checkpoint().unwrap();
        write(&store, page, 2);
        store.log().flush_all().unwrap();
        disk.set_faults(Faults {
            sync_failure_in: Some(2),
            sync_failure_drops: true,
            ..Faults::default()
        });
        let _ = store.clean(Aim::Room, usize::MAX);
        let disk = disk.kill();
        drop(store);

        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        assert_eq!(read(&store, page), 2);
        store.shutdown().unwrap();
        let disk = disk.restart();
        drop(store);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        assert_eq!(read(&store, page), 2, "seed {seed}");
    }
}

/// A page was written with others, and changed since. If it goes bad later, its copy of that time is no page to go on with.
#[test]
fn a_copy_of_an_older_batch_is_not_used() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let pages: Vec<PageId> = (0..20).map(|_| new_page(&store, 1)).collect();
    let clean = || while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {};
    clean();
    for &page in &pages {
        write(&store, page, 2);
    }
    clean();
    // In batches of their own; the last is another page's.
    write(&store, pages[19], 3);
    clean();
    write(&store, pages[0], 3);
    clean();
    store.checkpoint().unwrap();
    let disk = disk.restart();
    drop(store);
    disk.flip_bit("data", pages[19].0 as usize * PAGE_SIZE + 5000, 3);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    match store.pool().shared(pages[19]) {
        Err(Error::Corrupt { page, .. }) => assert_eq!(page, Some(pages[19])),
        Ok(page) => panic!("a page of the past: {}", page.u64_at(crate::pool::PAGE_HEADER)),
        Err(other) => panic!("{other}"),
    };
}

/// The disk never wrote the page, and reads as zeros there: as a page would that was never used.
#[test]
fn a_lost_first_write_is_noticed_by_redo() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let page = new_page(&store, 1);
    while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
    store.checkpoint().unwrap();
    write(&store, page, 2);
    store.log().flush_all().unwrap();
    let disk = disk.restart();
    drop(store);
    file(&disk, "doublewrite").write_at(&[0; 8 << 20], 0).unwrap();
    let blank = PageBuf::batch(1);
    file(&disk, "data")
        .write_at(PageBuf::bytes_of(&blank), u64::from(page.0) * PAGE_SIZE as u64)
        .unwrap();
    match Store::on_sim(&disk, 64, ops()) {
        Err(Error::Corrupt { page: named, .. }) => assert_eq!(named, Some(page)),
        Err(other) => panic!("{other}"),
        Ok((store, _)) => panic!("redone on nothing: {}", read(&store, page)),
    }
}

/// A directory that was copied by hand: nothing of it has been synced, whatever the log's records say. The log goes over several segments.
#[test]
fn a_copied_directory_is_certain_once_it_has_been_opened() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let page = new_page(&store, 0);
    commits_with(&store, &[page], 300, 4000);
    let disk = disk.restart();
    drop(store);
    for seed in 0..10 {
        let copy = SimDisk::new(seed);
        for name in disk.list().unwrap() {
            let from = file(&disk, &name);
            let mut bytes = vec![0; from.len().unwrap() as usize];
            from.read_at(&mut bytes, 0).unwrap();
            let to = copy.open(&name, true, Access::Buffered).unwrap();
            to.write_at(&bytes, 0).unwrap();
        }
        drop(Store::on_sim(&copy, 64, ops()).unwrap());
        let (store, _) = Store::on_sim(&copy.restart(), 64, ops()).unwrap();
        assert_eq!(read(&store, page), 299, "seed {seed}");
    }
}

/// Page 1, with the bits of all pages, is blank: its write was lost. Taken for a file that has just begun to grow, all pages would be
/// given out again.
#[test]
fn a_lost_bitmap_is_not_an_empty_file() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let page = new_page(&store, 7);
    store.shutdown().unwrap();
    let disk = disk.restart();
    drop(store);
    let place = file(&disk, "data");
    let mut bitmap = PageBuf::zeroed();
    place.read_at(&mut bitmap[..], PAGE_SIZE as u64).unwrap();
    place.write_at(&PageBuf::zeroed()[..], PAGE_SIZE as u64).unwrap();
    match Store::on_sim(&disk, 64, ops()) {
        Err(Error::Corrupt { page: named, .. }) => assert_eq!(named, Some(PageId(1))),
        Err(other) => panic!("{other}"),
        Ok((store, _)) => panic!("page {page} is given out as {}", new_page(&store, 8)),
    }
    place.write_at(&bitmap[..], PAGE_SIZE as u64).unwrap();
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(read(&store, page) == 7 && new_page(&store, 8) != page);
}

/// One of a start's reads gets the first sectors only, and zeros behind them. Analysis, writing again and redo read the same log, so
/// what one of them is shown otherwise must neither pass for the log's end nor be written over what is there.
#[test]
fn a_read_that_goes_wrong_once_in_a_start_leaves_nothing_out() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    store.stop_cleaner();
    let pages: Vec<PageId> = (0..8).map(|_| new_page(&store, 0)).collect();
    commits_with(&store, &pages, 400, 600);
    // One page shows up to where the log goes; the others lack what it says of them.
    store.clean(Aim::These(&pages[399 % 8..][..1]), 1).unwrap();
    let disk = disk.restart();
    drop(store);
    let mut refused = 0;
    for round in 0..40 {
        let disk = disk.restart();
        disk.set_faults(Faults {
            read_short_in: Some(1 + round % 4),
            harms: "redo-",
            ..Faults::default()
        });
        let opened = Store::on_sim(&disk, 64, ops());
        disk.set_faults(Faults::default());
        refused += u64::from(opened.is_err());
        let (store, _) = match opened {
            Ok(opened) => opened,
            Err(_) => Store::on_sim(&disk.restart(), 64, ops()).unwrap(),
        };
        for (at, &page) in pages.iter().enumerate() {
            assert_eq!(read(&store, page), 392 + at as u64, "round {round}");
        }
    }
    assert!((10..40).contains(&refused), "{refused}");
}

/// Writes the page, and then as many others that it is not in memory any more.
fn write_and_evict(store: &Store, page: PageId, value: u64) {
    write(store, page, value);
    while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
    for _ in 0..100 {
        new_page(store, 1);
        while store.clean(Aim::Room, usize::MAX).unwrap() > 0 {}
    }
    assert!(!store.pool().is_resident(page));
}

/// The disk goes on showing the page of before, whose checksum is right.
#[test]
fn a_page_that_is_not_what_was_written_last_is_named() {
    for goes_astray in [false, true] {
        let disk = SimDisk::new(1);
        let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
        store.stop_cleaner();
        let page = new_page(&store, 1);
        write_and_evict(&store, page, 2);
        assert_eq!(read(&store, page), 2);
        let which = Some(1);
        disk.set_faults(Faults {
            write_lost_in: which.filter(|_| !goes_astray),
            write_misdirected_in: which.filter(|_| goes_astray),
            harms: "data",
            ..Faults::default()
        });
        write_and_evict(&store, page, 3);
        match store.pool().shared(page) {
            Err(Error::Corrupt { page: named, .. }) => assert_eq!(named, Some(page)),
            Err(other) => panic!("{other}"),
            Ok(found) => panic!("a page of the past: {}", found.u64_at(crate::pool::PAGE_HEADER)),
        }
        let (_, damaged) = store.verify_on_disk(PageId(0), usize::MAX).unwrap();
        assert!(damaged.iter().any(|found| found.page == page), "{damaged:?}");
    }
}

/// Nothing that redo touches shows it, and yet: a page is of a moment that the log has not come to.
#[test]
fn a_page_newer_than_the_log_is_named_when_it_is_read() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages = [new_page(&store, 1), new_page(&store, 1)];
    store.shutdown().unwrap();
    drop(store);
    let data = file(&disk, "data");
    let mut copy = PageBuf::zeroed();
    let place = u64::from(pages[1].0) * PAGE_SIZE as u64;
    data.read_at(&mut copy[..], place).unwrap();
    copy.set_lsn(Lsn(copy.lsn().0 + (1 << 20)));
    copy.seal(pages[1]);
    data.write_at(&copy[..], place).unwrap();
    data.sync().unwrap();
    let disk = disk.restart();
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(read(&store, pages[0]), 1);
    match store.pool().shared(pages[1]) {
        Err(Error::Corrupt { page, what }) => {
            assert_eq!(page, Some(pages[1]));
            assert!(what.contains("the log ended at"), "{what}");
        }
        other => panic!("{:?}", other.map(|page| page.lsn())),
    };
}

/// Places of the data file that take no writes.
fn bad(pages: std::ops::Range<PageId>) -> Faults {
    let at = |page: PageId| u64::from(page.0) * PAGE_SIZE as u64;
    Faults {
        bad: Some(("data".into(), at(pages.start)..at(pages.end))),
        ..Faults::default()
    }
}

/// Changes pages until the log is full several times over, or something fails; says what.
fn churn(store: &Store, pages: &[PageId]) -> Option<Error> {
    let filler = vec![7; 8000];
    (0..2600).find_map(|n| {
        let change = || -> Result<()> {
            let mut mtr = store.begin_mtr()?;
            let handle = mtr.add(store.pool().exclusive(pages[n % pages.len()])?);
            mtr.apply(
                handle,
                &super::tests::Put {
                    at: 200,
                    bytes: &filler,
                },
            );
            store.log().wait_durable(mtr.commit().end)
        };
        change().err()
    })
}

#[test]
fn a_page_that_cannot_be_written_is_gone_round_and_an_error_at_last() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<PageId> = (0..40).map(|n| new_page(&store, n)).collect();
    disk.set_faults(bad(pages[3]..pages[4]));
    write(&store, pages[3], 77);
    let started = std::time::Instant::now();
    let error = churn(&store, &pages[8..]).expect("the log cannot be freed");
    assert!(
        started.elapsed() < std::time::Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    let place = format!("writing data at byte {}", pages[3].0 as usize * PAGE_SIZE);
    assert!(error.to_string().contains(&place), "{error}");
    // All others are on the disk, and what is not can be read.
    let dirty: Vec<PageId> = store.pool().dirty_pages().map(|dirty| dirty.page).collect();
    assert!(dirty.contains(&pages[3]) && dirty.len() < 16, "{dirty:?}");
    assert_eq!(read(&store, pages[3]), 77);
    assert!(
        store.shutdown().is_err(),
        "and it says so rather than trying for ever"
    );
    // Its copy is in the doublewrite file, also after many more batches.
    disk.flip_bit("data", pages[3].0 as usize * PAGE_SIZE + 9000, 1);
    let disk = disk.restart();
    drop(store);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert_eq!(read(&store, pages[3]), 77);
}

#[test]
fn a_page_that_can_be_written_again_holds_up_nothing() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<PageId> = (0..40).map(|n| new_page(&store, n)).collect();
    disk.set_faults(bad(pages[3]..pages[6]));
    pages.iter().for_each(|&page| {
        write(&store, page, 77);
    });
    assert!(churn(&store, &pages[8..]).is_some());
    disk.set_faults(Faults::default());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(churn(&store, &pages[8..]).is_none());
    store.shutdown().unwrap();
    let disk = disk.restart();
    drop(store);
    let (store, found) = Store::on_sim(&disk, 64, ops()).unwrap();
    assert!(found.clean && pages[3..6].iter().all(|&page| read(&store, page) == 77));
}

#[test]
fn pages_are_written_also_where_no_thread_can_be_had() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 256, ops()).unwrap();
    store.stop_cleaner();
    let pages: Vec<PageId> = (0..60).map(|_| new_page(&store, 1)).collect();
    store.clean(Aim::Room, usize::MAX).unwrap();
    // No two of them neighbours.
    for &page in pages.iter().step_by(3) {
        write(&store, page, 2);
    }
    crate::threads::refuse_threads(true);
    assert_eq!(store.clean(Aim::Room, usize::MAX).unwrap(), 20);
    crate::threads::refuse_threads(false);
}

/// A bug that ends the cleaner's thread must not leave the others waiting for it.
#[test]
fn a_cleaner_that_dies_stops_everything() {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).unwrap();
    let pages: Vec<PageId> = (0..40).map(|n| new_page(&store, n)).collect();
    store.log().flush_all().unwrap();
    disk.set_faults(Faults {
        write_panics_in: Some(1),
        ..Faults::default()
    });
    let started = std::time::Instant::now();
    while store.log().check().is_ok() {
        assert!(
            started.elapsed() < std::time::Duration::from_secs(20),
            "nobody noticed"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(matches!(churn(&store, &pages), Some(Error::Stopped(_))));
}
