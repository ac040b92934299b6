//! Stored definitions that say anything: each is read, shown and written again, or is an error. A definition that a program of a later
//! version has written, or that has been damaged with a checksum that fits, ends no server.

use super::create;
use crate::dictionary::codec::{decode_schema, decode_table, encode_schema, encode_table};
use crate::dictionary::{
    CheckDef, ColumnDef, ColumnDefault, ForeignKeyDef, GeneratedColumn, IndexDef, IndexPart,
    ReferentialAction, SchemaDef, StatisticsOptions, TableDef, TableOptions, ViewDef,
};
use crate::mdl::Locks;
use crate::parse::ast::{CheckOption, ViewAlgorithm};
use crate::types::{Collation, Date, DateTime, Decimal, SqlType, Time, TypeKind, Value};
use tidemark_engine::TableId;
use tidemark_testing::fuzz::Corpus;

fn column(ty: SqlType, default: Option<ColumnDefault>) -> ColumnDef {
    ColumnDef {
        name: "c".to_owned(),
        ty,
        default,
        on_update_now: false,
        auto_increment: false,
        invisible: false,
        explicit_collation: false,
        comment: "it's".to_owned(),
        generated: None,
    }
}

/// Columns with defaults of every kind of value.
fn columns() -> Vec<ColumnDef> {
    let members = || vec!["a".to_owned(), "b".to_owned()].into();
    let of = |kind| SqlType::new(kind);
    let types = [
        (of(TypeKind::Int), Value::Int(-7)),
        (of(TypeKind::BigInt).unsigned(), Value::UInt(7)),
        (of(TypeKind::Float), Value::Float(1.5)),
        (of(TypeKind::Double), Value::Double(-1e100)),
        (SqlType::decimal(10, 2), Value::Decimal(Decimal::new(-105, 2))),
        (SqlType::varbinary(16), Value::string(vec![0_u8, 255])),
        (of(TypeKind::Date), Value::Date(Date::unpack(0))),
        (of(TypeKind::Time), Value::Time(Time::new(-1_000_000, 3))),
        (SqlType::datetime(3), Value::DateTime(DateTime::unpack(0, 3))),
        (
            of(TypeKind::Enum).with_members(members()),
            Value::Member(2, b"b".to_vec().into()),
        ),
        (
            of(TypeKind::Set).with_members(members()),
            Value::Member(3, b"a,b".to_vec().into()),
        ),
        (of(TypeKind::Bit), Value::UInt(1)),
        (of(TypeKind::Json), Value::Null),
    ];
    let literals = types.map(|(ty, value)| column(ty, Some(ColumnDefault::Literal(value))));
    let mut columns: Vec<ColumnDef> = literals.into();
    columns.push(column(
        SqlType::datetime(6),
        Some(ColumnDefault::CurrentTimestamp),
    ));
    columns.push(column(
        of(TypeKind::Text),
        Some(ColumnDefault::Expression("(uuid())".to_owned())),
    ));
    columns
}

fn table(locks: &Locks) -> TableDef {
    TableDef {
        lock: locks.table("s", "t"),
        schema: "s".to_owned(),
        name: "t".to_owned(),
        id: TableId(77),
        version: 1,
        columns: columns(),
        indexes: vec![IndexDef {
            name: "PRIMARY".to_owned(),
            number: 0,
            unique: true,
            visible: true,
            says_btree: false,
            comment: String::new(),
            generated: false,
            parts: vec![IndexPart {
                column: 5,
                prefix: Some(10),
                descending: true,
            }],
        }],
        options: TableOptions {
            collation: Collation::LATIN1_SWEDISH_CI,
            comment: "c".to_owned(),
            row_format: String::new(),
            statistics: StatisticsOptions {
                persistent: Some(true),
                auto_recalc: Some(false),
                sample_pages: Some(7),
            },
            created: 1,
            checks: vec![CheckDef {
                name: "t_chk_1".to_owned(),
                expression: "(`c` > 0)".to_owned(),
                enforced: true,
            }],
        },
        foreign_keys: vec![ForeignKeyDef {
            name: "t_ibfk_1".to_owned(),
            columns: vec![0],
            parent_schema: "o".to_owned(),
            parent: "p".to_owned(),
            parent_columns: vec!["a".to_owned()],
            on_delete: ReferentialAction::SetNull,
            on_update: ReferentialAction::Cascade,
        }],
        temporary: false,
        view: None,
        histograms: Vec::new(),
    }
}

fn view(locks: &Locks) -> TableDef {
    let view = ViewDef {
        text: "select 1 AS `1`".to_owned(),
        names: vec!["c".to_owned()],
        algorithm: ViewAlgorithm::Merge,
        definer: ("u".to_owned(), "%".to_owned()),
        invoker: true,
        check: CheckOption::Local,
        updatable: true,
        valid: true,
        mergeable: true,
        collation: Collation::DEFAULT,
        client: Collation::DEFAULT,
        tables: vec![("s".to_owned(), "t".to_owned())],
    };
    TableDef {
        columns: vec![column(SqlType::new(TypeKind::BigInt), None)],
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        view: Some(view.into()),
        ..table(locks)
    }
}

#[test]
fn stored_definitions_of_any_bytes() {
    let locks = Locks::default();
    let plain = table(&locks);
    let mut generated = table(&locks);
    generated.columns[1].generated = Some(GeneratedColumn {
        expression: "(`c` + 1)".to_owned(),
        stored: true,
        key_part: true,
    });
    let schema = SchemaDef {
        name: "s".to_owned(),
        collation: Collation::DEFAULT,
    };
    let corpus = Corpus::new("stored_definition")
        .input(encode_table(&plain))
        .input(encode_table(&generated))
        .input(encode_table(&view(&locks)))
        .input(encode_schema(&schema, false))
        .input(encode_schema(&schema, true));
    corpus.play(20_000, |input| {
        let _ = decode_schema("s", input);
        let Ok(table) = decode_table("s", "t", input, 1, &locks) else {
            return;
        };
        for column in &table.columns {
            create::plain_default(column);
            create::extra(column);
            let _ = column.ty.to_string();
        }
        let again =
            decode_table("s", "t", &encode_table(&table), 1, &locks).expect("it was written just now");
        assert_eq!(format!("{table:?}"), format!("{again:?}"));
    });
}
