//! Definitions of stored programs, and how the catalog keeps them.
//!
//! A program is kept as it was written, with what its text depends on: the SQL mode, the character sets and collations, and the definer. Its
//! tree is made when it is first asked for, and kept with the definition; a body that a later version refuses is an error then, and not
//! of the start.
//!
//! The value in the catalog is a version byte and the fields in the order of [`encode`]; the key is the database, a letter for the kind,
//! and the name, with NULs between. Fields are added at the end, under a new version.

use super::codec::{Reader, Writer};
use crate::error::{Result, SqlError};
use crate::mdl::ObjectKey;
use crate::parse::ast::{CreateRoutine, DataAccess, ProgramKind, Statement};
use crate::parse::print::identifier;
use crate::types::{Collation, SqlMode};
use std::sync::{Arc, OnceLock};

const VERSION: u8 = 1;

/// A stored procedure or function.
#[derive(Debug)]
pub struct ProgramDef {
    /// What it is.
    pub kind: ProgramKind,
    /// Its database.
    pub schema: String,
    /// Its name as written when it was made.
    pub name: String,
    /// The parameters as written, without the parentheses, in the character set of the client.
    pub parameters: Vec<u8>,
    /// The type behind RETURNS as written; empty for a procedure.
    pub returns: Vec<u8>,
    /// The body as written, in the character set of the client.
    pub body: Vec<u8>,
    /// User and host of the account in whose name it was made.
    pub definer: (String, String),
    /// `SQL SECURITY INVOKER`: it has the rights of the account that calls it, not of the definer.
    pub invoker: bool,
    /// `DETERMINISTIC`
    pub deterministic: bool,
    /// What it says that it does with data.
    pub access: DataAccess,
    /// `COMMENT '…'`
    pub comment: String,
    /// The mode that it is read and executed under.
    pub sql_mode: SqlMode,
    /// The character set of the client that made it, by one of its collations.
    pub client: Collation,
    /// That of the connection.
    pub connection: Collation,
    /// The collation of the database when it was made, which its variables have by default.
    pub database: Collation,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// When it was made or altered.
    pub altered: u64,
    /// The tree, or what is wrong with the text.
    pub tree: ProgramTree,
}

/// The tree of a program, made when it is first asked for.
#[derive(Debug, Default)]
pub struct ProgramTree(OnceLock<Result<Arc<CreateRoutine>>>);

impl ProgramDef {
    /// Returns the object that it is.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::program(self.kind, &self.schema, &self.name)
    }

    /// Returns its tree.
    pub fn tree(&self) -> Result<Arc<CreateRoutine>> {
        self.tree.0.get_or_init(|| self.parse().map(Arc::new)).clone()
    }

    fn parse(&self) -> Result<CreateRoutine> {
        let mut text = format!("CREATE {} {}(", self.kind.word(), identifier(&self.name)).into_bytes();
        text.extend_from_slice(&self.parameters);
        text.extend_from_slice(b"\n) ");
        if self.kind == ProgramKind::Function {
            text.extend_from_slice(b"RETURNS ");
            text.extend_from_slice(&self.returns);
            text.push(b'\n');
        }
        text.extend_from_slice(&self.body);
        match crate::parse::parse(&text, 0, self.sql_mode)?.statement {
            Statement::CreateRoutine(tree) => Ok(*tree),
            _ => Err(SqlError::unknown(format!(
                "The stored definition of {} is damaged",
                self.name
            ))),
        }
    }

    /// Returns a copy without its tree, to be changed.
    pub fn altered(&self) -> ProgramDef {
        ProgramDef {
            kind: self.kind,
            schema: self.schema.clone(),
            name: self.name.clone(),
            parameters: self.parameters.clone(),
            returns: self.returns.clone(),
            body: self.body.clone(),
            definer: self.definer.clone(),
            invoker: self.invoker,
            deterministic: self.deterministic,
            access: self.access,
            comment: self.comment.clone(),
            sql_mode: self.sql_mode,
            client: self.client,
            connection: self.connection,
            database: self.database,
            created: self.created,
            altered: self.altered,
            tree: ProgramTree::default(),
        }
    }
}

/// The order is part of the format.
const ACCESSES: [DataAccess; 4] = [
    DataAccess::ContainsSql,
    DataAccess::NoSql,
    DataAccess::ReadsSqlData,
    DataAccess::ModifiesSqlData,
];

/// The letters are part of the format.
const KINDS: [(ProgramKind, &str); 2] = [(ProgramKind::Procedure, "P"), (ProgramKind::Function, "F")];

/// Returns the key under which the catalog has a program.
pub(super) fn catalog_key(key: &ObjectKey, kind: ProgramKind) -> Vec<u8> {
    let letter = KINDS
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or("", |(_, letter)| letter);
    format!("{}\0{letter}\0{}", key.schema, key.name).into_bytes()
}

pub(super) fn encode(program: &ProgramDef) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(VERSION);
    w.str(&program.name);
    w.bytes(&program.parameters);
    w.bytes(&program.returns);
    w.bytes(&program.body);
    w.str(&program.definer.0);
    w.str(&program.definer.1);
    w.u8(program.invoker as u8 | (program.deterministic as u8) << 1);
    w.u8(ACCESSES
        .iter()
        .position(|known| *known == program.access)
        .unwrap_or(0) as u8);
    w.str(&program.comment);
    w.u64(program.sql_mode.0);
    for collation in [program.client, program.connection, program.database] {
        w.u64(collation.id() as u64);
    }
    w.u64(program.created);
    w.u64(program.altered);
    w.0
}

/// Reads what [`encode`] wrote under a [`catalog_key`].
pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Result<ProgramDef> {
    let key = String::from_utf8_lossy(key);
    let strange = || {
        SqlError::unknown(format!(
            "The catalog holds a program under the strange key '{key}'"
        ))
    };
    let mut parts = key.splitn(3, '\0');
    let (Some(schema), Some(letter), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(strange());
    };
    let known = KINDS.iter().find(|(_, known)| *known == letter);
    let (kind, _) = known.ok_or_else(strange)?;
    let mut r = Reader::new(bytes, &key);
    match r.u8()? {
        VERSION => {}
        other => {
            return Err(SqlError::unknown(format!(
                "The stored definition of {key} has format {other}, which this version does not know"
            )));
        }
    }
    let (name, parameters, returns) = (r.str()?, r.bytes()?.to_vec(), r.bytes()?.to_vec());
    let (body, definer) = (r.bytes()?.to_vec(), (r.str()?, r.str()?));
    let flags = r.u8()?;
    let access = ACCESSES.get(r.u8()? as usize).copied().unwrap_or_default();
    Ok(ProgramDef {
        kind: *kind,
        schema: schema.to_owned(),
        name,
        parameters,
        returns,
        body,
        definer,
        invoker: flags & 1 != 0,
        deterministic: flags & 2 != 0,
        access,
        comment: r.str()?,
        sql_mode: SqlMode(r.u64()?),
        client: r.collation()?,
        connection: r.collation()?,
        database: r.collation()?,
        created: r.u64()?,
        altered: r.u64()?,
        tree: ProgramTree::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procedure() -> ProgramDef {
        ProgramDef {
            kind: ProgramKind::Procedure,
            schema: "s".to_owned(),
            name: "P".to_owned(),
            parameters: b"IN a INT -- the first".to_vec(),
            returns: Vec::new(),
            body: b"BEGIN SELECT a; SELECT '\xe9'; END".to_vec(),
            definer: ("root".to_owned(), "localhost".to_owned()),
            invoker: true,
            deterministic: false,
            access: DataAccess::ReadsSqlData,
            comment: "it's".to_owned(),
            sql_mode: SqlMode::ANSI_QUOTES,
            client: Collation::DEFAULT,
            connection: Collation::DEFAULT,
            database: Collation::UTF8MB3_GENERAL_CI,
            created: 1,
            altered: 2,
            tree: ProgramTree::default(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let program = procedure();
        let key = catalog_key(&program.key(), program.kind);
        let read = decode(&key, &encode(&program)).unwrap();
        assert_eq!(format!("{read:?}"), format!("{program:?}"));
    }

    #[test]
    fn the_tree_has_the_parameters_and_the_body() {
        let tree = procedure().tree().unwrap();
        assert_eq!(tree.program.locals.len(), 1);
        assert_eq!(tree.program.text, b"BEGIN SELECT a; SELECT '\xe9'; END");
    }

    #[test]
    fn damaged_definitions_are_errors() {
        let program = procedure();
        let key = catalog_key(&program.key(), program.kind);
        let whole = encode(&program);
        for end in 0..whole.len() {
            assert!(decode(&key, &whole[..end]).is_err(), "cut at {end}");
        }
        assert!(decode(b"s\0X\0p", &whole).is_err());
        assert!(decode(b"s", &whole).is_err());
    }
}
