//! Tests the rows that are there when a foreign key is added.
//!
//! The child's index is read in batches: values that differ from those before them are collected under the latch and then
//! looked up in the parent. Statements keep off both tables meanwhile, so what is read is what there is. A table that is
//! being altered is read as it will be.

use super::{DdlContext, foreign_key};
use crate::dictionary::{DefinitionChange, ForeignKeyDef, TableDef};
use crate::error::{Result, SqlError};
use crate::types::Value;
use std::ops::Bound;
use std::sync::Arc;
use tidemark_engine::{
    Datum, Flow, IndexNo, Isolation, Keep, KeyRange, RangeScan, Read, RowView, Table, Transaction,
};

/// Values that are looked up at a time.
const BATCH: usize = 1024;

/// A constraint with both its tables open.
struct Test<'a> {
    child: &'a TableDef,
    child_rows: Arc<Table>,
    parent: &'a TableDef,
    parent_rows: Arc<Table>,
    key: &'a ForeignKeyDef,
}

impl DdlContext<'_> {
    /// Error 1452 if a row of the table, as it is being altered, has no parent by one of these constraints; returns the
    /// number of rows.
    pub(super) fn test_foreign_keys(
        &self,
        change: &DefinitionChange<'_>,
        table: &TableDef,
        names: &[String],
    ) -> Result<u64> {
        let database = &self.state.database;
        let mut txn = database.engine().transaction();
        txn.begin(Isolation::ReadCommitted, true);
        let child_rows = change.ddl.table(table.id)?;
        let mut tested = Ok(());
        for key in table.foreign_keys.iter().filter(|key| names.contains(&key.name)) {
            let own = key.refers_to(&table.schema, &table.name);
            let parent = match own {
                true => Arc::new(table.clone()),
                false => database.dictionary().table(&key.parent_schema, &key.parent)?,
            };
            let parent_rows = match own {
                true => Arc::clone(&child_rows),
                false => database.engine().table(parent.id)?,
            };
            let test = Test {
                child: table,
                child_rows: Arc::clone(&child_rows),
                parent: &parent,
                parent_rows,
                key,
            };
            tested = tested.and_then(|()| self.test_rows(&test, &mut txn));
        }
        let rows = tested.and_then(|()| count_rows(&child_rows, &mut txn));
        txn.rollback()?;
        rows
    }

    fn test_rows(&self, test: &Test, txn: &mut Transaction) -> Result<()> {
        let Test {
            child, parent, key, ..
        } = test;
        let zone = &self.state.settings.time_zone;
        let positions = key.parent_columns.iter().map(|name| parent.column(name));
        let positions: Vec<usize> = positions.collect::<Option<_>>().unwrap_or_default();
        let (Some(index), Some(parent_index)) = (
            child.index_of_columns(&key.columns),
            parent.parent_key(&positions),
        ) else {
            return Err(foreign_key::no_parent_row(child, key));
        };
        let mut range = KeyRange::all();
        loop {
            let mut batch: Vec<Vec<Value>> = Vec::new();
            let mut collect = |row: &RowView| {
                let value = |at: &usize| child.columns[*at].ty.load(row.get(*at), zone).into_owned();
                let values: Vec<Value> = key.columns.iter().map(value).collect();
                let null = values.iter().any(Value::is_null);
                if !null && batch.last() != Some(&values) {
                    batch.push(values);
                }
                let full = batch.len() >= BATCH;
                Ok((Keep::Release, if full { Flow::Stop } else { Flow::Continue }))
            };
            let scan = RangeScan::new(index.number, &range);
            test.child_rows.scan(txn, &scan, Read::Consistent, &mut collect)?;
            for values in &batch {
                let encoded = self.encoded(
                    &test.parent_rows,
                    parent_index.number,
                    (parent, &positions),
                    values,
                )?;
                let mut found = false;
                let range = KeyRange::prefix(encoded);
                let scan = RangeScan::new(parent_index.number, &range);
                test.parent_rows.scan(txn, &scan, Read::Consistent, &mut |_| {
                    found = true;
                    Ok((Keep::Release, Flow::Stop))
                })?;
                if !found {
                    return Err(foreign_key::no_parent_row(child, key));
                }
            }
            if self.state.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
            if batch.len() < BATCH {
                return Ok(());
            }
            range.lower = Bound::Excluded(self.encoded(
                &test.child_rows,
                index.number,
                (child, &key.columns),
                &batch[BATCH - 1],
            )?);
        }
    }

    /// The key that these values of these columns begin in an index.
    fn encoded(
        &self,
        rows: &Table,
        index: IndexNo,
        (table, columns): (&TableDef, &[usize]),
        values: &[Value],
    ) -> Result<Vec<u8>> {
        let zone = &self.state.settings.time_zone;
        let types = columns.iter().map(|at| &table.columns[*at].ty);
        let mut rooms = vec![[0; 32]; values.len()];
        let data = types.zip(values).zip(&mut rooms);
        let data: Vec<Datum> = data
            .map(|((ty, value), room)| ty.store(value, zone, room))
            .collect();
        let mut encoded = Vec::new();
        rows.encode_key(index, &data, &mut encoded)?;
        Ok(encoded)
    }
}

fn count_rows(table: &Table, txn: &mut Transaction) -> Result<u64, SqlError> {
    let mut rows = 0;
    let range = KeyRange::all();
    table.scan(txn, &RangeScan::new(0, &range), Read::Consistent, &mut |_| {
        rows += 1;
        Ok((Keep::Release, Flow::Continue))
    })?;
    Ok(rows)
}
