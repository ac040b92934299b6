//! What names mean in a view's query, and how they are written in full.

use super::canonical::Naming;
use super::expressions::binary;
use crate::dictionary::names_equal;
use crate::error::{Result, SqlError};
use crate::expr::{Scope, ScopeTable};
use crate::parse::ast::*;
use crate::plan::join_clause::position;
use std::ops::Range;

/// When an alias of the select list is meant by a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aliases {
    Never,
    /// HAVING, ORDER BY.
    First,
    /// GROUP BY.
    Last,
}

/// What names can mean at a place.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub scope: &'n Scope<'n>,
    /// By table of the scope: it goes by its own name, which its database belongs to.
    pub whole: &'n [bool],
    /// The select list's aliases, with their expressions.
    pub items: &'n [(String, Expr)],
    /// The keys of GROUP BY, which HAVING takes before aliases.
    pub keys: &'n [Expr],
    pub aliases: Aliases,
    pub outer: Option<&'n Names<'n>>,
}

/// What is known of a FROM clause while it is walked.
pub(super) struct Walk<'w> {
    pub scope: &'w Scope<'w>,
    pub outer: Option<&'w Names<'w>>,
    /// By table, in the order of the scope.
    pub whole: Vec<bool>,
    /// Columns that stand behind others of USING.
    pub merged: Vec<(usize, usize)>,
}

impl Walk<'_> {
    /// The tables that have been walked.
    pub fn scope_so_far(&self) -> Scope<'_> {
        Scope {
            tables: self.scope.tables[..self.whole.len()].to_vec(),
            ..self.scope.clone()
        }
    }

    /// What a LATERAL derived table or JSON_TABLE that comes next may name; the scope is [`Walk::scope_so_far`].
    pub fn names_so_far<'s>(&'s self, scope: &'s Scope<'s>) -> Names<'s> {
        Names {
            scope,
            whole: &self.whole,
            items: &[],
            keys: &[],
            aliases: Aliases::Never,
            outer: self.outer,
        }
    }
}

impl<'n> Names<'n> {
    /// The same within an expression or an aggregate, where columns come first.
    pub fn within(&self) -> Names<'n> {
        Names {
            aliases: match self.aliases {
                Aliases::Never => Aliases::Never,
                _ => Aliases::Last,
            },
            ..*self
        }
    }

    fn alias(&self, name: &ColumnName) -> Option<&'n (String, Expr)> {
        let mut items = self.items.iter().filter(|_| name.table.is_none());
        items.find(|(alias, _)| names_equal(alias, &name.column))
    }

    /// A column as it is written in full, or an alias of the select list.
    pub fn column(&self, name: &ColumnName) -> Result<Expr> {
        let alias = self.alias(name);
        let own = self.scope.locate(name, "field list")?;
        match (alias, own, self.aliases) {
            // A column of the same name would be meant by the alias alone.
            (Some((_, expr)), Some((table, at)), Aliases::First) => {
                let column = self.written(table, at);
                return Ok(match self.keys.contains(&column) {
                    true => column,
                    false => expr.clone(),
                });
            }
            (Some((alias, _)), None, Aliases::First | Aliases::Last) => {
                return Ok(Expr::Column(ColumnName {
                    schema: None,
                    table: None,
                    column: alias.clone(),
                }));
            }
            _ => {}
        }
        let mut names = Some(self);
        while let Some(here) = names {
            if let Some((table, at)) = here.scope.locate(name, "field list")? {
                return Ok(here.written(table, at));
            }
            if !std::ptr::eq(here, self)
                && let Some((alias, _)) = here.alias(name)
            {
                return Ok(Expr::Column(ColumnName {
                    schema: None,
                    table: None,
                    column: alias.clone(),
                }));
            }
            names = here.outer;
        }
        Err(SqlError::unknown_column(&name.to_string(), "field list"))
    }

    fn written(&self, table: &ScopeTable, column: usize) -> Expr {
        let at = self
            .scope
            .tables
            .iter()
            .position(|known| std::ptr::eq(known, table));
        let whole = at.is_some_and(|at| self.whole.get(at) == Some(&true));
        Expr::Column(ColumnName {
            schema: table.schema.clone().filter(|_| whole),
            table: Some(table.alias.clone()),
            column: table.columns[column].name.clone(),
        })
    }

    /// A column that `*` stands for.
    pub fn starred(&self, (table, column): (usize, usize), naming: Naming) -> SelectItem {
        let table = &self.scope.tables[table];
        let name = table.columns[column].name.clone();
        SelectItem::Expr {
            expr: self.written(table, column),
            alias: (naming == Naming::All).then(|| name.clone()),
            text: name,
        }
    }
}

impl Walk<'_> {
    /// The scope as it was before USING merged columns, but for those of the joins walked so far.
    pub fn before_merging(&self) -> Scope<'static> {
        let mut scope = Scope::default();
        scope.tables.extend_from_slice(&self.scope.tables);
        for (table, known) in scope.tables.iter_mut().enumerate() {
            for (at, column) in known.columns.iter_mut().enumerate() {
                let twin = self.merged.contains(&(table, at));
                let own_key = column.name.is_empty();
                column.hidden = (column.hidden && !column.merged) || twin || own_key;
                column.merged = twin || own_key;
            }
        }
        scope
    }
}

/// `USING (a, b)` as a condition; an outer join's outer side comes first.
pub(super) fn using(
    walk: &mut Walk,
    columns: &[String],
    (first, middle, end): (usize, usize, usize),
) -> Result<JoinCondition> {
    let scope = walk.before_merging();
    let names = Names {
        scope: &scope,
        whole: &walk.whole,
        items: &[],
        keys: &[],
        aliases: Aliases::Never,
        outer: None,
    };
    let find = |tables: Range<usize>, name: &str| position(&scope, tables, name);
    let mut pairs = Vec::new();
    let mut twins = Vec::new();
    for name in columns {
        let (left, right) = (find(first..middle, name)?, find(middle..end, name)?);
        let side = |(table, column): (usize, usize)| names.written(&scope.tables[table], column);
        pairs.push(binary(BinaryOp::Equal, side(left), side(right)));
        twins.push(right);
    }
    walk.merged.extend(twins);
    Ok(match pairs.len() {
        0 => JoinCondition::None,
        1 => JoinCondition::On(pairs.remove(0)),
        _ => JoinCondition::On(Expr::And(pairs)),
    })
}
