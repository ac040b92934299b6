//! CREATE and DROP ROLE, GRANT and REVOKE of roles, SET ROLE and SET DEFAULT ROLE.
//!
//! Like other statements on accounts they change copies and store them all at once. SET ROLE changes the session alone.

use super::accounts::{
    apply, failed, is_taken, named, note_existing, note_missing, quoted, require_system_user,
};
use crate::accounts::roles::{is_mandatory, not_granted, unknown};
use crate::accounts::{Account, AuthId, Privileges};
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{RoleChoice, RoleGrant, UserName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long a user's name may be, in characters.
const USER_CHARS_MAX: usize = 32;

fn id(name: &UserName) -> AuthId {
    AuthId::new(&name.user, &name.host)
}

fn id_of(state: &SessionState, name: &UserName) -> AuthId {
    let (user, host) = named(state, name);
    AuthId::new(user, host)
}

/// CREATE ROLE: a locked account without a password.
pub(super) fn create(state: &SessionState, roles: &[UserName], if_not_exists: bool) -> Result<()> {
    state.require_global(
        Privileges::CREATE_USER.union(Privileges::CREATE_ROLE),
        "CREATE USER, CREATE ROLE",
    )?;
    let mut put: Vec<Account> = Vec::new();
    let mut existing = Vec::new();
    for name in roles {
        let (user, host) = (&name.user, &name.host);
        if user.is_empty() {
            return Err(SqlError::new(
                er::CREATE_USER_FAILED,
                "Operation CREATE ROLE failed for anonymous user",
            ));
        }
        if user.chars().count() > USER_CHARS_MAX {
            return Err(SqlError::new(
                er::WRONG_STRING_LENGTH,
                format!(
                    "String '{user}' is too long for user name (should be no longer than {USER_CHARS_MAX})"
                ),
            ));
        }
        let is_new = |new: &Account| new.auth.user == *user && new.auth.host == *host;
        if put.iter().any(is_new) || is_taken(state, (user, host)) {
            existing.push(quoted((user, host)));
            continue;
        }
        let mut role = Account::new(user, host);
        role.auth.locked = true;
        role.auth.expired = true;
        put.push(role);
    }
    note_existing(state, "CREATE ROLE", &existing, if_not_exists)?;
    apply(state, put, Vec::new())
}

/// DROP ROLE: without CREATE USER, only locked accounts can be dropped.
pub(super) fn drop(state: &SessionState, roles: &[UserName], if_exists: bool) -> Result<()> {
    state.require_global(
        Privileges::CREATE_USER.union(Privileges::DROP_ROLE),
        "CREATE USER, DROP ROLE",
    )?;
    let accounts = &state.database.accounts;
    let mut gone = Vec::new();
    let mut missing = Vec::new();
    for name in roles {
        let id = id(name);
        refuse_mandatory(state, &id)?;
        match accounts.role(&id) {
            Some(account) => {
                require_system_user(state, &account)?;
                if !account.auth.locked {
                    state.require_global(Privileges::CREATE_USER, "CREATE USER")?;
                }
                gone.push(account.id());
            }
            None => missing.push(quoted((&id.user, &id.host))),
        }
    }
    if !missing.is_empty() {
        if !if_exists {
            return Err(failed("DROP ROLE", &missing, " (User account does not exist)"));
        }
        note_missing(state, &missing);
    }
    accounts.remove(state.ddl()?, &gone)
}

/// Error 3628 if all accounts have the role.
pub(super) fn refuse_mandatory(state: &SessionState, id: &AuthId) -> Result<()> {
    match state.database.accounts.is_mandatory(id) {
        true => Err(is_mandatory(id)),
        false => Ok(()),
    }
}

/// Error 1227 unless the session may grant the role, and with it SYSTEM_USER if the role has that.
fn require_to_administer(state: &SessionState, role: &AuthId) -> Result<()> {
    if !state.rights().may_grant_role(role) {
        return Err(crate::accounts::privilege_missing(
            "WITH ADMIN, ROLE_ADMIN, SUPER",
        ));
    }
    match state.database.accounts.role(role) {
        Some(account) => require_system_user(state, &account),
        None => Ok(()),
    }
}

/// Copies of accounts that a statement changes, each once.
#[derive(Default)]
struct Changed(Vec<Account>);

impl Changed {
    fn of(&mut self, account: &Arc<Account>) -> &mut Account {
        let at = self.0.iter().position(|changed| changed.id() == account.id());
        let at = at.unwrap_or_else(|| {
            self.0.push(Account::clone(account));
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// True if `from` is the account `to`, or has it as a role, directly or not, with what has changed counted.
    fn leads(&self, state: &SessionState, from: &AuthId, to: &AuthId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(id) = open.pop() {
            if id == *to {
                return true;
            }
            if !seen.insert(id.clone()) {
                continue;
            }
            if let Some(changed) = self.0.iter().find(|changed| changed.id() == id) {
                open.extend(changed.roles.keys().cloned());
            } else if let Some(account) = state.database.accounts.role(&id) {
                open.extend(account.roles.keys().cloned());
            }
        }
        false
    }
}

/// GRANT of roles. Error 4027 if an account would have itself as a role.
pub(super) fn give(state: &SessionState, grant: &RoleGrant) -> Result<()> {
    for role in &grant.roles {
        require_to_administer(state, &id(role))?;
    }
    let mut changed = Changed::default();
    for user in &grant.users {
        let user = id_of(state, user);
        let account = state.database.accounts.role(&user);
        let account = account.ok_or_else(|| unknown(&user))?;
        require_system_user(state, &account)?;
        if user.user.is_empty() {
            return Err(SqlError::new(
                er::CANNOT_GRANT_ROLES_TO_ANONYMOUS_USER,
                "Cannot grant roles to an anonymous user.",
            ));
        }
        for role in &grant.roles {
            give_one(state, &mut changed, &account, &id(role), grant.admin_option)?;
        }
    }
    apply(state, changed.0, Vec::new())
}

fn give_one(
    state: &SessionState,
    changed: &mut Changed,
    account: &Arc<Account>,
    role: &AuthId,
    admin: bool,
) -> Result<()> {
    let user = account.id();
    if role.user.is_empty() {
        return Err(SqlError::new(
            er::FAILED_ROLE_GRANT,
            format!("Failed to grant {role}` to {user}"),
        ));
    }
    let role = state.database.accounts.role(role).ok_or_else(|| unknown(role))?;
    let role = role.id();
    if changed.leads(state, &role, &user) {
        return Err(SqlError::new(
            er::ROLE_GRANTED_TO_ITSELF,
            format!(
                "User account {user} is directly or indirectly granted to the role {role}. The GRANT would create a loop"
            ),
        ));
    }
    let held = changed.of(account).roles.entry(role).or_insert(false);
    *held |= admin;
    Ok(())
}

/// REVOKE of roles. What is not granted stays so without an error.
pub(super) fn take(state: &SessionState, revoke: &RoleGrant) -> Result<()> {
    for role in &revoke.roles {
        require_to_administer(state, &id(role))?;
    }
    let accounts = &state.database.accounts;
    let mut changed = Changed::default();
    for user in &revoke.users {
        let user = id_of(state, user);
        let Some(account) = accounts.role(&user) else {
            if !revoke.ignore_unknown_user {
                return Err(unknown(&user));
            }
            state.warnings.warn(SqlError::new(
                er::USER_DOES_NOT_EXIST,
                format!("Authorization ID {} does not exist.", user.user),
            ));
            continue;
        };
        require_system_user(state, &account)?;
        for role in &revoke.roles {
            let role = id(role);
            refuse_mandatory(state, &role)?;
            match accounts.role(&role) {
                Some(_) => {
                    let account = changed.of(&account);
                    account.roles.remove(&role);
                    account.default_roles.remove(&role);
                }
                None if revoke.if_exists => state.warnings.warn(unknown(&role)),
                None => return Err(unknown(&role)),
            }
        }
    }
    apply(state, changed.0, Vec::new())
}

/// The roles of CREATE USER … DEFAULT ROLE, that the new account is granted. Error 3162 for one that there is not.
pub(super) fn of_new_user(state: &SessionState, roles: &[UserName]) -> Result<Vec<AuthId>> {
    let mut found = Vec::new();
    for role in roles {
        let id = id(role);
        let account = state.database.accounts.role(&id).ok_or_else(|| {
            SqlError::new(
                er::USER_DOES_NOT_EXIST,
                format!("Authorization ID {id} does not exist."),
            )
        })?;
        require_to_administer(state, &id)?;
        found.push(account.id());
    }
    Ok(found)
}

/// The roles that a choice, as SET ROLE is given, means for an account with these granted.
pub(super) fn chosen(
    choice: &RoleChoice,
    account: &Account,
    granted: &BTreeMap<AuthId, bool>,
) -> BTreeSet<AuthId> {
    match choice {
        RoleChoice::None => BTreeSet::new(),
        RoleChoice::Default => account.default_roles.clone(),
        RoleChoice::List(roles) => roles.iter().map(id).collect(),
        RoleChoice::All { except } => {
            let except: BTreeSet<AuthId> = except.iter().map(id).collect();
            let left = granted.keys().filter(|role| !except.contains(*role));
            left.cloned().collect()
        }
    }
}

/// SET DEFAULT ROLE and ALTER USER … DEFAULT ROLE.
pub(super) fn set_default(state: &SessionState, choice: &RoleChoice, users: &[UserName]) -> Result<()> {
    let own = AuthId::new(&state.info.account.user, &state.info.account.host);
    for user in users {
        if let Some(account) = state.database.accounts.role(&id_of(state, user)) {
            require_system_user(state, &account)?;
        }
    }
    if users.iter().any(|user| id_of(state, user) != own) {
        state.require_global(Privileges::CREATE_USER, "CREATE USER")?;
    }
    let accounts = &state.database.accounts;
    let mut changed = Changed::default();
    for user in users {
        let user = id_of(state, user);
        let Some(account) = accounts.role(&user) else {
            match choice {
                RoleChoice::List(roles) if let Some(role) = roles.first() => {
                    return Err(not_granted(&id(role), &user));
                }
                RoleChoice::None => continue,
                _ => return Err(unknown(&user)),
            }
        };
        let granted = accounts.granted_roles(&account);
        let wanted: BTreeSet<AuthId> = match choice {
            RoleChoice::List(roles) => roles.iter().map(id).collect(),
            RoleChoice::All { .. } => granted.keys().cloned().collect(),
            RoleChoice::None | RoleChoice::Default => BTreeSet::new(),
        };
        if let Some(role) = wanted.iter().find(|role| !granted.contains_key(*role)) {
            return Err(not_granted(role, &user));
        }
        changed.of(&account).default_roles = wanted;
    }
    apply(state, changed.0, Vec::new())
}

/// SET ROLE.
pub fn choose(state: &SessionState, choice: &RoleChoice) -> Result<Answer> {
    match choice {
        RoleChoice::None => state.activate_roles(BTreeSet::new()),
        RoleChoice::Default => state.choose_default_roles(),
        RoleChoice::All { except } => state.choose_all_roles(&except.iter().map(id).collect()),
        RoleChoice::List(roles) => state.choose_roles(roles.iter().map(id).collect())?,
    }
    Ok(Answer::ok())
}
