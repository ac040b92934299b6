//! The generated columns of a table in plans: what they are computed by, which of them a change reaches, and which expressions of
//! a statement an index of them serves.
//!
//! A condition on `lower(name)` goes by an index of a column that is generated as `lower(name)`, or of the functional key part
//! `(lower(name))`. The condition stays what it is and is tested on every row found; only the bounds of the index, and the order
//! that it gives, come from the column. That needs the column to hold the values of the expression as they are: see [`holds`].
//!
//! Literals tell expressions apart: `a + 1` is not `a + 2`. A plan that could go by an index but for literals that have become
//! parameters says that it depends on them, and the statement is planned with its literals.

use crate::dictionary::TableDef;
use crate::error::Result;
use crate::expr::{Binder, Expr, Node, Scope, cast_operand};
use crate::parse;
use crate::types::{SqlType, TypeKind};
use std::cell::Cell;

/// Generated columns with their expressions, over rows of the table alone, in the order in which they are computed.
#[derive(Default)]
pub struct GeneratedColumns(Vec<(usize, Expr)>);

impl GeneratedColumns {
    /// All generated columns of a table.
    pub fn of(def: &TableDef, binder: &Binder) -> Result<GeneratedColumns> {
        let mut bound = Vec::new();
        if !def.has_generated() {
            return Ok(GeneratedColumns(bound));
        }
        static NO_NAME: String = String::new();
        let scope = Scope::of_row(def.columns.iter().map(|column| match column.is_key_part() {
            true => (&NO_NAME, &column.ty),
            false => (&column.name, &column.ty),
        }));
        for (at, column) in def.columns.iter().enumerate() {
            if let Some(generated) = &column.generated {
                let parsed = parse::parse_expression(&generated.expression)?;
                bound.push((at, binder.bind_generated(&parsed, &scope)?));
            }
        }
        Ok(GeneratedColumns(bound))
    }

    /// Those that are parts of indexes and hold the values of their expressions as they are, or arrays.
    pub fn indexed(def: &TableDef, binder: &Binder) -> Result<GeneratedColumns> {
        let GeneratedColumns(mut bound) = GeneratedColumns::of(def, binder)?;
        bound.retain(|(at, expr)| {
            let mut parts = def.indexes.iter().flat_map(|index| &index.parts);
            let column = &def.columns[*at].ty;
            parts.any(|part| part.column == *at) && (column.array || holds(column, &expr.ty))
        });
        Ok(GeneratedColumns(bound))
    }

    /// The columns and their expressions.
    pub fn list(&self) -> &[(usize, Expr)] {
        &self.0
    }

    /// The columns that may change when these do.
    pub fn affected(&self, changed: &[usize]) -> Vec<usize> {
        let mut reached = changed.to_vec();
        let mut affected = Vec::new();
        for (at, expr) in &self.0 {
            if expr.columns().iter().any(|column| reached.contains(column)) {
                reached.push(*at);
                affected.push(*at);
            }
        }
        affected
    }

    /// Whether an expression, over a row in which the table begins at slot `base`, is that of the column. `on_literals` becomes
    /// true if that depends on what its parameters are.
    pub fn is(&self, column: usize, e: &Expr, base: usize, on_literals: &Cell<bool>) -> bool {
        let mut own = self.0.iter().filter(|(at, own)| *at == column && !own.ty.array);
        let found = own.next();
        found.is_some_and(|(_, own)| is_same(own, e, base, on_literals))
    }

    /// The columns that are arrays cast from this expression.
    pub fn arrays_of(&self, e: &Expr, base: usize, on_literals: &Cell<bool>) -> Vec<usize> {
        let is_of = |(_, own): &&(usize, Expr)| {
            cast_operand(own).is_some_and(|document| is_same(document, e, base, on_literals))
        };
        self.0.iter().filter(is_of).map(|(at, _)| *at).collect()
    }
}

/// Whether an expression, over a row in which the table begins at slot `base`, is this one over the table's row alone.
fn is_same(own: &Expr, e: &Expr, base: usize, on_literals: &Cell<bool>) -> bool {
    if has(e, |node| matches!(node, Node::Param(_))) {
        let columns: Vec<usize> = own.columns().iter().map(|slot| slot + base).collect();
        if has(own, |node| matches!(node, Node::Literal(_))) && columns == e.columns() {
            on_literals.set(true);
        }
        return false;
    }
    own.same_moved(e, base)
}

fn has(e: &Expr, wanted: impl Fn(&Node) -> bool) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= wanted(&e.node));
    found
}

/// Whether a column of this type holds values of the other as they are. One that does not fit is refused when it is written, or
/// becomes another value outside strict mode; as in MySQL, a condition on the expression then goes by that one.
fn holds(column: &SqlType, value: &SqlType) -> bool {
    let is_number = |ty: &SqlType| ty.is_integer() && !matches!(ty.kind, TypeKind::Bit | TypeKind::Year);
    let is_text = |ty: &SqlType| ty.is_string() && !ty.is_member() && ty.kind != TypeKind::Json;
    match column.kind {
        _ if is_number(column) => is_number(value),
        TypeKind::Decimal => {
            is_number(value) || value.kind == TypeKind::Decimal && column.scale >= value.scale
        }
        TypeKind::Double => value.kind == TypeKind::Double,
        TypeKind::Date | TypeKind::Time | TypeKind::DateTime => {
            column.kind == value.kind && column.scale >= value.scale
        }
        _ if is_text(column) => is_text(value) && column.collation == value.collation,
        _ => false,
    }
}
