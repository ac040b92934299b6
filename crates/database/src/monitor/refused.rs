//! Why a lock was not granted: a note beside errors 1205 and 1213 in SHOW WARNINGS, and a line in the server's log, that name the lock
//! and the sessions in its way.
//!
//! ```text
//! Waited 50 s for X,REC_NOT_GAP on shop.orders PRIMARY (17). In the way: connection 12 of 'app'@'10.0.0.7' with
//! X,REC_NOT_GAP, in transaction 2049, open for 312 s, idle for 311 s after: UPDATE orders SET …
//! ```
//!
//! The note tells no more than its reader may see elsewhere: other users' statements want the PROCESS privilege, keys of rows want
//! that or SELECT on the table. The log has all of it, but at most a line in a second, as a hot row can end thousands of waits in one.

use super::{LockNames, transaction_id};
use crate::accounts::Privileges;
use crate::context::{Deadlock, Process, SessionSnapshot, SessionState};
use crate::error::er;
use crate::mdl::inspect::{Object, ShownWait};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tidemark_engine::{LockInfo, LockWaitInfo};

/// What was in the way of a lock that was not granted.
pub enum Refused {
    /// Of a row or a table, in the engine: its time ran out.
    Row(Vec<LockWaitInfo>),
    /// Of a definition: its time ran out, or the wait would have closed a cycle.
    Definition(Vec<ShownWait>),
    /// The transaction was rolled back to end this.
    Deadlock(Arc<Deadlock>),
}

/// So many characters of each statement are told.
const STATEMENT_MAX: usize = 100;
/// So many sessions in the way are told of.
const SESSIONS_MAX: usize = 3;

/// Writes the line in the log, and returns what the session's client may read of it; `None` if nothing is known.
pub fn explain(state: &SessionState, code: u16, refused: &Refused) -> Option<String> {
    if let Some(left_out) = state.database.deadlocks.may_log_refusal() {
        let own = state.info.connection_id;
        let text = Teller::new(state, refused, true).text(refused)?;
        let left_out = match left_out {
            0 => String::new(),
            n => format!(" ({n} other locks were not granted since the last such line)"),
        };
        let what = match code {
            er::LOCK_DEADLOCK => "is rolled back to end a deadlock",
            _ => "has waited for a lock too long",
        };
        log::info!("connection {own} {what}. {text}{left_out}");
    }
    Teller::new(state, refused, false).text(refused)
}

/// Tells of locks and sessions to one reader.
struct Teller<'s> {
    state: &'s SessionState,
    names: LockNames<'s>,
    /// The reader may see everything.
    everything: bool,
}

impl<'s> Teller<'s> {
    fn new(state: &'s SessionState, refused: &Refused, for_the_log: bool) -> Teller<'s> {
        let zone = &state.settings.time_zone;
        let tables: Vec<_> = match refused {
            Refused::Row(waits) => waits.iter().map(|wait| wait.waiting.table).collect(),
            Refused::Definition(_) => Vec::new(),
            Refused::Deadlock(deadlock) => {
                let members = deadlock.info.members.iter();
                members.map(|member| member.waits_for.table).collect()
            }
        };
        Teller {
            state,
            names: LockNames::of(&state.database, zone, tables),
            everything: for_the_log || state.has_global(Privileges::PROCESS),
        }
    }

    fn text(&self, refused: &Refused) -> Option<String> {
        match refused {
            Refused::Row(waits) => {
                let first = waits.first()?;
                let mut out = format!(
                    "Waited {} for {}",
                    seconds(first.waited),
                    self.lock(&first.waiting)
                );
                self.list(&mut out, waits, |out, wait| self.row_holder(out, &wait.blocking));
                Some(out)
            }
            Refused::Definition(waits) => {
                let wanted = &waits.first()?.waiting;
                let mut out = format!("Asked for {} on {}", wanted.kind, object(&wanted.object));
                self.list(&mut out, waits, |out, wait| {
                    let blocking = &wait.blocking;
                    let verb = if blocking.granted {
                        "with"
                    } else {
                        "which waits for"
                    };
                    let session = self.session(blocking.session);
                    self.holder(out, session.as_ref(), &format!("{verb} {}", blocking.kind), None);
                });
                Some(out)
            }
            Refused::Deadlock(deadlock) => Some(self.deadlock(deadlock)),
        }
    }

    /// What is in the way, the first of it in full.
    fn list<T>(&self, out: &mut String, waits: &[T], mut tell: impl FnMut(&mut String, &T)) {
        out.push_str(". In the way: ");
        for (n, wait) in waits.iter().take(SESSIONS_MAX).enumerate() {
            if n > 0 {
                out.push_str("; ");
            }
            tell(out, wait);
        }
        if waits.len() > SESSIONS_MAX {
            out.push_str("; and others");
        }
    }

    /// Each member, what it waited for, and who had that.
    fn deadlock(&self, deadlock: &Deadlock) -> String {
        let members = &deadlock.info.members;
        let mut out = String::new();
        for (n, (member, session)) in members.iter().zip(&deadlock.sessions).enumerate() {
            if n > 0 {
                out.push_str("; ");
            }
            if member.victim {
                out.push_str("This transaction");
            } else {
                let transaction = transaction_id(member.transaction.owner, member.transaction.txn);
                self.holder(
                    &mut out,
                    session.as_ref(),
                    "",
                    Some((transaction, member.transaction.started)),
                );
            }
            let holder = match &deadlock.sessions[(n + 1) % members.len()] {
                _ if members[(n + 1) % members.len()].victim => "this transaction has".to_owned(),
                Some(session) => format!("connection {} has", session.id),
                None => "another has".to_owned(),
            };
            let _ = write!(
                out,
                " waited for {}, which {holder}",
                self.lock(&member.waits_for)
            );
        }
        out
    }

    fn lock(&self, lock: &LockInfo) -> String {
        let mut out = lock.mode_text().to_owned();
        let Some(def) = self.names.table(lock) else {
            return out;
        };
        let _ = write!(out, " on {}.{}", def.schema, def.name);
        if let Some(index) = self.names.index(lock) {
            let _ = write!(out, " {index}");
        }
        let may_read = || {
            self.state
                .rights()
                .allow(Privileges::SELECT, &def.schema, &def.name)
        };
        if let Some(key) = self.names.data(lock).filter(|_| self.everything || may_read()) {
            let _ = write!(out, " ({})", shortened(&key));
        }
        out
    }

    fn row_holder(&self, out: &mut String, lock: &LockInfo) {
        let verb = if lock.granted {
            "with"
        } else {
            "which waits before it for"
        };
        let sessions = self.state.database.sessions.lock();
        let process = sessions
            .values()
            .find(|process| process.owners().contains(&lock.owner));
        let session = process.map(Arc::clone);
        drop(sessions);
        let transaction = self.state.database.engine().transaction_of(lock.owner);
        let transaction = transaction.map(|info| (transaction_id(info.owner, info.txn), info.started));
        let session = session.as_deref().map(SessionSnapshot::of);
        self.holder(
            out,
            session.as_ref(),
            &format!("{verb} {}", lock.mode_text()),
            transaction,
        );
    }

    fn session(&self, id: u64) -> Option<SessionSnapshot> {
        let process = self.state.database.sessions.lock().get(&id).cloned();
        process.as_deref().map(SessionSnapshot::of)
    }

    /// A session, what it has, since when its transaction is open, and what it does.
    fn holder(
        &self,
        out: &mut String,
        session: Option<&SessionSnapshot>,
        has: &str,
        transaction: Option<(u64, SystemTime)>,
    ) {
        let sees =
            |session: &&SessionSnapshot| self.everything || session.account == self.state.info.account.user;
        match session {
            None => out.push_str("a session that is gone"),
            Some(session) => {
                let _ = write!(out, "connection {}", session.id);
            }
        }
        let seen = session.filter(sees);
        if let Some(session) = seen {
            let host = session
                .host
                .rsplit_once(':')
                .map_or(&*session.host, |(host, _port)| host);
            let _ = write!(out, " of '{}'@'{host}'", session.user);
        }
        if !has.is_empty() {
            let _ = write!(out, " {has}");
        }
        if let Some((id, started)) = transaction {
            let open = started.elapsed().unwrap_or_default();
            let _ = write!(out, ", in transaction {id}, open for {}", seconds(open));
        }
        if let Some(session) = seen {
            self.doing(out, session);
        }
    }

    fn doing(&self, out: &mut String, session: &SessionSnapshot) {
        if let Some(text) = &session.statement {
            let _ = write!(out, ", running: {}", shortened(text));
            return;
        }
        let process = self.state.database.sessions.lock().get(&session.id).cloned();
        if let Some((idle, text)) = process.as_deref().and_then(last_statement) {
            let _ = write!(out, ", idle for {} after: {}", seconds(idle), shortened(&text));
        }
    }
}

/// How long a session has been idle, and what it did before.
fn last_statement(process: &Process) -> Option<(Duration, String)> {
    process.with_statements(|current| {
        let last = current.history.recent.last()?;
        let text = String::from_utf8_lossy(&last.text()).into_owned();
        Some((current.since.elapsed(), text))
    })
}

/// As whole seconds, or with a digit if it was not for long.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        s => format!("{s} s"),
    }
}

/// The beginning of a text, on one line.
fn shortened(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if let Some((end, _)) = words.char_indices().nth(STATEMENT_MAX) {
            words.truncate(end);
            words.push('…');
            break;
        }
    }
    words.replace(char::is_control, "?")
}

fn object(object: &Object) -> String {
    match object {
        Object::Global => "everything".to_owned(),
        Object::Backup => "LOCK INSTANCE FOR BACKUP".to_owned(),
        Object::Schema(name) => format!("database {name}"),
        Object::Table(schema, name) => format!("the definition of {schema}.{name}"),
        Object::Program(kind, schema, name) => {
            format!("the definition of {} {schema}.{name}", kind.word().to_lowercase())
        }
        Object::Named(name) => format!("GET_LOCK {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_one_line() {
        assert_eq!(shortened("SELECT\n\t1 \u{1b}[2J"), "SELECT 1 ?[2J");
        let long = shortened(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), STATEMENT_MAX + 1);
    }
}
