//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT and REVOKE of privileges; what is about roles is in `roles`.
//!
//! Each statement changes copies of the accounts it names and stores them all at once, while it holds the right to change
//! accounts. An account that has SYSTEM_USER is changed only by one that has it too.

use super::passwords::{self, Generated};
use super::roles;
use crate::accounts::{
    self, Account, AuthId, AuthPlugin, Columns, Level, Privileges, Restrictions, Rights, now_s,
};
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::dictionary::{TableDef, names_equal, virtual_schema};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{
    AccountOptions, Grant, ObjectName, Privilege, PrivilegeLevel, Revoke, Statement, UserAuth, UserName,
    UserSpec,
};
use std::sync::Arc;

/// Runs a statement on accounts, while no other changes accounts.
pub fn execute(state: &SessionState, statement: &Statement) -> Result<Answer> {
    if state.database.accounts.are_open() {
        return Err(SqlError::option_prevents("--skip-grant-tables"));
    }
    let prepared = Generated::prepared(state, statement)?;
    let _changing = state.change_accounts()?;
    tidemark_engine::failpoint::reach("accounts");
    let done = |done: Result<()>| done.map(|()| Generated::default());
    let generated = match statement {
        Statement::CreateUser {
            users,
            options,
            default_roles,
            if_not_exists,
        } => {
            let new = NewUsers {
                users,
                options,
                default_roles,
            };
            create(state, new, *if_not_exists, prepared)
        }
        Statement::AlterUser {
            users,
            options,
            if_exists,
        } => alter(state, users, (options, *if_exists), prepared),
        Statement::DropUser { users, if_exists } => done(drop_users(state, users, *if_exists)),
        Statement::RenameUser(pairs) => done(rename(state, pairs)),
        Statement::SetPassword { user, secret, change } => {
            passwords::set_password(state, user.as_ref(), (secret, change), prepared)
        }
        Statement::Grant(grant) => done(give(state, grant)),
        Statement::Revoke(revoke) => done(take(state, revoke)),
        Statement::CreateRole { roles, if_not_exists } => done(roles::create(state, roles, *if_not_exists)),
        Statement::DropRole { roles, if_exists } => done(roles::drop(state, roles, *if_exists)),
        Statement::GrantRoles(grant) => done(roles::give(state, grant)),
        Statement::RevokeRoles(revoke) => done(roles::take(state, revoke)),
        Statement::SetDefaultRole { choice, users } => done(roles::set_default(state, choice, users)),
        _ => Err(SqlError::not_supported("this statement")),
    }?;
    Ok(generated.answer())
}

/// The user and host a name stands for.
pub(super) fn named<'a>(state: &'a SessionState, name: &'a UserName) -> (&'a str, &'a str) {
    if name.current {
        let account = &state.info.account;
        return (&account.user, &account.host);
    }
    (&name.user, &name.host)
}

/// Error 1396; `why` stands behind each account.
pub(super) fn failed(statement: &str, users: &[String], why: &str) -> SqlError {
    let users: Vec<String> = users.iter().map(|user| format!("{user}{why}")).collect();
    SqlError::new(
        er::CREATE_USER_FAILED,
        format!("Operation {statement} failed for {}", users.join(",")),
    )
}

pub(super) fn quoted((user, host): (&str, &str)) -> String {
    format!("'{user}'@'{host}'")
}

pub(super) fn require_create_user(state: &SessionState) -> Result<()> {
    state.require_global(Privileges::CREATE_USER, "CREATE USER")
}

/// Error 1227 if the account is above the session's own.
pub(super) fn require_system_user(state: &SessionState, account: &Account) -> Result<()> {
    if account.global.contains(Privileges::SYSTEM_USER) {
        return state.require_global(Privileges::SYSTEM_USER, "SYSTEM_USER");
    }
    Ok(())
}

pub(super) fn apply(state: &SessionState, put: Vec<Account>, remove: Vec<(String, String)>) -> Result<()> {
    let database = &state.database;
    database.accounts.apply(state.ddl()?, put, remove)
}

/// What CREATE USER says of the new accounts.
struct NewUsers<'a> {
    users: &'a [UserSpec],
    options: &'a AccountOptions,
    default_roles: &'a [UserName],
}

fn create(
    state: &SessionState,
    new: NewUsers,
    if_not_exists: bool,
    mut generated: Generated,
) -> Result<Generated> {
    require_create_user(state)?;
    let default_roles = roles::of_new_user(state, new.default_roles)?;
    let mut put: Vec<Account> = Vec::new();
    let mut existing = Vec::new();
    for spec in new.users {
        let (user, host) = named(state, &spec.name);
        let twice = put
            .iter()
            .any(|new| new.auth.user == user && new.auth.host == host);
        if twice || is_taken(state, (user, host)) {
            existing.push(quoted((user, host)));
            continue;
        }
        let mut account = Account::new(user, host);
        account.auth.plugin = default_plugin(state);
        account.changed_at_s = now_s();
        if let Some(auth) = &spec.auth {
            let with_default = UserAuth {
                plugin: Some(
                    auth.plugin
                        .clone()
                        .unwrap_or_else(|| default_plugin(state).name().to_owned()),
                ),
                ..auth.clone()
            };
            let how = (&with_default, "CREATE USER");
            passwords::authenticate(state, &mut account, how, &mut generated)?;
        } else {
            passwords::require_strength(state, b"")?;
        }
        passwords::set_options(state, &mut account, new.options)?;
        account
            .roles
            .extend(default_roles.iter().map(|role| (role.clone(), false)));
        account.default_roles.extend(default_roles.iter().cloned());
        put.push(account);
    }
    note_existing(state, "CREATE USER", &existing, if_not_exists)?;
    apply(state, put, Vec::new())?;
    Ok(generated)
}

/// Error 1396 for accounts that exist, or a note for each.
pub(super) fn note_existing(
    state: &SessionState,
    statement: &str,
    existing: &[String],
    if_not_exists: bool,
) -> Result<()> {
    if !existing.is_empty() && !if_not_exists {
        return Err(failed(statement, existing, " (User account already exists)"));
    }
    for name in existing {
        state.warnings.note(SqlError::new(
            er::USER_ALREADY_EXISTS,
            format!("Authorization ID {name} already exists."),
        ));
    }
    Ok(())
}

/// Whether there is an account of the name, or must be none.
pub(super) fn is_taken(state: &SessionState, (user, host): (&str, &str)) -> bool {
    accounts::is_reserved(user, host) || state.database.accounts.get(user, host).is_some()
}

fn default_plugin(state: &SessionState) -> AuthPlugin {
    let name = state.database.variable("default_authentication_plugin");
    name.and_then(|name| AuthPlugin::by_name(&name))
        .unwrap_or(AuthPlugin::CachingSha2Password)
}

fn alter(
    state: &SessionState,
    users: &[UserSpec],
    (options, if_exists): (&AccountOptions, bool),
    mut generated: Generated,
) -> Result<Generated> {
    let own = &state.info.account;
    let only_own = users
        .iter()
        .all(|spec| named(state, &spec.name) == (&own.user, &own.host));
    if !only_own || *options != AccountOptions::default() {
        require_create_user(state)?;
    }
    let mut put = Vec::new();
    let mut missing = Vec::new();
    for spec in users {
        let name = named(state, &spec.name);
        match state.database.accounts.get(name.0, name.1) {
            None => missing.push(quoted(name)),
            Some(account) => {
                require_system_user(state, &account)?;
                let mut account = Account::clone(&account);
                if let Some(auth) = &spec.auth {
                    let how = (auth, "ALTER USER");
                    passwords::authenticate(state, &mut account, how, &mut generated)?;
                }
                if spec.discard_old {
                    passwords::discard_second(state, &mut account)?;
                }
                passwords::set_options(state, &mut account, options)?;
                put.push(account);
            }
        }
    }
    if !missing.is_empty() {
        if !if_exists {
            return Err(failed("ALTER USER", &missing, " (User account does not exist)"));
        }
        note_missing(state, &missing);
    }
    apply(state, put, Vec::new())?;
    Ok(generated)
}

pub(super) fn note_missing(state: &SessionState, users: &[String]) {
    for name in users {
        state.warnings.note(SqlError::new(
            er::USER_DOES_NOT_EXIST,
            format!("Authorization ID {name} does not exist."),
        ));
    }
}

fn drop_users(state: &SessionState, users: &[UserName], if_exists: bool) -> Result<()> {
    require_create_user(state)?;
    let mut remove = Vec::new();
    let mut missing = Vec::new();
    for user in users {
        let name = named(state, user);
        roles::refuse_mandatory(state, &AuthId::new(name.0, name.1))?;
        match state.database.accounts.get(name.0, name.1) {
            Some(account) => {
                require_system_user(state, &account)?;
                remove.push(account.id());
            }
            None => missing.push(quoted(name)),
        }
    }
    if !missing.is_empty() {
        if !if_exists {
            return Err(failed("DROP USER", &missing, " (User account does not exist)"));
        }
        note_missing(state, &missing);
    }
    let accounts = &state.database.accounts;
    accounts.remove(state.ddl()?, &remove)
}

fn rename(state: &SessionState, pairs: &[(UserName, UserName)]) -> Result<()> {
    require_create_user(state)?;
    let mut put = Vec::new();
    let mut remove = Vec::new();
    let mut wrong = Vec::new();
    for (old, new) in pairs {
        let (old, new) = (named(state, old), named(state, new));
        match state.database.accounts.get(old.0, old.1) {
            Some(account) if !is_taken(state, new) => {
                require_system_user(state, &account)?;
                if state.database.accounts.is_granted(&account.id()) {
                    return Err(SqlError::new(
                        er::RENAME_ROLE,
                        "Renaming of a role identifier is forbidden",
                    ));
                }
                let mut account = Account::clone(&account);
                remove.push((account.auth.user.clone(), account.auth.host.clone()));
                account.auth.user = new.0.to_owned();
                account.auth.host = new.1.to_owned();
                put.push(account);
            }
            _ => wrong.push(quoted(old)),
        }
    }
    if !wrong.is_empty() {
        return Err(failed("RENAME USER", &wrong, ""));
    }
    apply(state, put, remove)
}

/// What a list of privileges comes to on a level. Those on columns are left out.
fn privileges(list: &[Privilege], level: Level) -> Result<Privileges> {
    let mut set = Privileges::NONE;
    for privilege in list.iter().filter(|privilege| privilege.columns.is_empty()) {
        match privilege.name.as_str() {
            "ALL" | "ALL PRIVILEGES" => set = set.union(Privileges::all(level)),
            "USAGE" => {}
            "PROXY" => return Err(SqlError::not_supported("GRANT PROXY")),
            name => match Privileges::by_name(name, level) {
                Some(Some(found)) => set = set.union(found),
                None if name.contains('_') && level == Level::Global => return Err(no_such_privilege()),
                None => {
                    return Err(SqlError::syntax(name, 1));
                }
                Some(None) if name.contains('_') => {
                    return Err(SqlError::new(
                        er::ILLEGAL_PRIVILEGE_LEVEL,
                        format!("Illegal privilege level specified for {name}"),
                    ));
                }
                Some(None) if level == Level::Table => return Err(illegal_grant()),
                Some(None) => return Err(SqlError::wrong_usage("DB GRANT", "GLOBAL PRIVILEGES")),
            },
        }
    }
    Ok(set)
}

/// Error 1144.
fn illegal_grant() -> SqlError {
    SqlError::new(
        er::ILLEGAL_GRANT_FOR_TABLE,
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
    )
}

/// The privileges of a list that are on columns, by column. Error 1144 if the level is not a table's.
fn on_columns(list: &[Privilege], level: Level) -> Result<Vec<(&str, Privileges)>> {
    let mut wanted = Vec::new();
    for privilege in list {
        for column in &privilege.columns {
            match Privileges::by_name(&privilege.name, level).flatten() {
                Some(set) if level == Level::Table => wanted.push((column.as_str(), set)),
                _ => return Err(illegal_grant()),
            }
        }
    }
    Ok(wanted)
}

/// Error 1149, MySQL's for an unknown dynamic privilege.
fn no_such_privilege() -> SqlError {
    SqlError::new(
        er::SYNTAX_ERROR,
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use",
    )
}

/// What a grant is on.
enum GrantObject {
    Global,
    Database(String),
    Table(String, String),
}

impl GrantObject {
    fn level(&self) -> Level {
        match self {
            GrantObject::Global => Level::Global,
            GrantObject::Database(_) => Level::Database,
            GrantObject::Table(..) => Level::Table,
        }
    }

    fn set<'a>(&self, account: &'a mut Account) -> &'a mut Privileges {
        match self {
            GrantObject::Global => &mut account.global,
            GrantObject::Database(name) => account.databases.entry(name.clone()).or_default(),
            GrantObject::Table(schema, name) => {
                account.tables.entry((schema.clone(), name.clone())).or_default()
            }
        }
    }
}

fn grant_object(state: &SessionState, level: &PrivilegeLevel) -> Result<GrantObject> {
    Ok(match level {
        PrivilegeLevel::Global => GrantObject::Global,
        PrivilegeLevel::Database(Some(name)) => GrantObject::Database(name.clone()),
        PrivilegeLevel::Database(None) => GrantObject::Database(state.current_schema()?.to_owned()),
        PrivilegeLevel::Table(name) => {
            let (schema, name) = state.resolve(name)?;
            GrantObject::Table(schema.to_owned(), name.to_owned())
        }
    })
}

/// What a statement is about to give or to take.
struct Wanted<'a> {
    /// On the level of the statement.
    set: Privileges,
    /// On columns of its table.
    columns: Vec<(&'a str, Privileges)>,
    /// It names dynamic privileges only: the static GRANT OPTION is not asked for, nor given.
    dynamic_only: bool,
}

impl<'a> Wanted<'a> {
    fn of(list: &'a [Privilege], level: Level) -> Result<Wanted<'a>> {
        let set = privileges(list, level)?;
        Ok(Wanted {
            set,
            columns: on_columns(list, level)?,
            dynamic_only: !set.is_empty() && Privileges::ALL_DYNAMIC.contains(set),
        })
    }

    fn dynamic(&self) -> Privileges {
        self.set.intersection(Privileges::ALL_DYNAMIC)
    }
}

/// An account can grant or revoke only what it holds itself with GRANT OPTION, of the dynamic privileges only those that
/// it has with an option of their own.
fn require_to_give(state: &SessionState, object: &GrantObject, wanted: &Wanted) -> Result<()> {
    let rights = state.rights();
    let set = wanted.set.without(Privileges::ALL_DYNAMIC);
    let set = set.union(Privileges::GRANT_OPTION);
    match object {
        GrantObject::Global => {
            if !wanted.dynamic_only && !rights.global.contains(set) {
                return Err(access_denied(state));
            }
            if !rights.grantable.contains(wanted.dynamic()) {
                return Err(accounts::privilege_missing("GRANT OPTION"));
            }
        }
        GrantObject::Database(name) => {
            if !rights.on_databases_like(name).contains(set) {
                return Err(state.database_denied(name));
            }
        }
        GrantObject::Table(schema, name) => return require_to_give_on_table(state, (schema, name), wanted),
    }
    Ok(())
}

/// Error 1045, as a login that fails.
pub fn access_denied(state: &SessionState) -> SqlError {
    let account = state.account();
    let used = match account.auth.auth_string.is_empty() {
        true => "NO",
        false => "YES",
    };
    SqlError::new(
        er::ACCESS_DENIED,
        format!(
            "Access denied for user {} (using password: {used})",
            account.quoted()
        ),
    )
}

/// Errors 1142 and 1143. Of privileges on columns, each must be held on the column or on the table.
fn require_to_give_on_table(
    state: &SessionState,
    (schema, name): (&str, &str),
    wanted: &Wanted,
) -> Result<()> {
    let rights = state.rights();
    let (user, host) = (&state.info.user, &state.info.host);
    let of_columns = wanted.columns.iter().map(|(_, set)| *set);
    let of_columns = of_columns.fold(Privileges::NONE, Privileges::union);
    let on_table = wanted.set.union(Privileges::GRANT_OPTION);
    let held = rights.on_table(schema, name);
    let on_some = rights.on_some_column(schema, name);
    // What is held on columns is not named as missing if there is something else to name.
    let missing = on_table.union(of_columns).without(held).without(on_some);
    let missing = match missing.is_empty() {
        true => on_table.without(held),
        false => missing,
    };
    if !missing.is_empty() {
        let names = missing.names_of_denial().join(", ");
        return Err(accounts::table_denied(&names, user, host, name));
    }
    for (column, set) in &wanted.columns {
        if !rights.on_column(schema, name, column).contains(*set) {
            let command = set.names().next().unwrap_or_default();
            return Err(SqlError::new(
                er::COLUMNACCESS_DENIED,
                format!(
                    "{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{name}'"
                ),
            ));
        }
    }
    Ok(())
}

/// The table that a grant is on. Error 1146.
fn granted_table(state: &SessionState, schema: &str, name: &str) -> Result<Arc<TableDef>> {
    let written = ObjectName {
        schema: Some(schema.to_owned()),
        name: name.to_owned(),
    };
    let _permanent = state.temporary.hide();
    state
        .table(&written)
        .map_err(|_| SqlError::no_such_table(schema, name))
}

/// The definition's columns must have those that are granted. Errors 1054 and 1146.
fn require_columns(state: &SessionState, object: &GrantObject, wanted: &[(&str, Privileges)]) -> Result<()> {
    let GrantObject::Table(schema, name) = object else {
        return Ok(());
    };
    if wanted.is_empty() {
        return Ok(());
    }
    let table = granted_table(state, schema, name)?;
    match wanted.iter().find(|(column, _)| table.column(column).is_none()) {
        Some((column, _)) => Err(SqlError::unknown_column(column, name)),
        None => Ok(()),
    }
}

/// The privileges that an account has on a column, to be changed.
fn column_of<'a>(columns: &'a mut Columns, name: &str) -> &'a mut Privileges {
    let known = columns.keys().find(|known| names_equal(known, name));
    let name = known.map_or(name, String::as_str).to_owned();
    columns.entry(name).or_default()
}

/// No account may be granted anything on a database that is read-only to all; on one whose tables are the server's, only what
/// reads them.
fn refuse_virtual(state: &SessionState, object: &GrantObject, set: Privileges) -> Result<()> {
    let (GrantObject::Database(schema) | GrantObject::Table(schema, _)) = object else {
        return Ok(());
    };
    let changes = Privileges::CREATE.union(Privileges::ALTER);
    let refused = match virtual_schema(schema) {
        Some("information_schema") => true,
        Some("performance_schema") => set.intersects(changes.union(Privileges::INDEX)),
        _ => false,
    };
    match refused {
        true => Err(state.database_denied(schema)),
        false => Ok(()),
    }
}

fn give(state: &SessionState, grant: &Grant) -> Result<()> {
    let object = grant_object(state, &grant.level)?;
    let mut wanted = Wanted::of(&grant.privileges, object.level())?;
    if grant.grant_option && !wanted.dynamic_only {
        wanted.set = wanted.set.union(Privileges::GRANT_OPTION);
    }
    require_to_give(state, &object, &wanted)?;
    refuse_virtual(state, &object, wanted.set)?;
    if let GrantObject::Table(schema, name) = &object
        && !wanted.set.contains(Privileges::CREATE)
    {
        granted_table(state, schema, name)?;
    }
    require_columns(state, &object, &wanted.columns)?;
    let restrictions = restrictions_of_grantor(state, grant, &object)?;
    // GRANT OPTION by its name is for all dynamic privileges that are held.
    let by_name = grant.privileges.iter().any(|one| one.name == "GRANT OPTION");
    let mut put = Vec::new();
    for user in &grant.users {
        let name = named(state, user);
        let account = state.database.accounts.get(name.0, name.1).ok_or_else(|| {
            SqlError::new(
                er::CANT_CREATE_USER_WITH_GRANT,
                "You are not allowed to create a user with GRANT",
            )
        })?;
        require_system_user(state, &account)?;
        let mut account = Account::clone(&account);
        let mut set = wanted.set;
        match &object {
            GrantObject::Global => account.lift_everywhere(set, &restrictions),
            GrantObject::Database(schema) => set = set.without(account.lift(schema, set)),
            GrantObject::Table(schema, table) => {
                let grantor = &state.info;
                let table = (schema.clone(), table.clone());
                account
                    .grantors
                    .insert(table, format!("{}@{}", grantor.user, grantor.host));
            }
        }
        give_to(&mut account, &object, set, &wanted.columns);
        if grant.grant_option {
            account.grantable = account.grantable.union(wanted.dynamic());
        }
        if by_name && object.level() == Level::Global {
            account.grantable = account.global.intersection(Privileges::ALL_DYNAMIC);
        }
        put.push(account);
    }
    apply(state, put, Vec::new())
}

/// What goes with a global grant: restrictions of the session, or of the account named by AS. Errors 3835 and 3836.
fn restrictions_of_grantor(
    state: &SessionState,
    grant: &Grant,
    object: &GrantObject,
) -> Result<Restrictions> {
    let Some((user, choice)) = &grant.grantor else {
        return Ok(state.rights().restrictions());
    };
    if object.level() != Level::Global {
        return Err(SqlError::new(
            er::UNSUPPORTED_USE_OF_GRANT_AS,
            "GRANT ... AS is currently supported only for global privileges.",
        ));
    }
    let unknown = || {
        SqlError::new(
            er::UNKNOWN_AUTHID_OR_ACCESS_DENIED_FOR_GRANT_AS,
            "Either some of the authorization IDs in the AS clause are invalid or the current user lacks privileges to \
             execute the statement.",
        )
    };
    let accounts = &state.database.accounts;
    let name = named(state, user);
    let account = accounts.get(name.0, name.1).ok_or_else(unknown)?;
    require_system_user(state, &account)?;
    let granted = accounts.granted_roles(&account);
    let roles = roles::chosen(choice, &account, &granted);
    if roles.iter().any(|role| !granted.contains_key(role)) {
        return Err(unknown());
    }
    let roles = accounts.with_their_roles(roles);
    let named = Rights::new(account, roles).restrictions();
    // It cannot give away what is taken from the session itself.
    let covers = |schema: &String, taken: Privileges| {
        let of_named = named.get(schema).copied().unwrap_or_default();
        of_named.contains(taken)
    };
    let own = state.rights().restrictions();
    match own.iter().all(|(schema, taken)| covers(schema, *taken)) {
        true => Ok(named),
        false => Err(unknown()),
    }
}

fn give_to(account: &mut Account, object: &GrantObject, set: Privileges, columns: &[(&str, Privileges)]) {
    let held = object.set(account);
    *held = held.union(set);
    if let GrantObject::Table(schema, name) = object
        && !columns.is_empty()
    {
        let of_table = account.columns.entry((schema.clone(), name.clone()));
        let of_table = of_table.or_default();
        for (column, set) in columns {
            let held = column_of(of_table, column);
            *held = held.union(*set);
        }
    }
    account.forget_empty();
}

fn take(state: &SessionState, revoke: &Revoke) -> Result<()> {
    let object = match &revoke.level {
        Some(level) => {
            let object = grant_object(state, level)?;
            let mut wanted = Wanted::of(&revoke.privileges, object.level())?;
            require_to_give(state, &object, &wanted)?;
            let is_all = revoke.privileges.iter().any(|one| one.name == "ALL");
            if is_all && object.level() == Level::Global {
                wanted.set = wanted.set.union(Privileges::GRANT_OPTION);
            }
            Some((object, wanted))
        }
        None => {
            require_create_user(state)?;
            None
        }
    };
    let partial = state.database.variable("partial_revokes").as_deref() == Some("ON");
    let mut put = Vec::new();
    for user in &revoke.users {
        let name = named(state, user);
        let Some(account) = state.database.accounts.get(name.0, name.1) else {
            if revoke.if_exists {
                note_missing(state, &[quoted(name)]);
                continue;
            }
            return Err(no_such_grant(name));
        };
        require_system_user(state, &account)?;
        let mut account = Account::clone(&account);
        match &object {
            None => {
                account.global = Privileges::NONE;
                account.restrictions.clear();
                account.grantors.clear();
                account.grantable = Privileges::NONE;
                account.databases.clear();
                account.tables.clear();
                account.columns.clear();
            }
            Some((object, wanted)) => match take_from(&mut account, object, wanted, partial) {
                Err(error) if revoke.if_exists => {
                    state.warnings.warn(error);
                    continue;
                }
                taken => taken?,
            },
        }
        put.push(account);
    }
    apply(state, put, Vec::new())
}

/// Takes privileges from an account: those on a table from its columns, too, and if revokes may be `partial`, those on a database
/// from what it holds everywhere. Errors 1141 and 1147 if it has none there.
fn take_from(account: &mut Account, object: &GrantObject, wanted: &Wanted, partial: bool) -> Result<()> {
    let set = wanted.set;
    let name = (account.auth.user.clone(), account.auth.host.clone());
    let name = (name.0.as_str(), name.1.as_str());
    let held = object.set(account);
    let has_none = held.is_empty();
    *held = held.without(set);
    let restricted = match object {
        GrantObject::Database(schema) if partial => account.restrict(schema, set),
        _ => false,
    };
    match object {
        GrantObject::Global => {
            account.grantable = match set.contains(Privileges::GRANT_OPTION) {
                true => Privileges::NONE,
                false => account.grantable.without(set),
            };
        }
        GrantObject::Database(_) if has_none && !restricted => return Err(no_such_grant(name)),
        GrantObject::Database(_) => {}
        GrantObject::Table(schema, table) => {
            let of_table = account.columns.entry((schema.clone(), table.clone()));
            let of_table = of_table.or_default();
            if has_none && of_table.is_empty() {
                return Err(no_such_table_grant(name, table));
            }
            for held in of_table.values_mut() {
                *held = held.without(set);
            }
            for (column, set) in &wanted.columns {
                let held = column_of(of_table, column);
                if !held.contains(*set) {
                    return Err(no_such_table_grant(name, table));
                }
                *held = held.without(*set);
            }
        }
    }
    account.forget_empty();
    Ok(())
}

/// Error 1147.
fn no_such_table_grant((user, host): (&str, &str), table: &str) -> SqlError {
    SqlError::new(
        er::NONEXISTING_TABLE_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}' on table '{table}'"),
    )
}

fn no_such_grant((user, host): (&str, &str)) -> SqlError {
    SqlError::new(
        er::NONEXISTING_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}'"),
    )
}
