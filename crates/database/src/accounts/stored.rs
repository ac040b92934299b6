//! Accounts as bytes, as they stand in the engine's catalog, one entry each under their names.
//!
//! A field is only ever added at the end, under a new format; an account in an older format is read, and stored in the
//! newest when it is changed.

use super::{Account, AuthId, AuthPlugin, Privileges};
use crate::dictionary::codec::{Reader, Writer};
use crate::error::{Result, SqlError};

/// The format of a stored account: 2 has `REQUIRE SSL`, and sets of privileges of 128 bits where 1 had 64; 3 ends with
/// options, each a tag and a number; behind them 4 has the roles that it is granted and those of a login, 5
/// the privileges on columns.
const FORMAT: u8 = 5;

/// The tags of stored options. An option that is not stored has its default.
mod option {
    pub const QUERIES_PER_HOUR: u8 = 1;
    pub const UPDATES_PER_HOUR: u8 = 2;
    pub const CONNECTIONS_PER_HOUR: u8 = 3;
    pub const USER_CONNECTIONS: u8 = 4;
    pub const EXPIRED: u8 = 5;
}

impl Writer {
    fn privileges(&mut self, set: Privileges) {
        self.u64(set.0 as u64);
        self.u64((set.0 >> 64) as u64);
    }

    fn auth_id(&mut self, id: &AuthId) {
        self.str(&id.user);
        self.str(&id.host);
    }
}

impl Reader<'_> {
    fn privileges(&mut self, format: u8) -> Result<Privileges> {
        let low = self.u64()? as u128;
        let high = if format == 1 { 0 } else { self.u64()? as u128 };
        Ok(Privileges(high << 64 | low))
    }

    fn auth_id(&mut self) -> Result<AuthId> {
        let user = self.str()?;
        Ok(AuthId {
            user,
            host: self.str()?,
        })
    }
}

impl Account {
    /// The account as it is stored, all but its name.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(FORMAT);
        w.u8(self.auth.plugin as u8);
        w.bytes(&self.auth.auth_string);
        w.bool(self.auth.locked);
        w.bool(self.auth.require_tls);
        w.privileges(self.global);
        w.u64(self.databases.len() as u64);
        for (name, privileges) in &self.databases {
            w.str(name);
            w.privileges(*privileges);
        }
        w.u64(self.tables.len() as u64);
        for ((schema, name), privileges) in &self.tables {
            w.str(schema);
            w.str(name);
            w.privileges(*privileges);
        }
        let options = self.options();
        w.u64(options.len() as u64);
        for (tag, value) in options {
            w.u8(tag);
            w.u64(value);
        }
        w.u64(self.roles.len() as u64);
        for (role, admin) in &self.roles {
            w.auth_id(role);
            w.bool(*admin);
        }
        w.u64(self.default_roles.len() as u64);
        for role in &self.default_roles {
            w.auth_id(role);
        }
        w.u64(self.columns.len() as u64);
        for ((schema, name), columns) in &self.columns {
            w.str(schema);
            w.str(name);
            w.u64(columns.len() as u64);
            for (column, privileges) in columns {
                w.str(column);
                w.privileges(*privileges);
            }
        }
        w.0
    }

    /// The options that are not as a new account has them.
    fn options(&self) -> Vec<(u8, u64)> {
        let limits = &self.limits;
        let all = [
            (option::QUERIES_PER_HOUR, limits.queries as u64),
            (option::UPDATES_PER_HOUR, limits.updates as u64),
            (option::CONNECTIONS_PER_HOUR, limits.connections as u64),
            (option::USER_CONNECTIONS, limits.at_once as u64),
            (option::EXPIRED, self.auth.expired as u64),
        ];
        all.into_iter().filter(|(_, value)| *value != 0).collect()
    }

    /// Takes over a stored option; false if there is none of that tag.
    fn set_option(&mut self, tag: u8, value: u64) -> bool {
        let limits = &mut self.limits;
        match tag {
            option::QUERIES_PER_HOUR => limits.queries = value as u32,
            option::UPDATES_PER_HOUR => limits.updates = value as u32,
            option::CONNECTIONS_PER_HOUR => limits.connections = value as u32,
            option::USER_CONNECTIONS => limits.at_once = value as u32,
            option::EXPIRED => self.auth.expired = value != 0,
            _ => return false,
        }
        true
    }

    /// Reads what [`Account::encode`] wrote, in this format or an older one.
    pub(super) fn decode(user: &str, host: &str, bytes: &[u8]) -> Result<Account> {
        let mut account = Account::new(user, host);
        let what = account.quoted();
        let mut r = Reader::new(bytes, &what);
        let format = r.u8()?;
        if !(1..=FORMAT).contains(&format) {
            return Err(SqlError::unknown(format!(
                "The stored account {what} is of an unknown format"
            )));
        }
        account.auth.plugin = match r.u8()? {
            0 => AuthPlugin::MysqlNativePassword,
            _ => AuthPlugin::CachingSha2Password,
        };
        account.auth.auth_string = r.bytes()?.to_vec();
        account.auth.locked = r.bool()?;
        account.auth.require_tls = format > 1 && r.bool()?;
        account.global = r.privileges(format)?;
        // Before dynamic privileges were kept by name, SUPER stood for all of them.
        if format == 1 && account.global.contains(Privileges::SUPER) {
            account.global = account.global.union(Privileges::ALL_DYNAMIC);
        }
        for _ in 0..r.u64()? {
            account.databases.insert(r.str()?, r.privileges(format)?);
        }
        for _ in 0..r.u64()? {
            account.tables.insert((r.str()?, r.str()?), r.privileges(format)?);
        }
        let options = if format > 2 { r.u64()? } else { 0 };
        for _ in 0..options {
            let (tag, value) = (r.u8()?, r.u64()?);
            if !account.set_option(tag, value) {
                return Err(SqlError::unknown(format!(
                    "The stored account {what} has an unknown option"
                )));
            }
        }
        if format > 3 {
            for _ in 0..r.u64()? {
                account.roles.insert(r.auth_id()?, r.bool()?);
            }
            for _ in 0..r.u64()? {
                account.default_roles.insert(r.auth_id()?);
            }
        }
        if format > 4 {
            for _ in 0..r.u64()? {
                let table = (r.str()?, r.str()?);
                let columns = account.columns.entry(table).or_default();
                for _ in 0..r.u64()? {
                    columns.insert(r.str()?, r.privileges(format)?);
                }
            }
        }
        Ok(account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Level;

    #[test]
    fn an_account_survives_storage() {
        let mut account = Account::new("sbtest", "%");
        account.set_password(AuthPlugin::MysqlNativePassword, b"pw");
        account.global = Privileges::PROCESS;
        account.limits.at_once = 7;
        account
            .databases
            .insert("sbtest".to_owned(), Privileges::all(Level::Database));
        account
            .tables
            .insert(("a".to_owned(), "b".to_owned()), Privileges::SELECT);
        account.auth.expired = true;
        let columns = [("c".to_owned(), Privileges::UPDATE)];
        account
            .columns
            .insert(("a".to_owned(), "d".to_owned()), columns.into());
        account.roles.insert(AuthId::new("r", "%"), true);
        account.roles.insert(AuthId::new("s", "%"), false);
        account.default_roles.insert(AuthId::new("r", "%"));
        assert_eq!(
            Account::decode("sbtest", "%", &account.encode()),
            Ok(account.clone())
        );
        assert!(account.on_table("sbtest", "x").contains(Privileges::INSERT));
        assert!(account.on_table("a", "b").contains(Privileges::SELECT));
        assert!(!account.on_table("a", "c").contains(Privileges::SELECT));
        assert!(account.sees_database("a") && !account.sees_database("b"));
    }

    #[test]
    fn accounts_of_older_formats_are_read() {
        for format in 1..=FORMAT {
            let mut w = Writer::default();
            w.u8(format);
            w.u8(AuthPlugin::CachingSha2Password as u8);
            w.bytes(b"");
            w.bool(true);
            let set = |w: &mut Writer, set: Privileges| match format {
                1 => w.u64(set.0 as u64),
                _ => w.privileges(set),
            };
            if format > 1 {
                w.bool(false);
            }
            set(&mut w, Privileges::PROCESS);
            w.u64(0);
            w.u64(1);
            w.str("a");
            w.str("b");
            set(&mut w, Privileges::SELECT);
            // No options from 3 on, no roles and none of a login from 4 on, no columns from 5 on.
            let empty_lists = [0, 0, 1, 3, 4][format as usize - 1];
            w.0.extend([0].repeat(empty_lists));
            let account = Account::decode("u", "%", &w.0).unwrap();
            assert!(account.auth.locked && account.global == Privileges::PROCESS);
            assert!(account.on_table("a", "b").contains(Privileges::SELECT));
            assert!(account.roles.is_empty() && account.columns.is_empty());
        }
        assert!(Account::decode("u", "%", &[FORMAT + 1]).is_err());
    }
}
