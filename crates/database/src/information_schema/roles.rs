//! The tables of roles: who has which, which are active in the session, and what they are granted.

use crate::accounts::roles::Edge;
use crate::accounts::{Account, AuthId, Privileges, privilege};
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

fn string(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref().as_bytes())
}

fn yes(is: bool) -> Value {
    string(if is { "YES" } else { "NO" })
}

fn flag(is: bool) -> Value {
    string(if is { "Y" } else { "N" })
}

/// The names of table privileges as `mysql.tables_priv` has them: `Select,Show view`.
pub fn set_text(set: Privileges) -> String {
    let granted = privilege::ALL
        .iter()
        .filter(|(one, _, levels)| set.contains(*one) && levels.contains('t'));
    let names = granted.map(|(_, name, _)| match *name {
        "GRANT OPTION" => "Grant".to_owned(),
        "CREATE VIEW" => "Create View".to_owned(),
        name => format!("{}{}", &name[..1], name[1..].to_ascii_lowercase()),
    });
    names.collect::<Vec<_>>().join(",")
}

/// The rows of the grants of roles that the session's account can reach, those that `keep` accepts.
fn reachable(state: &SessionState, keep: impl Fn(&Edge) -> bool) -> Made {
    let account = state.account();
    let accounts = &state.database.accounts;
    let edges = accounts.reachable_roles(&account).into_iter();
    let row = |edge: Edge| {
        vec![
            string(&account.auth.user),
            string(&account.auth.host),
            string(&edge.grantee.user),
            string(&edge.grantee.host),
            string(&edge.role.user),
            string(&edge.role.host),
            yes(edge.admin),
            yes(account.default_roles.contains(&edge.role)),
            yes(accounts.is_mandatory(&edge.role)),
        ]
    };
    Ok(edges.filter(keep).map(row).collect())
}

pub fn applicable(state: &SessionState) -> Made {
    reachable(state, |_| true)
}

pub fn administrable(state: &SessionState) -> Made {
    reachable(state, |edge| edge.admin)
}

pub fn enabled(state: &SessionState) -> Made {
    let account = state.account();
    let accounts = &state.database.accounts;
    let row = |role: AuthId| {
        vec![
            string(&role.user),
            string(&role.host),
            yes(account.default_roles.contains(&role)),
            yes(accounts.is_mandatory(&role)),
        ]
    };
    Ok(state.active_roles().into_iter().map(row).collect())
}

/// What the rows of a role's privileges begin with. The account that granted them is not stored.
fn on_table(role: &Account, schema: &str, name: &str) -> Vec<Value> {
    vec![
        Value::Null,
        Value::Null,
        string(&role.auth.user),
        string(&role.auth.host),
        string("def"),
        string(schema),
        string(name),
    ]
}

/// Privileges on tables of the roles that are active, and of theirs.
pub fn table_grants(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for role in state.rights().parts().iter().skip(1) {
        for ((schema, name), set) in &role.tables {
            let mut row = on_table(role, schema, name);
            row.push(string(set_text(*set)));
            row.push(yes(set.contains(Privileges::GRANT_OPTION)));
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Privileges on columns of the roles that are active, and of theirs.
pub fn column_grants(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for role in state.rights().parts().iter().skip(1) {
        for ((schema, name), columns) in &role.columns {
            let of_table = role.tables.get(&(schema.clone(), name.clone()));
            let grantable = of_table.is_some_and(|set| set.contains(Privileges::GRANT_OPTION));
            for (column, set) in columns {
                let mut row = on_table(role, schema, name);
                row.extend([string(column), string(set_text(*set)), yes(grantable)]);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

pub fn edges(state: &SessionState) -> Made {
    let mut grants: Vec<(AuthId, AuthId, bool)> = Vec::new();
    for account in state.database.accounts.all() {
        let of = account.id();
        let roles = account.roles.iter();
        grants.extend(roles.map(|(role, admin)| (role.clone(), of.clone(), *admin)));
    }
    grants.sort_by(|(a, to_a, _), (b, to_b, _)| {
        let key = |from: &AuthId, to: &AuthId| [from, to].map(|id| (id.host.clone(), id.user.clone()));
        key(a, to_a).cmp(&key(b, to_b))
    });
    let row = |(role, of, admin): (AuthId, AuthId, bool)| {
        vec![
            string(role.host),
            string(role.user),
            string(of.host),
            string(of.user),
            flag(admin),
        ]
    };
    Ok(grants.into_iter().map(row).collect())
}

pub fn defaults(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    let mut accounts = state.database.accounts.all();
    accounts.sort_by_key(|account| (account.auth.host.clone(), account.auth.user.clone()));
    for account in accounts {
        let mut roles: Vec<&AuthId> = account.default_roles.iter().collect();
        roles.sort_by_key(|role| (&role.host, &role.user));
        for role in roles {
            rows.push(vec![
                string(&account.auth.host),
                string(&account.auth.user),
                string(&role.host),
                string(&role.user),
            ]);
        }
    }
    Ok(rows)
}
