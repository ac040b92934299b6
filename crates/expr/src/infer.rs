//! The type rules: as what two operands are compared or computed, whose collation wins, what type several have in
//! common.

use super::build::BindCtx;
use super::node::{Expr, IntervalUnit, Node, NumKind};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{Charset, CmpKind, Collation, Derivation, SqlType, TypeKind};

impl PartialOrd for NumKind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Integers before decimals before doubles: the later wins.
impl Ord for NumKind {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}

/// The arithmetic an operand of this type asks for.
pub(crate) fn number_kind(ty: &SqlType) -> NumKind {
    use TypeKind::*;
    match ty.kind {
        TinyInt | SmallInt | MediumInt | Int | BigInt | Bit | Year | Date => NumKind::Int,
        Time | DateTime | Timestamp if ty.scale == 0 => NumKind::Int,
        Time | DateTime | Timestamp | Decimal => NumKind::Decimal,
        _ => NumKind::Double,
    }
}

/// Digits before and after the point of a number of this type.
pub(crate) fn decimal_shape(ty: &SqlType) -> (u32, u32) {
    use TypeKind::*;
    match ty.kind {
        Decimal => (ty.length.saturating_sub(ty.scale as u32), ty.scale as u32),
        TinyInt => (3, 0),
        SmallInt => (5, 0),
        MediumInt => (8, 0),
        Int => (10, 0),
        BigInt => (ty.length.saturating_sub(!ty.unsigned as u32).clamp(1, 20), 0),
        Bit => (20, 0),
        Year => (4, 0),
        Date => (8, 0),
        Time => (7, ty.scale as u32),
        DateTime | Timestamp => (14, ty.scale as u32),
        Float | Double if ty.scale != SqlType::NOT_FIXED => (22, ty.scale as u32),
        Null => (1, 0),
        _ => (35, 30),
    }
}

/// Characters of the display form of a value of this type.
pub(crate) fn text_length(ty: &SqlType) -> u32 {
    ty.display_length()
}

/// As what two operands are compared.
pub fn cmp_kind(left: &Expr, right: &Expr, op: &str, bind: &BindCtx) -> Result<CmpKind> {
    let kinds = [left.ty.kind, right.ty.kind];
    if kinds.contains(&TypeKind::Json) && !kinds.contains(&TypeKind::Null) {
        return Ok(CmpKind::Json);
    }
    text_cmp_kind(left, right, op, bind)
}

/// The same where a document counts as its text: beside a number it is the number in it.
pub(crate) fn text_cmp_kind(left: &Expr, right: &Expr, op: &str, bind: &BindCtx) -> Result<CmpKind> {
    let (l, r) = (&left.ty, &right.ty);
    let param = |e: &Expr| matches!(e.node, Node::Param(_));
    if l.kind == TypeKind::Null || r.kind == TypeKind::Null {
        return Ok(CmpKind::Int);
    }
    if l.is_string() && r.is_string() {
        return Ok(CmpKind::Str(common_collation(&[l, r], op, bind)?.0));
    }
    for (one, other) in [(left, right), (right, left)] {
        let (a, b) = (&one.ty, &other.ty);
        // A number counts as a date beside a column, if it is one.
        let number = b.is_integer() && param(other) && one.is_table_column();
        if a.has_date() && (b.is_temporal() || b.is_string() || number) {
            if number {
                bind.depends_on_literals.set(true);
            }
            return Ok(CmpKind::DateTime);
        }
    }
    for (one, other) in [(left, right), (right, left)] {
        let (a, b) = (&one.ty, &other.ty);
        // A text counts as a time beside a column, if it is one.
        let text = b.is_string() && param(other) && one.is_table_column();
        if a.kind == TypeKind::Time && (b.kind == TypeKind::Time || text) {
            if text {
                bind.depends_on_literals.set(true);
            }
            return Ok(CmpKind::Time);
        }
        if a.kind == TypeKind::Time && b.is_string() {
            return Ok(CmpKind::Str(common_collation(&[l, r], op, bind)?.0));
        }
    }
    for (one, other) in [(left, right), (right, left)] {
        let is_exact = one.ty.is_integer() || one.ty.kind == TypeKind::Decimal;
        // A literal counts as exact beside a column alone.
        if is_exact && other.ty.is_string() && param(other) && (!bind.literals || one.is_table_column()) {
            return Ok(CmpKind::Number);
        }
    }
    // A text beside a number makes both doubles.
    let kind = |ty: &SqlType| {
        if ty.is_string() {
            NumKind::Double
        } else {
            number_kind(ty)
        }
    };
    Ok(match kind(l).max(kind(r)) {
        NumKind::Int => CmpKind::Int,
        NumKind::Decimal => CmpKind::Decimal,
        NumKind::Double if l.is_member() && r.is_integer() || r.is_member() && l.is_integer() => CmpKind::Int,
        NumKind::Double => CmpKind::Double,
    })
}

/// The collation an operand brings: numbers and dates are as weak as can be.
fn collation_of(ty: &SqlType, bind: &BindCtx) -> (Collation, Derivation) {
    if ty.is_string() {
        (ty.collation, ty.derivation)
    } else if ty.kind == TypeKind::Bit {
        (Collation::BINARY, Derivation::Implicit)
    } else if ty.kind == TypeKind::Null {
        (Collation::BINARY, Derivation::Ignorable)
    } else if ty.is_integer() && ty.derivation == Derivation::Implicit {
        // The place at which a search has found a text has the collation of the search.
        (ty.collation, ty.derivation)
    } else {
        (bind.collation_connection, ty.derivation)
    }
}

/// Whether a text under `weak` can become one under `strong`: to Unicode, or because it gives way.
fn converts(strong: (Collation, Derivation), weak: (Collation, Derivation)) -> bool {
    let (a, b) = (strong.0.charset(), weak.0.charset());
    let covers = || !b.is_unicode() || a.has_all_of(b);
    if a.is_unicode() && (strong.1 < weak.1 || strong.1 == weak.1 && covers()) {
        return true;
    }
    b == Charset::Ascii && strong.1 <= weak.1
}

/// One step of the rules by which two collations become one; `None` is a conflict.
fn merge(a: (Collation, Derivation), b: (Collation, Derivation)) -> Option<(Collation, Derivation)> {
    if a.0 == b.0 {
        return Some((a.0, a.1.min(b.1)));
    }
    if a.0.charset() != b.0.charset() {
        if a.0.is_binary() {
            return Some(if a.1 <= b.1 { a } else { b });
        }
        if b.0.is_binary() {
            return Some(if b.1 <= a.1 { b } else { a });
        }
        if converts(a, b) {
            return Some(a);
        }
        if converts(b, a) {
            return Some(b);
        }
        if a.1 < b.1 && b.1 >= Derivation::SystemConstant {
            return Some(a);
        }
        if b.1 < a.1 && a.1 >= Derivation::SystemConstant {
            return Some(b);
        }
        return None;
    }
    if a.1 != b.1 {
        return Some(if a.1 < b.1 { a } else { b });
    }
    if a.1 == Derivation::Explicit {
        return None;
    }
    if a.0.is_code_point() {
        return Some(a);
    }
    if b.0.is_code_point() {
        return Some(b);
    }
    Some((a.0.charset().bin_collation(), Derivation::None))
}

fn illegal_mix(types: &[(Collation, Derivation)], op: &str) -> SqlError {
    let name = |d: Derivation| match d {
        Derivation::Explicit => "EXPLICIT",
        Derivation::None => "NONE",
        Derivation::Implicit => "IMPLICIT",
        Derivation::SystemConstant => "SYSCONST",
        Derivation::Literal => "COERCIBLE",
        Derivation::Numeric => "NUMERIC",
        Derivation::Ignorable => "NULL",
    };
    match types {
        [a, b] => SqlError::illegal_mix((a.0.name(), name(a.1)), (b.0.name(), name(b.1)), op),
        [a, b, c] => SqlError::new(
            tidemark_types::error::er::CANT_AGGREGATE_3COLLATIONS,
            format!(
                "Illegal mix of collations ({},{}), ({},{}), ({},{}) for operation '{op}'",
                a.0.name(),
                name(a.1),
                b.0.name(),
                name(b.1),
                c.0.name(),
                name(c.1)
            ),
        ),
        _ => SqlError::illegal_mix_many(op),
    }
}

/// Operands of these types, whose collations do not mix: error 1267, 1270 or 1271 by their number.
pub(crate) fn illegal_mix_of(types: &[&SqlType], op: &str) -> SqlError {
    let shown = |ty: &SqlType| match ty.kind {
        TypeKind::Null => (Collation::BINARY, Derivation::Ignorable),
        _ if ty.is_string() => (ty.collation, ty.derivation),
        _ => (Charset::LATIN1.default_collation(), Derivation::Numeric),
    };
    illegal_mix(&types.iter().map(|ty| shown(ty)).collect::<Vec<_>>(), op)
}

/// Values of this type are compared with each other: error 1267 where it is made of texts whose collations do not mix.
pub fn check_comparable(ty: &SqlType, op: &str) -> Result<()> {
    match ty.is_string() && ty.derivation == Derivation::None {
        true => Err(illegal_mix_of(&[ty, ty], op)),
        false => Ok(()),
    }
}

/// What comparison with a list of several is called, in which no constant is a year.
pub(crate) const IN_LIST: &str = " IN ";

/// The collation of an operation that compares its operands.
pub(crate) fn common_collation(
    types: &[&SqlType],
    op: &str,
    bind: &BindCtx,
) -> Result<(Collation, Derivation)> {
    let (collation, derivation) = joined(types, Derivation::Explicit, op, bind)?;
    // Those that do not mix are joined by code points: of two what follows and has that collation too decides nothing, but of one of several.
    let of_several = matches!(op, "case" | IN_LIST);
    let undecided = |ty: &&SqlType| {
        ty.is_string() && ty.derivation == Derivation::None && ty.collation == collation && !of_several
    };
    if derivation == Derivation::None || matches!(types, [first, _] if undecided(first)) {
        let all: Vec<_> = types.iter().map(|t| collation_of(t, bind)).collect();
        return Err(illegal_mix(&all, op));
    }
    Ok((collation, derivation))
}

/// The collation of a search for a pattern, which those that do not mix do not hinder if each operand is made of such, or what the other
/// has decides.
pub(crate) fn pattern_collation(
    types: &[&SqlType; 2],
    op: &str,
    bind: &BindCtx,
) -> Result<(Collation, Derivation)> {
    match types
        .iter()
        .any(|ty| ty.is_string() && ty.derivation == Derivation::None)
    {
        true => joined_collation(types, op, bind),
        false => common_collation(types, op, bind),
    }
}

/// The collation of a text made of its operands, which may have none (a conflict that only a comparison minds).
pub(crate) fn joined_collation(
    types: &[&SqlType],
    op: &str,
    bind: &BindCtx,
) -> Result<(Collation, Derivation)> {
    joined(types, Derivation::Implicit, op, bind)
}

/// The same, where a conflict among the operands themselves is settled by what follows and is as strong as `settles`, by nothing weaker:
/// a COLLATE clause, or a column as well where they are not compared.
fn joined(
    types: &[&SqlType],
    settles: Derivation,
    op: &str,
    bind: &BindCtx,
) -> Result<(Collation, Derivation)> {
    let all: Vec<_> = types.iter().map(|t| collation_of(t, bind)).collect();
    let Some((first, rest)) = all.split_first() else {
        return Ok((bind.collation_connection, Derivation::Literal));
    };
    let mut result = *first;
    let mut conflict = false;
    for next in rest {
        if conflict && next.1 > settles {
            continue;
        }
        let decided = result.1 != Derivation::None || next.1 != Derivation::None;
        result = match merge(result, *next) {
            Some(merged) => merged,
            None => return Err(illegal_mix(&all, op)),
        };
        conflict = decided && result.1 == Derivation::None;
    }
    Ok(result)
}

/// How long a value of this type is in a text under that collation: a text among bytes is as long as its characters may be.
pub(crate) fn length_under(ty: &SqlType, collation: Collation) -> u32 {
    let length = text_length(ty);
    match collation.is_binary() && ty.is_string() && !ty.collation.is_binary() {
        true => length.saturating_mul(ty.collation.charset().max_bytes()),
        false => length,
    }
}

/// The length of a text that has all of these one after the other, [`text_type`]'s first argument.
pub(crate) fn length_of_all(types: &[&SqlType], op: &str, bind: &BindCtx) -> Result<u64> {
    let (collation, _) = joined_collation(types, op, bind)?;
    Ok(types.iter().map(|ty| length_under(ty, collation) as u64).sum())
}

/// A VARCHAR (or LONGTEXT, where too long) made of these operands.
pub(crate) fn text_type(length: u64, from: &[&SqlType], op: &str, bind: &BindCtx) -> Result<SqlType> {
    let (collation, mut derivation) = joined_collation(from, op, bind)?;
    // A text that is made of NULL alone gives way to any other, as NULL does.
    if derivation == Derivation::Numeric || derivation == Derivation::Ignorable && !collation.is_binary() {
        derivation = Derivation::Literal;
    }
    Ok(sized_text(length, collation).with_collation(collation, derivation))
}

/// VARCHAR where the length allows one.
pub(crate) fn sized_text(length: u64, collation: Collation) -> SqlType {
    let kind = match length {
        0..=65_535 => TypeKind::VarChar,
        65_536..=16_777_215 => TypeKind::MediumText,
        _ => TypeKind::LongText,
    };
    let mut ty = SqlType::new(kind).with_length(length.min(u32::MAX as u64) as u32);
    ty.collation = collation;
    ty
}

/// What CASE, IF, COALESCE, GREATEST or a UNION column are of, given their branches.
pub(crate) fn result_type(types: &[&SqlType], op: &str, bind: &BindCtx) -> Result<SqlType> {
    let typed: Vec<&SqlType> = types
        .iter()
        .copied()
        .filter(|t| t.kind != TypeKind::Null)
        .collect();
    let Some(first) = typed.first() else {
        return Ok(SqlType::new(TypeKind::Null));
    };
    let mut ty = if typed.iter().all(|t| t.kind == TypeKind::Bit) {
        SqlType::new(TypeKind::Bit).with_length(typed.iter().map(|t| t.length).max().unwrap_or(1))
    } else if typed.iter().all(|t| t.is_numeric()) {
        numeric_result(&typed)
    } else if typed.iter().all(|t| t.is_temporal()) {
        let fsp = typed.iter().map(|t| t.scale).max().unwrap_or(0);
        if typed.iter().all(|t| t.kind == first.kind) {
            SqlType::new(first.kind).with_fsp(fsp)
        } else {
            SqlType::datetime(fsp)
        }
    } else if let Some(kind) = kind_of_texts(&typed) {
        let (collation, derivation) = joined_collation(&typed, op, bind)?;
        let length = typed.iter().map(|t| length_under(t, collation)).max();
        SqlType::new(kind)
            .with_length(length.unwrap_or(0))
            .with_collation(collation, derivation)
    } else {
        let (collation, _) = joined_collation(&typed, op, bind)?;
        let length = typed.iter().map(|t| length_under(t, collation) as u64).max();
        let length = length.unwrap_or(0);
        text_type(length, &typed, op, bind)?
    };
    ty.nullable = types.iter().any(|t| t.nullable);
    Ok(ty)
}

/// What texts have in common that are all of one type; beside a CHAR an ENUM and a SET are one, too.
fn kind_of_texts(types: &[&SqlType]) -> Option<TypeKind> {
    let kind = types.iter().find(|ty| !ty.is_member())?.kind;
    types
        .iter()
        .all(|ty| ty.is_string() && (ty.kind == kind || kind == TypeKind::Char && ty.is_member()))
        .then_some(kind)
}

/// A DOUBLE with a fixed number of digits where all have one.
fn double_result(typed: &[&SqlType]) -> SqlType {
    let scales: Option<Vec<u8>> = typed.iter().map(|t| t.fixed_scale()).collect();
    let Some(scale) = scales.and_then(|scales| scales.into_iter().max()) else {
        return SqlType::double();
    };
    let whole = typed
        .iter()
        .map(|t| t.length.saturating_sub(t.scale as u32))
        .max();
    SqlType::double_of_scale(scale).with_length(whole.unwrap_or(0) + scale as u32)
}

fn numeric_result(typed: &[&SqlType]) -> SqlType {
    let first = typed[0];
    if typed
        .iter()
        .all(|t| t.kind == first.kind && t.unsigned == first.unsigned && t.scale == first.scale)
    {
        let length = typed.iter().map(|t| t.length).max().unwrap_or(first.length);
        return first.clone().with_length(length);
    }
    // A BIGINT is a FLOAT behind one, and makes a DOUBLE of it before one.
    let exact_in_float = |t: &SqlType| t.is_integer() && !matches!(t.kind, TypeKind::Int | TypeKind::Bit);
    let before = typed.iter().take_while(|t| t.kind != TypeKind::Float);
    let is_wide = before.into_iter().any(|t| t.kind == TypeKind::BigInt);
    if !is_wide
        && typed
            .iter()
            .all(|t| t.kind == TypeKind::Float || exact_in_float(t))
        && typed.iter().any(|t| t.is_float())
        && typed.iter().any(|t| t.fixed_scale().is_none())
    {
        return SqlType::new(TypeKind::Float);
    }
    if typed.iter().any(|t| t.is_float()) {
        return double_result(typed);
    }
    let all_int = typed.iter().all(|t| t.is_integer());
    let unsigned = typed.iter().filter(|t| t.unsigned).count();
    if all_int
        && (unsigned == 0
            || unsigned == typed.len()
            || !typed
                .iter()
                .any(|t| t.unsigned && matches!(t.kind, TypeKind::BigInt | TypeKind::Bit)))
    {
        let length = typed.iter().map(|t| t.length).max().unwrap_or(20);
        let ty = SqlType::bigint().with_length(length);
        return if unsigned == typed.len() {
            ty.unsigned()
        } else {
            ty
        };
    }
    let int = typed.iter().map(|t| decimal_shape(t).0).max().unwrap_or(1);
    let scale = typed.iter().map(|t| decimal_shape(t).1).max().unwrap_or(0);
    SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
}

impl IntervalUnit {
    pub(crate) fn has_microseconds(self) -> bool {
        use IntervalUnit::*;
        matches!(
            self,
            Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond
        )
    }

    /// Reaches below the day.
    pub fn has_time(self) -> bool {
        use IntervalUnit::*;
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Can be added to a TIME.
    pub fn fits_time(self) -> bool {
        use IntervalUnit::*;
        matches!(
            self,
            Microsecond
                | Second
                | Minute
                | Hour
                | SecondMicrosecond
                | MinuteMicrosecond
                | MinuteSecond
                | HourMicrosecond
                | HourSecond
                | HourMinute
        )
    }
}

/// As what two values of one type are compared.
pub(crate) fn kind_of(ty: &SqlType) -> CmpKind {
    match ty.kind {
        TypeKind::Json => CmpKind::Json,
        _ if ty.is_member() => CmpKind::Member,
        _ if ty.is_string() => CmpKind::Str(ty.collation),
        _ if ty.is_integer() => CmpKind::Int,
        TypeKind::Decimal => CmpKind::Decimal,
        TypeKind::Time => CmpKind::Time,
        _ if ty.has_date() => CmpKind::DateTime,
        TypeKind::Null => CmpKind::Int,
        _ => CmpKind::Double,
    }
}
