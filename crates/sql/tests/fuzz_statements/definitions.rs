//! Definitions of tables and views as dumps write them, made by a grammar, so that most of them are accepted: what a name, a type, a
//! default, a key or an expression may be, and which of them go together. Each is written as it is shown, or nearly so.

use std::fmt::Write;
use tidemark_testing::Random;

/// Columns that a table has at most.
const COLUMNS_MAX: usize = 9;

/// What other tables and views refer to.
pub const PARENT: &str = "CREATE TABLE `parent` (`id` int NOT NULL, `code` varchar(20) NOT NULL, `n` decimal(8,2) DEFAULT NULL, PRIMARY KEY (`id`), \
    UNIQUE KEY `code` (`code`))";

/// Names that must be quoted, and some that need not be.
const NAMES: [&str; 12] = [
    "a", "B", "select", "a b", "ü", "x``y", "it's", "1st", "$", "a.b", "key", "日本",
];
const COMMENTS: [&str; 5] = ["", "it''s", "a \\\\ b", "ü \\n", "/* */ -- #"];
/// With their collations.
const CHARSETS: [(&str, &str); 8] = [
    ("utf8mb4", "utf8mb4_0900_ai_ci"),
    ("utf8mb4", "utf8mb4_bin"),
    ("utf8mb4", "utf8mb4_general_ci"),
    ("utf8mb3", "utf8mb3_general_ci"),
    ("latin1", "latin1_swedish_ci"),
    ("latin1", "latin1_bin"),
    ("ascii", "ascii_general_ci"),
    ("binary", "binary"),
];

/// What can be done with a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Number,
    Text,
    /// TEXT, BLOB: no default but an expression, and keys have a prefix of them.
    Long,
    Bytes,
    Time,
    Members,
    Json,
}

/// A column as others of its table see it.
struct Column {
    /// In quotes.
    name: String,
    kind: Kind,
    is_null: bool,
    is_generated: bool,
}

/// The definition of a table or a view `made`.
pub fn definition(random: &mut Random) -> Vec<u8> {
    let text = match random.one_in(5) {
        true => view(random),
        false => table(random),
    };
    text.into_bytes()
}

fn name(random: &mut Random, number: usize) -> String {
    format!("`{}{number}`", random.choice(&NAMES))
}

fn table(random: &mut Random) -> String {
    let mut parts = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    for number in 0..1 + random.below(COLUMNS_MAX) {
        let (column, text) = match columns.is_empty() || !random.one_in(5) {
            true => plain_column(random, number),
            false => generated_column(random, number, &columns),
        };
        columns.push(column);
        parts.push(text);
    }
    // What counts, and what refers to another table, has a column of its own, on which no expression may be.
    let mut options = String::from("ENGINE=InnoDB");
    match random.below(3) {
        0 => {
            parts.push(format!("  `counts` {} NOT NULL AUTO_INCREMENT", integer(random)));
            parts.push("  PRIMARY KEY (`counts`)".to_owned());
            write!(options, " AUTO_INCREMENT={}", 1 + random.below(90)).expect("a string takes all");
        }
        1 => parts.extend(key(random, "PRIMARY KEY", &columns, true)),
        _ => {}
    }
    for number in 0..random.below(4) {
        let unique = ["", "UNIQUE "][random.below(2)];
        let begin = format!("{unique}KEY {}", name(random, number + 20));
        parts.extend(key(random, &begin, &columns, false));
    }
    if random.one_in(3) {
        parts.extend(foreign_key(random));
    }
    for number in 0..random.below(3) {
        let of = random.choice(&columns);
        let enforced = ["", "", " /*!80016 NOT ENFORCED */"][random.below(3)];
        parts.push(format!(
            "  CONSTRAINT {} CHECK ({}){enforced}",
            name(random, number + 40),
            condition(random, of)
        ));
    }
    let (charset, collation) = random.choice(&CHARSETS[..4]);
    write!(
        options,
        " DEFAULT CHARSET={charset} COLLATE={collation}{}",
        comment(random, "=")
    )
    .expect("a string takes all");
    format!("CREATE TABLE `made` (\n{}\n) {options}", parts.join(",\n"))
}

fn comment(random: &mut Random, equals: &str) -> String {
    match *random.choice(&COMMENTS) {
        "" => String::new(),
        text => format!(" COMMENT{}'{text}'", if equals.is_empty() { " " } else { equals }),
    }
}

fn integer(random: &mut Random) -> String {
    let ty = random.choice(&["tinyint", "smallint", "mediumint", "int", "bigint"]);
    format!("{ty}{}", random.choice(&["", "", " unsigned"]))
}

/// A type, what it is, and defaults that it may have.
fn typed(random: &mut Random) -> (String, Kind, Vec<String>) {
    let few = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let fraction = random.below(7);
    let fraction = if fraction == 0 {
        String::new()
    } else {
        format!("({fraction})")
    };
    let set = match random.one_in(2) {
        true => String::new(),
        false => {
            let (charset, collation) = random.choice(&CHARSETS[..7]);
            format!(" CHARACTER SET {charset} COLLATE {collation}")
        }
    };
    match random.below(16) {
        0..4 => (integer(random), Kind::Int, few(&["'0'", "'7'", "((1 + 2))"])),
        4 => {
            let digits = 1 + random.below(30);
            let scale = random.below(digits.min(8));
            (
                format!("decimal({digits},{scale})"),
                Kind::Number,
                few(&["'0'", "(pi())"]),
            )
        }
        5 => (
            random.choice(&["float", "double"]).to_string(),
            Kind::Number,
            few(&["'0'", "'1.5'", "'-1e10'"]),
        ),
        6 => (
            format!("bit({})", 1 + random.below(64)),
            Kind::Int,
            few(&["b'0'", "b'1'"]),
        ),
        7 => (
            "date".to_owned(),
            Kind::Time,
            few(&["'2024-02-29'", "(curdate())"]),
        ),
        8 => (
            format!("time{fraction}"),
            Kind::Time,
            few(&["'-10:00:00'", "'00:00:00'"]),
        ),
        9 => {
            let now = format!("CURRENT_TIMESTAMP{fraction}");
            let ty = random.choice(&["timestamp", "datetime"]);
            let defaults = vec![
                "'2001-01-01 00:00:01'".to_owned(),
                now.clone(),
                format!("{now} ON UPDATE {now}"),
            ];
            (format!("{ty}{fraction}"), Kind::Time, defaults)
        }
        10 => ("year".to_owned(), Kind::Time, few(&["'2024'"])),
        11 => {
            let ty = random.choice(&["char", "varchar"]);
            (
                format!("{ty}({}){set}", 1 + random.below(60)),
                Kind::Text,
                few(&["'a'", "''", "(_utf8mb4'b')"]),
            )
        }
        12 => {
            let ty = random.choice(&["tinytext", "text", "mediumtext", "longtext"]);
            (format!("{ty}{set}"), Kind::Long, few(&["(_utf8mb4'abc')"]))
        }
        13 => {
            let ty = random.choice(&["binary", "varbinary"]);
            (
                format!("{ty}({})", 2 + random.below(20)),
                Kind::Bytes,
                few(&["0x61", "'a'"]),
            )
        }
        14 => {
            let ty = random.choice(&["enum", "set"]);
            (
                format!("{ty}('a','b''c','D'){set}"),
                Kind::Members,
                few(&["'a'", "'b''c'"]),
            )
        }
        _ => match random.one_in(2) {
            true => ("json".to_owned(), Kind::Json, few(&["(json_array())"])),
            false => (
                random.choice(&["tinyblob", "blob", "longblob"]).to_string(),
                Kind::Long,
                Vec::new(),
            ),
        },
    }
}

fn plain_column(random: &mut Random, number: usize) -> (Column, String) {
    let name = name(random, number);
    let (ty, kind, defaults) = typed(random);
    let is_null = !random.one_in(3);
    let mut text = format!("  {name} {ty}{}", if is_null { "" } else { " NOT NULL" });
    if !defaults.is_empty() && random.one_in(2) {
        write!(text, " DEFAULT {}", random.choice(&defaults)).expect("a string takes all");
    } else if is_null && random.one_in(2) && kind != Kind::Long {
        text.push_str(" DEFAULT NULL");
    }
    text.push_str(&comment(random, ""));
    // Not the first: a table has a column that shows.
    if number > 0 && random.one_in(8) {
        text.push_str(" /*!80023 INVISIBLE */");
    }
    let column = Column {
        name,
        kind,
        is_null,
        is_generated: false,
    };
    (column, text)
}

fn generated_column(random: &mut Random, number: usize, before: &[Column]) -> (Column, String) {
    let name = name(random, number);
    let of = random.choice(before);
    let (ty, kind, expression) = computed(random, of);
    let stored = random.choice(&["VIRTUAL", "STORED"]);
    let null = random.choice(&["", "", " NOT NULL"]);
    let text = format!(
        "  {name} {ty} GENERATED ALWAYS AS ({expression}) {stored}{null}{}",
        comment(random, "")
    );
    let column = Column {
        name,
        kind,
        is_null: null.is_empty(),
        is_generated: true,
    };
    (column, text)
}

/// An expression on a column, and its type.
fn computed(random: &mut Random, of: &Column) -> (&'static str, Kind, String) {
    let c = &of.name;
    let of_any = [
        ("int", Kind::Int, format!("({c} is null)")),
        ("varchar(50)", Kind::Text, format!("coalesce({c},_utf8mb4'none')")),
        (
            "varchar(10)",
            Kind::Text,
            format!("(case when ({c} is null) then _utf8mb4'-' else _utf8mb4'+' end)"),
        ),
    ];
    let own = match of.kind {
        Kind::Int => vec![
            ("bigint", Kind::Int, format!("({c} + 1)")),
            ("int", Kind::Int, format!("if(({c} > 3),1,-(1))")),
            ("bigint", Kind::Int, format!("({c} % 7)")),
            (
                "varchar(30)",
                Kind::Text,
                format!("cast({c} as char charset utf8mb4)"),
            ),
        ],
        Kind::Number => vec![
            ("decimal(20,4)", Kind::Number, format!("round(({c} * 2),1)")),
            ("double", Kind::Number, format!("sqrt(abs({c}))")),
            ("int", Kind::Int, format!("({c} between 1 and 2)")),
        ],
        Kind::Text | Kind::Long | Kind::Bytes | Kind::Members => vec![
            ("varchar(200)", Kind::Text, format!("concat({c},_utf8mb4'-')")),
            ("int", Kind::Int, format!("length({c})")),
            ("varchar(20)", Kind::Text, format!("left({c},3)")),
            ("int", Kind::Int, format!("({c} in (_utf8mb4'a',_utf8mb4'b'))")),
            ("int", Kind::Int, format!("({c} like _utf8mb4'a%')")),
        ],
        Kind::Time => vec![
            ("varchar(40)", Kind::Text, format!("concat(_utf8mb4'at ',{c})")),
            (
                "varchar(40)",
                Kind::Text,
                format!("cast({c} as char charset latin1)"),
            ),
        ],
        Kind::Json => vec![
            (
                "varchar(30)",
                Kind::Text,
                format!("json_unquote(json_extract({c},_utf8mb4'$.a'))"),
            ),
            ("json", Kind::Json, format!("json_extract({c},_utf8mb4'$[0]')")),
            ("int", Kind::Int, format!("json_length({c})")),
        ],
    };
    match random.one_in(4) {
        true => of_any[random.below(of_any.len())].clone(),
        false => own[random.below(own.len())].clone(),
    }
}

fn condition(random: &mut Random, of: &Column) -> String {
    let c = &of.name;
    let conditions = match of.kind {
        Kind::Int | Kind::Number => vec![
            format!("({c} > 0)"),
            format!("({c} <> 5)"),
            format!("(({c} >= 1) and ({c} < 1000))"),
        ],
        Kind::Time => vec![
            format!("({c} is not null)"),
            format!("({c} <> _utf8mb4'2020-01-01')"),
        ],
        Kind::Json => vec![format!("json_valid({c})")],
        Kind::Text => vec![
            format!("regexp_like({c},_utf8mb4'^[a-z]')"),
            format!("({c} <> _utf8mb4'')"),
        ],
        _ => vec![format!("(length({c}) < 40)"), format!("({c} is not null)")],
    };
    random.choice(&conditions).clone()
}

/// A key of one to three columns, if there are any that can be in it.
fn key(random: &mut Random, begin: &str, columns: &[Column], is_primary: bool) -> Option<String> {
    let fits = |column: &&Column| {
        column.kind != Kind::Json && !(is_primary && (column.is_null || column.is_generated))
    };
    let mut able: Vec<&Column> = columns.iter().filter(fits).collect();
    let mut parts = Vec::new();
    for _ in 0..1 + random.below(3) {
        if able.is_empty() {
            break;
        }
        let column = able.swap_remove(random.below(able.len()));
        let prefix = match column.kind {
            Kind::Long => format!("({})", 1 + random.below(20)),
            _ => String::new(),
        };
        let order = random.choice(&["", "", " DESC"]);
        let is_expression = !is_primary && column.kind != Kind::Long && random.one_in(6);
        parts.push(match is_expression {
            true => format!("({}){order}", computed(random, column).2),
            false => format!("{}{prefix}{order}", column.name),
        });
    }
    if let Some(json) = columns
        .iter()
        .find(|column| column.kind == Kind::Json && !column.is_generated)
        && !is_primary
        && random.one_in(2)
    {
        parts.push(format!("(cast({} as unsigned array))", json.name));
    }
    if parts.is_empty() {
        return None;
    }
    let invisible = if !is_primary && random.one_in(6) {
        " /*!80000 INVISIBLE */"
    } else {
        ""
    };
    let using = random.choice(&["", "", " USING BTREE"]);
    Some(format!(
        "  {begin} ({}){using}{}{invisible}",
        parts.join(","),
        comment(random, "")
    ))
}

/// A foreign key and its column.
fn foreign_key(random: &mut Random) -> [String; 2] {
    let actions = ["", "CASCADE", "RESTRICT", "NO ACTION", "SET NULL"];
    let null = random.choice(&["", " NOT NULL"]);
    let of = if null.is_empty() {
        &actions[..]
    } else {
        &actions[..4]
    };
    let mut text = format!(
        "  CONSTRAINT {} FOREIGN KEY (`refers`) REFERENCES `parent` (`id`)",
        name(random, 60)
    );
    for on in ["DELETE", "UPDATE"] {
        let action = random.choice(of);
        if !action.is_empty() {
            write!(text, " ON {on} {action}").expect("a string takes all");
        }
    }
    [format!("  `refers` int{null}"), text]
}

fn view(random: &mut Random) -> String {
    let algorithm = random.choice(&["UNDEFINED", "MERGE", "TEMPTABLE"]);
    let security = random.choice(&["DEFINER", "INVOKER"]);
    let columns = random.choice(&["", " (`x`,`the y`)"]);
    let value = random.choice(&[
        "count(0) AS `n`",
        "max(`parent`.`n`) AS `n`",
        "group_concat(`parent`.`code` order by `parent`.`code` DESC separator ',') AS `n`",
    ]);
    let from = random.choice(&[
        "`parent`",
        "(`parent` join `parent` `other` on((`other`.`id` = `parent`.`id`)))",
        "(`parent` left join `parent` `other` on((`other`.`code` = `parent`.`code`)))",
    ]);
    let condition = random.choice(&[
        "",
        " where (`parent`.`n` > 1.5)",
        " where (`parent`.`code` like 'a%')",
        " where (`parent`.`id` in (1,2,3))",
        " where exists(select 1 from `parent` `p` where (`p`.`id` = `parent`.`id`))",
    ]);
    let query = match random.below(4) {
        0 => format!(
            "select `parent`.`id` AS `id`,{value} from {from}{condition} group by `parent`.`id` having (count(0) > 1)"
        ),
        1 => format!(
            "select `parent`.`id` AS `id`,`parent`.`code` AS `code` from `parent`{condition} union all select 1 AS `1`,'x' AS `x`"
        ),
        2 => format!(
            "with `w` as (select `parent`.`id` AS `i` from `parent`{condition}) select `w`.`i` AS `i`,(`w`.`i` + 1) AS `j` from `w`"
        ),
        _ => {
            let check = match algorithm {
                &"TEMPTABLE" => "",
                _ => random.choice(&["", "", " WITH LOCAL CHECK OPTION", " WITH CASCADED CHECK OPTION"]),
            };
            format!(
                "select `parent`.`id` AS `id`,lower(`parent`.`code`) AS `l` from `parent`{condition}{check}"
            )
        }
    };
    format!(
        "CREATE ALGORITHM={algorithm} DEFINER=`fuzz`@`localhost` SQL SECURITY {security} VIEW `made`{columns} AS {query}"
    )
}
