//! `USER_ATTRIBUTES`, and the tables that have what storage engines are told beside what they know: `…_EXTENSIONS`, all of it NULL, for
//! the one engine is told nothing.

use super::rows::{catalog, stored_tables, string, visible_accounts};
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

pub fn users(state: &SessionState) -> Made {
    let accounts = visible_accounts(state);
    let row = |account: &crate::accounts::Account| {
        let (user, host) = (&account.auth.user, &account.auth.host);
        let attribute = account.attribute.as_ref();
        let attribute = attribute.map_or(Value::Null, string);
        vec![string(user), string(host), attribute]
    };
    Ok(accounts.iter().map(|account| row(account)).collect())
}

pub fn schemata(state: &SessionState) -> Made {
    let names = state.database.dictionary().schema_names().into_iter();
    let listed = names.filter(|name| state.lists_database(name));
    let row = |name: String| vec![catalog(), string(name), string("")];
    Ok(listed.map(row).collect())
}

pub fn tables(state: &SessionState) -> Made {
    let row = |table: &crate::dictionary::TableDef| {
        let (schema, name) = (string(&table.schema), string(&table.name));
        vec![catalog(), schema, name, Value::Null, Value::Null]
    };
    Ok(stored_tables(state).map(|table| row(&table)).collect())
}

pub fn columns(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for (_, column) in table.named_columns() {
            if state.on_column(&table, &column.name).is_empty() {
                continue;
            }
            let names = [&table.schema, &table.name, &column.name].map(string);
            let mut row = vec![catalog()];
            row.extend(names);
            row.extend([Value::Null, Value::Null]);
            rows.push(row);
        }
    }
    Ok(rows)
}

pub fn constraints(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for index in table.indexes.iter().filter(|index| index.unique) {
            let names = [&table.schema, &index.name, &table.name].map(string);
            let mut row = vec![catalog()];
            row.extend(names);
            row.extend([Value::Null, Value::Null]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The one file that all tables share.
pub fn tablespaces(_: &SessionState) -> Made {
    Ok(vec![vec![string("innodb_system"), Value::Null]])
}
