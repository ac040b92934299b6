//! What a session may do: what its account may, and what the roles may that are active in it, each by its own rules.

use super::{Account, AuthId, Level, Privileges, Restrictions};
use crate::dictionary::names_equal;
use std::sync::Arc;

/// The privileges of an account and its active roles, as of one version of the accounts.
#[derive(Clone, Debug)]
pub struct Rights {
    /// What all of them together may do everywhere.
    pub global: Privileges,
    /// The dynamic privileges that they may grant further.
    pub grantable: Privileges,
    /// Something is taken from the global privileges of one of them.
    is_restricted: bool,
    /// The account, and behind it its active roles and theirs.
    parts: Vec<Arc<Account>>,
}

impl Rights {
    /// Of an account and the accounts of its roles.
    pub fn new(account: Arc<Account>, roles: Vec<Arc<Account>>) -> Rights {
        let mut parts = vec![account];
        parts.extend(roles);
        let all = |of: fn(&Account) -> Privileges| {
            let sets = parts.iter().map(|part| of(part));
            sets.fold(Privileges::NONE, Privileges::union)
        };
        Rights {
            global: all(|part| part.global),
            grantable: all(|part| part.grantable),
            is_restricted: parts.iter().any(|part| !part.restrictions.is_empty()),
            parts,
        }
    }

    /// The account, and behind it its active roles and theirs.
    pub fn parts(&self) -> &[Arc<Account>] {
        &self.parts
    }

    fn union(&self, of: impl Fn(&Account) -> Privileges) -> Privileges {
        self.parts
            .iter()
            .fold(Privileges::NONE, |all, part| all.union(of(part)))
    }

    /// What is taken from the global privileges of all of them together, by database.
    pub fn restrictions(&self) -> Restrictions {
        let names = self.parts.iter().flat_map(|part| part.restrictions.keys());
        let taken = names.map(|name| {
            let left = self.union(|part| part.global_on(name));
            (name.clone(), self.global.without(left))
        });
        taken.filter(|(_, taken)| !taken.is_empty()).collect()
    }

    /// What may be done with a database, not counting single tables.
    pub fn on_database(&self, schema: &str) -> Privileges {
        self.union(|part| part.on_database(schema))
    }

    /// What may be done with every database that a pattern, as GRANT is given, may stand for.
    pub fn on_databases_like(&self, wanted: &str) -> Privileges {
        self.union(|part| part.on_databases_like(wanted))
    }

    /// What may be done with a table: there, on the database and globally.
    pub fn on_table(&self, schema: &str, table: &str) -> Privileges {
        self.union(|part| part.on_table(schema, table))
    }

    /// True if all the privileges are held on the table.
    pub fn allow(&self, privileges: Privileges, schema: &str, table: &str) -> bool {
        !self.is_restricted && self.global.contains(privileges)
            || self.on_database(schema).contains(privileges)
            || self.on_table(schema, table).contains(privileges)
    }

    /// What may be done with at least one column of a table, by grants on columns.
    pub fn on_some_column(&self, schema: &str, table: &str) -> Privileges {
        let columns = self
            .parts
            .iter()
            .filter_map(|part| part.columns_of(schema, table));
        let sets = columns.flat_map(|columns| columns.values());
        sets.fold(Privileges::NONE, |all, set| all.union(*set))
    }

    /// What may be done with a column: by grants on it, on the table, on the database and globally.
    pub fn on_column(&self, schema: &str, table: &str, column: &str) -> Privileges {
        let columns = self
            .parts
            .iter()
            .filter_map(|part| part.columns_of(schema, table));
        let named = columns.flatten().filter(|(name, _)| names_equal(name, column));
        named.fold(self.on_table(schema, table), |all, (_, set)| all.union(*set))
    }

    /// Whether one of the privileges of databases is held on the database or on a table in it.
    pub fn holds_in_database(&self, wanted: Privileges, schema: &str) -> bool {
        self.parts
            .iter()
            .any(|part| part.holds_in_database(wanted, schema))
    }

    /// Whether anything is granted on the table itself or on its columns, GRANT OPTION too.
    pub fn is_named_by_grants(&self, schema: &str, table: &str) -> bool {
        let key = (schema.to_owned(), table.to_owned());
        self.parts
            .iter()
            .any(|part| part.tables.contains_key(&key) || part.columns.contains_key(&key))
    }

    /// Whether a table is to be listed.
    pub fn sees_table(&self, schema: &str, table: &str) -> bool {
        self.on_table(schema, table)
            .intersects(Privileges::all(Level::Table))
            || !self.on_some_column(schema, table).is_empty()
    }

    /// Whether one of them has the role WITH ADMIN OPTION, or may grant every role.
    pub fn may_grant_role(&self, role: &AuthId) -> bool {
        self.global
            .intersects(Privileges::ROLE_ADMIN.union(Privileges::SUPER))
            || self.parts.iter().any(|part| part.roles.get(role) == Some(&true))
    }
}
