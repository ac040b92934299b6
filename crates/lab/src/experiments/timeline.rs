//! A load watched second by second, while something is done beside it.

use crate::client::Client;
use crate::failure::Failure;
use crate::level::Level;
use crate::load::{Load, SILENCE_MAX};
use crate::server::Server;
use crate::stats;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a time line has a point, at most.
const STEP_MAX: Duration = Duration::from_secs(1);
/// The fewest points of a stage.
const POINTS_MIN: u32 = 3;
/// How often a snapshot is read that is read over and over, at most.
const READ_EVERY: Duration = Duration::from_millis(20);

/// The rate of a load, and the server's history, over time.
pub(super) struct Timeline<'a> {
    load: &'a Load,
    asking: Client,
    begin: Instant,
    last: (Instant, u64),
    /// The moments of the points, seconds since the beginning.
    pub(super) at_s: Vec<f64>,
    /// Transactions per second, between a point and the one before.
    pub(super) rate_per_s: Vec<f64>,
    /// What the server gives as the length of its history; -1 if it gives none.
    pub(super) history: Vec<f64>,
    /// 1 where a snapshot was held, else 0.
    pub(super) held: Vec<f64>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(server: &Server, load: &'a Load) -> Result<Timeline<'a>, Failure> {
        let asking = patient(server)?;
        let now = Instant::now();
        Ok(Timeline {
            load,
            asking,
            begin: now,
            last: (now, load.count()),
            at_s: Vec::new(),
            rate_per_s: Vec::new(),
            history: Vec::new(),
            held: Vec::new(),
        })
    }

    /// Watches for so long, with a snapshot held or without; the median rate of its last third.
    pub(super) fn watch(&mut self, time: Duration, is_held: bool) -> Result<f64, Failure> {
        let points = (time.div_duration_f64(STEP_MAX).ceil() as u32).max(POINTS_MIN);
        let first = self.rate_per_s.len();
        for _ in 0..points {
            self.load.pause(time / points)?;
            let (now, count) = (Instant::now(), self.load.count());
            let passed = now - self.last.0;
            self.rate_per_s
                .push((count - self.last.1) as f64 / passed.as_secs_f64());
            self.at_s.push((now - self.begin).as_secs_f64());
            self.last = (now, count);
            self.history.push(history(&mut self.asking).unwrap_or(-1.0));
            self.held.push(f64::from(is_held));
        }
        let seen = &self.rate_per_s[first..];
        let last = &seen[seen.len() - seen.len().div_ceil(3)..];
        Ok(stats::median(last).unwrap_or_default())
    }
}

/// What is left of a rate; `None` where nothing was done before.
pub(super) fn ratio(now: f64, before: f64) -> Option<f64> {
    (before > 0.0).then(|| now / before)
}

/// `History list length` of the engine's report, which MySQL, MariaDB and Tidemark write alike; PostgreSQL's is a number.
fn history(client: &mut Client) -> Option<f64> {
    let rows = client.query(client.dialect().history()).ok()?;
    let text = String::from_utf8_lossy(rows.first()?.last()?.as_deref()?).into_owned();
    let rest = text
        .split_once("History list length ")
        .map_or(text.as_str(), |(_, rest)| rest);
    rest.split_whitespace().next()?.parse().ok()
}

/// A connection beside a load, which gives up a server that stands still when the load does.
fn patient(server: &Server) -> Result<Client, Failure> {
    let client = server.connect()?;
    client.set_timeout(Some(SILENCE_MAX))?;
    Ok(client)
}

/// A transaction that holds a snapshot.
pub(super) struct Snapshot(Client);

impl Snapshot {
    /// Opens one, and reads with it.
    pub(super) fn open(server: &Server, read: &str) -> Result<Snapshot, Failure> {
        let mut client = patient(server)?;
        let dialect = client.dialect();
        client.query(&dialect.set_level(Level::RepeatableRead))?;
        client.query(dialect.begin_snapshot())?;
        client.query(read)?;
        Ok(Snapshot(client))
    }

    /// What reading with it costs now, milliseconds: the median of nine, since it is the row's history that is of interest and
    /// not whether a processor was free just then.
    pub(super) fn read_ms(&mut self, read: &str) -> Result<f64, Failure> {
        let mut taken = [0.0; 9];
        for taken in &mut taken {
            let begin = Instant::now();
            self.0.query(read)?;
            *taken = begin.elapsed().as_secs_f64() * 1e3;
        }
        Ok(stats::median(&taken).unwrap_or_default())
    }

    /// Does `what` while another thread reads with the snapshot over and over.
    pub(super) fn reading<T>(
        &mut self,
        read: &str,
        what: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| -> Result<(), Failure> {
                // Nothing hangs on when it stops but the end of the stage.
                while !stop.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    self.0.query(read)?;
                    thread::sleep(READ_EVERY.saturating_sub(begin.elapsed()));
                }
                Ok(())
            });
            let done = what();
            stop.store(true, Ordering::Relaxed);
            reader.join().expect("reading does not panic")?;
            done
        })
    }

    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.0.query("COMMIT")?;
        Ok(())
    }
}
