//! SHOW GRANTS and SHOW CREATE USER.
//!
//! What an account is granted is shown in MySQL's order: everywhere, dynamic privileges, databases, tables, roles, and roles
//! WITH ADMIN OPTION. With roles, be it those of USING or those that are active in the account's own session, their
//! grants stand among the account's as if they were its own.

use super::string;
use crate::accounts::roles::{listed, not_granted};
use crate::accounts::{
    Account, AuthId, Columns, Level, Lifetime, Limits, LockTime, PasswordRules, Privileges, Rights,
    privilege, requirement,
};
use crate::context::SessionState;
use crate::context::answer::{ResultRows, text};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::UserName;
use crate::parse::print::escaped;
use std::collections::{BTreeMap, BTreeSet};

fn own(state: &SessionState) -> AuthId {
    AuthId::new(&state.info.account.user, &state.info.account.host)
}

fn named(state: &SessionState, user: Option<&UserName>) -> AuthId {
    match user {
        Some(user) if !user.current => AuthId::new(&user.user, &user.host),
        _ => own(state),
    }
}

/// SHOW GRANTS of the session's own account, or of another. Error 1142 for another's without SELECT on `mysql`.
pub fn grants(state: &SessionState, user: Option<&UserName>, using: &[UserName]) -> Result<ResultRows> {
    let id = named(state, user);
    let accounts = &state.database.accounts;
    if id != own(state) {
        state.require_table(Privileges::SELECT, "SELECT", "mysql", "user")?;
    }
    let account = accounts.role(&id).ok_or_else(|| {
        SqlError::new(
            er::NONEXISTING_GRANT,
            format!(
                "There is no such grant defined for user '{}' on host '{}'",
                id.user, id.host
            ),
        )
    })?;
    let is_session = user.is_none_or(|user| user.current);
    let granted = accounts.granted_roles(&account);
    let rights = match using.is_empty() {
        true if is_session => state.rights().as_ref().clone(),
        true => Rights::new(account.clone(), Vec::new()),
        false => {
            let using: BTreeSet<AuthId> = using.iter().map(|role| named(state, Some(role))).collect();
            if let Some(role) = using.iter().find(|role| !granted.contains_key(*role)) {
                return Err(not_granted(role, &id));
            }
            Rights::new(account.clone(), accounts.with_their_roles(using))
        }
    };
    // Mandatory roles are not the account's own: what is shown of one by name can be granted to it as it stands.
    let roles = match is_session {
        true => granted,
        false => account.roles.clone(),
    };
    let heading = format!("Grants for {}@{}", id.user, id.host);
    let mut rows = ResultRows::new(&[(&heading, text(1024))]);
    for line in grant_lines(&account, &rights, &roles) {
        rows.push(vec![string(line)]);
    }
    Ok(rows)
}

/// All that the parts are granted, as if it were granted to one.
fn merged(rights: &Rights) -> Account {
    let mut all = Account::new("", "");
    for part in rights.parts() {
        all.global = all.global.union(part.global);
        all.grantable = all.grantable.union(part.grantable);
        for (name, set) in &part.databases {
            let held = all.databases.entry(name.clone()).or_default();
            *held = held.union(*set);
        }
        for (name, set) in &part.tables {
            let held = all.tables.entry(name.clone()).or_default();
            *held = held.union(*set);
        }
        for (table, columns) in &part.columns {
            // A table with grants on columns has a line, also if there are none on the whole.
            all.tables.entry(table.clone()).or_default();
            let of_table = all.columns.entry(table.clone()).or_default();
            for (name, set) in columns {
                let held = of_table.entry(name.clone()).or_default();
                *held = held.union(*set);
            }
        }
    }
    all
}

/// The privileges on a table, and behind each those of its kind on columns: `SELECT, UPDATE (`a`, `b`)`.
fn with_columns(set: Privileges, columns: &Columns) -> String {
    let mut texts = Vec::new();
    if set.contains(Privileges::all(Level::Table)) {
        return set.text(Level::Table);
    }
    for (one, name, _) in privilege::ALL {
        if set.contains(*one) && *one != Privileges::GRANT_OPTION {
            texts.push((*name).to_owned());
        }
        let named = columns.iter().filter(|(_, set)| set.contains(*one));
        let named: Vec<String> = named.map(|(column, _)| format!("`{column}`")).collect();
        if !named.is_empty() {
            texts.push(format!("{name} ({})", named.join(", ")));
        }
    }
    texts.join(", ")
}

/// The lines of SHOW GRANTS. `roles` are those of the account.
fn grant_lines(account: &Account, rights: &Rights, roles: &BTreeMap<AuthId, bool>) -> Vec<String> {
    let to = account.id();
    let all = merged(rights);
    let option = |set: Privileges| match set.contains(Privileges::GRANT_OPTION) {
        true => " WITH GRANT OPTION",
        false => "",
    };
    let line = |set: Privileges, level: Level, on: &str| {
        format!("GRANT {} ON {on} TO {to}{}", set.text(level), option(set))
    };
    let mut lines = vec![line(all.global, Level::Global, "*.*")];
    let plain = all.global.without(all.grantable);
    for (set, option) in [(plain, ""), (all.grantable, " WITH GRANT OPTION")] {
        let dynamic: Vec<&str> = set.dynamic_names().collect();
        if !dynamic.is_empty() {
            lines.push(format!("GRANT {} ON *.* TO {to}{option}", dynamic.join(",")));
        }
    }
    for (name, set) in &all.databases {
        lines.push(line(*set, Level::Database, &format!("`{name}`.*")));
    }
    for ((schema, name), set) in &all.tables {
        let on = format!("`{schema}`.`{name}`");
        lines.push(match all.columns_of(schema, name) {
            None => line(*set, Level::Table, &on),
            Some(columns) => {
                let granted = with_columns(*set, columns);
                format!("GRANT {granted} ON {on} TO {to}{}", option(*set))
            }
        });
    }
    for (name, taken) in rights.restrictions() {
        let taken = taken.text(Level::Global);
        lines.push(format!("REVOKE {taken} ON `{name}`.* FROM {to}"));
    }
    let plain = roles.iter().filter(|(_, admin)| !**admin).map(|(role, _)| role);
    let plain = listed(plain);
    if !plain.is_empty() {
        lines.push(format!("GRANT {plain} TO {to}"));
    }
    let of_parts = rights.parts().iter().flat_map(|part| &part.roles);
    let admin: BTreeSet<&AuthId> = of_parts
        .filter(|(_, admin)| **admin)
        .map(|(role, _)| role)
        .collect();
    if !admin.is_empty() {
        lines.push(format!("GRANT {} TO {to} WITH ADMIN OPTION", listed(admin)));
    }
    lines
}

/// SHOW CREATE USER. Error 1044 for another account than the session's own without SELECT on `mysql`.
pub fn create_user(state: &SessionState, user: &UserName) -> Result<ResultRows> {
    let id = named(state, Some(user));
    if id != own(state) && !state.rights().allow(Privileges::SELECT, "mysql", "user") {
        return Err(state.database_denied("mysql"));
    }
    let account = state.database.accounts.role(&id).ok_or_else(|| {
        SqlError::new(
            er::CREATE_USER_FAILED,
            format!(
                "Operation SHOW CREATE USER failed for '{}'@'{}' (User account does not exist)",
                id.user, id.host
            ),
        )
    })?;
    let auth = &account.auth;
    let heading = format!("CREATE USER for {}@{}", auth.user, auth.host);
    let mut rows = ResultRows::new(&[(&heading, text(1024))]);
    let secret = match auth.auth_string.is_empty() {
        true => String::new(),
        false => format!(
            " AS {}",
            crate::parse::print::quoted(&String::from_utf8_lossy(&auth.auth_string))
        ),
    };
    let roles = match account.default_roles.is_empty() {
        true => String::new(),
        false => format!(" DEFAULT ROLE {}", listed(&account.default_roles)),
    };
    rows.push(vec![string(format!(
        "CREATE USER `{}`@`{}` IDENTIFIED WITH '{}'{secret}{roles} REQUIRE {}{}{} ACCOUNT {}{}{}",
        auth.user,
        auth.host,
        auth.plugin.name(),
        requirement::written(&auth.requirement),
        limits_text(&account.limits),
        expire_text(&account),
        if auth.locked { "LOCK" } else { "UNLOCK" },
        rules_text(&account.rules),
        match &account.attribute {
            Some(json) => format!(" ATTRIBUTE {}", escaped(json)),
            None => String::new(),
        }
    ))]);
    Ok(rows)
}

/// ` WITH …`, as SHOW CREATE USER writes the limits of an account; nothing if it has none.
fn limits_text(limits: &Limits) -> String {
    let named = [
        ("MAX_QUERIES_PER_HOUR", limits.queries),
        ("MAX_UPDATES_PER_HOUR", limits.updates),
        ("MAX_CONNECTIONS_PER_HOUR", limits.connections),
        ("MAX_USER_CONNECTIONS", limits.at_once),
    ];
    let written = named.iter().filter(|(_, limit)| *limit > 0);
    let text: String = written.map(|(name, limit)| format!(" {name} {limit}")).collect();
    match text.is_empty() {
        true => text,
        false => format!(" WITH{text}"),
    }
}

/// ` PASSWORD EXPIRE …`
fn expire_text(account: &Account) -> String {
    let when = match account.rules.lifetime {
        _ if account.auth.expired => String::new(),
        Lifetime::Default => " DEFAULT".to_owned(),
        Lifetime::Never => " NEVER".to_owned(),
        Lifetime::Days(days) => format!(" INTERVAL {days} DAY"),
    };
    format!(" PASSWORD EXPIRE{when}")
}

/// ` PASSWORD HISTORY …`, and what else is demanded of an account's passwords.
fn rules_text(rules: &PasswordRules) -> String {
    let history = rules
        .history
        .map_or("DEFAULT".to_owned(), |changes| changes.to_string());
    let reuse = rules
        .reuse_days
        .map_or("DEFAULT".to_owned(), |days| format!("{days} DAY"));
    let current = match rules.require_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    };
    let mut text = format!(
        " PASSWORD HISTORY {history} PASSWORD REUSE INTERVAL {reuse} PASSWORD REQUIRE CURRENT{current}"
    );
    let lock = match rules.lock_time {
        LockTime::None => "0".to_owned(),
        LockTime::Days(days) => days.to_string(),
        LockTime::Unbounded => "UNBOUNDED".to_owned(),
    };
    if rules.failed_attempts > 0 || rules.lock_time != LockTime::None {
        text += &format!(
            " FAILED_LOGIN_ATTEMPTS {} PASSWORD_LOCK_TIME {lock}",
            rules.failed_attempts
        );
    }
    text
}
