//! Ids settle and are forgotten in time.

use super::sync::CHUNK_IDS;
use super::txns::{Txns, Window};
use crate::ids::{Lsn, TxnId};

#[test]
fn ids_settle_in_order() {
    let txns = Txns::new(TxnId(10));
    let ids: Vec<TxnId> = (0..4).map(|_| txns.assign()).collect();
    assert_eq!(ids[0], TxnId(10));
    txns.end(ids[1], Lsn(100));
    txns.settle(Lsn(500));
    assert_eq!(txns.settled(), ids[0], "the first is still active");
    assert!(txns.is_active(ids[0]));
    assert!(!txns.is_active(ids[1]));
    assert!(!txns.is_active(TxnId(3)), "before this engine started");
    txns.end(ids[0], Lsn(600));
    txns.settle(Lsn(500));
    assert_eq!(txns.settled(), ids[0], "not yet below the tide");
    txns.settle(Lsn(600));
    assert_eq!(txns.settled(), ids[2]);
}

#[test]
fn chunks_are_recycled_but_not_under_a_view() {
    let txns = Txns::new(TxnId(1));
    let mut lsn = 0;
    let mut run = |n: u64| {
        for _ in 0..n {
            lsn += 1;
            let id = txns.assign();
            txns.end(id, Lsn(lsn));
        }
        txns.settle(Lsn(lsn));
    };
    run(2 * CHUNK_IDS);
    let view = Window {
        low: CHUNK_IDS + 5,
        high: CHUNK_IDS + 9,
    };
    run(6 * CHUNK_IDS);
    txns.recycle(txns.settled(), &[view]);
    assert_eq!(txns.chunks().0, 2, "the view's and the current one");
    assert_eq!(txns.ended(TxnId(CHUNK_IDS + 7)), Some(Lsn(CHUNK_IDS + 7)));
    run(CHUNK_IDS);
    assert!(!txns.is_active(TxnId(4)));
    txns.recycle(txns.settled(), &[]);
    assert_eq!(txns.chunks().0, 1);
    assert!(txns.chunks().1 <= 9);
}
