//! REGEXP_LIKE and its companions.

use super::*;
use crate::infer::pattern_collation;
use crate::like::compile;
use crate::regexp::{Regex, bad_group_name, out_of_bounds};
use std::rc::Rc;
use tidemark_types::Derivation;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "regexp_like",
        (2, 3),
        |args, bind| {
            check(args, "regexp_like", bind)?;
            Ok(SqlType::boolean().with_nullable(any_nullable(args)))
        },
        |args, ty, ctx| {
            let regex = known!(regex(args, (2, "regexp_like"), ty, ctx)?);
            let subject = known!(text(&args[0], ctx)?);
            Ok(Val::bool(regex.is_match(&subject, ctx.env.regexp_limits())?))
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
    )
    .takes(&[
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Int(false),
        ParamKind::Int(false),
        ParamKind::Int(false),
    ]),
    def(
        "regexp_substr",
        (2, 5),
        |args, bind| {
            check(args, "regexp_substr", bind)?;
            let ty = text_like_first(args, bind)?;
            Ok(ty.with_nullable(true))
        },
        substr,
    )
    .takes(&[
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Int(false),
        ParamKind::Int(false),
    ]),
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
    )
    .takes(&[
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Int(false),
        ParamKind::Int(false),
    ]),
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

/// The pattern is the second argument; `flags` is where the match type may stand, and the function's name. What is constant is compiled once
/// for a statement.
fn regex<'a>(
    args: &'a [Expr],
    (flags, function): (usize, &str),
    ty: &'a SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Rc<Regex>>> {
    let site = std::ptr::from_ref(ty) as usize;
    let is_fixed = args[1].is_constant() && args.get(flags).is_none_or(Expr::is_constant);
    if is_fixed && let Some(known) = ctx.env.kept().regexes.get(&site) {
        return Ok(Some(Rc::clone(known)));
    }
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
    let regex = Rc::new(compile(&pattern, collation, &flags, function)?);
    if is_fixed {
        ctx.env.kept().regexes.insert(site, Rc::clone(&regex));
    }
    Ok(Some(regex))
}

/// The byte at which the 1-based character position begins. Error 3686 beyond the text, but for functions that may begin behind its end:
/// they have error 1583, with their name, for a position before it.
fn start<'a>(
    args: &'a [Expr],
    (index, function): (usize, Option<&str>),
    subject: &[u8],
    ctx: &EvalCtx<'a>,
) -> Result<Option<usize>> {
    let Some(e) = args.get(index) else {
        return Ok(Some(0));
    };
    let Some(position) = int(e, ctx)? else {
        return Ok(None);
    };
    let charset = args[0].ty.collation.charset();
    let count = charset.char_count(subject) as i64;
    match function {
        Some(function) if position < 1 => return Err(SqlError::wrong_parameters(function)),
        Some(_) if position > count + 1 => return Err(out_of_bounds()),
        // In an empty text nothing is out of bounds.
        None if subject.is_empty() => return Ok(Some(0)),
        None if position < 1 || position > count => return Err(out_of_bounds()),
        _ => {}
    }
    Ok(Some(charset.prefix_len(subject, position as usize - 1)))
}

/// Finds the n-th match; its place in bytes.
fn nth(
    regex: &Regex,
    subject: &[u8],
    (from, n): (usize, i64),
    ctx: &EvalCtx,
) -> Result<Option<(usize, usize)>> {
    let mut search = regex.search(subject, ctx.env.regexp_limits());
    let mut found = search.find_from(from)?;
    for _ in 1..n {
        if !found {
            break;
        }
        found = search.find_next()?;
    }
    Ok(search.matched().filter(|_| found))
}

fn instr<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    // What is wrong with a pattern is said even where there is nothing to search.
    let regex = known!(regex(args, (5, "regexp_instr"), ty, ctx)?);
    let subject = known!(text(&args[0], ctx)?);
    let from = known!(start(args, (2, None), &subject, ctx)?);
    let n = match args.get(3) {
        Some(e) => known!(int(e, ctx)?).max(1),
        None => 1,
    };
    let end = match args.get(4) {
        Some(e) => match known!(int(e, ctx)?) {
            0 => false,
            1 => true,
            _ => {
                return Err(SqlError::wrong_arguments(
                    "regexp_instr: return_option must be 1 or 0.",
                ));
            }
        },
        None => false,
    };
    let charset = args[0].ty.collation.charset();
    let found = nth(&regex, &subject, (from, n), ctx)?;
    Ok(Val::Int(found.map_or(0, |(first, last)| {
        let at = if end { last } else { first };
        charset.char_count(&subject[..at]) as i64 + 1
    })))
}

fn substr<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    // What is wrong with a pattern is said even where there is nothing to search.
    let regex = known!(regex(args, (4, "regexp_substr"), ty, ctx)?);
    let subject = known!(text(&args[0], ctx)?);
    let from = known!(start(args, (2, Some("regexp_substr")), &subject, ctx)?);
    let n = match args.get(3) {
        Some(e) => known!(int(e, ctx)?).max(1),
        None => 1,
    };
    let found = nth(&regex, &subject, (from, n), ctx)?;
    Ok(found.map_or(Val::Null, |(first, last)| slice(subject, first, last)))
}

fn replace<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let regex = known!(regex(args, (5, "regexp_replace"), ty, ctx)?);
    let subject = known!(text(&args[0], ctx)?);
    let replacement = known!(text(&args[2], ctx)?);
    let from = known!(start(args, (3, Some("regexp_replace")), &subject, ctx)?);
    let occurrence = match args.get(4) {
        Some(e) => known!(int(e, ctx)?),
        None => 0,
    };
    // Nothing is replaced in nothing.
    if subject.is_empty() {
        return Ok(Val::Str(subject));
    }
    // A negative occurrence is the first.
    let occurrence = if occurrence < 0 { 1 } else { occurrence as usize };
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
    // What it says is read when there is something to replace.
    let mut pieces = None;
    let mut last = 0;
    let mut search = regex.search(&subject, ctx.env.regexp_limits());
    let mut found = search.find_from(from)?;
    let mut count = 0;
    while found {
        watch.step(16)?;
        count += 1;
        if (occurrence == 0 || count == occurrence)
            && let Some((first, end)) = search.matched()
        {
            let pieces = match &pieces {
                Some(pieces) => pieces,
                None => pieces.insert(self::pieces(&replacement, &regex)?),
            };
            add(&subject[last..first])?;
            for piece in pieces {
                watch.step(1)?;
                match piece {
                    Piece::Text(text) => add(text)?,
                    Piece::Group(n) => {
                        add(search
                            .group(*n)
                            .map_or(&b""[..], |(start, end)| &subject[start..end]))?;
                    }
                }
            }
            last = end;
        }
        if count == occurrence {
            break;
        }
        found = search.find_next()?;
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

/// Takes a replacement apart: `$n`, `${name}`, and `\\` before a character that is meant. Errors 3686 and 3887 for groups that are not there.
fn pieces(replacement: &[u8], regex: &Regex) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let mut text = Vec::new();
    let mut at = 0;
    let group = |out: &mut Vec<Piece>, text: &mut Vec<u8>, n: usize| {
        if !text.is_empty() {
            out.push(Piece::Text(std::mem::take(text)));
        }
        out.push(Piece::Group(n));
    };
    while let Some(&b) = replacement.get(at) {
        at += 1;
        let rest = &replacement[at..];
        match (b, rest.first()) {
            (b'\\', Some(b'u' | b'U')) => match escaped(rest) {
                Some((c, len)) => {
                    text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    at += len;
                }
                None => {
                    text.push(rest[0]);
                    at += 1;
                }
            },
            (b'\\', Some(next)) => {
                text.push(*next);
                at += 1;
            }
            (b'\\', None) => {}
            (b'$', Some(b'{')) => {
                let len = rest.iter().position(|b| *b == b'}').ok_or_else(bad_group_name)?;
                let name = std::str::from_utf8(&rest[1..len]).map_err(|_| bad_group_name())?;
                let n = regex.group_named(name).ok_or_else(bad_group_name)?;
                group(&mut out, &mut text, n);
                at += len + 1;
            }
            (b'$', Some(digit)) if digit.is_ascii_digit() => {
                let mut n = usize::from(digit - b'0');
                at += 1;
                if n > regex.groups() {
                    return Err(out_of_bounds());
                }
                // As many digits as make the number of a group.
                while let Some(digit) = replacement.get(at).filter(|b| b.is_ascii_digit())
                    && n * 10 + usize::from(digit - b'0') <= regex.groups()
                {
                    n = n * 10 + usize::from(digit - b'0');
                    at += 1;
                }
                group(&mut out, &mut text, n);
            }
            (b'$', _) => return Err(bad_group_name()),
            (other, _) => text.push(other),
        }
    }
    if !text.is_empty() {
        out.push(Piece::Text(text));
    }
    Ok(out)
}

/// The character of `uhhhh` or `Uhhhhhhhh`, and how long that is.
fn escaped(text: &[u8]) -> Option<(char, usize)> {
    let len = if text[0] == b'u' { 5 } else { 9 };
    let digits = std::str::from_utf8(text.get(1..len)?).ok()?;
    let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((c, len))
}
