//! Accounts and privileges.

use super::ObjectName;

/// `'user'@'host'`; host `%` if not written. An empty user with `current` set is CURRENT_USER().
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName {
    pub user: String,
    pub host: String,
    pub current: bool,
}

/// A user of CREATE USER or ALTER USER, and how it proves itself.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    pub name: UserName,
    pub auth: Option<UserAuth>,
}

/// What CREATE USER and ALTER USER say of the accounts besides their secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// `ACCOUNT LOCK` = Some(true), `ACCOUNT UNLOCK` = Some(false)
    pub locked: Option<bool>,
    /// `REQUIRE SSL` = Some(true), `REQUIRE NONE` = Some(false)
    pub require_tls: Option<bool>,
}

/// IDENTIFIED …
#[derive(Debug, Clone, PartialEq)]
pub struct UserAuth {
    pub plugin: Option<String>,
    pub secret: AuthSecret,
}

/// A password, or what is stored of one.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthSecret {
    /// `IDENTIFIED WITH plugin`
    None,
    /// `IDENTIFIED … BY 'password'`
    Password(Vec<u8>),
    /// `IDENTIFIED WITH plugin AS 'hash'`
    Hash(Vec<u8>),
}

/// What privileges are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeLevel {
    /// `*.*`
    Global,
    /// `db.*`; `*` is the current database (None).
    Database(Option<String>),
    Table(ObjectName),
}

/// A privilege by its name, on columns if some are listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Privilege {
    /// Upper-cased words: `ALL`, `SELECT`, `CREATE TEMPORARY TABLES`, …
    pub name: String,
    pub columns: Vec<String>,
}

/// GRANT
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub privileges: Vec<Privilege>,
    pub level: PrivilegeLevel,
    pub users: Vec<UserName>,
    pub grant_option: bool,
}

/// REVOKE
#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub privileges: Vec<Privilege>,
    /// None: `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`
    pub level: Option<PrivilegeLevel>,
    pub users: Vec<UserName>,
    pub if_exists: bool,
}
