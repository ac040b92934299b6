//! The opening of a conversation: the server's greeting and the client's answer to it.

use crate::capability::Capabilities;
use crate::wire::{Fields, Malformed};
const PROTOCOL_VERSION: u8 = 10;
pub const NONCE_LEN: usize = 20;
/// The first part of the nonce stands where protocol 9 had it.
const NONCE_FIRST_LEN: usize = 8;

/// What a client proves its password with: random, and never sent twice.
#[derive(Clone, Copy)]
pub struct Nonce([u8; NONCE_LEN]);

impl Nonce {
    /// Printable bytes, since some clients take it for a C string.
    pub fn random() -> Nonce {
        let mut bytes = [0; NONCE_LEN];
        getrandom::fill(&mut bytes).expect("the operating system has random numbers");
        for byte in &mut bytes {
            *byte = b'%' + *byte % 88;
        }
        Nonce(bytes)
    }

    pub fn bytes(&self) -> &[u8; NONCE_LEN] {
        &self.0
    }
}

/// What the server says first.
pub struct Greeting<'a> {
    pub version: &'a str,
    pub connection_id: u64,
    pub nonce: &'a Nonce,
    pub capabilities: Capabilities,
    /// The server's collation, by the low byte of its number.
    pub collation: u16,
    /// The status flags.
    pub status: u16,
    /// The authentication plugin that it begins with.
    pub plugin: &'a str,
}

/// Writes the greeting's payload.
pub fn put_greeting(packet: &mut Vec<u8>, greeting: &Greeting) {
    let Greeting {
        version,
        connection_id,
        nonce,
        capabilities,
        collation,
        status,
        plugin,
    } = *greeting;
    let (first, second) = nonce.bytes().split_at(NONCE_FIRST_LEN);
    let (low, high) = (capabilities.0 as u16, (capabilities.0 >> 16) as u16);
    packet.push(PROTOCOL_VERSION);
    packet.extend_from_slice(version.as_bytes());
    packet.push(0);
    packet.extend_from_slice(&(connection_id as u32).to_le_bytes());
    packet.extend_from_slice(first);
    packet.push(0);
    packet.extend_from_slice(&low.to_le_bytes());
    packet.push(collation as u8);
    packet.extend_from_slice(&status.to_le_bytes());
    packet.extend_from_slice(&high.to_le_bytes());
    packet.push(NONCE_LEN as u8 + 1);
    packet.extend_from_slice(&[0; 10]);
    packet.extend_from_slice(second);
    packet.push(0);
    packet.extend_from_slice(plugin.as_bytes());
    packet.push(0);
}

/// Whether this first packet asks for TLS: an answer that ends before the user name.
pub fn is_tls_request(packet: &[u8]) -> bool {
    const LEN: usize = 32;
    let capabilities = Fields::new(packet).u32().unwrap_or(0);
    packet.len() == LEN && Capabilities(capabilities).has(Capabilities::SSL)
}

/// Of the attributes of a connection so many bytes are kept, as MySQL keeps.
const ATTRIBUTES_LEN_MAX: usize = 512;

/// No account has a longer name.
const USER_LEN_MAX: usize = 32;

/// The name of a user as a client gives it, cut to as many characters as an account may have.
pub fn user_name(bytes: &[u8]) -> String {
    // No character has more than four bytes, and one that was cut in two is beyond the limit.
    let bytes = &bytes[..bytes.len().min(4 * USER_LEN_MAX + 3)];
    String::from_utf8_lossy(bytes)
        .chars()
        .take(USER_LEN_MAX)
        .collect()
}

/// Who a client says it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Login<'a> {
    pub capabilities: Capabilities,
    pub collation: u16,
    pub user: &'a [u8],
    /// The proof of the password, made for `plugin`.
    pub proof: &'a [u8],
    pub database: Option<&'a [u8]>,
    /// `None` if the client names none, which means `mysql_native_password`.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes, as they came: names and values as length-encoded strings.
    pub attributes: &'a [u8],
}

impl<'a> Login<'a> {
    /// The answer to the greeting.
    pub fn parse(packet: &'a [u8], server: Capabilities) -> Result<Login<'a>, Malformed> {
        let mut fields = Fields::new(packet);
        let claimed = Capabilities(fields.u32()?);
        if !claimed.has(Capabilities::PROTOCOL_41) {
            return Err(Malformed);
        }
        let capabilities = claimed.both(server);
        let _packet_len_max = fields.u32()?;
        let collation = fields.u8()? as u16;
        fields.bytes(23)?;
        let user = fields.until_nul();
        let proof = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            fields.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let len = fields.u8()?;
            fields.bytes(len as usize)?
        } else {
            fields.until_nul()
        };
        let database = capabilities
            .has(Capabilities::CONNECT_WITH_DB)
            .then(|| fields.until_nul());
        Login {
            capabilities,
            collation,
            user,
            proof,
            database,
            plugin: None,
            attributes: &[],
        }
        .with_plugin_and_attributes(fields)
    }

    /// COM_CHANGE_USER, without its command byte. What the client can do stays as it was.
    pub fn parse_change(packet: &'a [u8], capabilities: Capabilities) -> Result<Login<'a>, Malformed> {
        let mut fields = Fields::new(packet);
        let user = fields.until_nul();
        let proof = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let len = fields.u8()?;
            fields.bytes(len as usize)?
        } else {
            fields.until_nul()
        };
        let database = Some(fields.until_nul());
        let collation = if fields.is_empty() { 0 } else { fields.u16()? };
        Login {
            capabilities,
            collation,
            user,
            proof,
            database,
            plugin: None,
            attributes: &[],
        }
        .with_plugin_and_attributes(fields)
    }

    /// The connection attributes, as many as are kept, and whether these are all. What is no list of names and values ends it.
    pub fn attributes(&self) -> (Vec<(String, String)>, bool) {
        let mut fields = Fields::new(self.attributes);
        let mut kept = Vec::new();
        let mut len = 0;
        while let (Ok(name), Ok(value)) = (fields.lenenc_bytes(), fields.lenenc_bytes()) {
            len += name.len() + value.len();
            if len > ATTRIBUTES_LEN_MAX {
                return (kept, false);
            }
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            kept.push((text(name), text(value)));
        }
        (kept, true)
    }

    fn with_plugin_and_attributes(mut self, mut fields: Fields<'a>) -> Result<Login<'a>, Malformed> {
        self.database = self.database.filter(|name| !name.is_empty());
        if self.capabilities.has(Capabilities::PLUGIN_AUTH) && !fields.is_empty() {
            self.plugin = Some(fields.until_nul()).filter(|name| !name.is_empty());
        }
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) && !fields.is_empty() {
            self.attributes = fields.lenenc_bytes()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::of_server;
    use mysql_common::constants::CapabilityFlags;
    use mysql_common::io::ParseBuf;
    use mysql_common::packets::{HandshakePacket, HandshakeResponse};
    use mysql_common::proto::{MyDeserialize, MySerialize};
    use std::collections::HashMap;

    #[test]
    fn a_client_library_reads_the_greeting() {
        let nonce = Nonce::random();
        let capabilities = of_server(true);
        let mut packet = Vec::new();
        put_greeting(
            &mut packet,
            &Greeting {
                version: "8.0.36-tidemark",
                connection_id: 77,
                nonce: &nonce,
                capabilities,
                collation: 255,
                status: 2,
                plugin: "caching_sha2_password",
            },
        );
        let read = HandshakePacket::deserialize((), &mut ParseBuf(&packet)).unwrap();
        assert_eq!(read.server_version_str(), "8.0.36-tidemark");
        assert_eq!(read.connection_id(), 77);
        assert_eq!(read.capabilities().bits(), capabilities.0);
        assert_eq!(read.nonce(), nonce.bytes());
        assert_eq!(
            read.auth_plugin_name_str().as_deref(),
            Some("caching_sha2_password")
        );
    }

    #[test]
    fn the_answer_of_a_client_library_is_understood() {
        let ours = of_server(false);
        let plugin = mysql_common::packets::AuthPlugin::MysqlNativePassword;
        let attributes = HashMap::from([("program_name".to_string(), "test".to_string())]);
        let answer = HandshakeResponse::new(
            Some(&b"twenty bytes of hash"[..]),
            (8, 0, 36),
            Some(&b"sbtest"[..]),
            Some(&b"shop"[..]),
            Some(plugin),
            CapabilityFlags::from_bits_truncate(ours.0),
            Some(attributes),
            1 << 24,
        );
        let mut packet = Vec::new();
        answer.serialize(&mut packet);
        let login = Login::parse(&packet, ours).unwrap();
        assert_eq!(login.user, b"sbtest");
        assert_eq!(login.proof, b"twenty bytes of hash");
        assert_eq!(login.database, Some(&b"shop"[..]));
        assert_eq!(login.plugin, Some(&b"mysql_native_password"[..]));
        assert_eq!(login.attributes, b"\x0cprogram_name\x04test");
        assert_eq!(
            login.attributes(),
            (vec![("program_name".to_owned(), "test".to_owned())], true)
        );
        for len in 0..32 {
            assert_eq!(Login::parse(&packet[..len], ours), Err(Malformed), "{len}");
        }
        for len in 32..packet.len() {
            let _ = Login::parse(&packet[..len], ours);
        }
    }

    #[test]
    fn names_of_users_are_cut() {
        assert_eq!(user_name(b"root"), "root");
        assert_eq!(user_name(&[b'a'; 100_000]), "a".repeat(32));
        assert_eq!(
            user_name("\u{1f600}".repeat(40).as_bytes()),
            "\u{1f600}".repeat(32)
        );
        assert_eq!(user_name(&[0xff; 4096]), "\u{fffd}".repeat(32));
    }

    #[test]
    fn protocol_3_20_is_refused() {
        assert_eq!(
            Login::parse(b"\x05\x00\x00\x00\x00root\0", of_server(false)),
            Err(Malformed)
        );
    }

    #[test]
    fn a_change_of_user_is_understood() {
        let ours = of_server(false);
        let packet = b"bob\0\x03abcshop\0\x2d\0caching_sha2_password\0";
        let login = Login::parse_change(packet, ours).unwrap();
        assert_eq!(
            (login.user, login.proof, login.database, login.collation),
            (&b"bob"[..], &b"abc"[..], Some(&b"shop"[..]), 45)
        );
        assert_eq!(login.plugin, Some(&b"caching_sha2_password"[..]));
        assert_eq!(Login::parse_change(b"bob\0\x30abc", ours), Err(Malformed));
    }
}
