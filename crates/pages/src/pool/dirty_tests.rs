//! What counts as dirty while a copy of the page is on its way to the disk.

use super::{PageBuf, Pool};
use crate::disk::sim::SimDisk;
use crate::disk::{Access, Disk};
use crate::ids::{Lsn, PageId};

fn pool() -> Pool {
    let disk = SimDisk::new(1);
    let file = |name| disk.open(name, true, Access::Direct).unwrap();
    Pool::new(64, 64, 1 << 20, file("data"), file("scratch")).unwrap()
}

fn change(pool: &Pool, page: PageId, lsn: u64) {
    let mut guard = pool.exclusive(page).unwrap();
    pool.set_dirty(page, || Lsn(lsn));
    guard.bytes_mut().set_lsn(Lsn(lsn + 16));
}

#[test]
fn a_page_changed_while_its_copy_is_written_stays_dirty_from_that_change_on() {
    let pool = pool();
    let (page, mut copy) = (PageId(5), PageBuf::zeroed());
    change(&pool, page, 100);
    change(&pool, page, 200);
    assert_eq!((pool.dirty_count(), pool.oldest_rec_lsn()), (1, Some(Lsn(100))));
    assert_eq!(pool.unwritten_since(page), 100);

    let taken = pool.take_off(page, &mut copy).unwrap();
    assert_eq!(pool.unwritten_since(page), 0, "it is being written");
    assert!(copy.is_intact(page) && copy.lsn() == Lsn(216));
    assert!(pool.is_dirty(page), "not evicted before the copy has landed");
    assert!(pool.take_off(page, &mut copy).is_none());
    change(&pool, page, 300);
    assert_eq!(pool.unwritten_since(page), 300);
    pool.landed(taken);
    assert_eq!((pool.dirty_count(), pool.oldest_rec_lsn()), (1, Some(Lsn(300))));

    let taken = pool.take_off(page, &mut copy).unwrap();
    pool.landed(taken);
    assert_eq!((pool.dirty_count(), pool.oldest_rec_lsn()), (0, None));
    assert!(!pool.is_dirty(page));
}

#[test]
fn a_copy_that_was_lost_leaves_the_page_as_dirty_as_it_was() {
    let pool = pool();
    let (page, mut copy) = (PageId(5), PageBuf::zeroed());
    change(&pool, page, 100);
    let taken = pool.take_off(page, &mut copy).unwrap();
    change(&pool, page, 300);
    pool.lost(taken);
    assert_eq!((pool.dirty_count(), pool.oldest_rec_lsn()), (1, Some(Lsn(100))));
}

#[test]
fn a_page_that_somebody_is_changing_is_not_taken() {
    let pool = pool();
    change(&pool, PageId(5), 100);
    let guard = pool.exclusive(PageId(5)).unwrap();
    assert!(pool.take_off(PageId(5), &mut PageBuf::zeroed()).is_none());
    drop(guard);
    assert!(
        pool.take_off(PageId(6), &mut PageBuf::zeroed()).is_none(),
        "nor a page that is not there"
    );
}
