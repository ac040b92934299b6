//! Documents that an older version has stored as text say what those say that are stored today.

use super::*;
use tidemark_engine::Datum;

/// Documents as versions of the format up to 7 have stored them, and as a statement makes them.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "{\"a\": 1, \"b\": [1, 2, {\"c\": \"x\"}], \"cc\": null}",
        "'{\"a\": 1, \"cc\": null, \"b\": [1, 2, {\"c\": \"x\"}]}'",
    ),
    (
        "{\"a\": \"text\", \"b\": 2.5}",
        "'{\"a\": \"text\", \"b\": 25e-1}'",
    ),
    (
        "[\u{1}5, \u{1}\u{1}1.50, 2.5, \"q\\\"\\n\"]",
        "JSON_ARRAY(CAST(5 AS UNSIGNED), 1.50, 2.5e0, 'q\"\\n')",
    ),
    ("\u{1}\"2024-01-31\"", "CAST(DATE'2024-01-31' AS JSON)"),
    (
        "[\u{1}\"2024-01-31 01:02:03.500000\", \u{1}\"-01:00:00.000000\"]",
        "JSON_ARRAY(TIMESTAMP'2024-01-31 01:02:03.5', TIME'-01:00:00')",
    ),
    ("[\"base64:type15:YWJj\"]", "JSON_ARRAY(CAST('abc' AS BINARY(3)))"),
    ("null", "'null'"),
    ("-7", "'-7'"),
    ("18446744073709551615", "'18446744073709551615'"),
    ("true", "'true'"),
    ("[]", "'[]'"),
    ("\"a text\"", "'\"a text\"'"),
];

const READS: &[&str] = &[
    "SELECT id, j FROM {t} ORDER BY id",
    "SELECT id, j->'$.a', j->>'$.a', j->'$.b[2].c', j->>'$[3]', j->'$[0]', j->'$**.c', j->'$[1 to 2]' FROM {t} ORDER BY id",
    "SELECT id, JSON_TYPE(j), JSON_TYPE(j->'$[0]'), JSON_TYPE(j->'$[1]'), JSON_LENGTH(j), JSON_LENGTH(j, '$.b'), JSON_DEPTH(j), \
     JSON_KEYS(j), JSON_STORAGE_SIZE(j), JSON_STORAGE_FREE(j), JSON_VALID(j) FROM {t} ORDER BY id",
    "SELECT id, JSON_CONTAINS_PATH(j, 'one', '$.a', '$[3]'), JSON_CONTAINS(j, '1', '$.a'), 1 MEMBER OF (j->'$.b'), JSON_OVERLAPS(j, '[5, 7]'), \
     JSON_VALUE(j, '$.b' RETURNING DECIMAL(5, 2)), JSON_SEARCH(j, 'all', 'x') FROM {t} ORDER BY id",
    "SELECT id, CAST(j AS CHAR), HEX(j), CONCAT(j), CRC32(j), LENGTH(j), JSON_UNQUOTE(j), JSON_PRETTY(j), JSON_QUOTE(CAST(j AS CHAR)) FROM {t} ORDER BY id",
    "SELECT id, j + 0, j->'$.b' * 2, CAST(j AS SIGNED), CAST(j->'$[1]' AS DECIMAL(5, 2)), CAST(j AS DATE), NOT j FROM {t} ORDER BY id",
    "SELECT id FROM {t} ORDER BY j, id",
    "SELECT MIN(id), COUNT(*) FROM {t} GROUP BY j ORDER BY 1",
    "SELECT COUNT(DISTINCT j), MAX(j), MIN(j), SUM(j->'$.a'), GROUP_CONCAT(j ORDER BY id), JSON_ARRAYAGG(j), JSON_OBJECTAGG(id, j) FROM {t}",
    "SELECT a.id, b.id FROM {t} a JOIN today b ON a.j = b.j ORDER BY 1, 2",
    "SELECT id FROM {t} WHERE j IN (SELECT j FROM today) ORDER BY id",
    "SELECT id FROM {t} WHERE j->'$.a' = 'text' OR j = -7 OR j LIKE '%base64%' OR j REGEXP 'a text' ORDER BY id",
    "SELECT t.id, x.v FROM {t} t, JSON_TABLE(t.j, '$.b[*]' COLUMNS (v JSON PATH '$')) x ORDER BY 1, 2",
    "SELECT id, JSON_SET(j, '$.z', 1), JSON_REMOVE(j, '$.a'), JSON_MERGE_PATCH(j, '{\"a\": 3}'), JSON_ARRAY(j), IFNULL(j, 1) FROM {t} ORDER BY id",
    "SELECT id, FIRST_VALUE(j) OVER (ORDER BY id), LAG(j) OVER (ORDER BY id) FROM {t} ORDER BY id",
    "(SELECT j FROM {t} ORDER BY id LIMIT 3) UNION SELECT j FROM today ORDER BY 1",
    "HANDLER {t} OPEN",
    "HANDLER {t} READ FIRST",
    "HANDLER {t} READ NEXT",
    "HANDLER {t} CLOSE",
];

/// Changes after which the tables are still the same.
const CHANGES: &[&str] = &[
    "UPDATE {t} SET j = j",
    "UPDATE {t} SET j = JSON_SET(j, '$.a', 2) WHERE id = 0",
    "UPDATE {t} SET j = '\"other\"' WHERE j = '\"a text\"' OR j = CAST('\"a text\"' AS JSON)",
    "DELETE FROM {t} WHERE j->'$.a' = 'text'",
    "ALTER TABLE {t} ADD COLUMN g VARCHAR(40) AS (j->>'$.a') VIRTUAL, ADD COLUMN s INT AS (JSON_LENGTH(j)) STORED, ADD INDEX (g)",
    "ALTER TABLE {t} ADD COLUMN e JSON NOT NULL",
    "ALTER TABLE {t} ADD CHECK (JSON_LENGTH(j) < 9)",
    "ALTER TABLE {t} ADD INDEX m ((CAST(j->'$.m' AS UNSIGNED ARRAY)))",
    "INSERT INTO {t} (id, j, e) SELECT id + 100, j, j FROM {t}",
];

impl World {
    /// Stores bytes in a table with an integer and a document.
    fn store(&self, table: &str, rows: &[(i64, &[u8])]) {
        let engine = self.database().engine();
        let id = self.database().dictionary().table("d", table).unwrap().id;
        let table = engine.table(id).unwrap();
        let stored = engine.write(|txn| {
            rows.iter()
                .try_for_each(|(id, bytes)| table.insert(txn, &[Datum::Int(*id), Datum::Bytes(bytes)]))
        });
        stored.unwrap();
    }
}

/// A world with the same documents in both forms: stored as text in `old`, as today in `today`.
fn both_forms(name: &str) -> World {
    let world = World::new(name);
    let mut s = world.session();
    for table in ["old", "today"] {
        ok(
            &mut s,
            &format!("CREATE TABLE {table} (id INT PRIMARY KEY, j JSON)"),
        );
    }
    let texts: Vec<(i64, &[u8])> = (0..)
        .zip(DOCUMENTS)
        .map(|(id, (text, _))| (id, text.as_bytes()))
        .collect();
    world.store("old", &texts);
    for (id, (_, made)) in DOCUMENTS.iter().enumerate() {
        ok(&mut s, &format!("INSERT INTO today VALUES ({id}, {made})"));
    }
    world
}

fn same(session: &mut Session, statement: &str) {
    let of = |session: &mut Session, table: &str| match run(session, &statement.replace("{t}", table)) {
        Ok(text) => (text.lines, text.warnings),
        Err(error) => (vec![format!("{} {}", error.code, error.message)], 0),
    };
    let (old, today) = (of(session, "old"), of(session, "today"));
    assert_eq!(old, today, "{statement}");
}

#[test]
fn they_are_read_as_those_of_today() {
    let mut world = both_forms("old_documents");
    let mut s = world.session();
    for statement in READS {
        same(&mut s, statement);
    }
    let sum = |s: &mut Session, table: &str| {
        let line = ok(s, &format!("CHECKSUM TABLE {table}")).concat();
        line.rsplit('|').next().unwrap().to_owned()
    };
    assert_eq!(sum(&mut s, "old"), sum(&mut s, "today"));
    // What is equal is not changed.
    assert_eq!(
        ok(
            &mut s,
            "UPDATE old SET j = (SELECT j FROM today WHERE today.id = old.id)"
        ),
        ["ok 0 Rows matched: 12  Changed: 0  Warnings: 0"]
    );
    for change in CHANGES {
        same(&mut s, change);
        READS.iter().for_each(|statement| same(&mut s, statement));
    }
    assert_eq!(sum(&mut s, "old"), sum(&mut s, "today"));
    drop(s);
    world.restart();
    let mut s = world.session();
    READS.iter().for_each(|statement| same(&mut s, statement));
}

#[test]
fn a_copied_table_has_the_form_of_today() {
    let world = both_forms("copied_documents");
    let mut s = world.session();
    let first_bytes = |world: &World| {
        let id = world.database().dictionary().table("d", "old").unwrap().id;
        let table = world.database().engine().table(id).unwrap();
        let mut found = Vec::new();
        let all = tidemark_engine::KeyRange::all();
        let read = world.database().engine().write(|txn| {
            let mut see = |row: &tidemark_engine::RowView| {
                found.push(row.get(1).as_bytes().unwrap()[0]);
                Ok((tidemark_engine::Keep::Locked, tidemark_engine::Flow::Continue))
            };
            let scan = tidemark_engine::RangeScan::new(0, &all);
            table.scan(txn, &scan, tidemark_engine::Read::Consistent, &mut see)
        });
        read.unwrap();
        found
    };
    let is_text = |byte: &u8| *byte < 0x80;
    assert!(first_bytes(&world).iter().all(is_text));
    ok(&mut s, "UPDATE old SET j = JSON_ARRAY(j) WHERE id = 0");
    assert_eq!(
        first_bytes(&world).iter().filter(|byte| is_text(byte)).count(),
        DOCUMENTS.len() - 1
    );
    ok(&mut s, "ALTER TABLE old ADD COLUMN n INT, ALGORITHM = COPY");
    assert!(!first_bytes(&world).iter().any(is_text));
}

#[test]
fn damaged_documents_are_refused_by_name() {
    let world = World::new("damaged_documents");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, j JSON)");
    world.store("t", &[(1, &[0x94, 1, 9]), (2, b"{\"a\": "), (3, &[0xFE])]);
    for id in [1, 3] {
        for read in [
            "j",
            "j->'$.a'",
            "j->>'$'",
            "JSON_LENGTH(j)",
            "JSON_SET(j, '$.a', 1)",
            "CONCAT(j)",
            "CAST(j AS CHAR)",
            "j = 1",
            "j + 1",
            "j LIKE 'x'",
            "@v := j",
            "GROUP_CONCAT(j)",
        ] {
            assert_eq!(
                fails(&mut s, &format!("SELECT {read} FROM t WHERE id = {id}")),
                3142,
                "{read}, {id}"
            );
        }
        assert_eq!(
            fails(
                &mut s,
                &format!("SELECT id FROM t WHERE id = {id} OR id = 9 ORDER BY j")
            ),
            3142
        );
        assert_eq!(
            fails(
                &mut s,
                &format!("CREATE TABLE c{id} SELECT CAST(j AS CHAR) AS c FROM t WHERE id = {id}")
            ),
            3142
        );
    }
    // A text is sent as it is.
    assert_eq!(ok(&mut s, "SELECT j FROM t WHERE id = 2"), ["{\"a\": "]);
    assert_eq!(fails(&mut s, "SELECT j->'$.a' FROM t WHERE id = 2"), 3142);
    assert_eq!(
        fails(
            &mut s,
            "ALTER TABLE t ADD COLUMN n INT AS (JSON_LENGTH(j)) STORED"
        ),
        3142
    );
    assert_eq!(ok(&mut s, "SELECT COUNT(*), COUNT(j) FROM t"), ["3|3"]);
}
