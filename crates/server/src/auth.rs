//! Proving a password: `mysql_native_password` and `caching_sha2_password`.
//!
//! Both are challenge and response over a nonce. The first needs SHA1(SHA1(password)), which is what is stored. The
//! second stores a slow, salted hash instead, with which no response can be checked; so the first time a client has to
//! hand over the password itself (over TLS or a Unix socket as it is, over an open line encrypted with the server's
//! RSA key), and from then on the server remembers SHA256(SHA256(password)) and checks responses with that.
//!
//! A user that does not exist is asked all the same, so that asking does not tell who exists.

use crate::channel::Channel;
use crate::errors;
use crate::handshake::{NONCE_LEN, Nonce};
use crate::packet::{Input, ReadError};
use crate::secrets::PasswordKey;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_sql::accounts::Requirement;
use tidemark_sql::accounts::password::{caching_sha2_matches, native_digest};
use tidemark_sql::{AccountAuth, AuthPlugin, Database, SqlError};

/// No packet of an authentication is longer, connection attributes included.
pub const AUTH_PACKET_LEN_MAX: usize = 128 << 10;

const SWITCH: u8 = 0xfe;
const MORE: u8 = 0x01;
const REQUEST_PUBLIC_KEY: u8 = 0x02;
const FAST_OK: u8 = 0x03;
const FULL_AUTHENTICATION: u8 = 0x04;

/// How an authentication ends other than well.
pub enum Failure {
    /// The client is told, and let go.
    Refused(SqlError),
    /// The client is gone, or did not keep to the protocol.
    Read(ReadError),
    Write(std::io::Error),
}

impl From<ReadError> for Failure {
    fn from(e: ReadError) -> Failure {
        Failure::Read(e)
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        Failure::Write(e)
    }
}

/// What the two plugins check with.
pub struct Authenticator {
    database: Arc<Database>,
    key: PasswordKey,
}

/// A login attempt: who, and with which proof for which plugin.
pub struct Attempt<'a> {
    pub user: &'a str,
    pub host: &'a str,
    pub plugin: Option<&'a [u8]>,
    pub proof: &'a [u8],
    /// The proof may be made with a nonce other than the latest, and has to be made again.
    pub is_stale: bool,
}

impl Authenticator {
    pub fn new(database: Arc<Database>) -> Authenticator {
        Authenticator {
            database,
            key: PasswordKey::default(),
        }
    }

    /// Checks the attempt, asking the client for more where its plugin needs more. `nonce` is the one the proof was
    /// made with, and becomes the one of the last question.
    pub fn check(
        &self,
        channel: &mut Channel,
        input: &mut Input,
        nonce: &mut Nonce,
        account: Option<&AccountAuth>,
        attempt: &Attempt,
    ) -> Result<(), Failure> {
        let decoy = decoy();
        let known = account.unwrap_or(&decoy);
        let mut proof = attempt.proof.to_vec();
        let plugin = attempt.plugin.unwrap_or(b"mysql_native_password");
        if plugin != known.plugin.name().as_bytes() || attempt.is_stale {
            *nonce = Nonce::random();
            proof = ask_for_plugin(channel, input, known.plugin, nonce)?;
        }
        // One NUL is how some clients spell an empty proof.
        if proof == [0] {
            proof.clear();
        }
        let with_password = !proof.is_empty();
        let proved = if known.auth_string.is_empty() || proof.is_empty() {
            known.auth_string.is_empty() && proof.is_empty()
        } else {
            match known.plugin {
                AuthPlugin::MysqlNativePassword => {
                    native_proves(&known.auth_string, nonce, &proof)
                        || native_proves(&known.second, nonce, &proof)
                }
                AuthPlugin::CachingSha2Password => self.caching_sha2(channel, input, nonce, known, &proof)?,
            }
        };
        if account.is_some() {
            let noted = self.database.note_login(known, attempt.host, proved);
            noted.map_err(Failure::Refused)?;
        }
        if !proved || account.is_none() {
            let denied = errors::access_denied(attempt.user, attempt.host, with_password);
            return Err(Failure::Refused(denied));
        }
        if known.locked {
            let locked = &self.database.counters().locked_connects;
            locked.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::Refused(errors::account_locked(
                attempt.user,
                attempt.host,
            )));
        }
        Ok(())
    }

    fn caching_sha2(
        &self,
        channel: &mut Channel,
        input: &mut Input,
        nonce: &Nonce,
        account: &AccountAuth,
        proof: &[u8],
    ) -> Result<bool, Failure> {
        if let Some(digest) = account.fast_digest
            && caching_sha2_proves(&digest, nonce, proof)
        {
            channel.out.packet(&[MORE, FAST_OK]);
            return Ok(true);
        }
        channel.out.packet(&[MORE, FULL_AUTHENTICATION]);
        channel.send()?;
        let Some(password) = self.ask_for_password(channel, input, nonce)? else {
            return Ok(false);
        };
        if !account.second.is_empty() && caching_sha2_matches(&account.second, &password) {
            return Ok(true);
        }
        let matches = caching_sha2_matches(&account.auth_string, &password);
        if matches {
            let digest = Sha256::digest(Sha256::digest(&password)).into();
            self.database.remember_digest(account, digest);
        }
        Ok(matches)
    }

    /// The password itself; `None` if what came is not one.
    fn ask_for_password(
        &self,
        channel: &mut Channel,
        input: &mut Input,
        nonce: &Nonce,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if channel.transport.is_private() {
            let packet = channel.read(input, AUTH_PACKET_LEN_MAX)?;
            return Ok(packet.strip_suffix(&[0]).map(<[u8]>::to_vec));
        }
        let mut encrypted = channel.read(input, AUTH_PACKET_LEN_MAX)?.to_vec();
        if encrypted == [REQUEST_PUBLIC_KEY] {
            let packet = channel.out.begin();
            packet.push(MORE);
            let key = || self.key.public_pem();
            packet.extend_from_slice(self.database.public_key.get_or_init(key).as_bytes());
            channel.out.end();
            channel.send()?;
            encrypted = channel.read(input, AUTH_PACKET_LEN_MAX)?.to_vec();
        }
        Ok(self.key.decrypt(&encrypted).and_then(|mut masked| {
            for (byte, mask) in masked.iter_mut().zip(nonce.bytes().iter().cycle()) {
                *byte ^= mask;
            }
            masked.strip_suffix(&[0]).map(<[u8]>::to_vec)
        }))
    }
}

/// The account of a user that does not exist: a plugin to ask with, and a password that no account has.
fn decoy() -> AccountAuth {
    AccountAuth {
        user: String::new(),
        host: String::new(),
        plugin: AuthPlugin::CachingSha2Password,
        auth_string: [&b"$A$00A$"[..], &[b'.'; 63]].concat(),
        fast_digest: None,
        locked: false,
        expired: false,
        second: Vec::new(),
        requirement: Requirement::None,
    }
}

/// Asks for a proof made for another plugin than the client chose.
fn ask_for_plugin(
    channel: &mut Channel,
    input: &mut Input,
    plugin: AuthPlugin,
    nonce: &Nonce,
) -> Result<Vec<u8>, Failure> {
    let packet = channel.out.begin();
    packet.push(SWITCH);
    packet.extend_from_slice(plugin.name().as_bytes());
    packet.push(0);
    packet.extend_from_slice(nonce.bytes());
    packet.push(0);
    channel.out.end();
    channel.send()?;
    Ok(channel.read(input, AUTH_PACKET_LEN_MAX)?.to_vec())
}

/// proof = SHA1(password) xor SHA1(nonce, SHA1(SHA1(password)))
fn native_proves(auth_string: &[u8], nonce: &Nonce, proof: &[u8]) -> bool {
    let (Some(stored), Ok(proof)) = (native_digest(auth_string), <[u8; NONCE_LEN]>::try_from(proof)) else {
        return false;
    };
    let mask = Sha1::new()
        .chain_update(nonce.bytes())
        .chain_update(stored)
        .finalize();
    let mut password_digest = proof;
    for (byte, mask) in password_digest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    same(&Sha1::digest(password_digest), &stored)
}

/// proof = SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce)
fn caching_sha2_proves(stored: &[u8; 32], nonce: &Nonce, proof: &[u8]) -> bool {
    let Ok(mut password_digest) = <[u8; 32]>::try_from(proof) else {
        return false;
    };
    let mask = Sha256::new()
        .chain_update(stored)
        .chain_update(nonce.bytes())
        .finalize();
    for (byte, mask) in password_digest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    same(&Sha256::digest(password_digest), stored)
}

/// Compares every byte whatever the first ones are.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::auth::plugins::{
        caching_sha2_password::scramble_sha256, mysql_native_password::scramble_native,
    };
    use tidemark_sql::accounts::password::native_string;

    #[test]
    fn proofs_made_by_a_client_library_are_recognised() {
        let nonce = Nonce::random();
        let native = scramble_native(nonce.bytes(), b"secret").unwrap();
        assert!(native_proves(&native_string(b"secret"), &nonce, &native));
        assert!(!native_proves(&native_string(b"Secret"), &nonce, &native));
        assert!(!native_proves(
            &native_string(b"secret"),
            &Nonce::random(),
            &native
        ));
        assert!(!native_proves(&native_string(b"secret"), &nonce, &native[1..]));

        let stored = |password: &[u8]| Sha256::digest(Sha256::digest(password)).into();
        let sha2 = scramble_sha256(nonce.bytes(), b"secret").unwrap();
        assert!(caching_sha2_proves(&stored(b"secret"), &nonce, &sha2));
        assert!(!caching_sha2_proves(&stored(b"Secret"), &nonce, &sha2));
        assert!(!caching_sha2_proves(&stored(b"secret"), &Nonce::random(), &sha2));
        assert!(!caching_sha2_proves(&stored(b"secret"), &nonce, b""));
    }
}
