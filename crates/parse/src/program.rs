//! Names of stored programs in DROP and SHOW CREATE.
//!
//! Stored programs themselves are not there, so no name is that of one; what may be said of a name is all the same MySQL's. Scripts
//! that make a database begin with `DROP PROCEDURE IF EXISTS`, which is then right to do nothing.

use super::ast::*;
use super::parser::Parser;
use tidemark_types::error::Result;

impl Parser<'_> {
    fn program_kind(&mut self) -> Option<ProgramKind> {
        let word = self.accept_any(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"])?;
        Some(match word {
            "PROCEDURE" => ProgramKind::Procedure,
            "FUNCTION" => ProgramKind::Function,
            "TRIGGER" => ProgramKind::Trigger,
            _ => ProgramKind::Event,
        })
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
}
