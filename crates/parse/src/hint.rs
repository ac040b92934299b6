//! Optimizer hints: the comment `/*+ … */` right behind SELECT, INSERT, REPLACE, UPDATE or DELETE.
//!
//! A hint concerns the statement (MAX_EXECUTION_TIME, SET_VAR: [`StatementHints`]) or the query block whose keyword it follows
//! ([`BlockHints`]). Those that name indexes become index hints of the block's tables, and so need nothing more of the planner
//! than USE INDEX does; JOIN_FIXED_ORDER is STRAIGHT_JOIN. Those that order some of the tables, and those that forbid what the planner does by
//! itself, go to it as [`BlockAdvice`]. The others ask for what it does anyway where it is cheaper, or choose among algorithms that are
//! not here: they are read, and change nothing.
//!
//! A hint is advice. What is wrong with it is a warning, never an error, and a comment that cannot be read is ignored as a whole.
//! Names, texts and numbers of the warnings are MySQL's.

use super::ast::*;
use super::lexer::{Lexer, Op, Token, TokenKind, unquote};
use super::parser::Parser;
use std::sync::Arc;
use tidemark_types::error::{SqlError, er};

/// The longest MAX_EXECUTION_TIME, in milliseconds.
const TIME_MAX_MS: u64 = u32::MAX as u64;

/// Hints of one comment, and variables of one statement: more than anybody writes, since each is compared with the others.
const HINTS_MAX: usize = 500;

/// Hints about indexes, and whether they name those to use (or else those not to).
const INDEX_HINTS: &[(&str, bool)] = &[
    ("INDEX", true),
    ("JOIN_INDEX", true),
    ("NO_INDEX", false),
    ("NO_JOIN_INDEX", false),
];

/// Hints that choose among algorithms, with arguments in parentheses.
const WITHOUT_EFFECT: &[&str] = &[
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "GROUP_INDEX",
    "HASH_JOIN",
    "INDEX_MERGE",
    "MERGE",
    "MRR",
    "NO_BKA",
    "NO_BNL",
    "NO_GROUP_INDEX",
    "NO_HASH_JOIN",
    "NO_ICP",
    "NO_MRR",
    "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION",
    "ORDER_INDEX",
    "SEMIJOIN",
    "SKIP_SCAN",
    "SUBQUERY",
];

/// Hints that order tables.
const ORDER_HINTS: &[(&str, JoinPlace)] = &[
    ("JOIN_PREFIX", JoinPlace::First),
    ("JOIN_ORDER", JoinPlace::Anywhere),
    ("JOIN_SUFFIX", JoinPlace::Last),
];

/// Hints that forbid something.
const DENYING_HINTS: &[(&str, Denied)] = &[
    ("NO_SEMIJOIN", Denied::Semijoin),
    ("NO_MERGE", Denied::Merge),
    ("NO_DERIVED_CONDITION_PUSHDOWN", Denied::ConditionPushdown),
    ("NO_INDEX_MERGE", Denied::IndexMerge),
    ("NO_SKIP_SCAN", Denied::SkipScan),
];

/// What the hints of a query block ask for.
#[derive(Default)]
pub(super) struct BlockHints {
    /// QB_NAME
    name: Option<String>,
    /// MAX_EXECUTION_TIME, which holds if the block is the statement.
    pub max_execution_time_ms: Option<u64>,
    /// JOIN_FIXED_ORDER
    pub fixed_order: bool,
    indexes: Vec<IndexesOfTable>,
    tables: Vec<TablesOfHint>,
}

/// What a hint asks of some tables.
#[derive(Clone, Copy)]
enum Asked {
    Order(JoinPlace),
    Not(Denied),
}

/// JOIN_ORDER, NO_MERGE and their kin.
struct TablesOfHint {
    hint: &'static str,
    asked: Asked,
    /// The tables, each with the query block that it names; `None`: the hint's own.
    tables: Vec<(String, Option<String>)>,
    /// Others than its own block are named for the whole hint.
    block: Option<String>,
    /// Only some indexes of the tables are meant.
    of_indexes: bool,
}

/// INDEX and its kin.
struct IndexesOfTable {
    hint: &'static str,
    used: bool,
    table: String,
    /// The query block it names; `None`: its own.
    block: Option<String>,
    indexes: Vec<String>,
}

impl IndexesOfTable {
    /// As the warning about an equal one prints it.
    fn printed(&self) -> String {
        let indexes: Vec<String> = self.indexes.iter().map(|index| format!(" `{index}`")).collect();
        format!("{}(`{}` {})", self.hint, self.table, indexes.join(","))
    }
}

impl BlockHints {
    /// Gives the tables of FROM the index hints that name them; returns what is left for the block. `number` is its own, counted from 1.
    pub fn apply(
        self,
        number: usize,
        tables: &mut [TableRef],
        warnings: &mut Vec<SqlError>,
    ) -> Option<Arc<BlockAdvice>> {
        let own = format!("select#{number}");
        let is_own =
            |block: &Option<String>| block.is_none() || *block == self.name || block.as_deref() == Some(&own);
        let advice = advice_of(&self.tables, is_own, (&own, tables), warnings);
        for hint in self.indexes {
            let is_here = is_own(&hint.block);
            let path = format!("`{}`@`{}`", hint.table, hint.block.as_deref().unwrap_or(&own));
            let table = is_here.then(|| find_table(tables, &hint.table)).flatten();
            let Some(table) = table else {
                warnings.push(unresolved(&path, hint.hint));
                let indexes = hint.indexes.iter().map(|index| format!("{path} `{index}`"));
                warnings.extend(indexes.map(|index| unresolved(&index, hint.hint)));
                continue;
            };
            table.hints.push(IndexHint {
                kind: match hint.used {
                    true => IndexHintKind::Force,
                    false => IndexHintKind::Ignore,
                },
                indexes: hint.indexes,
                advice: Some(IndexAdvice {
                    hint: hint.hint,
                    path,
                }),
            });
        }
        advice
    }
}

/// What the hints about tables ask of their block, `own`. Those for other blocks, and for some indexes of a table alone, ask for nothing.
fn advice_of(
    hints: &[TablesOfHint],
    is_own: impl Fn(&Option<String>) -> bool,
    (own, tables): (&str, &mut [TableRef]),
    warnings: &mut Vec<SqlError>,
) -> Option<Arc<BlockAdvice>> {
    let mut advice = BlockAdvice::default();
    for hint in hints
        .iter()
        .filter(|hint| is_own(&hint.block) && !hint.of_indexes)
    {
        let mut names = Vec::new();
        for (name, block) in &hint.tables {
            let path = match hint.asked {
                Asked::Order(_) => format!("`{name}`"),
                Asked::Not(_) => format!("`{name}`@`{}`", block.as_deref().unwrap_or(own)),
            };
            match is_own(block) && find_named(tables, name) {
                true => names.push(name.clone()),
                // What is named of another block may be there.
                false if matches!(hint.asked, Asked::Order(_)) && !is_own(block) => {}
                false => warnings.push(unresolved(&path, hint.hint)),
            }
        }
        let is_meant = !names.is_empty() || hint.tables.is_empty();
        match hint.asked {
            Asked::Order(place) => advice.orders.push((place, names)),
            Asked::Not(denied) if is_meant => advice.denied.push((denied, names)),
            Asked::Not(_) => {}
        }
    }
    (advice != BlockAdvice::default()).then(|| Arc::new(advice))
}

/// Whether there is a table, of whatever kind, that is known by a name.
fn find_named(tables: &mut [TableRef], name: &str) -> bool {
    tables.iter_mut().any(|table| match table {
        TableRef::Derived { alias, .. } => alias == name,
        TableRef::JsonTable(table) => table.alias == name,
        TableRef::Join(join) => {
            let Join { left, right, .. } = &mut **join;
            find_named(std::slice::from_mut(left), name) || find_named(std::slice::from_mut(right), name)
        }
        TableRef::Nested(nested) => find_named(nested, name),
        TableRef::Table(_) => find_table(std::slice::from_mut(table), name).is_some(),
    })
}

/// Warning 3128.
fn unresolved(path: &str, hint: &str) -> SqlError {
    SqlError::new(
        er::WARN_UNKNOWN_HINT_NAME,
        format!("Unresolved name {path} for {hint} hint"),
    )
}

fn find_table<'t>(tables: &'t mut [TableRef], name: &str) -> Option<&'t mut TableName> {
    tables.iter_mut().find_map(|table| match table {
        TableRef::Table(named) => {
            let known_by = named.alias.as_ref().unwrap_or(&named.name.name);
            (known_by == name).then_some(named)
        }
        TableRef::Join(join) => {
            let Join { left, right, .. } = &mut **join;
            match find_table(std::slice::from_mut(left), name) {
                None => find_table(std::slice::from_mut(right), name),
                found => found,
            }
        }
        TableRef::Nested(nested) => find_table(nested, name),
        TableRef::Derived { .. } | TableRef::JsonTable(_) => None,
    })
}

/// A cursor over the tokens of one comment.
struct HintReader<'a> {
    sql: &'a [u8],
    lexer: Lexer<'a>,
    token: Token,
    block: BlockHints,
    statement: StatementHints,
}

/// Reading a comment ends at the first thing that is wrong: the warning that says so.
type Read<T> = std::result::Result<T, SqlError>;

impl Parser<'_> {
    /// The hints behind the keyword that was read last.
    pub(super) fn hints(&mut self) -> BlockHints {
        let Some((start, end)) = self.hint_comment() else {
            return BlockHints::default();
        };
        let sql = self.sql;
        let mut reader = HintReader {
            sql,
            lexer: Lexer::new(&sql[..end], start, self.mode),
            token: Token {
                kind: TokenKind::End,
                start: end as u32,
                end: end as u32,
            },
            block: BlockHints::default(),
            statement: StatementHints::default(),
        };
        let read = reader.read_all();
        let HintReader { block, statement, .. } = reader;
        // A rule that goes back and reads its block again must not give the statement its hints twice.
        let is_new = start > self.hints_read;
        self.hints_read = self.hints_read.max(start);
        let of_statement = self.statement_hints.get_or_insert_default();
        match read {
            Err(warning) => {
                if is_new {
                    of_statement.warnings.push(warning);
                }
                BlockHints::default()
            }
            Ok(()) => {
                if is_new {
                    of_statement.take(statement);
                }
                block
            }
        }
    }

    /// Gives the tables their hints.
    pub(super) fn apply_hints(
        &mut self,
        hints: BlockHints,
        number: usize,
        tables: &mut [TableRef],
    ) -> Option<Arc<BlockAdvice>> {
        if hints.indexes.is_empty() && hints.tables.is_empty() {
            return None;
        }
        let of_statement = self.statement_hints.get_or_insert_default();
        hints.apply(number, tables, &mut of_statement.warnings)
    }

    /// The hints of the whole statement. MAX_EXECUTION_TIME holds for a query, in its first SELECT.
    pub(super) fn take_statement_hints(&mut self, statement: &Statement) -> Option<Box<StatementHints>> {
        let mut hints = self.statement_hints.take()?;
        if let Statement::Query(query) = statement
            && let Some(select) = first_select(&query.body)
            && select.max_execution_time_ms.is_some()
        {
            hints.max_execution_time_ms = select.max_execution_time_ms;
            hints.time_limits -= 1;
        }
        for _ in 0..hints.time_limits {
            hints.warnings.push(SqlError::new(
                er::WARN_UNSUPPORTED_MAX_EXECUTION_TIME,
                "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only",
            ));
        }
        Some(hints)
    }
}

/// The SELECT that a query begins with.
fn first_select(body: &QueryBody) -> Option<&Select> {
    let mut body = body;
    loop {
        body = match body {
            QueryBody::Select(select) => return Some(select),
            QueryBody::SetOperation { first, .. } => first,
            QueryBody::Query(query) => &query.body,
            QueryBody::Values(_) => return None,
        }
    }
}

impl StatementHints {
    fn take(&mut self, of_block: StatementHints) {
        self.time_limits += of_block.time_limits;
        self.warnings.extend(of_block.warnings);
        for variable in of_block.variables {
            let is_given = |other: &VariableHint| other.name == variable.name;
            match self.variables.len() == HINTS_MAX || self.variables.iter().any(is_given) {
                true => self.warnings.push(duplicate(&format!("{} ", variable.text))),
                false => self.variables.push(variable),
            }
        }
    }
}

/// Warning 3126.
fn duplicate(hint: &str) -> SqlError {
    SqlError::new(
        er::WARN_CONFLICTING_HINT,
        format!("Hint {hint} is ignored as conflicting/duplicated"),
    )
}

impl HintReader<'_> {
    fn read_all(&mut self) -> Read<()> {
        self.advance()?;
        if self.token.kind == TokenKind::End {
            return self.wrong();
        }
        for _ in 0..HINTS_MAX {
            if self.token.kind == TokenKind::End {
                return Ok(());
            }
            self.hint()?;
        }
        self.wrong()
    }

    fn hint(&mut self) -> Read<()> {
        if self.token.kind != TokenKind::Word {
            return self.wrong();
        }
        let word = self.text().to_ascii_uppercase();
        let index_hint = INDEX_HINTS.iter().find(|(name, _)| *name == word);
        match word.as_str() {
            "MAX_EXECUTION_TIME" => self.max_execution_time(),
            "SET_VAR" => self.set_var(),
            "QB_NAME" => self.block_name(),
            "JOIN_FIXED_ORDER" => {
                self.arguments()?;
                self.block.fixed_order = true;
                Ok(())
            }
            _ if let Some((hint, used)) = index_hint => self.indexes(hint, *used),
            _ if let Some((hint, place)) = ORDER_HINTS.iter().find(|(name, _)| *name == word) => {
                self.tables(hint, Asked::Order(*place))
            }
            _ if let Some((hint, denied)) = DENYING_HINTS.iter().find(|(name, _)| *name == word) => {
                self.tables(hint, Asked::Not(*denied))
            }
            name if WITHOUT_EFFECT.contains(&name) => self.arguments(),
            _ => self.wrong(),
        }
    }

    fn max_execution_time(&mut self) -> Read<()> {
        self.open()?;
        let digits = self.text();
        if self.token.kind != TokenKind::Int {
            return self.wrong();
        }
        self.advance()?;
        let Some(ms) = digits.parse().ok().filter(|ms| *ms <= TIME_MAX_MS) else {
            return Err(self.said("Unsupported MAX_EXECUTION_TIME"));
        };
        self.close()?;
        if self.block.max_execution_time_ms.is_some() {
            self.statement
                .warnings
                .push(duplicate(&format!("MAX_EXECUTION_TIME({ms})")));
        } else {
            self.block.max_execution_time_ms = Some(ms);
            self.statement.time_limits += 1;
        }
        Ok(())
    }

    fn set_var(&mut self) -> Read<()> {
        self.open()?;
        let name = self.name()?;
        if self.token.kind != TokenKind::Op(Op::Eq) {
            return self.wrong();
        }
        self.advance()?;
        let text = self.text();
        let raw = self.raw();
        let value = match self.token.kind {
            TokenKind::Str => Literal::Str {
                bytes: unquote(raw, self.lexer.mode()),
                charset: None,
            },
            TokenKind::Word => match with_suffix(&text) {
                Some(value) => Literal::Int(value),
                None => Literal::Str {
                    bytes: raw.to_vec(),
                    charset: None,
                },
            },
            TokenKind::Int => match text.parse() {
                Ok(value) => Literal::Int(value),
                Err(_) => Literal::Decimal(text.clone()),
            },
            TokenKind::Decimal => Literal::Decimal(text.clone()),
            _ => return self.wrong(),
        };
        self.advance()?;
        self.close()?;
        let text = format!("SET_VAR({name}={text})");
        self.statement.variables.push(VariableHint { name, value, text });
        Ok(())
    }

    fn block_name(&mut self) -> Read<()> {
        self.open()?;
        let name = self.name()?;
        self.close()?;
        match self.block.name {
            Some(_) => {
                let printed = format!("QB_NAME(`{name}`)");
                self.statement.warnings.push(duplicate(&printed));
            }
            None => self.block.name = Some(name),
        }
        Ok(())
    }

    /// `([@block] table[@block] [index [, index] …])`
    fn indexes(&mut self, hint: &'static str, used: bool) -> Read<()> {
        self.open()?;
        let of_all = self.block_reference()?;
        let table = self.name()?;
        let block = match self.block_reference()? {
            Some(block) => Some(block),
            None => of_all,
        };
        let mut indexes = Vec::new();
        while self.token.kind != TokenKind::Op(Op::RParen) {
            if !indexes.is_empty() {
                if self.token.kind != TokenKind::Op(Op::Comma) {
                    return self.wrong();
                }
                self.advance()?;
            }
            indexes.push(self.name()?);
        }
        self.close()?;
        let given = IndexesOfTable {
            hint,
            used,
            table,
            block,
            indexes,
        };
        let is_equal = |other: &IndexesOfTable| {
            let is_kin = other.hint.trim_start_matches("NO_") == hint.trim_start_matches("NO_");
            is_kin && other.table == given.table && other.block == given.block
        };
        match self.block.indexes.iter().any(is_equal) {
            true => self.statement.warnings.push(duplicate(&given.printed())),
            false => self.block.indexes.push(given),
        }
        Ok(())
    }

    /// `([@block] [table[@block] [index …] [, …]])`; of NO_SEMIJOIN strategies, of which this planner has the one that materializes.
    fn tables(&mut self, hint: &'static str, asked: Asked) -> Read<()> {
        self.open()?;
        let mut given = TablesOfHint {
            hint,
            asked,
            tables: Vec::new(),
            block: self.block_reference()?,
            of_indexes: false,
        };
        let takes_indexes = matches!(asked, Asked::Not(Denied::IndexMerge | Denied::SkipScan));
        let mut is_behind_table = false;
        while self.token.kind != TokenKind::Op(Op::RParen) {
            if self.token.kind == TokenKind::Op(Op::Comma) {
                self.advance()?;
                is_behind_table = false;
                continue;
            }
            if is_behind_table {
                return self.wrong();
            }
            let name = self.name()?;
            let block = self.block_reference()?;
            match takes_indexes && !given.tables.is_empty() {
                true => given.of_indexes = true,
                false => given.tables.push((name, block)),
            }
            is_behind_table = !takes_indexes;
        }
        self.close()?;
        if matches!(asked, Asked::Not(Denied::Semijoin)) {
            let is_meant = |(name, _): &(String, _)| name.eq_ignore_ascii_case("MATERIALIZATION");
            given.of_indexes |= !given.tables.is_empty() && !given.tables.iter().any(is_meant);
            given.tables.clear();
        }
        self.block.tables.push(given);
        Ok(())
    }

    /// `@name`
    fn block_reference(&mut self) -> Read<Option<String>> {
        if self.token.kind != TokenKind::At {
            return Ok(None);
        }
        let name = self.text()[1..].trim_matches('`').to_owned();
        self.advance()?;
        Ok(Some(name))
    }

    /// Arguments that make no difference: names, separated.
    fn arguments(&mut self) -> Read<()> {
        self.open()?;
        while self.token.kind != TokenKind::Op(Op::RParen) {
            match self.token.kind {
                TokenKind::Word | TokenKind::Quoted | TokenKind::At | TokenKind::Op(Op::Comma) => {
                    self.advance()?
                }
                _ => return self.wrong(),
            }
        }
        self.close()
    }

    fn open(&mut self) -> Read<()> {
        self.advance()?;
        match self.token.kind {
            TokenKind::Op(Op::LParen) => self.advance(),
            _ => self.wrong(),
        }
    }

    fn close(&mut self) -> Read<()> {
        match self.token.kind {
            TokenKind::Op(Op::RParen) => self.advance(),
            _ => self.wrong(),
        }
    }

    fn name(&mut self) -> Read<String> {
        let name = match self.token.kind {
            TokenKind::Word => self.text(),
            TokenKind::Quoted => {
                String::from_utf8_lossy(&unquote(self.raw(), self.lexer.mode())).into_owned()
            }
            _ => return self.wrong(),
        };
        self.advance()?;
        Ok(name)
    }

    fn raw(&self) -> &[u8] {
        &self.sql[self.token.start as usize..self.token.end as usize]
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.raw()).into_owned()
    }

    fn advance(&mut self) -> Read<()> {
        let behind = self.token.end;
        match self.lexer.token() {
            Ok(token) => self.token = token,
            Err(_) => {
                self.token = Token {
                    kind: TokenKind::Param,
                    start: behind,
                    end: behind,
                };
                return self.wrong();
            }
        }
        Ok(())
    }

    /// What stands at the cursor does not belong there.
    fn wrong<T>(&self) -> Read<T> {
        Err(self.said("Optimizer hint syntax error"))
    }

    fn said(&self, what: &str) -> SqlError {
        let at = self.token.start as usize;
        let near = match self.token.kind {
            TokenKind::End => "*/".to_owned(),
            _ => String::from_utf8_lossy(&self.sql[at..])
                .chars()
                .take(80)
                .collect(),
        };
        let line = 1 + self.sql[..at].iter().filter(|b| **b == b'\n').count();
        SqlError::new(er::PARSE_ERROR, format!("{what} near '{near}' at line {line}"))
    }
}

/// `2M`: a number of kibi-, mebi- or gibibytes.
fn with_suffix(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => return None,
    };
    let digits: u64 = text[..text.len() - 1].parse().ok()?;
    digits.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parsed, parse};
    use tidemark_types::SqlMode;

    fn parsed(sql: &str) -> Parsed {
        parse(sql.as_bytes(), 0, SqlMode::DEFAULT).unwrap()
    }

    fn warnings(sql: &str) -> Vec<String> {
        let hints = parsed(sql).hints.unwrap_or_default();
        hints
            .warnings
            .into_iter()
            .map(|warning| warning.message)
            .collect()
    }

    #[test]
    fn comments_elsewhere_are_comments() {
        for sql in [
            "SELECT 1 /*+ NOSUCH() */",
            "SELECT DISTINCT /*+ NOSUCH() */ 1",
            "/*+ NOSUCH() */ SELECT 1",
            "SELECT /* + NOSUCH() */ 1",
            "SELECT /**/ 1",
        ] {
            assert_eq!(parsed(sql).hints, None, "{sql}");
        }
    }

    #[test]
    fn hints_are_read_once_where_a_rule_goes_back() {
        let hints = parsed("SELECT ((SELECT /*+ SET_VAR(sort_buffer_size=1M) */ 1))")
            .hints
            .unwrap();
        assert_eq!((hints.variables.len(), hints.warnings.len()), (1, 0));
        assert_eq!(hints.variables[0].value, Literal::Int(1 << 20));
    }

    #[test]
    fn a_comment_that_cannot_be_read_is_ignored_as_a_whole() {
        let parsed = parsed("SELECT /*+ MAX_EXECUTION_TIME(5) SET_VAR(a=1) NOSUCH() */ 1\n");
        let hints = parsed.hints.unwrap();
        assert_eq!((hints.max_execution_time_ms, hints.variables.len()), (None, 0));
        assert_eq!(hints.warnings.len(), 1);
    }

    #[test]
    fn nothing_that_stands_in_a_comment_is_an_error() {
        for inside in [
            "'",
            "`",
            "\"",
            "(",
            ")",
            "INDEX(",
            "INDEX(t",
            "INDEX(@",
            "SET_VAR(a=",
            "SET_VAR(a=0x",
            "\u{e9}",
            "1e",
            "?",
            ";",
            "@@",
        ] {
            assert_eq!(
                warnings(&format!("SELECT /*+ {inside} */ 1")).len(),
                1,
                "{inside}"
            );
        }
        let many = "BKA(t) ".repeat(HINTS_MAX + 1);
        assert_eq!(warnings(&format!("SELECT /*+ {many}*/ 1")).len(), 1);
    }
}
