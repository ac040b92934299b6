//! Every expression of a table equals itself bound again, and no other; so do all changes of one property of a type.

use crate::bind::{Binder, PlainHooks};
use crate::{BindCtx, DefaultOf, Expr, NoSession, Node, Scope, ScopeColumn, ScopeTable, SubqueryKind, build};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use tidemark_parse::parse_expression;
use tidemark_types::{CmpKind, Collation, Derivation, SqlType, TypeKind, Value};

/// Expressions of which no two are equal, though some differ in one property alone.
const DIFFERENT: &str = "
    i | j | s | d | t | @a | @b | @a := i | @a := j | @b := i
    2 | 1 | 1.0 | 1.00 | 1e0 | -0e0 | '1' | b'1' | x'31' | NULL | TRUE | 1000000000000000000 | 18446744073709551615
    _latin1'1' | _utf8mb4'1' COLLATE utf8mb4_bin | _utf8mb4'1' COLLATE utf8mb4_general_ci | DATE'2024-01-01' | TIMESTAMP'2024-01-01 00:00:00'
    TIME'00:00:01' | '2024-01-01' | 'a' | 'A' | 'a '
    s COLLATE utf8mb4_bin | s COLLATE utf8mb4_general_ci | s COLLATE utf8mb4_de_pb_0900_ai_ci
    -i | - -i | ~i | ~~i | NOT i | NOT NOT i | i IS NULL | i IS NOT NULL | i IS TRUE | i IS FALSE | i IS NOT TRUE | i IS NOT FALSE
    i + 1 | i + 2 | 1 + i | i - 1 | i * 1 | i / 1 | i DIV 1 | i % 1 | i + 1.0 | i + 1.00 | i + 1e0 | i + '1' | j + 1 | d + 1 | i + 1 + 1 | i + (1 + i)
    i & 1 | i|1 | i ^ 1 | i << 1 | i >> 1
    i = 1 | i <=> 1 | i <> 1 | i < 1 | i <= 1 | i > 1 | i >= 1 | i = 1.0 | i = 1e0 | s = 'a' | s = 'a' COLLATE utf8mb4_bin | 1 = i
    i AND j | j AND i | i OR j | i XOR j | i AND j AND s | (i AND j) OR s
    i BETWEEN 1 AND 2 | i NOT BETWEEN 1 AND 2 | i BETWEEN 2 AND 1 | i BETWEEN 1 AND 2e0 | i BETWEEN 1e0 AND 2
    i IN (1, 2) | i NOT IN (1, 2) | i IN (2, 1) | i IN (1, 2, 3) | i IN (1, 2e0)
    s LIKE 'a' | s NOT LIKE 'a' | s LIKE 'b' | s LIKE 'a' ESCAPE '|' | s LIKE 'a' ESCAPE '' | s LIKE 'a' COLLATE utf8mb4_bin
    s REGEXP 'a' | s NOT REGEXP 'a' | s REGEXP 'a' COLLATE utf8mb4_bin
    CASE i WHEN 1 THEN 2 END | CASE i WHEN 1 THEN 2 ELSE 3 END | CASE WHEN i THEN 2 END | CASE i WHEN 1 THEN 2 WHEN 2 THEN 3 END | CASE i WHEN 1e0 THEN 2 END
    CASE WHEN i THEN 2 ELSE 3 END | IF(i, 2, 3)
    CAST(i AS SIGNED) | CAST(i AS UNSIGNED) | CAST(i AS DECIMAL(10,1)) | CAST(i AS DECIMAL(10,2)) | CAST(i AS DECIMAL(11,2)) | CAST(i AS CHAR) | CAST(i AS CHAR(3))
    CAST(i AS CHAR(4)) | CAST(i AS BINARY(3)) | CAST(i AS DOUBLE) | CAST(i AS FLOAT) | CAST(i AS JSON) | CAST(i AS YEAR) | CAST(i AS DATE) | CAST(i AS TIME) | CAST(i AS TIME(3))
    CAST(i AS DATETIME) | CAST(i AS DATETIME(6)) | CONVERT(s USING latin1) | CONVERT(s USING utf8mb3)
    t + INTERVAL 1 DAY | t - INTERVAL 1 DAY | t + INTERVAL 2 DAY | t + INTERVAL 1 HOUR
    EXTRACT(YEAR FROM t) | EXTRACT(MONTH FROM t) | YEAR(t)
    LOWER(s) | UPPER(s) | CONCAT(s) | CONCAT(s, s) | CONCAT(s, 'a') | CONCAT(s, 'A') | ROUND(d) | ROUND(d, 1) | TRUNCATE(d, 1) | IFNULL(i, 1) | COALESCE(i, 1)
    RAND() | RAND(1) | NOW() | NOW(3) | UUID()
    CHAR(i USING latin1) | CHAR(i USING utf8mb4) | WEIGHT_STRING(s) | TRIM(s) | TRIM(LEADING 'x' FROM s) | TRIM(TRAILING 'x' FROM s)
    JSON_EXTRACT(o, '$.a') | JSON_EXTRACT(o, '$.b') | JSON_UNQUOTE(JSON_EXTRACT(o, '$.a'))
";

fn scope() -> Scope<'static> {
    let columns = [
        ("i", SqlType::new(TypeKind::Int)),
        ("j", SqlType::new(TypeKind::Int)),
        ("d", SqlType::decimal(10, 2)),
        ("s", SqlType::new(TypeKind::VarChar).with_length(10)),
        ("t", SqlType::new(TypeKind::DateTime)),
        ("o", SqlType::new(TypeKind::Json)),
    ];
    let columns = columns
        .into_iter()
        .enumerate()
        .map(|(slot, (name, ty))| ScopeColumn {
            name: name.to_owned(),
            ty: match ty.is_string() {
                true => ty.with_collation(Collation::DEFAULT, Derivation::Implicit),
                false => ty,
            },
            slot,
            hidden: false,
            merged: false,
            value: None,
            default: DefaultOf::Missing,
        });
    Scope {
        tables: vec![ScopeTable {
            schema: None,
            alias: "t".into(),
            columns: columns.collect(),
            readable: None,
        }],
        ..Scope::default()
    }
}

/// The spelled expressions, and those that no text gives.
fn table() -> Vec<(String, Expr)> {
    let (ctx, scope) = (BindCtx::default(), scope());
    let binder = Binder {
        ctx: &ctx,
        session: &NoSession,
        params: &[],
        clause: "field list",
    };
    let spelled = DIFFERENT
        .lines()
        .flat_map(|line| line.split(" | "))
        .map(str::trim);
    let mut all: Vec<(String, Expr)> = spelled
        .filter(|text| !text.is_empty())
        .map(|text| {
            let parsed = parse_expression(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            let bound = binder.bind(&parsed, &scope, &mut PlainHooks);
            (text.to_owned(), bound.unwrap_or_else(|e| panic!("{text}: {e:?}")))
        })
        .collect();
    let ty = || SqlType::decimal(12, 4);
    let value = || Box::new(build::column(2, ty()));
    let mut other = |name: &str, node| all.push((name.to_owned(), build::expr(ty(), node)));
    for at in 0..2 {
        other("parameter", Node::Param(at));
        for kind in [
            SubqueryKind::Scalar,
            SubqueryKind::Exists,
            SubqueryKind::NotExists,
        ] {
            let operands = Vec::new();
            other(
                "subquery",
                Node::Subquery {
                    id: at,
                    kind,
                    operands,
                },
            );
        }
        let operands = vec![([CmpKind::Int, CmpKind::Double][at], *value())];
        let kind = SubqueryKind::Scalar;
        other(
            "operands",
            Node::Subquery {
                id: 0,
                kind,
                operands,
            },
        );
        let more = at == 1;
        other("digits", Node::Digits { more, value: value() });
    }
    all
}

fn hash(e: &Expr) -> u64 {
    let mut state = DefaultHasher::new();
    e.hash(&mut state);
    state.finish()
}

#[test]
fn expressions_equal_themselves_alone() {
    let (first, second) = (table(), table());
    for (n, (text, e)) in first.iter().enumerate() {
        for (m, (other, f)) in second.iter().enumerate() {
            assert_eq!(e.same_as(f), n == m, "{text} and {other}");
        }
        assert_eq!(hash(e), hash(&second[n].1), "{text}");
    }
    let keys: HashSet<&Expr> = first.iter().chain(&second).map(|(_, e)| e).collect();
    assert_eq!(keys.len(), first.len());
}

#[test]
fn types_count_at_every_node_but_columns() {
    let changes: [(&str, fn(&mut SqlType)); 8] = [
        ("kind", |ty| {
            ty.kind = match ty.kind {
                TypeKind::Set => TypeKind::Enum,
                _ => TypeKind::Set,
            }
        }),
        ("unsigned", |ty| ty.unsigned = !ty.unsigned),
        ("zerofill", |ty| ty.zerofill = !ty.zerofill),
        ("length", |ty| ty.length ^= 1),
        ("scale", |ty| ty.scale ^= 1),
        ("collation", |ty| {
            ty.collation = match ty.collation {
                Collation::BINARY => Collation::DEFAULT,
                _ => Collation::BINARY,
            }
        }),
        ("members", |ty| ty.members = Some(["a".to_owned()].into())),
        ("array", |ty| ty.array = !ty.array),
    ];
    for (text, e) in table() {
        let counts = !matches!(e.node, Node::Column(_));
        for (property, change) in changes {
            let mut changed = e.clone();
            change(&mut changed.ty);
            assert_eq!(e.same_as(&changed), !counts, "{property} of {text}");
            let inside = |e: &Expr| build::expr(SqlType::bigint(), Node::Not(Box::new(e.clone())));
            assert_eq!(
                inside(&e).same_as(&inside(&changed)),
                !counts,
                "{property} within {text}"
            );
        }
        let mut unlike = e.clone();
        unlike.ty.nullable = !unlike.ty.nullable;
        unlike.ty.derivation = match unlike.ty.derivation {
            Derivation::Explicit => Derivation::Implicit,
            _ => Derivation::Explicit,
        };
        unlike.name = Some("`t`.`c`".into());
        assert!(e.same_as(&unlike), "what does not count, of {text}");
        assert_eq!(hash(&e), hash(&unlike), "{text}");
    }
}

#[test]
fn slots_move() {
    for (text, e) in table() {
        let mut moved = e.clone();
        moved.shift(7);
        assert!(e.same_moved(&moved, 7), "{text}");
        assert_eq!(e.same_as(&moved), e.columns().is_empty(), "{text}");
    }
}

#[test]
fn paths_have_no_collation() {
    let path = |collation| {
        let ty = SqlType::varchar(3, collation);
        build::typed_literal(ty, Value::Str(b"$.a".to_vec().into()))
    };
    let (ctx, document) = (BindCtx::default(), build::column(5, SqlType::new(TypeKind::Json)));
    let extract = |collation| {
        let args = vec![document.clone(), path(collation)];
        crate::func::call("json_extract", args, &ctx).expect("a document and a path")
    };
    let (a, b) = (extract(Collation::DEFAULT), extract(Collation::UTF8MB4_BIN));
    assert!(a.same_as(&b));
    assert_eq!(hash(&a), hash(&b));
}
