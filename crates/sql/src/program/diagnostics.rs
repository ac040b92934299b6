//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, in a program and outside of one.
//!
//! SIGNAL raises an error, or adds a warning if the class of its SQLSTATE is `01`. An error's items are left in the diagnostics area until the
//! error is added to it, see [`Warnings::signal`](crate::types::Warnings::signal). What is wrong with GET DIAGNOSTICS itself is no error of it: it
//! becomes a condition of the area that it read.

use crate::context::SessionState;
use crate::error::{Result, SqlError, er};
use crate::expr::NoSubqueries;
use crate::parse::ast::{
    ConditionItem, DiagnosticsItems, Expr, GetDiagnostics, Signal, SignalItem, StatementItem, Target,
};
use crate::types::condition::ItemTexts;
use crate::types::{Value, Warning, WarningLevel};

/// Gives the value of an expression, which is a literal or a variable.
pub type ValueOf<'a> = &'a mut dyn FnMut(&Expr) -> Result<Value>;

/// What GET DIAGNOSTICS reads.
pub struct Area<'a> {
    pub conditions: &'a [Warning],
    pub row_count: i64,
}

/// SIGNAL, or RESIGNAL of `handled`. Error 1231 for an item that cannot have its value, 1648 for one that is too long.
pub fn signal(
    state: &SessionState,
    signal: &Signal,
    handled: Option<&Warning>,
    value_of: ValueOf,
) -> Result<()> {
    let mut raised = match (signal.state, handled) {
        (None, Some(handled)) => handled.clone(),
        (None, None) => return Err(no_active_handler()),
        (Some(sqlstate), handled) => of_state(sqlstate, handled),
    };
    for (item, expr) in &signal.items {
        let value = value_of(expr)?;
        set_item(&mut raised, *item, value, state)?;
    }
    raise(state, raised)
}

/// Error 1645.
pub fn no_active_handler() -> SqlError {
    SqlError::new(
        er::RESIGNAL_WITHOUT_ACTIVE_HANDLER,
        "RESIGNAL when handler not active",
    )
}

/// What an SQLSTATE means by itself.
fn of_state(sqlstate: [u8; 5], handled: Option<&Warning>) -> Warning {
    let (level, code, text) = match &sqlstate[..2] {
        b"01" => (
            WarningLevel::Warning,
            er::SIGNAL_WARN,
            "Unhandled user-defined warning condition",
        ),
        b"02" => (
            WarningLevel::Error,
            er::SIGNAL_NOT_FOUND,
            "Unhandled user-defined not found condition",
        ),
        _ => (
            WarningLevel::Error,
            er::SIGNAL_EXCEPTION,
            "Unhandled user-defined exception condition",
        ),
    };
    Warning {
        level,
        code,
        sqlstate,
        // RESIGNAL keeps what it does not set.
        message: handled.map_or_else(|| text.to_owned(), |handled| handled.message.clone()),
        items: handled.map_or_else(of_nobody, |handled| handled.items.clone()),
    }
}

/// The items of what a client signals: nobody defines its state.
fn of_nobody() -> ItemTexts {
    let origins = [SignalItem::ClassOrigin, SignalItem::SubclassOrigin];
    origins.into_iter().map(|item| (item, String::new())).collect()
}

fn set_item(raised: &mut Warning, item: SignalItem, value: Value, state: &SessionState) -> Result<()> {
    let wrong = |value: &str| SqlError::wrong_value_for_variable(item.name(), value);
    if value.is_null() {
        return Err(wrong("NULL"));
    }
    if item == SignalItem::MysqlErrno {
        let env = state.env(&NoSubqueries, &[]);
        let number = value.to_int(&env)?;
        raised.code = u16::try_from(number)
            .ok()
            .filter(|code| *code > 0)
            .ok_or_else(|| wrong(&number.to_string()))?;
        return Ok(());
    }
    let text = String::from_utf8_lossy(&value.to_text()).into_owned();
    let text = shortened(item, text, state)?;
    if item == SignalItem::MessageText {
        raised.message = text;
        return Ok(());
    }
    raised.items.retain(|(of, _)| *of != item);
    raised.items.push((item, text));
    Ok(())
}

/// A text as long as the item may be. Error 1648 in strict mode, else a warning.
fn shortened(item: SignalItem, text: String, state: &SessionState) -> Result<String> {
    let Some((end, _)) = text.char_indices().nth(item.chars_max()) else {
        return Ok(text);
    };
    if state.settings.sql_mode.strict() {
        return Err(SqlError::new(
            er::COND_ITEM_TOO_LONG,
            format!("Data too long for condition item '{}'", item.name()),
        ));
    }
    state.warnings.warn(SqlError::new(
        er::COND_ITEM_TRUNCATED,
        format!("Data truncated for condition item '{}'", item.name()),
    ));
    Ok(text[..end].to_owned())
}

/// Adds a warning, or returns the error.
fn raise(state: &SessionState, raised: Warning) -> Result<()> {
    if raised.level != WarningLevel::Error {
        state.warnings.add(raised);
        return Ok(());
    }
    let error = raised.error();
    state.warnings.signal(raised.items);
    Err(error)
}

/// GET DIAGNOSTICS. Error 3004 if `area` is `None`: there is no handler at work whose condition STACKED would mean.
pub fn get(
    state: &SessionState,
    get: &GetDiagnostics,
    area: Option<Area>,
    value_of: ValueOf,
    set: &mut dyn FnMut(&Target, Value) -> Result<()>,
) -> Result<()> {
    let area = area.ok_or_else(|| {
        SqlError::new(
            er::GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER,
            "GET STACKED DIAGNOSTICS when handler not active",
        )
    })?;
    match read(get, area, state, value_of, set) {
        Err(error) if !error.ends_the_statement() => {
            note_fault(state, error);
            Ok(())
        }
        done => done,
    }
}

/// Adds what was wrong with GET DIAGNOSTICS to the conditions.
pub fn note_fault(state: &SessionState, error: SqlError) {
    state.warnings.push(WarningLevel::Error, error);
    state.error_count.set(state.error_count.get().saturating_add(1));
}

fn read(
    get: &GetDiagnostics,
    area: Area,
    state: &SessionState,
    value_of: ValueOf,
    set: &mut dyn FnMut(&Target, Value) -> Result<()>,
) -> Result<()> {
    match &get.what {
        DiagnosticsItems::Statement(items) => {
            for (target, item) in items {
                let value = match item {
                    StatementItem::Number => Value::UInt(area.conditions.len() as u64),
                    StatementItem::RowCount => Value::Int(area.row_count),
                };
                set(target, value)?;
            }
        }
        DiagnosticsItems::Condition { number, items } => {
            let env = state.env(&NoSubqueries, &[]);
            let number = value_of(number)?.to_int(&env)?;
            let at = usize::try_from(number)
                .ok()
                .and_then(|number| number.checked_sub(1));
            let condition = at.and_then(|at| area.conditions.get(at));
            let condition = condition
                .ok_or_else(|| SqlError::new(er::DA_INVALID_CONDITION_NUMBER, "Invalid condition number"))?;
            for (target, item) in items {
                set(target, item_of(condition, *item))?;
            }
        }
    }
    Ok(())
}

fn item_of(condition: &Warning, item: ConditionItem) -> Value {
    match item {
        ConditionItem::Signal(SignalItem::MysqlErrno) => Value::UInt(condition.code.into()),
        ConditionItem::Signal(item) => Value::string(condition.item(item).into_bytes()),
        ConditionItem::ReturnedSqlstate => Value::string(condition.sqlstate.to_vec()),
    }
}
