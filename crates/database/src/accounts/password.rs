//! How passwords are stored: the `authentication_string` of the two plugins.
//!
//! `mysql_native_password` keeps SHA1(SHA1(password)). `caching_sha2_password` keeps a salted SHA-256 crypt (Drepper,
//! *Unix crypt using SHA-256 and SHA-512*, 2007) of thousands of rounds, with MySQL's salt of 20 bytes where the
//! original has 16. Neither says what the password is; the second is slow to guess, which is why the server remembers
//! SHA256(SHA256(password)) once a client has sent the password.

use data_encoding::{HEXUPPER, HEXUPPER_PERMISSIVE};
use sha1::Sha1;
use sha2::{Digest, Sha256};

const SALT_LEN: usize = 20;
const DIGEST_TEXT_LEN: usize = 43;
/// `$A$00A$`: the algorithm, and the rounds in thousands, in hexadecimal.
const PREFIX: &str = "$A$00A$";
/// The rounds of new passwords. A stored one says its own.
pub const ROUNDS: u32 = 10_000;
/// A hash that a statement gives has no more: every login that names the account pays for them.
pub const ROUNDS_MAX: u32 = 20_000;
/// Longer passwords are refused, since their length is the price of every round.
pub const PASSWORD_LEN_MAX: usize = 256;
const CRYPT_ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `*` and 40 hex digits; empty for the empty password.
pub fn native_string(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let digest = Sha1::digest(Sha1::digest(password));
    format!("*{}", HEXUPPER.encode(&digest)).into_bytes()
}

/// The 20 bytes that [`native_string`] spells; `None` if it is not such a string.
pub fn native_digest(auth_string: &[u8]) -> Option<[u8; 20]> {
    let digest = HEXUPPER_PERMISSIVE.decode(auth_string.strip_prefix(b"*")?).ok()?;
    digest.try_into().ok()
}

/// `$A$00A$`, salt and digest, with a salt of its own each time; empty for the empty password.
pub fn caching_sha2_string(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut salt = [0u8; SALT_LEN];
    getrandom::fill(&mut salt).expect("the operating system has random numbers");
    for byte in &mut salt {
        *byte = CRYPT_ALPHABET[(*byte & 63) as usize];
    }
    let mut text = PREFIX.as_bytes().to_vec();
    text.extend_from_slice(&salt);
    text.extend_from_slice(&sha256_crypt(password, &salt, ROUNDS));
    text
}

/// A password of that many characters, from all that a keyboard has.
pub fn random(length: usize) -> String {
    const FIRST: u8 = b'!';
    const COUNT: u8 = b'~' - FIRST + 1;
    // Bytes beyond the last multiple are drawn again, so that no character is likelier than another.
    const LIMIT: u8 = u8::MAX / COUNT * COUNT;
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut drawn = [0u8; 64];
        getrandom::fill(&mut drawn).expect("the operating system has random numbers");
        let fitting = drawn.iter().filter(|byte| **byte < LIMIT);
        let missing = length - text.len();
        text.extend(
            fitting
                .map(|byte| char::from(FIRST + byte % COUNT))
                .filter(|c| !matches!(c, '\'' | '"' | '`' | '\\'))
                .take(missing),
        );
    }
    text
}

/// Whether `password` is the one that a `caching_sha2_password` string was made of.
pub fn caching_sha2_matches(auth_string: &[u8], password: &[u8]) -> bool {
    if auth_string.is_empty() || password.is_empty() {
        return auth_string.is_empty() && password.is_empty();
    }
    if password.len() > PASSWORD_LEN_MAX || !is_caching_sha2_string(auth_string) {
        return false;
    }
    let rounds = caching_sha2_rounds(auth_string).unwrap_or(0);
    let (salt, digest) = auth_string[PREFIX.len()..].split_at(SALT_LEN);
    let ours = sha256_crypt(password, salt, rounds);
    // All 43 bytes are compared whatever the first ones are.
    let difference = ours.iter().zip(digest).fold(0, |d, (a, b)| d | (a ^ b));
    difference == 0
}

/// The rounds that a stored password says it has; `None`: it is not of `caching_sha2_password`.
pub fn caching_sha2_rounds(auth_string: &[u8]) -> Option<u32> {
    if !is_caching_sha2_string(auth_string) {
        return None;
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
    let thousands = auth_string[3..6].iter().fold(0, |n, byte| n * 16 + digit(byte));
    Some((thousands * 1000).max(1000))
}

/// Hashes a password for so many rounds, for nothing but the time.
pub fn spend(password: &[u8], rounds: u32) {
    if rounds > 0 && password.len() <= PASSWORD_LEN_MAX {
        std::hint::black_box(sha256_crypt(password, &[b'.'; SALT_LEN], rounds));
    }
}

/// Whether a string given with `IDENTIFIED WITH … AS '…'` has the right form.
pub fn is_caching_sha2_string(auth_string: &[u8]) -> bool {
    auth_string.len() == PREFIX.len() + SALT_LEN + DIGEST_TEXT_LEN
        && auth_string.starts_with(b"$A$")
        && auth_string[6] == b'$'
        && auth_string[3..6].iter().all(u8::is_ascii_hexdigit)
}

fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; DIGEST_TEXT_LEN] {
    let alternate = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    let mut first = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut first, &alternate, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            first.update(alternate);
        } else {
            first.update(password);
        }
        bits >>= 1;
    }
    let mut digest = first.finalize();

    let mut of_password = Sha256::new();
    for _ in 0..password.len() {
        of_password.update(password);
    }
    let password_bytes = repeated(&of_password.finalize(), password.len());
    let mut of_salt = Sha256::new();
    for _ in 0..16 + digest[0] as usize {
        of_salt.update(salt);
    }
    let salt_bytes = repeated(&of_salt.finalize(), salt.len());

    #[cfg(test)]
    ROUNDS_DONE.set(ROUNDS_DONE.get() + rounds as u64);
    for round in 0..rounds {
        let mut hash = Sha256::new();
        if round % 2 == 1 {
            hash.update(&password_bytes);
        } else {
            hash.update(digest);
        }
        if round % 3 != 0 {
            hash.update(&salt_bytes);
        }
        if round % 7 != 0 {
            hash.update(&password_bytes);
        }
        if round % 2 == 1 {
            hash.update(digest);
        } else {
            hash.update(&password_bytes);
        }
        digest = hash.finalize();
    }
    crypt_base64(&digest)
}

fn update_repeated(hash: &mut Sha256, digest: &[u8], mut len: usize) {
    while len > 0 {
        let part = len.min(digest.len());
        hash.update(&digest[..part]);
        len -= part;
    }
}

fn repeated(digest: &[u8], len: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(len).collect()
}

/// Crypt's base 64: the digest's bytes in an order of their own, six bits at a time, lowest first.
fn crypt_base64(digest: &[u8]) -> [u8; DIGEST_TEXT_LEN] {
    let mut text = [0; DIGEST_TEXT_LEN];
    let mut at = 0;
    let mut put = |mut bits: u32, digits: usize| {
        for _ in 0..digits {
            text[at] = CRYPT_ALPHABET[(bits & 63) as usize];
            bits >>= 6;
            at += 1;
        }
    };
    let byte = |i: usize| digest[i] as u32;
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
        (a, b, c) = ((c + 1) % 30, (a + 1) % 30, (b + 1) % 30);
    }
    put(byte(31) << 8 | byte(30), 3);
    text
}

#[cfg(test)]
thread_local! {
    static ROUNDS_DONE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many rounds this thread has hashed.
#[cfg(test)]
pub(super) fn rounds_done() -> u64 {
    ROUNDS_DONE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_hash_is_sha1_of_sha1() {
        assert_eq!(
            native_string(b"password"),
            b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"
        );
        assert_eq!(native_string(b""), b"");
        let digest = native_digest(&native_string(b"secret")).unwrap();
        assert_eq!(digest[..], Sha1::digest(Sha1::digest(b"secret"))[..]);
        assert_eq!(native_digest(b"*12"), None);
        assert_eq!(native_digest(&[b'x'; 41]), None);
    }

    /// The examples of Drepper's specification.
    #[test]
    fn sha256_crypt_agrees_with_its_specification() {
        let crypt = |password: &str, salt: &str, rounds| {
            String::from_utf8(sha256_crypt(password.as_bytes(), salt.as_bytes(), rounds).to_vec()).unwrap()
        };
        assert_eq!(
            crypt("Hello world!", "saltstring", 5000),
            "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
        assert_eq!(
            crypt("Hello world!", "saltstringsaltst", 10000),
            "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"
        );
        let long = "a much longer password than one digest of thirty-two bytes";
        assert_eq!(
            crypt(long, "anotherlongsalts", 1400),
            "czMKldU9Sjzz.4eKToNEseChHMm9GZvVS9GURCb4Ne4"
        );
    }

    /// Made by MySQL 9.7, which hashes with 10,000 rounds (`00A`).
    #[test]
    fn a_string_made_by_mysql_is_recognised() {
        let salt = [
            0x4f, 0x23, 0x56, 0x51, 0x67, 0x19, 0x44, 0x72, 0x67, 0x46, 0x30, 0x35, 0x52, 0x35, 0x45, 0x08,
            0x0a, 0x36, 0x5b, 0x25,
        ];
        let digest = b"H5/ozRR/8Hp20lp4OwTEbyjZQTqjYeh9cO7aBEd5V.9";
        let stored = [b"$A$00A$".as_slice(), &salt, digest].concat();
        assert!(caching_sha2_matches(&stored, b"correct horse"));
        assert!(!caching_sha2_matches(&stored, b"correct house"));
    }

    #[test]
    fn a_stored_password_is_recognised() {
        let stored = caching_sha2_string(b"correct horse");
        assert!(is_caching_sha2_string(&stored));
        assert!(caching_sha2_matches(&stored, b"correct horse"));
        assert!(!caching_sha2_matches(&stored, b"correct horsf"));
        assert!(!caching_sha2_matches(&stored, b""));
        assert!(!caching_sha2_matches(b"", b"x"));
        assert!(caching_sha2_matches(b"", b""));
        assert!(!caching_sha2_matches(b"$A$005$short", b"x"));
        assert_ne!(stored, caching_sha2_string(b"correct horse"));
    }
}
