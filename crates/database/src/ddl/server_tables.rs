//! Dumps of the server's own tables.
//!
//! `mysqldump --all-databases` dumps `mysql` like any other database: it drops each table, creates it and fills it. Here these
//! tables are views of what the server keeps elsewhere, and there are fewer of them. So of such statements
//!
//! - DROP TABLE IF EXISTS, CREATE TABLE and ALTER TABLE … KEYS of a table that MySQL has leave it as it is, and a warning says so;
//!   so do DROP VIEW IF EXISTS and CREATE VIEW of a view of `sys`;
//! - INSERT and REPLACE of literals into a table of accounts and their grants change those accounts, at once;
//! - INSERT into any other table is dropped with a warning.
//!
//! Columns go by the names that the dump's CREATE TABLE gave them. Only an account that may do everything may do this, for
//! writing these tables can make one; for all other accounts they stay read-only.

use super::accounts::apply;
use crate::accounts::{
    self, Account, AuthId, AuthPlugin, Columns, Level, Lifetime, Privileges, Requirement, now_s, privilege,
};
use crate::context::answer::Answer;
use crate::context::{DumpedTable, SessionState};
use crate::dictionary::virtual_tables;
use crate::error::{Result, SqlError, er};
use crate::information_schema::{DB_COLUMNS, USER_COLUMNS};
use crate::parse::ast::{AlterAction, Expr, Insert, InsertSource, Literal, ObjectName, Statement};
use crate::types::json::Json;

/// Accounts that MySQL keeps for itself.
const MYSQLS_OWN: [&str; 3] = ["mysql.session", "mysql.sys", "mysql.infoschema"];

/// Tables that MySQL 9.7 or MariaDB keeps in `mysql` or `sys`, whether or not there is one of that name here. Of any other name
/// none can be made there.
#[rustfmt::skip]
const SYSTEM_TABLES: [&str; 48] = [
    "column_stats", "columns_priv", "component", "db", "default_roles", "engine_cost", "event", "func", "general_log",
    "global_grants", "global_priv", "gtid_executed", "gtid_slave_pos", "help_category", "help_keyword", "help_relation",
    "help_topic", "index_stats", "innodb_index_stats", "innodb_table_stats", "ndb_binlog_index", "password_history", "plugin",
    "proc", "procs_priv", "proxies_priv", "replication_asynchronous_connection_failover",
    "replication_asynchronous_connection_failover_managed", "replication_group_configuration_version",
    "replication_group_member_actions", "role_edges", "roles_mapping", "server_cost", "servers", "slave_master_info",
    "slave_relay_log_info", "slave_worker_info", "slow_log", "sys_config", "table_stats", "tables_priv", "time_zone",
    "time_zone_leap_second", "time_zone_name", "time_zone_transition", "time_zone_transition_type", "transaction_registry",
    "user",
];

/// `mysql` or `sys`, if the name leads there.
fn schema_of(state: &SessionState, name: &ObjectName) -> Option<&'static str> {
    let schema = name.schema.as_deref().or(state.schema.as_deref())?;
    server_schema(schema)
}

fn server_schema(name: &str) -> Option<&'static str> {
    ["mysql", "sys"]
        .into_iter()
        .find(|schema| schema.eq_ignore_ascii_case(name))
}

/// Whether the session may load dumps of the server's tables.
fn may_load(state: &SessionState) -> bool {
    let everything = Privileges::all(Level::Global).union(Privileges::GRANT_OPTION);
    let rights = state.rights();
    // Also where what is held everywhere has been taken away in one database.
    rights.global.contains(everything)
        && rights
            .on_database("mysql")
            .contains(Privileges::all(Level::Database))
}

/// Whether LOCK TABLES names a table that a dump has just created, and that is none.
pub fn is_being_loaded(state: &SessionState, name: &ObjectName) -> bool {
    let loading = state.dumped_table.borrow();
    loading.as_ref().is_some_and(|table| {
        schema_of(state, name) == Some(table.schema) && table.name.eq_ignore_ascii_case(&name.name)
    })
}

/// Whether the statement is one of a dump about the server's tables, for [`load`].
pub fn is_of_dump(state: &SessionState, statement: &Statement) -> bool {
    let is_known = |name: &str| SYSTEM_TABLES.iter().any(|known| known.eq_ignore_ascii_case(name));
    let is_ours = |name: &ObjectName| {
        schema_of(state, name)
            .is_some_and(|schema| is_known(&name.name) || virtual_tables::table(schema, &name.name).is_some())
    };
    let keys = |action: &AlterAction| matches!(action, AlterAction::Ignored(what) if what.ends_with("KEYS"));
    let is_one = match statement {
        Statement::CreateDatabase {
            name, if_not_exists, ..
        } => *if_not_exists && server_schema(name).is_some(),
        Statement::DropTable {
            tables,
            if_exists,
            temporary,
        } => *if_exists && !temporary && tables.iter().all(is_ours),
        Statement::CreateTable(create) => {
            !create.temporary && create.like.is_none() && create.query.is_none() && is_ours(&create.name)
        }
        Statement::AlterTable(alter) => alter.actions.iter().all(keys) && is_ours(&alter.name),
        Statement::DropView { views, if_exists } => *if_exists && views.iter().all(is_ours),
        Statement::CreateView(create) => is_ours(&create.name),
        Statement::Insert(insert) => {
            is_ours(&insert.table)
                && matches!(insert.source, InsertSource::Values(_))
                && insert.on_duplicate.is_empty()
        }
        _ => false,
    };
    is_one && may_load(state)
}

/// Carries out a statement for which [`is_of_dump`] holds.
pub fn load(state: &SessionState, statement: &Statement) -> Result<Answer> {
    let stays = |schema: &str, name: &str| {
        state.warnings.warn(SqlError::unknown(format!(
            "'{schema}.{name}' is the server's own and stays as it is"
        )));
    };
    let schema_of = |name: &ObjectName| schema_of(state, name).unwrap_or("mysql");
    match statement {
        Statement::CreateDatabase { name, .. } => {
            state.warnings.note(SqlError::database_exists(name));
            return Ok(Answer::affected(1));
        }
        Statement::DropTable { tables, .. } => {
            for table in tables {
                stays(schema_of(table), &table.name);
            }
        }
        Statement::CreateTable(create) => {
            let schema = schema_of(&create.name);
            stays(schema, &create.name.name);
            *state.dumped_table.borrow_mut() = Some(DumpedTable {
                schema,
                name: create.name.name.clone(),
                columns: create.columns.iter().map(|column| column.name.clone()).collect(),
            });
        }
        Statement::AlterTable(alter) => stays(schema_of(&alter.name), &alter.name.name),
        Statement::DropView { views, .. } => {
            for view in views {
                stays(schema_of(view), &view.name);
            }
        }
        Statement::CreateView(create) => stays(schema_of(&create.name), &create.name.name),
        Statement::Insert(insert) => return insert_rows(state, insert),
        _ => return Err(SqlError::not_supported("this statement")),
    }
    Ok(Answer::ok())
}

fn insert_rows(state: &SessionState, insert: &Insert) -> Result<Answer> {
    let (schema, name) = (
        schema_of(state, &insert.table),
        insert.table.name.to_ascii_lowercase(),
    );
    let InsertSource::Values(rows) = &insert.source else {
        return Err(SqlError::not_supported("this statement"));
    };
    let Some(add) = adding(&name).filter(|_| schema == Some("mysql")) else {
        state.warnings.warn(SqlError::unknown(format!(
            "Rows of table '{}.{name}' are not kept here",
            schema.unwrap_or("mysql")
        )));
        return Ok(Answer::ok());
    };
    if state.database.accounts.are_open() {
        return Err(SqlError::option_prevents("--skip-grant-tables"));
    }
    let columns = columns_of(state, insert);
    let _changing = state.change_accounts()?;
    let mut loaded = Loaded {
        state,
        changed: Vec::new(),
    };
    for (n, values) in rows.iter().enumerate() {
        if values.len() != columns.len() {
            return Err(SqlError::new(
                er::WRONG_VALUE_COUNT_ON_ROW,
                format!("Column count doesn't match value count at row {}", n + 1),
            ));
        }
        let values = values.iter().map(literal).collect::<Result<Vec<_>>>()?;
        add(
            &mut loaded,
            &Row {
                columns: &columns,
                values,
            },
        )?;
    }
    apply(state, loaded.changed, Vec::new())?;
    Ok(Answer::affected(rows.len() as u64))
}

/// The columns that an INSERT means.
fn columns_of(state: &SessionState, insert: &Insert) -> Vec<String> {
    if !insert.columns.is_empty() {
        return insert.columns.clone();
    }
    if is_being_loaded(state, &insert.table)
        && let Some(dumped) = &*state.dumped_table.borrow()
    {
        return dumped.columns.clone();
    }
    let table = virtual_tables::table("mysql", &insert.table.name);
    let columns = table.iter().flat_map(|table| &table.columns);
    columns.map(|column| column.name.clone()).collect()
}

/// A value as a dump writes it; `None`: NULL.
fn literal(value: &Expr) -> Result<Option<Vec<u8>>> {
    match value {
        Expr::Literal(Literal::Null) => Ok(None),
        Expr::Literal(Literal::Str { bytes, .. } | Literal::Hex(bytes)) => Ok(Some(bytes.clone())),
        Expr::Literal(Literal::Int(number)) => Ok(Some(number.to_string().into_bytes())),
        _ => Err(SqlError::not_supported(
            "anything but literals as values of the server's tables",
        )),
    }
}

struct Row<'r> {
    columns: &'r [String],
    values: Vec<Option<Vec<u8>>>,
}

impl Row<'_> {
    fn bytes(&self, column: &str) -> Option<&[u8]> {
        let at = self
            .columns
            .iter()
            .position(|name| name.eq_ignore_ascii_case(column))?;
        self.values[at].as_deref()
    }

    /// The column as text; empty if it is NULL, or not there.
    fn text(&self, column: &str) -> String {
        String::from_utf8_lossy(self.bytes(column).unwrap_or_default()).into_owned()
    }

    fn is_yes(&self, column: &str) -> bool {
        self.bytes(column)
            .is_some_and(|value| value.eq_ignore_ascii_case(b"Y"))
    }

    fn number(&self, column: &str) -> Option<u32> {
        self.bytes(column)?;
        self.text(column).parse().ok()
    }

    /// The privileges whose columns say Y; `columns` are those of the table of this name, from its `first` column on.
    fn flags(&self, table: &str, first: usize, columns: &[Privileges]) -> Privileges {
        let table = virtual_tables::table("mysql", table);
        let names = table.iter().flat_map(|table| &table.columns).skip(first);
        let granted = names.zip(columns).filter(|(column, _)| self.is_yes(&column.name));
        granted.fold(Privileges::NONE, |all, (_, one)| all.union(*one))
    }

    /// The privileges in a column such as `Select,Show view,Grant`.
    fn set(&self, column: &str) -> Privileges {
        let text = self.text(column).to_ascii_uppercase();
        let of = |name: &str| {
            let name = if name == "GRANT" { "GRANT OPTION" } else { name };
            let known = privilege::ALL
                .iter()
                .find(|(_, known, levels)| *known == name && levels.contains('t'));
            known.map_or(Privileges::NONE, |(set, ..)| *set)
        };
        text.split(',').map(of).fold(Privileges::NONE, Privileges::union)
    }
}

type Add = fn(&mut Loaded, &Row) -> Result<()>;

/// What a row of a table of accounts does.
fn adding(table: &str) -> Option<Add> {
    Some(match table {
        "user" => add_user,
        "global_grants" => add_dynamic,
        "db" => add_database,
        "tables_priv" => add_table,
        "columns_priv" => add_column,
        "role_edges" => add_role,
        "default_roles" => add_default_role,
        _ => return None,
    })
}

/// The accounts that rows have changed.
struct Loaded<'s> {
    state: &'s SessionState,
    changed: Vec<Account>,
}

impl Loaded<'_> {
    /// The account of this name. A new one is locked until its row of `user` comes. `None`: it is MySQL's own, or none may have the name.
    fn account(&mut self, user: String, host: String) -> Option<&mut Account> {
        if MYSQLS_OWN.contains(&user.as_str()) || user.contains('\0') || host.contains('\0') {
            return None;
        }
        if accounts::is_reserved(&user, &host) {
            return None;
        }
        let is_it = |account: &Account| account.auth.user == user && account.auth.host == host;
        let at = match self.changed.iter().position(is_it) {
            Some(at) => at,
            None => {
                let known = self.state.database.accounts.get(&user, &host);
                let account = match known {
                    Some(known) => Account::clone(&known),
                    None => {
                        let mut new = Account::new(&user, &host);
                        new.auth.locked = true;
                        new
                    }
                };
                self.changed.push(account);
                self.changed.len() - 1
            }
        };
        Some(&mut self.changed[at])
    }

    fn account_of(&mut self, row: &Row) -> Option<&mut Account> {
        self.account(row.text("User"), row.text("Host"))
    }
}

fn add_user(loaded: &mut Loaded, row: &Row) -> Result<()> {
    let state = loaded.state;
    let Some(account) = loaded.account_of(row) else {
        return Ok(());
    };
    let (name, plugin) = (account.quoted(), row.text("plugin"));
    let stored = row.bytes("authentication_string").unwrap_or_default().to_vec();
    match AuthPlugin::by_name(&plugin) {
        Some(plugin) => {
            account.set_stored(plugin, stored);
            account.auth.locked = row.is_yes("account_locked");
        }
        None => {
            account.auth.locked = true;
            state.warnings.warn(SqlError::unknown(format!(
                "Plugin '{plugin}' of account {name} is not loaded; the account is locked"
            )));
        }
    }
    account.changed_at_s = now_s();
    account.auth.expired = row.is_yes("password_expired");
    account.auth.requirement = requirement(row);
    account.limits.queries = row.number("max_questions").unwrap_or(0);
    account.limits.updates = row.number("max_updates").unwrap_or(0);
    account.limits.connections = row.number("max_connections").unwrap_or(0);
    account.limits.at_once = row.number("max_user_connections").unwrap_or(0);
    let rules = &mut account.rules;
    rules.lifetime = match row.number("password_lifetime") {
        None => Lifetime::Default,
        Some(0) => Lifetime::Never,
        Some(days) => Lifetime::Days(days.min(u32::from(u16::MAX)) as u16),
    };
    rules.history = row.number("Password_reuse_history");
    rules.reuse_days = row.number("Password_reuse_time");
    rules.require_current = row
        .bytes("Password_require_current")
        .map(|value| value.eq_ignore_ascii_case(b"Y"));
    let attributes = row.text("User_attributes");
    account.attribute = metadata(&attributes);
    if attributes.contains("\"Restrictions\"") {
        account.auth.locked = true;
        state.warnings.warn(SqlError::unknown(format!(
            "Partial revokes of account {name} are not taken over; the account is locked"
        )));
    }
    let mut granted = row.flags("user", 2, &USER_COLUMNS);
    for (column, one) in [
        ("Create_role_priv", Privileges::CREATE_ROLE),
        ("Drop_role_priv", Privileges::DROP_ROLE),
    ] {
        if row.is_yes(column) {
            granted = granted.union(one);
        }
    }
    account.global = account
        .global
        .intersection(Privileges::ALL_DYNAMIC)
        .union(granted);
    Ok(())
}

fn requirement(row: &Row) -> Requirement {
    let given = |column| Some(row.text(column)).filter(|text| !text.is_empty());
    match row.text("ssl_type").to_ascii_uppercase().as_str() {
        "ANY" => Requirement::Ssl,
        "X509" => Requirement::X509,
        "SPECIFIED" => Requirement::Given {
            subject: given("x509_subject"),
            issuer: given("x509_issuer"),
            cipher: given("ssl_cipher"),
        },
        _ => Requirement::None,
    }
}

/// What `User_attributes` holds of ATTRIBUTE and COMMENT.
fn metadata(attributes: &str) -> Option<String> {
    let Ok(Json::Object(members)) = Json::parse(attributes) else {
        return None;
    };
    let mut found = members.into_iter().filter(|(name, _)| name == "metadata");
    found.next().map(|(_, json)| json.to_string())
}

fn add_dynamic(loaded: &mut Loaded, row: &Row) -> Result<()> {
    let state = loaded.state;
    let Some(account) = loaded.account_of(row) else {
        return Ok(());
    };
    let name = row.text("PRIV").to_ascii_uppercase();
    match Privileges::by_name(&name, Level::Global) {
        Some(Some(set)) => {
            account.global = account.global.union(set);
            if row.is_yes("WITH_GRANT_OPTION") {
                account.grantable = account.grantable.union(set);
            }
        }
        _ => state.warnings.warn(SqlError::unknown(format!(
            "Dynamic privilege '{name}' is not known here, and not granted to {}",
            account.quoted()
        ))),
    }
    Ok(())
}

fn add_database(loaded: &mut Loaded, row: &Row) -> Result<()> {
    if let Some(account) = loaded.account_of(row) {
        let set = row.flags("db", 3, &DB_COLUMNS);
        account.databases.insert(row.text("Db"), set);
        account.forget_empty();
    }
    Ok(())
}

fn add_table(loaded: &mut Loaded, row: &Row) -> Result<()> {
    if let Some(account) = loaded.account_of(row) {
        let set = row.set("Table_priv");
        account
            .tables
            .insert((row.text("Db"), row.text("Table_name")), set);
        account.forget_empty();
    }
    Ok(())
}

fn add_column(loaded: &mut Loaded, row: &Row) -> Result<()> {
    if let Some(account) = loaded.account_of(row) {
        let table = (row.text("Db"), row.text("Table_name"));
        let columns: &mut Columns = account.columns.entry(table).or_default();
        columns.insert(row.text("Column_name"), row.set("Column_priv"));
        account.forget_empty();
    }
    Ok(())
}

fn add_role(loaded: &mut Loaded, row: &Row) -> Result<()> {
    let role = AuthId::new(&row.text("FROM_USER"), &row.text("FROM_HOST"));
    if let Some(account) = loaded.account(row.text("TO_USER"), row.text("TO_HOST")) {
        account.roles.insert(role, row.is_yes("WITH_ADMIN_OPTION"));
    }
    Ok(())
}

fn add_default_role(loaded: &mut Loaded, row: &Row) -> Result<()> {
    let role = AuthId::new(&row.text("DEFAULT_ROLE_USER"), &row.text("DEFAULT_ROLE_HOST"));
    if let Some(account) = loaded.account_of(row) {
        account.default_roles.insert(role);
    }
    Ok(())
}
