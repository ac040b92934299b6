//! The words and signs of a path.
//!
//! A word is an axis if `::` stands behind it, a function or a test of kinds if a bracket does. Those of XPath's functions that MySQL does not have are words
//! like any other, and the bracket behind them is then an error.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
}

impl Axis {
    fn by_name(name: &[u8]) -> Option<Axis> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"ancestor" => Axis::Ancestor,
            b"ancestor-or-self" => Axis::AncestorOrSelf,
            b"attribute" => Axis::Attribute,
            b"descendant" => Axis::Descendant,
            b"descendant-or-self" => Axis::DescendantOrSelf,
            b"parent" => Axis::Parent,
            b"self" => Axis::Itself,
            b"child" | b"following" | b"following-sibling" | b"namespace" | b"preceding"
            | b"preceding-sibling" => Axis::Child,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Digits,
    /// An element's or attribute's name; `and`, `or`, `div` and `mod` are names, too, where one may stand.
    Name,
    And,
    Or,
    Div,
    Mod,
    Text,
    /// A name with `::` behind it.
    Axis(Axis),
    /// A function's name with a bracket behind it.
    Function(&'static Function),
    /// `text`, `node`, … with a bracket behind it.
    NodeType,
    Sign(u8),
    Unknown,
}

impl Token {
    /// Whether it can be the name of an element or attribute.
    pub fn is_name(self) -> bool {
        matches!(
            self,
            Token::Name | Token::And | Token::Or | Token::Div | Token::Mod
        )
    }

    pub fn begins_step(self) -> bool {
        self.is_name()
            || matches!(
                self,
                Token::Axis(_) | Token::NodeType | Token::Sign(b'*' | b'@' | b'.')
            )
    }

    /// The token that begins there, and where it ends.
    fn at(text: &[u8], start: usize) -> (Token, usize) {
        let rest = &text[start..];
        let Some(first) = rest.first().copied() else {
            return (Token::End, start);
        };
        let run = |is_part: fn(u8) -> bool| start + rest.iter().take_while(|b| is_part(**b)).count();
        if begins_name(first) {
            let end = run(|b| begins_name(b) || matches!(b, b'0'..=b'9' | b'-' | b'.'));
            return (Token::of_word(&text[start..end], &text[end..]), end);
        }
        match first {
            b'!' | b'$' | b'(' | b')' | b'*' | b'+' | b',' | b'-' | b'.' | b'/' | b':' | b'<' | b'='
            | b'>' | b'@' | b'[' | b']' | b'|' => (Token::Sign(first), start + 1),
            b'0'..=b'9' => (Token::Digits, run(|b| b.is_ascii_digit())),
            b'"' | b'\'' => match rest[1..].iter().position(|b| *b == first) {
                Some(length) => (Token::Text, start + length + 2),
                None => (Token::Unknown, text.len()),
            },
            _ => (Token::Unknown, start + 1),
        }
    }

    fn of_word(word: &[u8], rest: &[u8]) -> Token {
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if rest.first() == Some(&b'(') {
            if let Some(function) = FUNCTIONS.iter().find(|function| is(function.name)) {
                return Token::Function(function);
            }
            return match ["comment", "text", "processing-instruction", "node"]
                .into_iter()
                .any(is)
            {
                true => Token::NodeType,
                false => Token::Name,
            };
        }
        if rest.starts_with(b"::") {
            return Axis::by_name(word).map_or(Token::Name, Token::Axis);
        }
        match () {
            _ if is("and") => Token::And,
            _ if is("or") => Token::Or,
            _ if is("div") => Token::Div,
            _ if is("mod") => Token::Mod,
            _ => Token::Name,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub span: Range<usize>,
}

impl Lexeme {
    /// The one that comes next, blanks left out.
    pub fn after(text: &[u8], at: usize) -> Lexeme {
        let start = at + text[at..].iter().take_while(|byte| **byte == b' ').count();
        let (token, end) = Token::at(text, start);
        Lexeme {
            token,
            span: start..end,
        }
    }

    pub fn begin() -> Lexeme {
        Lexeme {
            token: Token::End,
            span: 0..0,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    name: &'static str,
    /// At least so many, and at most.
    pub arguments: (usize, usize),
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Contains,
    Count,
    False,
    Last,
    Not,
    Number,
    Position,
    Round,
    Sum,
    True,
    /// SQL's function of that name.
    Sql(&'static str),
    StringLength,
    /// CONCAT of the first two arguments, as in MySQL; the others are taken and not used.
    Concat,
}

const fn function(name: &'static str, least: usize, most: usize, kind: Kind) -> Function {
    Function {
        name,
        arguments: (least, most),
        kind,
    }
}

static FUNCTIONS: [Function; 16] = [
    function("boolean", 1, 1, Kind::Boolean),
    function("ceiling", 1, 1, Kind::Sql("ceil")),
    function("concat", 2, 255, Kind::Concat),
    function("contains", 2, 2, Kind::Contains),
    function("count", 1, 1, Kind::Count),
    function("false", 0, 0, Kind::False),
    function("floor", 1, 1, Kind::Sql("floor")),
    function("last", 0, 0, Kind::Last),
    function("not", 1, 1, Kind::Not),
    function("number", 0, 1, Kind::Number),
    function("position", 0, 0, Kind::Position),
    function("round", 1, 1, Kind::Round),
    function("string-length", 0, 1, Kind::StringLength),
    function("substring", 2, 3, Kind::Sql("substring")),
    function("sum", 1, 1, Kind::Sum),
    function("true", 0, 0, Kind::True),
];

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | 0x80..)
}
