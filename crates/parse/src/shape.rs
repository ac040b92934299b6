//! The shape of a statement: its text with the literals taken out.
//!
//! Applications send the same few statements over and over with other constants. Parsing one costs several
//! microseconds, so a text is first read by this scanner, which knows just enough of the language to find literals:
//! it writes a *key*, in which each literal is a marker of its kind, and a list of where the literals are. Equal keys
//! have equal syntax trees up to the literals, so a plan made for one serves all, with the literals as parameters.
//!
//! What must stay in the key: literals of a select list (they name result columns), ordinals of ORDER BY and GROUP BY.
//! Where the grammar wants a literal as such (`CHAR(10)`, `NOW(6)`), the parser notices that it was taken out and
//! says so; such shapes are not shared. Statements with comments, and very long ones, have no shape.

use super::lexer::{is_word_byte, unquote};
use tidemark_types::{Decimal, SqlMode, Value};

/// Longer statements are parsed each time: they are mostly bulk inserts, each of its own shape.
const LENGTH_MAX: usize = 4096;
const LITERALS_MAX: usize = 200;
const NESTING_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiteralKind {
    Int,
    Decimal { precision: u8, scale: u8 },
    Double,
    Str,
}

#[derive(Clone, Copy, Debug)]
struct Literal {
    start: u32,
    end: u32,
    kind: LiteralKind,
}

/// A scanner with its buffers, kept by a session and used again for each statement.
#[derive(Default, Debug)]
pub struct Shape {
    key: Vec<u8>,
    literals: Vec<Literal>,
    offsets: Vec<u32>,
    next: usize,
}

/// At one level of parentheses: whether literals stay, and whether this level's own SELECT list is the reason.
#[derive(Clone, Copy, Default)]
struct Level {
    keep: bool,
    select_list: bool,
}

impl Shape {
    /// Reads the statement that begins at `start`. False: it has no shape and must be parsed.
    pub fn scan(&mut self, sql: &[u8], start: usize, mode: SqlMode) -> bool {
        self.key.clear();
        self.literals.clear();
        self.offsets.clear();
        let blank = sql[start..]
            .iter()
            .take_while(|b| b.is_ascii_whitespace())
            .count();
        let start = start + blank;
        let end = sql.len().min(start + LENGTH_MAX + 1);
        let first = sql[start..end]
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
        let word = &sql[start..start + first];
        let known: [&[u8]; 5] = [b"SELECT", b"INSERT", b"UPDATE", b"DELETE", b"REPLACE"];
        known.iter().any(|k| word.eq_ignore_ascii_case(k)) && self.scan_body(sql, start, mode)
    }

    fn scan_body(&mut self, sql: &[u8], start: usize, mode: SqlMode) -> bool {
        let mut levels = [Level::default(); NESTING_MAX];
        let mut depth = 0;
        let mut copied = start;
        let mut i = start;
        while i < sql.len() {
            if i - start > LENGTH_MAX || self.literals.len() > LITERALS_MAX {
                return false;
            }
            let b = sql[i];
            match b {
                b'\'' | b'"' => {
                    let Some(close) = string_end(sql, i, mode) else {
                        return false;
                    };
                    let identifier = b == b'"' && mode.has(SqlMode::ANSI_QUOTES);
                    let prefixed = i > start && is_word_byte(sql[i - 1]);
                    if !identifier && !prefixed && !levels[depth].keep {
                        self.take(sql, &mut copied, i, close, LiteralKind::Str);
                    }
                    i = close;
                }
                b'`' => match sql[i + 1..].iter().position(|b| *b == b'`') {
                    Some(n) => i += n + 2,
                    None => return false,
                },
                b'0'..=b'9' => {
                    let (close, kind) = number_end(sql, i);
                    if let Some(kind) = kind
                        && !levels[depth].keep
                    {
                        self.take(sql, &mut copied, i, close, kind);
                    }
                    i = close;
                }
                b'.' if sql.get(i + 1).is_some_and(u8::is_ascii_digit) => {
                    if i > start && (is_word_byte(sql[i - 1]) || sql[i - 1] == b'`') {
                        i = word_end(sql, i + 1);
                    } else {
                        let (close, kind) = number_end(sql, i);
                        if let Some(kind) = kind
                            && !levels[depth].keep
                        {
                            self.take(sql, &mut copied, i, close, kind);
                        }
                        i = close;
                    }
                }
                b'(' => {
                    if depth + 1 == NESTING_MAX {
                        return false;
                    }
                    levels[depth + 1] = Level {
                        keep: levels[depth].keep,
                        select_list: false,
                    };
                    depth += 1;
                    i += 1;
                }
                b')' => {
                    depth = depth.saturating_sub(1);
                    i += 1;
                }
                b'#' | 0 => return false,
                b'-' if sql.get(i + 1) == Some(&b'-') => return false,
                b'/' if sql.get(i + 1) == Some(&b'*') => return false,
                b'?' => return false,
                b';' => break,
                b'@' => {
                    i += 1;
                    while i < sql.len() && (is_word_byte(sql[i]) || sql[i] == b'.' || sql[i] == b'@') {
                        i += 1;
                    }
                }
                _ if is_word_byte(b) => {
                    let close = word_end(sql, i);
                    let dotted = i > start && sql[i - 1] == b'.';
                    if !dotted {
                        heed(&sql[i..close], &mut levels[depth]);
                    }
                    i = close;
                }
                _ => i += 1,
            }
        }
        self.key.extend_from_slice(sql[copied..i].trim_ascii_end());
        self.next = (i + 1).min(sql.len());
        self.offsets.extend(self.literals.iter().map(|l| l.start));
        true
    }

    fn take(&mut self, sql: &[u8], copied: &mut usize, start: usize, end: usize, kind: LiteralKind) {
        self.key.extend_from_slice(&sql[*copied..start]);
        *copied = end;
        match kind {
            LiteralKind::Int => self.key.push(1),
            LiteralKind::Double => self.key.push(2),
            LiteralKind::Str => self.key.push(3),
            LiteralKind::Decimal { precision, scale } => self.key.extend([4, precision, scale]),
        }
        self.literals.push(Literal {
            start: start as u32,
            end: end as u32,
            kind,
        });
    }

    /// The shape: the text without literals, comments and superfluous space.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Where the literals are, for [`super::parse_shape`].
    #[inline]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Where the next statement of the text begins.
    #[inline]
    pub fn next(&self) -> usize {
        self.next
    }

    /// How many literals it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.literals.len()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// The literals as values.
    pub fn values(&self, sql: &[u8], mode: SqlMode, out: &mut Vec<Value>) {
        out.clear();
        out.extend(self.literals.iter().map(|literal| {
            let raw = &sql[literal.start as usize..literal.end as usize];
            match literal.kind {
                LiteralKind::Int => Value::Int(raw.iter().fold(0, |n, d| n * 10 + (d - b'0') as i64)),
                LiteralKind::Str => Value::string(unquote(raw, mode)),
                LiteralKind::Double => {
                    let text = String::from_utf8_lossy(raw);
                    Value::Double(text.parse().unwrap_or(f64::INFINITY))
                }
                LiteralKind::Decimal { .. } => {
                    let text = String::from_utf8_lossy(raw);
                    Decimal::parse(&text).map_or(Value::Null, Value::Decimal)
                }
            }
        }));
    }
}

/// Words that change what becomes of the literals after them.
fn heed(word: &[u8], level: &mut Level) {
    let is = |w: &str| word.eq_ignore_ascii_case(w.as_bytes());
    match word.len() {
        2 if is("BY") => {
            *level = Level {
                keep: true,
                select_list: false,
            }
        }
        3 if is("FOR") => *level = Level::default(),
        4 if is("FROM") && level.select_list => *level = Level::default(),
        4 if is("INTO") && level.select_list => *level = Level::default(),
        5 if is("WHERE") || is("LIMIT") => *level = Level::default(),
        6 if is("SELECT") => {
            *level = Level {
                keep: true,
                select_list: true,
            }
        }
        6 if is("HAVING") => *level = Level::default(),
        _ => {}
    }
}

fn word_end(sql: &[u8], mut i: usize) -> usize {
    while i < sql.len() && is_word_byte(sql[i]) {
        i += 1;
    }
    i
}

fn string_end(sql: &[u8], start: usize, mode: SqlMode) -> Option<usize> {
    let quote = sql[start];
    let backslash = !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let mut i = start + 1;
    while i < sql.len() {
        let b = sql[i];
        if b == quote {
            if sql.get(i + 1) != Some(&quote) {
                return Some(i + 1);
            }
            i += 2;
        } else if b == b'\\' && backslash {
            i += 2;
        } else {
            i += 1;
        }
    }
    None
}

/// The end of what begins with a digit (or a point before one), and its kind if it is a literal to take out.
fn number_end(sql: &[u8], start: usize) -> (usize, Option<LiteralKind>) {
    let digits_from = |mut i: usize| {
        while i < sql.len() && sql[i].is_ascii_digit() {
            i += 1;
        }
        i
    };
    let whole = digits_from(start);
    let mut end = whole;
    let mut scale = None;
    if sql.get(end) == Some(&b'.') {
        end = digits_from(whole + 1);
        scale = Some(end - whole - 1);
    }
    if matches!(sql.get(end), Some(b'e' | b'E')) {
        let sign = matches!(sql.get(end + 1), Some(b'+' | b'-')) as usize;
        if sql.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            let end = digits_from(end + 1 + sign);
            return (end, is_double(&sql[start..end]).then_some(LiteralKind::Double));
        }
    }
    if sql.get(end).copied().is_some_and(is_word_byte) {
        return (word_end(sql, end), None);
    }
    match scale {
        None if end - start <= 18 => (end, Some(LiteralKind::Int)),
        Some(scale) if end - start <= 40 && scale <= 20 => {
            let precision = ((whole - start) + scale).max(1) as u8;
            (
                end,
                Some(LiteralKind::Decimal {
                    precision,
                    scale: scale as u8,
                }),
            )
        }
        _ => (end, None),
    }
}

/// Returns true if a double holds this number. What none holds stays in the text, of which the parser says that.
fn is_double(number: &[u8]) -> bool {
    let text = std::str::from_utf8(number).unwrap_or_default();
    text.parse().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> Option<(Vec<u8>, Vec<Value>)> {
        let mut shape = Shape::default();
        let found = shape.scan(sql.as_bytes(), 0, SqlMode::DEFAULT);
        found.then(|| {
            let mut values = Vec::new();
            shape.values(sql.as_bytes(), SqlMode::DEFAULT, &mut values);
            (shape.key().to_vec(), values)
        })
    }

    #[test]
    fn literals_become_parameters() {
        let (key, values) = shape("SELECT c FROM sbtest1 WHERE id=123").unwrap();
        assert_eq!(key, b"SELECT c FROM sbtest1 WHERE id=\x01");
        assert_eq!(values, [Value::Int(123)]);
        let (key, values) = shape("UPDATE t SET c='it''s', d=1.50 WHERE id IN (1,2) ;").unwrap();
        assert_eq!(
            key,
            b"UPDATE t SET c=\x03, d=\x04\x03\x02 WHERE id IN (\x01,\x01)"
        );
        assert_eq!(values.len(), 4);
        assert_eq!(values[0], Value::str("it's"));
    }

    #[test]
    fn names_of_columns_and_ordinals_stay() {
        let (key, _) = shape("SELECT 1, f(2) FROM t WHERE a=3 ORDER BY 2 LIMIT 5").unwrap();
        assert_eq!(key, b"SELECT 1, f(2) FROM t WHERE a=\x01 ORDER BY 2 LIMIT \x01");
        let (key, _) = shape("SELECT EXTRACT(YEAR FROM '2020-01-01'), 7 FROM t1 WHERE t1.b2=9").unwrap();
        assert_eq!(
            key,
            b"SELECT EXTRACT(YEAR FROM '2020-01-01'), 7 FROM t1 WHERE t1.b2=\x01"
        );
    }

    #[test]
    fn comments_parameters_and_other_statements_have_no_shape() {
        assert!(shape("SELECT /* x */ 1 FROM t").is_none());
        assert!(shape("SELECT a FROM t WHERE b=?").is_none());
        assert!(shape("CREATE TABLE t (a INT)").is_none());
        assert!(shape("SELECT a FROM t WHERE b='unterminated").is_none());
    }

    #[test]
    fn a_text_of_several_statements_is_read_one_by_one() {
        let mut shape = Shape::default();
        let sql = b"SELECT a FROM t WHERE b=1; DELETE FROM t";
        assert!(shape.scan(sql, 0, SqlMode::DEFAULT));
        assert_eq!(&sql[shape.next()..], b" DELETE FROM t");
    }
}
