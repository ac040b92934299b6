//! The items of a condition, which SIGNAL can set and GET DIAGNOSTICS reads.

/// An item of a condition. The SQLSTATE is none: SIGNAL names it otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalItem {
    /// The standard or product that defines the class of the SQLSTATE.
    ClassOrigin,
    /// The one that defines its subclass.
    SubclassOrigin,
    /// The catalog of the constraint that was violated.
    ConstraintCatalog,
    /// The schema of that constraint.
    ConstraintSchema,
    /// The name of that constraint.
    ConstraintName,
    /// The catalog of the table that the condition is about.
    CatalogName,
    /// The schema of that table.
    SchemaName,
    /// The name of that table.
    TableName,
    /// The column that the condition is about.
    ColumnName,
    /// The cursor that the condition is about.
    CursorName,
    /// The text.
    MessageText,
    /// The error number.
    MysqlErrno,
}

/// The items that have a text of their own.
pub type ItemTexts = Vec<(SignalItem, String)>;

impl SignalItem {
    const NAMES: [(SignalItem, &'static str); 12] = [
        (SignalItem::ClassOrigin, "CLASS_ORIGIN"),
        (SignalItem::SubclassOrigin, "SUBCLASS_ORIGIN"),
        (SignalItem::ConstraintCatalog, "CONSTRAINT_CATALOG"),
        (SignalItem::ConstraintSchema, "CONSTRAINT_SCHEMA"),
        (SignalItem::ConstraintName, "CONSTRAINT_NAME"),
        (SignalItem::CatalogName, "CATALOG_NAME"),
        (SignalItem::SchemaName, "SCHEMA_NAME"),
        (SignalItem::TableName, "TABLE_NAME"),
        (SignalItem::ColumnName, "COLUMN_NAME"),
        (SignalItem::CursorName, "CURSOR_NAME"),
        (SignalItem::MessageText, "MESSAGE_TEXT"),
        (SignalItem::MysqlErrno, "MYSQL_ERRNO"),
    ];

    /// Returns the item of this name, in any case.
    pub fn by_name(name: &str) -> Option<SignalItem> {
        let found = Self::NAMES
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(item, _)| *item)
    }

    /// Returns its name, as error texts have it.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(item, _)| *item == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns how many characters SIGNAL may give it.
    pub fn chars_max(self) -> usize {
        match self {
            SignalItem::MessageText => 128,
            _ => 64,
        }
    }
}
