//! Constructors of expressions: type inference and coercion, once, before anything runs.
//!
//! The binder calls these bottom-up. Each decides from its operands' types what kind of operation it is and what type
//! comes out, and turns literals into the type they are compared with, so that nothing of this is left for the rows.

mod assigned;
mod char_bytes;
mod comparison;
mod json_constant;
mod literal;
mod membership;
mod moment;
mod year;

pub use assigned::{assignable, text_of_set};
pub(crate) use char_bytes::*;
pub use comparison::*;
pub use literal::*;
pub(crate) use membership::*;
pub(crate) use moment::*;

use super::bit_bytes::{is_bytes, is_on_bytes};
use super::cast::to_kind;
use super::digits;
use super::function::{FuncDef, def};
use super::infer::{cmp_kind, number_kind, pattern_collation, result_type, text_cmp_kind};
use super::interval::looks_like_a_date;
use super::json::{json_type, typed_json};
use super::node::*;
use super::parameter::{ParamKind, ParamPlace, Parameters};
use literal::literal;
use std::cell::{Cell, RefCell};
use tidemark_types::convert::{double_prefix, int_value, integer_prefix};
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::temporal::parse;
use tidemark_types::{
    Charset, CmpKind, Collation, Decimal, Derivation, Locale, MAX_PRECISION, MAX_SCALE, SqlMode, SqlType,
    TypeKind, Val,
};

/// What types depend on besides the operands.
#[derive(Clone, Debug)]
pub struct BindCtx {
    /// Collation of string literals and of numbers as text. `utf8mb4_0900_ai_ci` by default.
    pub collation_connection: Collation,
    /// The character set in which the statement came, for literals that name another.
    pub character_set_client: Charset,
    /// The session's SQL mode; MySQL's default modes by default.
    pub sql_mode: SqlMode,
    /// Digits that `/` and AVG add behind the decimal point. 4 by default.
    pub div_precision_increment: u8,
    /// Length limit of GROUP_CONCAT's result in bytes, which decides its type. 1024 by default.
    pub group_concat_max_len: u64,
    /// How days and months are named, which decides how long the names are. `en_US` by default.
    pub lc_time_names: &'static Locale,
    /// There is a function `mysql_query_attribute_string`, which a component brings.
    pub query_attributes: bool,
    /// The parameters are literals of the statement's text, and count as such.
    pub literals: bool,
    /// The types of a prepared statement's parameters.
    pub parameters: Parameters,
    /// Set when a parameter is bound in whose place some literals would be bound otherwise: a text beside a time counts as a
    /// time only if it is wholly one, and a number of two digits beside a YEAR is a year.
    pub depends_on_literals: Cell<bool>,
    /// Set when the plan is good for these values of the parameters alone.
    pub depends_on_values: Cell<bool>,
    /// Set when something is bound that would be something else on another server.
    pub is_unsafe: Cell<bool>,
    /// Set when the statement sets user variables while it runs.
    pub assigns_variables: Cell<bool>,
    /// Warnings about how the statement is written, for its first execution alone: syntax that is to be removed, names that lose their spaces.
    pub deprecated: RefCell<Vec<SqlError>>,
    /// The texts beside dates whose values are not known yet.
    pub dates: RefCell<Vec<DateConstant>>,
    /// What the client is warned of once all is bound.
    pub warnings: RefCell<Vec<SqlError>>,
}

impl Default for BindCtx {
    fn default() -> Self {
        BindCtx {
            collation_connection: Collation::DEFAULT,
            character_set_client: Charset::Utf8mb4,
            sql_mode: SqlMode::DEFAULT,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            lc_time_names: Locale::english(),
            query_attributes: false,
            literals: false,
            parameters: Parameters::default(),
            depends_on_literals: Cell::new(false),
            depends_on_values: Cell::new(false),
            is_unsafe: Cell::new(false),
            assigns_variables: Cell::new(false),
            deprecated: RefCell::default(),
            dates: RefCell::default(),
            warnings: RefCell::default(),
        }
    }
}

impl BindCtx {
    /// Warning 1287: `what` is going to be removed, and `instead` says what to do.
    pub fn deprecate(&self, what: &str, instead: &str) {
        let text = format!("{what} is deprecated and will be removed in a future release. {instead}");
        let warning = SqlError::new(er::WARN_DEPRECATED_SYNTAX, text);
        self.deprecated.borrow_mut().push(warning);
    }
}

pub(crate) fn expr(ty: SqlType, node: Node) -> Expr {
    Expr { ty, node, name: None }
}

fn boolean(nullable: bool, node: Node) -> Expr {
    expr(SqlType::boolean().with_nullable(nullable), node)
}

/// A hexadecimal literal in a numeric place is a number, and a BIT is one anyway.
pub(crate) fn as_number(e: Expr) -> Expr {
    match &e.node {
        Node::Literal(Val::Str(s)) if e.ty.unsigned && e.ty.is_binary_string() => {
            let value = Val::UInt(tidemark_types::convert::bytes_to_uint(s));
            literal(SqlType::bigint_unsigned().with_length(20), value)
        }
        _ => e,
    }
}

/// A hexadecimal literal where it is no number, whatever it is compared with.
fn hexadecimal_as_bytes(mut e: Expr) -> Expr {
    if matches!(e.node, Node::Literal(Val::Str(_))) && e.ty.is_binary_string() {
        e.ty.unsigned = false;
    }
    e
}

/// A document where a number is wanted is the number in it, a sum of a text and an interval that of the date or time.
pub(crate) fn json_as_double(e: Expr) -> Expr {
    sum_as_double(json_as(e, SqlType::double()))
}

/// A sum of a text and an interval or a time, or the greatest of texts and dates, where a number is wanted: the date or time that it is,
/// as a number. So is what IF or CASE chooses among texts that have numbers of their own.
pub(crate) fn sum_as_double(e: Expr) -> Expr {
    static FUNCTION: FuncDef = def(
        "number_of_sum",
        (1, 1),
        |_, _| Ok(SqlType::double()),
        |args, _, ctx| {
            let Some(text) = super::eval::text(&args[0], ctx)? else {
                return Ok(Val::Null);
            };
            let date = || parse::datetime(&text, ctx.env.sql_mode).map(|read| read.value);
            let time = || parse::time(&text).map(|(time, _)| Val::Time(time));
            let moment = match looks_like_a_date(&text) {
                true if text.contains(&b':') => date().map(Val::DateTime),
                true => date().map(|moment| Val::Date(moment.date)),
                false => time(),
            };
            let Some(moment) = moment else {
                return Ok(Val::Null);
            };
            Ok(Val::Double(moment.to_f64(ctx.env)?))
        },
    );
    if chooses_numbers(&e) {
        return branches_as_numbers(e);
    }
    if chooses_moments(&e) {
        return moments_as_numbers(e);
    }
    if !is_text_of_sum(&e) {
        return e;
    }
    let ty = SqlType::double().with_nullable(e.ty.nullable);
    expr(ty, Node::Call(&FUNCTION, vec![e]))
}

/// Whether it is a text that is a date or time where a number is wanted.
fn is_text_of_sum(e: &Expr) -> bool {
    let is_sum = match &e.node {
        Node::DateAdd { .. } => true,
        Node::Call(def, args) => match def.name {
            "addtime" | "subtime" | "timestampadd" => true,
            "greatest" | "least" => args.iter().any(|arg| arg.ty.has_date()),
            _ => false,
        },
        _ => false,
    };
    is_sum && e.ty.is_string()
}

/// Texts that IF or CASE chooses among, where a number is wanted: an ENUM, a SET, a date or a time among them is its number, others are the
/// numbers that they begin with.
fn branches_as_numbers(mut e: Expr) -> Expr {
    e.each_branch(|branch| match branch.is_choice() {
        true => branches_as_numbers(branch),
        false => sum_as_double(branch),
    });
    e.ty = SqlType::double().with_nullable(e.ty.nullable);
    e
}

/// Whether IF or CASE chooses among texts one that has a number of its own.
fn chooses_numbers(e: &Expr) -> bool {
    let has_number =
        |branch: &Expr| branch.ty.is_member() || branch.ty.is_temporal() || is_text_of_sum(branch);
    e.ty.is_string() && e.has_branch(has_number)
}

/// Whether IF or CASE chooses among dates and times of several types, each of which is a number of its own: that of a date has no time.
fn chooses_moments(e: &Expr) -> bool {
    let is_other = |branch: &Expr| branch.ty.is_temporal() && branch.ty.kind != e.ty.kind;
    e.ty.is_temporal() && e.has_branch(is_other)
}

fn moments_as_numbers(e: Expr) -> Expr {
    let ty = match e.ty.scale {
        0 => SqlType::bigint(),
        digits => SqlType::decimal(14 + u32::from(digits), digits),
    };
    branches_as_digits(e, &ty)
}

fn branches_as_digits(mut e: Expr, ty: &SqlType) -> Expr {
    e.each_branch(|branch| match branch.is_choice() {
        true => branches_as_digits(branch, ty),
        false => expr(
            ty.clone().with_nullable(branch.ty.nullable),
            Node::Cast(Box::new(branch)),
        ),
    });
    e.ty = ty.clone().with_nullable(e.ty.nullable);
    e
}

/// What is asked whether it is true: a member, a date or a time that IF or CASE chooses among texts is its number.
pub fn condition(e: Expr) -> Expr {
    match chooses_numbers(&e) {
        true => branches_as_numbers(e),
        false => e,
    }
}

/// A document that an aggregate, IF, CASE, COALESCE or their like gives is its text, where an integer is asked for.
fn made_document(e: Expr) -> Expr {
    let is_made = match &e.node {
        Node::Call(def, _) => hands_on(def) || matches!(def.name, "if" | "nullif"),
        // What an aggregate has found has no name.
        Node::Column(_) => e.name.is_none(),
        Node::Case { .. } => true,
        _ => false,
    };
    match e.ty.kind == TypeKind::Json && is_made {
        true => document_as_text(e),
        false => e,
    }
}

/// A document that COALESCE or its like found is its text, where a number, a date or a time is wanted.
fn found_document(e: Expr) -> Expr {
    let is_found = matches!(&e.node, Node::Call(def, _) if hands_on(def));
    match e.ty.kind == TypeKind::Json && is_found {
        true => document_as_text(e),
        false => e,
    }
}

/// Whether the function gives one of its operands.
fn hands_on(function: &FuncDef) -> bool {
    matches!(
        function.name,
        "coalesce" | "ifnull" | "greatest" | "least" | "any_value"
    )
}

fn json_as(e: Expr, ty: SqlType) -> Expr {
    static FUNCTION: FuncDef = def(
        "number_of_text",
        (1, 1),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| {
            let Some(text) = super::eval::text(&args[0], ctx)? else {
                return Ok(Val::Null);
            };
            Ok(match ty.is_integer() {
                true => int_value(integer_prefix(&text).0, ty.unsigned),
                false => Val::Double(double_prefix(&text).0),
            })
        },
    );
    if e.ty.kind != TypeKind::Json {
        return e;
    }
    let e = found_document(e);
    if e.ty.kind != TypeKind::Json {
        return expr(ty.with_nullable(e.ty.nullable), Node::Call(&FUNCTION, vec![e]));
    }
    expr(ty.with_nullable(e.ty.nullable), Node::Cast(Box::new(e)))
}

/// A value as a document: a boolean, or bytes, beside one.
fn part_of_document(e: Expr) -> Expr {
    static FUNCTION: FuncDef = def(
        "cast_as_json",
        (1, 1),
        |_, _| Ok(json_type()),
        |args, _, ctx| match args[0].eval(ctx)? {
            Val::Null => Ok(Val::Null),
            value => Val::json(&typed_json(&value, &args[0])?),
        },
    );
    expr(
        json_type().with_nullable(e.ty.nullable),
        Node::Call(&FUNCTION, vec![e]),
    )
}

/// Bytes and other texts as a text under that collation: error 3854 for what its character set does not have. Other operands stay.
pub(crate) fn beside_text(e: Expr, collation: Collation) -> Expr {
    static FUNCTION: FuncDef = def(
        "text_of_bytes",
        (1, 1),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| {
            let Some(bytes) = super::eval::text(&args[0], ctx)? else {
                return Ok(Val::Null);
            };
            let charset = ty.collation.charset();
            let from = args[0].ty.collation.charset();
            let read = match args[0].ty.is_binary_string() {
                true => charset.decode(&bytes).map(Val::string),
                false => charset.can_write(&bytes).then(|| Val::Str(bytes.clone())),
            };
            read.ok_or_else(|| SqlError::char_conversion(&bytes, from.name(), charset.name()))
        },
    );
    let charset = collation.charset();
    let is_other = || e.ty.is_string() && e.ty.collation.charset() != charset && !charset.is_utf8();
    if collation.is_binary() || !(e.ty.is_binary_string() || is_other()) {
        return e;
    }
    let ty = SqlType::varchar(e.ty.length, collation)
        .with_collation(collation, e.ty.derivation)
        .with_nullable(e.ty.nullable);
    expr(ty, Node::Call(&FUNCTION, vec![e]))
}

/// Bytes of which texts decide the collation: they are read in its character set, a literal once for all. Error 3854, once a row asks
/// for it, if that cannot be. Texts of which bytes decide are those of their own sets. Other operands stay.
pub(crate) fn in_set_of(e: Expr, collation: Collation) -> Expr {
    if collation.is_binary() {
        return beside_bytes(e);
    }
    if !e.ty.is_binary_string() {
        return e;
    }
    if let Node::Literal(Val::Str(bytes)) = &e.node
        && let Some(text) = collation.charset().decode(bytes)
    {
        let length = collation.charset().char_count(&text) as u32;
        let ty = SqlType::varchar(length, collation).with_collation(collation, e.ty.derivation);
        return literal(ty, Val::string(text));
    }
    beside_text(e, collation)
}

/// A text beside bytes: those of its character set. Other operands stay.
pub(crate) fn beside_bytes(e: Expr) -> Expr {
    if !(e.ty.is_string() && e.ty.collation.charset().is_encoded()) {
        return e;
    }
    let length = e.ty.length.saturating_mul(e.ty.collation.charset().max_bytes());
    let ty = SqlType::varchar(length, Collation::BINARY)
        .with_collation(Collation::BINARY, e.ty.derivation)
        .with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// A text operand: what shows its type in its text (BIT, ZEROFILL, DOUBLE(M,D), YEAR) is made a text first.
///
/// A number of IF or CASE is the text of the branch that is taken, so a BIT among them is bytes, and a decimal among doubles has its zeros;
/// COALESCE and its like make one number of
/// their operands, which is digits even if all are BIT.
pub(crate) fn as_text(mut e: Expr, bind: &BindCtx) -> Expr {
    let as_double = e.ty.is_float();
    let is_told = |kind| kind == TypeKind::Bit || as_double && kind == TypeKind::Decimal;
    if e.ty.is_numeric() && e.has_branch(|branch| is_told(branch.ty.kind)) {
        e.each_branch(|branch| as_text(branch, bind));
        e.ty = text_of_number(&e.ty, bind);
        return e;
    }
    if e.ty.kind == TypeKind::Bit && matches!(&e.node, Node::Call(def, _) if hands_on(def)) {
        e.ty = SqlType::bigint_unsigned().with_nullable(e.ty.nullable);
        let ty = text_of_number(&e.ty, bind);
        return expr(ty, Node::Cast(Box::new(e)));
    }
    let fixed = e.ty.is_float() && e.ty.scale != SqlType::NOT_FIXED;
    if !(e.ty.kind == TypeKind::Bit || e.ty.zerofill || fixed) {
        return e;
    }
    let (collation, derivation, length) = if e.ty.kind == TypeKind::Bit {
        (Collation::BINARY, Derivation::Implicit, e.ty.length.div_ceil(8))
    } else {
        (
            bind.collation_connection,
            Derivation::Literal,
            e.ty.display_length(),
        )
    };
    let ty = SqlType::varchar(length, collation).with_collation(collation, derivation);
    let ty = ty.with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// The type of a number that is shown as a text.
fn text_of_number(ty: &SqlType, bind: &BindCtx) -> SqlType {
    SqlType::varchar(ty.display_length(), bind.collation_connection)
        .with_collation(bind.collation_connection, Derivation::Numeric)
        .with_nullable(ty.nullable)
}

/// The value of the steps before, in a step of a [`chain`].
pub(crate) fn previous(ty: &SqlType) -> Expr {
    expr(ty.clone(), Node::Previous)
}

/// The last step's value; every step but the first has one [`previous`].
pub(crate) fn chain(steps: Vec<Expr>) -> Expr {
    let ty = steps.last().map_or_else(SqlType::boolean, |last| last.ty.clone());
    expr(ty, Node::Chain(steps))
}

/// A parameter that is a text, beside an integer or a decimal, is the exact number that it begins with: MySQL takes its type from what it
/// stands beside, not from how a client has sent it, and a double would lose digits of a large number. How many digits it has behind
/// the point is not known.
fn exact_parameter(e: Expr, beside: &SqlType, bind: &BindCtx) -> Expr {
    static FUNCTION: FuncDef = def(
        "exact_number",
        (1, 1),
        |_, _| Ok(SqlType::decimal(MAX_PRECISION, MAX_SCALE)),
        |args, _, ctx| match args[0].eval(ctx)? {
            Val::Null => Ok(Val::Null),
            value => Ok(Val::Decimal(value.to_decimal(ctx.env)?)),
        },
    );
    let is_exact = beside.is_integer() || beside.kind == TypeKind::Decimal;
    // A variable of a stored program has the type that it was declared with.
    let is_sent = matches!(e.node, Node::Param(_)) && e.ty.derivation != Derivation::Implicit;
    if !is_exact || bind.literals || !is_sent || !e.ty.is_string() {
        return e;
    }
    let ty = SqlType::decimal(MAX_PRECISION, MAX_SCALE).with_nullable(e.ty.nullable);
    expr(ty, Node::Call(&FUNCTION, vec![e]))
}

pub(crate) fn arith(op: ArithOp, mut left: Expr, mut right: Expr, bind: &BindCtx) -> Result<Expr> {
    bind.settle_operands(op, &mut left, &mut right);
    let (left, right) = (json_as_double(as_number(left)), json_as_double(as_number(right)));
    let left = exact_parameter(left, &right.ty, bind);
    let right = exact_parameter(right, &left.ty, bind);
    let (a, b) = (number_kind(&left.ty), number_kind(&right.ty));
    let mut kind = a.max(b);
    if op == ArithOp::Div && kind == NumKind::Int {
        kind = NumKind::Decimal;
    }
    let (l, r) = (
        super::infer::decimal_shape(&left.ty),
        super::infer::decimal_shape(&right.ty),
    );
    let cap = |int: u32, scale: u32| {
        let scale = scale.min(30);
        SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
    };
    let mut ty = match (op, kind) {
        (ArithOp::IntDiv, _) => {
            let ty = SqlType::bigint();
            if left.ty.unsigned || right.ty.unsigned {
                ty.unsigned()
            } else {
                ty
            }
        }
        (_, NumKind::Double) => double_of(op, &left.ty, &right.ty, bind),
        (ArithOp::Div, _) => {
            let scale = l.1 + bind.div_precision_increment as u32;
            cap(l.0 + r.1, scale)
        }
        (ArithOp::Mul, NumKind::Decimal) => cap(l.0 + r.0, l.1 + r.1),
        (ArithOp::Mod, NumKind::Decimal) => cap(l.0.max(r.0), l.1.max(r.1)),
        (_, NumKind::Decimal) => cap(l.0.max(r.0) + 1, l.1.max(r.1)),
        (_, NumKind::Int) => {
            let unsigned = match op {
                ArithOp::Mod => left.ty.unsigned,
                ArithOp::Sub if bind.sql_mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION) => false,
                _ => left.ty.unsigned || right.ty.unsigned,
            };
            let digits = match op {
                ArithOp::Mul => left.ty.length.saturating_add(right.ty.length),
                ArithOp::Mod => left.ty.length.max(right.ty.length),
                _ => left.ty.length.max(right.ty.length).saturating_add(1),
            };
            let ty = SqlType::bigint().with_length(digits.min(21));
            if unsigned { ty.unsigned() } else { ty }
        }
    };
    let may_be_null = matches!(op, ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod);
    ty.nullable = left.ty.nullable || right.ty.nullable || may_be_null;
    let is_uneven = has_fewer_digits(&left) || has_fewer_digits(&right);
    let made = expr(ty, Node::Arith(op, kind, Box::new([left, right])));
    Ok(match is_uneven && made.ty.kind == TypeKind::Decimal {
        true => digits::veiled(made, false),
        false => made,
    })
}

/// A result that is kept in a table has the digits of its type.
pub fn fill_up(e: &mut Expr) {
    if has_fewer_digits(e) {
        let value = std::mem::replace(e, null());
        let more = value.has_branch(|branch| matches!(branch.node, Node::Digits { more: true, .. }));
        *e = digits::veiled(value, more);
    }
}

/// Whether it is a decimal that has fewer digits behind the point than its type, in some rows: what IF or CASE chooses among an integer and
/// a decimal. What is computed of it is shown with the digits of its type.
fn has_fewer_digits(e: &Expr) -> bool {
    let scale = e.ty.scale;
    e.ty.kind == TypeKind::Decimal
        && e.has_branch(|branch| branch.ty.kind != TypeKind::Decimal || branch.ty.scale < scale)
}

/// A double with a fixed number of digits where both operands have one.
fn double_of(op: ArithOp, left: &SqlType, right: &SqlType, bind: &BindCtx) -> SqlType {
    let scale = match left.fixed_scale().zip(right.fixed_scale()) {
        Some((a, b)) if op == ArithOp::Div => a.max(b) + bind.div_precision_increment,
        Some((a, b)) => a.max(b),
        None => SqlType::NOT_FIXED,
    };
    SqlType::double_of_scale(scale)
}

/// `- e`; the negative of a literal is a literal.
pub fn neg(mut e: Expr, bind: &BindCtx) -> Result<Expr> {
    bind.suppose_double(&mut e);
    let e = json_as_double(as_number(e));
    if let Node::Literal(value) = &e.node {
        let negated = match value {
            Val::Int(i64::MIN) => Some(Val::Decimal(Decimal::new(1 << 63, 0))),
            Val::Int(v) => Some(Val::Int(-v)),
            Val::UInt(v) if *v <= 1 << 63 => Some(Val::Int((*v as i64).wrapping_neg())),
            Val::UInt(v) => Some(Val::Decimal(Decimal::from(*v).neg())),
            Val::Decimal(d) if d.scale() == 0 && *d == Decimal::new(1 << 63, 0) => Some(Val::Int(i64::MIN)),
            Val::Decimal(d) => Some(Val::Decimal(d.neg())),
            Val::Double(v) => Some(Val::Double(-v)),
            _ => None,
        };
        if let Some(value) = negated {
            return Ok(literal(type_of_value(&value, &BindCtx::default()), value));
        }
    }
    let ty = match number_kind(&e.ty) {
        _ if e.ty.is_temporal() => SqlType::double(),
        NumKind::Int => SqlType::bigint(),
        NumKind::Decimal => {
            let (int, scale) = super::infer::decimal_shape(&e.ty);
            SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
        }
        NumKind::Double => SqlType::double_of_scale(e.ty.fixed_scale().unwrap_or(SqlType::NOT_FIXED)),
    };
    let is_uneven = has_fewer_digits(&e);
    let made = expr(ty.with_nullable(e.ty.nullable), Node::Neg(Box::new(e)));
    Ok(match is_uneven {
        true => digits::veiled(made, false),
        false => made,
    })
}

pub(crate) fn bit(op: BitOp, left: Expr, right: Expr) -> Result<Expr> {
    let nullable = left.ty.nullable || right.ty.nullable;
    if is_on_bytes(op, &left, &right) {
        let shift = matches!(op, BitOp::ShiftLeft | BitOp::ShiftRight);
        let (length, right) = match shift {
            true => (left.ty.length, as_bits(right)),
            false => (left.ty.length.max(right.ty.length), right),
        };
        let ty = SqlType::varbinary(length).with_nullable(nullable);
        return Ok(expr(ty, Node::Bit(op, Box::new([left, right]))));
    }
    let ty = SqlType::bigint_unsigned().with_nullable(nullable);
    Ok(expr(ty, Node::Bit(op, Box::new([as_bits(left), as_bits(right)]))))
}

pub(crate) fn bit_not(e: Expr) -> Expr {
    if is_bytes(&e) {
        let ty = SqlType::varbinary(e.ty.length).with_nullable(e.ty.nullable);
        return expr(ty, Node::BitNot(Box::new(e)));
    }
    let ty = SqlType::bigint_unsigned().with_nullable(e.ty.nullable);
    expr(ty, Node::BitNot(Box::new(as_bits(e))))
}

/// An operand of which the bits count.
pub(crate) fn as_bits(e: Expr) -> Expr {
    sum_as_double(json_as(
        as_integer(whole_seconds(as_number(e))),
        SqlType::bigint(),
    ))
}

/// IF and CASE where an integer is wanted: that of the branch, which a decimal or double in common with others may not hold.
pub(crate) fn as_integer(mut e: Expr) -> Expr {
    if chooses_moments(&e) {
        return moments_as_numbers(e);
    }
    if e.is_choice() && (e.ty.kind == TypeKind::Decimal || e.ty.is_float()) {
        e.each_branch(as_integer);
        e.ty = SqlType::bigint_unsigned().with_nullable(e.ty.nullable);
    }
    e
}

/// A Unix time where an integer is wanted is not rounded.
pub(crate) fn whole_seconds(mut e: Expr) -> Expr {
    static FUNCTION: FuncDef = def(
        "whole_seconds",
        (1, 1),
        |_, _| Ok(SqlType::bigint()),
        |args, _, ctx| match args[0].eval(ctx)? {
            Val::Decimal(d) => Ok(Val::Decimal(d.truncate(0))),
            value => Ok(value),
        },
    );
    if e.is_choice() {
        e.each_branch(whole_seconds);
        return e;
    }
    match &e.node {
        Node::Call(def, _) if def.name == "unix_timestamp" && e.ty.kind == TypeKind::Decimal => {
            expr(e.ty.clone(), Node::Call(&FUNCTION, vec![e]))
        }
        _ => e,
    }
}

/// `escape` is the ESCAPE clause; the default is a backslash (none under NO_BACKSLASH_ESCAPES).
pub(crate) fn like(
    e: Expr,
    pattern: Expr,
    escape: Option<&str>,
    negated: bool,
    bind: &BindCtx,
) -> Result<Expr> {
    let (e, pattern) = (as_text(e, bind), as_text(pattern, bind));
    let (collation, _) = pattern_collation(&[&e.ty, &pattern.ty], "like", bind)?;
    let (e, pattern) = (in_set_of(e, collation), in_set_of(pattern, collation));
    let escape = match escape {
        None if bind.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => None,
        None => Some('\\'),
        Some(text) if text.chars().count() > 1 => return Err(SqlError::wrong_arguments("ESCAPE")),
        Some(text) => text.chars().next(),
    };
    let compiled = match &pattern.node {
        Node::Literal(v) if !v.is_null() => {
            Some(super::like::LikePattern::new(&v.to_text(), escape, collation)?)
        }
        _ => None,
    };
    let nullable = e.ty.nullable || pattern.ty.nullable;
    let args = Box::new([e, pattern]);
    Ok(boolean(
        nullable,
        Node::Like {
            negated,
            collation,
            escape,
            args,
            pattern: compiled,
        },
    ))
}

/// A pattern for a text. Bytes are not searched for characters, nor texts for bytes: error 3995, once a row asks for it. What a BINARY, a BLOB
/// or a BIT has may be either.
pub(crate) fn searched_in(text: &Expr, pattern: Expr, function: &'static str) -> Expr {
    match are_mixed(text, &pattern) && !may_be_either(text) && !may_be_either(&pattern) {
        true => mismatched(text, pattern, function),
        false => pattern,
    }
}

/// What replaces a pattern in a text: no bytes in a text but those that may be either, which are a character each, and no text among bytes.
pub(crate) fn replacing_in(text: &Expr, replacement: Expr, function: &'static str) -> Expr {
    if !are_mixed(text, &replacement) {
        return replacement;
    }
    if text.ty.collation.is_binary() || !may_be_either(&replacement) {
        return mismatched(text, replacement, function);
    }
    let ty = SqlType::varchar(replacement.ty.length, Collation::LATIN1_SWEDISH_CI)
        .with_collation(Collation::LATIN1_SWEDISH_CI, replacement.ty.derivation)
        .with_nullable(replacement.ty.nullable);
    expr(ty, Node::Cast(Box::new(replacement)))
}

/// Whether one is bytes and the other a text.
fn are_mixed(one: &Expr, other: &Expr) -> bool {
    let strings = one.ty.is_string() && other.ty.is_string();
    strings && one.ty.collation.is_binary() != other.ty.collation.is_binary()
}

/// Whether it is a BINARY, a BLOB or what was a BIT. What is cast to BINARY is of varying length here.
fn may_be_either(e: &Expr) -> bool {
    let is_cast = matches!(&e.node, Node::Cast(inner) if inner.ty.kind != TypeKind::Bit);
    let was_bit = matches!(&e.node, Node::Cast(inner) if inner.ty.kind == TypeKind::Bit);
    let is_other = e.ty.kind == TypeKind::Char
        || e.ty.is_blob_or_text()
        || e.has_branch(|branch| branch.ty.is_blob_or_text());
    e.ty.collation.is_binary() && (was_bit || is_other && !is_cast)
}

/// A value whose evaluation is error 3995.
fn mismatched(text: &Expr, pattern: Expr, function: &'static str) -> Expr {
    static FUNCTION: FuncDef = super::function::volatile(
        "mismatch",
        (3, 3),
        |args, _| Ok(args[1].ty.clone()),
        |args, _, ctx| {
            let (a, b) = (args[0].ty.collation.name(), args[1].ty.collation.name());
            let function = args[2].eval(ctx)?.to_text().into_owned();
            Err(SqlError::character_set_mismatch(
                a,
                b,
                &String::from_utf8_lossy(&function),
            ))
        },
    );
    let name = literal(SqlType::varchar(64, Collation::DEFAULT), Val::str(function));
    expr(
        pattern.ty.clone(),
        Node::Call(&FUNCTION, vec![text.clone(), pattern, name]),
    )
}

pub(crate) fn regexp(e: Expr, pattern: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let (collation, _) = pattern_collation(&[&e.ty, &pattern.ty], "regexp", bind)?;
    let pattern = searched_in(&e, pattern, "regexp_like");
    let nullable = e.ty.nullable || pattern.ty.nullable;
    let args = Box::new([as_text(e, bind), as_text(pattern, bind)]);
    Ok(boolean(
        nullable,
        Node::Regexp {
            negated,
            collation,
            args,
            cache: Default::default(),
        },
    ))
}

/// `CASE [operand] WHEN … THEN … [ELSE …] END`; without `otherwise` the last alternative is NULL.
pub fn case(
    mut operand: Option<Expr>,
    mut whens: Vec<(Expr, Expr)>,
    mut otherwise: Option<Expr>,
    bind: &BindCtx,
) -> Result<Expr> {
    if bind.parameters.derives() {
        match &mut operand {
            Some(operand) => {
                bind.settle(std::iter::once(operand).chain(whens.iter_mut().map(|(when, _)| when)))
            }
            None => whens.iter_mut().for_each(|(when, _)| bind.settle_truth(when)),
        }
        bind.settle_common(whens.iter_mut().map(|(_, then)| then).chain(&mut otherwise));
    }
    let results: Vec<&SqlType> = whens
        .iter()
        .map(|(_, r)| &r.ty)
        .chain(otherwise.iter().map(|e| &e.ty))
        .collect();
    let mut ty = result_type(&results, "case", bind)?;
    ty.nullable = otherwise.is_none() || results.iter().any(|t| t.nullable);
    let whens = whens
        .into_iter()
        .map(|(when, then)| match &operand {
            None => Ok((CmpKind::Int, json_as_double(when), then)),
            Some(o) => {
                let when = match o.ty.kind {
                    _ if o.ty.is_numeric() => sum_as_double(when),
                    // Beside a time a date with time is its time, whatever the two are.
                    TypeKind::Time if matches!(when.ty.kind, TypeKind::DateTime | TypeKind::Timestamp) => {
                        let scale = when.ty.scale;
                        cast(when, SqlType::time(scale), bind)?
                    }
                    _ => when,
                };
                let kind = text_cmp_kind(o, &when, "case", bind)?;
                let when = of_kind(kind, when);
                Ok((kind, when, then))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let text = ty.is_string().then_some(ty.collation);
    let node = Node::Case {
        operand: operand.map(Box::new),
        whens,
        otherwise: otherwise.map(Box::new),
    };
    let mut case = expr(ty, node);
    if let Some(collation) = text {
        case.each_branch(|branch| in_set_of(as_text(branch, bind), collation));
    }
    Ok(case)
}

/// `CAST(e AS ty)`, `CONVERT(e, ty)`.
pub fn cast(mut e: Expr, mut ty: SqlType, bind: &BindCtx) -> Result<Expr> {
    bind.settle_cast(&mut e, &ty);
    let e = match ty.kind {
        _ if ty.is_float() => json_as_double(as_number(e)),
        _ if ty.is_integer() => made_document(e),
        _ if ty.is_numeric() || ty.is_temporal() => found_document(e),
        _ => e,
    };
    let e = match ty.kind {
        _ if ty.is_integer() && !ty.unsigned => as_integer(whole_seconds(as_number(e))),
        _ if ty.is_integer() => as_integer(as_number(e)),
        _ if ty.is_numeric() => sum_as_double(as_number(e)),
        // The bits of a BIT are bytes in a document, of which the type is known; a year is a number.
        TypeKind::Json if matches!(e.ty.kind, TypeKind::Bit | TypeKind::Year) => e,
        _ if ty.is_temporal() => moment_as(e, &ty, bind),
        _ => as_text(e, bind),
    };
    ty.nullable = e.ty.nullable || ty.is_temporal() || ty.kind == TypeKind::Year || ty.kind == TypeKind::Json;
    // A year that is computed has no zeros in front.
    ty.zerofill &= ty.kind != TypeKind::Year;
    if ty.kind == TypeKind::VarChar && ty.collation.is_binary() && ty.length != u32::MAX {
        // BINARY(n) is filled up to its length.
        ty.kind = TypeKind::Char;
    }
    if ty.is_string() {
        // What JSON_VALUE returns is no stronger than its document.
        ty.derivation = match &e.node {
            Node::Call(def, _) if def.name == "json_value" => Derivation::Literal,
            _ => Derivation::Implicit,
        };
    }
    Ok(expr(ty, Node::Cast(Box::new(e))))
}

/// As a value of a column of that type, in a query with others: bytes are not filled up, and a FLOAT has as many of the digits of its
/// value as there is room for.
pub fn as_column(e: Expr, ty: &SqlType, bind: &BindCtx) -> Result<Expr> {
    static FLOAT: FuncDef = def(
        "text_of_float",
        (1, 1),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| match args[0].eval(ctx)? {
            Val::Null => Ok(Val::Null),
            value => Ok(Val::string(fitting_digits(
                value.to_f64(ctx.env)?,
                ty.length as usize,
            ))),
        },
    );
    let is_float = e.ty.kind == TypeKind::Float && e.ty.scale == SqlType::NOT_FIXED;
    if is_float && ty.is_string() {
        return Ok(expr(
            ty.clone().with_nullable(e.ty.nullable),
            Node::Call(&FLOAT, vec![e]),
        ));
    }
    // A cast would refuse the zero date.
    static MOMENT: FuncDef = def(
        "moment_of_column",
        (1, 1),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| to_kind(args[0].eval(ctx)?, ty, ctx.env),
    );
    if e.ty.has_date() && matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp) {
        let ty = ty.clone().with_nullable(e.ty.nullable);
        return Ok(expr(ty, Node::Call(&MOMENT, vec![e])));
    }
    // The year 0 is a 0 there.
    let e = match e.ty.kind == TypeKind::Year && ty.is_string() {
        true => cast(e, SqlType::bigint(), bind)?,
        false => e,
    };
    let e = match ty.is_string() {
        true => in_set_of(e, ty.collation),
        false => e,
    };
    let mut cast = cast(e, ty.clone(), bind)?;
    cast.ty.kind = ty.kind;
    Ok(cast)
}

/// A text, or bytes, that a column of a working table takes: bytes as those of the text's character set, a text as one of the column's.
/// Error 3854, once a row asks for it, if that cannot be. Other values stay.
pub fn in_set_of_column(e: Expr, ty: &SqlType) -> Expr {
    let is_text = |ty: &SqlType| ty.is_string() && !ty.is_member() && ty.kind != TypeKind::Json;
    match is_text(ty) && is_text(&e.ty) {
        false => e,
        true if ty.is_binary_string() => beside_bytes(e),
        true => beside_text(e, ty.collation),
    }
}

/// A double with as many digits as fit into so many characters.
fn fitting_digits(value: f64, room: usize) -> String {
    let whole = tidemark_types::convert::format_double(value);
    let before_point = format!("{:.0}", value.trunc()).len();
    if whole.len() <= room || whole.contains('e') || before_point + 1 >= room {
        return whole;
    }
    let text = format!("{value:.*}", room - before_point - 1);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `CONVERT(e USING charset)`
pub(crate) fn convert_using(e: Expr, charset: Charset, bind: &BindCtx) -> Result<Expr> {
    let mut e = as_text(e, bind);
    let collation = charset.default_collation();
    let mut ty = SqlType::varchar(super::infer::text_length(&e.ty), collation).with_nullable(true);
    if let Node::Call(def, _) = &mut e.node
        && def.name == "char"
    {
        // CHAR(… USING charset) is a literal.
        *def = char_in_units(charset.min_bytes());
        ty = ty.literal();
    }
    Ok(expr(ty, Node::Cast(Box::new(e))))
}

/// `e COLLATE collation`
pub(crate) fn collate(e: Expr, collation: Collation, bind: &BindCtx) -> Result<Expr> {
    let e = as_text(e, bind);
    let charset = if e.ty.is_string() {
        e.ty.collation.charset()
    } else if e.ty.kind == TypeKind::Null {
        Charset::Binary
    } else {
        bind.collation_connection.charset()
    };
    if charset != collation.charset() && (e.ty.kind != TypeKind::Null || e.is_null_by_type()) {
        return Err(SqlError::collation_charset_mismatch(
            collation.name(),
            charset.name(),
        ));
    }
    let mut ty = if e.ty.is_string() && !e.ty.is_member() && e.ty.kind != TypeKind::Json {
        e.ty.clone()
    } else {
        SqlType::varchar(super::infer::text_length(&e.ty), collation).with_nullable(e.ty.nullable)
    };
    ty.collation = collation;
    ty.derivation = Derivation::Explicit;
    Ok(expr(ty, Node::Retype(Box::new(e))))
}

/// A subquery in an expression; `columns` are its columns' types, and whether they are columns of tables: a constant in them is what it is
/// as equal to one.
pub(crate) fn subquery(
    id: usize,
    kind: SubqueryKind,
    operands: Vec<Expr>,
    (columns, are_columns): (&[SqlType], bool),
    bind: &BindCtx,
) -> Result<Expr> {
    let (ty, expected) = match kind {
        SubqueryKind::Scalar | SubqueryKind::Condition => (columns.first().cloned(), 1),
        SubqueryKind::Exists | SubqueryKind::NotExists => {
            (Some(SqlType::boolean().with_nullable(false)), columns.len())
        }
        SubqueryKind::Quantified(..) | SubqueryKind::Row(_) => (Some(SqlType::boolean()), operands.len()),
    };
    if columns.len() != expected {
        return Err(SqlError::operand_columns(expected));
    }
    let ty = ty.ok_or_else(|| SqlError::operand_columns(1))?;
    let ty = if kind.is_value() {
        ty.with_nullable(true)
    } else {
        ty
    };
    let quantified = matches!(kind, SubqueryKind::Quantified(..));
    let is_not_in = kind == SubqueryKind::Quantified(CmpOp::Ne, Quantifier::All);
    let is_in = matches!(kind, SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any)) || is_not_in;
    let operands = operands
        .into_iter()
        .zip(columns)
        .map(|(mut operand, column)| {
            if is_in || !quantified {
                bind.settle_as(&mut operand, ParamPlace::value(ParamKind::beside(column)));
            }
            let other = self::column(0, column.clone());
            // NOT IN looks row by row at a constant that NULLIF makes, as it may be NULL.
            let by_row = is_not_in && matches!(&operand.node, Node::Call(def, _) if def.name == "nullif");
            if quantified && !by_row {
                check_date(&operand, &other, bind)?;
            }
            let is_moment = column.is_temporal() || column.kind == TypeKind::Year;
            let is_read = is_moment && !comparison::varies(&operand) && !is_sum_of_times(&operand);
            if quantified && are_columns && !by_row && is_read {
                let named = named_column(0, column.clone(), "``.``.``");
                let constant = hexadecimal_as_bytes(operand.clone());
                if let Some(compared) = comparison::constant_among(constant, named, bind)? {
                    return Ok(compared);
                }
            }
            let operand = year::year_beside(operand, column);
            Ok((cmp_kind(&operand, &other, "=", bind)?, operand))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(expr(ty, Node::Subquery { id, kind, operands }))
}

/// The common type of the columns of a UNION.
pub fn common_type(types: &[&SqlType], operation: &str, bind: &BindCtx) -> Result<SqlType> {
    let mut ty = result_type(types, operation, bind)?;
    ty.nullable = types.iter().any(|t| t.nullable);
    Ok(ty)
}
