//! AES_ENCRYPT and AES_DECRYPT.
//!
//! `block_encryption_mode` says how long the key is and how blocks are chained (NIST SP 800-38A). A key of another length is
//! folded: its bytes are XORed into the key one after the other, around and around; or it is derived by HKDF (RFC 5869) or PBKDF2
//! (RFC 8018), both with HMAC-SHA-512. ECB and CBC fill up the last block as PKCS #7 says; the other modes make a stream.
//!
//! The cipher and the derivations are RustCrypto's.

use super::*;
use crate::node::VarScope;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use sha2::Sha512;
use tidemark_types::error::er;

const BLOCK: usize = 16;

type Block = [u8; BLOCK];

pub(super) static FUNCTIONS: &[FuncDef] = &[
    stable("aes_encrypt", (2, 6), encrypted_type, |args, _, ctx| {
        run(args, "aes_encrypt", ctx, |cipher, mode, iv, bytes| {
            Some(encrypt(cipher, mode, iv, bytes))
        })
    }),
    stable("aes_decrypt", (2, 6), decrypted_type, |args, _, ctx| {
        run(args, "aes_decrypt", ctx, decrypt)
    }),
];

fn encrypted_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let length = byte_length(&args[0].ty) as usize;
    Ok(binary((length / BLOCK + 1) * BLOCK))
}

fn decrypted_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(binary(byte_length(&args[0].ty) as usize))
}

/// Bytes, at most so many.
fn binary(length: usize) -> SqlType {
    SqlType::varbinary(u32::try_from(length).unwrap_or(u32::MAX))
        .with_nullable(true)
        .literal()
}

/// How blocks are chained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    /// Cipher feedback of so many bits.
    Cfb(u8),
    Ofb,
}

impl Chaining {
    fn needs_vector(self) -> bool {
        self != Chaining::Ecb
    }
}

/// A value of `block_encryption_mode`: bytes of the key, and chaining.
fn mode_of(name: &str) -> Option<(usize, Chaining)> {
    let mut parts = name.split('-');
    let (_, bits, chaining) = (parts.next()?, parts.next()?, parts.next()?);
    let chaining = match chaining.to_ascii_lowercase().as_str() {
        "ecb" => Chaining::Ecb,
        "cbc" => Chaining::Cbc,
        "cfb1" => Chaining::Cfb(1),
        "cfb8" => Chaining::Cfb(8),
        "cfb128" => Chaining::Cfb(128),
        "ofb" => Chaining::Ofb,
        _ => return None,
    };
    Some((bits.parse::<usize>().ok()? / 8, chaining))
}

/// Evaluates the arguments, makes the key, and has `work` done. NULL where an argument is, and where `work` has no result.
fn run<'a>(
    args: &'a [Expr],
    name: &'static str,
    ctx: &EvalCtx<'a>,
    work: fn(&Cipher, Chaining, &Block, &[u8]) -> Option<Vec<u8>>,
) -> Result<Val<'a>> {
    let variable = ctx
        .env
        .session
        .system_variable(VarScope::Any, "block_encryption_mode")?;
    let named = String::from_utf8_lossy(&variable.to_text()).into_owned();
    let (key_bytes, mode) = mode_of(&named).ok_or_else(|| SqlError::wrong_arguments(name))?;
    let bytes = text(&args[0], ctx)?;
    let secret = text(&args[1], ctx)?;
    let (bytes, secret) = (known!(bytes), known!(secret));
    let mut iv = [0; BLOCK];
    if mode.needs_vector() {
        let Some(vector) = args.get(2) else {
            return Err(SqlError::parameter_count(name));
        };
        let vector = text(vector, ctx)?.unwrap_or_default();
        let Some((start, _)) = vector.split_first_chunk::<BLOCK>() else {
            return Err(SqlError::new(
                er::AES_INVALID_IV,
                format!(
                    "The initialization vector supplied to {name} is too short. Must be at least {BLOCK} bytes long"
                ),
            ));
        };
        iv = *start;
    } else if args.len() == 3 {
        ctx.env
            .warnings
            .warn(SqlError::new(er::WARN_OPTION_IGNORED, "<IV> option ignored"));
    }
    let key = match args.get(3) {
        Some(_) => derived_key(&args[3..], &secret, key_bytes, ctx)?,
        None => folded_key(&secret, key_bytes),
    };
    let _room = known!(within_packet((bytes.len() + BLOCK) as u128, name, ctx)?);
    Ok(work(&Cipher::new(&key), mode, &iv, &bytes).map_or(Val::Null, Val::string))
}

/// Each byte of the secret is XORed into the key, around and around.
fn folded_key(secret: &[u8], bytes: usize) -> Vec<u8> {
    let mut key = vec![0; bytes];
    for (at, byte) in secret.iter().enumerate() {
        key[at % bytes] ^= byte;
    }
    key
}

/// The key that a function makes of the secret: its name, and then a salt and information (HKDF) or iterations (PBKDF2). Errors
/// 3235, 3236 and 3238.
fn derived_key<'a>(args: &'a [Expr], secret: &[u8], bytes: usize, ctx: &EvalCtx<'a>) -> Result<Vec<u8>> {
    let kdf = option(&args[0], OPTION_BYTES_MAX, ctx)?;
    let salt = match args.get(1) {
        Some(salt) => option(salt, OPTION_BYTES_MAX, ctx)?,
        None => Cow::Borrowed(&b""[..]),
    };
    let mut key = vec![0; bytes];
    match &*kdf {
        b"hkdf" => {
            let info = match args.get(2) {
                Some(info) => option(info, OPTION_BYTES_MAX, ctx)?,
                None => Cow::Borrowed(&b""[..]),
            };
            // It can fail only where a key is longer than 255 hashes.
            let made = hkdf::Hkdf::<Sha512>::new(Some(&salt), secret).expand(&info, &mut key);
            made.map_err(|_| SqlError::wrong_arguments("hkdf"))?;
        }
        b"pbkdf2_hmac" => {
            let iterations = match args.get(2) {
                None => ITERATIONS_MIN,
                Some(written) => iterations(&option(written, ITERATIONS_BYTES_MAX, ctx)?)?,
            };
            let made = pbkdf2::pbkdf2::<hmac::Hmac<Sha512>>(secret, &salt, iterations, &mut key);
            made.map_err(|_| SqlError::wrong_arguments("pbkdf2_hmac"))?;
        }
        _ => {
            return Err(SqlError::new(
                er::AES_INVALID_KDF_NAME,
                "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name",
            ));
        }
    }
    Ok(key)
}

/// Options of a function that derives keys are shorter than this, in bytes; the number of iterations than the second.
const OPTION_BYTES_MAX: usize = 256;
const ITERATIONS_BYTES_MAX: usize = 6;

/// Error 3238 for NULL, or too many bytes.
fn option<'a>(e: &'a Expr, bytes_max: usize, ctx: &EvalCtx<'a>) -> Result<Cow<'a, [u8]>> {
    let written = text(e, ctx)?.filter(|written| written.len() < bytes_max);
    written.ok_or_else(|| {
        SqlError::new(
            er::AES_INVALID_KDF_OPTION_SIZE,
            format!("KDF option size is invalid, please provide valid size < {bytes_max} bytes and not NULL"),
        )
    })
}

const ITERATIONS_MIN: u32 = 1000;
const ITERATIONS_MAX: u32 = 65_535;

fn iterations(text: &[u8]) -> Result<u32> {
    let digits = text.trim_ascii_start();
    let digits = &digits[..digits.iter().take_while(|b| b.is_ascii_digit()).count()];
    let number = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    let number = number.filter(|n| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(n));
    number.ok_or_else(|| {
        SqlError::new(
            er::AES_INVALID_KDF_ITERATIONS,
            "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security \
             reasons. Please provide iterations >= 1000 and iterations < 65535",
        )
    })
}

enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    /// For a key of 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Cipher {
        match key.len() {
            16 => Cipher::Aes128(Box::new(Aes128::new(GenericArray::from_slice(key)))),
            24 => Cipher::Aes192(Box::new(Aes192::new(GenericArray::from_slice(key)))),
            _ => Cipher::Aes256(Box::new(Aes256::new(GenericArray::from_slice(key)))),
        }
    }

    fn encrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(aes) => aes.encrypt_block(block),
            Cipher::Aes192(aes) => aes.encrypt_block(block),
            Cipher::Aes256(aes) => aes.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(aes) => aes.decrypt_block(block),
            Cipher::Aes192(aes) => aes.decrypt_block(block),
            Cipher::Aes256(aes) => aes.decrypt_block(block),
        }
    }
}

fn xor(block: &mut Block, other: &Block) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}

fn encrypt(cipher: &Cipher, mode: Chaining, iv: &Block, bytes: &[u8]) -> Vec<u8> {
    let chained = match mode {
        Chaining::Ecb => false,
        Chaining::Cbc => true,
        Chaining::Cfb(bits) => return feedback(cipher, bits, iv, bytes, true),
        Chaining::Ofb => return output_feedback(cipher, iv, bytes),
    };
    let padding = BLOCK - bytes.len() % BLOCK;
    let mut out = bytes.to_vec();
    out.resize(bytes.len() + padding, padding as u8);
    let mut before = *iv;
    let (blocks, _) = out.as_chunks_mut::<BLOCK>();
    for block in blocks {
        if chained {
            xor(block, &before);
        }
        cipher.encrypt(block);
        before = *block;
    }
    out
}

/// `None`: it is nothing that was encrypted so.
fn decrypt(cipher: &Cipher, mode: Chaining, iv: &Block, bytes: &[u8]) -> Option<Vec<u8>> {
    let chained = match mode {
        Chaining::Ecb => false,
        Chaining::Cbc => true,
        Chaining::Cfb(bits) => return Some(feedback(cipher, bits, iv, bytes, false)),
        Chaining::Ofb => return Some(output_feedback(cipher, iv, bytes)),
    };
    let mut out = bytes.to_vec();
    let mut before = *iv;
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    if !rest.is_empty() {
        return None;
    }
    for block in blocks {
        let encrypted = *block;
        cipher.decrypt(block);
        if chained {
            xor(block, &before);
        }
        before = encrypted;
    }
    let padding = *out.last()? as usize;
    let whole = out.len().checked_sub(padding)?;
    let valid = (1..=BLOCK).contains(&padding) && out[whole..].iter().all(|b| *b as usize == padding);
    out.truncate(whole);
    valid.then_some(out)
}

/// What is encrypted goes back into the register that the next bits are encrypted with.
fn feedback(cipher: &Cipher, bits: u8, iv: &Block, bytes: &[u8], encrypts: bool) -> Vec<u8> {
    let mut register = *iv;
    let mut out = Vec::with_capacity(bytes.len());
    match bits {
        128 => {
            for part in bytes.chunks(BLOCK) {
                cipher.encrypt(&mut register);
                for (at, byte) in part.iter().enumerate() {
                    let made = byte ^ register[at];
                    out.push(made);
                    register[at] = if encrypts { made } else { *byte };
                }
            }
        }
        8 => {
            for byte in bytes {
                let mut stream = register;
                cipher.encrypt(&mut stream);
                let made = byte ^ stream[0];
                out.push(made);
                register.rotate_left(1);
                register[BLOCK - 1] = if encrypts { made } else { *byte };
            }
        }
        _ => {
            for byte in bytes {
                let mut made = 0;
                for shift in (0..8).rev() {
                    let mut stream = register;
                    cipher.encrypt(&mut stream);
                    let taken = byte >> shift & 1;
                    let bit = taken ^ stream[0] >> 7;
                    made |= bit << shift;
                    let fed = if encrypts { bit } else { taken };
                    register = (u128::from_be_bytes(register) << 1 | fed as u128).to_be_bytes();
                }
                out.push(made);
            }
        }
    }
    out
}

/// The register is encrypted again and again; the bytes are XORed with it.
fn output_feedback(cipher: &Cipher, iv: &Block, bytes: &[u8]) -> Vec<u8> {
    let mut register = *iv;
    let mut out = Vec::with_capacity(bytes.len());
    for part in bytes.chunks(BLOCK) {
        cipher.encrypt(&mut register);
        out.extend(part.iter().zip(&register).map(|(byte, stream)| byte ^ stream));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
    const TEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";

    fn iv() -> Block {
        std::array::from_fn(|at| at as u8)
    }

    /// The examples of NIST SP 800-38A, appendix F.
    #[test]
    fn examples_of_the_standard() {
        let bytes = |hex: &str| HEXLOWER.decode(hex.as_bytes()).unwrap();
        let cipher = Cipher::new(&bytes(KEY));
        for (mode, encrypted) in [
            (
                Chaining::Ecb,
                "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf",
            ),
            (
                Chaining::Cbc,
                "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            ),
            (
                Chaining::Cfb(128),
                "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b",
            ),
            (
                Chaining::Ofb,
                "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825",
            ),
        ] {
            let made = encrypt(&cipher, mode, &iv(), &bytes(TEXT));
            assert_eq!(HEXLOWER.encode(&made[..32]), encrypted, "{mode:?}");
        }
        let made = encrypt(&cipher, Chaining::Cfb(8), &iv(), &bytes(&TEXT[..36]));
        assert_eq!(HEXLOWER.encode(&made), "3b79424c9c0dd436bace9e0ed4586a4f32b9");
        let made = encrypt(&cipher, Chaining::Cfb(1), &iv(), &bytes(&TEXT[..4]));
        assert_eq!(HEXLOWER.encode(&made), "68b3");
    }

    #[test]
    fn what_is_encrypted_can_be_decrypted() {
        let chainings = [
            Chaining::Ecb,
            Chaining::Cbc,
            Chaining::Cfb(1),
            Chaining::Cfb(8),
            Chaining::Cfb(128),
            Chaining::Ofb,
        ];
        for key in [16, 24, 32] {
            let cipher = Cipher::new(&folded_key(b"a secret that is longer than any key can be", key));
            for mode in chainings {
                for length in [0, 1, 15, 16, 17, 100] {
                    let text = vec![7; length];
                    let made = encrypt(&cipher, mode, &iv(), &text);
                    assert_eq!(
                        decrypt(&cipher, mode, &iv(), &made),
                        Some(text),
                        "{mode:?} {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_was_not_encrypted_is_none() {
        let cipher = Cipher::new(&[1; 16]);
        for bytes in [&b""[..], b"short", &[3; 16]] {
            assert_eq!(decrypt(&cipher, Chaining::Ecb, &[0; 16], bytes), None);
        }
    }

    #[test]
    fn modes() {
        assert_eq!(mode_of("aes-128-ecb"), Some((16, Chaining::Ecb)));
        assert_eq!(mode_of("AES-256-CFB1"), Some((32, Chaining::Cfb(1))));
        assert_eq!(mode_of("aes-256-gcm"), None);
    }
}
