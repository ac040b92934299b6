//! Values stored in columns of every type. A line has what strict mode does, and after a bar what `sql_mode = ''` does
//! where that differs. Warnings have their level before their number.

use super::*;
use tidemark_types::WarningLevel;

fn assigned(expression: &str, ty: &SqlType, mode: SqlMode) -> String {
    let (session, warnings, zone) = (TestSession::default(), Warnings::default(), TimeZone::UTC);
    let mut env = Env::new(&session, &NoSubqueries, &warnings, &zone);
    env.now_micros = 1_700_000_000_123_456;
    env.sql_mode = mode;
    env.strict = mode.strict();
    env.writes = true;
    match stored(expression, ty, &env, &session) {
        Err(e) => format!("error {} {}", e.code, e.message),
        Ok(value) => {
            let text = if value.is_null() {
                None
            } else {
                Some(display(value, ty).into_owned())
            };
            let text = shown(text.as_deref());
            let level = |level| match level {
                WarningLevel::Note => 'N',
                WarningLevel::Warning => 'W',
                WarningLevel::Error => 'E',
            };
            let codes: Vec<String> = warnings
                .to_vec()
                .iter()
                .map(|w| format!("{}{}", level(w.level), w.code))
                .collect();
            if codes.is_empty() {
                text
            } else {
                format!("{text} ! {}", codes.join(","))
            }
        }
    }
}

#[test]
fn assignments_have_mysqls_answers() {
    let table = include_str!("../../testdata/assignments.txt");
    let mut wrong = Vec::new();
    let (mut count, mut ty, mut name) = (0, SqlType::bigint(), "");
    for line in table.lines().filter(|l| !l.is_empty()) {
        if let Some(named) = line.strip_prefix("## ") {
            (ty, name) = (type_named(named), named);
            continue;
        }
        let (expression, expected) = line.split_once(" => ").expect("a line of the table");
        let (strict, loose) = (
            assigned(expression, &ty, SqlMode::DEFAULT),
            assigned(expression, &ty, SqlMode(0)),
        );
        let got = if strict == loose {
            strict
        } else {
            format!("{strict} | {loose}")
        };
        count += 1;
        if got != expected {
            wrong.push(format!(
                "{name}: {expression}\n    want {expected}\n    got  {got}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
