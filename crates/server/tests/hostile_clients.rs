//! Clients that do not keep to the protocol: whatever they send, they alone are answered with an error or cut off, and
//! everybody else goes on.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tidemark_server::{Server, ServerOptions};
use tidemark_sql::{Database, Options};

struct Running {
    server: Option<Server>,
    database: Arc<Database>,
    address: SocketAddr,
    datadir: PathBuf,
}

impl Running {
    fn start(name: &str) -> Running {
        let datadir = std::env::temp_dir().join(format!("tidemark-{name}-{}", std::process::id()));
        let pairs = [("innodb_buffer_pool_size", "16M"), ("max_allowed_packet", "1M")];
        let pairs = pairs.map(|(name, value)| (name.to_string(), Some(value.to_string())));
        let options = Options::from_pairs(datadir.clone(), pairs).unwrap();
        let database = tidemark_sql::open(options).unwrap();
        let listen = ServerOptions {
            bind_address: "127.0.0.1".into(),
            ..ServerOptions::default()
        };
        let server = Server::start(Arc::clone(&database), &listen).unwrap();
        Running {
            address: server.addresses()[0],
            server: Some(server),
            database,
            datadir,
        }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Client { stream };
        let (greeting, _) = client.read().expect("a greeting");
        assert_eq!(greeting[0], 10);
        client
    }

    fn log_in(&self) -> Client {
        let mut client = self.connect();
        client.send(1, &login_packet());
        let (answer, _) = client.read().expect("an answer to the login");
        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
        client
    }

    /// Whether somebody who keeps to the protocol is served.
    fn serves(&self) {
        let mut client = self.log_in();
        client.send(0, &[0x0e]);
        assert_eq!(client.read().expect("a pong").0[0], 0);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let _ = self.database.shutdown();
        let _ = std::fs::remove_dir_all(&self.datadir);
    }
}

struct Client {
    stream: TcpStream,
}

impl Client {
    fn send(&mut self, sequence: u8, payload: &[u8]) {
        let header = payload.len() as u32 | (sequence as u32) << 24;
        // The server may have hung up already; that shows when reading.
        let _ = self.stream.write_all(&[&header.to_le_bytes(), payload].concat());
    }

    /// A packet and its number, or `None` at the end of the stream.
    fn read(&mut self) -> Option<(Vec<u8>, u8)> {
        let mut header = [0; 4];
        self.fill(&mut header)?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.fill(&mut payload)?;
        Some((payload, header[3]))
    }

    fn fill(&mut self, out: &mut [u8]) -> Option<()> {
        match self.stream.read_exact(out) {
            Ok(()) => Some(()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the server neither answers nor hangs up")
            }
            Err(_) => None,
        }
    }

    /// The number of the error that comes, after which the connection must be closed.
    fn last_error(&mut self) -> u16 {
        let (packet, _) = self.read().expect("an error");
        assert_eq!(packet[0], 0xff, "{}", String::from_utf8_lossy(&packet));
        assert!(self.read().is_none(), "the connection goes on");
        u16::from_le_bytes([packet[1], packet[2]])
    }

    /// Says nothing more, and reads until the server hangs up.
    fn drain(mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        while self.read().is_some() {}
    }
}

fn login_packet() -> Vec<u8> {
    let capabilities: u32 = 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x8_0000;
    let mut packet = capabilities.to_le_bytes().to_vec();
    packet.extend_from_slice(&(1u32 << 24).to_le_bytes());
    packet.push(45);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(b"root\0\0caching_sha2_password\0");
    packet
}

/// A small generator of numbers (xorshift), so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next(256) as u8).collect()
    }
}

#[test]
fn wrong_packets_end_their_connection_with_a_reason() {
    let running = Running::start("wrong-packets");
    let mut bystander = running.log_in();

    let mut client = running.log_in();
    client.send(0, &vec![3; (1 << 20) + 1]);
    assert_eq!(client.last_error(), 1153);

    let mut client = running.log_in();
    client.send(5, &[0x0e]);
    assert_eq!(client.last_error(), 1156);

    let mut client = running.connect();
    client.send(1, b"\x05\0\0\0\0root\0");
    assert_eq!(client.last_error(), 1043);

    bystander.send(0, &[0x0e]);
    assert_eq!(bystander.read().expect("a pong").0[0], 0);
}

#[test]
fn unknown_and_malformed_commands_are_errors_and_no_more() {
    let running = Running::start("unknown-commands");
    let mut client = running.log_in();
    for (packet, code) in [
        (&[][..], 1047),
        (&[0x00u8], 1047),
        (&[0x7f, 1, 2, 3], 1047),
        (&[0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0], 1243),
        (&[0x1a, 9, 0, 0, 0], 1243),
        (&[0x1c, 9, 0, 0, 0, 1, 0, 0, 0], 1243),
        (&[0x17, 1, 0], 1835),
        (&[0x19, 1], 1835),
        (&[0x1a], 1835),
        (&[0x1c, 1], 1835),
        (&[0x1b], 1835),
        (&[0x0c, 1], 1835),
    ] {
        client.send(0, packet);
        let (answer, sequence) = client.read().expect("an error");
        assert_eq!((answer[0], sequence), (0xff, 1));
        assert_eq!(u16::from_le_bytes([answer[1], answer[2]]), code, "{packet:?}");
    }
    client.send(0, &[0x0e]);
    assert_eq!(client.read().expect("a pong").0[0], 0);
}

#[test]
fn a_login_may_break_off_anywhere() {
    let running = Running::start("broken-logins");
    let packet = login_packet();
    for len in 0..packet.len() {
        let mut client = running.connect();
        let header = packet.len() as u32 | 1 << 24;
        let bytes = [&header.to_le_bytes(), packet.as_slice()].concat();
        let _ = client.stream.write_all(&bytes[..len]);
        client.drain();
        let mut client = running.connect();
        client.send(1, &packet[..len]);
        client.drain();
    }
    running.serves();
}

#[test]
fn random_bytes_harm_nobody() {
    let running = Running::start("random-bytes");
    let mut bystander = running.log_in();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..300 {
        let mut client = if round % 3 == 0 {
            running.connect()
        } else {
            running.log_in()
        };
        for _ in 0..1 + numbers.next(4) {
            let len = numbers.next(200);
            let noise = numbers.bytes(len);
            if round % 2 == 0 {
                let _ = client.stream.write_all(&noise);
            } else {
                // Well-formed packets with arbitrary contents get past the framing.
                let commands = [3u8, 4, 0x11, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1f];
                let command = commands[numbers.next(commands.len())];
                client.send(0, &[&[command], noise.as_slice()].concat());
            }
        }
        client.drain();
    }
    bystander.send(0, &[0x0e]);
    assert_eq!(bystander.read().expect("a pong").0[0], 0);
    running.serves();
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let running = Running::start("pipelined");
    let mut client = running.log_in();
    let ping = [1, 0, 0, 0, 0x0e];
    let unknown = [1, 0, 0, 0, 0x7f];
    client.stream.write_all(&[ping, unknown, ping].concat()).unwrap();
    let answers: Vec<u8> = (0..3).map(|_| client.read().expect("an answer").0[0]).collect();
    assert_eq!(answers, [0, 0xff, 0]);
}

#[test]
fn stopping_ends_those_who_are_connected() {
    let mut running = Running::start("stopping");
    let mut client = running.log_in();
    running.server.take().unwrap().stop();
    assert!(client.read().is_none());
    assert!(TcpStream::connect(running.address).is_err());
}
