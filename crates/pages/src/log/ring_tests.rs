//! The ring by itself: laps filled in parallel, and links of other laps.

use super::ring::*;
use crate::ids::Lsn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Fills laps of a small ring from several threads; the follower sees every byte, in order, exactly once.
#[test]
fn parallel_filling_is_seen_whole_and_in_order() {
    let ring = Ring::new(1 << 12, Lsn(4096), 0);
    let (tail, written) = (AtomicU64::new(4096), AtomicU64::new(4096));
    let end = 4096 + 4000 * 160;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let start = tail.fetch_add(160, Ordering::SeqCst);
                    if start >= end {
                        return;
                    }
                    while start + 160 > written.load(Ordering::Acquire) + ring.len() {
                        thread::yield_now();
                    }
                    let mut record = [0; 160];
                    record[8..16].copy_from_slice(&start.to_le_bytes());
                    record[152..].copy_from_slice(&start.to_le_bytes());
                    ring.fill(Lsn(start), &record);
                    ring.publish(Lsn(start), Lsn(start + 160));
                }
            });
        }
        let mut out = Vec::new();
        let mut at = 4096;
        while at < end {
            let complete = ring.advance().0.min(end);
            if complete == at {
                thread::yield_now();
                continue;
            }
            ring.copy_out(Lsn(at), Lsn(complete), &mut out);
            for record in out.chunks_exact(160) {
                assert_eq!(record[8..16], at.to_le_bytes());
                assert_eq!(record[152..], at.to_le_bytes());
                at += 160;
            }
            assert_eq!(at, complete, "only whole records");
            written.store(complete, Ordering::Release);
        }
    });
}

#[test]
fn links_of_other_laps_are_not_followed() {
    let ring = Ring::new(1 << 12, Lsn(4096), 0);
    ring.publish(Lsn(4096), Lsn(4096 + 4096));
    assert_eq!(ring.advance(), Lsn(8192));
    assert_eq!(
        ring.advance(),
        Lsn(8192),
        "the slot still holds the link of the lap before"
    );
    ring.publish(Lsn(8192 + 4096), Lsn(8192 + 4096 + 16));
    assert_eq!(ring.advance(), Lsn(8192), "and now one of the lap after");
}
