//! Sums by kind of statement: the digest of its text, in the database that it ran in.
//!
//! There is room for `performance_schema_digests_size` of them. What comes when all is taken is counted together, as one that has
//! neither text nor database, so that memory is bounded whatever clients send. A digest that is [forgotten](Digests::forget) is
//! marked, and meters of it are replaced when they are used next.
//!
//! A [`Meter`] is a session's hold on a digest. What it counts is the session's alone to add to, and the digest lists what all
//! meters have counted for those who read. What every statement has, how long it took and the rows that it read and sent, waits in
//! the meter until there are [`PENDING`] statements; then, once in as many, it is added to the meter's sums, and the latencies to the
//! digest's histogram, in one loop. That is done under the meter's lock and the digest's, under which readers take what waits and
//! what has been added, so each is counted once:
//!
//! ```text
//!   owner's thread     writes a pending statement, then their number (release)        no lock
//!                      once in PENDING: adds them up, their number becomes 0          digest's lock, then the meter's
//!   readers            sums, then the pending ones up to their number (acquire)       the meter's lock; for latencies the digest's
//! ```

use super::accounts::Kinds;
use super::figures::{Figures, Sums, Totals, Usual};
use super::gathered::Gathered;
use super::histogram::{Buckets, Histogram};
use super::prepared::Instance;
use crate::parse::conceal;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use tidemark_engine::prefetch;

/// Statements that a meter keeps before it adds them up: as many as have room in four cache lines, with what stands before them.
const PENDING: usize = 30;
/// Of an example's text so many bytes are kept: `performance_schema_max_sql_text_length`.
pub const SAMPLE_LENGTH_MAX: usize = 1024;
/// An example older than that gives way to the next statement: `performance_schema_max_digest_sample_age`.
const SAMPLE_AGE_MAX_MICROS: i64 = 60_000_000;

/// All digests of the server.
#[derive(Debug)]
pub struct Digests {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    digests: HashMap<Key, Arc<Digest>>,
    /// What is counted for all that found no room.
    others: Option<Arc<Digest>>,
    size_max: usize,
    last_id: u64,
    /// Latencies of digests that were forgotten, less those from before the histogram of all was begun anew.
    before: Histogram,
    /// What the histogram of all had when it was begun anew.
    deducted: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    schema: Option<String>,
    hash: String,
}

/// A kind of statement. What every statement looks at is in the first cache line, which seldom changes; the lock of what is added up, which
/// all sessions take in turns, in another.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Digest {
    /// No other digest has had it since the server started.
    pub id: u64,
    /// How long the example took, and when it is too old: statements that are neither longer nor later leave it alone.
    sample_nanos: AtomicU64,
    sample_until_micros: AtomicI64,
    forgotten: AtomicBool,
    /// The database; none for statements without one, and for those that are counted together.
    pub schema: Option<String>,
    /// SHA-256 of the text, in hexadecimal digits; none for statements that are counted together.
    pub hash: Option<String>,
    /// The normalised text.
    pub text: Option<String>,
    inner: Mutex<Inner>,
}

const _: () = assert!(std::mem::offset_of!(Digest, inner) >= 64);

#[derive(Debug, Default)]
struct Inner {
    meters: Gathered,
    histogram: Histogram,
    first_seen_micros: Option<i64>,
    last_seen_micros: i64,
    sample: Option<Sample>,
}

/// A statement of the kind, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its text, as it may be shown.
    pub text: String,
    /// When it began, in microseconds since 1970 UTC.
    pub seen_micros: i64,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// What a meter has counted, for its owner to add to. Its digest and its session's kinds both list it. Most statements write to the first
/// cache line, and to that of their place among the pending ones.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Local {
    last_seen_micros: AtomicI64,
    pending_len: AtomicU32,
    /// The session's kinds have begun anew, and list it no more.
    is_retired: AtomicBool,
    pending: [Pending; PENDING],
    /// Of all but the pending statements; of these, too, what few statements have.
    sums: Sums,
    /// Held while pending statements are added up, and by those who read.
    adding_up: Mutex<()>,
}

const _: () = assert!(std::mem::offset_of!(Local, sums) == 256);

/// What every statement has, in one word: how long it took, the rows that it sent, those that it read.
#[derive(Debug, Default)]
struct Pending(AtomicU64);

impl Pending {
    /// Returns false if the numbers are too large.
    #[inline]
    fn put(&self, figures: &Figures) -> bool {
        let (nanos, sent, examined) = (figures.nanos, figures.sent, figures.examined);
        if nanos >> 32 != 0 || (sent | examined) >> 16 != 0 {
            return false;
        }
        self.0
            .store(nanos | sent << 32 | examined << 48, Ordering::Relaxed);
        true
    }

    fn usual(&self) -> Usual {
        let word = self.0.load(Ordering::Relaxed);
        Usual {
            nanos: word & u64::from(u32::MAX),
            sent: word >> 32 & u64::from(u16::MAX),
            examined: word >> 48,
        }
    }
}

/// What became of a statement that was to wait.
enum Added {
    Waits,
    /// It is time to add up those that wait.
    IsLast,
    /// Its numbers are too large to wait.
    IsLarge,
}

impl Local {
    /// It is to be replaced.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// What it has counted until now.
    pub(super) fn totals(&self) -> Totals {
        let _held = self.adding_up.lock();
        let mut totals = Totals::of(&self.sums);
        self.pending().for_each(|usual| totals.add_usual(&usual));
        totals
    }

    fn pending(&self) -> impl Iterator<Item = Usual> {
        let len = self.pending_len.load(Ordering::Acquire) as usize;
        self.pending[..len].iter().map(Pending::usual)
    }

    fn latencies(&self) -> impl Iterator<Item = u16> {
        let buckets = Buckets::get();
        self.pending().map(move |usual| buckets.of(usual.nanos))
    }

    /// Counts a statement. To be called by the owner's thread alone.
    #[inline(always)]
    fn add(&self, figures: &Figures, now_micros: i64) -> Added {
        let len = self.pending_len.load(Ordering::Relaxed);
        // The owner adds them up as soon as there are so many, so there is room for one.
        let room = self.pending.get(len as usize);
        if !room.is_some_and(|pending| pending.put(figures)) {
            return Added::IsLarge;
        }
        self.last_seen_micros.store(now_micros, Ordering::Relaxed);
        self.sums.add_unusual(figures);
        self.pending_len.store(len + 1, Ordering::Release);
        match len as usize + 1 {
            PENDING => Added::IsLast,
            _ => Added::Waits,
        }
    }

    /// The pending statements become part of the sums; their latencies go into the histogram of the digest, which is locked.
    fn add_up(&self, histogram: &mut Histogram) {
        let _held = self.adding_up.lock();
        let mut all = Totals::default();
        self.pending().for_each(|usual| all.add_usual(&usual));
        self.sums.add_usual(&all);
        histogram.add_each(self.latencies());
        self.pending_len.store(0, Ordering::Relaxed);
    }
}

/// A session's hold on a digest.
#[derive(Debug)]
pub struct Meter {
    digest: Arc<Digest>,
    local: Arc<Local>,
    kinds: Arc<Kinds>,
    kind: usize,
    /// The prepared statement that it counts alone, and for which it counts too.
    instance: Option<Arc<Instance>>,
}

/// What is known of a digest at one moment.
#[derive(Clone, Debug)]
pub struct DigestSummary {
    /// The digest: database, text, hash.
    pub digest: Arc<Digest>,
    /// What its statements did.
    pub totals: Totals,
    /// How long they took.
    pub histogram: Histogram,
    /// When the first of them began, in microseconds since 1970 UTC.
    pub first_seen_micros: i64,
    /// When the last of them began.
    pub last_seen_micros: i64,
    /// One of the longest of the last minute.
    pub sample: Option<Sample>,
}

/// What digests may be ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The time of all their statements.
    Time,
    /// The longest of them.
    Longest,
    /// How many there were.
    Count,
    /// Rows read.
    Examined,
    /// Those that failed.
    Errors,
}

impl Digests {
    /// Room for so many.
    pub fn new(size_max: usize) -> Digests {
        Digests {
            table: Mutex::new(Table {
                digests: HashMap::new(),
                others: None,
                size_max,
                last_id: 0,
                before: Histogram::default(),
                deducted: Histogram::default(),
            }),
        }
    }

    /// A meter of a text in a database, for the session that has these `kinds`, to count statements of one kind with.
    pub fn meter(
        &self,
        (kinds, kind): (&Arc<Kinds>, usize),
        schema: Option<&str>,
        text: &str,
        hash: String,
    ) -> Meter {
        let digest = self.table.lock().digest(
            Key {
                schema: schema.map(str::to_owned),
                hash,
            },
            text,
        );
        let local = Arc::new(Local::default());
        digest.inner.lock().meters.begin(&local);
        kinds.begin(kind, &local);
        Meter {
            digest,
            local,
            kinds: Arc::clone(kinds),
            kind,
            instance: None,
        }
    }

    /// All of them, in no order.
    pub fn all(&self) -> Vec<DigestSummary> {
        let digests: Vec<Arc<Digest>> = self.table.lock().all().cloned().collect();
        digests.iter().filter_map(Digest::summary).collect()
    }

    /// The first `n` of them by an order, the highest first.
    ///
    /// Meant for people who look at a running server: it goes through all digests, each under its own lock for a moment.
    pub fn top(&self, n: usize, by: Order) -> Vec<DigestSummary> {
        let mut all = self.all();
        all.sort_by_key(|summary| {
            let totals = &summary.totals;
            std::cmp::Reverse(match by {
                Order::Time => totals.nanos,
                Order::Longest => totals.most_nanos,
                Order::Count => totals.count,
                Order::Examined => totals.examined,
                Order::Errors => totals.errors,
            })
        });
        all.truncate(n);
        all
    }

    /// How many statements had a digest that there was no room for.
    pub fn beyond_limit(&self) -> u64 {
        let others = self.table.lock().others.clone();
        let summary = others.and_then(|others| others.summary());
        summary.map_or(0, |summary| summary.totals.count)
    }

    /// Those that are known by number.
    pub fn by_id(&self) -> HashMap<u64, Arc<Digest>> {
        let table = self.table.lock();
        table
            .all()
            .map(|digest| (digest.id, Arc::clone(digest)))
            .collect()
    }

    /// Begins anew: forgets all.
    pub fn forget(&self) {
        let mut table = self.table.lock();
        let all: Vec<Arc<Digest>> = table.digests.drain().map(|(_, digest)| digest).collect();
        for digest in all.into_iter().chain(table.others.take()) {
            digest.forgotten.store(true, Ordering::Relaxed);
            let histogram = digest.histogram();
            table.before.add_all(&histogram);
        }
    }

    /// The latencies of all statements that have a digest.
    pub fn histogram(&self) -> Histogram {
        self.table.lock().histogram()
    }

    /// Begins the histogram of all anew.
    pub fn forget_histogram(&self) {
        let mut table = self.table.lock();
        table.deducted = table.all_latencies();
    }
}

impl Table {
    fn all(&self) -> impl Iterator<Item = &Arc<Digest>> {
        self.digests.values().chain(&self.others)
    }

    fn digest(&mut self, key: Key, text: &str) -> Arc<Digest> {
        if let Some(digest) = self.digests.get(&key) {
            return Arc::clone(digest);
        }
        let known = self.digests.len() < self.size_max;
        if !known && let Some(others) = &self.others {
            return Arc::clone(others);
        }
        self.last_id += 1;
        let digest = Arc::new(Digest {
            id: self.last_id,
            schema: key.schema.clone().filter(|_| known),
            hash: known.then(|| key.hash.clone()),
            text: known.then(|| text.to_owned()),
            forgotten: AtomicBool::new(false),
            sample_nanos: AtomicU64::new(0),
            sample_until_micros: AtomicI64::new(i64::MIN),
            inner: Mutex::default(),
        });
        match known {
            true => drop(self.digests.insert(key, Arc::clone(&digest))),
            false => self.others = Some(Arc::clone(&digest)),
        }
        digest
    }

    fn all_latencies(&self) -> Histogram {
        let mut all = self.before.clone();
        self.all().for_each(|digest| all.add_all(&digest.histogram()));
        all
    }

    fn histogram(&self) -> Histogram {
        self.all_latencies().less(&self.deducted)
    }
}

impl Digest {
    fn histogram(&self) -> Histogram {
        self.inner.lock().all_latencies()
    }

    /// None if no statement of it has ended yet.
    fn summary(self: &Arc<Digest>) -> Option<DigestSummary> {
        let inner = self.inner.lock();
        let totals = inner.meters.totals();
        let mut last_seen_micros = inner.last_seen_micros;
        for local in inner.meters.meters() {
            last_seen_micros = last_seen_micros.max(local.last_seen_micros.load(Ordering::Relaxed));
        }
        (totals.count > 0).then(|| DigestSummary {
            digest: Arc::clone(self),
            totals,
            histogram: inner.all_latencies(),
            first_seen_micros: inner.first_seen_micros.unwrap_or(last_seen_micros),
            last_seen_micros,
            sample: inner.sample.clone(),
        })
    }

    /// Once in [`PENDING`] statements of a meter.
    #[cold]
    fn add_up(&self, local: &Local) {
        local.add_up(&mut self.inner.lock().histogram);
    }

    #[cold]
    fn put_sample(&self, figures: &Figures, now_micros: i64, text: &[u8]) {
        let text = conceal(text);
        let text = &text[..text.len().min(SAMPLE_LENGTH_MAX)];
        let mut inner = self.inner.lock();
        inner.first_seen_micros.get_or_insert(now_micros);
        inner.sample = Some(Sample {
            text: String::from_utf8_lossy(text).into_owned(),
            seen_micros: now_micros,
            nanos: figures.nanos,
        });
        self.sample_nanos.store(figures.nanos, Ordering::Relaxed);
        self.sample_until_micros
            .store(now_micros + SAMPLE_AGE_MAX_MICROS, Ordering::Relaxed);
    }
}

impl Inner {
    fn all_latencies(&self) -> Histogram {
        let mut all = self.histogram.clone();
        for local in self.meters.meters() {
            local.latencies().for_each(|bucket| all.add(bucket, 1));
        }
        all
    }
}

impl Meter {
    /// Counts for a prepared statement too, which alone is counted by it.
    pub fn of_instance(mut self, instance: &Arc<Instance>) -> Meter {
        instance.begin(&self.local);
        self.instance = Some(Arc::clone(instance));
        self
    }

    /// Counts a statement that began at a moment, in microseconds since 1970 UTC. Its text, passwords and all, is looked at if it is to
    /// be the example of its kind. To be called by the owner's thread alone.
    #[inline(always)]
    pub fn add(&self, figures: &Figures, now_micros: i64, text: &[u8]) {
        let (digest, local) = (&*self.digest, &*self.local);
        match local.add(figures, now_micros) {
            Added::Waits => {}
            Added::IsLast => digest.add_up(local),
            Added::IsLarge => self.add_large(figures, now_micros),
        }
        if figures.nanos > digest.sample_nanos.load(Ordering::Relaxed)
            || now_micros > digest.sample_until_micros.load(Ordering::Relaxed)
        {
            digest.put_sample(figures, now_micros, text);
        }
    }

    /// Counts a statement with numbers that have no room among the pending ones.
    #[cold]
    fn add_large(&self, figures: &Figures, now_micros: i64) {
        let (mut inner, local) = (self.digest.inner.lock(), &*self.local);
        let _held = local.adding_up.lock();
        local.last_seen_micros.store(now_micros, Ordering::Relaxed);
        local.sums.add(figures);
        inner.histogram.add(Buckets::get().of(figures.nanos), 1);
    }

    /// A statement begins that is to be counted.
    #[inline]
    pub fn approach(&self) {
        prefetch(&self.digest.id);
        prefetch(&self.local.last_seen_micros);
    }

    /// The kind of statements that it counts.
    pub fn kind(&self) -> usize {
        self.kind
    }

    /// The normalised text.
    pub fn text(&self) -> Option<&str> {
        self.digest.text.as_deref()
    }

    /// The number of the digest.
    pub fn digest_id(&self) -> u64 {
        self.digest.id
    }

    /// Whether the digest has been forgotten, or what the session counts has begun anew, so that another meter is needed.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.digest.forgotten.load(Ordering::Relaxed) || self.local.is_retired.load(Ordering::Relaxed)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.kinds.end(self.kind, &self.local);
        if let Some(instance) = &self.instance {
            instance.end(&self.local);
        }
        let mut inner = self.digest.inner.lock();
        inner.meters.end(&self.local);
        self.local.add_up(&mut inner.histogram);
        let last_seen = self.local.last_seen_micros.load(Ordering::Relaxed);
        inner.last_seen_micros = inner.last_seen_micros.max(last_seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(nanos: u64) -> Figures {
        Figures {
            nanos,
            sent: 1,
            ..Figures::default()
        }
    }

    fn meter(digests: &Digests, text: &str) -> Meter {
        digests.meter((&Arc::default(), 0), Some("d"), text, text.to_owned())
    }

    #[test]
    fn a_prepared_statement_has_what_its_meters_and_nobody_counted() {
        let digests = Digests::new(10);
        let instance = Arc::new(Instance::new(1, None, Arc::from(&b"a"[..]), (1, 0)));
        let one = meter(&digests, "a").of_instance(&instance);
        one.add(&figures(20_000), 1, b"");
        digests.forget();
        assert!(one.is_stale());
        let other = meter(&digests, "a").of_instance(&instance);
        drop(one);
        other.add(&figures(30_000), 2, b"");
        instance.executed(&figures(10_000));
        let totals = instance.totals();
        assert_eq!((totals.count, totals.sent, totals.nanos), (3, 3, 60_000));
        assert_eq!((totals.least_nanos(), totals.most_nanos), (10_000, 30_000));
        assert_eq!(digests.all()[0].totals.count, 1);
    }

    #[test]
    fn what_meters_that_are_gone_have_counted_stays() {
        let digests = Digests::new(10);
        let kept = meter(&digests, "a");
        for n in 0..100 {
            kept.add(&figures(20_000), n, b"long");
            meter(&digests, "a").add(&figures(30_000 + n as u64), n, b"longer");
        }
        let [summary] = &digests.all()[..] else {
            panic!("one digest");
        };
        assert_eq!((summary.totals.count, summary.totals.sent), (200, 200));
        assert_eq!(summary.histogram.count(), 200);
        assert_eq!((summary.first_seen_micros, summary.last_seen_micros), (0, 99));
        assert_eq!(summary.sample.as_ref().map(|sample| sample.nanos), Some(30_099));
        assert_eq!(digests.histogram(), summary.histogram);
        assert_eq!(kept.digest.inner.lock().meters.meters().count(), 1);
    }

    #[test]
    fn what_finds_no_room_is_counted_together() {
        let digests = Digests::new(3);
        let meters: Vec<Meter> = (0..100).map(|n| meter(&digests, &n.to_string())).collect();
        meters.iter().for_each(|meter| meter.add(&figures(1), 1, b""));
        let all = digests.all();
        assert_eq!(all.len(), 4);
        let others = all.iter().find(|summary| summary.digest.text.is_none()).unwrap();
        assert_eq!(others.totals.count, 97);
        assert_eq!((&others.digest.schema, &others.digest.hash), (&None, &None));
        assert_eq!(digests.top(1, Order::Count)[0].totals.count, 97);
    }

    #[test]
    fn what_is_forgotten_begins_anew() {
        let digests = Digests::new(3);
        let old = meter(&digests, "a");
        old.add(&figures(1), 1, b"");
        digests.forget();
        assert!(old.is_stale() && digests.all().is_empty());
        assert_eq!(digests.histogram().count(), 1);
        digests.forget_histogram();
        assert_eq!(digests.histogram().count(), 0);
        let new = meter(&digests, "a");
        new.add(&figures(1), 2, b"");
        drop(old);
        assert_eq!(digests.all()[0].totals.count, 1);
        assert_eq!(digests.histogram().count(), 1);
    }

    #[test]
    fn numbers_that_are_large_are_counted_in_full() {
        let digests = Digests::new(1);
        let one = meter(&digests, "a");
        let hour = 3_600_000_000_000;
        one.add(&figures(20_000), 1, b"");
        one.add(&figures(hour), 2, b"");
        for (at, examined) in [(3, 1 << 33), (4, 1 << 16), (5, (1 << 16) - 1)] {
            one.add(
                &Figures {
                    examined,
                    affected: 7,
                    ..figures(30_000)
                },
                at,
                b"",
            );
        }
        let summary = &digests.all()[0];
        let totals = &summary.totals;
        assert_eq!((totals.count, totals.nanos), (5, hour + 110_000));
        assert_eq!((totals.least_nanos(), totals.most_nanos), (20_000, hour));
        assert_eq!(
            (totals.examined, totals.sent, totals.affected),
            ((1 << 33) + (1 << 17) - 1, 5, 21)
        );
        assert_eq!(summary.histogram.count(), 5);
    }

    #[test]
    fn many_sessions_count_at_once() {
        const THREADS: u64 = 8;
        const EACH: u64 = 5_000;
        let digests = Digests::new(4);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let digests = &digests;
                scope.spawn(move || {
                    let mut own = meter(digests, "hot");
                    for n in 0..EACH {
                        if n % 701 == 0 {
                            own = meter(digests, "hot");
                        }
                        own.add(&figures(1_000 * (thread + n % 50)), n as i64, b"");
                    }
                });
            }
            let mut before = 0;
            for _ in 0..200 {
                for summary in digests.all() {
                    let totals = &summary.totals;
                    assert!(totals.count >= before && totals.count <= THREADS * EACH);
                    // Each sends a row, and is added with it.
                    assert_eq!(totals.sent, totals.count);
                    assert!(
                        summary.histogram.count() >= before && summary.histogram.count() <= THREADS * EACH
                    );
                    before = totals.count;
                }
            }
        });
        let summary = &digests.all()[0];
        assert_eq!(summary.totals.count, THREADS * EACH);
        assert_eq!(summary.totals.sent, THREADS * EACH);
        assert_eq!(summary.histogram.count(), THREADS * EACH);
    }
}
