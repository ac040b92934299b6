//! Passwords and options of accounts, as CREATE USER, ALTER USER and SET PASSWORD change them.
//!
//! Changing another account's password needs CREATE USER. Changing one's own needs no privilege, but the present password, given
//! with REPLACE, where the account's rules or the server's demand it.
//!
//! To hash a password takes milliseconds, and an account may have many former ones. All of that is done before the right to change
//! accounts is taken; whoever has that finds it done, unless the account was changed in between.

use super::accounts::{apply, failed, named, require_create_user, require_system_user};
use crate::accounts::{self, Account, AuthId, AuthPlugin, DefaultRules, Privileges, now_s, password};
use crate::context::SessionState;
use crate::context::answer::{Answer, ResultRows, bigint, text};
use crate::error::interrupt::Steps;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{
    AccountOptions, AttributeChange, AuthSecret, SecretChange, Statement, UserAuth, UserName,
};
use crate::types::Value;
use crate::types::json::{Json, JsonError};
use crate::variables::find;
use std::collections::HashMap;

/// `password_history` and `password_reuse_interval`.
fn default_rules(state: &SessionState) -> DefaultRules {
    let variable = |name| state.database.variable_u64(name) as u32;
    DefaultRules {
        history: variable("password_history"),
        reuse_days: variable("password_reuse_interval"),
    }
}

fn is_own(state: &SessionState, account: &Account) -> bool {
    let own = &state.info.account;
    (&own.user, &own.host) == (&account.auth.user, &account.auth.host)
}

/// A stored password, and one that was given.
type Compared = (Vec<u8>, Vec<u8>);

/// What a statement has found out about passwords, and those that it has made.
#[derive(Default)]
pub(super) struct Generated {
    /// Whose, and what.
    made: Vec<(AuthId, String)>,
    compared: HashMap<Compared, bool>,
    /// New passwords of accounts, and how they are stored.
    hashed: HashMap<AuthId, Compared>,
}

impl Generated {
    /// Compares and hashes what a statement will want. Fails if the statement is killed meanwhile.
    pub(super) fn prepared(state: &SessionState, statement: &Statement) -> Result<Generated> {
        let mut generated = Generated::default();
        match statement {
            Statement::CreateUser { users, .. } | Statement::AlterUser { users, .. } => {
                for spec in users {
                    if let Some(auth) = &spec.auth {
                        generated.prepare(state, named(state, &spec.name), auth)?;
                    }
                }
            }
            Statement::SetPassword { user, secret, change } => {
                let auth = UserAuth {
                    plugin: None,
                    secret: secret.clone(),
                    change: change.clone(),
                };
                let own = &state.info.account;
                let name = user.as_ref().map(|user| named(state, user));
                generated.prepare(state, name.unwrap_or((&own.user, &own.host)), &auth)?;
            }
            _ => {}
        }
        Ok(generated)
    }

    fn prepare(&mut self, state: &SessionState, name: (&str, &str), auth: &UserAuth) -> Result<()> {
        let own = name == (&*state.info.account.user, &*state.info.account.host);
        if !own && !state.has_global(Privileges::CREATE_USER) {
            return Ok(());
        }
        let account = state.database.accounts.get(name.0, name.1);
        if let (Some(account), Some(current)) = (&account, &auth.change.current) {
            self.is_of(&account.auth.auth_string, current);
        }
        let AuthSecret::Password(text) = &auth.secret else {
            return Ok(());
        };
        if text.is_empty() || text.len() > password::PASSWORD_LEN_MAX {
            return Ok(());
        }
        if let Some(account) = &account {
            for stored in account.kept_back(default_rules(state), now_s()) {
                if state.process.is_interrupted() {
                    return Err(SqlError::interrupted());
                }
                if self.is_of(stored, text) {
                    break;
                }
            }
        }
        let plugin = match &auth.plugin {
            Some(name) => AuthPlugin::by_name(name),
            None => account.map(|account| account.auth.plugin),
        };
        if plugin != Some(AuthPlugin::MysqlNativePassword) {
            let stored = password::caching_sha2_string(text);
            let id = AuthId::new(name.0, name.1);
            self.hashed.insert(id, (stored, text.clone()));
        }
        Ok(())
    }

    /// Whether what is stored is of this password.
    fn is_of(&mut self, stored: &[u8], password: &[u8]) -> bool {
        let both = (stored.to_vec(), password.to_vec());
        let found = self.compared.entry(both);
        *found.or_insert_with(|| accounts::is_of(stored, password))
    }

    /// The stored form of an account's new password, if it was made before.
    fn take_hashed(&mut self, account: &Account, password: &[u8]) -> Option<Vec<u8>> {
        let (stored, of) = self.hashed.remove(&account.id())?;
        (of == password).then_some(stored)
    }

    /// The result of a statement: the passwords, if it has made some.
    pub(super) fn answer(self) -> Answer {
        if self.made.is_empty() {
            return Answer::ok();
        }
        let mut rows = ResultRows::new(&[
            ("user", text(32)),
            ("host", text(255)),
            ("generated password", text(255)),
            ("auth_factor", bigint()),
        ]);
        for (id, password) in self.made {
            let text = |text: String| Value::string(text.into_bytes());
            rows.push(vec![text(id.user), text(id.host), text(password), Value::Int(1)]);
        }
        Answer::Rows(rows)
    }
}

/// `generated_random_password_length`, of the session.
fn random_length(state: &SessionState) -> usize {
    let at = find("generated_random_password_length");
    at.map_or(0, |at| state.variable_setting(at, false).as_u64() as usize)
}

/// Gives the account another secret. `statement` is what error 1396 names, for a password that is too long.
pub(super) fn authenticate(
    state: &SessionState,
    account: &mut Account,
    (auth, statement): (&UserAuth, &str),
    generated: &mut Generated,
) -> Result<()> {
    let plugin = match &auth.plugin {
        None => match account.auth.auth_string.is_empty() {
            true => AuthPlugin::CachingSha2Password,
            false => account.auth.plugin,
        },
        Some(name) => AuthPlugin::by_name(name).ok_or_else(|| {
            SqlError::new(er::PLUGIN_IS_NOT_LOADED, format!("Plugin '{name}' is not loaded"))
        })?,
    };
    check_current(state, account, &auth.change, generated)?;
    let former = account.auth.clone();
    match &auth.secret {
        AuthSecret::None => {
            require_strength(state, b"")?;
            account.set_stored(plugin, Vec::new());
        }
        AuthSecret::Password(text) => {
            require_strength(state, text)?;
            require_change(state, &auth.change, text)?;
            change_password(state, account, (plugin, text, statement), generated)?;
        }
        AuthSecret::Random => {
            let password = password::random(random_length(state));
            let new = (plugin, password.as_bytes(), statement);
            change_password(state, account, new, generated)?;
            generated.made.push((account.id(), password));
        }
        AuthSecret::Hash(hash) => {
            let valid = hash.is_empty()
                || match plugin {
                    AuthPlugin::MysqlNativePassword => password::native_digest(hash).is_some(),
                    AuthPlugin::CachingSha2Password => password::caching_sha2_rounds(hash)
                        .is_some_and(|rounds| rounds <= password::ROUNDS_MAX),
                };
            if !valid {
                return Err(SqlError::new(
                    er::PASSWORD_FORMAT,
                    "The password hash doesn't have the expected format.",
                ));
            }
            account.set_stored(plugin, hash.clone());
        }
    }
    if auth.change.retain {
        retain(state, account, (former.plugin, former.auth_string))?;
    }
    if account.auth.auth_string.is_empty() {
        account.auth.second.clear();
    }
    account.note_password(default_rules(state), now_s());
    Ok(())
}

/// `SET PASSWORD [FOR user] = 'password'`
pub(super) fn set_password(
    state: &SessionState,
    user: Option<&UserName>,
    (secret, change): (&AuthSecret, &SecretChange),
    mut generated: Generated,
) -> Result<Generated> {
    let own = (state.info.account.user.as_str(), state.info.account.host.as_str());
    let name = user.map_or(own, |user| named(state, user));
    if name != own {
        require_create_user(state)?;
    }
    let account = state.database.accounts.get(name.0, name.1).ok_or_else(|| {
        SqlError::new(
            er::PASSWORD_NO_MATCH,
            "Can't find any matching row in the user table",
        )
    })?;
    require_system_user(state, &account)?;
    let mut account = Account::clone(&account);
    let auth = UserAuth {
        plugin: Some(account.auth.plugin.name().to_owned()),
        secret: secret.clone(),
        change: change.clone(),
    };
    authenticate(state, &mut account, (&auth, "SET PASSWORD"), &mut generated)?;
    apply(state, vec![account], Vec::new())?;
    Ok(generated)
}

/// Error 1819 if `validate_password` is installed and demands more of a password.
pub(super) fn require_strength(state: &SessionState, text: &[u8]) -> Result<()> {
    let allowed = state.password_policy().is_none_or(|(policy, words)| {
        let text = String::from_utf8_lossy(text);
        policy.allows(&text, &words)
    });
    match allowed {
        true => Ok(()),
        false => Err(SqlError::new(
            er::NOT_VALID_PASSWORD,
            "Your password does not satisfy the current policy requirements",
        )),
    }
}

/// Error 4165 if the present password is given, and the new one is too much like it.
fn require_change(state: &SessionState, change: &SecretChange, new: &[u8]) -> Result<()> {
    let (Some(present), Some((policy, _))) = (&change.current, state.password_policy()) else {
        return Ok(());
    };
    let (present, new) = (String::from_utf8_lossy(present), String::from_utf8_lossy(new));
    match policy.lacks_change(&present, &new) {
        None => Ok(()),
        Some((wanted, different)) => Err(SqlError::new(
            er::INSUFFICIENT_PASSWORD_CHANGE,
            format!(
                "The new password must have at least '{wanted}' characters that are different from the old password. It has only '{different}' character(s) different. For this comparison, uppercase letters and lowercase letters are considered to be equal."
            ),
        )),
    }
}

fn change_password(
    state: &SessionState,
    account: &mut Account,
    (plugin, text, statement): (AuthPlugin, &[u8], &str),
    generated: &mut Generated,
) -> Result<()> {
    // Before anything is hashed: a long password costs as much as it is long.
    let is_short = !text.is_empty() && text.len() <= password::PASSWORD_LEN_MAX;
    let mut kept_back = account.kept_back(default_rules(state), now_s());
    if is_short && kept_back.any(|stored| generated.is_of(stored, text)) {
        return Err(SqlError::new(
            er::CREDENTIALS_CONTRADICT_TO_HISTORY,
            format!(
                "Cannot use these credentials for '{}@{}' because they contradict the password history policy",
                account.auth.user, account.auth.host
            ),
        ));
    }
    drop(kept_back);
    if plugin == AuthPlugin::CachingSha2Password
        && let Some(stored) = generated.take_hashed(account, text)
    {
        account.set_hashed(plugin, text, stored);
        return Ok(());
    }
    match account.set_password(plugin, text) {
        true => Ok(()),
        false => Err(failed(statement, &[account.quoted()], "")),
    }
}

/// `REPLACE`: errors 3891 to 3893.
fn check_current(
    state: &SessionState,
    account: &Account,
    change: &SecretChange,
    generated: &mut Generated,
) -> Result<()> {
    let own = is_own(state, account);
    match &change.current {
        Some(_) if !own => Err(SqlError::new(
            er::CURRENT_PASSWORD_NOT_REQUIRED,
            "Do not specify the current password while changing it for other users.",
        )),
        Some(current) if !generated.is_of(&account.auth.auth_string, current) => Err(SqlError::new(
            er::INCORRECT_CURRENT_PASSWORD,
            "Incorrect current password. Specify the correct password which has to be replaced.",
        )),
        Some(_) => Ok(()),
        None => {
            let by_default = || state.database.variable("password_require_current").as_deref() == Some("ON");
            let demanded = account.rules.require_current.unwrap_or_else(by_default);
            if own
                && demanded
                && !account.auth.auth_string.is_empty()
                && !state.has_global(Privileges::CREATE_USER)
            {
                return Err(SqlError::new(
                    er::MISSING_CURRENT_PASSWORD,
                    "Current password needs to be specified in the REPLACE clause in order to change it.",
                ));
            }
            Ok(())
        }
    }
}

/// Error 1227 if the session may not give the account a second password.
fn require_second(state: &SessionState, account: &Account) -> Result<()> {
    match is_own(state, account) {
        true => state.require_global(
            Privileges::CREATE_USER.union(Privileges::APPLICATION_PASSWORD_ADMIN),
            "CREATE USER or APPLICATION_PASSWORD_ADMIN",
        ),
        false => require_create_user(state),
    }
}

/// `RETAIN CURRENT PASSWORD`: what was the password may still be used.
fn retain(
    state: &SessionState,
    account: &mut Account,
    (plugin, former): (AuthPlugin, Vec<u8>),
) -> Result<()> {
    require_second(state, account)?;
    let refused = |number, why: &str| {
        let message = format!(
            "Current password can not be retained for user {} because {why}",
            account.quoted()
        );
        Err(SqlError::new(number, message))
    };
    if account.auth.auth_string.is_empty() {
        return refused(er::CURRENT_PASSWORD_CANNOT_BE_RETAINED, "new password is empty.");
    }
    if plugin != account.auth.plugin {
        return refused(
            er::PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE,
            "authentication plugin is being changed.",
        );
    }
    if former.is_empty() {
        return Err(SqlError::new(
            er::SECOND_PASSWORD_CANNOT_BE_EMPTY,
            format!(
                "Empty password can not be retained as second password for user {}.",
                account.quoted()
            ),
        ));
    }
    account.auth.second = former;
    Ok(())
}

/// `DISCARD OLD PASSWORD`
pub(super) fn discard_second(state: &SessionState, account: &mut Account) -> Result<()> {
    require_second(state, account)?;
    account.auth.second.clear();
    Ok(())
}

/// Takes over what a statement says besides the password. Failed logins are forgotten where it says so.
pub(super) fn set_options(
    state: &SessionState,
    account: &mut Account,
    options: &AccountOptions,
) -> Result<()> {
    let auth = &mut account.auth;
    auth.locked = options.locked.unwrap_or(auth.locked);
    if let Some(requirement) = &options.requirement {
        auth.requirement = requirement.clone();
    }
    let (limits, set) = (&mut account.limits, &options.limits);
    limits.queries = set.queries_per_hour.unwrap_or(limits.queries);
    limits.updates = set.updates_per_hour.unwrap_or(limits.updates);
    limits.connections = set.connections_per_hour.unwrap_or(limits.connections);
    limits.at_once = set.user_connections.unwrap_or(limits.at_once);
    let (rules, set) = (&mut account.rules, &options.passwords);
    auth.expired |= set.expire_now;
    rules.lifetime = set.lifetime.unwrap_or(rules.lifetime);
    rules.history = set.history.unwrap_or(rules.history);
    rules.reuse_days = set.reuse_days.unwrap_or(rules.reuse_days);
    rules.require_current = set.require_current.unwrap_or(rules.require_current);
    rules.failed_attempts = set.failed_attempts.unwrap_or(rules.failed_attempts);
    rules.lock_time = set.lock_time.unwrap_or(rules.lock_time);
    if options.locked == Some(false) || set.failed_attempts.is_some() || set.lock_time.is_some() {
        state.database.accounts.attempts.forget(&account.id());
    }
    if let Some(change) = &options.attribute {
        account.attribute = attribute(account.attribute.as_deref(), change)?;
    }
    Ok(())
}

/// The attributes after a change: error 3982 for what is not a JSON object.
fn attribute(present: Option<&str>, change: &AttributeChange) -> Result<Option<String>> {
    let invalid = || {
        SqlError::new(
            er::INVALID_USER_ATTRIBUTE_JSON,
            "The user attribute must be a valid JSON object",
        )
    };
    let object = |text: &str| match Json::parse(text) {
        Ok(object @ Json::Object(_)) => Ok(object),
        Err(JsonError::Ended(error)) => Err(error),
        _ => Err(invalid()),
    };
    let patch = match change {
        AttributeChange::Comment(text) => {
            Json::object(vec![("comment".to_owned(), Json::String(text.clone()))])
        }
        AttributeChange::Merge(text) => object(text)?,
    };
    let merged = object(present.unwrap_or("{}"))?.merge_patch(patch, &mut Steps::default())?;
    Ok(Some(merged.to_string()))
}
