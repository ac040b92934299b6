//! The login: the server's greeting, the client's answer with a first proof of the password, and whatever steps the
//! account's plugin has then. The server may ask for another plugin than its greeting named.

use crate::{Client, Error, Login, PACKET_LEN_MAX, answer};
use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::{MyDeserialize, MySerialize};
use std::collections::HashMap;

/// The first byte of a packet with which a plugin goes on.
const MORE_DATA: u8 = 1;

/// What the client can do, where the server can. What a session's state has become it skips, yet asks for, as libraries do: so that a server has the same work for it as for
/// their clients.
const CAPABILITIES: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS)
    .union(CapabilityFlags::CLIENT_SESSION_TRACK);

/// What a plugin is told of the connection.
struct Proof<'a> {
    password: &'a [u8],
    scramble: &'a [u8],
    is_socket: bool,
}

impl Context for &Proof<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.is_socket
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        self.scramble
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

impl Client {
    /// From the greeting to the OK.
    pub(crate) fn log_in(&mut self, login: &Login, program: &str) -> Result<(), Error> {
        self.receive()?;
        let malformed = |_| Error::Malformed("the greeting");
        let greeting =
            HandshakePacket::deserialize((), &mut ParseBuf(self.framed.packet())).map_err(malformed)?;
        self.connection_id = greeting.connection_id();
        let capabilities = greeting.capabilities() & CAPABILITIES;
        let version = greeting.server_version_parsed().unwrap_or((8, 0, 0));
        let plugin = match greeting.auth_plugin() {
            Some(plugin) => plugin.into_owned(),
            None => AuthPlugin::MysqlNativePassword,
        };
        let scramble = greeting.nonce();
        let (mut steps, first) = self.first_proof(&plugin, &scramble, login)?;
        let attributes = HashMap::from([
            ("program_name".to_owned(), program.to_owned()),
            ("_pid".to_owned(), std::process::id().to_string()),
        ]);
        let answer = HandshakeResponse::new(
            Some(first),
            version,
            Some(login.user.as_bytes()),
            None::<&[u8]>,
            Some(plugin),
            capabilities,
            Some(attributes),
            PACKET_LEN_MAX as u32,
        );
        let mut packet = Vec::new();
        answer.serialize(&mut packet);
        self.send(&packet)?;
        self.prove(&mut steps, scramble, login)
    }

    /// The steps behind the first, until the server says OK.
    fn prove(&mut self, steps: &mut AuthProc, mut scramble: Vec<u8>, login: &Login) -> Result<(), Error> {
        loop {
            self.receive()?;
            match self.framed.packet()[0] {
                answer::OK => return Ok(()),
                MORE_DATA => {
                    let proof = self.proof(&scramble, login);
                    let response = steps.run(&proof, &self.framed.packet()[1..]).map_err(refused)?;
                    if let Some(data) = response.data() {
                        self.send(data)?;
                    }
                }
                answer::END => {
                    let request = AuthSwitchRequest::deserialize((), &mut ParseBuf(self.framed.packet()))
                        .map_err(|_| Error::Malformed("the demand of another plugin"))?;
                    let plugin = request.auth_plugin().into_owned();
                    if plugin == AuthPlugin::MysqlClearPassword && !self.framed.stream().is_socket() {
                        return Err(Error::Login(
                            "the server asks for the password in the clear".to_owned(),
                        ));
                    }
                    scramble = request.plugin_data().to_vec();
                    let first;
                    (*steps, first) = self.first_proof(&plugin, &scramble, login)?;
                    self.send(&first)?;
                }
                _ => return Err(Error::Malformed("a step of the login")),
            }
        }
    }

    /// A plugin's steps, the first of them done.
    fn first_proof(
        &self,
        plugin: &AuthPlugin<'_>,
        scramble: &[u8],
        login: &Login,
    ) -> Result<(AuthProc, Vec<u8>), Error> {
        let mut steps = plugin.init().map_err(|e| Error::Login(e.to_string()))?;
        let proof = self.proof(scramble, login);
        let first = steps.run(&proof, scramble).map_err(refused)?;
        let (Response::Next { packet } | Response::Last { packet }) = first;
        Ok((steps, packet.unwrap_or_default()))
    }

    fn proof<'a>(&self, scramble: &'a [u8], login: &'a Login) -> Proof<'a> {
        Proof {
            password: login.password.as_bytes(),
            scramble,
            is_socket: self.framed.stream().is_socket(),
        }
    }
}

fn refused(e: mysql_common::auth::plugins::Error) -> Error {
    Error::Login(e.to_string())
}
