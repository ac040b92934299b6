use super::*;
use crate::json::{PathStep, find, has_wildcard, parse_path};
use crate::meta::wire;
use crate::{Date, DateTime, Time};
use std::convert::Infallible;
use tidemark_testing::Random;
use tidemark_testing::fuzz::Corpus;

const NAMES: [&str; 8] = ["", "a", "b", "c", "aa", "c d", "é", "a name that is longer"];

fn integer(random: &mut Random) -> u64 {
    random.number() >> random.below(64)
}

fn scalar(random: &mut Random) -> Json {
    let date = Date::new(
        random.below(10_000) as u16,
        random.below(13) as u8,
        random.below(32) as u8,
    );
    match random.below(12) {
        0 => Json::Null,
        1 => Json::Bool(random.one_in(2)),
        2 => Json::Int(integer(random) as i64),
        3 => Json::Int(-(integer(random) as i64 >> 1)),
        4 => Json::UInt(integer(random)),
        5 => Json::Double(integer(random) as i64 as f64 / 8.0),
        6 => Json::Decimal(format!("{}.{}", integer(random) as i64, random.below(1000))),
        7 => Json::Date(date),
        8 => Json::Time(Time::new(integer(random) as i64 >> 25, 6)),
        9 => Json::DateTime(DateTime::new(
            date,
            random.below(24) as u8,
            random.below(60) as u8,
            random.below(60) as u8,
            random.below(1_000_000) as u32,
            6,
        )),
        10 => Json::Opaque(
            wire::BLOB,
            integer(random).to_be_bytes()[..random.below(9)].to_vec(),
        ),
        _ => {
            let letters = [
                "a",
                "\"",
                "\\",
                "\n",
                "\u{1}",
                "é",
                "😀",
                "base64:type15:AA==",
                " ",
            ];
            let length = random.below(12);
            Json::String((0..length).map(|_| *random.choice(&letters)).collect())
        }
    }
}

/// A document of any kind, now and then with more than fits into ends of one byte.
fn document(random: &mut Random, levels: usize) -> Json {
    if levels == 0 || random.one_in(3) {
        return scalar(random);
    }
    let most = if random.one_in(40) { 400 } else { 6 };
    let count = random.below(most);
    if random.one_in(2) {
        return Json::Array((0..count).map(|_| document(random, levels - 1)).collect());
    }
    let member = |at: usize, random: &mut Random| {
        let name = match most {
            6 => (*random.choice(&NAMES)).to_owned(),
            _ => format!("{}{at}", random.choice(&NAMES)),
        };
        (name, document(random, levels - 1))
    };
    Json::object((0..count).map(|at| member(at, random)).collect())
}

fn path(random: &mut Random) -> Vec<PathStep> {
    let steps = [
        ".a",
        ".b",
        ".aa",
        ".\"c d\"",
        ".\"\"",
        ".*",
        "[0]",
        "[1]",
        "[last]",
        "[last-1]",
        "[*]",
        "[1 to 2]",
        "[last-2 to last]",
        "[0 to 1]",
        "**.a",
        "**[0]",
        "**.b",
    ];
    let count = random.below(4);
    let text: String = (0..count).map(|_| *random.choice(&steps)).collect();
    parse_path(&format!("${text}")).unwrap()
}

fn shown(stored: &[u8]) -> String {
    String::from_utf8(shown_text(stored.into()).unwrap().into_owned()).unwrap()
}

fn all_places<'a>(view: View<'a>, path: &[PathStep]) -> Result<Vec<View<'a>>> {
    places(view, path, &mut |_| Ok(()))
}

/// Whatever a tree says, the binary form says too, and gives the tree back.
#[test]
fn documents_are_the_same_in_both_forms() {
    for seed in 0..500 {
        let random = &mut Random::new(seed);
        let tree = document(random, 4);
        let stored = tree.stored().unwrap();
        let view = View::of(&stored);
        assert_eq!(view.tree().as_ref(), Ok(&tree), "seed {seed}");
        assert_eq!(shown(&stored), tree.to_string(), "seed {seed}");
        assert_eq!(String::from_utf8_lossy(&view.form().unwrap()), tree.form());
        assert_eq!(view.length(), Ok(tree.length()));
        assert_eq!(view.equals(&tree), Ok(true), "seed {seed}");
        // What a client sends is read as what it would be sent.
        let sent = Json::parse(&tree.to_string()).unwrap();
        assert_eq!(shown(&sent.stored().unwrap()), sent.to_string(), "seed {seed}");
    }
}

#[test]
fn paths_lead_to_the_same_places_in_both_forms() {
    let mut several = 0;
    for seed in 0..500 {
        let random = &mut Random::new(seed);
        let tree = document(random, 4);
        let stored = tree.stored().unwrap();
        for _ in 0..8 {
            let path = path(random);
            let wanted = find(&tree, &path, &mut |_| Ok::<(), Infallible>(())).unwrap();
            let found = all_places(View::of(&stored), &path).unwrap();
            several += usize::from(found.len() > 1);
            // A part of a document is a document.
            let trees: Vec<Json> = found
                .iter()
                .map(|v| Json::of_stored(v.bytes()).unwrap())
                .collect();
            assert_eq!(trees.iter().collect::<Vec<_>>(), wanted, "seed {seed}, {path:?}");
            if !has_wildcard(&path) {
                let one = place(View::of(&stored), &path).unwrap();
                assert_eq!(
                    one.map(View::bytes),
                    found.first().map(|v| v.bytes()),
                    "seed {seed}, {path:?}"
                );
            }
            let mut array = ArrayWriter::new().unwrap();
            found.iter().for_each(|v| array.push(*v).unwrap());
            assert_eq!(array.finish(), Json::Array(trees).stored());
        }
    }
    assert!(several > 100, "{several}");
}

/// Reads all there is to read; an answer or an error, in no more steps than there are bytes.
fn read_all(stored: &[u8]) {
    let view = View::of(stored);
    let tree = view.tree();
    let mut text = Vec::new();
    let written = view.write(&mut text);
    assert_eq!(tree.is_ok(), written.is_ok());
    assert!(view.depth().is_ok() || tree.is_err());
    let longest = 64 + 32 * stored.len();
    assert!(text.len() <= longest, "{} bytes of {}", text.len(), stored.len());
    for path in [
        "$.a",
        "$.aa[0]",
        "$[1].b",
        "$[last]",
        "$[1 to last]",
        "$**.a",
        "$.*",
        "$[*].a",
        "$**[0].b",
    ] {
        let places = all_places(view, &parse_path(path).unwrap());
        assert!(places.is_ok_and(|places| places.len() <= stored.len() + 1) || tree.is_err());
    }
    let _ = (
        view.type_name(),
        view.length(),
        view.form(),
        view.equals(&Json::Int(1)),
    );
    if let Ok(tree) = tree {
        let mut key = Vec::new();
        tree.sort_key(&mut key).unwrap();
        assert_eq!(tree.compare(&tree), std::cmp::Ordering::Equal);
    }
}

#[test]
fn damaged_bytes_are_an_error_and_no_more() {
    let corpus = Corpus::new("stored_document").grammar(|random| {
        let mut stored = document(random, 3).stored().unwrap();
        for _ in 0..random.below(4) {
            let at = random.below(stored.len());
            match random.below(4) {
                0 => stored[at] ^= 1 << random.below(8),
                1 => stored[at] = random.number() as u8,
                2 => stored[at] = stored[at].wrapping_add(1),
                _ => stored.truncate(at.max(1)),
            }
        }
        stored
    });
    corpus.play(3000, read_all);
}

#[test]
fn what_is_damaged_says_so() {
    let stored = Json::parse("{\"a\": [1, 2], \"b\": \"text\"}")
        .unwrap()
        .stored()
        .unwrap();
    let refused = |stored: &[u8]| {
        let code = |error: SqlError| error.code == er::INVALID_JSON_BINARY_DATA;
        View::of(stored).tree().is_err_and(code) && shown_text(stored.into()).is_err_and(code)
    };
    for cut in 1..stored.len() {
        assert!(refused(&stored[..cut]), "the first {cut} bytes");
    }
    assert!(refused(&[kind::STRING, 0xFF]) && refused(&[kind::INT, 1, 2, 3]) && refused(&[kind::NULL, 0]));
    assert!(refused(&[kind::DECIMAL, b'x']) && refused(&[kind::DATE, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0]));
    // Kinds of no form.
    assert!(refused(&[0xA0]) && refused(&[0x8C]) && refused(&[kind::ARRAY + 3, 0]) && refused(&[0xFE]));
    // Containers that go deeper than any that was stored.
    let mut deep = vec![kind::NULL];
    for _ in 0..=super::super::DEPTH_MAX {
        let end = (deep.len() as u32 + 1).to_le_bytes();
        deep = [&[kind::ARRAY + 2], deep.as_slice(), &end, &1_u32.to_le_bytes()].concat();
    }
    assert!(refused(&deep));
    assert!(all_places(View::of(&deep), &parse_path("$**[0]").unwrap()).is_err());
}

#[test]
fn the_bytes_are_those_of_the_description() {
    let stored = |text: &str| Json::parse(text).unwrap().stored().unwrap();
    assert_eq!(stored("null"), NULL);
    assert_eq!(stored("-1"), [0x83, 0xFF]);
    assert_eq!(stored("300"), [0x83, 0x2C, 1]);
    assert_eq!(stored("[true, \"x\"]"), [0x90, 0x82, 0x87, b'x', 2, 4, 2]);
    assert_eq!(stored("{\"a\": 1}"), [0x94, b'a', 0x83, 1, 2, 4, 1]);
    assert_eq!(stored("[]"), [0x90, 0]);
    // Ends of two bytes, and of four.
    let array = |length: usize| {
        Json::Array(vec![Json::String("x".repeat(length))])
            .stored()
            .unwrap()
    };
    assert_eq!(array(253)[255..], [255, 1]);
    assert_eq!(array(254)[0], 0x91);
    assert_eq!(array(254)[256..], [0, 1, 1, 0]);
    assert_eq!(array(65_534)[0], 0x92);
    assert_eq!(shown(&array(65_534)).len(), 65_538);
}

#[test]
fn what_was_stored_as_text_is_read_as_before() {
    let text = "{\"a\": [1, 2.0, \u{1}5, \u{1}\u{1}1.50, \u{1}\"2024-02-29\"]}";
    let tree = Json::of_stored(text.as_bytes()).unwrap();
    let binary = in_binary(text.as_bytes().into()).unwrap();
    assert_eq!(Json::of_stored(&binary).as_ref(), Ok(&tree));
    assert_eq!(shown(&binary), "{\"a\": [1, 2.0, 5, 1.50, \"2024-02-29\"]}");
    assert_eq!(shown(text.as_bytes()), shown(&binary));
    assert!(in_binary("{\"a\"".as_bytes().into()).is_err());
    assert!(in_binary([].as_slice().into()).is_err());
    // No text of a document is taken for the binary form, nor is this for a text.
    assert!((0..0x80).all(|first| !is_binary(&[first])));
    assert!(Json::parse("é").is_err());
}

#[test]
fn an_array_is_no_deeper_than_others() {
    let nested =
        |levels: usize| Json::parse(&format!("{}{}", "[".repeat(levels), "]".repeat(levels))).unwrap();
    let push = |levels: usize| {
        let stored = nested(levels).stored().unwrap();
        ArrayWriter::new()?.push(View::of(&stored))
    };
    assert!(push(99).is_ok());
    assert!(push(100).is_err_and(|error| error.code == er::JSON_DOCUMENT_TOO_DEEP));
}
