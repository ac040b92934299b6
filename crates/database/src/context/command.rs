//! The kinds of statements, as the `Com_…` status counters name them.

use crate::parse::ast::Statement;

/// The counters' names behind `Com_`. A kind of statement is its position here.
pub const NAMES: [&str; 32] = [
    "select",
    "insert",
    "update",
    "delete",
    "replace",
    "begin",
    "commit",
    "rollback",
    "savepoint",
    "set_option",
    "change_db",
    "show",
    "create_table",
    "alter_table",
    "drop_table",
    "truncate",
    "create_index",
    "drop_index",
    "create_db",
    "drop_db",
    "kill",
    "lock_tables",
    "unlock_tables",
    "prepare_sql",
    "execute_sql",
    "dealloc_sql",
    "stmt_prepare",
    "stmt_execute",
    "stmt_close",
    "grant",
    "revoke",
    "other",
];
/// The number of counters.
pub const COUNT: usize = NAMES.len();

const fn position(name: &str) -> usize {
    let mut at = 0;
    while at < COUNT {
        let (a, b) = (NAMES[at].as_bytes(), name.as_bytes());
        let mut same = a.len() == b.len();
        let mut i = 0;
        while same && i < a.len() {
            same = a[i] == b[i];
            i += 1;
        }
        if same {
            return at;
        }
        at += 1;
    }
    panic!("no such command");
}

/// COM_STMT_PREPARE
pub const STMT_PREPARE: usize = position("stmt_prepare");
/// COM_STMT_EXECUTE
pub const STMT_EXECUTE: usize = position("stmt_execute");
/// COM_STMT_CLOSE
pub const STMT_CLOSE: usize = position("stmt_close");

/// The counter of a statement.
pub fn of(statement: &Statement) -> usize {
    const SELECT: usize = position("select");
    const INSERT: usize = position("insert");
    const REPLACE: usize = position("replace");
    const UPDATE: usize = position("update");
    const DELETE: usize = position("delete");
    const BEGIN: usize = position("begin");
    const COMMIT: usize = position("commit");
    const ROLLBACK: usize = position("rollback");
    const SAVEPOINT: usize = position("savepoint");
    const SET: usize = position("set_option");
    const USE: usize = position("change_db");
    const SHOW: usize = position("show");
    const CREATE_TABLE: usize = position("create_table");
    const ALTER_TABLE: usize = position("alter_table");
    const DROP_TABLE: usize = position("drop_table");
    const TRUNCATE: usize = position("truncate");
    const CREATE_INDEX: usize = position("create_index");
    const DROP_INDEX: usize = position("drop_index");
    const CREATE_DB: usize = position("create_db");
    const DROP_DB: usize = position("drop_db");
    const KILL: usize = position("kill");
    const LOCK: usize = position("lock_tables");
    const UNLOCK: usize = position("unlock_tables");
    const PREPARE: usize = position("prepare_sql");
    const EXECUTE: usize = position("execute_sql");
    const DEALLOCATE: usize = position("dealloc_sql");
    const GRANT: usize = position("grant");
    const REVOKE: usize = position("revoke");
    const OTHER: usize = position("other");
    match statement {
        Statement::Query(_) => SELECT,
        Statement::Insert(insert) if insert.replace => REPLACE,
        Statement::Insert(_) => INSERT,
        Statement::Update(_) => UPDATE,
        Statement::Delete(_) => DELETE,
        Statement::Begin(_) => BEGIN,
        Statement::Commit { .. } => COMMIT,
        Statement::Rollback { .. } => ROLLBACK,
        Statement::Savepoint(_) => SAVEPOINT,
        Statement::Set(_) | Statement::SetTransaction(_) => SET,
        Statement::Use(_) => USE,
        Statement::Show(_) | Statement::Describe { .. } => SHOW,
        Statement::CreateTable(_) => CREATE_TABLE,
        Statement::AlterTable(_) => ALTER_TABLE,
        Statement::DropTable { .. } => DROP_TABLE,
        Statement::TruncateTable(_) => TRUNCATE,
        Statement::CreateIndex { .. } => CREATE_INDEX,
        Statement::DropIndex { .. } => DROP_INDEX,
        Statement::CreateDatabase { .. } => CREATE_DB,
        Statement::DropDatabase { .. } => DROP_DB,
        Statement::Kill { .. } => KILL,
        Statement::LockTables(_) => LOCK,
        Statement::UnlockTables => UNLOCK,
        Statement::Prepare { .. } => PREPARE,
        Statement::Execute { .. } => EXECUTE,
        Statement::Deallocate(_) => DEALLOCATE,
        Statement::Grant(_) => GRANT,
        Statement::Revoke(_) => REVOKE,
        _ => OTHER,
    }
}
