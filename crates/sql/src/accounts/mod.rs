//! Accounts: who may connect from where, and what they may do.

pub mod password;

/// What the server needs to let somebody in: the account that a user name and a host select, and how it proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountAuth {
    /// The account's own name, for `CURRENT_USER()`; empty for an anonymous account.
    pub user: String,
    /// The account's host pattern.
    pub host: String,
    pub plugin: AuthPlugin,
    /// As `mysql.user.authentication_string` stores it: `*` and 40 hex digits of SHA1(SHA1(password)) for
    /// `mysql_native_password`; `$A$005$`, 20 bytes of salt and 43 bytes of digest for `caching_sha2_password`. Empty:
    /// no password.
    pub auth_string: Vec<u8>,
    pub locked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthPlugin {
    MysqlNativePassword,
    CachingSha2Password,
}

impl AuthPlugin {
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::MysqlNativePassword => "mysql_native_password",
            AuthPlugin::CachingSha2Password => "caching_sha2_password",
        }
    }
}
