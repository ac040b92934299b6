//! Whatever text comes, the lexer, the scanner of shapes and the parser end with an answer; and what has a shape is read from its shape as from
//! its text.

use tidemark_sql::parse::lexer::{Lexer, TokenKind};
use tidemark_sql::parse::shape::Shape;
use tidemark_sql::parse::{parse, parse_shape};
use tidemark_sql::types::SqlMode;
use tidemark_testing::fuzz::Corpus;

const WORDS: &str = "SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE AND OR NOT NULL IN BETWEEN LIKE IS ORDER BY GROUP HAVING LIMIT JOIN LEFT ON USING \
    UNION ALL AS CASE WHEN THEN ELSE END BEGIN PROCEDURE FUNCTION TRIGGER DECLARE HANDLER CURSOR IF LOOP WHILE DO REPEAT UNTIL LEAVE ITERATE RETURN \
    FETCH SIGNAL NEW OLD l: CAST INTERVAL DAY DATE TIMESTAMP BINARY COLLATE utf8mb4_bin CREATE TABLE KEY PRIMARY WITH RECURSIVE EXISTS \
    ( ) , ; . @ @@ ? ` ' \" -- # /* */ /*! 0x b' x' N' _utf8mb4 1 0 1.5 1e9 .5 'a' \\ || && := <=> <> >> << -> ->> * %";

fn corpus(name: &'static str) -> Corpus {
    Corpus::new(name)
        .words(WORDS)
        .lines(include_str!("corpus/statements.sql"))
        .lines(include_str!("../../parse/src/program/accepted.sql"))
}

#[test]
fn lexer_of_any_text() {
    corpus("lexer").play(20_000, |input| {
        for mode in [SqlMode::default(), SqlMode::ANSI_QUOTES] {
            let mut lexer = Lexer::new(input, 0, mode);
            let mut before = None;
            // Each token but the last begins behind the one before it, so the text ends.
            while let Ok(token) = lexer.token() {
                if token.kind == TokenKind::End {
                    break;
                }
                assert!(before < Some(token.start), "the lexer stands still");
                before = Some(token.start);
            }
        }
    });
}

#[test]
fn shape_of_any_text() {
    let mut shape = Shape::default();
    corpus("shape").play(10_000, |input| {
        let mode = SqlMode::default();
        let whole = parse(input, 0, mode);
        if !shape.scan(input, 0, mode) {
            return;
        }
        assert!(shape.next() <= input.len());
        let mut values = Vec::new();
        shape.values(input, mode, &mut values);
        assert_eq!(values.len(), shape.offsets().len());
        // What cannot be read without its literals (`CHAR(10)`) is parsed whole; what can be read so must be right.
        if parse_shape(input, 0, mode, 0, shape.offsets()).is_ok() {
            assert!(whole.is_ok(), "a shape was read of a statement that is none");
        }
    });
}
