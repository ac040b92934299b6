//! How the rows of a query stand in a file: FIELDS and LINES, made ready for the writer.
//!
//! ```text
//!   line start | value, field end, value, field end, … value | line end
//!   value: [enclosing] text with escapes [enclosing]      NULL: escape and N
//! ```
//!
//! Without an end of fields and an enclosing character every value is as wide as its column may be.

use super::OutputColumn;
use crate::context::SessionState;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::IntoFile;
use crate::types::{Charset, SqlType, TypeKind};

/// What stands behind an escape character with another meaning than itself.
const ESCAPES: &[u8] = b"ntrb0ZN";
/// A text that may be longer than this, in bytes, is one of the TEXT types wherever it is kept.
const WIDTH_MAX: u32 = 65_535;
const OF_NUMBERS: &[u8] = b".0123456789e+-";

/// What a writer of rows knows.
pub struct FileForm {
    /// The file's name, as written.
    pub path: String,
    /// The values' bytes and nothing else.
    pub dump: bool,
    /// Texts are converted to it; `None`: each stays in its own.
    pub charset: Option<Charset>,
    pub field_end: Vec<u8>,
    pub enclosed: Option<u8>,
    pub optionally: bool,
    pub escape: Option<u8>,
    pub line_start: Vec<u8>,
    pub line_end: Vec<u8>,
    /// The widths of the columns in bytes, where nothing else divides them.
    pub widths: Option<Vec<usize>>,
    /// One for each column.
    pub types: Vec<SqlType>,
    /// The columns' names.
    pub names: Vec<String>,
}

impl FileForm {
    /// Errors 1115, 1083 and 1084.
    pub fn new(into: &IntoFile, columns: &[OutputColumn]) -> Result<FileForm> {
        let charset = match &into.charset {
            Some(name) => Some(Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?),
            None => None,
        };
        let format = &into.format;
        format.check_marks()?;
        let fixed = format.field_end.is_empty() && format.enclosed.is_empty() && !into.dump;
        let is_blob = |column: &OutputColumn| {
            column.ty.kind != TypeKind::Json
                && (column.ty.is_blob_or_text()
                    || column.ty.is_string() && column.ty.byte_width() > WIDTH_MAX)
        };
        if fixed && columns.iter().any(is_blob) {
            return Err(SqlError::new(
                er::BLOBS_AND_NO_TERMINATED,
                "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'",
            ));
        }
        let line_end = match format.line_end.is_empty() {
            true => format.field_end.clone(),
            false => format.line_end.clone(),
        };
        let fixed = fixed && columns.iter().all(|column| column.ty.kind != TypeKind::Json);
        let widths = columns.iter().map(|column| column.ty.byte_width() as usize);
        Ok(FileForm {
            path: into.path.clone(),
            dump: into.dump,
            charset: charset.filter(|charset| *charset != Charset::Binary),
            field_end: format.field_end.clone(),
            enclosed: format.enclosed.first().copied(),
            optionally: format.optionally,
            escape: format.escaped.first().copied(),
            line_start: format.line_start.clone(),
            line_end,
            widths: fixed.then(|| widths.collect()),
            types: columns.iter().map(|column| column.ty.clone()).collect(),
            names: columns.iter().map(|column| column.name.clone()).collect(),
        })
    }

    /// The byte that values are told apart by: the enclosing one, or the first of what ends a field.
    pub fn separator(&self) -> Option<u8> {
        self.enclosed.or(self.field_end.first().copied())
    }

    /// Whether numbers may have the separator in them, and have to be looked through.
    pub fn separator_is_of_numbers(&self) -> bool {
        self.separator().is_some_and(|byte| OF_NUMBERS.contains(&byte))
    }

    /// Whether a byte means something else behind an escape character.
    pub fn is_escape(byte: Option<u8>) -> bool {
        byte.is_some_and(|byte| ESCAPES.contains(&byte))
    }

    /// Whether a byte that ends fields cannot be told from what stands in them.
    pub fn is_ambiguous(byte: Option<u8>) -> bool {
        byte.is_some_and(|byte| ESCAPES.contains(&byte) || OF_NUMBERS.contains(&byte))
    }

    /// Warning 1475 where a reader could not tell values from what divides them.
    pub fn warn_if_ambiguous(&self, state: &SessionState) {
        let texts = self.types.iter().any(is_text);
        let numbers = !self.types.iter().all(is_text);
        let first = self.field_end.first();
        let is_of_numbers = first.is_some_and(|byte| OF_NUMBERS.contains(byte));
        let unenclosed = self.enclosed.is_none()
            && (Self::is_escape(self.separator()) && texts || self.separator_is_of_numbers());
        if !self.dump && (unenclosed || self.optionally && numbers && is_of_numbers) {
            state.warnings.warn(SqlError::new(
                er::AMBIGUOUS_FIELD_TERM,
                "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty \
                 FIELDS ENCLOSED BY",
            ));
        }
    }
}

/// Values of such a type are enclosed where numbers are not.
pub fn is_text(ty: &SqlType) -> bool {
    let is_number = ty.is_integer() || ty.is_float() || ty.kind == TypeKind::Decimal;
    ty.kind == TypeKind::Bit || !is_number
}
