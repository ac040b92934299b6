//! CHECK constraints: what may stand in them, and what a constraint holds fast.
//!
//! A constraint must say the same of a row whenever it is asked, so its expression may use nothing but the row: no
//! variable, no subquery, no function of time, session or chance. It must be a condition, and a column that it names
//! stays as long as it does. Like MySQL we refuse what breaks this when it is defined.
//!
//! Names of constraints are unique in a database. One that was made up from its table's name follows that name.

use super::DdlContext;
use crate::dictionary::{CheckDef, ColumnDef, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, CreateTable, Expr, FunctionCall};
use crate::parse::parse_expression;

/// Functions whose value is not the row's alone, and MySQL's names for them.
const DISALLOWED: &[(&str, &str)] = &[
    ("BENCHMARK", "benchmark"),
    ("CONNECTION_ID", "connection_id"),
    ("CURDATE", "curdate"),
    ("CURRENT_DATE", "curdate"),
    ("CURRENT_ROLE", "current_role"),
    ("CURRENT_TIME", "curtime"),
    ("CURRENT_TIMESTAMP", "now"),
    ("CURRENT_USER", "current_user"),
    ("CURTIME", "curtime"),
    ("DATABASE", "database"),
    ("FOUND_ROWS", "found_rows"),
    ("GET_LOCK", "get_lock"),
    ("IS_FREE_LOCK", "is_free_lock"),
    ("IS_USED_LOCK", "is_used_lock"),
    ("LAST_INSERT_ID", "last_insert_id"),
    ("LOCALTIME", "now"),
    ("LOCALTIMESTAMP", "now"),
    ("NOW", "now"),
    ("RAND", "rand"),
    ("RELEASE_ALL_LOCKS", "release_all_locks"),
    ("RELEASE_LOCK", "release_lock"),
    ("ROW_COUNT", "row_count"),
    ("SCHEMA", "database"),
    ("SESSION_USER", "user"),
    ("SLEEP", "sleep"),
    ("SYSTEM_USER", "user"),
    ("UNIX_TIMESTAMP", "unix_timestamp"),
    ("USER", "user"),
    ("UTC_DATE", "utc_date"),
    ("UTC_TIME", "utc_time"),
    ("UTC_TIMESTAMP", "utc_timestamp"),
    ("UUID", "uuid"),
    ("UUID_SHORT", "uuid_short"),
    ("VERSION", "version()"),
];

/// The constraints of a new table: those on columns first, and those without a name numbered.
pub(super) fn checks(create: &CreateTable) -> Result<Vec<CheckDef>> {
    let mut checks: Vec<CheckDef> = Vec::new();
    let on_columns = create.columns.iter().flat_map(|column| {
        let of = |check| (check, Some(column.name.as_str()));
        column.checks.iter().map(of)
    });
    for (written, column) in on_columns.chain(create.checks.iter().map(|check| (check, None))) {
        let check = check(written, column, &create.name.name, &checks)?;
        checks.push(check);
    }
    sort(&mut checks);
    Ok(checks)
}

/// One constraint, perhaps on a column, beside those there are.
pub(super) fn check(
    written: &ast::CheckDef,
    column: Option<&str>,
    table: &str,
    others: &[CheckDef],
) -> Result<CheckDef> {
    let taken = |name: &str| others.iter().any(|other| names_equal(&other.name, name));
    let name = match &written.name {
        Some(name) if taken(name) => return Err(duplicate(name)),
        Some(name) => name.clone(),
        None => (1..)
            .map(|n| made_up(table, n))
            .find(|name| !taken(name))
            .unwrap_or_default(),
    };
    if !written.expr.is_condition() {
        return Err(SqlError::new(
            er::NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT,
            format!("An expression of non-boolean type specified to a check constraint '{name}'."),
        ));
    }
    refuse_unsteady(&written.expr, &name)?;
    if let Some(column) = column
        && columns_of(&written.expr)
            .iter()
            .any(|other| !names_equal(other, column))
    {
        return Err(SqlError::new(
            er::COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN,
            format!("Column check constraint '{name}' references other column."),
        ));
    }
    Ok(CheckDef {
        name,
        expression: crate::parse::print::expr(&written.expr),
        enforced: written.enforced,
    })
}

/// In the order of their names they are tested and shown.
pub(super) fn sort(checks: &mut [CheckDef]) {
    checks.sort_by_cached_key(|check| check.name.to_lowercase());
}

fn made_up(table: &str, n: usize) -> String {
    format!("{table}_chk_{n}")
}

/// The constraints of a table that gets another name.
pub(super) fn renamed(checks: &[CheckDef], from: &str, to: &str) -> Vec<CheckDef> {
    let follow = |check: &CheckDef| {
        let number = check.name.strip_prefix(from)?.strip_prefix("_chk_")?;
        Some(made_up(to, number.parse().ok()?))
    };
    let mut checks = checks.to_vec();
    for check in &mut checks {
        check.name = follow(check).unwrap_or_else(|| std::mem::take(&mut check.name));
    }
    sort(&mut checks);
    checks
}

/// The constraints of a table made `LIKE` another: their names are made up.
pub(super) fn copied(checks: &[CheckDef], table: &str) -> Vec<CheckDef> {
    let mut checks = checks.to_vec();
    for (i, check) in checks.iter_mut().enumerate() {
        check.name = made_up(table, i + 1);
    }
    checks
}

/// Takes the constraints away that only a column that goes has named. Error 3959 if one names others as well.
pub(super) fn drop_column(checks: &mut Vec<CheckDef>, column: &str) -> Result<()> {
    let mut kept = Vec::with_capacity(checks.len());
    for check in checks.drain(..) {
        let expr = parse_expression(&check.expression)?;
        let named = columns_of(&expr);
        if !named.iter().any(|name| names_equal(name, column)) {
            kept.push(check);
        } else if named.iter().any(|name| !names_equal(name, column)) {
            return Err(uses(&check.name, column));
        }
    }
    *checks = kept;
    Ok(())
}

/// Error 3959 if a constraint names the column, which is to get another name.
pub(super) fn rename_column(checks: &[CheckDef], column: &str) -> Result<()> {
    for check in checks {
        let expr = parse_expression(&check.expression)?;
        if columns_of(&expr).iter().any(|name| names_equal(name, column)) {
            return Err(uses(&check.name, column));
        }
    }
    Ok(())
}

/// Whether a constraint that is enforced names the column.
pub(super) fn name_column(checks: &[CheckDef], column: &str) -> bool {
    let names = |check: &CheckDef| {
        let expr = parse_expression(&check.expression);
        expr.is_ok_and(|expr| columns_of(&expr).iter().any(|name| names_equal(name, column)))
    };
    checks.iter().any(|check| check.enforced && names(check))
}

/// What may be wrong with constraints only beside the table's columns: errors 3820 and 3818.
pub(super) fn against_columns(checks: &[CheckDef], columns: &[ColumnDef]) -> Result<()> {
    for CheckDef { name, expression, .. } in checks {
        let expr = parse_expression(expression)?;
        for used in columns_of(&expr) {
            match columns.iter().find(|column| names_equal(&column.name, used)) {
                None => {
                    return Err(SqlError::new(
                        er::CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN,
                        format!("Check constraint '{name}' refers to non-existing column '{used}'."),
                    ));
                }
                Some(column) if column.auto_increment => {
                    return Err(SqlError::new(
                        er::CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN,
                        format!("Check constraint '{name}' cannot refer to an auto-increment column."),
                    ));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Errors 3814 to 3816: what does not depend on the row alone.
fn refuse_unsteady(expr: &Expr, name: &str) -> Result<()> {
    let wrong = |code, what: &str| {
        let message = format!("An expression of a check constraint '{name}' {what}");
        Err(SqlError::new(code, message))
    };
    let named = |function: &str| {
        wrong(
            er::CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED,
            &format!("contains disallowed function: {function}."),
        )
    };
    match expr {
        Expr::Local(_)
        | Expr::Transition { .. }
        | Expr::UserVar(_)
        | Expr::SysVar { .. }
        | Expr::AssignVar { .. } => wrong(
            er::CHECK_CONSTRAINT_VARIABLES,
            "cannot refer to a user or system variable.",
        ),
        Expr::InQuery { .. } | Expr::Exists(_) | Expr::Subquery(_) | Expr::Quantified { .. } => wrong(
            er::CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED,
            "contains disallowed function.",
        ),
        Expr::Values(_) => named("values"),
        Expr::Unsupported(what) => Err(SqlError::not_supported(what)),
        Expr::Function(call) if disallowed(call).is_some() => named(disallowed(call).unwrap_or_default()),
        _ => expr
            .children()
            .into_iter()
            .try_for_each(|child| refuse_unsteady(child, name)),
    }
}

pub(super) fn disallowed(call: &FunctionCall) -> Option<&'static str> {
    DISALLOWED
        .iter()
        .find(|(function, _)| *function == call.name)
        .map(|(_, shown)| *shown)
}

/// The columns that an expression names.
pub(super) fn columns_of(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Column(column) | Expr::Default(Some(column)) => vec![&column.column],
        _ => expr.children().into_iter().flat_map(columns_of).collect(),
    }
}

impl DdlContext<'_> {
    /// Error 3822 if another table of the database than this one has a constraint of such a name.
    pub(super) fn names_are_free(&self, schema: &str, table: &str, checks: &[CheckDef]) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        let others = self.state.database.dictionary().tables(schema);
        let others = others.iter().filter(|other| other.name != table);
        let names: Vec<&str> = others.flat_map(|other| names_of(other)).collect();
        match checks
            .iter()
            .find(|check| names.iter().any(|name| names_equal(name, &check.name)))
        {
            Some(check) => Err(duplicate(&check.name)),
            None => Ok(()),
        }
    }
}

fn names_of(table: &TableDef) -> impl Iterator<Item = &str> {
    table.options.checks.iter().map(|check| check.name.as_str())
}

/// Error 3822.
fn duplicate(name: &str) -> SqlError {
    SqlError::new(
        er::CHECK_CONSTRAINT_DUP_NAME,
        format!("Duplicate check constraint name '{name}'."),
    )
}

/// Error 3821.
pub(super) fn not_found(name: &str) -> SqlError {
    SqlError::new(
        er::CHECK_CONSTRAINT_NOT_FOUND,
        format!("Check constraint '{name}' is not found in the table."),
    )
}

/// Error 3959.
fn uses(check: &str, column: &str) -> SqlError {
    SqlError::new(
        er::DEPENDENT_BY_CHECK_CONSTRAINT,
        format!(
            "Check constraint '{check}' uses column '{column}', hence column cannot be dropped or renamed."
        ),
    )
}
