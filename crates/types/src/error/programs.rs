//! Errors about the text of stored programs: their declarations, and what may stand in which of them.

use super::{SqlError, er};

/// The names of a body that must be different from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// A parameter; error 1330.
    Parameter,
    /// A variable; error 1331.
    Variable,
    /// A condition; error 1332.
    Condition,
    /// A cursor; error 1333.
    Cursor,
}

impl SqlError {
    /// Errors 1330 to 1333: the name is declared twice in one block.
    pub fn declared_twice(what: Declared, name: &str) -> Self {
        let (code, what) = match what {
            Declared::Parameter => (er::SP_DUP_PARAM, "parameter"),
            Declared::Variable => (er::SP_DUP_VAR, "variable"),
            Declared::Condition => (er::SP_DUP_COND, "condition"),
            Declared::Cursor => (er::SP_DUP_CURS, "cursor"),
        };
        SqlError::new(code, format!("Duplicate {what}: {name}"))
    }

    /// Error 1303: a program is made in the body of another.
    pub fn program_in_program(kind: &str) -> Self {
        let text = format!("Can't create a {kind} from within another stored routine");
        SqlError::new(er::SP_NO_RECURSIVE_CREATE, text)
    }

    /// Error 1357: a program is dropped or altered in the body of another.
    pub fn program_dropped_in_program(kind: &str) -> Self {
        let text = format!("Can't drop or alter a {kind} from within another stored routine");
        SqlError::new(er::SP_NO_DROP_SP, text)
    }

    /// Error 1308: LEAVE or ITERATE names no label around it.
    pub fn no_such_label(statement: &str, label: &str) -> Self {
        let text = format!("{statement} with no matching label: {label}");
        SqlError::new(er::SP_LILABEL_MISMATCH, text)
    }

    /// Error 1309: the label is that of a statement around it.
    pub fn label_redefined(label: &str) -> Self {
        SqlError::new(er::SP_LABEL_REDEFINE, format!("Redefining label {label}"))
    }

    /// Error 1310: the label at a statement's end is not that at its begin.
    pub fn end_label_mismatch(label: &str) -> Self {
        SqlError::new(er::SP_LABEL_MISMATCH, format!("End-label {label} without match"))
    }

    /// Error 1313: RETURN in something else than a function.
    pub fn return_outside_function() -> Self {
        SqlError::new(er::SP_BADRETURN, "RETURN is only allowed in a FUNCTION")
    }

    /// Error 1314: no stored program may have this statement.
    pub fn not_in_programs(statement: &str) -> Self {
        let text = format!("{statement} is not allowed in stored procedures");
        SqlError::new(er::SP_BADSTATEMENT, text)
    }

    /// Error 1442: a function or trigger changes a table that the statement uses which runs it.
    pub fn used_outside(table: &str) -> Self {
        let text = format!(
            "Can't update table '{table}' in stored function/trigger because it is already used by statement which invoked this \
             stored function/trigger."
        );
        SqlError::new(er::CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG, text)
    }

    /// Error 1319: the condition is not declared.
    pub fn undefined_condition(name: &str) -> Self {
        SqlError::new(er::SP_COND_MISMATCH, format!("Undefined CONDITION: {name}"))
    }

    /// Error 1320: a function has no RETURN.
    pub fn no_return(function: &str) -> Self {
        SqlError::new(er::SP_NORETURN, format!("No RETURN found in FUNCTION {function}"))
    }

    /// Error 1323: the query of a cursor has INTO.
    pub fn cursor_into() -> Self {
        SqlError::new(er::SP_BAD_CURSOR_SELECT, "Cursor SELECT must not have INTO")
    }

    /// Error 1324: the cursor is not declared.
    pub fn undefined_cursor(name: &str) -> Self {
        SqlError::new(er::SP_CURSOR_MISMATCH, format!("Undefined CURSOR: {name}"))
    }

    /// Error 1327: the variable is not declared.
    pub fn undeclared_variable(name: &str) -> Self {
        SqlError::new(er::SP_UNDECLARED_VAR, format!("Undeclared variable: {name}"))
    }

    /// Error 1336: functions and triggers may not have this.
    pub fn not_in_functions(what: &str) -> Self {
        let text = format!("{what} is not allowed in stored function or trigger");
        SqlError::new(er::STMT_NOT_ALLOWED_IN_SF_OR_TRG, text)
    }

    /// Error 1337: a variable or condition is declared after a cursor or a handler.
    pub fn variable_after_cursor() -> Self {
        let text = "Variable or condition declaration after cursor or handler declaration";
        SqlError::new(er::SP_VARCOND_AFTER_CURSHNDLR, text)
    }

    /// Error 1338: a cursor is declared after a handler.
    pub fn cursor_after_handler() -> Self {
        let text = "Cursor declaration after handler declaration";
        SqlError::new(er::SP_CURSOR_AFTER_HANDLER, text)
    }

    /// Error 1362: the row that a trigger may not change.
    pub fn trigger_row_fixed(row: &str, timing: &str) -> Self {
        let text = format!("Updating of {row} row is not allowed in {timing}trigger");
        SqlError::new(er::TRG_CANT_CHANGE_ROW, text)
    }

    /// Error 1363: the row that a trigger of the event does not have.
    pub fn no_such_trigger_row(row: &str, event: &str) -> Self {
        let text = format!("There is no {row} row in on {event} trigger");
        SqlError::new(er::TRG_NO_SUCH_ROW_IN_TRG, text)
    }

    /// Error 1407: an invalid SQLSTATE, or one that stands for success.
    pub fn bad_sqlstate(state: &str) -> Self {
        SqlError::new(er::SP_BAD_SQLSTATE, format!("Bad SQLSTATE: '{state}'"))
    }

    /// Error 1413: two handlers of a block handle the same.
    pub fn handler_twice() -> Self {
        let text = "Duplicate handler declared in the same block";
        SqlError::new(er::SP_DUP_HANDLER, text)
    }

    /// Error 1415: a function or a trigger has a statement whose rows go to the client.
    pub fn no_result_from(what: &str) -> Self {
        let text = format!("Not allowed to return a result set from a {what}");
        SqlError::new(er::SP_NO_RETSET, text)
    }

    /// Error 1422: a function or a trigger has a statement that commits.
    pub fn commit_in_function() -> Self {
        let text = "Explicit or implicit commit is not allowed in stored function or trigger.";
        SqlError::new(er::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG, text)
    }

    /// Error 1445: a function or a trigger sets `autocommit`.
    pub fn autocommit_in_function() -> Self {
        let text = "Not allowed to set autocommit from a stored function or trigger";
        SqlError::new(er::SP_CANT_SET_AUTOCOMMIT, text)
    }

    /// Error 1453: SET of a variable whose name is a word of SET.
    pub fn shadowing_variable(name: &str) -> Self {
        let text = format!("Variable '{name}' must be quoted with `...`, or renamed");
        SqlError::new(er::SP_BAD_VAR_SHADOW, text)
    }

    /// Error 1576: the body of an event makes an event.
    pub fn event_in_program() -> Self {
        let text = "Recursion of EVENT DDL statements is forbidden when body is present";
        SqlError::new(er::EVENT_RECURSION_FORBIDDEN, text)
    }

    /// Error 1641: SIGNAL or RESIGNAL sets an item twice.
    pub fn item_set_twice(item: &str) -> Self {
        let text = format!("Duplicate condition information item '{item}'");
        SqlError::new(er::DUP_SIGNAL_SET, text)
    }

    /// Error 1646: SIGNAL or RESIGNAL of a condition that was declared for an error number.
    pub fn signal_of_number() -> Self {
        let text = "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
        SqlError::new(er::SIGNAL_BAD_CONDITION_TYPE, text)
    }
}
