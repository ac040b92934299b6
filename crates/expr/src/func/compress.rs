//! COMPRESS and UNCOMPRESS: zlib's format (RFC 1950) behind four bytes that say how long the text was, the lowest first. A text that
//! would end with a space ends with a point instead, which CHAR columns keep.

use super::*;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use std::io::{ErrorKind, Read};
use tidemark_types::error::er;

/// Bytes in front that say how long the text was.
const LENGTH_BYTES: usize = 4;

/// The bits of them that do.
const LENGTH_MASK: u32 = 0x3FFF_FFFF;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("compress", (1, 1), compressed_type, |args, _, ctx| {
        let bytes = known!(bytes(&args[0], ctx)?);
        if bytes.is_empty() {
            return Ok(Val::str(""));
        }
        // The worst case of zlib.
        let most = bytes.len() + bytes.len() / 1000 + LENGTH_BYTES + 64;
        let _room = reserve_memory(most)?;
        let mut out = Vec::with_capacity(bytes.len() / 2 + LENGTH_BYTES);
        out.extend_from_slice(&(bytes.len() as u32 & LENGTH_MASK).to_le_bytes());
        let compressed =
            ZlibEncoder::new(Pieces(&bytes), flate2::Compression::default()).read_to_end(&mut out);
        check_memory()?;
        compressed.map_err(|error| SqlError::function_failed("compress", format_args!("{error}")))?;
        if out.last() == Some(&b' ') {
            out.push(b'.');
        }
        Ok(Val::string(out))
    }),
    def("uncompress", (1, 1), uncompressed_type, |args, _, ctx| {
        let bytes = known!(text(&args[0], ctx)?);
        if bytes.is_empty() {
            return Ok(Val::str(""));
        }
        let Some(length) = length_of(&bytes) else {
            ctx.env.warnings.warn(corrupted());
            return Ok(Val::Null);
        };
        let max = ctx.env.max_allowed_packet;
        if length as u64 > max {
            ctx.env.warnings.warn(SqlError::new(
                er::TOO_BIG_FOR_UNCOMPRESS,
                format!(
                    "Uncompressed data size too large; the maximum size is {max} (probably, length of uncompressed data \
                     was corrupted)"
                ),
            ));
            return Ok(Val::Null);
        }
        let _room = reserve_memory(length)?;
        match uncompressed(&bytes[LENGTH_BYTES..], length) {
            Ok(text) => Ok(Val::string(text)),
            Err(error) => {
                check_memory()?;
                ctx.env.warnings.warn(error);
                Ok(Val::Null)
            }
        }
    }),
    def("uncompressed_length", (1, 1), length_type, |args, _, ctx| {
        let bytes = known!(text(&args[0], ctx)?);
        if bytes.is_empty() {
            return Ok(Val::Int(0));
        }
        let Some(length) = length_of(&bytes) else {
            ctx.env.warnings.warn(corrupted());
            return Ok(Val::Int(0));
        };
        Ok(Val::Int(length as i64))
    }),
];

fn compressed_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let length = byte_length(&args[0].ty);
    // What zlib adds at most, and the length.
    let longest = length + (length >> 12) + (length >> 14) + (length >> 25) + 13 + 4;
    Ok(SqlType::varbinary(longest.min(u32::MAX.into()) as u32)
        .with_nullable(true)
        .literal())
}

fn uncompressed_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(SqlType::varbinary(u32::MAX).with_nullable(true).literal())
}

fn length_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    int_type(args, bind)?;
    Ok(SqlType::new(TypeKind::Int).with_nullable(any_nullable(args)))
}

/// How long the text was; `None`: it is nothing that was compressed.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let length = u32::from_le_bytes(*length) & LENGTH_MASK;
    (!rest.is_empty()).then_some(length as usize)
}

/// At most so many bytes of text. Errors 1258 and 1259.
fn uncompressed(bytes: &[u8], length: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    // One more shows that there is more.
    let read = ZlibDecoder::new(Pieces(bytes))
        .take(length as u64 + 1)
        .read_to_end(&mut out);
    match read {
        Ok(read) if read <= length => Ok(out),
        Ok(_) => Err(no_room()),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(no_room()),
        Err(_) => Err(corrupted()),
    }
}

/// Error 1258.
fn no_room() -> SqlError {
    SqlError::new(
        er::ZLIB_Z_BUF_ERROR,
        "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)",
    )
}

/// Error 1259.
fn corrupted() -> SqlError {
    SqlError::new(er::ZLIB_Z_DATA_ERROR, "ZLIB: Input data corrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_grow_beyond_its_length_is_refused() {
        let mut packed = Vec::new();
        let text = vec![b'a'; 100_000];
        ZlibEncoder::new(&text[..], flate2::Compression::best())
            .read_to_end(&mut packed)
            .unwrap();
        assert_eq!(uncompressed(&packed, text.len()).unwrap(), text);
        assert_eq!(uncompressed(&packed, 10).unwrap_err().code, 1258);
        assert_eq!(
            uncompressed(&packed[..packed.len() / 2], text.len())
                .unwrap_err()
                .code,
            1258
        );
        assert_eq!(uncompressed(b"nothing", 10).unwrap_err().code, 1259);
        assert_eq!(length_of(&[1, 2, 0, 0]), None);
        assert_eq!(length_of(&[1, 2, 0, 0xC0, 9]), Some(513));
    }
}
