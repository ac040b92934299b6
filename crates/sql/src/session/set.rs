//! SET: user variables and system variables, several at once. All of a statement's values are found and checked before the first takes
//! effect: `SET @a = 5, @b = @a` gives `@b` what `@a` was, and if one cannot be set, none is.

use super::Session;
use super::argument::evaluate;
use super::gtid;
use super::restricted;
use crate::accounts::roles::parse_names;
use crate::accounts::{AuthId, Privileges};
use crate::context::own_files::may_be_log;
use crate::context::{Answer, Discard};
use crate::error::{Result, SqlError, er};
use crate::exec::Receiver;
use crate::expr::SessionInfo;
use crate::parse::ast::{self, Expr, ScopeKeyword, SetItem};
use crate::plan::statement::HIDDEN_VARIABLE;
use crate::types::{Charset, Collation, Value};
use crate::variables::{self, DEFS, EngineName, Kind, Setting, check_settable, find, persist};
use std::path::Path;
use std::time::Duration;

const TRACKED_LIST: &str = "session_track_system_variables";
/// What SET NAMES and SET CHARACTER SET set, as far as clients are told of it.
const CLIENT_VARIABLES: &[&str] = &[
    "character_set_client",
    "character_set_connection",
    "character_set_results",
];

/// What an item of SET is to do, once all of the statement have been checked.
enum Checked {
    UserVar(String, Value),
    Variable(Option<ScopeKeyword>, usize, Setting),
    NextTransaction(Setting),
    Names(Collation),
    CharacterSet(Charset),
}

fn is_only_kept(scope: Option<ScopeKeyword>) -> bool {
    scope == Some(ScopeKeyword::PersistOnly)
}

fn is_global(scope: Option<ScopeKeyword>) -> bool {
    matches!(
        scope,
        Some(ScopeKeyword::Global | ScopeKeyword::Persist | ScopeKeyword::PersistOnly)
    )
}

impl Session {
    pub(super) fn set(&mut self, items: &[SetItem], params: &[Value]) -> Result<Answer> {
        let checked = items.iter().map(|item| self.check_item(item, params));
        let checked = checked.collect::<Result<Vec<Checked>>>()?;
        checked.into_iter().try_for_each(|item| self.put_item(item))?;
        Ok(Answer::ok())
    }

    /// Finds the value of an item, and whether it may be set to that.
    fn check_item(&mut self, item: &SetItem, params: &[Value]) -> Result<Checked> {
        Ok(match item {
            SetItem::UserVar { name, value } => Checked::UserVar(name.clone(), self.value_of(value, params)?),
            SetItem::Variable { scope, name, value } => {
                let (at, setting) = self.check_variable(*scope, name, value, params)?;
                Checked::Variable(*scope, at, setting)
            }
            SetItem::NextTransaction { name, value } => {
                let at = find(name).ok_or_else(|| SqlError::unknown_system_variable(name))?;
                Checked::NextTransaction(self.setting_of(at, false, value, params)?)
            }
            SetItem::Names { charset, collation } => {
                let collation = match (charset, collation) {
                    (None, None) => self.state.server_collation(),
                    (charset, collation) => crate::expr::collation(charset.as_deref(), collation.as_deref())?
                        .unwrap_or(Collation::DEFAULT),
                };
                check_client(collation.charset())?;
                Checked::Names(collation)
            }
            SetItem::CharacterSet(name) => {
                let charset = match name {
                    Some(name) => Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?,
                    None => self.state.server_collation().charset(),
                };
                check_client(charset)?;
                Checked::CharacterSet(charset)
            }
        })
    }

    fn put_item(&mut self, item: Checked) -> Result<()> {
        match item {
            Checked::UserVar(name, value) => {
                self.state.set_user_variable(&name, value)?;
                self.state.note_state();
            }
            Checked::Variable(scope, at, setting) => {
                if is_only_kept(scope) {
                    return persist::store(self.state.ddl()?, at, &setting);
                }
                self.put_checked(at, is_global(scope), setting.clone())?;
                if DEFS[at].name.starts_with("validate_password.") {
                    self.state.database.keep_password_length()?;
                }
                if scope == Some(ScopeKeyword::Persist) {
                    persist::store(self.state.ddl()?, at, &setting)?;
                }
            }
            Checked::NextTransaction(Setting::Text(level)) => {
                self.set_next_transaction(Some(variables::isolation_by_name(&level)), None)?;
            }
            Checked::NextTransaction(other) => self.set_next_transaction(None, Some(other.as_bool()))?,
            Checked::Names(collation) => {
                self.state.values.set_names(collation);
                self.variables_changed();
                self.state.note_variables(CLIENT_VARIABLES);
            }
            Checked::CharacterSet(charset) => {
                self.state.values.set_character_set(charset);
                self.variables_changed();
                self.state.note_variables(CLIENT_VARIABLES);
            }
        }
        Ok(())
    }

    /// A value; one with a subquery, or a stored function, is planned as a query of one row.
    pub(super) fn value_of(&mut self, expr: &Expr, params: &[Value]) -> Result<Value> {
        match evaluate(expr, params, &self.state) {
            Err(error) if matches!(error.code, er::NOT_SUPPORTED_YET | er::SP_DOES_NOT_EXIST) => {
                self.value_of_query(expr, params)
            }
            other => other,
        }
    }

    fn value_of_query(&mut self, expr: &Expr, params: &[Value]) -> Result<Value> {
        let select = ast::Select {
            items: vec![ast::SelectItem::Expr {
                expr: expr.clone(),
                alias: None,
                text: "value".to_owned(),
            }],
            ..ast::Select::default()
        };
        let query = ast::Query {
            with: None,
            body: ast::QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            limit: None,
            locks: Vec::new(),
            into: Some(ast::Into::Variables(vec![ast::Target::UserVar(
                HIDDEN_VARIABLE.to_owned(),
            )])),
        };
        let statement = ast::Statement::Query(Box::new(query));
        self.plan_and_run(&statement, params.into(), &mut Receiver::Sink(&mut Discard))?;
        let found = self.state.user_variables.borrow_mut().remove(HIDDEN_VARIABLE);
        Ok(found.unwrap_or(Value::Null))
    }

    /// The variable that is set, and to what.
    fn check_variable(
        &mut self,
        scope: Option<ScopeKeyword>,
        name: &str,
        expr: &Expr,
        params: &[Value],
    ) -> Result<(usize, Setting)> {
        let at = self.state.database.find_variable(name)?;
        let def = &DEFS[at];
        let global = is_global(scope);
        if is_only_kept(scope) {
            restricted::require_persist_only(&self.state)?;
        }
        match is_only_kept(scope) {
            true => variables::check_kept(def)?,
            false => check_settable(def, global)?,
        }
        match global {
            true => restricted::require_global(&self.state, def.name)?,
            false => restricted::require_session(&self.state, def.name)?,
        }
        let setting = self.setting_of(at, global, expr, params)?;
        match is_only_kept(scope) {
            true => refuse_fixed(def, &setting)?,
            false => self.check_setting(at, global, &setting)?,
        }
        Ok((at, setting))
    }

    /// RESET PERSIST: of one variable, or of all. It wants the privilege that setting each of them wants.
    pub(super) fn reset_persist(&mut self, if_exists: bool, name: Option<&str>) -> Result<Answer> {
        let engine = self.state.database.engine();
        let mut names: Vec<String> = persist::kept(engine)?.into_iter().map(|(kept, _)| kept).collect();
        if let Some(name) = name {
            names.retain(|kept| kept == name);
            if names.is_empty() {
                let text = format!("Variable {name} does not exist in persisted config file");
                let missing = SqlError::new(er::VAR_DOES_NOT_EXIST, text);
                if !if_exists {
                    return Err(missing);
                }
                self.state.warnings.warn(missing);
            }
        }
        for name in &names {
            restricted::require_global(&self.state, name)?;
        }
        persist::forget(self.state.ddl()?, &names)?;
        Ok(Answer::ok())
    }

    /// The value that an assignment gives a variable.
    pub(super) fn setting_of(
        &mut self,
        at: usize,
        global: bool,
        expr: &Expr,
        params: &[Value],
    ) -> Result<Setting> {
        let def = &DEFS[at];
        Ok(match expr {
            Expr::Default(None) if global => Setting::parse(def, def.default)?,
            Expr::Default(None) => match def.scope {
                variables::VariableScope::Session => Setting::parse(def, def.default)?,
                _ => self.state.database.globals().get(at),
            },
            _ => {
                let value = match bare_word(def.kind, expr) {
                    Some(word) => word,
                    None => self.value_of(expr, params)?,
                };
                match (def.kind, &value) {
                    (Kind::Switches(names), Value::Str(words)) => self.switched(at, global, names, words)?,
                    _ => self.checked(def, &value)?,
                }
            }
        })
    }

    /// Switches that words do not name stay as they are.
    fn switched(&self, at: usize, global: bool, names: &[&str], words: &[u8]) -> Result<Setting> {
        let now = match global {
            true => self.state.database.globals().get(at),
            false => self.state.values.get(at).clone(),
        };
        let words = String::from_utf8_lossy(words);
        Setting::switched(&DEFS[at], names, &now.to_string(), &words)
    }

    fn checked(&self, def: &variables::Def, value: &Value) -> Result<Setting> {
        let (setting, cut) = Setting::check(def, value)?;
        if def.kind == Kind::Engine
            && EngineName::of(&String::from_utf8_lossy(&value.to_text())) == EngineName::Substituted
        {
            let text = format!("Using storage engine {setting} for '{}'", def.name);
            let substituted = SqlError::new(er::WARN_USING_OTHER_HANDLER, text);
            self.state.warnings.warn(substituted);
        }
        if cut {
            let text = String::from_utf8_lossy(&value.to_text()).into_owned();
            if self
                .state
                .settings
                .sql_mode
                .has(crate::types::SqlMode::STRICT_ALL_TABLES)
            {
                return Err(SqlError::wrong_value_for_variable(def.name, &text));
            }
            let warning = SqlError::truncated_wrong_value(def.name, &text);
            self.state.warnings.warn(SqlError {
                message: warning.message,
                ..warning
            });
        }
        Ok(setting)
    }

    /// Puts a value in place, if the variable may have it.
    pub(super) fn put_variable(&mut self, at: usize, global: bool, setting: Setting) -> Result<()> {
        self.check_setting(at, global, &setting)?;
        self.put_checked(at, global, setting)
    }

    /// Whether a variable may be set to a value.
    fn check_setting(&self, at: usize, global: bool, setting: &Setting) -> Result<()> {
        let def = &DEFS[at];
        refuse_fixed(def, setting)?;
        if let (TRACKED_LIST, Setting::Text(list)) = (def.name, setting) {
            variables::check_tracked(list, &self.state.warnings)?;
        }
        match (def.name, global) {
            ("partial_revokes", true) if !setting.as_bool() => self.refuse_with_restrictions(),
            ("general_log_file" | "slow_query_log_file", true) => self.check_log_file(def.name, setting),
            ("gtid_next", false) => gtid::next(&setting.to_string()).map(drop),
            ("gtid_purged", true) => gtid::check_purged(&setting.to_string()),
            ("mandatory_roles", true) => self.mandatory_roles(&setting.to_string()).map(drop),
            ("max_allowed_packet" | "net_buffer_length" | "max_user_connections", false) => {
                Err(SqlError::new(
                    er::VARIABLE_IS_READONLY,
                    format!(
                        "SESSION variable '{}' is read-only. Use SET GLOBAL to assign the value",
                        def.name
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Puts a checked value in place, with what that brings about.
    fn put_checked(&mut self, at: usize, global: bool, setting: Setting) -> Result<()> {
        let def = &DEFS[at];
        if let Some(why) = def.unused()
            && Setting::parse(def, def.default).as_ref() != Ok(&setting)
        {
            self.state.warnings.warn(SqlError::new(
                er::WARN_DEPRECATED_SYNTAX,
                format!("'{}' is accepted but does nothing: {why}", def.name),
            ));
        }
        // What it names was never purged here, so it is not said to have been.
        if def.name == "gtid_purged" {
            return Ok(());
        }
        if def.name.starts_with("profiling") {
            self.state.warnings.warn(SqlError::new(
                er::WARN_DEPRECATED_SYNTAX,
                format!(
                    "'@@{}' is deprecated and will be removed in a future release.",
                    def.name
                ),
            ));
        }
        if global {
            restricted::require_global(&self.state, def.name)?;
            if def.name == "mandatory_roles" {
                let ids = self.mandatory_roles(&setting.to_string())?;
                self.state.database.accounts.set_mandatory_roles(ids);
            }
            self.put_global(at, setting)?;
            return Ok(());
        }
        let setting = match (def.name, &setting) {
            ("gtid_next", Setting::Text(text)) => Setting::text(gtid::next(text)?),
            _ => setting,
        };
        match def.name {
            "autocommit" => {
                let on = setting.as_bool();
                if on && !self.state.settings.autocommit {
                    self.commit_open()?;
                }
            }
            "transaction_isolation" | "transaction_read_only" => {}
            "last_insert_id" | "identity" => {
                self.state.last_insert_id.set(setting.as_u64());
                self.state.note_variable(at);
                return Ok(());
            }
            "insert_id" => {
                self.state.insert_id.set(setting.as_u64());
                self.state.note_variable(at);
                return Ok(());
            }
            "pseudo_thread_id" => return Ok(()),
            "optimizer_trace_offset" | "optimizer_trace_limit" => self.state.traces.borrow_mut().clear(),
            _ => {}
        }
        self.state.values.put(at, setting);
        self.variables_changed();
        if def.name == "session_track_transaction_info" {
            self.state.restart_transaction_track();
        }
        self.state.note_variable(at);
        Ok(())
    }

    /// Error 1231 for what no log can be written to.
    fn check_log_file(&self, name: &str, setting: &Setting) -> Result<()> {
        let (written, database) = (setting.to_string(), &self.state.database);
        let datadir = database.variable("datadir").unwrap_or_default();
        // As long as it is what it is, it is not looked at again.
        let is_same = database.variable(name).as_deref() == Some(&written);
        match is_same || may_be_log(Path::new(&datadir), &written) {
            true => Ok(()),
            false => Err(SqlError::wrong_value_for_variable(name, &written)),
        }
    }

    /// Error 3896 if something is taken from an account's global privileges.
    fn refuse_with_restrictions(&self) -> Result<()> {
        let accounts = self.state.database.accounts.all();
        match accounts.iter().all(|account| account.restrictions.is_empty()) {
            true => Ok(()),
            false => Err(SqlError::new(
                er::PARTIAL_REVOKES_EXIST,
                "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.",
            )),
        }
    }

    /// What SET GLOBAL mandatory_roles names. Error 1231 for what is no list of names, 3880 for an account with SYSTEM_USER.
    fn mandatory_roles(&self, names: &str) -> Result<Vec<AuthId>> {
        let accounts = &self.state.database.accounts;
        let ids =
            parse_names(names).ok_or_else(|| SqlError::wrong_value_for_variable("mandatory_roles", names))?;
        for id in &ids {
            let role = accounts.role(id);
            if role.is_some_and(|role| role.global.contains(Privileges::SYSTEM_USER)) {
                return Err(SqlError::new(
                    er::AUTHID_WITH_SYSTEM_USER_IN_MANDATORY_ROLES,
                    format!("Cannot set mandatory_roles: AuthId {id} has 'SYSTEM_USER' privilege."),
                ));
            }
        }
        Ok(ids)
    }

    fn variables_changed(&mut self) {
        let settings = self.state.values.settings();
        let before = &self.state.settings;
        let plans_differ = before.sql_mode != settings.sql_mode
            || before.collation_connection != settings.collation_connection
            || before.character_set_results != settings.character_set_results
            || before.div_precision_increment != settings.div_precision_increment
            || before.default_week_format != settings.default_week_format
            || before.lc_time_names.name != settings.lc_time_names.name
            || before.group_concat_max_len != settings.group_concat_max_len
            || before.time_zone.name() != settings.time_zone.name()
            || before.sql_select_limit != settings.sql_select_limit
            || before.sql_safe_updates != settings.sql_safe_updates
            || before.max_join_size != settings.max_join_size
            || before.random_plans != settings.random_plans
            || before.rewrites != settings.rewrites;
        if before.max_error_count != settings.max_error_count {
            self.state.warnings = crate::types::Warnings::new(settings.max_error_count);
        }
        self.state.warnings.keep_notes(settings.sql_notes);
        self.state.settings = settings;
        if plans_differ {
            self.forget_plans();
        }
    }

    /// Sets a variable of the server. `super_read_only` ON sets `read_only` ON, and `read_only` OFF sets it OFF.
    fn put_global(&self, at: usize, setting: Setting) -> Result<()> {
        let (name, on) = (DEFS[at].name, setting.as_bool());
        let globals = self.state.database.globals();
        let before = globals.get(at);
        let setting = self.resized(name, setting)?;
        globals.put(at, setting.clone());
        if self.state.database.logs.follow(name)
            && let Err(error) = self.state.database.logs.adopt(globals)
        {
            globals.put(at, before);
            return Err(error);
        }
        self.global_changed(name, &setting);
        match (name, on) {
            ("super_read_only", true) => self.put_global(position("read_only")?, setting),
            ("read_only", false) => self.put_global(position("super_read_only")?, setting),
            _ => Ok(()),
        }
    }

    /// Gives pool and log the size that is set; returns what it came to.
    fn resized(&self, name: &str, setting: Setting) -> Result<Setting> {
        let database = &self.state.database;
        match (name, &setting) {
            ("innodb_buffer_pool_size", Setting::Uint(wanted)) => {
                let is_interrupted = || self.state.process.is_interrupted();
                let bytes = database.resize_pool(*wanted, &is_interrupted)?;
                if bytes != *wanted {
                    let text = wanted.to_string();
                    self.state
                        .warnings
                        .warn(SqlError::truncated_wrong_value(name, &text));
                }
                Ok(Setting::Uint(bytes))
            }
            ("innodb_redo_log_capacity", Setting::Uint(bytes)) => {
                database.engine().set_log_capacity_bytes(*bytes)?;
                Ok(setting)
            }
            _ => Ok(setting),
        }
    }

    /// What the engine must be told.
    fn global_changed(&self, name: &str, setting: &Setting) {
        let database = &self.state.database;
        let engine = database.engine();
        match (name, setting) {
            ("read_only" | "super_read_only" | "offline_mode", setting) => {
                database.modes.set(name, setting.as_bool());
                if name == "offline_mode" && setting.as_bool() {
                    database.end_ordinary_sessions();
                }
            }
            ("innodb_deadlock_detect", setting) => engine.set_deadlock_detect(setting.as_bool()),
            ("innodb_print_all_deadlocks", setting) => database.deadlocks.set_print_all(setting.as_bool()),
            ("innodb_flush_log_at_trx_commit", setting) => {
                engine.set_flush_at_trx_commit(setting.as_u64() as u8)
            }
            ("innodb_flush_log_at_timeout", setting) => {
                engine.set_flush_log_every(Duration::from_secs(setting.as_u64()))
            }
            (
                "innodb_max_purge_lag"
                | "innodb_max_purge_lag_delay"
                | "tidemark_max_version_size"
                | "tidemark_max_spill_size"
                | "tidemark_bury_after"
                | "innodb_undo_retention",
                _,
            ) => crate::monitor::history::apply(database),
            ("tidemark_total_memory" | "global_connection_memory_limit", _) => {
                crate::monitor::memory::apply(database);
            }
            ("tidemark_scrub_rate", setting) => engine.set_scrub_rate(setting.as_u64()),
            ("innodb_max_dirty_pages_pct", Setting::Float(pct)) => engine.set_max_dirty_pages_pct(*pct),
            _ => {}
        }
    }
}

/// Error 1235 for a value that the variable cannot have here.
fn refuse_fixed(def: &variables::Def, setting: &Setting) -> Result<()> {
    match def.refuses(setting) {
        true => Err(SqlError::not_supported(format!("{} = {setting}", def.name))),
        false => Ok(()),
    }
}

/// Error 1231 for a character set in which no client may send statements.
fn check_client(charset: Charset) -> Result<()> {
    match charset.is_for_texts_only() {
        true => Err(SqlError::wrong_value_for_variable(
            "character_set_client",
            charset.name(),
        )),
        false => Ok(()),
    }
}

fn position(name: &str) -> Result<usize> {
    find(name).ok_or_else(|| SqlError::unknown_system_variable(name))
}

/// A column name where a value is expected is the word itself: `SET sql_mode = ANSI`.
fn bare_word(kind: Kind, expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Column(name) if name.table.is_none() && !matches!(kind, Kind::Uint { .. }) => {
            Some(Value::string(name.column.as_bytes()))
        }
        // BINARY as a character set reads as an operator elsewhere.
        _ => None,
    }
}
