//! What statements did, as `performance_schema` shows it: `events_statements_summary_…`, `events_statements_histogram_…`, `users`,
//! `hosts` and `accounts`. Times are picoseconds, as there.
//!
//! Processor time and memory of single statements are not measured and are 0, as they are in MySQL until it is asked for them.

use crate::context::SessionState;
use crate::context::command::event_name;
use crate::error::Result;
use crate::statements::accounts::{AccountSums, ByKind};
use crate::statements::histogram::{BUCKETS, Histogram, bounds_of};
use crate::statements::{DigestSummary, Rare, Totals};
use crate::types::Value;
use std::collections::BTreeMap;

type Made = Result<Vec<Vec<Value>>>;

pub(super) fn picos(nanos: u64) -> Value {
    Value::UInt(nanos.saturating_mul(1000))
}

pub(super) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::string)
}

/// A moment in microseconds since 1970 UTC.
pub(super) fn moment(state: &SessionState, micros: i64) -> Value {
    Value::DateTime(state.settings.time_zone.local(micros, 6))
}

/// The columns from COUNT_STAR on.
pub(super) fn sums(totals: &Totals) -> Vec<Value> {
    let mut row = vec![
        Value::UInt(totals.count),
        picos(totals.nanos),
        picos(totals.least_nanos()),
        picos(totals.average_nanos()),
        picos(totals.most_nanos),
        picos(totals.lock_nanos),
        Value::UInt(totals.errors),
        Value::UInt(totals.warnings),
        Value::UInt(totals.affected),
        Value::UInt(totals.sent),
        Value::UInt(totals.examined),
    ];
    row.extend(rare_columns(|rare| totals.rare(rare)));
    row.extend([0; 4].map(Value::UInt));
    row
}

/// The columns from CREATED_TMP_DISK_TABLES to NO_GOOD_INDEX_USED, of a statement or of several.
pub(super) fn rare_columns(of: impl Fn(Rare) -> u64) -> [Value; 13] {
    [
        of(Rare::CreatedTmpDiskTables),
        of(Rare::CreatedTmpTables),
        of(Rare::SelectFullJoin),
        of(Rare::SelectFullRangeJoin),
        of(Rare::SelectRange),
        0,
        of(Rare::SelectScan),
        of(Rare::SortMergePasses),
        of(Rare::SortRange),
        of(Rare::SortRows),
        of(Rare::SortScan),
        of(Rare::NoIndexUsed),
        0,
    ]
    .map(Value::UInt)
}

/// All digests, in the order in which they came.
fn digests(state: &SessionState) -> Vec<DigestSummary> {
    let mut digests = state.database.digests.all();
    digests.sort_by_key(|summary| summary.digest.id);
    digests
}

pub fn by_digest(state: &SessionState) -> Made {
    let row = |summary: DigestSummary| {
        let digest = &summary.digest;
        let mut row = vec![
            optional(digest.schema.as_deref()),
            optional(digest.hash.as_deref()),
            optional(digest.text.as_deref()),
        ];
        row.extend(sums(&summary.totals));
        row.push(moment(state, summary.first_seen_micros));
        row.push(moment(state, summary.last_seen_micros));
        let quantiles = [0.95, 0.99, 0.999];
        row.extend(quantiles.map(|share| Value::UInt(summary.histogram.quantile_picos(share))));
        match &summary.sample {
            Some(sample) => row.extend([
                Value::string(sample.text.as_str()),
                moment(state, sample.seen_micros),
                picos(sample.nanos),
            ]),
            None => row.extend([Value::Null, moment(state, 0), Value::UInt(0)]),
        }
        row
    };
    Ok(digests(state).into_iter().map(row).collect())
}

/// The columns from BUCKET_NUMBER on, of each bucket.
fn buckets(histogram: &Histogram) -> impl Iterator<Item = (u64, [Value; 6])> {
    let count = histogram.count();
    let mut lower = 0;
    (0..BUCKETS).map(move |bucket| {
        let (low, high) = bounds_of(bucket);
        let here = histogram.of(bucket);
        lower += here;
        let share = if count == 0 {
            0.0
        } else {
            lower as f64 / count as f64
        };
        let numbers = [bucket as u64, low, high, here, lower].map(Value::UInt);
        let [bucket, low, high, counted, below] = numbers;
        let share = Value::Double((share * 1e6).round() / 1e6);
        (here, [bucket, low, high, counted, below, share])
    })
}

/// Buckets without statements are left out: with all of them, ten thousand digests would be some million rows.
pub fn histogram_by_digest(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for summary in digests(state) {
        let digest = &summary.digest;
        for (_, bucket) in buckets(&summary.histogram).filter(|(here, _)| *here > 0) {
            let mut row = vec![
                optional(digest.schema.as_deref()),
                optional(digest.hash.as_deref()),
            ];
            row.extend(bucket);
            rows.push(row);
        }
    }
    Ok(rows)
}

pub fn histogram(state: &SessionState) -> Made {
    let histogram = state.database.digests.histogram();
    Ok(buckets(&histogram).map(|(_, bucket)| bucket.to_vec()).collect())
}

/// A row for each kind, behind what the rows begin with.
fn of_kinds(rows: &mut Vec<Vec<Value>>, first: &[Value], kinds: &ByKind) {
    for (kind, totals) in kinds {
        let mut row = first.to_vec();
        row.push(Value::string(event_name(*kind)));
        row.extend(sums(totals));
        rows.push(row);
    }
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        of_kinds(&mut rows, &[Value::UInt(process.id)], &process.kinds.totals());
    }
    Ok(rows)
}

/// What is known of users and hosts, put together by what a key makes of them; with what open sessions did.
fn by<K: Ord>(
    state: &SessionState,
    key: impl Fn(Option<&(String, String)>) -> K,
) -> BTreeMap<K, AccountSums> {
    let sessions = state.database.sessions.lock();
    let mut found = BTreeMap::<K, AccountSums>::new();
    for (account, sums) in state.database.statement_accounts.all() {
        found.entry(key(account.as_ref())).or_default().add(&sums);
    }
    for process in sessions.values() {
        let account = process.counted_as.lock().clone();
        process.add_to(found.entry(key(account.as_ref())).or_default());
    }
    found
}

/// All of it together.
pub(super) fn of_all(state: &SessionState) -> AccountSums {
    by(state, |_| ()).into_values().next().unwrap_or_default()
}

/// The rows of one key: what they begin with, and the sums.
type PutRows = fn(&mut Vec<Vec<Value>>, Vec<Value>, &AccountSums);

/// Rows that begin with USER and HOST.
pub(super) fn for_accounts(state: &SessionState, put: PutRows) -> Made {
    let mut rows = Vec::new();
    for ((user, host), sums) in by(state, both) {
        let first = vec![optional(user.as_deref()), optional(host.as_deref())];
        put(&mut rows, first, &sums);
    }
    Ok(rows)
}

/// Rows that begin with USER.
pub(super) fn for_users(state: &SessionState, put: PutRows) -> Made {
    let mut rows = Vec::new();
    for (user, sums) in by(state, user) {
        put(&mut rows, vec![optional(user.as_deref())], &sums);
    }
    Ok(rows)
}

/// Rows that begin with HOST.
pub(super) fn for_hosts(state: &SessionState, put: PutRows) -> Made {
    let mut rows = Vec::new();
    for (host, sums) in by(state, host) {
        put(&mut rows, vec![optional(host.as_deref())], &sums);
    }
    Ok(rows)
}

pub(super) fn put(rows: &mut Vec<Vec<Value>>, first: Vec<Value>, sums: &AccountSums) {
    of_kinds(rows, &first, &sums.before);
}

pub fn by_event_name(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    of_kinds(&mut rows, &[], &of_all(state).before);
    Ok(rows)
}

fn user(account: Option<&(String, String)>) -> Option<String> {
    account.map(|(user, _)| user.clone())
}

fn host(account: Option<&(String, String)>) -> Option<String> {
    account.map(|(_, host)| host.clone())
}

fn both(account: Option<&(String, String)>) -> (Option<String>, Option<String>) {
    (user(account), host(account))
}

fn connections(sums: &AccountSums) -> [Value; 4] {
    [
        Value::Int(sums.connected as i64),
        Value::Int(sums.connections as i64),
        Value::UInt(0),
        Value::UInt(0),
    ]
}

pub fn accounts(state: &SessionState) -> Made {
    let row = |((user, host), sums): ((Option<String>, Option<String>), AccountSums)| {
        let mut row = vec![optional(user.as_deref()), optional(host.as_deref())];
        row.extend(connections(&sums));
        row
    };
    Ok(by(state, both).into_iter().map(row).collect())
}

fn of_one(found: BTreeMap<Option<String>, AccountSums>) -> Vec<Vec<Value>> {
    let row = |(name, sums): (Option<String>, AccountSums)| {
        let mut row = vec![optional(name.as_deref())];
        row.extend(connections(&sums));
        row
    };
    found.into_iter().map(row).collect()
}

pub fn users(state: &SessionState) -> Made {
    Ok(of_one(by(state, user)))
}

pub fn hosts(state: &SessionState) -> Made {
    Ok(of_one(by(state, host)))
}
