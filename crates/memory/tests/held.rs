//! What sessions hold is bounded, and memory that the system refuses does not end the process. A process of its own, as the limits are.

use std::thread;
use tidemark_memory::{
    Counting, Limit, begin_session, check, give_back_what_is_freed, held_bytes, hold, reserve,
    set_process_limit,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

const MIB: usize = 1 << 20;

fn set_limit(bytes: usize) {
    set_process_limit(Limit {
        bytes: bytes as u64,
        name: "bound",
    });
}

fn limit_addresses(more: usize) {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = status.split(' ').next().unwrap().parse().unwrap();
    let bytes = (pages * 4096 + more) as libc::rlim_t;
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: reads the structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

#[test]
fn sessions_hold_what_there_is_room_for_and_the_system_may_refuse() {
    // Half of all for one session, and past three quarters no more than a share.
    set_limit(64 * MIB);
    let session = begin_session();
    assert!(hold(8 * MIB as u64).is_ok());
    let own = vec![1u8; 30 * MIB];
    assert!(held_bytes() >= 30 * MIB as u64);
    assert_eq!(hold(4 * MIB as u64).unwrap_err().0.name, "bound");
    let other = thread::spawn(|| {
        let _session = begin_session();
        assert!(hold(8 * MIB as u64).is_ok());
        let kept = vec![1u8; 24 * MIB];
        let is_tight = hold(MIB as u64).is_err();
        let little = thread::spawn(|| {
            let _session = begin_session();
            hold(100 << 10).is_ok()
        });
        (is_tight, little.join().unwrap(), kept.len())
    });
    assert_eq!(other.join().unwrap(), (true, true, 24 * MIB));
    drop(own);
    assert!(hold(8 * MIB as u64).is_ok());
    drop(session);
    assert_eq!(held_bytes(), 0);

    // The system has little left: what is large is refused, and what is small gets what was put aside.
    set_limit(1 << 40);
    give_back_what_is_freed();
    limit_addresses(64 * MIB);
    give_back_what_is_freed();
    assert!(reserve(1 << 30).is_err());
    let mut small = Vec::new();
    while small.len() < 1000 && reserve(4 * MIB as u64).is_ok() {
        small.push(vec![1u8; 4 * MIB]);
    }
    assert!(small.len() < 1000, "the limit was not noticed");
    for _ in 0..100 {
        small.push(vec![1u8; 64 << 10]);
    }
    drop(small);
    assert!(reserve(4 * MIB as u64).is_ok());
    assert!(check().is_ok());
}
