//! The rows of `ROUTINES` and `PARAMETERS`.

use super::rows::{TypeColumns, catalog, string, yes};
use crate::context::SessionState;
use crate::dictionary::ProgramDef;
use crate::error::Result;
use crate::expr::column_type;
use crate::parse::ast::{ParameterMode, TypeName};
use crate::show::objects::at_time;
use crate::show::program::{security, sees_text, shown, visible};
use crate::types::Value;

/// The columns about a type, from DATA_TYPE to DTD_IDENTIFIER.
fn type_columns(program: &ProgramDef, ty: &TypeName) -> Result<Vec<Value>> {
    let (ty, _) = column_type("", ty, program.database)?;
    let TypeColumns {
        mut columns,
        collation,
    } = TypeColumns::of(&ty);
    columns.extend(collation);
    columns.push(string(ty.to_string()));
    Ok(columns)
}

pub fn routines(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for program in visible(state) {
        let result = match &program.tree()?.returns {
            Some(ty) => type_columns(&program, ty)?,
            None => {
                // A procedure has no type, which MySQL writes as an empty text.
                let mut none = vec![Value::Null; 9];
                none[0] = string("");
                none
            }
        };
        let mut row = vec![
            string(&program.name),
            catalog(),
            string(&program.schema),
            string(&program.name),
            string(program.kind.word()),
        ];
        row.extend(result);
        row.extend([
            string("SQL"),
            match sees_text(state, &program) {
                true => string(shown(&program, &program.body)),
                false => Value::Null,
            },
            Value::Null,
            string("SQL"),
            string("SQL"),
            yes(program.deterministic),
            string(program.access.as_sql()),
            Value::Null,
            string(security(&program)),
            at_time(state, program.created),
            at_time(state, program.altered),
            string(program.sql_mode.to_string()),
            string(&program.comment),
            string(format!("{}@{}", program.definer.0, program.definer.1)),
            string(program.client.charset().name()),
            string(program.connection.name()),
            string(program.database.name()),
        ]);
        rows.push(row);
    }
    Ok(rows)
}

pub fn parameters(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for program in visible(state) {
        let tree = program.tree()?;
        let mut add = |position: usize, mode: Value, name: Value, ty: &TypeName| -> Result<()> {
            let mut row = vec![
                catalog(),
                string(&program.schema),
                string(&program.name),
                Value::UInt(position as u64),
                mode,
                name,
            ];
            row.extend(type_columns(&program, ty)?);
            row.push(string(program.kind.word()));
            rows.push(row);
            Ok(())
        };
        if let Some(ty) = &tree.returns {
            add(0, Value::Null, Value::Null, ty)?;
        }
        for (at, (mode, local)) in tree.modes.iter().zip(&tree.program.locals).enumerate() {
            let mode = match mode {
                ParameterMode::In => "IN",
                ParameterMode::Out => "OUT",
                ParameterMode::InOut => "INOUT",
            };
            add(at + 1, string(mode), string(&local.name), &local.ty)?;
        }
    }
    Ok(rows)
}
