//! Plans LOAD DATA: an INSERT whose rows are the lines of a file.

use super::foreign_keys::Event;
use super::insert::{Given, InsertPlan, InsertSource, OnDuplicate, bind_rows};
use super::reads::ChangedTable;
use super::target::Use;
use crate::accounts::Privileges;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, Duplicates, FileFormat};
use crate::plan::Planner;
use crate::plan::group::{Aliases, BlockHooks};
use crate::types::Charset;

/// Where the lines come from, and what their fields are.
pub struct LoadSource {
    /// The file's name, as written.
    pub path: String,
    /// The client has the file.
    pub local: bool,
    pub charset: Charset,
    pub format: FileFormat,
    /// The bytes of each field, where nothing divides or encloses them.
    pub widths: Option<Vec<usize>>,
    /// Lines in front of the first row.
    pub skip: u64,
    pub fields: Vec<LoadField>,
    /// SET: for each of its columns, the value.
    pub set: Vec<(usize, Given)>,
}

/// What a field goes into.
pub enum LoadField {
    Column(usize),
    Variable(String),
}

impl Planner<'_> {
    pub(in crate::plan) fn load(&mut self, load: &ast::LoadData) -> Result<InsertPlan> {
        if !load.local {
            self.state.require_file_to_load()?;
        }
        let replace = load.duplicates == Duplicates::Replace;
        let privileges = match replace {
            true => Privileges::INSERT.union(Privileges::DELETE),
            false => Privileges::INSERT,
        };
        let fields = load.fields.iter().filter_map(|field| match field {
            ast::LoadField::Column(name) => Some(name.as_str()),
            ast::LoadField::Variable(_) => None,
        });
        let set = load
            .set
            .iter()
            .map(|assignment| assignment.column.column.as_str());
        let names: Vec<&str> = match load.fields.is_empty() {
            true => Vec::new(),
            false => fields.chain(set).collect(),
        };
        let mut target = self.insert_target(&load.table, &names, privileges)?;
        let charset = match &load.charset {
            Some(name) => Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?,
            None => self.state.schema_collation().charset(),
        };
        load.format.check_marks(<[u8]>::len)?;
        let mut fields = Vec::new();
        for field in &load.fields {
            fields.push(match field {
                ast::LoadField::Column(name) => LoadField::Column(target.column(name, Use::Insert)?),
                ast::LoadField::Variable(name) => {
                    self.binder.ctx.assigns_variables.set(true);
                    LoadField::Variable(name.clone())
                }
            });
        }
        if load.fields.is_empty() {
            fields.extend(target.visible_columns()?.into_iter().map(LoadField::Column));
        }
        let widths = match load.format.field_end.is_empty() && load.format.enclosed.is_empty() {
            true => Some(widths(&fields, &target.def, &load.format.line_end)?),
            false => None,
        };
        let mut columns = Vec::new();
        let mut values = Vec::new();
        for assignment in &load.set {
            let column = target.column(&assignment.column.column, Use::Insert)?;
            if target.def.columns[column].generated.is_some() {
                // What the file and SET have for a generated column is not looked at.
                continue;
            }
            columns.push(column);
            values.push(assignment.value.clone());
        }
        let binder = self.binder;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases::NONE,
        };
        let bound = bind_rows(&[values], &columns, true, &target, &binder, &mut hooks)?;
        let set: Vec<(usize, Given)> = columns.iter().copied().zip(bound.into_iter().flatten()).collect();
        for field in &fields {
            if let LoadField::Column(at) = field {
                columns.push(*at);
            }
        }
        let mut events = vec![Event::Insert];
        if replace {
            events.push(Event::Delete);
        }
        target.add_hooks(&events);
        self.add_foreign_keys(&mut target, &events)?;
        self.refuse_reads_by_name(&ChangedTable::of(&target, "LOAD DATA"))?;
        Ok(InsertPlan {
            auto_increment: target.def.auto_increment(),
            columns,
            source: InsertSource::File(Box::new(LoadSource {
                path: load.path.clone(),
                local: load.local,
                charset,
                format: load.format.clone(),
                widths,
                skip: load.skip,
                fields,
                set,
            })),
            on_duplicate: match replace {
                true => OnDuplicate::Replace,
                false => OnDuplicate::Fail,
            },
            // The client's file cannot be stopped, so its rows are taken as far as they fit.
            ignore: load.duplicates == Duplicates::Ignore || load.local && !replace,
            reads_columns: true,
            target,
        })
    }
}

/// As many bytes for each field as the widest value of its column takes. Error 1409 for a variable, which has no width; 1235 for
/// rows that take nothing from a file, which would have no end.
fn widths(fields: &[LoadField], table: &TableDef, line_end: &[u8]) -> Result<Vec<usize>> {
    let width = |field: &LoadField| match field {
        LoadField::Variable(_) => Err(SqlError::new(
            er::LOAD_FROM_FIXED_SIZE_ROWS_TO_VAR,
            "Can't load value from file with fixed size rows to variable",
        )),
        LoadField::Column(at) => Ok(table.columns[*at].ty.byte_width() as usize),
    };
    let widths = fields.iter().map(width).collect::<Result<Vec<usize>>>()?;
    match line_end.is_empty() && widths.iter().all(|width| *width == 0) {
        true => Err(SqlError::not_supported("LOAD DATA of rows without a byte")),
        false => Ok(widths),
    }
}
