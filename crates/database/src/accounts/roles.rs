//! Roles: which accounts are granted which others, and what follows from that.
//!
//! An account that is granted another has it as a role. Roles may have roles, and the grants form a graph without circles:
//! each account keeps those that lead to it, by name. Dropping an account takes its name out of all others.

use super::{Account, Accounts};
use crate::error::{Result, SqlError, er};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_engine::Ddl;

/// The name of an account, user and host pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuthId {
    /// The user's name.
    pub user: String,
    /// The host pattern.
    pub host: String,
}

impl AuthId {
    /// Of a user and a host.
    pub fn new(user: &str, host: &str) -> AuthId {
        AuthId {
            user: user.to_owned(),
            host: host.to_owned(),
        }
    }
}

impl fmt::Display for AuthId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`@`{}`", self.user, self.host)
    }
}

/// Names as CURRENT_ROLE() and SHOW GRANTS list them.
pub fn listed<'a>(ids: impl IntoIterator<Item = &'a AuthId>) -> String {
    let names: Vec<String> = ids.into_iter().map(AuthId::to_string).collect();
    names.join(",")
}

/// The names that `mandatory_roles` holds: `r, 'r'@'%'`, quoted or not. What stands behind a comma must be a name, and a
/// name must not be empty: `None` otherwise. A name with signs that a word does not have is passed over, as MySQL does.
pub fn parse_names(text: &str) -> Option<Vec<AuthId>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (user, after) = part(rest)?;
        let (host, after) = match after.strip_prefix('@') {
            Some(host) => part(host)?,
            None => ("%", after),
        };
        if user.is_empty() {
            return None;
        }
        let is_odd = |c: char| c.is_whitespace() || "();:*,".contains(c);
        if !user.contains(is_odd) {
            names.push(AuthId::new(user, &host.to_ascii_lowercase()));
        }
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(names),
            None => return None,
        }
    }
}

/// A quoted or bare part of a name, and what follows it.
fn part(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| "'\"`".contains(*c));
    let (part, rest) = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => {
            let end = text.find([',', '@']).unwrap_or(text.len());
            let (part, rest) = text.split_at(end);
            (part.trim_end(), rest)
        }
    };
    if part.is_empty() && quote.is_none() {
        return None;
    }
    Some((part, rest.trim_start()))
}

/// A role by an account that has it.
pub struct Edge {
    /// The account that holds it: the session's own, or one of its roles.
    pub grantee: AuthId,
    /// The role.
    pub role: AuthId,
    /// WITH ADMIN OPTION.
    pub admin: bool,
}

impl Accounts {
    /// The account that a role's name stands for.
    pub fn role(&self, id: &AuthId) -> Option<Arc<Account>> {
        self.get(&id.user, &id.host)
    }

    /// The roles of `mandatory_roles` that there are, but for the account itself.
    pub fn mandatory_roles(&self, account: &AuthId) -> BTreeSet<AuthId> {
        let mandatory = self.mandatory.read();
        let there = mandatory
            .iter()
            .filter(|id| *id != account && self.role(id).is_some());
        there.cloned().collect()
    }

    /// Whether `mandatory_roles` names it.
    pub fn is_mandatory(&self, id: &AuthId) -> bool {
        self.mandatory.read().contains(id)
    }

    /// `mandatory_roles` has another value.
    pub fn set_mandatory_roles(&self, ids: Vec<AuthId>) {
        *self.mandatory.write() = ids.into_iter().collect();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The roles that the account may make active: those that it is granted itself, true for WITH ADMIN OPTION, and the
    /// mandatory ones.
    pub fn granted_roles(&self, account: &Account) -> BTreeMap<AuthId, bool> {
        let mut granted = account.roles.clone();
        for id in self.mandatory_roles(&account.id()) {
            granted.entry(id).or_insert(false);
        }
        granted
    }

    /// Every grant of a role that can be reached from the account, mandatory ones among them, each once.
    pub fn reachable_roles(&self, account: &Account) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut seen = BTreeSet::from([account.id()]);
        let mut open = vec![(account.id(), self.granted_roles(account))];
        while let Some((grantee, roles)) = open.pop() {
            for (role, admin) in roles {
                if seen.insert(role.clone())
                    && let Some(account) = self.role(&role)
                {
                    open.push((role.clone(), account.roles.clone()));
                }
                let grantee = grantee.clone();
                edges.push(Edge { grantee, role, admin });
            }
        }
        edges.sort_by(|a, b| (&a.grantee, &a.role).cmp(&(&b.grantee, &b.role)));
        // The account's own grants come first.
        let own = account.id();
        edges.sort_by_key(|edge| edge.grantee != own);
        edges
    }

    /// The accounts behind the roles, and behind the roles of those.
    pub fn with_their_roles(&self, roles: impl IntoIterator<Item = AuthId>) -> Vec<Arc<Account>> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<AuthId> = roles.into_iter().collect();
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if seen.insert(id.clone())
                && let Some(account) = self.role(&id)
            {
                open.extend(account.roles.keys().cloned());
                found.push(account);
            }
        }
        found
    }

    /// Whether the account is a role of some other, or of all.
    pub fn is_granted(&self, id: &AuthId) -> bool {
        self.is_mandatory(id) || self.all().iter().any(|account| account.roles.contains_key(id))
    }

    /// Removes accounts, and their names from those that have them as roles.
    pub fn remove(&self, ddl: Ddl, gone: &[AuthId]) -> Result<()> {
        let mut changed = Vec::new();
        for account in self.all() {
            let has = |id: &AuthId| account.roles.contains_key(id) || account.default_roles.contains(id);
            if gone.contains(&account.id()) || !gone.iter().any(has) {
                continue;
            }
            let mut account = Account::clone(&account);
            account.roles.retain(|role, _| !gone.contains(role));
            account.default_roles.retain(|role| !gone.contains(role));
            changed.push(account);
        }
        let names = gone.iter().map(|id| (id.user.clone(), id.host.clone()));
        self.apply(ddl, changed, names.collect())
    }
}

/// Error 3523.
pub fn unknown(id: &AuthId) -> SqlError {
    SqlError::new(er::UNKNOWN_AUTHID, format!("Unknown authorization ID {id}"))
}

/// Error 3530.
pub fn not_granted(role: &AuthId, account: &AuthId) -> SqlError {
    SqlError::new(
        er::ROLE_NOT_GRANTED,
        format!("{role} is not granted to {account}"),
    )
}

/// Error 3628.
pub fn is_mandatory(role: &AuthId) -> SqlError {
    SqlError::new(
        er::MANDATORY_ROLE,
        format!(
            "The role {role} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by \
             excluding the role identifier from the global variable mandatory_roles."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_mysql_does() {
        let names = |text| parse_names(text).map(|ids| listed(&ids));
        assert_eq!(names("").as_deref(), Some(""));
        assert_eq!(names(" r1 ").as_deref(), Some("`r1`@`%`"));
        assert_eq!(
            names("r3,nosuch, `r2`@`%`,'a b'@\"Host\"").as_deref(),
            Some("`r3`@`%`,`nosuch`@`%`,`r2`@`%`")
        );
        assert_eq!(names("aa ; bb : r3, r1, (r2), *r2").as_deref(), Some("`r1`@`%`"));
        for wrong in ["foo,", ",", "``@`localhost`", "'open", "a@", "'a' b"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }
}
