//! The columns of an altered table. Actions are not applied one after the other, but as MySQL takes them:
//!
//! ```text
//!   each old column, by the name it had:   goes │ is changed │ stays, perhaps with another name, default or visibility
//!   then, in the order written:            what comes, and what is changed and has a position, is put into its place
//!   then, by their columns:                indexes, foreign keys
//! ```
//!
//! So names may be swapped, and a name may go and come in one statement. An index that has a column that goes takes the one of the
//! same name that comes. A position names the columns as they are called afterwards, and only those that have their place by then.

use super::super::foreign_key::refuse_drop_of_column;
use super::super::{DdlContext, check, column, default, generated};
use super::draft::{Draft, unknown_column_in};
use crate::dictionary::{ColumnDef, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, AlterAction, ColumnPosition};

/// A column that has its place.
struct Field {
    def: ColumnDef,
    /// Its position in the draft before, if it was there.
    origin: Option<usize>,
    explicit_null: bool,
}

/// The actions on columns, of which each is used once.
struct Pending<'a> {
    actions: &'a [AlterAction],
    used: Vec<bool>,
}

impl<'a> Pending<'a> {
    /// The first action that is not used and of which `of` finds something.
    fn take<T>(&mut self, of: impl Fn(&'a AlterAction) -> Option<T>) -> Option<(usize, T)> {
        let mut unused = self.actions.iter().enumerate().filter(|(at, _)| !self.used[*at]);
        let found = unused.find_map(|(at, action)| Some((at, of(action)?)));
        if let Some((at, _)) = found {
            self.used[at] = true;
        }
        found
    }
}

/// Another definition of an old column.
struct Change<'a> {
    old: &'a str,
    column: &'a ast::ColumnDef,
    position: Option<&'a ColumnPosition>,
}

/// The old column that an action gives another definition.
fn changed(action: &AlterAction) -> Option<Change<'_>> {
    match action {
        AlterAction::ModifyColumn { column, position } => Some(Change {
            old: &column.name,
            column,
            position: position.as_ref(),
        }),
        AlterAction::ChangeColumn {
            old,
            column,
            position,
        } => Some(Change {
            old,
            column,
            position: position.as_ref(),
        }),
        _ => None,
    }
}

/// What an action changes of an old column that keeps its definition.
enum Touch<'a> {
    Name(&'a str),
    Default(Option<&'a ast::DefaultValue>),
    Visibility(bool),
}

/// The old column that an action changes in part, and what of it.
fn touched(action: &AlterAction) -> Option<(&str, Touch<'_>)> {
    match action {
        AlterAction::RenameColumn { old, new } => Some((old, Touch::Name(new))),
        AlterAction::SetDefault { column, default } => Some((column, Touch::Default(default.as_ref()))),
        AlterAction::ShowColumn { column, visible } => Some((column, Touch::Visibility(*visible))),
        _ => None,
    }
}

fn dropped_name(action: &AlterAction) -> Option<&str> {
    match action {
        AlterAction::DropColumn(name) => Some(name),
        _ => None,
    }
}

/// The definition that an action gives a column, and where that is to stand.
fn definition(action: &AlterAction) -> Option<(&ast::ColumnDef, Option<&ColumnPosition>)> {
    match action {
        AlterAction::AddColumn { column, position } => Some((column, Some(position))),
        _ => changed(action).map(|change| (change.column, change.position)),
    }
}

impl DdlContext<'_> {
    /// Gives the draft the columns that the actions leave, and takes its indexes and foreign keys along.
    pub(super) fn merge_columns(
        &self,
        draft: &mut Draft,
        actions: &[AlterAction],
        old: &TableDef,
    ) -> Result<()> {
        let mut pending = Pending {
            actions,
            used: vec![false; actions.len()],
        };
        let mut placeless: Vec<Option<Field>> = actions.iter().map(|_| None).collect();
        let mut fields = Vec::with_capacity(draft.columns.len());
        for (at, column) in draft.columns.clone().into_iter().enumerate() {
            if column.is_key_part() {
                continue;
            }
            let is_it = |name: &str| names_equal(name, &column.name);
            let drops = |action| dropped_name(action).filter(|name| is_it(name));
            let changes = |action| changed(action).filter(|change| is_it(change.old));
            if pending.take(drops).is_some() {
                self.drop_column(draft, at, actions)?;
            } else if let Some((action, change)) = pending.take(changes) {
                if !names_equal(&change.column.name, &column.name) {
                    hold(draft, &column.name, actions)?;
                }
                let field = self.changed(draft, at, change.column)?;
                match change.position {
                    None => fields.push(field),
                    Some(_) => placeless[action] = Some(field),
                }
            } else {
                fields.push(self.kept(draft, at, &mut pending, actions)?);
            }
        }
        self.place_columns(draft, &mut fields, &mut pending, placeless, old)?;
        let mut actions = actions.iter().zip(&pending.used);
        if let Some(name) =
            actions.find_map(|(action, used)| touched(action).map(|(name, _)| name).filter(|_| !used))
        {
            return Err(unknown_column_in(name, &draft.name));
        }
        settle(draft, fields, &pending)
    }

    /// What a column goes with. It stays in the draft.
    fn drop_column(&self, draft: &mut Draft, at: usize, actions: &[AlterAction]) -> Result<()> {
        let name = draft.columns[at].name.clone();
        check::drop_column(&mut draft.options.checks.clone(), &name)?;
        refuse_drop_of_column(&draft.foreign_keys, &draft.columns, at)?;
        check::drop_column(&mut draft.options.checks, &name)?;
        hold_expressions(draft, &name, actions)
    }

    /// A column that keeps its definition, but for its name, its default and whether it is shown.
    fn kept(
        &self,
        draft: &Draft,
        at: usize,
        pending: &mut Pending,
        actions: &[AlterAction],
    ) -> Result<Field> {
        let mut def = draft.columns[at].clone();
        let name = def.name.clone();
        let touches = |action| touched(action).filter(|(other, _)| names_equal(other, &name));
        // One of them: a second finds no column.
        if let Some((_, (_, touch))) = pending.take(touches) {
            match touch {
                Touch::Name(new) => {
                    column::check_identifier(new)?;
                    if new.is_empty() || new.ends_with(' ') || column::is_reserved(new) {
                        return Err(column::wrong_name(new));
                    }
                    match names_equal(new, &name) {
                        true => hold_expressions(draft, &name, actions)?,
                        false => hold(draft, &name, actions)?,
                    }
                    def.name = new.to_owned();
                }
                Touch::Default(default) => self.set_default(&mut def, default)?,
                Touch::Visibility(visible) => def.invisible = !visible,
            }
        }
        Ok(Field {
            def,
            origin: Some(at),
            explicit_null: false,
        })
    }

    fn changed(&self, draft: &Draft, at: usize, written: &ast::ColumnDef) -> Result<Field> {
        let def = column::column(self.state, written, draft.options.collation)?;
        if def.is_virtual() != draft.columns[at].is_virtual() {
            return Err(generated::unsupported("Changing the STORED status"));
        }
        Ok(Field {
            def,
            origin: Some(at),
            explicit_null: written.nullable == Some(true),
        })
    }

    /// Puts the columns that come, and those that are to have another place, into their places.
    fn place_columns(
        &self,
        draft: &Draft,
        fields: &mut Vec<Field>,
        pending: &mut Pending,
        mut placeless: Vec<Option<Field>>,
        old: &TableDef,
    ) -> Result<()> {
        for (at, action) in pending.actions.iter().enumerate() {
            let Some((written, position)) = definition(action) else {
                continue;
            };
            let field = match (placeless[at].take(), changed(action)) {
                (Some(field), _) => field,
                (None, Some(_)) if pending.used[at] => continue,
                (None, Some(change)) => return Err(unknown_column_in(change.old, &old.name)),
                (None, None) => {
                    if let Some(written) = &written.default {
                        default::refuse_unsafe(&written.expr)?;
                    }
                    Field {
                        def: column::column(self.state, written, draft.options.collation)?,
                        origin: None,
                        explicit_null: written.nullable == Some(true),
                    }
                }
            };
            let to = match position {
                None | Some(ColumnPosition::Last) => fields.len(),
                Some(ColumnPosition::First) => 0,
                Some(ColumnPosition::After(name)) => {
                    let found = fields.iter().position(|field| names_equal(&field.def.name, name));
                    found.ok_or_else(|| unknown_column_in(name, &old.name))? + 1
                }
            };
            fields.insert(to, field);
        }
        Ok(())
    }
}

/// Refuses another name for a column that a constraint or an expression names.
fn hold(draft: &Draft, name: &str, actions: &[AlterAction]) -> Result<()> {
    check::rename_column(&draft.options.checks, name)?;
    hold_expressions(draft, name, actions)
}

/// Refuses that a column goes that the expression of one names which stays as it is.
fn hold_expressions(draft: &Draft, name: &str, actions: &[AlterAction]) -> Result<()> {
    let goes = |column: &ColumnDef| {
        let mut names = actions
            .iter()
            .filter_map(|action| dropped_name(action).or_else(|| Some(changed(action)?.old)));
        names.any(|other| names_equal(other, &column.name))
    };
    let columns = draft.columns.iter().filter(|column| !goes(column));
    let columns: Vec<ColumnDef> = columns.cloned().collect();
    generated::hold_column(&columns, name)?;
    default::hold_column(&columns, &draft.name, name)
}

/// Makes the fields the draft's columns, with the hidden ones of functional key parts behind them.
fn settle(draft: &mut Draft, mut fields: Vec<Field>, pending: &Pending) -> Result<()> {
    let unused = pending.actions.iter().zip(&pending.used);
    for (action, _) in unused.filter(|(_, used)| !**used) {
        if let Some(name) = dropped_name(action) {
            return Err(SqlError::cannot_drop(name));
        }
    }
    if fields.is_empty() {
        return Err(SqlError::new(
            er::CANT_REMOVE_ALL_FIELDS,
            "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
        ));
    }
    for (at, field) in fields.iter().enumerate() {
        if fields[..at]
            .iter()
            .any(|other| names_equal(&other.def.name, &field.def.name))
        {
            return Err(SqlError::duplicate_column(&field.def.name));
        }
    }
    let hidden = draft
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.is_key_part());
    fields.extend(hidden.map(|(at, column)| Field {
        def: column.clone(),
        origin: Some(at),
        explicit_null: false,
    }));
    follow_columns(draft, &fields);
    draft.columns.clear();
    let origins = std::mem::take(&mut draft.origins);
    draft.explicit_null.clear();
    for field in fields {
        draft.columns.push(field.def);
        draft.origins.push(field.origin.and_then(|at| origins[at]));
        draft.explicit_null.push(field.explicit_null);
    }
    Ok(())
}

/// Takes indexes and foreign keys along to the places that their columns have now.
fn follow_columns(draft: &mut Draft, fields: &[Field]) {
    let columns = &draft.columns;
    let place = |at: usize| {
        fields.iter().position(|field| match field.origin {
            Some(origin) => origin == at,
            None => names_equal(&field.def.name, &columns[at].name),
        })
    };
    for at in (0..draft.indexes.len()).rev() {
        let index = &mut draft.indexes[at];
        let before = index.parts.len();
        let mut is_new = false;
        index.parts.retain_mut(|part| match place(part.column) {
            Some(to) => {
                is_new |= fields[to].origin.is_none();
                part.column = to;
                true
            }
            None => false,
        });
        if index.parts.is_empty() {
            draft.indexes.remove(at);
            draft.index_origins.remove(at);
        } else if is_new || index.parts.len() != before {
            draft.index_origins[at] = None;
        }
    }
    for column in draft.foreign_keys.iter_mut().flat_map(|key| &mut key.columns) {
        *column = place(*column).unwrap_or(*column);
    }
}
