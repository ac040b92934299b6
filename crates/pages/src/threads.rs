//! Work shared out to threads, which the system may refuse: what finds no thread is done by the caller.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Threads that may use a store at once: a page counts those that share it in so many bits.
pub const THREADS_MAX: u32 = (1 << 17) - 1;

/// Does `work` for each of the items, each but the last on a thread of its own if the system gives one, the rest on the
/// caller's, and returns the results in order. A panic in `work` is the caller's.
pub fn share_out<T: Send, R: Send>(name: &str, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let last = items.len().saturating_sub(1);
    scope(|scope| {
        let mut done: Vec<Option<R>> = Vec::new();
        let mut helpers = Vec::new();
        for (n, item) in items.into_iter().enumerate() {
            done.push(None);
            if n == last {
                done[n] = Some(work(item));
                break;
            }
            // A thread that cannot be had must not take the item with it.
            let (give, take) = std::sync::mpsc::sync_channel(1);
            let work = &work;
            let run = move || take.recv().ok().map(work);
            match builder(name).spawn_scoped(scope, run) {
                Ok(helper) => {
                    give.send(item).expect("the thread waits for its item");
                    helpers.push((n, helper));
                }
                Err(_) => done[n] = Some(work(item)),
            }
        }
        for (n, helper) in helpers {
            done[n] = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        done.into_iter().flatten().collect()
    })
}

#[cfg(not(test))]
fn builder(name: &str) -> Builder {
    Builder::new().name(name.into())
}

/// Threads that this thread starts are refused, as they are when the system has too many.
#[cfg(test)]
pub(crate) fn refuse_threads(refuse: bool) {
    tests::REFUSED.set(refuse);
}

#[cfg(test)]
fn builder(name: &str) -> Builder {
    let builder = Builder::new().name(name.into());
    // More stack than there are addresses: the system says that it has no room, as it does of threads.
    if tests::REFUSED.get() {
        builder.stack_size(1 << 60)
    } else {
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::thread::current;

    thread_local! {
        pub static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn work_is_done_whether_or_not_there_are_threads() {
        for refuse in [false, true] {
            refuse_threads(refuse);
            let done = share_out("helper", (0..5).collect(), |n| (n * n, current().id()));
            let squares: Vec<i32> = done.iter().map(|(square, _)| *square).collect();
            assert_eq!(squares, [0, 1, 4, 9, 16]);
            let threads: HashSet<_> = done.iter().map(|(_, thread)| thread).collect();
            assert_eq!(threads.len(), if refuse { 1 } else { 5 });
        }
        refuse_threads(false);
    }
}
