//! Proving a password: `mysql_native_password` and `caching_sha2_password`.
//!
//! Both are challenge and response over a nonce. The first needs SHA1(SHA1(password)), which is what is stored. The
//! second stores a slow, salted hash instead, with which no response can be checked; so the first time a client has to
//! hand over the password itself (over TLS or a Unix socket as it is, over an open line encrypted with the server's
//! RSA key), and from then on the server remembers SHA256(SHA256(password)) and checks responses with that.
//!
//! *What a stranger learns.* A wrong password is answered with the same packets, the same error and the same work whatever
//! the account is: with a password or without, locked, expired, with demands on the connection, or not there at all. Only
//! the plugin of an account shows, in the request to go on with it; a name without an account shows one by chance, and
//! always the same. A locked account answers a right password as a wrong one, and so does one whose demands on the
//! connection are not met: the log says why.
//!
//! What is slow, a hash of many rounds and RSA, is done for a few logins at once, see [`provings`](crate::provings).

use crate::channel::Channel;
use crate::errors;
use crate::handshake::{NONCE_LEN, Nonce};
use crate::packet::{Input, ReadError};
use crate::provings::Provings;
use crate::secrets::PasswordKey;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_sql::accounts::password::native_digest;
use tidemark_sql::accounts::requirement;
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
    /// The password was right, but the account is locked; the client is told what it would be for a wrong one.
    Locked(SqlError),
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
    provings: Provings,
}

/// A login attempt: who, and with which proof for which plugin.
pub struct Attempt<'a> {
    pub user: &'a str,
    pub host: &'a str,
    pub plugin: Option<&'a [u8]>,
    pub proof: &'a [u8],
    /// The proof may be made with a nonce other than the latest, and has to be made again.
    pub is_stale: bool,
    /// True once the login is not wanted any more: it was evicted, has run out of time, or its client has left.
    pub is_over: &'a dyn Fn() -> bool,
}

impl Authenticator {
    pub fn new(database: Arc<Database>) -> Authenticator {
        Authenticator {
            database,
            key: PasswordKey::default(),
            provings: Provings::default(),
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
        let shown = account.map(|account| account.plugin);
        let known = shown.unwrap_or_else(|| self.database.plugin_of_unknown(attempt.user));
        let mut proof = attempt.proof.to_vec();
        let plugin = attempt.plugin.unwrap_or(b"mysql_native_password");
        if plugin != known.name().as_bytes() || attempt.is_stale {
            *nonce = Nonce::random();
            proof = ask_for_plugin(channel, input, known, nonce)?;
        }
        // One NUL is how some clients spell an empty proof.
        if proof == [0] {
            proof.clear();
        }
        let with_password = !proof.is_empty();
        let encryption = channel.transport.encryption();
        let may_enter = account.is_some_and(|account| {
            !account.locked && requirement::is_met(&account.requirement, encryption.as_ref())
        });
        let proved = match known {
            _ if proof.is_empty() => account.is_some_and(|account| account.auth_string.is_empty()),
            AuthPlugin::MysqlNativePassword => {
                let stored = account.map(|account| [&*account.auth_string, &account.second]);
                let [present, second] = stored.unwrap_or([b"", b""]);
                native_proves(present, nonce, &proof) | native_proves(second, nonce, &proof)
            }
            AuthPlugin::CachingSha2Password => {
                let quick = account
                    .filter(|_| may_enter)
                    .and_then(|account| account.fast_digest);
                match quick.is_some_and(|digest| caching_sha2_proves(&digest, nonce, &proof)) {
                    true => {
                        channel.out.packet(&[MORE, FAST_OK]);
                        true
                    }
                    false => self.in_full(channel, input, nonce, account, attempt)?,
                }
            }
        };
        if let Some(account) = account {
            let noted = self
                .database
                .note_login(account, attempt.host, proved && may_enter);
            noted.map_err(Failure::Refused)?;
        }
        if proved && may_enter {
            self.provings.succeeded(attempt.host);
            return Ok(());
        }
        let denied = errors::access_denied(attempt.user, attempt.host, with_password);
        if proved && account.is_some_and(|account| account.locked) {
            let locked = &self.database.counters().locked_connects;
            locked.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::Locked(denied));
        }
        Err(Failure::Refused(denied))
    }

    /// Asks for the password itself, and compares it when it is this host's turn.
    fn in_full(
        &self,
        channel: &mut Channel,
        input: &mut Input,
        nonce: &Nonce,
        account: Option<&AccountAuth>,
        attempt: &Attempt,
    ) -> Result<bool, Failure> {
        channel.out.packet(&[MORE, FULL_AUTHENTICATION]);
        channel.send()?;
        let sent = self.ask_for_password(channel, input)?;
        let turn = self.provings.wait(attempt.host, attempt.is_over);
        let _turn = turn.ok_or(ReadError::Closed)?;
        let password = match sent {
            Sent::Plain(password) => Some(password),
            Sent::Encrypted(encrypted) => self.decrypt(&encrypted, nonce),
        };
        let password = password.and_then(|mut password| (password.pop() == Some(0)).then_some(password));
        let Some(password) = password else {
            return Ok(false);
        };
        let (present, second) = self.database.prove_password(account, &password);
        if let Some(account) = account
            && present
        {
            let digest = Sha256::digest(Sha256::digest(&password)).into();
            self.database.remember_digest(account, digest);
        }
        Ok(present || second)
    }

    /// The password, as the client sends it: with a NUL behind it.
    fn ask_for_password(&self, channel: &mut Channel, input: &mut Input) -> Result<Sent, Failure> {
        let packet = channel.read(input, AUTH_PACKET_LEN_MAX)?.to_vec();
        if channel.transport.is_private() {
            return Ok(Sent::Plain(packet));
        }
        if packet != [REQUEST_PUBLIC_KEY] {
            return Ok(Sent::Encrypted(packet));
        }
        let packet = channel.out.begin();
        packet.push(MORE);
        let key = || self.key.public_pem();
        packet.extend_from_slice(self.database.public_key.get_or_init(key).as_bytes());
        channel.out.end();
        channel.send()?;
        Ok(Sent::Encrypted(
            channel.read(input, AUTH_PACKET_LEN_MAX)?.to_vec(),
        ))
    }

    fn decrypt(&self, encrypted: &[u8], nonce: &Nonce) -> Option<Vec<u8>> {
        let mut masked = self.key.decrypt(encrypted)?;
        for (byte, mask) in masked.iter_mut().zip(nonce.bytes().iter().cycle()) {
            *byte ^= mask;
        }
        Some(masked)
    }
}

/// A password as it came.
enum Sent {
    Plain(Vec<u8>),
    Encrypted(Vec<u8>),
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
    let Ok(proof) = <[u8; NONCE_LEN]>::try_from(proof) else {
        return false;
    };
    // An account without such a password takes as long.
    let digest = native_digest(auth_string);
    let stored = digest.unwrap_or_default();
    let mask = Sha1::new()
        .chain_update(nonce.bytes())
        .chain_update(stored)
        .finalize();
    let mut password_digest = proof;
    for (byte, mask) in password_digest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    same(&Sha1::digest(password_digest), &stored) & digest.is_some()
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
