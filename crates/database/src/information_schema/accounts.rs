//! The tables of the `mysql` database: accounts and their privileges, as older tools read them. They are read-only but for
//! dumps that are loaded; accounts are changed by CREATE USER, GRANT and their kin.

use super::roles::set_text;
use crate::accounts::{Account, Lifetime, LockTime, Privileges, Requirement, now_s, requirement};
use crate::context::SessionState;
use crate::context::components::Component;
use crate::error::Result;
use crate::types::Value;
use crate::types::json::Json;
use std::collections::BTreeSet;

type Made = Result<Vec<Vec<Value>>>;

fn string(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref().as_bytes())
}

fn flag(on: bool) -> Value {
    string(if on { "Y" } else { "N" })
}

/// In the order of the columns of `mysql.user`, from the third on.
pub const USER_COLUMNS: [Privileges; 29] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::RELOAD,
    Privileges::SHUTDOWN,
    Privileges::PROCESS,
    Privileges::FILE,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::SHOW_DATABASES,
    Privileges::SUPER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::EXECUTE,
    Privileges::REPLICATION_SLAVE,
    Privileges::REPLICATION_CLIENT,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::CREATE_USER,
    Privileges::EVENT,
    Privileges::TRIGGER,
    Privileges::CREATE_TABLESPACE,
];

/// In the order of the columns of `mysql.db`, from the fourth on.
pub const DB_COLUMNS: [Privileges; 19] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::EXECUTE,
    Privileges::EVENT,
    Privileges::TRIGGER,
];

/// `User_attributes`: restrictions, and what ATTRIBUTE and COMMENT have set.
fn attributes(account: &Account) -> Value {
    let mut parts = Vec::new();
    if let Some(json) = &account.attribute {
        parts.push(format!("\"metadata\": {json}"));
    }
    let restricted = account.restrictions.iter().map(|(name, taken)| {
        let name = Json::String(name.clone());
        let taken: Vec<String> = taken.names().map(|name| format!("\"{name}\"")).collect();
        format!("{{\"Database\": {name}, \"Privileges\": [{}]}}", taken.join(", "))
    });
    let restricted: Vec<String> = restricted.collect();
    if !restricted.is_empty() {
        parts.push(format!("\"Restrictions\": [{}]", restricted.join(", ")));
    }
    match parts.is_empty() {
        true => Value::Null,
        false => string(format!("{{{}}}", parts.join(", "))),
    }
}

pub fn user(state: &SessionState) -> Made {
    let row = |account: &Account| {
        let (auth, rules) = (&account.auth, &account.rules);
        let (subject, issuer, cipher) = match &auth.requirement {
            Requirement::Given {
                subject,
                issuer,
                cipher,
            } => (subject, issuer, cipher),
            _ => (&None, &None, &None),
        };
        let mut row = vec![string(&auth.host), string(&auth.user)];
        row.extend(USER_COLUMNS.map(|one| flag(account.global.contains(one))));
        row.extend([
            string(requirement::type_name(&auth.requirement)),
            string(cipher.as_deref().unwrap_or_default()),
            string(issuer.as_deref().unwrap_or_default()),
            string(subject.as_deref().unwrap_or_default()),
            Value::UInt(account.limits.queries as u64),
            Value::UInt(account.limits.updates as u64),
            Value::UInt(account.limits.connections as u64),
            Value::UInt(account.limits.at_once as u64),
            string(auth.plugin.name()),
            Value::string(auth.auth_string.clone()),
            flag(auth.expired),
            Value::Null,
            match rules.lifetime {
                Lifetime::Default => Value::Null,
                Lifetime::Never => Value::UInt(0),
                Lifetime::Days(days) => Value::UInt(days as u64),
            },
            flag(auth.locked),
            flag(account.global.contains(Privileges::CREATE_ROLE)),
            flag(account.global.contains(Privileges::DROP_ROLE)),
            rules
                .history
                .map_or(Value::Null, |changes| Value::UInt(changes as u64)),
            rules
                .reuse_days
                .map_or(Value::Null, |days| Value::UInt(days as u64)),
            rules.require_current.map_or(Value::Null, flag),
            attributes(account),
        ]);
        row
    };
    let accounts = state.database.accounts.all();
    Ok(accounts.iter().map(|account| row(account)).collect())
}

pub fn db(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in state.database.accounts.all() {
        for (schema, set) in &account.databases {
            let auth = &account.auth;
            let mut row = vec![string(&auth.host), string(schema), string(&auth.user)];
            row.extend(DB_COLUMNS.map(|one| flag(set.contains(one))));
            rows.push(row);
        }
    }
    Ok(rows)
}

pub fn tables_priv(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in state.database.accounts.all() {
        let tables: BTreeSet<_> = account.tables.keys().chain(account.columns.keys()).collect();
        for table in tables {
            let set = account.tables.get(table).copied().unwrap_or_default();
            let columns = account.columns.get(table).into_iter().flat_map(|of| of.values());
            let on_columns = columns.fold(Privileges::NONE, |all, set| all.union(*set));
            let auth = &account.auth;
            rows.push(vec![
                string(&auth.host),
                string(&table.0),
                string(&auth.user),
                string(&table.1),
                string(account.grantors.get(table).map_or("", String::as_str)),
                string(set_text(set)),
                string(set_text(on_columns)),
            ]);
        }
    }
    Ok(rows)
}

pub fn component(state: &SessionState) -> Made {
    let components = &state.database.components;
    let installed = Component::ALL
        .into_iter()
        .filter(|component| components.is_installed(*component));
    let row = |component: Component| {
        let id = component as u64 + 1;
        vec![Value::UInt(id), Value::UInt(id), string(component.urn())]
    };
    Ok(installed.map(row).collect())
}

/// The functions that components bring.
pub fn user_defined_functions(state: &SessionState) -> Made {
    let is_there = state.database.components.is_installed(Component::QueryAttributes);
    let row = vec![
        string("mysql_query_attribute_string"),
        string("char"),
        string("function"),
        Value::Null,
        Value::Int(1),
    ];
    Ok(if is_there { vec![row] } else { Vec::new() })
}

pub fn global_grants(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in state.database.accounts.all() {
        let auth = &account.auth;
        rows.extend(account.global.dynamic_names().map(|name| {
            let grantable = account.grantable.dynamic_names().any(|of| of == name);
            vec![
                string(&auth.user),
                string(&auth.host),
                string(name),
                flag(grantable),
            ]
        }));
    }
    Ok(rows)
}

pub fn columns_priv(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in state.database.accounts.all() {
        for ((schema, name), columns) in &account.columns {
            let auth = &account.auth;
            rows.extend(columns.iter().map(|(column, set)| {
                vec![
                    string(&auth.host),
                    string(schema),
                    string(&auth.user),
                    string(name),
                    string(column),
                    string(set_text(*set)),
                ]
            }));
        }
    }
    Ok(rows)
}

/// Accounts that have been given wrong passwords in a row, of those that count them.
pub fn temporary_locks(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for (id, attempts) in state.database.accounts.attempts.all() {
        let Some(account) = state.database.accounts.get(&id.user, &id.host) else {
            continue;
        };
        let limit = account.rules.failed_attempts as i64;
        let days = match account.rules.lock_time {
            LockTime::None => 0,
            LockTime::Days(days) => i64::from(days),
            LockTime::Unbounded => i64::from(i32::MAX),
        };
        let since = attempts
            .locked_for
            .map(|time| now_s().saturating_sub(time.as_secs()));
        let until = since.filter(|_| days < i64::from(i32::MAX));
        let date = |seconds: Option<u64>| match seconds {
            Some(seconds) => {
                let at = state.settings.time_zone.local(seconds as i64 * 1_000_000, 0);
                Value::Date(at.date)
            }
            None => Value::Null,
        };
        rows.push(vec![
            string(&id.user),
            string(&id.host),
            string(if since.is_some() { "YES" } else { "NO" }),
            Value::Int(limit),
            Value::Int((limit - i64::from(attempts.count)).max(0)),
            Value::Int(days),
            date(since),
            date(until.map(|since| since + days as u64 * 24 * 60 * 60)),
        ]);
    }
    Ok(rows)
}
