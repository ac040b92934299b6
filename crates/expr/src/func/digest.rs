//! Hashes, encodings and random bytes.

use super::*;
use sha1::Digest;
use std::sync::OnceLock;
use tidemark_types::Collation;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "md5",
        (1, 1),
        |args, bind| hex_text(args, 32, bind),
        |args, _, ctx| Ok(Val::string(lower_hex(&md5(&known!(text(&args[0], ctx)?))))),
    ),
    def(
        "sha1",
        (1, 1),
        |args, bind| hex_text(args, 40, bind),
        |args, _, ctx| {
            Ok(Val::string(lower_hex(&sha1::Sha1::digest(&*known!(text(
                &args[0], ctx
            )?)))))
        },
    ),
    def(
        "sha2",
        (2, 2),
        |args, bind| Ok(hex_text(args, 128, bind)?.with_nullable(true)),
        sha2,
    ),
    def(
        "to_base64",
        (1, 1),
        |args, bind| hex_text(args, 65_535, bind),
        |args, _, ctx| {
            let bytes = known!(text(&args[0], ctx)?);
            // A line feed behind every 76 of the digits but the last.
            let digits = bytes.len().div_ceil(3) * 4;
            let lines = digits.saturating_sub(1) / 76;
            let _room = known!(within_packet((digits + lines) as u128, "to_base64", ctx)?);
            Ok(Val::string(to_base64(&bytes)))
        },
    ),
    def("from_base64", (1, 1), binary_text, |args, _, ctx| {
        Ok(from_base64(&known!(text(&args[0], ctx)?)).map_or(Val::Null, Val::string))
    }),
    volatile("random_bytes", (1, 1), binary_text, |args, _, ctx| {
        let n = known!(int(&args[0], ctx)?);
        if !(1..=1024).contains(&n) {
            return Err(SqlError::value_out_of_range("length", "random_bytes"));
        }
        let mut bytes = vec![0; n as usize];
        fill_random(&mut bytes, "random_bytes")?;
        Ok(Val::string(bytes))
    }),
    volatile(
        "uuid",
        (0, 0),
        |_, bind| Ok(server_text(36, false, bind)),
        |_, _, _| Ok(Val::string(uuid()?)),
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
        let mut bytes = parse_uuid(&written).ok_or_else(|| bad_text(&written, "uuid_to_bin"))?;
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
            if bytes.len() != 16 {
                return Err(bad_text(&bytes, "bin_to_uuid"));
            }
            if args.len() > 1 && args[1].is_true(ctx)? {
                bytes = [&bytes[4..8], &bytes[2..4], &bytes[0..2], &bytes[8..]].concat();
            }
            Ok(Val::string(dashed(&lower_hex(&bytes))))
        },
    ),
    def(
        "inet_aton",
        (1, 1),
        |args, bind| Ok(nullable_int(args, bind)?.unsigned()),
        |args, _, ctx| {
            let written = known!(text(&args[0], ctx)?);
            let address = inet_aton(&written);
            if address.is_none() {
                ctx.env.complain(bad_text(&written, "inet_aton"))?;
            }
            Ok(address.map_or(Val::Null, Val::UInt))
        },
    ),
    def(
        "inet_ntoa",
        (1, 1),
        |args, bind| Ok(hex_text(args, 31, bind)?.with_nullable(true)),
        |args, _, ctx| {
            let n = known!(int(&args[0], ctx)?);
            let Ok(n) = u32::try_from(n) else {
                return Ok(Val::Null);
            };
            Ok(Val::string(std::net::Ipv4Addr::from(n).to_string()))
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

fn lower_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn md5(bytes: &[u8]) -> [u8; 16] {
    md5::Md5::digest(bytes).into()
}

fn sha2<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let bytes = known!(text(&args[0], ctx)?);
    let digest = match known!(int(&args[1], ctx)?) {
        0 | 256 => lower_hex(&sha2::Sha256::digest(&*bytes)),
        224 => lower_hex(&sha2::Sha224::digest(&*bytes)),
        384 => lower_hex(&sha2::Sha384::digest(&*bytes)),
        512 => lower_hex(&sha2::Sha512::digest(&*bytes)),
        _ => {
            ctx.env.warnings.warn(SqlError::wrong_parameters("sha2"));
            return Ok(Val::Null);
        }
    };
    Ok(Val::string(digest))
}

/// The CRC-32 of zip and Ethernet.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ *byte as u32, |crc, _| {
            if crc & 1 != 0 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// In lines of 76 characters.
fn to_base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 4 / 3 + 8);
    for (i, group) in bytes.chunks(3).enumerate() {
        if i > 0 && i % 19 == 0 {
            out.push(b'\n');
        }
        let n = group.iter().fold(0u32, |n, b| n << 8 | *b as u32) << (8 * (3 - group.len()));
        for place in 0..4 {
            let used = place <= group.len();
            out.push(if used {
                BASE64[(n >> (18 - 6 * place) & 63) as usize]
            } else {
                b'='
            });
        }
    }
    out
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (i, group) in digits.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || padding > 0 && i + 1 < groups {
            return None;
        }
        let mut n = 0u32;
        for b in &group[..4 - padding] {
            n = n << 6 | BASE64.iter().position(|d| d == b)? as u32;
        }
        n <<= 6 * padding;
        out.extend_from_slice(&n.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
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

/// Version 1: the time in 100 ns since 1582, and random bits for clock sequence and node.
fn uuid() -> Result<String> {
    let since_1970 = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let ticks = since_1970.as_nanos() as u64 / 100 + 0x01B2_1DD2_1381_4000;
    let ticks = ticks & !0xF | random_u64("uuid")? & 0xF;
    static NODE: OnceLock<u64> = OnceLock::new();
    let node = match NODE.get() {
        Some(node) => *node,
        None => {
            let drawn = random_u64("uuid")? & 0xFFFF_FFFF_FFFF | 1 << 40;
            *NODE.get_or_init(|| drawn)
        }
    };
    Ok(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        ticks as u32,
        ticks >> 32 & 0xFFFF,
        ticks >> 48 & 0x0FFF | 0x1000,
        random_u64("uuid")? & 0x3FFF | 0x8000,
        node
    ))
}

fn dashed(hex: &str) -> String {
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// With dashes, without, or in braces.
fn parse_uuid(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match text.len() {
        38 => text.strip_prefix('{')?.strip_suffix('}')?,
        36 | 32 => text,
        _ => return None,
    };
    if text.len() == 36 && [8, 13, 18, 23].iter().any(|at| text.as_bytes()[*at] != b'-') {
        return None;
    }
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    if hex.len() != 32 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    super::string::unhex(hex.as_bytes())
}

fn bad_text(text: &[u8], function: &str) -> SqlError {
    SqlError::wrong_value_for_type("string", &tidemark_types::convert::excerpt(text), function)
}

/// Short forms leave out the middle: `127.1` is 127.0.0.1.
fn inet_aton(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let parts = text
        .split('.')
        .map(|p| p.parse::<u8>().ok())
        .collect::<Option<Vec<u8>>>()?;
    if parts.is_empty() || parts.len() > 4 {
        return None;
    }
    let (last, first) = parts.split_last()?;
    let high = (0..3).fold(0u64, |n, i| n << 8 | first.get(i).copied().unwrap_or(0) as u64);
    Some(high << 8 | *last as u64)
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
        assert_eq!(to_base64(b"abc"), b"YWJj");
        assert_eq!(to_base64(b"a"), b"YQ==");
        assert_eq!(from_base64(b"YQ==").unwrap(), b"a");
        assert_eq!(from_base64(b"Y"), None);
        assert_eq!(crc32(b"MySQL"), 3_259_397_556);
        assert_eq!(inet_aton(b"127.1"), Some(2_130_706_433));
        assert_eq!(
            parse_uuid(b"6ccd780c-baba-1026-9564-5b8c656024db").unwrap()[0],
            0x6c
        );
    }
}
