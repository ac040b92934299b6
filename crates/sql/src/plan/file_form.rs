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
use crate::parse::ast::{FileFormat, IntoFile};
use crate::types::{Charset, SqlType, TypeKind};

/// What stands behind an escape character with another meaning than itself.
const ESCAPES: &[u8] = b"ntrb0ZN";
/// Values that may have so many bytes have no width.
const UNBOUNDED_BYTES: u32 = 1 << 24;
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
    /// The whole character that encloses values, of which a reader looks for the first byte.
    pub enclosing: Vec<u8>,
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
    /// What ends fields cannot be told from what they have.
    pub is_ambiguous: bool,
    not_ascii: Option<SqlError>,
}

impl FileForm {
    /// Errors 1115 and 1083.
    pub fn new(into: &IntoFile, columns: &[OutputColumn]) -> Result<FileForm> {
        let charset = match &into.charset {
            Some(name) => Some(Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?),
            None => None,
        };
        let format = &into.format;
        format.check_marks(|mark| String::from_utf8_lossy(mark).chars().count())?;
        let fixed = format.field_end.is_empty() && format.enclosed.is_empty() && !into.dump;
        let is_unbounded = |column: &&OutputColumn| column.ty.byte_width() >= UNBOUNDED_BYTES;
        let line_end = match format.line_end.is_empty() {
            true => format.field_end.clone(),
            false => format.line_end.clone(),
        };
        // MySQL looks at columns as far as the first that may be very long.
        let looked_at = columns.iter().take_while(|column| !is_unbounded(column));
        let (texts, numbers): (Vec<_>, Vec<_>) =
            looked_at.partition(|column| is_text(&column.ty) && column.ty.kind != TypeKind::Bit);
        let kinds = (!texts.is_empty(), !numbers.is_empty());
        let fixed = fixed && !columns.iter().any(|column| is_unbounded(&column));
        let widths = columns.iter().map(|column| column.ty.byte_width() as usize);
        Ok(FileForm {
            path: into.path.clone(),
            dump: into.dump,
            charset: charset.filter(|charset| *charset != Charset::Binary),
            field_end: format.field_end.clone(),
            enclosed: format.enclosed.first().copied(),
            enclosing: format.enclosed.clone(),
            optionally: format.optionally && !format.field_end.is_empty(),
            escape: format.escaped.first().copied(),
            line_start: format.line_start.clone(),
            line_end,
            widths: fixed.then(|| widths.collect()),
            is_ambiguous: is_ambiguous(format, kinds),
            not_ascii: format.not_ascii(),
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

    /// Warning 1638 for separators that are not ASCII, and 1475 where a reader could not tell values from what divides them.
    pub fn warn(&self, state: &SessionState) {
        if let Some(warning) = &self.not_ascii {
            state.warnings.warn(warning.clone());
        }
        if !self.dump && self.is_ambiguous {
            state.warnings.warn(SqlError::new(
                er::AMBIGUOUS_FIELD_TERM,
                "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty \
                 FIELDS ENCLOSED BY",
            ));
        }
    }
}

/// Whether the end of fields may be taken for a part of them, of texts or of numbers (`kinds`: whether there are any).
fn is_ambiguous(format: &FileFormat, (texts, numbers): (bool, bool)) -> bool {
    let first = format.field_end.first();
    let is_escape = first.is_some_and(|byte| ESCAPES.contains(byte));
    let is_of_numbers = first.is_some_and(|byte| OF_NUMBERS.contains(byte));
    let unenclosed = format.enclosed.is_empty();
    unenclosed && is_escape && (texts || is_of_numbers)
        || (unenclosed || format.optionally) && numbers && is_of_numbers
}

/// Values of such a type are enclosed where numbers are not.
pub fn is_text(ty: &SqlType) -> bool {
    let is_number = ty.is_integer() || ty.is_float() || ty.kind == TypeKind::Decimal;
    ty.kind == TypeKind::Bit || !is_number
}
