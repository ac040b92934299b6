//! What objects are locked and stored by: their kind, their database and their name.

use crate::parse::ast::ProgramKind;

/// The kind of object that a name is one of. Objects of different kinds have nothing to do with each other, whatever their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Namespace {
    /// All definitions: what a global read lock holds off.
    Global,
    /// What LOCK INSTANCE FOR BACKUP holds off.
    Backup,
    /// A database.
    Schema,
    /// A table or a view.
    Table,
    /// A stored program; procedures and functions have names of their own.
    Program(ProgramKind),
    /// What an application has named by GET_LOCK.
    Application,
}

/// An object by its kind and name. Names compare as they are written; the caller has brought those without case into one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its kind.
    pub namespace: Namespace,
    /// Its database; empty for what is in none.
    pub schema: String,
    /// Its name; empty where the kind, or the database, says all.
    pub name: String,
}

impl ObjectKey {
    fn new(namespace: Namespace, schema: &str, name: &str) -> ObjectKey {
        ObjectKey {
            namespace,
            schema: schema.to_owned(),
            name: name.to_owned(),
        }
    }

    /// All definitions.
    pub fn global() -> ObjectKey {
        ObjectKey::new(Namespace::Global, "", "")
    }

    /// What LOCK INSTANCE FOR BACKUP holds off.
    pub fn backup() -> ObjectKey {
        ObjectKey::new(Namespace::Backup, "", "")
    }

    /// A database.
    pub fn schema(name: &str) -> ObjectKey {
        ObjectKey::new(Namespace::Schema, name, "")
    }

    /// A table or a view.
    pub fn table(schema: &str, name: &str) -> ObjectKey {
        ObjectKey::new(Namespace::Table, schema, name)
    }

    /// A stored program. Names of triggers compare by case, those of others do not.
    pub fn program(kind: ProgramKind, schema: &str, name: &str) -> ObjectKey {
        let namespace = Namespace::Program(kind);
        match kind {
            ProgramKind::Trigger => ObjectKey::new(namespace, schema, name),
            _ => ObjectKey::new(namespace, schema, &name.to_lowercase()),
        }
    }

    /// What an application has named; such names compare without case.
    pub fn application(name: &str) -> ObjectKey {
        ObjectKey::new(Namespace::Application, "", &name.to_lowercase())
    }
}
