//! Places in documents and schemas, as MySQL writes them: fragments of URIs that hold JSON pointers (RFC 6901).

use std::fmt::Write;
use tidemark_types::json::Json;

/// A place in a document or a schema, by the way to it.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Root,
    /// Where a reference leads to.
    Pointer(&'p str),
    Member(&'p Place<'p>, &'p str),
    Element(&'p Place<'p>, usize),
}

impl Place<'_> {
    /// As a fragment of a URI.
    pub(super) fn fragment(&self) -> String {
        let mut out = String::from("#");
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Place::Root => {}
            Place::Pointer(pointer) => pointer_tokens(pointer)
                .iter()
                .for_each(|token| write_token(token, out)),
            Place::Member(around, name) => {
                around.write(out);
                write_token(name, out);
            }
            Place::Element(around, at) => {
                around.write(out);
                let _ = write!(out, "/{at}");
            }
        }
    }
}

fn write_token(token: &str, out: &mut String) {
    out.push('/');
    for byte in token.bytes() {
        match byte {
            b'~' => out.push_str("~0"),
            b'/' => out.push_str("~1"),
            b'-' | b'.' | b'_' => out.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(byte as char),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// The steps of a pointer, what stands behind `#`: `/definitions/a%20b` has two.
fn pointer_tokens(pointer: &str) -> Vec<String> {
    let tokens = pointer.split('/').skip(1);
    let plain = |token: &str| decoded(token).replace("~1", "/").replace("~0", "~");
    tokens.map(plain).collect()
}

/// A text in which `%xx` stand for bytes.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, hex.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &after[2..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What a pointer leads to.
pub(super) fn at_pointer<'j>(root: &'j Json, pointer: &str) -> Option<&'j Json> {
    pointer_tokens(pointer)
        .iter()
        .try_fold(root, |place, token| match place {
            Json::Array(list) => list.get(token.parse::<usize>().ok()?),
            place => place.member(token),
        })
}

/// What stands behind `#` in a reference to a place in the same document.
pub(super) fn local_pointer(target: &str) -> Option<&str> {
    let pointer = target.strip_prefix('#')?;
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}
