//! LOAD DATA at work: the lines of a file become rows of an INSERT.
//!
//! The file is the server's, or the client's, which sends it when it is asked to. The client cannot be stopped: after an error
//! the rest is read and thrown away, so that what it sends next is its next command.

use super::insert::InsertRun;
use super::lines::{Field, Lines, NextPart};
use super::target::now;
use crate::context::files;
use crate::context::{ResultSink, SessionState, capability};
use crate::dictionary::ColumnDefault;
use crate::error::{Result, SqlError, er};
use crate::expr::{EvalCtx, SessionInfo};
use crate::plan::change::Target;
use crate::plan::change::hooks::RowEvent;
use crate::plan::change::load::{LoadField, LoadSource};
use crate::statements::stages::Stage;
use crate::types::assign::{
    bad_bytes_of, convert_bytes, null_replacement, read_bytes, refuse_bytes, zero_value,
};
use crate::types::{Charset, TypeKind, Val, Value, WarningLevel};

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
            let done = self.lines(source, &mut new_lines(source, next, &may_go_on));
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
        let mut lines = new_lines(source, next, &may_go_on);
        let done = self.lines(source, &mut lines);
        lines.drain();
        session.end_progress();
        done
    }

    fn lines(&mut self, source: &LoadSource, lines: &mut Lines) -> Result<u64> {
        if let Some(warning) = source.format.not_ascii() {
            self.run.env.warnings.warn(warning);
        }
        if !lines.skip(source.skip, source.fields.len())? {
            return Ok(0);
        }
        let mut values = Vec::with_capacity(self.plan.target.def.columns.len());
        let mut rows = 0;
        // Where it is an error that a line is cut, the next is read all the same.
        let mut cut = Ok(());
        loop {
            if self.run.session.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
            self.run.env.row_number.set(rows + 1);
            if !self.line(source, lines, std::mem::replace(&mut cut, Ok(())), &mut values)? {
                return Ok(rows);
            }
            let refused = self.refused;
            self.put(&mut values)?;
            // A row that a condition refuses does not count.
            let counts = self.refused == refused;
            rows += u64::from(counts);
            match lines.next_line()? {
                None => return Ok(rows),
                Some(true) if counts => {
                    cut = self.run.env.complain(SqlError::new(
                        er::TOO_MANY_RECORDS,
                        format!(
                            "Row {rows} was truncated; it contained more data than there were input columns"
                        ),
                    ))
                }
                Some(_) => {}
            }
        }
    }

    /// Makes a row of the line; false if there is none. All of its values that are wrong are reported: errors after the first, which may
    /// be that of the line before (`wrong`), follow that of the statement.
    fn line(
        &mut self,
        source: &LoadSource,
        lines: &mut Lines,
        mut wrong: Result<()>,
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        let warnings = self.run.env.warnings;
        if wrong.is_err() {
            warnings.will_fail();
        }
        if !lines.begin()? {
            return wrong.map(|()| false);
        }
        self.begin(values);
        let mut nulls = Vec::new();
        for field in &source.fields {
            let found = lines.next_field()?;
            let has_width = source.widths.is_some();
            if wrong.is_err() && found != Field::Text && !has_width {
                continue;
            }
            match (field, found) {
                (LoadField::Column(at), Field::Null) if self.refuses_null(*at) => nulls.push(*at),
                _ => {}
            }
            let stored = self.field(source, field, (found, &lines.field), values);
            // Of fields with widths one that is missing is reported where it is an error.
            let ends = has_width && found == Field::Missing && stored.is_err();
            match (stored, &wrong) {
                (Err(error), Ok(())) => {
                    warnings.will_fail();
                    wrong = Err(error);
                }
                (Err(error), Err(_)) => warnings.push(WarningLevel::Error, error),
                (Ok(()), _) => {}
            }
            if ends {
                break;
            }
        }
        wrong?;
        for (column, given) in &source.set {
            values[*column] = self.given_value(*column, given, values)?;
        }
        self.replace_nulls(&nulls, values)?;
        self.defaults(&self.plan.columns, values, Self::default_of_file)?;
        Ok(true)
    }

    /// The value of a column that LOAD DATA does not name; without a default its type's zero.
    fn default_of_file(target: &Target, column: usize, row: &[Value], ctx: &EvalCtx) -> Result<Value> {
        let default = target.default_value(column, row, ctx)?;
        Ok(default.unwrap_or_else(|| zero_value(&target.def.columns[column].ty)))
    }

    /// Whether NULL in a file is a fault of the line, rather than NULL, or the time of a TIMESTAMP. A hook may yet replace it.
    fn refuses_null(&self, column: usize) -> bool {
        let def = &self.plan.target.def.columns[column];
        let is_fault = !def.ty.nullable && !def.auto_increment && def.ty.kind != TypeKind::Timestamp;
        is_fault && !self.plan.target.acts_before(RowEvent::Insert)
    }

    /// Gives columns that are NULL in the file, and still are, the zeros of their types. Warning 1263, or an error.
    fn replace_nulls(&self, columns: &[usize], values: &mut [Value]) -> Result<()> {
        let row = self.run.env.row_number.get();
        for &column in columns {
            if values[column].is_null() {
                let def = &self.plan.target.def.columns[column];
                self.run.env.complain(SqlError::new(
                    er::WARN_NULL_TO_NOTNULL,
                    format!(
                        "Column set to default value; NULL supplied to NOT NULL column '{}' at row {row}",
                        def.name
                    ),
                ))?;
                values[column] = null_replacement(&def.ty);
            }
        }
        Ok(())
    }

    fn field(
        &self,
        source: &LoadSource,
        field: &LoadField,
        (found, bytes): (Field, &[u8]),
        values: &mut [Value],
    ) -> Result<()> {
        match field {
            LoadField::Variable(name) => {
                let charset = source.charset;
                let value = match found {
                    Field::Null | Field::Missing => Value::Null,
                    Field::Text => match charset.decode(bytes) {
                        Some(text) => Value::string(text),
                        None => return Err(SqlError::invalid_field(charset.name(), bytes)),
                    },
                };
                self.run.session.set_user_variable(name, value)?;
            }
            LoadField::Column(at) => {
                let value = match found {
                    Field::Text => self.read(source.charset, *at, bytes)?,
                    Field::Missing => self.missing(*at, source.widths.is_some())?,
                    Field::Null => self.null(*at),
                };
                // What a line has for a generated column is read and has no effect.
                if self.plan.target.def.columns[*at].generated.is_none() || found == Field::Missing {
                    values[*at] = value;
                }
            }
        }
        Ok(())
    }

    /// Reads a field's bytes as a value of a column. What is no text of the file's character set is an error of the value, unless it comes
    /// behind all that the column takes. Error 3144 for a document without a character set.
    fn read(&self, charset: Charset, at: usize, bytes: &[u8]) -> Result<Value> {
        let column = &self.plan.target.def.columns[at];
        let is_text = column.ty.is_string() && !column.ty.is_binary_string();
        let own = column.ty.collation.charset();
        if charset == Charset::Binary && column.ty.kind == TypeKind::Json {
            return Err(SqlError::json_of_binary());
        }
        let value = if column.ty.is_binary_string() || column.ty.kind == TypeKind::Bit {
            Val::Str(bytes.into())
        } else if charset == Charset::Binary && is_text {
            read_bytes(Val::Str(bytes.into()), own, &column.name, self.run.env)?
        } else if let Some(text) = charset.decode(bytes) {
            let is_plain =
                is_text && !matches!(column.ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Json);
            if is_plain && charset.is_encoded() && !own.can_write(&text) {
                // Its bytes are shown as the file has them.
                let shown = bad_bytes_of(&text, charset, own);
                refuse_bytes(&shown, &column.name, self.run.env)?;
                return Ok(self
                    .converted(at, Val::string(own.repair(&text, false).unwrap_or_default()))?
                    .into_owned());
            }
            Val::string(text)
        } else if !is_text || is_cut_before_wrong(charset, bytes, column.ty.length as usize) {
            Val::string(charset.decode_marked(bytes))
        } else if charset == own {
            read_bytes(Val::Str(bytes.into()), charset, &column.name, self.run.env)?
        } else {
            let column = (column.name.as_str(), column.ty.length as usize);
            convert_bytes(bytes, charset, column, self.run.env)?
        };
        Ok(self.converted(at, value)?.into_owned())
    }

    /// The line has no field for the column, which then has the zero of its type, or NULL if that is its default. Where fields have widths
    /// it has its default, but no NULL and nothing that is computed.
    fn missing(&self, column: usize, has_width: bool) -> Result<Value> {
        let row = self.run.env.row_number.get();
        self.run.env.complain(SqlError::new(
            er::TOO_FEW_RECORDS,
            format!("Row {row} doesn't contain data for all columns"),
        ))?;
        let def = &self.plan.target.def.columns[column];
        Ok(match &def.default {
            _ if def.auto_increment => Value::Null,
            _ if def.ty.kind == TypeKind::Timestamp && !def.ty.nullable => self.null(column),
            Some(ColumnDefault::Literal(value)) if !value.is_null() => match has_width {
                true => value.clone(),
                false => null_replacement(&def.ty),
            },
            _ if has_width && def.ty.kind == TypeKind::Enum && def.ty.nullable => {
                Val::Member(0, Default::default())
            }
            _ if has_width => zero_value(&def.ty),
            _ if !def.ty.nullable => null_replacement(&def.ty),
            _ => Value::Null,
        })
    }

    /// NULL, or for a TIMESTAMP that cannot be it the time.
    fn null(&self, column: usize) -> Value {
        let ty = &self.plan.target.def.columns[column].ty;
        match ty.kind == TypeKind::Timestamp && !ty.nullable {
            true => now(&self.run.env.ctx(), ty.scale),
            false => Value::Null,
        }
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

fn new_lines<'l>(
    source: &'l LoadSource,
    next: NextPart<'l>,
    may_go_on: &'l dyn Fn() -> Result<()>,
) -> Lines<'l> {
    Lines::new(
        &source.format,
        source.charset,
        source.widths.as_deref(),
        next,
        may_go_on,
    )
}

/// Whether so many characters come before the first byte that is no text.
fn is_cut_before_wrong(charset: Charset, bytes: &[u8], chars: usize) -> bool {
    let known = charset.decode(&bytes[..charset.well_formed_bytes(bytes)]);
    known.is_some_and(|known| Charset::Utf8mb4.char_count(&known) >= chars)
}
