//! CREATE, ALTER and DROP of stored programs.
//!
//! A routine is kept as its text ([`ProgramDef`]); the parser has found what is wrong with its names, and here is found what depends on the
//! server: types, character sets and system variables that there are not. What the statements of a body mean is not looked at, as in
//! MySQL: the tables may come later.
//!
//! Triggers and events are not there, so none is dropped: error 1360 or 1539, and with IF EXISTS a note. What is asked of the account is
//! what MySQL asks.

use super::DdlContext;
use super::create::now_s;
use super::view::definer;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::dictionary::{ProgramDef, ProgramTree};
use crate::error::{Result, SqlError, er};
use crate::expr::{column_type, is_function};
use crate::mdl::{Block, Mode, ObjectKey};
use crate::parse::ast::{
    AlterRoutine, BodyStatement, Characteristics, CreateRoutine, ObjectName, ProgramKind, SetItem, Statement,
};
use std::sync::Arc;

impl DdlContext<'_> {
    // ------------------------------------------------------------------------------------------------ CREATE

    pub(super) fn create_routine(&self, create: &CreateRoutine) -> Result<Answer> {
        let kind = create.kind;
        let (schema, name) = self.state.resolve(&create.name)?;
        check_program_name(name)?;
        self.state.require_database(Privileges::CREATE_ROUTINE, schema)?;
        let definer = definer(self.state, create.definer.as_ref())?;
        self.own_program(kind, schema, name)?;
        let dictionary = self.state.database.dictionary();
        let database = dictionary
            .schema(schema)
            .ok_or_else(|| SqlError::unknown_database(schema))?;
        let collation = database.collation;
        if dictionary.program(kind, schema, name).is_some() {
            let exists = program_exists(kind, name);
            if !create.if_not_exists {
                return Err(exists);
            }
            self.note(exists);
            return Ok(Answer::ok());
        }
        if kind == ProgramKind::Function && !create.program.returns {
            return Err(SqlError::no_return(&format!("{schema}.{name}")));
        }
        for local in &create.program.locals {
            column_type(&local.name, &local.ty, collation)?;
        }
        if let Some(ty) = &create.returns {
            column_type("", ty, collation)?;
        }
        self.check_variables(&create.program.body)?;
        let settings = &self.state.settings;
        let said = &create.characteristics;
        let now = now_s();
        let mut change = self.change()?;
        change.put_program(ProgramDef {
            kind,
            schema: schema.to_owned(),
            name: name.to_owned(),
            parameters: create.parameters_text.clone(),
            returns: create.returns_text.clone(),
            body: create.program.text.clone(),
            definer,
            invoker: said.invoker.unwrap_or(false),
            deterministic: said.deterministic.unwrap_or(false),
            access: said.access.unwrap_or_default(),
            comment: comment_of(said).unwrap_or_default(),
            sql_mode: settings.sql_mode,
            client: settings.character_set_client.default_collation(),
            connection: settings.collation_connection,
            database: collation,
            created: now,
            altered: now,
            tree: ProgramTree::default(),
        })?;
        change.commit()?;
        if kind == ProgramKind::Function && is_function(name) {
            self.note(SqlError::new(
                er::NATIVE_FCT_NAME_COLLISION,
                format!("This function '{name}' has the same name as a native function"),
            ));
        }
        Ok(Answer::ok())
    }

    /// Keeps other sessions off a program, and the database from being dropped.
    fn own_program(&self, kind: ProgramKind, schema: &str, name: &str) -> Result<()> {
        let locks = &self.state.locks;
        let all = self.state.database.dictionary().locks();
        let database = all.lock(ObjectKey::schema(schema));
        let program = all.lock(ObjectKey::program(kind, schema, name));
        self.state
            .with_wait_policy(|policy| locks.use_table(&database, Mode::Read, policy))?;
        self.state
            .with_wait_policy(|policy| locks.own(&program, Block::Definition, policy))
    }

    /// Keeps other sessions off the programs of a database that is to be dropped.
    pub(super) fn own_programs(&self, schema: &str) -> Result<Vec<Arc<ProgramDef>>> {
        let programs = self.state.database.dictionary().programs(schema);
        for program in &programs {
            self.own_program(program.kind, schema, &program.name)?;
        }
        Ok(programs)
    }

    /// Error 1193: a statement of the body sets a variable that there is not.
    fn check_variables(&self, body: &[BodyStatement]) -> Result<()> {
        body.iter().try_for_each(|statement| match statement {
            BodyStatement::Block(block) => {
                for handler in &block.handlers {
                    self.check_variables(&handler.body)?;
                }
                self.check_variables(&block.body)
            }
            BodyStatement::If { branches, otherwise } => {
                for (_, body) in branches {
                    self.check_variables(body)?;
                }
                self.check_variables(otherwise)
            }
            BodyStatement::Case {
                branches, otherwise, ..
            } => {
                for (_, body) in branches {
                    self.check_variables(body)?;
                }
                self.check_variables(otherwise.as_deref().unwrap_or_default())
            }
            BodyStatement::Loop { body, .. }
            | BodyStatement::While { body, .. }
            | BodyStatement::Repeat { body, .. } => self.check_variables(body),
            BodyStatement::Sql(sql) => match &sql.statement {
                Statement::Set(items) => items.iter().try_for_each(|item| match item {
                    SetItem::Variable { name, .. } | SetItem::NextTransaction { name, .. } => {
                        self.state.database.find_variable(name).map(drop)
                    }
                    SetItem::UserVar { .. } | SetItem::Names { .. } | SetItem::CharacterSet(_) => Ok(()),
                }),
                _ => Ok(()),
            },
            BodyStatement::Leave(_)
            | BodyStatement::Iterate(_)
            | BodyStatement::Return(_)
            | BodyStatement::Set { .. }
            | BodyStatement::SetNew { .. }
            | BodyStatement::Open(_)
            | BodyStatement::Fetch { .. }
            | BodyStatement::Close(_) => Ok(()),
        })
    }

    // ------------------------------------------------------------------------------------------- ALTER, DROP

    pub(super) fn alter_routine(&self, alter: &AlterRoutine) -> Result<Answer> {
        let (schema, name) = self.state.resolve(&alter.name)?;
        self.require_to_alter(alter.kind, schema, name)?;
        self.own_program(alter.kind, schema, name)?;
        let dictionary = self.state.database.dictionary();
        let found = dictionary.program(alter.kind, schema, name);
        let found = found.ok_or_else(|| missing(alter.kind, schema, name))?;
        let said = &alter.characteristics;
        let mut program = found.altered();
        program.invoker = said.invoker.unwrap_or(program.invoker);
        program.access = said.access.unwrap_or(program.access);
        if let Some(comment) = comment_of(said) {
            program.comment = comment;
        }
        program.altered = now_s();
        let mut change = self.change()?;
        change.put_program(program)?;
        change.commit()?;
        Ok(Answer::ok())
    }

    pub(super) fn drop_program(
        &self,
        kind: ProgramKind,
        name: &ObjectName,
        if_exists: bool,
    ) -> Result<Answer> {
        let (schema, name) = self.state.resolve(name)?;
        let missing = match kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                self.require_to_alter(kind, schema, name)?;
                self.own_program(kind, schema, name)?;
                if let Some(program) = self.state.database.dictionary().program(kind, schema, name) {
                    let mut change = self.change()?;
                    change.drop_program(&program)?;
                    change.commit()?;
                    return Ok(Answer::ok());
                }
                missing(kind, schema, name)
            }
            ProgramKind::Trigger if !self.has_schema(schema) => SqlError::unknown_database(schema),
            ProgramKind::Trigger => SqlError::trigger_missing(),
            ProgramKind::Event => {
                self.state.require_database(Privileges::EVENT, schema)?;
                match if_exists {
                    true => SqlError::program_missing("Event", name),
                    false => SqlError::event_missing(name),
                }
            }
        };
        if !if_exists {
            return Err(missing);
        }
        self.note(missing);
        Ok(Answer::ok())
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.state.database.dictionary().schema(schema).is_some()
    }

    /// Error 1370 unless the account may alter and drop the routine: by ALTER ROUTINE, or because it is its definer, to which MySQL grants
    /// that when the routine is made.
    fn require_to_alter(&self, kind: ProgramKind, schema: &str, name: &str) -> Result<()> {
        let rights = self.state.rights().on_database(schema);
        if rights.contains(Privileges::ALTER_ROUTINE) {
            return Ok(());
        }
        let account = &self.state.info.account;
        let found = self.state.database.dictionary().program(kind, schema, name);
        let owns = |program: &ProgramDef| program.definer == (account.user.clone(), account.host.clone());
        if rights.contains(Privileges::CREATE_ROUTINE) && found.is_some_and(|program| owns(&program)) {
            return Ok(());
        }
        Err(SqlError::new(
            er::PROCACCESS_DENIED,
            format!(
                "alter routine command denied to user '{}'@'{}' for routine '{schema}.{name}'",
                account.user, account.host
            ),
        ))
    }
}

/// Error 1305.
fn missing(kind: ProgramKind, schema: &str, name: &str) -> SqlError {
    SqlError::program_missing(kind.word(), &format!("{schema}.{name}"))
}

/// Error 1304.
fn program_exists(kind: ProgramKind, name: &str) -> SqlError {
    SqlError::new(
        er::SP_ALREADY_EXISTS,
        format!("{} {name} already exists", kind.word()),
    )
}

/// Errors 1458 and 1059.
fn check_program_name(name: &str) -> Result<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        let name = name.replace('\0', "\\0");
        return Err(SqlError::new(
            er::SP_WRONG_NAME,
            format!("Incorrect routine name '{name}'"),
        ));
    }
    super::column::check_identifier(name)
}

/// Returns what COMMENT says.
fn comment_of(said: &Characteristics) -> Option<String> {
    let comment = said.comment.as_deref()?;
    Some(String::from_utf8_lossy(comment).into_owned())
}
