//! The select list: its items and their names, and what the result's columns say of themselves.

use super::from::{From, FromInput, FromTable};
use super::group::{Aliases, BlockHooks, Finished, Rank, slot_of};
use super::json_table::ORG_TABLE;
use super::window::Windows;
use super::{AGGREGATE, Origin, OutputColumn, Planner};
use crate::dictionary::{ColumnDefault, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::{DefaultOf, Expr, Node};
use crate::parse::ast::{self, Literal, SelectItem};
use crate::parse::lexer::{Lexer, Op, TokenKind, unquote};
use crate::types::meta::flag;
use crate::types::{Collation, ColumnMeta, TypeKind};

/// An item of the select list.
pub(super) struct Item {
    pub expr: Expr,
    pub name: String,
    /// Whether the name was given by AS.
    pub alias: bool,
}

impl Planner<'_> {
    pub(super) fn items(
        &mut self,
        items: &[SelectItem],
        from: &From,
        (finished, windows): (&mut Finished, &mut Windows),
    ) -> Result<Vec<Item>> {
        let mut out = Vec::new();
        for item in items {
            match item {
                SelectItem::All => {
                    if from.scope.tables.is_empty() {
                        return Err(SqlError::new(er::NO_TABLES_USED, "No tables used"));
                    }
                    for (at, table) in from.scope.tables.iter().enumerate() {
                        let own = from.star.iter().filter(|(table, _)| *table == at);
                        table.check_star(own.map(|(_, column)| *column))?;
                    }
                    for &(table, column) in &from.star {
                        let column = &from.scope.tables[table].columns[column];
                        out.push(Item {
                            expr: column.expr(0),
                            name: column.name.clone(),
                            alias: false,
                        });
                    }
                }
                SelectItem::AllOf(name) => {
                    let found = from
                        .scope
                        .tables
                        .iter()
                        .find(|t| t.answers_to(name.schema.as_deref(), Some(&name.name)));
                    let table = found.ok_or_else(|| SqlError::bad_table(&name.to_string()))?;
                    // Columns that a join has merged are the table's own, invisible ones are not named by `*`.
                    let columns = table.columns.iter().enumerate();
                    let shown = columns
                        .filter(|(_, column)| (!column.hidden || column.merged) && !column.is_nameless());
                    table.check_star(shown.clone().map(|(at, _)| at))?;
                    for (_, column) in shown {
                        out.push(Item {
                            expr: column.expr(0),
                            name: column.name.clone(),
                            alias: false,
                        });
                    }
                }
                SelectItem::Expr { expr, alias, text } => {
                    let binder = self.binder.in_clause("field list");
                    let mut hooks = BlockHooks {
                        planner: self,
                        aggregates: Some(finished),
                        windows: Some(windows),
                        aliases: Aliases {
                            items: &out,
                            keys: &[],
                            rank: Rank::Inside,
                        },
                    };
                    let bound = binder.bind(expr, &from.scope, &mut hooks)?;
                    out.push(Item {
                        expr: bound,
                        name: self.item_name(expr, alias.as_deref(), text),
                        alias: alias.is_some(),
                    });
                }
            }
        }
        Ok(out)
    }

    /// The name of an item's column: its alias, or else what is written.
    pub(super) fn item_name(&self, expr: &ast::Expr, alias: Option<&str>, text: &str) -> String {
        match (alias, expr) {
            (Some(alias), _) => self.alias_name(alias),
            (None, ast::Expr::Column(column)) => column.column.clone(),
            (None, ast::Expr::Literal(literal)) => {
                without_spaces(&self.literal_name(literal, text)).to_owned()
            }
            // Whatever parentheses are around.
            (None, ast::Expr::Param(_)) => "?".to_owned(),
            (
                None,
                ast::Expr::Unary {
                    op: ast::UnaryOp::Plus,
                    ..
                },
            ) => {
                let text = text.trim_start_matches(['+', ' ']);
                self.item_name(without_plus(expr), None, text)
            }
            (None, _) => text.to_owned(),
        }
    }

    /// An alias without spaces in front, of which MySQL warns.
    fn alias_name(&self, alias: &str) -> String {
        let name = without_spaces(alias);
        if name.len() < alias.len() {
            let warning = match name.is_empty() {
                true => SqlError::new(er::NAME_BECOMES_EMPTY, format!("Name '{alias}' has become ''")),
                false => SqlError::new(
                    er::REMOVED_SPACES,
                    format!("Leading spaces are removed from name '{alias}'"),
                ),
            };
            let mut warnings = self.binder.ctx.deprecated.borrow_mut();
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        name.to_owned()
    }

    /// A string, a number in decimal digits and NULL name their columns by themselves, whatever parentheses and signs are around: a string by
    /// what it says, of several in a row by the first.
    fn literal_name(&self, literal: &Literal, text: &str) -> String {
        let names_itself = matches!(
            literal,
            Literal::Str { .. } | Literal::Int(_) | Literal::Decimal(_) | Literal::Double(_) | Literal::Null
        );
        if !names_itself {
            return text.to_owned();
        }
        let mode = self.binder.ctx.sql_mode;
        let mut lexer = Lexer::new(text.as_bytes(), 0, mode);
        while let Ok(token) = lexer.token() {
            let raw = &text.as_bytes()[token.start as usize..token.end as usize];
            let name = match token.kind {
                TokenKind::Str => unquote(raw, mode),
                TokenKind::NationalStr => unquote(&raw[1..], mode),
                TokenKind::Int | TokenKind::Decimal | TokenKind::Float => raw.to_vec(),
                TokenKind::Word if raw.eq_ignore_ascii_case(b"NULL") => b"NULL".to_vec(),
                // An introducer, or the word of an ODBC escape.
                TokenKind::Word | TokenKind::Quoted => continue,
                TokenKind::Op(Op::LParen | Op::LBrace | Op::Plus) => continue,
                _ => break,
            };
            return String::from_utf8_lossy(&name).into_owned();
        }
        text.to_owned()
    }

    /// The result's columns. `keyed`: those of tables say what part they have in keys, as no column of a temporary table does.
    pub(super) fn output_columns(&self, items: &[Item], from: &From, keyed: bool) -> Vec<OutputColumn> {
        let results = self.state.results_collation();
        let is_nested = self.selects > 1;
        let column = |item: &Item| {
            let table = match item.expr.node {
                Node::Column(slot) => from.tables.iter().rev().find(|t| t.base <= slot),
                _ => None,
            };
            let mut origin = Origin::default();
            let mut meta = match (&item.expr.node, table) {
                (Node::Column(slot), Some(table)) if *slot < AGGREGATE => {
                    let mut meta = self.column_meta(table, slot - table.base, item, results);
                    if !matches!(table.input, FromInput::Derived { .. }) {
                        origin = Origin {
                            schema: meta.db.clone(),
                            table: meta.org_table.clone(),
                            column: meta.org_name.clone(),
                        };
                    }
                    if let Some(within) = &table.within {
                        // One that is materialized says which table its columns come from, as a derived table does.
                        let is_of_view =
                            !matches!(table.input, FromInput::Derived { .. }) || meta.org_table.is_empty();
                        let name = is_of_view.then(|| name_in(from, &within.alias, *slot));
                        within.named(&mut meta, name.flatten());
                    }
                    meta
                }
                _ => {
                    let mut meta = ColumnMeta::of_expression(&item.name, &item.expr.ty, results);
                    if item.expr.ty.kind == TypeKind::Json && keyed {
                        // One that is computed is a text; one that is kept is not, as in MySQL.
                        meta.charset = results.unwrap_or(Collation::UTF8MB4_BIN).id();
                    }
                    if let Some((view, column)) = computed_by_view(from, &item.expr) {
                        meta.table = view.to_owned();
                        meta.org_name = column.to_owned();
                    }
                    meta
                }
            };
            if !keyed {
                meta.flags &= !(flag::PRI_KEY | flag::UNIQUE_KEY | flag::MULTIPLE_KEY | flag::PART_KEY);
            }
            OutputColumn {
                name: meta.name.clone(),
                ty: item.expr.ty.clone(),
                meta,
                origin,
                default: match item.expr.node {
                    Node::Column(slot) if is_nested => default_in(from, slot),
                    _ => DefaultOf::Missing,
                },
            }
        };
        items.iter().map(column).collect()
    }

    fn column_meta(
        &self,
        table: &FromTable,
        column: usize,
        item: &Item,
        results: Option<Collation>,
    ) -> ColumnMeta {
        let def: &TableDef = match &table.input {
            FromInput::Stored { def, .. } | FromInput::Virtual(def) => def,
            FromInput::Derived { query, .. } => {
                let mut meta = ColumnMeta::of_expression(&item.name, &item.expr.ty, results);
                meta.table = table.alias.clone();
                if let Some(within) = self
                    .queries
                    .get(*query)
                    .and_then(|query| query.columns.get(column))
                {
                    // It tells which table it comes from, under the name that it has in the derived one.
                    meta.db = within.meta.db.clone();
                    meta.org_table = within.meta.org_table.clone();
                    meta.org_name = within.name.clone();
                }
                return meta;
            }
            FromInput::Json(plan) => {
                let names = (item.name.as_str(), plan.columns[column].name.as_str());
                return ColumnMeta::of_column("", (&table.alias, ORG_TABLE), names, &item.expr.ty, results);
            }
        };
        let column_def = &def.columns[column];
        let shown = match &table.input {
            // What is a view in MySQL shows its own names, however the query writes them.
            FromInput::Virtual(def) if !item.alias && shows_own_names(def) => &column_def.name,
            _ => &item.name,
        };
        let names = (shown.as_str(), column_def.name.as_str());
        let ty = &item.expr.ty;
        let mut meta = ColumnMeta::of_column(&def.schema, (&table.alias, &def.name), names, ty, results);
        meta.flags |= key_flags(def, column);
        meta
    }
}

/// A name without spaces in front.
fn without_spaces(name: &str) -> &str {
    name.trim_start_matches(|c: char| c == ' ' || c.is_ascii_control())
}

/// An expression behind its signs.
fn without_plus(e: &ast::Expr) -> &ast::Expr {
    match e {
        ast::Expr::Unary {
            op: ast::UnaryOp::Plus,
            expr,
        } => without_plus(expr),
        _ => e,
    }
}

/// The name that the column in a slot has in the view that the statement calls `alias`.
fn name_in<'f>(from: &'f From, alias: &str, slot: usize) -> Option<&'f str> {
    let views = from.scope.tables.iter().filter(|table| table.alias == alias);
    let mut columns = views.flat_map(|table| &table.columns);
    let found = columns.find(|column| column.value.is_none() && column.slot == slot);
    found.map(|column| column.name.as_str())
}

/// What the statement calls the view of which an expression is a computed column, and the column's name there.
fn computed_by_view<'f>(from: &'f From, expr: &Expr) -> Option<(&'f str, &'f str)> {
    let name = expr.name.as_deref()?;
    let tables = from.scope.tables.iter();
    let mut found = tables.flat_map(|table| {
        let computed = table
            .columns
            .iter()
            .filter(|column| column.value.is_some() && column.name == name);
        computed.map(|column| (table.alias.as_str(), column.name.as_str()))
    });
    // Of several views with such a column none is named.
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The default of the column in a slot.
fn default_in(from: &From, slot: usize) -> DefaultOf {
    let mut columns = from.scope.tables.iter().flat_map(|table| &table.columns);
    let found = columns.find(|column| column.value.is_none() && column.slot == slot);
    found.map_or(DefaultOf::Missing, |column| column.default.clone())
}

impl Item {
    /// The expression, as what refers to it by name reads it: like a column, whatever it is computed by.
    pub fn named(&self) -> Expr {
        let mut expr = self.expr.clone();
        if self.alias && slot_of(&expr).is_none() {
            expr.name.get_or_insert_with(|| self.name.as_str().into());
        }
        expr
    }
}

/// The item of this name; of several the last before a computed one, or that. Error 1052 for columns of which it cannot say which.
pub(super) fn find_item<'i>(
    items: &'i [Item],
    name: &ast::ColumnName,
    clause: &str,
) -> Result<Option<&'i Item>> {
    let mut found: Option<&Item> = None;
    for item in items.iter().filter(|item| names_equal(&item.name, &name.column)) {
        let is_column = slot_of(&item.expr).is_some_and(|slot| slot < AGGREGATE) || item.expr.name.is_some();
        match found {
            _ if !is_column => return Ok(Some(item)),
            None => found = Some(item),
            Some(first) if first.expr.same_as(&item.expr) => {}
            Some(_) => return Err(SqlError::ambiguous_column(&name.column, clause)),
        }
    }
    Ok(found)
}

/// The item that an ORDER BY or GROUP BY names by its number.
pub(super) fn item_at<'i>(items: &'i [Item], n: u64, clause: &str) -> Result<&'i Item> {
    let at = n.checked_sub(1).and_then(|at| items.get(at as usize));
    at.ok_or_else(|| SqlError::unknown_column(&n.to_string(), clause))
}

/// True of a table of information_schema that MySQL makes of its dictionary's tables; the others it makes by code, and their
/// columns are called as the query says.
fn shows_own_names(def: &TableDef) -> bool {
    let by_code = [
        "ENGINES",
        "COLLATIONS",
        "PROCESSLIST",
        "INNODB_TRX",
        "INNODB_METRICS",
        "PLUGINS",
        "USER_PRIVILEGES",
        "SCHEMA_PRIVILEGES",
        "TABLE_PRIVILEGES",
        "COLUMN_PRIVILEGES",
        "APPLICABLE_ROLES",
        "ENABLED_ROLES",
        "ROLE_TABLE_GRANTS",
        "ROLE_COLUMN_GRANTS",
    ];
    def.schema == "information_schema" && !by_code.contains(&&*def.name)
}

/// The flags that say what part a column has in its table's keys.
fn key_flags(def: &TableDef, column: usize) -> u16 {
    let mut flags = 0;
    let primary = def.shown_as_primary().map(|index| index.number);
    for index in &def.indexes {
        let Some(place) = index.parts.iter().position(|part| part.column == column) else {
            continue;
        };
        flags |= flag::PART_KEY;
        flags |= match (index.unique, index.parts.len()) {
            _ if Some(index.number) == primary => flag::PRI_KEY,
            _ if place > 0 => 0,
            (true, 1) => flag::UNIQUE_KEY,
            _ => flag::MULTIPLE_KEY,
        };
    }
    let column = &def.columns[column];
    if column.auto_increment {
        flags |= flag::AUTO_INCREMENT;
    }
    let is_computed = column.generated.is_some() && column.ty.nullable;
    if column.default.is_none() && !column.auto_increment && !is_computed {
        flags |= flag::NO_DEFAULT_VALUE;
    }
    if column.ty.kind == TypeKind::Timestamp {
        if column.on_update_now {
            flags |= flag::ON_UPDATE_NOW;
        }
        if column.on_update_now || matches!(column.default, Some(ColumnDefault::CurrentTimestamp)) {
            flags |= flag::TIMESTAMP;
        }
    }
    flags
}
