//! JOIN in FROM: ON, USING and NATURAL, and what `*` stands for behind them.
//!
//! A RIGHT JOIN is a LEFT JOIN whose sides have been exchanged: its right side is planned first, so that a LATERAL derived table
//! or a JSON_TABLE on its left sees that side, and one on its right sees nothing of the left. Only the order of `*` is as written.

use super::Planner;
use super::from::{From, Tree};
use crate::accounts::Privileges;
use crate::dictionary::names_equal;
use crate::error::{Result, SqlError};
use crate::expr::{CmpOp, Expr, Scope, ScopeColumn, build};
use crate::parse::ast::{self, ColumnName, JoinCondition, JoinKind, TableRef};
use std::ops::Range;

/// The two sides of a join in the order in which they are planned: tables of the scope, and where `*` begins.
#[derive(Clone, Copy)]
struct Sides {
    first: usize,
    middle: usize,
    star: usize,
    star_middle: usize,
}

impl From<'_> {
    /// Puts the columns that a join merges before the others. The pairs are each merged column's twin and the column that stands
    /// for both.
    fn merge_star(&mut self, sides: &Sides, pairs: &[[(usize, usize); 2]]) {
        let all = self.star.split_off(sides.star);
        let merged = |column: &(usize, usize)| pairs.iter().any(|[_, kept]| kept == column);
        let gone = |column: &(usize, usize)| pairs.iter().any(|[twin, _]| twin == column);
        let common = all[..sides.star_middle - sides.star]
            .iter()
            .filter(|column| merged(column));
        let rest = all.iter().filter(|column| !merged(column) && !gone(column));
        self.star.extend(common.chain(rest));
    }

    /// Puts the columns of the side planned last before the others.
    fn exchange_star(&mut self, sides: &Sides) {
        self.star[sides.star..].rotate_left(sides.star_middle - sides.star);
    }
}

impl Planner<'_> {
    pub(super) fn join(&mut self, join: &ast::Join, from: &mut From) -> Result<Tree> {
        let is_right = join.kind == JoinKind::Right;
        let is_outer = matches!(join.kind, JoinKind::Left | JoinKind::Right);
        let (first, second) = match is_right {
            true => (&join.right, &join.left),
            false => (&join.left, &join.right),
        };
        if is_right {
            self.look_up(&join.left)?;
        }
        let (start, star) = (from.scope.tables.len(), from.star.len());
        let left = self.table_ref(first, from)?;
        let sides = Sides {
            first: start,
            middle: from.scope.tables.len(),
            star,
            star_middle: from.star.len(),
        };
        let around = self.null_extended;
        self.null_extended |= is_outer;
        let right = self.table_ref(second, from);
        self.null_extended = around;
        let right = right?;
        let merges = matches!(join.condition, JoinCondition::Using(_) | JoinCondition::Natural);
        if is_right && !merges {
            from.exchange_star(&sides);
        }
        let on = match &join.condition {
            JoinCondition::None => Vec::new(),
            JoinCondition::On(condition) => match self.on(condition, start, from) {
                Ok(condition) => vec![build::condition(condition)],
                Err(error) => {
                    from.wrong_condition.set(Some(error));
                    Vec::new()
                }
            },
            JoinCondition::Using(names) => self.using(names, from, &sides)?,
            JoinCondition::Natural => {
                let names = common_names(&from.scope, sides.first, sides.middle);
                // The statement does not contain these names, so an error must not tell them.
                for table in &from.scope.tables[sides.first..] {
                    let is_common =
                        |column: &ScopeColumn| names.iter().any(|name| names_equal(name, &column.name));
                    let columns = table.columns.iter().enumerate();
                    table.check_star(columns.filter(|(_, column)| is_common(column)).map(|(at, _)| at))?;
                }
                self.using(&names, from, &sides)?
            }
        };
        if self.keyed {
            from.join_conditions.extend(on.iter().cloned());
        }
        if is_outer {
            return Ok(Tree::Left {
                left: Box::new(left),
                right: Box::new(right),
                on,
            });
        }
        Ok(Tree::Inner {
            list: vec![left, right],
            on,
            straight: join.kind == JoinKind::Straight,
            hides: false,
        })
    }

    /// Binds ON, which sees the tables of its own join, from this one on, and what is around the query.
    fn on(&mut self, condition: &ast::Expr, first: usize, from: &mut From) -> Result<Expr> {
        let width = from.scope.width();
        let reserved = std::mem::replace(&mut from.scope.reserved, width);
        let before: Vec<_> = from.scope.tables.drain(..first).collect();
        let bound = self.condition(condition, &from.scope, "on clause");
        from.scope.tables.splice(..0, before);
        from.scope.reserved = reserved;
        bound
    }

    /// Errors of tables that are not there, or may not be read, come in the order in which these are written.
    fn look_up(&self, table: &TableRef) -> Result<()> {
        match table {
            TableRef::Table(named) if !self.is_common(&named.name) => {
                self.state.require_in_part_of(Privileges::SELECT, &named.name)?;
                self.state.table(&named.name).map(|_| ())
            }
            TableRef::Table(_) | TableRef::Derived { .. } | TableRef::JsonTable(_) => Ok(()),
            TableRef::Nested(list) => list.iter().try_for_each(|table| self.look_up(table)),
            TableRef::Join(join) => {
                self.look_up(&join.left)?;
                self.look_up(&join.right)
            }
        }
    }

    /// `USING (a, b)`: equal columns of both sides, of which an unqualified name means the outer side's.
    fn using(&mut self, names: &[String], from: &mut From, sides: &Sides) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        let mut pairs = Vec::new();
        for name in names {
            let kept = position(&from.scope, sides.first..sides.middle, name)?;
            let twin = position(&from.scope, sides.middle..from.scope.tables.len(), name)?;
            for (table, column) in [kept, twin] {
                from.scope.tables[table].check_readable(column)?;
            }
            let column = |(table, column): (usize, usize)| from.scope.tables[table].columns[column].expr(0);
            on.push(build::compare(
                CmpOp::Eq,
                column(kept),
                column(twin),
                self.binder.ctx,
            )?);
            pairs.push([twin, kept]);
            let twin = &mut from.scope.tables[twin.0].columns[twin.1];
            twin.hidden = true;
            twin.merged = true;
        }
        from.merge_star(sides, &pairs);
        Ok(on)
    }
}

pub(super) fn common_names(scope: &Scope, first: usize, middle: usize) -> Vec<String> {
    let has = |name: &str| {
        scope.tables[middle..]
            .iter()
            .any(|t| t.columns.iter().any(|c| !c.hidden && names_equal(&c.name, name)))
    };
    let left = scope.tables[first..middle].iter().flat_map(|t| &t.columns);
    left.filter(|c| !c.hidden && has(&c.name))
        .map(|c| c.name.clone())
        .collect()
}

pub(super) fn position(scope: &Scope, tables: Range<usize>, name: &str) -> Result<(usize, usize)> {
    let mut found = None;
    for table in tables {
        for (i, column) in scope.tables[table].columns.iter().enumerate() {
            if !column.merged && names_equal(&column.name, name) {
                if found.is_some() {
                    return Err(SqlError::ambiguous_column(name, "from clause"));
                }
                found = Some((table, i));
            }
        }
    }
    let unknown = ColumnName {
        schema: None,
        table: None,
        column: name.to_string(),
    };
    found.ok_or_else(|| SqlError::unknown_column(&unknown.to_string(), "from clause"))
}
