//! Generated columns: what may stand in their expressions, and which columns those hold fast. A functional key part is one,
//! without a name.
//!
//! The value of a generated column is a function of the other columns of its row, so its expression may use nothing else: no
//! variable, no subquery, no function of time, session or chance. Of the other generated columns it may name those in front of
//! it, so that the values of a row can be computed from left to right.
//!
//! **VIRTUAL columns are stored like STORED ones.** MySQL keeps a virtual column's values in indexes only, and computes them
//! when a row is read, undone or purged. Here that would put expressions below tables: the engine derives the entries of indexes
//! from the row alone, in rollback, purge and recovery too, where there is no session to evaluate anything in. So there is one
//! form of row, computed when it is written, and what differs is what statements may do: a virtual column is no primary key and
//! has no foreign key, and values that do not fit are no error where it is added to rows that are there. The price is room, and
//! a copy of the table by ADD COLUMN.
//!
//! **A functional key part** `KEY ((a + 1))` is a virtual column behind all others, of the expression's type, whose name no
//! statement can find. It goes with its index. One that is `CAST(… AS … ARRAY)` makes the index a multi-valued one: the column holds
//! the array, of which the engine gives the row an entry for each element.

use super::DdlContext;
use super::check::{columns_of, disallowed};
use crate::dictionary::{ColumnDef, ColumnDefault, ForeignKeyDef, GeneratedColumn, IndexDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::array_out_of_place;
use crate::parse::ast::{self, Expr, IndexKind};
use crate::parse::parse_expression;
use crate::parse::print;
use crate::types::{SqlType, TypeKind};

/// Functions whose value is not the row's alone, besides those that no CHECK constraint may use; and MySQL's names for them.
const DISALLOWED: &[(&str, &str)] = &[
    ("ICU_VERSION", "icu_version()"),
    ("LOAD_FILE", "load_file"),
    ("MYSQL_QUERY_ATTRIBUTE_STRING", "mysql_query_attribute_string"),
    ("RANDOM_BYTES", "random_bytes"),
    ("SYSDATE", "sysdate"),
    ("VALIDATE_PASSWORD_STRENGTH", "validate_password_strength"),
];

/// What an expression belongs to.
#[derive(Clone, Copy)]
pub(super) enum Owner<'a> {
    /// A column of this name.
    Column(&'a str),
    /// An index of this name.
    Index(&'a str),
}

impl Owner<'_> {
    /// The clause in which an unknown column is said to stand.
    fn clause(self) -> &'static str {
        match self {
            Owner::Column(_) => "generated column function",
            Owner::Index(_) => "functional index",
        }
    }

    fn of_disallowed(self, function: Option<&str>) -> SqlError {
        match (self, function) {
            (Owner::Index(name), _) => SqlError::new(
                er::FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED,
                format!("Expression of functional index '{name}' contains a disallowed function."),
            ),
            (Owner::Column(name), None) => SqlError::new(
                er::GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED,
                format!("Expression of generated column '{name}' contains a disallowed function."),
            ),
            (Owner::Column(name), Some(function)) => SqlError::new(
                er::GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED,
                format!(
                    "Expression of generated column '{name}' contains a disallowed function: {function}."
                ),
            ),
        }
    }

    fn of_row_value(self) -> SqlError {
        match self {
            Owner::Column(name) => SqlError::new(
                er::GENERATED_COLUMN_ROW_VALUE,
                format!("Expression of generated column '{name}' cannot refer to a row value."),
            ),
            Owner::Index(name) => SqlError::new(
                er::FUNCTIONAL_INDEX_ROW_VALUE_IS_NOT_ALLOWED,
                format!("Expression of functional index '{name}' cannot refer to a row value."),
            ),
        }
    }

    fn of_auto_increment(self) -> SqlError {
        match self {
            Owner::Column(name) => SqlError::new(
                er::GENERATED_COLUMN_REF_AUTO_INC,
                format!("Generated column '{name}' cannot refer to auto-increment column."),
            ),
            Owner::Index(name) => SqlError::new(
                er::FUNCTIONAL_INDEX_REF_AUTO_INCREMENT,
                format!("Functional index '{name}' cannot refer to an auto-increment column."),
            ),
        }
    }
}

/// Refuses what does not depend on the row alone. Errors 3102, 3758, 3763, 3764, 3772, 3800 and 1235.
pub(super) fn refuse(expr: &Expr, owner: Owner) -> Result<()> {
    match expr {
        Expr::Local(_)
        | Expr::Transition { .. }
        | Expr::UserVar(_)
        | Expr::SysVar { .. }
        | Expr::AssignVar { .. } => {
            let (Owner::Column(name) | Owner::Index(name)) = owner;
            // MySQL has one text for this and for defaults.
            let text =
                format!("Default value expression of column '{name}' cannot refer user or system variables.");
            Err(SqlError::new(er::DEFAULT_VAL_GENERATED_VARIABLES, text))
        }
        Expr::InQuery { .. } | Expr::Exists(_) | Expr::Subquery(_) | Expr::Quantified { .. } => {
            Err(owner.of_disallowed(None))
        }
        Expr::Row(_) => Err(owner.of_row_value()),
        Expr::Values(_) => Err(owner.of_disallowed(Some("values"))),
        Expr::Unsupported(what) => Err(SqlError::not_supported(what)),
        Expr::Cast { ty, .. } if ty.array => Err(array_out_of_place()),
        _ => {
            if let Expr::Function(call) = expr {
                let more = || DISALLOWED.iter().find(|(name, _)| *name == call.name);
                if let Some(function) = disallowed(call).or_else(|| more().map(|(_, shown)| *shown)) {
                    return Err(owner.of_disallowed(Some(function)));
                }
            }
            expr.children()
                .into_iter()
                .try_for_each(|child| refuse(child, owner))
        }
    }
}

/// `GENERATED ALWAYS AS (…)` as it is kept. Error 1221 for what a column cannot have besides, and those of [`refuse`].
pub(super) fn column(def: &ast::ColumnDef) -> Result<Option<GeneratedColumn>> {
    let Some((expr, stored)) = &def.generated else {
        return Ok(None);
    };
    let besides = [
        (def.auto_increment, "AUTO_INCREMENT"),
        (def.default.is_some(), "DEFAULT"),
        (def.on_update.is_some(), "ON UPDATE"),
    ];
    if let Some((_, what)) = besides.iter().find(|(is_there, _)| *is_there) {
        return Err(wrong_usage(what));
    }
    refuse(expr, Owner::Column(&def.name))?;
    Ok(Some(GeneratedColumn {
        expression: print::expr(expr),
        stored: *stored,
        key_part: false,
    }))
}

/// Error 1221.
pub(super) fn wrong_usage(what: &str) -> SqlError {
    SqlError::wrong_usage(what, "generated column")
}

/// Error 3106.
pub(super) fn unsupported(action: &str) -> SqlError {
    SqlError::new(
        er::UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
        format!("'{action}' is not supported for generated columns."),
    )
}

/// Error 3108 or 3837 if one of the columns that stay is generated from this one, which goes or gets another name.
pub(super) fn hold_column(columns: &[ColumnDef], column: &str) -> Result<()> {
    for generated in columns.iter().filter_map(|column| column.generated.as_ref()) {
        let expr = parse_expression(&generated.expression)?;
        if !columns_of(&expr).iter().any(|name| names_equal(name, column)) {
            continue;
        }
        return Err(match generated.key_part {
            true => SqlError::new(
                er::DEPENDENT_BY_FUNCTIONAL_INDEX,
                format!(
                    "Column '{column}' has a functional index dependency and cannot be dropped or renamed."
                ),
            ),
            false => SqlError::new(
                er::DEPENDENT_BY_GENERATED_COLUMN,
                format!("Column '{column}' has a generated column dependency."),
            ),
        });
    }
    Ok(())
}

/// The stored generated columns that depend on these columns, be it through others.
fn stored_dependents(columns: &[ColumnDef], bases: &[usize]) -> Result<bool> {
    let mut reached: Vec<&str> = bases.iter().map(|at| columns[*at].name.as_str()).collect();
    for column in columns {
        let Some(generated) = &column.generated else {
            continue;
        };
        let expr = parse_expression(&generated.expression)?;
        let named = columns_of(&expr);
        if named
            .iter()
            .any(|name| reached.iter().any(|base| names_equal(base, name)))
        {
            if generated.stored {
                return Ok(true);
            }
            reached.push(&column.name);
        }
    }
    Ok(false)
}

/// Error 1215 if a cascade would change a column that a stored generated column depends on.
pub(super) fn check_foreign_keys(keys: &[ForeignKeyDef], columns: &[ColumnDef]) -> Result<()> {
    for key in keys {
        let changes = key.on_delete.changes_children() || key.on_update.changes_children();
        if changes && stored_dependents(columns, &key.columns)? {
            return Err(SqlError::new(
                er::CANNOT_ADD_FOREIGN,
                "Cannot add foreign key constraint",
            ));
        }
    }
    Ok(())
}

impl DdlContext<'_> {
    /// Refuses generated columns whose expressions could not be evaluated: errors 3107, 3109 and 3754, and 1054 and others that
    /// binding them gives.
    pub(super) fn check_generated(&self, columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
        for (at, column) in columns.iter().enumerate() {
            let Some(generated) = &column.generated else {
                continue;
            };
            let of_part = |index: &&IndexDef| index.parts.iter().any(|part| part.column == at);
            let owner = match indexes.iter().find(of_part) {
                Some(index) if generated.key_part => Owner::Index(&index.name),
                _ => Owner::Column(&column.name),
            };
            against_columns(columns, at, &parse_expression(&generated.expression)?, owner)?;
            self.bind_in(columns, &generated.expression, owner.clause())?;
        }
        Ok(())
    }

    /// Gives the functional key parts of an index their columns, behind all others; the part of the index names it then.
    /// `names` are those that no index may be given.
    pub(super) fn functional_parts(
        &self,
        def: &ast::IndexDef,
        columns: &mut Vec<ColumnDef>,
        names: &[&str],
    ) -> Result<ast::IndexDef> {
        let mut def = def.clone();
        if def.parts.iter().all(|part| part.expression.is_none()) {
            return Ok(def);
        }
        let refused = match def.kind {
            IndexKind::Primary => Some((
                er::FUNCTIONAL_INDEX_PRIMARY_KEY,
                "The primary key cannot be a functional index",
            )),
            IndexKind::FullText => Some((
                er::FULLTEXT_FUNCTIONAL_INDEX,
                "Fulltext functional index is not supported.",
            )),
            IndexKind::Spatial => Some((
                er::SPATIAL_FUNCTIONAL_INDEX,
                "Spatial functional index is not supported.",
            )),
            IndexKind::Unique | IndexKind::Plain => None,
        };
        if let Some((code, text)) = refused {
            return Err(SqlError::new(code, text));
        }
        if def
            .parts
            .iter()
            .any(|part| part.ordered && array_of(part.expression.as_ref()).is_some())
        {
            return Err(SqlError::wrong_usage(
                "multi-valued index",
                "explicit index order",
            ));
        }
        let index = def.name.get_or_insert_with(|| free_index_name(names)).clone();
        for (nth, part) in def.parts.iter_mut().enumerate() {
            if let Some(expr) = &part.expression {
                let column = self.key_part(expr, columns, (&index, nth))?;
                part.column.clone_from(&column.name);
                columns.push(column);
            }
        }
        let arrays = def
            .parts
            .iter()
            .filter_map(|part| array_of(part.expression.as_ref()));
        match arrays.count() {
            0 | 1 => Ok(def),
            _ => Err(SqlError::not_supported(
                "more than one multi-valued key part per index",
            )),
        }
    }

    /// Gives functional key parts the types that their expressions have by now.
    pub(super) fn retype_key_parts(&self, columns: &mut [ColumnDef]) -> Result<()> {
        for at in 0..columns.len() {
            let Some(text) = columns[at].key_part_expression() else {
                continue;
            };
            let bound = self.bind_in(columns, text, "functional index")?;
            columns[at].ty = key_part_type(width_of_cast(bound))?;
        }
        Ok(())
    }

    /// The column of a functional key part.
    fn key_part(&self, expr: &Expr, columns: &[ColumnDef], (index, nth): (&str, usize)) -> Result<ColumnDef> {
        if matches!(expr, Expr::Column(_)) {
            return Err(SqlError::new(
                er::FUNCTIONAL_INDEX_ON_FIELD,
                "Functional index on a column is not supported. Consider using a regular index instead.",
            ));
        }
        let owner = Owner::Index(index);
        refuse(array_of(Some(expr)).unwrap_or(expr), owner)?;
        let expression = print::expr(expr);
        let bound = self.bind_in(columns, &expression, owner.clause())?;
        let is_taken = |name: &str| columns.iter().any(|column| names_equal(&column.name, name));
        let name = (0..)
            .map(|n| format!("!hidden!{index}!{nth}!{n}"))
            .find(|name| !is_taken(name));
        Ok(ColumnDef {
            name: name.unwrap_or_default(),
            ty: key_part_type(width_of_cast(bound))?,
            default: None,
            on_update_now: false,
            auto_increment: false,
            invisible: true,
            explicit_collation: false,
            comment: String::new(),
            generated: Some(GeneratedColumn {
                expression,
                stored: false,
                key_part: true,
            }),
        })
    }
}

/// Errors 3107, 3109 and 3754: an expression that names a column whose value is not known before its own.
fn against_columns(columns: &[ColumnDef], at: usize, expr: &Expr, owner: Owner) -> Result<()> {
    let is_computed = |column: &ColumnDef| {
        column.generated.is_some() || matches!(column.default, Some(ColumnDefault::Expression(_)))
    };
    for used in columns_of(expr) {
        let named = |column: &ColumnDef| !column.is_key_part() && names_equal(&column.name, used);
        match columns.iter().position(named) {
            Some(position) if columns[position].auto_increment => return Err(owner.of_auto_increment()),
            Some(position) if position >= at && is_computed(&columns[position]) => {
                return Err(SqlError::new(
                    er::GENERATED_COLUMN_NON_PRIOR,
                    "Generated column can refer only to generated columns defined prior to it.",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The document of which a key part of a multi-valued index is an array.
fn array_of(part: Option<&Expr>) -> Option<&Expr> {
    match part {
        Some(Expr::Cast { expr, ty }) if ty.array => Some(expr),
        _ => None,
    }
}

/// The name of an index with a functional part that was given none.
fn free_index_name(taken: &[&str]) -> String {
    const NAME: &str = "functional_index";
    let is_free = |name: &String| !taken.iter().any(|other| names_equal(other, name));
    let numbered = (2..).map(|n| format!("{NAME}_{n}"));
    let mut names = std::iter::once(NAME.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// The type of an expression; that of a cast to a text of any length is as wide as what is cast.
fn width_of_cast(bound: crate::expr::Expr) -> SqlType {
    let mut ty = bound.ty;
    if let crate::expr::Node::Cast(of) = &bound.node
        && ty.kind == TypeKind::VarChar
        && ty.length == u32::MAX
        && let Some(width) = text_width(&of.ty)
    {
        ty.length = width;
    }
    ty
}

/// How many characters values of a type have at most as texts, where the type says it.
fn text_width(ty: &SqlType) -> Option<u32> {
    let fraction = match ty.scale {
        0 => 0,
        digits => 1 + u32::from(digits),
    };
    match ty.kind {
        _ if ty.is_integer() => Some(ty.display_length().max(20)),
        TypeKind::Decimal => Some(ty.display_length()),
        TypeKind::Date => Some(10),
        TypeKind::Time => Some(10 + fraction),
        TypeKind::DateTime | TypeKind::Timestamp => Some(19 + fraction),
        TypeKind::Char | TypeKind::VarChar => Some(ty.length),
        _ => None,
    }
}

/// The type of the column that holds the values of an expression. Errors 3753 and 3757.
fn key_part_type(mut ty: SqlType) -> Result<SqlType> {
    const CHARACTERS_MAX: u32 = 512;
    match ty.kind {
        _ if ty.array => {}
        TypeKind::Json => {
            return Err(SqlError::new(
                er::FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION,
                "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
            ));
        }
        _ if ty.is_blob_or_text() || ty.is_string() && !ty.is_member() && ty.length > CHARACTERS_MAX => {
            return Err(SqlError::new(
                er::FUNCTIONAL_INDEX_ON_LOB,
                "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using \
                 CAST.",
            ));
        }
        TypeKind::Null => {
            ty.kind = TypeKind::VarChar;
            ty.length = 1;
        }
        TypeKind::Char | TypeKind::VarChar => {
            ty.kind = TypeKind::VarChar;
            ty.unsigned = false;
        }
        // A digit stands in front of the point.
        TypeKind::Decimal if ty.length == u32::from(ty.scale) => ty.length += 1,
        _ => {}
    }
    ty.zerofill = false;
    ty.nullable = true;
    Ok(ty)
}
