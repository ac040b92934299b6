//! Functions that measure and search texts.

use super::control::{field_kind, same};
use super::*;
use crate::infer::{common_collation, pattern_collation};
use tidemark_types::{CmpKind, Collation, Derivation};

/// How many bytes a text has in its own character set; `None` if it is NULL.
fn byte_len<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<i64>> {
    let Some(text) = text(e, ctx)? else {
        return Ok(None);
    };
    let len = e.ty.collation.charset().byte_len(&text);
    Ok(Some(len.max(ascii_len(e, &text)) as i64))
}

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("length", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::Int(known!(byte_len(&args[0], ctx)?)))
    }),
    def("bit_length", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::Int(8 * known!(byte_len(&args[0], ctx)?)))
    }),
    def("char_length", (1, 1), int_type, |args, _, ctx| {
        let text = known!(text(&args[0], ctx)?);
        Ok(Val::Int(charset_of(&args[0]).char_count(&text) as i64))
    }),
    def("ascii", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::Int(
            known!(bytes(&args[0], ctx)?).first().copied().unwrap_or(0) as i64,
        ))
    }),
    def("ord", (1, 1), int_type, |args, _, ctx| {
        let text = known!(text(&args[0], ctx)?);
        let first = charset_of(&args[0]).prefix_len(&text, 1);
        let first = &text[..first];
        let encoded = charset_of(&args[0]).encode(first);
        let code = encoded.as_deref().unwrap_or(first);
        Ok(Val::Int(code.iter().fold(0, |n, b| n << 8 | *b as i64)))
    }),
    def(
        "locate",
        (2, 3),
        |args, bind| search_type(args, "locate", bind),
        |args, ty, ctx| locate(&args[0], &args[1], args.get(2), ty, ctx),
    ),
    def(
        "position",
        (2, 2),
        |args, bind| search_type(args, "locate", bind),
        |args, ty, ctx| locate(&args[0], &args[1], None, ty, ctx),
    ),
    def(
        "instr",
        (2, 2),
        |args, bind| search_type(args, "instr", bind),
        |args, ty, ctx| locate(&args[1], &args[0], None, ty, ctx),
    ),
    def(
        "field",
        (2, MANY),
        |args, bind| {
            let kind = field_kind(args, "field", bind)?;
            if let CmpKind::Str(collation) = kind {
                read_in(collation, args);
            }
            Ok(kind_type(kind, SqlType::bigint().with_nullable(false)))
        },
        |args, ty, ctx| {
            let kind = type_kind(ty);
            for (i, candidate) in args[1..].iter().enumerate() {
                if same(&args[0], candidate, kind, ctx)? {
                    return Ok(Val::Int(i as i64 + 1));
                }
            }
            Ok(Val::Int(0))
        },
    ),
    def(
        "find_in_set",
        (2, 2),
        |args, bind| search_type(args, "find_in_set", bind),
        find_in_set,
    ),
    def(
        "strcmp",
        (2, 2),
        |args, bind| search_type(args, "strcmp", bind),
        |args, ty, ctx| {
            let (a, b) = (known!(text(&args[0], ctx)?), known!(text(&args[1], ctx)?));
            Ok(Val::Int(ty.collation.compare(&a, &b) as i64))
        },
    ),
    def(
        "weight_string",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(SqlType::varbinary(args[0].ty.display_length().saturating_mul(4)).with_nullable(true))
        },
        |args, _, ctx| {
            let text = known!(text(&args[0], ctx)?);
            Ok(Val::string(charset_collation(&args[0]).weight_string(&text)))
        },
    ),
    def(
        "substring_index",
        (3, 3),
        |args, bind| {
            textual(&mut args[1..2], bind);
            let ty = text_like_first(args, bind)?;
            read_bytes_in(ty.collation, &mut args[1..2]);
            Ok(ty)
        },
        substring_index,
    ),
];

/// The character set that a text argument counts its characters in.
fn charset_of(e: &Expr) -> tidemark_types::Charset {
    if e.ty.is_string() {
        e.ty.collation.charset()
    } else {
        tidemark_types::Charset::Ascii
    }
}

fn charset_collation(e: &Expr) -> Collation {
    if e.ty.is_string() {
        e.ty.collation
    } else {
        Collation::BINARY
    }
}

/// The length of what is no text by type (a number, a date).
fn ascii_len(e: &Expr, text: &[u8]) -> usize {
    if e.ty.is_string() { 0 } else { text.len() }
}

/// An integer that remembers the collation of the search: LOCATE's and its kin's is that of the text which is searched.
fn search_type(args: &mut Vec<Expr>, op: &str, bind: &BindCtx) -> Result<SqlType> {
    textual(&mut args[..2], bind);
    let nullable = any_nullable(args);
    let types = [&args[0].ty, &args[1].ty];
    let collation = match op {
        "locate" => decided_by(types[1], &types, op, bind)?,
        "instr" => decided_by(types[0], &types, op, bind)?,
        "find_in_set" => pattern_collation(&types, op, bind)?.0,
        _ => common_collation(&types, op, bind)?.0,
    };
    match op {
        "locate" | "instr" => read_in(collation, &mut args[..2]),
        // FIND_IN_SET finds nothing in what cannot be read.
        "find_in_set" if !collation.charset().is_encoded() && !collation.is_binary() => {}
        _ => read_bytes_in(collation, &mut args[..2]),
    }
    let ty = SqlType::bigint().with_nullable(nullable);
    // What finds a place gives its collation on to a text that the number is put in.
    let derivation = match op {
        "locate" | "instr" => Derivation::Implicit,
        _ => ty.derivation,
    };
    Ok(ty.with_collation(collation, derivation))
}

/// FIELD's comparison is kept in its type: a collation for texts, else which numbers are meant.
fn kind_type(kind: CmpKind, mut ty: SqlType) -> SqlType {
    match kind {
        CmpKind::Str(collation) => ty = ty.with_collation(collation, Derivation::Implicit),
        CmpKind::Int => ty.length = 3,
        CmpKind::Decimal => ty.length = 5,
        _ => ty.length = 4,
    }
    ty
}

fn type_kind(ty: &SqlType) -> CmpKind {
    match ty.length {
        3 => CmpKind::Int,
        4 => CmpKind::Double,
        5 => CmpKind::Decimal,
        _ => CmpKind::Str(ty.collation),
    }
}

/// Where a text stands in another, in characters from 1; 0 if nowhere.
fn locate<'a>(
    needle: &'a Expr,
    haystack: &'a Expr,
    from: Option<&'a Expr>,
    ty: &'a SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    let needle = known!(text(needle, ctx)?);
    let haystack = known!(text(haystack, ctx)?);
    let from = match from {
        Some(e) => known!(int(e, ctx)?),
        None => 1,
    };
    let charset = ty.collation.charset();
    let count = charset.char_count(&haystack) as i64;
    if from < 1 || from > count + 1 {
        return Ok(Val::Int(0));
    }
    let start = charset.prefix_len(&haystack, from as usize - 1);
    // Even what weighs nothing is not found behind the end.
    let found = match haystack[start..].is_empty() && !needle.is_empty() {
        true => None,
        false => find(&needle, &haystack[start..], ty.collation, ctx)?,
    };
    Ok(Val::Int(found.map_or(0, |at| {
        charset.char_count(&haystack[..start + at]) as i64 + 1
    })))
}

/// Whether a text is of ASCII characters that weigh something under every collation.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|b| matches!(b, b'\t'..=b'\r' | b' '..=b'~'))
}

/// The byte at which a part begins that equals the needle under the collation.
fn find(needle: &[u8], haystack: &[u8], collation: Collation, ctx: &EvalCtx) -> Result<Option<usize>> {
    let charset = collation.charset();
    let mut watch = Watch::new(ctx.env);
    let wanted = charset.char_count(needle);
    let only_case = is_plain(haystack) && is_plain(needle) && collation.folds_only_case();
    // Where a character may weigh as much as several, or nothing, the weights of the needle are looked for.
    let by_weight = (collation.ignores_case() || collation.has_levels()) && !only_case;
    let mut at = 0;
    loop {
        let end = at + charset.prefix_len(&haystack[at..], wanted);
        if !by_weight && charset.char_count(&haystack[at..end]) < wanted {
            return Ok(None);
        }
        watch.step(end - at + 1)?;
        let part = &haystack[at..end];
        let equal = part == needle
            || match by_weight {
                true => collation.begins_with(&haystack[at..], needle),
                false => collation.ignores_case() && part.eq_ignore_ascii_case(needle),
            };
        if equal {
            return Ok(Some(at));
        }
        at += charset.prefix_len(&haystack[at..], 1).max(1);
        if at > haystack.len() || by_weight && at == haystack.len() {
            return Ok(None);
        }
    }
}

fn find_in_set<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (needle, set) = (known!(text(&args[0], ctx)?), known!(text(&args[1], ctx)?));
    let members = &args[1].ty;
    if members.kind == TypeKind::Set {
        // For a SET column the result is the member's position in its definition.
        let place = members
            .members()
            .iter()
            .position(|m| ty.collation.eq(m.as_bytes(), &needle));
        let chosen = |m: &str| set.split(|b| *b == b',').any(|s| s == m.as_bytes());
        let found = place.filter(|i| chosen(&members.members()[*i]));
        return Ok(Val::Int(found.map_or(0, |i| i as i64 + 1)));
    }
    if set.is_empty() || needle.contains(&b',') {
        return Ok(Val::Int(0));
    }
    // Spaces at the end count in all collations.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|b| **b == b' ').count();
    let is_it = |member: &[u8]| spaces(member) == spaces(&needle) && ty.collation.eq(member, &needle);
    let found = set.split(|b| *b == b',').position(is_it);
    Ok(Val::Int(found.map_or(0, |i| i as i64 + 1)))
}

/// What stands before the n-th delimiter, or from the end after it if negative.
fn substring_index<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let delimiter = known!(text(&args[1], ctx)?);
    let count = known!(int(&args[2], ctx)?);
    if delimiter.is_empty() || count == 0 {
        return Ok(Val::str(""));
    }
    let mut places = Vec::new();
    let mut at = 0;
    let mut watch = Watch::new(ctx.env);
    while at + delimiter.len() <= subject.len() {
        let begins = subject[at] == delimiter[0];
        watch.step(if begins { delimiter.len() } else { 1 })?;
        if begins && subject[at..].starts_with(&delimiter) {
            places.push(at);
            at += delimiter.len();
        } else {
            at += 1;
        }
    }
    let end = subject.len();
    let wanted = count.unsigned_abs() as usize;
    if wanted > places.len() {
        return Ok(Val::Str(subject));
    }
    if count > 0 {
        return Ok(slice(subject, 0, places[wanted - 1]));
    }
    let start = places[places.len() - wanted] + delimiter.len();
    Ok(slice(subject, start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_weighs_something_under_every_collation() {
        for collation in Collation::all().filter(|collation| collation.folds_only_case()) {
            for byte in 0..=u8::MAX {
                let plain = is_plain(&[byte]);
                let weighs = !collation.eq(&[b'x', byte, b'x'], b"xx");
                assert!(!plain || weighs, "{byte} under {}", collation.name());
            }
        }
    }
}
