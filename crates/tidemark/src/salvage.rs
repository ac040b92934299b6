//! `tidemark salvage`: copies what can be read of a damaged data directory out, as SQL.
//!
//! The directory is opened without changing anything in it, giving up as little as possible: first with recovery as ever, but going
//! round what is damaged; then without undoing, with damage in the log passing for its end; at last without redoing. Then every table
//! is written to a file of its own, `DATABASE.TABLE.sql`: its definition, and each row that a scan past the damage finds.

use crate::arguments::{Arguments, Failure};
use crate::logger;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidemark_sql::types::{ColumnMeta, Date, DateTime, Time};
use tidemark_sql::{Database, OkInfo, Options, ResultSink, SqlError, run_trusted_into};

/// Levels of `innodb_force_recovery`, in the order in which they are tried.
const LEVELS: [u8; 3] = [1, 3, 6];
/// An INSERT is about this long at most.
const INSERT_BYTES: usize = 1 << 20;

type Outcome<T> = Result<T, String>;

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let to = arguments.take("to")?.map(PathBuf::from);
    arguments.refuse_rest("salvage")?;
    let to = to.ok_or_else(|| Failure::usage("salvage needs --to DIR, where the files go"))?;
    let datadir = &arguments.datadir;
    if !datadir.is_dir() {
        return Err(format!("{} is no directory", datadir.display()).into());
    }
    fs::create_dir_all(&to).map_err(|e| format!("cannot make {}: {e}", to.display()))?;
    if fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} is not empty", to.display()).into());
    }
    logger::start(None, logger::Format::default()).map_err(|e| e.to_string())?;
    let database = open(datadir)?;
    let tables = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN \
                  ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY 1, 2";
    let mut failed = 0;
    let tables = ask(&database, tables)?;
    for table in &tables {
        let [Some(schema), Some(name)] = &table[..] else {
            continue;
        };
        match salvage(&database, &to, schema, name) {
            Ok(rows) => println!("{schema}.{name}: {rows} rows"),
            Err(why) => {
                failed += 1;
                println!("{schema}.{name}: {why}");
            }
        }
    }
    println!(
        "{} tables are in {}. What was gone round is said above; rows of damaged pages are not among them.",
        tables.len() - failed,
        to.display()
    );
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} tables could not be read to their ends").into()),
    }
}

/// Opens the directory at the first level at which that is possible.
fn open(datadir: &Path) -> Outcome<Arc<Database>> {
    let mut why = String::new();
    for level in LEVELS {
        let mut options = Options::new(datadir.to_owned());
        options.discard_changes = true;
        options.add("innodb_force_recovery", Some(level.to_string()))?;
        match tidemark_sql::open(options) {
            Ok(database) => {
                println!(
                    "{} is open as with innodb_force_recovery={level}.",
                    datadir.display()
                );
                return Ok(database);
            }
            Err(error) => why = error.message,
        }
    }
    Err(why)
}

fn salvage(database: &Arc<Database>, to: &Path, schema: &str, name: &str) -> Outcome<u64> {
    let file_name: String = format!("{schema}.{name}.sql")
        .chars()
        .map(|c| if matches!(c, '/' | '\0') { '_' } else { c })
        .collect();
    let path = to.join(file_name);
    let file = File::create_new(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    let quoted = format!("{}.{}", quote_name(schema), quote_name(name));
    let shown = ask(database, &format!("SHOW CREATE TABLE {quoted}"))?;
    let definition = shown.first().and_then(|row| row.get(1)?.clone());
    let mut sink = Sink {
        table: quote_name(name),
        out: Some(file),
        ..Sink::default()
    };
    let head = format!(
        "CREATE DATABASE IF NOT EXISTS {0};\nUSE {0};\nSET FOREIGN_KEY_CHECKS = 0;\nSET SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO';\n{1};\n",
        quote_name(schema),
        definition.unwrap_or_default()
    );
    sink.text.push_str(&head);
    let read = run_trusted_into(database, format!("SELECT * FROM {quoted}").as_bytes(), &mut sink);
    sink.end_insert();
    sink.text
        .push_str("SET FOREIGN_KEY_CHECKS = DEFAULT;\nSET SQL_MODE = DEFAULT;\n");
    let written = sink.flush();
    let rows = sink.rows_seen;
    read.and(written)
        .map(|()| rows)
        .map_err(|error| format!("{rows} rows, and then: {}", error.message))
}

fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The rows of a small result, as text.
fn ask(database: &Arc<Database>, sql: &str) -> Outcome<Vec<Vec<Option<String>>>> {
    let mut sink = Sink::default();
    run_trusted_into(database, sql.as_bytes(), &mut sink).map_err(|error| error.message)?;
    Ok(sink.kept)
}

/// Takes rows: into a file, as INSERTs, or, without a file, as they are.
#[derive(Default)]
struct Sink {
    table: String,
    out: Option<File>,
    /// What is not in the file yet.
    text: String,
    row: Vec<Option<String>>,
    kept: Vec<Vec<Option<String>>>,
    rows_seen: u64,
    /// Where the INSERT that is not complete begins in `text`.
    insert: Option<usize>,
}

impl Sink {
    fn end_insert(&mut self) {
        if self.insert.take().is_some() {
            self.text.push_str(";\n");
        }
    }

    fn push(&mut self, value: impl ToString) {
        self.row.push(Some(value.to_string()));
    }

    fn push_quoted(&mut self, value: impl ToString) {
        self.bytes(value.to_string().as_bytes());
    }
}

/// A string or blob as an SQL literal.
fn literal(value: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(value) else {
        return value.iter().fold("0x".to_owned(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02X}");
            hex
        });
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1A' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

impl ResultSink for Sink {
    fn columns(&mut self, _: &[ColumnMeta]) -> tidemark_sql::Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {
        self.row.clear();
    }
    fn null(&mut self) {
        self.row.push(None);
    }
    fn int(&mut self, value: i64) {
        self.push(value);
    }
    fn uint(&mut self, value: u64) {
        self.push(value);
    }
    fn float(&mut self, value: f32) {
        self.push(value);
    }
    fn double(&mut self, value: f64) {
        self.push(format!("{value:e}"));
    }
    fn decimal(&mut self, digits: &str) {
        self.push(digits);
    }
    fn bytes(&mut self, value: &[u8]) {
        self.row.push(Some(match self.out {
            Some(_) => literal(value),
            None => String::from_utf8_lossy(value).into_owned(),
        }));
    }
    fn date(&mut self, value: Date) {
        self.push_quoted(value);
    }
    fn datetime(&mut self, value: DateTime) {
        self.push_quoted(value);
    }
    fn time(&mut self, value: Time) {
        self.push_quoted(value);
    }
    fn end_row(&mut self) -> tidemark_sql::Result<()> {
        if self.out.is_none() {
            self.kept.push(std::mem::take(&mut self.row));
            return Ok(());
        }
        self.rows_seen += 1;
        match self.insert {
            None => {
                self.insert = Some(self.text.len());
                let _ = write!(self.text, "INSERT INTO {} VALUES\n(", self.table);
            }
            Some(_) => self.text.push_str(",\n("),
        }
        for (n, value) in self.row.iter().enumerate() {
            if n > 0 {
                self.text.push(',');
            }
            self.text.push_str(value.as_deref().unwrap_or("NULL"));
        }
        self.text.push(')');
        if self
            .insert
            .is_some_and(|from| self.text.len() - from > INSERT_BYTES)
        {
            self.end_insert();
        }
        Ok(())
    }
    fn is_full(&self) -> bool {
        self.text.len() > INSERT_BYTES
    }
    fn flush(&mut self) -> tidemark_sql::Result<()> {
        self.end_insert();
        if let Some(file) = &mut self.out {
            file.write_all(self.text.as_bytes())
                .map_err(|e| SqlError::unknown(format!("writing: {e}")))?;
        }
        self.text.clear();
        Ok(())
    }
    fn end_rows(&mut self, _: u16, _: u16, _: &[tidemark_sql::SessionChange]) -> tidemark_sql::Result<()> {
        Ok(())
    }
    fn ok(&mut self, _: &OkInfo) -> tidemark_sql::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_back_as_they_were() {
        assert_eq!(literal(b"it's\n\\"), "'it\\'s\\n\\\\'");
        assert_eq!(literal(&[0xFF, 0]), "0xFF00");
        assert_eq!(literal("größer".as_bytes()), "'größer'");
    }
}
