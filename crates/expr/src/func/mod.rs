//! The table of functions.
//!
//! A function is one line of a table: its name, how many arguments it takes, when it may be evaluated in advance, how the
//! type of its result follows from its arguments, and how it is computed. The tables stand in one file per subject.

#![allow(
    clippy::ptr_arg,
    reason = "the functions that infer types share one signature, whether they change the number of arguments or not"
)]

mod cipher;
mod compress;
mod control;
mod digest;
mod info;
mod json;
mod json_schema;
mod json_search;
mod json_shape;
mod locale;
mod locks;
mod multi_valued;
mod net;
mod numeric;
mod regexp;
mod statement;
mod string;
mod string_search;
mod sys;
mod temporal;
mod temporal_now;
mod temporal_sum;
mod units;
mod xml;

pub use json_schema::schema_violation;
pub(crate) use multi_valued::cast_as_array;
pub use multi_valued::{ArrayTest, array_test, cast_operand};
pub use statement::digest_hash;

use super::build::{self, BindCtx, as_number, as_text, json_as_double};
use super::env::{EvalCtx, Watch};
use super::eval::{bytes, text};
use super::function::{FuncDef, MANY, NullWhen, def, stable, volatile};
use super::infer::{joined_collation, length_of_all, length_under, text_type};
use super::node::{Expr, Node};
use super::parameter::ParamKind;
use super::pieces::{PIECE, Pieces, changed, pieces, pieces_of_text};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;
use tidemark_types::convert::excerpt;
use tidemark_types::error::memory::{Reservation, check_memory, reserve_memory};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{Collation, Conversion, SqlType, TimeZone, TypeKind, Val, Warnings};

static BY_NAME: LazyLock<HashMap<&'static str, &'static FuncDef>> = LazyLock::new(|| {
    let tables: [&'static [FuncDef]; 22] = [
        cipher::FUNCTIONS,
        compress::FUNCTIONS,
        control::FUNCTIONS,
        digest::FUNCTIONS,
        info::FUNCTIONS,
        json::FUNCTIONS,
        json_schema::FUNCTIONS,
        json_search::FUNCTIONS,
        json_shape::FUNCTIONS,
        locks::FUNCTIONS,
        net::FUNCTIONS,
        numeric::FUNCTIONS,
        regexp::FUNCTIONS,
        string::FUNCTIONS,
        string_search::FUNCTIONS,
        sys::FUNCTIONS,
        temporal::FUNCTIONS,
        temporal_now::FUNCTIONS,
        temporal_sum::FUNCTIONS,
        statement::FUNCTIONS,
        units::FUNCTIONS,
        xml::FUNCTIONS,
    ];
    tables.into_iter().flatten().map(|f| (f.name, f)).collect()
});

/// Every function's name.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// Other names of the same function.
fn canonical(name: &str) -> &str {
    match name {
        "ceiling" => "ceil",
        "character_length" => "char_length",
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        "dayofmonth" => "day",
        "json_merge" => "json_merge_preserve",
        "lcase" => "lower",
        "mid" | "substr" => "substring",
        "octet_length" => "length",
        "power" => "pow",
        "schema" => "database",
        "session_user" | "system_user" => "user",
        "sha" => "sha1",
        "sys.format_bytes" => "format_bytes",
        "sys.format_time" => "format_pico_time",
        "trim_both" => "trim",
        "ucase" => "upper",
        other => other,
    }
}

/// Whether a call may give something else on another server that does the same, as MySQL sees it.
fn is_unsafe(name: &str) -> bool {
    matches!(
        name,
        "aes_decrypt"
            | "aes_encrypt"
            | "current_user"
            | "found_rows"
            | "get_lock"
            | "icu_version"
            | "is_free_lock"
            | "is_used_lock"
            | "load_file"
            | "rand"
            | "random_bytes"
            | "release_all_locks"
            | "release_lock"
            | "row_count"
            | "sleep"
            | "sysdate"
            | "user"
            | "uuid"
            | "uuid_short"
            | "version"
    )
}

/// Whether there is a function of this name (any case), which begins with a database where it is one of that.
pub fn is_function(name: &str) -> bool {
    BY_NAME.contains_key(canonical(&name.to_ascii_lowercase()))
}

/// A function call by name (any case). TIMESTAMPDIFF and TIMESTAMPADD take their unit as a string literal first; TRIM's
/// directions are the functions `trim`, `trim_leading`, `trim_trailing` (text, then the characters to remove). EXTRACT, CAST,
/// DATE_ADD and the like have constructors in [`build`].
pub fn call(name: &str, mut args: Vec<Expr>, bind: &BindCtx) -> Result<Expr> {
    let lower = name.to_ascii_lowercase();
    let def = BY_NAME
        .get(canonical(&lower))
        .ok_or_else(|| SqlError::unknown_function(name))?;
    if !(def.min_args..=def.max_args).contains(&args.len()) {
        return Err(SqlError::parameter_count(name));
    }
    if is_unsafe(def.name) {
        bind.is_unsafe.set(true);
    }
    if def.name == "found_rows" {
        bind.deprecate("FOUND_ROWS()", "Consider using COUNT(*) instead.");
    }
    bind.settle_arguments(def, &mut args);
    let ty = (def.infer)(&mut args, bind)?;
    // What is made of texts and bytes is bytes.
    if ty.is_binary_string() && args.iter().any(|arg| arg.ty.is_binary_string()) {
        args = args.into_iter().map(build::beside_bytes).collect();
    }
    Ok(build::expr(ty, Node::Call(def, args)))
}

// --- types of results ---------------------------------------------------------------------------------------------

/// Whether any argument can be NULL.
fn any_nullable(args: &[Expr]) -> bool {
    args.iter().any(|a| a.ty.nullable)
}

/// Complains that an argument has a value that the function cannot take: error 1411, which shows how the argument is written.
fn complain_of(kind: &str, arg: &Expr, function: &str, ctx: &EvalCtx) -> Result<()> {
    let written = super::print::operand(arg, ctx.env);
    let shown = excerpt(written.as_bytes());
    ctx.env
        .complain(SqlError::wrong_value_for_type(kind, &shown, function))
}

/// Text arguments show their types in their text (BIT, ZEROFILL).
fn textual(args: &mut [Expr], bind: &BindCtx) {
    for arg in args {
        let taken = std::mem::replace(arg, build::null());
        *arg = as_text(taken, bind);
    }
}

/// Hexadecimal literals among the arguments are numbers, and documents the numbers in them.
fn numbers(args: &mut Vec<Expr>) {
    for arg in std::mem::take(args) {
        args.push(json_as_double(as_number(arg)));
    }
}

/// A text made of all arguments, as long as `length` says.
fn text_of(args: &mut [Expr], length: u64, op: &str, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let types: Vec<&SqlType> = args.iter().map(|a| &a.ty).collect();
    let nullable = any_nullable(args);
    let ty = text_type(length, &types, op, bind)?.with_nullable(nullable);
    read_bytes_in(ty.collation, args);
    Ok(ty)
}

/// Bytes among arguments that make a text of this collation, or are compared under it, are read in its character set.
fn read_bytes_in(collation: Collation, args: &mut [Expr]) {
    for arg in args {
        let taken = std::mem::replace(arg, build::null());
        *arg = build::in_set_of(taken, collation);
    }
}

/// The collation of an operation on texts of which one decides: what it is compared with is read in its character set ([`read_in`]).
fn decided_by(one: &SqlType, all: &[&SqlType], op: &str, bind: &BindCtx) -> Result<Collation> {
    let (joined, _) = joined_collation(all, op, bind)?;
    Ok(match one.is_string() {
        true => one.collation,
        false => joined,
    })
}

/// Bytes and texts among arguments as texts under the collation of one of them. Error 3854 for what its character set does not have.
fn read_in(collation: Collation, args: &mut [Expr]) {
    for arg in args {
        let taken = std::mem::replace(arg, build::null());
        let taken = build::in_set_of(taken, collation);
        *arg = build::beside_text(taken, collation);
    }
}

/// The first argument with texts of the others put in, under its collation. Bytes beside a text are read in its character set, and error
/// 3854 is for what that cannot hold.
fn text_with(args: &mut [Expr], others: &[usize], length: u64, op: &str, bind: &BindCtx) -> Result<SqlType> {
    if !args[0].ty.is_binary_string() {
        let collation = match args[0].ty.is_string() {
            true => args[0].ty.collation,
            false => bind.collation_connection,
        };
        for at in others {
            let other = std::mem::replace(&mut args[*at], build::null());
            args[*at] = build::beside_text(other, collation);
        }
    }
    let first = &args[0].ty;
    let types: Vec<&SqlType> = std::iter::once(first)
        .chain(others.iter().map(|at| &args[*at].ty))
        .collect();
    // NULL decides, too, and makes bytes.
    if first.kind == TypeKind::Null {
        return text_type(length, &[first], op, bind);
    }
    match first.is_string() {
        true => text_type(length, &[first], op, bind),
        false => text_type(length, &types, op, bind),
    }
}

/// A text under the first argument's collation.
fn text_like_first(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(&mut args[..1], bind);
    let nullable = any_nullable(args);
    let length = args[0].ty.display_length() as u64;
    Ok(text_type(length, &[&args[0].ty], "function", bind)?.with_nullable(nullable))
}

/// The value of a constant as an integer.
fn constant_int(e: &Expr, bind: &BindCtx) -> Option<i64> {
    match build::constant(e, bind)? {
        Val::Null => None,
        value => value
            .to_i64(&Conversion::new(&Warnings::default(), &TimeZone::UTC))
            .ok(),
    }
}

/// Bytes that a text of this type may have.
fn byte_length(ty: &SqlType) -> u64 {
    let per_character = match ty.is_string() {
        true => ty.collation.charset().max_bytes() as u64,
        false => 1,
    };
    ty.display_length() as u64 * per_character
}

/// A text of the server's making, under the connection's collation.
fn server_text(length: u64, nullable: bool, bind: &BindCtx) -> SqlType {
    let collation = bind.collation_connection;
    let ty = super::infer::sized_text(length, collation);
    ty.with_collation(collation, tidemark_types::Derivation::Literal)
        .with_nullable(nullable)
}

fn int_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(SqlType::bigint().with_nullable(any_nullable(args)))
}

fn nullable_int(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    Ok(int_type(args, bind)?.with_nullable(true))
}

fn double_type(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    numbers(args);
    Ok(SqlType::double().with_nullable(any_nullable(args)))
}

fn nullable_double(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    Ok(double_type(args, bind)?.with_nullable(true))
}

// --- arguments ----------------------------------------------------------------------------------------------------

/// The argument as an integer; `None` is NULL.
fn int<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<i64>> {
    match e.eval(ctx)? {
        Val::Null => Ok(None),
        value => whole_seconds(e, value).to_i64(ctx.env).map(Some),
    }
}

/// A Unix time where an integer is wanted is not rounded.
fn whole_seconds<'a>(e: &Expr, value: Val<'a>) -> Val<'a> {
    match value {
        Val::Decimal(d) if matches!(&e.node, Node::Call(def, _) if def.name == "unix_timestamp") => {
            Val::Decimal(d.truncate(0))
        }
        value => value,
    }
}

/// The argument as bits; `None` is NULL.
fn bits<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<u64>> {
    match e.eval(ctx)? {
        Val::Null => Ok(None),
        value => whole_seconds(e, value).to_operand_bits(ctx.env).map(Some),
    }
}

/// The argument as a double; `None` is NULL.
fn double<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<f64>> {
    match e.eval(ctx)? {
        Val::Null => Ok(None),
        value => value.to_f64(ctx.env).map(Some),
    }
}

/// Room for a text of so many bytes, which may be no more than a packet's: `None` and a warning if it is, and the value is
/// NULL. Error 3170 if there is no memory for it.
fn within_packet<'a>(length: u128, name: &str, ctx: &EvalCtx<'a>) -> Result<Option<Reservation>> {
    within_packets(length, 1, name, ctx)
}

/// The same for a function that MySQL does not bound (HEX, MAKE_SET, JSON_QUOTE): what it makes of one text within a
/// packet passes, what calls inside each other would add up to does not.
fn within_packets<'a>(
    length: u128,
    packets: u128,
    name: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Reservation>> {
    if !fits_packets(length, packets, name, ctx) {
        return Ok(None);
    }
    Ok(Some(reserve_memory(
        usize::try_from(length).unwrap_or(usize::MAX),
    )?))
}

/// Whether a text that has grown to so many bytes may grow on: if not, there is a warning, and the value is NULL.
fn grows_within_packet<'a>(length: usize, name: &str, ctx: &EvalCtx<'a>) -> Result<bool> {
    check_memory()?;
    Ok(fits_packets(length as u128, 1, name, ctx))
}

fn fits_packets<'a>(length: u128, packets: u128, name: &str, ctx: &EvalCtx<'a>) -> bool {
    let fits = length <= ctx.env.max_allowed_packet as u128 * packets;
    if !fits {
        ctx.env
            .warnings
            .warn(SqlError::packet_overflow(name, ctx.env.max_allowed_packet));
    }
    fits
}

/// Evaluates arguments and returns NULL if one is.
macro_rules! known {
    ($e:expr) => {
        match $e {
            Some(value) => value,
            None => return Ok(tidemark_types::Val::Null),
        }
    };
}
use known;

/// The text of a `Cow` cut to a range of bytes.
fn slice(text: Cow<[u8]>, start: usize, end: usize) -> Val {
    Val::Str(match text {
        Cow::Borrowed(b) => Cow::Borrowed(&b[start..end]),
        Cow::Owned(b) if start == 0 && end == b.len() => Cow::Owned(b),
        Cow::Owned(b) => Cow::Owned(b[start..end].to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_resolvable() {
        assert!(BY_NAME.len() > 150, "{}", BY_NAME.len());
        for alias in ["ceiling", "substr", "schema", "ucase", "power", "octet_length"] {
            assert!(BY_NAME.contains_key(canonical(alias)), "{alias}");
        }
        let error = call("nope", Vec::new(), &BindCtx::default()).unwrap_err();
        assert_eq!(error.code, 1305);
        let error = call("ABS", Vec::new(), &BindCtx::default()).unwrap_err();
        assert_eq!(
            error.message,
            "Incorrect parameter count in the call to native function 'ABS'"
        );
    }
}
