//! What stops a statement before it begins, whatever it is about: the server is read-only, the account has used up its
//! hour. Nearly always none of it is so, which two loads tell.

use super::Session;
use crate::context::SessionState;
use crate::ddl::temporary::is_of_temporary;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{Class, Statement, StatementKind};

/// What a statement does that could be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It locks as one that changes something does, but changes nothing.
    Locks,
    Changes,
    /// It changes temporary tables, which may be changed while the server is read-only.
    ChangesTemporary,
}

/// What the session's account is bound by, as of a version of the accounts.
#[derive(Default)]
pub(super) struct Guard {
    accounts_at: u64,
    /// The account may run only so many statements in an hour.
    counts: bool,
}

impl Session {
    /// Errors 1290 and 1226.
    #[inline]
    pub(super) fn admit(&mut self, effect: Effect) -> Result<()> {
        let database = &self.state.database;
        if self.guard.accounts_at == database.accounts.version()
            && !self.guard.counts
            && (matches!(effect, Effect::Nothing | Effect::ChangesTemporary) || database.modes.are_off())
        {
            return Ok(());
        }
        self.examine(effect)
    }

    /// Error 1820 until the password has been changed, if it has expired.
    #[inline]
    pub(super) fn require_fresh_password(&self) -> Result<()> {
        match self.state.info.password_expired {
            false => Ok(()),
            true => Err(SqlError::new(
                er::MUST_CHANGE_PASSWORD,
                "You must reset your password using ALTER USER statement before executing this statement.",
            )),
        }
    }

    #[cold]
    fn examine(&mut self, effect: Effect) -> Result<()> {
        let accounts_at = self.state.database.accounts.version();
        let account = self.state.account();
        self.guard = Guard {
            accounts_at,
            counts: account.limits.queries > 0 || account.limits.updates > 0,
        };
        let changes = matches!(effect, Effect::Changes | Effect::ChangesTemporary);
        // Statements of a program are counted with the one that calls it.
        if !self.is_in_program() {
            self.seat.statement(&account, changes)?;
        }
        match effect {
            Effect::Nothing | Effect::ChangesTemporary => Ok(()),
            Effect::Locks | Effect::Changes => self.state.refuse_read_only(),
        }
    }
}

/// What a statement that is not planned does.
pub(super) fn effect_of(state: &SessionState, statement: &Statement) -> Effect {
    match statement.facts().class {
        Class::Definitions if is_of_temporary(state, statement) => Effect::ChangesTemporary,
        Class::Definitions if statement.kind() == StatementKind::Check => Effect::Nothing,
        Class::Definitions | Class::Accounts => Effect::Changes,
        Class::Planned | Class::Other => match statement {
            Statement::LockTables(tables) if tables.iter().any(|lock| lock.write) => Effect::Locks,
            Statement::Begin(options) if options.read_only == Some(false) => Effect::Locks,
            _ => Effect::Nothing,
        },
    }
}
