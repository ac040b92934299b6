//! The holders of locks and their waiters, for people to read.
//!
//! The engine knows owners and encoded keys, the server knows sessions, their statements and what columns mean. Here the
//! two are put together: for `performance_schema.data_locks` and its kin (in `information_schema::locks`), and for the
//! text of `SHOW ENGINE INNODB STATUS` (`status`).
//!
//! A lock that is not granted is explained to whoever asked for it (`refused`).
//!
//! A deadlock is gone as soon as it is found, so what its sessions were running is noted at that moment ([`Deadlocks`]).

pub mod history;
pub mod memory;
pub mod refresh;
pub mod refused;
pub(crate) mod status;
pub mod waiting;
pub mod work;

use crate::context::{Database, Deadlock, Process, SessionSnapshot, error_log};
use crate::dictionary::TableDef;
use crate::types::{SqlType, TimeZone, TypeKind, Val};
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};
use tidemark_engine::{Datum, DeadlockInfo, IndexNo, LockInfo, LockPlace, TableId, TxnId};

/// Transactions that have not written are numbered from here, as in InnoDB.
const READERS_FROM: u64 = 1 << 48;

/// The number that stands for a transaction in everything shown.
pub fn transaction_id(owner: u64, txn: Option<TxnId>) -> u64 {
    txn.map_or(READERS_FROM + owner, |txn| txn.0)
}

/// A name for a lock: the same as long as it is the same lock, granted or not.
pub fn lock_id(lock: &LockInfo) -> String {
    let mut hasher = DefaultHasher::new();
    (&lock.place, lock.mode, lock.kind).hash(&mut hasher);
    let index = lock.index.map_or("-".to_owned(), |index| index.to_string());
    format!("{}:{}:{index}:{:016x}", lock.owner, lock.table.0, hasher.finish())
}

/// The sessions, by the number under which the engine knows their transactions.
pub fn sessions_by_owner(database: &Database) -> HashMap<u64, Arc<Process>> {
    let sessions = database.sessions.lock();
    sessions
        .values()
        .flat_map(|process| {
            process
                .owners()
                .into_iter()
                .map(|owner| (owner, Arc::clone(process)))
        })
        .collect()
}

/// Describes the engine's locks, which carry numbers and bytes, in names and values.
pub struct LockNames<'d> {
    database: &'d Database,
    tables: HashMap<TableId, Arc<TableDef>>,
    zone: &'d TimeZone,
}

impl<'d> LockNames<'d> {
    /// The tables of this moment. `zone` is the time zone in which timestamps are shown.
    pub fn new(database: &'d Database, zone: &'d TimeZone) -> LockNames<'d> {
        let dictionary = database.dictionary();
        let mut tables = HashMap::new();
        for schema in dictionary.schema_names() {
            tables.extend(dictionary.tables(&schema).into_iter().map(|def| (def.id, def)));
        }
        LockNames {
            database,
            tables,
            zone,
        }
    }

    /// Of these tables alone.
    pub fn of(
        database: &'d Database,
        zone: &'d TimeZone,
        tables: impl IntoIterator<Item = TableId>,
    ) -> LockNames<'d> {
        let mut names = LockNames {
            database,
            tables: HashMap::new(),
            zone,
        };
        for id in tables {
            if !names.tables.contains_key(&id)
                && let Some(def) = database.dictionary().table_by_id(id)
            {
                names.tables.insert(id, def);
            }
        }
        names
    }

    /// The table a lock lies in; `None` if it is gone.
    pub fn table(&self, lock: &LockInfo) -> Option<&Arc<TableDef>> {
        self.tables.get(&lock.table)
    }

    /// The name of the index a lock lies in; a table without a primary key has a hidden one.
    pub fn index(&self, lock: &LockInfo) -> Option<String> {
        let number = lock.index?;
        let def = self.table(lock)?;
        let named = def.index_by_number(number).map(|index| index.name.clone());
        Some(named.unwrap_or_else(|| "GEN_CLUST_INDEX".to_owned()))
    }

    /// The entry a lock lies on: the index's columns, then those of the primary key.
    pub fn data(&self, lock: &LockInfo) -> Option<String> {
        match &lock.place {
            LockPlace::Table => None,
            LockPlace::Supremum => Some("supremum pseudo-record".to_owned()),
            LockPlace::Key(key) | LockPlace::Range(key, _) => self.entry(lock.table, lock.index?, key),
        }
    }

    /// The table of a row, and the row's primary key.
    pub fn row(&self, table: TableId, key: &[u8]) -> Option<(&Arc<TableDef>, Option<String>)> {
        Some((self.tables.get(&table)?, self.entry(table, 0, key)))
    }

    fn entry(&self, table: TableId, index: IndexNo, key: &[u8]) -> Option<String> {
        let def = self.tables.get(&table)?;
        let table = self.database.engine().table(table).ok()?;
        let own = def.index_by_number(index).map_or(&[][..], |index| &index.parts);
        let primary = def
            .primary()
            .filter(|_| index != 0)
            .map_or(&[][..], |index| &index.parts);
        let parts: Vec<_> = own.iter().chain(primary).collect();
        let mut text = String::new();
        let shown = table.show_key(index, key, &mut |values| {
            for (at, value) in values.iter().enumerate() {
                let part = parts.get(at);
                // A column of the primary key that the index holds already is not named again.
                let again = |column| own.iter().any(|p| p.column == column && p.prefix.is_none());
                if at >= own.len() && part.is_some_and(|part| again(part.column)) {
                    continue;
                }
                if !text.is_empty() {
                    text.push_str(", ");
                }
                match part {
                    Some(part) => show_value(*value, &def.columns[part.column].ty, self.zone, &mut text),
                    None => show_row_id(*value, &mut text),
                }
            }
        });
        shown.is_ok_and(|there| there).then_some(text)
    }
}

/// Numbers as they are, text in quotes, bytes in hexadecimal digits; TEXT like BLOB, as InnoDB does.
fn show_value(value: Datum, ty: &SqlType, zone: &TimeZone, out: &mut String) {
    let done = match ty.load(value, zone) {
        Val::Null => write!(out, "NULL"),
        Val::Int(v) => write!(out, "{v}"),
        Val::UInt(v) | Val::Member(v, _) => write!(out, "{v}"),
        Val::Str(bytes) if ty.is_binary_string() || ty.is_blob_or_text() => {
            out.push_str("0x");
            bytes.iter().try_for_each(|byte| write!(out, "{byte:02X}"))
        }
        other => {
            let text = other.to_text();
            let text = String::from_utf8_lossy(&text).replace('\'', "''");
            // CHAR is stored padded to its length.
            let width = if ty.kind == TypeKind::Char { ty.length } else { 0 };
            write!(out, "'{text:<width$}'", width = width as usize)
        }
    };
    debug_assert!(done.is_ok(), "a String takes everything");
}

fn show_row_id(value: Datum, out: &mut String) {
    if let Datum::UInt(id) = value {
        let _ = write!(out, "0x{id:012X}");
    }
}

/// Has the engine tell the monitor of deadlocks and of history that grows too long, and tells the engine its bounds.
pub fn start(database: &Arc<Database>) {
    watch_deadlocks(database);
    history::watch(database);
    work::watch(database);
    history::apply(database);
    memory::apply(database);
}

/// Has the engine tell of every deadlock.
fn watch_deadlocks(database: &Arc<Database>) {
    let database_seen: Weak<Database> = Arc::downgrade(database);
    database
        .engine()
        .set_on_deadlock(Some(Arc::new(move |info: &DeadlockInfo| {
            if let Some(database) = database_seen.upgrade() {
                note_deadlock(&database, info);
            }
        })));
}

/// Called by the thread that found it, while all its members still wait.
fn note_deadlock(database: &Database, info: &DeadlockInfo) {
    let by_owner = sessions_by_owner(database);
    let seen = |owner: u64| by_owner.get(&owner).map(|process| SessionSnapshot::of(process));
    let deadlock = Arc::new(Deadlock {
        info: info.clone(),
        sessions: info.members.iter().map(|m| seen(m.transaction.owner)).collect(),
    });
    for member in info.members.iter().filter(|member| member.victim) {
        if let Some(process) = by_owner.get(&member.transaction.owner) {
            process.note_victim(&deadlock);
        }
    }
    database.deadlocks.note(Arc::clone(&deadlock));
    if database.deadlocks.prints_all() {
        let zone = TimeZone::system();
        let names = LockNames::new(database, &zone);
        log::info!(
            target: error_log::LINES,
            "transactions deadlock detected, dumping detailed information.\n{}",
            status::deadlock_text(&deadlock, &names)
        );
    }
}
