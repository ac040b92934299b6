//! Accounts: from where they may connect, and what they may do.
//!
//! All accounts stand in memory, most specific host first, and in the engine's catalog, one entry each. A connection
//! is given the first account whose user and host match; it keeps its privileges by reference, so that GRANT and
//! REVOKE reach sessions that are already open at their next statement.
//!
//! A role is an account too, one that is locked: [`roles`] is who has which, [`rights`] what a session may do with those
//! that are active in it. [`stored`] is an account as bytes.

mod attempts;
mod hosts;
pub mod password;
pub(crate) mod pattern;
pub mod privilege;
mod proof;
pub mod requirement;
mod resources;
mod restrictions;
mod rights;
pub mod roles;
mod secrets;
mod stored;
pub mod strength;

pub use crate::parse::ast::{Lifetime, LockTime, Requirement};
pub use attempts::Attempts;
pub use hosts::{Host, Hosts, Refusal};
pub use pattern::pattern_matches;
pub use privilege::{Level, Privileges};
pub use requirement::Encryption;
pub use resources::{Limits, Resources, Seat};
pub use restrictions::Restrictions;
pub use rights::Rights;
pub use roles::AuthId;
pub use secrets::{DefaultRules, PasswordRules, is_of, now_s};

use crate::error::{Result, SqlError, er};
use parking_lot::{Mutex, MutexGuard, RwLock};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tidemark_engine::{Ddl, Engine};

const SPACE: &str = "account";

/// What a login needs: the account that a user name and a host select, and how it proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountAuth {
    /// The account's own name, for `CURRENT_USER()`; empty for an anonymous account.
    pub user: String,
    /// The account's host pattern.
    pub host: String,
    /// How the account proves its password. `caching_sha2_password` by default.
    pub plugin: AuthPlugin,
    /// As `mysql.user.authentication_string` stores it: `*` and 40 hex digits of SHA1(SHA1(password)) for
    /// `mysql_native_password`; `$A$00A$`, 20 bytes of salt and 43 bytes of digest for `caching_sha2_password`. Empty:
    /// no password.
    pub auth_string: Vec<u8>,
    /// SHA256(SHA256(password)), if the server has seen the password since it started: the quick handshake of
    /// `caching_sha2_password` can be checked against it.
    pub fast_digest: Option<[u8; 32]>,
    /// `ACCOUNT LOCK`: logins are refused.
    pub locked: bool,
    /// The account has no password yet and wants one before a login, as a new role does.
    pub expired: bool,
    /// The password before the present one, which may still be used; empty: there is none.
    pub second: Vec<u8>,
    /// What the connection must be.
    pub requirement: Requirement,
}

impl AccountAuth {
    /// The same account with the same secret, whatever is remembered of it besides.
    fn is_as(&self, other: &AccountAuth) -> bool {
        AccountAuth {
            fast_digest: other.fast_digest,
            ..self.clone()
        } == *other
    }
}

/// How a client proves that it knows an account's password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthPlugin {
    /// SHA1 of the password's SHA1, scrambled with the server's challenge.
    MysqlNativePassword,
    /// SHA256 with salt and 10,000 rounds stored; a quicker digest is kept once the password has been seen.
    CachingSha2Password,
}

impl AuthPlugin {
    /// MySQL's name of the plugin, as `IDENTIFIED WITH` takes it.
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::MysqlNativePassword => "mysql_native_password",
            AuthPlugin::CachingSha2Password => "caching_sha2_password",
        }
    }

    /// The plugin of that name, in any case. `None`: there is no such plugin here.
    pub fn by_name(name: &str) -> Option<AuthPlugin> {
        [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password]
            .into_iter()
            .find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }

    /// The plugin that a stored password is of.
    pub fn of_stored(stored: &[u8]) -> AuthPlugin {
        match password::native_digest(stored) {
            Some(_) => AuthPlugin::MysqlNativePassword,
            None => AuthPlugin::CachingSha2Password,
        }
    }
}

/// Privileges on columns of one table, by name, as it was written first.
pub type Columns = BTreeMap<String, Privileges>;

/// An account: how it logs in, how much it may use, and its privileges on each level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name, host pattern and password.
    pub auth: AccountAuth,
    /// `WITH MAX_…`; no limits by default.
    pub limits: Limits,
    /// What is demanded of its passwords.
    pub rules: PasswordRules,
    /// When its password was set, in seconds since 1970; 0: before that was noted.
    pub changed_at_s: u64,
    /// Former passwords, the present one last, as they were stored and when they were set.
    pub former: Vec<(u64, Vec<u8>)>,
    /// `ATTRIBUTE` and `COMMENT`: a JSON object as text.
    pub attribute: Option<String>,
    /// Privileges on `*.*`.
    pub global: Privileges,
    /// The dynamic privileges among these that it may grant further. For the static ones GRANT OPTION says it.
    pub grantable: Privileges,
    /// What is taken from these in single databases.
    pub restrictions: Restrictions,
    /// By database pattern.
    pub databases: BTreeMap<String, Privileges>,
    /// Privileges on single tables, by database and table.
    pub tables: BTreeMap<(String, String), Privileges>,
    /// The account that granted on a table last, by database and table.
    pub grantors: BTreeMap<(String, String), String>,
    /// Privileges on single columns, by database and table, then by column.
    pub columns: BTreeMap<(String, String), Columns>,
    /// The roles that it is granted; true: WITH ADMIN OPTION, which allows it to grant them further.
    pub roles: BTreeMap<AuthId, bool>,
    /// The roles that are active after a login.
    pub default_roles: BTreeSet<AuthId>,
}

impl Account {
    /// An account without password, limits and privileges.
    pub fn new(user: &str, host: &str) -> Account {
        Account {
            auth: AccountAuth {
                user: user.to_owned(),
                host: host.to_owned(),
                plugin: AuthPlugin::CachingSha2Password,
                auth_string: Vec::new(),
                fast_digest: None,
                locked: false,
                expired: false,
                second: Vec::new(),
                requirement: Requirement::None,
            },
            limits: Limits::default(),
            rules: PasswordRules::default(),
            changed_at_s: 0,
            former: Vec::new(),
            attribute: None,
            global: Privileges::NONE,
            grantable: Privileges::NONE,
            restrictions: Restrictions::new(),
            databases: BTreeMap::new(),
            tables: BTreeMap::new(),
            grantors: BTreeMap::new(),
            columns: BTreeMap::new(),
            roles: BTreeMap::new(),
            default_roles: BTreeSet::new(),
        }
    }

    /// Its name, as roles are known by.
    pub fn id(&self) -> AuthId {
        AuthId::new(&self.auth.user, &self.auth.host)
    }

    /// Gives the account a password of at most [`password::PASSWORD_LEN_MAX`] bytes. Returns false if it is longer, which
    /// is found before anything is hashed.
    pub fn set_password(&mut self, plugin: AuthPlugin, password: &[u8]) -> bool {
        if password.len() > password::PASSWORD_LEN_MAX {
            return false;
        }
        let stored = match plugin {
            AuthPlugin::MysqlNativePassword => password::native_string(password),
            AuthPlugin::CachingSha2Password => password::caching_sha2_string(password),
        };
        self.set_hashed(plugin, password, stored);
        true
    }

    /// Gives the account a password and its stored form.
    pub fn set_hashed(&mut self, plugin: AuthPlugin, password: &[u8], stored: Vec<u8>) {
        self.set_stored(plugin, stored);
        if plugin == AuthPlugin::CachingSha2Password {
            self.auth.fast_digest = Some(Sha256::digest(Sha256::digest(password)).into());
        }
    }

    /// Gives the account a password of which only the stored form is known; empty: none.
    pub fn set_stored(&mut self, plugin: AuthPlugin, stored: Vec<u8>) {
        self.auth.plugin = plugin;
        self.auth.expired = false;
        self.auth.fast_digest = None;
        self.auth.auth_string = stored;
    }

    /// What the account may do with a database, not counting single tables. Of several grants whose patterns match, the
    /// most specific decides.
    pub fn on_database(&self, schema: &str) -> Privileges {
        let granted = self.by_pattern(|pattern| pattern_matches(pattern, schema, false));
        self.global_on(schema).union(granted)
    }

    /// What the account may do with every database that a pattern, as GRANT is given, may stand for.
    pub fn on_databases_like(&self, wanted: &str) -> Privileges {
        let granted = self.by_pattern(|pattern| pattern::covers(pattern, wanted));
        self.global_on_all_like(wanted).union(granted)
    }

    fn by_pattern(&self, fits: impl Fn(&str) -> bool) -> Privileges {
        let fitting = self.databases.iter().filter(|(pattern, _)| fits(pattern));
        let granted = fitting.max_by_key(|(pattern, _)| pattern::specificity(pattern));
        granted.map_or(Privileges::NONE, |(_, privileges)| *privileges)
    }

    /// What the account may do with a table: its privileges there, on the database and globally.
    pub fn on_table(&self, schema: &str, table: &str) -> Privileges {
        let all = self.on_database(schema);
        match self.tables.get(&(schema.to_owned(), table.to_owned())) {
            Some(privileges) => all.union(*privileges),
            None => all,
        }
    }

    /// Gives it all privileges, and the right to grant them.
    fn hold_everything(&mut self) {
        self.global = Privileges::all(Level::Global).union(Privileges::GRANT_OPTION);
        self.grantable = Privileges::ALL_DYNAMIC;
    }

    /// Takes out what stands for no privilege.
    pub fn forget_empty(&mut self) {
        self.databases.retain(|_, set| !set.is_empty());
        self.tables.retain(|_, set| !set.is_empty());
        for columns in self.columns.values_mut() {
            columns.retain(|_, set| !set.is_empty());
        }
        self.columns.retain(|_, columns| !columns.is_empty());
        let (tables, columns) = (&self.tables, &self.columns);
        self.grantors
            .retain(|table, _| tables.contains_key(table) || columns.contains_key(table));
        self.forget_restrictions();
    }

    /// What the account is granted on single columns of a table.
    pub fn columns_of(&self, schema: &str, table: &str) -> Option<&Columns> {
        if self.columns.is_empty() {
            return None;
        }
        self.columns.get(&(schema.to_owned(), table.to_owned()))
    }

    /// Whether the account holds one of the privileges of databases on the database or on a table in it.
    pub fn holds_in_database(&self, wanted: Privileges, schema: &str) -> bool {
        let mut tables = self.tables.iter();
        self.on_database(schema).intersects(wanted)
            || tables.any(|((granted, _), set)| granted == schema && set.intersects(wanted))
            || self.columns.keys().any(|(granted, _)| granted == schema)
    }

    /// `'user'@'host'`, as error texts write it.
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.auth.user, self.auth.host)
    }

    fn key(&self) -> Vec<u8> {
        format!("{}\0{}", self.auth.user, self.auth.host).into_bytes()
    }
}

/// Whether a client's host is one of a pattern's. A client of this machine is `localhost`, and by TCP also a loopback
/// address; which of the two is not told apart.
fn host_matches(pattern: &str, host: &str) -> bool {
    let local = matches!(host, "localhost" | "127.0.0.1" | "::1" | "::ffff:127.0.0.1");
    if local && matches!(pattern, "127.0.0.1" | "::1") {
        return true;
    }
    if pattern.is_empty() || pattern == "%" {
        return true;
    }
    if pattern.eq_ignore_ascii_case("localhost") {
        return local;
    }
    if let Some((network, mask)) = pattern.split_once('/') {
        return network_matches(network, mask, host);
    }
    pattern_matches(pattern, host, true)
}

/// `192.168.1.0/255.255.255.0` or `192.168.1.0/24`.
fn network_matches(network: &str, mask: &str, host: &str) -> bool {
    use std::net::Ipv4Addr;
    let parse = |text: &str| text.parse::<Ipv4Addr>().ok().map(u32::from);
    let mask = match mask.parse::<u32>() {
        Ok(bits) if bits <= 32 => Some(u32::MAX.checked_shl(32 - bits).unwrap_or(0)),
        _ => parse(mask),
    };
    matches!((parse(network), mask, parse(host)), (Some(n), Some(m), Some(h)) if h & m == n & m)
}

/// Specific hosts before patterns, patterns by how much stands before the first wildcard.
fn specificity(account: &Account) -> (usize, usize, bool) {
    let host = &account.auth.host;
    let wild = host.find(['%', '_']);
    let class = match wild {
        None if !host.is_empty() => 0,
        Some(_) if host != "%" => 1,
        _ => 2,
    };
    (
        class,
        usize::MAX - wild.unwrap_or(0),
        account.auth.user.is_empty(),
    )
}

/// The name of the account of every session under `skip_grant_tables`, and of the one that runs `init_file`. It is not stored,
/// a login cannot name it, and no account may be given it.
pub(crate) const EVERYBODY: (&str, &str) = ("skip-grants user", "skip-grants host");

/// An account that may do everything, without a password.
fn unrestricted() -> Arc<Account> {
    let mut account = Account::new(EVERYBODY.0, EVERYBODY.1);
    account.hold_everything();
    Arc::new(account)
}

/// All accounts.
pub struct Accounts {
    list: RwLock<Vec<Arc<Account>>>,
    /// Grows with every change: what was allowed at the same version still is.
    version: AtomicU64,
    /// Held by a statement from reading the accounts it changes to storing them: the copy that it stores is of what was
    /// there, and undoes no other statement's change.
    change: Mutex<()>,
    /// The wrong passwords of those that count them.
    pub attempts: Attempts,
    /// `skip_grant_tables`: everybody is let in, and may do everything.
    open: AtomicBool,
    disguise: proof::Disguise,
    /// `mandatory_roles`: every account has these, those of them that exist.
    mandatory: RwLock<BTreeSet<AuthId>>,
}

/// How often a statement that waits for others to change accounts looks whether it still should.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Accounts {
    /// Reads the accounts; on first start there is `root@localhost`, without password and with all privileges.
    pub fn load(engine: &Engine) -> Result<Accounts> {
        let mut list = Vec::new();
        for (key, value) in engine.meta_scan(SPACE)? {
            let key = String::from_utf8_lossy(&key).into_owned();
            let (user, host) = key.split_once('\0').unwrap_or((&key, "%"));
            if (user, host) == EVERYBODY {
                continue;
            }
            list.push(Arc::new(Account::decode(user, host, &value)?));
        }
        let accounts = Accounts {
            list: RwLock::new(list),
            version: AtomicU64::new(1),
            change: Mutex::new(()),
            attempts: Attempts::default(),
            open: AtomicBool::new(false),
            disguise: proof::Disguise::default(),
            mandatory: RwLock::default(),
        };
        if accounts.list.read().is_empty() {
            let mut root = Account::new("root", "localhost");
            root.hold_everything();
            let stored = engine.ddl().map_err(SqlError::from);
            match stored.and_then(|ddl| accounts.apply(ddl, vec![root.clone()], Vec::new())) {
                // They cannot be read, and nothing can be stored: a person must get in.
                Err(_) if engine.force_recovery() > 0 => accounts.list.write().push(Arc::new(root)),
                done => done?,
            }
        }
        accounts.sort();
        Ok(accounts)
    }

    fn sort(&self) {
        let mut list = self.list.write();
        list.sort_by_key(|account| specificity(account));
        self.disguise.note(&list);
    }

    /// The plugin that a login of a name without an account is asked to go on with.
    pub fn plugin_of_unknown(&self, user: &str) -> AuthPlugin {
        self.disguise.plugin(user)
    }

    /// Whether a password that was sent is the account's, and whether it is its second one; at the same price for every account,
    /// and for none.
    pub fn prove(&self, account: Option<&AccountAuth>, password: &[u8]) -> (bool, bool) {
        self.disguise.prove(account, password)
    }

    /// Grows with every change of an account: privileges found under the same version still hold.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The right to change accounts, one statement at a time. As long as it is waited for, `go_on` is asked now and then; its error
    /// ends the wait.
    pub fn change(&self, go_on: impl Fn() -> Result<()>) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(changing) = self.change.try_lock_for(LOOK_EVERY) {
                return Ok(changing);
            }
            go_on()?;
        }
    }

    /// The account a connection is given.
    pub fn find_for(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        if self.are_open() {
            return Some(unrestricted());
        }
        let list = self.list.read();
        list.iter()
            .find(|account| {
                (account.auth.user.is_empty() || account.auth.user == user)
                    && host_matches(&account.auth.host, host)
            })
            .cloned()
    }

    /// The account that a session was let in by. [`EVERYBODY`] is one, which no statement finds by its name.
    pub fn of_session(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        match (user, host) == EVERYBODY {
            true => Some(unrestricted()),
            false => self.get(user, host),
        }
    }

    /// The account of exactly this name.
    pub fn get(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        let list = self.list.read();
        list.iter()
            .find(|account| account.auth.user == user && account.auth.host.eq_ignore_ascii_case(host))
            .cloned()
    }

    /// Everybody may do everything, until [`Accounts::enforce`].
    pub fn skip(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// From now on logins are checked against the accounts again.
    pub fn enforce(&self) {
        self.attempts.forget_all();
        self.open.store(false, Ordering::SeqCst);
    }

    /// Under `skip_grant_tables`.
    pub fn are_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// The account that `init_file` is run as.
    pub fn unrestricted(&self) -> AccountAuth {
        unrestricted().auth.clone()
    }

    /// All accounts, the most specific first: the order in which a login looks for its own.
    pub fn all(&self) -> Vec<Arc<Account>> {
        self.list.read().clone()
    }

    /// Remembers the digest of a password that has just been checked, unless the account has another one by now.
    pub fn cache_digest(&self, checked: &AccountAuth, digest: [u8; 32]) {
        let mut list = self.list.write();
        for account in list.iter_mut() {
            if account.auth.is_as(checked) {
                Arc::make_mut(account).auth.fast_digest = Some(digest);
            }
        }
    }

    /// The account of a view's definer. The account of `skip_grant_tables` defines nothing, except while that is on.
    pub fn of_definer(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        match self.are_open() {
            true => Some(unrestricted()),
            false if (user, host) == EVERYBODY => None,
            false => self.get(user, host),
        }
    }

    /// True if the account is still there with the secret, and as open, as it was when a login began.
    pub fn is_current(&self, checked: &AccountAuth) -> bool {
        let is_everybody = (checked.user.as_str(), checked.host.as_str()) == EVERYBODY;
        match is_everybody {
            true => self.are_open(),
            false => self.list.read().iter().any(|account| account.auth.is_as(checked)),
        }
    }

    /// Stores new or changed accounts and removes others, all or nothing.
    pub fn apply(&self, mut ddl: Ddl, put: Vec<Account>, remove: Vec<(String, String)>) -> Result<()> {
        for (user, host) in &remove {
            ddl.delete_meta(SPACE, format!("{user}\0{host}").as_bytes())?;
        }
        for account in &put {
            ddl.put_meta(SPACE, &account.key(), &account.encode())?;
        }
        ddl.commit()?;
        let mut list = self.list.write();
        list.retain(|account| {
            let is = |user: &str, host: &str| account.auth.user == user && account.auth.host == host;
            !remove.iter().any(|(user, host)| is(user, host))
                && !put.iter().any(|new| is(&new.auth.user, &new.auth.host))
        });
        list.extend(put.into_iter().map(Arc::new));
        list.sort_by_key(|account| specificity(account));
        self.disguise.note(&list);
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// Whether an account may have this name. The name of [`EVERYBODY`] is taken.
pub fn is_reserved(user: &str, host: &str) -> bool {
    user.eq_ignore_ascii_case(EVERYBODY.0) && host.eq_ignore_ascii_case(EVERYBODY.1)
}

/// Error 1142.
pub fn table_denied(command: &str, user: &str, host: &str, table: &str) -> SqlError {
    SqlError::new(
        er::TABLEACCESS_DENIED,
        format!("{command} command denied to user '{user}'@'{host}' for table '{table}'"),
    )
}

/// Error 1044.
pub fn database_denied(user: &str, host: &str, schema: &str) -> SqlError {
    SqlError::new(
        er::DBACCESS_DENIED,
        format!("Access denied for user '{user}'@'{host}' to database '{schema}'"),
    )
}

/// Error 1227.
pub fn privilege_missing(names: &str) -> SqlError {
    SqlError::new(
        er::SPECIFIC_ACCESS_DENIED,
        format!("Access denied; you need (at least one of) the {names} privilege(s) for this operation"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_patterns() {
        assert!(host_matches("localhost", "127.0.0.1"));
        assert!(host_matches("localhost", "localhost"));
        assert!(!host_matches("localhost", "10.0.0.1"));
        assert!(host_matches("10.0.%", "10.0.3.4"));
        assert!(host_matches("192.168.1.0/255.255.255.0", "192.168.1.77"));
        assert!(!host_matches("192.168.1.0/24", "192.168.2.77"));
        assert!(host_matches("%", "anywhere"));
        assert!(pattern_matches("sb\\_%", "sb_test", false));
        assert!(!pattern_matches("sb\\_%", "sbxtest", false));
    }

    #[test]
    fn the_most_specific_host_comes_first() {
        let mut list = [
            ("u", "%"),
            ("u", "10.%"),
            ("u", "10.0.0.1"),
            ("", "10.0.0.1"),
            ("u", "10.0.%"),
        ]
        .map(|(user, host)| Account::new(user, host));
        list.sort_by_key(specificity);
        let hosts: Vec<_> = list
            .iter()
            .map(|account| (account.auth.user.as_str(), account.auth.host.as_str()))
            .collect();
        assert_eq!(
            hosts,
            [
                ("u", "10.0.0.1"),
                ("", "10.0.0.1"),
                ("u", "10.0.%"),
                ("u", "10.%"),
                ("u", "%")
            ]
        );
    }
}
