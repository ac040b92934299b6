//! What fields a file's bytes are: by the rules that MySQL's manual gives for LOAD DATA, and the same however the bytes come.

use super::*;
use crate::error::SqlError;
use proptest::prelude::*;
use std::cell::Cell;
use tidemark_testing::properties;

/// The lines of a text that comes in parts of so many bytes; NULL is `None`.
fn read(format: &FileFormat, text: &[u8], part_len: usize) -> Vec<Vec<Option<Vec<u8>>>> {
    read_after(0, format, None, text, part_len)
}

/// The same after so many lines, where fields may have widths.
fn read_after(
    skip: u64,
    format: &FileFormat,
    widths: Option<&[usize]>,
    text: &[u8],
    part_len: usize,
) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut parts = text.chunks(part_len);
    let next = Box::new(move |part: &mut Vec<u8>| {
        part.clear();
        let found = parts.next();
        part.extend_from_slice(found.unwrap_or_default());
        Ok(found.is_some())
    });
    let mut lines = Lines::new(format, Charset::Utf8mb4, widths, next, &|| Ok(()));
    let mut all = Vec::new();
    if !lines.skip(skip, 0).unwrap() {
        return all;
    }
    while lines.begin().unwrap() {
        let mut line = Vec::new();
        for _ in 0..widths.map_or(usize::MAX, <[usize]>::len) {
            match lines.next_field().unwrap() {
                Field::Missing => break,
                Field::Null => line.push(None),
                Field::Text => line.push(Some(lines.field.clone())),
            }
        }
        all.push(line);
        if lines.next_line().unwrap().is_none() {
            break;
        }
    }
    all
}

/// Fields divided by `|`, lines by `/`; NULL is `-`.
fn shown(format: &FileFormat, text: &str) -> String {
    joined(read(format, text.as_bytes(), 3))
}

fn joined(lines: Vec<Vec<Option<Vec<u8>>>>) -> String {
    let field = |field: &Option<Vec<u8>>| match field {
        None => "-".to_owned(),
        Some(text) => String::from_utf8_lossy(text).into_owned(),
    };
    let lines = lines
        .iter()
        .map(|line| line.iter().map(field).collect::<Vec<_>>().join("|"));
    lines.collect::<Vec<_>>().join("/")
}

fn csv() -> FileFormat {
    FileFormat {
        field_end: b",".to_vec(),
        enclosed: b"\"".to_vec(),
        ..FileFormat::default()
    }
}

#[test]
fn tabs_and_newlines_divide_and_backslashes_escape() {
    let format = FileFormat::default();
    assert_eq!(shown(&format, "a\tb\nc\td\n"), "a|b/c|d");
    assert_eq!(
        shown(&format, "a\tb\nc\td"),
        "a|b/c|d",
        "the last line may have no end"
    );
    assert_eq!(shown(&format, "a\\\tb\tc\\\nd\n"), "a\tb|c\nd");
    assert_eq!(shown(&format, "\\N\t\\NN\tN\n"), "-|NN|N", "\\N alone is NULL");
    assert_eq!(shown(&format, "x\\n\\t\\0\\Z\\q\n"), "x\n\t\0\u{1a}q");
    assert_eq!(shown(&format, "a\\"), "a\\", "nothing is left to escape");
}

#[test]
fn an_enclosed_field_ends_where_an_end_follows() {
    let format = csv();
    assert_eq!(shown(&format, "\"a,b\",\"c\nd\"\n\"e\"\n"), "a,b|c\nd/e");
    assert_eq!(
        shown(&format, "\"a\"\"b\",c\n"),
        "a\"b|c",
        "doubled, it stands for itself"
    );
    assert_eq!(
        shown(&format, "\"a\"b\",c\n"),
        "a\"b|c",
        "no end follows the second"
    );
    assert_eq!(
        shown(&format, "a\"b,c\n"),
        "a\"b|c",
        "only at the beginning it encloses"
    );
    assert_eq!(shown(&format, "NULL,\"NULL\",\\N\n"), "-|NULL|-");
    assert_eq!(
        shown(&format, "\"\\N\",\"x\\N\",\"N\"\n"),
        "-|xN|N",
        "\\N is NULL where it is enclosed, too"
    );
    assert_eq!(
        shown(&format, "\"a,b\n"),
        "\"a,b\n",
        "never closed, it is part of the field"
    );
}

#[test]
fn ends_of_several_bytes() {
    let format = FileFormat {
        field_end: b"<>".to_vec(),
        line_end: b"\r\n".to_vec(),
        ..FileFormat::default()
    };
    assert_eq!(shown(&format, "a<>b<c\r\nd\r<>e\r\n"), "a|b<c/d\r|e");
    assert_eq!(
        shown(&format, "a<<>b\r\r\nc"),
        "a<|b\r/c",
        "what looked like an end may begin another"
    );
}

#[test]
fn characters_of_several_bytes_are_whole() {
    // The last byte of é, by itself, divides fields.
    let format = FileFormat {
        field_end: b"\xA9".to_vec(),
        ..FileFormat::default()
    };
    let read = |text: &[u8]| joined(read(&format, text, 3));
    assert_eq!(read("éa".as_bytes()), "éa");
    assert_eq!(read(b"a\xA9b"), "a|b", "where no character has begun");
    assert_eq!(
        read(b"\\\xC3\xA9\n"),
        "é",
        "an escape in front of it has no effect"
    );
    let text = |text: &[u8]| -> Result<Field> {
        let mut parts = vec![text.to_vec()];
        let next = Box::new(move |part: &mut Vec<u8>| {
            *part = parts.pop().unwrap_or_default();
            Ok(!part.is_empty())
        });
        Lines::new(&FileFormat::default(), Charset::Utf8mb4, None, next, &|| Ok(())).next_field()
    };
    assert!(
        text(b"a\xC3\n").is_ok(),
        "a character that is cut is left to the value"
    );
    let error = text(b"yy\x88").err().unwrap();
    assert_eq!(error.message, "Invalid utf8mb4 character string: 'yy'");
}

#[test]
fn lines_that_begin_with_a_text() {
    let format = FileFormat {
        line_start: b">> ".to_vec(),
        ..FileFormat::default()
    };
    assert_eq!(shown(&format, ">> a\tb\nnothing\nxx>> c\n"), "a|b/c");
}

#[test]
fn fields_of_so_many_bytes() {
    let format = |line_start: &str, line_end: &str| FileFormat {
        field_end: Vec::new(),
        line_start: line_start.into(),
        line_end: line_end.into(),
        ..FileFormat::default()
    };
    let read = |skip, format: &FileFormat, text: &str| {
        joined(read_after(skip, format, Some(&[2, 3]), text.as_bytes(), 3))
    };
    let lines = format("", "\n");
    assert_eq!(read(0, &lines, "1 abc\n2 de \n"), "1 |abc/2 |de ");
    assert_eq!(
        read(0, &lines, "1 abcd\n2 a\n3\n\n4 "),
        "1 |abc/2 |a/3//4 ",
        "a line may be longer, or end early"
    );
    assert_eq!(
        read(0, &lines, "1 a\\nb\n\\\n1a\\\\\\N\n\\"),
        "1 |a\nb/\n1|a\\N/\\",
        "an escape and what follows are one byte, and never NULL"
    );
    assert_eq!(read(0, &format("", ""), "1 abc2 def3 g"), "1 |abc/2 |def/3 |g");
    assert_eq!(read(1, &format("", ""), "1 abc2 def3 g"), "2 |def/3 |g");
    assert_eq!(read(9, &format("", ""), "1 abc2 def"), "");
    assert_eq!(read(1, &lines, "a line of names\n2 def\n"), "2 |def");
    assert_eq!(read(0, &format("> ", ""), "x> 1 abc> 2 d"), "1 |abc/2 |d");
    assert_eq!(read(0, &format("", "\r\n"), "1 \r\r\n2 abc\r\n"), "1 |\r/2 |abc");
}

#[test]
fn what_is_read_may_be_stopped() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        match asked.get() > 2 {
            true => Err(SqlError::interrupted()),
            false => Ok(()),
        }
    };
    // A file that has no end.
    let next = Box::new(|part: &mut Vec<u8>| {
        part.clear();
        part.resize(1000, b'a');
        Ok(true)
    });
    let mut lines = Lines::new(&FileFormat::default(), Charset::Utf8mb4, None, next, &stop);
    assert!(lines.next_field().is_err());
    assert_eq!(asked.get(), 3);
}

proptest! {
    #![proptest_config(properties(400))]

    /// However a file comes, it has the same fields.
    #[test]
    fn parts_do_not_matter(
        text in "[abN\\\\\"<>,\n\r]{0,60}",
        field_end in prop_oneof![Just(""), Just(","), Just("<>"), Just("<<>"), Just("\n")],
        line_end in prop_oneof![Just(""), Just("\n"), Just("\r\n"), Just(">"), Just(",")],
        line_start in prop_oneof![Just(""), Just("a"), Just("ab")],
        enclosed in prop_oneof![Just(""), Just("\""), Just("b")],
        escaped in prop_oneof![Just(""), Just("\\"), Just("\"")],
        part_len in 1usize..8,
    ) {
        let format = FileFormat {
            field_end: field_end.into(),
            enclosed: enclosed.into(),
            optionally: false,
            escaped: escaped.into(),
            line_start: line_start.into(),
            line_end: line_end.into(),
        };
        let whole = read(&format, text.as_bytes(), text.len().max(1));
        prop_assert_eq!(read(&format, text.as_bytes(), part_len), whole);
    }

    /// Fields that are escaped as OUTFILE escapes them are read as they were.
    #[test]
    fn what_is_escaped_is_read_as_it_was(lines in prop::collection::vec(prop::collection::vec("[abN\\\\\t\n]{0,6}", 1..4), 1..5)) {
        let escaped = |field: &String| {
            let with = |c: char| if "\\\t\n".contains(c) { format!("\\{c}") } else { c.to_string() };
            field.chars().map(with).collect::<String>()
        };
        let text: String = lines
            .iter()
            .map(|line| line.iter().map(escaped).collect::<Vec<_>>().join("\t") + "\n")
            .collect();
        let expected: Vec<Vec<Option<Vec<u8>>>> = lines
            .iter()
            .map(|line| line.iter().map(|field| Some(field.clone().into_bytes())).collect())
            .collect();
        // A line of one empty field has none that this test's reader counts.
        prop_assume!(lines.iter().all(|line| line.len() > 1 || !line[0].is_empty()));
        prop_assert_eq!(read(&FileFormat::default(), text.as_bytes(), 5), expected);
    }
}
