//! An XML text as a list of its elements, attributes and texts.
//!
//! The nodes stand in the order of the text, so all that is inside a node stands right behind it; where that ends is noted. Node 0 is the root, which holds all that is at
//! the top. Names, values and texts are ranges of the text as it is written: neither blanks nor entities are replaced. What is checked is what MySQL checks, with
//! its words: that quotes, brackets and elements are closed, and that the name of an end is as long as the name of its beginning.

use std::ops::Range;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError, er};

/// Elements inside each other, the root one of them: there may be fewer than this.
const DEPTH_MAX: usize = 255;

/// Bytes of a name that a complaint shows.
const SHOWN: usize = 31;

/// Nodes between two looks at the memory.
pub(super) const BETWEEN_LOOKS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Element,
    Attribute,
    /// The text of an element, or the value of an attribute.
    Text,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    pub parent: usize,
    /// Where its name stands, or a text.
    pub span: Range<usize>,
    /// The first node behind it that is not inside it.
    pub after: usize,
    /// Where it ends in the text, its last bracket or quote included.
    pub end: usize,
}

/// A text and its nodes.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    pub(super) text: &'t [u8],
    pub(super) nodes: Vec<Node>,
}

impl<'t> Document<'t> {
    /// What is inside says, as warning 1525, what is wrong with the text, and where. Error 3170 if its nodes take too much memory.
    pub fn parse(text: &'t [u8]) -> Result<std::result::Result<Document<'t>, SqlError>> {
        let root = Node {
            kind: Kind::Element,
            parent: 0,
            span: 0..0,
            after: 0,
            end: text.len(),
        };
        let mut parser = Parser {
            text,
            at: 0,
            nodes: vec![root],
            open: vec![0],
        };
        match parser.all() {
            Ok(()) => {
                let mut nodes = parser.nodes;
                nodes[0].after = nodes.len();
                Ok(Ok(Document { text, nodes }))
            }
            Err(Stop::Complaint(complaint)) => Ok(Err(parser.error(&complaint))),
            Err(Stop::Because(error)) => Err(error),
        }
    }

    pub(super) fn written(&self, node: usize) -> &'t [u8] {
        &self.text[self.nodes[node].span.clone()]
    }

    /// What stands right below a node.
    pub(super) fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[node].after;
        let mut next = node + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.nodes[child].after;
                child
            })
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Text,
    Name,
    Characters,
    Comment,
    Sign(u8),
    Unknown,
}

impl Token {
    /// As complaints name it.
    fn name(self) -> String {
        match self {
            Token::End => "END-OF-INPUT".into(),
            Token::Text => "STRING".into(),
            Token::Name => "IDENT".into(),
            Token::Characters => "CDATA".into(),
            Token::Comment => "COMMENT".into(),
            Token::Sign(sign) => format!("'{}'", sign as char),
            Token::Unknown => "unknown token".into(),
        }
    }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The root, and the elements and the attribute that have begun and not ended.
    open: Vec<usize>,
}

enum Stop {
    /// The text is no XML.
    Complaint(String),
    Because(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Because(error)
    }
}

type Parsed<T = ()> = std::result::Result<T, Stop>;

fn complain<T>(complaint: impl Into<String>) -> Parsed<T> {
    Err(Stop::Complaint(complaint.into()))
}

impl Parser<'_> {
    fn all(&mut self) -> Parsed {
        while self.at < self.text.len() {
            match self.text[self.at] {
                b'<' => self.markup()?,
                _ => {
                    let start = self.at;
                    self.at = self.find(b"<").unwrap_or(self.text.len());
                    self.value(start..self.at)?;
                }
            }
        }
        match self.open.len() {
            1 => Ok(()),
            _ => complain("unexpected END-OF-INPUT"),
        }
    }

    /// What begins with `<`: a comment, a section of characters, the end of an element, or a tag.
    fn markup(&mut self) -> Parsed {
        let (token, span) = self.next();
        match token {
            Token::Comment => return Ok(()),
            Token::Characters => {
                return self.value(span);
            }
            _ => {}
        }
        let (mut token, mut span) = self.next();
        if token == Token::Sign(b'/') {
            (token, span) = self.next();
            if token != Token::Name {
                return complain(format!("{} unexpected (ident wanted)", token.name()));
            }
            let left = self.leave(Some(span))?;
            let (token, _) = self.next();
            return self.close(left, token);
        }
        let sign = match token {
            Token::Sign(sign @ (b'!' | b'?')) => {
                (token, span) = self.next();
                Some(sign)
            }
            _ => None,
        };
        if token != Token::Name {
            return complain(format!("{} unexpected (ident or '/' wanted)", token.name()));
        }
        self.enter(Kind::Element, span)?;
        let mut token = self.attributes(sign == Some(b'!'))?;
        let mut left = None;
        if token == Token::Sign(b'/') {
            left = Some(self.leave(None)?);
            (token, _) = self.next();
        }
        if sign == Some(b'?') {
            if token != Token::Sign(b'?') {
                return complain(format!("{} unexpected ('?' wanted)", token.name()));
            }
            left = Some(self.leave(None)?);
            (token, _) = self.next();
        }
        if sign == Some(b'!') {
            left = Some(self.leave(None)?);
        }
        match left {
            Some(left) => self.close(left, token),
            None => self.greater(token),
        }
    }

    /// The attributes of a tag; returns what stands behind them. One without a value swallows the name that follows it. In a declaration (`<!DOCTYPE … "…">`)
    /// texts may stand among them, which say nothing.
    fn attributes(&mut self, declaration: bool) -> Parsed<Token> {
        loop {
            let (token, name) = self.next();
            if !(token == Token::Name || token == Token::Text && declaration) {
                return Ok(token);
            }
            match self.next().0 {
                Token::Sign(b'=') => {
                    let (token, value) = self.next();
                    if !matches!(token, Token::Name | Token::Text) {
                        return complain(format!("{} unexpected (ident or string wanted)", token.name()));
                    }
                    self.enter(Kind::Attribute, name)?;
                    self.value(value)?;
                    self.leave(None)?;
                }
                Token::Name => {
                    self.enter(Kind::Attribute, name)?;
                    self.leave(None)?;
                }
                Token::Text if declaration => {}
                token => return Ok(token),
            }
        }
    }

    fn greater(&self, token: Token) -> Parsed {
        match token {
            Token::Sign(b'>') => Ok(()),
            _ => complain(format!("{} unexpected ('>' wanted)", token.name())),
        }
    }

    /// The bracket behind the end of an element.
    fn close(&mut self, node: usize, token: Token) -> Parsed {
        self.greater(token)?;
        self.nodes[node].end = self.at;
        Ok(())
    }

    fn enter(&mut self, kind: Kind, span: Range<usize>) -> Parsed {
        if self.open.len() == DEPTH_MAX {
            return complain("");
        }
        let node = self.nodes.len();
        self.push(kind, span)?;
        self.open.push(node);
        Ok(())
    }

    fn value(&mut self, span: Range<usize>) -> Parsed {
        self.push(Kind::Text, span)
    }

    fn push(&mut self, kind: Kind, span: Range<usize>) -> Parsed {
        if self.nodes.len().is_multiple_of(BETWEEN_LOOKS) {
            check_memory()?;
        }
        self.nodes.push(Node {
            kind,
            parent: self.open[self.open.len() - 1],
            end: span.end,
            span,
            after: self.nodes.len() + 1,
        });
        Ok(())
    }

    /// The innermost node ends, which has a name of that length if there is one.
    fn leave(&mut self, name: Option<Range<usize>>) -> Parsed<usize> {
        let shown = |span: &Range<usize>| {
            let bytes = &self.text[span.start..span.end.min(span.start + SHOWN)];
            String::from_utf8_lossy(bytes).into_owned()
        };
        let node = self.open[self.open.len() - 1];
        if let Some(name) = name
            && (node == 0 || self.nodes[node].span.len() != name.len())
        {
            return complain(match node {
                0 => format!("'</{}>' unexpected (END-OF-INPUT wanted)", shown(&name)),
                _ => format!(
                    "'</{}>' unexpected ('</{}>' wanted)",
                    shown(&name),
                    shown(&self.nodes[node].span)
                ),
            });
        }
        self.open.pop();
        self.nodes[node].after = self.nodes.len();
        self.nodes[node].end = self.at;
        Ok(node)
    }

    /// The next token, and what it says.
    fn next(&mut self) -> (Token, Range<usize>) {
        while self
            .peek()
            .is_some_and(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
        {
            self.at += 1;
        }
        let start = self.at;
        let Some(first) = self.peek() else {
            return (Token::End, start..start);
        };
        if self.text[start..].starts_with(b"<!--") {
            self.at = self.find(b"-->").map_or(self.text.len(), |end| end + 3);
            return (Token::Comment, start..self.at);
        }
        if self.text[start..].starts_with(b"<![CDATA[") {
            let from = start + 9;
            let end = self.find(b"]]>");
            self.at = end.map_or(self.text.len(), |end| end + 3);
            return (Token::Characters, from..end.unwrap_or(self.text.len()).max(from));
        }
        match first {
            b'?' | b'=' | b'/' | b'<' | b'>' | b'!' => {
                self.at += 1;
                (Token::Sign(first), start..self.at)
            }
            b'"' | b'\'' => {
                self.at += 1;
                let end = self.find(&[first]).unwrap_or(self.text.len());
                self.at = (end + 1).min(self.text.len());
                (Token::Text, start + 1..end)
            }
            _ if begins_name(first) => {
                while self
                    .peek()
                    .is_some_and(|b| begins_name(b) || matches!(b, b'0'..=b'9' | b'-' | b'.'))
                {
                    self.at += 1;
                }
                (Token::Name, start..self.at)
            }
            _ => (Token::Unknown, start..start),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn find(&self, what: &[u8]) -> Option<usize> {
        let rest = &self.text[self.at..];
        let found = rest.windows(what.len()).position(|bytes| bytes == what);
        found.map(|found| self.at + found)
    }

    fn error(&self, complaint: &str) -> SqlError {
        let before = &self.text[..self.at];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        // A line begins with the end of the one before.
        let begins = before.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        let position = self.at - begins + 1;
        SqlError::new(
            er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
            format!("Incorrect XML value: 'parse error at line {line} pos {position}: {complaint}'"),
        )
    }
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        Document::parse(text.as_bytes()).unwrap().unwrap_err().message
    }

    fn shape(text: &str) -> Vec<(Kind, String, usize)> {
        let document = Document::parse(text.as_bytes()).unwrap().unwrap();
        let written = |n: usize| String::from_utf8_lossy(document.written(n)).into_owned();
        (1..document.nodes.len())
            .map(|n| (document.nodes[n].kind, written(n), document.nodes[n].parent))
            .collect()
    }

    #[test]
    fn nodes_stand_in_the_order_of_the_text() {
        use Kind::*;
        let found = shape("<a b='1'>x<c/>y</a>");
        let expected = [
            (Element, "a", 0),
            (Attribute, "b", 1),
            (Text, "1", 2),
            (Text, "x", 1),
            (Element, "c", 1),
            (Text, "y", 1),
        ];
        assert_eq!(
            found,
            expected.map(|(kind, text, parent)| (kind, text.to_owned(), parent))
        );
        let document = Document::parse(b"<a b='1'>x<c/>y</a>z").unwrap().unwrap();
        assert_eq!(document.children(0).collect::<Vec<_>>(), [1, 7]);
        assert_eq!(document.children(1).collect::<Vec<_>>(), [2, 4, 5, 6]);
    }

    #[test]
    fn an_end_is_told_by_the_length_of_its_name() {
        assert_eq!(shape("<a></b>").len(), 1);
        assert!(complaint("<a></bb>").ends_with("pos 8: '</bb>' unexpected ('</a>' wanted)'"));
        assert!(complaint("</a>").ends_with("line 1 pos 4: '</a>' unexpected (END-OF-INPUT wanted)'"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert_eq!(shape(&nested(254)).len(), 254);
        assert!(complaint(&nested(255)).ends_with("line 1 pos 765: '"));
    }

    #[test]
    fn any_bytes_end_in_a_document_or_a_complaint() {
        for text in [
            "<",
            "<!",
            "<?",
            "<!--",
            "<![CDATA[",
            "<![CDATA[]]",
            "<a",
            "<a b",
            "<a b=",
            "<a b='",
            "<a/",
            "a<",
            "<!a \"b\" 'c'>",
            "<?a?>",
            "<?a",
        ] {
            let _ = Document::parse(text.as_bytes()).unwrap();
        }
    }
}
