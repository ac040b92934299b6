//! A thread that works and sleeps in turns, until it is stopped.

use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The thread's handle.
#[derive(Default)]
pub struct Worker {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How the thread learns that it is to end.
#[derive(Default)]
pub struct Signal {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Sleeps. Returns false if the thread is to end.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut stopped = self.stopped.lock();
        while !*stopped && !self.changed.wait_until(&mut stopped, until).timed_out() {}
        !*stopped
    }
}

impl Worker {
    /// Starts the thread.
    pub fn start(&self, work: impl FnOnce(&Signal) + Send + 'static) -> io::Result<()> {
        let signal = Arc::clone(&self.signal);
        let thread = Builder::new().name("tidemark-statistics".to_owned());
        *self.thread.lock() = Some(thread.spawn(move || work(&signal))?);
        Ok(())
    }

    /// Ends the thread, if there is one, and waits for it.
    pub fn stop(&self) {
        *self.signal.stopped.lock() = true;
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}
