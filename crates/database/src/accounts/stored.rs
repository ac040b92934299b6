//! Accounts as bytes, as they stand in the engine's catalog, one entry each under their names.
//!
//! A field is only ever added at the end, under a new format; an account in an older format is read, and stored in the
//! newest when it is changed.

use super::{Account, AuthId, AuthPlugin, Lifetime, LockTime, Privileges, Requirement};
use crate::dictionary::codec::{Reader, Writer};
use crate::error::{Result, SqlError};

/// The format of a stored account: 2 has `REQUIRE SSL`, and sets of privileges of 128 bits where 1 had 64; 3 ends with
/// options, each a tag and a number; behind them 4 has the roles that it is granted and those of a login, 5
/// the privileges on columns; 6 ends with texts, each with a tag, and its former passwords; 7 with the dynamic privileges
/// that it may grant, before which GRANT OPTION was for these, too; 8 with what is taken from its global privileges, and who
/// granted on each table.
const FORMAT: u8 = 8;

/// The tags of stored options. An option that is not stored has its default.
mod option {
    pub const QUERIES_PER_HOUR: u8 = 1;
    pub const UPDATES_PER_HOUR: u8 = 2;
    pub const CONNECTIONS_PER_HOUR: u8 = 3;
    pub const USER_CONNECTIONS: u8 = 4;
    pub const EXPIRED: u8 = 5;
    /// 1: never; n + 2: n days.
    pub const LIFETIME: u8 = 6;
    /// Numbers that may be zero are stored plus one.
    pub const HISTORY: u8 = 7;
    pub const REUSE_DAYS: u8 = 8;
    pub const REQUIRE_CURRENT: u8 = 9;
    pub const FAILED_ATTEMPTS: u8 = 10;
    /// 1: unbounded; n + 1: n days.
    pub const LOCK_TIME: u8 = 11;
    pub const CHANGED_AT: u8 = 12;
    pub const REQUIRE_X509: u8 = 13;
}

/// The tags of stored texts.
mod text {
    pub const SUBJECT: u8 = 1;
    pub const ISSUER: u8 = 2;
    pub const CIPHER: u8 = 3;
    pub const ATTRIBUTE: u8 = 4;
    pub const SECOND_PASSWORD: u8 = 5;
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
        w.bool(self.auth.requirement != Requirement::None);
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
        let texts = self.texts();
        w.u64(texts.len() as u64);
        for (tag, text) in texts {
            w.u8(tag);
            w.bytes(text);
        }
        w.u64(self.former.len() as u64);
        for (set_s, stored) in &self.former {
            w.u64(*set_s);
            w.bytes(stored);
        }
        w.privileges(self.grantable);
        w.u64(self.restrictions.len() as u64);
        for (name, taken) in &self.restrictions {
            w.str(name);
            w.privileges(*taken);
        }
        w.u64(self.grantors.len() as u64);
        for ((schema, name), grantor) in &self.grantors {
            w.str(schema);
            w.str(name);
            w.str(grantor);
        }
        w.0
    }

    /// The options that are not as a new account has them.
    fn options(&self) -> Vec<(u8, u64)> {
        let limits = &self.limits;
        let plus_one = |value: Option<u32>| value.map_or(0, |value| value as u64 + 1);
        let lifetime = match self.rules.lifetime {
            Lifetime::Default => 0,
            Lifetime::Never => 1,
            Lifetime::Days(days) => days as u64 + 2,
        };
        let lock_time = match self.rules.lock_time {
            LockTime::None => 0,
            LockTime::Unbounded => 1,
            LockTime::Days(days) => days as u64 + 1,
        };
        let all = [
            (option::QUERIES_PER_HOUR, limits.queries as u64),
            (option::UPDATES_PER_HOUR, limits.updates as u64),
            (option::CONNECTIONS_PER_HOUR, limits.connections as u64),
            (option::USER_CONNECTIONS, limits.at_once as u64),
            (option::EXPIRED, self.auth.expired as u64),
            (option::LIFETIME, lifetime),
            (option::HISTORY, plus_one(self.rules.history)),
            (option::REUSE_DAYS, plus_one(self.rules.reuse_days)),
            (
                option::REQUIRE_CURRENT,
                plus_one(self.rules.require_current.map(u32::from)),
            ),
            (option::FAILED_ATTEMPTS, self.rules.failed_attempts as u64),
            (option::LOCK_TIME, lock_time),
            (option::CHANGED_AT, self.changed_at_s),
            (
                option::REQUIRE_X509,
                (self.auth.requirement == Requirement::X509) as u64,
            ),
        ];
        all.into_iter().filter(|(_, value)| *value != 0).collect()
    }

    /// The texts that it has.
    fn texts(&self) -> Vec<(u8, &[u8])> {
        let mut texts = Vec::new();
        if let Requirement::Given {
            subject,
            issuer,
            cipher,
        } = &self.auth.requirement
        {
            let parts = [
                (text::SUBJECT, subject),
                (text::ISSUER, issuer),
                (text::CIPHER, cipher),
            ];
            texts.extend(
                parts
                    .into_iter()
                    .filter_map(|(tag, part)| Some((tag, part.as_ref()?.as_bytes()))),
            );
        }
        texts.extend(
            self.attribute
                .iter()
                .map(|json| (text::ATTRIBUTE, json.as_bytes())),
        );
        if !self.auth.second.is_empty() {
            texts.push((text::SECOND_PASSWORD, &self.auth.second));
        }
        texts
    }

    /// Takes over a stored text; false if there is none of that tag.
    fn set_text(&mut self, tag: u8, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if matches!(tag, text::SUBJECT | text::ISSUER | text::CIPHER) {
            if !matches!(self.auth.requirement, Requirement::Given { .. }) {
                self.auth.requirement = Requirement::Given {
                    subject: None,
                    issuer: None,
                    cipher: None,
                };
            }
            if let Requirement::Given {
                subject,
                issuer,
                cipher,
            } = &mut self.auth.requirement
            {
                match tag {
                    text::SUBJECT => *subject = Some(text),
                    text::ISSUER => *issuer = Some(text),
                    _ => *cipher = Some(text),
                }
            }
            return true;
        }
        match tag {
            text::ATTRIBUTE => self.attribute = Some(text),
            text::SECOND_PASSWORD => self.auth.second = bytes.to_vec(),
            _ => return false,
        }
        true
    }

    /// Takes over a stored option; false if there is none of that tag.
    fn set_option(&mut self, tag: u8, value: u64) -> bool {
        let limits = &mut self.limits;
        if value == 0 {
            return false;
        }
        match tag {
            option::QUERIES_PER_HOUR => limits.queries = value as u32,
            option::UPDATES_PER_HOUR => limits.updates = value as u32,
            option::CONNECTIONS_PER_HOUR => limits.connections = value as u32,
            option::USER_CONNECTIONS => limits.at_once = value as u32,
            option::EXPIRED => self.auth.expired = value != 0,
            option::LIFETIME if value == 1 => self.rules.lifetime = Lifetime::Never,
            option::LIFETIME => self.rules.lifetime = Lifetime::Days((value - 2) as u16),
            option::HISTORY => self.rules.history = Some((value - 1) as u32),
            option::REUSE_DAYS => self.rules.reuse_days = Some((value - 1) as u32),
            option::REQUIRE_CURRENT => self.rules.require_current = Some(value > 1),
            option::FAILED_ATTEMPTS => self.rules.failed_attempts = value as u16,
            option::LOCK_TIME if value == 1 => self.rules.lock_time = LockTime::Unbounded,
            option::LOCK_TIME => self.rules.lock_time = LockTime::Days((value - 1) as u16),
            option::CHANGED_AT => self.changed_at_s = value,
            option::REQUIRE_X509 => self.auth.requirement = Requirement::X509,
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
        if format > 1 && r.bool()? {
            account.auth.requirement = Requirement::Ssl;
        }
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
        if format > 5 {
            for _ in 0..r.u64()? {
                let (tag, text) = (r.u8()?, r.bytes()?);
                if !account.set_text(tag, text) {
                    return Err(SqlError::unknown(format!(
                        "The stored account {what} has an unknown text"
                    )));
                }
            }
            for _ in 0..r.u64()? {
                account.former.push((r.u64()?, r.bytes()?.to_vec()));
            }
        }
        account.grantable = match format > 6 {
            true => r.privileges(format)?,
            false if account.global.contains(Privileges::GRANT_OPTION) => {
                account.global.intersection(Privileges::ALL_DYNAMIC)
            }
            false => Privileges::NONE,
        };
        if format > 7 {
            for _ in 0..r.u64()? {
                account.restrictions.insert(r.str()?, r.privileges(format)?);
            }
            for _ in 0..r.u64()? {
                account.grantors.insert((r.str()?, r.str()?), r.str()?);
            }
        }
        Ok(account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::{Level, PasswordRules};

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
        account.grantable = Privileges::ROLE_ADMIN;
        account.restrictions.insert("r".to_owned(), Privileges::PROCESS);
        let table = ("a".to_owned(), "b".to_owned());
        account.grantors.insert(table, "root@localhost".to_owned());
        account.auth.expired = true;
        let columns = [("c".to_owned(), Privileges::UPDATE)];
        account
            .columns
            .insert(("a".to_owned(), "d".to_owned()), columns.into());
        account.roles.insert(AuthId::new("r", "%"), true);
        account.roles.insert(AuthId::new("s", "%"), false);
        account.default_roles.insert(AuthId::new("r", "%"));
        account.rules = PasswordRules {
            lifetime: Lifetime::Days(30),
            history: Some(0),
            reuse_days: Some(7),
            require_current: Some(false),
            failed_attempts: 3,
            lock_time: LockTime::Unbounded,
        };
        account.changed_at_s = 1 << 31;
        account.former = vec![(1, b"*A".to_vec()), (2, b"*B".to_vec())];
        account.attribute = Some("{}".to_owned());
        account.auth.second = b"*C".to_vec();
        account.auth.requirement = Requirement::Given {
            subject: Some("/CN=a".to_owned()),
            issuer: None,
            cipher: Some(String::new()),
        };
        assert_eq!(
            Account::decode("sbtest", "%", &account.encode()),
            Ok(account.clone())
        );
        for requirement in [Requirement::None, Requirement::Ssl, Requirement::X509] {
            let mut other = Account::new("u", "%");
            other.rules.lock_time = LockTime::Days(1);
            other.rules.lifetime = Lifetime::Never;
            other.auth.requirement = requirement;
            assert_eq!(Account::decode("u", "%", &other.encode()), Ok(other));
        }
        assert!(account.on_table("sbtest", "x").contains(Privileges::INSERT));
        assert!(account.on_table("a", "b").contains(Privileges::SELECT));
        assert!(!account.on_table("a", "c").contains(Privileges::SELECT));
        let any = Privileges::all(Level::Database);
        assert!(account.holds_in_database(any, "a") && !account.holds_in_database(any, "b"));
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
            // No options from 3 on, no roles and none of a login from 4 on, no columns from 5 on, no texts and no former
            // passwords from 6 on, nothing to be granted further from 7 on, no restrictions
            // and no grantors in 8.
            let empty_lists = [0, 0, 1, 3, 4, 6, 6, 6][format as usize - 1];
            w.0.extend([0].repeat(empty_lists));
            if format > 6 {
                w.privileges(Privileges::NONE);
            }
            if format > 7 {
                w.0.extend([0].repeat(2));
            }
            let account = Account::decode("u", "%", &w.0).unwrap();
            assert!(account.auth.locked && account.global == Privileges::PROCESS);
            assert!(account.on_table("a", "b").contains(Privileges::SELECT));
            assert!(account.roles.is_empty() && account.columns.is_empty());
            assert!(account.grantable.is_empty());
        }
        assert!(Account::decode("u", "%", &[FORMAT + 1]).is_err());
    }

    /// An account that is stored in any bytes is read, or refused.
    #[test]
    fn stored_accounts_of_any_bytes() {
        let mut account = Account::new("u", "%");
        account.set_password(AuthPlugin::CachingSha2Password, b"pw");
        let db = ("d".to_owned(), Privileges::SELECT);
        account.databases.insert(db.0, db.1);
        account.roles.insert(AuthId::new("r", "%"), true);
        account.default_roles.insert(AuthId::new("r", "%"));
        account.former = vec![(1, b"*A".to_vec())];
        account.attribute = Some("{}".to_owned());
        account.restrictions.insert("r".to_owned(), Privileges::PROCESS);
        account.rules.lifetime = Lifetime::Days(30);
        account.auth.requirement = Requirement::X509;
        let corpus = tidemark_testing::fuzz::Corpus::new("stored_account")
            .input(Account::new("u", "%").encode())
            .input(account.encode());
        corpus.play(20_000, |input| {
            if let Ok(account) = Account::decode("u", "%", input) {
                let again = Account::decode("u", "%", &account.encode());
                assert_eq!(again, Ok(account), "what is written is read");
            }
        });
    }
}
