//! Functions that make texts.

use super::numeric::in_base;
use super::*;
use data_encoding::{HEXUPPER, HEXUPPER_PERMISSIVE};
use memchr::memmem;
use tidemark_types::error::interrupt::Steps;
use tidemark_types::{Charset, Derivation};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "concat",
        (1, MANY),
        |args, bind| {
            textual(args, bind);
            let types: Vec<&SqlType> = args.iter().map(|a| &a.ty).collect();
            let length = length_of_all(&types, "concat", bind)?;
            text_of(args, length, "concat", bind)
        },
        concat,
    )
    .null_when(NullWhen::AnyArgument),
    def(
        "concat_ws",
        (2, MANY),
        |args, bind| {
            textual(args, bind);
            let types: Vec<&SqlType> = args.iter().map(|arg| &arg.ty).collect();
            let (collation, _) = joined_collation(&types, "concat_ws", bind)?;
            let separators = length_under(types[0], collation) as u64 * (types.len() as u64 - 2);
            let texts: u64 = types[1..]
                .iter()
                .map(|ty| length_under(ty, collation) as u64)
                .sum();
            let nullable = args[0].ty.nullable;
            Ok(text_of(args, texts + separators, "concat_ws", bind)?.with_nullable(nullable))
        },
        concat_ws,
    ),
    def("upper", (1, 1), text_like_first, |args, ty, ctx| {
        map(args, ty, ctx, Charset::upper)
    })
    .null_when(NullWhen::AnyArgument),
    def("lower", (1, 1), text_like_first, |args, ty, ctx| {
        map(args, ty, ctx, Charset::lower)
    })
    .null_when(NullWhen::AnyArgument),
    def("reverse", (1, 1), text_like_first, |args, ty, ctx| {
        let text = known!(text(&args[0], ctx)?);
        let is_text = !ty.collation.is_binary() && std::str::from_utf8(&text).is_ok();
        let _room = reserve_memory(text.len())?;
        let mut reversed = Vec::with_capacity(text.len());
        for piece in pieces_of_text(&text).rev() {
            let piece = piece?;
            match std::str::from_utf8(piece) {
                Ok(chars) if is_text => {
                    reversed.extend_from_slice(chars.chars().rev().collect::<String>().as_bytes())
                }
                _ => reversed.extend(piece.iter().rev()),
            }
        }
        Ok(Val::string(reversed))
    })
    .null_when(NullWhen::AnyArgument),
    def(
        "left",
        (2, 2),
        |args, bind| part_of_text(args, 1, bind),
        |args, ty, ctx| {
            let text = known!(text(&args[0], ctx)?);
            let n = known!(int(&args[1], ctx)?).max(0) as usize;
            let end = charset(ty).prefix_len(&text, n);
            Ok(slice(text, 0, end))
        },
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def(
        "right",
        (2, 2),
        |args, bind| part_of_text(args, 1, bind),
        |args, ty, ctx| {
            let text = known!(text(&args[0], ctx)?);
            let n = known!(int(&args[1], ctx)?).max(0) as usize;
            let count = charset(ty).char_count(&text);
            let start = charset(ty).prefix_len(&text, count.saturating_sub(n));
            let end = text.len();
            Ok(slice(text, start, end))
        },
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def(
        "substring",
        (2, 3),
        |args, bind| {
            let ty = part_of_text(args, 2, bind)?;
            let whole = args[0].ty.display_length();
            Ok(match constant_int(&args[1], bind) {
                None => ty,
                Some(from) => {
                    let left = match from {
                        1.. => (whole as i64).saturating_sub(from - 1).max(0),
                        _ if from.saturating_neg() <= whole as i64 => -from,
                        _ => 0,
                    };
                    let length = ty.length.min(left as u32);
                    ty.with_length(length)
                }
            })
        },
        substring,
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false), ParamKind::Int(false)]),
    def(
        "repeat",
        (2, 2),
        |args, bind| {
            let count = match &args[1].node {
                crate::Node::Literal(Val::Int(n)) => (*n).max(0) as u64,
                _ => u32::MAX as u64,
            };
            let length = (args[0].ty.display_length() as u64).saturating_mul(count);
            let nullable = any_nullable(args);
            textual(&mut args[..1], bind);
            Ok(text_type(length, &[&args[0].ty], "repeat", bind)?.with_nullable(nullable))
        },
        |args, _, ctx| {
            let text = known!(text(&args[0], ctx)?);
            let n = known!(int(&args[1], ctx)?).max(0) as usize;
            let _room = known!(within_packet(text.len() as u128 * n as u128, "repeat", ctx)?);
            Ok(Val::string(text.repeat(n)))
        },
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def(
        "space",
        (1, 1),
        |args, bind| {
            let length = match (build::constant(&args[0], bind), constant_int(&args[0], bind)) {
                (None, _) => u32::MAX as u64,
                (_, count) => count.unwrap_or(0).max(0) as u64,
            };
            Ok(server_text(length, any_nullable(args), bind))
        },
        |args, _, ctx| {
            let n = known!(int(&args[0], ctx)?).max(0);
            let _room = known!(within_packet(n as u128, "space", ctx)?);
            Ok(Val::string(vec![b' '; n as usize]))
        },
    )
    .takes(&[ParamKind::Int(false)]),
    def("lpad", (3, 3), padded_type, |args, ty, ctx| {
        pad(args, ty, ctx, true)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def("rpad", (3, 3), padded_type, |args, ty, ctx| {
        pad(args, ty, ctx, false)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def("ltrim", (1, 1), text_like_first, |args, _, ctx| {
        trim(args, ctx, true, false)
    })
    .null_when(NullWhen::AnyArgument),
    def("rtrim", (1, 1), text_like_first, |args, _, ctx| {
        trim(args, ctx, false, true)
    })
    .null_when(NullWhen::AnyArgument),
    def("trim", (1, 2), trimmed_type, |args, _, ctx| {
        trim(args, ctx, true, true)
    }),
    def("trim_leading", (1, 2), trimmed_type, |args, _, ctx| {
        trim(args, ctx, true, false)
    }),
    def("trim_trailing", (1, 2), trimmed_type, |args, _, ctx| {
        trim(args, ctx, false, true)
    }),
    def(
        "replace",
        (3, 3),
        |args, bind| {
            let (text, to) = (
                args[0].ty.display_length() as u64,
                args[2].ty.display_length() as u64,
            );
            textual(args, bind);
            let nullable = any_nullable(args);
            Ok(text_with(args, &[1, 2], text * to.max(1), "replace", bind)?.with_nullable(nullable))
        },
        replace,
    )
    .null_when(NullWhen::AnyArgument),
    def(
        "insert",
        (4, 4),
        |args, bind| {
            textual(&mut args[..1], bind);
            textual(&mut args[3..], bind);
            let nullable = any_nullable(args);
            let length = args[0].ty.display_length() as u64 + args[3].ty.display_length() as u64;
            Ok(text_with(args, &[3], length, "insert", bind)?.with_nullable(nullable))
        },
        insert,
    )
    .takes(&[ParamKind::Text, ParamKind::Int(false), ParamKind::Int(false)]),
    def(
        "quote",
        (1, 1),
        |args, bind| {
            args[0] = build::beside_text(
                std::mem::replace(&mut args[0], build::null()),
                bind.collation_connection,
            );
            let ty = match args[0].ty.kind {
                // The word NULL is a text, which gives way to others as NULL does.
                TypeKind::Null => SqlType::varchar(1, bind.collation_connection)
                    .with_collation(bind.collation_connection, Derivation::Ignorable),
                _ => text_like_first(args, bind)?,
            };
            let length = ty.length.saturating_mul(2).saturating_add(2);
            Ok(ty.with_length(length).with_nullable(false))
        },
        quote,
    ),
    def(
        "hex",
        (1, 1),
        |args, bind| {
            let nullable = any_nullable(args);
            if !args[0].ty.is_numeric() {
                textual(args, bind);
            }
            let arg = args.remove(0);
            args.push(build::whole_seconds(arg));
            let length = match args[0].ty.is_numeric() {
                true => 16,
                false => byte_length(&args[0].ty) * 2,
            };
            Ok(server_text(length, nullable, bind))
        },
        hex,
    )
    .null_when(NullWhen::AnyArgument),
    def(
        "unhex",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            let length = byte_length(&args[0].ty).div_ceil(2).min(u32::MAX.into());
            Ok(SqlType::varbinary(length as u32).with_nullable(true).literal())
        },
        |args, _, ctx| {
            let digits = known!(text(&args[0], ctx)?);
            // It looks at bytes, of which a digit has several in a form of Unicode without those of ASCII.
            let is_wide = matches!(args[0].ty.collation.charset(), Charset::Wide(_));
            let bytes =
                unhex(&digits).filter(|bytes| bytes.is_empty() || !(args[0].ty.is_string() && is_wide));
            if bytes.is_none() {
                complain_of("string", &args[0], "unhex", ctx)?;
            }
            Ok(bytes.map_or(Val::Null, Val::string))
        },
    ),
    def(
        "bin",
        (1, 1),
        |args, bind| Ok(server_text(65, any_nullable(args), bind)),
        |args, _, ctx| base(args, 2, ctx),
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Int(false)]),
    def(
        "oct",
        (1, 1),
        |args, bind| Ok(server_text(65, any_nullable(args), bind)),
        |args, _, ctx| base(args, 8, ctx),
    )
    .takes(&[ParamKind::Int(false)]),
    def("char", (1, MANY), build::char_type, build::char_bytes::<1>).takes_all(ParamKind::Int(false)),
    def(
        "elt",
        (2, MANY),
        |args, bind| {
            let length = args[1..]
                .iter()
                .map(|a| a.ty.display_length() as u64)
                .max()
                .unwrap_or(0);
            Ok(text_of(&mut args[1..], length, "elt", bind)?.with_nullable(true))
        },
        |args, _, ctx| {
            let n = known!(int(&args[0], ctx)?);
            match usize::try_from(n)
                .ok()
                .filter(|n| *n > 0)
                .and_then(|n| args.get(n))
            {
                Some(chosen) => Ok(text(chosen, ctx)?.map_or(Val::Null, Val::Str)),
                None => Ok(Val::Null),
            }
        },
    )
    .takes(&[ParamKind::Int(false)]),
    def(
        "make_set",
        (2, MANY),
        |args, bind| {
            let texts: u64 = args[1..].iter().map(|a| a.ty.display_length() as u64).sum();
            let length = texts + args.len() as u64 - 2;
            let nullable = args[0].ty.nullable;
            Ok(text_of(&mut args[1..], length, "make_set", bind)?.with_nullable(nullable))
        },
        |args, _, ctx| {
            let bits = known!(bits(&args[0], ctx)?);
            let mut chosen = Vec::new();
            for (i, arg) in args[1..].iter().enumerate().take(64) {
                if bits >> i & 1 != 0
                    && let Some(text) = text(arg, ctx)?
                {
                    chosen.push(text);
                }
            }
            let total: usize = chosen.iter().map(|text| text.len() + 1).sum();
            let _room = known!(within_packets(total as u128, 2, "make_set", ctx)?);
            Ok(Val::string(chosen.join(&b','.to_owned())))
        },
    )
    .takes(&[ParamKind::Int(false)]),
    def(
        "soundex",
        (1, 1),
        |args, bind| {
            let ty = text_like_first(args, bind)?;
            Ok(ty.clone().with_length(ty.length.max(4)))
        },
        |args, ty, ctx| {
            let text = known!(text(&args[0], ctx)?);
            Ok(Val::string(match ty.collation.is_binary() {
                // Bytes are letters of ASCII, or none.
                true => soundex(text.iter().copied().filter(u8::is_ascii).map(char::from))?,
                false => soundex(String::from_utf8_lossy(&text).chars())?,
            }))
        },
    ),
    def(
        "export_set",
        (3, 5),
        |args, bind| {
            let nullable = any_nullable(args);
            let end = args.len().min(4);
            let types: Vec<&SqlType> = args[1..end].iter().map(|arg| &arg.ty).collect();
            let (collation, _) = joined_collation(&types, "export_set", bind)?;
            let length = |place: usize| {
                types
                    .get(place)
                    .map_or(1, |ty| length_under(ty, collation) as u64)
            };
            let longest = length(0).max(length(1)) * 64 + length(2) * 63;
            Ok(text_of(&mut args[1..end], longest, "export_set", bind)?.with_nullable(nullable))
        },
        export_set,
    )
    .takes(&[
        ParamKind::Int(false),
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Text,
        ParamKind::Int(false),
    ]),
];

/// No longer than the constant at this place says.
fn part_of_text(args: &mut Vec<Expr>, place: usize, bind: &BindCtx) -> Result<SqlType> {
    let ty = text_like_first(args, bind)?;
    Ok(match args.get(place).map(|e| &e.node) {
        Some(crate::Node::Literal(Val::Int(n))) => {
            let length = ty.length.min((*n).clamp(0, u32::MAX as i64) as u32);
            ty.with_length(length)
        }
        _ => ty,
    })
}

fn charset(ty: &SqlType) -> Charset {
    ty.collation.charset()
}

fn concat<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let mut out = known!(text(&args[0], ctx)?).into_owned();
    for arg in &args[1..] {
        let more = known!(text(arg, ctx)?);
        if !grows_within_packet(out.len() + more.len(), "concat", ctx)? {
            return Ok(Val::Null);
        }
        out.extend_from_slice(&more);
    }
    Ok(Val::string(out))
}

fn concat_ws<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let separator = known!(text(&args[0], ctx)?);
    let mut out: Option<Vec<u8>> = None;
    for arg in &args[1..] {
        let Some(text) = text(arg, ctx)? else { continue };
        match &mut out {
            None => out = Some(text.into_owned()),
            Some(out) => {
                out.extend_from_slice(&separator);
                out.extend_from_slice(&text);
            }
        }
        if !grows_within_packet(out.as_ref().map_or(0, Vec::len), "concat_ws", ctx)? {
            return Ok(Val::Null);
        }
    }
    Ok(Val::string(out.unwrap_or_default()))
}

fn map<'a>(
    args: &'a [Expr],
    ty: &'a SqlType,
    ctx: &EvalCtx<'a>,
    change: fn(Charset, &[u8]) -> Cow<'_, [u8]>,
) -> Result<Val<'a>> {
    let text = known!(text(&args[0], ctx)?);
    // Each character is changed by itself.
    if text.len() > PIECE {
        let changed = changed(&text, |piece, out| {
            out.extend_from_slice(&change(charset(ty), piece))
        })?;
        return Ok(Val::string(changed));
    }
    let changed = match change(charset(ty), &text) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    Ok(Val::Str(changed.map_or(text, Cow::Owned)))
}

/// Positions count from 1, or from the end if negative.
fn substring<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let text = known!(text(&args[0], ctx)?);
    let position = known!(int(&args[1], ctx)?);
    let wanted = match args.get(2) {
        Some(e) => known!(int(e, ctx)?),
        None => i64::MAX,
    };
    let charset = charset(ty);
    let count = charset.char_count(&text) as i64;
    let first = if position < 0 {
        count.saturating_add(position)
    } else {
        position - 1
    };
    if wanted <= 0 || position == 0 || first < 0 || first >= count {
        return Ok(Val::str(""));
    }
    let start = charset.prefix_len(&text, first as usize);
    let taken = charset.prefix_len(&text[start..], wanted.min(count) as usize);
    Ok(slice(text, start, start + taken))
}

fn padded_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(&mut args[..1], bind);
    textual(&mut args[2..], bind);
    let length = match &args[1].node {
        crate::Node::Literal(Val::Int(n)) => (*n).max(0) as u64,
        _ => 65_535,
    };
    Ok(text_with(args, &[2], length, "lpad", bind)?.with_nullable(true))
}

fn pad<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>, left: bool) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let length = known!(int(&args[1], ctx)?);
    let filler = known!(text(&args[2], ctx)?);
    let Ok(length) = usize::try_from(length) else {
        return Ok(Val::Null);
    };
    let charset = charset(ty);
    let count = charset.char_count(&subject);
    if length <= count {
        let end = charset.prefix_len(&subject, length);
        return Ok(slice(subject, 0, end));
    }
    let per_round = charset.char_count(&filler);
    let missing = length - count;
    if per_round == 0 {
        return Ok(Val::Str(subject));
    }
    // MySQL reckons with the longest character of the set.
    let longest = charset.max_bytes() as u128;
    let name = if left { "lpad" } else { "rpad" };
    let _room = known!(within_packet(length as u128 * longest, name, ctx)?);
    let mut fill = filler.repeat(missing / per_round);
    fill.extend_from_slice(&filler[..charset.prefix_len(&filler, missing % per_round)]);
    let parts = if left {
        [fill, subject.into_owned()]
    } else {
        [subject.into_owned(), fill]
    };
    Ok(Val::string(parts.concat()))
}

fn trimmed_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let length = args[0].ty.display_length() as u64;
    let nullable = any_nullable(args);
    let others: Vec<usize> = (1..args.len()).collect();
    Ok(text_with(args, &others, length, "trim", bind)?.with_nullable(nullable))
}

fn trim<'a>(args: &'a [Expr], ctx: &EvalCtx<'a>, leading: bool, trailing: bool) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let removed = match args.get(1) {
        Some(e) => known!(text(e, ctx)?),
        None => Cow::Borrowed(&b" "[..]),
    };
    let (mut start, mut end) = (0, subject.len());
    if !removed.is_empty() {
        while leading && subject[start..end].starts_with(&removed) {
            start += removed.len();
        }
        while trailing && subject[start..end].ends_with(&removed) {
            end -= removed.len();
        }
    }
    Ok(slice(subject, start, end))
}

fn replace<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let from = known!(text(&args[1], ctx)?);
    let to = known!(text(&args[2], ctx)?);
    if from.is_empty() || from.len() > subject.len() {
        return Ok(Val::Str(subject));
    }
    let mut out = Vec::new();
    let mut at = 0;
    let mut watch = Watch::new(ctx.env);
    for place in memmem::find_iter(&subject, &from) {
        watch.step(16 + to.len())?;
        out.extend_from_slice(&subject[at..place]);
        out.extend_from_slice(&to);
        at = place + from.len();
        if !grows_within_packet(out.len(), "replace", ctx)? {
            return Ok(Val::Null);
        }
    }
    if at == 0 {
        return Ok(Val::Str(subject));
    }
    out.extend_from_slice(&subject[at..]);
    if !grows_within_packet(out.len(), "replace", ctx)? {
        return Ok(Val::Null);
    }
    Ok(Val::string(out))
}

fn insert<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let subject = known!(text(&args[0], ctx)?);
    let (position, length) = (known!(int(&args[1], ctx)?), known!(int(&args[2], ctx)?));
    let inserted = known!(text(&args[3], ctx)?);
    let charset = charset(ty);
    let count = charset.char_count(&subject) as i64;
    if position < 1 || position > count {
        return Ok(Val::Str(subject));
    }
    let length = if length < 0 { count } else { length };
    let start = charset.prefix_len(&subject, position as usize - 1);
    let end = start + charset.prefix_len(&subject[start..], length as usize);
    let total = subject.len() - (end - start) + inserted.len();
    let _room = known!(within_packet(total as u128, "insert", ctx)?);
    Ok(Val::string(
        [&subject[..start], &inserted, &subject[end..]].concat(),
    ))
}

fn quote<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let Some(text) = text(&args[0], ctx)? else {
        return Ok(Val::str("NULL"));
    };
    let escaped = text.iter().filter(|b| matches!(b, b'\'' | b'\\' | 0 | 26));
    let _room = known!(within_packet(
        (text.len() + escaped.count() + 2) as u128,
        "quote",
        ctx
    )?);
    let mut out = vec![b'\''];
    for piece in pieces(&text) {
        for b in piece? {
            match b {
                b'\'' | b'\\' => out.extend([b'\\', *b]),
                0 => out.extend(b"\\0"),
                26 => out.extend(b"\\Z"),
                _ => out.push(*b),
            }
        }
    }
    out.push(b'\'');
    Ok(Val::string(out))
}

fn hex<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    match value {
        Val::Null => Ok(Val::Null),
        text @ (Val::Str(_) | Val::Json(_) | Val::Member(..)) => {
            let bytes = text.checked_text()?;
            let encoded = args[0].ty.collation.charset().encode(&bytes);
            let bytes = encoded.as_deref().unwrap_or(&bytes);
            let _room = known!(within_packets(bytes.len() as u128 * 2, 2, "hex", ctx)?);
            Ok(Val::string(HEXUPPER.encode(bytes)))
        }
        Val::Date(_) | Val::Time(_) | Val::DateTime(_) => Ok(Val::string(HEXUPPER.encode(&value.to_text()))),
        // What is no exact number is a signed integer here, the nearest that there is.
        Val::Double(_) | Val::Float(_) => Ok(Val::string(format!("{:X}", value.to_i64(ctx.env)?))),
        number => Ok(Val::string(format!("{:X}", number.to_bits(ctx.env)?))),
    }
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    // An odd number of digits has a zero in front.
    match text.len() % 2 {
        0 => HEXUPPER_PERMISSIVE.decode(text).ok(),
        _ => HEXUPPER_PERMISSIVE.decode(&[b"0", text].concat()).ok(),
    }
}

fn base<'a>(args: &'a [Expr], base: u32, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    // A text, and so a number with a fraction, is cut at its first character that is no digit, without a word.
    let bits = match &value {
        Val::Str(s) => tidemark_types::convert::integer_prefix(s).0 as u64,
        Val::Decimal(_) | Val::Double(_) | Val::Float(_) => {
            tidemark_types::convert::integer_prefix(&value.to_text()).0 as u64
        }
        other => other.to_bits(ctx.env)?,
    };
    Ok(Val::string(in_base(bits, base)))
}

/// The first letter and the codes of the consonants that follow, each once in a row whatever stands between, at least four
/// characters. A letter outside of ASCII is as a vowel.
fn soundex(text: impl Iterator<Item = char>) -> Result<Vec<u8>> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let mut out = String::new();
    let mut last = b'0';
    let mut steps = Steps::default();
    for c in text {
        steps.step()?;
        if !c.is_alphabetic() {
            continue;
        }
        let c = c.to_ascii_uppercase();
        let code = match c.is_ascii() {
            true => CODES[(c as u8 - b'A') as usize],
            false => b'0',
        };
        if out.is_empty() {
            out.push(c);
            last = code;
        } else if code != last && code != b'0' {
            out.push(code as char);
            last = code;
        }
    }
    while !out.is_empty() && out.chars().count() < 4 {
        out.push('0');
    }
    Ok(out.into_bytes())
}

fn export_set<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let bits = known!(bits(&args[0], ctx)?);
    let (on, off) = (known!(text(&args[1], ctx)?), known!(text(&args[2], ctx)?));
    let separator = match args.get(3) {
        Some(e) => known!(text(e, ctx)?),
        None => Cow::Borrowed(&b","[..]),
    };
    let count = match args.get(4) {
        Some(e) => known!(int(e, ctx)?).clamp(0, 64) as usize,
        None => 64,
    };
    let shown: Vec<&[u8]> = (0..count)
        .map(|i| if bits >> i & 1 != 0 { &*on } else { &*off })
        .collect();
    let separators = separator.len() * count.saturating_sub(1);
    let total = shown.iter().map(|text| text.len()).sum::<usize>() + separators;
    let _room = known!(within_packet(total as u128, "export_set", ctx)?);
    let mut set = Vec::with_capacity(total);
    for (i, text) in shown.into_iter().enumerate() {
        for part in [if i > 0 { &*separator } else { &[] }, text] {
            for piece in pieces(part) {
                set.extend_from_slice(piece?);
            }
        }
    }
    Ok(Val::string(set))
}
