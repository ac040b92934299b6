//! SHOW CREATE PROCEDURE and FUNCTION, SHOW PROCEDURE STATUS and FUNCTION STATUS, and which accounts see what of a routine.
//!
//! A routine is seen by an account that may do something with it. Its text is seen by the definer and by accounts with SHOW_ROUTINE or
//! the global privilege SELECT.

use super::string;
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::{ResultRows, text};
use crate::dictionary::ProgramDef;
use crate::error::{Result, SqlError};
use crate::expr::column_type;
use crate::parse::ast::{DataAccess, ObjectName, ProgramKind, TypeName};
use crate::parse::print::{identifier, quoted};
use crate::show::objects::at_time;
use crate::types::{SqlMode, SqlType, TypeKind, Value};
use std::fmt::Write;
use std::sync::Arc;

/// Returns true if the account may see that there is the routine.
pub fn sees(state: &SessionState, program: &ProgramDef) -> bool {
    let any = [
        Privileges::EXECUTE,
        Privileges::ALTER_ROUTINE,
        Privileges::CREATE_ROUTINE,
    ];
    let held = state.rights().on_database(&program.schema);
    any.into_iter().any(|privilege| held.contains(privilege)) || sees_text(state, program)
}

/// Returns true if the account may see the routine's text.
pub fn sees_text(state: &SessionState, program: &ProgramDef) -> bool {
    let own = &state.info.account;
    program.definer.0 == own.user && program.definer.1.eq_ignore_ascii_case(&own.host)
        || state.has_global(Privileges::SHOW_ROUTINE)
        || state.has_global(Privileges::SELECT)
}

/// Returns the routines that the account sees, of all databases.
pub fn visible(state: &SessionState) -> Vec<Arc<ProgramDef>> {
    let dictionary = state.database.dictionary();
    let schemas = dictionary.schema_names();
    let all = schemas.iter().flat_map(|schema| dictionary.programs(schema));
    all.filter(|program| sees(state, program)).collect()
}

/// Returns bytes of a program's text as text, from the character set that it was written in.
pub fn shown(program: &ProgramDef, bytes: &[u8]) -> String {
    let text = program.client.charset().decode_marked(bytes);
    String::from_utf8_lossy(&text).into_owned()
}

/// SHOW CREATE PROCEDURE and FUNCTION. Error 1305.
pub fn create_routine(state: &SessionState, kind: ProgramKind, name: &ObjectName) -> Result<ResultRows> {
    let (schema, written) = state.resolve(name)?;
    let found = state.database.dictionary().program(kind, schema, written);
    let Some(program) = found.filter(|program| sees(state, program)) else {
        return Err(SqlError::program_missing(kind.word(), written));
    };
    let [what, heading] = match kind {
        ProgramKind::Function => ["Function", "Create Function"],
        _ => ["Procedure", "Create Procedure"],
    };
    let mut rows = ResultRows::new(&[
        (what, text(64)),
        ("sql_mode", text(520)),
        (heading, text(1024)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    let statement = match sees_text(state, &program) {
        true => string(statement(&program)),
        false => Value::Null,
    };
    rows.push(vec![
        string(&program.name),
        string(program.sql_mode.to_string()),
        statement,
        string(program.client.charset().name()),
        string(program.connection.name()),
        string(program.database.name()),
    ]);
    Ok(rows)
}

/// Returns the statement that makes a routine.
fn statement(program: &ProgramDef) -> String {
    let name = |name: &str| match program.sql_mode.has(SqlMode::ANSI_QUOTES) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => identifier(name),
    };
    let mut out = format!(
        "CREATE DEFINER={}@{} {} {}({})",
        name(&program.definer.0),
        name(&program.definer.1),
        program.kind.word(),
        name(&program.name),
        shown(program, &program.parameters),
    );
    if program.kind == ProgramKind::Function {
        let _ = write!(out, " RETURNS {}", result_type(program));
    }
    out.push('\n');
    match program.access {
        DataAccess::ContainsSql => {}
        access => {
            let _ = writeln!(out, "    {}", access.as_sql());
        }
    }
    if program.deterministic {
        out.push_str("    DETERMINISTIC\n");
    }
    if program.invoker {
        out.push_str("    SQL SECURITY INVOKER\n");
    }
    if !program.comment.is_empty() {
        let _ = writeln!(out, "    COMMENT {}", quoted(&program.comment));
    }
    out + &shown(program, &program.body)
}

/// Returns the type of a function's result with its character set.
fn result_type(program: &ProgramDef) -> String {
    let typed = |ty: &TypeName| Ok((ty.collation.is_some(), column_type("", ty, program.database)?.0));
    let tree = program.tree();
    let found: Result<Option<(bool, SqlType)>> =
        tree.and_then(|tree| tree.returns.as_ref().map(typed).transpose());
    let Ok(Some((says_collation, ty))) = found else {
        return shown(program, &program.returns);
    };
    if !ty.is_string() || ty.collation.is_binary() || ty.kind == TypeKind::Json {
        return ty.to_string();
    }
    let charset = ty.collation.charset();
    match says_collation && ty.collation != charset.default_collation() {
        true => format!("{ty} CHARSET {} COLLATE {}", charset.name(), ty.collation.name()),
        false => format!("{ty} CHARSET {}", charset.name()),
    }
}

/// SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
pub fn status(state: &SessionState, kind: ProgramKind) -> ResultRows {
    let time = || SqlType::new(TypeKind::Timestamp);
    let mut rows = ResultRows::new(&[
        ("Db", text(64)),
        ("Name", text(64)),
        ("Type", text(9)),
        ("Language", text(64)),
        ("Definer", text(288)),
        ("Modified", time()),
        ("Created", time()),
        ("Security_type", text(7)),
        ("Comment", text(1024)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    for program in visible(state).into_iter().filter(|program| program.kind == kind) {
        rows.push(vec![
            string(&program.schema),
            string(&program.name),
            string(kind.word()),
            string("SQL"),
            string(format!("{}@{}", program.definer.0, program.definer.1)),
            at_time(state, program.altered),
            at_time(state, program.created),
            string(security(&program)),
            string(&program.comment),
            string(program.client.charset().name()),
            string(program.connection.name()),
            string(program.database.name()),
        ]);
    }
    rows
}

/// Returns DEFINER or INVOKER.
pub fn security(program: &ProgramDef) -> &'static str {
    if program.invoker { "INVOKER" } else { "DEFINER" }
}
