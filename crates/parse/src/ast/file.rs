//! Files that statements write and read: how rows stand in them.

use super::{Assignment, Duplicates, ObjectName};

/// FIELDS and LINES: how a file's bytes are rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFormat {
    /// `FIELDS TERMINATED BY`
    pub field_end: Vec<u8>,
    /// `[OPTIONALLY] ENCLOSED BY`: empty, or one byte.
    pub enclosed: Vec<u8>,
    /// `OPTIONALLY` was written: numbers are not enclosed.
    pub optionally: bool,
    /// `ESCAPED BY`: empty, or one byte.
    pub escaped: Vec<u8>,
    /// `LINES STARTING BY`
    pub line_start: Vec<u8>,
    /// `LINES TERMINATED BY`
    pub line_end: Vec<u8>,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            field_end: b"\t".to_vec(),
            enclosed: Vec::new(),
            optionally: false,
            escaped: b"\\".to_vec(),
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
        }
    }
}

/// `INTO OUTFILE` and `INTO DUMPFILE`
#[derive(Debug, Clone, PartialEq)]
pub struct IntoFile {
    /// The file's name, as written.
    pub path: String,
    /// `DUMPFILE`: the values' bytes and nothing else.
    pub dump: bool,
    /// `CHARACTER SET`; `None`: each text in the character set that it has.
    pub charset: Option<String>,
    /// Of an OUTFILE.
    pub format: FileFormat,
}

/// LOAD DATA
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    /// `LOCAL`: the client reads the file and sends it.
    pub local: bool,
    /// The file's name, as written.
    pub path: String,
    /// `IGNORE` or `REPLACE`
    pub duplicates: Duplicates,
    /// The table that gets the rows.
    pub table: ObjectName,
    /// `CHARACTER SET`; `None`: that of the database.
    pub charset: Option<String>,
    /// How the file's bytes are rows.
    pub format: FileFormat,
    /// `IGNORE n LINES`
    pub skip: u64,
    /// What the fields of a line go into; empty: all columns.
    pub fields: Vec<LoadField>,
    /// `SET`, in the order written.
    pub set: Vec<Assignment>,
}

/// What a field of a line goes into.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadField {
    /// A column, by its name.
    Column(String),
    /// `@name`, without the `@`.
    Variable(String),
}
