//! Errors about views: what they are made of, and changes of rows through them.

use super::{SqlError, er};

impl SqlError {
    /// The query of a view names a temporary table.
    pub fn view_of_temporary(alias: &str) -> Self {
        let text = format!("View's SELECT refers to a temporary table '{alias}'");
        SqlError::new(er::VIEW_SELECT_TMPTABLE, text)
    }

    /// Error 1351: the query of a view has a variable or a parameter.
    pub fn view_of_variable() -> Self {
        SqlError::new(
            er::VIEW_SELECT_VARIABLE,
            "View's SELECT contains a variable or parameter",
        )
    }

    /// Error 1356: what a view's query names is gone, or its definer may not use it.
    pub fn view_invalid(db: &str, view: &str) -> Self {
        SqlError::new(
            er::VIEW_INVALID,
            format!(
                "View '{db}.{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack \
                 rights to use them"
            ),
        )
    }

    /// Warning 1354, in MySQL's words: a view that says ALGORITHM = MERGE has groups, DISTINCT, LIMIT or another form of query that
    /// no statement can be merged with, in MySQL neither. It is made as if it said UNDEFINED.
    pub fn view_merge_ignored() -> Self {
        SqlError::new(
            er::WARN_VIEW_MERGE,
            "View merge algorithm can't be used here for now (assumed undefined algorithm)",
        )
    }

    /// Error 1288: rows of it cannot be changed. The verb is UPDATE, DELETE, …
    pub fn non_updatable(table: &str, verb: &str) -> Self {
        SqlError::new(
            er::NON_UPDATABLE_TABLE,
            format!("The target table {table} of the {verb} is not updatable"),
        )
    }

    /// Error 1471: rows cannot be inserted into it.
    pub fn not_insertable(table: &str) -> Self {
        SqlError::new(
            er::NON_INSERTABLE_TABLE,
            format!("The target table {table} of the INSERT is not insertable-into"),
        )
    }

    /// Error 1348: a column of a view that is computed.
    pub fn column_not_updatable(column: &str) -> Self {
        SqlError::new(
            er::NONUPDATEABLE_COLUMN,
            format!("Column '{column}' is not updatable"),
        )
    }

    /// Error 1369: a row would not be seen through the view that it goes in through.
    pub fn view_check_failed(db: &str, view: &str) -> Self {
        SqlError::new(
            er::VIEW_CHECK_FAILED,
            format!("CHECK OPTION failed '{db}.{view}'"),
        )
    }

    /// Error 1393: columns of several tables of a view.
    pub fn view_of_several_tables(db: &str, view: &str) -> Self {
        SqlError::new(
            er::VIEW_MULTIUPDATE,
            format!("Can not modify more than one base table through a join view '{db}.{view}'"),
        )
    }

    /// Error 1394: INSERT into a view of several tables names no columns.
    pub fn view_needs_columns(db: &str, view: &str) -> Self {
        SqlError::new(
            er::VIEW_NO_INSERT_FIELD_LIST,
            format!("Can not insert into join view '{db}.{view}' without fields list"),
        )
    }

    /// Error 1395: DELETE or REPLACE through a view of several tables.
    pub fn no_delete_from_join_view(db: &str, view: &str) -> Self {
        SqlError::new(
            er::VIEW_DELETE_MERGE_VIEW,
            format!("Can not delete from join view '{db}.{view}'"),
        )
    }

    /// Error 1423: INSERT into a view gives no value to a column of its table that has no default.
    pub fn no_default_in_view(db: &str, view: &str) -> Self {
        SqlError::new(
            er::NO_DEFAULT_FOR_VIEW_FIELD,
            format!("Field of view '{db}.{view}' underlying table doesn't have a default value"),
        )
    }

    /// Error 1443: the table that changes, or a view of it, is read beside.
    pub fn view_prevents(view: &str, verb: &str, table: &str) -> Self {
        SqlError::new(
            er::VIEW_PREVENT_UPDATE,
            format!("The definition of table '{view}' prevents operation {verb} on table '{table}'."),
        )
    }

    /// Note 1355: LIMIT, and a view that does not have all columns of any key.
    pub fn view_without_key() -> Self {
        SqlError::new(
            er::WARN_VIEW_WITHOUT_KEY,
            "View being updated does not have complete key of underlying table in it",
        )
    }

    /// Error 3059: the row that REPLACE would delete is not seen through the view.
    pub fn replace_of_unseen_row() -> Self {
        SqlError::new(
            er::REPLACE_INACCESSIBLE_ROWS,
            "REPLACE cannot be executed as it requires deleting rows that are not in the view",
        )
    }
}
