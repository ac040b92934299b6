//! What can be seen of metadata locks: their holders, their waiters, and which holder each waits for, in MySQL's words. For
//! `performance_schema.metadata_locks`, `sys.schema_table_lock_waits` and the states of the process list.
//!
//! Looking stops only sessions that begin or end a wait, so a lock that is just being taken or given up may be shown or not.

use super::{Block, Holder, Locks, MdlRequest, Mode, Namespace, State, TableLock};
use crate::parse::ast::ProgramKind;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// What a lock is on. That of a database is on its existence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    Global,
    /// LOCK INSTANCE FOR BACKUP and the changes that it holds off.
    Backup,
    Schema(String),
    Table(String, String),
    Program(ProgramKind, String, String),
    /// By an application's name for it.
    Named(String),
}

/// A lock that is held or waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    pub object: Object,
    pub session: u64,
    pub kind: &'static str,
    pub duration: &'static str,
    pub granted: bool,
}

/// A wait, and one of the locks that it waits for.
pub struct ShownWait {
    pub waiting: Shown,
    pub blocking: Shown,
}

fn show(lock: &TableLock, want: MdlRequest, session: u64, granted: bool) -> Shown {
    let (schema, name) = (lock.key.schema.clone(), lock.key.name.clone());
    let object = match lock.key.namespace {
        Namespace::Global => Object::Global,
        Namespace::Backup => Object::Backup,
        Namespace::Schema => Object::Schema(schema),
        Namespace::Table => Object::Table(schema, name),
        Namespace::Program(kind) => Object::Program(kind, schema, name),
        Namespace::Application => Object::Named(name),
    };
    let kind = match (&object, want) {
        (Object::Table(..), MdlRequest::Use(Mode::Read)) => "SHARED_READ",
        (Object::Table(..), MdlRequest::Use(Mode::Write)) => "SHARED_WRITE",
        (Object::Table(..), MdlRequest::Own(Block::Writers)) => "SHARED_READ_ONLY",
        (Object::Table(..), MdlRequest::Own(Block::Users)) => "SHARED_NO_READ_WRITE",
        (Object::Table(..), MdlRequest::Own(Block::Owners)) => "SHARED_UPGRADABLE",
        (Object::Program(..), MdlRequest::Use(_)) => "SHARED",
        (_, MdlRequest::Use(_)) => "INTENTION_EXCLUSIVE",
        (_, MdlRequest::Own(Block::Writers)) => "SHARED",
        (_, MdlRequest::Own(_)) => "EXCLUSIVE",
    };
    let duration = match (&object, want) {
        (Object::Global, MdlRequest::Use(_)) => "STATEMENT",
        (Object::Global | Object::Backup, MdlRequest::Own(_)) | (Object::Named(_), _) => "EXPLICIT",
        _ => "TRANSACTION",
    };
    Shown {
        object,
        session,
        kind,
        duration,
        granted,
    }
}

impl Holder {
    /// What it holds, of one lock or of all.
    fn show(&self, of: Option<&Arc<TableLock>>) -> Vec<Shown> {
        let wanted = |lock: &Arc<TableLock>| of.is_none_or(|of| Arc::ptr_eq(of, lock));
        let used = self.used.lock();
        let shown = used.iter().filter(|(lock, _)| wanted(lock));
        let mut shown: Vec<_> = shown
            .map(|(lock, mode)| show(lock, MdlRequest::Use(*mode), self.session, true))
            .collect();
        drop(used);
        let owned = self.owned.lock();
        let owned = owned.iter().filter(|(lock, _)| wanted(lock));
        shown.extend(owned.map(|(lock, block)| show(lock, MdlRequest::Own(*block), self.session, true)));
        shown
    }
}

/// Of the locks in the way of a request that failed so many are kept.
const REFUSED_BY_MAX: usize = 8;

impl State {
    /// A wait, with each lock that it waits for.
    fn show_wait(&self, session: u64, lock: &Arc<TableLock>, want: MdlRequest, waits: &mut Vec<ShownWait>) {
        let waiting = show(lock, want, session, false);
        let mut blockers = Vec::new();
        self.blockers(session, lock, want, &mut blockers);
        blockers.sort_unstable();
        blockers.dedup();
        for holder in self.sessions.iter().filter_map(Weak::upgrade) {
            if blockers.binary_search(&holder.session).is_err() {
                continue;
            }
            let mut theirs = holder.show(Some(lock));
            if let Some((asked, want)) = self.waits.get(&holder.session)
                && Arc::ptr_eq(asked, lock)
            {
                theirs.push(show(lock, *want, holder.session, false));
            }
            waits.extend(theirs.into_iter().map(|blocking| ShownWait {
                waiting: waiting.clone(),
                blocking,
            }));
        }
    }
}

impl Holder {
    /// Notes what is in the way of a request that is about to fail. The caller has the common mutex.
    #[cold]
    pub(super) fn note_refused(&self, state: &State, lock: &Arc<TableLock>, want: MdlRequest) {
        let mut waits = Vec::new();
        state.show_wait(self.session, lock, want, &mut waits);
        waits.truncate(REFUSED_BY_MAX);
        *self.refused.lock() = waits;
    }

    /// What was in the way of the latest request that ran out of time or would have closed a cycle. Each is told once.
    pub fn take_refused(&self) -> Vec<ShownWait> {
        std::mem::take(&mut *self.refused.lock())
    }
}

impl Locks {
    /// Every lock, held or waited for.
    pub fn show(&self) -> Vec<Shown> {
        let state = self.state.lock();
        let holders = state.sessions.iter().filter_map(Weak::upgrade);
        let mut shown: Vec<_> = holders.flat_map(|holder| holder.show(None)).collect();
        let waits = state.waits.iter();
        shown.extend(waits.map(|(session, (lock, want))| show(lock, *want, *session, false)));
        shown.sort_unstable();
        shown
    }

    /// Every wait, with each lock it waits for; one that is itself waited for comes first to those behind it, and is shown
    /// as what it is.
    pub fn show_waits(&self) -> Vec<ShownWait> {
        self.show_some_waits(usize::MAX)
    }

    /// The same, of not more than `most` sessions.
    pub fn show_some_waits(&self, most: usize) -> Vec<ShownWait> {
        let state = self.state.lock();
        let mut waits = Vec::new();
        for (session, (lock, want)) in state.waits.iter().take(most) {
            state.show_wait(*session, lock, *want, &mut waits);
        }
        waits.sort_unstable_by(|a, b| (&a.waiting, &a.blocking).cmp(&(&b.waiting, &b.blocking)));
        waits
    }

    /// What the process list says of the sessions that wait.
    pub fn waiting_states(&self) -> HashMap<u64, &'static str> {
        let state = self.state.lock();
        let text = |lock: &TableLock| match lock.key.namespace {
            Namespace::Global => "Waiting for global read lock",
            Namespace::Backup => "Waiting for backup lock",
            Namespace::Schema => "Waiting for schema metadata lock",
            Namespace::Table => "Waiting for table metadata lock",
            Namespace::Program(ProgramKind::Procedure) => "Waiting for stored procedure metadata lock",
            Namespace::Program(ProgramKind::Function) => "Waiting for stored function metadata lock",
            Namespace::Program(ProgramKind::Trigger) => "Waiting for trigger metadata lock",
            Namespace::Program(ProgramKind::Event) => "Waiting for event metadata lock",
            Namespace::Application => "User lock",
        };
        let waits = state.waits.iter();
        waits.map(|(session, (lock, _))| (*session, text(lock))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::policy;
    use super::*;
    use std::thread;

    #[test]
    fn who_holds_and_who_waits() {
        let locks = Arc::new(Locks::default());
        let t = locks.table("test", "t");
        let (reader, ddl, late) = (locks.holder(1), locks.holder(2), locks.holder(3));
        reader.use_table(&t, Mode::Read, &policy(20_000)).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| ddl.own(&t, Block::Definition, &policy(20_000)).unwrap());
            while locks.waiting_states().is_empty() {
                thread::yield_now();
            }
            scope.spawn(|| {
                late.use_table(&t, Mode::Write, &policy(20_000)).unwrap();
                late.release_used();
            });
            while locks.waiting_states().len() < 2 {
                thread::yield_now();
            }
            let shown = locks.show();
            let seen = |shown: &Shown| (shown.session, shown.kind, shown.granted);
            let seen_all: Vec<_> = shown.iter().map(seen).collect();
            assert_eq!(
                seen_all,
                [
                    (1, "SHARED_READ", true),
                    (2, "EXCLUSIVE", false),
                    (3, "SHARED_WRITE", false)
                ]
            );
            let waits = locks.show_waits();
            let pairs: Vec<_> = waits
                .iter()
                .map(|wait| (seen(&wait.waiting), seen(&wait.blocking)))
                .collect();
            assert_eq!(
                pairs,
                [
                    ((2, "EXCLUSIVE", false), (1, "SHARED_READ", true)),
                    ((3, "SHARED_WRITE", false), (2, "EXCLUSIVE", false))
                ]
            );
            reader.release_used();
            while !locks
                .show()
                .iter()
                .any(|lock| seen(lock) == (2, "EXCLUSIVE", true))
            {
                thread::yield_now();
            }
            ddl.release_all();
        });
        assert_eq!(locks.show(), []);
    }
}
