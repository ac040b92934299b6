//! Bodies in, trees out. What MySQL says of wrong ones is in `tests/sql/programs`.

use crate::ast::*;
use crate::parse;
use tidemark_types::SqlMode;

fn routine(sql: &str) -> CreateRoutine {
    let parsed = parse(sql.as_bytes(), 0, SqlMode::DEFAULT);
    match parsed.map(|parsed| (parsed.next, parsed.statement)) {
        Ok((next, Statement::CreateRoutine(create))) => {
            assert_eq!(next, sql.len(), "{sql}");
            *create
        }
        other => panic!("{sql}: {other:?}"),
    }
}

fn trigger(sql: &str) -> CreateTrigger {
    match parse(sql.as_bytes(), 0, SqlMode::DEFAULT).map(|parsed| parsed.statement) {
        Ok(Statement::CreateTrigger(create)) => *create,
        other => panic!("{sql}: {other:?}"),
    }
}

fn error(sql: &str) -> u16 {
    parse(sql.as_bytes(), 0, SqlMode::DEFAULT).unwrap_err().code
}

#[test]
fn a_body_is_one_statement() {
    let sql = b"CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; SELECT 3";
    let parsed = parse(sql, 0, SqlMode::DEFAULT).unwrap();
    let Statement::CreateRoutine(create) = parsed.statement else {
        panic!()
    };
    assert_eq!(create.program.text, b"BEGIN SELECT 1; SELECT 2; END");
    let [BodyStatement::Block(block)] = &create.program.body[..] else {
        panic!()
    };
    let texts: Vec<&[u8]> = block
        .body
        .iter()
        .map(|statement| match statement {
            BodyStatement::Sql(sql) => &create.program.text[sql.text.clone()],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, [b"SELECT 1", b"SELECT 2"]);
    assert_eq!(&sql[parsed.next..], b" SELECT 3");
}

#[test]
fn comments_may_hold_a_body_as_dumps_write_it() {
    let sql = b"/*!50003 CREATE*/ /*!50020 DEFINER=`a`@`b`*/ /*!50003 PROCEDURE p() BEGIN SELECT 1; SELECT 2; END */; SELECT 3";
    let parsed = parse(sql, 0, SqlMode::DEFAULT).unwrap();
    let Statement::CreateRoutine(create) = parsed.statement else {
        panic!()
    };
    assert_eq!(create.program.text, b"BEGIN SELECT 1; SELECT 2; END");
    assert_eq!(&sql[parsed.next..], b" SELECT 3");
}

#[test]
fn a_body_is_kept_without_the_marks_of_executable_comments() {
    let create = routine(
        "CREATE PROCEDURE p() BEGIN /*!50000 SELECT 1; */ /*!99999 no */ SELECT 2; /* c */ END /* d */ ",
    );
    let text = &create.program.text;
    assert_eq!(
        String::from_utf8_lossy(text),
        "BEGIN  SELECT 1;   SELECT 2; /* c */ END /* d */"
    );
    let [BodyStatement::Block(block)] = &create.program.body[..] else {
        panic!()
    };
    let BodyStatement::Sql(second) = &block.body[1] else {
        panic!()
    };
    assert_eq!(&text[second.text.clone()], b"SELECT 2");
}

#[test]
fn what_mysql_accepts_is_one_statement() {
    let texts = include_str!("accepted.sql");
    for sql in texts.lines() {
        let parsed =
            parse(sql.as_bytes(), 0, SqlMode::DEFAULT).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(!matches!(parsed.statement, Statement::Unsupported(_)), "{sql}");
        assert_eq!(parsed.next, sql.len(), "{sql}");
    }
    assert!(texts.lines().count() > 100);
}

#[test]
fn names_are_resolved_to_the_innermost_declaration() {
    let create = routine(
        "CREATE PROCEDURE p(a INT, OUT b INT) BEGIN DECLARE a INT DEFAULT a; BEGIN DECLARE c, A INT; SET b = a + c; END; \
         SET b = a; SELECT t.a, a, x INTO a, @u, b FROM t; END",
    );
    let names: Vec<&str> = create
        .program
        .locals
        .iter()
        .map(|local| local.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "a", "c", "A"]);
    assert_eq!(create.modes, [ParameterMode::In, ParameterMode::Out]);
    // The default is evaluated where the new variable is not yet in sight.
    assert_eq!(create.program.locals[2].default, Some(Expr::Local(0)));
    let [BodyStatement::Block(outer)] = &create.program.body[..] else {
        panic!()
    };
    assert_eq!(outer.locals, 2..3);
    let [BodyStatement::Block(inner), set, BodyStatement::Sql(select)] = &outer.body[..] else {
        panic!()
    };
    assert_eq!(inner.locals, 3..5);
    assert_eq!(
        inner.body,
        [BodyStatement::Set {
            slot: 1,
            value: Expr::Binary {
                op: BinaryOp::Add,
                left: Box::new(Expr::Local(4)),
                right: Box::new(Expr::Local(3)),
            },
        }]
    );
    assert_eq!(
        *set,
        BodyStatement::Set {
            slot: 1,
            value: Expr::Local(2),
        }
    );
    let Statement::Query(query) = &select.statement else {
        panic!()
    };
    let targets = [
        Target::Local(2),
        Target::UserVar("u".to_owned()),
        Target::Local(1),
    ];
    assert_eq!(query.into, Some(Into::Variables(targets.to_vec())));
}

#[test]
fn set_of_several_is_several_statements() {
    let create = routine("CREATE PROCEDURE p(a INT) SET a = 1, @b = a, sql_mode = '', a = ON");
    let kinds: Vec<bool> = create
        .program
        .body
        .iter()
        .map(|statement| matches!(statement, BodyStatement::Set { slot: 0, .. }))
        .collect();
    assert_eq!(kinds, [true, false, false, true]);
}

#[test]
fn cursors_labels_and_conditions_are_numbers() {
    let create = routine(
        "CREATE PROCEDURE p() BEGIN DECLARE v INT; DECLARE gone CONDITION FOR SQLSTATE '42S02'; DECLARE c CURSOR FOR SELECT v; \
         DECLARE EXIT HANDLER FOR gone, 1051, NOT FOUND SET v = 1, v = 2; OPEN c; l: LOOP m: LOOP FETCH c INTO v; \
         LEAVE l; ITERATE m; END LOOP; END LOOP l; CLOSE c; END",
    );
    let [BodyStatement::Block(block)] = &create.program.body[..] else {
        panic!()
    };
    assert_eq!(
        block.handlers[0].conditions,
        [
            Condition::SqlState(*b"42S02"),
            Condition::Error(1051),
            Condition::NotFound
        ]
    );
    assert_eq!(block.handlers[0].body.len(), 2);
    assert_eq!((block.cursors.clone(), create.program.labels), (0..1, 2));
    let [
        BodyStatement::Open(0),
        BodyStatement::Loop { label: Some(0), body },
        BodyStatement::Close(0),
    ] = &block.body[..]
    else {
        panic!()
    };
    let [BodyStatement::Loop { label: Some(1), body }] = &body[..] else {
        panic!()
    };
    assert_eq!(
        body[..],
        [
            BodyStatement::Fetch {
                cursor: 0,
                into: vec![0],
            },
            BodyStatement::Leave(0),
            BodyStatement::Iterate(1)
        ]
    );
}

#[test]
fn rows_of_a_trigger_are_no_tables() {
    let create = trigger(
        "CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW PRECEDES h BEGIN SET NEW.a = old.b; INSERT INTO u VALUES (NEW.c, new.d); END",
    );
    assert_eq!(
        create.order,
        Some(TriggerOrder {
            precedes: true,
            other: "h".to_owned(),
        })
    );
    let [BodyStatement::Block(block)] = &create.program.body[..] else {
        panic!()
    };
    let old = Expr::Transition {
        new: false,
        column: "b".to_owned(),
    };
    let set = BodyStatement::SetNew {
        column: "a".to_owned(),
        value: old,
    };
    assert_eq!(block.body[0], set);
    // Elsewhere NEW is a name like others.
    let create = routine("CREATE PROCEDURE p() SELECT new.a FROM new");
    assert_eq!(create.program.body.len(), 1);
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [
        ("BEGIN ", "END; "),
        ("IF 1 THEN ", "END IF; "),
        ("LOOP ", "END LOOP; "),
        ("BEGIN DECLARE CONTINUE HANDLER FOR 1051 ", "END; "),
    ] {
        for depth in [10, 100_000] {
            let sql = format!(
                "CREATE PROCEDURE p() BEGIN {}SELECT 1; {}END",
                open.repeat(depth),
                close.repeat(depth)
            );
            let code = parse(sql.as_bytes(), 0, SqlMode::DEFAULT).map_or_else(|error| error.code, |_| 0);
            let expected = if depth == 10 { 0 } else { 1436 };
            assert_eq!(code, expected, "{open} {depth} times");
        }
    }
}

#[test]
fn a_long_body_is_read_in_linear_time() {
    let took = |statements: usize| {
        let sql = format!(
            "CREATE PROCEDURE p() BEGIN DECLARE a INT; {} END",
            "SET a = a + 1; l: LOOP LEAVE l; END LOOP; ".repeat(statements)
        );
        let begun = std::time::Instant::now();
        assert_eq!(routine(&sql).program.labels, statements);
        begun.elapsed()
    };
    took(1_000);
    let (short, long) = (took(5_000), took(50_000));
    // Ten times the text: quadratic would be a hundred times.
    assert!(long < 40 * short, "{short:?} and {long:?}");
}

#[test]
fn texts_that_end_too_early_are_errors_of_syntax() {
    let whole = "CREATE PROCEDURE p(a INT) BEGIN DECLARE b INT; IF a THEN SET b = 1; END IF; END";
    for end in "CREATE PROCEDURE p".len()..whole.len() {
        let cut = &whole[..end];
        if !cut.ends_with(|c: char| c.is_alphanumeric())
            || !whole[end..].starts_with(|c: char| c.is_alphanumeric())
        {
            assert_eq!(error(cut), 1064, "{cut}");
        }
    }
}
