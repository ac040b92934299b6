//! REGEXP_LIKE and its companions.

use super::*;
use crate::infer::pattern_collation;
use crate::like::compile;
use regex::bytes::Regex;
use tidemark_types::Derivation;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "regexp_like",
        (2, 3),
        |args, bind| {
            check(args, "regexp_like", bind)?;
            Ok(SqlType::boolean().with_nullable(any_nullable(args)))
        },
        |args, _, ctx| {
            let subject = known!(text(&args[0], ctx)?);
            let regex = known!(regex(args, 2, ctx)?);
            Ok(Val::bool(regex.is_match(&subject)))
        },
    ),
    def(
        "regexp_instr",
        (2, 6),
        |args, bind| {
            check(args, "regexp_instr", bind)?;
            Ok(SqlType::bigint().with_nullable(any_nullable(args)))
        },
        instr,
    ),
    def(
        "regexp_substr",
        (2, 5),
        |args, bind| {
            check(args, "regexp_substr", bind)?;
            let ty = text_like_first(args, bind)?;
            Ok(ty.with_nullable(true))
        },
        substr,
    ),
    def(
        "regexp_replace",
        (3, 6),
        |args, bind| {
            check(args, "regexp_replace", bind)?;
            let replacement = std::mem::replace(&mut args[2], build::null());
            args[2] = build::replacing_in(&args[0], replacement, "regexp_replace");
            let mut ty = text_like_first(args, bind)?;
            ty.length = ty.length.max(65_535);
            Ok(ty.with_nullable(any_nullable(args)))
        },
        replace,
    ),
];

fn check(args: &mut Vec<Expr>, name: &'static str, bind: &BindCtx) -> Result<()> {
    textual(args, bind);
    // Of what NULL would be searched is a text like the pattern.
    if args[0].ty.kind == TypeKind::Null && args[1].ty.is_string() {
        args[0].ty = SqlType::varchar(0, args[1].ty.collation)
            .with_collation(args[1].ty.collation, Derivation::Literal)
            .with_nullable(true);
    }
    let (collation, derivation) = pattern_collation(&[&args[0].ty, &args[1].ty], "regexp", bind)?;
    // The pattern decides where the text's own collations do not mix.
    let searched = &mut args[0].ty;
    if searched.derivation == Derivation::None && searched.collation.charset() == collation.charset() {
        *searched = searched.clone().with_collation(collation, derivation);
    }
    let pattern = std::mem::replace(&mut args[1], build::null());
    args[1] = build::searched_in(&args[0], pattern, name);
    Ok(())
}

/// The pattern is the second argument; `flags` is where the match type may stand.
fn regex<'a>(args: &'a [Expr], flags: usize, ctx: &EvalCtx<'a>) -> Result<Option<Regex>> {
    let Some(pattern) = text(&args[1], ctx)? else {
        return Ok(None);
    };
    let flags = match args.get(flags) {
        Some(e) => match text(e, ctx)? {
            Some(flags) => String::from_utf8_lossy(&flags).into_owned(),
            None => return Ok(None),
        },
        None => String::new(),
    };
    let mut collations = [&args[0], &args[1]]
        .into_iter()
        .filter(|e| e.ty.is_string())
        .map(|e| e.ty.collation);
    let first = collations.next().unwrap_or(Collation::UTF8MB4_BIN);
    let decides = |collation: &Collation| collation.is_binary() || !collation.ignores_case();
    let collation = std::iter::once(first)
        .chain(collations)
        .find(decides)
        .unwrap_or(first);
    compile(&pattern, collation, &flags).map(Some)
}

/// The byte at which the 1-based character position begins.
fn start<'a>(args: &'a [Expr], index: usize, subject: &[u8], ctx: &EvalCtx<'a>) -> Result<Option<usize>> {
    let Some(e) = args.get(index) else {
        return Ok(Some(0));
    };
    let Some(position) = int(e, ctx)? else {
        return Ok(None);
    };
    let charset = args[0].ty.collation.charset();
    let count = charset.char_count(subject) as i64;
    if position < 1 || position > count + 1 {
        return Err(SqlError::new(
            tidemark_types::error::er::REGEXP_INDEX_OUT_OF_BOUNDS,
            "Index out of bounds in regular expression search.",
        ));
    }
    Ok(Some(charset.prefix_len(subject, position as usize - 1)))
}

fn instr<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let regex = known!(regex(args, 5, ctx)?);
    let from = known!(start(args, 2, &subject, ctx)?);
    let nth = match args.get(3) {
        Some(e) => known!(int(e, ctx)?).max(1),
        None => 1,
    };
    let end = match args.get(4) {
        Some(e) => known!(int(e, ctx)?) != 0,
        None => false,
    };
    let charset = args[0].ty.collation.charset();
    let found = regex.find_iter(&subject[from..]).nth(nth as usize - 1);
    Ok(Val::Int(found.map_or(0, |m| {
        let at = from + if end { m.end() } else { m.start() };
        charset.char_count(&subject[..at]) as i64 + 1
    })))
}

fn substr<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let regex = known!(regex(args, 4, ctx)?);
    let from = known!(start(args, 2, &subject, ctx)?);
    let nth = match args.get(3) {
        Some(e) => known!(int(e, ctx)?).max(1),
        None => 1,
    };
    let found = regex
        .find_iter(&subject[from..])
        .nth(nth as usize - 1)
        .map(|m| m.as_bytes().to_vec());
    Ok(found.map_or(Val::Null, Val::string))
}

fn replace<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let replacement = known!(text(&args[2], ctx)?);
    let regex = known!(regex(args, 5, ctx)?);
    let from = known!(start(args, 3, &subject, ctx)?);
    let occurrence = match args.get(4) {
        Some(e) => known!(int(e, ctx)?).max(0) as usize,
        None => 0,
    };
    let pieces = pieces(&replacement);
    let max = ctx.env.max_allowed_packet as usize;
    let mut watch = Watch::new(ctx.env);
    let mut out = Vec::new();
    let mut add = |part: &[u8]| {
        if out.len() + part.len() > max {
            return Err(SqlError::regexp_buffer_overflow());
        }
        out.extend_from_slice(part);
        check_memory()
    };
    add(&subject[..from])?;
    let mut last = from;
    for (i, captures) in regex.captures_iter(&subject[from..]).enumerate() {
        watch.step(16)?;
        let Some(whole) = captures.get(0) else { continue };
        if occurrence != 0 && i + 1 != occurrence {
            continue;
        }
        add(&subject[last..from + whole.start()])?;
        for piece in &pieces {
            watch.step(1)?;
            match piece {
                Piece::Text(text) => add(text)?,
                Piece::Group(n) => add(captures.get(*n).map_or(&b""[..], |group| group.as_bytes()))?,
            }
        }
        last = from + whole.end();
    }
    add(&subject[last..])?;
    Ok(Val::string(out))
}

/// A part of a replacement.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(Vec<u8>),
    /// `$n`: what the n-th group matched.
    Group(usize),
}

fn pieces(replacement: &[u8]) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut text = Vec::new();
    let mut bytes = replacement.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        match b {
            b'\\' => text.extend(bytes.next()),
            b'$' if bytes.peek().is_some_and(u8::is_ascii_digit) => {
                let mut group = 0usize;
                while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
                    group = group.saturating_mul(10).saturating_add((digit - b'0') as usize);
                }
                if !text.is_empty() {
                    out.push(Piece::Text(std::mem::take(&mut text)));
                }
                out.push(Piece::Group(group));
            }
            other => text.push(other),
        }
    }
    if !text.is_empty() {
        out.push(Piece::Text(text));
    }
    out
}
