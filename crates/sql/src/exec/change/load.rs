//! LOAD DATA at work: the lines of a file become rows of an INSERT.
//!
//! The file is the server's, or the client's, which sends it when it is asked to. The client cannot be stopped: after an error
//! the rest is read and thrown away, so that what it sends next is its next command.

use super::insert::InsertRun;
use super::lines::{Field, Lines, NextPart};
use crate::context::files;
use crate::context::{ResultSink, SessionState, capability};
use crate::dictionary::ColumnDefault;
use crate::error::{Result, SqlError, er};
use crate::expr::SessionInfo;
use crate::plan::change::load::{LoadField, LoadSource};
use crate::statements::stages::Stage;
use crate::types::assign::{read_bytes, zero_value};
use crate::types::{Charset, TypeKind, Val, Value};

impl InsertRun<'_> {
    /// Puts all lines in; returns their number.
    pub(super) fn all_lines(&mut self, source: &LoadSource, client: &mut dyn ResultSink) -> Result<u64> {
        let session = self.run.session;
        let may_go_on = || match session.process.is_interrupted() {
            true => Err(SqlError::interrupted()),
            false => Ok(()),
        };
        if !source.local {
            session.require_file_to_load()?;
            let mut file = files::open(session, &source.path)?;
            let bytes = file.metadata().map_or(0, |file| file.len());
            let next: NextPart = Box::new(move |part| files::read_part(&mut file, &source.path, part));
            let next = telling(session, bytes, next);
            let done = self.lines(
                source,
                &mut Lines::new(&source.format, source.widths.as_deref(), next, &may_go_on),
            );
            session.end_progress();
            return done;
        }
        let enabled = session
            .database
            .variable("local_infile")
            .is_some_and(|on| on == "ON");
        if !enabled || session.info.capabilities & capability::LOCAL_FILES == 0 {
            return Err(SqlError::local_files_disabled());
        }
        client.ask_for_file(&source.path)?;
        let next: NextPart = Box::new(|part| client.file_part(part));
        let next = telling(session, 0, next);
        let mut lines = Lines::new(&source.format, source.widths.as_deref(), next, &may_go_on);
        let done = self.lines(source, &mut lines);
        lines.drain();
        session.end_progress();
        done
    }

    fn lines(&mut self, source: &LoadSource, lines: &mut Lines) -> Result<u64> {
        if !lines.skip(source.skip)? {
            return Ok(0);
        }
        let mut values = Vec::with_capacity(self.plan.target.def.columns.len());
        let mut rows = 0;
        loop {
            if self.run.session.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
            self.run.env.row_number.set(rows + 1);
            if !self.line(source, lines, &mut values)? {
                return Ok(rows);
            }
            self.put(&mut values)?;
            rows += 1;
            match lines.next_line()? {
                None => return Ok(rows),
                Some(true) => self.run.env.complain(SqlError::new(
                    er::TOO_MANY_RECORDS,
                    format!("Row {rows} was truncated; it contained more data than there were input columns"),
                ))?,
                Some(false) => {}
            }
        }
    }

    /// Makes a row of the line; false if there is none.
    fn line(&mut self, source: &LoadSource, lines: &mut Lines, values: &mut Vec<Value>) -> Result<bool> {
        if !lines.begin()? {
            return Ok(false);
        }
        self.begin(values);
        for field in &source.fields {
            let found = lines.next_field()?;
            self.field(source, field, (found, &lines.field), values)?;
        }
        for (column, given) in &source.set {
            values[*column] = self.given_value(*column, given, values)?;
        }
        self.defaults(&self.plan.columns, values)?;
        Ok(true)
    }

    fn field(
        &self,
        source: &LoadSource,
        field: &LoadField,
        (found, bytes): (Field, &[u8]),
        values: &mut [Value],
    ) -> Result<()> {
        // Bytes are in no character set.
        let is_binary = match field {
            LoadField::Column(column) => self.plan.target.def.columns[*column].ty.is_binary_string(),
            LoadField::Variable(_) => false,
        };
        let text = match found {
            Field::Text if is_binary => Some(bytes.to_vec()),
            Field::Text => Some(self.decoded(source, field, bytes)?),
            Field::Null | Field::Missing => None,
        };
        match field {
            LoadField::Variable(name) => {
                let value = text.map_or(Value::Null, Value::string);
                self.run.session.set_user_variable(name, value)?;
            }
            LoadField::Column(column)
                if self.plan.target.def.columns[*column].generated.is_some() && found != Field::Missing => {}
            LoadField::Column(column) => {
                values[*column] = match (text, found) {
                    (Some(text), _) => self.converted(*column, Val::string(text))?.into_owned(),
                    (None, Field::Missing) => self.missing(*column, source.widths.is_some())?,
                    (None, _) => self.null(*column)?,
                };
            }
        }
        Ok(())
    }

    /// The text that a field's bytes are. Where fields have widths a character may be cut by their end: that is an error of the value,
    /// unless it stands behind all that the column takes.
    fn decoded(&self, source: &LoadSource, field: &LoadField, bytes: &[u8]) -> Result<Vec<u8>> {
        let charset = source.charset;
        if let Some(text) = charset.decode(bytes) {
            return Ok(text);
        }
        let column = match field {
            LoadField::Column(column) if source.widths.is_some() => &self.plan.target.def.columns[*column],
            _ => return Err(invalid(source, bytes)),
        };
        let mut known = charset
            .decode(&bytes[..charset.well_formed_bytes(bytes)])
            .unwrap_or_default();
        known.extend_from_slice("\u{FFFD}".as_bytes());
        if column.ty.is_string()
            && Charset::Utf8mb4.prefix_len(&known, column.ty.length as usize) < known.len()
        {
            return Ok(known);
        }
        let text = read_bytes(Val::Str(bytes.into()), charset, &column.name, self.run.env)?;
        Ok(text.to_text().into_owned())
    }

    /// The line has no field for the column. Where fields have widths it then has its default, but no NULL and nothing that is computed.
    fn missing(&self, column: usize, has_width: bool) -> Result<Value> {
        let row = self.run.env.row_number.get();
        self.run.env.complain(SqlError::new(
            er::TOO_FEW_RECORDS,
            format!("Row {row} doesn't contain data for all columns"),
        ))?;
        let def = &self.plan.target.def.columns[column];
        Ok(match &def.default {
            _ if def.auto_increment => Value::Null,
            Some(ColumnDefault::Literal(value)) if has_width && !value.is_null() => value.clone(),
            _ if has_width && def.ty.kind == TypeKind::Enum && def.ty.nullable => {
                Val::Member(0, Default::default())
            }
            _ if has_width || !def.ty.nullable => zero_value(&def.ty),
            _ => Value::Null,
        })
    }

    fn null(&self, column: usize) -> Result<Value> {
        let def = &self.plan.target.def.columns[column];
        if def.ty.nullable || def.auto_increment {
            return Ok(Value::Null);
        }
        let row = self.run.env.row_number.get();
        self.run.env.complain(SqlError::new(
            er::WARN_NULL_TO_NOTNULL,
            format!(
                "Column set to default value; NULL supplied to NOT NULL column '{}' at row {row}",
                def.name
            ),
        ))?;
        Ok(zero_value(&def.ty))
    }

    /// What LOAD DATA tells of itself.
    pub(super) fn load_info(&self, rows: u64) -> String {
        let deleted = self.outcome.affected_rows - self.copied;
        let rows = rows - self.orphans;
        let skipped = rows - self.copied;
        let warnings = self.run.env.warnings.count();
        format!("Records: {rows}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}")
    }
}

/// Tells of the bytes that have been read of so many (0: of a client's file, whose length is not known), each time that the process
/// list has something else to show.
fn telling<'n>(session: &'n SessionState, of: u64, mut next: NextPart<'n>) -> NextPart<'n> {
    let (mut done, mut shown) = (0, None);
    Box::new(move |part| {
        let more = next(part)?;
        done += part.len() as u64;
        let now = match of {
            0 => done >> 20,
            of => done * 100 / of,
        };
        if shown.replace(now) != Some(now) {
            session.progress(Stage::Load, done, of);
        }
        Ok(more)
    })
}

fn invalid(source: &LoadSource, bytes: &[u8]) -> SqlError {
    let shown: String = bytes
        .iter()
        .take(6)
        .map(|byte| format!("\\x{byte:02X}"))
        .collect();
    SqlError::new(
        er::INVALID_CHARACTER_STRING,
        format!("Invalid {} character string: '{shown}'", source.charset.name()),
    )
}
