//! The checks of `expected.json` through the `mysql` crate.

use mysql::prelude::Queryable;
use mysql::{Conn, Error, IsolationLevel, Opts, OptsBuilder, Params, Row, TxOpts, Value};
use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;

type Outcome = Result<(), String>;

struct Column {
    name: String,
    definition: String,
    kind: String,
    values: Vec<Option<String>>,
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn options(user: &str, password: &str) -> Opts {
    OptsBuilder::new()
        .ip_or_hostname(Some(env("DB_HOST")))
        .tcp_port(env("DB_PORT").parse().expect("a port"))
        .prefer_socket(false)
        .user(Some(user))
        .pass((!password.is_empty()).then_some(password))
        .db_name(Some("drivers"))
        .into()
}

fn connect() -> Conn {
    Conn::new(options(&env("DB_USER"), "")).expect("a connection")
}

fn check(name: &str, outcome: Outcome) {
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(why) => println!("FAILED {name}: {}", why.replace('\n', " ")),
    }
}

fn said<T>(result: mysql::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn equal<T: PartialEq + std::fmt::Debug>(seen: T, expected: T, what: &str) -> Outcome {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("{what} expected {expected:?}, saw {seen:?}"))
    }
}

fn fails<T>(code: u16, state: &str, result: mysql::Result<T>) -> Outcome {
    match result {
        Err(Error::MySqlError(error)) => {
            equal((error.code, error.state.as_str()), (code, state), &error.message)
        }
        Err(other) => Err(format!("expected error {code}, saw {other}")),
        Ok(_) => Err(format!("no error {code}")),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex"))
        .collect()
}

/// The numbers in a date or time, in order; fractions as microseconds.
fn numbers(text: &str) -> Vec<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts: Vec<u32> = whole
        .split([' ', '-', ':'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().expect("a number"))
        .collect();
    parts.push(format!("{fraction:0<6}").parse().expect("microseconds"));
    parts
}

fn parameter(column: &Column, text: &Option<String>) -> Value {
    let Some(text) = text else { return Value::NULL };
    match column.kind.as_str() {
        "int" | "year" => Value::Int(text.parse().expect("an integer")),
        "uint" => Value::UInt(text.parse().expect("an unsigned integer")),
        "double" => Value::Double(text.parse().expect("a float")),
        "binary" => Value::Bytes(from_hex(text)),
        "date" => {
            let n = numbers(text);
            Value::Date(n[0] as u16, n[1] as u8, n[2] as u8, 0, 0, 0, 0)
        }
        "datetime" => {
            let n = numbers(text);
            Value::Date(
                n[0] as u16,
                n[1] as u8,
                n[2] as u8,
                n[3] as u8,
                n[4] as u8,
                n[5] as u8,
                n[6],
            )
        }
        "time" => {
            let n = numbers(text);
            Value::Time(
                text.starts_with('-'),
                n[0] / 24,
                (n[0] % 24) as u8,
                n[1] as u8,
                n[2] as u8,
                n[3],
            )
        }
        _ => Value::Bytes(text.clone().into_bytes()),
    }
}

/// What the driver gave, in the words of `expected.json`.
fn show(column: &Column, value: &Value) -> Option<String> {
    let fraction = |micros: u32| {
        let digits = column
            .definition
            .split_once('(')
            .filter(|_| column.kind.ends_with("time"))
            .and_then(|(_, rest)| rest[..1].parse::<usize>().ok());
        digits.map_or(String::new(), |digits| {
            format!(".{}", &format!("{micros:06}")[..digits])
        })
    };
    Some(match value {
        Value::NULL => return None,
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Double(v) if v.abs() >= 1e15 => format!("{v:e}").replace('e', "e+"),
        Value::Double(v) => v.to_string(),
        Value::Bytes(bytes) if column.kind == "binary" => {
            bytes.iter().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").expect("writing to a string");
                text
            })
        }
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if text == "1e300" { "1e+300".into() } else { text }
        }
        Value::Date(y, m, d, ..) if column.kind == "date" => format!("{y:04}-{m:02}-{d:02}"),
        Value::Date(y, m, d, h, i, s, us) => {
            format!("{y:04}-{m:02}-{d:02} {h:02}:{i:02}:{s:02}{}", fraction(*us))
        }
        Value::Time(negative, d, h, i, s, us) => {
            format!(
                "{}{:02}:{i:02}:{s:02}{}",
                if *negative { "-" } else { "" },
                d * 24 + u32::from(*h),
                fraction(*us)
            )
        }
    })
}

fn types(connection: &mut Conn, columns: &[Column], table: &str, binary: bool) -> Outcome {
    let definitions: Vec<String> = columns
        .iter()
        .map(|c| format!("{} {}", c.name, c.definition))
        .collect();
    said(connection.query_drop("SET time_zone = '+00:00'"))?;
    said(connection.query_drop(format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, {})",
        definitions.join(", ")
    )))?;
    let insert = said(connection.prep(format!(
        "INSERT INTO {table} VALUES (?{})",
        ", ?".repeat(columns.len())
    )))?;
    for number in 0..3 {
        let mut values = vec![Value::from(number)];
        values.extend(columns.iter().map(|c| parameter(c, &c.values[number])));
        said(connection.exec_drop(&insert, Params::Positional(values)))?;
    }
    let rows: Vec<Row> = if binary {
        said(connection.exec(format!("SELECT * FROM {table} WHERE id >= ? ORDER BY id"), (0,)))?
    } else {
        said(connection.query(format!("SELECT * FROM {table} ORDER BY id")))?
    };
    equal(rows.len(), 3, "rows:")?;
    for (number, row) in rows.iter().enumerate() {
        for (at, column) in columns.iter().enumerate() {
            let value = row.as_ref(at + 1).expect("a value for each column");
            equal(
                show(column, value),
                column.values[number].clone(),
                &format!("{} of row {number}:", column.name),
            )?;
        }
    }
    Ok(())
}

fn large(connection: &mut Conn) -> Outcome {
    let value: Vec<u8> = (0..20u32 << 20)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    said(connection.query_drop("CREATE TABLE large_rust (id INT PRIMARY KEY, b LONGBLOB)"))?;
    said(connection.exec_drop("INSERT INTO large_rust VALUES (?, ?)", (1, &value)))?;
    let by_text: Option<Vec<u8>> = said(connection.query_first("SELECT b FROM large_rust"))?;
    let by_binary: Option<Vec<u8>> =
        said(connection.exec_first("SELECT b FROM large_rust WHERE id = ?", (1,)))?;
    if by_text.as_ref() != Some(&value) || by_binary.as_ref() != Some(&value) {
        return Err("the value came back changed".into());
    }
    Ok(())
}

fn balance(connection: &mut Conn) -> Result<i64, String> {
    said(connection.query_first("SELECT balance FROM accounts WHERE id = 1"))?.ok_or("no account".into())
}

fn transactions(connection: &mut Conn) -> Outcome {
    let mut other = connect();
    for (amount, commit, after) in [(150, false, 100), (150, true, 150), (100, true, 100)] {
        let before = balance(&mut other)?;
        let mut transaction =
            said(connection.start_transaction(
                TxOpts::default().set_isolation_level(Some(IsolationLevel::ReadCommitted)),
            ))?;
        said(transaction.exec_drop("UPDATE accounts SET balance = ? WHERE id = ?", (amount, 1)))?;
        equal(balance(&mut other)?, before, "uncommitted:")?;
        said(if commit {
            transaction.commit()
        } else {
            transaction.rollback()
        })?;
        equal(balance(&mut other)?, after, "after:")?;
    }
    Ok(())
}

fn lock_timeout(connection: &mut Conn) -> Outcome {
    let mut waiter = connect();
    let mut holder = said(connection.start_transaction(TxOpts::default()))?;
    said(holder.query_drop("UPDATE accounts SET balance = 1 WHERE id = 1"))?;
    said(waiter.query_drop("SET innodb_lock_wait_timeout = 1"))?;
    let outcome = fails(
        1205,
        "HY000",
        waiter.query_drop("UPDATE accounts SET balance = 2 WHERE id = 1"),
    );
    said(holder.rollback())?;
    outcome
}

fn deadlock(connection: &mut Conn) -> Outcome {
    let mut heavy = connect();
    for statement in [
        "BEGIN",
        "INSERT INTO accounts VALUES (50, 0), (51, 0), (52, 0)",
        "UPDATE accounts SET balance = balance + 1 WHERE id = 1",
    ] {
        said(heavy.query_drop(statement))?;
    }
    said(connection.query_drop("BEGIN"))?;
    said(connection.query_drop("UPDATE accounts SET balance = balance + 1 WHERE id = 2"))?;
    let (woken, survivor) = mpsc::channel();
    std::thread::spawn(move || {
        let result = heavy
            .query_drop("UPDATE accounts SET balance = balance + 1 WHERE id = 2")
            .and_then(|()| heavy.query_drop("ROLLBACK"));
        woken.send(result).expect("somebody listens");
    });
    std::thread::sleep(Duration::from_millis(500));
    fails(
        1213,
        "40001",
        connection.query_drop("UPDATE accounts SET balance = balance + 1 WHERE id = 1"),
    )?;
    said(
        survivor
            .recv_timeout(Duration::from_secs(10))
            .map_err(|_| "the survivor still waits")?,
    )
}

fn multi(connection: &mut Conn) -> Outcome {
    let mut results =
        said(connection.query_iter("SELECT 1; UPDATE accounts SET balance = balance; SELECT 'last'"))?;
    let mut seen = Vec::new();
    while let Some(result) = results.iter() {
        let affected = result.affected_rows();
        let rows: Vec<String> = said(
            result
                .map(|row| row.map(|row| mysql::from_row::<String>(row)))
                .collect(),
        )?;
        seen.push(format!("{affected} {rows:?}"));
    }
    equal(
        seen,
        vec!["0 [\"1\"]".into(), "0 []".into(), "0 [\"last\"]".into()],
        "results:",
    )
}

fn ids(connection: &mut Conn) -> Outcome {
    said(connection.query_drop("CREATE TABLE ids_rust (id INT AUTO_INCREMENT PRIMARY KEY, v INT)"))?;
    for (sql, rows, id) in [
        ("INSERT INTO ids_rust (v) VALUES (?), (2), (3)", 3, 1),
        ("INSERT INTO ids_rust (v) VALUES (?)", 1, 4),
        ("UPDATE ids_rust SET v = 3 WHERE id >= 3 AND ? = 1", 1, 0),
        ("DELETE FROM ids_rust WHERE id < 3 AND ? = 1", 2, 0),
    ] {
        said(connection.exec_drop(sql, (1,)))?;
        equal(
            (connection.affected_rows(), connection.last_insert_id()),
            (rows, id),
            sql,
        )?;
    }
    Ok(())
}

/// One prepared statement many times, long data in pieces, and a reset of the connection.
fn statements(connection: &mut Conn) -> Outcome {
    let statement = said(connection.prep("SELECT ? + 1, ?, ?"))?;
    for n in 0..100i64 {
        let row: Option<(i64, String, Option<String>)> =
            said(connection.exec_first(&statement, (n, format!("text {n}"), Value::NULL)))?;
        equal(row, Some((n + 1, format!("text {n}"), None)), "row:")?;
    }
    said(connection.close(statement))?;
    said(connection.query_drop("SET @kept = 1"))?;
    said(connection.reset())?;
    let kept: Option<Option<i64>> = said(connection.query_first("SELECT @kept"))?;
    equal(kept, Some(None), "after a reset:")?;
    said(connection.ping())
}

fn accounts() {
    for plugin in env("DB_PLUGINS").split_whitespace() {
        let user = format!("drv_{}", plugin.split('_').next().expect("a name"));
        let outcome = (0..2).try_for_each(|_| {
            let mut connection = said(Conn::new(options(&user, &env("DB_PASSWORD"))))?;
            let who: Option<String> = said(connection.query_first("SELECT CURRENT_USER()"))?;
            equal(who, Some(format!("{user}@%")), "user:")
        });
        check(&format!("connect_{plugin}"), outcome);
        check(
            &format!("wrong_password_{plugin}"),
            fails(1045, "28000", Conn::new(options(&user, "wrong"))),
        );
    }
}

fn main() {
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(env("EXPECTED")).expect("expected.json")).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_string();
    let columns: Vec<Column> = expected["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|c| Column {
            name: text(&c["name"]),
            definition: text(&c["type"]),
            kind: text(&c["kind"]),
            values: c["values"]
                .as_array()
                .expect("values")
                .iter()
                .map(|v| v.as_str().map(str::to_string))
                .collect(),
        })
        .collect();
    accounts();
    let mut connection = connect();
    check(
        "types_text",
        types(&mut connection, &columns, "types_rust_text", false),
    );
    check(
        "types_binary",
        types(&mut connection, &columns, "types_rust_binary", true),
    );
    check("large_value", large(&mut connection));
    check("prepared_again_and_again", statements(&mut connection));
    check("transactions", transactions(&mut connection));
    for error in expected["errors"].as_array().expect("errors") {
        let code = error["code"].as_u64().expect("a number") as u16;
        check(
            &format!("error_{}", text(&error["name"])),
            fails(
                code,
                &text(&error["state"]),
                connection.query_drop(text(&error["sql"])),
            ),
        );
    }
    check("error_lock_timeout", lock_timeout(&mut connection));
    check("error_deadlock", deadlock(&mut connection));
    check("multi_statements", multi(&mut connection));
    check("affected_rows_and_ids", ids(&mut connection));
}
