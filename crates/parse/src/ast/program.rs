//! Stored programs: procedures, functions, triggers, events, and what their bodies are made of.
//!
//! The parser resolves names as it goes. A body knows its variables by *slots*: the parameters come first, in the order written, then
//! each declared variable, in the order of the text, so that every declaration has a slot of its own whatever block it stands in. An unqualified
//! name that is a variable where it stands is [`super::Expr::Local`]; `NEW.c` and `OLD.c` of a trigger are
//! [`super::Expr::Transition`]. Cursors and labels are indexes too, and the names of conditions are replaced by what they were
//! declared for. What is wrong with a name is the error of CREATE, so that a body that is there refers to nothing unknown.

use super::{Expr, ObjectName, ProgramKind, Query, Statement, StatementHints, TypeName, UserName};
use std::ops::Range;
pub use tidemark_types::SignalItem;

/// A variable of a body, by its place in [`Program::locals`].
pub type Slot = usize;

// ------------------------------------------------------------------------------------------------------ statements

/// `CREATE PROCEDURE …`, `CREATE FUNCTION …`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    /// [`ProgramKind::Procedure`] or [`ProgramKind::Function`].
    pub kind: ProgramKind,
    /// `DEFINER = …`; `None`: the account of the session.
    pub definer: Option<UserName>,
    /// `IF NOT EXISTS`: a note rather than an error if it exists.
    pub if_not_exists: bool,
    /// The routine's name.
    pub name: ObjectName,
    /// How each parameter is passed; parameter n is the variable of slot n.
    pub modes: Vec<ParameterMode>,
    /// `RETURNS type`, of functions alone.
    pub returns: Option<TypeName>,
    /// What stands between the parameters and the body.
    pub characteristics: Characteristics,
    /// The body.
    pub program: Program,
    /// The type behind RETURNS as it is written; empty for a procedure.
    pub returns_text: Vec<u8>,
    /// What stands between the parentheses, in the character set of the client.
    pub parameters_text: Vec<u8>,
}

/// How a parameter is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterMode {
    /// `IN`, and every parameter of a function.
    In,
    /// `OUT`: NULL at first.
    Out,
    /// `INOUT`
    InOut,
}

/// What is said of a routine besides its body. `None`: not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Characteristics {
    /// `COMMENT '…'`
    pub comment: Option<Vec<u8>>,
    /// `LANGUAGE SQL`, or another language, as written.
    pub language: Option<String>,
    /// `DETERMINISTIC` = Some(true), `NOT DETERMINISTIC` = Some(false)
    pub deterministic: Option<bool>,
    /// `CONTAINS SQL`, `NO SQL`, `READS SQL DATA`, `MODIFIES SQL DATA`
    pub access: Option<DataAccess>,
    /// `SQL SECURITY INVOKER` = Some(true), `SQL SECURITY DEFINER` = Some(false)
    pub invoker: Option<bool>,
}

/// What a routine says that it does with data. Nothing depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DataAccess {
    /// `CONTAINS SQL`, the default.
    #[default]
    ContainsSql,
    /// `NO SQL`
    NoSql,
    /// `READS SQL DATA`
    ReadsSqlData,
    /// `MODIFIES SQL DATA`
    ModifiesSqlData,
}

/// `ALTER PROCEDURE …`, `ALTER FUNCTION …`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    /// [`ProgramKind::Procedure`] or [`ProgramKind::Function`].
    pub kind: ProgramKind,
    /// The routine's name.
    pub name: ObjectName,
    /// What is changed; DETERMINISTIC cannot be.
    pub characteristics: Characteristics,
}

/// `CREATE TRIGGER …`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    /// `DEFINER = …`; `None`: the account of the session.
    pub definer: Option<UserName>,
    /// `IF NOT EXISTS`: a note rather than an error if it exists.
    pub if_not_exists: bool,
    /// The trigger's name; its schema is that of the table.
    pub name: ObjectName,
    /// `BEFORE` or `AFTER`.
    pub timing: TriggerTiming,
    /// `INSERT`, `UPDATE` or `DELETE`.
    pub event: TriggerEvent,
    /// The table whose rows fire it.
    pub table: ObjectName,
    /// `FOLLOWS other`, `PRECEDES other`; `None`: behind all others of its timing and event.
    pub order: Option<TriggerOrder>,
    /// The body, executed for each row.
    pub program: Program,
}

/// When a trigger is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggerTiming {
    /// `BEFORE`: before the row is written.
    Before,
    /// `AFTER`: when the row is written.
    After,
}

/// What executes a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggerEvent {
    /// `INSERT`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
}

/// Where a trigger stands among those of its table with the same timing and event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOrder {
    /// `PRECEDES`; else `FOLLOWS`.
    pub precedes: bool,
    /// The other trigger's name as written.
    pub other: String,
}

/// `CREATE EVENT …`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateEvent {
    /// `DEFINER = …`; `None`: the account of the session.
    pub definer: Option<UserName>,
    /// `IF NOT EXISTS`: a note rather than an error if it exists.
    pub if_not_exists: bool,
    /// The event's name.
    pub name: ObjectName,
    /// `ON SCHEDULE …`
    pub schedule: Schedule,
    /// `ON COMPLETION PRESERVE` = Some(true), `ON COMPLETION NOT PRESERVE` = Some(false); `None`: not written.
    pub preserve: Option<bool>,
    /// `ENABLE`, `DISABLE`, …; `None`: not written.
    pub status: Option<EventStatus>,
    /// `COMMENT '…'`; `None`: not written.
    pub comment: Option<Vec<u8>>,
    /// The body, a procedure without parameters.
    pub program: Program,
}

/// `ALTER EVENT …`: what is not written stays.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    /// `DEFINER = …`; `None`: the account of the session.
    pub definer: Option<UserName>,
    /// The event's name.
    pub name: ObjectName,
    /// `ON SCHEDULE …`
    pub schedule: Option<Schedule>,
    /// `ON COMPLETION PRESERVE` = Some(true), `ON COMPLETION NOT PRESERVE` = Some(false)
    pub preserve: Option<bool>,
    /// `RENAME TO …`
    pub rename: Option<ObjectName>,
    /// `ENABLE`, `DISABLE`, …
    pub status: Option<EventStatus>,
    /// `COMMENT '…'`
    pub comment: Option<Vec<u8>>,
    /// `DO …`
    pub program: Option<Program>,
}

/// When an event is executed. The expressions are evaluated once, when the event is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// `AT time`
    At(Expr),
    /// `EVERY n unit [STARTS time] [ENDS time]`
    Every {
        /// How many of the unit.
        interval: Box<Expr>,
        /// The unit, upper-cased.
        unit: String,
        /// `STARTS`; `None`: now.
        starts: Option<Box<Expr>>,
        /// `ENDS`; `None`: never.
        ends: Option<Box<Expr>>,
    },
}

/// Whether an event is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// `ENABLE`
    Enabled,
    /// `DISABLE`
    Disabled,
    /// `DISABLE ON REPLICA`, `DISABLE ON SLAVE`
    ReplicaDisabled,
}

/// `CALL name [(a, b)]`
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The procedure's name.
    pub name: ObjectName,
    /// The arguments. For an OUT or INOUT parameter it must be an [`Expr::UserVar`], an [`Expr::Local`] or, in a BEFORE trigger,
    /// an [`Expr::Transition`] of the new row, else error 1414.
    pub args: Vec<Expr>,
}

// ------------------------------------------------------------------------------------------------------ bodies

/// The body of a stored program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The parameters, then the declared variables.
    pub locals: Vec<Local>,
    /// The cursors, in the order of the text.
    pub cursors: Vec<Cursor>,
    /// It has a RETURN.
    pub returns: bool,
    /// How many labels it has; they are numbered from zero.
    pub labels: usize,
    /// What it does: one statement of the text. SET of several variables is several.
    pub body: Vec<BodyStatement>,
    /// The body as written, in the character set of the client; what [`BodyStatement::Sql`] refers to.
    pub text: Vec<u8>,
}

/// A parameter or a declared variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// The name as written. Names are compared without regard to case.
    pub name: String,
    /// The declared type. Without CHARACTER SET it has that of the schema in which the program is made.
    pub ty: TypeName,
    /// `DEFAULT expr`, the value when its block is entered; `None`: NULL.
    pub default: Option<Expr>,
}

/// `DECLARE name CURSOR FOR query`
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    /// The name as written.
    pub name: String,
    /// What it reads; the variables in it have the values that they have at OPEN.
    pub query: Query,
    /// Where the query stands in [`Program::text`].
    pub text: Range<usize>,
}

/// A label, whether it is written or not, by its number: LEAVE goes behind the statement of that number, ITERATE to its begin.
pub type Label = usize;

/// A statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyStatement {
    /// `[label:] BEGIN … END`
    Block(Box<Block>),
    /// `IF … THEN … ELSEIF … THEN … ELSE … END IF`
    If {
        /// Each condition with what is done if it is the first that holds.
        branches: Vec<(Expr, Vec<BodyStatement>)>,
        /// `ELSE`; empty: nothing.
        otherwise: Vec<BodyStatement>,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END CASE`
    Case {
        /// The value that each WHEN is compared with; `None`: each WHEN is a condition.
        operand: Option<Expr>,
        /// Each WHEN with what is done if it is the first that holds.
        branches: Vec<(Expr, Vec<BodyStatement>)>,
        /// `ELSE`; `None`: error 1339 if no WHEN holds.
        otherwise: Option<Vec<BodyStatement>>,
    },
    /// `[label:] LOOP … END LOOP`
    Loop {
        /// Its label; `None`: it has none.
        label: Option<Label>,
        /// What is repeated.
        body: Vec<BodyStatement>,
    },
    /// `[label:] WHILE condition DO … END WHILE`
    While {
        /// Its label; `None`: it has none.
        label: Option<Label>,
        /// Tested before each round.
        condition: Expr,
        /// What is repeated.
        body: Vec<BodyStatement>,
    },
    /// `[label:] REPEAT … UNTIL condition END REPEAT`
    Repeat {
        /// Its label; `None`: it has none.
        label: Option<Label>,
        /// What is repeated.
        body: Vec<BodyStatement>,
        /// Tested after each round: it ends the loop.
        until: Expr,
    },
    /// `LEAVE label`: of a block or a loop around it.
    Leave(Label),
    /// `ITERATE label`: of a loop around it.
    Iterate(Label),
    /// `RETURN expr`, of functions alone.
    Return(Expr),
    /// `SET variable = value` of a variable of the program.
    Set {
        /// The variable.
        slot: Slot,
        /// Its new value.
        value: Expr,
    },
    /// `SET NEW.column = value`, in a BEFORE trigger.
    SetNew {
        /// The column's name as written.
        column: String,
        /// Its new value.
        value: Expr,
    },
    /// `OPEN cursor`
    Open(usize),
    /// `FETCH [[NEXT] FROM] cursor INTO a, b`
    Fetch {
        /// The cursor.
        cursor: usize,
        /// The variables that get the columns.
        into: Vec<Slot>,
    },
    /// `CLOSE cursor`
    Close(usize),
    /// Any other statement: SELECT, INSERT, CALL, SIGNAL, GET DIAGNOSTICS, SET of other variables, …
    Sql(Box<SqlStatement>),
}

/// A statement of SQL in a body.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStatement {
    /// The statement.
    pub statement: Statement,
    /// What optimizer hints ask of it as a whole; `None`: there are no hints.
    pub hints: Option<Box<StatementHints>>,
    /// Where it stands in [`Program::text`].
    pub text: Range<usize>,
}

/// `[label:] BEGIN … END`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Its label; `None`: it has none.
    pub label: Option<Label>,
    /// The variables that get their first value when it is entered, in the order declared.
    pub locals: Range<Slot>,
    /// The cursors that are closed when it is left.
    pub cursors: Range<usize>,
    /// What is done about errors and warnings inside of it, in the order declared.
    pub handlers: Vec<Handler>,
    /// What is done.
    pub body: Vec<BodyStatement>,
}

/// `DECLARE CONTINUE | EXIT HANDLER FOR condition, … statement`
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// `EXIT`: its block is left behind it; else the statement behind the one that failed is next.
    pub exits: bool,
    /// What it handles, at least one.
    pub conditions: Vec<Condition>,
    /// What is done.
    pub body: Vec<BodyStatement>,
}

/// What a handler handles. A condition's name has been replaced by what it was declared for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// An error number.
    Error(u16),
    /// `SQLSTATE '…'`
    SqlState([u8; 5]),
    /// `SQLWARNING`: SQLSTATEs that begin with `01`.
    Warning,
    /// `NOT FOUND`: SQLSTATEs that begin with `02`.
    NotFound,
    /// `SQLEXCEPTION`: all others but `00`.
    Exception,
}

// ------------------------------------------------------------------------------------------------------ diagnostics

/// `SIGNAL condition [SET item = value, …]`, `RESIGNAL [condition] [SET item = value, …]`
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// The SQLSTATE, written or by a condition's name; `None`: RESIGNAL of what is handled.
    pub state: Option<[u8; 5]>,
    /// What is said about it, each item once. The value is a literal, a variable of any kind, or NEW's or OLD's column.
    pub items: Vec<(SignalItem, Expr)>,
}

/// `GET [CURRENT | STACKED] DIAGNOSTICS …`
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    /// `STACKED`: of what the handler around it handles; else of the statement before.
    pub stacked: bool,
    /// What is got.
    pub what: DiagnosticsItems,
}

/// What GET DIAGNOSTICS gets.
#[derive(Debug, Clone, PartialEq)]
pub enum DiagnosticsItems {
    /// `target = item, …`: of the statement.
    Statement(Vec<(Target, StatementItem)>),
    /// `CONDITION number target = item, …`
    Condition {
        /// The condition's number, from 1: a literal or a variable of any kind.
        number: Expr,
        /// What is got.
        items: Vec<(Target, ConditionItem)>,
    },
}

/// What is known of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementItem {
    /// `NUMBER`: how many conditions there are.
    Number,
    /// `ROW_COUNT`
    RowCount,
}

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionItem {
    /// What SIGNAL can set.
    Signal(SignalItem),
    /// `RETURNED_SQLSTATE`
    ReturnedSqlstate,
}

/// What a value is put into by SELECT … INTO and GET DIAGNOSTICS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `@name`: the name without `@`, in lower case.
    UserVar(String),
    /// A variable of the program.
    Local(Slot),
}
