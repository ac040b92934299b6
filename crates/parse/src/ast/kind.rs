//! What kind of statement a statement is. What holds for all of a kind is a row of one table, which is asked wherever a statement is about to be
//! run, prepared, counted, or written into a program.
//!
//! The columns that say where MySQL takes a statement were tried on MySQL 9.7: `CREATE FUNCTION f() … BEGIN statement; RETURN 1; END`, `CREATE
//! PROCEDURE p() statement`, and `PREPARE s FROM 'statement'`.

use super::{
    Expr, InsertSource, MaintenanceKind, ProgramKind, QueryBody, SelectItem, ShowKind, Statement, TableRef,
    ViewForm,
};

/// The part of the server that runs a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The executor, by a plan.
    Planned,
    /// What changes definitions, after an implicit commit where there is one.
    Definitions,
    /// What changes accounts, after an implicit commit.
    Accounts,
    /// The session, each kind in its own way.
    Other,
}

/// What MySQL says of a statement in the body of a function or trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// It may stand there.
    Runs,
    /// Error 1422: it commits.
    Commits,
    /// Error 1415 where its rows go to the client.
    Sends,
    /// Error 1336, by this name. In a procedure it may stand.
    Dynamic(&'static str),
    /// Error 1314, by this name, in procedures too.
    Never(&'static str),
}

/// What holds for all statements of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The name of its counter, after `Com_`. Kinds may share one.
    pub counter: &'static str,
    /// The part of the server that runs it.
    pub class: Class,
    /// The open transaction is committed before it.
    pub commits: bool,
    /// PREPARE takes it; else error 1295.
    pub prepared: bool,
    /// Whether it may stand in a program.
    pub inside: Inside,
    /// It looks at the diagnostics of the statement before, and has none itself.
    pub keeps_diagnostics: bool,
    /// It is not planned, and FOUND_ROWS() counts its rows all the same: in MySQL it is a query of INFORMATION_SCHEMA.
    pub counts_rows: bool,
    /// When it has succeeded, something has changed that is the session's alone. SET, USE and ALTER TABLE say so themselves.
    pub changes_state: bool,
}

macro_rules! kinds {
    (@flag commits) => { true };
    (@flag stays) => { false };
    (@flag prepared) => { true };
    (@flag alone) => { false };
    (@set $facts:ident keeps) => { $facts.keeps_diagnostics = true; };
    (@set $facts:ident counts) => { $facts.counts_rows = true; };
    (@set $facts:ident state) => { $facts.changes_state = true; };
    ($($kind:ident $counter:literal $class:ident $commits:ident $prepared:ident $inside:ident $(($name:literal))? [$($flag:ident)*];)+) => {
        /// A kind of statement: one for each counter of MySQL's, or several where more depends on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the table says what they are")]
        pub enum StatementKind {
            $($kind),+
        }

        /// The table, by kind.
        pub const STATEMENT_KINDS: &[Facts] = &[
            $({
                #[allow(unused_mut, reason = "most kinds have no flag")]
                let mut facts = Facts {
                    counter: $counter,
                    class: Class::$class,
                    commits: kinds!(@flag $commits),
                    prepared: kinds!(@flag $prepared),
                    inside: Inside::$inside $(($name))?,
                    keeps_diagnostics: false,
                    counts_rows: false,
                    changes_state: false,
                };
                $(kinds!(@set facts $flag);)*
                facts
            }),+
        ];
    };
}

#[rustfmt::skip]
kinds! {
//  kind                 counter                   who runs it implicit PREPARE in a function or trigger; more
//                                                             commit   takes it
    Empty                "empty_query"             Other       stays   alone    Runs [];
    Select               "select"                  Planned     stays   prepared Sends [];
    SelectDiagnostics    "select"                  Planned     stays   prepared Sends [keeps];
    Insert               "insert"                  Planned     stays   prepared Runs [];
    InsertSelect         "insert_select"           Planned     stays   prepared Runs [];
    Replace              "replace"                 Planned     stays   prepared Runs [];
    ReplaceSelect        "replace_select"          Planned     stays   prepared Runs [];
    LoadData             "load"                    Planned     stays   alone    Never("LOAD DATA") [];
    Update               "update"                  Planned     stays   prepared Runs [];
    UpdateMulti          "update_multi"            Planned     stays   prepared Runs [];
    Delete               "delete"                  Planned     stays   prepared Runs [];
    DeleteMulti          "delete_multi"            Planned     stays   prepared Runs [];
    Do                   "do"                      Planned     stays   prepared Runs [];
    Explain              "other"                   Planned     stays   prepared Sends [];
    ExplainConnection    "explain_other"           Other       stays   alone    Never("EXPLAIN FOR CONNECTION") [];
    Begin                "begin"                   Other       commits alone    Commits [];
    Commit               "commit"                  Other       commits prepared Commits [];
    Rollback             "rollback"                Other       commits prepared Commits [];
    Savepoint            "savepoint"               Other       stays   alone    Runs [];
    RollbackTo           "rollback_to_savepoint"   Other       stays   alone    Runs [];
    ReleaseSavepoint     "release_savepoint"       Other       stays   alone    Runs [];
    Prepare              "prepare_sql"             Other       stays   alone    Dynamic("Dynamic SQL") [state];
    Execute              "execute_sql"             Other       stays   alone    Dynamic("Dynamic SQL") [];
    Deallocate           "dealloc_sql"             Other       stays   alone    Dynamic("Dynamic SQL") [state];
    Set                  "set_option"              Other       stays   prepared Runs [];
    SetTransaction       "set_option"              Other       stays   prepared Runs [];
    ResetPersist         "set_option"              Other       stays   prepared Dynamic("RESET") [];
    Use                  "change_db"               Other       stays   alone    Never("USE") [];
    Describe             "show_fields"             Other       stays   prepared Sends [counts];
    Kill                 "kill"                    Other       stays   prepared Runs [];
    Shutdown             "shutdown"                Other       stays   alone    Runs [];
    Restart              "restart"                 Other       stays   alone    Runs [];
    InstallComponent     "install_component"       Other       commits alone    Runs [];
    UninstallComponent   "uninstall_component"     Other       commits alone    Runs [];
    Clone                "clone"                   Other       stays   alone    Runs [];
    ReloadTls            "alter_instance"          Other       stays   prepared Commits [];
    Flush                "flush"                   Other       stays   prepared Dynamic("FLUSH") [];
    HandlerOpen          "ha_open"                 Other       stays   alone    Never("HANDLER") [];
    HandlerRead          "ha_read"                 Planned     stays   alone    Never("HANDLER") [];
    HandlerClose         "ha_close"                Other       stays   alone    Never("HANDLER") [];
    LockTables           "lock_tables"             Other       commits alone    Never("LOCK") [];
    UnlockTables         "unlock_tables"           Other       stays   alone    Never("UNLOCK") [];
    LockInstance         "lock_instance"           Other       stays   alone    Runs [];
    UnlockInstance       "unlock_instance"         Other       stays   alone    Runs [];
    CreateDatabase       "create_db"               Definitions commits prepared Commits [];
    AlterDatabase        "alter_db"                Definitions commits alone    Commits [];
    DropDatabase         "drop_db"                 Definitions commits prepared Commits [];
    CreateTable          "create_table"            Definitions commits prepared Commits [];
    CreateTemporaryTable "create_table"            Definitions stays   prepared Runs [state];
    AlterTable           "alter_table"             Definitions commits prepared Commits [];
    DropTable            "drop_table"              Definitions commits prepared Commits [];
    DropTemporaryTable   "drop_table"              Definitions stays   prepared Runs [state];
    CreateView           "create_view"             Definitions commits prepared Commits [];
    AlterView            "create_view"             Definitions commits alone    Never("ALTER VIEW") [];
    DropView             "drop_view"               Definitions commits prepared Commits [];
    Truncate             "truncate"                Definitions commits prepared Commits [];
    RenameTable          "rename_table"            Definitions commits prepared Commits [];
    CreateIndex          "create_index"            Definitions commits prepared Commits [];
    DropIndex            "drop_index"              Definitions commits prepared Commits [];
    Histogram            "analyze"                 Definitions commits prepared Sends [];
    Analyze              "analyze"                 Definitions commits prepared Sends [];
    Optimize             "optimize"                Definitions commits prepared Sends [];
    Check                "check"                   Definitions commits alone    Never("CHECK") [];
    Repair               "repair"                  Definitions commits prepared Sends [];
    Checksum             "checksum"                Other       stays   prepared Sends [];
    CreateProcedure      "create_procedure"        Definitions commits alone    Commits [];
    CreateFunction       "create_function"         Definitions commits alone    Commits [];
    AlterProcedure       "alter_procedure"         Definitions commits alone    Commits [];
    AlterFunction        "alter_function"          Definitions commits alone    Commits [];
    CreateTrigger        "create_trigger"          Other       commits alone    Commits [];
    CreateEvent          "create_event"            Other       commits prepared Commits [];
    AlterEvent           "alter_event"             Other       commits prepared Commits [];
    Call                 "call_procedure"          Other       stays   prepared Runs [];
    Signal               "signal"                  Other       stays   alone    Runs [];
    Resignal             "resignal"                Other       stays   alone    Runs [keeps];
    GetDiagnostics       "get_diagnostics"         Other       stays   alone    Runs [keeps];
    DropProcedure        "drop_procedure"          Definitions commits alone    Commits [];
    DropFunction         "drop_function"           Definitions commits alone    Commits [];
    DropTrigger          "drop_trigger"            Definitions commits alone    Commits [];
    DropEvent            "drop_event"              Definitions commits prepared Commits [];
    CreateUser           "create_user"             Accounts    commits prepared Commits [];
    AlterUser            "alter_user"              Accounts    commits prepared Commits [];
    DropUser             "drop_user"               Accounts    commits prepared Commits [];
    RenameUser           "rename_user"             Accounts    commits prepared Commits [];
    SetPassword          "set_password"            Accounts    commits prepared Commits [];
    Grant                "grant"                   Accounts    commits prepared Commits [];
    Revoke               "revoke"                  Accounts    commits prepared Commits [];
    RevokeAll            "revoke_all"              Accounts    commits prepared Commits [];
    CreateRole           "create_role"             Accounts    commits alone    Commits [];
    DropRole             "drop_role"               Accounts    commits alone    Commits [];
    GrantRoles           "grant_roles"             Accounts    commits prepared Commits [];
    RevokeRoles          "revoke_roles"            Accounts    commits prepared Commits [];
    SetRole              "set_role"                Other       stays   prepared Runs [];
    SetDefaultRole       "alter_user_default_role" Accounts    commits prepared Commits [];
    ShowDatabases        "show_databases"          Other       stays   prepared Sends [counts];
    ShowTables           "show_tables"             Other       stays   prepared Sends [counts];
    ShowTableStatus      "show_table_status"       Other       stays   prepared Sends [counts];
    ShowColumns          "show_fields"             Other       stays   prepared Sends [counts];
    ShowIndex            "show_keys"               Other       stays   prepared Sends [counts];
    ShowCreateTable      "show_create_table"       Other       stays   prepared Sends [];
    ShowCreateDatabase   "show_create_db"          Other       stays   prepared Sends [];
    ShowCreateUser       "show_create_user"        Other       stays   prepared Sends [];
    ShowVariables        "show_variables"          Other       stays   prepared Sends [counts];
    ShowStatus           "show_status"             Other       stays   prepared Sends [counts];
    ShowProcessList      "show_processlist"        Other       stays   prepared Sends [];
    ShowWarnings         "show_warnings"           Other       stays   alone    Sends [keeps];
    ShowCountWarnings    "show_warnings"           Other       stays   alone    Sends [counts keeps];
    ShowCountErrors      "show_errors"             Other       stays   alone    Sends [counts keeps];
    ShowErrors           "show_errors"             Other       stays   alone    Sends [keeps];
    ShowEngines          "show_storage_engines"    Other       stays   prepared Sends [counts];
    ShowEngineStatus     "show_engine_status"      Other       stays   prepared Sends [];
    ShowCharset          "show_charsets"           Other       stays   prepared Sends [counts];
    ShowCollation        "show_collations"         Other       stays   prepared Sends [counts];
    ShowGrants           "show_grants"             Other       stays   prepared Sends [];
    ShowPrivileges       "show_privileges"         Other       stays   prepared Sends [];
    ShowPlugins          "show_plugins"            Other       stays   prepared Sends [counts];
    ShowOpenTables       "show_open_tables"        Other       stays   prepared Sends [counts];
    ShowTriggers         "show_triggers"           Other       stays   prepared Sends [counts];
    ShowEvents           "show_events"             Other       stays   prepared Sends [counts];
    ShowProcedureStatus  "show_procedure_status"   Other       stays   prepared Sends [counts];
    ShowFunctionStatus   "show_function_status"    Other       stays   prepared Sends [counts];
    ShowMasterStatus     "show_binary_log_status"  Other       stays   prepared Sends [];
    ShowBinaryLogs       "show_binlogs"            Other       stays   prepared Sends [];
    ShowReplicaStatus    "show_replica_status"     Other       stays   prepared Sends [];
    ShowReplicas         "show_replicas"           Other       stays   prepared Sends [];
    ShowBinlogEvents     "show_binlog_events"      Other       stays   prepared Sends [counts];
    ShowRelaylogEvents   "show_relaylog_events"    Other       stays   prepared Sends [];
    ShowCreateProcedure  "show_create_proc"        Other       stays   prepared Sends [];
    ShowCreateFunction   "show_create_func"        Other       stays   prepared Sends [];
    ShowCreateTrigger    "show_create_trigger"     Other       stays   prepared Sends [];
    ShowCreateEvent      "show_create_event"       Other       stays   prepared Sends [];
    ShowProfiles         "show_profiles"           Other       stays   prepared Sends [];
    ShowProfile          "show_profile"            Other       stays   prepared Sends [counts];
    Unsupported          "other"                   Other       stays   prepared Runs [];
}

impl StatementKind {
    /// Returns what holds for all statements of the kind.
    #[inline]
    pub fn facts(self) -> &'static Facts {
        &STATEMENT_KINDS[self as usize]
    }
}

impl Statement {
    /// Whether it is run by a plan, rather than as it is written.
    #[inline]
    pub fn is_planned(&self) -> bool {
        self.facts().class == Class::Planned
    }

    /// Returns what holds for all statements of its kind.
    #[inline]
    pub fn facts(&self) -> &'static Facts {
        self.kind().facts()
    }

    /// Returns its kind.
    pub fn kind(&self) -> StatementKind {
        use StatementKind as Kind;
        match self {
            Statement::Empty => Kind::Empty,
            Statement::Query(query) => match shows_diagnostics(&query.body) {
                true => Kind::SelectDiagnostics,
                false => Kind::Select,
            },
            Statement::Insert(insert) => {
                match (insert.replace, matches!(insert.source, InsertSource::Query(_))) {
                    (false, false) => Kind::Insert,
                    (false, true) => Kind::InsertSelect,
                    (true, false) => Kind::Replace,
                    (true, true) => Kind::ReplaceSelect,
                }
            }
            Statement::LoadData(_) => Kind::LoadData,
            Statement::Update(update) => match update.tables.as_slice() {
                [TableRef::Table(_)] => Kind::Update,
                _several => Kind::UpdateMulti,
            },
            Statement::Delete(delete) => match delete.targets.is_empty() {
                true => Kind::Delete,
                false => Kind::DeleteMulti,
            },
            Statement::Do(_) => Kind::Do,
            Statement::Explain(_) => Kind::Explain,
            Statement::ExplainConnection { .. } => Kind::ExplainConnection,
            Statement::Begin(_) => Kind::Begin,
            Statement::Commit { .. } => Kind::Commit,
            Statement::Rollback { .. } => Kind::Rollback,
            Statement::Savepoint(_) => Kind::Savepoint,
            Statement::RollbackTo(_) => Kind::RollbackTo,
            Statement::ReleaseSavepoint(_) => Kind::ReleaseSavepoint,
            Statement::SetTransaction(_) => Kind::SetTransaction,
            Statement::Prepare { .. } => Kind::Prepare,
            Statement::Execute { .. } => Kind::Execute,
            Statement::Deallocate(_) => Kind::Deallocate,
            Statement::Set(_) => Kind::Set,
            Statement::Use(_) => Kind::Use,
            Statement::Show(show) => kind_of_show(&show.what),
            Statement::Describe { .. } => Kind::Describe,
            Statement::Kill { .. } => Kind::Kill,
            Statement::Shutdown => Kind::Shutdown,
            Statement::Restart => Kind::Restart,
            Statement::InstallComponents(_) => Kind::InstallComponent,
            Statement::UninstallComponents(_) => Kind::UninstallComponent,
            Statement::ResetPersist { .. } => Kind::ResetPersist,
            Statement::CloneLocal(_) => Kind::Clone,
            Statement::ReloadTls { .. } => Kind::ReloadTls,
            Statement::Flush(_) | Statement::FlushTablesWithLock(_) => Kind::Flush,
            Statement::HandlerOpen { .. } => Kind::HandlerOpen,
            Statement::HandlerRead(_) => Kind::HandlerRead,
            Statement::HandlerClose(_) => Kind::HandlerClose,
            Statement::LockTables(_) => Kind::LockTables,
            Statement::UnlockTables => Kind::UnlockTables,
            Statement::LockInstance => Kind::LockInstance,
            Statement::UnlockInstance => Kind::UnlockInstance,
            Statement::CreateDatabase { .. } => Kind::CreateDatabase,
            Statement::AlterDatabase { .. } => Kind::AlterDatabase,
            Statement::DropDatabase { .. } => Kind::DropDatabase,
            Statement::CreateTable(create) => match create.temporary {
                true => Kind::CreateTemporaryTable,
                false => Kind::CreateTable,
            },
            Statement::AlterTable(_) => Kind::AlterTable,
            Statement::DropTable { temporary, .. } => match temporary {
                true => Kind::DropTemporaryTable,
                false => Kind::DropTable,
            },
            Statement::CreateView(create) => match create.form {
                ViewForm::Alter => Kind::AlterView,
                ViewForm::Create | ViewForm::CreateIfNotExists | ViewForm::Replace => Kind::CreateView,
            },
            Statement::DropView { .. } => Kind::DropView,
            Statement::TruncateTable(_) => Kind::Truncate,
            Statement::RenameTable(_) => Kind::RenameTable,
            Statement::CreateIndex { .. } => Kind::CreateIndex,
            Statement::DropIndex { .. } => Kind::DropIndex,
            Statement::ChecksumTable { .. } => Kind::Checksum,
            Statement::TableMaintenance { kind, .. } => match kind {
                MaintenanceKind::Analyze => Kind::Analyze,
                MaintenanceKind::Optimize => Kind::Optimize,
                MaintenanceKind::Check => Kind::Check,
                MaintenanceKind::Repair => Kind::Repair,
            },
            Statement::Histogram { .. } => Kind::Histogram,
            Statement::CreateUser { .. } => Kind::CreateUser,
            Statement::AlterUser { .. } => Kind::AlterUser,
            Statement::DropUser { .. } => Kind::DropUser,
            Statement::RenameUser(_) => Kind::RenameUser,
            Statement::SetPassword { .. } => Kind::SetPassword,
            Statement::Grant(_) => Kind::Grant,
            Statement::Revoke(revoke) => match revoke.level {
                None => Kind::RevokeAll,
                Some(_) => Kind::Revoke,
            },
            Statement::CreateRole { .. } => Kind::CreateRole,
            Statement::DropRole { .. } => Kind::DropRole,
            Statement::CreateRoutine(create) => match create.kind {
                ProgramKind::Function => Kind::CreateFunction,
                ProgramKind::Procedure | ProgramKind::Trigger | ProgramKind::Event => Kind::CreateProcedure,
            },
            Statement::AlterRoutine(alter) => match alter.kind {
                ProgramKind::Function => Kind::AlterFunction,
                ProgramKind::Procedure | ProgramKind::Trigger | ProgramKind::Event => Kind::AlterProcedure,
            },
            Statement::CreateTrigger(_) => Kind::CreateTrigger,
            Statement::CreateEvent(_) => Kind::CreateEvent,
            Statement::AlterEvent(_) => Kind::AlterEvent,
            Statement::Call(_) => Kind::Call,
            Statement::Signal(_) => Kind::Signal,
            Statement::Resignal(_) => Kind::Resignal,
            Statement::GetDiagnostics(_) => Kind::GetDiagnostics,
            Statement::DropProgram { kind, .. } => match kind {
                ProgramKind::Procedure => Kind::DropProcedure,
                ProgramKind::Function => Kind::DropFunction,
                ProgramKind::Trigger => Kind::DropTrigger,
                ProgramKind::Event => Kind::DropEvent,
            },
            Statement::GrantRoles(_) => Kind::GrantRoles,
            Statement::RevokeRoles(_) => Kind::RevokeRoles,
            Statement::SetRole(_) => Kind::SetRole,
            Statement::SetDefaultRole { .. } => Kind::SetDefaultRole,
            Statement::Unsupported(_) => Kind::Unsupported,
        }
    }
}

fn kind_of_show(what: &ShowKind) -> StatementKind {
    use StatementKind as Kind;
    match what {
        ShowKind::Databases => Kind::ShowDatabases,
        ShowKind::Tables { .. } => Kind::ShowTables,
        ShowKind::TableStatus { .. } => Kind::ShowTableStatus,
        ShowKind::Columns { .. } => Kind::ShowColumns,
        ShowKind::Index { .. } => Kind::ShowIndex,
        ShowKind::CreateTable(_) | ShowKind::CreateView(_) => Kind::ShowCreateTable,
        ShowKind::CreateDatabase { .. } => Kind::ShowCreateDatabase,
        ShowKind::CreateUser(_) => Kind::ShowCreateUser,
        ShowKind::Variables { .. } => Kind::ShowVariables,
        ShowKind::Status { .. } => Kind::ShowStatus,
        ShowKind::ProcessList { .. } => Kind::ShowProcessList,
        ShowKind::Warnings { .. } => Kind::ShowWarnings,
        ShowKind::CountWarnings => Kind::ShowCountWarnings,
        ShowKind::Errors { .. } => Kind::ShowErrors,
        ShowKind::CountErrors => Kind::ShowCountErrors,
        ShowKind::Engines => Kind::ShowEngines,
        ShowKind::EngineStatus { .. } => Kind::ShowEngineStatus,
        ShowKind::Charset => Kind::ShowCharset,
        ShowKind::Collation => Kind::ShowCollation,
        ShowKind::Grants { .. } => Kind::ShowGrants,
        ShowKind::Privileges => Kind::ShowPrivileges,
        ShowKind::Plugins => Kind::ShowPlugins,
        ShowKind::OpenTables { .. } => Kind::ShowOpenTables,
        ShowKind::Triggers { .. } => Kind::ShowTriggers,
        ShowKind::Events { .. } => Kind::ShowEvents,
        ShowKind::ProcedureStatus => Kind::ShowProcedureStatus,
        ShowKind::FunctionStatus => Kind::ShowFunctionStatus,
        ShowKind::MasterStatus => Kind::ShowMasterStatus,
        ShowKind::BinaryLogs => Kind::ShowBinaryLogs,
        ShowKind::ReplicaStatus { .. } => Kind::ShowReplicaStatus,
        ShowKind::Replicas => Kind::ShowReplicas,
        ShowKind::BinlogEvents => Kind::ShowBinlogEvents,
        ShowKind::RelaylogEvents { .. } => Kind::ShowRelaylogEvents,
        ShowKind::CreateProgram { kind, .. } => match kind {
            ProgramKind::Procedure => Kind::ShowCreateProcedure,
            ProgramKind::Function => Kind::ShowCreateFunction,
            ProgramKind::Trigger => Kind::ShowCreateTrigger,
            ProgramKind::Event => Kind::ShowCreateEvent,
        },
        ShowKind::Profiles => Kind::ShowProfiles,
        ShowKind::Profile { .. } => Kind::ShowProfile,
    }
}

/// Whether a query selects `@@warning_count` or `@@error_count` from no table.
fn shows_diagnostics(body: &QueryBody) -> bool {
    let QueryBody::Select(select) = body else {
        return false;
    };
    let is_count =
        |name: &str| name.eq_ignore_ascii_case("warning_count") || name.eq_ignore_ascii_case("error_count");
    select.from.is_empty()
        && select.items.iter().any(
            |item| matches!(item, SelectItem::Expr { expr: Expr::SysVar { name, .. }, .. } if is_count(name)),
        )
}
