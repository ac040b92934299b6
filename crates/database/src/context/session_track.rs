//! What a client is told of its session's changes, in the OK packet of the statement that made them: of the current
//! database (`session_track_schema`), of the variables that `session_track_system_variables` lists, that something was
//! changed which another connection does not have (`session_track_state_change`), and of its transaction
//! ([`super::transaction_track`]). Rows end with an OK packet, too, if the client has announced that it knows that form
//! (CLIENT_DEPRECATE_EOF); else what has changed is told by the next statement without rows.
//!
//! Whether a change is told of is decided when it is made, by the settings of that moment; the value of a variable is the
//! one that it has when the packet is made. What is noted is a position of the registry per variable, so that it is
//! bounded however many statements pass until the next OK packet. For clients that have not asked
//! (CLIENT_SESSION_TRACK), nothing is noted.

use super::client::capability;
use super::state::SessionState;
use crate::variables::{DEFS, Setting, Values, find, is_tracked, listed_name, tracks_state};
use std::cell::RefCell;
use std::collections::BTreeMap;

const STATEMENT_ID: &str = "statement_id";

/// A change of the session that its client is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// A variable has been set, perhaps to what it was.
    Variable {
        /// Its name, as it is listed.
        name: String,
        /// Its value as SHOW VARIABLES has it, empty for NULL.
        value: String,
    },
    /// The current database has been chosen; empty if there is none any more.
    Schema(String),
    /// Something has changed that is the session's alone.
    State,
    /// The state of the transaction: eight letters.
    TransactionState(String),
    /// The statements that begin a transaction like the one at hand; empty if there is none.
    Characteristics(String),
}

/// What has changed since the last OK packet.
#[derive(Default)]
pub struct Changes {
    noted: RefCell<Option<Box<Noted>>>,
}

#[derive(Default)]
struct Noted {
    /// Positions of variables, by their names.
    variables: BTreeMap<&'static str, usize>,
    schema: bool,
    state: bool,
}

impl SessionState {
    fn note(&self, note: impl FnOnce(&mut Noted, &Values)) {
        if self.is_told_of_changes() {
            note(
                self.changes.noted.borrow_mut().get_or_insert_default(),
                &self.values,
            );
        }
    }

    /// The variable at a position of the registry has been set in this session.
    pub fn note_variable(&self, at: usize) {
        let name = DEFS[at].name;
        self.note(|noted, values| {
            if is_tracked(values, name) {
                noted.variables.insert(name, at);
            }
            noted.state |= tracks_state(values) && name != "session_track_state_change";
        });
    }

    /// Like [`SessionState::note_variable`], of several by their names.
    pub fn note_variables(&self, names: &[&str]) {
        for at in names.iter().filter_map(|name| find(name)) {
            self.note_variable(at);
        }
    }

    /// The current database has been chosen, or has been dropped.
    pub fn note_schema(&self) {
        self.note(|noted, values| noted.schema |= crate::variables::tracks_schema(values));
    }

    /// A user variable, a temporary table or a prepared statement has come, changed or gone.
    pub fn note_state(&self) {
        self.note(|noted, values| noted.state |= tracks_state(values));
    }

    /// What the next OK packet tells of; it is told once.
    #[inline]
    pub fn take_changes(&self) -> Vec<SessionChange> {
        let mut told = match self.changes.noted.take() {
            Some(noted) => self.told_changes(&noted),
            None => Vec::new(),
        };
        if self.settings.tells_each_statement {
            self.tell_transaction(&mut told);
        }
        told
    }

    /// The same for the packet that ends rows.
    #[inline]
    pub fn take_changes_with_rows(&self) -> Vec<SessionChange> {
        match self.info.capabilities & capability::DEPRECATE_EOF {
            0 => Vec::new(),
            _ => self.take_changes(),
        }
    }

    /// A statement begins: each has another `statement_id`.
    #[inline]
    pub fn note_statement(&self) {
        if self.settings.tells_each_statement {
            self.note_statement_id();
        }
    }

    #[cold]
    fn note_statement_id(&self) {
        let at = find(STATEMENT_ID).expect("the variable is in the registry");
        self.note(|noted, values| {
            if is_tracked(values, STATEMENT_ID) {
                noted.variables.insert(STATEMENT_ID, at);
            }
        });
    }

    #[cold]
    fn told_changes(&self, noted: &Noted) -> Vec<SessionChange> {
        let value = |at| match self.variable_setting(at, false) {
            Setting::Null => String::new(),
            setting => setting.to_string(),
        };
        let variables = noted
            .variables
            .iter()
            .map(|(&name, &at)| SessionChange::Variable {
                name: listed_name(&self.values, name),
                value: value(at),
            });
        let schema = noted
            .schema
            .then(|| SessionChange::Schema(self.schema.clone().unwrap_or_default()));
        let state = noted.state.then_some(SessionChange::State);
        variables.chain(schema).chain(state).collect()
    }
}
