//! Functions that measure and search texts.

use super::control::{field_kind, same};
use super::*;
use crate::compare::compare_texts;
use crate::infer::{common_collation, pattern_collation};
use memchr::memmem;
use tidemark_types::error::interrupt::Steps;
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
    })
    .null_when(NullWhen::AnyArgument),
    def("bit_length", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::Int(8 * known!(byte_len(&args[0], ctx)?)))
    })
    .null_when(NullWhen::AnyArgument),
    def("char_length", (1, 1), int_type, |args, _, ctx| {
        let text = known!(text(&args[0], ctx)?);
        Ok(Val::Int(charset_of(&args[0]).char_count(&text) as i64))
    })
    .null_when(NullWhen::AnyArgument),
    def("ascii", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::Int(
            known!(bytes(&args[0], ctx)?).first().copied().unwrap_or(0) as i64,
        ))
    })
    .null_when(NullWhen::AnyArgument),
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
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Text, ParamKind::Int(false)]),
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
    )
    .null_when(NullWhen::AnyArgument),
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
    )
    .takes_alike(),
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
            Ok(Val::Int(compare_texts(ty.collation, &a, &b)? as i64))
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
            let mut steps = Steps::default();
            // Two bytes for each character are the least on each level.
            let _room = reserve_memory(text.len().saturating_mul(2))?;
            let weights = charset_collation(&args[0]).weight_string(&text, &mut || steps.step())?;
            Ok(Val::string(weights))
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
    )
    .takes(&[ParamKind::Text, ParamKind::Text, ParamKind::Int(false)]),
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

/// Returns the byte at which a part begins that equals the needle under the collation.
fn find(needle: &[u8], haystack: &[u8], collation: Collation, ctx: &EvalCtx) -> Result<Option<usize>> {
    if !collation.ignores_case() && !collation.has_levels() {
        return Ok(memmem::find(haystack, needle));
    }
    let mut watch = Watch::new(ctx.env);
    if collation.folds_only_case() && is_plain(haystack) && is_plain(needle) {
        return match collation.ignores_case() {
            true => find_in_any_case(needle, haystack, &mut watch),
            false => Ok(memmem::find(haystack, needle)),
        };
    }
    // A character may weigh as much as several, or nothing: the weights of the needle are looked for.
    let charset = collation.charset();
    let mut at = 0;
    loop {
        let mut steps = 1;
        let rest = &haystack[at..];
        if rest.starts_with(needle) || collation.begins_with(rest, needle, &mut steps) {
            return Ok(Some(at));
        }
        watch.step(steps)?;
        at += charset.prefix_len(rest, 1).max(1);
        if at >= haystack.len() {
            return Ok(None);
        }
    }
}

/// Returns the byte at which the needle begins, in texts of ASCII. The text is folded in windows that overlap by a needle less a byte, so
/// that the time is linear in both lengths and the memory is that of the needle.
fn find_in_any_case(needle: &[u8], haystack: &[u8], watch: &mut Watch) -> Result<Option<usize>> {
    const WINDOW: usize = 64 << 10;
    if needle.len() > haystack.len() {
        return Ok(None);
    }
    let wanted = needle.to_ascii_lowercase();
    let finder = memmem::Finder::new(&wanted);
    let window = WINDOW.max(2 * needle.len());
    let mut folded = Vec::with_capacity(window.min(haystack.len()));
    let mut at = 0;
    loop {
        let end = haystack.len().min(at + window);
        folded.clear();
        folded.extend(haystack[at..end].iter().map(u8::to_ascii_lowercase));
        if let Some(found) = finder.find(&folded) {
            return Ok(Some(at + found));
        }
        if end == haystack.len() {
            return Ok(None);
        }
        watch.step(end - at)?;
        at = end - needle.len().saturating_sub(1);
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
    let wanted = spaces(&needle);
    let mut watch = Watch::new(ctx.env);
    for (i, member) in set.split(|b| *b == b',').enumerate() {
        watch.step(16 + member.len())?;
        if spaces(member) == wanted && ty.collation.eq(member, &needle) {
            return Ok(Val::Int(i as i64 + 1));
        }
    }
    Ok(Val::Int(0))
}

/// What stands before the n-th delimiter, or from the end after it if negative.
fn substring_index<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let delimiter = known!(text(&args[1], ctx)?);
    let count = known!(int(&args[2], ctx)?);
    if delimiter.is_empty() || count == 0 {
        return Ok(Val::str(""));
    }
    let finder = memmem::Finder::new(&delimiter);
    let mut watch = Watch::new(ctx.env);
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let from_first = if count > 0 {
        wanted
    } else {
        // Counted from the end, but found from the beginning: delimiters may overlap.
        let mut places = 0;
        for _ in finder.find_iter(&subject) {
            watch.step(16)?;
            places += 1;
        }
        match (places + 1usize).checked_sub(wanted) {
            None | Some(0) => return Ok(Val::Str(subject)),
            Some(place) => place,
        }
    };
    let mut found = None;
    for place in finder.find_iter(&subject).take(from_first) {
        watch.step(16)?;
        found = Some((place, found.map_or(1, |(_, n): (usize, usize)| n + 1)));
    }
    let (end, delimiter_len) = (subject.len(), delimiter.len());
    match found {
        Some((place, n)) if n == from_first && count > 0 => Ok(slice(subject, 0, place)),
        Some((place, n)) if n == from_first => Ok(slice(subject, place + delimiter_len, end)),
        _ => Ok(Val::Str(subject)),
    }
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
