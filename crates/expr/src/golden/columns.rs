//! Columns of every type in every kind of expression. The head of the table has the columns: name, type, value.

use super::*;

#[test]
fn columns_have_mysqls_answers() {
    let table = include_str!("../../testdata/columns.txt");
    let mut columns = Vec::new();
    let mut row = Vec::new();
    with_env(SqlMode::DEFAULT, |env, session| {
        for line in table.lines().take_while(|l| l.starts_with('#')) {
            let parts: Vec<&str> = line[2..].split(" | ").collect();
            let ty = type_named(parts[1]);
            row.push(stored(parts[2], &ty, env, session)?);
            columns.push((parts[0], ty));
        }
        Ok(String::new())
    });
    assert_eq!(row.len(), 28);
    let scope = scope_of(&columns);
    check(table, |expression| answer(expression, &scope, &row));
}
