//! Stored programs: CREATE, ALTER and DROP of procedures, functions, triggers and events, and CALL.
//!
//! A body is a statement of its own grammar ([`body`]), with declarations at the begin of each block ([`declare`]). While it is read the
//! parser knows what its names mean ([`scope`]), so that the tree has no name of a variable, a condition, a cursor or a label. Which
//! statements may stand in it is in [`allowed`]; SIGNAL and GET DIAGNOSTICS are in [`diagnostics`].

pub(crate) mod allowed;
mod body;
mod declare;
mod diagnostics;
pub(crate) mod scope;
#[cfg(test)]
mod tests;

use super::ast::*;
use super::lexer::{Op, TokenKind, said_of};
use super::parser::Parser;
use scope::Scope;
use std::ops::Range;
use tidemark_types::error::programs::Declared;
use tidemark_types::error::{Result, SqlError};

impl ProgramKind {
    /// Returns its word: `PROCEDURE`.
    pub fn word(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

impl DataAccess {
    /// Returns it as it is written.
    pub fn as_sql(self) -> &'static str {
        match self {
            DataAccess::ContainsSql => "CONTAINS SQL",
            DataAccess::NoSql => "NO SQL",
            DataAccess::ReadsSqlData => "READS SQL DATA",
            DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

/// The types of which a variable may stand behind LIMIT.
const INTEGERS: [&str; 5] = ["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"];

/// The units of an event's interval.
const UNITS: [&str; 14] = [
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "YEAR_MONTH",
    "DAY_HOUR",
    "DAY_MINUTE",
    "DAY_SECOND",
    "HOUR_MINUTE",
    "HOUR_SECOND",
];

impl Parser<'_> {
    /// The body that is being read.
    pub(crate) fn scope(&mut self) -> &mut Scope {
        self.program
            .get_or_insert_with(|| Box::new(Scope::new(ProgramKind::Procedure, None)))
    }

    // ------------------------------------------------------------------------------------------------- names

    /// Returns the variable that an unqualified name means here.
    pub(crate) fn local(&self, name: &str) -> Option<Slot> {
        self.program.as_ref()?.variables.find(name).copied()
    }

    /// The name of a variable of the program; error 1327.
    pub(crate) fn local_name(&mut self) -> Result<Slot> {
        let name = self.name()?;
        self.local(&name)
            .ok_or_else(|| SqlError::undeclared_variable(&name))
    }

    /// `@name`, or the name of a variable of the program.
    pub(crate) fn target(&mut self) -> Result<Target> {
        match self.token().kind {
            TokenKind::At => self.variable_name().map(Target::UserVar),
            _ => self.local_name().map(Target::Local),
        }
    }

    /// Returns what a column's name means within a body: a variable, or the column of a trigger's row. The column, else.
    pub(crate) fn resolve(&mut self, column: ColumnName) -> Result<Expr> {
        let Some(scope) = &mut self.program else {
            return Ok(Expr::Column(column));
        };
        if column.schema.is_some() {
            return Ok(Expr::Column(column));
        }
        let Some(table) = &column.table else {
            return Ok(match scope.variables.find(&column.column) {
                Some(slot) => {
                    scope.reads += 1;
                    Expr::Local(*slot)
                }
                None => Expr::Column(column),
            });
        };
        let Some((_, event)) = scope.fires else {
            return Ok(Expr::Column(column));
        };
        let new = table.eq_ignore_ascii_case("NEW");
        match (new, event) {
            _ if !new && !table.eq_ignore_ascii_case("OLD") => Ok(Expr::Column(column)),
            (true, TriggerEvent::Delete) => Err(SqlError::no_such_trigger_row("NEW", "DELETE")),
            (false, TriggerEvent::Insert) => Err(SqlError::no_such_trigger_row("OLD", "INSERT")),
            _ => {
                scope.reads += 1;
                Ok(Expr::Transition {
                    new,
                    column: column.column,
                })
            }
        }
    }

    /// A variable of the program as a number of rows, which must be of an integer type.
    pub(crate) fn limit_variable(&mut self) -> Result<Expr> {
        let token = self.token();
        let slot = self.local_name()?;
        let local = &self.scope().program.locals[slot];
        if INTEGERS.contains(&local.ty.name.as_str()) {
            return Ok(Expr::Local(slot));
        }
        let what = format!("The variable \"{}\" has a non-integer based type", local.name);
        Err(said_of(self.sql, token.start as usize, &what))
    }

    /// How many variables of the program have been read so far.
    pub(crate) fn reads(&self) -> usize {
        self.program.as_ref().map_or(0, |scope| scope.reads)
    }

    // -------------------------------------------------------------------------------------------------- CREATE

    /// Behind CREATE, with `[DEFINER = user]` in front of the kind; `None` if something else follows.
    pub(super) fn create_program(&mut self) -> Result<Option<Statement>> {
        let start = self.cursor();
        let mut definer = None;
        if self.accept("DEFINER") {
            self.expect_op(Op::Eq)?;
            definer = Some(self.user_name()?);
        }
        let Some(kind) = self.program_kind() else {
            if definer.is_some() {
                return self.error();
            }
            self.go_back(start);
            return Ok(None);
        };
        if self.program.is_some() {
            return Err(match kind {
                ProgramKind::Event => SqlError::event_in_program(),
                _ => SqlError::program_in_program(kind.word()),
            });
        }
        match kind {
            ProgramKind::Procedure | ProgramKind::Function => self.create_routine(kind, definer),
            ProgramKind::Trigger => self.create_trigger(definer),
            ProgramKind::Event => self.create_event(definer),
        }
        .map(Some)
    }

    /// Behind CREATE PROCEDURE or FUNCTION.
    fn create_routine(&mut self, kind: ProgramKind, definer: Option<UserName>) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        if kind == ProgramKind::Function && self.is("RETURNS") {
            return self.skip_unsupported("CREATE FUNCTION ... SONAME");
        }
        let mut scope = Scope::new(kind, None);
        let opening = self.token();
        self.expect_op(Op::LParen)?;
        let mut modes = Vec::new();
        while !self.is_op(Op::RParen) {
            modes.push(self.parameter_of(&mut scope)?);
            if !self.accept_op(Op::Comma) {
                break;
            }
            if self.is_op(Op::RParen) {
                return self.error();
            }
        }
        let closing = self.token();
        self.expect_op(Op::RParen)?;
        let (mut returns, mut returns_text) = (None, Vec::new());
        if kind == ProgramKind::Function {
            self.expect("RETURNS")?;
            let start = self.token().start as usize;
            returns = Some(self.program_type()?);
            returns_text = self.kept_text(start, self.end_of_last());
        }
        let characteristics = self.characteristics(true)?;
        let parameters_text = self.kept_text(opening.end as usize, closing.start as usize);
        let program = self.body(scope)?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            kind,
            definer,
            if_not_exists,
            name,
            modes,
            returns,
            characteristics,
            program,
            parameters_text,
            returns_text,
        })))
    }

    /// `[IN | OUT | INOUT] name type`
    fn parameter_of(&mut self, scope: &mut Scope) -> Result<ParameterMode> {
        let mode = match scope.kind {
            ProgramKind::Procedure => self.accept_any(&["IN", "OUT", "INOUT"]),
            _ => None,
        };
        let name = self.name()?;
        let local = Local {
            name: name.clone(),
            ty: self.program_type()?,
            default: None,
        };
        if !scope.declare_variable(local) {
            return Err(SqlError::declared_twice(Declared::Parameter, &name));
        }
        Ok(match mode {
            Some("OUT") => ParameterMode::Out,
            Some("INOUT") => ParameterMode::InOut,
            _ => ParameterMode::In,
        })
    }

    /// The type of a variable, a parameter or a function's result.
    pub(crate) fn program_type(&mut self) -> Result<TypeName> {
        let ty = self.data_type()?;
        match ty.collation.is_some() && ty.charset.is_none() {
            true => Err(SqlError::not_supported(
                "COLLATE with no CHARACTER SET in SP parameters, RETURNS, DECLARE",
            )),
            false => Ok(ty),
        }
    }

    /// COMMENT, LANGUAGE and kin, in any order; the last of a kind holds. ALTER does not take DETERMINISTIC.
    fn characteristics(&mut self, of_create: bool) -> Result<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            if self.accept("COMMENT") {
                found.comment = Some(self.string()?);
            } else if self.accept("LANGUAGE") {
                let language = self.any_name()?;
                if !language.eq_ignore_ascii_case("SQL") {
                    return Err(SqlError::not_supported(format!("LANGUAGE {language}")));
                }
            } else if self.accept_all(&["NO", "SQL"]) {
                found.access = Some(DataAccess::NoSql);
            } else if self.accept_all(&["CONTAINS", "SQL"]) {
                found.access = Some(DataAccess::ContainsSql);
            } else if self.accept_all(&["READS", "SQL", "DATA"]) {
                found.access = Some(DataAccess::ReadsSqlData);
            } else if self.accept_all(&["MODIFIES", "SQL", "DATA"]) {
                found.access = Some(DataAccess::ModifiesSqlData);
            } else if self.accept_all(&["SQL", "SECURITY"]) {
                found.invoker = Some(match self.accept_any(&["DEFINER", "INVOKER"]) {
                    Some(word) => word == "INVOKER",
                    None => return self.error(),
                });
            } else if of_create && self.accept("DETERMINISTIC") {
                found.deterministic = Some(true);
            } else if of_create && self.accept_all(&["NOT", "DETERMINISTIC"]) {
                found.deterministic = Some(false);
            } else {
                return Ok(found);
            }
        }
    }

    /// Behind CREATE TRIGGER.
    fn create_trigger(&mut self, definer: Option<UserName>) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let timing = match self.accept_any(&["BEFORE", "AFTER"]) {
            Some("BEFORE") => TriggerTiming::Before,
            Some(_) => TriggerTiming::After,
            None => return self.error(),
        };
        let event = match self.accept_any(&["INSERT", "UPDATE", "DELETE"]) {
            Some("INSERT") => TriggerEvent::Insert,
            Some("UPDATE") => TriggerEvent::Update,
            Some(_) => TriggerEvent::Delete,
            None => return self.error(),
        };
        self.expect("ON")?;
        let table = self.object_name()?;
        for word in ["FOR", "EACH", "ROW"] {
            self.expect(word)?;
        }
        let order = match self.accept_any(&["FOLLOWS", "PRECEDES"]) {
            Some(word) => Some(TriggerOrder {
                precedes: word == "PRECEDES",
                other: self.name_or_string()?,
            }),
            None => None,
        };
        let scope = Scope::new(ProgramKind::Trigger, Some((timing, event)));
        let program = self.body(scope)?;
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            definer,
            if_not_exists,
            name,
            timing,
            event,
            table,
            order,
            program,
        })))
    }

    /// Behind CREATE EVENT.
    fn create_event(&mut self, definer: Option<UserName>) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        for word in ["ON", "SCHEDULE"] {
            self.expect(word)?;
        }
        let schedule = self.schedule()?;
        let preserve = self.on_completion()?;
        let status = self.event_status();
        let comment = match self.accept("COMMENT") {
            true => Some(self.string()?),
            false => None,
        };
        self.expect("DO")?;
        let program = self.body(Scope::new(ProgramKind::Event, None))?;
        Ok(Statement::CreateEvent(Box::new(CreateEvent {
            definer,
            if_not_exists,
            name,
            schedule,
            preserve,
            status,
            comment,
            program,
        })))
    }

    /// Behind ON SCHEDULE.
    fn schedule(&mut self) -> Result<Schedule> {
        if self.accept("AT") {
            return self.expr().map(Schedule::At);
        }
        self.expect("EVERY")?;
        let interval = Box::new(self.expr()?);
        let Some(unit) = self.accept_any(&UNITS) else {
            return self.error();
        };
        let starts = match self.accept("STARTS") {
            true => Some(Box::new(self.expr()?)),
            false => None,
        };
        let ends = match self.accept("ENDS") {
            true => Some(Box::new(self.expr()?)),
            false => None,
        };
        Ok(Schedule::Every {
            interval,
            unit: unit.to_owned(),
            starts,
            ends,
        })
    }

    fn on_completion(&mut self) -> Result<Option<bool>> {
        if !self.is_ahead(1, "COMPLETION") || !self.accept("ON") {
            return Ok(None);
        }
        self.advance();
        let preserve = !self.accept("NOT");
        self.expect("PRESERVE")?;
        Ok(Some(preserve))
    }

    fn event_status(&mut self) -> Option<EventStatus> {
        if self.accept("ENABLE") {
            return Some(EventStatus::Enabled);
        }
        if !self.accept("DISABLE") {
            return None;
        }
        let on_replica = self.accept_all(&["ON", "REPLICA"]) || self.accept_all(&["ON", "SLAVE"]);
        Some(match on_replica {
            true => EventStatus::ReplicaDisabled,
            false => EventStatus::Disabled,
        })
    }

    /// The body, up to the end of the statement.
    fn body(&mut self, mut scope: Scope) -> Result<Program> {
        let (kind, start) = (scope.kind, self.token().start as usize);
        scope.start = start;
        self.program = Some(Box::new(scope));
        let body = self.body_statement()?;
        self.expect_end()?;
        // What stands between the last word and the end is kept: a comment.
        let mut text = self.kept_text(start, self.token().start as usize);
        text.truncate(text.trim_ascii_end().len());
        let Some(scope) = self.program.take() else {
            return self.error();
        };
        scope.found.error(kind)?;
        Ok(Program {
            body,
            returns: scope.returns,
            text,
            ..scope.program
        })
    }

    /// From a place in the text to the end of the token read last, as a range of the body's text.
    fn range_in_body(&mut self, start: usize) -> Range<usize> {
        let end = self.end_of_last().max(start);
        let begin = self.scope().start;
        let place = |place: usize| place - self.unkept_before(place);
        place(start) - place(begin)..place(end) - place(begin)
    }

    // ------------------------------------------------------------------------------- ALTER, DROP, SHOW, CALL

    fn program_kind(&mut self) -> Option<ProgramKind> {
        let word = self.accept_any(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"])?;
        Some(match word {
            "PROCEDURE" => ProgramKind::Procedure,
            "FUNCTION" => ProgramKind::Function,
            "TRIGGER" => ProgramKind::Trigger,
            _ => ProgramKind::Event,
        })
    }

    /// Behind ALTER: `PROCEDURE | FUNCTION name …`, `[DEFINER = user] EVENT name …`; `None` if something else follows.
    pub(super) fn alter_program(&mut self) -> Result<Option<Statement>> {
        let kind = match self.accept_any(&["PROCEDURE", "FUNCTION"]) {
            Some("PROCEDURE") => ProgramKind::Procedure,
            Some(_) => ProgramKind::Function,
            None => return self.alter_event(),
        };
        let name = self.object_name()?;
        let characteristics = self.characteristics(false)?;
        Ok(Some(Statement::AlterRoutine(Box::new(AlterRoutine {
            kind,
            name,
            characteristics,
        }))))
    }

    fn alter_event(&mut self) -> Result<Option<Statement>> {
        let mut definer = None;
        if self.accept("DEFINER") {
            self.expect_op(Op::Eq)?;
            definer = Some(self.user_name()?);
            self.expect("EVENT")?;
        } else if !self.accept("EVENT") {
            return Ok(None);
        }
        let name = self.object_name()?;
        let first = self.cursor();
        let schedule = match self.accept_all(&["ON", "SCHEDULE"]) {
            true => Some(self.schedule()?),
            false => None,
        };
        let preserve = self.on_completion()?;
        let rename = match self.accept_all(&["RENAME", "TO"]) {
            true => Some(self.object_name()?),
            false => None,
        };
        let status = self.event_status();
        let comment = match self.accept("COMMENT") {
            true => Some(self.string()?),
            false => None,
        };
        let program = match self.accept("DO") {
            true if self.program.is_some() => return Err(SqlError::event_in_program()),
            true => Some(self.body(Scope::new(ProgramKind::Event, None))?),
            false => None,
        };
        if program.is_none() && self.cursor() == first {
            return self.error();
        }
        Ok(Some(Statement::AlterEvent(Box::new(AlterEvent {
            definer,
            name,
            schedule,
            preserve,
            rename,
            status,
            comment,
            program,
        }))))
    }

    /// Behind DROP: `PROCEDURE | FUNCTION | TRIGGER | EVENT [IF EXISTS] name`; `None` if something else follows.
    pub(super) fn drop_program(&mut self) -> Result<Option<Statement>> {
        let Some(kind) = self.program_kind() else {
            return Ok(None);
        };
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        Ok(Some(Statement::DropProgram {
            kind,
            name,
            if_exists,
        }))
    }

    /// Behind SHOW CREATE: `PROCEDURE | FUNCTION | TRIGGER | EVENT name`; `None` if something else follows.
    pub(super) fn show_create_program(&mut self) -> Result<Option<ShowKind>> {
        let Some(kind) = self.program_kind() else {
            return Ok(None);
        };
        let name = self.object_name()?;
        Ok(Some(ShowKind::CreateProgram { kind, name }))
    }

    /// Behind CALL.
    pub(super) fn call(&mut self) -> Result<Statement> {
        let name = self.object_name()?;
        let mut args = Vec::new();
        if self.accept_op(Op::LParen) {
            if !self.is_op(Op::RParen) {
                args = self.list(Parser::expr)?;
            }
            self.expect_op(Op::RParen)?;
        }
        Ok(Statement::Call(Box::new(Call { name, args })))
    }
}
