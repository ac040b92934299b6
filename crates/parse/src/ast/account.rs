//! Accounts and privileges.

use super::ObjectName;

/// `'user'@'host'`; host `%` if not written. An empty user with `current` set is CURRENT_USER().
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName {
    pub user: String,
    pub host: String,
    pub current: bool,
}

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

#[derive(Debug, Clone, PartialEq)]
pub struct UserAuth {
    pub plugin: Option<String>,
    pub secret: AuthSecret,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuthSecret {
    /// `IDENTIFIED WITH plugin`
    None,
    /// `IDENTIFIED … BY 'password'`
    Password(Vec<u8>),
    /// `IDENTIFIED WITH plugin AS 'hash'`
    Hash(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeLevel {
    /// `*.*`
    Global,
    /// `db.*`; `*` is the current database (None).
    Database(Option<String>),
    Table(ObjectName),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Privilege {
    /// Upper-cased words: `ALL`, `SELECT`, `CREATE TEMPORARY TABLES`, …
    pub name: String,
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub privileges: Vec<Privilege>,
    pub level: PrivilegeLevel,
    pub users: Vec<UserName>,
    pub grant_option: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub privileges: Vec<Privilege>,
    /// None: `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`
    pub level: Option<PrivilegeLevel>,
    pub users: Vec<UserName>,
    pub if_exists: bool,
}
