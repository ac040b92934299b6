//! Hashes, encodings and random bytes.

use super::*;
use data_encoding::{Encoding, HEXLOWER};
use sha1::Digest;
use std::sync::{LazyLock, OnceLock};
use tidemark_types::Collation;
use uuid::Uuid;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "md5",
        (1, 1),
        |args, bind| hex_text(args, 32, bind),
        |args, _, ctx| Ok(Val::string(digest::<md5::Md5>(&known!(bytes(&args[0], ctx)?))?)),
    ),
    def(
        "sha1",
        (1, 1),
        |args, bind| hex_text(args, 40, bind),
        |args, _, ctx| Ok(Val::string(digest::<sha1::Sha1>(&known!(bytes(&args[0], ctx)?))?)),
    ),
    def(
        "sha2",
        (2, 2),
        |args, bind| {
            let length = match (build::constant(&args[1], bind), constant_int(&args[1], bind)) {
                (None, _) | (_, Some(512)) => 128,
                (_, Some(384)) => 96,
                (_, Some(224)) => 56,
                _ => 64,
            };
            Ok(hex_text(args, length, bind)?.with_nullable(true))
        },
        sha2,
    )
    .takes(&[ParamKind::Text, ParamKind::Int(false)]),
    def(
        "to_base64",
        (1, 1),
        |args, bind| {
            let digits = byte_length(&args[0].ty).div_ceil(3) * 4;
            hex_text(args, digits + digits.saturating_sub(1) / 76, bind)
        },
        |args, _, ctx| {
            let bytes = known!(bytes(&args[0], ctx)?);
            // A line feed behind every 76 of the digits but the last.
            let digits = bytes.len().div_ceil(3) * 4;
            let lines = digits.saturating_sub(1) / 76;
            let _room = known!(within_packet((digits + lines) as u128, "to_base64", ctx)?);
            Ok(Val::string(to_base64(&bytes)))
        },
    ),
    def(
        "from_base64",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            let length = byte_length(&args[0].ty).min(1 << 24) / 4 * 3;
            Ok(SqlType::varbinary(length as u32).with_nullable(true).literal())
        },
        |args, _, ctx| Ok(from_base64(&known!(text(&args[0], ctx)?)).map_or(Val::Null, Val::string)),
    ),
    volatile("random_bytes", (1, 1), binary_text, |args, _, ctx| {
        let n = known!(int(&args[0], ctx)?);
        if !(1..=1024).contains(&n) {
            return Err(SqlError::value_out_of_range("length", "random_bytes"));
        }
        let mut bytes = vec![0; n as usize];
        fill_random(&mut bytes, "random_bytes")?;
        Ok(Val::string(bytes))
    })
    .takes(&[ParamKind::Int(false)]),
    volatile(
        "uuid",
        (0, 0),
        |_, bind| Ok(server_text(36, false, bind)),
        |_, _, _| Ok(Val::string(new_uuid()?.hyphenated().to_string())),
    ),
    volatile(
        "uuid_short",
        (0, 0),
        |_, _| Ok(SqlType::bigint_unsigned().with_nullable(false)),
        |_, _, ctx| {
            let seconds = (ctx.env.now_micros / 1_000_000) as u64;
            Ok(Val::UInt(
                1 << 56 | (seconds & 0xFFFF_FFFF) << 24 | random_u64("uuid_short")? & 0xFF_FFFF,
            ))
        },
    ),
    def("is_uuid", (1, 1), int_type, |args, _, ctx| {
        Ok(Val::bool(parse_uuid(&known!(text(&args[0], ctx)?)).is_some()))
    }),
    def("uuid_to_bin", (1, 2), binary_text, |args, _, ctx| {
        let written = known!(text(&args[0], ctx)?);
        let uuid = parse_uuid(&written).ok_or_else(|| bad_text(&written, "uuid_to_bin"))?;
        let mut bytes = uuid.into_bytes().to_vec();
        if args.len() > 1 && args[1].is_true(ctx)? {
            bytes = [&bytes[6..8], &bytes[4..6], &bytes[0..4], &bytes[8..]].concat();
        }
        Ok(Val::string(bytes))
    }),
    def(
        "bin_to_uuid",
        (1, 2),
        |args, bind| hex_text(args, 36, bind),
        |args, _, ctx| {
            let mut bytes = known!(text(&args[0], ctx)?).into_owned();
            if bytes.len() == 16 && args.len() > 1 && args[1].is_true(ctx)? {
                bytes = [&bytes[4..8], &bytes[2..4], &bytes[0..2], &bytes[8..]].concat();
            }
            let uuid = Uuid::from_slice(&bytes).map_err(|_| bad_text(&bytes, "bin_to_uuid"))?;
            Ok(Val::string(uuid.hyphenated().to_string()))
        },
    ),
];

fn hex_text(args: &mut Vec<Expr>, length: u64, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(server_text(length, any_nullable(args), bind))
}

fn binary_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let length = args[0].ty.display_length().min(65_535);
    Ok(SqlType::varchar(length, Collation::BINARY)
        .with_nullable(true)
        .literal())
}

/// The digest in hexadecimal digits. Looks between pieces whether the statement is to end.
fn digest<D: Digest>(bytes: &[u8]) -> Result<String> {
    let mut digest = D::new();
    for piece in pieces(bytes) {
        digest.update(piece?);
    }
    Ok(HEXLOWER.encode(&digest.finalize()))
}

fn sha2<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let bytes = known!(bytes(&args[0], ctx)?);
    let digest = match known!(int(&args[1], ctx)?) {
        0 | 256 => digest::<sha2::Sha256>(&bytes)?,
        224 => digest::<sha2::Sha224>(&bytes)?,
        384 => digest::<sha2::Sha384>(&bytes)?,
        512 => digest::<sha2::Sha512>(&bytes)?,
        _ => {
            ctx.env.warnings.warn(SqlError::wrong_parameters("sha2"));
            return Ok(Val::Null);
        }
    };
    Ok(Val::string(digest))
}

/// Base 64 in lines of 76 characters, as MIME has it but for the line feeds; white space is not read.
static BASE64: LazyLock<Encoding> = LazyLock::new(|| {
    let mut base64 = data_encoding::BASE64.specification();
    base64.wrap.width = 76;
    base64.wrap.separator = "\n".into();
    base64.ignore = " \t\r\x0C".into();
    base64.check_trailing_bits = false;
    base64.encoding().expect("a valid specification")
});

fn to_base64(bytes: &[u8]) -> String {
    let mut text = BASE64.encode(bytes);
    // The library ends the last line, too.
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    // The library reads several texts in a row, each with its padding.
    let mut padding = text.iter().skip_while(|b| **b != b'=');
    let ends = padding.all(|b| *b == b'=' || b.is_ascii_whitespace());
    BASE64.decode(text).ok().filter(|_| ends)
}

/// Fills the buffer with random bytes of the operating system for `function`, which fails if there are none.
fn fill_random(out: &mut [u8], function: &str) -> Result<()> {
    no_random_bytes(getrandom::fill(out), function)
}

fn no_random_bytes(filled: Result<(), getrandom::Error>, function: &str) -> Result<()> {
    filled.map_err(|error| {
        SqlError::function_failed(function, format_args!("no random bytes from the system: {error}"))
    })
}

/// A random number from the operating system for `function`, which fails if there is none.
pub(super) fn random_u64(function: &str) -> Result<u64> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes, function)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Version 1: of the time, with a random node in place of this machine's address.
fn new_uuid() -> Result<Uuid> {
    static NODE: OnceLock<[u8; 6]> = OnceLock::new();
    let node = match NODE.get() {
        Some(node) => node,
        None => {
            let [mut node @ .., _, _] = random_u64("uuid")?.to_le_bytes();
            // An address of many receivers, which no machine has.
            node[0] |= 1;
            NODE.get_or_init(|| node)
        }
    };
    Ok(Uuid::now_v1(node))
}

/// With dashes, without, or with both dashes and braces.
fn parse_uuid(text: &[u8]) -> Option<Uuid> {
    match text.len() {
        32 | 36 | 38 => Uuid::try_parse_ascii(text).ok(),
        _ => None,
    }
}

fn bad_text(text: &[u8], function: &str) -> SqlError {
    SqlError::wrong_value_for_type("string", &tidemark_types::convert::excerpt(text), function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_random_bytes_a_function_fails() {
        let error = no_random_bytes(Err(getrandom::Error::UNSUPPORTED), "random_bytes").unwrap_err();
        assert_eq!(error.code, 1220);
        assert!(
            error
                .message
                .starts_with("Error when executing command random_bytes: no random bytes")
        );
        assert!(no_random_bytes(Ok(()), "random_bytes").is_ok());
    }

    #[test]
    fn encodings() {
        assert_eq!(to_base64(b"abc"), "YWJj");
        assert_eq!(to_base64(b"a"), "YQ==");
        assert_eq!(to_base64(b""), "");
        let lines = format!("{}\n{}", "AAAA".repeat(19), "AA==");
        assert_eq!(to_base64(&[0; 57]), "AAAA".repeat(19), "no line feed at the end");
        assert_eq!(to_base64(&[0; 58]), lines);
        assert_eq!(from_base64(lines.as_bytes()).unwrap(), [0; 58]);
        assert_eq!(
            from_base64(b" YR\t=\r\n= ").unwrap(),
            b"a",
            "bits behind the end do not matter"
        );
        assert_eq!(from_base64(b"YQ==").unwrap(), b"a");
        assert_eq!(from_base64(b"Y"), None);
        assert_eq!(from_base64(b"YQ==YQ=="), None);
        assert_eq!(
            parse_uuid(b"{6ccd780c-baba-1026-9564-5b8c656024db}"),
            parse_uuid(b"6CCD780CBABA102695645B8C656024DB")
        );
        assert_eq!(parse_uuid(b"6ccd780c-baba-1026-9564-5b8c656024d"), None);
        assert_eq!(parse_uuid(b"urn:uuid:6ccd780c-baba-1026-9564-5b8c656024db"), None);
        let (one, other) = (new_uuid().unwrap(), new_uuid().unwrap());
        assert_eq!((one.get_version_num(), one != other), (1, true));
        assert_eq!(one.get_node_id(), other.get_node_id());
    }
}
