//! Changes of definitions. A [`Ddl`] is a transaction on the catalog: all of it happens at [`Ddl::commit`], or, if it is
//! dropped or the machine stops, none of it. The trees of dropped tables are freed in the background.
//!
//! The caller sees to it that nobody uses the tables it changes (meta data locks are the SQL floor's).

use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::table::{IndexNo, IndexSchema, RowBuf, RowView, Table, TableSchema};
use crate::transaction::Interrupt;
use std::sync::Arc;

pub struct Ddl {}

impl Ddl {
    /// Long steps (building an index, copying rows) end early when this is killed.
    pub fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        let _ = interrupt;
    }

    pub fn create_table(&mut self, schema: &TableSchema) -> Result<TableId> {
        let _ = schema;
        Err(Error::Unsupported("create_table"))
    }

    pub fn drop_table(&mut self, table: TableId) -> Result<()> {
        let _ = table;
        Err(Error::Unsupported("drop_table"))
    }

    /// Builds the index over the rows there are; it becomes the table's last. [`Error::DuplicateKey`] if it is unique
    /// and the rows are not.
    pub fn add_index(&mut self, table: TableId, index: &IndexSchema) -> Result<()> {
        let _ = (table, index);
        Err(Error::Unsupported("add_index"))
    }

    /// The indexes after it move up by one.
    pub fn drop_index(&mut self, table: TableId, index: IndexNo) -> Result<()> {
        let _ = (table, index);
        Err(Error::Unsupported("drop_index"))
    }

    /// Fills a table created here with the rows of another. `f` sets the new row's columns, which start out NULL.
    pub fn copy_rows(
        &mut self,
        from: TableId,
        to: TableId,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<()>,
    ) -> Result<u64> {
        let _ = (from, to, f);
        Err(Error::Unsupported("copy_rows"))
    }

    /// A new, empty table of the same definition takes the old one's place; its id is returned.
    pub fn truncate(&mut self, table: TableId) -> Result<TableId> {
        let _ = table;
        Err(Error::Unsupported("truncate"))
    }

    /// The table as this DDL has it, for tables created or changed in it.
    pub fn table(&self, table: TableId) -> Result<Arc<Table>> {
        let _ = table;
        Err(Error::NoSuchTable)
    }

    pub fn put_meta(&mut self, space: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (space, key, value);
        Err(Error::Unsupported("put_meta"))
    }

    pub fn delete_meta(&mut self, space: &str, key: &[u8]) -> Result<()> {
        let _ = (space, key);
        Err(Error::Unsupported("delete_meta"))
    }

    /// Meta data as this DDL has it.
    pub fn meta_get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = (space, key);
        Ok(None)
    }

    pub fn commit(self) -> Result<()> {
        Err(Error::Unsupported("commit"))
    }
}
