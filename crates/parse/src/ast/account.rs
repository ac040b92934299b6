//! Accounts and privileges.

use super::ObjectName;

/// `'user'@'host'`; host `%` if not written. An empty user with `current` set is CURRENT_USER().
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName {
    /// The user's name as written; empty is the anonymous user, unless `current` is set.
    pub user: String,
    /// The host pattern as written, `%` by default.
    pub host: String,
    /// `CURRENT_USER`, `CURRENT_USER()`, `USER()`: the account of the session; the other fields are empty.
    pub current: bool,
}

/// A user of CREATE USER or ALTER USER, and how it proves itself.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    /// The account.
    pub name: UserName,
    /// `IDENTIFIED …`; `None`: no password for a new account, no change of an old one.
    pub auth: Option<UserAuth>,
    /// `DISCARD OLD PASSWORD`
    pub discard_old: bool,
}

/// What CREATE USER and ALTER USER say of the accounts besides their secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// `ACCOUNT LOCK` = Some(true), `ACCOUNT UNLOCK` = Some(false)
    pub locked: Option<bool>,
    /// `REQUIRE …`
    pub requirement: Option<Requirement>,
    /// `WITH MAX_QUERIES_PER_HOUR 100 …`
    pub limits: ResourceLimits,
    /// `PASSWORD …` and kin.
    pub passwords: PasswordOptions,
    /// `COMMENT` or `ATTRIBUTE`.
    pub attribute: Option<AttributeChange>,
}

/// What an account demands of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Requirement {
    /// `REQUIRE NONE`: nothing.
    #[default]
    None,
    /// `REQUIRE SSL`: TLS.
    Ssl,
    /// `REQUIRE X509`: TLS, and a certificate of the client's.
    X509,
    /// TLS with each of these that is given.
    Given {
        /// `SUBJECT`: of the client's certificate, as `/C=SE/O=Example/CN=client`.
        subject: Option<String>,
        /// `ISSUER`: the authority that has signed it.
        issuer: Option<String>,
        /// `CIPHER`, by OpenSSL's name.
        cipher: Option<String>,
    },
}

/// What is said of an account's passwords. What may be `DEFAULT` is a value or none inside what is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasswordOptions {
    /// `PASSWORD EXPIRE`: it must be changed.
    pub expire_now: bool,
    /// `PASSWORD EXPIRE DEFAULT`, `NEVER`, `INTERVAL n DAY`
    pub lifetime: Option<Lifetime>,
    /// `PASSWORD HISTORY`: so many changes later a password may come back.
    pub history: Option<Option<u32>>,
    /// `PASSWORD REUSE INTERVAL`: so many days later.
    pub reuse_days: Option<Option<u32>>,
    /// `PASSWORD REQUIRE CURRENT`; false: `OPTIONAL`.
    pub require_current: Option<Option<bool>>,
    /// `FAILED_LOGIN_ATTEMPTS`; 0: they are not counted.
    pub failed_attempts: Option<u16>,
    /// `PASSWORD_LOCK_TIME`
    pub lock_time: Option<LockTime>,
}

/// How long a password serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// `default_password_lifetime` days.
    #[default]
    Default,
    /// For ever.
    Never,
    /// So many days.
    Days(u16),
}

/// How long too many failed logins lock an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockTime {
    /// Not at all.
    #[default]
    None,
    /// So many days.
    Days(u16),
    /// Until it is unlocked.
    Unbounded,
}

/// A change of an account's attributes, a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeChange {
    /// `COMMENT 'text'`: the member `comment`.
    Comment(String),
    /// `ATTRIBUTE 'object'`: merged into what is there; a member that is null goes.
    Merge(String),
}

/// What is said besides the new password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretChange {
    /// `REPLACE 'current password'`
    pub current: Option<Vec<u8>>,
    /// `RETAIN CURRENT PASSWORD`: it may still be used.
    pub retain: bool,
}

/// The limits of an account's resources that are written; 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// `MAX_QUERIES_PER_HOUR`
    pub queries_per_hour: Option<u32>,
    /// `MAX_UPDATES_PER_HOUR`
    pub updates_per_hour: Option<u32>,
    /// `MAX_CONNECTIONS_PER_HOUR`
    pub connections_per_hour: Option<u32>,
    /// `MAX_USER_CONNECTIONS`: at once.
    pub user_connections: Option<u32>,
}

/// Which roles SET ROLE makes active, or SET DEFAULT ROLE makes those of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChoice {
    /// `NONE`
    None,
    /// `DEFAULT`: those of a login; SET ROLE only.
    Default,
    /// `ALL`: every role that is granted, but those of `ALL EXCEPT`, which SET ROLE only knows.
    All {
        /// The roles left out; empty without EXCEPT.
        except: Vec<UserName>,
    },
    /// The roles named.
    List(Vec<UserName>),
}

/// GRANT and REVOKE of roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// The roles that are granted or taken away.
    pub roles: Vec<UserName>,
    /// The accounts that get or lose them.
    pub users: Vec<UserName>,
    /// `WITH ADMIN OPTION`: the accounts may grant them further.
    pub admin_option: bool,
    /// `REVOKE IF EXISTS`: a warning rather than an error for a role that does not exist.
    pub if_exists: bool,
    /// `IGNORE UNKNOWN USER`: a warning rather than an error for an account that does not exist.
    pub ignore_unknown_user: bool,
}

/// IDENTIFIED …
#[derive(Debug, Clone, PartialEq)]
pub struct UserAuth {
    /// `WITH plugin`, in lower case; `None`: the default plugin, or the account's own when it is changed.
    pub plugin: Option<String>,
    /// The password, if one is given.
    pub secret: AuthSecret,
    /// What becomes of the present password.
    pub change: SecretChange,
}

/// A password, or what is stored of one.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthSecret {
    /// `IDENTIFIED WITH plugin`
    None,
    /// `IDENTIFIED … BY 'password'`
    Password(Vec<u8>),
    /// `IDENTIFIED … BY RANDOM PASSWORD`: the server makes one and tells it.
    Random,
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
    /// `[db.]table`
    Table(ObjectName),
}

/// A privilege by its name, on columns if some are listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Privilege {
    /// Upper-cased words: `ALL`, `SELECT`, `CREATE TEMPORARY TABLES`, …
    pub name: String,
    /// `SELECT (a, b)`: the columns as written; empty: all of the table.
    pub columns: Vec<String>,
}

/// GRANT
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// What is granted.
    pub privileges: Vec<Privilege>,
    /// What it is granted on.
    pub level: PrivilegeLevel,
    /// The accounts that get it.
    pub users: Vec<UserName>,
    /// `WITH GRANT OPTION`: they may grant it further.
    pub grant_option: bool,
    /// `AS user [WITH ROLE …]`: whose restrictions go with it, in place of the session's own.
    pub grantor: Option<(UserName, RoleChoice)>,
}

/// REVOKE
#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    /// What is taken away.
    pub privileges: Vec<Privilege>,
    /// None: `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`
    pub level: Option<PrivilegeLevel>,
    /// The accounts that lose it.
    pub users: Vec<UserName>,
    /// `IF EXISTS`: a warning rather than an error for an account that does not exist.
    pub if_exists: bool,
}
