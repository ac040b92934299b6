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
fn beside_an_idle_writer_only_a_word_is_left_of_each_chunk() {
    const CHUNKS: u64 = 200;
    let txns = Txns::new(TxnId(1));
    let idle = txns.assign();
    let mut lsn = 10;
    // A view that is open all along, and one that is opened in the middle of some chunk.
    let mut views = vec![Lsn(5)];
    for n in 0..CHUNKS * CHUNK_IDS {
        lsn += 1;
        let id = txns.assign();
        txns.end(id, Lsn(lsn));
        if n == 50 * CHUNK_IDS {
            views.push(Lsn(lsn));
        }
        if n % CHUNK_IDS == CHUNK_IDS / 2 {
            txns.settle(Lsn(lsn));
            txns.recycle(
                txns.settled(),
                &[Window {
                    low: idle.0,
                    high: u64::MAX,
                }],
            );
            txns.collapse(Lsn(lsn), |first, last| {
                views.iter().any(|view| first <= *view && *view < last)
            });
        }
    }
    let (open, room) = txns.chunks();
    assert!(
        open <= 4 && room <= 5,
        "the idle writer's, the view's, the current: {open} of {room}"
    );
    assert!(txns.is_active(idle));
    // No view can tell what the array says from the truth, which is id + 9.
    for view in &views {
        for id in (idle.0 + 1..CHUNKS * CHUNK_IDS).step_by(37) {
            let ended = txns.ended(TxnId(id)).expect("it has ended");
            assert_eq!(ended <= *view, id + 9 <= view.0, "{id} at {view:?}");
        }
    }
    txns.end(idle, Lsn(lsn + 1));
    txns.settle(Lsn(lsn + 1));
    assert_eq!(txns.settled(), txns.next());
    txns.recycle(txns.settled(), &[]);
    assert!(txns.chunks().0 <= 1);
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
