//! The static type of a column or an expression.
//!
//! One structure serves both: a column's declared type is the type of the expression that reads it. For expressions the
//! `derivation` (MySQL's coercibility) says how strongly the collation is meant, which decides whose collation wins when
//! two texts meet.

use super::collation::Collation;
use std::fmt;
use std::sync::Arc;

/// A type without its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// The type of `NULL`.
    Null,
    /// TINYINT, BOOLEAN
    TinyInt,
    /// SMALLINT
    SmallInt,
    /// MEDIUMINT
    MediumInt,
    /// INT
    Int,
    /// BIGINT
    BigInt,
    /// FLOAT
    Float,
    /// DOUBLE
    Double,
    /// DECIMAL
    Decimal,
    /// BIT
    Bit,
    /// YEAR
    Year,
    /// DATE
    Date,
    /// TIME
    Time,
    /// DATETIME
    DateTime,
    /// TIMESTAMP
    Timestamp,
    /// CHAR, and BINARY under the binary collation.
    Char,
    /// VARCHAR, and VARBINARY under the binary collation; also the type of most text expressions.
    VarChar,
    /// TINYTEXT / TINYBLOB, and so on: BLOB is TEXT under the binary collation.
    TinyText,
    /// TEXT, BLOB
    Text,
    /// MEDIUMTEXT, MEDIUMBLOB
    MediumText,
    /// LONGTEXT, LONGBLOB
    LongText,
    /// ENUM
    Enum,
    /// SET
    Set,
    /// JSON
    Json,
}

/// MySQL's coercibility, strongest first; the numbers are what `COERCIBILITY()` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Derivation {
    /// A COLLATE clause.
    Explicit = 0,
    /// A column.
    Implicit = 2,
    /// `USER()`, `VERSION()` and their like.
    SystemConstant = 3,
    /// A literal or a parameter.
    Literal = 4,
    /// A number or a date made a text.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
    /// Two collations that do not mix: whatever it meets decides.
    None = 7,
}

/// The type of a column or an expression, with its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// Which type.
    pub kind: TypeKind,
    /// UNSIGNED
    pub unsigned: bool,
    /// ZEROFILL
    pub zerofill: bool,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Characters of a text (bytes of a binary string), digits of a DECIMAL, bits of a BIT, display width of a number.
    pub length: u32,
    /// Digits after the point of a DECIMAL, FLOAT or DOUBLE ([`SqlType::NOT_FIXED`] where these float), digits of
    /// fractional seconds.
    pub scale: u8,
    /// Of texts; `binary` for everything else.
    pub collation: Collation,
    /// How strongly the collation holds against another.
    pub derivation: Derivation,
    /// The members of an ENUM or SET.
    pub members: Option<Arc<[String]>>,
    /// An array of values of this type, which only a key part can be ([`array`](super::json::array)).
    pub array: bool,
}

impl SqlType {
    /// The scale of a FLOAT or DOUBLE without one.
    pub const NOT_FIXED: u8 = 31;

    /// A type of this kind with the length and scale MySQL assumes when none is written.
    pub fn new(kind: TypeKind) -> SqlType {
        use TypeKind::*;
        let (length, scale) = match kind {
            Null => (0, 0),
            TinyInt => (4, 0),
            SmallInt => (6, 0),
            MediumInt => (9, 0),
            Int => (11, 0),
            BigInt => (20, 0),
            Float => (12, Self::NOT_FIXED),
            Double => (22, Self::NOT_FIXED),
            Decimal => (10, 0),
            Bit => (1, 0),
            Year => (4, 0),
            Date => (10, 0),
            Time => (10, 0),
            DateTime | Timestamp => (19, 0),
            Char => (1, 0),
            VarChar => (0, 0),
            TinyText => (255, 0),
            Text => (65_535, 0),
            MediumText => (16_777_215, 0),
            LongText | Json => (u32::MAX, 0),
            Enum | Set => (0, 0),
        };
        let text = matches!(
            kind,
            Char | VarChar | TinyText | Text | MediumText | LongText | Enum | Set | Json
        );
        SqlType {
            kind,
            unsigned: matches!(kind, Bit | Year),
            zerofill: kind == Year,
            nullable: true,
            length,
            scale,
            collation: if text {
                Collation::DEFAULT
            } else {
                Collation::BINARY
            },
            derivation: if text {
                Derivation::Implicit
            } else if kind == Null {
                Derivation::Ignorable
            } else {
                Derivation::Numeric
            },
            members: None,
            array: false,
        }
    }

    /// The type of integer expressions.
    #[inline]
    pub fn bigint() -> SqlType {
        SqlType::new(TypeKind::BigInt).with_length(21)
    }

    /// BIGINT UNSIGNED
    #[inline]
    pub fn bigint_unsigned() -> SqlType {
        SqlType::bigint().unsigned()
    }

    /// The type of a comparison: an INT of width 1.
    #[inline]
    pub fn boolean() -> SqlType {
        SqlType::new(TypeKind::BigInt).with_length(1)
    }

    /// The type of floating-point expressions.
    #[inline]
    pub fn double() -> SqlType {
        SqlType::new(TypeKind::Double).with_length(23)
    }

    /// A DOUBLE with so many digits behind the point, or with any number of them ([`SqlType::NOT_FIXED`]).
    #[inline]
    pub fn double_of_scale(scale: u8) -> SqlType {
        let mut ty = SqlType::double();
        if scale < Self::NOT_FIXED {
            (ty.length, ty.scale) = (22, scale);
        }
        ty
    }

    /// Digits behind the point if it is a number that has a fixed number of them; NULL has none.
    #[inline]
    pub fn fixed_scale(&self) -> Option<u8> {
        let counts = self.is_numeric() || self.kind == TypeKind::Null;
        (counts && self.scale < Self::NOT_FIXED).then_some(self.scale)
    }

    /// DECIMAL(precision, scale)
    #[inline]
    pub fn decimal(precision: u32, scale: u8) -> SqlType {
        let mut ty = SqlType::new(TypeKind::Decimal);
        ty.length = precision;
        ty.scale = scale;
        ty
    }

    /// VARCHAR of so many characters.
    #[inline]
    pub fn varchar(length: u32, collation: Collation) -> SqlType {
        let mut ty = SqlType::new(TypeKind::VarChar).with_length(length);
        ty.collation = collation;
        ty
    }

    /// VARBINARY of so many bytes.
    #[inline]
    pub fn varbinary(length: u32) -> SqlType {
        SqlType::varchar(length, Collation::BINARY)
    }

    /// TEXT
    #[inline]
    pub fn text(collation: Collation) -> SqlType {
        let mut ty = SqlType::new(TypeKind::LongText);
        ty.collation = collation;
        ty
    }

    /// DATE
    #[inline]
    pub fn date() -> SqlType {
        SqlType::new(TypeKind::Date)
    }

    /// TIME with so many fractional digits.
    #[inline]
    pub fn time(fsp: u8) -> SqlType {
        SqlType::new(TypeKind::Time).with_fsp(fsp)
    }

    /// DATETIME with so many fractional digits.
    #[inline]
    pub fn datetime(fsp: u8) -> SqlType {
        SqlType::new(TypeKind::DateTime).with_fsp(fsp)
    }

    /// Fractional seconds widen the text by the point and the digits.
    #[inline]
    pub fn with_fsp(mut self, fsp: u8) -> SqlType {
        let base = SqlType::new(self.kind).length;
        self.scale = fsp;
        self.length = if fsp > 0 { base + 1 + fsp as u32 } else { base };
        self
    }

    /// The type with another length.
    #[inline]
    pub fn with_length(mut self, length: u32) -> SqlType {
        self.length = length;
        self
    }

    /// As the type of a literal or a parameter: its collation gives way to a column's.
    #[inline]
    pub fn literal(mut self) -> SqlType {
        if self.is_string() {
            self.derivation = Derivation::Literal;
        }
        self
    }

    /// An array of values of this type.
    pub fn array(mut self) -> SqlType {
        self.array = true;
        self
    }

    /// The type of an array's elements.
    pub fn element(&self) -> SqlType {
        SqlType {
            array: false,
            ..self.clone()
        }
    }

    /// The type, nullable or not.
    #[inline]
    pub fn with_nullable(mut self, nullable: bool) -> SqlType {
        self.nullable = nullable;
        self
    }

    /// The type with another collation.
    #[inline]
    pub fn with_collation(mut self, collation: Collation, derivation: Derivation) -> SqlType {
        self.collation = collation;
        self.derivation = derivation;
        self
    }

    /// An ENUM or SET with these members.
    pub fn with_members(mut self, members: Arc<[String]>) -> SqlType {
        let longest = members
            .iter()
            .map(|m| m.chars().count() as u32)
            .max()
            .unwrap_or(0);
        let sum: u32 = members.iter().map(|m| m.chars().count() as u32 + 1).sum();
        self.length = if self.kind == TypeKind::Set {
            sum.saturating_sub(1)
        } else {
            longest
        };
        self.members = Some(members);
        self
    }

    /// The type as UNSIGNED.
    #[inline]
    pub fn unsigned(mut self) -> SqlType {
        self.unsigned = true;
        self
    }

    /// Whether it is a whole number, BIT and YEAR included.
    #[inline]
    pub fn is_integer(&self) -> bool {
        use TypeKind::*;
        matches!(
            self.kind,
            TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Bit
        )
    }

    /// FLOAT or DOUBLE.
    #[inline]
    pub fn is_float(&self) -> bool {
        matches!(self.kind, TypeKind::Float | TypeKind::Double)
    }

    /// Whether values are numbers.
    #[inline]
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || self.kind == TypeKind::Decimal
    }

    /// DATE, DATETIME, TIMESTAMP or TIME.
    #[inline]
    pub fn is_temporal(&self) -> bool {
        use TypeKind::*;
        matches!(self.kind, Date | Time | DateTime | Timestamp)
    }

    /// DATE, DATETIME or TIMESTAMP.
    #[inline]
    pub fn has_date(&self) -> bool {
        use TypeKind::*;
        matches!(self.kind, Date | DateTime | Timestamp)
    }

    /// A character or binary string, an ENUM, a SET or JSON.
    #[inline]
    pub fn is_string(&self) -> bool {
        use TypeKind::*;
        matches!(
            self.kind,
            Char | VarChar | TinyText | Text | MediumText | LongText | Enum | Set | Json
        )
    }

    /// ENUM or SET.
    #[inline]
    pub fn is_member(&self) -> bool {
        matches!(self.kind, TypeKind::Enum | TypeKind::Set)
    }

    /// One of the BLOB and TEXT types.
    #[inline]
    pub fn is_blob_or_text(&self) -> bool {
        use TypeKind::*;
        matches!(self.kind, TinyText | Text | MediumText | LongText | Json)
    }

    /// A string of bytes rather than of characters.
    #[inline]
    pub fn is_binary_string(&self) -> bool {
        self.is_string() && self.collation == Collation::BINARY
    }

    /// The ENUM or SET members; empty for other types.
    #[inline]
    pub fn members(&self) -> &[String] {
        self.members.as_deref().unwrap_or(&[])
    }

    /// The widest value of this type in characters of its display form.
    pub fn display_length(&self) -> u32 {
        use TypeKind::*;
        match self.kind {
            Decimal => {
                let sign = !self.unsigned as u32;
                let zero = (self.scale as u32 == self.length) as u32;
                self.length + sign + (self.scale > 0) as u32 + zero
            }
            Bit => self.length.div_ceil(8),
            _ => self.length,
        }
    }
}

/// The type as a column definition writes it, without collation and nullability: `int unsigned`, `varchar(20)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TypeKind::*;
        let binary = self.collation == Collation::BINARY;
        let length = self.length;
        match self.kind {
            Null => write!(f, "null")?,
            // A display width survives only where it pads.
            TinyInt | SmallInt | MediumInt | Int | BigInt if self.zerofill => {
                let name = match self.kind {
                    TinyInt => "tinyint",
                    SmallInt => "smallint",
                    MediumInt => "mediumint",
                    Int => "int",
                    _ => "bigint",
                };
                write!(f, "{name}({length})")?;
            }
            TinyInt if length == 1 && !self.unsigned => write!(f, "tinyint(1)")?,
            TinyInt => write!(f, "tinyint")?,
            SmallInt => write!(f, "smallint")?,
            MediumInt => write!(f, "mediumint")?,
            Int => write!(f, "int")?,
            BigInt => write!(f, "bigint")?,
            Float if self.scale != Self::NOT_FIXED => write!(f, "float({length},{})", self.scale)?,
            Float => write!(f, "float")?,
            Double if self.scale != Self::NOT_FIXED => write!(f, "double({length},{})", self.scale)?,
            Double => write!(f, "double")?,
            Decimal => write!(f, "decimal({length},{})", self.scale)?,
            Bit => write!(f, "bit({length})")?,
            Year => return write!(f, "year"),
            Date => write!(f, "date")?,
            Time if self.scale > 0 => write!(f, "time({})", self.scale)?,
            Time => write!(f, "time")?,
            DateTime if self.scale > 0 => write!(f, "datetime({})", self.scale)?,
            DateTime => write!(f, "datetime")?,
            Timestamp if self.scale > 0 => write!(f, "timestamp({})", self.scale)?,
            Timestamp => write!(f, "timestamp")?,
            Char => write!(f, "{}({length})", if binary { "binary" } else { "char" })?,
            VarChar => write!(f, "{}({length})", if binary { "varbinary" } else { "varchar" })?,
            TinyText => write!(f, "{}", if binary { "tinyblob" } else { "tinytext" })?,
            Text => write!(f, "{}", if binary { "blob" } else { "text" })?,
            MediumText => write!(f, "{}", if binary { "mediumblob" } else { "mediumtext" })?,
            LongText => write!(f, "{}", if binary { "longblob" } else { "longtext" })?,
            Json => write!(f, "json")?,
            Enum | Set => {
                write!(f, "{}(", if self.kind == Enum { "enum" } else { "set" })?;
                for (i, member) in self.members().iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}'{}'", member.replace('\'', "''"))?;
                }
                write!(f, ")")?;
            }
        }
        if self.zerofill && self.is_numeric() {
            return write!(f, " unsigned zerofill");
        }
        if self.unsigned && self.kind != Bit {
            write!(f, " unsigned")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_print_as_show_create_table_does() {
        assert_eq!(SqlType::new(TypeKind::Int).unsigned().to_string(), "int unsigned");
        assert_eq!(SqlType::decimal(12, 2).to_string(), "decimal(12,2)");
        assert_eq!(SqlType::varbinary(16).to_string(), "varbinary(16)");
        assert_eq!(
            SqlType::varchar(16, Collation::DEFAULT).to_string(),
            "varchar(16)"
        );
        assert_eq!(SqlType::datetime(3).to_string(), "datetime(3)");
        let members: Arc<[String]> = vec!["a".to_string(), "it's".to_string()].into();
        assert_eq!(
            SqlType::new(TypeKind::Enum).with_members(members).to_string(),
            "enum('a','it''s')"
        );
    }
}
